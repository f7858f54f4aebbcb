"""What estimators may ask a finite sum for, with every sample counted.

The gradients of a loss of linear predictions are multiples of the samples: one number each is all there is to remember
of them. Other losses are remembered by their gradients.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trisplit.arrays import Array, index_like, namespace
from trisplit.arrays.batched import put_rows, take_rows
from trisplit.errors import InputError

if TYPE_CHECKING:
    from trisplit.losses.base import FiniteSum
    from trisplit.losses.samples import Samples
    from trisplit.problems.oracles import Counts


MOST_FEATURES = 2_000  # whose Hessian an estimator keeps


class Table(NamedTuple):
    """What is known of each sample at some point: slopes, or gradients; and the mean of the gradients.

    The mean leaves out the ridge, whose gradient is always known.
    """

    entries: Array
    mean: Array


class Access:
    """A finite sum whose samples are counted."""

    def __init__(self, loss: "FiniteSum", counts: "Counts") -> None:
        self.loss, self.counts, self.n = loss, counts, loss.n
        self.linear = hasattr(loss, "slopes_at") and hasattr(loss, "samples")
        self._held: tuple[object, Array] | None = None
        self.ridge = float(getattr(loss, "ridge", 0.0))

    def full(self, z: Array) -> Array:
        """Return the gradient."""
        self.counts.samples += self.n
        return self.loss.grad(z)

    def batch(self, z: Array, rows: np.ndarray) -> Array:
        """Return the mean of the gradients of some samples."""
        self.counts.samples += len(rows)
        return self.loss.batch_grad(z, rows)

    def change(self, z: Array, w: Array, rows: np.ndarray) -> Array:
        """Return the mean of the gradients of some samples at z less that at w."""
        self.counts.samples += 2 * len(rows)
        if not self.linear:
            return self.loss.batch_grad(z, rows) - self.loss.batch_grad(w, rows)
        slopes = self._slopes(z, rows) - self._slopes(w, rows)
        return self._combined(slopes, rows) / len(rows) + self.ridge * (z - w)

    def table(self, z: Array) -> Table:
        """Return what is known of all samples at z."""
        self.counts.samples += self.n
        rows = np.arange(self.n)
        if self.linear:
            entries = self._slopes(z, slice(0, self.n))
            return Table(entries, self._combined(entries, slice(0, self.n)) / self.n)
        entries = self.loss.sample_grads(z, rows) - self.ridge * z
        return Table(entries, namespace(z).mean(entries, axis=0))

    def entries(self, z: Array, rows: np.ndarray) -> Array:
        """Return what a table holds of some samples."""
        self.counts.samples += len(rows)
        if self.linear:
            return self._slopes(z, rows)
        return self.loss.sample_grads(z, rows) - self.ridge * z

    def predictions(self, z: Array, rows: np.ndarray | slice) -> Array:
        """Return a_i' z of some samples of a linear model."""
        self.counts.samples += self.n if isinstance(rows, slice) else len(rows)
        return self._times(z, rows)

    def total(self, entries: Array, rows: np.ndarray | slice) -> Array:
        """Return the sum of the gradients that entries of a table stand for."""
        return self._combined(entries, rows) if self.linear else namespace(entries).sum(entries, axis=0)

    def _slopes(self, z: Array, rows: np.ndarray | slice) -> Array:
        return self.loss.slopes_at(self._times(z, rows), rows)  # pyright: ignore[reportAttributeAccessIssue]

    def _times(self, z: Array, rows: np.ndarray | slice) -> Array:
        samples = self._samples(z)
        if isinstance(rows, slice) or len(samples.chunks(rows)) > 1:
            return samples.dot(z, rows)
        return samples.times(self._part(z, rows), z, rows)

    def _combined(self, weights: Array, rows: np.ndarray | slice) -> Array:
        samples = self._samples(weights)
        if isinstance(rows, slice) or len(samples.chunks(rows)) > 1:
            return samples.t_dot(weights, rows)
        return self._part(weights, rows).T @ weights

    def _samples(self, like: Array) -> "Samples":
        return self.loss.samples.like(like)  # pyright: ignore[reportAttributeAccessIssue]

    def _part(self, like: Array, rows: np.ndarray) -> Array:
        """Return some rows of the table; those asked for last are at hand, as their sum is asked for next."""
        if self._held is None or self._held[0] is not rows:
            self._held = rows, self._samples(like).part(rows)
        return self._held[1]


def taken(entries: Array, rows: np.ndarray) -> Array:
    """Return some entries of a table."""
    return entries[rows] if type(entries) is np.ndarray else take_rows(entries, index_like(rows, entries), 1)


def written(entries: Array, rows: np.ndarray, values: Array) -> Array:
    """Return a table with new entries; NumPy's own is changed, as a copy would take longer than all the rest."""
    if type(entries) is np.ndarray:
        entries[rows] = values
        return entries
    return put_rows(entries, index_like(rows, entries), values, 1)


def as_finite_sum(f: object, estimator: object = None) -> "FiniteSum":
    """Return `f`, or raise an `InputError` if it is not a sum over samples of the kind that an estimator needs."""
    if getattr(estimator, "needs", "batch_grad") == "batch_at":
        if not hasattr(f, "batch_at"):
            raise InputError(f"gradient='stream' needs a `ts.losses.Streamed`, got {type(f).__name__}; make one")
    elif hasattr(f, "batch_at"):
        raise InputError("samples of a stream have no numbers; take gradient='stream' or 'exact'")
    elif getattr(estimator, "needs", None) == "bends_at":
        shape = getattr(f, "shape", ())
        if not hasattr(f, "bends_at") or len(shape) != 1:
            text = f"gradient='svrg2' needs a linear model with one prediction a sample, got {type(f).__name__}"
            raise InputError(f"{text}; take 'svrg' for another mean over samples, else 'exact'")
        if shape[0] > MOST_FEATURES:
            text = f"gradient='svrg2' keeps a matrix of features, at most {MOST_FEATURES}, got {shape[0]}"
            raise InputError(f"{text}; take 'svrg' or 'saga'")
    elif not (hasattr(f, "n") and hasattr(f, "batch_grad")):
        text = f"a stochastic `gradient` needs an f with `n` and `batch_grad(x, rows)`, got {type(f).__name__}"
        raise InputError(f"{text}; take one of `ts.losses`, or gradient='exact'")
    return f  # pyright: ignore[reportReturnType]
