"""Zero, the L1 norm and the squared L2 norm."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, device, inner, namespace, norm, scalar, total
from trisplit.errors import InputError
from trisplit.terms.base import Batchable, Shape, fit, like, nonnegative_weight, parameter
from trisplit.terms.box import Box


@dataclass(frozen=True)
class Zero(Batchable):
    """The zero function; prox(x) = x. It stands for h where there is only one nonsmooth term.

    Examples
    --------
    >>> import numpy as np
    >>> Zero().prox(np.array([1.0]), gamma=2.0)
    array([1.])
    """

    convex = True
    indicator = False
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
        return Box(0.0, 0.0)

    @classmethod
    def examples(cls) -> list[tuple["Zero", Shape]]:
        return [(cls(), (3,))]


@dataclass(frozen=True, eq=False)
class L1(Batchable):
    """The weighted L1 norm, sum_i weight_i |x_i|.

    prox(x, gamma) = sign(x) max(|x| - gamma weight, 0), entry by entry.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    Examples
    --------
    >>> import numpy as np
    >>> L1(1.0).prox(np.array([-3.0, 0.5]), gamma=2.0)
    array([-1.,  0.])
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)
    convex = True
    indicator = False

    def __post_init__(self) -> None:
        weight = parameter(self.weight, "weight")
        if np.any(np.asarray(weight) < 0):
            raise InputError(f"`weight` must be >= 0, got {np.min(weight)}; the term is convex only then")
        object.__setattr__(self, "weight", weight)

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
        return Box(-np.asarray(self.weight), np.asarray(self.weight))

    @classmethod
    def examples(cls) -> list[tuple["L1", Shape]]:
        return [(cls(0.7), (5,)), (cls(np.array([0.0, 1.0, 3.0])), (3,)), (cls(2.0), (2, 3))]


@dataclass(frozen=True)
class SquaredL2(Batchable):
    """The squared norm, (weight / 2) ||x||^2; prox(x, gamma) = x / (1 + gamma weight).

    Examples
    --------
    >>> import numpy as np
    >>> SquaredL2(1.0).prox(np.array([2.0]), gamma=1.0)
    array([1.])
    """

    weight: float = 1.0
    convex = True
    indicator = False
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
        return SquaredL2(1.0 / self.weight)

    @classmethod
    def examples(cls) -> list[tuple["SquaredL2", Shape]]:
        return [(cls(0.3), (4,)), (cls(5.0), (2, 2))]
