"""Logarithmic barriers of half-spaces, slabs and balls."""

from dataclasses import dataclass, field
from math import inf, log

import numpy as np

from trisplit.arrays import Array, Shape, constant_like, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.barriers.equations import barrier_root, full, safe_log, two_barriers_gap
from trisplit.terms.base import ConvexFunction, ConvexSet
from trisplit.terms.blocks import Lines, mapped, summed
from trisplit.terms.checks import axis_or_none, like, parameter, positive
from trisplit.terms.numbers import row_norms
from trisplit.terms.sets.balls import L2Ball

__all__ = ["AffineBarrier", "L2BallBarrier", "SlabBarrier"]


def normal_vector(a: object) -> np.ndarray:
    """Return a normal as a vector that is not zero."""
    normal = np.atleast_1d(parameter(a, "a"))
    if normal.ndim != 1 or not np.any(normal):
        raise InputError(f"`a` must be a vector that is not zero, got shape {normal.shape}; for example [1.0, 1.0]")
    return normal


class AlongNormal(Lines):
    """A function of s = <a, x> / ||a|| alone, for lines x; its proximal map moves along `a`."""

    unit: Array
    size: float

    def heights(self, v: Array) -> tuple[Array, Array]:
        """Return s for each line, with the axis kept, and the unit normal."""
        if v.shape[-1] != self.unit.shape[0]:
            raise InputError(
                f"`a` has {self.unit.shape[0]} entries but x has vectors of {v.shape[-1]}; make them equal"
            )
        unit = constant_like(self.unit, v)
        return namespace(v).sum(v * unit, axis=-1, keepdims=True), unit


@dataclass(frozen=True, eq=False)
class Between(AlongNormal, ConvexSet):
    """{x : lo <= <unit, x> <= hi}, the closed domain of the barriers below."""

    unit: Array
    lo: float
    hi: float
    axis: int | None = None
    broadcast = ()

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest points."""
        s, unit = self.heights(v)
        return v + (namespace(v).clip(s, self.lo, self.hi) - s) * unit


@dataclass(frozen=True, eq=False)
class AffineBarrier(AlongNormal, ConvexFunction):
    """The logarithmic barrier of a half-space, -weight log(b - <a, x>).

    prox(x, gamma) = x - (t / r) a, with t = gamma weight and the root r > 0 of r - t ||a||^2 / r = b - <a, x>.

    Parameters
    ----------
    a : array of shape (n,)
        Not zero.
    b : float
    weight : float
        Positive.
    axis : int or None
        None takes all of x as one vector, an axis each line along it.

    References
    ----------
    Chouzenoux, Corbineau and Pesquet (2020), A proximal interior point algorithm with applications to image processing.

    Examples
    --------
    >>> import numpy as np
    >>> AffineBarrier([1.0, 0.0], 0.0).prox(np.array([0.0, 3.0]), gamma=1.0)
    array([-1.,  3.])
    """

    a: Array
    b: float
    weight: float = 1.0
    axis: int | None = None
    unit: Array = field(init=False, repr=False)
    size: float = field(init=False, repr=False)
    broadcast = ()

    def __post_init__(self) -> None:
        a, b = normal_vector(self.a), parameter(self.b, "b")
        if isinstance(b, np.ndarray):
            raise InputError(f"`b` must be one number, got an array of shape {b.shape}; pass a float")
        size = float(row_norms(a)[0])
        own = {"a": a, "b": b, "weight": positive(self.weight, "weight"), "unit": a / size, "size": size}
        for name, value in {**own, "axis": axis_or_none(self.axis)}.items():
            object.__setattr__(self, name, value)

    @summed
    def value(self, v: Array) -> Array:
        """Return -weight log(b - <a, x>), infinite outside of the open half-space."""
        room = (self.b / self.size - self.heights(v)[0])[..., 0]
        return namespace(v).where(room > 0, -self.weight * (safe_log(room) + log(self.size)), inf)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return x, moved along `a` until the room left is that of the scalar barrier."""
        s, unit = self.heights(v)
        room = self.b / self.size - s
        left = barrier_root(room, full(t * self.weight, room))
        moved = v + (room - left) * unit
        # what rounds to the boundary would have an infinite value
        rounding = 4 * eps(v) * (row_norms(v) + abs(self.b / self.size))
        return namespace(v).where(left > rounding, moved, moved - rounding * unit)

    def domain(self) -> ConvexSet:
        """Return {x : <a, x> <= b}."""
        return Between(self.unit, -inf, self.b / self.size, self.axis).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["AffineBarrier", Shape]]:
        a = np.array([1.0, -2.0, 0.5])
        return [(cls(a, 1.0), (3,)), (cls(a, -0.5, 0.4, axis=0), (3, 2))]


