"""Relatives of the simplex: with upper bounds, with smaller sums, and the section of any box by a hyperplane."""

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, inf

import numpy as np

from trisplit.arrays import Array, Shape, constant_like, device, namespace, positive_part
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet
from trisplit.terms.blocks import Lines, mapped, summed
from trisplit.terms.checks import axis_or_none, parameter, positive
from trisplit.terms.sets import sections
from trisplit.terms.sets.simplex import by_kernel, lines_to_simplex

__all__ = ["BoxSection", "CappedSimplex", "SolidSimplex"]


def vector(value: object, name: str, *, infinite: bool = False) -> float | Array:
    """Return a number, or a vector of numbers, one for each entry of a line."""
    given = parameter(value, name, infinite=infinite)
    if np.ndim(given) > 1:
        raise InputError(f"`{name}` must be a number or a vector, got shape {np.shape(given)}; flatten it")
    return given


def along(value: float | Array, v: Array, name: str) -> Array:
    """Return a parameter for each entry of the vectors along the last axis of `v`, in its library."""
    if isinstance(value, np.ndarray) and value.shape[0] not in (1, v.shape[-1]):
        came = f"`{name}` has {value.shape[0]} entries but the vectors have {v.shape[-1]}"
        raise InputError(f"{came}; make them equal, or give a scalar")
    given = constant_like(value, v) if isinstance(value, np.ndarray) else value
    return namespace(v).zeros_like(v) + given


@dataclass(frozen=True)
class SolidSimplex(Lines, ConvexSet):
    """Indicator of the solid simplex {x >= 0 : sum x <= total}.

    prox(x) = max(x, 0) if that adds up to at most `total`, else the projection onto the simplex, max(x - theta, 0).

    Parameters
    ----------
    total : float
        The largest sum, positive.
    axis : int, optional
        The axis along which entries add up; None takes all of x as one vector.

    References
    ----------
    Duchi, Shalev-Shwartz, Singer, Chandra (2008), Efficient projections onto the l1-ball for learning in high
    dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> SolidSimplex().prox(np.array([0.3, -2.0]), gamma=1.0)
    array([0.3, 0. ])
    """

    total: float = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", positive(self.total, "total"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def project(self, x: Array) -> Array:
        """Return the projection of each vector."""
        self.length(x.shape)
        axis = None if self.axis is None else self.batch_ndim + self.axis % (x.ndim - self.batch_ndim)
        projected = by_kernel(x, axis, self.total, "SOLID", self.batch_ndim)
        return self._by_sorting(x) if projected is None else projected

    @mapped
    def _by_sorting(self, v: Array) -> Array:
        xp, inside = namespace(v), positive_part(v)
        fits = xp.sum(inside / self.total, axis=-1, keepdims=True) <= 1.0
        return xp.where(fits, inside, lines_to_simplex(v, self.total))

    @summed
    def support(self, u: Array) -> Array:
        """Return total times the largest entry, or 0 if all are negative."""
        return self.total * positive_part(namespace(u).max(u, axis=-1))

    @mapped
    def lmo(self, u: Array) -> Array:
        """Return `total` at the first smallest entry, or zero if none is negative."""
        xp = namespace(u)
        place = xp.arange(u.shape[-1], device=device(u))
        best = (place == xp.argmin(u, axis=-1, keepdims=True)) & (u < 0)
        return xp.where(best, self.total, xp.zeros_like(u))

    def diameter(self, shape: Shape) -> float:
        """Return the largest distance, sqrt(2) total for each vector of two or more entries."""
        return self.total * ((2.0 if self.length(shape) > 1 else 1.0) * self.count(shape)) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["SolidSimplex", Shape]]:
        return [(cls(1.5), (5,)), (cls(axis=0), (3, 4)), (cls(2.0), (1,))]


