"""Epigraphs that are cones: {(y, t) : phi(y) <= t} for phi that grows along rays, such as a norm.

The height t is the last entry of a vector. The support function is 0 on the polar cone and infinite elsewhere.
`curved_epigraphs` holds those of other functions.
"""

from dataclasses import dataclass
from math import hypot

import numpy as np

from trisplit.arrays import Array, Shape, device, namespace
from trisplit.errors import InputError
from trisplit.terms.blocks import mapped
from trisplit.terms.checks import axis_or_none, parameter, positive
from trisplit.terms.sets.cones import Cone, LinesOf, ahead_of_line

__all__ = [
    "EpigraphAbs",
    "EpigraphHinge",
    "EpigraphL1",
    "EpigraphL2",
    "EpigraphLInfinity",
    "EpigraphMax",
    "EpigraphSupport",
]


class WeightedCone(LinesOf, Cone):
    """The epigraph of weight * phi, phi positively homogeneous: checks its two parameters."""

    weight: float
    axis: int | None
    least = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive(self.weight, "weight"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))


@dataclass(frozen=True)
class EpigraphAbs(WeightedCone):
    """Indicator of the epigraph of the absolute value, {(y, t) : weight |y| <= t}; t is the last of two entries.

    Outside, prox(y, t) = max(|y| + weight t, 0) / (1 + weight^2) (sign(y), weight).

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors of 2 entries lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphAbs().prox(np.array([-3.0, 1.0]), gamma=1.0)
    array([-2.,  2.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    exactly = 2

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        return between_rays(v, -self.weight, self.weight)

    @classmethod
    def examples(cls) -> list[tuple["EpigraphAbs", Shape]]:
        return [(cls(), (2,)), (cls(0.3, axis=0), (2, 3))]


@dataclass(frozen=True)
class EpigraphHinge(WeightedCone):
    """Indicator of the epigraph of the positive part, {(y, t) : weight max(y, 0) <= t}; t is the last of two entries.

    prox(y, t) = (y, max(t, 0)) for y <= 0; else, outside, max(y + weight t, 0) / (1 + weight^2) (1, weight).

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors of 2 entries lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphHinge(axis=1).prox(np.array([[3.0, 1.0], [-3.0, 4.0]]), gamma=1.0)
    array([[ 2.,  2.],
           [-3.,  4.]])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    exactly = 2

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        return between_rays(v, 0.0, self.weight)

    @classmethod
    def examples(cls) -> list[tuple["EpigraphHinge", Shape]]:
        return [(cls(), (2,)), (cls(2.0, axis=1), (3, 2))]


@dataclass(frozen=True)
class EpigraphSupport(LinesOf, Cone):
    """Indicator of the epigraph of the support function of [lo, hi], {(y, t) : max(lo y, hi y) <= t}.

    t is the last of two entries. prox is the nearest of the two boundary rays, along (1, hi) and (-1, -lo), or 0.

    Parameters
    ----------
    lo, hi : float
        The ends of the interval, finite, lo <= hi.
    axis : int or None
        Vectors of 2 entries lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphSupport(0.0, 1.0).prox(np.array([3.0, 1.0]), gamma=1.0)
    array([2., 2.])
    """

    lo: float = -1.0
    hi: float = 1.0
    axis: int | None = None
    broadcast = ()
    exactly = 2

    def __post_init__(self) -> None:
        for name in ("lo", "hi"):
            value = parameter(getattr(self, name), name)
            if isinstance(value, np.ndarray):
                raise InputError(f"`{name}` must be one number, got an array of shape {value.shape}; pass a float")
            object.__setattr__(self, name, value)
        if self.lo > self.hi:
            raise InputError(f"`lo` exceeds `hi`, {self.lo} > {self.hi}; exchange them")
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        return between_rays(v, self.lo, self.hi)

    @classmethod
    def examples(cls) -> list[tuple["EpigraphSupport", Shape]]:
        return [(cls(-0.5, 2.0), (2,)), (cls(0.5, 1.5, axis=1), (3, 2)), (cls(1.0, 1.0), (2,))]


