"""Nonconvex functions on the nonnegative line: an entropy or a barrier plus a penalty that favours small entries.

With a barrier b and a penalty p, prox(x, gamma) is a root of F(s) = s - x + gamma (b'(s) + weight p'(s)). F increases,
then decreases where F' < 0, then increases: the minimisers are the roots on the two outer pieces, and the better of the
two is returned. F' < 0 is an inequality psi(s) < const with a convex psi, so that Newton's method finds both ends.
"""

from collections.abc import Callable
from math import exp, inf

import numpy as np

from trisplit.arrays import Array, namespace
from trisplit.terms.base import NonconvexFunction
from trisplit.terms.blocks import Entries, mapped
from trisplit.terms.checks import like, positive
from trisplit.terms.nonconvex.logs import cauchy_slopes
from trisplit.terms.nonconvex.shrinkage import at_least_zero, best_of, clipped
from trisplit.terms.roots import increasing_root
from trisplit.terms.sets.box import Box


class HalfLine(Entries, NonconvexFunction):
    """A function of nonnegative numbers."""

    weight: float | Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", at_least_zero(self.weight, "weight"))

    def domain(self) -> Box:
        """Return the nonnegative orthant."""
        return Box(0.0, inf).batched(self.batch_ndim)

    def weights(self, x: Array) -> Array:
        """Return the weight of each entry."""
        return like(self.weight, x, "weight") + namespace(x).zeros_like(x)


class BarrierAndPenalty(HalfLine):
    """A barrier and a penalty."""

    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "delta", positive(self.delta, "delta"))

    def parts_at(self, s: Array) -> tuple[Array, Array]:
        """Return barrier and penalty at s > 0."""
        raise NotImplementedError(f"{type(self).__name__} must define `parts_at`")

    def barrier_slopes(self, s: Array) -> tuple[Array, Array]:
        """Return the first two derivatives of the barrier."""
        raise NotImplementedError(f"{type(self).__name__} must define `barrier_slopes`")

    def penalty_slopes(self, s: Array) -> tuple[Array, Array]:
        """Return the first two derivatives of the penalty."""
        raise NotImplementedError(f"{type(self).__name__} must define `penalty_slopes`")

    def steepest(self) -> float:
        """Return the largest derivative of the penalty."""
        raise NotImplementedError(f"{type(self).__name__} must define `steepest`")

    def barrier_point(self, x: Array, t: Array) -> Array:
        """Return the proximal point of the barrier."""
        raise NotImplementedError(f"{type(self).__name__} must define `barrier_point`")

    def bends(self, t: Array, k: Array) -> tuple[Array, Array]:
        """Return the ends of the piece on which F decreases; if there is none, any two points."""
        raise NotImplementedError(f"{type(self).__name__} must define `bends`")

    @mapped
    def prox(self, v: Array, step: float | Array) -> Array:
        """Return the best root of F."""
        xp = namespace(v)
        t: Array = step + xp.zeros_like(v)
        k, least = t * self.weights(v), float(xp.finfo(v.dtype).smallest_normal)
        with np.errstate(over="ignore", under="ignore"):
            lo, hi = self.barrier_point(v - k * self.steepest(), t), self.barrier_point(v, t)
            ends = [clipped(end, lo, hi) for end in self.bends(t, k)]
            first, last = xp.minimum(*ends), xp.maximum(*ends)

            def F(s: Array) -> tuple[Array, Array]:
                s = xp.clip(s, least, None)
                (b, its_slope), (p, slope_of_p) = self.barrier_slopes(s), self.penalty_slopes(s)
                return s - v + t * b + k * p, 1 + t * its_slope + k * slope_of_p

            size = xp.clip(xp.abs(v), 1.0, None)

            def cost(s: Array) -> Array:
                barrier, penalty = self.parts_at(xp.clip(s, least, None))
                return (t * barrier + k * penalty) / size + (s / size) * (s / 2 - v)

            middle = increasing_root(F, first, last, first)  # where there is a root only if F increases throughout
            return best_of([increasing_root(F, last, hi, hi), increasing_root(F, lo, first, lo), middle], cost)