@dataclass(frozen=True, eq=False)
class SlabBarrier(AlongNormal, ConvexFunction):
    """The logarithmic barrier of a slab, -weight (log(hi - <a, x>) + log(<a, x> - lo)).

    prox(x, gamma) = x + a (s - <a, x>) / ||a||^2, where s is the proximal point of <a, x> for the barrier of [lo, hi]
    and gamma weight ||a||^2.

    Parameters
    ----------
    a : array of shape (n,)
        Not zero.
    lo, hi : float
        Finite with lo < hi.
    weight : float
        Positive.
    axis : int or None
        None takes all of x as one vector, an axis each line along it.

    References
    ----------
    Chouzenoux, Corbineau and Pesquet (2020), A proximal interior point algorithm with applications to image processing.

    Examples
    --------
    >>> import numpy as np
    >>> SlabBarrier([1.0, 0.0], -1.0, 1.0).prox(np.array([0.0, 3.0]), gamma=1.0)
    array([0., 3.])
    """

    a: Array
    lo: float = -1.0
    hi: float = 1.0
    weight: float = 1.0
    axis: int | None = None
    unit: Array = field(init=False, repr=False)
    size: float = field(init=False, repr=False)
    broadcast = ()

    def __post_init__(self) -> None:
        a, lo, hi = normal_vector(self.a), parameter(self.lo, "lo"), parameter(self.hi, "hi")
        if isinstance(lo, np.ndarray) or isinstance(hi, np.ndarray) or lo >= hi:
            raise InputError(f"`lo` and `hi` must be two numbers with lo < hi, got {lo} and {hi}; exchange them")
        size = float(row_norms(a)[0])
        own = {"a": a, "lo": lo, "hi": hi, "weight": positive(self.weight, "weight"), "unit": a / size, "size": size}
        for name, value in {**own, "axis": axis_or_none(self.axis)}.items():
            object.__setattr__(self, name, value)

    @summed
    def value(self, v: Array) -> Array:
        """Return both barriers, infinite outside of the open slab."""
        s = self.heights(v)[0][..., 0]
        below, above = self.hi / self.size - s, s - self.lo / self.size
        both = safe_log(below) + safe_log(above) + 2 * log(self.size)
        return namespace(v).where((below > 0) & (above > 0), -self.weight * both, inf)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return x, moved along `a` to the height of the scalar barrier."""
        xp, (s, unit) = namespace(v), self.heights(v)
        lo, hi = self.lo / self.size, self.hi / self.size
        half = (hi - lo) / 2
        away = s - (lo + half)
        gap = half * two_barriers_gap(xp.abs(away) / half, full(t * self.weight / half**2, s))
        # what rounds to the boundary would have an infinite value
        rounding = 4 * eps(v) * (row_norms(v) + max(abs(lo), abs(hi)))
        gap = xp.maximum(gap, xp.minimum(rounding, full(half, s)))
        return v + (xp.where(away > 0, hi - gap, lo + gap) - s) * unit

    def domain(self) -> ConvexSet:
        """Return {x : lo <= <a, x> <= hi}."""
        return Between(self.unit, self.lo / self.size, self.hi / self.size, self.axis).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["SlabBarrier", Shape]]:
        a = np.array([1.0, -2.0, 0.5])
        return [(cls(a), (3,)), (cls(a, 0.5, 4.0, 0.4, axis=0), (3, 2))]


@dataclass(frozen=True, eq=False)
class L2BallBarrier(Lines, ConvexFunction):
    """The logarithmic barrier of a ball, -weight log(radius^2 - ||x - center||^2).

    prox(x, gamma) = center + (s / ||x - center||) (x - center), with the root s of
    s + 2 gamma weight s / (radius^2 - s^2) = ||x - center||.

    Parameters
    ----------
    radius : float
        Positive.
    center : float or array
        A scalar stands for a constant vector; an array must broadcast to the shape of x.
    weight : float
        Positive.

    References
    ----------
    Chouzenoux, Corbineau and Pesquet (2020), A proximal interior point algorithm with applications to image processing.

    Examples
    --------
    >>> import numpy as np
    >>> L2BallBarrier(1.0).prox(np.array([3e300, 4e300]), gamma=1.0).round(6)
    array([0.6, 0.8])
    """

    radius: float = 1.0
    center: float | Array = 0.0
    weight: float = 1.0
    axis = None
    broadcast = ("center",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        object.__setattr__(self, "center", parameter(self.center, "center"))
        object.__setattr__(self, "weight", positive(self.weight, "weight"))

    def value(self, x: Array) -> float:
        """Return -weight log(radius^2 - ||x - center||^2), infinite outside of the open ball."""
        return self._of_size(x - like(self.center, x, "center"))

    @summed
    def _of_size(self, away: Array) -> Array:
        size = row_norms(away)[..., 0]
        room = self.radius - size
        inside = safe_log(room) + safe_log(self.radius + size)
        return namespace(away).where(room > 0, -self.weight * inside, inf)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x`, pulled towards the centre."""
        center = like(self.center, x, "center")
        return center + self._pulled(x - center, gamma)

    @mapped
    def _pulled(self, away: Array, t: float) -> Array:
        xp, size = namespace(away), row_norms(away)
        gap = two_barriers_gap(size / self.radius, full(t * self.weight / self.radius**2, size))
        # what rounds to the sphere would have an infinite value
        offset = float(np.max(np.abs(self.center))) / self.radius * away.shape[-1] ** 0.5
        least = min(eps(away) * (4 + away.shape[-1] ** 0.5 + 2 * offset), 0.5)
        s = self.radius * (1 - xp.clip(gap, least, None))
        # where a gap near 1 would round, the equation itself gives s / size
        shrunk = s / xp.where(size > 0, size, 1.0)
        linear = 1 / (1 + 2 * t * self.weight / ((self.radius - s) * (self.radius + s)))
        return away * xp.where(s > 0.5 * self.radius, shrunk, linear)

    def conjugate_value(self, u: Array) -> float:
        """Return <center, u> + weight (v s + log(1 - s^2) + 2 log radius), with v = radius ||u|| / weight."""
        center = like(self.center, u, "center") + namespace(u).zeros_like(u)
        return self._conjugate(u) + self._summed(center * u)  # pyright: ignore[reportReturnType]

    @summed
    def _summed(self, v: Array) -> Array:
        return namespace(v).sum(v, axis=-1)

    @summed
    def _conjugate(self, u: Array) -> Array:
        xp = namespace(u)
        v = self.radius * row_norms(u)[..., 0] / self.weight
        size = xp.hypot(v, xp.ones_like(v))
        return self.weight * (v * (v / (1 + size)) - xp.log((1 + size) / 2) - 2 * log(1 / self.radius))

    def domain(self) -> L2Ball:
        """Return the ball."""
        return L2Ball(self.radius, self.center).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["L2BallBarrier", Shape]]:
        return [(cls(), (4,)), (cls(2.0, np.array([1.0, -1.0, 3.0]), 0.4), (2, 3))]
