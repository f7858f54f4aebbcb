"""From a few seeds to a match of nearly all vertices: pairs with most common matched neighbours first.

A pair (i, l) has W[i,l] witnesses: matched pairs (j, p_j) such that j is a neighbour of i and p_j one of l,

    W = A[:, M] B[p(M), :],

and a match of all of the vertices that is right has as many witnesses for i as edges of i survive in B, while a wrong
pair has about d^2 m / n with m matched vertices and degrees d. Each round counts witnesses from the whole match and
matches anew, greedily by

    W[i,l] - share (a_i + b_l),    a_i = ||A[i, M]||^2, b_l the same of B,

so that of two pairs with as many witnesses that one wins which leaves fewer neighbours without counterpart. Since all
but the seeds is matched anew, errors of early rounds go away as witnesses become many. Pairs need two witnesses; when
that brings no more pairs, one is enough.

L. Yartseva and M. Grossglauser (2013), On the performance of percolation graph matching, COSN. E. Kazemi, S. H.
Hassani, M. Grossglauser (2015), Growing a graph matching from a handful of seeds, Proceedings of the VLDB Endowment 8.
"""

# pyright: reportOptionalSubscript=false, reportOptionalMemberAccess=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportOptionalIterable=false
# The types of scipy.sparse are not declared, only guessed.

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trisplit.matching.large.layers import LayerPairs, arrays

SHARE = 0.2  # how much an edge without counterpart counts against a pair
KEPT = 24  # pairs of a vertex that take part in a round


class Percolation(NamedTuple):
    """The match that seeds have grown to, -1 where there is no partner; rounds; whether it is a fixed point."""

    partner: np.ndarray
    rounds: int
    converged: bool


def witnesses(
    graphs: LayerPairs,
    partner: np.ndarray,
    *,
    fixed: np.ndarray,
    least: float,
    kept: int = KEPT,
    share: float = SHARE,
) -> tuple[csr_array, np.ndarray]:
    """Return W on the best pairs of each vertex, and the keys by which they are best, entry by entry.

    Parameters
    ----------
    graphs : LayerPairs
    partner : array of int
        The match from which witnesses are counted.
    fixed : array of int
        Partners of seeds, -1 elsewhere; their vertices take no part in pairs.
    least : float
        Pairs below it are left out.
    kept : int
        How many pairs of a vertex of A are kept.
    share : float
        How much an edge without counterpart counts.
    """
    from trisplit.kernels.matching import common_neighbours

    n_A, n_B = graphs.n_A, graphs.n_B
    free_A, free_B = fixed < 0, np.ones(n_B, bool)
    free_B[fixed[fixed >= 0]] = False
    a, b = _norms(graphs, partner)
    starts, size = np.zeros(n_A + 1, np.int64), n_A * min(kept, n_B)
    columns, counts, keys = np.empty(size, np.int32), np.empty(size), np.empty(size)
    total = common_neighbours(
        *arrays(graphs.A),
        graphs.place(partner),
        *arrays(graphs.B),
        *arrays(graphs.S),
        share * a,
        share * b,
        free_A,
        free_B,
        least,
        starts,
        columns,
        counts,
        keys,
    )
    W = csr_array((counts[:total].copy(), columns[:total].copy(), starts), shape=(n_A, n_B))
    return W, keys[:total]


def percolate(
    graphs: LayerPairs,
    fixed: np.ndarray,
    *,
    start: np.ndarray | None = None,
    max_iter: int = 100,
    report: Callable[[str], None] | None = None,
) -> Percolation:
    """Grow a match from seeds until it is a fixed point, or for `max_iter` rounds.

    Parameters
    ----------
    graphs : LayerPairs
    fixed : array of int
        The seeds: the vertex of B for each vertex of A that is one, -1 elsewhere.
    start : array of int, optional
        A match to begin with, which contains the seeds.
    max_iter : int
    report : callable, optional
        Is told of each round.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.matching.large.layers import layer_pairs
    >>> ring = csr_array(np.roll(np.eye(6), 1, axis=1) + np.roll(np.eye(6), -1, axis=1))
    >>> percolate(layer_pairs((ring,), (ring,)), np.array([0, 1, -1, -1, -1, -1])).partner
    array([0, 1, 2, 3, 4, 5])
    """
    partner = fixed.copy() if start is None else start.copy()
    witnesses_needed, seen = 2, {partner.tobytes(): 0}
    for t in range(1, max_iter + 1):
        before, partner = partner, _round(graphs, partner, fixed, witnesses_needed)
        if report is not None:
            report(f"percolation: round {t}, {int((partner >= 0).sum())} of {graphs.n_A} vertices matched")
        again, size = partner.tobytes(), int((partner >= 0).sum())
        if again in seen and witnesses_needed == 1:
            return Percolation(partner, t, bool((partner == before).all()))
        if size <= int((before >= 0).sum()):  # stuck: expand
            witnesses_needed = 1
        seen[again] = t
    return Percolation(partner, max_iter, False)


def _round(graphs: LayerPairs, partner: np.ndarray, fixed: np.ndarray, needed: int) -> np.ndarray:
    from trisplit.kernels.matching import take_greedily

    least = graphs.unit * (1 - 1e-9)
    W, keys = witnesses(graphs, partner, fixed=fixed, least=needed * least)
    rows = np.repeat(np.arange(graphs.n_A), np.diff(W.indptr))
    order = np.argsort(-keys, kind="stable")
    to, owner = fixed.copy(), np.full(graphs.n_B, -1)
    seeds = np.flatnonzero(fixed >= 0)
    owner[fixed[seeds]] = seeds
    take_greedily(order, rows, arrays(W)[1], W.data, needed * least, to, owner)
    return to


def _norms(graphs: LayerPairs, partner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ||A[i, M]||^2 and ||B[l, p(M)]||^2, both in the scale of products of A and B."""
    matched, C = partner >= 0, len(graphs.pairs)
    in_B = np.zeros(graphs.n_B, bool)
    in_B[partner[matched]] = True
    a = graphs.A.power(2) @ np.tile(matched, C).astype(float)
    b = graphs.B.power(2).T @ np.tile(in_B, C).astype(float)
    size_a, size_b = float(graphs.A.power(2).sum()), float(graphs.B.power(2).sum())
    ratio = (size_b / size_a) ** 0.5 if size_a > 0 and size_b > 0 else 1.0  # with A times `ratio`, both are of one size
    return a * ratio, b / ratio
