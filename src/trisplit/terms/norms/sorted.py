"""Sorted norms: what an entry counts for is given by its rank."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, constant_like, device, namespace
from trisplit.errors import InputError
from trisplit.terms.base import ConvexFunction, zero_where
from trisplit.terms.blocks import Lines, mapped, summed
from trisplit.terms.checks import axis_or_none, nonnegative, nonnegative_weight, whole
from trisplit.terms.norms.vectors import OfVectors, slack
from trisplit.terms.numbers import largest, row_norms
from trisplit.terms.roots import increasing_root
from trisplit.terms.structured.isotonic import isotonic

__all__ = ["OSCAR", "SLOPE", "SquaredKSupport"]

LONG = 1000  # entries, from which on a kernel is worth being compiled


class Sorted(Lines, ConvexFunction):
    """What sorted norms share: sum_i w_i |x|_[i] with nonincreasing weights w."""

    cost = "n log n"

    def ranked(self, v: Array) -> Array:
        """Return the weights of the ranks, largest first, in the library, dtype and device of `v`."""
        raise NotImplementedError(f"{type(self).__name__} must define `ranked`")

    @summed
    def value(self, v: Array) -> Array:
        """Return the sum over i of w_i times the i-th largest absolute value."""
        xp = namespace(v)
        return xp.sum(self.ranked(v) * xp.flip(xp.sort(xp.abs(v), axis=-1), axis=-1), axis=-1)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return the isotonic fit of the sorted |x| - gamma w, its positive part, in the order and signs of x."""
        xp, weights = namespace(v), self.ranked(v)
        p = by_kernel(v, t * weights) if xp is np else None
        if p is not None:
            return p
        size = xp.abs(v)
        if xp is np:
            order = np.argsort(size, axis=-1)[..., ::-1]
            fit = isotonic(np.take_along_axis(size, order, axis=-1) - t * weights, decreasing=True)
            p = np.empty_like(size)
            np.put_along_axis(p, order, np.maximum(fit, 0), axis=-1)
            return np.copysign(p, v)
        order = xp.flip(xp.argsort(size, axis=-1), axis=-1)
        fit = isotonic(xp.take_along_axis(size, order, axis=-1) - t * weights, decreasing=True)
        ranks = xp.argsort(order, axis=-1)
        return xp.sign(v) * xp.take_along_axis(xp.clip(fit, 0.0, None), ranks, axis=-1)

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return 0 if no sum of largest absolute values of u exceeds that of the weights, else infinity."""
        xp = namespace(u)
        excess = xp.flip(xp.sort(xp.abs(u), axis=-1), axis=-1) - self.ranked(u)
        worst = xp.max(xp.cumulative_sum(excess, axis=-1), axis=-1, keepdims=True)
        return zero_where(worst <= slack(u) * u.shape[-1] ** 0.5, u)  # pyright: ignore[reportReturnType]


def by_kernel(v: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
    """Return the proximal points of long vectors in double precision by a compiled loop, None if it cannot do them."""
    if v.dtype != np.float64 or v.size < LONG:
        return None
    from trisplit.kernels.isotonic import sorted_l1_rows

    n, weights = v.shape[-1], np.ascontiguousarray(weights, dtype=float)
    if weights.ndim > 1:
        weights = np.broadcast_to(weights, v.shape)
    rows, out = np.ascontiguousarray(v).reshape(-1, n), np.empty(v.shape)
    done = sorted_l1_rows(rows, np.ascontiguousarray(weights.reshape(-1, n)), out.reshape(-1, n))
    return out if done else None


@dataclass(frozen=True, eq=False)
class SLOPE(Sorted):
    """The sorted L1 norm, sum_i weights_i |x|_[i], where |x|_[1] >= |x|_[2] >= ... are the absolute values in order.

    prox(x, gamma): the nearest nonincreasing sequence to |x|_[i] - gamma weights_i, its positive part, with the order
    and the signs of x. Also called OWL, the ordered weighted L1 norm. Equal weights give L1, weights 1, 0, ..., 0 the
    maximum norm.

    Parameters
    ----------
    weights : array
        As many as a vector has entries, nonnegative and nonincreasing.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Bogdan, van den Berg, Sabatti, Su, Candès (2015), SLOPE: adaptive variable selection via convex optimization.

    Examples
    --------
    >>> import numpy as np
    >>> SLOPE([2.0, 1.0, 0.0]).prox(np.array([1.0, -3.5, 3.0]), gamma=1.0)
    array([ 1.  , -1.75,  1.75])
    """

    weights: Array
    axis: int | None = None
    broadcast = ()
    name = "slope"

    def __post_init__(self) -> None:
        weights = np.asarray(nonnegative(self.weights, "weights"))
        if weights.ndim != 1 or weights.size == 0:
            came = f"`weights` must be a vector with entries, got shape {weights.shape}"
            raise InputError(f"{came}; give one number for each rank")
        if np.any(np.diff(weights) > 0):
            first = int(np.argmax(np.diff(weights) > 0))
            came = f"`weights` must not increase, got {weights[first]} before {weights[first + 1]}"
            raise InputError(f"{came}; sort them, largest first")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def length(self, shape: Shape) -> int:
        """Return the length of the vectors, which must be that of the weights."""
        n = super().length(shape)
        if n != self.weights.size:
            raise InputError(f"`weights` has {self.weights.size} entries but the vectors have {n}; make them equal")
        return n

    def ranked(self, v: Array) -> Array:
        """Return the weights."""
        return constant_like(self.weights, v)

    def lipschitz(self, shape: Shape) -> float:
        """Return ||weights||_2 * sqrt(number of vectors)."""
        return float(np.linalg.norm(self.weights)) * self.count(shape) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["SLOPE", Shape]]:
        weights = np.array([1.5, 1.0, 1.0, 0.2, 0.0])
        return [(cls(weights), (5,)), (cls(weights[1:4], axis=0), (3, 2))]


@dataclass(frozen=True)
class OSCAR(Sorted):
    """The octagonal norm, weight * ||x||_1 + pairwise * the sum over i < j of max(|x_i|, |x_j|), which makes clusters.

    It is the sorted L1 norm (SLOPE) with the weights weight + pairwise (n - i) for the ranks i = 1, ..., n.

    Parameters
    ----------
    weight : float
        Of the absolute values, nonnegative.
    pairwise : float
        Of the pairs, nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Bondell, Reich (2008), Simultaneous regression shrinkage, variable selection and supervised clustering of predictors
    with OSCAR. Zhong, Kwok (2012), Efficient sparse modeling with automatic feature grouping.

    Examples
    --------
    >>> import numpy as np
    >>> OSCAR(0.0, 1.0).prox(np.array([1.0, -3.5, 3.0]), gamma=1.0)
    array([ 1.  , -1.75,  1.75])
    """

    weight: float = 1.0
    pairwise: float = 1.0
    axis: int | None = None
    broadcast = ()
    name = "oscar"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "pairwise", nonnegative_weight(self.pairwise, "pairwise"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def ranked(self, v: Array) -> Array:
        """Return weight + pairwise (n - i)."""
        n = v.shape[-1]
        after = namespace(v).arange(n - 1, -1, -1, dtype=v.dtype, device=device(v))
        return self.weight + self.pairwise * after

    def lipschitz(self, shape: Shape) -> float:
        """Return the Euclidean norm of the weights * sqrt(number of vectors)."""
        weights = self.ranked(np.zeros(self.length(shape)))
        return float(np.linalg.norm(weights)) * self.count(shape) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["OSCAR", Shape]]:
        return [(cls(0.3, 0.2), (5,)), (cls(0.0, 0.7, axis=1), (2, 3))]


@dataclass(frozen=True)
class SquaredKSupport(OfVectors):
    """The squared k-support norm, (weight / 2) * min sum_i x_i^2 / theta_i over 0 <= theta <= 1 with sum theta <= k.

    The unit ball of the norm is the convex hull of the unit vectors with at most k entries; k = 1 gives ||x||_1^2 and
    k = n gives ||x||_2^2. prox(x, gamma) = x theta / (theta + c) with c = gamma weight and theta = alpha |x| - c, cut
    off at 0 and 1, where alpha is such that sum theta = k.

    Parameters
    ----------
    k : int
        At least 1 and at most the length of the vectors.
    weight : float
        Nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Argyriou, Foygel, Srebro (2012), Sparse prediction with the k-support norm. McDonald, Pontil, Stamos (2016), New
    perspectives on k-support and cluster norms.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredKSupport(1).prox(np.array([3.0, -1.0]), gamma=1.0)
    array([ 1.5, -0. ])
    """

    k: int = 1
    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    name = "squared_k_support"
    cost = "n log n"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", whole(self.k, "k"))

    def length(self, shape: Shape) -> int:
        """Return the length of the vectors, which must have k entries."""
        n = super().length(shape)
        if n < self.k:
            raise InputError(f"`k` is {self.k} but the vectors have {n} entries; choose a smaller k or a longer x")
        return n

    @summed
    def value(self, v: Array) -> Array:
        """Return (weight / 2) ||x||^2, from the split of the sorted |x| into a Euclidean and an L1 part."""
        xp, size = namespace(v), largest(v)
        safe = xp.where(size > 0, size, xp.ones_like(size))
        ordered = xp.flip(xp.sort(xp.abs(v) / safe, axis=-1), axis=-1)
        head = (xp.cumulative_sum(ordered**2, axis=-1) - ordered**2)[..., : self.k]
        tail = xp.flip(xp.cumulative_sum(xp.flip(ordered, axis=-1), axis=-1), axis=-1)[..., : self.k]
        room = xp.arange(self.k, 0, -1, dtype=v.dtype, device=device(v))  # what is left of k for the tail
        # Every split whose theta are at most 1 is a bound from above, and the right one is among them.
        fits = ordered[..., : self.k] * room <= tail
        least = xp.min(xp.where(fits, head + tail**2 / room, xp.inf), axis=-1, keepdims=True)
        return 0.5 * self.weight * safe**2 * least

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return x theta / (theta + gamma weight)."""
        xp, n, c, top = namespace(v), v.shape[-1], t * self.weight, largest(v)
        size = xp.abs(v) / xp.where(top > 0, top, xp.ones_like(top))
        kth = xp.sort(size, axis=-1)[..., n - self.k : n - self.k + 1]
        few = ~(kth > 0)  # not even k entries: they need not share
        size = xp.where(few, xp.ones_like(size), size)
        kth = xp.where(few, xp.ones_like(kth), kth)
        ones = xp.ones_like(kth)
        lo, hi = xp.log(ones * (self.k / n + c)), xp.log1p(ones * c) - xp.log(kth)

        def excess(log_alpha: Array) -> tuple[Array, Array]:
            alpha = xp.exp(log_alpha)
            theta = alpha * size - c
            between = (theta > 0) & (theta < 1)
            slope = alpha * xp.sum(xp.where(between, size, xp.zeros_like(size)), axis=-1, keepdims=True)
            return xp.sum(xp.clip(theta, 0.0, 1.0), axis=-1, keepdims=True) - self.k, slope

        theta = xp.exp(increasing_root(excess, lo, hi, hi)) * size - c
        # The equation of this piece is linear; derivatives flow through it alone.
        between, full = (theta > 0) & (theta < 1), theta >= 1
        count, others = (xp.sum(xp.astype(where, v.dtype), axis=-1, keepdims=True) for where in (between, full))
        total = xp.sum(xp.where(between, size, xp.zeros_like(size)), axis=-1, keepdims=True)
        alpha = (self.k - others + c * count) / xp.where(count > 0, total, ones)
        theta = xp.where(between, alpha * size - c, xp.astype(full, v.dtype))
        theta = xp.where(few, xp.ones_like(theta), xp.clip(theta, 0.0, 1.0))
        shared = theta + c
        return v * xp.where(
            shared > 0, theta / xp.where(shared > 0, shared, xp.ones_like(shared)), xp.ones_like(shared)
        )

    def lipschitz(self, shape: Shape) -> float:
        """Return infinity, or 0 if there is nothing."""
        return np.inf if self.weight else 0.0

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return the sum of the k largest u_i^2, over 2 weight."""
        if self.weight == 0:
            return zero_where(row_norms(u) <= slack(u), u)  # pyright: ignore[reportReturnType]
        kept = namespace(u).sort(namespace(u).abs(u), axis=-1)[..., u.shape[-1] - self.k :]
        return row_norms(kept) ** 2 / (2.0 * self.weight)

    @classmethod
    def examples(cls) -> list[tuple["SquaredKSupport", Shape]]:
        return [(cls(2, 0.8), (5,)), (cls(2, 1.5, axis=0), (3, 2))]
