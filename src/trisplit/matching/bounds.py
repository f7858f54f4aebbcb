"""A score that no match can beat: the largest entries of A meet the largest ones of B.

By the rearrangement inequality sum_k a_k b_k over two lists of numbers is largest with both in ascending order,
whatever the permutation; diagonals, which only meet diagonals, are a list of their own.
"""

import numpy as np

from trisplit.matching.problem import MatchingProblem
from trisplit.qap.matrices import Matrix, as_dense, is_sparse


def score_bound(problem: MatchingProblem) -> float:
    """Return an upper bound on all scores, or a lower one if the score is minimised.

    Examples
    --------
    >>> from trisplit.matching.problem import as_problem
    >>> score_bound(as_problem(np.array([[0, 2], [1, 0]]), np.array([[5, 1], [1, 0]])))
    3.0
    """
    sign = 1.0 if problem.maximize else -1.0
    pairs = [pair for A, B in zip(problem.A.layers, problem.B.layers, strict=True) for pair in _parts(A, B)]
    pairs += [(_all(AB), _all(BA)) for AB, BA in zip(problem.AB, problem.BA, strict=True)]
    total = sum(_largest(sign * a, b) for a, b in pairs)
    if problem.S is not None and min(problem.S.shape):
        S = sign * problem.S
        smaller = 1 if S.shape[0] <= S.shape[1] else 0
        best = S.max(axis=smaller)
        best = np.asarray(best.toarray() if is_sparse(best) else best)  # pyright: ignore[reportAttributeAccessIssue]
        # A vertex of the smaller graph may stay unmatched only in the mind of this bound.
        total += float(np.maximum(best, 0.0).sum())
    return sign * total


def _parts(A: Matrix, B: Matrix) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the diagonals, and what is beside them; of sparse matrices only what is stored."""
    parts = []
    for M in (A, B):
        diagonal = np.asarray(M.diagonal())
        if is_sparse(M):
            entries = M.tocoo()  # pyright: ignore[reportAttributeAccessIssue]
            beside = entries.data[entries.coords[0] != entries.coords[1]]
        else:
            beside = as_dense(M)[~np.eye(len(diagonal), dtype=bool)]
        parts.append((diagonal, beside))
    return list(zip(*parts, strict=True))


def _all(M: Matrix) -> np.ndarray:
    return M.data if is_sparse(M) else np.ravel(M)  # pyright: ignore


def _largest(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest sum of products; lists of unequal length, and sparse ones, are filled with zeros."""
    total = 0.0
    for x, y in ((a[a > 0], b[b > 0]), (-a[a < 0], -b[b < 0])):
        k = min(len(x), len(y))
        total += float(_ascending(x)[len(x) - k :] @ _ascending(y)[len(y) - k :])
    return total


def _ascending(x: np.ndarray) -> np.ndarray:
    return x if x.size == 0 or x.min() == x.max() else np.sort(x)
