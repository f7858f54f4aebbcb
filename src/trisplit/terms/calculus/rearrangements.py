"""A term on x in another shape, on some entries of x, or different terms on its pieces."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from trisplit.arrays import Array, Shape, constant_like, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm, zero_where
from trisplit.terms.calculus.wrapping import (
    Wrapper,
    conjugate_value,
    given,
    has_conjugate_value,
    need_term,
    part_has,
    step_for,
)
from trisplit.terms.checks import whole
from trisplit.terms.numbers import safe_norm

__all__ = ["Reshape", "Restrict", "SeparableSum"]


@dataclass(frozen=True)
class Reshape(Wrapper):
    """A term on x in another shape, g(reshape(x, shape)).

    prox(x, gamma) is that of g at the reshaped x, in the shape of x.

    Parameters
    ----------
    term : term
    shape : tuple of int
        With as many entries as x.

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 2.2 (an orthogonal change of variables).

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import NuclearNorm
    >>> Reshape(NuclearNorm(), (2, 2)).prox(np.array([3.0, 0.0, 0.0, 0.5]), gamma=1.0)
    array([2., 0., 0., 0.])
    """

    term: BaseTerm
    shape: Shape
    broadcast = ()

    def __post_init__(self) -> None:
        need_term(self.term)
        given = self.shape if isinstance(self.shape, Sequence) else (self.shape,)
        object.__setattr__(self, "shape", tuple(whole(side, "shape") for side in given))

    def _inner_shape(self, shape: Shape) -> Shape:
        own = tuple(shape[self.batch_ndim :])
        if prod(own) != prod(self.shape):
            raise InputError(f"`shape` is {self.shape} but x has shape {own}; the numbers of entries must be equal")
        return (*shape[: self.batch_ndim], *self.shape)

    def _inside(self, x: Array) -> Array:
        return namespace(x).reshape(x, self._inner_shape(tuple(x.shape)))

    def value(self, x: Array) -> float:
        """Return the value of the term."""
        return self.term.value(self._inside(x))

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal point of the term."""
        t = step_for(gamma, self.batch_ndim, len(self.shape))
        return namespace(x).reshape(self.term.prox(self._inside(x), t), x.shape)

    @given(part_has("support"))
    def support(self, u: Array) -> float:
        """Return that of the term."""
        return self.term.support(self._inside(u))  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("lmo"))
    def lmo(self, u: Array) -> Array:
        """Return that of the term."""
        return namespace(u).reshape(self.term.lmo(self._inside(u)), u.shape)  # pyright: ignore

    @given(part_has("diameter"))
    def diameter(self, shape: Shape) -> float:
        """Return that of the term."""
        return self.term.diameter(self._inner_shape(shape))  # pyright: ignore[reportAttributeAccessIssue]

    def lipschitz(self, shape: Shape) -> float:
        """Return that of the term."""
        return self.term.lipschitz(self._inner_shape(shape))  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("domain"))
    def domain(self) -> BaseTerm:
        """Return that of the term, in the shape of x."""
        return self._with({"term": self.term.domain()})  # pyright: ignore[reportAttributeAccessIssue]

    @given(lambda self: not self.indicator and has_conjugate_value(self.term))
    def conjugate_value(self, u: Array) -> float:
        """Return that of the term."""
        return conjugate_value(self.term, self._inside(u))

    def select_rows(self, members: tuple[Array, ...], shape: Shape) -> "Reshape | None":
        """Return the term for some problems of a batch; its own term is asked with the other shape."""
        part = self.term.select_rows(members, self._inner_shape(shape))
        return None if part is None else self._with({"batch_ndim": 1, "term": part})

    @classmethod
    def examples(cls) -> list[tuple["Reshape", Shape]]:
        from trisplit.terms.matrix.nuclear import NuclearNorm
        from trisplit.terms.sets.simplex import Simplex

        return [(cls(NuclearNorm(0.6), (2, 3)), (6,)), (cls(Simplex(), (4,)), (2, 2))]


