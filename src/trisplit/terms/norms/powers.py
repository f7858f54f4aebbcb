"""Powers of the absolute value of each entry."""

from dataclasses import dataclass
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.errors import InputError
from trisplit.terms.checks import nonnegative, positive
from trisplit.terms.norms.weighted import Weighted, descend, keep, soft, within

__all__ = ["Power"]


@dataclass(frozen=True, eq=False)
class Power(Weighted):
    """A power of the absolute value, the Lp norm to the power p, sum_i weight_i |x_i|^p with p >= 1.

    prox(x, gamma) = sign(x) y with y + k y^(p - 1) = |x|, k = gamma weight p: closed forms for p = 1, 3/2, 2 and 3,
    else Newton's method on an equation made convex, s^m + kappa s = |x|, from a bound on the root less than twice it.

    Parameters
    ----------
    p : float
        The exponent, at least 1.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Chaux, Combettes, Pesquet, Wajs (2007), A variational formulation for frame-based inverse problems, Examples 4.4
    and 4.6.

    Examples
    --------
    >>> import numpy as np
    >>> Power(3).prox(np.array([-4.0, 0.0]), gamma=1.0)
    array([-1.,  0.])
    """

    p: float
    weight: float | Array = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        p = positive(self.p, "p")
        if p < 1:
            raise InputError(f"`p` must be at least 1, got {p}; the power is convex only then")
        keep(self, p=p, weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return |v|^p."""
        return namespace(v).abs(v) ** self.p

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the root of y + c p y^(p - 1) = |v|, with the sign of v."""
        if self.p == 1:
            return soft(v, c)
        if self.p == 2:
            return v / (1.0 + 2.0 * c)
        xp = namespace(v)
        a, k = xp.abs(v), xp.zeros_like(v) + self.p * c
        some = (a > 0) & (k > 0)
        one = xp.ones_like(v)
        rest = v if self.p > 2 else xp.where((k > 0) & (v == v), xp.zeros_like(v), v)  # with the derivative at zero
        return xp.where(some, xp.sign(v) * _root(self.p, xp.where(some, k, one), xp.where(some, a, one)), rest)

    def phi_star(self, u: Array) -> Array:
        """Return (p - 1) (|u| / p)^(p / (p - 1)); for p = 1, 0 if |u| <= 1, else infinity."""
        a = namespace(u).abs(u)
        return within(a, 1.0) if self.p == 1 else (self.p - 1.0) * (a / self.p) ** (self.p / (self.p - 1.0))

    def phi_slope(self) -> float:
        """Return 1 for p = 1, else infinity."""
        return 1.0 if self.p == 1 else inf

    @classmethod
    def examples(cls) -> list[tuple["Power", Shape]]:
        weights = np.array([0.0, 0.5, 2.0])
        return [(cls(4 / 3, 0.7), (4,)), (cls(1.5), (3,)), (cls(3, weights), (3,)), (cls(4), (4,)), (cls(2.7), (3,))]


def _root(p: float, k: Array, a: Array) -> Array:
    """Return the y > 0 with y + k y^(p - 1) = a, for positive k and a."""
    xp = namespace(a)
    if p == 3:
        return 2.0 * a / (1.0 + xp.hypot(xp.ones_like(a), 2.0 * xp.sqrt(k) * xp.sqrt(a)))
    if p == 1.5:
        twice = 2.0 * xp.sqrt(a)  # s = sqrt(y) solves s^2 + k s = a
        return (twice * xp.sqrt(a) / (k + xp.hypot(k, twice))) ** 2
    # s^m + kappa s = a with m > 1, for s = y k^(1/m) or s = y^(p - 1)
    m = p - 1.0 if p > 2 else 1.0 / (p - 1.0)
    m = round(m) if abs(m - round(m)) < 1e-12 else m
    kappa = k ** (-1.0 / m) if p > 2 else k

    def equation(s: Array) -> tuple[Array, Array]:
        power = s ** (m - 1)
        return s * (power + kappa) - a, m * power + kappa

    start = a / xp.maximum(kappa, a / a ** (1.0 / m))  # the lesser of a / kappa and a^(1/m): neither bound overflows
    s = descend(equation, start, 7 if m <= 3 else 20)
    if p > 2:
        return s * kappa
    return xp.where(m * s ** (m - 1) > kappa, a - kappa * s, s**m)  # what loses less
