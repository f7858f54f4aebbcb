"""Terms made of a term: conjugate, envelope, shifts.

Each can do what its term can do: a capability that the term lacks is missing here too.
"""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.arrays.batched import inner, norm, scalar
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm, ClosedSet, ConvexFunction
from trisplit.terms.calculus.wrapping import (
    FunctionOf,
    Wrapper,
    conjugate_value,
    given,
    has_conjugate_value,
    need_term,
    part_has,
)
from trisplit.terms.checks import fit, like, parameter, positive
from trisplit.terms.norms.l1 import L1
from trisplit.terms.sets.box import Box, Free

__all__ = ["Conjugate", "MoreauEnvelope", "Tilt", "Translate"]


@dataclass(frozen=True)
class Conjugate(ConvexFunction):
    """The conjugate of a convex term, g*(u) = sup_x <u, x> - g(x).

    prox(u, gamma) = u - gamma prox of g (u / gamma, 1 / gamma), Moreau's identity. The conjugate of a set is its
    support function. `value` needs the support function of a set or the `conjugate_value` of a function.

    Parameters
    ----------
    term : term
        Convex.

    References
    ----------
    Moreau (1965), Proximité et dualité dans un espace hilbertien.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import Box
    >>> Conjugate(Box(-1.0, 1.0)).prox(np.array([3.0, -0.5]), gamma=1.0)
    array([2., 0.])
    """

    term: BaseTerm
    broadcast = ()
    parts = ("term",)

    def __post_init__(self) -> None:
        if not getattr(self.term, "convex", False):
            raise InputError(f"`term` must be convex, got {type(self.term).__name__}; Moreau's identity fails else")

    @property
    def cost(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term."""
        return self.term.cost

    @property
    def accuracy(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term."""
        return self.term.accuracy

    def value(self, x: Array) -> float:
        """Return the support function of a set, or the value of a function's conjugate."""
        return self.term.support(x) if self.term.indicator else self.term.conjugate_value(x)  # pyright: ignore

    def prox(self, x: Array, gamma: float) -> Array:
        """Return u - gamma prox(u / gamma, 1 / gamma)."""
        xp, t = namespace(x), scalar(gamma, self.batch_ndim)
        most = float(xp.finfo(x.dtype).max) / 16
        with np.errstate(over="ignore"):  # beyond the largest number, the largest will do
            far = xp.clip(x / t, -most, most)
        return x - t * self.term.prox(far, 1.0 / t)  # pyright: ignore[reportArgumentType]

    @property
    def host(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term."""
        return self.term.host

    @given(lambda self: self.term.indicator and hasattr(self.term, "diameter") and getattr(self.term, "bounded", True))
    def domain(self) -> ClosedSet:
        """Return the whole space: the support function of a bounded set is finite. Others are not known."""
        return Free().batched(self.batch_ndim)

    def lipschitz(self, shape: Shape) -> float:
        """Return the largest norm of a point of the domain of the term, bounded by means of its diameter."""
        diameter = getattr(self.term, "diameter", None)
        if diameter is None:
            return np.inf
        # A point of the domain is at most a diameter away from any other, such as the proximal point of 0.
        return diameter(shape) + float(np.linalg.norm(self.term.prox(np.zeros(shape), 1.0)))

    def conjugate(self) -> BaseTerm:
        """Return the term: a closed convex function is the conjugate of its conjugate."""
        return self.term

    def conjugate_value(self, u: Array) -> float:
        """Return the value of the term."""
        return self.term.value(u)

    @classmethod
    def examples(cls) -> list[tuple["Conjugate", Shape]]:
        from trisplit.terms.sets.balls import L2Ball

        return [(cls(Box(-1.0, 2.0)), (4,)), (cls(L2Ball(1.5, np.array([1.0, 0.0, -1.0]))), (3,))]


@dataclass(frozen=True)
class MoreauEnvelope(FunctionOf):
    """The Moreau envelope of a term, e(x) = min_y g(y) + ||x - y||^2 / (2 mu).

    prox(x, gamma) = (mu x + gamma p) / (mu + gamma) with p = prox of g (x, mu + gamma). It has a gradient,
    (x - prox of g (x, mu)) / mu, if g is convex.

    Parameters
    ----------
    term : term
    mu : float
        Positive.

    References
    ----------
    Bauschke, Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, proposition 24.8.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> MoreauEnvelope(L1(), mu=1.0).prox(np.array([3.0, 0.5]), gamma=1.0)
    array([2.  , 0.25])
    """

    term: BaseTerm
    mu: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        need_term(self.term)
        object.__setattr__(self, "mu", positive(self.mu, "mu"))

    def value(self, x: Array) -> float:
        """Return g(y) + ||x - y||^2 / (2 mu) at the proximal point y."""
        y = self.term.prox(x, self.mu)
        return self.term.value(y) + inner(x - y, x - y, self.batch_ndim) / (2 * self.mu)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return a point between `x` and the proximal point of the term."""
        t = scalar(gamma, self.batch_ndim)
        both = t + self.mu
        return (self.mu / both) * x + (t / both) * self.term.prox(x, both)  # pyright: ignore[reportArgumentType]

    def lipschitz(self, shape: Shape) -> float:
        """Return that of the term, if it holds on the whole space."""
        bounded = self.term.indicator or hasattr(self.term, "diameter")
        return np.inf if bounded else self.term.lipschitz(shape)  # pyright: ignore[reportAttributeAccessIssue]

    def domain(self) -> ClosedSet:
        """Return the whole space."""
        return Free().batched(self.batch_ndim)

    @given(lambda self: has_conjugate_value(self.term))
    def conjugate_value(self, u: Array) -> float:
        """Return g*(u) + mu ||u||^2 / 2."""
        return conjugate_value(self.term, u) + 0.5 * self.mu * inner(u, u, self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["MoreauEnvelope", Shape]]:
        from trisplit.terms.sets.simplex import Simplex

        return [(cls(L1(0.7), 0.5), (4,)), (cls(Simplex(), 2.0), (3,))]


@dataclass(frozen=True, eq=False)
class Translate(Wrapper):
    """A shifted term, g(x - shift).

    prox(x, gamma) = shift + prox of g (x - shift, gamma).

    Parameters
    ----------
    term : term
    shift : float or array
        An array must broadcast to the shape of x.

    References
    ----------
    Combettes, Pesquet (2011), Proximal splitting methods in signal processing, table 10.1.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> Translate(L1(), 2.0).prox(np.array([4.0, 2.5]), gamma=1.0)
    array([3., 2.])
    """

    term: BaseTerm
    shift: float | Array = 0.0
    broadcast = ("shift",)

    def __post_init__(self) -> None:
        need_term(self.term)
        object.__setattr__(self, "shift", parameter(self.shift, "shift"))

    def _shift(self, x: Array) -> Array:
        return like(self.shift, x, "shift") + namespace(x).zeros_like(x)

    def value(self, x: Array) -> float:
        """Return g(x - shift)."""
        return self.term.value(x - self._shift(x))

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal point around the shift."""
        shift = self._shift(x)
        return shift + self.term.prox(x - shift, gamma)

    @given(part_has("support"))
    def support(self, u: Array) -> float:
        """Return that of the term plus <shift, u>."""
        return self.term.support(u) + inner(self._shift(u), u, self.batch_ndim)  # pyright: ignore

    @given(part_has("lmo"))
    def lmo(self, u: Array) -> Array:
        """Return the minimiser of the term, shifted."""
        return self._shift(u) + self.term.lmo(u)  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("diameter"))
    def diameter(self, shape: Shape) -> float:
        """Return that of the term."""
        return self.term.diameter(shape)  # pyright: ignore[reportAttributeAccessIssue]

    def lipschitz(self, shape: Shape) -> float:
        """Return that of the term."""
        return self.term.lipschitz(shape)  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("domain"))
    def domain(self) -> BaseTerm:
        """Return the domain of the term, shifted."""
        return Translate(self.term.domain(), self.shift).batched(self.batch_ndim)  # pyright: ignore

    @given(lambda self: not self.indicator and has_conjugate_value(self.term))
    def conjugate_value(self, u: Array) -> float:
        """Return g*(u) + <shift, u>."""
        return conjugate_value(self.term, u) + inner(self._shift(u), u, self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["Translate", Shape]]:
        from trisplit.terms.sets.simplex import Simplex

        return [(cls(L1(0.7), np.array([1.0, -2.0, 0.0])), (3,)), (cls(Simplex(), 0.5), (4,))]


@dataclass(frozen=True, eq=False)
class Tilt(FunctionOf):
    """A term and a linear function, g(x) + <slope, x>.

    prox(x, gamma) = prox of g (x - gamma slope, gamma).

    Parameters
    ----------
    term : term
    slope : float or array
        An array must broadcast to the shape of x.

    References
    ----------
    Combettes, Pesquet (2011), Proximal splitting methods in signal processing, table 10.1.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import NonNegative
    >>> Tilt(NonNegative(), 1.0).prox(np.array([4.0, 0.5]), gamma=1.0)
    array([3., 0.])
    """

    term: BaseTerm
    slope: float | Array = 0.0
    broadcast = ("slope",)

    def __post_init__(self) -> None:
        need_term(self.term)
        object.__setattr__(self, "slope", parameter(self.slope, "slope"))

    def _slope(self, x: Array) -> Array:
        return like(self.slope, x, "slope") + namespace(x).zeros_like(x)

    def value(self, x: Array) -> float:
        """Return g(x) + <slope, x>."""
        return self.term.value(x) + inner(self._slope(x), x, self.batch_ndim)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal point of the term at x - gamma slope."""
        return self.term.prox(x - scalar(gamma, self.batch_ndim) * self._slope(x), gamma)

    @given(part_has("support"))
    def support(self, u: Array) -> float:
        """Return that of the term: the domain is the same."""
        return self.term.support(u)  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("lmo"))
    def lmo(self, u: Array) -> Array:
        """Return that of the term: the domain is the same."""
        return self.term.lmo(u)  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("diameter"))
    def diameter(self, shape: Shape) -> float:
        """Return that of the term."""
        return self.term.diameter(shape)  # pyright: ignore[reportAttributeAccessIssue]

    def lipschitz(self, shape: Shape) -> float:
        """Return that of the term plus ||slope||, an upper bound; infinite on a domain without a diameter."""
        if self.term.indicator and not hasattr(self.term, "diameter"):
            return np.inf
        slope = norm(fit(self.slope, shape, "slope"), self.batch_ndim)
        return self.term.lipschitz(shape) + slope  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("domain"))
    def domain(self) -> ClosedSet:
        """Return that of the term."""
        return self.term.domain()  # pyright: ignore[reportAttributeAccessIssue]

    @given(lambda self: has_conjugate_value(self.term))
    def conjugate_value(self, u: Array) -> float:
        """Return g*(u - slope)."""
        return conjugate_value(self.term, u - self._slope(u))

    @classmethod
    def examples(cls) -> list[tuple["Tilt", Shape]]:
        return [(cls(L1(0.7), np.array([1.0, -2.0, 0.0])), (3,)), (cls(Box(-1.0, 2.0), 0.5), (4,))]
