"""Numbers of vectors that neither overflow nor vanish on the way, along the last axis of an array.

A square of 1e300 is infinite and one of 1e-300 is zero. NumPy's arrays are looked at, and scaled only where it is
needed; others are scaled always, since a look would make a GPU wait.
"""

from math import isfinite, prod

import numpy as np

from trisplit.arrays import Array, namespace
from trisplit.arrays.batched import MANY, SHORT, vdot

# Sums of squares between these lost nothing, however many entries there are.
SMALL, LARGE = {4: 1e-25, 8: 1e-250}, {4: 1e30, 8: 1e300}


def row_norms(v: Array) -> Array:
    """Return the Euclidean norm along the last axis, an array with that axis kept at length 1.

    Examples
    --------
    >>> import numpy as np
    >>> row_norms(np.array([[3e300, 4e300], [0.0, 0.0]]))
    array([[5.e+300],
           [0.e+000]])
    """
    xp = namespace(v)
    if type(v) is np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            squares = np.vecdot(v, v)[..., None]
        itemsize = max(min(v.dtype.itemsize, 8), 4)
        if (squares.size and SMALL[itemsize] < squares.min() and squares.max() < LARGE[itemsize]) or not v.any():
            return np.sqrt(squares)
    if v.shape[-1] == 0:
        return xp.sum(v, axis=-1, keepdims=True)
    size = largest(v)
    one = xp.ones_like(size)
    safe = xp.where((size > 0) & xp.isfinite(size), size, one)
    # The double `where` keeps the derivative at zero finite.
    squares = xp.sum((v / safe) ** 2, axis=-1, keepdims=True)
    return xp.where(size > 0, safe * xp.sqrt(xp.where(size > 0, squares, one)), size)


def largest(v: Array) -> Array:
    """Return the largest absolute value along the last axis, which is kept."""
    xp = namespace(v)
    sizes = xp.abs(v)
    if xp is np and v.ndim == 2 and v.shape[-1] <= SHORT and len(v) >= MANY:
        return np.ascontiguousarray(sizes.T).max(axis=0)[:, None]
    return xp.max(sizes, axis=-1, keepdims=True)


def safe_norm(x: Array, batch_ndim: int = 0) -> float:
    """Return the Euclidean norm of all of `x` as a Python float; in a batch as an array, one for each problem."""
    xp = namespace(x)
    if not batch_ndim and type(x) is np.ndarray:
        square = float(vdot(x, x)) if x.dtype.itemsize >= 8 else 0.0
        if SMALL[8] < square and isfinite(square):
            return square**0.5
    if x.ndim == batch_ndim:
        return xp.abs(x) if batch_ndim else abs(float(x))
    flat = xp.reshape(x, (*x.shape[:batch_ndim], prod(x.shape[batch_ndim:])))
    norms = row_norms(flat)[..., 0]
    return norms if batch_ndim else float(norms)  # pyright: ignore[reportReturnType]
