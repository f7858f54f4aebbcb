"""Convex functions of a matrix: its largest singular values or eigenvalue, its trace, its nuclear norm and square."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, device, eps, namespace, positive_part
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm, ConvexFunction
from trisplit.terms.blocks import SquareMatrices, mapped, summed
from trisplit.terms.checks import nonnegative_weight, parameter, positive, whole
from trisplit.terms.matrix.nuclear import NuclearNorm
from trisplit.terms.matrix.spectra import (
    Eigenvalues,
    SingularValues,
    cut_tops,
    infinite_where,
    of_spectrum,
    on_spectrum,
    symmetric_part,
)

__all__ = ["KyFan", "LargestEigenvalue", "NuclearNormRidge", "SpectralNorm", "Trace"]


@dataclass(frozen=True)
class SpectralNorm(SingularValues, ConvexFunction):
    """The spectral norm, weight * (largest singular value of the matrix X).

    prox(X, gamma) = U diag(min(s, theta)) V' with theta >= 0 such that sum_i max(s_i - theta, 0) = gamma weight.

    Parameters
    ----------
    weight : float
        Nonnegative.

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 6.7.

    Examples
    --------
    >>> import numpy as np
    >>> SpectralNorm(1.0).prox(np.diag([3.0, 0.5]), gamma=1.0)
    array([[2. , 0. ],
           [0. , 0.5]])
    """

    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    @of_spectrum
    def value(self, s: Array) -> Array:
        """Return weight times the largest singular value."""
        return self.weight * s[..., 0]

    @on_spectrum
    def prox(self, s: Array, t: float) -> Array:
        """Return `x` with its largest singular values cut, by gamma * weight in all."""
        top, shift = cut_tops(s, t * self.weight)
        return namespace(s).minimum(s, positive_part(top + shift))

    def lipschitz(self, shape: Shape) -> float:
        """Return weight: the spectral norm is at most the Frobenius norm."""
        self.sides(shape)
        return self.weight

    def conjugate(self) -> BaseTerm:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the indicator of the ball of the nuclear norm of radius weight."""
        from trisplit.terms.matrix.balls import NuclearBall
        from trisplit.terms.sets.box import Box

        dual = NuclearBall(self.weight) if self.weight > 0 else Box(0.0, 0.0)
        return dual.batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["SpectralNorm", Shape]]:
        return [(cls(0.6), (3, 4)), (cls(2.0), (3, 2))]


@dataclass(frozen=True)
class LargestEigenvalue(Eigenvalues, ConvexFunction):
    """The largest eigenvalue of the symmetric part, weight * lambda_max((X + X') / 2).

    prox(X, gamma) = V diag(min(w, theta)) V' + (X - X') / 2 for the symmetric part V diag(w) V', with theta such that
    sum_i max(w_i - theta, 0) = gamma weight. A symmetric X stays symmetric.

    Parameters
    ----------
    weight : float
        Nonnegative.

    References
    ----------
    Overton (1992), Large-scale optimization of eigenvalues.

    Examples
    --------
    >>> import numpy as np
    >>> LargestEigenvalue(1.0).prox(np.diag([3.0, -5.0]), gamma=1.0)
    array([[ 2.,  0.],
           [ 0., -5.]])
    """

    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    @of_spectrum
    def value(self, w: Array) -> Array:
        """Return weight times the largest eigenvalue of the symmetric part."""
        return self.weight * w[..., -1]

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with the largest eigenvalues of its symmetric part cut, by gamma * weight in all."""
        return self._symmetric_prox(x, gamma) + (x - symmetric_part(x))

    @on_spectrum
    def _symmetric_prox(self, w: Array, t: float) -> Array:
        xp = namespace(w)
        top, shift = cut_tops(xp.flip(w, axis=-1), t * self.weight)
        return xp.minimum(w, top + shift)

    def lipschitz(self, shape: Shape) -> float:
        """Return weight."""
        self.sides(shape)
        return self.weight

    def conjugate(self) -> BaseTerm:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the indicator of the positive semidefinite matrices of trace weight."""
        from trisplit.terms.matrix.semidefinite import Spectraplex
        from trisplit.terms.sets.box import Box

        dual = Spectraplex(self.weight) if self.weight > 0 else Box(0.0, 0.0)
        return dual.batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["LargestEigenvalue", Shape]]:
        return [(cls(0.6), (4, 4)), (cls(2.0), (2, 2))]


