"""What terms made of terms share: they are what their parts are, and can do what their parts can do."""

from collections.abc import Callable
from types import MethodType
from typing import TypeVar

from trisplit.arrays import Array, namespace
from trisplit.arrays.batched import scalar
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm
from trisplit.terms.numbers import safe_norm

Method = TypeVar("Method", bound=Callable)


def given(condition: Callable[..., bool]) -> Callable[[Method], Method]:
    """Make a method a capability that a term has only under a condition; `hasattr` tells."""

    def decorate(method: Method) -> Method:
        return _Conditional(method, condition)  # pyright: ignore[reportReturnType]

    return decorate


class _Conditional:
    """A method that is there only under a condition."""

    def __init__(self, method: Callable, condition: Callable[..., bool]) -> None:
        self.method, self.condition = method, condition
        self.__doc__ = method.__doc__

    def __get__(self, term: object, owner: object = None) -> object:
        if term is None:
            return self
        if not self.condition(term):
            raise AttributeError  # answered by `BaseTerm.__getattr__`, which says what is missing
        return MethodType(self.method, term)


def part_has(*names: str) -> Callable[..., bool]:
    """Return the condition that the part has capabilities."""
    return lambda self: all(hasattr(self.term, name) for name in names)


def need_term(term: object, name: str = "term", *, convex: bool = False, indicator: bool = False) -> None:
    """Refuse what is no term of the library, or not of the kind that is needed."""
    if not isinstance(term, BaseTerm):
        raise InputError(f"`{name}` must be a term, got {type(term).__name__}; for example `L1()`")
    if convex and not term.convex:
        raise InputError(f"`{name}` must be convex, got {type(term).__name__}; the formula fails else")
    if indicator and not term.indicator:
        raise InputError(f"`{name}` must be a set, got {type(term).__name__}; for example `Box(0, 1)`")


def has_conjugate_value(term: BaseTerm) -> bool:
    """Say whether the conjugate of a term has a value."""
    from trisplit.terms.calculus.conjugates import Conjugate  # which is a term itself

    if not term.convex:
        return False
    dual = term.conjugate()  # pyright: ignore[reportAttributeAccessIssue]
    return not isinstance(dual, Conjugate) or hasattr(
        dual.term, "support" if dual.term.indicator else "conjugate_value"
    )


def conjugate_value(term: BaseTerm, u: Array) -> float:
    """Return the value of the conjugate of a term."""
    return term.conjugate().batched(term.batch_ndim).value(u)  # pyright: ignore[reportAttributeAccessIssue]


def step_for(gamma: float, batch_ndim: int, ndim: int) -> float:
    """Return gamma in a form that multiplies arrays with `ndim` axes besides those of the batch."""
    t = scalar(gamma, batch_ndim)
    shape = getattr(t, "shape", ())
    return namespace(t).reshape(t, (*shape[:batch_ndim], *(1,) * ndim)) if shape else t  # pyright: ignore


class Wrapper(BaseTerm):
    """A term made of one term."""

    term: BaseTerm
    parts = ("term",)

    @property
    def convex(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the part is."""
        return self.term.convex

    @property
    def indicator(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the part is a set."""
        return self.term.indicator

    @property
    def cost(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the part."""
        return self.term.cost

    @property
    def accuracy(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the part."""
        return self.term.accuracy

    @property
    def host(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the part."""
        return self.term.host

    @property
    def diameter_exact(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the part."""
        return self.term.diameter_exact

    @given(lambda self: self.convex)
    def conjugate(self) -> BaseTerm:
        """Return the convex conjugate, sup_x <u, x> - g(x), as a term."""
        from trisplit.terms.calculus.conjugates import Conjugate  # which is a term itself

        return Conjugate(self)

    @given(lambda self: self.indicator)
    def project(self, x: Array) -> Array:
        """Return a nearest point of the set."""
        return self.prox(x, 1.0)

    @given(lambda self: self.indicator)
    def distance(self, x: Array) -> float:
        """Return min over s in the set of ||x - s||."""
        return safe_norm(x - self.project(x), self.batch_ndim)


class FunctionOf(Wrapper):
    """A function made of a term; it is no set, even if that is one."""

    @property
    def indicator(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """False."""
        return False
