"""Nonconvex functions on the nonnegative line: an entropy or Burg's barrier, and a penalty that favours small entries.

How their proximal maps are found is said in `half_line`.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.terms.blocks import mapped, nan_kept, summed
from trisplit.terms.nonconvex.half_line import (
    Burg,
    Cauchys,
    Entropic,
    HalfLine,
    LogSums,
    ends_of,
    entropy,
    entropy_point,
)
from trisplit.terms.nonconvex.logs import log_of_square

__all__ = ["BurgCauchy", "BurgLogSum", "EntropyCauchy", "EntropyL0", "EntropyLogSum"]


@dataclass(frozen=True, eq=False)
class EntropyL0(HalfLine):
    """Entropy with a price on nonzero entries, sum of x_i log(x_i) + weight_i for x_i > 0, 0 for x_i = 0.

    prox(x, gamma) = s with s + gamma log(s) = x - gamma where s^2 + 2 gamma s > 2 gamma weight, else 0.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Chierchia, Chouzenoux, Combettes, Pesquet, The proximity operator repository.

    Examples
    --------
    >>> import numpy as np
    >>> EntropyL0(2.0).prox(np.array([2.0, 3.0]), gamma=1.0).round(4)
    array([0.    , 1.5571])
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)

    @summed
    def value(self, v: Array) -> Array:
        """Return the sum of x log(x) + weight over positive entries, infinite if one is negative."""
        xp = namespace(v)
        inside = xp.where(v > 0, entropy(v) + self.weights(v), xp.zeros_like(v))
        return xp.where(v < 0, inf, inside)

    @mapped
    @nan_kept
    def prox(self, v: Array, step: float | Array) -> Array:
        """Return the proximal point of the entropy, or 0 where that is better."""
        xp = namespace(v)
        t: Array = step + xp.zeros_like(v)
        s = entropy_point(v, t)
        return xp.where(s > 2 * t * self.weights(v) / (s + 2 * t), s, xp.zeros_like(v))  # s^2 could overflow

    @classmethod
    def examples(cls) -> list[tuple["EntropyL0", Shape]]:
        return [(cls(0.7), (5,)), (cls(np.array([0.0, 1.0, 2.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class EntropyLogSum(LogSums, Entropic):
    """Entropy and log-sum penalty, sum of x_i log(x_i) + weight_i log(1 + x_i / delta) for x_i >= 0.

    prox(x, gamma) is the best root of s + gamma (log(s) + 1) + gamma weight / (delta + s) = x, by Newton's method.

    Parameters
    ----------
    delta : float
        Positive.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Chierchia, Chouzenoux, Combettes, Pesquet, The proximity operator repository.

    Examples
    --------
    >>> import numpy as np
    >>> EntropyLogSum(0.01, weight=2.0).prox(np.array([10.0, 20.0]), gamma=1.0).round(4)
    array([ 6.7904, 16.0972])
    """

    delta: float = 1.0
    weight: float | Array = 1.0
    broadcast = ("weight",)

    @summed
    def value(self, v: Array) -> Array:
        """Return the value, infinite if an entry is negative."""
        xp = namespace(v)
        inside = xp.where(v < 0, xp.zeros_like(v), v)
        return xp.where(v < 0, inf, entropy(inside) + self.weights(v) * xp.log1p(inside / self.delta))

    def parts_at(self, s: Array) -> tuple[Array, Array]:
        """Return entropy and penalty."""
        return entropy(s), namespace(s).log1p(s / self.delta)

    def bends(self, t: Array, k: Array) -> tuple[Array, Array]:
        """Solve (t / s + 1) (delta + s)^2 = k."""
        xp, delta = namespace(t), self.delta
        none = k <= 4 * delta * t  # then (delta + s)^2 >= 4 delta s says that F increases
        lo = t * delta**2 / xp.where(none, xp.ones_like(k), k)
        hi = xp.where(none, lo, xp.maximum(2 * k / (t + xp.sqrt(t**2 + 4 * k)), lo))

        def psi(s: Array) -> tuple[Array, Array]:
            value = t * delta**2 / s + 2 * delta * t + t * s + (delta + s) ** 2
            return value, -t * delta**2 / s**2 + t + 2 * (delta + s)

        return ends_of(psi, k, lo, hi)

    @classmethod
    def examples(cls) -> list[tuple["EntropyLogSum", Shape]]:
        return [(cls(0.05, 0.9), (5,)), (cls(0.5, np.array([0.0, 1.0, 5.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class EntropyCauchy(Cauchys, Entropic):
    """Entropy and Cauchy penalty, sum of x_i log(x_i) + weight_i log(1 + x_i^2 / delta) for x_i >= 0.

    prox(x, gamma) is the best root of s + gamma (log(s) + 1) + 2 gamma weight s / (delta + s^2) = x, by Newton's
    method.

    Parameters
    ----------
    delta : float
        Positive.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Chierchia, Chouzenoux, Combettes, Pesquet, The proximity operator repository.

    Examples
    --------
    >>> import numpy as np
    >>> EntropyCauchy(1.0, weight=2.0).prox(np.array([10.0, 20.0]), gamma=1.0).round(4)
    array([ 6.5254, 15.9794])
    """

    delta: float = 1.0
    weight: float | Array = 1.0
    broadcast = ("weight",)

    @summed
    def value(self, v: Array) -> Array:
        """Return the value, infinite if an entry is negative."""
        xp = namespace(v)
        inside = xp.where(v < 0, xp.zeros_like(v), v)
        penalty = self.weights(v) * log_of_square(inside / self.delta**0.5)
        return xp.where(v < 0, inf, entropy(inside) + penalty)

    def parts_at(self, s: Array) -> tuple[Array, Array]:
        """Return entropy and penalty."""
        return entropy(s), log_of_square(s / self.delta**0.5)

    def bends(self, t: Array, k: Array) -> tuple[Array, Array]:
        """Solve (t / s + 1) (delta + s^2)^2 / (s^2 - delta) = 2 k, for s^2 > delta."""
        xp, delta = namespace(t), self.delta
        one = xp.ones_like(k)
        hi = 4 * k / (t + xp.sqrt(t**2 + 8 * k))  # s^2 + t s = 2 k
        none = hi**2 <= delta
        safe = xp.where(none, one, hi)
        lo = xp.sqrt(delta + 2 * delta**2 * (1 + t / safe) / xp.where(none, one, k))
        hi = xp.where(none, lo, xp.maximum(hi, lo))

        def psi(s: Array) -> tuple[Array, Array]:
            y = s**2 - delta
            q, its_slope = y + 4 * delta + 4 * delta**2 / y, 2 * s * (1 - (2 * delta / y) ** 2)
            return (1 + t / s) * q, (1 + t / s) * its_slope - t / s**2 * q

        return ends_of(psi, 2 * k, lo, hi)

    @classmethod
    def examples(cls) -> list[tuple["EntropyCauchy", Shape]]:
        return [(cls(0.05, 0.9), (5,)), (cls(0.5, np.array([0.0, 1.0, 5.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class BurgLogSum(LogSums, Burg):
    """Burg's barrier and log-sum penalty, sum of -log(x_i) + weight_i log(1 + x_i / delta) for x_i > 0.

    prox(x, gamma) is the best root of s - gamma / s + gamma weight / (delta + s) = x, by Newton's method.

    Parameters
    ----------
    delta : float
        Positive.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Chierchia, Chouzenoux, Combettes, Pesquet, The proximity operator repository.

    Examples
    --------
    >>> import numpy as np
    >>> BurgLogSum(1e-10, weight=2.0).prox(np.array([10.0, 20.0]), gamma=1.0).round(4)
    array([ 9.899 , 19.9499])
    """

    delta: float = 1.0
    weight: float | Array = 1.0
    broadcast = ("weight",)

    @summed
    def value(self, v: Array) -> Array:
        """Return the value, infinite if an entry is not positive."""
        xp = namespace(v)
        inside = xp.where(v > 0, v, xp.ones_like(v))
        return xp.where(v > 0, self.weights(v) * xp.log1p(inside / self.delta) - xp.log(inside), inf)

    def parts_at(self, s: Array) -> tuple[Array, Array]:
        """Return barrier and penalty."""
        return -namespace(s).log(s), namespace(s).log1p(s / self.delta)

    def bends(self, t: Array, k: Array) -> tuple[Array, Array]:
        """Solve (t / s^2 + 1) (delta + s)^2 = k."""
        xp, delta = namespace(t), self.delta
        one = xp.ones_like(k)
        none = k <= t
        lo = delta / xp.where(none, one, xp.sqrt(xp.where(none, one, k / t)) - 1)
        hi = xp.where(none, lo, xp.maximum(xp.sqrt(xp.where(none, one, k - t)) - delta, lo))

        def psi(s: Array) -> tuple[Array, Array]:
            return t * (1 + delta / s) ** 2 + (delta + s) ** 2, 2 * (delta + s) * (1 - t * delta / s**3)

        return ends_of(psi, k, lo, hi)

    @classmethod
    def examples(cls) -> list[tuple["BurgLogSum", Shape]]:
        return [(cls(0.05, 1.8), (5,)), (cls(0.5, np.array([0.0, 1.0, 5.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class BurgCauchy(Cauchys, Burg):
    """Burg's barrier and Cauchy penalty, sum of -log(x_i) + weight_i log(1 + x_i^2 / delta) for x_i > 0.

    prox(x, gamma) is the best root of s - gamma / s + 2 gamma weight s / (delta + s^2) = x, by Newton's method.

    Parameters
    ----------
    delta : float
        Positive.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Chierchia, Chouzenoux, Combettes, Pesquet, The proximity operator repository.

    Examples
    --------
    >>> import numpy as np
    >>> BurgCauchy(0.01, weight=2.0).prox(np.array([10.0, 20.0]), gamma=1.0).round(4)
    array([ 9.6905, 19.8489])
    """

    delta: float = 1.0
    weight: float | Array = 1.0
    broadcast = ("weight",)

    @summed
    def value(self, v: Array) -> Array:
        """Return the value, infinite if an entry is not positive."""
        xp = namespace(v)
        inside = xp.where(v > 0, v, xp.ones_like(v))
        penalty = self.weights(v) * log_of_square(inside / self.delta**0.5)
        return xp.where(v > 0, penalty - xp.log(inside), inf)

    def parts_at(self, s: Array) -> tuple[Array, Array]:
        """Return barrier and penalty."""
        return -namespace(s).log(s), log_of_square(s / self.delta**0.5)

    def bends(self, t: Array, k: Array) -> tuple[Array, Array]:
        """Solve (t / s^2 + 1) (delta + s^2)^2 / (s^2 - delta) = 2 k, in y = s^2 - delta > 0."""
        xp, delta = namespace(t), self.delta
        one = xp.ones_like(k)
        none = 2 * k <= t
        lo = delta * (4 * delta + 3 * t) / xp.where(none, one, 2 * k - t)
        hi = xp.where(none, lo, xp.maximum(2 * k - t - 4 * delta, lo))

        def psi(y: Array) -> tuple[Array, Array]:
            value = y + 4 * delta + 4 * delta**2 / y + t * (1 + 4 * delta / y - delta / (y + delta))
            return value, 1 - (2 * delta / y) ** 2 - t * delta * (4 / y**2 - 1 / (y + delta) ** 2)

        ends = ends_of(psi, 2 * k, lo, hi)
        return xp.sqrt(ends[0] + delta), xp.sqrt(ends[1] + delta)

    @classmethod
    def examples(cls) -> list[tuple["BurgCauchy", Shape]]:
        return [(cls(0.05, 1.8), (5,)), (cls(0.5, np.array([0.0, 1.0, 5.0])), (2, 3))]
