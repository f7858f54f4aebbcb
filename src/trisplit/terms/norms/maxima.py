"""Functions of the largest entries of vectors: the maximum, the maximum norm, and sums of the k largest.

All of them are weight * the largest <u, x> over a set of u: 0 <= u <= 1 with sum k, or, of absolute values, |u| <= 1
with sum |u| <= k. The maximum and the maximum norm have k = 1.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trisplit.arrays import Array, Shape, device, namespace
from trisplit.errors import InputError
from trisplit.terms.base import zero_where
from trisplit.terms.blocks import mapped, summed
from trisplit.terms.checks import whole
from trisplit.terms.norms.vectors import OfVectors, slack
from trisplit.terms.numbers import largest

__all__ = ["LInfinity", "LInfinity1", "Max", "SumLargest", "SumLargestAbs"]


class OfLargest(OfVectors):
    """What they share."""

    cost = "n log n"
    k = 1
    absolute: ClassVar[bool] = False

    @summed
    def value(self, v: Array) -> Array:
        """Return weight * the sum of the k largest."""
        return self.weight * sum_of_largest(namespace(v).abs(v) if self.absolute else v, self.k)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return `x` with its largest entries lowered."""
        return lowered(v, t * self.weight, self.k, self.absolute)

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(k * number of vectors)."""
        return self.weight * (self.k * self.count(shape)) ** 0.5

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return 0 in the set of weight * u, else infinity."""
        xp, room = namespace(u), slack(u)
        outside = largest(u - xp.clip(u, -self.weight if self.absolute else 0.0, self.weight))
        excess = xp.sum(xp.abs(u) if self.absolute else u, axis=-1, keepdims=True) - self.k * self.weight
        fits = (excess if self.absolute else xp.abs(excess)) <= room * u.shape[-1] ** 0.5
        return zero_where((outside <= room) & fits, u)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class Max(OfLargest):
    """The largest entry, weight * max_i x_i, of all of x or summed over the lines along an axis.

    prox(x, gamma) = min(x, theta) with theta such that the entries lose gamma weight in all; its conjugate is the
    indicator of the simplex.

    Parameters
    ----------
    weight : float
        Nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 6.4.1.

    Examples
    --------
    >>> import numpy as np
    >>> Max().prox(np.array([3.0, 2.5, -4.0]), gamma=1.0)
    array([ 2.25,  2.25, -4.  ])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    @classmethod
    def examples(cls) -> list[tuple["Max", Shape]]:
        return [(cls(0.8), (5,)), (cls(1.5, axis=0), (3, 2))]


@dataclass(frozen=True)
class LInfinity(OfLargest):
    """The maximum norm, weight * max_i |x_i|, of all of x or summed over the lines along an axis.

    prox(x, gamma) = x cut off at -theta and theta >= 0, such that the entries lose gamma weight in all, or 0; its
    conjugate is the indicator of the L1 ball.

    Parameters
    ----------
    weight : float
        Nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 6.5.2.

    Examples
    --------
    >>> import numpy as np
    >>> LInfinity().prox(np.array([3.0, -2.5, 1.0]), gamma=1.0)
    array([ 2.25, -2.25,  1.  ])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    absolute = True

    @classmethod
    def examples(cls) -> list[tuple["LInfinity", Shape]]:
        return [(cls(0.8), (5,)), (cls(1.5, axis=0), (3, 2))]


@dataclass(frozen=True)
class LInfinity1(LInfinity):
    """The mixed norm, weight * the sum over the lines along an axis of max |x_i|: of a matrix, rows for axis=1.

    prox(x, gamma) cuts each line off where it loses gamma weight in all.

    Parameters
    ----------
    weight : float
        Nonnegative.
    axis : int
        The axis of the lines: 1 for the rows of a matrix, 0 for its columns.

    References
    ----------
    Quattoni, Carreras, Collins, Darrell (2009), An efficient projection for L1,infinity regularization.

    Examples
    --------
    >>> import numpy as np
    >>> LInfinity1().prox(np.array([[3.0, -2.5], [0.5, 0.0]]), gamma=1.0)
    array([[ 2.25, -2.25],
           [ 0.  ,  0.  ]])
    """

    axis: int | None = 1
    broadcast = ()

    @classmethod
    def examples(cls) -> list[tuple["LInfinity1", Shape]]:
        return [(cls(0.8), (3, 2)), (cls(0.6, axis=0), (2, 3))]


@dataclass(frozen=True)
class SumLargest(OfLargest):
    """The sum of the k largest entries, weight * (x_[1] + ... + x_[k]).

    prox(x, gamma) = min(x, max(x - c, theta)) with c = gamma weight and theta such that the entries lose k c in all:
    large ones lose c, and those next to the k-th largest become equal.

    Parameters
    ----------
    k : int
        How many entries, at least 1 and at most the length of the vectors.
    weight : float
        Nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Wu, Ding, Sun, Toh (2014), On the Moreau-Yosida regularization of the vector k-norm related functions.

    Examples
    --------
    >>> import numpy as np
    >>> SumLargest(2).prox(np.array([5.0, 1.0, 0.0, 1.0]), gamma=1.0)
    array([4. , 0.5, 0. , 0.5])
    """

    k: int = 1
    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", whole(self.k, "k"))

    def length(self, shape: Shape) -> int:
        """Return the length of the vectors, which must have k entries."""
        n = super().length(shape)
        if n < self.k:
            raise InputError(f"`k` is {self.k} but the vectors have {n} entries; choose a smaller k or a longer x")
        return n

    @classmethod
    def examples(cls) -> list[tuple["SumLargest", Shape]]:
        return [(cls(2, 0.8), (5,)), (cls(3, 1.5, axis=0), (4, 2)), (cls(3), (3,))]