@dataclass(frozen=True)
class EpigraphL2(WeightedCone):
    """Indicator of the epigraph of the Euclidean norm, {(y, t) : weight ||y||_2 <= t}; t is the last entry.

    Outside, prox(y, t) = max(||y|| + weight t, 0) / (1 + weight^2) (y / ||y||, weight). With weight 1 and t put first
    it is `SecondOrderCone`.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Bauschke (1996), Projection algorithms and monotone operators, theorem 3.3.6.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphL2().prox(np.array([0.0, 3.0, 1.0]), gamma=1.0)
    array([0., 2., 2.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        xp = namespace(v)
        factor, t, inside = ahead_of_line(v[..., :-1], v[..., -1:], self.weight)
        return xp.where(inside, v, xp.concat([factor * v[..., :-1], t], axis=-1))

    @classmethod
    def examples(cls) -> list[tuple["EpigraphL2", Shape]]:
        return [(cls(), (4,)), (cls(0.4, axis=1), (2, 3))]


@dataclass(frozen=True)
class EpigraphMax(WeightedCone):
    """Indicator of the epigraph of the maximum, {(y, t) : weight max_i y_i <= t}; t is the last entry.

    prox(y, t) = (min(y, m), weight m) with m = max_k (weight t + sum of the k largest y_i) / (weight^2 + k), outside.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphMax().prox(np.array([-5.0, 3.0, 1.0]), gamma=1.0)
    array([-5.,  2.,  2.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        xp = namespace(v)
        y, t = v[..., :-1], v[..., -1:]
        m = common_maximum(y, t, self.weight)
        inside = self.weight * xp.max(y, axis=-1, keepdims=True) <= t
        return xp.where(inside, v, xp.concat([xp.minimum(y, m), self.weight * m], axis=-1))

    @classmethod
    def examples(cls) -> list[tuple["EpigraphMax", Shape]]:
        return [(cls(), (4,)), (cls(0.4, axis=0), (3, 2))]


@dataclass(frozen=True)
class EpigraphLInfinity(WeightedCone):
    """Indicator of the epigraph of the largest absolute value, {(y, t) : weight ||y||_inf <= t}; t is the last entry.

    prox(y, t) = (y clipped to [-m, m], weight m), outside, with m >= 0 as for `EpigraphMax` of |y|.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphLInfinity().prox(np.array([-3.0, 0.5, 1.0]), gamma=1.0)
    array([-2. ,  0.5,  2. ])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        xp = namespace(v)
        y, t = v[..., :-1], v[..., -1:]
        size = xp.abs(y)
        m = xp.clip(common_maximum(size, t, self.weight), 0.0, None)
        inside = self.weight * xp.max(size, axis=-1, keepdims=True) <= t
        return xp.where(inside, v, xp.concat([xp.minimum(xp.maximum(y, -m), m), self.weight * m], axis=-1))

    @classmethod
    def examples(cls) -> list[tuple["EpigraphLInfinity", Shape]]:
        return [(cls(), (4,)), (cls(0.4, axis=0), (3, 2))]


@dataclass(frozen=True)
class EpigraphL1(WeightedCone):
    """Indicator of the epigraph of the L1 norm, {(y, t) : weight ||y||_1 <= t}; t is the last entry.

    Outside, prox(y, t) = (soft threshold of y at weight s, t + s) with
    s = max_k (weight (sum of the k largest |y_i|) - t) / (1 + k weight^2), k from 0 on.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Beck (2017), First-order methods in optimization, example 6.38.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphL1().prox(np.array([-3.0, 0.5, 1.0]), gamma=1.0)
    array([-2.,  0.,  2.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        xp, w = namespace(v), self.weight
        y, t = v[..., :-1], v[..., -1:]
        sums, count = sums_of_largest(xp.abs(y))
        above = xp.max((w * sums - t) / (1.0 + w**2 * count), axis=-1, keepdims=True)
        s = xp.maximum(above, -t)  # k = 0
        inside = s <= 0
        s = xp.clip(s, 0.0, None)
        return xp.where(inside, v, xp.concat([y - xp.minimum(xp.maximum(y, -w * s), w * s), t + s], axis=-1))

    @classmethod
    def examples(cls) -> list[tuple["EpigraphL1", Shape]]:
        return [(cls(), (4,)), (cls(0.4, axis=0), (3, 2))]


def between_rays(v: Array, lo: float, hi: float) -> Array:
    """Project the points (y, t) of the plane onto {max(lo y, hi y) <= t}."""
    xp = namespace(v)
    y, t = v[..., :1], v[..., 1:]
    found = []
    for side, slope in ((1.0, hi), (-1.0, lo)):
        c, s = side / hypot(1.0, slope), side * slope / hypot(1.0, slope)
        along = c * y + s * t
        # With lo = hi the two rays are one line, on which both signs are good
        along = along if lo == hi else xp.clip(along, 0.0, None)
        found.append((slope * y > t, xp.concat([c * along, s * along], axis=-1)))
    (above, right), (below, left) = found
    # Of the two rays the longer projection is the nearer point
    longer = xp.abs(right[..., :1]) * hypot(1.0, hi) >= xp.abs(left[..., :1]) * hypot(1.0, lo)
    moved = xp.where(above & (~below | longer), right, left)
    return xp.where(above | below, moved, v)


def sums_of_largest(y: Array) -> tuple[Array, Array]:
    """Return the sums of the k largest entries along the last axis, k = 1, ..., n, and the numbers k."""
    xp = namespace(y)
    falling = xp.flip(xp.sort(y, axis=-1), axis=-1)
    return xp.cumulative_sum(falling, axis=-1), xp.arange(1, y.shape[-1] + 1, dtype=y.dtype, device=device(y))


def common_maximum(y: Array, t: Array, weight: float) -> Array:
    """Return m such that (min(y, m), weight m) is nearest to (y, t).

    weight (weight m - t) = sum_i max(y_i - m, 0) = max_k (sum of the k largest) - k m, hence m is the largest of the
    roots of these linear equations.
    """
    xp = namespace(y)
    sums, count = sums_of_largest(y)
    return xp.max((weight * t + sums) / (weight**2 + count), axis=-1, keepdims=True)
