"""Losses of linear predictions, f(x) = (1/n) sum_i phi(a_i' x, b_i) + ridge ||x||^2 / 2.

A subclass says what phi is, its derivative in the prediction, and a bound on the second one.
"""

from copy import copy
from functools import cached_property
from typing import Self

import numpy as np

from trisplit.arrays import Array, as_host, from_numpy, is_array, kind_of, namespace
from trisplit.arrays.batched import per_problem_dot
from trisplit.errors import InputError
from trisplit.losses.base import FiniteSum, as_number
from trisplit.losses.samples import Samples, like, take
from trisplit.terms.checks import nonnegative_weight


class LinearModel(FiniteSum):
    """The mean of phi(a_i' x, b_i) over the rows a_i of a table and the entries b_i of a vector.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
        What belongs to each sample.
    ridge : float
        ridge ||x||^2 / 2 is added.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> class Quartic(ts.losses.LinearModel):
    ...     def phi(self, p, b):
    ...         return (p - b) ** 4 / 4
    ...
    ...     def slope(self, p, b):
    ...         return (p - b) ** 3
    >>> Quartic(np.eye(2), np.array([1.0, 2.0])).grad(np.zeros(2))
    array([-0.5, -4. ])
    """

    curvature: float | None = None  # a bound on |phi''|
    rowwise = True

    def __init__(self, A: object, b: object, *, ridge: float = 0.0) -> None:
        self.samples = A if isinstance(A, Samples) else Samples(A)
        self.n, self.shape = self.samples.n, (self.samples.width,)
        self.ridge = nonnegative_weight(ridge, "ridge")
        self.b = self.targets(as_targets(b, self.samples))

    def targets(self, b: Array) -> Array:
        """Return `b`, or raise an `InputError` if phi does not take it."""
        return b

    def phi(self, p: Array, b: Array) -> Array:
        """Return the loss of each prediction."""
        raise NotImplementedError(f"{type(self).__name__} must define `phi`")

    def slope(self, p: Array, b: Array) -> Array:
        """Return the derivative of the loss of each prediction."""
        raise NotImplementedError(f"{type(self).__name__} must define `slope`")

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both in one pass over the samples."""
        self.check(x)
        points, all_b, samples = self.points(x), self.targets_of(x), self.samples.like(x)

        def compute(part: Array, rows: slice) -> tuple[float, Array]:
            p, b = samples.times(part, points, rows), all_b[rows, ...]
            return self.total(self.phi(p, b)), part.T @ self.slope(p, b)

        value, grad = samples.through(compute)
        grad = grad / self.n
        if self.batch_ndim:
            grad = namespace(x).reshape(grad.T, x.shape)
        if self.ridge:
            grad = grad + self.ridge * x
        return self.mean_of(value, x), grad

    def value(self, x: Array) -> float:
        """Return f(x)."""
        self.check(x)
        points, b, samples = self.points(x), self.targets_of(x), self.samples.like(x)
        total = sum(self.total(self.phi(samples.dot(points, rows), b[rows, ...])) for rows in samples.blocks())
        return self.mean_of(total, x)

    def batched(self, batch_ndim: int) -> Self:
        """Return this loss for x whose first `batch_ndim` axes count problems: with a value for each of them."""
        if self.shape is None or len(self.shape) != 1:
            return self  # x of more axes is one problem
        new = copy(self)
        new.batch_ndim = batch_ndim
        return new

    def points(self, x: Array) -> Array:
        """Return x; of a batch its points as columns."""
        return namespace(x).reshape(x, (-1, x.shape[-1])).T if self.batch_ndim else x

    def targets_of(self, x: Array) -> Array:
        """Return b in the library and dtype of x; for a batch as a column."""
        b = like(self.b, x, "b")
        return b[:, None] if self.batch_ndim else b

    def total(self, each: Array) -> float:
        """Return the sum over samples; of a batch that of each column."""
        return namespace(each).sum(each, axis=0 if self.batch_ndim else None)

    def mean_of(self, total: float, x: Array) -> float:
        """Return f(x) from the sum of the losses."""
        k, mean = self.batch_ndim, total / self.n
        if k:
            mean = namespace(x).reshape(mean, x.shape[:k])  # pyright: ignore[reportArgumentType]
        if self.ridge:
            mean = mean + 0.5 * self.ridge * (per_problem_dot(x, x, k) if k else namespace(x).sum(x * x))
        return as_number(mean)  # pyright: ignore[reportArgumentType]

    def predictions(self, x: Array, rows: np.ndarray | slice) -> Array:
        """Return a_i' x of some samples."""
        return self.samples.like(x).dot(x, rows)

    def slopes(self, x: Array, rows: np.ndarray | slice) -> Array:
        """Return the derivatives phi'(a_i' x, b_i) of some samples: with `combined` they are all of a gradient."""
        return self.slopes_at(self.predictions(x, rows), rows)

    def slopes_at(self, p: Array, rows: np.ndarray | slice) -> Array:
        """Return phi'(p_i, b_i) of some samples with predictions p."""
        return self.slope(p, take(like(self.b, p, "b"), rows))

    def bends_at(self, p: Array, rows: np.ndarray | slice) -> Array:
        """Return phi''(p_i, b_i) of some samples by central differences, right to two thirds of the digits."""
        xp = namespace(p)
        h = float(xp.finfo(p.dtype).eps) ** (1 / 3) * xp.maximum(xp.abs(p), xp.ones_like(p))
        return (self.slopes_at(p + h, rows) - self.slopes_at(p - h, rows)) / (2 * h)

    def gram(self, weights: Array, rows: np.ndarray | slice) -> Array:
        """Return the sum of a_i a_i' over some samples, each times its weight: of `bends_at` it is the Hessian."""
        return self.samples.like(weights).gram(weights, rows)

    def combined(self, weights: Array, rows: np.ndarray | slice) -> Array:
        """Return the sum of some samples, each times its weight."""
        return self.samples.like(weights).t_dot(weights, rows)

    def batch_grad(self, x: Array, rows: np.ndarray) -> Array:
        """Return the mean of the gradients of some samples."""
        self.check(x)
        rows = self.check_rows(rows)
        grad = self.combined(self.slopes(x, rows), rows) / len(rows)
        return grad + self.ridge * x if self.ridge else grad

    def sample_grads(self, x: Array, rows: np.ndarray) -> Array:
        """Return the gradients of some samples."""
        self.check(x)
        rows = self.check_rows(rows)
        part, slopes = self.samples.like(x).dense(rows), self.slopes(x, rows)
        return part[(slice(None), slice(None), *(None,) * (x.ndim - 1))] * slopes[:, None, ...] + self.ridge * x

    @cached_property
    def lipschitz(self) -> float | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Curvature ||A||^2 / n + ridge, None where phi'' is not bounded."""
        return None if self.curvature is None else self.curvature * self.samples.squared_norm / self.n + self.ridge

    @cached_property
    def sample_lipschitz(self) -> float | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Curvature max ||a_i||^2 + ridge, None where phi'' is not bounded."""
        if self.curvature is None:
            return None
        return self.curvature * float(self.samples.squared_lengths.max()) + self.ridge


