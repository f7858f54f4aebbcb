"""Order and neighbourhood along lines: fused lasso, nearly isotonic and isotonic vectors."""

from dataclasses import dataclass
from math import prod

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.arrays.batched import norm, scalar, total
from trisplit.terms.base import ConvexFunction, ConvexSet
from trisplit.terms.blocks import Lines, mapped
from trisplit.terms.checks import axis_or_none, nonnegative_weight, yes_or_no
from trisplit.terms.numbers import row_norms
from trisplit.terms.structured.isotonic import isotonic
from trisplit.terms.structured.total_variation import Jumps, TotalVariation, zero_inside

__all__ = ["FusedLasso", "Isotonic", "NearlyIsotonic"]


@dataclass(frozen=True)
class FusedLasso(ConvexFunction):
    """The fused lasso, sparsity ||x||_1 + smoothness * (sum over the lines along `axis` of sum_k |x_{k+1} - x_k|).

    prox(x, gamma) is the soft threshold, at gamma sparsity, of the proximal point of the total variation. It is exact,
    and computed on the host; see `TotalVariation`.

    Parameters
    ----------
    sparsity, smoothness : float
        Nonnegative weights of the norm and of the total variation.
    axis : int
        The axis along which neighbours are compared.

    References
    ----------
    Friedman, Hastie, Höfling, Tibshirani (2007), Pathwise coordinate optimization.

    Examples
    --------
    >>> import numpy as np
    >>> FusedLasso(1.0, 1.0).prox(np.array([0.0, 0.0, 4.0, 6.0]), gamma=1.0)
    array([0., 0., 3., 4.])
    """

    sparsity: float = 1.0
    smoothness: float = 1.0
    axis: int = -1
    broadcast = ()
    host = Jumps.host

    def __post_init__(self) -> None:
        for name in ("sparsity", "smoothness"):
            object.__setattr__(self, name, nonnegative_weight(getattr(self, name), name))
        object.__setattr__(self, "axis", self._variation.axis)

    def value(self, x: Array) -> float:
        """Return sparsity ||x||_1 + smoothness times the total variation."""
        norms = self.sparsity * total(namespace(x).abs(x), self.batch_ndim)
        return norms + self._variation.value(x)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the soft threshold of the proximal point of the total variation."""
        p = self._variation.prox(x, gamma)
        threshold = self.sparsity * scalar(gamma, self.batch_ndim)
        return p - namespace(p).clip(p, -threshold, threshold)

    def lipschitz(self, shape: Shape) -> float:
        """Return the slope of a zigzag around 0, at which the subgradients of all parts have the same signs."""
        variation = self._variation
        n = shape[variation._axis(shape)]
        inner, ends = self.sparsity + 2 * self.smoothness, self.sparsity + self.smoothness
        line = max(n - 2, 0) * inner**2 + 2 * ends**2 if n > 1 else n * self.sparsity**2
        return (prod(shape[self.batch_ndim :]) // max(n, 1) * line) ** 0.5

    @property
    def _variation(self) -> TotalVariation:
        return TotalVariation(self.smoothness, self.axis).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["FusedLasso", Shape]]:
        return [(cls(0.3, 0.7), (6,)), (cls(1.0, 0.4, axis=0), (4, 2)), (cls(0.5, 2.0), (1,))]


@dataclass(frozen=True, eq=False)
class NearlyIsotonic(Jumps):
    """The falls of lines, the sum over the lines along `axis` of sum_k weight_k max(x_k - x_{k+1}, 0).

    Where it is 0, lines increase; `Isotonic` is the limit of large weights. With `increasing=False` rises cost.

    prox(x, gamma) is found exactly, by the dynamic programming of `TotalVariation`, on the host and in a time
    proportional to the size of x.

    Parameters
    ----------
    weight : float or array
        Nonnegative. An array has one number for each jump of a line along its last axis, one less than entries; its
        axes in front broadcast against the other axes of x.
    axis : int
        The axis along which neighbours are compared.
    increasing : bool
        Whether falls cost, or rises.

    References
    ----------
    Tibshirani, Hoefling, Tibshirani (2011), Nearly-isotonic regression.

    Examples
    --------
    >>> import numpy as np
    >>> NearlyIsotonic(1.0).prox(np.array([1.0, 5.0, 0.0, 7.0]), gamma=1.0)
    array([1., 4., 1., 7.])
    """

    weight: float | Array = 1.0
    axis: int = -1
    increasing: bool = True
    broadcast = ("weight",)
    free = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "increasing", yes_or_no(self.increasing, "increasing"))

    @property
    def forward(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether lines are read from their first entry."""
        return self.increasing

    def lipschitz(self, shape: Shape) -> float:
        """Return the largest norm of a subgradient, D'z with each z_k either 0 or -weight_k."""
        jumps = self._fits(shape)
        weights = np.broadcast_to(np.asarray(self.weight), jumps)
        # The largest square of the entries of D'z so far, if the last z is 0 and if it is not.
        zero = other = np.zeros(jumps[:-1])
        last = np.zeros(jumps[:-1])
        for k in range(jumps[-1]):
            w = weights[..., k]
            zero, other = np.maximum(zero, other + last**2), np.maximum(zero + w**2, other + (last - w) ** 2)
            last = w
        return norm(np.sqrt(np.maximum(zero, other + last**2)), self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["NearlyIsotonic", Shape]]:
        array = cls(np.array([0.3, 0.0, 2.0, 0.8]), increasing=False)
        return [(cls(0.7), (6,)), (array, (5,)), (cls(1.2, axis=0), (4, 2))]


@dataclass(frozen=True)
class Isotonic(Lines, ConvexSet):
    """Indicator of the monotone cone {x : x_1 <= x_2 <= ... <= x_n}, or with >=, of all of x or of lines of it.

    prox(x)_i = max over j <= i of min over k >= i of the mean of x_j, ..., x_k, found by pooling adjacent violators.

    Parameters
    ----------
    axis : int or None
        The lines that are to be in order, those along this axis; None takes all of x as one vector.
    increasing : bool
        Whether entries must not fall, or must not rise.

    References
    ----------
    Best, Chakravarti (1990), Active set algorithms for isotonic regression; a unifying framework.

    Examples
    --------
    >>> import numpy as np
    >>> Isotonic().prox(np.array([1.0, 3.0, 2.0, 5.0]), gamma=1.0)
    array([1. , 2.5, 2.5, 5. ])
    """

    axis: int | None = None
    increasing: bool = True
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", axis_or_none(self.axis))
        object.__setattr__(self, "increasing", yes_or_no(self.increasing, "increasing"))

    @mapped
    def project(self, v: Array) -> Array:
        """Return the isotonic fits of the lines."""
        return isotonic(v, decreasing=not self.increasing)

    def support(self, u: Array) -> float:
        """Return 0 if the sums of u up to each entry are >= 0 and end at 0, else infinity; up to rounding."""
        xp, u = namespace(u), self.blocks(u)
        sums = xp.cumulative_sum(u, axis=-1)
        rounding = 100 * self.accuracy * eps(u) * row_norms(u) * u.shape[-1] ** 0.5
        inner = sums[..., :-1] if self.increasing else -sums[..., :-1]
        inside = xp.all(inner >= -rounding, axis=-1) & (xp.abs(sums) <= rounding)[..., -1]
        return zero_inside(inside, u, self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["Isotonic", Shape]]:
        return [(cls(), (6,)), (cls(axis=0, increasing=False), (4, 3)), (cls(), (1,))]
