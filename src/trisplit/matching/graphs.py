"""What a user has as a graph, as matrices: A[i, j] is the weight of the edge from vertex i to vertex j.

An edge of an undirected graph counts both ways, A[i, j] = A[j, i], a loop once; parallel edges add up. Graphs of
networkx, igraph and pandas are recognised by the names of their classes: nothing here imports these libraries.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from trisplit.errors import InputError
from trisplit.matching.edges import adjacency, edges_of_table, labels_or_none, numbers
from trisplit.qap.matrices import Matrix, as_csr, is_sparse

_KINDS = "an array, a matrix of scipy.sparse, a graph of networkx or igraph, a DataFrame, or a list of such layers"


@dataclass(frozen=True, eq=False)
class Graph:
    """Layers of weights over the same vertices, as `as_graph` and `read_graph` make them.

    Parameters
    ----------
    layers : tuple of (n, n) arrays
        In float64; dense, or csr arrays without stored zeros, sorted. They may share memory with what came.
    labels : tuple or None
        Of the vertices, all different; None if they are 0 .. n-1.

    Examples
    --------
    >>> import numpy as np
    >>> graph = as_graph(np.array([[0, 1], [1, 0]]), "A")
    >>> graph.n, len(graph.layers), graph.labels
    (2, 1, None)
    """

    layers: tuple[Matrix, ...]
    labels: tuple | None = None

    @property
    def n(self) -> int:
        """The number of vertices."""
        return self.layers[0].shape[0]


def as_graph(A: object, name: str) -> Graph:
    """Return the graph that `A` stands for; edges of graph libraries and tables become csr arrays.

    Parameters
    ----------
    A : (n, n) array, sparse matrix, networkx or igraph graph, DataFrame, Graph, or a list of such
        A list holds layers: matrices of one size, or graphs over the union of their vertices. Weights are taken from
        the attribute `weight` of edges, 1 where it is missing. A DataFrame whose index has the same names as its
        columns is a matrix. Any other is a list of edges, with columns `source`, `target` and perhaps `weight`, or
        these three in this order under other names. It is undirected unless `A.attrs["directed"]` is true; if it has
        every edge in both directions, with the same weight, each counts once. Its vertices are sorted.
    name : str
        Of the argument, for messages.

    Returns
    -------
    Graph

    Examples
    --------
    >>> import networkx as nx
    >>> graph = as_graph(nx.path_graph(["a", "b", "c"]), "A")
    >>> graph.labels
    ('a', 'b', 'c')
    >>> graph.layers[0].toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    return graph_of(A, f"`{name}`")


def graph_of(A: object, what: str) -> Graph:
    """Return the graph `A`; messages call it `what`."""
    if isinstance(A, np.ndarray) and A.ndim == 3:
        A = list(A)
    if not (isinstance(A, list | tuple) and _are_layers(A, what)):
        return _single(A, what)
    names = [f"layer {k} of {what}" for k in range(len(A))]
    return _stacked([_single(layer, name) for layer, name in zip(A, names, strict=True)], A, what)


def _single(A: object, what: str) -> Graph:
    if isinstance(A, Graph):
        return _checked(A, what)
    if _is_of(A, "networkx", "Graph"):
        return _from_networkx(A, what)
    if _is_of(A, "igraph", "Graph"):
        return _from_igraph(A, what)
    if is_frame(A):
        return _from_pandas(A, what)
    return Graph((matrix_of(A, what),))


def _checked(A: Graph, what: str) -> Graph:
    """Return a graph that somebody may have made by hand, with layers as they should be."""
    if not isinstance(A.layers, tuple | list) or not A.layers:
        raise InputError(f"{what} must have a tuple of matrices as layers, got {_came(A.layers)}; see `as_graph`")
    layers = tuple(matrix_of(M, f"layer {k} of {what}") for k, M in enumerate(A.layers))
    sizes = {M.shape[0] for M in layers}
    if len(sizes) > 1:
        raise InputError(f"{what} must have layers of one size, got {', '.join(map(str, sorted(sizes)))} vertices")
    if A.labels is not None and len(set(A.labels)) != layers[0].shape[0]:
        text = f"{what} must have a label of its own for each of {layers[0].shape[0]} vertices"
        raise InputError(f"{text}, got {len(set(A.labels))}; complete them, or leave them out")
    return Graph(layers, None if A.labels is None else tuple(A.labels))


