"""Which array library an array belongs to, and the few functions that the rest of the package needs from it.

This is the only file that knows array libraries by name. Everything else asks `namespace(x)` for the functions
of the array API standard and stays portable. A number that must be known to Python (`norm`, `dots`, `float(...)`) makes
a GPU wait; inside an iteration `dot`, `length` and `where` keep it on the device.
"""

import sys
import weakref
from collections.abc import Callable
from math import inf, isfinite, prod, sqrt
from types import ModuleType
from typing import TypeAlias, TypeVar

import array_api_compat
import numpy as np
from numpy import vdot

# Any array of a library that follows the array API standard; typed as NumPy's so that operators are known.
Array: TypeAlias = np.ndarray
Kept = TypeVar("Kept")  # what is handed out as it came in

SHORT, MANY = 16, 1000  # entries of a row and rows for which NumPy's `vecdot` and `max` are the slower way

_namespaces: dict[type, ModuleType] = {}
_copies: dict[int, dict[tuple, Array]] = {}  # by the id of the original, see `constant_like`


def namespace(x: Array) -> ModuleType:
    """Return the array API namespace of `x`."""
    # NumPy 2 follows the standard itself; the shortcut saves a look-up in every proximal map.
    if type(x) is np.ndarray:
        return np
    known = _namespaces.get(type(x))
    if known is None:
        known = _namespaces[type(x)] = array_api_compat.array_namespace(x)
    return known


def library(x: Array) -> str:
    """Return the name of the library of `x`: numpy, torch, jax, ..."""
    return namespace(x).__name__.removeprefix("array_api_compat.").partition(".")[0]


def kind_of(x: object) -> str:
    """Return library and device of `x` in words, or its type if it is no array."""
    if not array_api_compat.is_array_api_obj(x):
        return type(x).__name__
    name: str = library(x)  # pyright: ignore[reportArgumentType]
    return name if name == "numpy" else f"{name} on {array_api_compat.device(x)}"


def as_floating(x: object) -> Array:
    """Return `x` as a floating-point array; arrays of a known library keep library, device and floating dtype."""
    array: Array = x if array_api_compat.is_array_api_obj(x) else np.asarray(x)  # pyright: ignore[reportAssignmentType]
    xp = namespace(array)
    if xp.isdtype(array.dtype, "real floating"):
        return array
    if xp.isdtype(array.dtype, ("bool", "integral")):
        info = array_api_compat.array_namespace(array).__array_namespace_info__()
        return xp.astype(array, info.default_dtypes()["real floating"])
    raise TypeError(f"dtype {array.dtype}")


def is_real_floating(x: object) -> bool:
    """Say whether `x` is an array of real floating-point numbers, without asking for its library."""
    dtype = getattr(x, "dtype", None)
    kind = getattr(dtype, "kind", None)  # of NumPy's dtypes, which are JAX's too; PyTorch's say it in another way
    return kind == "f" if kind is not None else getattr(dtype, "is_floating_point", False)


def fresh_copy(x: Array) -> Array:
    """Return a copy that shares nothing with `x`, without the history that automatic differentiation keeps."""
    return namespace(x).asarray(x.detach() if library(x) == "torch" else x, copy=True)  # pyright: ignore


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


def where(condition: bool | Array, x: Kept, y: Kept) -> Kept:
    """Return `x` where the condition holds, else `y`; the condition comes from a `dot` or a `length`."""
    return (x if condition else y) if isinstance(condition, bool) else namespace(condition).where(condition, x, y)


def at_least(x: float, bound: float) -> float:
    """Return max(x, bound) for a `dot` or a `length`."""
    return max(x, bound) if isinstance(x, float) else namespace(x).clip(x, bound, None)  # pyright: ignore


def smaller(x: float, y: float) -> float:
    """Return min(x, y); in a batch for each problem."""
    return min(x, y) if isinstance(x, float) else namespace(x).minimum(x, y)  # pyright: ignore[reportArgumentType]


def finite_or(value: float, other: Callable[[], float]) -> float:
    """Return `value` where it is below infinity, else `other()`; in a batch for each problem."""
    if isinstance(value, float):
        return value if value < inf else other()
    return namespace(value).where(value < inf, value, other())  # pyright: ignore[reportArgumentType]


def positive_part(x: Array) -> Array:
    """Return max(x, 0) entry by entry."""
    return np.maximum(x, 0) if type(x) is np.ndarray else namespace(x).clip(x, 0)


def inner(x: Array, y: Array, batch_ndim: int = 0) -> float:
    """Return <x, y> as a Python float, for which a GPU is waited for; in a batch as an array, one for each problem."""
    return per_problem_dot(x, y, batch_ndim) if batch_ndim else float(dot(x, y))  # pyright: ignore


