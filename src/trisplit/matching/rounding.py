"""From a matrix to a match, and from a match to one that is its own best answer."""

from typing import NamedTuple

import numpy as np

from trisplit.matching.objective import MatchObjective, centred
from trisplit.terms.joint import cheapest

SURE = 0.9  # of the vertices must have their nearest counterpart for a match to be settled
ROUNDS = 30


class Refined(NamedTuple):
    """A match, its score, the matrix that judges it, how many rounds it took, and whether it settled."""

    p: np.ndarray
    score: float
    settled: bool
    rounds: int


def best_assignment(X: np.ndarray) -> np.ndarray:
    """Return the permutation p that maximises the sum of X[i,p_i].

    Examples
    --------
    >>> best_assignment(np.array([[0.4, 0.6], [0.9, 0.1]]))
    array([1, 0])
    """
    return np.asarray(cheapest(-centred(X).astype(float))[1], dtype=np.int64)


def refine(f: MatchObjective, p: np.ndarray, rounds: int = ROUNDS) -> Refined:
    """Match each vertex again by what its neighbours say, p <- argmax <G(P), Q>, until nothing changes.

    The score need not rise in each round; the best match that was seen is returned.
    """
    best, seen, done = Refined(p, f.value_at(p), False, 0), set(), 0
    for done in range(1, rounds + 1):
        G = f.gradient_at(p)
        q = best_assignment(G)
        score = f.value_at(q)
        if score > best.score or (q == p).all():
            # G belongs to p; where nothing changes, to q as well.
            best = Refined(q, score, bool((q == p).all()) and settled(f, q, G), done)
        if (q == p).all() or q.tobytes() in seen:
            break
        seen.add(q.tobytes())
        p = q
    return best._replace(rounds=done)


def disagreements(f: MatchObjective, G: np.ndarray) -> np.ndarray:
    """Return, for each pair, how much the neighbourhoods of its two vertices differ under the match that G belongs to.

    For one layer ||A_i P - B_l||^2, over rows and columns: a_i + b_l - 2 G[i,l].
    """
    a, b = squares(f)
    return a[:, None] + b[None, :] - 2 * G


def squares(f: MatchObjective) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of squares of all entries that belong to each vertex of A, and of B."""
    a, b = np.zeros(f.n, f.dtype), np.zeros(f.n, f.dtype)
    for A, B in f.layers:
        for total, M in ((a, A), (b, B)):
            square = M * M
            total += np.asarray(square.sum(axis=0)).ravel() + np.asarray(square.sum(axis=1)).ravel()
    for AB, BA in f.crossed:
        a += np.asarray((AB * AB).sum(axis=1)).ravel() + np.asarray((BA * BA).sum(axis=0)).ravel()
        b += np.asarray((AB * AB).sum(axis=0)).ravel() + np.asarray((BA * BA).sum(axis=1)).ravel()
    return a, b


def settled(f: MatchObjective, p: np.ndarray, G: np.ndarray) -> bool:
    """Say whether nearly all vertices that have edges are nearer to their counterpart than to all others."""
    own, nearest = own_and_nearest(disagreements(f, G), p)
    counts = squares(f)[0] > 0
    return bool((own < nearest)[counts].mean() >= SURE) if counts.any() else True


def own_and_nearest(D: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what each row pays for its column, and the least that one of both pays elsewhere; overwrite D."""
    rows = np.arange(len(p))
    own = D[rows, p].copy()
    D[rows, p] = np.inf
    return own, np.minimum(D.min(axis=1), D.min(axis=0)[p])
