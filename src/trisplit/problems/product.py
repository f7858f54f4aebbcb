"""The product space of [YMS21] Algorithm 2, for any number of terms: min f(x) + g_1(x) + ... + g_m(x).

It is Algorithm 1 for m + 1 copies x^(0), ..., x^(m), an array with one more axis in front, or behind those of a batch:

    f(x^(0)) + [0 + g_1(x^(1)) + ... + g_m(x^(m))] + indicator of {x^(0) = ... = x^(m)}.

The proximal map of the bracket acts copy by copy, that of the indicator is the mean of the copies.
"""

from trisplit.arrays import Array, Shape, StepSize, Values, is_array, namespace
from trisplit.arrays.batched import inner, per_problem
from trisplit.problems.problem import Problem
from trisplit.problems.space import Space
from trisplit.splitting.tos import Iterate


class Product(Space):
    """A `Problem` of m terms, seen as one of two terms in the product space.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> terms = [ts.terms.Box(0, 1), ts.terms.L1(0.1), ts.terms.L2Ball(1.0)]
    >>> problem = Product(ts.Problem(lambda x: (x @ x / 2, x), terms))
    >>> problem.start(np.ones(2)).shape
    (4, 2)
    """

    hands_out_z = False  # but the common copy

    def __init__(self, base: Problem) -> None:
        self.base, self.batch_ndim, self.counts, self.number = base, base.batch_ndim, base.counts, base.number
        self.proxes, self.grad_f = base.proxes, base.grad
        self.before = (slice(None),) * base.batch_ndim  # the axes in front of that of the copies
        self.copies = len(base.terms) + 1

    def prox_g(self, y: Array, gamma: StepSize) -> Array:
        xp, k, gamma = namespace(y), self.batch_ndim, self.step_of_copies(gamma)
        moved = [prox(copy, gamma) for prox, copy in zip(self.proxes, self.of_terms(y), strict=True)]
        return xp.stack([self.smooth_part(y), *moved], axis=k)

    def step_of_copies(self, gamma: StepSize) -> StepSize:
        """Return the step, in a batch as a column for arrays without the axis of the copies."""
        return namespace(gamma).squeeze(gamma, axis=-1) if self.batch_ndim and is_array(gamma) else gamma

    def prox_h(self, v: Array, gamma: StepSize) -> Array:
        xp = namespace(v)
        return xp.zeros_like(v) + xp.mean(v, axis=self.batch_ndim, keepdims=True)

    def grad(self, z: Array) -> Array:
        return self.embed(self.grad_f(self.smooth_part(z)))

    def value(self, z: Array) -> Values:
        return self.base.value(self.smooth_part(z))

    def value_and_grad(self, z: Array) -> tuple[Values, Array]:
        value, u = self.base.value_and_grad(self.smooth_part(z))
        return value, self.embed(u)

    def smooth_part(self, d: Array) -> Array:
        """Return d^(0)."""
        return d[(*self.before, 0, ...)]

    def of_terms(self, x: Array) -> list[Array]:
        """Return the copies x^(1), ..., x^(m)."""
        return [x[(*self.before, i, ...)] for i in range(1, self.copies)]

    def embed(self, u: Array) -> Array:
        xp = namespace(u)
        return xp.stack([u] + [xp.zeros_like(u)] * (self.copies - 1), axis=self.batch_ndim)

    def uncounted(self) -> "Product":
        plain = Product(self.base)
        plain.proxes, plain.grad_f = tuple(term.prox for term in self.base.terms), self.base.f.uncounted_grad
        return plain

    def start(self, x0: Array) -> Array:
        """Return m + 1 copies of `x0`."""
        return namespace(x0).stack([x0] * self.copies, axis=self.batch_ndim)

    def point(self, made: Iterate) -> Array:
        """Return the common copy of x; in the mean they are all equal."""
        return self.smooth_part(made.x)

    def reached(self, made: Iterate) -> list[Array]:
        return self.of_terms(made.z)

    def dual(self, made: Iterate, i: int) -> Array:
        at = (*self.before, i + 1, ...)
        return (made.y[at] - made.z[at]) / self.step_of_copies(made.gamma)

    def together(self, d: Array) -> Array:
        return namespace(d).sum(d, axis=self.batch_ndim)

    def infeasibility(self, made: Iterate) -> Values:
        """Return the root of the sum of the squared distances of the common copy to the domains."""
        base, x = self.base, self.point(made)
        return sum(base.off(term, x, x - z) ** 2 for term, z in zip(base.terms, self.reached(made), strict=True)) ** 0.5

    def bound(self, made: Iterate) -> Values:
        """Return the bound of the key lemma on epsilon at the common copy.

        The point is the common x, so the gradient moves from z^(0) to x and g_i from z^(i) to x.
        """
        base, k, x, d = self.base, self.batch_ndim, self.point(made), made.d
        shift = base.grad(x) - self.smooth_part(made.u)
        # Division by gamma comes before the sum: there a column fits.
        support = base.support(namespace(d).sum(d / made.gamma, axis=k) - shift)
        moved = base.difference(base.terms, [x] * len(base.terms), self.reached(made))
        return support - inner(made.y + d, d, k) / per_problem(made.gamma, k) + inner(shift, x, k) + moved

    def select(self, members: tuple[Array, ...], shape: Shape) -> "Product | None":
        """Return the problem of some members of a batch whose x has that shape, as `Problem.select`."""
        base = self.base.select(members, shape)
        return None if base is None else Product(base)


def with_two_terms(problem: Space) -> Space:
    """Return a problem of two terms as it is, and one of more as a `Product`."""
    return Product(problem) if isinstance(problem, Problem) and len(problem.terms) > 2 else problem
