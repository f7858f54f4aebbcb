"""Losses of regression: convex functions of the residual r = a_i' x - b_i."""

import numpy as np

from trisplit.arrays import Array
from trisplit.losses.linear import LinearModel
from trisplit.terms.checks import Shape

__all__ = ["LeastSquares"]


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


def table(seed: str, n: int = 7, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and targets for examples."""
    rng = np.random.default_rng(list(seed.encode()))
    return rng.standard_normal((n, d)), rng.standard_normal(n)
