"""Phase retrieval: x from measurements without their signs, real numbers."""

from functools import cached_property

import numpy as np

from trisplit.arrays import Array, Shape, namespace, to_numpy
from trisplit.errors import InputError
from trisplit.losses.linear import LinearModel
from trisplit.losses.regression import table
from trisplit.terms.checks import positive

__all__ = ["PhaseAmplitude", "PhaseIntensity"]


class _Phases(LinearModel):
    convex = False

    def targets(self, b: Array) -> Array:
        """Return measurements."""
        least = float(to_numpy(b).min())
        if least < 0:
            raise InputError(f"`b` must be >= 0, got {least}; it holds sizes of measurements without signs")
        return b


class PhaseAmplitude(_Phases):
    """Half the mean of (sqrt((a_i' x)^2 + mu^2) - b_i)^2, b_i = |a_i' x*|, with the corner of |.| rounded by mu.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
        Absolute values, not negative.
    mu : float
        How much the corner is rounded; sizes below it are not told apart.
    ridge : float

    References
    ----------
    Wang, Giannakis, Eldar (2018), Solving systems of random quadratic equations via truncated amplitude flow;
    Pinilla, Bacca, Arguello (2018), Phase retrieval algorithm via nonconvex minimization using a smoothing function.

    Examples
    --------
    >>> import numpy as np
    >>> f = PhaseAmplitude(np.eye(2), np.array([4.0, 1.0]), mu=0.5)
    >>> f.grad(np.array([1.2, 0.0])), f.lipschitz
    (array([-1.24615385,  0.        ]), 3.5)
    """

    def __init__(self, A: object, b: object, *, mu: float = 0.1, ridge: float = 0.0) -> None:
        self.mu = positive(mu, "mu")
        super().__init__(A, b, ridge=ridge)

    @cached_property
    def curvature(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The largest of |1 - b mu^2 / s^3|, s >= mu: 1, or b / mu - 1."""
        return max(1.0, float(to_numpy(self.b).max()) / self.mu - 1.0)

    def phi(self, p: Array, b: Array) -> Array:
        """Return (s - b)^2 / 2, s = sqrt(p^2 + mu^2)."""
        return 0.5 * (namespace(p).sqrt(p * p + self.mu**2) - b) ** 2

    def slope(self, p: Array, b: Array) -> Array:
        """Return p (1 - b / s)."""
        return p * (1.0 - b / namespace(p).sqrt(p * p + self.mu**2))

    @classmethod
    def examples(cls) -> list[tuple["PhaseAmplitude", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, np.abs(b), mu=0.3), (3,)), (cls(A, np.abs(b), ridge=0.1), (3,))]


class PhaseIntensity(_Phases):
    """A quarter of the mean of ((a_i' x)^2 - b_i)^2, b_i = (a_i' x*)^2: smooth, but with no smoothness constant.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
        Squares, not negative.
    ridge : float

    References
    ----------
    Candès, Li, Soltanolkotabi (2015), Phase retrieval via Wirtinger flow: theory and algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> f = PhaseIntensity(np.eye(2), np.array([4.0, 1.0]))
    >>> f.value(np.ones(2)), f.grad(np.ones(2)), f.lipschitz
    (1.125, array([-1.5,  0. ]), None)
    """

    def phi(self, p: Array, b: Array) -> Array:
        """Return (p^2 - b)^2 / 4."""
        return 0.25 * (p * p - b) ** 2

    def slope(self, p: Array, b: Array) -> Array:
        """Return (p^2 - b) p."""
        return (p * p - b) * p

    @classmethod
    def examples(cls) -> list[tuple["PhaseIntensity", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, b * b), (3,)), (cls(A, b * b, ridge=0.1), (3,))]
