"""What is to be minimised: phi(x) = f(x) + g(x) + h(x), f smooth, the other terms with a proximal map.

`Problem` normalises what the user gave, counts the calls, and knows what certificates need: the joint oracle of
(g, h) if there is one, and the smallest known support function of a bounded set that contains dom phi.

In a batch the first `batch_ndim` axes of x count independent problems: every value is then an array, one for each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import inf, isfinite

import numpy as np

from trisplit.arrays import Array, all_finite, finite_or, kind_of, misfits, namespace, smaller
from trisplit.errors import InputError
from trisplit.parts import (
    CountedTerm,
    Counts,
    Function,
    Smooth,
    Term,
    Uncounted,
    ValueAndGrad,
    batched,
    has_methods,
    select,
)
from trisplit.terms import JointOracle, Zero, find_joint_oracle
from trisplit.terms.checks import Shape


def is_indicator(term: Term) -> bool:
    """Say whether the term declares itself the indicator of a set."""
    return bool(getattr(term, "indicator", False))


def diameter(term: Term, shape: Shape) -> float:
    """Return the diameter of the term's domain for arrays of that shape, infinite if it declares none."""
    return _of_shape(term, "diameter", shape)


def lipschitz(term: Term, shape: Shape) -> float:
    """Return the term's Lipschitz constant on its domain, infinite if it declares none."""
    return _of_shape(term, "lipschitz", shape)


def _of_shape(term: Term, name: str, shape: Shape) -> float:
    known = getattr(term, name, None)
    if known is not None and not callable(known):
        raise InputError(f"`{name}` of {type(term).__name__} is a number; make it a method `{name}(shape)`")
    if known is None:
        return inf
    constant = known(shape)
    if isinstance(constant, float):
        return constant
    constant = np.asarray(constant, dtype=float)
    return float(constant) if constant.ndim == 0 else constant  # pyright: ignore[reportReturnType]


def is_finite(constant: float | Array) -> bool:
    """Say whether a constant is finite; in a batch, for every problem."""
    return isfinite(constant) if isinstance(constant, float) else bool(np.all(np.isfinite(constant)))


