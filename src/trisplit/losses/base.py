"""What all losses share.

A loss is a smooth function f(x), convex or not. Most are means over samples, f = (f_1 + ... + f_n) / n, whose gradient
can be estimated from some of them: that is what `trisplit.gradients` needs.
"""

from typing import ClassVar, Self

import numpy as np

from trisplit.arrays import Array, Shape, is_array, is_real_floating, namespace
from trisplit.errors import InputError


class Loss:
    """A smooth function.

    What a class says of itself: `convex`, whether it is; `lipschitz`, a smoothness constant (its gradient moves by at
    most that times the distance of two points), None where there is none or it is not known; `shape`, that of x, None
    where any shape will do.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> class Sine(ts.losses.Loss):
    ...     convex, lipschitz = False, 1.0
    ...
    ...     def value_and_grad(self, x):
    ...         return float(np.sin(x).sum()), np.cos(x)
    >>> ts.minimize(Sine(), np.zeros(1), ts.terms.Box(-1, 1)).x
    array([-1.])
    """

    convex: bool = True
    lipschitz: float | None = None
    shape: Shape | None = None
    batch_ndim: int = 0  # the first axes of x count so many problems
    name: ClassVar[str]  # in the registry, where it is not the name of the class in lower case

    def value(self, x: Array) -> float:
        """Return f(x)."""
        return self.value_and_grad(x)[0]

    def grad(self, x: Array) -> Array:
        """Return the gradient at `x`."""
        return self.value_and_grad(x)[1]

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return f(x) and its gradient, which share work."""
        raise NotImplementedError(f"{type(self).__name__} must define `value_and_grad`")

    def check(self, x: Array) -> None:
        """Raise an `InputError` if `x` is no array of floating-point numbers of the shape that the loss takes."""
        if not is_real_floating(x) and not (is_array(x) and namespace(x).isdtype(x.dtype, "real floating")):
            came = getattr(x, "dtype", type(x).__name__)
            raise InputError(f"`x` must hold real floating-point numbers, got {came}; convert it to float64")
        if self.shape is not None and tuple(x.shape)[self.batch_ndim :] != self.shape:
            came = f"got {tuple(x.shape)[self.batch_ndim :]}; change x0 or the data"
            raise InputError(f"`x` of {type(self).__name__} must have shape {self.shape}, {came}")

    @classmethod
    def examples(cls) -> list[tuple[Self, Shape]]:
        """Return losses with the shape of x that they take, for tests and documentation."""
        raise NotImplementedError(f"{cls.__name__} must define `examples`")


class FiniteSum(Loss):
    """The mean of `n` functions, one for each sample.

    `sample_lipschitz` is a smoothness constant of each of them. `rows` below are indices of samples, an array of
    integers of NumPy's in which one may stand more than once.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = ts.losses.LeastSquares(np.eye(3), np.array([1.0, 2.0, 3.0]))
    >>> isinstance(f, ts.losses.FiniteSum), f.n
    (True, 3)
    >>> f.batch_grad(np.zeros(3), np.array([0, 2]))
    array([-0.5,  0. , -1.5])
    """

    n: int
    sample_lipschitz: float | None = None

    def batch_grad(self, x: Array, rows: np.ndarray) -> Array:
        """Return the mean of the gradients of some samples."""
        xp = namespace(x)
        return xp.mean(self.sample_grads(x, rows), axis=0)

    def sample_grads(self, x: Array, rows: np.ndarray) -> Array:
        """Return the gradients of some samples, one after another along a new first axis."""
        raise NotImplementedError(f"{type(self).__name__} must define `sample_grads`")

    def check_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return indices of samples, or raise an `InputError` if there are no such samples."""
        rows = np.asarray(rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not rows.size:
            came = f"got {rows.dtype} of shape {rows.shape}"
            raise InputError(f"`rows` must be a vector of at least one index, {came}; see `np.arange`")
        if rows.min() < 0 or rows.max() >= self.n:
            came = f"got {rows.min()} to {rows.max()}; there are {self.n} samples"
            raise InputError(f"`rows` must lie between 0 and {self.n - 1}, {came}")
        return rows


def as_number(value: float) -> float:
    """Return a number of NumPy's as one of Python's; one that another library computes stays where it is."""
    return float(value) if isinstance(value, np.generic) else value
