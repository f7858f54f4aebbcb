"""GraphML: by networkx where it is installed, else by a short reader for vertices, edges, direction and weights.

Format: http://graphml.graphdrawing.org. An edge's weight is its datum under the key whose `attr.name` is "weight".
"""

import io
import warnings
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from trisplit.errors import InputError
from trisplit.matching.edges import whole_names
from trisplit.matching.graphs import Graph, labelled


class Document(NamedTuple):
    """What is read: ids of the vertices in the order of the file with their names, and edges as (id, id, weight)."""

    names: dict[str, str | None]
    edges: list[tuple[str, str, float]]
    directed: bool


def graph_of_document(document: Document, what: str) -> Graph:
    """Return the graph; its labels are the ids, or the names where the ids are only a count, as igraph writes them.

    Examples
    --------
    >>> document = Document({"n0": "Ada", "n1": "Eve"}, [("n0", "n1", 2.0)], directed=True)
    >>> graph_of_document(document, "`A`").labels
    ('Ada', 'Eve')
    """
    ids, names = list(document.names), list(document.names.values())
    counted = all(vertex == f"n{k}" for k, vertex in enumerate(ids))
    labels = names if counted and None not in names and len(set(names)) == len(names) else ids
    place = {vertex: k for k, vertex in enumerate(ids)}
    i = np.array([place[u] for u, _, _ in document.edges], dtype=np.int64)
    j = np.array([place[v] for _, v, _ in document.edges], dtype=np.int64)
    weights = [w for _, _, w in document.edges]
    return labelled(whole_names(labels), i, j, weights, directed=document.directed, what=what)


def parse(data: bytes, what: str) -> Document:
    """Return the first graph of a document, by networkx if it is installed."""
    try:
        import networkx as nx
    except ImportError:
        return parse_plainly(data, what)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ports and keys without a type have no part in a match
        G = nx.read_graphml(io.BytesIO(data))
    if "None" in G and b"None" not in data:  # as networkx calls it
        raise InputError(f"{what} has an edge or a vertex without a name; get it or save it again")
    default = G.graph.get("edge_default", {}).get("weight", 1.0)
    edges = [(u, v, _number(w, u, v, what)) for u, v, w in G.edges(data="weight", default=default)]
    names = {vertex: None if name is None else str(name) for vertex, name in G.nodes(data="name")}  # may be numbers
    return Document(names, edges, G.is_directed())


def parse_plainly(data: bytes, what: str) -> Document:
    """Return the first graph of a document, without another library."""
    root = ElementTree.fromstring(data)
    graph = next((child for child in root if _tag(child) == "graph"), None)
    if graph is None:
        raise InputError(f"{what} has no graph in it, its outermost element is <{_tag(root)}>; save it as GraphML")
    if any(_tag(child) == "hyperedge" for child in graph):
        raise InputError(f"{what} has hyperedges, which cannot be matched; replace them by edges")
    directed = graph.get("edgedefault") == "directed"
    keys = {key.get("id"): key for key in root if _tag(key) == "key"}
    weight = next((key for key in keys.values() if _means(key, "edge", "weight")), None)
    name = next((key for key in keys.values() if _means(key, "node", "name")), None)
    default = _number(_default(weight), "", "", what)
    names = {child.get("id", ""): _datum(child, name) for child in graph if _tag(child) == "node"}
    edges = []
    for child in graph:
        if _tag(child) != "edge":
            continue
        if child.get("directed", str(directed).lower()) != str(directed).lower():
            raise InputError(
                f"{what} has edges of both kinds, directed and not; save one kind, each edge twice if need be"
            )
        u, v = child.attrib["source"], child.attrib["target"]
        names.setdefault(u, None)
        names.setdefault(v, None)
        datum = _datum(child, weight)
        edges.append((u, v, default if datum is None else _number(datum, u, v, what)))
    return Document(names, edges, directed)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _means(key: ElementTree.Element, kind: str, name: str) -> bool:
    return key.get("for") in (kind, "all") and key.get("attr.name") == name


def _datum(element: ElementTree.Element, key: ElementTree.Element | None) -> str | None:
    wanted = None if key is None else key.get("id")
    found = (child.text or "" for child in element if _tag(child) == "data" and child.get("key") == wanted)
    return next(found, None)


def _default(key: ElementTree.Element | None) -> str:
    found = (child.text or "" for child in (() if key is None else key) if _tag(child) == "default")
    return next(found, "1")


def _number(value: object, u: str, v: str, what: str) -> float:
    try:
        return float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError) as error:
        text = f"{what} must have finite numbers as weights, found {str(value)[:20]!r} for the edge from {u!r} to {v!r}"
        raise InputError(f"{text}; correct it") from error
