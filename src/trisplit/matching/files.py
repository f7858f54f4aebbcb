"""Graphs and seeds from files, by the ending of their names. Reading a file never executes what is in it."""

from collections.abc import Callable
from numbers import Integral
from os import PathLike
from pathlib import Path

import numpy as np

from trisplit.errors import InputError
from trisplit.matching.archives import read_npy, read_npz
from trisplit.matching.edges import whole_names
from trisplit.matching.file_bytes import as_path, file_bytes, reading
from trisplit.matching.graphml import graph_of_document, parse
from trisplit.matching.graphs import Graph, graph_of
from trisplit.matching.matrix_market import read_market
from trisplit.matching.tables import Row, is_number, read_edges, read_table

_MATRICES: dict[str, Callable[[Path], object]] = {
    ".npz": read_npz,
    ".npy": read_npy,
    ".mtx": read_market,
    ".mtx.gz": read_market,
}
_GRAPHML = (".graphml", ".graphml.gz")
_EDGES = tuple(mark + packed for mark in (".csv", ".tsv", ".txt", ".edges", ".edgelist") for packed in ("", ".gz"))


def read_graph(path: str | PathLike[str], *, directed: bool = False) -> Graph:
    r"""Return the graph in a file.

    Parameters
    ----------
    path : str or path-like
        `.npz` (of `scipy.sparse.save_npz`, or one square array of `np.savez`), `.npy`, Matrix Market (`.mtx`),
        GraphML (`.graphml`), or a list of edges (`.csv`, `.tsv`, `.txt`, `.edges`, `.edgelist`): two columns with the
        names of the vertices and perhaps one with weights, separated by commas, tabs, spaces or semicolons (weights may
        then have decimal commas); lines that begin with # or % are comments, and the first line may be a title. All
        but the first two may be packed as `.gz`.
    directed : bool
        Whether a list of edges gives directions; the other formats say it themselves. In an undirected list that has
        every edge in both directions, with the same weight, each counts once.

    Returns
    -------
    Graph
        With the vertices of a list of edges sorted by name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "friends.csv")
    ...     _ = path.write_text("Ada,Eve\nEve,Bob\n")
    ...     graph = read_graph(path)
    >>> graph.labels
    ('Ada', 'Bob', 'Eve')
    """
    path = as_path(path)
    what = repr(str(path))
    ending = _ending(path)
    if ending in _MATRICES:
        with reading(path, "a sound matrix"):
            return graph_of(_MATRICES[ending](path), what)
    if ending in _GRAPHML:
        data = file_bytes(path, expansion=40)
        with reading(path, "GraphML"):
            return graph_of_document(parse(data, what), what)
    if ending in _EDGES:
        return read_edges(path, directed=directed)
    known = ", ".join([*_MATRICES, _GRAPHML[0], *_EDGES[::2]])
    raise InputError(f"{what} ends in {path.suffix or 'no format'!r}; rename it to one of {known}")


def read_seeds(path: str | PathLike[str], A: Graph, B: Graph) -> np.ndarray:
    r"""Return the pairs of vertices that a file says to match, a vertex of A and one of B in each line.

    Parameters
    ----------
    path : str or path-like
        Text, separated and commented as a list of edges; columns behind the second are ignored.
    A, B : Graph
        If a graph has labels, its column holds these, else the numbers 0 .. n-1.

    Returns
    -------
    (m, 2) array of int64
        Indices of the vertices, in the order of the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from trisplit.matching.graphs import Graph
    >>> A, B = Graph((np.zeros((2, 2)),), ("Ada", "Eve")), Graph((np.zeros((3, 3)),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "seeds.txt")
    ...     _ = path.write_text("Eve 0\nAda 2\n")
    ...     read_seeds(path, A, B)
    array([[1, 0],
           [0, 2]])
    """
    path = as_path(path)
    rows, _ = read_table(path, "a vertex of each graph")
    columns = []
    places = [_places(graph) for graph in (A, B)]
    titled = len(rows) > 1 and all(
        rows[0].fields[k] not in places[k] and not is_number(rows[0].fields[k]) for k in range(2)
    )
    rows = rows[titled:]
    for k, (graph, letter) in enumerate(((A, "A"), (B, "B"))):
        names = [row.fields[k] for row in rows]
        if graph.labels is None or all(isinstance(label, Integral) for label in graph.labels):
            names = list(map(str, whole_names(names)))
        columns.append(
            [_vertex(name, row, places[k], graph, letter, path) for name, row in zip(names, rows, strict=True)]
        )
    return np.array(columns, dtype=np.int64).T.copy()


def _ending(path: Path) -> str:
    marks = [mark.lower() for mark in path.suffixes[-2:]]
    return "".join(marks) if marks[-1:] == [".gz"] else "".join(marks[-1:])


def _places(graph: Graph) -> dict[str, int]:
    """Return the index of each name, -1 for a name that several labels have as text."""
    places: dict[str, int] = {}
    for k, label in enumerate(range(graph.n) if graph.labels is None else graph.labels):
        places[str(label)] = -1 if str(label) in places else k
    return places


def _vertex(name: str, row: Row, places: dict[str, int], graph: Graph, letter: str, path: Path) -> int:
    place = places.get(name)
    if place is not None and place >= 0:
        return place
    text = f"{str(path)!r} names the vertex {name[:40]!r} in line {row.line}, which "
    if place is not None:
        raise InputError(f"{text}stands for several vertices of `{letter}`; give these labels that differ as text")
    has = f"0 to {graph.n - 1}" if graph.labels is None else f"such as {', '.join(map(repr, graph.labels[:3]))}"
    raise InputError(f"{text}`{letter}` does not have; its vertices are {has if graph.n else 'none'}")
