"""Balls of the Euclidean and of the largest-entry norm: {x : ||x - center|| <= radius}."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, namespace, positive_part
from trisplit.arrays.batched import inner, total
from trisplit.terms.base import ConvexSet
from trisplit.terms.blocks import Entries, Lines, mapped, summed
from trisplit.terms.checks import axis_or_none, fit, like, parameter, positive
from trisplit.terms.numbers import largest, row_norms

__all__ = ["L2Ball", "LInfinityBall", "NonNegativeL2Ball"]


def unit(v: Array) -> Array:
    """Return vectors along the last axis at length 1; zero stays zero, and no number is too small."""
    xp = namespace(v)
    size = largest(v)
    v = v / xp.where(size > 0, size, xp.ones_like(size))
    norm = row_norms(v)
    return v / xp.where(norm > 0, norm, xp.ones_like(norm))


@dataclass(frozen=True, eq=False)
class L2Ball(Lines, ConvexSet):
    """Indicator of {x : ||x - center||_2 <= radius}.

    prox(x) = center + (x - center) min(1, radius / ||x - center||).

    Parameters
    ----------
    radius : float
        Positive.
    center : float or array
        A scalar stands for a constant vector; an array must broadcast to the shape of x.
    axis : int, optional
        The axis along which vectors lie, each in a ball of its own; None takes all of x as one vector.

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> L2Ball(1.0).prox(np.array([3.0, 4.0]), gamma=1.0)
    array([0.6, 0.8])
    """

    radius: float = 1.0
    center: float | Array = 0.0
    axis: int | None = None
    broadcast = ("center",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        object.__setattr__(self, "center", parameter(self.center, "center"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def project(self, x: Array) -> Array:
        """Return `x`, pulled to the sphere if it lies outside."""
        xp, center = namespace(x), like(self.center, x, "center")
        away = x - center
        v = self.blocks(away)
        size = row_norms(v)
        inside = size <= self.radius
        pulled = v * (self.radius / xp.where(inside, self.radius, size))
        moved = center + self.unblock(pulled, away)
        return xp.where(self.unblock(xp.broadcast_to(inside, v.shape), away), x, moved)

    def support(self, u: Array) -> float:
        """Return <center, u> + radius ||u||."""
        center = like(self.center, u, "center") + namespace(u).zeros_like(u)
        return inner(center, u, self.batch_ndim) + self.radius * self._norms(u)

    def lmo(self, u: Array) -> Array:
        """Return center - radius u / ||u||, and the centre for u = 0."""
        return like(self.center, u, "center") - self.radius * self._directions(u)

    def diameter(self, shape: Shape) -> float:
        """Return twice the radius, for each vector."""
        return 2.0 * self.radius * self.count(shape) ** 0.5

    @summed
    def _norms(self, v: Array) -> Array:
        return row_norms(v)

    @mapped
    def _directions(self, v: Array) -> Array:
        return unit(v)

    @classmethod
    def examples(cls) -> list[tuple["L2Ball", Shape]]:
        return [(cls(0.8), (5,)), (cls(2.0, np.array([1.0, -1.0, 3.0])), (3,)), (cls(1.5, axis=0), (2, 3))]


@dataclass(frozen=True)
class NonNegativeL2Ball(Lines, ConvexSet):
    """Indicator of the nonnegative part of a ball, {x >= 0 : ||x||_2 <= radius}.

    prox(x) = y min(1, radius / ||y||) with y = max(x, 0).

    Parameters
    ----------
    radius : float
        Positive.
    axis : int, optional
        The axis along which vectors lie; None takes all of x as one vector.

    References
    ----------
    Bauschke, Bui, Wang (2018), Projecting onto the intersection of a cone and a sphere.

    Examples
    --------
    >>> import numpy as np
    >>> NonNegativeL2Ball().prox(np.array([3.0, 4.0, -1.0]), gamma=1.0)
    array([0.6, 0.8, 0. ])
    """

    radius: float = 1.0
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @mapped
    def project(self, v: Array) -> Array:
        """Return the positive part of each vector, pulled to the sphere if it lies outside."""
        xp, y = namespace(v), positive_part(v)
        size = row_norms(y)
        return y * (self.radius / xp.where(size <= self.radius, self.radius, size))

    @summed
    def support(self, u: Array) -> Array:
        """Return radius times the norm of the positive part."""
        return self.radius * row_norms(positive_part(u))

    @mapped
    def lmo(self, u: Array) -> Array:
        """Return the point of the sphere in the direction of max(-u, 0), or zero."""
        return self.radius * unit(positive_part(-u))

    def diameter(self, shape: Shape) -> float:
        """Return the largest distance, sqrt(2) radius for each vector of two or more entries."""
        return self.radius * ((2.0 if self.length(shape) > 1 else 1.0) * self.count(shape)) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["NonNegativeL2Ball", Shape]]:
        return [(cls(0.8), (5,)), (cls(axis=1), (2, 3))]


@dataclass(frozen=True, eq=False)
class LInfinityBall(Entries, ConvexSet):
    """Indicator of {x : |x_i - center_i| <= radius}, a hypercube.

    prox(x) = min(max(x, center - radius), center + radius), entry by entry.

    Parameters
    ----------
    radius : float
        Positive.
    center : float or array
        An array must broadcast to the shape of x.

    Examples
    --------
    >>> import numpy as np
    >>> LInfinityBall(1.0).prox(np.array([3.0, -0.5]), gamma=1.0)
    array([ 1. , -0.5])
    """

    radius: float = 1.0
    center: float | Array = 0.0
    broadcast = ("center",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        object.__setattr__(self, "center", parameter(self.center, "center"))

    def project(self, x: Array) -> Array:
        """Return `x` with each entry moved to the nearest end of its interval."""
        center = like(self.center, x, "center")
        return namespace(x).clip(x, center - self.radius, center + self.radius)

    def support(self, u: Array) -> float:
        """Return <center, u> + radius ||u||_1."""
        center = like(self.center, u, "center")
        return total(center * u + self.radius * namespace(u).abs(u), self.batch_ndim)

    def lmo(self, u: Array) -> Array:
        """Return center - radius sign(u)."""
        return like(self.center, u, "center") - self.radius * namespace(u).sign(u)

    def diameter(self, shape: Shape) -> float:
        """Return 2 radius sqrt(number of entries)."""
        fit(self.center, shape, "center")
        return 2.0 * self.radius * float(np.prod(shape[self.batch_ndim :])) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["LInfinityBall", Shape]]:
        return [(cls(0.7), (5,)), (cls(1.5, np.array([1.0, -1.0, 3.0])), (2, 3))]
