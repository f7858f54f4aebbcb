"""Potentials whose proximal map with gamma = 1 is an activation function of neural networks; entry by entry.

An increasing sigma that is nonexpansive is the proximal map of the convex phi with phi'(p) = sigma^-1(p) - p
[Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities]. For another gamma, the
equation p + gamma phi'(p) = x reads, in u = sigma^-1(p), (1 - gamma) sigma(u) + gamma u = x: it has no singularity, and
its root lies between x and x / gamma.
"""

from dataclasses import dataclass
from math import inf, log, pi, sqrt

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.terms.barriers.equations import full
from trisplit.terms.base import ClosedSet, ConvexFunction
from trisplit.terms.blocks import Entries, mapped, summed
from trisplit.terms.roots import increasing_root
from trisplit.terms.sets.box import Box, Free

__all__ = [
    "ISRU",
    "ArctanActivation",
    "AsinhActivation",
    "ElliotActivation",
    "GMActivation",
    "LogActivation",
]

GM_SCALE = 8 / (3 * sqrt(3))  # makes the largest slope 1


class Activation(Entries, ConvexFunction):
    """The potential of an activation with sigma(0) = 0.

    A subclass supplies `sigma` and `potential`. `ends` are those of the range of sigma, and `closed` says whether the
    potential is finite there.
    """

    ends: tuple[float, float] = (-inf, inf)
    closed = True

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return sigma(u) and its derivative."""
        raise NotImplementedError(f"{type(self).__name__} must define `sigma`")

    def gap(self, u: Array) -> tuple[Array, Array]:
        """Return u - sigma(u) and its derivative; a subclass does so without cancellation where it matters."""
        value, slope = self.sigma(u)
        return u - value, 1 - slope

    def potential(self, p: Array) -> Array:
        """Return phi(p) for p in the range of sigma, with phi(0) = 0."""
        raise NotImplementedError(f"{type(self).__name__} must define `potential`")

    @summed
    def value(self, x: Array) -> Array:
        """Return sum_i phi(x_i), infinite outside of the range of the activation."""
        xp, (lo, hi) = namespace(x), self.ends
        inside = (x >= lo) & (x <= hi) if self.closed else (x > lo) & (x < hi)
        return xp.where(inside, self.potential(xp.where(inside, x, 0.0)), inf)

    @mapped
    def prox(self, x: Array, t: float) -> Array:
        """Return sigma(u) at the root of (1 - gamma) sigma(u) + gamma u = x; sigma(x) if gamma = 1."""
        u = self._inverse(x, full(t, x))
        p = self.sigma(u)[0]
        if self.closed or self.ends == (-inf, inf):
            return p
        lo, hi = self.ends  # what rounds to an open end would have an infinite value
        return namespace(x).clip(p, lo + eps(x) * abs(lo), hi - eps(x) * abs(hi))

    @np.errstate(all="ignore")
    def _inverse(self, x: Array, t: Array) -> Array:
        xp = namespace(x)
        part, rest = xp.clip(t, None, 1.0), xp.clip(t - 1, 0.0, None)

        # gamma > 1 multiplies u - sigma(u), which cancels for small u
        def F(u: Array) -> tuple[Array, Array]:
            (value, slope), (gap, gap_slope) = self.sigma(u), self.gap(u)
            return part * u + (1 - part) * value + rest * gap - x, part + (1 - part) * slope + rest * gap_slope

        large = float(xp.finfo(x.dtype).max) / 4
        far = xp.clip(x / t, -large, large)
        return increasing_root(F, xp.minimum(x, far), xp.maximum(x, far), x)

    def domain(self) -> ClosedSet:
        """Return the closure of the range of the activation."""
        everywhere = self.ends == (-inf, inf)
        return (Free() if everywhere else Box(*self.ends)).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["Activation", Shape]]:
        return [(cls(), (5,)), (cls(), (2, 3))]


def cubic(u: Array, *coefficients: float) -> Array:
    """Return the odd power series u^3 (c_0 + c_1 u^2 + ...)."""
    square, total = u * u, 0.0 * u
    for each in reversed(coefficients):
        total = total * square + each
    return u * square * total


@dataclass(frozen=True)
class ArctanActivation(Activation):
    """The potential of (2 / pi) arctan, sum_i -(2 / pi) log cos(pi x_i / 2) - x_i^2 / 2 for |x| < 1.

    prox(x, 1) = (2 / pi) arctan(x).

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> ArctanActivation().prox(np.array([1.0]), gamma=1.0)
    array([0.5])
    """

    broadcast = ()
    ends = (-1.0, 1.0)
    closed = False

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return (2 / pi) arctan(u) and its derivative."""
        xp = namespace(u)
        size = xp.hypot(u, xp.ones_like(u))  # a square would overflow
        return 2 / pi * xp.atan(u), 2 / pi / size / size

    def potential(self, p: Array) -> Array:
        """Return the potential; cos is taken as a sine of the distance to the end."""
        xp = namespace(p)
        return -2 / pi * xp.log(xp.sin(pi / 2 * (1 - xp.abs(p)))) - p * p / 2


