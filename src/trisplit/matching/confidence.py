"""The confidence in each pair of a match, and the vertices that come next.

Given the rest of the match, a pair (i, l) disagrees by d = a_i + b_l - 2 G[i,l]: the squared difference of their
neighbourhoods, less what similarity says. A pair with d_own whose best alternative, for i or for l, has d_next has
the confidence

    (d_next - d_own) / (d_next + d_own)     from 0 (a tie, or worse) to 1 (nothing disagrees).
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trisplit.matching.objective import MatchObjective
from trisplit.matching.rounding import disagreements, own_and_nearest
from trisplit.qap.matrices import Matrix, entries

RUNNERS_UP = 3


class Confidence(NamedTuple):
    """For each vertex of A: the confidence in its match, and the vertices of B that come next, -1 for none."""

    values: np.ndarray
    runners_up: np.ndarray


def confidence_of(f: MatchObjective, p: np.ndarray, own_columns: np.ndarray | None = None) -> Confidence:
    """Return the confidence in a match of the reduced problem.

    Runners-up are those of the mask `own_columns`, if it is given.

    Examples
    --------
    >>> A = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # the first two may change places
    >>> confidence_of(MatchObjective(((A, A),), (), None), np.arange(3)).values.tolist()
    [0.0, 0.0, 1.0]
    """
    D = disagreements(f, p, f.gradient_at(p))
    D -= min(float(D.min(initial=0.0)), 0.0)  # similarity may outweigh all edges
    own, nearest = own_and_nearest(D)
    k = min(RUNNERS_UP, f.n - 1)
    if own_columns is not None:
        D[:, ~own_columns[p]] = np.inf
    order = np.argpartition(D, max(k - 1, 0), axis=1)[:, :k]
    order = np.take_along_axis(order, np.argsort(np.take_along_axis(D, order, axis=1), axis=1, kind="stable"), axis=1)
    runners_up = np.full((f.n, RUNNERS_UP), -1)
    runners_up[:, :k] = np.where(np.isfinite(np.take_along_axis(D, order, axis=1)), p[order], -1)
    return Confidence(confidence_from(own, nearest), runners_up)


def confidence_of_sparse(
    W: csr_array, layers: tuple[tuple[Matrix, Matrix], ...], a: np.ndarray, b: np.ndarray, p: np.ndarray
) -> Confidence:
    """Return the confidence in a match of sparse graphs; p is -1 where a vertex has no partner.

    It rests on the pairs that have common matched neighbours. `W` holds the gradient at these pairs, `a` and `b` sums
    of squares of each vertex.
    """
    rows = np.repeat(np.arange(len(a)), np.diff(W.indptr))
    D = a[rows] + b[W.indices] - 2 * (W.data + _swapped(layers, rows, W.indices, p))
    mine = W.indices == p[rows]
    matched = p >= 0
    own = np.where(matched, a + b[p], np.inf)
    own[rows[mine]] = D[mine]
    # A pair that is not in W has nothing in common, and so at least the squares of one of both.
    by_row, by_column = a + b.min(initial=np.inf), b + a.min(initial=np.inf)
    np.minimum.at(by_row, rows[~mine], D[~mine])
    np.minimum.at(by_column, W.indices[~mine], D[~mine])
    nearest = np.minimum(by_row, by_column[p])
    values = np.where(matched, confidence_from(np.where(matched, own, 1.0), nearest), 0.0)
    runners_up = np.full((len(p), RUNNERS_UP), -1)
    others = np.flatnonzero(~mine)
    others = others[np.lexsort((D[others], rows[others]))]
    place = np.arange(len(others)) - np.searchsorted(rows[others], rows[others])
    first = place < RUNNERS_UP
    runners_up[rows[others[first]], place[first]] = W.indices[others[first]]
    return Confidence(values, runners_up)


def _swapped(
    layers: tuple[tuple[Matrix, Matrix], ...], rows: np.ndarray, columns: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """Return what the gradient lacks at pairs (i, p_j) if i and j change places, as in `disagreements`."""
    inverse = np.full(layers[0][1].shape[0], -1)
    inverse[p[p >= 0]] = np.flatnonzero(p >= 0)
    lacking = np.zeros(len(rows))
    there = np.flatnonzero((inverse[columns] >= 0) & (inverse[columns] != rows) & (p[rows] >= 0))
    i, m = rows[there], columns[there]
    j, k = inverse[m], p[i]
    for A, B in layers:
        A_ii, B_mm = entries(A, i, i), entries(B, m, m)
        lacking[there] += (entries(A, i, j) - A_ii) * (entries(B, m, k) - B_mm)
        lacking[there] += (entries(A, j, i) - A_ii) * (entries(B, k, m) - B_mm)
    return lacking


def confidence_from(own: np.ndarray, nearest: np.ndarray) -> np.ndarray:
    """Return how far ahead each pair is, from 0 to 1; 1 if there is no alternative."""
    with np.errstate(invalid="ignore"):
        share = (nearest - own) / (nearest + own)
    share = np.where(np.isinf(nearest), 1.0, np.where(nearest + own > 0, share, 0.0))
    return np.clip(share, 0.0, 1.0).astype(float)
