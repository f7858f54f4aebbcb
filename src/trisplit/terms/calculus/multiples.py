"""Terms made of a term: multiples of it or of its argument, and a ridge added to it."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.arrays.batched import inner, scalar
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm
from trisplit.terms.blocks import Entries
from trisplit.terms.calculus.wrapping import (
    FunctionOf,
    Wrapper,
    conjugate_value,
    given,
    has_conjugate_value,
    need_term,
    part_has,
)
from trisplit.terms.checks import like, parameter, positive
from trisplit.terms.norms.l1 import L1, SquaredL2, Zero
from trisplit.terms.sets.box import Box, Free, NonNegative

__all__ = ["ComposeDiagonal", "Regularise", "Scale", "Weighted"]

SEPARABLE = (Entries, L1, SquaredL2, Zero, Box, NonNegative, Free)


@dataclass(frozen=True)
class Scale(Wrapper):
    """A term of a multiple of x, g(factor x).

    prox(x, gamma) = prox of g (factor x, factor^2 gamma) / factor.

    Parameters
    ----------
    term : term
    factor : float
        Not 0.

    References
    ----------
    Combettes, Pesquet (2011), Proximal splitting methods in signal processing, table 10.1.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> Scale(L1(), 2.0).prox(np.array([4.0, 0.5]), gamma=1.0)
    array([2., 0.])
    """

    term: BaseTerm
    factor: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        need_term(self.term)
        factor = parameter(self.factor, "factor")
        if isinstance(factor, np.ndarray) or factor == 0:
            raise InputError(f"`factor` must be a number but 0, got {self.factor!r}; for arrays use `ComposeDiagonal`")
        object.__setattr__(self, "factor", factor)

    def value(self, x: Array) -> float:
        """Return g(factor x)."""
        return self.term.value(self.factor * x)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal point of the term at factor x, divided."""
        t = scalar(gamma, self.batch_ndim)
        return self.term.prox(self.factor * x, self.factor**2 * t) / self.factor  # pyright: ignore

    @given(part_has("support"))
    def support(self, u: Array) -> float:
        """Return that of the term at u / factor."""
        return self.term.support(u / self.factor)  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("lmo"))
    def lmo(self, u: Array) -> Array:
        """Return that of the term at u / factor, divided."""
        return self.term.lmo(u / self.factor) / self.factor  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("diameter"))
    def diameter(self, shape: Shape) -> float:
        """Return that of the term over |factor|."""
        return self.term.diameter(shape) / abs(self.factor)  # pyright: ignore[reportAttributeAccessIssue]

    def lipschitz(self, shape: Shape) -> float:
        """Return that of the term times |factor|."""
        return self.term.lipschitz(shape) * abs(self.factor)  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("domain"))
    def domain(self) -> BaseTerm:
        """Return the domain of the term, scaled."""
        return Scale(self.term.domain(), self.factor).batched(self.batch_ndim)  # pyright: ignore

    @given(lambda self: not self.indicator and has_conjugate_value(self.term))
    def conjugate_value(self, u: Array) -> float:
        """Return g*(u / factor)."""
        return conjugate_value(self.term, u / self.factor)

    @classmethod
    def examples(cls) -> list[tuple["Scale", Shape]]:
        from trisplit.terms.sets.simplex import Simplex

        return [(cls(L1(0.7), -1.5), (3,)), (cls(Simplex(), 0.5), (4,))]


