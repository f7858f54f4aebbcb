"""What the swap of two assignments changes, and a descent that is exact for integers of any size.

Compiled swaps of integers that are too large for int64 are made in float64, where a change that is small against
the largest one drowns in rounding. `exact_descent` goes on from there: float64 shows which pairs cannot improve, by a
change that exceeds all rounding, and of the others the change is computed in integers of any size.
"""

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from trisplit.qap.instance import Instance, max_abs
from trisplit.qap.matrices import as_dense

UNIT_ROUNDOFF = 2.0**-53


def exact_descent(instance: Instance, permutation: np.ndarray, *, deadline: float | None = None) -> np.ndarray:
    """Swap pairs of assignments until none lowers the cost, by exact changes of the cost.

    Parameters
    ----------
    instance : Instance
        Of integers.
    permutation : array of int64
    deadline : float, optional
        A `time.perf_counter()` value at which to stop.

    Returns
    -------
    array of int64
        A permutation that no swap of two entries improves, unless the deadline came first.

    Examples
    --------
    >>> import numpy as np
    >>> large = np.array([[0, 10**15], [10**15 + 1, 0]])
    >>> exact_descent(Instance("large", large, large), np.array([0, 1]))
    array([1, 0])
    """
    p = np.array(permutation, dtype=np.int64)
    A, B, C = (as_dense(M).astype(object) for M in (instance.A, instance.B, _linear(instance)))
    improved = True
    while improved:
        improved = False
        for r, s in _doubtful(instance, p):
            if deadline is not None and perf_counter() >= deadline:
                return p
            if swap_delta(A, B, C, p, r, s) < 0:
                p[[r, s]] = p[[s, r]]
                improved = True  # so that pairs before this one, and those that were beyond doubt, are seen again
    return p


def _linear(instance: Instance) -> np.ndarray:
    return np.zeros((instance.n, instance.n), dtype=np.int64) if instance.C is None else instance.C


def _doubtful(instance: Instance, p: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the pairs of which float64 cannot tell that they raise the cost, those that seem to gain most first.

    In `swap_deltas` an entry is a sum of 8 scalar products of n numbers, 6 products of differences and 4 linear costs.
    In units of roundoff times max|A| max|B|, the scalar products are off by 8 n (n + 2), rounded data included, the
    other products by 120, and sums of them by less than 50 n + 150: `rounding` is twice as much, and so for max|C|.
    """
    n, C = instance.n, _linear(instance)
    rounding = UNIT_ROUNDOFF * (16 * (n + 8) ** 2 * max_abs(instance.A) * max_abs(instance.B) + 64 * max_abs(C))
    A, B = (as_dense(M).astype(float) for M in (instance.A, instance.B))
    deltas = swap_deltas(A, B[p[:, None], p], C[:, p].astype(float))
    r, s = np.nonzero(np.triu(deltas <= rounding, 1))
    order = np.argsort(deltas[r, s], kind="stable")
    yield from zip(r[order].tolist(), s[order].tolist(), strict=True)


def swap_delta(A: np.ndarray, B: np.ndarray, C: np.ndarray, p: np.ndarray, r: int, s: int) -> int:
    """Return the change of the cost of p if rows r and s swap their columns, for matrices of Python integers.

    Examples
    --------
    >>> import numpy as np
    >>> A, B = np.array([[0, 1], [0, 0]], dtype=object), np.array([[0, 5], [2, 0]], dtype=object)
    >>> swap_delta(A, B, np.zeros_like(A), np.array([0, 1]), 0, 1)
    -3
    """
    k, m = p[r], p[s]
    rows, columns = A[r] - A[s], A[:, r] - A[:, s]
    rows[[r, s]] = columns[[r, s]] = 0  # where the two rows meet each other or themselves, B changes in both indices
    delta = rows @ (B[m, p] - B[k, p]) + columns @ (B[p, m] - B[p, k])
    delta += (A[r, r] - A[s, s]) * (B[m, m] - B[k, k]) + (A[r, s] - A[s, r]) * (B[m, k] - B[k, m])
    return delta + C[r, m] + C[s, k] - C[r, k] - C[s, m]


def swap_deltas(A: np.ndarray, B: np.ndarray, C: np.ndarray | None = None) -> np.ndarray:
    """Return for all pairs the change of sum_ij A_ij B_ij + sum_i C_ii if r and s change places in B and C.

    All pairs at once by two matrix products; A and B need not be symmetric. The compiled swaps must agree.
    """
    columns, rows = A.T @ B, A @ B.T  # sums over k of A_kr B_ks and of A_rk B_sk
    deltas = np.zeros_like(A)
    for M in (columns, rows):
        own = np.diag(M)
        deltas += M + M.T - own[:, None] - own[None, :]
    # The sums ran over all k; for k = r and k = s the two swapped indices meet, which changes four products.
    a, b = np.diag(A), np.diag(B)
    A_rr_ss, B_rr_ss = a[:, None] - a[None, :], b[None, :] - b[:, None]
    skew_A, skew_B = A - A.T, B.T - B
    wrong = _own_rows(A, B) + _own_rows(A.T, B.T)
    deltas += A_rr_ss * B_rr_ss + skew_A * skew_B - wrong
    if C is not None:
        own = np.diag(C)
        deltas += C + C.T - own[:, None] - own[None, :]
    return deltas


def _own_rows(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the terms k = r and k = s of sum_k (A_kr - A_ks) (B_ks - B_kr)."""
    a, b = np.diag(A), np.diag(B)
    at_r = (a[:, None] - A) * (B - b[:, None])
    at_s = (A.T - a[None, :]) * (b[None, :] - B.T)
    return at_r + at_s
