"""Divergences from data and negative log-likelihoods, entry by entry; the joint ones are in `joint_divergences`."""

from dataclasses import dataclass
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.barriers.entropies import x_log_x
from trisplit.terms.barriers.equations import barrier_root, entropy_root, full, positive_numbers, safe_log, tiny
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Entries, mapped, nan_kept, summed
from trisplit.terms.checks import like, nonnegative
from trisplit.terms.roots import increasing_root
from trisplit.terms.sets.box import Box

__all__ = ["Burg", "CrossEntropy", "KullbackLeibler", "Poisson"]


class FromData(Entries, ConvexFunction):
    """A function of each entry and of the number in `target` that belongs to it, for nonnegative entries."""

    target: float | Array
    weight: float | Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", nonnegative(self.target, "target"))
        object.__setattr__(self, "weight", positive_numbers(self.weight, "weight"))

    def scaled_data(self, x: Array, gamma: float | Array = 1.0) -> tuple[Array, Array]:
        """Return target and gamma weight in the shape of `x`."""
        weight = like(self.weight, x, "weight")
        return full(like(self.target, x, "target"), x), full(gamma * weight, x)

    def domain(self) -> Box:
        """Return {x : x >= 0}."""
        return Box(0.0, inf).batched(self.batch_ndim)


def times_log(y: Array, x: Array) -> Array:
    """Return y log x with 0 log 0 = 0, and minus infinity where x = 0 < y."""
    xp = namespace(x)
    return xp.where(y > 0, xp.where(x > 0, y * safe_log(x), -inf), 0.0)


