"""The exact gradient, and the mean over a batch of samples."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trisplit.arrays import Array
from trisplit.errors import InputError
from trisplit.gradients.access import Access
from trisplit.gradients.constants import batch_size, batch_smoothness, constants, inverse, store_sizes
from trisplit.gradients.draws import Draw

if TYPE_CHECKING:
    from trisplit.losses.base import FiniteSum


@dataclass(frozen=True)
class Exact:
    """The gradient itself, u = grad f(z).

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = ts.losses.Logistic(np.array([[1.0, 0.5], [-1.0, 2.0], [0.3, -1.0]]), np.array([1, -1, 1]), ridge=0.1)
    >>> res = ts.minimize(f, np.zeros(2), ts.terms.L1(0.01), gradient=ts.gradients.Exact(), rng=0)
    >>> res.success
    True
    """

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        return f.full(z), ()

    def step(self, loss: "FiniteSum") -> float:
        return inverse(float(loss.lipschitz or 0.0))


@dataclass(frozen=True)
class Stream:
    """The gradient of the next batch of a `ts.losses.Streamed`, in the order in which they come.

    It does not converge beyond a floor, as a minibatch; that the order is random is up to the source. If batches differ
    in size, samples of small ones count more.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> batches = [(np.array([[1.0, 0.5], [-1.0, 2.0]]), np.array([1, -1]))]
    >>> f = ts.losses.Streamed(ts.losses.Logistic, batches)
    >>> res = ts.minimize(f, np.zeros(2), ts.terms.L1(0.01), gradient=ts.gradients.Stream(), step=0.5, max_iter=20)
    >>> res.nit
    20
    """

    needs = "batch_at"

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        part, position = f.loss.batch_at(0 if memory is None else memory[0])  # pyright: ignore
        f.counts.samples += part.n
        return part.grad(z), (position,)

    def step(self, loss: "FiniteSum") -> float:
        return inverse(2.0 * constants(loss)[1])


@dataclass(frozen=True)
class Minibatch:
    """The mean of the gradients of some samples, drawn anew in each iteration.

    It does not converge beyond a floor that falls with the size of the batch and with the step.

    Parameters
    ----------
    size : int, "theory" or None
        Samples in a batch, drawn independently; None takes sqrt(n). "theory" takes |Q| of [YMS21] Theorems 3 and 4 for
        `max_iter` iterations, which need not be below n.
    sigma : float, optional
        A bound on the standard deviation of the gradient of one sample, for the bounds of these theorems.

    References
    ----------
    [YMS21] Theorems 3 and 4.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = ts.losses.LeastSquares(np.eye(4), np.ones(4))
    >>> res = ts.minimize(f, np.zeros(4), ts.terms.Box(0, 1), gradient=ts.gradients.Minibatch(2), step=0.1,
    ...                   max_iter=50, rng=0)
    >>> res.nit
    50
    """

    size: int | str | None = None
    sigma: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.size, str):
            if self.size != "theory":
                raise InputError(f"`size` must be a whole number, 'theory' or None, got {self.size!r}; try 64")
        else:
            store_sizes(self, "size")
        if self.sigma is not None and not self.sigma >= 0:
            raise InputError(f"`sigma` must be a number >= 0, got {self.sigma}; None leaves the bounds open")

    def of_size(self, size: int) -> "Minibatch":
        """Return the estimator with that size."""
        return replace(self, size=size)

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        size = batch_size(f.n, None) if self.size is None else self.size
        return f.batch(z, draw.rows(f.n, int(size), replace=True)), ()

    def step(self, loss: "FiniteSum") -> float:
        size = self.size if isinstance(self.size, int) else batch_size(loss.n, None)
        return inverse(2.0 * batch_smoothness(loss, min(size, loss.n)))
