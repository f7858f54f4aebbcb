"""Check the certificate of a lower bound, in integers of any size.

All numbers of a certificate are integers. They refer to the problem in integers: with A 2^a, B 2^b, C 2^(a+b) integer
for the smallest a, b >= 0 (a larger if C asks for it), costs are 2^(a+b) times those of the data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, inf, nextafter

import numpy as np


class WrongError(Exception):
    """A claim does not hold; the message says which, in one line."""


@dataclass(frozen=True, eq=False)
class Whole:
    """A problem in integers: arrays of Python integers, and the exponent of two by which costs were multiplied."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    exponent: int

    @property
    def n(self) -> int:
        return len(self.A)

    def symmetric_form(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return A + A', B + B', 4 C, whose costs are 4 times those of A, B, C if one matrix is symmetric."""
        if not (_is_symmetric(self.A) or _is_symmetric(self.B)):
            raise WrongError("the certificate is for symmetric matrices, neither A nor B is")
        return self.A + self.A.T, self.B + self.B.T, 4 * self.C


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


def checked_duals(certificate: Mapping, costs: np.ndarray, scale: int) -> int:
    """Return sum u + sum v if scale (u_i + v_k) <= costs_ik for all i, k; scale times it bounds all assignments."""
    n = len(costs)
    u, v = (integers(certificate, label, (n,)) for label in "uv")
    over = scale * (u[:, None] + v[None, :]) > costs
    if over.any():
        i, k = np.argwhere(over)[0]
        raise WrongError(
            f"the certificate's dual variables are not feasible: u[{i}] + v[{k}] exceeds the cost of that pair"
        )
    return int(u.sum() + v.sum())


def integers(certificate: Mapping, label: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an entry of the certificate as an array of Python integers of that shape, or raise `WrongError`."""
    value = certificate.get(label)
    array = np.empty(shape, dtype=object)
    if not _has_shape(value, shape):
        raise WrongError(f"the certificate's {label} must be integers of shape {shape}")
    array[...] = value
    return array


def _has_shape(value: object, shape: tuple[int, ...]) -> bool:
    if not shape:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, list) and len(value) == shape[0] and all(_has_shape(x, shape[1:]) for x in value)


checkers: dict[str, Callable[[Whole, Mapping], Fraction]] = {"gilmore-lawler": _check_gilmore_lawler}


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
    if _is_symmetric(A):
        pair = max(pair, gcd(*A[off]) * gcd(*(B + B.T)[off]))
    if _is_symmetric(B):
        pair = max(pair, gcd(*(A + A.T)[off]) * gcd(*B[off]))
    return gcd(pair, gcd(*A.diagonal()) * gcd(*B.diagonal()), gcd(*problem.C.ravel()))


def _is_symmetric(M: np.ndarray) -> bool:
    return bool((M == M.T).all())


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
