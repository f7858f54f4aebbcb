"""Check the certificate of a lower bound, in integers of any size.

All numbers of a certificate are integers. They refer to the problem in integers: with A 2^a, B 2^b, C 2^(a+b) integer
for the smallest a, b >= 0 (a larger if C asks for it), costs are 2^(a+b) times those of the data.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import gcd, inf, nextafter

import numpy as np

from trisplit.verify.dense import check_dnn
from trisplit.verify.enumeration import check_enumeration
from trisplit.verify.tangent import check_spectral
from trisplit.verify.whole import Whole, WrongError, checked_duals, is_symmetric


def proven_bound(A: np.ndarray, B: np.ndarray, C: np.ndarray | None, certificate: Mapping) -> int | float:
    """Return the lower bound that a certificate proves, or raise `WrongError`.

    Parameters
    ----------
    A, B : arrays of shape (n, n)
    C : array of shape (n, n), or None
    certificate : mapping
        As in `bound_certificate` of a result, and in `trisplit.qap.LowerBound`.

    Returns
    -------
    int or float
        An integer if the data are integers: then the bound is rounded up to the next number that a cost can be.
        Otherwise the largest float that does not exceed the bound.

    Examples
    --------
    >>> import numpy as np
    >>> A, B = np.array([[0, 1], [1, 0]]), np.array([[0, 7], [7, 0]])
    >>> certificate = {"method": "gilmore-lawler", "form": "rows", "u": [3, 3], "v": [4, 4]}
    >>> proven_bound(A, B, None, certificate)
    14
    """
    A, B = np.asarray(A), np.asarray(B)
    C = np.zeros(A.shape, dtype=np.int64) if C is None else np.asarray(C)
    problem = _whole(A, B, C)
    method = certificate.get("method") if isinstance(certificate, Mapping) else None
    if not isinstance(method, str) or method not in checkers:
        raise WrongError(f"the certificate's method must be one of {', '.join(checkers)}, it is {method!r}")
    bound = checkers[method](problem, certificate)
    step = _common_divisor(problem)
    cost = Fraction(-(-bound // step) * step if step else 0, 2**problem.exponent)
    if all(M.dtype.kind in "biu" for M in (A, B, C)):
        return int(cost)
    return _float_below(cost)


def _check_gilmore_lawler(problem: Whole, certificate: Mapping) -> Fraction:
    """Recompute l_ik, the least cost of row i at place k, and check u_i + v_k <= l_ik."""
    form, n = certificate.get("form"), problem.n
    A, B, C, factor = problem.A, problem.B, problem.C, 1
    if form == "symmetric":
        (A, B, C), factor = problem.symmetric_form(), 4
    elif form == "columns":
        A, B = A.T, B.T
    elif form != "rows":
        raise WrongError(f"the certificate's form must be rows, columns or symmetric, it is {form!r}")
    rising = _as_int64_if_small([sorted(row[:i] + row[i + 1 :]) for i, row in enumerate(A.tolist())], n)
    falling = _as_int64_if_small([sorted(r[:k] + r[k + 1 :], reverse=True) for k, r in enumerate(B.tolist())], n)
    least = np.multiply.outer(A.diagonal(), B.diagonal()) + C
    if n > 1:
        least = least + (rising @ falling.T).astype(object)
    return Fraction(checked_duals(certificate, least, 1), factor)


checkers: dict[str, Callable[[Whole, Mapping], Fraction]] = {
    "gilmore-lawler": _check_gilmore_lawler,
    "projection": check_spectral,
    "convex": check_spectral,
    "dnn": check_dnn,
    "enumeration": check_enumeration,
}


def _whole(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> Whole:
    a, b, c = (max(x.as_integer_ratio()[1] for x in M.ravel().tolist()).bit_length() - 1 for M in (A, B, C))
    a = max(a, c - b)
    return Whole(_times_power(A, a), _times_power(B, b), _times_power(C, a + b), a + b)


def _times_power(M: np.ndarray, exponent: int) -> np.ndarray:
    out = np.empty(M.shape, dtype=object)
    ratios = (x.as_integer_ratio() for x in M.ravel().tolist())
    out.ravel()[:] = [(p << exponent) // q for p, q in ratios]  # q divides, it is a power of two and at most 2^exponent
    return out


def _common_divisor(problem: Whole) -> int:
    """Return a number that divides all costs, which are sums of A_ij B_kl + A_ji B_lk, A_ii B_kk and C_ik."""
    A, B = problem.A, problem.B
    off = ~np.eye(problem.n, dtype=bool)
    pair = gcd(*A[off]) * gcd(*B[off])
    if is_symmetric(A):
        pair = max(pair, gcd(*A[off]) * gcd(*(B + B.T)[off]))
    if is_symmetric(B):
        pair = max(pair, gcd(*(A + A.T)[off]) * gcd(*B[off]))
    return gcd(pair, gcd(*A.diagonal()) * gcd(*B.diagonal()), gcd(*problem.C.ravel()))


def _as_int64_if_small(rows: list[list[int]], n: int) -> np.ndarray:
    """Return rows as int64, if sums of n products of two such numbers fit, else as Python integers."""
    small = max((abs(x) for row in rows for x in row), default=0) ** 2 * n < 2**62
    return np.array(rows, dtype=np.int64 if small else object).reshape(len(rows), -1)


def _float_below(x: Fraction) -> float:
    try:
        near = float(x)
    except OverflowError:
        near = inf if x > 0 else -inf
    return near if near <= x else nextafter(near, -inf)