@dataclass(frozen=True)
class Problem:
    """Minimise f(x) + sum of terms.

    Parameters
    ----------
    f : Smooth, or a callable x -> (value, gradient)
    terms : a term, or a sequence of terms
        One term is g (h is zero); two are (g, h), in that order; more make a problem for Algorithm 2.
    batch_ndim : int
        How many of the first axes of x count independent problems.

    Examples
    --------
    >>> import trisplit as ts
    >>> problem = ts.Problem(lambda x: ((x**2).sum() / 2, x), [ts.terms.Box(1, 2), ts.terms.L1()])
    >>> problem.g
    Box(lo=1.0, hi=2.0)
    """

    f: Function
    terms: tuple[Term, ...]
    batch_ndim: int

    def __init__(
        self, f: Smooth | ValueAndGrad | Function, terms: Term | Sequence[Term], *, batch_ndim: int = 0
    ) -> None:
        batch_ndim = as_batch_ndim(batch_ndim)
        object.__setattr__(self, "batch_ndim", batch_ndim)
        object.__setattr__(self, "f", f if isinstance(f, Function) else Function(f, batch_ndim))
        listed = tuple(terms) if isinstance(terms, Sequence) else (terms,)
        if not listed:
            raise InputError("`terms` is empty; give at least one term, or `ts.terms.Zero()`")
        for i, term in enumerate(listed):
            if isinstance(term, type):
                raise InputError(f"`terms[{i}]` is the class {term.__name__}; create it: `{term.__name__}(...)`")
            if not has_methods(term, "value", "prox"):
                raise InputError(f"`terms[{i}]` needs `value(x)` and `prox(x, gamma)`, got {type(term).__name__}")
        listed = (*listed, Zero()) if len(listed) == 1 else listed
        object.__setattr__(self, "terms", tuple(batched(term, batch_ndim) for term in listed))

    @property
    def g(self) -> Term:
        return self.terms[0]

    @property
    def h(self) -> Term:
        return self.terms[1]

    @property
    def counts(self) -> Counts:
        return self.f.counts

    @cached_property
    def counted(self) -> tuple[CountedTerm, CountedTerm]:
        """The terms g and h with their proximal maps counted."""
        return CountedTerm(self.g, self.counts), CountedTerm(self.h, self.counts)

    @property
    def uncounted(self) -> tuple[Function, Term, Term]:
        """F, of which only the gradient is asked, g and h without counting: a compiler takes counters for constants."""
        return Uncounted(self.f.uncounted_grad), self.g, self.h

    @cached_property
    def _oracle(self) -> JointOracle | None:
        return find_joint_oracle(self.g, self.h) if len(self.terms) == 2 else None

    def oracle(self, shape: Shape) -> JointOracle | None:
        """Return the joint oracle over dom g and dom h for arrays of that shape, where one is registered."""
        return self._oracle if self._oracle is not None and self._oracle.fits(shape) else None

    @cached_property
    def _bounded_terms(self) -> dict[Shape, list[Term]]:
        return {}

    def _bounded(self, shape: Shape) -> list[Term]:
        """Return the terms with a bounded domain and its support function; asked for at every look, so remembered."""
        shape = tuple(shape)
        if shape not in self._bounded_terms:
            known = [term for term in self.terms if hasattr(term, "support") and is_finite(diameter(term, shape))]
            self._bounded_terms[shape] = known
        return self._bounded_terms[shape]

    def is_bounded(self, shape: Shape) -> bool:
        """Say whether a bounded set that contains dom phi is known."""
        return bool(self._bounded(shape)) or self.oracle(shape) is not None

    def support(self, u: Array) -> float | None:
        """Return the smallest known bound on max <u, x> over dom phi, or None if no bounded set is known."""
        known = [self.f.number(term.support(u)) for term in self._bounded(u.shape)]  # pyright: ignore
        oracle = self.oracle(u.shape)
        if oracle is not None:
            known.append(oracle.support(u))
        return reduce(smaller, known) if known else None

    def nonsmooth(self, point: Array, reached: Sequence[Array]) -> float:
        """Return the sum of the terms at `point`, indicators counted as 0.

        `reached[i]` is where the i-th proximal map arrived: a term that is infinite at `point` without declaring
        itself an indicator is taken there.
        """
        number, total = self.f.number, 0.0
        for term, inside in zip(self.terms, reached, strict=True):
            if not is_indicator(term):
                value = number(term.value(point))
                total = total + finite_or(value, lambda: number(term.value(inside)))  # noqa: B023
        return total

    def select(self, members: tuple[Array, ...], shape: Shape) -> "Problem | None":
        """Return the problem of some members of a batch of that shape, or None if f or a term cannot tell its own."""
        f, terms = self.f.select(members), [select(term, members, shape) for term in self.terms]
        if f is None or None in terms:
            return None
        problem, known = Problem(f, terms, batch_ndim=1), self._bounded(shape)  # pyright: ignore[reportArgumentType]
        own = len(members[0]), *shape[self.batch_ndim :]
        # What is bounded for all is bounded for some, and diameters of all these take longer than an iteration.
        problem._bounded_terms[own] = [
            new for new, old in zip(problem.terms, self.terms, strict=True) if any(old is term for term in known)
        ]
        return problem

    def check(self, x0: Array) -> tuple[float, Array]:
        """Raise an `InputError` if f or a term does not fit `x0`; return value and gradient of f at prox_g(x0)."""
        if not all_finite(x0):
            raise InputError("`x0` holds NaN or inf; start from finite numbers")
        shape = tuple(x0.shape)
        for i, term in enumerate(self.terms):
            name = f"`terms[{i}]` ({type(term).__name__})"
            try:
                moved = CountedTerm(term, self.counts).prox(x0, 1.0)
            except InputError:
                raise
            except misfits(x0) as error:
                text = f"{name} does not fit x0 of shape {shape}: {_one_line(error)}"
                raise InputError(f"{text}; give the term and x0 equal sizes") from error
            if _shape(moved) != shape:
                raise InputError(f"{name} turns shape {shape} into {_shape(moved)}; fix its prox or x0")
            if kind_of(moved) != kind_of(x0):
                raise InputError(f"{name} turns {kind_of(x0)} into {kind_of(moved)}; fix its prox or x0")
            diameter(term, shape)  # a capability of the wrong form is an error now, not in the middle of the run
            lipschitz(term, shape)
        start = self.counted[0].prox(x0, 1.0)
        try:
            value, grad = self.f.value_and_grad(start)
        except InputError:
            raise
        except misfits(x0) as error:
            text = f"`f` fails at an array of shape {shape}: {_one_line(error)}"
            raise InputError(f"{text}; return a pair, one number and the gradient, or change x0's shape") from error
        if self.batch_ndim:
            self._check_numbers(start, value)
        if _shape(grad) != shape:
            raise InputError(f"the gradient of `f` has shape {_shape(grad)} where x has {shape}; make them equal")
        if kind_of(grad) != kind_of(x0):
            raise InputError(
                f"the gradient of `f` is an array of {kind_of(grad)} where x is of {kind_of(x0)}; convert one of them"
            )
        xp = namespace(x0)
        if not xp.isdtype(grad.dtype, ("real floating", "integral")):
            raise InputError(f"the gradient of `f` has dtype {grad.dtype}; return real numbers")
        if grad.dtype != x0.dtype:
            self.f.keep_dtype(x0.dtype)
        return value, grad

    def _check_numbers(self, start: Array, value: object) -> None:
        """Raise an `InputError` unless f and the terms return numbers for each problem of a batch."""
        batch = tuple(start.shape[: self.batch_ndim])
        _require_numbers("`f`", value, batch, start)
        if hasattr(self.f.source, "value_and_grad"):
            _require_numbers("`f.value`", self.f.value(start), batch, start)
        for i, term in enumerate(self.terms):
            _check_term(f"`terms[{i}]` ({type(term).__name__})", term, batch, start)


