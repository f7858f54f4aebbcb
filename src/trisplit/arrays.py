"""Which array library an array belongs to, and the few functions that the rest of the package needs from it.

This is the only file that knows array libraries by name. Everything else asks `namespace(x)` for the functions
of the array API standard and stays portable. A number that must be known to Python (`norm`, `dots`, `float(...)`) makes
a GPU wait; inside an iteration `dot`, `length` and `where` keep it on the device.
"""

import sys
import weakref
from math import sqrt
from types import ModuleType
from typing import TypeAlias

import array_api_compat
import numpy as np
from numpy import vdot

# Any array of a library that follows the array API standard; typed as NumPy's so that operators are known.
Array: TypeAlias = np.ndarray

_namespaces: dict[type, ModuleType] = {}
_copies: dict[int, dict[tuple, Array]] = {}  # by the id of the original, see `constant_like`


def namespace(x: Array) -> ModuleType:
    """Return the array API namespace of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> namespace(np.zeros(2)).__name__
    'numpy'
    """
    # NumPy 2 follows the standard itself; the shortcut saves a look-up in every proximal map.
    if type(x) is np.ndarray:
        return np
    known = _namespaces.get(type(x))
    if known is None:
        known = _namespaces[type(x)] = array_api_compat.array_namespace(x)
    return known


def library(x: Array) -> str:
    """Return the name of the library of `x`: numpy, torch, jax, ...

    Examples
    --------
    >>> import numpy as np
    >>> library(np.zeros(2))
    'numpy'
    """
    return namespace(x).__name__.removeprefix("array_api_compat.").partition(".")[0]


def kind_of(x: object) -> str:
    """Return library and device of `x` in words, or its type if it is no array."""
    if not array_api_compat.is_array_api_obj(x):
        return type(x).__name__
    name: str = library(x)  # pyright: ignore[reportArgumentType]
    return name if name == "numpy" else f"{name} on {array_api_compat.device(x)}"


def as_floating(x: object) -> Array:
    """Return `x` as a floating-point array; arrays of a known library keep library, device and floating dtype.

    Examples
    --------
    >>> as_floating([1, 2]).dtype
    dtype('float64')
    """
    array: Array = x if array_api_compat.is_array_api_obj(x) else np.asarray(x)  # pyright: ignore[reportAssignmentType]
    xp = namespace(array)
    if xp.isdtype(array.dtype, "real floating"):
        return array
    if xp.isdtype(array.dtype, ("bool", "integral")):
        info = array_api_compat.array_namespace(array).__array_namespace_info__()
        return xp.astype(array, info.default_dtypes()["real floating"])
    raise TypeError(f"dtype {array.dtype}")


def fresh_copy(x: Array) -> Array:
    """Return a copy that shares nothing with `x`, without the history that automatic differentiation keeps."""
    return namespace(x).asarray(x.detach() if library(x) == "torch" else x, copy=True)  # pyright: ignore


def dot(x: Array, y: Array) -> float:
    """Return the Euclidean inner product <x, y> over all entries: a float in NumPy, elsewhere left on the device."""
    if type(x) is np.ndarray and type(y) is np.ndarray:
        return float(vdot(x, y))
    return namespace(x).sum(x * y)


def length(x: Array) -> float:
    """Return the Euclidean (Frobenius) norm of `x`: a float in NumPy, elsewhere left on the device."""
    return dot(x, x) ** 0.5


def where(condition: bool | Array, x: Array, y: Array) -> Array:
    """Return `x` where the condition holds, else `y`; the condition comes from a `dot` or a `length`."""
    return (x if condition else y) if isinstance(condition, bool) else namespace(x).where(condition, x, y)


def at_least(x: float, bound: float) -> float:
    """Return max(x, bound) for a `dot` or a `length`."""
    return max(x, bound) if isinstance(x, float) else namespace(x).clip(x, bound)  # pyright: ignore


def positive_part(x: Array) -> Array:
    """Return max(x, 0) entry by entry."""
    return np.maximum(x, 0) if type(x) is np.ndarray else namespace(x).clip(x, 0)


def norm(x: Array) -> float:
    """Return the Euclidean (Frobenius) norm of `x` as a Python float; on a GPU this waits for the device."""
    return sqrt(dot(x, x))


def dots(*pairs: tuple[Array, Array]) -> list[float]:
    """Return the inner product of each pair as a Python float; a GPU hands all of them over at once.

    Examples
    --------
    >>> import numpy as np
    >>> dots((np.ones(2), np.ones(2)), (np.ones(2), np.zeros(2)))
    [2.0, 0.0]
    """
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
    return bool(namespace(x).all(namespace(x).isfinite(x)))


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


def as_host(value: object) -> object:
    """Return an array of any known library as a NumPy array on the host, and everything else as it is."""
    return to_numpy(value) if array_api_compat.is_array_api_obj(value) else value  # pyright: ignore


def from_numpy(values: np.ndarray, like: Array) -> Array:
    """Return `values` in the library, dtype and device of `like`: an explicit transfer to a GPU."""
    if type(like) is np.ndarray:
        return np.asarray(values, dtype=like.dtype)
    return namespace(like).asarray(np.array(values), dtype=like.dtype, device=device(like))


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
    copies, key = _copies[id(values)], (type(x), dtype, device(x))
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


def is_numerical_failure(error: Exception) -> bool:
    """Say whether `error` stands for a NaN: Python numbers and LAPACK raise where arrays become NaN."""
    torch = sys.modules.get("torch")
    singular = () if torch is None else (torch.linalg.LinAlgError,)
    return isinstance(error, (ArithmeticError, np.linalg.LinAlgError, *singular))