@dataclass(frozen=True)
class CappedSimplex(Lines, ConvexSet):
    """Indicator of the capped simplex {0 <= x <= cap : sum x = total}.

    prox(x) = min(max(x - theta, 0), cap) with theta such that the sum is `total`; found from the sorted entries.

    Parameters
    ----------
    total : float
        The sum, positive; at most `cap` times the number of entries.
    cap : float
        The largest entry, positive.
    axis : int, optional
        The axis along which entries add up; None takes all of x as one vector.

    References
    ----------
    Wang, Lu (2015), Projection onto the capped simplex.

    Examples
    --------
    >>> import numpy as np
    >>> CappedSimplex(2.0).prox(np.array([5.0, 0.8, 0.4]), gamma=1.0)
    array([1. , 0.7, 0.3])
    """

    total: float = 1.0
    cap: float = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", positive(self.total, "total"))
        object.__setattr__(self, "cap", positive(self.cap, "cap"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def length(self, shape: Shape) -> int:
        """Return the length of the vectors, which must be able to hold `total`."""
        n = super().length(shape)
        if self.total > n * self.cap * (1 + 1e-12):
            came = f"{n} entries of at most `cap` = {self.cap} cannot add up to `total` = {self.total}"
            raise InputError(f"{came}; raise `cap`, or lower `total`")
        return n

    @mapped
    def project(self, v: Array) -> Array:
        """Return the projection of each vector."""
        return sections.project(v, *self._section(v))

    @summed
    def support(self, u: Array) -> Array:
        """Return the largest <u, x>: the largest entries of u take `cap` each."""
        return namespace(u).sum(u * sections.minimise(-u, *self._section(u)), axis=-1)

    @mapped
    def lmo(self, u: Array) -> Array:
        """Return a minimiser of <u, x>: the smallest entries of u take `cap` each, until `total` is spent."""
        return sections.minimise(u, *self._section(u))

    def diameter(self, shape: Shape) -> float:
        """Return the largest distance, that of two vertices which share as little as possible."""
        n = self.length(shape)
        # x -> cap - x leaves distances, and makes the sum at most half of the largest one.
        total = min(self.total, max(n * self.cap - self.total, 0.0)) / self.cap
        full = floor(total + 1e-9)
        rest = max(total - full, 0.0)
        square = 2.0 * (full + rest**2) if 2 * full + 2 <= n else 2.0 * full
        return self.cap * (square * self.count(shape)) ** 0.5

    def _section(self, v: Array) -> tuple[Array, Array, Array, Array]:
        zero = namespace(v).zeros_like(v)
        return zero + 1.0, zero, zero + self.cap, zero[..., :1] + self.total

    @classmethod
    def examples(cls) -> list[tuple["CappedSimplex", Shape]]:
        return [(cls(2.3), (5,)), (cls(0.7, 0.5, axis=0), (3, 4)), (cls(3.2), (4,))]


@dataclass(frozen=True, eq=False)
class BoxSection(Lines, ConvexSet):
    """Indicator of the section of a box by a hyperplane, {lo <= x <= hi : <a, x> = b}; a knapsack with equality.

    prox(x) = min(max(x - theta a, lo), hi) with theta such that <a, x> = b; found from the sorted numbers (x - lo) / a
    and (x - hi) / a.

    Parameters
    ----------
    a : float or array of shape (n,)
        The normal, not all zero; a scalar stands for a constant vector.
    b : float
    lo, hi : float or array of shape (n,)
        The bounds, infinite ones allowed.
    axis : int, optional
        The axis along which the vectors lie; None takes all of x as one vector.

    References
    ----------
    Helgason, Kennington, Lall (1980), A polynomially bounded algorithm for a singly constrained quadratic program.

    Examples
    --------
    >>> import numpy as np
    >>> BoxSection([1.0, 2.0], 1.0).prox(np.array([3.0, 0.5]), gamma=1.0)
    array([1., 0.])
    """

    a: float | Array = 1.0
    b: float = 1.0
    lo: float | Array = 0.0
    hi: float | Array = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n log n"
    diameter_exact = False

    def __post_init__(self) -> None:
        a, lo, hi = vector(self.a, "a"), vector(self.lo, "lo", infinite=True), vector(self.hi, "hi", infinite=True)
        b = parameter(self.b, "b")
        if np.ndim(b):
            raise InputError(f"`b` must be one number, got shape {np.shape(b)}; give a float")
        if not np.any(a):
            raise InputError("`a` is zero; give a normal with an entry that is not, or use Box")
        sizes = {np.size(part) for part in (a, lo, hi)} - {1}
        if len(sizes) > 1:
            raise InputError(f"`a`, `lo` and `hi` have different lengths {sorted(sizes)}; make them equal")
        if np.any(np.asarray(lo) > hi) or np.any(np.equal(lo, inf)) or np.any(np.equal(hi, -inf)):
            raise InputError("`lo` exceeds `hi`, or is +inf, or `hi` is -inf; the box would be empty")
        for name, value in (("a", a), ("b", b), ("lo", lo), ("hi", hi), ("axis", axis_or_none(self.axis))):
            object.__setattr__(self, name, value)
        if sizes:
            self._reach(sizes.pop())

    @property
    def bounded(self) -> bool:
        """Whether all bounds are finite."""
        return bool(np.all(np.isfinite(self.lo)) and np.all(np.isfinite(self.hi)))

    def length(self, shape: Shape) -> int:
        """Return the length of the vectors, which must be that of the parameters and able to reach `b`."""
        n = super().length(shape)
        for name in ("a", "lo", "hi"):
            size = np.size(getattr(self, name))
            if size not in (1, n):
                raise InputError(f"`{name}` has {size} entries but the vectors have {n}; make them equal")
        self._reach(n)
        return n

    def _reach(self, n: int) -> None:
        """Refuse a hyperplane that misses the box."""
        a, lo, hi = (np.broadcast_to(part, n) for part in (self.a, self.lo, self.hi))
        with np.errstate(invalid="ignore"):
            one, other = np.where(a == 0, 0.0, a * lo), np.where(a == 0, 0.0, a * hi)
        least, most = float(np.sum(np.minimum(one, other))), float(np.sum(np.maximum(one, other)))
        slack = 1e-12 * (abs(self.b) + float(np.sum(np.abs(a))))
        if not least - slack <= self.b <= most + slack:
            came = f"<a, x> is between {least:.6g} and {most:.6g} in the box but `b` is {self.b}"
            raise InputError(f"{came}; widen `lo` and `hi`, or change `b`")

    @mapped
    def project(self, v: Array) -> Array:
        """Return the projection of each vector."""
        sign, a, lo, hi, b = self._section(v)
        return sign * sections.project(sign * v, a, lo, hi, b)

    @property
    def support(self) -> Callable[[Array], float]:
        """U -> the largest <u, x>; a section of an unbounded box lacks it."""
        self._require_bounds()
        return self._support

    @property
    def lmo(self) -> Callable[[Array], Array]:
        """U -> a minimiser of <u, x>; a section of an unbounded box lacks it."""
        self._require_bounds()
        return self._lmo

    def _require_bounds(self) -> None:
        if not self.bounded:
            raise AttributeError("unbounded")  # which makes the base class say what is missing

    @summed
    def _support(self, u: Array) -> Array:
        return namespace(u).sum(u * self._minimise(-u), axis=-1)

    @mapped
    def _lmo(self, u: Array) -> Array:
        return self._minimise(u)

    def _minimise(self, u: Array) -> Array:
        sign, a, lo, hi, b = self._section(u)
        return sign * sections.minimise(sign * u, a, lo, hi, b)

    def diameter(self, shape: Shape) -> float:
        """Return the diameter of the box, an upper bound."""
        width = np.broadcast_to(np.subtract(self.hi, self.lo), self.length(shape))
        return float(np.sqrt(np.sum(width**2) * self.count(shape)))

    def _section(self, v: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return signs that make the normal positive, and what follows from them."""
        xp = namespace(v)
        a, lo, hi = along(self.a, v, "a"), along(self.lo, v, "lo"), along(self.hi, v, "hi")
        sign = xp.where(a < 0, -1.0, xp.ones_like(a))
        lo, hi = xp.where(sign < 0, -hi, lo), xp.where(sign < 0, -lo, hi)
        return sign, sign * a, lo, hi, xp.zeros_like(v[..., :1]) + self.b

    @classmethod
    def examples(cls) -> list[tuple["BoxSection", Shape]]:
        a = np.array([1.0, -2.0, 0.5, 0.0])
        return [
            (cls(a, -0.4, -1.0, np.array([0.5, 2.0, 1.0, 3.0])), (4,)),
            (cls(1.0, 0.8, 0.0, 0.6, axis=1), (2, 3)),
            (cls(np.array([1.0, 3.0, 2.0]), 1.0, np.array([0.0, -inf, 0.0]), np.array([inf, inf, 1.0])), (3,)),
        ]
