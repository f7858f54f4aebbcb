"""A look at the arguments of the methods of terms: other things than real numbers would give wrong answers."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

from trisplit.arrays import Array, as_floating, is_array, is_real_floating, namespace
from trisplit.errors import InputError

if TYPE_CHECKING:
    from trisplit.terms.base import BaseTerm


def of_floats(method: Callable) -> Callable:
    """Return the method with a look at the array."""

    @wraps(method)
    def looked(self: "BaseTerm", x: Array) -> object:
        return method(self, x if is_real_floating(x) else _floating(self, x))

    return looked


def prox_of_floats(method: Callable) -> Callable:
    """Return a proximal map with a look at the array and at gamma; that of gamma = 0 projects onto the domain."""

    @wraps(method)
    def looked(self: "BaseTerm", x: Array, gamma: float) -> Array:
        if not is_real_floating(x):
            x = _floating(self, x)
        if not (type(gamma) is float and gamma > 0.0):
            gamma = _step(self, x, gamma)
            if type(gamma) is float and gamma == 0.0 and hasattr(self, "domain"):
                return self.domain().project(x)  # pyright: ignore[reportAttributeAccessIssue]
        return method(self, x, gamma)

    return looked


def _floating(term: "BaseTerm", x: object) -> Array:
    """Return integers as floating-point numbers; complex numbers only for a term that takes them."""
    if not is_array(x):
        remedy = "pass np.asarray(x, dtype=float)"
        raise InputError(f"`x` must be an array of NumPy, PyTorch or JAX, got {type(x).__name__}; {remedy}")
    array: Array = x  # pyright: ignore[reportAssignmentType]
    if namespace(array).isdtype(array.dtype, "complex floating"):
        if term.of_complex:
            return array
        name = type(term).__name__
        raise InputError(
            f"{name} is a function of real numbers, got `x` of {array.dtype}; see ComplexL1 for complex ones"
        )
    return as_floating(array)


def _step(term: "BaseTerm", x: Array, gamma: object) -> float:
    """Return gamma as a float, or in a batch as an array with an axis for each of x, if it is not negative."""
    shape = getattr(gamma, "shape", ())
    if term.batch_ndim and shape:
        if len(shape) == term.batch_ndim < x.ndim:
            raise InputError(
                f"`gamma` has shape {tuple(shape)}, one number for each problem; add axes of length 1 for those of x"
            )
        return gamma  # pyright: ignore[reportReturnType]
    try:
        step = float(gamma)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        raise InputError(f"`gamma` must be a number, got {type(gamma).__name__} {shape}; for example 1.0") from None
    if step < 0:
        raise InputError(f"`gamma` must be >= 0, got {step}; it multiplies the term")
    return step