@dataclass(frozen=True)
class Trace(SquareMatrices, ConvexFunction):
    """The trace, weight * (sum of the diagonal of the square matrix X), a linear function.

    prox(X, gamma) = X - gamma weight I. On positive semidefinite matrices it is the nuclear norm.

    Parameters
    ----------
    weight : float
        Of any sign.

    References
    ----------
    Fazel, Hindi, Boyd (2001), A rank minimization heuristic with application to minimum order system approximation.

    Examples
    --------
    >>> import numpy as np
    >>> Trace(1.0).prox(np.diag([3.0, 0.5]), gamma=1.0)
    array([[ 2. ,  0. ],
           [ 0. , -0.5]])
    """

    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        weight = parameter(self.weight, "weight")
        if isinstance(weight, np.ndarray):
            raise InputError(f"`weight` must be one number, got an array of shape {weight.shape}; pass a float")
        object.__setattr__(self, "weight", weight)

    @summed
    def value(self, x: Array) -> Array:
        """Return weight times the sum of the diagonal."""
        return self.weight * namespace(x).linalg.trace(x)

    @mapped
    def prox(self, x: Array, t: float) -> Array:
        """Return `x` with gamma * weight subtracted from its diagonal."""
        return x - t * self.weight * namespace(x).eye(x.shape[-1], dtype=x.dtype, device=device(x))

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return 0 at weight * I up to rounding, else infinity."""
        xp = namespace(u)
        away = xp.abs(u - self.weight * xp.eye(u.shape[-1], dtype=u.dtype, device=device(u)))
        far = xp.max(away, axis=(-2, -1)) > 100 * eps(u) * (abs(self.weight) + xp.max(xp.abs(u), axis=(-2, -1)))
        return infinite_where(far, xp.zeros_like(u[..., 0, 0]))

    def lipschitz(self, shape: Shape) -> float:
        """Return |weight| sqrt(n)."""
        return abs(self.weight) * self.sides(shape)[0] ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["Trace", Shape]]:
        return [(cls(0.6), (3, 3)), (cls(-2.0), (2, 2))]


@dataclass(frozen=True)
class KyFan(SingularValues, ConvexFunction):
    """The Ky Fan norm, weight * (sum of the k largest singular values of the matrix X).

    prox(X, gamma) = U diag(s - min(max(s - theta, 0), c)) V' with c = gamma weight and the smallest theta >= 0 for
    which what is subtracted adds up to at most k c.

    Parameters
    ----------
    k : int
        How many; the spectral norm has one, the nuclear norm all.
    weight : float
        Nonnegative.

    References
    ----------
    Wu, Ding, Sun, Toh (2014), On the Moreau-Yosida regularization of the vector k-norm related functions.

    Examples
    --------
    >>> import numpy as np
    >>> KyFan(2).prox(np.diag([3.0, 2.0, 0.5]), gamma=1.0)
    array([[2. , 0. , 0. ],
           [0. , 1. , 0. ],
           [0. , 0. , 0.5]])
    """

    k: int = 2
    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, "k"))
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    @of_spectrum
    def value(self, s: Array) -> Array:
        """Return weight times the sum of the k largest singular values."""
        return self.weight * namespace(s).sum(s[..., : min(self.k, s.shape[-1])], axis=-1)

    @on_spectrum
    def prox(self, s: Array, t: float) -> Array:
        """Return `x` with its largest singular values lowered."""
        c = t * self.weight + namespace(s).zeros_like(s)
        return s - _onto_capped(s, c, self.k)

    @of_spectrum
    def conjugate_value(self, s: Array) -> Array:
        """Return 0 where the singular values are at most weight and add up to at most k weight, else infinity."""
        xp = namespace(s)
        slack = 1.0 + 100 * eps(s)
        far = s[..., 0] > slack * self.weight
        return infinite_where(far | (xp.sum(s, axis=-1) > slack * self.k * self.weight), xp.zeros_like(s[..., 0]))

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(k), with no more than the rank for k."""
        return self.weight * min(self.k, *self.sides(shape)) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["KyFan", Shape]]:
        return [(cls(2, 0.6), (3, 4)), (cls(1, 1.5), (3, 2)), (cls(3, 0.5), (4, 2))]


