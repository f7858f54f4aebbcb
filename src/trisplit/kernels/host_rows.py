"""NumPy's arrays in the form in which compiled loops over the problems of a batch take them."""

import numpy as np

from trisplit.arrays import Array

DOUBLE = np.dtype(np.float64)


def is_double(x: Array) -> bool:
    """Say whether `x` is a NumPy array of double precision, which compiled loops take."""
    return type(x) is np.ndarray and x.dtype == DOUBLE


def as_rows(x: Array, n: int) -> np.ndarray:
    """Return a NumPy array as compiled loops take it, double precision in n rows; a copy only where it has to be.

    The loops do not write what comes from elsewhere, but their types say that they might.
    """
    if not (x.flags.carray and x.dtype is DOUBLE):  # in order, and not read-only
        x = np.array(x, dtype=DOUBLE, order="C")
    return x if x.ndim == 2 and len(x) == n else x.reshape(n, -1)


def shaped(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return `x.reshape(shape)`, which takes longer than to see that it is not needed."""
    return x if x.shape == shape else x.reshape(shape)


def as_numbers(x: Array) -> np.ndarray:
    """Return the entries of a NumPy array as compiled loops take them, as `as_rows` does."""
    if not (x.flags.carray and x.dtype is DOUBLE):
        x = np.array(x, dtype=DOUBLE, order="C")
    return x if x.ndim == 1 else x.reshape(-1)
