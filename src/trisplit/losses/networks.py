"""Small neural networks, with gradients by hand."""

from functools import cached_property

import numpy as np

from trisplit.arrays import Array, Shape, from_numpy, namespace, to_numpy
from trisplit.errors import InputError
from trisplit.losses.base import FiniteSum, as_number
from trisplit.losses.classification import log_sum_exp, one_hot, softmax
from trisplit.losses.linear import as_targets
from trisplit.losses.parameters import Parameters
from trisplit.losses.regression import table
from trisplit.losses.samples import Samples, like, take
from trisplit.terms.checks import nonnegative_weight, whole

__all__ = ["MLP"]

LOSSES = ("cross_entropy", "squared")


class MLP(FiniteSum):
    """The mean loss of a network with one hidden layer, V tanh(W a_i + c) + e, x = (W, c, V, e) as one flat vector.

    `parameters` is the layout of x: `parameters.unflatten(x)` is a dictionary of W of shape (hidden, d), c, V of shape
    (outputs, hidden) and e; `parameters.terms({"W": ...})` makes a term of x from terms of these.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,), or (n, outputs) with squared loss
        Classes, whole numbers from 0 on, or what is to be predicted.
    hidden : int
        The number of hidden units.
    loss : "cross_entropy" or "squared"
        log(sum_k exp(o_k)) - o_b of the outputs o, or ||o - b||^2 / 2.
    ridge : float
        ridge ||x||^2 / 2 is added.

    References
    ----------
    Rumelhart, Hinton, Williams (1986), Learning representations by back-propagating errors.

    Examples
    --------
    >>> import numpy as np
    >>> f = MLP(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1]), hidden=3)
    >>> f.shape, f.parameters.paths, round(f.value(np.zeros(17)), 6)
    ((17,), ('W', 'c', 'V', 'e'), 0.693147)
    """

    convex = False

    def __init__(
        self, A: object, b: object, *, hidden: int = 8, loss: str = "cross_entropy", ridge: float = 0.0
    ) -> None:
        if loss not in LOSSES:
            raise InputError(f"`loss` must be one of {', '.join(LOSSES)}, got {loss!r}; choose one")
        self.samples = A if isinstance(A, Samples) else Samples(A)
        self.n, self.loss, self.hidden = self.samples.n, loss, whole(hidden, "hidden")
        self.ridge = nonnegative_weight(ridge, "ridge")
        several = loss == "squared" and len(getattr(b, "shape", ())) == 2
        b = as_targets(b, self.samples, ndim=2 if several else 1)
        if loss == "cross_entropy":
            self.b = from_numpy(one_hot(to_numpy(b)), b)
        else:
            self.b = b if b.ndim == 2 else b[:, None]
        self.shape = (self.parameters.size,)

    @cached_property
    def parameters(self) -> Parameters:
        """The layout of x."""
        h, d, outputs = self.hidden, self.samples.width, int(self.b.shape[1])
        shapes = {"W": (h, d), "c": (h,), "V": (outputs, h), "e": (outputs,)}
        return Parameters({name: np.zeros(shape) for name, shape in shapes.items()})

    def _forward(self, part: Array, x: Array) -> tuple[Array, Array, Array]:
        """Return V, hidden units and outputs for some samples."""
        own: dict[str, Array] = self.parameters.unflatten(x)  # pyright: ignore[reportAssignmentType]
        z = namespace(x).tanh(part @ own["W"].T + own["c"])
        return own["V"], z, z @ own["V"].T + own["e"]

    def _losses(self, o: Array, b: Array) -> Array:
        xp = namespace(o)
        return 0.5 * xp.sum((o - b) ** 2, axis=1) if self.loss == "squared" else log_sum_exp(o) - xp.sum(b * o, axis=1)

    def _slopes(self, o: Array, b: Array) -> Array:
        return (o if self.loss == "squared" else softmax(o)) - b

    def value(self, x: Array) -> float:
        """Return f(x)."""
        self.check(x)
        xp, samples, b = namespace(x), self.samples.like(x), like(self.b, x, "b")
        losses = (
            xp.sum(self._losses(self._forward(samples.part(rows), x)[2], b[rows, ...])) for rows in samples.blocks()
        )
        return as_number(sum(losses) / self.n + (0.5 * self.ridge * xp.sum(x * x) if self.ridge else 0.0))

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both, by one pass forward and one back."""
        self.check(x)
        xp, all_b = namespace(x), like(self.b, x, "b")

        def compute(part: Array, rows: slice) -> tuple[float, Array]:
            return self._sums(part, all_b[rows, ...], x)

        value, grad = self.samples.like(x).through(compute)
        value, grad = value / self.n, grad / self.n
        if self.ridge:
            value, grad = value + 0.5 * self.ridge * xp.sum(x * x), grad + self.ridge * x
        return as_number(value), grad

    def _sums(self, part: Array, b: Array, x: Array) -> tuple[float, Array]:
        """Return the sums of losses and of gradients of some samples."""
        xp = namespace(x)
        V, z, o = self._forward(part, x)
        s = self._slopes(o, b)
        back = (s @ V) * (1.0 - z * z)
        grads = ((part.T @ back).T, xp.sum(back, axis=0), s.T @ z, xp.sum(s, axis=0))
        return xp.sum(self._losses(o, b)), xp.concat([xp.reshape(grad, (-1,)) for grad in grads])

    def batch_grad(self, x: Array, rows: np.ndarray) -> Array:
        """Return the mean of the gradients of some samples."""
        self.check(x)
        rows = self.check_rows(rows)
        sums = self._sums(self.samples.like(x).part(rows), take(like(self.b, x, "b"), rows), x)[1]
        return sums / len(rows) + self.ridge * x

    def sample_grads(self, x: Array, rows: np.ndarray) -> Array:
        """Return the gradients of some samples."""
        self.check(x)
        rows = self.check_rows(rows)
        xp, part = namespace(x), self.samples.like(x).dense(rows)
        V, z, o = self._forward(part, x)
        s = self._slopes(o, take(like(self.b, x, "b"), rows))
        back = (s @ V) * (1.0 - z * z)
        grads = (back[:, :, None] * part[:, None, :], back, s[:, :, None] * z[:, None, :], s)
        return xp.concat([xp.reshape(grad, (len(rows), -1)) for grad in grads], axis=1) + self.ridge * x

    @classmethod
    def examples(cls) -> list[tuple["MLP", Shape]]:
        A, b = table(cls.__name__)
        classes = np.array([0, 1, 2, 1, 0, 2, 2])
        squared = cls(A, b, hidden=2, loss="squared", ridge=0.1)
        return [(cls(A, classes, hidden=4), (31,)), (squared, (11,))]