def _onto_capped(s: Array, c: Array, k: int) -> Array:
    """Return the nearest p with 0 <= p <= c and sum p <= k c, for s >= 0: p = clip(s - theta, 0, c).

    The sum falls with theta, in straight lines between the numbers s_i and s_i - c.
    """
    xp = namespace(s)
    cap = c[..., :1]
    knots = positive_part(xp.concat([s, s - c, xp.zeros_like(cap)], axis=-1))
    over = positive_part(s[..., None, :] - knots[..., :, None])
    sums = xp.sum(xp.minimum(over, cap[..., None]), axis=-1)
    # The last knot at which the sum is still too large: theta lies between it and the next.
    last = xp.max(xp.where(sums > k * cap, knots, -xp.ones_like(knots)), axis=-1, keepdims=True)
    moving = xp.astype((s > last) & (s - c <= last), s.dtype)
    capped = xp.astype(s - c > last, s.dtype)
    count = xp.sum(moving, axis=-1, keepdims=True)
    above = xp.sum(moving * s, axis=-1, keepdims=True) + (xp.sum(capped, axis=-1, keepdims=True) - k) * cap
    theta = above / xp.where(count > 0, count, xp.ones_like(count))
    theta = xp.where(last < 0, xp.zeros_like(theta), xp.where(count > 0, theta, last))
    return xp.minimum(positive_part(s - theta), c)


@dataclass(frozen=True)
class NuclearNormRidge(SingularValues, ConvexFunction):
    """The elastic net of the singular values, weight * (their sum) + (ridge / 2) ||X||_F^2.

    prox(X, gamma) = U diag(max(s - gamma weight, 0)) V' / (1 + gamma ridge).

    Parameters
    ----------
    weight : float
        Of the nuclear norm, nonnegative.
    ridge : float
        Of the squared Frobenius norm, positive.

    References
    ----------
    Cai, Candes, Shen (2010), A singular value thresholding algorithm for matrix completion.

    Examples
    --------
    >>> import numpy as np
    >>> NuclearNormRidge(1.0, 1.0).prox(np.diag([3.0, 0.5]), gamma=1.0)
    array([[1., 0.],
           [0., 0.]])
    """

    weight: float = 1.0
    ridge: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "ridge", positive(self.ridge, "ridge"))

    @of_spectrum
    def value(self, s: Array) -> Array:
        """Return weight sum_i s_i + (ridge / 2) sum_i s_i^2."""
        return namespace(s).sum((self.weight + 0.5 * self.ridge * s) * s, axis=-1)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with its singular values lowered and divided."""
        x = self.blocks(x)
        lowered = NuclearNorm(self.weight).batched(self.batch_ndim).prox(x, gamma)
        return lowered / (1.0 + self.step(gamma, x) * self.ridge)

    @of_spectrum
    def conjugate_value(self, s: Array) -> Array:
        """Return the sum of max(s_i - weight, 0)^2 / (2 ridge)."""
        return namespace(s).sum(positive_part(s - self.weight) ** 2, axis=-1) / (2 * self.ridge)

    @classmethod
    def examples(cls) -> list[tuple["NuclearNormRidge", Shape]]:
        return [(cls(0.6, 0.5), (3, 4)), (cls(1.2, 2.0), (4, 2))]
