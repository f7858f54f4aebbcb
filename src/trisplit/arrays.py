"""Which array library an array belongs to, and the few reductions that the rest of the package needs.

This is the only file that knows array libraries by name. Everything else asks `namespace(x)` for the functions
of the array API standard and stays portable.
"""

from types import ModuleType
from typing import TypeAlias

import array_api_compat
import numpy as np

# Any array of a library that follows the array API standard; typed as NumPy's so that operators are known.
Array: TypeAlias = np.ndarray


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
    return array_api_compat.array_namespace(x)


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
        return xp.astype(array, xp.float64)
    raise TypeError(f"dtype {array.dtype}")


def dot(x: Array, y: Array) -> float:
    """Return the Euclidean inner product <x, y> over all entries."""
    if type(x) is np.ndarray and type(y) is np.ndarray:
        return float(np.vdot(x, y))
    return namespace(x).sum(x * y)


def positive_part(x: Array) -> Array:
    """Return max(x, 0) entry by entry."""
    return np.maximum(x, 0) if type(x) is np.ndarray else namespace(x).clip(x, 0)


def norm(x: Array) -> float:
    """Return the Euclidean (Frobenius) norm of `x` as a Python float; on a GPU this waits for the device."""
    return float(dot(x, x)) ** 0.5


def eps(x: Array) -> float:
    """Return the machine epsilon of `x`'s dtype."""
    return float(namespace(x).finfo(x.dtype).eps)


def all_finite(x: Array) -> bool:
    """Say whether no entry of `x` is NaN or infinite."""
    return bool(namespace(x).all(namespace(x).isfinite(x)))


def to_numpy(x: Array) -> np.ndarray:
    """Copy `x` to a NumPy array on the host: an explicit transfer, never called inside an iteration."""
    return x if type(x) is np.ndarray else np.asarray(array_api_compat.to_device(x, "cpu"))


def from_numpy(values: np.ndarray, like: Array) -> Array:
    """Return `values` in the library, dtype and device of `like`."""
    if type(like) is np.ndarray:
        return np.asarray(values, dtype=like.dtype)
    return namespace(like).asarray(values, dtype=like.dtype, device=array_api_compat.device(like))
