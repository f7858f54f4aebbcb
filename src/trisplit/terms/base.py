"""What all sets share, and the checks that constructors use.

A convex set C is a term: its indicator, 0 on C and infinite elsewhere. Its proximal map is the Euclidean
projection, whatever gamma is.
"""

from math import inf, isfinite
from typing import TypeAlias

import numpy as np

from trisplit.arrays import Array, eps, from_numpy, norm
from trisplit.errors import InputError

Shape: TypeAlias = tuple[int, ...]


class ConvexSet:
    """The indicator of a closed convex set; a subclass supplies `project`."""

    convex = True
    indicator = True

    def project(self, x: Array) -> Array:
        """Return the nearest point of the set."""
        raise NotImplementedError(f"{type(self).__name__} must define `project`")

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the projection of `x`; an indicator does not feel gamma."""
        return self.project(x)

    def distance(self, x: Array) -> float:
        """Return min over s in the set of ||x - s||."""
        return norm(x - self.project(x))

    def value(self, x: Array) -> float:
        """Return 0.0 if `x` is in the set up to rounding, else infinity."""
        rounding = 100 * eps(x) * (1.0 + norm(x)) * max(x.size, 1) ** 0.5
        return 0.0 if self.distance(x) <= rounding else inf

    def lipschitz(self, shape: Shape) -> float:
        """Return 0: on its own domain an indicator is constant."""
        return 0.0


def nonnegative_weight(weight: float, name: str = "weight") -> float:
    """Return `weight` as a float if it is finite and not negative."""
    value = float(weight)
    if not (isfinite(value) and value >= 0):
        raise InputError(f"`{name}` must be a finite number >= 0, got {weight!r}; terms are convex only then")
    return value


def positive(value: float, name: str) -> float:
    """Return `value` as a float if it is finite and positive."""
    number = float(value)
    if not (isfinite(number) and number > 0):
        raise InputError(f"`{name}` must be a finite number > 0, got {value!r}")
    return number


def parameter(value: object, name: str) -> float | Array:
    """Return a scalar parameter as a float, an array parameter as a floating array without NaN."""
    array = np.asarray(value, dtype=float)
    if np.isnan(array).any():
        raise InputError(f"`{name}` holds NaN; remove or replace these entries")
    return float(array) if array.ndim == 0 else array


def like(value: float | Array, x: Array) -> float | Array:
    """Return an array parameter in the library and dtype of `x`; scalars adapt by themselves."""
    return value if isinstance(value, float) else from_numpy(value, x)
