"""Smooth nonconvex penalties of entries: logarithms, fractions and exponentials of absolute values.

Beside 0 they have at most one stationary point that can be a minimiser, the largest one.
"""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.arrays.batched import norm
from trisplit.terms.checks import fit, positive
from trisplit.terms.nonconvex.shrinkage import WeightedPenalty, clipped
from trisplit.terms.roots import increasing_root

__all__ = ["Cauchy", "ExponentialPenalty", "Geman", "LogSum"]


class _Smooth(WeightedPenalty):
    """A penalty with a length `delta` that says from where on it flattens."""

    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "delta", positive(self.delta, "delta"))

    def lipschitz(self, shape: Shape) -> float:
        """Return the slope at 0 over all entries, ||weight||_2 / delta."""
        return norm(fit(self.weight, shape, "weight"), self.batch_ndim) / self.delta


@dataclass(frozen=True, eq=False)
class LogSum(_Smooth):
    """The log-sum penalty, sum_i weight_i log(1 + |x_i| / delta).

    prox(x, gamma) is the better of 0 and sign(x) (|x| - delta + sqrt((|x| + delta)^2 - 4 gamma weight)) / 2.

    Parameters
    ----------
    delta : float
        Positive.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Candès, Wakin, Boyd (2008), Enhancing sparsity by reweighted l1 minimization; Prater-Bennette, Shen, Tripp (2022),
    The proximity operator of the log-sum penalty.

    Examples
    --------
    >>> import numpy as np
    >>> LogSum(1.0).prox(np.array([-3.0, 0.5]), gamma=1.0).round(4)
    array([-2.7321,  0.    ])
    """

    delta: float = 1.0
    weight: float | Array = 1.0
    broadcast = ("weight",)

    def penalty(self, r: Array) -> Array:
        """Return weight log(1 + r / delta)."""
        return self.full("weight", r) * namespace(r).log1p(r / self.delta)

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return 0 and the larger root of (s - r) (s + delta) + t weight."""
        xp, R, k = namespace(r), r + self.delta, t * self.full("weight", r)
        low = 2 * xp.sqrt(k)
        real = low < R
        root = xp.sqrt(xp.where(real, R - low, xp.ones_like(R))) * xp.sqrt(R + low)
        s = r - 2 * k / (R + root)  # the other way to write it, without cancellation
        return [xp.zeros_like(r), xp.where(real & (s > 0), s, xp.zeros_like(r))]

    @classmethod
    def examples(cls) -> list[tuple["LogSum", Shape]]:
        return [(cls(0.3, 0.7), (5,)), (cls(2.0, np.array([0.0, 1.0, 3.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class Geman(_Smooth):
    """The penalty of Geman, sum_i weight_i |x_i| / (|x_i| + delta).

    prox(x, gamma) is the better of 0 and sign(x) s, with s the largest root of (|x| - s) (s + delta)^2 =
    gamma weight delta, by the trigonometric formula.

    Parameters
    ----------
    delta : float
        Positive.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Geman, Yang (1995), Nonlinear image recovery with half-quadratic regularization.

    Examples
    --------
    >>> import numpy as np
    >>> Geman(1.0).prox(np.array([-3.0, 0.5]), gamma=1.0).round(4)
    array([-2.9354,  0.    ])
    """

    delta: float = 1.0
    weight: float | Array = 1.0
    broadcast = ("weight",)

    def penalty(self, r: Array) -> Array:
        """Return weight r / (r + delta)."""
        return self.full("weight", r) * (r / (r + self.delta))

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return 0 and the largest root."""
        xp, R = namespace(r), r + self.delta
        # With sin(phi / 2) = half the largest root is (4/3) R sin(phi / 6)^2 below r.
        half = (3 * (0.25 * self.delta * t * self.full("weight", r)) ** (1 / 3) / R) ** 1.5
        real = half < 1
        third = xp.asin(xp.where(real, half, xp.zeros_like(half))) / 3
        s = r - (4 / 3) * R * xp.sin(third) ** 2
        return [xp.zeros_like(r), xp.where(real & (s > 0), s, xp.zeros_like(r))]

    @classmethod
    def examples(cls) -> list[tuple["Geman", Shape]]:
        return [(cls(0.3, 0.7), (5,)), (cls(2.0, np.array([0.0, 1.0, 3.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class ExponentialPenalty(_Smooth):
    """The exponential penalty, sum_i weight_i (1 - exp(-|x_i| / delta)).

    prox(x, gamma) is the better of 0 and sign(x) s, with s the largest root of s + (gamma weight / delta)
    exp(-s / delta) = |x|, by Newton's method.

    Parameters
    ----------
    delta : float
        Positive.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Bradley, Mangasarian (1998), Feature selection via concave minimization and support vector machines.

    Examples
    --------
    >>> import numpy as np
    >>> ExponentialPenalty(1.0).prox(np.array([-3.0, 0.5]), gamma=1.0).round(4)
    array([-2.9475,  0.    ])
    """

    delta: float = 1.0
    weight: float | Array = 1.0
    broadcast = ("weight",)

    def penalty(self, r: Array) -> Array:
        """Return weight (1 - exp(-r / delta))."""
        return -self.full("weight", r) * namespace(r).expm1(-r / self.delta)

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return 0 and the largest root, from the right: there the equation is convex."""
        xp, delta = namespace(r), self.delta
        k = t * self.full("weight", r) / delta
        zero, one = xp.zeros_like(r), xp.ones_like(r)
        steep = k > delta
        lo = clipped(delta * xp.log(xp.where(steep, k / delta, one)), zero, r)  # from here on it increases

        def F(s: Array) -> tuple[Array, Array]:
            pull = k * xp.exp(-s / delta)
            return s - r + pull, 1 - pull / delta

        return [zero, increasing_root(F, lo, r, r)]

    @classmethod
    def examples(cls) -> list[tuple["ExponentialPenalty", Shape]]:
        return [(cls(0.3, 0.7), (5,)), (cls(2.0, np.array([0.0, 1.0, 5.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class Cauchy(_Smooth):
    """The Cauchy (Lorentzian) penalty, sum_i weight_i log(1 + x_i^2 / delta).

    prox(x, gamma) is a root of (s - x) (delta + s^2) + 2 gamma weight s, by Newton's method: the better one of the
    smallest and the largest. Up to a constant it is log(delta + x^2).

    Parameters
    ----------
    delta : float
        Positive, the square of a length.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Black, Anandan (1996), The robust estimation of multiple motions: parametric and piecewise-smooth flow fields.

    Examples
    --------
    >>> import numpy as np
    >>> Cauchy(1.0).prox(np.array([-3.0, 0.5]), gamma=1.0).round(4)
    array([-2.2599,  0.1698])
    """

    delta: float = 1.0
    weight: float | Array = 1.0
    broadcast = ("weight",)

    def penalty(self, r: Array) -> Array:
        """Return weight log(1 + r^2 / delta)."""
        return self.full("weight", r) * log_of_square(r / self.delta**0.5)

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return the roots on the two pieces on which the derivative increases."""
        xp, delta = namespace(r), self.delta
        k, zero = t * self.full("weight", r), xp.zeros_like(r)
        K = xp.clip(k, 4 * delta, None)  # below, it increases everywhere: any point may divide the pieces
        top = K - delta + xp.sqrt(K) * xp.sqrt(K - 4 * delta)
        low, high = xp.sqrt(delta * (delta + 2 * K) / top), xp.sqrt(top)

        def F(s: Array) -> tuple[Array, Array]:
            pull, its_slope = cauchy_slopes(s, delta)
            return s - r + k * pull, 1 + k * its_slope

        # concave on the first piece and convex on the second: from the outer ends Newton's method is monotone
        low, high = xp.minimum(low, r), xp.minimum(high, r)
        return [increasing_root(F, zero, low, zero), increasing_root(F, high, r, r)]

    def lipschitz(self, shape: Shape) -> float:
        """Return the slope at sqrt(delta) over all entries, ||weight||_2 / sqrt(delta)."""
        return norm(fit(self.weight, shape, "weight"), self.batch_ndim) / self.delta**0.5

    @classmethod
    def examples(cls) -> list[tuple["Cauchy", Shape]]:
        return [(cls(0.3, 0.7), (5,)), (cls(0.05, np.array([0.0, 1.0, 3.0])), (2, 3))]


def log_of_square(y: Array) -> Array:
    """Return log(1 + y^2) for y >= 0, without the square of a large number."""
    xp = namespace(y)
    one = xp.ones_like(y)
    large = xp.where(y > 1, y, one)
    return xp.where(y > 1, 2 * xp.log(large) + xp.log1p((1 / large) ** 2), xp.log1p(xp.minimum(y, one) ** 2))


def cauchy_slopes(s: Array, delta: float | Array) -> tuple[Array, Array]:
    """Return the first two derivatives of log(delta + s^2) at s >= 0, without the square of a large number."""
    xp = namespace(s)
    root = delta**0.5 + xp.zeros_like(s)
    q = xp.maximum(s, root)
    a, b = s / q, root / q
    square = a**2 + b**2
    return 2 * a / (q * square), 2 * (b - a) * (b + a) / (q * square) / (q * square)
