"""Losses of classification, functions of the margin m = b_i a_i' x with labels b_i of -1 and 1."""

import numpy as np

from trisplit.arrays import Array, namespace, to_numpy
from trisplit.errors import InputError
from trisplit.losses.linear import LinearModel
from trisplit.losses.regression import table
from trisplit.terms.checks import Shape

__all__ = ["Logistic"]


class Classifier(LinearModel):
    """A function of margins; a subclass knows it."""

    def targets(self, b: Array) -> Array:
        """Return labels of -1 and 1; 0 and 1 are taken for them."""
        found = np.unique(to_numpy(b))
        if set(found.tolist()) <= {0.0, 1.0} and 0.0 in found:
            return 2 * b - 1
        if not set(found.tolist()) <= {-1.0, 1.0}:
            raise InputError(f"`b` must hold labels of -1 and 1, or of 0 and 1; got {found[:5].tolist()}")
        return b


class Logistic(Classifier):
    """The mean of log(1 + exp(-b_i a_i' x)), plus ridge ||x||^2 / 2.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
        Labels, -1 and 1 or 0 and 1.
    ridge : float

    Examples
    --------
    >>> import numpy as np
    >>> f = Logistic(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1, -1]))
    >>> round(f.value(np.zeros(2)), 6), f.grad(np.zeros(2)), f.lipschitz
    (0.693147, array([-0.25,  0.5 ]), 0.5)
    """

    curvature = 0.25

    def phi(self, p: Array, b: Array) -> Array:
        """Return log(1 + exp(-m)), without overflow."""
        xp, m = namespace(p), b * p
        return xp.clip(-m, 0.0, None) + xp.log1p(xp.exp(-xp.abs(m)))

    def slope(self, p: Array, b: Array) -> Array:
        """Return -b / (1 + exp(m))."""
        xp, m = namespace(p), b * p
        small = xp.exp(-xp.abs(m))  # at most 1
        return -b * xp.where(m > 0, small, xp.ones_like(m)) / (1.0 + small)

    @classmethod
    def examples(cls) -> list[tuple["Logistic", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, np.sign(b)), (3,)), (cls(A, np.sign(b), ridge=0.1), (3,))]
