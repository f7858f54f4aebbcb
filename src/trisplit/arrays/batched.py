"""Inner products, norms and rows of arrays: of one problem, or of each problem of a batch.

In a batch the first `batch_ndim` axes count problems. A number that must be known to Python (`norm`, `dots`) makes a
GPU wait; inside an iteration `dot` and `length` keep it on the device.
"""

from math import inf, isfinite, prod, sqrt

import numpy as np

from trisplit.arrays import Array, index_like, library, namespace, to_numpy

SHORT, MANY = 16, 1000  # entries of a row and rows for which NumPy's `vecdot`, `sum` and `max` are the slower way
TINY = {False: 1e-30, True: 1e-290}  # squares in single and in double precision that may have lost their digits
ROW = 8192  # entries of an inner product that BLAS does not spread over threads


def vdot(x: np.ndarray, y: np.ndarray) -> float:
    """Return <x, y> of two NumPy arrays, in rows so short that BLAS takes no threads for them.

    Where another process has a core, a product that waits for threads takes milliseconds in place of microseconds.
    """
    if x.size <= ROW:
        return np.vdot(x, y)  # pyright: ignore[reportReturnType]
    x, y = x.reshape(-1), y.reshape(-1)
    whole = x.size - x.size % ROW
    with np.errstate(over="ignore", invalid="ignore"):  # as `np.vdot`, which says nothing either
        rows = np.vecdot(x[:whole].reshape(-1, ROW), y[:whole].reshape(-1, ROW))
        return np.add.reduce(rows) + np.vdot(x[whole:], y[whole:])


def dot(x: Array, y: Array, batch_ndim: int = 0) -> float:
    """Return the Euclidean inner product <x, y>: a float in NumPy, elsewhere left on the device.

    In a batch, one for each problem, with axes of length 1 in place of the problem's own: a column that multiplies x.
    """
    if batch_ndim:
        return column(per_problem_dot(x, y, batch_ndim), x)  # pyright: ignore[reportReturnType]
    if type(x) is np.ndarray and type(y) is np.ndarray:
        return float(vdot(x, y))
    return namespace(x).sum(x * y)


def length(x: Array, batch_ndim: int = 0) -> float:
    """Return the Euclidean (Frobenius) norm of `x`, of the same form as `dot`."""
    return dot(x, x, batch_ndim) ** 0.5


def inner(x: Array, y: Array, batch_ndim: int = 0) -> float:
    """Return <x, y> as a Python float, for which a GPU is waited for; in a batch as an array, one for each problem."""
    return per_problem_dot(x, y, batch_ndim) if batch_ndim else float(dot(x, y))  # pyright: ignore


def norm(x: Array, batch_ndim: int = 0) -> float:
    """Return the Euclidean norm of `x` as a Python float; in a batch as an array, one for each problem."""
    return per_problem_dot(x, x, batch_ndim) ** 0.5 if batch_ndim else norms(x)[0]  # pyright: ignore


def root(square: float, x: np.ndarray) -> float:
    """Return the norm of x whose square is known, anew where squares of entries underflow or overflow."""
    if TINY[x.dtype.itemsize >= 8] < square < inf:
        return sqrt(square)
    largest = float(np.abs(x).max(initial=0.0))
    return largest * sqrt(vdot(x / largest, x / largest)) if 0.0 < largest < inf else largest


def total(x: Array, batch_ndim: int = 0) -> float:
    """Return the sum of all entries as a Python float; in a batch as an array, one for each problem."""
    xp = namespace(x)
    if not batch_ndim:
        return float(xp.sum(x))
    if x.ndim == batch_ndim:
        return x  # pyright: ignore[reportReturnType]
    flat = xp.reshape(x, (*x.shape[:batch_ndim], prod(x.shape[batch_ndim:])))
    return np.einsum("...i->...", flat) if _has_short_rows(flat) else xp.sum(flat, axis=-1)


def per_problem_dot(x: Array, y: Array, batch_ndim: int) -> Array:
    """Return <x, y> for each problem of a batch, an array of the shape of the batch."""
    if x.ndim == batch_ndim:
        return x * y
    xp = namespace(x)
    if x.ndim > batch_ndim + 1:
        shape = (*x.shape[:batch_ndim], prod(x.shape[batch_ndim:]))
        x, y = xp.reshape(x, shape), xp.reshape(y, shape)
    if _has_short_rows(x):
        return np.einsum("...i,...i->...", x, y)
    if xp is np and x.shape[-1] > ROW:
        rows = zip(*(a.reshape(-1, x.shape[-1]) for a in (x, y)), strict=True)
        return np.array([vdot(*pair) for pair in rows]).reshape(x.shape[:-1])
    return xp.vecdot(x, y)


def _has_short_rows(x: Array) -> bool:
    """Say whether sums along the last axis are slow in NumPy but for `einsum`, which takes no threads either."""
    return type(x) is np.ndarray and x.shape[-1] <= SHORT and len(x) >= MANY


