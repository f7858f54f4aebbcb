"""Losses of classification, convex functions of margins m = b_i a_i' x with labels b_i of -1 and 1, or of classes."""

import numpy as np
from scipy.special import expit

from trisplit.arrays import Array, Shape, from_numpy, namespace, on_host, to_numpy
from trisplit.errors import InputError
from trisplit.losses.linear import LinearModel
from trisplit.losses.regression import table
from trisplit.terms.checks import whole

__all__ = ["Logistic", "Multinomial", "SquaredHinge"]


class Classifier(LinearModel):
    """A function of margins; a subclass knows it."""

    def targets(self, b: Array) -> Array:
        """Return labels of -1 and 1; 0 and 1 are taken for them."""
        found = np.unique(to_numpy(b))
        if set(found.tolist()) <= {0.0, 1.0} and 0.0 in found:
            return 2 * b - 1
        if not set(found.tolist()) <= {-1.0, 1.0}:
            came = f"got {found[:5].tolist()}; for more classes see `Multinomial`"
            raise InputError(f"`b` must hold labels of -1 and 1, or of 0 and 1; {came}")
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
        xp = namespace(p)
        return xp.logaddexp(-b * p, xp.zeros_like(p))

    def slope(self, p: Array, b: Array) -> Array:
        """Return -b / (1 + exp(m))."""
        return -b * falling_sigmoid(b * p)

    @classmethod
    def examples(cls) -> list[tuple["Logistic", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, np.sign(b)), (3,)), (cls(A, np.sign(b), ridge=0.1), (3,))]


class SquaredHinge(Classifier):
    """The mean of max(0, 1 - b_i a_i' x)^2, plus ridge ||x||^2 / 2.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
        Labels, -1 and 1 or 0 and 1.
    ridge : float

    References
    ----------
    Chang, Hsieh, Lin (2008), Coordinate descent method for large-scale L2-loss linear support vector machines.

    Examples
    --------
    >>> import numpy as np
    >>> f = SquaredHinge(np.eye(2), np.array([1, -1]))
    >>> f.value(np.zeros(2)), f.grad(np.zeros(2)), f.lipschitz
    (1.0, array([-1.,  1.]), 1.0)
    """

    curvature = 2.0

    def phi(self, p: Array, b: Array) -> Array:
        """Return max(0, 1 - m)^2."""
        return namespace(p).clip(1.0 - b * p, 0.0, None) ** 2

    def slope(self, p: Array, b: Array) -> Array:
        """Return -2 b max(0, 1 - m)."""
        return -2.0 * b * namespace(p).clip(1.0 - b * p, 0.0, None)

    @classmethod
    def examples(cls) -> list[tuple["SquaredHinge", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, np.sign(b)), (3,)), (cls(A, b > 0, ridge=0.1), (3,))]


class Multinomial(LinearModel):
    """The mean of log(sum_k exp(a_i' x_k)) - a_i' x_(b_i), x of shape (d, k) with a column for each class.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
        Classes, whole numbers from 0 to k - 1.
    classes : int, optional
        k; one more than the largest number in `b` if left out.
    ridge : float

    References
    ----------
    Böhning (1992), Multinomial logistic regression algorithm (the bound 1/2 on the curvature).

    Examples
    --------
    >>> import numpy as np
    >>> f = Multinomial(np.eye(2), np.array([0, 1]))
    >>> round(f.value(np.zeros((2, 2))), 6), f.grad(np.zeros((2, 2))), f.lipschitz
    (0.693147, array([[-0.25,  0.25],
           [ 0.25, -0.25]]), 0.25)
    """

    curvature = 0.5

    def __init__(self, A: object, b: object, *, classes: int | None = None, ridge: float = 0.0) -> None:
        self.classes = classes if classes is None else whole(classes, "classes", least=2)
        super().__init__(A, b, ridge=ridge)
        self.shape = (*self.shape, self.classes)  # pyright: ignore

    def targets(self, b: Array) -> Array:
        """Return 1 for the class of each sample and 0 for the others."""
        hot = one_hot(to_numpy(b), self.classes)
        self.classes = hot.shape[1]
        return from_numpy(hot, b)

    def phi(self, p: Array, b: Array) -> Array:
        """Return log(sum_k exp(p_k)) - p_b."""
        xp = namespace(p)
        return log_sum_exp(p) - xp.sum(b * p, axis=1)

    def slope(self, p: Array, b: Array) -> Array:
        """Return the probabilities of the classes, less 1 for the one of the sample."""
        return softmax(p) - b

    @classmethod
    def examples(cls) -> list[tuple["Multinomial", Shape]]:
        A, _ = table(cls.__name__)
        b = np.array([0, 2, 1, 0, 2, 2, 1])
        return [(cls(A, b), (3, 3)), (cls(A, b, classes=4, ridge=0.1), (3, 4))]


def falling_sigmoid(m: Array) -> Array:
    """Return 1 / (1 + exp(m)), without overflow."""
    if on_host(m):
        return expit(-m)
    xp = namespace(m)
    small = xp.exp(-xp.abs(m))  # at most 1
    return xp.where(m > 0, small, xp.ones_like(m)) / (1.0 + small)


def log_sum_exp(p: Array) -> Array:
    """Return log(sum_k exp(p_ik)) for each row, without overflow."""
    xp = namespace(p)
    top = xp.max(p, axis=1, keepdims=True)
    return xp.log(xp.sum(xp.exp(p - top), axis=1)) + top[:, 0]


def softmax(p: Array) -> Array:
    """Return exp(p_ik) / sum_k exp(p_ik), without overflow."""
    xp = namespace(p)
    weights = xp.exp(p - xp.max(p, axis=1, keepdims=True))
    return weights / xp.sum(weights, axis=1, keepdims=True)


def one_hot(b: np.ndarray, classes: int | None = None, name: str = "b") -> np.ndarray:
    """Return a row for each label, with a 1 in its column; labels are whole numbers from 0 on."""
    k = max(int(b.max()) + 1, 2) if classes is None else classes
    wrong = b[(b < 0) | (b >= k) | (b != np.floor(b))]
    if wrong.size:
        came = f"got {np.unique(wrong)[:5].tolist()}; number the classes from 0"
        raise InputError(f"`{name}` must hold whole numbers from 0 to {k - 1}, {came}")
    return (b[:, None] == np.arange(k)).astype(float)
