"""Boxes: {x : lo <= x <= hi} entry by entry, cubes, points, the nonnegative orthant and the whole space."""

from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, namespace, positive_part
from trisplit.arrays.batched import norm, total
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet, zero_where
from trisplit.terms.blocks import Entries
from trisplit.terms.checks import fit, like, parameter, positive

__all__ = ["Box", "Free", "Hypercube", "NonNegative", "Point"]


@dataclass(frozen=True, eq=False)
class Box(ConvexSet):
    """Indicator of the box {x : lo <= x_i <= hi}.

    prox(x) = min(max(x, lo), hi), entry by entry.

    Parameters
    ----------
    lo, hi : float or array
        The bounds, infinite ones allowed; arrays must broadcast to the shape of x.

    Examples
    --------
    >>> import numpy as np
    >>> Box(0, 1).prox(np.array([-2.0, 0.5, 3.0]), gamma=1.0)
    array([0. , 0.5, 1. ])
    """

    lo: float | Array = 0.0
    hi: float | Array = 1.0
    _mixed: bool = field(init=False, repr=False)  # a number and an array
    broadcast = ("lo", "hi")

    def __post_init__(self) -> None:
        lo, hi = parameter(self.lo, "lo", infinite=True), parameter(self.hi, "hi", infinite=True)
        try:
            los, his = np.broadcast_arrays(lo, hi)
        except ValueError:
            shapes = f"{np.shape(lo)} and {np.shape(hi)}"
            raise InputError(f"`lo` and `hi` have shapes {shapes}; make them equal, or give a scalar") from None
        if np.any(los > his):
            first = np.argmax(los > his)
            raise InputError(f"`lo` exceeds `hi`, {los.flat[first]} > {his.flat[first]}; exchange them")
        if np.any(los == inf) or np.any(his == -inf):
            raise InputError("`lo` is +inf or `hi` is -inf; the box would be empty")
        mixed = isinstance(lo, np.ndarray) != isinstance(hi, np.ndarray)
        for name, value in (("lo", lo), ("hi", hi), ("_mixed", mixed)):
            object.__setattr__(self, name, value)

    @cached_property
    def bounded(self) -> bool:
        """Whether all bounds are finite."""
        return bool(np.all(np.isfinite(self.lo)) and np.all(np.isfinite(self.hi)))

    def project(self, x: Array) -> Array:
        """Return `x` with each entry moved to the nearest bound."""
        clip, lo, hi = namespace(x).clip, like(self.lo, x, "lo"), like(self.hi, x, "hi")
        # Next to an array a library may turn a number into one and move it to the device, in every call.
        return clip(clip(x, lo, None), None, hi) if self._mixed else clip(x, lo, hi)

    def support(self, u: Array) -> float:
        """Return sum_i max(lo_i u_i, hi_i u_i), infinite where an unbounded side is met."""
        xp = namespace(u)
        lo, hi = like(self.lo, u, "lo"), like(self.hi, u, "hi")
        if self.bounded:
            return total(xp.maximum(lo * u, hi * u), self.batch_ndim)
        # 0 * inf is NaN, so a side enters only where u points to it.
        upper = xp.where(u > 0, hi * xp.where(u > 0, u, 1.0), 0.0)
        lower = xp.where(u < 0, lo * xp.where(u < 0, u, 1.0), 0.0)
        return total(upper + lower, self.batch_ndim)

    def lmo(self, u: Array) -> Array:
        """Return a minimiser of <u, x> over the box, which must be bounded."""
        if not self.bounded:
            raise InputError("a linear oracle needs finite `lo` and `hi`, got an infinite bound; give a bounded box")
        xp = namespace(u)
        zero = xp.zeros_like(u)  # carries the dtype of u, which two scalar bounds would not
        return xp.where(u > 0, zero + like(self.lo, u, "lo"), zero + like(self.hi, u, "hi"))

    def diameter(self, shape: Shape) -> float:
        """Return ||hi - lo||."""
        return norm(fit(self.hi, shape, "hi") - fit(self.lo, shape, "lo"), self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["Box", Shape]]:
        return [
            (cls(0, 1), (4, 4)),
            (cls(np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.0, 5.0])), (3,)),
            (cls(-inf, 2.0), (5,)),
        ]


