"""From a matrix to a match, and from a match to one that is its own best answer."""

from typing import NamedTuple

import numpy as np

from trisplit.matching.objective import MatchObjective, centred
from trisplit.qap.matrices import Matrix, as_dense
from trisplit.terms.joint import cheapest

SURE = 0.9  # of the vertices must have their nearest counterpart for a match to be settled
ROUNDS = 30


class Refined(NamedTuple):
    """A match, its score, the share of vertices that have their nearest counterpart, and how many rounds it took.

    The share is 0 if the match is not its own best answer.
    """

    p: np.ndarray
    score: float
    sure: float
    rounds: int

    @property
    def settled(self) -> bool:
        return self.sure >= SURE


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
    best, seen, done = Refined(p, f.value_at(p), 0.0, 0), set(), 0
    for done in range(1, rounds + 1):
        G = f.gradient_at(p)
        q = best_assignment(G)
        fixed, score = bool((q == p).all()), f.value_at(q)
        if score > best.score or (fixed and score == best.score):
            # G belongs to p; where nothing changes, to q as well.
            best = Refined(q, score, share_of_sure(f, q, G) if fixed else 0.0, done)
        if fixed or q.tobytes() in seen:
            break
        seen.add(q.tobytes())
        p = q
    return best._replace(rounds=done)


def disagreements(f: MatchObjective, p: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return, for vertices i and j of A, how much the neighbourhoods of i and p_j differ; G is the gradient at p.

    Over rows and columns that is a_i + b_l - 2 H[i,j] with l = p_j. H[i,j] = G[i,l] for i = j; for others i and j have
    changed places, and so the edge between them meets that between p_j and p_i, not a loop:

        H[i,j] = G[i,l] + (A[i,j] - A[i,i]) (B[l,p_i] - B[l,l]) + (A[j,i] - A[i,i]) (B[p_i,l] - B[l,l]).
    """
    a, b = squares(f)
    H = G[:, p]
    for A, B in f.layers:
        A, B = as_dense(A), as_dense(B[p][:, p])
        loops_A, loops_B = np.diag(A)[:, None], np.diag(B)[None, :]
        H += (A - loops_A) * (B.T - loops_B) + (A.T - loops_A) * (B - loops_B)
    return a[:, None] + b[p][None, :] - 2 * H


def squares(f: MatchObjective) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of squares of all entries that belong to each vertex of A, and of B, in units of both."""
    a, b = np.zeros(f.n, f.dtype), np.zeros(f.n, f.dtype)
    ratio = f.dtype.type(ratio_of_units(f.layers))
    for A, B in f.layers:
        for total, M, scale in ((a, A, ratio), (b, B, 1 / ratio)):
            square = M * M
            total += scale * (np.asarray(square.sum(axis=0)).ravel() + np.asarray(square.sum(axis=1)).ravel())
    ratio = f.dtype.type(ratio_of_units(f.crossed))
    for AB, BA in f.crossed:
        AB, BA = ratio * (AB * AB), 1 / ratio * (BA * BA)
        a += np.asarray(AB.sum(axis=1)).ravel() + np.asarray(BA.sum(axis=0)).ravel()
        b += np.asarray(AB.sum(axis=0)).ravel() + np.asarray(BA.sum(axis=1)).ravel()
    return a, b


def ratio_of_units(pairs: tuple[tuple[Matrix, Matrix], ...]) -> float:
    """Return the largest weight of the second matrices over that of the first: squares of these are to be compared.

    Matches do not depend on the units in which weights are given; how much two neighbourhoods differ would.

    Examples
    --------
    >>> ratio_of_units(((2.0 * np.eye(3), np.eye(3)),))
    0.5
    """
    first, second = (max((float(abs(pair[k]).max()) for pair in pairs if pair[k].size), default=0.0) for k in (0, 1))
    return second / first if first > 0 and second > 0 else 1.0


def share_of_sure(f: MatchObjective, p: np.ndarray, G: np.ndarray) -> float:
    """Return the share of the vertices with edges that are nearer to their counterpart than to all others."""
    own, nearest = own_and_nearest(disagreements(f, p, G))
    counts = squares(f)[0] > 0
    return float((own < nearest)[counts].mean()) if counts.any() else 1.0


def own_and_nearest(D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the diagonal of D, which is overwritten, and the least that is beside it, in the row or in the column."""
    own = np.diag(D).copy()
    np.fill_diagonal(D, np.inf)
    return own, np.minimum(D.min(axis=1), D.min(axis=0))
