"""The rank of a matrix, and its best convex bound from below next to a square."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, namespace, positive_part
from trisplit.terms.base import ConvexFunction, NonconvexFunction
from trisplit.terms.checks import nonnegative_weight, whole
from trisplit.terms.matrix.spectra import SingularValues, of_spectrum, on_spectrum, small

__all__ = ["Rank", "RankEnvelope", "RankRidge"]


@dataclass(frozen=True)
class Rank(SingularValues, NonconvexFunction):
    """The rank, weight * (number of singular values that are not zero), which is not convex.

    prox(X, gamma) keeps the singular values above sqrt(2 gamma weight). Singular values that rounding may have left
    count as zero.

    Parameters
    ----------
    weight : float
        Nonnegative.

    References
    ----------
    Hiriart-Urruty, Le (2013), From Eckart and Young approximation to Moreau envelopes and vice versa.

    Examples
    --------
    >>> import numpy as np
    >>> Rank(1.0).prox(np.diag([3.0, 0.5]), gamma=1.0)
    array([[3., 0.],
           [0., 0.]])
    """

    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    @of_spectrum
    def value(self, s: Array) -> Array:
        """Return weight times the number of singular values above rounding."""
        return self.weight * _count(s)

    @on_spectrum
    def prox(self, s: Array, t: float) -> Array:
        """Return `x` without its small singular values."""
        xp = namespace(s)
        return xp.where(s > (2.0 * t * self.weight) ** 0.5, s, xp.zeros_like(s))

    @classmethod
    def examples(cls) -> list[tuple["Rank", Shape]]:
        return [(cls(0.6), (3, 4)), (cls(2.0), (3, 2))]


@dataclass(frozen=True)
class RankRidge(SingularValues, NonconvexFunction):
    """The rank and a squared norm, weight * rank(X) + (ridge / 2) ||X||_F^2, which is not convex.

    prox(X, gamma) divides the singular values above sqrt(2 gamma weight (1 + gamma ridge)) by 1 + gamma ridge and
    drops the others.

    Parameters
    ----------
    weight : float
        Of the rank, nonnegative.
    ridge : float
        Of the squared Frobenius norm, nonnegative.

    References
    ----------
    Benfenati, Chouzenoux, Pesquet (2020), Proximal approaches for matrix optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> RankRidge(1.0, 1.0).prox(np.diag([3.0, 1.5]), gamma=1.0)
    array([[1.5, 0. ],
           [0. , 0. ]])
    """

    weight: float = 1.0
    ridge: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "ridge", nonnegative_weight(self.ridge, "ridge"))

    @of_spectrum
    def value(self, s: Array) -> Array:
        """Return weight times the number of singular values above rounding plus half of ridge times their squares."""
        return self.weight * _count(s) + 0.5 * self.ridge * namespace(s).sum(s**2, axis=-1)

    @on_spectrum
    def prox(self, s: Array, t: float) -> Array:
        """Return `x` without its small singular values, the others divided."""
        xp, scale = namespace(s), 1.0 + t * self.ridge
        return xp.where(s > (2.0 * t * self.weight * scale) ** 0.5, s / scale, xp.zeros_like(s))

    @classmethod
    def examples(cls) -> list[tuple["RankRidge", Shape]]:
        return [(cls(0.6, 0.5), (3, 4)), (cls(1.0, 2.0), (3, 2))]


@dataclass(frozen=True)
class RankEnvelope(SingularValues, ConvexFunction):
    """The largest convex function below (1/2) ||X||_F^2 on the matrices X of rank at most `rank`.

    It is half the square of the k-support norm of the singular values, k = rank. prox(X, gamma) = U diag(r) V' with
    r = s - max(s gamma / (1 + gamma), min(s, c)), where c is such that sum_i clip(gamma (s_i / c - 1), 0, 1) = rank.
    The square of the distance from a matrix M in place of that from 0 is a matter of the argument: prox at
    X + gamma M.

    Parameters
    ----------
    rank : int
        At least 1.

    References
    ----------
    Larsson, Olsson (2016), Convex low rank approximation; Argyriou, Foygel, Srebro (2012), Sparse prediction with the
    k-support norm.

    Examples
    --------
    >>> import numpy as np
    >>> RankEnvelope(1).prox(np.diag([4.0, 1.0]), gamma=1.0)
    array([[2., 0.],
           [0., 0.]])
    """

    rank: int = 1
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", whole(self.rank, "rank"))

    @of_spectrum
    def value(self, s: Array) -> Array:
        """Return half the squared k-support norm of the singular values."""
        xp, r = namespace(s), min(self.rank, s.shape[-1])
        ahead = xp.cumulative_sum(s**2, axis=-1)
        behind = xp.flip(xp.cumulative_sum(xp.flip(s, axis=-1), axis=-1), axis=-1)
        # The j largest count on their own, all others as r - j equal ones; j is the largest that fits.
        chosen = behind[..., 0] ** 2 / r
        for j in range(1, r):
            fits = s[..., j - 1] * (r - j) >= behind[..., j]
            chosen = xp.where(fits, ahead[..., j - 1] + behind[..., j] ** 2 / (r - j), chosen)
        return 0.5 * chosen

    @on_spectrum
    def prox(self, s: Array, t: float) -> Array:
        """Return `x` with its singular values lowered, the smaller ones to zero."""
        xp, r = namespace(s), self.rank
        if s.shape[-1] <= r:
            return s / (1.0 + t)
        low = s * (t / (1.0 + t))
        knots = xp.concat([s, low], axis=-1)
        safe = xp.where(knots > 0, knots, xp.ones_like(knots))
        with np.errstate(over="ignore"):
            steps = t + xp.zeros_like(knots)
            shares = steps[..., :, None] * (s[..., None, :] - knots[..., :, None]) / safe[..., :, None]
        counts = xp.sum(xp.clip(shares, 0.0, 1.0), axis=-1)
        # The last knot at which there are enough shares: c lies between it and the next.
        last = xp.max(xp.where((counts >= r) & (knots > 0), knots, xp.zeros_like(knots)), axis=-1, keepdims=True)
        moving = xp.astype((low <= last) & (s > last), s.dtype)
        whole_ones = xp.sum(xp.astype(low > last, s.dtype), axis=-1, keepdims=True)
        below = (r - whole_ones) / t + xp.sum(moving, axis=-1, keepdims=True)
        c = xp.sum(moving * s, axis=-1, keepdims=True) / xp.where(below > 0, below, xp.ones_like(below))
        c = xp.where(last > 0, xp.maximum(c, last), last)
        return xp.minimum(s / (1.0 + t), positive_part(s - c))

    @of_spectrum
    def conjugate_value(self, s: Array) -> Array:
        """Return half the sum of squares of the largest singular values."""
        return 0.5 * namespace(s).sum(s[..., : min(self.rank, s.shape[-1])] ** 2, axis=-1)

    @classmethod
    def examples(cls) -> list[tuple["RankEnvelope", Shape]]:
        return [(cls(2), (4, 3)), (cls(1), (3, 2))]


def _count(s: Array) -> Array:
    xp = namespace(s)
    return xp.sum(xp.astype(s > small(s), s.dtype), axis=-1)
