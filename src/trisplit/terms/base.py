"""What all terms share: which capabilities there are, and what makes a term usable in a batch.

A closed set C is a term: its indicator, 0 on C and infinite elsewhere. Its proximal map is the Euclidean projection,
whatever gamma is.

In a batch the first axes of x count independent problems. `batched(k)` gives the term that knows how many such axes
there are: it takes a gamma for each problem and returns values, supports and distances as arrays, one number for each.
"""

from copy import copy
from inspect import isfunction
from math import inf, prod
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from trisplit.arrays import Array, Shape, as_host, device, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.arguments import of_floats, prox_of_floats
from trisplit.terms.checks import whole
from trisplit.terms.numbers import safe_norm

if TYPE_CHECKING:
    from trisplit.terms.calculus.conjugates import Conjugate

CAPABILITIES = {
    "project": "projection",
    "distance": "distance to the domain",
    "support": "support function of the domain",
    "lmo": "linear minimisation oracle",
    "diameter": "diameter of the domain",
    "lipschitz": "Lipschitz constant",
    "domain": "domain as a set",
    "conjugate": "conjugate",
    "conjugate_value": "value of the conjugate",
}


class MissingCapabilityError(InputError, AttributeError):
    """A term was asked for what it does not have; `hasattr` says so beforehand.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> hasattr(ts.terms.L1(), "project")
    False
    >>> try:
    ...     ts.terms.L1().project(np.ones(2))
    ... except ts.terms.MissingCapabilityError as error:
    ...     print(str(error)[:40])
    L1 has no projection (`project`); beside
    """


METHODS = ("value", "project", "distance", "support", "lmo", "conjugate_value")  # of an array


class BaseTerm:
    """A term of the library; it sums over the axes of x from `batch_ndim` on.

    `broadcast` names the parameters that broadcast against x, so that each problem of a batch may have its own, and
    `parts` those that are terms themselves. A class that does not say so itself, be it by an empty tuple, may hold data
    of each problem that is not known here.

    What a class says of itself: `cost`, how the time of a proximal map grows with the number n of entries; `accuracy`,
    how many units of rounding it may miss by; `host`, if it computes there whatever the array is, why;
    `diameter_exact`, whether `diameter` is attained or only an upper bound.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> term = ts.terms.L1(2.0)
    >>> isinstance(term, ts.terms.BaseTerm), term.convex, term.indicator, term.cost
    (True, True, False, 'n')
    >>> term.batched(1).value(np.ones((3, 2)))
    array([4., 4., 4.])
    """

    batch_ndim = 0
    broadcast: ClassVar[tuple[str, ...]] = ()
    parts: ClassVar[tuple[str, ...]] = ()
    convex: ClassVar[bool] = True
    indicator: ClassVar[bool] = False
    cost: ClassVar[str] = "n"
    accuracy: ClassVar[float] = 1.0
    host: ClassVar[str] = ""
    diameter_exact: ClassVar[bool] = True
    of_complex: ClassVar[bool] = False  # whether x may be complex

    def __init_subclass__(cls) -> None:
        """Let methods of arrays look at these first: what is no array of real numbers would give wrong ones."""
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if isfunction(method) and name in METHODS:
                setattr(cls, name, of_floats(method))
            elif isfunction(method) and name == "prox":
                setattr(cls, name, prox_of_floats(method))

    def value(self, x: Array) -> float:
        """Return the value at `x`, infinite outside the domain."""
        raise NotImplementedError(f"{type(self).__name__} must define `value`")

    def prox(self, x: Array, gamma: float) -> Array:
        """Return a minimiser of gamma value(y) + ||y - x||^2 / 2 over y."""
        raise NotImplementedError(f"{type(self).__name__} must define `prox`")

    def batched(self, batch_ndim: int) -> Self:
        """Return this term for arrays whose first `batch_ndim` axes count independent problems."""
        batch_ndim = whole(batch_ndim, "batch_ndim", least=0)
        own = {name: _each(getattr(self, name), lambda term: term.batched(batch_ndim)) for name in self.parts}
        return self._with({"batch_ndim": batch_ndim, **own})

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
        for name in self.parts:
            changed[name] = _each(getattr(self, name), lambda term: term.select_rows(members, shape))
            if changed[name] is None or (isinstance(changed[name], tuple) and None in changed[name]):  # pyright: ignore
                return None
        return self._with(changed)

    def _with(self, changed: dict[str, object]) -> Self:
        new = copy(self)
        for name, value in changed.items():
            object.__setattr__(new, name, value)
        return new

    if not TYPE_CHECKING:  # else every name would be known to a checker

        def __getattr__(self, name: str) -> object:
            """Say which capability is missing; only asked for names that are not there."""
            if name not in CAPABILITIES:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            own = ", ".join(f"`{other}`" for other in CAPABILITIES if hasattr(type(self), other))
            missing = f"{type(self).__name__} has no {CAPABILITIES[name]} (`{name}`)"
            raise MissingCapabilityError(f"{missing}; besides `value` and `prox` it offers {own}")