@dataclass(frozen=True, eq=False)
class Hypercube(Box):
    """Indicator of the cube {x : 0 <= x_i <= side}.

    prox(x) = min(max(x, 0), side), entry by entry. `Box` has bounds of any kind, `LInfinityBall` a centre.

    Parameters
    ----------
    side : float
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> Hypercube().prox(np.array([-2.0, 0.5, 3.0]), gamma=1.0)
    array([0. , 0.5, 1. ])
    """

    lo: float | Array = field(init=False, repr=False, default=0.0)
    hi: float | Array = field(init=False, repr=False, default=1.0)
    side: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "side", positive(self.side, "side"))
        object.__setattr__(self, "hi", self.side)
        super().__post_init__()

    @classmethod
    def examples(cls) -> list[tuple["Hypercube", Shape]]:
        return [(cls(), (4,)), (cls(2.5), (2, 3))]


@dataclass(frozen=True, eq=False)
class Point(Entries, ConvexSet):
    """Indicator of a single point, {at}, by default zero.

    prox(x) = at.

    Parameters
    ----------
    at : float or array
        The point; an array must broadcast to the shape of x.

    Examples
    --------
    >>> import numpy as np
    >>> Point(2.0).prox(np.array([-2.0, 3.0]), gamma=1.0)
    array([2., 2.])
    """

    at: float | Array = 0.0
    broadcast = ("at",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", parameter(self.at, "at"))

    def project(self, x: Array) -> Array:
        """Return the point."""
        return like(self.at, x, "at") + namespace(x).zeros_like(x)

    def support(self, u: Array) -> float:
        """Return <at, u>."""
        return total(like(self.at, u, "at") * u, self.batch_ndim)

    def lmo(self, u: Array) -> Array:
        """Return the point."""
        return self.project(u)

    def diameter(self, shape: Shape) -> float:
        """Return 0."""
        fit(self.at, shape, "at")
        return 0.0

    @classmethod
    def examples(cls) -> list[tuple["Point", Shape]]:
        return [(cls(), (3,)), (cls(np.array([1.0, -2.0, 0.5])), (2, 3))]


@dataclass(frozen=True)
class NonNegative(ConvexSet):
    """Indicator of the nonnegative orthant {x : x >= 0}; prox(x) = max(x, 0).

    Examples
    --------
    >>> import numpy as np
    >>> NonNegative().prox(np.array([-2.0, 3.0]), gamma=1.0)
    array([0., 3.])
    """

    broadcast = ()
    name = "nonnegative"

    def project(self, x: Array) -> Array:
        """Return the positive part of `x`."""
        return positive_part(x)

    def support(self, u: Array) -> float:
        """Return 0 if u <= 0, else infinity."""
        return zero_where(_all(u <= 0, self.batch_ndim), u)

    def conjugate(self) -> Box:
        """Return the indicator of the nonpositive orthant."""
        return Box(-inf, 0.0)

    @classmethod
    def examples(cls) -> list[tuple["NonNegative", Shape]]:
        return [(cls(), (6,))]


@dataclass(frozen=True)
class Free(ConvexSet):
    """Indicator of the whole space, 0 everywhere; prox(x) = x.

    Examples
    --------
    >>> import numpy as np
    >>> Free().prox(np.array([-2.0, 3.0]), gamma=1.0)
    array([-2.,  3.])
    """

    broadcast = ()

    def project(self, x: Array) -> Array:
        """Return `x`."""
        return x

    def support(self, u: Array) -> float:
        """Return 0 if u = 0, else infinity."""
        return zero_where(_all(u == 0, self.batch_ndim), u)

    def conjugate(self) -> Box:
        """Return the indicator of {0}."""
        return Box(0.0, 0.0)

    @classmethod
    def examples(cls) -> list[tuple["Free", Shape]]:
        return [(cls(), (3,))]


def _all(inside: Array, batch_ndim: int) -> bool | Array:
    """Say whether all entries are true; in a batch for each problem."""
    xp = namespace(inside)
    return xp.all(inside, axis=tuple(range(batch_ndim, inside.ndim))) if batch_ndim else bool(xp.all(inside))
