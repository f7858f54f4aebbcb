"""Zero, L1 norms and the squared L2 norm."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, device, namespace
from trisplit.arrays.batched import inner, norm, scalar, total
from trisplit.errors import InputError
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Entries, mapped, summed
from trisplit.terms.checks import fit, like, nonnegative, nonnegative_weight
from trisplit.terms.norms.weighted import between, keep, within
from trisplit.terms.numbers import row_norms
from trisplit.terms.sets.box import Box

__all__ = ["L1", "AsymmetricL1", "ComplexL1", "SquaredL2", "Zero"]


@dataclass(frozen=True)
class Zero(Entries, ConvexFunction):
    """The zero function; prox(x) = x. It stands for h where there is only one nonsmooth term.

    Examples
    --------
    >>> import numpy as np
    >>> Zero().prox(np.array([1.0]), gamma=2.0)
    array([1.])
    """

    broadcast = ()

    def value(self, x: Array) -> float:
        """Return 0."""
        return self.distance(x)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x`."""
        return x

    def lipschitz(self, shape: Shape) -> float:
        """Return 0."""
        return 0.0

    def distance(self, x: Array) -> float:
        """Return 0: the domain is the whole space."""
        k = self.batch_ndim
        return namespace(x).zeros(x.shape[:k], dtype=x.dtype, device=device(x)) if k else 0.0

    def conjugate(self) -> Box:
        """Return the indicator of {0}."""
        return Box(0.0, 0.0).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["Zero", Shape]]:
        return [(cls(), (3,))]


@dataclass(frozen=True, eq=False)
class L1(Entries, ConvexFunction):
    """The weighted L1 norm, sum_i weight_i |x_i|.

    prox(x, gamma) = sign(x) max(|x| - gamma weight, 0), entry by entry.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Donoho (1995), De-noising by soft-thresholding.

    Examples
    --------
    >>> import numpy as np
    >>> L1(1.0).prox(np.array([-3.0, 0.5]), gamma=2.0)
    array([-1.,  0.])
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative(self.weight))

    def value(self, x: Array) -> float:
        """Return sum_i weight_i |x_i|."""
        xp = namespace(x)
        return total(like(self.weight, x, "weight") * xp.abs(x), self.batch_ndim)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the soft threshold of `x` at gamma * weight."""
        threshold = scalar(gamma, self.batch_ndim) * like(self.weight, x, "weight")
        return x - namespace(x).clip(x, -threshold, threshold)

    def lipschitz(self, shape: Shape) -> float:
        """Return ||weight||_2 over all entries."""
        return norm(fit(self.weight, shape, "weight"), self.batch_ndim)

    def conjugate(self) -> Box:
        """Return the indicator of {u : |u_i| <= weight_i}."""
        return Box(-np.asarray(self.weight), np.asarray(self.weight)).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["L1", Shape]]:
        return [(cls(0.7), (5,)), (cls(np.array([0.0, 1.0, 3.0])), (3,)), (cls(2.0), (2, 3))]


