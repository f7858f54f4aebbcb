"""The checks that constructors of terms use; each error names the argument, what came and the remedy."""

from math import isfinite
from operator import index

import numpy as np

from trisplit.arrays import Array, Shape, as_host, constant_like
from trisplit.errors import InputError


def nonnegative_weight(weight: float, name: str = "weight") -> float:
    """Return `weight` as a float if it is finite and not negative."""
    value = _number(weight, name)
    if not (isfinite(value) and value >= 0):
        raise InputError(f"`{name}` must be a finite number >= 0, got {value}; terms are convex only then")
    return value


def positive(value: float, name: str) -> float:
    """Return `value` as a float if it is finite and positive."""
    number = _number(value, name)
    if not (isfinite(number) and number > 0):
        raise InputError(f"`{name}` must be a finite number > 0, got {number}; for example 1.0")
    return number


def nonnegative(value: object, name: str = "weight") -> float | Array:
    """Return a number or an array of numbers that are finite and not negative."""
    given = parameter(value, name)
    if np.any(np.asarray(given) < 0):
        raise InputError(f"`{name}` must be >= 0, got {np.min(given)}; the term is convex only then")
    return given


def whole(value: object, name: str, least: int = 1) -> int:
    """Return `value` as an int if it is a whole number of at least `least`."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise InputError(f"`{name}` must be a whole number, got {_brief(value)}; for example {least}") from None
    if number < least:
        raise InputError(f"`{name}` must be at least {least}, got {number}; choose a larger one")
    return number


def yes_or_no(value: object, name: str) -> bool:
    """Return `value` if it is True or False, Python's or NumPy's."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"`{name}` must be True or False, got {_brief(value)}; choose one of them")
    return bool(value)


def axis_or_none(value: object) -> int | None:
    """Return `axis` as an int, or None for the whole array."""
    try:
        return None if value is None else index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise InputError(f"`axis` must be an integer or None, got {_brief(value)}; None takes all of x") from None


def parameter(value: object, name: str, *, infinite: bool = False) -> float | Array:
    """Return a scalar parameter as a float, an array parameter as a new floating array, without NaN."""
    try:
        given = np.asarray(as_host(value))
        if given.dtype.kind == "c":
            raise TypeError  # NumPy would drop the imaginary parts with a mere warning
        array = given.astype(float)
    except (TypeError, ValueError):
        raise InputError(f"`{name}` must hold real numbers, got {_brief(value)}; pass a float or an array") from None
    if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
        raise InputError(f"`{name}` holds NaN{'' if infinite else ' or inf'}; remove or replace these entries")
    return float(array) if array.ndim == 0 else array


def fit(value: float | Array, shape: Shape, name: str) -> Array:
    """Return a parameter broadcast to `shape`; one that would enlarge x is refused, not obeyed."""
    try:
        return np.broadcast_to(value, shape)
    except ValueError:
        came = f"`{name}` has shape {np.shape(value)} but x has shape {tuple(shape)}"
        raise InputError(f"{came}; make them equal, or give a scalar") from None


def like(value: float | Array, x: Array, name: str) -> float | Array:
    """Return an array parameter in the library, dtype and device of `x`; scalars adapt by themselves."""
    if not isinstance(value, np.ndarray):
        return value
    if value.shape != x.shape:
        fit(value, x.shape, name)
    return constant_like(value, x)


def _number(value: object, name: str) -> float:
    number = parameter(value, name, infinite=True)
    if isinstance(number, np.ndarray):
        raise InputError(f"`{name}` must be one number, got an array of shape {number.shape}; pass a float")
    return number


def _brief(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
