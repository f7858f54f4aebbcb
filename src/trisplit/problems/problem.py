"""What is to be minimised: phi(x) = f(x) + g(x) + h(x), f smooth, the other terms with a proximal map.

`Problem` normalises what the user gave, counts the calls, and knows what certificates need: the joint oracle of
(g, h) if there is one, and the smallest known support function of a bounded set that contains dom phi.

In a batch the first `batch_ndim` axes of x count independent problems: every value is then an array, one for each.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, reduce
from itertools import compress, repeat
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, Values, eps, finite_or, kind_of, misfits, namespace, smaller, where
from trisplit.arrays.batched import all_finite, inner, norm, per_problem
from trisplit.errors import InputError
from trisplit.problems import oracles
from trisplit.problems.oracles import Function, Smooth, Term, ValueAndGrad, has_domain, is_indicator
from trisplit.problems.space import Space
from trisplit.splitting.tos import Iterate
from trisplit.terms import BaseTerm, JointOracle, Zero, find_joint_oracle


def constant_of(term: Term, name: str, shape: Shape) -> float:
    """Return the `diameter` of the term's domain, or its `lipschitz` constant there, infinite if it declares none."""
    known = getattr(term, name, None)
    if known is not None and not callable(known):
        raise InputError(f"`{name}` of {type(term).__name__} is a number; make it a method `{name}(shape)`")
    return inf if known is None else oracles.as_constant(known(shape))


def require_each(name: str, constant: float | Array, batch: Shape) -> None:
    """Raise an `InputError` unless a constant is one number, or has one for each problem of a batch."""
    try:
        np.broadcast_to(constant, batch)
    except ValueError:
        came = f"got shape {np.shape(constant)}" + (f" for a batch of shape {tuple(batch)}" if batch else "")
        raise InputError(f"{name} must be one number, or one for each problem, {came}") from None


