"""Counts of nonzero entries, and powers below 1 of absolute values: sparsity with less bias than the L1 norm.

Each is a sum of p(|x_i|) with p(0) = 0. Its proximal map returns a global minimiser; where there are two, one of them.
"""

from dataclasses import dataclass
from math import pi

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.errors import InputError
from trisplit.terms.checks import positive
from trisplit.terms.nonconvex.shrinkage import WeightedPenalty
from trisplit.terms.roots import increasing_root

__all__ = ["L0", "L0L2", "LHalf", "LTwoThirds", "Root"]


@dataclass(frozen=True, eq=False)
class L0(WeightedPenalty):
    """The number of nonzero entries, weighted: sum of weight_i over i with x_i != 0.

    prox(x, gamma) = x where |x| > sqrt(2 gamma weight), else 0: hard thresholding.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Donoho, Johnstone (1994), Ideal spatial adaptation by wavelet shrinkage.

    Examples
    --------
    >>> import numpy as np
    >>> L0(0.5).prox(np.array([-3.0, 0.9]), gamma=1.0)
    array([-3.,  0.])
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)

    def penalty(self, r: Array) -> Array:
        """Return the weight where r is not 0."""
        xp = namespace(r)
        return xp.where(r != 0, self.full("weight", r), xp.zeros_like(r))

    def shrunk(self, r: Array, step: float | Array) -> Array:
        """Return r above the threshold."""
        xp = namespace(r)
        return xp.where(r > xp.sqrt(2 * step * self.full("weight", r)), r, xp.zeros_like(r))

    @classmethod
    def examples(cls) -> list[tuple["L0", Shape]]:
        return [(cls(0.7), (5,)), (cls(np.array([0.0, 1.0, 2.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class L0L2(WeightedPenalty):
    """The number of nonzero entries with a ridge, sum of weight_i [x_i != 0] + (ridge / 2) x_i^2.

    prox(x, gamma) = s = x / (1 + gamma ridge) where s x > 2 gamma weight, else 0.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.
    ridge : float
        Positive.

    References
    ----------
    Hazimeh, Mazumder (2020), Fast best subset selection: coordinate descent and local combinatorial optimization.

    Examples
    --------
    >>> import numpy as np
    >>> L0L2(0.5, ridge=1.0).prox(np.array([-3.0, 0.9]), gamma=1.0)
    array([-1.5,  0. ])
    """

    weight: float | Array = 1.0
    ridge: float = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "ridge", positive(self.ridge, "ridge"))

    def penalty(self, r: Array) -> Array:
        """Return weight [r != 0] + ridge r^2 / 2."""
        xp = namespace(r)
        return xp.where(r != 0, self.full("weight", r), xp.zeros_like(r)) + 0.5 * self.ridge * r**2

    def shrunk(self, r: Array, step: float | Array) -> Array:
        """Return r / (1 + step ridge) above the threshold."""
        xp = namespace(r)
        scale = 1.0 + step * self.ridge
        return xp.where(r > xp.sqrt(2 * step * scale * self.full("weight", r)), r / scale, xp.zeros_like(r))

    @classmethod
    def examples(cls) -> list[tuple["L0L2", Shape]]:
        return [(cls(0.7, 0.4), (5,)), (cls(np.array([0.0, 1.0, 2.0]), 2.0), (2, 3))]


@dataclass(frozen=True, eq=False)
class LHalf(WeightedPenalty):
    """The square root of absolute values, sum_i weight_i |x_i|^(1/2).

    prox(x, gamma) = (2/3) x (1 + cos(2 pi / 3 - 2 phi / 3)) with cos(phi) = (gamma weight / 4) (|x| / 3)^(-3/2) where
    |x| > (3/2) (gamma weight)^(2/3), else 0.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Xu, Chang, Xu, Zhang (2012), L1/2 regularization: a thresholding representation theory and a fast solver.

    Examples
    --------
    >>> import numpy as np
    >>> LHalf(1.0).prox(np.array([1.4, -3.0]), gamma=1.0).round(4)
    array([ 0.    , -2.6955])
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)

    def penalty(self, r: Array) -> Array:
        """Return weight sqrt(r)."""
        return self.full("weight", r) * namespace(r).sqrt(r)

    def shrunk(self, r: Array, step: float | Array) -> Array:
        """Return the largest stationary point above the threshold."""
        xp = namespace(r)
        size = (step * self.full("weight", r)) ** (2 / 3)
        kept = r > 1.5 * size
        u = xp.where(kept, size / xp.where(kept, r, xp.ones_like(r)), xp.zeros_like(r))  # at most 2/3
        phi = xp.acos(0.25 * (3 * u) ** 1.5)
        return xp.where(kept, (2 / 3) * r * (1 + xp.cos(2 * pi / 3 - (2 / 3) * phi)), xp.zeros_like(r))

    @classmethod
    def examples(cls) -> list[tuple["LHalf", Shape]]:
        return [(cls(0.7), (5,)), (cls(np.array([0.0, 1.0, 2.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class LTwoThirds(WeightedPenalty):
    """The power 2/3 of absolute values, sum_i weight_i |x_i|^(2/3).

    prox(x, gamma) = sign(x) z^3 with z the largest root of z^4 - |x| z + 2 gamma weight / 3, by Ferrari's formula,
    where |x| > 2 (2 gamma weight / 3)^(3/4), else 0.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Cao, Sun, Xu (2013), Fast image deconvolution using closed-form thresholding formulas of Lq (q = 1/2, 2/3)
    regularization.

    Examples
    --------
    >>> import numpy as np
    >>> LTwoThirds(1.0).prox(np.array([1.4, -3.0]), gamma=1.0).round(4)
    array([ 0.    , -2.5094])
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)

    def penalty(self, r: Array) -> Array:
        """Return weight r^(2/3)."""
        return self.full("weight", r) * r ** (2 / 3)

    def shrunk(self, r: Array, step: float | Array) -> Array:
        """Return the largest stationary point above the threshold, as a multiple of r."""
        xp = namespace(r)
        size = (2 / 3 * step * self.full("weight", r)) ** 0.75
        kept = r > 2 * size
        u = xp.where(kept, size / xp.where(kept, r, xp.ones_like(r)), xp.zeros_like(r))  # at most 1/2
        # m^3 - kappa m - 1 is the resolvent of the quartic, for z / r^(1/3)
        third = (4 / 3) * u ** (4 / 3)  # kappa / 3
        root = (0.5 + xp.sqrt(0.25 - third**3)) ** (1 / 3)
        m = root + third / root
        z = 0.5 * (xp.sqrt(m) + xp.sqrt(2 / xp.sqrt(m) - m))
        return xp.where(kept, r * z**3, xp.zeros_like(r))

    @classmethod
    def examples(cls) -> list[tuple["LTwoThirds", Shape]]:
        return [(cls(0.7), (5,)), (cls(np.array([0.0, 1.0, 2.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class Root(WeightedPenalty):
    """A power q < 1 of absolute values, sum_i weight_i |x_i|^q.

    prox(x, gamma) = sign(x) s with s the largest root of s + q gamma weight s^(q - 1) = |x|, by Newton's method, where
    |x| > s0 (2 - q) / (2 - 2 q), s0 = (2 (1 - q) gamma weight)^(1 / (2 - q)), else 0.

    Parameters
    ----------
    q : float
        Between 0 and 1; 1/2 and 2/3 have closed forms, `LHalf` and `LTwoThirds`.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Marjanovic, Solo (2012), On Lq optimization and matrix completion.

    Examples
    --------
    >>> import numpy as np
    >>> Root(0.5).prox(np.array([1.4, -3.0]), gamma=1.0).round(4)
    array([ 0.    , -2.6955])
    """

    q: float = 0.5
    weight: float | Array = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "q", positive(self.q, "q"))
        if self.q >= 1:
            raise InputError(f"`q` must be below 1, got {self.q}; for 1 use `L1`")

    def penalty(self, r: Array) -> Array:
        """Return weight r^q."""
        return self.full("weight", r) * r**self.q

    def shrunk(self, r: Array, step: float | Array) -> Array:
        """Return the largest stationary point above the threshold, as a multiple of r."""
        xp, q = namespace(r), self.q
        least = 2 * (1 - q) / (2 - q)  # the multiple at the threshold
        size = (step * self.full("weight", r)) ** (1 / (2 - q))
        kept = r * least > size * (2 * (1 - q)) ** (1 / (2 - q))
        u = xp.where(kept, size / xp.where(kept, r, xp.ones_like(r)), xp.zeros_like(r))
        kappa, one = q * u ** (2 - q), xp.ones_like(r)

        # Convex in s, and nonnegative at s = 1: Newton's method descends to the largest root.
        def F(s: Array) -> tuple[Array, Array]:
            power = kappa * s ** (q - 1)
            return s - 1 + power, 1 - (1 - q) * power / s

        return xp.where(kept, r * increasing_root(F, least * one, one, one), xp.zeros_like(r))

    @classmethod
    def examples(cls) -> list[tuple["Root", Shape]]:
        return [(cls(0.3), (4,)), (cls(0.8, np.array([0.0, 1.0, 2.0])), (2, 3))]