@dataclass(frozen=True)
class AsinhActivation(Activation):
    """The potential of asinh, sum_i cosh(x_i) - 1 - x_i^2 / 2.

    prox(x, 1) = asinh(x).

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> AsinhActivation().prox(np.sinh([1.0, 2.0]), gamma=1.0)
    array([1., 2.])
    """

    broadcast = ()

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return asinh(u) and its derivative."""
        xp = namespace(u)
        return xp.asinh(u), 1 / xp.hypot(u, xp.ones_like(u))

    def gap(self, u: Array) -> tuple[Array, Array]:
        """Return u - asinh(u) and its derivative, by a series where u is small."""
        xp = namespace(u)
        size = xp.hypot(u, xp.ones_like(u))
        small = xp.abs(u) < 0.125
        coefficients = (1 / 6, -3 / 40, 5 / 112, -35 / 1152, 63 / 2816, -231 / 13312, 143 / 10240)
        series = cubic(xp.where(small, u, 0.0), *coefficients)
        return xp.where(small, series, u - xp.asinh(u)), (u / size) * (u / (1 + size))

    @np.errstate(over="ignore")
    def potential(self, p: Array) -> Array:
        """Return 2 sinh(p / 2)^2 - p^2 / 2."""
        return 2 * namespace(p).sinh(p / 2) ** 2 - p * p / 2

    @mapped
    def prox(self, x: Array, t: float) -> Array:
        """Return the root of (1 - gamma) p + gamma sinh(p) = x."""
        return logarithmic_tail(self.sigma(self._inverse(x, full(t, x)))[0], x, full(t, x), log(2.0))


@np.errstate(all="ignore")
def logarithmic_tail(p: Array, x: Array, t: Array, shift: float) -> Array:
    """Return p, but log(|x| / t) + shift with the sign of x where x / t is too large to be a number."""
    xp = namespace(x)
    size = xp.abs(x)
    far = size / float(xp.finfo(x.dtype).max) > t / 8
    exact = xp.sign(x) * (xp.log(xp.where(far, size, 1.0)) - xp.log(t) + shift)
    return xp.where(far, exact, p)


@dataclass(frozen=True)
class LogActivation(Activation):
    """The potential of sign(x) log(1 + |x|), sum_i exp|x_i| - |x_i| - 1 - x_i^2 / 2.

    prox(x, 1) = sign(x) log(1 + |x|).

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> LogActivation().prox(np.expm1([1.0, 2.0]), gamma=1.0)
    array([1., 2.])
    """

    broadcast = ()

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return sign(u) log(1 + |u|) and its derivative."""
        xp, size = namespace(u), namespace(u).abs(u)
        return xp.where(u < 0, -xp.log1p(size), xp.log1p(size)), 1 / (1 + size)

    @np.errstate(over="ignore")
    def potential(self, p: Array) -> Array:
        """Return exp|p| - 1 - |p| - p^2 / 2."""
        xp, size = namespace(p), namespace(p).abs(p)
        return xp.expm1(size) - size - p * p / 2

    @mapped
    def prox(self, x: Array, t: float) -> Array:
        """Return the root of (1 - gamma) p + gamma sign(p) (exp|p| - 1) = x."""
        return logarithmic_tail(self.sigma(self._inverse(x, full(t, x)))[0], x, full(t, x), 0.0)