@dataclass(frozen=True)
class Weighted(Wrapper):
    """A multiple of a term, weight * g(x).

    prox(x, gamma) = prox of g (x, weight gamma). A multiple of a set is the set.

    Parameters
    ----------
    term : term
    weight : float
        Positive.

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> Weighted(L1(), 2.0).prox(np.array([4.0, 0.5]), gamma=1.0)
    array([2., 0.])
    """

    term: BaseTerm
    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        need_term(self.term)
        object.__setattr__(self, "weight", positive(self.weight, "weight"))

    def value(self, x: Array) -> float:
        """Return weight g(x)."""
        return self.weight * self.term.value(x)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal point of the term for weight gamma."""
        return self.term.prox(x, self.weight * scalar(gamma, self.batch_ndim))  # pyright: ignore

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
        """Return weight times that of the term."""
        return self.weight * self.term.lipschitz(shape)  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("domain"))
    def domain(self) -> BaseTerm:
        """Return that of the term."""
        return self.term.domain()  # pyright: ignore[reportAttributeAccessIssue]

    @given(lambda self: not self.indicator and has_conjugate_value(self.term))
    def conjugate_value(self, u: Array) -> float:
        """Return weight g*(u / weight)."""
        return self.weight * conjugate_value(self.term, u / self.weight)

    @classmethod
    def examples(cls) -> list[tuple["Weighted", Shape]]:
        return [(cls(SquaredL2(0.7), 1.5), (3,)), (cls(Box(-1.0, 2.0), 0.5), (4,))]


@dataclass(frozen=True, eq=False)
class Regularise(FunctionOf):
    """A term with a ridge, g(x) + (ridge / 2) ||x - center||^2.

    prox(x, gamma) = prox of g ((x + gamma ridge center) / c, gamma / c) with c = 1 + gamma ridge.

    Parameters
    ----------
    term : term
    ridge : float
        Positive.
    center : float or array
        An array must broadcast to the shape of x.

    References
    ----------
    Combettes, Pesquet (2011), Proximal splitting methods in signal processing, table 10.1.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> Regularise(L1(), ridge=1.0).prox(np.array([4.0, 0.5]), gamma=1.0)
    array([1.5, 0. ])
    """

    term: BaseTerm
    ridge: float = 1.0
    center: float | Array = 0.0
    broadcast = ("center",)

    def __post_init__(self) -> None:
        need_term(self.term)
        object.__setattr__(self, "ridge", positive(self.ridge, "ridge"))
        object.__setattr__(self, "center", parameter(self.center, "center"))

    def _center(self, x: Array) -> Array:
        return like(self.center, x, "center") + namespace(x).zeros_like(x)

    def value(self, x: Array) -> float:
        """Return g(x) + (ridge / 2) ||x - center||^2."""
        away = x - self._center(x)
        return self.term.value(x) + 0.5 * self.ridge * inner(away, away, self.batch_ndim)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal point of the term nearer to the centre."""
        t = scalar(gamma, self.batch_ndim)
        c = 1.0 + t * self.ridge
        nearer = x / c + (t * self.ridge / c) * self._center(x)
        return self.term.prox(nearer, t / c)  # pyright: ignore[reportArgumentType]

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
        """Return infinity: no constant is known."""
        return np.inf

    @given(part_has("domain"))
    def domain(self) -> BaseTerm:
        """Return that of the term."""
        return self.term.domain()  # pyright: ignore[reportAttributeAccessIssue]

    @given(lambda self: self.term.convex)
    def conjugate_value(self, u: Array) -> float:
        """Return <u, y> - value(y) at the y where it is largest, a proximal point of the term."""
        y = self.term.prox(self._center(u) + u / self.ridge, 1.0 / self.ridge)
        return inner(u, y, self.batch_ndim) - self.value(y)

    @classmethod
    def examples(cls) -> list[tuple["Regularise", Shape]]:
        from trisplit.terms.sets.simplex import Simplex

        return [(cls(L1(0.7), 0.5, np.array([1.0, -2.0, 0.0])), (3,)), (cls(Simplex(), 2.0), (4,))]


@dataclass(frozen=True, eq=False)
class ComposeDiagonal(Wrapper):
    """A separable term of x with its entries scaled, g(scale * x).

    prox(x, gamma)_i = prox of g_i (scale_i x_i, scale_i^2 gamma) / scale_i.

    Parameters
    ----------
    term : term
        A sum over entries, such as `L1` or `Box`.
    scale : float or array
        No entry 0; an array must broadcast to the shape of x.

    References
    ----------
    Combettes, Pesquet (2011), Proximal splitting methods in signal processing, table 10.1.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> ComposeDiagonal(L1(), np.array([2.0, 1.0])).prox(np.array([4.0, 1.5]), gamma=1.0)
    array([2. , 0.5])
    """

    term: BaseTerm
    scale: float | Array = 1.0
    broadcast = ("scale",)

    def __post_init__(self) -> None:
        need_term(self.term)
        if not isinstance(self.term, SEPARABLE):
            raise InputError(f"`term` must be a sum over entries, got {type(self.term).__name__}; use `Scale`")
        object.__setattr__(self, "scale", parameter(self.scale, "scale"))
        if np.any(np.asarray(self.scale) == 0):
            raise InputError("`scale` has an entry 0; leave that entry out with `Restrict`")

    def _scale(self, x: Array) -> Array:
        return like(self.scale, x, "scale") + namespace(x).zeros_like(x)

    def value(self, x: Array) -> float:
        """Return g(scale * x)."""
        return self.term.value(self._scale(x) * x)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal point of each entry with a gamma of its own."""
        d = self._scale(x)
        each = self.term.batched(x.ndim)  # every entry is a problem of a batch
        return each.prox(d * x, d**2 * scalar(gamma, self.batch_ndim)) / d  # pyright: ignore[reportArgumentType]

    @given(part_has("support"))
    def support(self, u: Array) -> float:
        """Return that of the term at u / scale."""
        return self.term.support(u / self._scale(u))  # pyright: ignore[reportAttributeAccessIssue]

    def lipschitz(self, shape: Shape) -> float:
        """Return that of the term times the largest |scale|, an upper bound."""
        return self.term.lipschitz(shape) * float(np.max(np.abs(self.scale)))  # pyright: ignore

    @given(part_has("domain"))
    def domain(self) -> BaseTerm:
        """Return the domain of the term, scaled."""
        return ComposeDiagonal(self.term.domain(), self.scale).batched(self.batch_ndim)  # pyright: ignore

    @given(lambda self: not self.indicator and has_conjugate_value(self.term))
    def conjugate_value(self, u: Array) -> float:
        """Return g*(u / scale)."""
        return conjugate_value(self.term, u / self._scale(u))

    @classmethod
    def examples(cls) -> list[tuple["ComposeDiagonal", Shape]]:
        scale = np.array([1.0, -2.0, 0.5])
        return [(cls(L1(0.7), scale), (3,)), (cls(Box(-1.0, 2.0), scale), (2, 3))]
