"""Swaps of pairs for several layers and for bisected graphs, all at once by matrices.

With u = e_i - e_j, v = e_{p_j} - e_{p_i} and the gradient G at p, the score changes by

    <G, u v'> + sum over layers of (u' A u) (v' B v) + (u' AB v) (v' BA u)

if i and j swap their partners.
"""

import numpy as np

from trisplit.matching.objective import MatchObjective
from trisplit.qap.matrices import as_dense

ROUNDS = 2  # swaps for each vertex at most
KICKS, WORK, KICKED = 40, 10**8, 0.3  # kicks at most, and times n^4; the share of vertices that one puts in disorder


def changes(f: MatchObjective, p: np.ndarray) -> np.ndarray:
    """Return by how much the score of p changes if i and j swap their partners, for all pairs.

    Examples
    --------
    >>> A = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> changes(MatchObjective(((A, A),), (), None), np.arange(3))[0].tolist()
    [0.0, 0.0, -3.0]
    """
    change = _bent(f.gradient_at(p)[:, p])
    change *= -1.0  # u' G v has the signs of -u' G u
    for A, B in f.layers:
        change += _bent(as_dense(A)) * _bent(as_dense(B[p][:, p]))
    for AB, BA in f.crossed:
        change += _bent(as_dense(AB)[:, p]) * _bent(as_dense(BA)[p])
    return change


def swap_pairs(f: MatchObjective, p: np.ndarray) -> tuple[np.ndarray, float]:
    """Swap the best pair until none raises the score, and return the match and its score."""
    score = f.value_at(p)
    for _ in range(ROUNDS * f.n):
        change = changes(f, p)
        i, j = divmod(int(change.argmax()), f.n)
        q = p.copy()
        q[[i, j]] = p[[j, i]]
        higher = f.value_at(q)
        if not higher > score:  # changes have rounding errors
            break
        p, score = q, higher
    return p, score


def kicked(f: MatchObjective, p: np.ndarray, score: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Shuffle the partners of some vertices and swap again, some times over; keep what is not worse."""
    size = max(3, round(KICKED * f.n))
    for _ in range(min(KICKS, WORK // f.n**4) if f.n > 2 else 0):
        q, some = p.copy(), rng.choice(f.n, size, replace=False)
        q[some] = p[rng.permutation(some)]
        q, found = swap_pairs(f, q)
        if found >= score:
            p, score = q, found
    return p, score


def _bent(M: np.ndarray) -> np.ndarray:
    """Return u' M u = M[i,i] + M[j,j] - M[i,j] - M[j,i] for all pairs."""
    own = np.diag(M)
    return own[:, None] + own - M - M.T
