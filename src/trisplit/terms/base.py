"""What all sets share, and the checks that constructors use.

A convex set C is a term: its indicator, 0 on C and infinite elsewhere. Its proximal map is the Euclidean
projection, whatever gamma is.

In a batch the first axes of x count independent problems. `batched(k)` gives the term that knows how many such axes
there are: it takes a gamma for each problem and returns values, supports and distances as arrays, one number for each.
"""

from copy import copy
from math import inf, isfinite, prod
from typing import ClassVar, Self, TypeAlias

import numpy as np

from trisplit.arrays import Array, as_host, constant_like, device, eps, namespace, norm
from trisplit.errors import InputError

Shape: TypeAlias = tuple[int, ...]


class Batchable:
    """What makes a term usable in a batch; its sums go over the axes from `batch_ndim` on.

    `broadcast` names the parameters that broadcast against x, so that each problem of a batch may have its own. A class
    that does not say so itself, be it by an empty tuple, may hold data of each problem that is not known here.
    """

    batch_ndim = 0
    broadcast: ClassVar[tuple[str, ...]] = ()

    def batched(self, batch_ndim: int) -> Self:
        """Return this term for arrays whose first `batch_ndim` axes count independent problems."""
        return self._with({"batch_ndim": batch_ndim})

    def select_rows(self, members: tuple[Array, ...], shape: Shape) -> Self | None:
        """Return the term for some problems of a batch of that shape: those at `x[members]`, in a batch of one axis.

        None if the class does not declare `broadcast`: a class derived from a term defines `select(members)` instead.
        """
        if "broadcast" not in vars(type(self)):
            return None
        k = self.batch_ndim
        changed: dict[str, object] = {"batch_ndim": 1}
        for name in self.broadcast:
            value = getattr(self, name)
            own = len(shape) - k
            if isinstance(value, np.ndarray) and value.ndim > own:
                each = np.broadcast_to(value, (*shape[:k], *value.shape[value.ndim - own :]))
                changed[name] = each[tuple(np.asarray(as_host(index)) for index in members)]
        return self._with(changed)

    def _with(self, changed: dict[str, object]) -> Self:
        new = copy(self)
        for name, value in changed.items():
            object.__setattr__(new, name, value)
        return new


class ConvexSet(Batchable):
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
        return norm(x - self.project(x), self.batch_ndim)

    def value(self, x: Array) -> float:
        """Return 0.0 if `x` is in the set up to rounding, else infinity."""
        k = self.batch_ndim
        rounding = 100 * eps(x) * (1.0 + norm(x, k)) * max(prod(x.shape[k:]), 1) ** 0.5
        return zero_where(self.distance(x) <= rounding, x)

    def lipschitz(self, shape: Shape) -> float:
        """Return 0: on its own domain an indicator is constant."""
        return 0.0


def zero_where(inside: bool | Array, x: Array) -> float:
    """Return 0.0 inside and infinity outside: a float, or in a batch an array in the dtype of `x`."""
    if isinstance(inside, bool | np.bool_):
        return 0.0 if inside else inf
    xp = namespace(x)
    return xp.where(inside, *(xp.asarray(value, dtype=x.dtype, device=device(x)) for value in (0.0, inf)))


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