@dataclass(frozen=True)
class ElliotActivation(Activation):
    """The potential of Elliot's x / (1 + |x|), sum_i -|x_i| - log(1 - |x_i|) - x_i^2 / 2 for |x| < 1.

    prox(x, 1) = x / (1 + |x|).

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> ElliotActivation().prox(np.array([-1.0, 3.0]), gamma=1.0)
    array([-0.5 ,  0.75])
    """

    broadcast = ()
    ends = (-1.0, 1.0)
    closed = False

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return u / (1 + |u|) and its derivative."""
        size = 1 + namespace(u).abs(u)
        return u / size, 1 / size / size

    def gap(self, u: Array) -> tuple[Array, Array]:
        """Return u |u| / (1 + |u|) and its derivative."""
        size = namespace(u).abs(u)
        share = size / (1 + size)
        return u * share, share * (1 + 1 / (1 + size))

    def potential(self, p: Array) -> Array:
        """Return -|p| - log(1 - |p|) - p^2 / 2."""
        xp, size = namespace(p), namespace(p).abs(p)
        return -size - xp.log1p(-size) - p * p / 2


@dataclass(frozen=True)
class GMActivation(Activation):
    """The potential of Geman and McClure's mu sign(x) x^2 / (1 + x^2), mu = 8 / 3^(3/2).

    It is sum_i mu arctan sqrt(|x_i| / (mu - |x_i|)) - sqrt(|x_i| (mu - |x_i|)) - x_i^2 / 2 for |x| <= mu, and
    prox(x, 1) = mu sign(x) x^2 / (1 + x^2).

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> GMActivation().prox(np.array([1.0, -1e300]), gamma=1.0).round(4)
    array([ 0.7698, -1.5396])
    """

    broadcast = ()
    ends = (-GM_SCALE, GM_SCALE)

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return mu u |u| / (1 + u^2) and its derivative."""
        xp = namespace(u)
        large = xp.abs(u) > 1  # 1 / u is squared there
        inside, outside = xp.where(large, 1.0, u), 1 / xp.where(large, u, 1.0)
        share = xp.where(large, 1 / (1 + outside**2), inside**2 / (1 + inside**2))
        slope = xp.where(large, 2 * outside**3 / (1 + outside**2) ** 2, 2 * inside / (1 + inside**2) ** 2)
        return GM_SCALE * xp.where(u < 0, -share, share), GM_SCALE * xp.abs(slope)

    def potential(self, p: Array) -> Array:
        """Return the integral of sqrt(s / (mu - s)) - s."""
        xp, size = namespace(p), namespace(p).abs(p)
        positive, rest = size > 0, xp.clip(GM_SCALE - size, 0.0, None)
        a, b = xp.sqrt(xp.where(positive, size, 1.0)), xp.sqrt(xp.where(rest > 0, rest, 1.0))
        a, b = xp.where(positive, a, 0.0), xp.where(rest > 0, b, 0.0)
        return GM_SCALE * xp.atan2(a, b) - a * b - p * p / 2


@dataclass(frozen=True)
class ISRU(Activation):
    """The potential of the inverse square root unit x / sqrt(1 + x^2), sum_i 1 - sqrt(1 - x_i^2) - x_i^2 / 2, |x| <= 1.

    prox(x, 1) = x / sqrt(1 + x^2).

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> ISRU().prox(np.array([0.75, -0.75]), gamma=1.0)
    array([ 0.6, -0.6])
    """

    broadcast = ()
    name = "isru"
    ends = (-1.0, 1.0)

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return u / sqrt(1 + u^2) and its derivative."""
        xp = namespace(u)
        size = xp.hypot(u, xp.ones_like(u))
        return u / size, 1 / size / size / size

    def gap(self, u: Array) -> tuple[Array, Array]:
        """Return u^3 / (r (1 + r)) with r = sqrt(1 + u^2), and its derivative."""
        xp = namespace(u)
        size = xp.hypot(u, xp.ones_like(u))
        value = u / size
        return u * value * (u / (1 + size)), value**2 * (1 + 1 / size / (1 + size))

    def potential(self, p: Array) -> Array:
        """Return 1 - sqrt(1 - p^2) - p^2 / 2 = (p^2 / (1 + r))^2 / 2, with r = sqrt(1 - p^2)."""
        xp = namespace(p)
        square = 1 - p * p
        root = xp.where(square > 0, xp.sqrt(xp.where(square > 0, square, 1.0)), 0.0)
        return (p * p / (1 + root)) ** 2 / 2