class Problem(Space):
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

    def __init__(
        self, f: Smooth | ValueAndGrad | Function, terms: Term | Sequence[Term], *, batch_ndim: int = 0
    ) -> None:
        if isinstance(batch_ndim, bool) or not isinstance(batch_ndim, int | np.integer) or batch_ndim < 0:
            raise InputError(f"`batch_ndim` must be an integer >= 0, got {batch_ndim!r}; 0 is for one problem")
        self.base, self.batch_ndim = self, int(batch_ndim)
        self.f = f if isinstance(f, Function) else Function(f, self.batch_ndim)
        listed = tuple(terms) if isinstance(terms, Sequence) else (terms,)
        if not listed:
            raise InputError("`terms` is empty; give at least one term, or `ts.terms.Zero()`")
        for i, term in enumerate(listed):
            if isinstance(term, type):
                raise InputError(f"`terms[{i}]` is the class {term.__name__}; create it: `{term.__name__}(...)`")
            if not oracles.has_methods(term, "value", "prox"):
                raise InputError(f"`terms[{i}]` needs `value(x)` and `prox(x, gamma)`, got {type(term).__name__}")
        self.given = len(listed)
        listed = (*listed, Zero()) if len(listed) == 1 else listed
        self.terms: tuple[Term, ...] = tuple(oracles.batched(term, self.batch_ndim) for term in listed)
        self.g, self.h = self.terms[:2]
        self.counts, self.number = self.f.counts, self.f.number
        self.grad, self.value, self.value_and_grad = self.f.grad, self.f.value, self.f.value_and_grad
        names = (f"`terms[{i}]` ({type(term).__name__})" for i, term in enumerate(self.terms))
        self.proxes = tuple(oracles.counted_prox(*each) for each in zip(self.terms, repeat(self.counts), names))
        self.prox_g, self.prox_h = self.proxes[:2]
        self._joint = find_joint_oracle(self.g, self.h) if len(self.terms) == 2 else None
        # Every check of a run asks for these.
        self.bounded: Callable[[Shape], tuple[bool, ...]] = cache(self._bounded)
        self.diameter: Callable[[Shape], Values] = cache(self._diameter)
        self.functions = tuple(i for i, term in enumerate(self.terms) if not is_indicator(term))

    def __repr__(self) -> str:
        batch = f", batch_ndim={self.batch_ndim}" if self.batch_ndim else ""
        return f"Problem({self.f.source!r}, {list(self.terms)}{batch})"

    def uncounted(self) -> Space:
        plain = Space()
        plain.batch_ndim, plain.grad = self.batch_ndim, self.f.uncounted_grad
        plain.prox_g, plain.prox_h = self.g.prox, self.h.prox  # pyright: ignore[reportAttributeAccessIssue]
        return plain

    def reached(self, made: Iterate) -> tuple[Array, Array]:
        return made.z, made.x

    def inside(self, y: Array) -> Array:
        """Return a point of dom g near y, without a step of g itself where that is finite everywhere."""
        return y if isinstance(self.g, BaseTerm) and not has_domain(self.g) else self.prox_g(y, 1.0)

    def dual(self, made: Iterate, i: int) -> Array:
        if i == 0:
            return (made.y - made.z) / made.gamma
        return (2 * made.z - made.y - made.x) / made.gamma - made.u

    def infeasibility(self, made: Iterate) -> Values:
        """Return dist(z, dom h) where h can measure it, else ||x - z||."""
        return self.off(self.h, made.z, made.d)

    def off(self, term: Term, at: Array, move: Array) -> Values:
        """Return the distance of a point to the domain of a term where that can measure it, else ||move||."""
        distance = getattr(term, "distance", None)
        return norm(move, self.batch_ndim) if distance is None else self.number(distance(at))

    def bound(self, made: Iterate) -> Values:
        """Return the bound of the key lemma on epsilon at z; y+ = y + d."""
        k, d = self.batch_ndim, made.d
        beta = (self.support(d) - inner(made.y, d, k) - inner(d, d, k)) / per_problem(made.gamma, k)
        return beta - inner(made.u, d, k) + self.difference((self.h,), (made.z,), (made.x,))

    def gap(self, z: Array, u: Array, x: Array | None = None) -> Values:
        """Return the largest <u, x - v> + g(z) - g(v) + h(x) - h(v), by the joint oracle; x is z unless given."""
        oracle, x = self.oracle(u.shape), z if x is None else x
        if oracle is None:
            raise InputError("no joint oracle is registered for these terms and shape; see `ts.terms.joint_oracles`")
        v = oracle.minimizer(u)
        return inner(u, x - v, self.batch_ndim) + self.difference(self.terms, (z, x), (v, v))

    def difference(self, terms: Sequence[Term], a: Sequence[Array], b: Sequence[Array]) -> Values:
        """Return the sum over terms that are no indicators of term(a_i) - term(b_i), 0 where term(a_i) is infinite."""
        total = 0.0
        for term, a_i, b_i in zip(terms, a, b, strict=True):
            if not is_indicator(term):
                value = self.number(term.value(a_i))
                total = total + where(value < inf, value - self.number(term.value(b_i)), 0.0)
        return total

    def oracle(self, shape: Shape) -> JointOracle | None:
        """Return the joint oracle over dom g and dom h for arrays of that shape, where one is registered."""
        return self._joint if self._joint is not None and self._joint.fits(shape) else None

    def _bounded(self, shape: Shape) -> tuple[bool, ...]:
        """Say of each term whether its domain is bounded and has a support function."""
        return tuple(
            hasattr(term, "support") and np.isfinite(constant_of(term, "diameter", shape)).all() for term in self.terms
        )

    def is_bounded(self, shape: Shape) -> bool:
        """Say whether a bounded set that contains dom phi is known."""
        return any(self.bounded(shape)) or self.oracle(shape) is not None

    def _diameter(self, shape: Shape) -> Values:
        """Return a bound on the diameter of dom phi, the smallest that is known."""
        oracle = self.oracle(shape)
        known = [constant_of(term, "diameter", shape) for term in compress(self.terms, self.bounded(shape))]
        return reduce(np.minimum, known, inf if oracle is None else oracle.diameter(shape))

    def support(self, u: Array) -> Values:
        """Return the smallest known bound on max <u, x> over dom phi, infinite if no bounded set is known."""
        terms, oracle = compress(self.terms, self.bounded(u.shape)), self.oracle(u.shape)
        known = [self.number(term.support(u)) for term in terms]  # pyright: ignore[reportAttributeAccessIssue]
        if oracle is not None:
            known.append(oracle.support(u))
        return reduce(smaller, known) if known else inf

    def nonsmooth(self, point: Array, reached: Sequence[Array]) -> Values:
        """Return the sum of the terms at `point`, indicators counted as 0.

        `reached[i]` is where the i-th proximal map arrived: a term that is infinite at `point` without declaring
        itself an indicator is taken there.
        """
        total = 0.0
        for term, inside in zip(self.terms, reached, strict=True):
            if not is_indicator(term):
                value = self.number(term.value(point))
                total = total + finite_or(value, lambda: self.number(term.value(inside)))  # noqa: B023
        return total

    def select(self, members: tuple[Array, ...], shape: Shape) -> "Problem | None":
        """Return the problem of some members of a batch of that shape, or None if f or a term cannot tell its own."""
        f, terms = self.f.select(members), [oracles.select(term, members, shape) for term in self.terms]
        if f is None or None in terms:
            return None
        problem, known = Problem(f, terms, batch_ndim=1), self.bounded(shape)  # pyright: ignore[reportArgumentType]
        # What is bounded for all is bounded for some, and diameters of all these take longer than an iteration.
        problem.bounded = lambda shape: known
        return problem

    def check(self, x0: Array) -> tuple[Values, Array]:
        """Raise an `InputError` if f or a term does not fit `x0`; return value and gradient of f at prox_g(x0)."""
        if not all_finite(x0):
            raise InputError("`x0` holds NaN or inf; start from finite numbers")
        shape = tuple(x0.shape)
        names = [f"`terms[{i}]` ({type(term).__name__})" for i, term in enumerate(self.terms)]
        for name, term, prox in zip(names, self.terms, self.proxes, strict=True):
            with _fitting(x0, f"{name} does not fit x0 of shape {shape}", "give the term and x0 equal sizes"):
                moved = prox(x0, 1.0)
            _require_like(f"`prox` of {name} must return", moved, shape, x0, "fix its prox or x0")
            for each in ("diameter", "lipschitz"):  # one of the wrong form is an error now, not in the middle of a run
                known = constant_of(term, each, shape)
                if self.batch_ndim:
                    require_each(f"`{each}` of {name}", known, shape[: self.batch_ndim])
        start = self.prox_g(x0, 1.0)
        remedy = "return a pair, one number and the gradient, or change x0's shape"
        with _fitting(x0, f"`f` fails at an array of shape {shape}", remedy):
            value, grad = self.value_and_grad(start)
            value = self.number(value)
        if self.batch_ndim:
            self._check_values(start, value, names)
        _require_like("the gradient of `f` must be", grad, shape, x0, "make them equal")
        if not namespace(x0).isdtype(grad.dtype, ("real floating", "integral")):
            raise InputError(f"the gradient of `f` has dtype {grad.dtype}; return real numbers")
        if grad.dtype != x0.dtype:
            self.f.keep_dtype(x0.dtype)
            self.f.coarse = eps(grad) if eps(grad) > eps(x0) else 0.0
        return value, grad

    def _check_values(self, start: Array, f_start: Values, names: Sequence[str]) -> None:
        """Raise an `InputError` unless f and the terms return a value for each problem of a batch."""
        k, shape = self.batch_ndim, tuple(start.shape)
        functions: dict[str, Callable[[Array], Values]] = {"`f`": lambda x: f_start}
        if hasattr(self.f.source, "value_and_grad"):
            functions["`f.value`"] = self.value
        for name, term, bounded in zip(names, self.terms, self.bounded(shape), strict=True):
            methods = ("distance", "support") if bounded else ("distance",)  # the run asks no others
            own = {f"`{each}` of {name}": call for each in methods if (call := getattr(term, each, None)) is not None}
            functions |= {name: term.value, **own}
        at, remedy = f"an array of shape {shape}", "sum over the axes of one problem only"
        for what, function in functions.items():
            with _fitting(start, f"{what} fails at {at}", f"the first {k} of its axes count problems"):
                values = function(start)
            _require_like(f"{what} must return a value for each problem,", values, shape[:k], start, remedy)


@contextmanager
def _fitting(x: Array, complaint: str, remedy: str) -> Iterator[None]:
    """Turn what a library raises where shapes do not fit into an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except misfits(x) as error:
        raise InputError(f"{complaint}: {' '.join(str(error).split())}; {remedy}") from error


def _require_like(what: str, came: object, shape: Shape, x: Array, remedy: str) -> None:
    """Raise an `InputError` unless an array of that shape came, in the library and on the device of x."""
    own = getattr(came, "shape", () if isinstance(came, float | int) else None)
    if own == shape and kind_of(came) == kind_of(x):
        return
    if own == shape:
        got, remedy = f"one of {kind_of(came)} where x is of {kind_of(x)}", "convert one of them"
    elif own is None:
        got = f"a {type(came).__name__}"
    else:
        got = f"shape {tuple(own)}" if own else "one number"
    raise InputError(f"{what} an array of shape {shape}, got {got}; {remedy}")
