"""A quadratic assignment problem in exact integers, whatever numbers it came with.

Every float64 is an integer times a power of two. With A 2^a, B 2^b and C 2^(a+b) integer, all costs are integers after
multiplication by 2^(a+b), and a bound on them is a bound on the costs, without any rounding.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, inf, nextafter

import numpy as np

from trisplit.qap.instance import Instance
from trisplit.qap.matrices import as_dense

# Sums and products whose size is below this fit int64.
SAFE = 2**62


@dataclass(frozen=True, eq=False)
class Integers:
    """The integer problem of an instance: matrices of Python integers, with costs 2^shift times those of the data.

    Attributes
    ----------
    A, B, C : arrays of Python integers, shape (n, n)
    shift : int
    exact : bool
        Whether the data are integers themselves; bounds are then integers, too.

    Examples
    --------
    >>> from trisplit.qap import Instance
    >>> halves = Integers.of(Instance("halves", A=[[0, 0.5], [1, 0]], B=[[0, 3], [4, 0]]))
    >>> halves.A.tolist(), halves.shift, halves.exact
    ([[0, 1], [2, 0]], 1, False)
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    shift: int
    exact: bool

    @classmethod
    def of(cls, instance: Instance) -> "Integers":
        """Return the integer problem of an instance."""
        n = instance.n
        A, B = as_dense(instance.A), as_dense(instance.B)
        C = np.zeros((n, n), dtype=np.int64) if instance.C is None else instance.C
        exact = all(M.dtype.kind == "i" for M in (A, B, C))
        (A, a), (B, b), (C, c) = map(_integers, (A, B, C))
        A, a = A * 2 ** max(c - a - b, 0), a + max(c - a - b, 0)
        return cls(A, B, C * 2 ** (a + b - c), a + b, exact)

    @property
    def n(self) -> int:
        return len(self.A)

    @property
    def symmetric(self) -> bool:
        """Whether A or B is symmetric, so that both may be replaced by A + A' and B + B', with 4 times the costs."""
        return any(np.array_equal(M, M.T) for M in (self.A, self.B))

    @cached_property
    def grain(self) -> int:
        """A number that divides every cost; 0 if all costs are 0.

        A cost is a sum of terms A_ii B_kk, C_ik and A_ij B_kl + A_ji B_lk; the greatest common divisor of all that can
        occur divides it. With two symmetric matrices and a zero diagonal it is even.
        """
        a, b = (_gcd(_off_diagonal(M)) for M in (self.A, self.B))
        pairs = a * b
        for first, second in ((self.A, self.B), (self.B, self.A)):
            if np.array_equal(first, first.T):
                pairs = max(pairs, _gcd(_off_diagonal(first)) * _gcd(_off_diagonal(second + second.T)))
        return gcd(pairs, _gcd(np.diag(self.A)) * _gcd(np.diag(self.B)), _gcd(self.C))

    def value(self, bound: Fraction) -> int | float:
        """Return the largest number of the data's kind that a lower bound on the integer costs proves."""
        steps = -(-bound // self.grain) if self.grain else 0
        proven = Fraction(steps * self.grain, 2**self.shift)
        return int(proven) if self.exact else rounded_down(proven)


def rounded_down(x: Fraction) -> float:
    """Return the largest float64 that does not exceed x.

    Examples
    --------
    >>> rounded_down(Fraction(1, 10)) < Fraction(1, 10) < 0.1
    True
    """
    try:
        near = float(x)
    except OverflowError:
        near = inf if x > 0 else -inf
    return near if near <= x else nextafter(near, -inf)


def narrow(size: int, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays of Python integers as int64, for speed, where they and a result of that size fit."""
    fits = max(size, *map(largest, arrays)) < SAFE
    return tuple(M.astype(np.int64) for M in arrays) if fits else arrays


def largest(M: np.ndarray) -> int:
    """Return the largest absolute value of an array, 0 if it is empty."""
    return max(map(abs, M.ravel().tolist()), default=0)


def _integers(M: np.ndarray) -> tuple[np.ndarray, int]:
    """Return M 2^k as Python integers, and the smallest k >= 0 that makes it integer."""
    ratios = [x.as_integer_ratio() for x in M.ravel().tolist()]
    denominator = max(q for _, q in ratios)
    numbers = np.empty(M.size, dtype=object)
    numbers[:] = [p * (denominator // q) for p, q in ratios]
    return numbers.reshape(M.shape), denominator.bit_length() - 1


def _off_diagonal(M: np.ndarray) -> np.ndarray:
    return M[~np.eye(len(M), dtype=bool)]


def _gcd(M: np.ndarray) -> int:
    return gcd(*M.ravel().tolist())