def is_frame(A: object) -> bool:
    """Say whether `A` is a table of pandas."""
    return _is_of(A, "pandas", "DataFrame")


def _is_of(A: object, library: str, name: str) -> bool:
    return any(base.__module__.partition(".")[0] == library and base.__name__ == name for base in type(A).__mro__)


def _has_names(A: object) -> bool:
    if isinstance(A, Graph):
        return A.labels is not None
    return _is_of(A, "networkx", "Graph") or _is_of(A, "igraph", "Graph") or is_frame(A)


# ---- matrices


def matrix_of(A: object, what: str) -> Matrix:
    """Return `A` as a square, finite matrix in float64, sparse if it came so."""
    if isinstance(A, str | bytes) or hasattr(A, "__fspath__"):
        raise InputError(f"{what} must be a graph, got {type(A).__name__}; read a file by `read_graph`")
    if is_sparse(A):
        return _sparse(A, what)
    try:
        M = np.asarray(A)
    except Exception as error:  # whatever another library's conversion raises
        raise InputError(f"{what} must be a square matrix, got {_came(A)}; pass {_KINDS}") from error
    if M.ndim == 0:
        raise InputError(f"{what} must be a graph, got {_came(A)}; pass {_KINDS}")
    _check_square(M.shape, what)
    if np.ma.is_masked(A):
        raise InputError(f"{what} has masked entries; fill them, by 0 for no edge")
    M = np.ascontiguousarray(numbers(M, what))
    if not np.isfinite(M).all():
        i, j = np.argwhere(~np.isfinite(M))[0]
        _refuse_value(float(M[i, j]), f"[{i}, {j}]", what)
    return M