def column(numbers: Array, x: Array) -> Array:
    """Return numbers, one for each problem, with as many axes as `x` has, so that they multiply it."""
    return namespace(numbers).reshape(numbers, (*numbers.shape, *(1,) * (x.ndim - numbers.ndim)))


def per_problem(gamma: float | Array, batch_ndim: int) -> float:
    """Return a step, a number or a column, as a number or one for each problem."""
    if isinstance(gamma, float | int) or not gamma.shape:
        return gamma  # pyright: ignore[reportReturnType]
    return namespace(gamma).reshape(gamma, gamma.shape[:batch_ndim])


def scalar(gamma: float | Array, batch_ndim: int) -> float | Array:
    """Return a step as a Python float, which leaves the dtype of arrays alone; in a batch it may be a column."""
    return gamma if batch_ndim else float(gamma)


def dots(*pairs: tuple[Array, Array]) -> list[float]:
    """Return the inner product of each pair as a Python float; a GPU hands all of them over at once."""
    if type(pairs[0][0]) is np.ndarray:
        return [float(vdot(x, y)) for x, y in pairs]
    xp = namespace(pairs[0][0])
    return to_numpy(xp.stack([xp.sum(x * y) for x, y in pairs])).tolist()


def norms(*arrays: Array) -> list[float]:
    """Return the Euclidean norm of each array as a Python float; a GPU hands all of them over at once."""
    if type(arrays[0]) is np.ndarray:
        return [root(vdot(x, x), x) for x in arrays]
    return [sqrt(square) for square in dots(*((x, x) for x in arrays))]


def all_finite(x: Array) -> bool:
    """Say whether no entry of `x` is NaN or infinite."""
    if type(x) is np.ndarray and isfinite(vdot(x, x)):
        return True  # faster by far; a sum of squares that overflows says nothing
    return bool(namespace(x).all(namespace(x).isfinite(x)))


def each_finite(x: Array, batch_ndim: int) -> Array:
    """Say for each problem of a batch whether no entry of its `x` is NaN or infinite."""
    xp = namespace(x)
    finite = xp.isfinite(x)
    return xp.all(finite, axis=tuple(range(batch_ndim, x.ndim))) if x.ndim > batch_ndim else finite


def to_host(*columns: Array) -> np.ndarray:
    """Return numbers, one for each problem, as the rows of a float64 table on the host; a GPU is waited for once."""
    if type(columns[0]) is np.ndarray:
        return np.array([np.ravel(column) for column in columns], dtype=float)
    xp, dtype = namespace(columns[0]), columns[0].dtype
    return to_numpy(xp.stack([xp.reshape(xp.astype(column, dtype), (-1,)) for column in columns])).astype(float)


def take_rows(x: Array, rows: Array, batch_ndim: int) -> Array:
    """Return some problems of a batch, counted through its axes, as a batch of one axis."""
    xp = namespace(x)
    if xp is np:
        return x.reshape(-1, *x.shape[batch_ndim:]).take(to_numpy(rows), axis=0)
    return xp.take(xp.reshape(x, (-1, *x.shape[batch_ndim:])), rows, axis=0)


def put_rows(x: Array, rows: Array, values: Array, batch_ndim: int) -> Array:
    """Return a copy of `x` in which some problems of a batch, counted through its axes, are replaced."""
    xp = namespace(x)
    if xp is np:
        new = x.copy()
        new.reshape(-1, *x.shape[batch_ndim:])[to_numpy(rows)] = values  # C order, so that this is a view
        return new
    flat, kind = xp.reshape(x, (-1, *x.shape[batch_ndim:])), library(x)
    if kind == "jax":
        flat = flat.at[rows].set(values)  # pyright: ignore[reportAttributeAccessIssue]
    elif kind == "array_api_strict":  # the standard has no assignment to rows
        order = np.arange(flat.shape[0])
        order[to_numpy(rows)] = flat.shape[0] + np.arange(rows.shape[0])
        flat = xp.take(xp.concat([flat, values], axis=0), index_like(order, x), axis=0)
    else:
        flat = xp.asarray(flat, copy=True)
        flat[rows] = values
    return xp.reshape(flat, x.shape)


def where_rows(mask: np.ndarray, x: Array, y: Array) -> Array:
    """Return `x` for the problems of a mask, which has the shape of the batch, and `y` for the others."""
    if type(x) is np.ndarray and x.shape == y.shape and x.dtype == y.dtype and x.size > mask.size:
        # A column that is spread over short rows is slow next to a copy of the whole.
        most, few, others = (x, y, ~mask) if 2 * np.count_nonzero(mask) > mask.size else (y, x, mask)
        rows = np.flatnonzero(others)
        return put_rows(most, rows, take_rows(few, rows, mask.ndim), mask.ndim)
    return namespace(x).where(column(index_like(mask, x), x), x, y)