@dataclass(frozen=True, eq=False)
class Restrict(Wrapper):
    """A term on some entries of a vector, g(x[indices]); the others are free.

    prox(x, gamma) replaces these entries by the proximal point of g.

    Parameters
    ----------
    term : term
        Of a vector with as many entries as there are indices.
    indices : sequence of int
        Not negative, each once.

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 2.1 (separable sums).

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import Simplex
    >>> Restrict(Simplex(), [0, 2]).prox(np.array([3.0, 5.0, 0.0]), gamma=1.0)
    array([1., 5., 0.])
    """

    term: BaseTerm
    indices: Sequence[int]
    broadcast = ()
    _chosen: Array = field(init=False, repr=False)
    _places: dict[int, Array] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        need_term(self.term)
        indices = [whole(index, "indices", least=0) for index in self.indices]
        if not indices or len(set(indices)) != len(indices):
            raise InputError(f"`indices` must name at least one entry, each once, got {indices}; list each once")
        object.__setattr__(self, "indices", tuple(indices))
        object.__setattr__(self, "_chosen", np.array(indices))

    def _take(self, x: Array) -> Array:
        k = self.batch_ndim
        if x.ndim != k + 1 or x.shape[-1] <= max(self.indices):
            shape = tuple(x.shape[k:])
            raise InputError(f"`indices` reach {max(self.indices)} but x has shape {shape}; x must be a longer vector")
        return namespace(x).take(x, constant_like(self._chosen, x, indices=True), axis=-1)

    def _put(self, x: Array, values: Array) -> Array:
        """Return `x` with the chosen entries replaced: a look-up in x and the values together."""
        n = x.shape[-1]
        if n not in self._places:
            places = np.arange(n)
            places[self._chosen] = n + np.arange(len(self.indices))
            self._places[n] = places
        xp = namespace(x)
        return xp.take(xp.concat([x, values], axis=-1), constant_like(self._places[n], x, indices=True), axis=-1)

    def _inner_shape(self, shape: Shape) -> Shape:
        return (*shape[: self.batch_ndim], len(self.indices))

    def value(self, x: Array) -> float:
        """Return the value of the term at the chosen entries."""
        return self.term.value(self._take(x))

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with the chosen entries moved."""
        return self._put(x, self.term.prox(self._take(x), step_for(gamma, self.batch_ndim, 1)))

    def lipschitz(self, shape: Shape) -> float:
        """Return that of the term."""
        return self.term.lipschitz(self._inner_shape(shape))  # pyright: ignore[reportAttributeAccessIssue]

    @given(part_has("domain"))
    def domain(self) -> BaseTerm:
        """Return the points whose chosen entries are in the domain of the term."""
        return self._with({"term": self.term.domain()})  # pyright: ignore[reportAttributeAccessIssue]

    @given(lambda self: not self.indicator and has_conjugate_value(self.term))
    def conjugate_value(self, u: Array) -> float:
        """Return that of the term, infinite if another entry is not 0."""
        k, chosen = self.batch_ndim, self._take(u)
        others = self._put(u, namespace(u).zeros_like(chosen))
        zero = safe_norm(others, k) <= 100 * self.accuracy * eps(u) * (1.0 + safe_norm(u, k))
        return conjugate_value(self.term, chosen) + zero_where(zero, u)

    def select_rows(self, members: tuple[Array, ...], shape: Shape) -> "Restrict | None":
        """Return the term for some problems of a batch; its own term is asked with the shape of the entries."""
        part = self.term.select_rows(members, self._inner_shape(shape))
        return None if part is None else self._with({"batch_ndim": 1, "term": part})

    @classmethod
    def examples(cls) -> list[tuple["Restrict", Shape]]:
        from trisplit.terms.norms.l1 import L1
        from trisplit.terms.sets.simplex import Simplex

        return [(cls(L1(0.7), [3, 1]), (5,)), (cls(Simplex(), [0, 2, 3]), (4,))]


def _all_have(*names: str) -> object:
    return lambda self: all(hasattr(term, name) for term in self.terms for name in names)


@dataclass(frozen=True)
class SeparableSum(BaseTerm):
    """Different terms on consecutive pieces of a vector, g_1(x_1) + ... + g_m(x_m) with x = (x_1, ..., x_m).

    prox(x, gamma) consists of the proximal points of the pieces.

    Parameters
    ----------
    terms : sequence of terms
    sizes : sequence of int
        The number of entries of each piece.

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1, Box
    >>> SeparableSum([L1(), Box(0, 1)], [1, 2]).prox(np.array([3.0, 3.0, 0.5]), gamma=1.0)
    array([2. , 1. , 0.5])
    """

    terms: Sequence[BaseTerm]
    sizes: Sequence[int]
    broadcast = ()
    parts = ("terms",)

    def __post_init__(self) -> None:
        for k, term in enumerate(self.terms):
            need_term(term, f"terms[{k}]")
        if len(self.terms) != len(self.sizes) or not self.terms:
            counts = f"{len(self.terms)} terms and {len(self.sizes)} sizes"
            raise InputError(f"`sizes` must have an entry for each term, got {counts}; make them equal")
        object.__setattr__(self, "terms", tuple(self.terms))
        object.__setattr__(self, "sizes", tuple(whole(size, "sizes") for size in self.sizes))

    @property
    def convex(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether all terms are."""
        return all(term.convex for term in self.terms)

    @property
    def indicator(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether all terms are sets."""
        return all(term.indicator for term in self.terms)

    @property
    def cost(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The longest of those of the terms."""
        return max((term.cost for term in self.terms), key=lambda cost: (cost != "n", len(cost), cost))

    @property
    def accuracy(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The worst of the terms."""
        return max(term.accuracy for term in self.terms)

    @property
    def host(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the first term that computes there."""
        return next((term.host for term in self.terms if term.host), "")

    @property
    def diameter_exact(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether all terms say so."""
        return all(term.diameter_exact for term in self.terms)

    def _pieces(self, x: Array) -> list[Array]:
        if x.ndim != self.batch_ndim + 1 or x.shape[-1] != sum(self.sizes):
            own = tuple(x.shape[self.batch_ndim :])
            raise InputError(f"`sizes` add up to {sum(self.sizes)} but x has shape {own}; x must be such a vector")
        ends = np.cumsum(self.sizes).tolist()
        return [x[..., end - size : end] for end, size in zip(ends, self.sizes, strict=True)]

    def _shapes(self, shape: Shape) -> list[Shape]:
        return [(*shape[: self.batch_ndim], size) for size in self.sizes]

    def value(self, x: Array) -> float:
        """Return the sum of the values."""
        return sum(term.value(piece) for term, piece in zip(self.terms, self._pieces(x), strict=True))

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal points of the pieces."""
        moved = [term.prox(piece, gamma) for term, piece in zip(self.terms, self._pieces(x), strict=True)]
        return namespace(x).concat(moved, axis=-1)

    @given(lambda self: self.convex)
    def conjugate(self) -> BaseTerm:
        """Return the convex conjugate as a term."""
        from trisplit.terms.calculus.conjugates import Conjugate  # which is a term itself

        return Conjugate(self)

    @given(lambda self: self.indicator)
    def project(self, x: Array) -> Array:
        """Return a nearest point of the product of the sets."""
        return self.prox(x, 1.0)

    @given(lambda self: self.indicator)
    def distance(self, x: Array) -> float:
        """Return the distance to the product of the sets."""
        return safe_norm(x - self.project(x), self.batch_ndim)

    @given(_all_have("support"))  # pyright: ignore[reportArgumentType]
    def support(self, u: Array) -> float:
        """Return the sum of those of the terms."""
        return sum(term.support(piece) for term, piece in zip(self.terms, self._pieces(u), strict=True))  # pyright: ignore

    @given(_all_have("lmo"))  # pyright: ignore[reportArgumentType]
    def lmo(self, u: Array) -> Array:
        """Return those of the terms."""
        best = [term.lmo(piece) for term, piece in zip(self.terms, self._pieces(u), strict=True)]  # pyright: ignore
        return namespace(u).concat(best, axis=-1)

    @given(_all_have("diameter"))  # pyright: ignore[reportArgumentType]
    def diameter(self, shape: Shape) -> float:
        """Return the root of the sum of squares of those of the terms."""
        pairs = zip(self.terms, self._shapes(shape), strict=True)
        return sum(term.diameter(own) ** 2 for term, own in pairs) ** 0.5  # pyright: ignore

    def lipschitz(self, shape: Shape) -> float:
        """Return the root of the sum of squares of those of the terms."""
        pairs = zip(self.terms, self._shapes(shape), strict=True)
        return sum(term.lipschitz(own) ** 2 for term, own in pairs) ** 0.5  # pyright: ignore

    @given(_all_have("domain"))  # pyright: ignore[reportArgumentType]
    def domain(self) -> "SeparableSum":
        """Return the product of the domains."""
        return self._with({"terms": tuple(term.domain() for term in self.terms)})  # pyright: ignore

    @given(lambda self: not self.indicator and all(has_conjugate_value(term) for term in self.terms))
    def conjugate_value(self, u: Array) -> float:
        """Return the sum of those of the terms."""
        return sum(conjugate_value(term, piece) for term, piece in zip(self.terms, self._pieces(u), strict=True))

    @classmethod
    def examples(cls) -> list[tuple["SeparableSum", Shape]]:
        from trisplit.terms.norms.l1 import L1
        from trisplit.terms.sets.balls import L2Ball
        from trisplit.terms.sets.simplex import Simplex

        return [(cls([L1(0.7), L2Ball(1.5)], [2, 3]), (5,)), (cls([Simplex(), L2Ball(0.5)], [3, 2]), (5,))]
