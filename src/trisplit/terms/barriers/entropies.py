"""Entropies, finite on an interval with its ends; entry by entry."""

from dataclasses import dataclass
from math import inf, log

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.terms.barriers.equations import STEPS, entropy_root, full, positive_numbers, tiny
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Entries, mapped, nan_kept, summed
from trisplit.terms.checks import like
from trisplit.terms.roots import increasing_root
from trisplit.terms.sets.box import Box

__all__ = ["Entropy", "FermiDiracEntropy"]


def x_log_x(x: Array) -> Array:
    """Return x log x for x > 0, and 0 elsewhere."""
    xp = namespace(x)
    return x * xp.log(xp.where(x > 0, x, 1.0))


@dataclass(frozen=True, eq=False)
class Entropy(Entries, ConvexFunction):
    """The negative entropy of Boltzmann and Shannon, sum_i weight_i x_i log x_i for x >= 0.

    prox(x, gamma) = t W(exp(x / t - 1) / t), with t = gamma weight and Lambert's function W; solved for log p where
    p is small, so that nothing overflows.

    Parameters
    ----------
    weight : float or array
        Positive; an array must broadcast to the shape of x.

    References
    ----------
    Combettes and Pesquet (2007), A Douglas-Rachford splitting approach to nonsmooth convex variational signal recovery.

    Examples
    --------
    >>> import numpy as np
    >>> Entropy().prox(np.array([2.0, -1e300]), gamma=1.0)
    array([1., 0.])
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive_numbers(self.weight, "weight"))

    @summed
    def value(self, x: Array) -> Array:
        """Return sum_i weight_i x_i log x_i, infinite unless x >= 0."""
        return namespace(x).where(x >= 0, like(self.weight, x, "weight") * x_log_x(x), inf)

    @mapped
    def prox(self, x: Array, t: float) -> Array:
        """Return the root of p + t log p = x - t, with t = gamma weight."""
        scale = full(t * like(self.weight, x, "weight"), x)
        return entropy_root(x - scale, scale)

    @summed
    @np.errstate(over="ignore")  # infinity is right
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i weight_i exp(u_i / weight_i - 1)."""
        weight = like(self.weight, u, "weight")
        return weight * namespace(u).exp(u / weight - 1)

    def domain(self) -> Box:
        """Return {x : x >= 0}."""
        return Box(0.0, inf).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["Entropy", Shape]]:
        return [(cls(), (5,)), (cls(np.array([0.3, 1.0, 4.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class FermiDiracEntropy(Entries, ConvexFunction):
    """The entropy of Fermi and Dirac, sum_i weight_i (x_i log x_i + (1 - x_i) log(1 - x_i)) for 0 <= x <= 1.

    prox(x, gamma) is the root p of p + gamma weight log(p / (1 - p)) = x.

    Parameters
    ----------
    weight : float or array
        Positive; an array must broadcast to the shape of x.

    References
    ----------
    Chizat, Peyré, Schmitzer and Vialard (2018), Scaling algorithms for unbalanced optimal transport problems.

    Examples
    --------
    >>> import numpy as np
    >>> FermiDiracEntropy().prox(np.array([0.5, -1e300, 1e300]), gamma=1.0)
    array([0.5, 0. , 1. ])
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive_numbers(self.weight, "weight"))

    @summed
    def value(self, x: Array) -> Array:
        """Return the sum of both entropies, infinite outside of [0, 1]."""
        both = x_log_x(x) + x_log_x(1 - x)
        return namespace(x).where((x >= 0) & (x <= 1), like(self.weight, x, "weight") * both, inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the root, found in the half of [0, 1] where it is."""
        scale = full(t * like(self.weight, x, "weight"), x)
        return fermi_dirac_root(x, scale)

    @summed
    @np.errstate(over="ignore")  # infinity is right
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i weight_i log(1 + exp(u_i / weight_i))."""
        weight = like(self.weight, u, "weight")
        return weight * namespace(u).logaddexp(u / weight, namespace(u).zeros_like(u))

    def domain(self) -> Box:
        """Return [0, 1]."""
        return Box(0.0, 1.0).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["FermiDiracEntropy", Shape]]:
        return [(cls(), (5,)), (cls(np.array([0.3, 1.0, 4.0])), (2, 3))]


@np.errstate(all="ignore")
def fermi_dirac_root(x: Array, t: Array) -> Array:
    """Return p in [0, 1] with p + t log(p / (1 - p)) = x."""
    xp = namespace(x)
    nearer = xp.minimum(x, 1 - x)  # the equation is symmetric; then p <= 1/2

    # concave in p <= 1/2, where -log(1 - p) <= log 2 gives a lower bound
    def F(p: Array) -> tuple[Array, Array]:
        return p + t * (xp.log(p) - xp.log1p(-p)) - nearer, 1 + t / (p * (1 - p))

    start = xp.clip(entropy_root(nearer - t * log(2.0), t), tiny(x), 0.5)
    p = increasing_root(F, start, full(0.5, x), start, STEPS)
    p = xp.where(start > tiny(x), p, 0.0)
    return xp.where(x <= 0.5, p, 1 - p)