@dataclass(frozen=True, eq=False)
class KullbackLeibler(FromData):
    """The divergence of Kullback and Leibler from data y, sum_i weight_i (x_i log(x_i / y_i) - x_i + y_i) for x >= 0.

    prox(x, gamma) = t W((y / t) exp(x / t)), with t = gamma weight and Lambert's function W; 0 where y = 0.

    Parameters
    ----------
    target : float or array
        The data y, nonnegative; an array must broadcast to the shape of x.
    weight : float or array
        Positive.

    References
    ----------
    El Gheche, Chierchia and Pesquet (2018), Proximity operators of discrete information divergences.

    Examples
    --------
    >>> import numpy as np
    >>> KullbackLeibler(np.array([1.0, 0.0])).prox(np.array([1.0, 5.0]), gamma=1.0)
    array([1., 0.])
    """

    target: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("target", "weight")

    @summed
    def value(self, x: Array) -> Array:
        """Return the divergence, infinite unless x >= 0, and x = 0 where y = 0."""
        xp, (y, weight) = namespace(x), self.scaled_data(x)
        inside = (x >= 0) & ((y > 0) | (x == 0))
        return xp.where(inside, weight * (x_log_x(x) - times_log(xp.where(inside, x, 0.0), y) - x + y), inf)

    @mapped
    def prox(self, x: Array, t: float) -> Array:
        """Return the root of p + t log p = x + t log y, with t = gamma weight."""
        xp, (y, scale) = namespace(x), self.scaled_data(x, t)
        present = y > 0
        return xp.where(present, entropy_root(x + scale * xp.log(xp.where(present, y, 1.0)), scale), 0.0)

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i weight_i y_i (exp(u_i / weight_i) - 1)."""
        xp, (y, weight) = namespace(u), self.scaled_data(u)
        with np.errstate(over="ignore"):  # infinity is right, but not where y is zero
            return weight * y * xp.expm1(xp.where(y > 0, u, 0.0) / weight)

    def domain(self) -> Box:
        """Return {x >= 0 : x_i = 0 where y_i = 0}."""
        return Box(0.0, np.where(np.asarray(self.target) > 0, inf, 0.0)).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["KullbackLeibler", Shape]]:
        return [(cls(2.0), (5,)), (cls(np.array([0.5, 0.0, 3.0]), 0.7), (2, 3))]


@dataclass(frozen=True, eq=False)
class Burg(FromData):
    """The divergence of Itakura and Saito from data y, sum_i weight_i (x_i / y_i - log(x_i / y_i) - 1) for x > 0.

    prox(x, gamma) is the root p > 0 of p - t / p = x - t / y, with t = gamma weight.

    Parameters
    ----------
    target : float or array
        The data y, positive; an array must broadcast to the shape of x.
    weight : float or array
        Positive.

    References
    ----------
    Chaux, Combettes, Pesquet and Wajs (2007), A variational formulation for frame-based inverse problems.

    Examples
    --------
    >>> import numpy as np
    >>> Burg(1.0).prox(np.array([1.0, 2.5]), gamma=1.0)
    array([1., 2.])
    """

    target: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("target", "weight")

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_numbers(self.target, "target")

    @summed
    def value(self, x: Array) -> Array:
        """Return the divergence, infinite unless x > 0."""
        y, weight = self.scaled_data(x)
        return namespace(x).where(x > 0, weight * (x / y - 1 - (safe_log(x) - safe_log(y))), inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the proximal point of the logarithmic barrier at x - t / y."""
        y, scale = self.scaled_data(x, t)
        return barrier_root(x - scale / y, scale)

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return -sum_i weight_i log(1 - u_i y_i / weight_i), infinite unless u < weight / y."""
        y, weight = self.scaled_data(u)
        rest = 1 - u * y / weight
        return namespace(u).where(rest > 0, -weight * safe_log(rest), inf)

    @classmethod
    def examples(cls) -> list[tuple["Burg", Shape]]:
        return [(cls(2.0), (5,)), (cls(np.array([0.5, 1.0, 3.0]), 0.7), (2, 3))]


@dataclass(frozen=True, eq=False)
class Poisson(FromData):
    """The negative log-likelihood of Poisson counts y, sum_i weight_i (x_i - y_i log x_i) for x >= 0.

    prox(x, gamma) = (z + sqrt(z^2 + 4 t y)) / 2 with z = x - t and t = gamma weight.

    Parameters
    ----------
    target : float or array
        The counts y, nonnegative; an array must broadcast to the shape of x.
    weight : float or array
        Positive.

    References
    ----------
    Combettes and Pesquet (2007), A Douglas-Rachford splitting approach to nonsmooth convex variational signal recovery.

    Examples
    --------
    >>> import numpy as np
    >>> Poisson(np.array([2.0, 0.0])).prox(np.array([2.0, 0.5]), gamma=1.0)
    array([2., 0.])
    """

    target: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("target", "weight")

    @summed
    def value(self, x: Array) -> Array:
        """Return sum_i weight_i (x_i - y_i log x_i), with 0 log 0 = 0."""
        y, weight = self.scaled_data(x)
        return namespace(x).where(x >= 0, weight * (x - times_log(y, x)), inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the root of p - t y / p = x - t."""
        y, scale = self.scaled_data(x, t)
        return barrier_root(x - scale, scale * y)

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i weight_i y_i (log(y_i / (1 - v_i)) - 1) with v = u / weight, infinite unless v < 1."""
        xp, (y, weight) = namespace(u), self.scaled_data(u)
        rest = 1 - u / weight
        inside = xp.where(y > 0, rest > 0, rest >= -100 * eps(u) * (1 + xp.abs(u / weight)))
        return xp.where(inside, weight * (x_log_x(y) - y * (safe_log(rest) + 1)), inf)

    @classmethod
    def examples(cls) -> list[tuple["Poisson", Shape]]:
        return [(cls(2.0), (5,)), (cls(np.array([0.5, 0.0, 3.0]), 0.7), (2, 3))]


@dataclass(frozen=True, eq=False)
class CrossEntropy(FromData):
    """The binary cross-entropy of labels y, -sum_i weight_i (y_i log x_i + (1 - y_i) log(1 - x_i)) for 0 <= x <= 1.

    prox(x, gamma) is the root p of p - t y / p + t (1 - y) / (1 - p) = x, with t = gamma weight; or an end of [0, 1] if
    y is that end and there is no root.

    Parameters
    ----------
    target : float or array
        The labels y, in [0, 1]; an array must broadcast to the shape of x.
    weight : float or array
        Positive.

    References
    ----------
    Chouzenoux, Corbineau and Pesquet (2020), A proximal interior point algorithm with applications to image processing.

    Examples
    --------
    >>> import numpy as np
    >>> CrossEntropy(np.array([0.5, 1.0])).prox(np.array([0.5, -1.5]), gamma=1.0)
    array([0.5, 0.5])
    """

    target: float | Array = 0.5
    weight: float | Array = 1.0
    broadcast = ("target", "weight")

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.any(np.asarray(self.target) > 1):
            raise InputError(f"`target` must be in [0, 1], got {np.max(self.target)}; scale the labels")

    @summed
    def value(self, x: Array) -> Array:
        """Return the cross-entropy with 0 log 0 = 0, infinite outside of [0, 1]."""
        xp, (y, weight) = namespace(x), self.scaled_data(x)
        inside = (x >= 0) & (x <= 1)
        kept = xp.where(inside, x, 0.5)
        return xp.where(inside, -weight * (times_log(y, kept) + times_log(1 - y, 1 - kept)), inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the root, found from that end of [0, 1] next to which the equation is concave."""
        xp, (y, scale) = namespace(x), self.scaled_data(x, t)
        near = _at_the_bend(x, y, scale) >= 0
        p = _from_the_left(xp.where(near, x, 1 - x), xp.where(near, y, 1 - y), scale)
        p = xp.where(near, p, 1 - p)
        # what rounds to an end that the label is not would have an infinite value
        least, most = xp.where(y > 0, tiny(x), 0.0 * y), xp.where(y < 1, 1 - eps(x), 1.0 + 0.0 * y)
        return xp.clip(p, least, most)

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i u_i z_i less the cross-entropy, at the root z of v z^2 + (1 - v) z = y with v = u / weight."""
        xp, (y, weight) = namespace(u), self.scaled_data(u)
        v, label = xp.abs(u / weight), xp.where(u > 0, 1 - y, y)  # z for u < 0, 1 - z else
        z = 2 * label / (1 + v + xp.sqrt(xp.clip((1 - v) ** 2 + 4 * v * (1 - label), 0.0, None)))
        each = times_log(label, z) + times_log(1 - label, 1 - z) - v * z
        return xp.where(u > 0, u, 0.0) + weight * each

    def domain(self) -> Box:
        """Return [0, 1]."""
        return Box(0.0, 1.0).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["CrossEntropy", Shape]]:
        return [(cls(0.3), (5,)), (cls(np.array([1.0, 0.0, 0.9]), 0.7), (2, 3))]


def _at_the_bend(x: Array, y: Array, t: Array) -> Array:
    """Return p - t y / p + t (1 - y) / (1 - p) - x where it turns from concave to convex."""
    one, other = _cube_root(y), _cube_root(1 - y)
    return one / (one + other) - x + t * (one + other) * (other**2 - one**2)


def _cube_root(y: Array) -> Array:
    xp = namespace(y)
    return xp.where(y > 0, xp.where(y > 0, y, 1.0) ** (1 / 3), 0.0)


@np.errstate(all="ignore")
def _from_the_left(x: Array, y: Array, t: Array) -> Array:
    """Return the root between 0 and the bend, from below: t (1 - y) / (1 - p) is largest at the bend."""
    xp = namespace(x)
    one, other = _cube_root(y), _cube_root(1 - y)
    most = xp.clip(one / (one + other), tiny(x), None)
    start = xp.clip(barrier_root(x - t * other**2 * (one + other), t * y), tiny(x), None)
    start = xp.minimum(start, most)

    def F(p: Array) -> tuple[Array, Array]:
        rest = xp.clip(1 - p, tiny(x), None)
        label = xp.where(y < 1, (1 - y) / rest, 0.0)
        return p - x - t * y / p + t * label, 1 + t * y / p / p + t * label / rest

    return xp.where(y > 0, increasing_root(F, start, most, start, 20), 0.0)
