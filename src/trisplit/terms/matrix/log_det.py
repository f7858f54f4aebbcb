"""Barriers of the positive definite matrices: -log det, alone and with a penalty.

All are infinite at matrices that are not symmetric. An eigenvalue that is positive only up to rounding counts as one
unit of rounding: a proximal point whose small eigenvalues were lost in its large entries has a finite value.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, namespace, positive_part
from trisplit.errors import InputError
from trisplit.terms.base import ConvexFunction
from trisplit.terms.checks import nonnegative_weight, positive
from trisplit.terms.matrix.semidefinite import PSD
from trisplit.terms.matrix.spectra import (
    Eigenvalues,
    infinite_where,
    of_spectrum,
    on_spectrum,
    small,
    value_of_spectrum,
)
from trisplit.terms.roots import increasing_root

__all__ = ["LogDet", "LogDetFrobenius", "LogDetInverse", "LogDetNuclear", "LogDetSchatten"]


class Barrier(Eigenvalues, ConvexFunction):
    """A function of the positive definite matrices."""

    def domain(self) -> PSD:
        """Return the positive semidefinite matrices."""
        return PSD().batched(self.batch_ndim)


@dataclass(frozen=True)
class LogDet(Barrier):
    """The barrier -weight * log det X of the symmetric positive definite matrices.

    prox(X, gamma) = V diag((w + sqrt(w^2 + 4 gamma weight)) / 2) V' for the symmetric part V diag(w) V' of X.

    Parameters
    ----------
    weight : float
        Positive.

    References
    ----------
    Banerjee, El Ghaoui, d'Aspremont (2008), Model selection through sparse maximum likelihood estimation.

    Examples
    --------
    >>> import numpy as np
    >>> LogDet(1.0).prox(np.diag([1.5, 0.0]), gamma=1.0)
    array([[2., 0.],
           [0., 1.]])
    """

    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive(self.weight, "weight"))

    @value_of_spectrum
    def value(self, w: Array) -> Array:
        """Return -weight log det of a positive definite matrix, infinity at others."""
        return self.weight * _minus_logs(w)

    @on_spectrum
    def prox(self, w: Array, t: float) -> Array:
        """Return the positive definite matrix with moved eigenvalues."""
        return _log_root(w, t * self.weight)

    @of_spectrum
    def conjugate_value(self, w: Array) -> Array:
        """Return weight sum_i (-1 - log(-w_i / weight)), infinity unless all eigenvalues are negative."""
        return self.weight * (_minus_logs(-w / self.weight) - w.shape[-1])

    @classmethod
    def examples(cls) -> list[tuple["LogDet", Shape]]:
        return [(cls(0.6), (4, 4)), (cls(2.0), (2, 2))]


@dataclass(frozen=True)
class LogDetNuclear(Barrier):
    """The barrier -weight * log det X and the nuclear norm, -weight * log det X + mu trace X.

    prox(X, gamma) is that of -weight * log det at X - gamma mu I.

    Parameters
    ----------
    mu : float
        Of the nuclear norm, nonnegative.
    weight : float
        Of -log det, positive.

    References
    ----------
    Benfenati, Chouzenoux, Pesquet (2020), Proximal approaches for matrix optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> LogDetNuclear(1.0).prox(np.diag([2.5, 1.0]), gamma=1.0)
    array([[2., 0.],
           [0., 1.]])
    """

    mu: float = 1.0
    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", nonnegative_weight(self.mu, "mu"))
        object.__setattr__(self, "weight", positive(self.weight, "weight"))

    @value_of_spectrum
    def value(self, w: Array) -> Array:
        """Return the value at a positive definite matrix, infinity at others."""
        return self.weight * _minus_logs(w) + self.mu * namespace(w).sum(w, axis=-1)

    @on_spectrum
    def prox(self, w: Array, t: float) -> Array:
        """Return the positive definite matrix with moved eigenvalues."""
        return _log_root(w - t * self.mu, t * self.weight)

    @of_spectrum
    def conjugate_value(self, w: Array) -> Array:
        """Return the conjugate of -weight log det at u - mu I."""
        return self.weight * (_minus_logs((self.mu - w) / self.weight) - w.shape[-1])

    @classmethod
    def examples(cls) -> list[tuple["LogDetNuclear", Shape]]:
        return [(cls(0.6), (4, 4)), (cls(2.0, 0.5), (2, 2))]


@dataclass(frozen=True)
class LogDetFrobenius(Barrier):
    """The barrier and a squared norm, -weight * log det X + (mu / 2) ||X||_F^2.

    prox(X, gamma) is that of -weight * log det at X / (1 + gamma mu) with the step gamma / (1 + gamma mu).

    Parameters
    ----------
    mu : float
        Of half the squared Frobenius norm, positive.
    weight : float
        Of -log det, positive.

    References
    ----------
    Benfenati, Chouzenoux, Pesquet (2020), Proximal approaches for matrix optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> LogDetFrobenius(1.0).prox(np.diag([1.0, 3.5]), gamma=1.0)
    array([[1., 0.],
           [0., 2.]])
    """

    mu: float = 1.0
    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive(self.mu, "mu"))
        object.__setattr__(self, "weight", positive(self.weight, "weight"))

    @value_of_spectrum
    def value(self, w: Array) -> Array:
        """Return the value at a positive definite matrix, infinity at others."""
        return self.weight * _minus_logs(w) + 0.5 * self.mu * namespace(w).sum(w**2, axis=-1)

    @on_spectrum
    def prox(self, w: Array, t: float) -> Array:
        """Return the positive definite matrix with moved eigenvalues."""
        scale = 1.0 + t * self.mu
        return _log_root(w / scale, t * self.weight / scale)

    @of_spectrum
    def conjugate_value(self, w: Array) -> Array:
        """Return the sum of r (w - mu r / 2) + weight log r at the best r for each eigenvalue."""
        xp = namespace(w)
        r = _log_root(w / self.mu, self.weight / self.mu)
        return xp.sum(r * (w - 0.5 * self.mu * r) + self.weight * xp.log(r), axis=-1)

    @classmethod
    def examples(cls) -> list[tuple["LogDetFrobenius", Shape]]:
        return [(cls(0.6), (4, 4)), (cls(2.0, 0.5), (2, 2))]


@dataclass(frozen=True)
class LogDetSchatten(Barrier):
    """The barrier and a power of the Schatten norm, -weight * log det X + mu sum_i w_i^p over the eigenvalues w.

    prox(X, gamma) = V diag(r) V' with r - gamma weight / r + gamma mu p r^(p - 1) = w for the symmetric part
    V diag(w) V' of X.

    Parameters
    ----------
    p : float
        At least 1: the function is not convex for smaller ones.
    mu : float
        Of the p-th power, nonnegative.
    weight : float
        Of -log det, positive.

    References
    ----------
    Benfenati, Chouzenoux, Pesquet (2020), Proximal approaches for matrix optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> LogDetSchatten(p=3.0).prox(np.diag([3.0, 13.5]), gamma=1.0)
    array([[1., 0.],
           [0., 2.]])
    """

    p: float = 3.0
    mu: float = 1.0
    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        p = positive(self.p, "p")
        if p < 1.0:
            raise InputError(f"`p` must be at least 1, got {p}; the function is not convex for powers below")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "mu", nonnegative_weight(self.mu, "mu"))
        object.__setattr__(self, "weight", positive(self.weight, "weight"))

    @value_of_spectrum
    def value(self, w: Array) -> Array:
        """Return the value at a positive definite matrix, infinity at others."""
        return self.weight * _minus_logs(w) + self.mu * namespace(w).sum(positive_part(w) ** self.p, axis=-1)

    @on_spectrum
    def prox(self, w: Array, t: float) -> Array:
        """Return the positive definite matrix with moved eigenvalues."""
        xp, p, scale = namespace(w), self.p, 1.0 + 2.0 * t * self.mu
        if p == 2.0:
            return _log_root(w / scale, t * self.weight / scale)
        if p == 1.0 or self.mu == 0.0:
            return _log_root(w - t * self.mu, t * self.weight)
        b, c = (number + xp.zeros_like(w) for number in (t * self.weight, t * self.mu * p))
        # One of two terms is at least half of the right-hand side in c r^p <= w r + b. Roots keep powers from overflow.
        exponent = 1.0 / (p - 1.0)
        root = c**exponent if p > 2.0 else c
        with np.errstate(over="ignore"):
            wide = 2.0 * positive_part(w)
            most = wide**exponent / root if p > 2.0 else (wide / c) ** exponent
        start = xp.minimum(_log_root(w, t * self.weight), xp.maximum(most, (2.0 * b / c) ** (1.0 / p)))

        def equation(r: Array) -> tuple[Array, Array]:
            power = (root * r) ** (p - 1.0) if p > 2.0 else c * r ** (p - 1.0)
            return r - w - b / r + power, 1.0 + b / r / r + (p - 1.0) * power / r

        with np.errstate(over="ignore"):  # an infinite slope keeps the start, which is the root then
            return increasing_root(equation, 0.0 * w, start, start)

    @classmethod
    def examples(cls) -> list[tuple["LogDetSchatten", Shape]]:
        return [(cls(3.0, 0.6), (4, 4)), (cls(1.5, 2.0, 0.5), (2, 2))]


@dataclass(frozen=True)
class LogDetInverse(Barrier):
    """The barrier and a power of the inverse, -weight * log det X + mu sum_i w_i^(-p) over the eigenvalues w.

    prox(X, gamma) = V diag(r) V' with r - gamma weight / r - gamma mu p r^(-p - 1) = w for the symmetric part
    V diag(w) V' of X.

    Parameters
    ----------
    p : float
        Positive.
    mu : float
        Of the power of the inverse, nonnegative.
    weight : float
        Of -log det, positive.

    References
    ----------
    Benfenati, Chouzenoux, Pesquet (2020), Proximal approaches for matrix optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> LogDetInverse(p=1.0).prox(np.diag([-1.0, 1.25]), gamma=1.0)
    array([[1., 0.],
           [0., 2.]])
    """

    p: float = 1.0
    mu: float = 1.0
    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", positive(self.p, "p"))
        object.__setattr__(self, "mu", nonnegative_weight(self.mu, "mu"))
        object.__setattr__(self, "weight", positive(self.weight, "weight"))

    @value_of_spectrum
    def value(self, w: Array) -> Array:
        """Return the value at a positive definite matrix, infinity at others."""
        xp = namespace(w)
        safe = xp.maximum(w, rounding_unit(w))
        return self.weight * _minus_logs(w) + self.mu * xp.sum(safe**-self.p, axis=-1)

    @on_spectrum
    def prox(self, w: Array, t: float) -> Array:
        """Return the positive definite matrix with moved eigenvalues."""
        xp, p = namespace(w), self.p
        least = _log_root(w, t * self.weight)
        if self.mu == 0.0:
            return least
        b, c = (number + xp.zeros_like(w) for number in (t * self.weight, t * self.mu * p))
        most = least + c ** (1.0 / (p + 2.0))
        # The root is no smaller than that without b, which is bounded from below by one term or the other.
        size = xp.where(w < 0, -w, xp.ones_like(w))
        with np.errstate(over="ignore"):
            steep = xp.where(w < 0, (c / (2.0 * size)) ** (1.0 / (p + 1.0)), xp.full_like(w, inf))
        start = xp.minimum(xp.maximum(least, xp.minimum(steep, (0.5 * c) ** (1.0 / (p + 2.0)))), most)
        root = c ** (1.0 / (p + 1.0))

        def equation(r: Array) -> tuple[Array, Array]:
            power = (root / r) ** (p + 1.0)
            return r - w - b / r - power, 1.0 + b / r / r + (p + 1.0) * power / r

        with np.errstate(over="ignore"):  # an infinite slope keeps the start, which is near the root then
            return increasing_root(equation, start, most, start)

    @classmethod
    def examples(cls) -> list[tuple["LogDetInverse", Shape]]:
        return [(cls(1.0, 0.6), (4, 4)), (cls(0.5, 2.0, 0.5), (2, 2))]


def rounding_unit(w: Array) -> Array:
    """Return one unit of rounding of the eigenvalues, but not zero."""
    xp = namespace(w)
    return xp.maximum(small(w), xp.full_like(w[..., :1], float(xp.finfo(w.dtype).smallest_normal)))


def _minus_logs(w: Array) -> Array:
    """Return the sum of -log w_i, infinity unless all are positive up to rounding."""
    xp, unit = namespace(w), rounding_unit(w)
    return infinite_where(xp.any(w < -unit, axis=-1), -xp.sum(xp.log(xp.maximum(w, unit)), axis=-1))


def _log_root(w: Array, t: float | Array) -> Array:
    """Return r > 0 with r - t / r = w, without cancellation."""
    xp = namespace(w)
    t = t + xp.zeros_like(w)
    far = xp.hypot(w, 2.0 * xp.sqrt(t)) + xp.abs(w)
    return xp.where(w > 0, 0.5 * far, 2.0 * t / far)