class Entropic(BarrierAndPenalty):
    """An entropy and a penalty."""

    def barrier_slopes(self, s: Array) -> tuple[Array, Array]:
        """Return log(s) + 1 and 1 / s."""
        return namespace(s).log(s) + 1, 1 / s

    def barrier_point(self, x: Array, t: Array) -> Array:
        """Return s with s + t log(s) = x - t."""
        return entropy_point(x, t)


class Burg(BarrierAndPenalty):
    """Burg's barrier and a penalty."""

    def barrier_slopes(self, s: Array) -> tuple[Array, Array]:
        """Return -1 / s and 1 / s^2."""
        return -1 / s, (1 / s) ** 2

    def barrier_point(self, x: Array, t: Array) -> Array:
        """Return the positive root of s^2 - x s - t."""
        xp, edge = namespace(x), 2 * t**0.5
        size = xp.maximum(xp.abs(x), edge)
        root = size * xp.sqrt((x / size) ** 2 + (edge / size) ** 2)
        return xp.where(x > 0, (x + root) / 2, 2 * t / (root + xp.abs(x)))


class LogSums:
    """log(1 + s / delta)."""

    delta: float

    def penalty_slopes(self, s: Array) -> tuple[Array, Array]:
        """Return 1 / (s + delta) and its derivative."""
        slope = 1 / (s + self.delta)
        return slope, -(slope**2)

    def steepest(self) -> float:
        """Return the slope at 0."""
        return 1.0 / self.delta


class Cauchys:
    """log(1 + s^2 / delta)."""

    delta: float

    def penalty_slopes(self, s: Array) -> tuple[Array, Array]:
        """Return the first two derivatives of log(delta + s^2)."""
        return cauchy_slopes(s, self.delta)

    def steepest(self) -> float:
        """Return the slope at sqrt(delta)."""
        return self.delta**-0.5


def entropy(s: Array) -> Array:
    """Return s log(s), 0 at 0."""
    xp = namespace(s)
    return s * xp.log(xp.where(s > 0, s, xp.ones_like(s)))


def entropy_point(x: Array, t: Array) -> Array:
    """Return s > 0 with s + t log(s) = x - t, the proximal point of the entropy."""
    xp, least = namespace(x), float(namespace(x).finfo(x.dtype).smallest_normal)
    power = clipped(x, -1000 * t, 1000 * t) / t
    small = power < 80
    exponential = xp.exp(xp.where(small, power, xp.zeros_like(x)))
    one = xp.ones_like(x)
    # s <= t makes t log(s) >= x - 2 t; s <= 1 makes s >= x - t, and s >= 1 makes s <= x - t.
    lo = xp.maximum(xp.minimum(x - t, one), xp.where(small, xp.minimum(t, exponential * exp(-2)), t))
    hi = xp.maximum(x - t, one)
    hi = xp.maximum(xp.where(small, xp.minimum(hi, exponential * exp(-1)), hi), lo)

    def F(s: Array) -> tuple[Array, Array]:
        s = xp.clip(s, least, None)
        return s + t * xp.log(s) + t - x, 1 + t / s

    with np.errstate(over="ignore"):  # t / s, where the other branch counts
        return increasing_root(F, lo, hi, lo)


def ends_of(psi: Callable[[Array], tuple[Array, Array]], bound: Array, lo: Array, hi: Array) -> tuple[Array, Array]:
    """Return the two points of [lo, hi] at which a convex function that is larger outside equals the bound.

    From lo and from hi Newton's method is monotone. Where the function is larger throughout, the points mean nothing.
    """

    def rising(s: Array) -> tuple[Array, Array]:
        value, slope = psi(s)
        return value - bound, slope

    def falling(s: Array) -> tuple[Array, Array]:
        value, slope = psi(s)
        return bound - value, -slope

    return increasing_root(falling, lo, hi, lo), increasing_root(rising, lo, hi, hi)
