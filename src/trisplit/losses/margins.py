"""Nonconvex losses of classification, bounded functions of the margin m = b_i a_i' x: wrong labels cost little."""

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.errors import InputError
from trisplit.losses.classification import Classifier, falling_sigmoid
from trisplit.losses.regression import table
from trisplit.terms.checks import parameter, positive

__all__ = ["Sigmoid", "SmoothRamp"]


class Sigmoid(Classifier):
    """The mean of 1 / (1 + exp(b_i a_i' x)), a smooth count of errors, plus ridge ||x||^2 / 2.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
        Labels, -1 and 1 or 0 and 1.
    ridge : float

    References
    ----------
    Shalev-Shwartz, Shamir, Sridharan (2011), Learning kernel-based halfspaces with the 0-1 loss.

    Examples
    --------
    >>> import numpy as np
    >>> f = Sigmoid(np.eye(2), np.array([1, -1]))
    >>> f.value(np.zeros(2)), f.grad(np.zeros(2)), round(f.lipschitz, 4)
    (0.5, array([-0.125,  0.125]), 0.0481)
    """

    convex = False
    curvature = 1 / (6 * 3**0.5)  # where 1 / (1 + exp(m)) is (3 + sqrt(3)) / 6 or (3 - sqrt(3)) / 6

    def phi(self, p: Array, b: Array) -> Array:
        """Return 1 / (1 + exp(m))."""
        return falling_sigmoid(b * p)

    def slope(self, p: Array, b: Array) -> Array:
        """Return -b s (1 - s), s the loss."""
        m = b * p
        return -b * falling_sigmoid(m) * falling_sigmoid(-m)

    @classmethod
    def examples(cls) -> list[tuple["Sigmoid", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, np.sign(b)), (3,)), (cls(A, np.sign(b), ridge=0.001), (3,))]


class SmoothRamp(Classifier):
    """The mean of h(1 - m) - h(s - m), m = b_i a_i' x, between 0 and 1 - s: a ramp with round corners.

    h(t) is 0 where t <= 0, t^2 / (2 w) up to t = w, and t - w / 2 beyond: the hinge max(0, t) with a corner rounded
    over the width w.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
        Labels, -1 and 1 or 0 and 1.
    s : float
        The margin, below 1, from which on a wrong sample costs no more.
    width : float
        w, over which corners are rounded.
    ridge : float

    References
    ----------
    Collobert, Sinz, Weston, Bottou (2006), Trading convexity for scalability (the ramp);
    Wang, Jia, Li (2008), Training robust support vector machine with smooth ramp loss in the primal space.

    Examples
    --------
    >>> import numpy as np
    >>> f = SmoothRamp(np.eye(2), np.array([1, -1]), s=-1.0, width=0.5)
    >>> f.value(np.zeros(2)), f.value(np.array([-9.0, 9.0])), f.grad(np.zeros(2)), f.lipschitz
    (0.75, 2.0, array([-0.5,  0.5]), 1.0)
    """

    convex = False

    def __init__(self, A: object, b: object, *, s: float = 0.0, width: float = 0.5, ridge: float = 0.0) -> None:
        self.s, self.width = parameter(s, "s"), positive(width, "width")
        if not isinstance(self.s, float) or self.s >= 1:
            raise InputError(f"`s` must be one number below 1, got {s}; 0 and -1 are usual")
        super().__init__(A, b, ridge=ridge)

    @property
    def curvature(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """1 / w: of two hinges that are subtracted, each bends between 0 and that."""
        return 1.0 / self.width

    def _hinge(self, t: Array) -> tuple[Array, Array]:
        """Return h and its derivative, t / w between 0 and 1."""
        h1 = namespace(t).clip(t / self.width, 0.0, 1.0)
        return h1 * (t - 0.5 * self.width * h1), h1

    def phi(self, p: Array, b: Array) -> Array:
        """Return h(1 - m) - h(s - m)."""
        return self._hinge(1.0 - b * p)[0] - self._hinge(self.s - b * p)[0]

    def slope(self, p: Array, b: Array) -> Array:
        """Return b (h'(s - m) - h'(1 - m))."""
        return b * (self._hinge(self.s - b * p)[1] - self._hinge(1.0 - b * p)[1])

    @classmethod
    def examples(cls) -> list[tuple["SmoothRamp", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, np.sign(b)), (3,)), (cls(A, np.sign(b), s=-1.0, width=3.0, ridge=0.01), (3,))]