def norm(x: Array, batch_ndim: int = 0) -> float:
    """Return the Euclidean norm of `x` as a Python float; in a batch as an array, one for each problem.

    Examples
    --------
    >>> import numpy as np
    >>> norm(np.ones((2, 4))) ** 2, norm(np.ones((2, 4)), batch_ndim=1)
    (8.0..., array([2., 2.]))
    """
    return per_problem_dot(x, x, batch_ndim) ** 0.5 if batch_ndim else sqrt(dot(x, x))  # pyright: ignore


def total(x: Array, batch_ndim: int = 0) -> float:
    """Return the sum of all entries as a Python float; in a batch as an array, one for each problem."""
    xp = namespace(x)
    if not batch_ndim:
        return float(xp.sum(x))
    if x.ndim == batch_ndim:
        return x  # pyright: ignore[reportReturnType]
    # A product with ones: NumPy's sums along short axes are ten times slower.
    flat = xp.reshape(x, (*x.shape[:batch_ndim], prod(x.shape[batch_ndim:])))
    with np.errstate(invalid="ignore"):  # an infinite entry meets the zeros that fill up a register
        return flat @ xp.ones(flat.shape[-1], dtype=x.dtype, device=device(x))


def per_problem_dot(x: Array, y: Array, batch_ndim: int) -> Array:
    """Return <x, y> for each problem of a batch, an array of the shape of the batch."""
    if x.ndim == batch_ndim:
        return x * y
    xp = namespace(x)
    if x.ndim > batch_ndim + 1:
        shape = (*x.shape[:batch_ndim], prod(x.shape[batch_ndim:]))
        x, y = xp.reshape(x, shape), xp.reshape(y, shape)
    if xp is np and x.shape[-1] <= SHORT and len(x) >= MANY:
        return (x * y) @ np.ones(x.shape[-1], dtype=x.dtype)
    return xp.vecdot(x, y)


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


def unchanged(gamma: float | Array, before: float | Array) -> bool:
    """Say whether a step is still what it was; arrays are compared by identity, which costs no look at a device."""
    if gamma is before:
        return True
    return isinstance(gamma, float | int) and isinstance(before, float | int) and bool(gamma == before)


def dots(*pairs: tuple[Array, Array]) -> list[float]:
    """Return the inner product of each pair as a Python float; a GPU hands all of them over at once."""
    if type(pairs[0][0]) is np.ndarray:
        return [float(vdot(x, y)) for x, y in pairs]
    xp = namespace(pairs[0][0])
    return to_numpy(xp.stack([xp.sum(x * y) for x, y in pairs])).tolist()


def norms(*arrays: Array) -> list[float]:
    """Return the Euclidean norm of each array as a Python float; a GPU hands all of them over at once."""
    if type(arrays[0]) is np.ndarray:
        return [sqrt(vdot(x, x)) for x in arrays]
    return [sqrt(square) for square in dots(*((x, x) for x in arrays))]


def eps(x: Array) -> float:
    """Return the machine epsilon of `x`'s dtype."""
    return float(namespace(x).finfo(x.dtype).eps)


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


def any_true(mask: Array) -> bool:
    """Say whether any entry is true; a GPU is waited for."""
    return bool(namespace(mask).any(mask))


def device(x: Array) -> object:
    """Return the device of `x`, as creation functions take it; None where a compiler only traces the program."""
    return array_api_compat.device(x)


def to_numpy(x: Array) -> np.ndarray:
    """Return the values of `x` as a NumPy array on the host: an explicit transfer."""
    if type(x) is np.ndarray:
        return x
    if array_api_compat.is_torch_array(x):
        return x.detach().cpu().numpy()
    if array_api_compat.is_cupy_array(x):
        return x.get()  # pyright: ignore
    if library(x) == "array_api_strict":
        x = array_api_compat.to_device(x, namespace(x).Device("CPU_DEVICE"))
    return np.asarray(x)


def on_host(x: Array) -> bool:
    """Say whether `x` is a NumPy array, whose numbers Python reads without waiting."""
    return type(x) is np.ndarray


def readable(x: Array) -> bool:
    """Say whether the numbers of `x` can be read at once: no GPU is waited for, and no compiler traces the program."""
    if type(x) is np.ndarray:
        return True
    where = device(x)
    if array_api_compat.is_torch_array(x):
        torch = sys.modules["torch"]
        if torch.compiler.is_compiling():  # first: the compiler cannot follow the other question
            return False
        return where.type == "cpu" and not torch._C._functorch.is_functorch_wrapped_tensor(x)  # pyright: ignore
    return where is not None and getattr(where, "platform", "cpu") == "cpu"


def repeated(body: Callable[..., tuple[Array, ...]], state: tuple[Array, ...], steps: int) -> tuple[Array, ...]:
    """Return the state after some steps, of arrays whose shapes and dtypes stay; JAX's compiler sees one of them."""
    if device(state[0]) is None and library(state[0]) == "jax":
        return sys.modules["jax"].lax.fori_loop(0, steps, lambda _, now: body(*now), state)
    for _ in range(steps):
        state = body(*state)
    return state


