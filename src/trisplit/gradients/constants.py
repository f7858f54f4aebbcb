"""Sizes of batches, and the constants of smoothness on which steps for estimated gradients rest."""

from math import ceil, sqrt
from typing import TYPE_CHECKING

from trisplit.errors import InputError
from trisplit.terms.checks import whole

if TYPE_CHECKING:
    from trisplit.losses.base import FiniteSum


def batch_size(n: int, size: int | None) -> int:
    """Return the size of batches of n samples, by default sqrt(n)."""
    if size is not None and size > n:
        raise InputError(f"`size` of a batch must be at most the number {n} of samples, got {size}; lower it")
    return ceil(sqrt(n)) if size is None else size


def store_sizes(estimator: object, *names: str) -> None:
    """Make ints of the sizes of a frozen estimator, positive whole numbers or None for the default."""
    for name in names:
        if (size := getattr(estimator, name)) is not None:
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
    return (loss.n - size) / (size * max(loss.n - 1, 1)) * constants(loss)[1]


def constants(loss: "FiniteSum") -> tuple[float, float]:
    """Return the smoothness constants of f and of its samples."""
    L, largest = getattr(loss, "lipschitz", None), getattr(loss, "sample_lipschitz", None)
    if largest is None:
        text = f"{type(loss).__name__} does not know `sample_lipschitz`, on which the step rests"
        raise InputError(f"{text}; pass `step=` a number")
    return min(float(largest if L is None else L), float(largest)), float(largest)


def inverse(L: float) -> float:
    """Return 1 / L, and 1 for L = 0."""
    return 1.0 / L if L > 0 else 1.0
