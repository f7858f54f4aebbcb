"""What an estimator of the gradient must offer, and f as the algorithms see it with one."""

from math import ceil, sqrt
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from trisplit.arrays import Array, index_like, is_array, namespace, to_numpy
from trisplit.errors import InputError
from trisplit.gradients.access import Access, as_finite_sum
from trisplit.gradients.draws import Draw, Source
from trisplit.parts import Function
from trisplit.terms.checks import whole

if TYPE_CHECKING:
    from trisplit.losses.base import FiniteSum


@runtime_checkable
class Estimator(Protocol):
    """A rule for u_t. It is a frozen object; what it remembers is a tuple of arrays and numbers, None at first.

    Examples
    --------
    >>> import trisplit as ts
    >>> isinstance(ts.gradients.SVRG(), ts.gradients.Estimator)
    True
    """

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        """Return the estimate of the gradient at z and what to remember."""
        ...

    def step(self, loss: "FiniteSum") -> float:
        """Return a step that is safe for a convex f, from its constants of smoothness."""
        ...


class Estimated(Function):
    """f whose gradient is estimated; everything else is its own.

    It remembers what its estimator does: `saved` and `restore` carry that over to another run.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> loss = ts.losses.LeastSquares(np.eye(2), np.ones(2))
    >>> f = ts.gradients.Estimated(ts.Problem(loss, ts.terms.L1()).f, ts.gradients.Minibatch(2), key=0)
    >>> f.grad(np.zeros(2)).sum(), f.counts.samples
    (np.float64(-1.0), 2)
    """

    def __init__(self, exact: Function, estimator: Estimator, key: int) -> None:
        super().__init__(exact.source, 0, exact.counts)
        self.access = Access(as_finite_sum(exact.source, estimator), exact.counts)
        self.estimator, self.key, self.t = estimator, key, 0
        self.source = Source(key)
        self.dtype = exact.dtype
        self.memory: tuple | None = None
        self.before: tuple[tuple | None, int] = None, 0  # memory and t before the last estimate

    def grad(self, x: Array) -> Array:
        """Return the estimate of this iteration."""
        self.counts.grad += 1
        u, memory = self.estimator.estimate(self.memory, self.access, x, Draw(self.key, self.t, self.source))
        self.before = self.memory, self.t
        self.memory, self.t = memory, self.t + 1
        return u if self.dtype is None else namespace(u).astype(u, self.dtype)

    def saved(self, iterations: int) -> tuple[dict, dict[str, np.ndarray]]:
        """Return numbers and arrays from which `restore` goes on after so many iterations.

        An interrupt may come in the midst of the next one: then its estimate is forgotten.
        """
        memory, t = (self.memory, self.t) if self.t <= iterations else self.before
        items = {f"gradient.{i}": item for i, item in enumerate(memory or ())}
        arrays = {name: to_numpy(item) for name, item in items.items() if is_array(item)}
        numbers = {name: item for name, item in items.items() if name not in arrays}
        return {"key": self.key, "t": t, "length": len(items), "numbers": numbers}, arrays

    def restore(self, info: dict, arrays: dict[str, np.ndarray], like: Array) -> None:
        """Go on from what `saved` returned, with arrays in the library and on the device of `like`."""
        self.key, self.t = info["key"], info["t"]
        self.source = Source(self.key)
        names = [f"gradient.{i}" for i in range(info["length"])]
        numbers = info["numbers"]
        self.memory = tuple(numbers[name] if name in numbers else index_like(arrays[name], like) for name in names)


class Sizes(NamedTuple):
    """What an estimator with default sizes takes for a sum of n functions."""

    size: int
    every: int


def sizes(n: int, size: int | None, every: int | None = None) -> Sizes:
    """Return the size of batches, by default sqrt(n), and the iterations between full gradients, by default a pass."""
    batch = min(n, ceil(sqrt(n))) if size is None else size
    if batch > n:
        raise InputError(f"`size` of a batch must be at most the number {n} of samples, got {size}; lower it")
    return Sizes(batch, max(1, ceil(n / batch)) if every is None else every)


def store_sizes(estimator: object, *names: str) -> None:
    """Make ints of the sizes of a frozen estimator, positive whole numbers or None for the default."""
    for name in names:
        size = getattr(estimator, name)
        if isinstance(size, bool | np.bool_):
            raise InputError(f"`{name}` must be a whole number, got {size}; for example 64")
        if size is not None:
            object.__setattr__(estimator, name, whole(size, name))


def batch_smoothness(loss: "FiniteSum", size: int) -> float:
    """Return the expected smoothness of the mean of `size` different samples, between that of f and of one sample.

    N. Gazagnadou, R. M. Gower, J. Salmon (2019), Optimal mini-batch and step sizes for SAGA, equation 10.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = ts.losses.LeastSquares(np.eye(4), np.ones(4))
    >>> f.lipschitz, batch_smoothness(f, 2), f.sample_lipschitz
    (0.25, 0.5, 1.0)
    """
    (L, largest), n = constants(loss), loss.n
    if n == 1:
        return largest
    return n * (size - 1) / (size * (n - 1)) * L + batch_noise(loss, size)


def batch_noise(loss: "FiniteSum", size: int) -> float:
    """Return the part of `batch_smoothness` that samples bring in; it vanishes if a batch has all of them."""
    n = loss.n
    return 0.0 if n == 1 else (n - size) / (size * (n - 1)) * constants(loss)[1]


def constants(loss: "FiniteSum") -> tuple[float, float]:
    """Return the smoothness constants of f and of its samples."""
    L, largest = getattr(loss, "lipschitz", None), getattr(loss, "sample_lipschitz", None)
    if largest is None:
        text = f"{type(loss).__name__} does not know `sample_lipschitz`, on which the step rests"
        raise InputError(f"{text}; pass `step=` a number")
    largest = float(largest)
    return (largest if L is None else min(float(L), largest)), largest


def inverse(L: float) -> float:
    """Return 1 / L, and 1 for L = 0."""
    return 1.0 / L if L > 0 else 1.0