def without_history(x: Array) -> Array:
    """Return `x` as a constant for automatic differentiation."""
    if array_api_compat.is_torch_array(x):
        return x.detach()  # pyright: ignore
    return sys.modules["jax"].lax.stop_gradient(x) if library(x) == "jax" else x


def to_host(*columns: Array) -> np.ndarray:
    """Return numbers, one for each problem, as the rows of a float64 table on the host; a GPU is waited for once."""
    if type(columns[0]) is np.ndarray:
        return np.array([np.ravel(column) for column in columns], dtype=float)
    xp, dtype = namespace(columns[0]), columns[0].dtype
    return to_numpy(xp.stack([xp.reshape(xp.astype(column, dtype), (-1,)) for column in columns])).astype(float)


def as_host(value: object) -> object:
    """Return an array of any known library as a NumPy array on the host, and everything else as it is."""
    return to_numpy(value) if array_api_compat.is_array_api_obj(value) else value  # pyright: ignore


def from_numpy(values: np.ndarray, like: Array) -> Array:
    """Return `values` in the library, dtype and device of `like`: an explicit transfer to a GPU."""
    if type(like) is np.ndarray:
        return np.asarray(values, dtype=like.dtype)
    return namespace(like).asarray(np.array(values), dtype=like.dtype, device=device(like))


def is_array(value: object) -> bool:
    """Say whether `value` is an array of a known library; a number of NumPy's is none."""
    if value is None or type(value) is np.ndarray:  # by far the most frequent ones
        return value is not None
    return not isinstance(value, np.generic) and array_api_compat.is_array_api_obj(value)


def shapes_are_cheap(x: Array) -> bool:
    """Say whether arrays of ever new shapes cost nothing extra; JAX compiles every operation for each shape."""
    return library(x) != "jax"


def index_like(places: np.ndarray, x: Array) -> Array:
    """Return indices in the library and on the device of `x`."""
    return places if type(x) is np.ndarray else namespace(x).asarray(places, device=device(x))


def take_rows(x: Array, rows: Array, batch_ndim: int) -> Array:
    """Return some problems of a batch, counted through its axes, as a batch of one axis."""
    xp = namespace(x)
    if xp is np:
        return x.reshape(-1, *x.shape[batch_ndim:]).take(to_numpy(rows), axis=0)
    return xp.take(xp.reshape(x, (-1, *x.shape[batch_ndim:])), rows, axis=0)


def put_rows(x: Array, rows: Array, values: Array, batch_ndim: int, *, own: bool = False) -> Array:
    """Return a copy of `x` in which some problems of a batch, counted through its axes, are replaced.

    If nobody else has `x`, which is then an `own` one, it may be changed itself.
    """
    xp = namespace(x)
    if xp is np:
        new = x if own and x.flags.c_contiguous else x.copy()
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


def constant_like(values: np.ndarray, x: Array, *, indices: bool = False) -> Array:
    """Return `values`, which never change, in the library and on the device of `x`, and in its dtype unless indices.

    What was made is kept for as long as `values` lives: an iteration that asks again causes no transfer.
    """
    if type(x) is np.ndarray:
        return values if indices or values.dtype == x.dtype else values.astype(x.dtype)
    xp, dtype = namespace(x), None if indices else x.dtype
    torch = sys.modules.get("torch")
    if torch is not None and torch.compiler.is_compiling():
        return xp.asarray(values, dtype=dtype, device=device(x))
    if id(values) not in _copies:
        _copies[id(values)] = {}
        weakref.finalize(values, _copies.pop, id(values), None)
    copies, key = _copies[id(values)], (type(x), dtype, str(device(x)))  # CuPy cannot hash a device
    if key in copies:
        return copies[key]
    made = xp.asarray(np.array(values), dtype=dtype, device=device(x))
    if device(made) is not None:  # else it is a name in a program that is being traced, and means nothing outside
        copies[key] = made
    return made


def misfits(x: Array) -> tuple[type[Exception], ...]:
    """Return the exceptions with which the library of `x` says that shapes do not fit."""
    known = (ValueError, IndexError, TypeError)
    return (*known, RuntimeError) if library(x) == "torch" else known


def none_if_failed(compute: Callable[..., Kept], *args: object) -> Kept | None:
    """Return `compute(*args)`, None for an exception that stands for a NaN: Python numbers and LAPACK raise there."""
    try:
        return compute(*args)
    except Exception as error:
        torch = sys.modules.get("torch")
        singular = () if torch is None else (torch.linalg.LinAlgError,)
        if not isinstance(error, (ArithmeticError, np.linalg.LinAlgError, *singular)):
            raise
        return None