class Function(BaseTerm):
    """A function that is not the indicator of a set."""

    def lipschitz(self, shape: Shape) -> float:
        """Return infinity: no constant holds on the whole space."""
        return inf

    def domain(self) -> "ClosedSet":
        """Return the closure of {x : value(x) < inf} as a set: here all of the space."""
        from trisplit.terms.sets.box import Free  # which is a term itself

        return Free().batched(self.batch_ndim)


class ConvexFunction(Function):
    """A closed convex function."""

    def conjugate(self) -> "Conjugate":
        """Return the convex conjugate, sup_x <u, x> - g(x), as a term."""
        from trisplit.terms.calculus.conjugates import Conjugate  # which is a term itself

        return Conjugate(self)


class NonconvexFunction(Function):
    """A function that is not convex; its proximal map returns one of the minimisers."""

    convex = False


class ClosedSet(BaseTerm):
    """The indicator of a closed set that need not be convex; a subclass supplies `project`."""

    convex = False
    indicator = True

    def project(self, x: Array) -> Array:
        """Return a nearest point of the set."""
        raise NotImplementedError(f"{type(self).__name__} must define `project`")

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the projection of `x`; an indicator does not feel gamma."""
        return self.project(x)

    def distance(self, x: Array) -> float:
        """Return min over s in the set of ||x - s||."""
        return safe_norm(x - self.project(x), self.batch_ndim)

    def value(self, x: Array) -> float:
        """Return 0.0 if `x` is in the set up to rounding, else infinity."""
        k = self.batch_ndim
        rounding = 100 * self.accuracy * eps(x) * (1.0 + safe_norm(x, k)) * max(prod(x.shape[k:]), 1) ** 0.5
        return zero_where(self.distance(x) <= rounding, x)

    def lipschitz(self, shape: Shape) -> float:
        """Return 0: on its own domain an indicator is constant."""
        return 0.0

    def domain(self) -> Self:
        """Return the set itself."""
        return self


class ConvexSet(ClosedSet):
    """The indicator of a closed convex set; a subclass supplies `project`.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> box = ts.terms.Box(0, 1)
    >>> isinstance(box, ts.terms.ConvexSet), box.indicator
    (True, True)
    >>> box.project(np.array([2.0, 0.3])), float(box.distance(np.array([2.0, 0.3])))
    (array([1. , 0.3]), 1.0)
    """

    convex = True

    def conjugate(self) -> "Conjugate":
        """Return the support function of the set as a term."""
        from trisplit.terms.calculus.conjugates import Conjugate  # which is a term itself

        return Conjugate(self)


def zero_where(inside: bool | Array, x: Array) -> float:
    """Return 0.0 inside and infinity outside: a float, or in a batch an array in the dtype of `x`."""
    if isinstance(inside, bool | np.bool_):
        return 0.0 if inside else inf
    xp = namespace(x)
    return xp.where(inside, *(xp.asarray(value, dtype=x.dtype, device=device(x)) for value in (0.0, inf)))


def _each(part: object, change: object) -> object:
    """Return a term, or a tuple of terms, changed."""
    return tuple(change(term) for term in part) if isinstance(part, tuple) else change(part)  # pyright: ignore
