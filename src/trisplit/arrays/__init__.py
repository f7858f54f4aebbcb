"""Which array library an array belongs to, and the few functions that the rest of the package needs from it.

This folder alone knows array libraries by name. Everything else asks `namespace(x)` for the functions of the array API
standard and stays portable. Inner products, norms and the rows of batches are in `batched`.
"""

import sys
import weakref
from collections.abc import Callable
from math import inf
from types import ModuleType
from typing import TypeAlias, TypeGuard, TypeVar

import array_api_compat
import numpy as np

# Any array of a library that follows the array API standard; typed as NumPy's so that operators are known.
Array: TypeAlias = np.ndarray
Shape: TypeAlias = tuple[int, ...]
StepSize: TypeAlias = float | Array  # in a batch it may be a column, with a step for each problem
Values: TypeAlias = float | Array  # of f: a number, or one for each problem
Kept = TypeVar("Kept")  # what is handed out as it came in

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


def eps(x: Array) -> float:
    """Return the machine epsilon of `x`'s dtype."""
    return float(namespace(x).finfo(x.dtype).eps)


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


def as_host(value: object) -> object:
    """Return an array of any known library as a NumPy array on the host, and everything else as it is."""
    if type(value) is float or type(value) is np.ndarray:  # most are; the question below takes a microsecond
        return value
    return to_numpy(value) if array_api_compat.is_array_api_obj(value) else value  # pyright: ignore


def from_numpy(values: np.ndarray, like: Array) -> Array:
    """Return `values` in the library, dtype and device of `like`: an explicit transfer to a GPU."""
    if type(like) is np.ndarray:
        return np.asarray(values, dtype=like.dtype)
    return namespace(like).asarray(np.array(values), dtype=like.dtype, device=device(like))


def is_array(value: object) -> TypeGuard[Array]:
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


def stands_for_nan(error: Exception) -> bool:
    """Say whether an exception is what others return NaN for: Python numbers and LAPACK raise there."""
    torch = sys.modules.get("torch")
    singular = () if torch is None else (torch.linalg.LinAlgError,)
    return isinstance(error, (ArithmeticError, np.linalg.LinAlgError, *singular))


def none_if_failed(compute: Callable[..., Kept], *args: object) -> Kept | None:
    """Return `compute(*args)`, None for an exception that stands for a NaN."""
    try:
        return compute(*args)
    except Exception as error:
        if not stands_for_nan(error):
            raise
        return None