def _sparse(A: object, what: str) -> Matrix:
    shape = A.shape  # pyright: ignore[reportAttributeAccessIssue]
    _check_square(shape, what)
    if A.dtype.kind not in "biuf":  # pyright: ignore[reportAttributeAccessIssue]
        numbers(np.zeros(0, A.dtype), what)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        if hasattr(A, "check_format"):
            A.check_format(full_check=True)  # pyright: ignore[reportAttributeAccessIssue]
        M = as_csr(A, np.float64)  # pyright: ignore[reportArgumentType]
    except (ValueError, TypeError, IndexError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{what} is not a sound sparse matrix ({reason}); build it again") from error
    return checked_csr(M, what)


def checked_csr(M: np.ndarray, what: str) -> Matrix:
    """Return a csr array with indices as narrow as they can be, after a look at its values."""
    csr: Any = M  # of scipy.sparse
    bad = np.flatnonzero(~np.isfinite(csr.data))
    if len(bad):
        i = int(np.searchsorted(csr.indptr, bad[0], side="right")) - 1
        _refuse_value(csr.data[bad[0]], f"[{i}, {csr.indices[bad[0]]}]", what)
    width = np.int32 if max(csr.shape[0], csr.nnz) < 2**31 else np.int64
    csr.indices, csr.indptr = csr.indices.astype(width, copy=False), csr.indptr.astype(width, copy=False)
    return csr


def _check_square(shape: Sequence[int], what: str) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        came = f"shape ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
        raise InputError(f"{what} must be a square matrix, got {came}; pass one row and one column for each vertex")


def _refuse_value(value: float, place: str, what: str) -> None:
    raise InputError(f"{what} must be finite, got {value} at {place}; replace it, by 0 for no edge")


def _came(A: object) -> str:
    return type(A).__name__


# ---- graphs of other libraries


def _from_networkx(G, what: str) -> Graph:  # noqa: ANN001
    labels = list(G.nodes)
    place = {label: k for k, label in enumerate(labels)}
    edges = list(G.edges(data="weight", default=1))
    i = np.array([place[u] for u, _, _ in edges], dtype=np.int64)
    j = np.array([place[v] for _, v, _ in edges], dtype=np.int64)
    weights = [1 if w is None else w for _, _, w in edges]
    return labelled(labels, i, j, weights, directed=G.is_directed(), what=what)


def _from_igraph(G, what: str) -> Graph:  # noqa: ANN001
    labels = list(G.vs["name"]) if "name" in G.vs.attributes() else list(range(G.vcount()))
    if len(set(labels)) < len(labels) or None in labels:
        raise InputError(f"{what} has vertices without a name of their own; give them one, or delete `name`")
    ends = np.array(G.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weights = list(G.es["weight"]) if "weight" in G.es.attributes() else [1.0] * len(ends)
    weights = [1 if w is None else w for w in weights]
    return labelled(labels, ends[:, 0], ends[:, 1], weights, directed=G.is_directed(), what=what)


def _from_pandas(table, what: str) -> Graph:  # noqa: ANN001
    rows, columns = table.index, table.columns
    same = list(map(str, rows)) == list(map(str, columns))  # a CSV file has strings above and numbers beside
    if same or (len(rows) == len(columns) and set(rows) == set(columns)):
        if not (rows.is_unique and columns.is_unique):
            raise InputError(f"{what} has rows with the same name; give each vertex its own")
        M = matrix_of((table if same else table[list(rows)]).to_numpy(), what)
        return Graph((M,), labels_or_none(rows.tolist()))
    labels, i, j, weights = edges_of_table(table, what)
    return labelled(labels, i, j, weights, directed=bool(table.attrs.get("directed")), what=what, listed=True)


def labelled(
    labels: Sequence,
    i: np.ndarray,
    j: np.ndarray,
    weights: Sequence,
    *,
    directed: bool,
    what: str,
    listed: bool = False,
) -> Graph:
    """Return the graph with edges from `labels[i]` to `labels[j]`; those of a list may have both directions."""
    try:
        w = np.asarray(weights if len(weights) else np.zeros(0))
    except ValueError:  # lists of different lengths
        w = np.zeros((0, 0))
    if w.ndim != 1:
        raise InputError(f"{what} must have a number as weight of each edge, got a sequence; make layers of them")
    w = numbers(w, f"the weights of {what}")
    bad = np.flatnonzero(~np.isfinite(w))
    if len(bad):
        k = int(bad[0])
        _refuse_value(float(w[k]), f"the edge from {labels[int(i[k])]!r} to {labels[int(j[k])]!r}", what)
    M = adjacency(len(labels), i, j, w, directed=directed, listed=listed)
    return Graph((checked_csr(M, what),), labels_or_none(labels))


# ---- layers


def _are_layers(A: Sequence, what: str) -> bool:
    """Tell a list of matrices from a matrix that is a list of rows."""
    if not A:
        raise InputError(f"{what} is an empty list; pass {_KINDS}")
    if any(is_sparse(layer) or _has_names(layer) or isinstance(layer, Graph) for layer in A):
        return True
    try:
        return np.ndim(A[0]) >= 2
    except ValueError:  # rows of different lengths
        return False


def _stacked(graphs: list[Graph], came: Iterable, what: str) -> Graph:
    layers = tuple(chain.from_iterable(graph.layers for graph in graphs))
    named = [_has_names(layer) for layer in came]
    sizes = [graph.n for graph in graphs]
    plain = [graph.n for graph, has in zip(graphs, named, strict=True) if not has]
    names = [graph.labels or tuple(range(graph.n)) for graph in graphs]
    union = list(dict.fromkeys(chain.from_iterable(names)))
    if any(size != len(union) for size in plain):
        text = f"{what} must have layers of one size, got {', '.join(map(str, sizes[:8]))} vertices"
        raise InputError(f"{text}; give all layers the same vertices, in the same order")
    if all(labels == names[0] for labels in names):
        return Graph(layers, graphs[0].labels)
    if all(map(_ascending, names)):
        union = sorted(union)
    place = {label: k for k, label in enumerate(union)}
    layers = []
    for graph, labels in zip(graphs, names, strict=True):
        where = np.array([place[label] for label in labels], dtype=np.int64)
        layers += [_embedded(layer, where, len(union)) for layer in graph.layers]
    return Graph(tuple(layers), labels_or_none(union))


def _ascending(labels: Sequence) -> bool:
    try:
        return all(a < b for a, b in pairwise(labels))
    except TypeError:
        return False


def _embedded(M: Matrix, where: np.ndarray, n: int) -> Matrix:
    """Return the n x n matrix with M in the rows and columns `where`."""
    if is_sparse(M):
        coo = M.tocoo()  # pyright: ignore[reportAttributeAccessIssue]
        rows, columns = where[coo.coords[0]], where[coo.coords[1]]
        return checked_csr(adjacency(n, rows, columns, coo.data, directed=True), "a layer")
    whole = np.zeros((n, n))
    whole[np.ix_(where, where)] = M
    return whole
