"""The optimum of a small problem: the smallest cost of all n! permutations.

Permutations grow from the left, in lexicographic order. Row k at column c adds to the cost of the rows before it

    A_kk B_cc + C_kc + sum_(i < k) (A_ik B_(p_i, c) + A_ki B_(c, p_i)),

which is looked up in one table a pair i, k, for all beginnings of permutations at once.
"""

from fractions import Fraction

import numpy as np

from trisplit.qap.bounds.gilmore_lawler import Bounded
from trisplit.qap.bounds.integers import Integers, largest, narrow

ROWS = 8  # so many are enumerated: there are 40,320 permutations


def enumeration(problem: Integers, time_limit: float | None = None) -> Bounded:
    """Return the smallest cost of all permutations, for up to 8 rows.

    The certificate says that much and no more: who wants to check it enumerates again.

    Examples
    --------
    >>> from trisplit import qap
    >>> swap = qap.Instance("swap", A=[[0, 1], [0, 0]], B=[[0, 5], [2, 0]])
    >>> enumeration(Integers.of(swap))
    (Fraction(2, 1), {'method': 'enumeration'})
    """
    cost, _ = enumerate_all(problem)
    return Fraction(cost), {"method": "enumeration"}


def enumerate_all(problem: Integers) -> tuple[int, np.ndarray]:
    """Return the smallest cost of all permutations, and the first one in lexicographic order that has it.

    Parameters
    ----------
    problem : Integers
        Of up to 8 rows: memory grows with n!.

    Returns
    -------
    int
        The exact cost in the integer problem, 2^shift times that of the data.
    array of int64, shape (n,)

    Examples
    --------
    >>> from trisplit.qap import Instance
    >>> cost, permutation = enumerate_all(Integers.of(Instance("swap", A=[[0, 1], [0, 0]], B=[[0, 5], [2, 0]])))
    >>> cost, permutation.tolist()
    (2, [1, 0])
    """
    n = problem.n
    size = n * n * largest(problem.A) * largest(problem.B) + n * largest(problem.C)
    A, B, C = narrow(size, problem.A, problem.B, problem.C)
    p, costs = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=A.dtype)
    for k in range(n):
        p, parents = _longer(p, n)
        c = p[:, k]
        costs = costs[parents] + (A[k, k] * np.diag(B) + C[k])[c]
        for i in range(k):
            costs += (A[i, k] * B + A[k, i] * B.T)[p[:, i], c]
    first = int(np.argmin(costs))
    return int(costs[first]), p[first]


def _longer(p: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the beginnings that are longer by one entry than those in p, in order, and which of them each extends."""
    free = np.ones((len(p), n), dtype=bool)
    free[np.arange(len(p))[:, None], p] = False
    parents, columns = np.nonzero(free)
    return np.column_stack((p[parents], columns)), parents
