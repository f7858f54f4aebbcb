"""Logarithmic barriers of one variable, infinite outside of an interval; entry by entry."""

from dataclasses import dataclass
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.barriers.equations import (
    barrier_root,
    full,
    positive_numbers,
    power_balance,
    safe_log,
    two_barriers_gap,
)
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Entries, mapped, nan_kept, summed
from trisplit.terms.checks import like, nonnegative, parameter
from trisplit.terms.sets.box import Box

__all__ = ["BoxLogBarrier", "LogBarrier", "LogInverse", "LogPower"]


class OfPositive(Entries, ConvexFunction):
    """A function of each entry, finite where it is positive."""

    def domain(self) -> Box:
        """Return {x : x >= 0}."""
        return Box(0.0, inf).batched(self.batch_ndim)


@dataclass(frozen=True, eq=False)
class LogBarrier(OfPositive):
    """The logarithmic barrier, -sum_i weight_i log x_i for x > 0.

    prox(x, gamma) = (x + sqrt(x^2 + 4 gamma weight)) / 2, entry by entry.

    Parameters
    ----------
    weight : float or array
        Positive; an array must broadcast to the shape of x.

    References
    ----------
    Combettes and Pesquet (2007), A Douglas-Rachford splitting approach to nonsmooth convex variational signal recovery.

    Examples
    --------
    >>> import numpy as np
    >>> LogBarrier().prox(np.array([0.0, 1.5]), gamma=1.0)
    array([1., 2.])
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive_numbers(self.weight, "weight"))

    @summed
    def value(self, x: Array) -> Array:
        """Return -sum_i weight_i log x_i, infinite unless x > 0."""
        xp = namespace(x)
        return xp.where(x > 0, -like(self.weight, x, "weight") * safe_log(x), inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the positive root of p - gamma weight / p = x."""
        return barrier_root(x, full(t * like(self.weight, x, "weight"), x))

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return -sum_i weight_i (1 + log(-u_i / weight_i)), infinite unless u < 0."""
        weight = full(like(self.weight, u, "weight"), u)
        return namespace(u).where(u < 0, -weight * (1 + safe_log(-u / weight)), inf)

    @classmethod
    def examples(cls) -> list[tuple["LogBarrier", Shape]]:
        return [(cls(), (5,)), (cls(np.array([0.3, 1.0, 4.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class BoxLogBarrier(Entries, ConvexFunction):
    """The logarithmic barrier of a box, -weight sum_i log(x_i - lo_i) + log(hi_i - x_i).

    prox(x, gamma) is the root p in (lo, hi) of p - gamma weight (1 / (p - lo) - 1 / (hi - p)) = x, a cubic equation.

    Parameters
    ----------
    lo, hi : float or array
        Finite with lo < hi; arrays must broadcast to the shape of x.
    weight : float or array
        Positive.

    References
    ----------
    Chouzenoux, Corbineau and Pesquet (2020), A proximal interior point algorithm with applications to image processing.

    Examples
    --------
    >>> import numpy as np
    >>> BoxLogBarrier(0.0, 1.0).prox(np.array([0.5, 4.5]), gamma=1.0).round(6)
    array([0.5     , 0.798171])
    """

    lo: float | Array = 0.0
    hi: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("lo", "hi", "weight")

    def __post_init__(self) -> None:
        Box(self.lo, self.hi)  # checks that they fit each other
        lo, hi = parameter(self.lo, "lo"), parameter(self.hi, "hi")
        if np.any(np.asarray(lo) >= np.asarray(hi)):
            raise InputError("`lo` must be below `hi`, got equal entries; the inside of the box would be empty")
        weight = positive_numbers(self.weight, "weight")
        for name, value in (("lo", lo), ("hi", hi), ("weight", weight)):
            object.__setattr__(self, name, value)

    def _parts(self, x: Array) -> tuple[Array, ...]:
        """Return lo, hi and weight in the shape of `x`."""
        return tuple(full(like(getattr(self, name), x, name), x) for name in self.broadcast)

    @summed
    def value(self, x: Array) -> Array:
        """Return the sum of the barriers, infinite outside of the open box."""
        lo, hi, weight = self._parts(x)
        return namespace(x).where((x > lo) & (x < hi), -weight * (safe_log(x - lo) + safe_log(hi - x)), inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the root, found from the end that is nearer to it."""
        xp, (lo, hi, weight) = namespace(x), self._parts(x)
        half = (hi - lo) / 2
        away = x - (lo + half)
        gap = half * two_barriers_gap(xp.abs(away) / half, t * weight / half**2)
        p = xp.where(away > 0, hi - gap, lo + gap)
        # what rounds to the end would have an infinite value
        return xp.clip(p, lo + eps(x) * xp.abs(lo), hi - eps(x) * xp.abs(hi))

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return the sum of u_i m_i + weight_i (v s + log(1 - s^2) + 2 log h), with s (v) = v / (1 + sqrt(1 + v^2))."""
        xp, (lo, hi, weight) = namespace(u), self._parts(u)
        half = (hi - lo) / 2
        v = half * u / weight
        size = xp.hypot(v, xp.ones_like(v))
        # 1 - s^2 = 2 / (1 + size)
        inner = v * (v / (1 + size)) - xp.log((1 + size) / 2) + 2 * xp.log(half)
        return u * (lo + half) + weight * inner

    def domain(self) -> Box:
        """Return the box."""
        return Box(self.lo, self.hi).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["BoxLogBarrier", Shape]]:
        return [(cls(), (5,)), (cls(np.array([-1.0, 0.0, 2.0]), 3.0, 0.5), (2, 3))]


@dataclass(frozen=True, eq=False)
class LogInverse(OfPositive):
    """The sum of two barriers, weight sum_i -log x_i + inverse_i / x_i for x > 0.

    prox(x, gamma) is the positive root of p^3 = x p^2 + t p + t inverse, with t = gamma weight.

    Parameters
    ----------
    inverse : float or array
        The multiple of 1 / x, nonnegative.
    weight : float or array
        Positive; arrays must broadcast to the shape of x.

    References
    ----------
    Chaux, Combettes, Pesquet and Wajs (2007), A variational formulation for frame-based inverse problems.

    Examples
    --------
    >>> import numpy as np
    >>> LogInverse(2.0).prox(np.array([1.0]), gamma=1.0)
    array([2.])
    """

    inverse: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("inverse", "weight")

    def __post_init__(self) -> None:
        object.__setattr__(self, "inverse", nonnegative(self.inverse, "inverse"))
        object.__setattr__(self, "weight", positive_numbers(self.weight, "weight"))

    @summed
    def value(self, x: Array) -> Array:
        """Return weight sum_i -log x_i + inverse_i / x_i, infinite unless x > 0."""
        xp = namespace(x)
        each = like(self.inverse, x, "inverse") / xp.where(x > 0, x, 1.0) - safe_log(x)
        return xp.where(x > 0, like(self.weight, x, "weight") * each, inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the positive root of the cubic, whose two sides are compared in logarithms."""
        xp = namespace(x)
        scale = full(t * like(self.weight, x, "weight"), x)
        linear, constant = xp.log(scale), safe_log(scale * like(self.inverse, x, "inverse"))
        left = [(xp.zeros_like(x), 3.0), (safe_log(-x), 2.0)]
        return xp.exp(power_balance(left, [(safe_log(x), 2.0), (linear, 1.0), (constant, 0.0)]))

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i u_i y_i + weight_i (log y_i - inverse_i / y_i) at the y where it is largest; for u < 0."""
        xp = namespace(u)
        weight = full(like(self.weight, u, "weight"), u)
        inverse, v = like(self.inverse, u, "inverse"), xp.where(u < 0, -u, 1.0) / weight
        y = (1 + xp.sqrt(1 + 4 * inverse * v)) / (2 * v)
        return xp.where(u < 0, weight * (xp.log(y) - v * y - inverse / y), inf)

    @classmethod
    def examples(cls) -> list[tuple["LogInverse", Shape]]:
        return [(cls(), (5,)), (cls(np.array([0.0, 2.0, 0.3]), 0.7), (2, 3))]


@dataclass(frozen=True, eq=False)
class LogPower(OfPositive):
    """The negative log-likelihood of a generalised gamma law, weight sum_i -log x_i + rate_i x_i^power for x > 0.

    prox(x, gamma) is the positive root of p^2 + t rate power p^power = x p + t, with t = gamma weight.

    Parameters
    ----------
    power : float or array
        At least 1.
    rate : float or array
        The multiple of x^power, positive.
    weight : float or array
        Positive; arrays must broadcast to the shape of x.

    References
    ----------
    Chaux, Combettes, Pesquet and Wajs (2007), A variational formulation for frame-based inverse problems.

    Examples
    --------
    >>> import numpy as np
    >>> LogPower(2.0, rate=0.5).prox(np.array([1.0]), gamma=1.0)
    array([1.])
    """

    power: float | Array = 2.0
    rate: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("power", "rate", "weight")

    def __post_init__(self) -> None:
        for name in self.broadcast:
            object.__setattr__(self, name, positive_numbers(getattr(self, name), name))
        if np.any(np.asarray(self.power) < 1):
            raise InputError(f"`power` must be >= 1, got {np.min(self.power)}; the term is convex only then")

    @summed
    def value(self, x: Array) -> Array:
        """Return weight sum_i -log x_i + rate_i x_i^power, infinite unless x > 0."""
        xp = namespace(x)
        power = xp.where(x > 0, x, 1.0) ** like(self.power, x, "power")
        each = like(self.rate, x, "rate") * power - safe_log(x)
        return xp.where(x > 0, like(self.weight, x, "weight") * each, inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the positive root, found by the logarithms of both sides."""
        xp, power = namespace(x), full(like(self.power, x, "power"), x)
        scale = full(t * like(self.weight, x, "weight"), x)
        growth = scale * like(self.rate, x, "rate") * power
        # a power of 1 only moves x
        x, growth = xp.where(power > 1, x, x - growth), xp.where(power > 1, growth, 0.0)
        powers = np.where(np.asarray(self.power) > 1, self.power, 2.0)
        left = [(xp.zeros_like(x), 2.0), (safe_log(growth), powers), (safe_log(-x), 1.0)]
        return xp.exp(power_balance(left, [(safe_log(x), 1.0), (xp.log(scale), 0.0)]))

    @classmethod
    def examples(cls) -> list[tuple["LogPower", Shape]]:
        return [(cls(), (5,)), (cls(np.array([1.0, 1.5, 5.0]), 0.7, 2.0), (2, 3))]