def _check_term(name: str, term: Term, batch: Shape, start: Array) -> None:
    for constant in (diameter, lipschitz):
        known = constant(term, start.shape)
        if not fits(known, batch):
            came = f"got shape {np.shape(known)} for a batch of shape {batch}"
            raise InputError(f"`{constant.__name__}` of {name} must be one number, or one for each problem, {came}")
    numbers = {name: term.value, f"`distance` of {name}": getattr(term, "distance", None)}
    if is_finite(diameter(term, start.shape)):  # else `support` is not asked
        numbers[f"`support` of {name}"] = getattr(term, "support", None)
    for what, function in numbers.items():
        if function is None:
            continue
        try:
            found = function(start)
        except InputError:
            raise
        except misfits(start) as error:
            text = f"{what} fails at an array of shape {tuple(start.shape)}: {_one_line(error)}"
            raise InputError(f"{text}; the first {len(batch)} of its axes count problems") from error
        _require_numbers(what, found, batch, start)


def fits(constant: float | Array, batch: Shape) -> bool:
    """Say whether a constant is one number, or has one for each problem of a batch."""
    try:
        return np.broadcast_shapes(np.shape(constant), batch) == tuple(batch)
    except ValueError:
        return False


def as_batch_ndim(batch_ndim: object) -> int:
    """Return a number of axes as an int."""
    if isinstance(batch_ndim, bool) or not isinstance(batch_ndim, int | np.integer) or batch_ndim < 0:
        raise InputError(f"`batch_ndim` must be an integer >= 0, got {batch_ndim!r}; 0 is for one problem")
    return int(batch_ndim)


def _require_numbers(name: str, numbers: object, batch: Shape, x: Array) -> None:
    shape = _shape(numbers)
    if shape != batch:
        one = shape == () or isinstance(numbers, float | int)
        came = "one number" if one else f"a {type(numbers).__name__}" if shape is None else f"shape {shape}"
        text = f"{name} must return a value for each problem, an array of shape {batch}, got {came}"
        raise InputError(f"{text}; sum over the axes of one problem only")
    if kind_of(numbers) != kind_of(x):
        came = f"an array of {kind_of(numbers)} where x is of {kind_of(x)}"
        raise InputError(f"{name} returns the values of the problems as {came}; convert one of them")


def _shape(array: object) -> Shape | None:
    shape = getattr(array, "shape", None)
    return shape if shape is None else tuple(shape)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
