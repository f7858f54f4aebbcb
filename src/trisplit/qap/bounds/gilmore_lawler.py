"""The bound of Gilmore and Lawler.

If row i of A goes to row k of B, the other n - 1 entries of the two rows meet in some order, and cost at least

    l_ik = A_ii B_kk + C_ik + <other entries of A's row i ascending, other entries of B's row k descending>.

So every cost is at least the optimum of the assignment problem with costs l. The same holds for the columns, and with
A + A' and B + B', at four times the costs, if one matrix is symmetric.

Reference: P. C. Gilmore, Optimal and suboptimal algorithms for the quadratic assignment problem, SIAM Journal 10 (1962)
305-313; E. L. Lawler, The quadratic assignment problem, Management Science 9 (1963) 586-599.
"""

from fractions import Fraction

import numpy as np

from trisplit.qap.bounds.assignment import assignment_duals
from trisplit.qap.bounds.integers import Integers, largest, narrow

Bounded = tuple[Fraction, dict]


def gilmore_lawler(problem: Integers, time_limit: float | None = None) -> Bounded:
    """Return the best of the Gilmore-Lawler bounds by rows, by columns and of the symmetric parts.

    Returns
    -------
    Fraction
        A lower bound on the costs of the integer problem.
    dict
        The certificate: which form, and the dual variables `u`, `v` of the assignment problem with costs l.

    Examples
    --------
    >>> from trisplit import qap
    >>> bound, certificate = gilmore_lawler(Integers.of(qap.load("nug12")))
    >>> int(bound), certificate["form"]
    (493, 'symmetric')
    """
    A, B, C = problem.A, problem.B, problem.C
    forms = {"rows": (A, B, C, 1), "columns": (A.T, B.T, C, 1)}
    if problem.symmetric:
        forms = {"symmetric": (A + A.T, B + B.T, 4 * C, 4)}
    best: Bounded | None = None
    for form, (first, second, linear, factor) in forms.items():
        u, v = assignment_duals(partial_costs(first, second, linear))
        bound = Fraction(int(u.sum() + v.sum()), factor)
        if best is None or bound > best[0]:
            best = bound, {"method": "gilmore-lawler", "form": form, "u": u.tolist(), "v": v.tolist()}
    assert best is not None
    return best


def partial_costs(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return l_ik for matrices of Python integers.

    Examples
    --------
    >>> import numpy as np
    >>> A, B = np.array([[1, 5], [0, 0]], dtype=object), np.array([[2, 3], [0, 7]], dtype=object)
    >>> partial_costs(A, B, np.zeros_like(A)).tolist()
    [[17, 7], [0, 0]]
    """
    n = len(A)
    size = n * largest(A) * largest(B) + largest(C)
    A, B, C = narrow(size, A, B, C)
    off = ~np.eye(n, dtype=bool)
    ascending = np.sort(A[off].reshape(n, n - 1), axis=1)
    descending = np.sort(B[off].reshape(n, n - 1), axis=1)[:, ::-1]
    own = np.multiply.outer(np.diag(A), np.diag(B)) + C
    return own + ascending @ descending.T if n > 1 else own
