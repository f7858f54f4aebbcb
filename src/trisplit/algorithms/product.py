"""Three operator splitting for any number of terms, [YMS21] Algorithm 2: min f(x) + g_1(x) + ... + g_m(x).

It is Algorithm 1 in the product space of m + 1 copies x^(0), ..., x^(m), an array with one more axis in front, or
behind those of a batch:

    f(x^(0)) + [0 + g_1(x^(1)) + ... + g_m(x^(m))] + indicator of {x^(0) = ... = x^(m)}.

The proximal map of the bracket acts copy by copy, that of the indicator is the mean of the copies.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from trisplit.algorithms.state import State
from trisplit.algorithms.tos import tos
from trisplit.arrays import Array, namespace
from trisplit.problem import CountedTerm, Function, Problem, Term, Uncounted
from trisplit.steps import StepRule
from trisplit.terms.checks import Shape


@dataclass(frozen=True)
class FirstCopy:
    """f of the first copy: x -> f(x^(0)); the gradient is zero in the other copies."""

    f: Function
    copies: int
    batch_ndim: int = 0

    def value(self, x: Array) -> float:
        return self.f.value(copy_of(x, 0, self.batch_ndim))

    def grad(self, x: Array) -> Array:
        return embed(self.f.grad(copy_of(x, 0, self.batch_ndim)), self.copies, self.batch_ndim)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        value, grad = self.f.value_and_grad(copy_of(x, 0, self.batch_ndim))
        return value, embed(grad, self.copies, self.batch_ndim)

    def select(self, members: tuple[Array, ...]) -> "FirstCopy | None":
        f = self.f.select(members)
        return None if f is None else FirstCopy(f, self.copies, 1)

    def seen_part(self, d: Array) -> Array:
        return copy_of(d, 0, self.batch_ndim)


def copy_of(x: Array, i: int, batch_ndim: int) -> Array:
    """Return x^(i)."""
    return x[(*(slice(None),) * batch_ndim, i, ...)]


def embed(grad: Array, copies: int, batch_ndim: int) -> Array:
    """Return the gradient in the first of so many copies, and zero in the others."""
    xp = namespace(grad)
    return xp.stack([grad] + [xp.zeros_like(grad)] * (copies - 1), axis=batch_ndim)


@dataclass(frozen=True)
class Separate:
    """0 + g_1(x^(1)) + ... + g_m(x^(m))."""

    terms: tuple[Term, ...]
    batch_ndim: int = 0

    def value(self, x: Array) -> float:
        return sum(term.value(copy_of(x, i, self.batch_ndim)) for i, term in enumerate(self.terms, start=1))

    def prox(self, x: Array, gamma: float) -> Array:
        xp, k = namespace(x), self.batch_ndim
        if k and getattr(gamma, "shape", ()):
            gamma = xp.squeeze(gamma, axis=-1)  # a column for arrays without the axis of the copies
        moved = [term.prox(copy_of(x, i, k), gamma) for i, term in enumerate(self.terms, start=1)]
        return xp.stack([copy_of(x, 0, k), *moved], axis=k)


@dataclass(frozen=True)
class Consensus:
    """Indicator of {x^(0) = ... = x^(m)}; its projection is the mean in every copy."""

    batch_ndim: int = 0

    def value(self, x: Array) -> float:
        return 0.0

    def prox(self, x: Array, gamma: float) -> Array:
        xp = namespace(x)
        return xp.zeros_like(x) + xp.mean(x, axis=self.batch_ndim, keepdims=True)

    def select(self, members: tuple[Array, ...], shape: Shape) -> "Consensus":
        return Consensus(1)


@dataclass(frozen=True)
class ProductProblem:
    """A `Problem` of m terms, seen as one of two terms in the product space."""

    base: Problem

    @property
    def batch_ndim(self) -> int:
        return self.base.batch_ndim

    @cached_property
    def f(self) -> Function:
        # A counter of its own: the calls are counted once, by the base problem's f and terms.
        return Function(FirstCopy(self.base.f, len(self.base.terms) + 1, self.batch_ndim), self.batch_ndim)

    @cached_property
    def g(self) -> Separate:
        return Separate(self.base.terms, self.batch_ndim)

    @property
    def h(self) -> Consensus:
        return Consensus(self.batch_ndim)

    @cached_property
    def counted(self) -> tuple[CountedTerm, Consensus]:
        """G and h; the first counts as the proximal maps of all terms of the base problem, the mean as none."""
        return CountedTerm(self.g, self.base.counts, len(self.base.terms)), self.h

    @property
    def uncounted(self) -> tuple[Function, Separate, Consensus]:
        """The gradient of f, g and h, without the counting."""
        grad, copies, k = self.base.f.uncounted_grad, len(self.base.terms) + 1, self.batch_ndim
        return Uncounted(lambda x: embed(grad(copy_of(x, 0, k)), copies, k)), self.g, self.h

    def start(self, x0: Array) -> Array:
        """Return m + 1 copies of `x0`."""
        return namespace(x0).stack([x0] * (len(self.base.terms) + 1), axis=self.batch_ndim)

    def common(self, x: Array) -> Array:
        """Return the first copy; in the mean they are all equal."""
        return copy_of(x, 0, self.batch_ndim)

    def reached(self, z: Array) -> list[Array]:
        """Return the copies z^(1), ..., z^(m), where the proximal maps of the terms arrived."""
        return [copy_of(z, i, self.batch_ndim) for i in range(1, z.shape[self.batch_ndim])]

    def select(self, members: tuple[Array, ...], shape: Shape) -> "ProductProblem | None":
        """Return the problem of some members of a batch whose x has that shape, as `Problem.select`."""
        base = self.base.select(members, shape)
        return None if base is None else ProductProblem(base)


def product(
    problem: Problem,
    y0: Array,
    step: StepRule | float | str = "auto",
    *,
    relax: float = 1.0,
    resume: State | None = None,
) -> Iterator[State]:
    """Iterate Algorithm 2 from y^(i) = `y0` for all copies, for ever.

    The arrays of its states have one more axis for the copies, in front or behind those of a batch; the common x is
    `state.x[0]`, in a batch of one axis `state.x[:, 0]`.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> terms = [ts.terms.Box(0, 1), ts.terms.L1(0.1), ts.terms.L2Ball(1.0)]
    >>> problem = ts.Problem(lambda x: (((x - 3) ** 2).sum() / 2, x - 3), terms)
    >>> state = next(product(problem, np.zeros(2), 0.5))
    >>> state.z.shape, state.x[0]
    ((4, 2), array([0.375, 0.375]))
    """
    lifted = ProductProblem(problem)
    return tos(lifted, lifted.start(y0), step, relax=relax, resume=resume)