def as_targets(b: object, samples: Samples, name: str = "b", ndim: int = 1) -> Array:
    """Return what belongs to each sample, in the library and dtype of the samples."""
    try:
        host = np.asarray(as_host(b))
    except (TypeError, ValueError) as error:
        raise InputError(f"`{name}` must be an array of numbers, got {type(b).__name__}; convert it") from error
    if host.shape[:1] != (samples.n,) or host.ndim != ndim:
        what = "a vector" if ndim == 1 else f"an array of {ndim} axes"
        came = f"got shape {host.shape}; make them fit"
        raise InputError(f"`{name}` must be {what} with an entry for each of {samples.n} samples, {came}")
    if host.dtype.kind not in "iufb":
        raise InputError(f"`{name}` must hold numbers, got {host.dtype}; encode the labels")
    if not np.isfinite(host).all():
        raise InputError(f"`{name}` holds NaN or inf; drop or fill those samples")
    own = samples.kind
    if own == "numpy" or not is_array(b) or kind_of(b) == "numpy":
        if is_array(b) and kind_of(b) != "numpy":
            raise InputError(f"`{name}` is of {kind_of(b)} and `{samples.name}` of {own}; convert one of them")
        return host.astype(samples.dtype) if own == "numpy" else from_numpy(host, samples.array)
    if kind_of(b) != own:
        raise InputError(f"`{name}` is of {kind_of(b)} and `{samples.name}` of {own}; convert one of them")
    return namespace(b).astype(b, samples.dtype)  # pyright: ignore
