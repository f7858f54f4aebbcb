"""What nonconvex penalties of absolute values or of norms share: the best of a few candidates.

For a penalty p of r >= 0, prox is the s >= 0 that minimises t p(s) + (s - r)^2 / 2. Where p is made of pieces, the best
point of each piece is known in closed form, and the best of these is a global minimiser.
"""

from collections.abc import Callable, Sequence

import numpy as np

from trisplit.arrays import Array, namespace
from trisplit.errors import InputError
from trisplit.terms.base import NonconvexFunction
from trisplit.terms.blocks import Entries, Lines, mapped, summed
from trisplit.terms.checks import like, parameter, positive
from trisplit.terms.numbers import row_norms


def at_least_zero(value: object, name: str, *, strictly: bool = False) -> float | Array:
    """Return a number or an array of finite numbers that are not negative, or with `strictly` positive."""
    given = parameter(value, name)
    if np.any(np.asarray(given) < 0) or (strictly and np.any(np.asarray(given) == 0)):
        raise InputError(f"`{name}` must be {'>' if strictly else '>='} 0, got {np.min(given)}; for example 1.0")
    return given


def best_of(candidates: Sequence[Array], cost: Callable[[Array], Array]) -> Array:
    """Return, entry by entry, the candidate of least cost, of equal ones the first."""
    xp = namespace(candidates[0])
    best, least = candidates[0], cost(candidates[0])
    for other in candidates[1:]:
        its_cost = cost(other)
        better = its_cost < least
        best, least = xp.where(better, other, best), xp.where(better, its_cost, least)
    return best


class Shrinkage(NonconvexFunction):
    """A penalty of r >= 0, the same for all entries or lines up to parameters that broadcast."""

    def penalty(self, r: Array) -> Array:
        """Return p(r)."""
        raise NotImplementedError(f"{type(self).__name__} must define `penalty`")

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return points >= 0, of which one minimises t p(s) + (s - r)^2 / 2."""
        raise NotImplementedError(f"{type(self).__name__} must define `candidates`")

    def shrunk(self, r: Array, step: float | Array) -> Array:
        """Return the minimiser for each r >= 0."""
        xp = namespace(r)
        t: Array = step + xp.zeros_like(r)
        # Without r^2 / 2, and divided by r, so that a square of 1e300 is never formed.
        size = xp.where(r > 1, r, xp.ones_like(r))
        with np.errstate(over="ignore", under="ignore"):  # what overflows here is cut off at the end of a piece
            found = self.candidates(r, t)
            return best_of(found, lambda s: t * (self.penalty(s) / size) + (s / size) * (s / 2 - r))

    def full(self, name: str, r: Array) -> Array:
        """Return a parameter as an array like `r`."""
        return like(getattr(self, name), r, name) + namespace(r).zeros_like(r)


class EntryPenalty(Entries, Shrinkage):
    """A sum of penalties of absolute values."""

    @summed
    def value(self, v: Array) -> Array:
        """Return the sum of p(|x_i|)."""
        return self.penalty(namespace(v).abs(v))

    @mapped
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return sign(x) s for the best s."""
        xp = namespace(v)
        return xp.sign(v) * self.shrunk(xp.abs(v), t)


class WeightedPenalty(EntryPenalty):
    """A sum of penalties of absolute values with a multiplier."""

    weight: float | Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", at_least_zero(self.weight, "weight"))


class LinePenalty(Lines, Shrinkage):
    """A sum of penalties of Euclidean norms of vectors."""

    @summed
    def value(self, v: Array) -> Array:
        """Return the sum of p(||line||)."""
        return self.penalty(row_norms(v))

    @mapped
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return each line with its norm replaced by the best one."""
        xp, r = namespace(v), row_norms(v)
        s = self.shrunk(r, t)
        # Of a line 0 no direction is better than another; where s = r it must stay as it is.
        return xp.where(s == r, v, v * (s / xp.where(r > 0, r, xp.ones_like(r))))


def clipped(x: Array, lo: Array, hi: Array) -> Array:
    """Return min(max(x, lo), hi)."""
    xp = namespace(x)
    return xp.minimum(xp.maximum(x, lo), hi)


def mcp_value(r: Array, lam: Array, beta: Array) -> Array:
    """Return lam r - r^2 / (2 beta) up to r = beta lam, from where it is constant."""
    s = namespace(r).minimum(r, beta * lam)
    return s * (lam - s / (2 * beta))


def mcp_candidates(r: Array, t: Array, lam: Array, beta: Array) -> list[Array]:
    """Return 0, the best point of the curved piece if it is convex there, and that of the flat one."""
    xp = namespace(r)
    zero, edge = xp.zeros_like(r), beta * lam
    convex = beta > t
    inner = (r - t * lam) * (beta / xp.where(convex, beta - t, xp.ones_like(t)))
    return [zero, clipped(xp.where(convex, inner, zero), zero, edge), xp.maximum(r, edge)]


def scad_value(r: Array, lam: Array, a: float) -> Array:
    """Return lam r up to r = lam; then the slope falls to 0 at r = a lam."""
    xp = namespace(r)
    bend = clipped(r, lam, a * lam) - lam
    return lam * xp.minimum(r, lam) + bend * (lam - bend / (2 * (a - 1)))


def scad_candidates(r: Array, t: Array, lam: Array, a: float) -> list[Array]:
    """Return the best point of each of the three pieces; where the second is concave, its ends are in the others."""
    xp = namespace(r)
    convex = a - 1 > t
    middle = ((a - 1) * r - a * lam * t) / xp.where(convex, a - 1 - t, xp.ones_like(t))
    middle = clipped(xp.where(convex, middle, lam), lam, a * lam)
    return [clipped(r - t * lam, xp.zeros_like(r), lam), middle, xp.maximum(r, a * lam)]


def scad_shape(a: float) -> float:
    """Return `a` if it is above 2, as the middle piece of SCAD needs."""
    number = positive(a, "a")
    if number <= 2:
        raise InputError(f"`a` must be above 2, got {number}; 3.7 is usual")
    return number


def largest_entries(v: Array, k: int) -> Array:
    """Say which are the k largest entries along the last axis; of equal ones the first."""
    xp = namespace(v)
    rank = xp.argsort(xp.argsort(-v, axis=-1, stable=True), axis=-1)
    return rank < k