@dataclass(frozen=True)
class SumLargestAbs(SumLargest):
    """The vector k-norm, weight * (|x|_[1] + ... + |x|_[k]): the sum of the k largest absolute values.

    prox(x, gamma) = sign(x) min(|x|, max(|x| - c, theta)) with c = gamma weight and the least theta >= 0 such that the
    absolute values lose no more than k c in all.

    Parameters
    ----------
    k : int
        How many entries, at least 1 and at most the length of the vectors.
    weight : float
        Nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Wu, Ding, Sun, Toh (2014), On the Moreau-Yosida regularization of the vector k-norm related functions.

    Examples
    --------
    >>> import numpy as np
    >>> SumLargestAbs(2).prox(np.array([-5.0, 1.0, 0.0, 1.0]), gamma=1.0)
    array([-4. ,  0.5,  0. ,  0.5])
    """

    broadcast = ()
    absolute = True

    @classmethod
    def examples(cls) -> list[tuple["SumLargestAbs", Shape]]:
        return [(cls(2, 0.8), (5,)), (cls(3, 1.5, axis=0), (4, 2)), (cls(3), (3,))]


def sum_of_largest(v: Array, k: int) -> Array:
    """Return the sum of the k largest entries along the last axis, which is kept."""
    xp, n = namespace(v), v.shape[-1]
    if k == 1:
        return xp.max(v, axis=-1, keepdims=True)
    ordered = np.partition(v, n - k, axis=-1) if xp is np else xp.sort(v, axis=-1)
    return xp.sum(ordered[..., n - k :], axis=-1, keepdims=True)


def lowered(v: Array, c: float | Array, k: int, absolute: bool) -> Array:
    """Return the proximal point of c times the sum of the k largest (absolute) values along the last axis."""
    if type(v) is np.ndarray:
        return _by_kernel(v, c, k, absolute)
    xp = namespace(v)
    size = xp.abs(v) if absolute else v
    if k == v.shape[-1]:
        theta = xp.full_like(size[..., :1], 0.0 if absolute else -xp.inf)
    else:
        theta = one_threshold(size, c) if k == 1 else threshold(size, c, k)
        theta = xp.clip(theta, 0.0, None) if absolute else theta
    p = xp.minimum(size, xp.maximum(size - c, theta))
    return xp.sign(v) * p if absolute else p


def one_threshold(v: Array, c: float | Array) -> Array:
    """Return theta with sum max(v - theta, 0) = c: the largest (sum of the j largest - c) / j."""
    xp = namespace(v)
    top = xp.max(v, axis=-1, keepdims=True)  # without this shift, c drowns in the rounding of a large sum
    ordered = xp.flip(xp.sort(v - top, axis=-1), axis=-1)
    count = xp.arange(1, v.shape[-1] + 1, dtype=v.dtype, device=device(v))
    return top + xp.max((xp.cumulative_sum(ordered, axis=-1) - c) / count, axis=-1, keepdims=True)


def threshold(v: Array, c: float | Array, k: int) -> Array:
    """Return theta with sum min(max(v - theta, 0), c) = k c, for k below the length of the vectors.

    The sum is a piecewise linear function of theta. Followed from knot to knot, it says on which piece theta lies.
    """
    xp, n = namespace(v), v.shape[-1]
    top = xp.max(v, axis=-1, keepdims=True)
    v = v - top
    knots = xp.concat([v, v - c], axis=-1)
    order = xp.flip(xp.argsort(knots, axis=-1), axis=-1)
    knots = xp.take_along_axis(knots, order, axis=-1)
    slope = xp.cumulative_sum(2.0 * xp.astype(order < n, v.dtype) - 1.0, axis=-1)
    taken = xp.cumulative_sum(slope[..., :-1] * (knots[..., :-1] - knots[..., 1:]), axis=-1)
    passed = xp.sum(xp.astype(taken <= k * c, order.dtype), axis=-1, keepdims=True)
    last = xp.clip(passed, None, 2 * n - 2)
    inside = (xp.take_along_axis(knots, last, axis=-1) + xp.take_along_axis(knots, last + 1, axis=-1)) / 2
    # The equation of this piece; derivatives flow through it alone.
    capped = v - c >= inside
    between = (v > inside) & ~capped
    count = xp.sum(xp.astype(between, v.dtype), axis=-1, keepdims=True)
    missing = k - xp.sum(xp.astype(capped, v.dtype), axis=-1, keepdims=True)
    total = xp.sum(xp.where(between, v, xp.zeros_like(v)), axis=-1, keepdims=True)
    root = (total - missing * c) / xp.where(count > 0, count, xp.ones_like(count))
    return top + xp.where(count > 0, root, inside)


def _by_kernel(v: np.ndarray, c: float | Array, k: int, absolute: bool) -> np.ndarray:
    from trisplit.kernels.sorted_thresholds import prox_largest

    rows = np.ascontiguousarray(v, dtype=np.float32 if v.dtype == np.float32 else np.float64)
    out, n = np.empty_like(rows), v.shape[-1]
    cs = np.ascontiguousarray(np.broadcast_to(np.asarray(c, dtype=float), (*v.shape[:-1], 1))).reshape(-1)
    prox_largest(rows.reshape(-1, n), cs, k, absolute, out.reshape(-1, n))
    return out
