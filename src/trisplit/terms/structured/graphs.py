"""Total variation of numbers at the nodes of a graph."""

from dataclasses import dataclass, field

import numpy as np

from trisplit.arrays import Array, Shape, as_host, constant_like, namespace
from trisplit.errors import InputError
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Lines, mapped, on_the_host, summed
from trisplit.terms.checks import axis_or_none, nonnegative

__all__ = ["GraphTotalVariation"]


@dataclass(frozen=True, eq=False)
class GraphTotalVariation(Lines, ConvexFunction):
    """Total variation on a graph, the sum over the edges (i, j) of weight_ij |x_i - x_j|.

    prox(x, gamma) is exact for every graph, by maximal flows that split the nodes into sets of one value each. It is
    computed on the host.

    Parameters
    ----------
    edges : array of int, (m, 2)
        The nodes, counted from 0, that each edge joins. Edges that are named twice count twice.
    weight : float or array of length m
        Nonnegative.
    axis : int or None
        The entries along this axis are the nodes; None takes all of x as one vector.

    References
    ----------
    Chambolle, Darbon (2009), On total variation minimization and surface evolution using parametric maximum flows.

    Examples
    --------
    >>> import numpy as np
    >>> GraphTotalVariation([[0, 1], [0, 2], [0, 3]]).prox(np.array([8.0, 0.0, 1.0, 9.0]), gamma=1.0)
    array([7., 1., 2., 8.])
    """

    edges: Array
    weight: float | Array = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n^1.5"
    host = "maximal flows"
    _ends: tuple[Array, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            edges = np.asarray(as_host(self.edges))
        except ValueError:
            edges = np.empty(0)
        if edges.ndim != 2 or edges.shape[1:] != (2,) or edges.dtype.kind not in "iu" or edges.shape[0] == 0:
            came = f"`edges` must hold pairs of whole numbers, got shape {edges.shape} of {edges.dtype}"
            raise InputError(f"{came}; for example [[0, 1], [1, 2]]")
        edges = edges.astype(np.int64)
        if edges.min() < 0 or np.any(edges[:, 0] == edges[:, 1]):
            wrong = int(np.argmax((edges.min(axis=1) < 0) | (edges[:, 0] == edges[:, 1])))
            pair = edges[wrong].tolist()
            raise InputError(f"`edges[{wrong}]` is {pair}; an edge joins two different nodes, counted from 0")
        weight = nonnegative(self.weight)
        if isinstance(weight, np.ndarray) and weight.shape != edges.shape[:1]:
            came = f"`weight` has shape {weight.shape} but there are {len(edges)} edges"
            raise InputError(f"{came}; give a number for each edge, or a scalar")
        values = {"edges": edges, "weight": weight, "axis": axis_or_none(self.axis)}
        values["_ends"] = edges[:, 0].copy(), edges[:, 1].copy()
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @summed
    def value(self, v: Array) -> Array:
        """Return the sum over the edges of weight_ij |v_i - v_j|."""
        xp = namespace(v)
        i, j = (constant_like(self._reached(v.shape[-1], ends), v, indices=True) for ends in self._ends)
        weight = constant_like(self.weight, v) if isinstance(self.weight, np.ndarray) else self.weight
        return xp.sum(weight * xp.abs(xp.take(v, i, axis=-1) - xp.take(v, j, axis=-1)), axis=-1)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return the proximal points, computed on the host."""
        self._reached(v.shape[-1], self.edges)

        def of_all(rows: np.ndarray) -> np.ndarray:
            lams = np.broadcast_to(np.asarray(as_host(t), dtype=float), (*rows.shape[:-1], 1)).ravel()
            weights = np.broadcast_to(np.asarray(self.weight), len(self.edges))
            flat = np.ascontiguousarray(rows, dtype=float).reshape(-1, rows.shape[-1])
            return on_a_graph(flat, lams, self.edges, weights).reshape(rows.shape)

        return on_the_host(self, of_all, v)

    def lipschitz(self, shape: Shape) -> float:
        """Return the norm of the weights at the nodes, exact if the graph is bipartite; else an upper bound."""
        self._reached(self.length(shape), self.edges)
        weights = np.broadcast_to(np.asarray(self.weight), len(self.edges))
        at_node = sum(np.bincount(ends, weights, self.length(shape)) for ends in self._ends)
        return float(np.linalg.norm(at_node)) * self.count(shape) ** 0.5

    def _reached(self, n: int, nodes: np.ndarray) -> np.ndarray:
        """Return `nodes` if there are n at least."""
        last = int(self.edges.max())
        if last >= n:
            raise InputError(f"`edges` reach node {last} but x has {n} nodes; give x more entries, or choose `axis`")
        return nodes

    @classmethod
    def examples(cls) -> list[tuple["GraphTotalVariation", Shape]]:
        ring = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
        return [(cls(ring, 0.6), (5,)), (cls(ring, np.array([0.3, 0.0, 2.0, 1.0, 0.5]), axis=0), (4, 2))]


def on_a_graph(ys: np.ndarray, lams: np.ndarray, edges: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the proximal points of the rows of `ys`, with one lam each."""
    from trisplit.kernels.flows import prox_graphs

    n = ys.shape[1]
    to = np.ascontiguousarray(edges[:, ::-1]).ravel()  # arc 2 e leads from edges[e, 0] to edges[e, 1]
    origin = np.ascontiguousarray(edges).ravel()
    starts = np.concatenate([[0], np.cumsum(np.bincount(origin, minlength=n))])
    out = np.empty(ys.shape)
    weights = np.ascontiguousarray(weights, dtype=float)
    prox_graphs(ys, np.array(lams, dtype=float), starts, np.argsort(origin, kind="stable"), to, weights, out)
    return out
