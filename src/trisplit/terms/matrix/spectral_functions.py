"""Any function of the singular values or of the eigenvalues, made of a term of vectors."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, eps
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm, ClosedSet, Function
from trisplit.terms.calculus.conjugates import Conjugate
from trisplit.terms.matrix.spectra import Eigenvalues, SingularValues, Spectrum, infinite_off_domain

__all__ = ["EigenvalueFunction", "EigenvalueSet", "SpectralFunction", "SpectralSet"]


class OfTerm(Spectrum):
    """A term of vectors at the values of a matrix; what the term offers, this offers.

    A capability that only some terms have is a property: where the term lacks it, so does this.
    """

    term: BaseTerm
    parts = ("term",)

    def __post_init__(self) -> None:
        if not isinstance(self.term, BaseTerm):
            raise InputError(f"`term` must be a term, got {type(self.term).__name__}; for example L1()")
        if self.term.indicator != self.indicator:
            own = type(self).__name__
            use = own.replace("Function", "Set") if self.term.indicator else own.replace("Set", "Function")
            what = "a set" if self.term.indicator else "a function"
            raise InputError(f"`term` is {what}, {type(self.term).__name__}, which {own} does not take; use {use}")
        _check_invariance(self.term, signs=isinstance(self, SingularValues))

    @property
    def convex(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the term is."""
        return self.term.convex

    @property
    def accuracy(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term."""
        return self.term.accuracy

    @property
    def host(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term."""
        return self.term.host

    @property
    def conjugate(self) -> Callable[[], BaseTerm]:
        """The conjugate, if the term is convex."""
        if not self.convex:
            raise AttributeError
        return lambda: Conjugate(self)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the matrix whose values are moved by the proximal map of the term."""

        def move(values: Array) -> Array:
            return self.term.prox(values, self.step(gamma, values))  # pyright: ignore[reportArgumentType]

        return self.with_spectrum(self.blocks(x), move)

    def of_term(self, function: Callable[[Array], float], x: Array) -> float:
        """Return a function of the values of the matrix."""
        return function(self.spectrum(self.blocks(x)))

    def of_vectors(self, shape: Shape) -> Shape:
        """Return the shape of the values of matrices."""
        return (*shape[: self.batch_ndim], min(self.sides(shape)))


class FunctionOfTerm(OfTerm, Function):
    """A function of the values."""

    def value(self, x: Array) -> float:
        """Return the value of the term at the values of the matrix."""
        return infinite_off_domain(self, self.of_term(self.term.value, x), x)

    def lipschitz(self, shape: Shape) -> float:
        """Return that of the term for vectors as long as there are values."""
        return self.term.lipschitz(self.of_vectors(shape))  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def conjugate_value(self) -> Callable[[Array], float]:
        """The conjugate of the term at the values, if it is known."""
        dual = self.term.conjugate()  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(dual, Conjugate) and not hasattr(self.term, "conjugate_value"):
            raise AttributeError
        dual = dual.batched(self.batch_ndim)
        return lambda u: self.of_term(dual.value, u)


class SetOfTerm(OfTerm, ClosedSet):
    """The matrices whose values are in a set."""

    def project(self, x: Array) -> Array:
        """Return the matrix whose values are projected."""
        return OfTerm.prox(self, x, 1.0)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the projection."""
        return self.project(x)

    @property
    def support(self) -> Callable[[Array], float]:
        """The support function, if the term has one."""
        support = self.term.support  # pyright: ignore[reportAttributeAccessIssue]
        return lambda u: self.of_term(support, u)

    @property
    def lmo(self) -> Callable[[Array], Array]:
        """The linear oracle, if the term has one."""
        lmo = self.term.lmo  # pyright: ignore[reportAttributeAccessIssue]
        return lambda u: self.with_spectrum(self.blocks(u), lmo)

    @property
    def diameter(self) -> Callable[[Shape], float]:
        """The diameter, if the term has one: it is the same."""
        diameter = self.term.diameter  # pyright: ignore[reportAttributeAccessIssue]
        return lambda shape: diameter(self.of_vectors(shape))

    @property
    def diameter_exact(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term."""
        return self.term.diameter_exact


@dataclass(frozen=True)
class SpectralFunction(FunctionOfTerm, SingularValues):
    """A function of the singular values, term(s) for the matrix X = U diag(s) V'.

    prox(X, gamma) = U diag(prox of the term (s, gamma)) V'. The term must not feel the order of the entries nor their
    signs, which is tried out at a few points.

    Parameters
    ----------
    term : term
        A function of vectors of any length, convex or not.

    References
    ----------
    Lewis (1995), The convex analysis of unitarily invariant matrix functions.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> SpectralFunction(L1(1.0)).prox(np.diag([3.0, 0.5]), gamma=1.0)
    array([[2., 0.],
           [0., 0.]])
    """

    term: BaseTerm
    broadcast = ()
    parts = ("term",)

    def domain(self) -> ClosedSet:
        """Return the matrices whose singular values are in the domain of the term."""
        return SpectralSet(self.term.domain()).batched(self.batch_ndim)  # pyright: ignore

    @classmethod
    def examples(cls) -> list[tuple["SpectralFunction", Shape]]:
        from trisplit.terms.norms.l1 import L1, SquaredL2

        return [(cls(L1(0.7)), (3, 4)), (cls(SquaredL2(0.5)), (3, 2))]


@dataclass(frozen=True)
class SpectralSet(SetOfTerm, SingularValues):
    """Indicator of the matrices X = U diag(s) V' whose singular values s are in a set.

    prox(X) = U diag(projection of s) V'. The set must not feel the order of the entries nor their signs, which is tried
    out at a few points.

    Parameters
    ----------
    term : term
        A set of vectors of any length, convex or not.

    References
    ----------
    Lewis, Malick (2008), Alternating projections on manifolds.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L2Ball
    >>> SpectralSet(L2Ball(1.0)).prox(np.diag([3.0, 4.0]), gamma=1.0)
    array([[0.6, 0. ],
           [0. , 0.8]])
    """

    term: BaseTerm
    broadcast = ()
    parts = ("term",)

    @classmethod
    def examples(cls) -> list[tuple["SpectralSet", Shape]]:
        from trisplit.terms.sets.box import Box

        return [(cls(Box(-1.0, 1.0)), (3, 4)), (cls(Box(-0.3, 0.3)), (3, 2))]


@dataclass(frozen=True)
class EigenvalueFunction(FunctionOfTerm, Eigenvalues):
    """A function of the eigenvalues, term(w) for the symmetric matrix X = V diag(w) V'.

    prox(X, gamma) = V diag(prox of the term (w, gamma)) V' for the symmetric part V diag(w) V' of X. At a matrix that
    is not symmetric the value is infinite. The term must not feel the order of the entries, which is tried out at a few
    points.

    Parameters
    ----------
    term : term
        A function of vectors of any length, convex or not.

    References
    ----------
    Lewis (1996), Convex analysis on the Hermitian matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> EigenvalueFunction(L1(1.0)).prox(np.diag([3.0, -0.5]), gamma=1.0)
    array([[2., 0.],
           [0., 0.]])
    """

    term: BaseTerm
    broadcast = ()
    parts = ("term",)

    def lipschitz(self, shape: Shape) -> float:
        """Return infinity: off the symmetric matrices the value is infinite."""
        self.sides(shape)
        return inf

    def domain(self) -> ClosedSet:
        """Return the symmetric matrices whose eigenvalues are in the domain of the term."""
        return EigenvalueSet(self.term.domain()).batched(self.batch_ndim)  # pyright: ignore

    @classmethod
    def examples(cls) -> list[tuple["EigenvalueFunction", Shape]]:
        from trisplit.terms.norms.l1 import L1, SquaredL2

        return [(cls(L1(0.7)), (4, 4)), (cls(SquaredL2(0.5)), (2, 2))]


@dataclass(frozen=True)
class EigenvalueSet(SetOfTerm, Eigenvalues):
    """Indicator of the symmetric matrices X = V diag(w) V' whose eigenvalues w are in a set.

    prox(X) = V diag(projection of w) V' for the symmetric part V diag(w) V' of X. The set must not feel the order of
    the entries, which is tried out at a few points.

    Parameters
    ----------
    term : term
        A set of vectors of any length, convex or not.

    References
    ----------
    Lewis, Malick (2008), Alternating projections on manifolds.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import Box
    >>> EigenvalueSet(Box(0.0, 1.0)).prox(np.diag([3.0, -0.5]), gamma=1.0)
    array([[1., 0.],
           [0., 0.]])
    """

    term: BaseTerm
    broadcast = ()
    parts = ("term",)

    @classmethod
    def examples(cls) -> list[tuple["EigenvalueSet", Shape]]:
        from trisplit.terms.sets.box import Box
        from trisplit.terms.sets.simplex import Simplex

        return [(cls(Simplex()), (4, 4)), (cls(Box(-0.5, 2.0)), (2, 2))]


def _check_invariance(term: BaseTerm, signs: bool) -> None:
    """Raise unless the proximal map of the term follows the order, and where it must the signs, of a few vectors."""
    rng, name = np.random.default_rng(0), type(term).__name__
    for length in (3, 4):
        v, order = 2 * rng.standard_normal(length), rng.permutation(length)
        flips = np.where(rng.random(length) < 0.5, -1.0, 1.0) if signs else np.ones(length)
        flips[0] = -1.0 if signs else 1.0
        try:
            p, moved = term.prox(v, 0.3), term.prox((flips * v)[order], 0.3)
        except InputError as error:
            raise InputError(f"`term` must take vectors of any length, {name} does not; {error}") from None
        if not np.allclose(moved, (flips * p)[order], rtol=0, atol=1e4 * term.accuracy * eps(v)):
            what = "order or the signs" if signs else "order"
            raise InputError(f"`term` must not feel the {what} of its arguments, {name} does; give one that does not")
