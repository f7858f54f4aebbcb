"""Losses of regression: convex functions of the prediction p = a_i' x and what was observed, b_i."""

import numpy as np

from trisplit.arrays import Array, Shape, namespace, to_numpy
from trisplit.errors import InputError
from trisplit.losses.linear import LinearModel
from trisplit.terms.checks import positive

__all__ = ["Huber", "LeastSquares", "Poisson"]


class LeastSquares(LinearModel):
    """Half the mean of squared residuals, (1/2n) ||A x - b||^2, plus ridge ||x||^2 / 2.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
    ridge : float

    Examples
    --------
    >>> import numpy as np
    >>> f = LeastSquares(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, 2.0]))
    >>> f.value(np.zeros(2)), f.grad(np.zeros(2)), f.lipschitz
    (1.25, array([-0.5, -2. ]), 2.0)
    """

    curvature = 1.0

    def phi(self, p: Array, b: Array) -> Array:
        """Return r^2 / 2."""
        return 0.5 * (p - b) ** 2

    def slope(self, p: Array, b: Array) -> Array:
        """Return r."""
        return p - b

    @classmethod
    def examples(cls) -> list[tuple["LeastSquares", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, b), (3,)), (cls(A, b, ridge=0.1), (3,))]


class Huber(LinearModel):
    """The mean of r^2 / 2 where |r| <= delta and delta (|r| - delta / 2) beyond, r = a_i' x - b_i.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
    delta : float
        Residuals beyond it count linearly; 1.345 loses 5 % where errors are normal with unit variance.
    ridge : float

    References
    ----------
    Huber (1964), Robust estimation of a location parameter.

    Examples
    --------
    >>> import numpy as np
    >>> f = Huber(np.eye(2), np.array([0.5, 5.0]), delta=1.0)
    >>> f.value(np.zeros(2)), f.grad(np.zeros(2)), f.lipschitz
    (2.3125, array([-0.25, -0.5 ]), 0.5)
    """

    curvature = 1.0

    def __init__(self, A: object, b: object, *, delta: float = 1.345, ridge: float = 0.0) -> None:
        self.delta = positive(delta, "delta")
        super().__init__(A, b, ridge=ridge)

    def phi(self, p: Array, b: Array) -> Array:
        """Return s (r - s / 2), s = r clipped at delta: both branches in one."""
        s = self.slope(p, b)
        return s * ((p - b) - 0.5 * s)

    def slope(self, p: Array, b: Array) -> Array:
        """Return r, clipped."""
        return namespace(p).clip(p - b, -self.delta, self.delta)

    @classmethod
    def examples(cls) -> list[tuple["Huber", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, b, delta=0.5), (3,)), (cls(A, b, ridge=0.1), (3,))]


class Poisson(LinearModel):
    """The mean of exp(a_i' x) - b_i a_i' x, the negative log-likelihood of counts up to a constant.

    It has no smoothness constant: exp bends without bound.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
        Counts, not negative.
    ridge : float

    References
    ----------
    McCullagh, Nelder (1989), Generalized linear models, chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> f = Poisson(np.eye(2), np.array([1, 3]))
    >>> f.value(np.zeros(2)), f.grad(np.zeros(2)), f.lipschitz
    (1.0, array([ 0., -1.]), None)
    """

    def targets(self, b: Array) -> Array:
        """Return counts."""
        least = float(to_numpy(b).min())
        if least < 0:
            raise InputError(f"`b` must hold counts >= 0, got {least}; the Poisson distribution has no others")
        return b

    def phi(self, p: Array, b: Array) -> Array:
        """Return exp(p) - b p."""
        with np.errstate(over="ignore"):  # an infinite value is rejected by step rules
            return namespace(p).exp(p) - b * p

    def slope(self, p: Array, b: Array) -> Array:
        """Return exp(p) - b."""
        with np.errstate(over="ignore"):
            return namespace(p).exp(p) - b

    @classmethod
    def examples(cls) -> list[tuple["Poisson", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, np.floor(4 * np.abs(b))), (3,)), (cls(A, np.abs(b), ridge=0.1), (3,))]


def table(seed: str, n: int = 7, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and targets for examples."""
    rng = np.random.default_rng(list(seed.encode()))
    return rng.standard_normal((n, d)), rng.standard_normal(n)