@dataclass(frozen=True, eq=False)
class AsymmetricL1(Entries, ConvexFunction):
    """The support function of an interval, sum_i max(lo_i x_i, hi_i x_i): slope hi above zero and lo below it.

    prox(x, gamma) = x - min(max(x, gamma lo), gamma hi), entry by entry.

    Parameters
    ----------
    lo, hi : float or array
        The slopes, finite, lo <= hi; arrays must broadcast to the shape of x.

    References
    ----------
    Combettes, Pesquet (2007), Proximal thresholding algorithm for minimization over orthonormal bases.

    Examples
    --------
    >>> import numpy as np
    >>> AsymmetricL1(-1.0, 2.0).prox(np.array([-3.0, 1.0, 6.0]), gamma=1.0)
    array([-2.,  0.,  4.])
    """

    lo: float | Array = -1.0
    hi: float | Array = 1.0
    broadcast = ("lo", "hi")

    def __post_init__(self) -> None:
        box = Box(self.lo, self.hi)
        if not box.bounded:
            raise InputError("`lo` or `hi` is infinite; give finite slopes, or use NonNegativeL1")
        keep(self, lo=box.lo, hi=box.hi)

    @summed
    def value(self, v: Array) -> Array:
        """Return sum_i max(lo_i x_i, hi_i x_i)."""
        return namespace(v).maximum(like(self.lo, v, "lo") * v, like(self.hi, v, "hi") * v)

    @mapped
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return x less its projection onto gamma [lo, hi]."""
        return v - between(v, t * like(self.lo, v, "lo"), t * like(self.hi, v, "hi"))

    def lipschitz(self, shape: Shape) -> float:
        """Return the norm of max(|lo|, |hi|)."""
        steepest = np.maximum(np.abs(fit(self.lo, shape, "lo")), np.abs(fit(self.hi, shape, "hi")))
        return norm(steepest, self.batch_ndim)

    def conjugate(self) -> Box:
        """Return the indicator of [lo, hi]."""
        return Box(self.lo, self.hi).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["AsymmetricL1", Shape]]:
        return [(cls(-0.5, 2.0), (5,)), (cls(0.3, np.array([0.3, 1.0, 2.0])), (3,))]


@dataclass(frozen=True, eq=False)
class ComplexL1(ConvexFunction):
    """The L1 norm of complex numbers, sum_k weight_k |z_k|, with z = x, or z = x[..., 0] + i x[..., 1] for real x.

    prox(z, gamma) = z max(1 - gamma weight / |z|, 0), number by number.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x, for real x with a last axis of length 1.

    References
    ----------
    Maleki, Anitori, Yang, Baraniuk (2013), Asymptotic analysis of complex LASSO via complex approximate message
    passing.

    Examples
    --------
    >>> import numpy as np
    >>> ComplexL1(1.0).prox(np.array([[3.0, 4.0], [0.5, 0.5]]), gamma=2.5)
    array([[1.5, 2. ],
           [0. , 0. ]])
    >>> ComplexL1(1.0).prox(np.array([3.0 + 4.0j]), gamma=2.5)
    array([1.5+2.j])
    """

    weight: float | Array = 1.0
    of_complex = True
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        keep(self, weight=nonnegative(self.weight))

    def value(self, x: Array) -> float:
        """Return sum_k weight_k |z_k|."""
        sizes = self._sizes(x)
        return total(like(self.weight, sizes, "weight") * sizes, self.batch_ndim)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return each number shortened by gamma * weight."""
        xp, sizes = namespace(x), self._sizes(x)
        threshold = scalar(gamma, self.batch_ndim) * like(self.weight, sizes, "weight")
        safe = xp.where(sizes > 0, sizes, xp.ones_like(sizes))
        return x - x * (xp.clip(safe, None, threshold) / safe)

    def lipschitz(self, shape: Shape) -> float:
        """Return ||weight||_2 over all complex numbers; the shape is that of real x."""
        self._pairs(shape)
        return norm(fit(self.weight, (*shape[:-1], 1), "weight"), self.batch_ndim)

    def conjugate_value(self, u: Array) -> float:
        """Return 0 if |u_k| <= weight_k for all complex numbers, else infinity."""
        sizes = self._sizes(u)
        with np.errstate(invalid="ignore"):  # see `summed_or_inf`
            return total(within(sizes, like(self.weight, sizes, "weight")), self.batch_ndim)

    def _sizes(self, x: Array) -> Array:
        """Return the absolute values; those of pairs with an axis of length 1 in place of the pair."""
        xp = namespace(x)
        if xp.isdtype(x.dtype, "complex floating"):
            return xp.abs(x)
        self._pairs(x.shape)
        return row_norms(x)

    def _pairs(self, shape: Shape) -> None:
        own = tuple(shape[self.batch_ndim :])
        if not own or own[-1] != 2:
            parts = "real and imaginary parts along a last axis of length 2"
            raise InputError(f"ComplexL1 needs complex x, or {parts}, got real x of shape {own}; stack the parts")

    @classmethod
    def examples(cls) -> list[tuple["ComplexL1", Shape]]:
        return [(cls(0.8), (3, 2)), (cls(np.array([[0.0], [1.5]])), (2, 2))]


@dataclass(frozen=True)
class SquaredL2(Entries, ConvexFunction):
    """The squared norm, (weight / 2) ||x||^2; prox(x, gamma) = x / (1 + gamma weight).

    Parameters
    ----------
    weight : float
        Nonnegative. `SquaredDeviation` takes a weight for each entry, and a target.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredL2(1.0).prox(np.array([2.0]), gamma=1.0)
    array([1.])
    """

    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    def value(self, x: Array) -> float:
        """Return (weight / 2) ||x||^2."""
        return 0.5 * self.weight * inner(x, x, self.batch_ndim)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return x / (1 + gamma weight)."""
        return x / (1.0 + scalar(gamma, self.batch_ndim) * self.weight)

    def conjugate(self) -> "SquaredL2":
        """Return ||u||^2 / (2 weight)."""
        if self.weight == 0:
            raise InputError("the conjugate needs `weight` > 0; use `Zero().conjugate()`")
        return SquaredL2(1.0 / self.weight).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["SquaredL2", Shape]]:
        return [(cls(0.3), (4,)), (cls(5.0), (2, 2))]
