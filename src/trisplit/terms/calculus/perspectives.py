"""The perspective of any convex term.

The conjugate of f(y, xi) = xi g(y / xi) is the indicator of {(u, mu) : g*(u) + mu <= 0}. If the
proximal point has the scale q, its vector is y - gamma s with s = prox of g* (y / gamma, q / gamma), and
q - gamma g*(s) = xi is one equation for q, whose left side rises.
"""

from dataclasses import dataclass
from math import inf, log

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace, without_history
from trisplit.arrays.batched import scalar
from trisplit.errors import InputError
from trisplit.terms.barriers.perspectives import LastNonNegative
from trisplit.terms.base import BaseTerm, ClosedSet, ConvexFunction
from trisplit.terms.calculus.wrapping import given, has_conjugate_value, need_term
from trisplit.terms.numbers import row_norms
from trisplit.terms.roots import falling_root_of_logarithm
from trisplit.terms.sets.box import Free

__all__ = ["Perspective"]

CANCELLING = 100.0  # times as large as their difference two numbers may be


@dataclass(frozen=True)
class Perspective(ConvexFunction):
    """The perspective of a convex term, f(y, xi) = xi g(y / xi) for xi > 0, and its limit for xi = 0.

    x is a vector whose last entry is the scale xi, and g takes the others. prox(x, gamma) = (y - gamma s, q), where s
    is the proximal point of g* at y / gamma with step q / gamma and q = xi + gamma g*(s); log(q) is found as in
    `LevelSet`. `PerspectiveSquare`, `PerspectiveHuber` and their neighbours, functions of a norm, are faster.

    Parameters
    ----------
    term : term
        Convex, for vectors; the value of its conjugate must be known.

    References
    ----------
    Combettes, Mueller (2018), Perspective functions: proximal calculus and applications in high-dimensional statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import SquaredL2
    >>> Perspective(SquaredL2(2.0)).prox(np.array([0.0, 3.0, 0.0]), gamma=1.0).round(6)
    array([0., 1., 1.])
    """

    term: BaseTerm
    broadcast = ()
    parts = ("term",)

    def __post_init__(self) -> None:
        need_term(self.term, convex=True)
        if not has_conjugate_value(self.term):
            raise InputError(f"`term` must have a known conjugate, but {type(self.term).__name__} has none")

    @property
    def cost(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term, many times."""
        return self.term.cost

    @property
    def accuracy(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The scale is found up to rounding of the values of the conjugate."""
        return 100.0 * self.term.accuracy

    @property
    def host(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term."""
        return self.term.host

    def _rows(self, x: Array) -> tuple[Array, Array, BaseTerm]:
        """Return vectors and scales in a batch of at least one axis, and the term for it."""
        k = self.batch_ndim
        if x.ndim != k + 1 or x.shape[-1] < 2:
            raise InputError(
                f"x must be a vector of at least 2 entries, the last one the scale; got {tuple(x.shape[k:])}"
            )
        rows = x if k else namespace(x).expand_dims(x, axis=0)
        return rows[..., :-1], rows[..., -1:], self.term.batched(max(k, 1))

    def value(self, x: Array) -> float:
        """Return xi g(y / xi), at xi = 0 its limit, which is infinite if it grows without bound."""
        xp = namespace(x)
        y, xi, term = self._rows(x)
        size = row_norms(y)
        # At xi = 0 the value at two scales that are tiny against y: their difference tells whether there is a limit.
        tiny = xp.where(size > 0, eps(x) * size, xp.ones_like(size))
        first = xp.where(xi > 0, xi, tiny)
        with np.errstate(over="ignore", invalid="ignore"):
            near, far = (scale[..., 0] * term.value(y / scale) for scale in (first, first / 16))
            grows = ~(far <= near + 1e-3 * xp.abs(near))
        limit = xp.where(size[..., 0] > 0, xp.where(grows, inf * xp.ones_like(near), near), xp.zeros_like(near))
        xi = xi[..., 0]
        each = xp.where(xi > 0, near, xp.where(xi < 0, inf * xp.ones_like(near), limit))
        return each if self.batch_ndim else float(each[0])

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal point."""
        xp, k = namespace(x), self.batch_ndim
        y, xi, term = self._rows(x)
        dual = term.conjugate().batched(term.batch_ndim)  # pyright: ignore[reportAttributeAccessIssue]
        tiny, most = float(xp.finfo(x.dtype).smallest_normal), float(xp.finfo(x.dtype).max) / 16
        # The function is homogeneous: vectors of length 1 will do.
        size = without_history(row_norms(xp.concat([y, xi], axis=-1)))
        # But q may be as large as gamma, and is not looked for where it is beyond some powers of 1 / eps.
        size = xp.maximum(size, eps(x) ** 2 * without_history(scalar(gamma, k) * xp.ones_like(size)))
        size = xp.where(size > tiny * 2.0**20, size, xp.ones_like(size))
        y, xi = y / size, (xi / size)[..., 0]
        with np.errstate(over="ignore", under="ignore"):
            t = xp.clip(scalar(gamma, k) * xp.ones_like(size) / size, tiny, most)

        def point(log_q: Array) -> Array:
            """Return w = y / q, for a given q."""
            q = xp.exp(log_q)[..., None]
            return term.prox(y / q, xp.clip(t / q, tiny, most))  # pyright: ignore[reportArgumentType]

        def excess(log_q: Array) -> Array:
            """Return xi + gamma g*(s) - q, where gamma g*(s) = <y - q w, w> - gamma g(w)."""
            w, q = point(log_q), xp.exp(log_q)
            step = y - q[..., None] * w
            linear, own = xp.sum(step * w, axis=-1), t[..., 0] * term.value(w)
            # The difference of two large numbers knows less than the conjugate does.
            cancels = ~(xp.abs(linear) + xp.abs(own) <= CANCELLING * (q + xp.abs(xi)))
            s = dual.prox(xp.where(cancels[..., None], step / t, xp.zeros_like(step)), eps(x))  # back into its domain
            known = t[..., 0] * xp.where(cancels, dual.value(s), xp.zeros_like(q))
            return xi + xp.maximum(xp.where(cancels, known, linear - own), least) - q

        far = -4 * log(eps(x))
        least = -t[..., 0] * term.value(xp.zeros_like(y))  # g* >= -g(0), whatever rounding says
        with np.errstate(over="ignore", invalid="ignore"):
            log_q = falling_root_of_logarithm(excess, xp.ones_like(xi), far)
            q = xp.exp(log_q)[..., None]
            moved = q * point(log_q)
        none = log_q[..., None] <= -0.99 * far
        moved = xp.where(none & (xp.abs(moved) <= eps(x) ** 2), xp.zeros_like(moved), moved)
        found = size * xp.concat([moved, xp.where(none, xp.zeros_like(q), q)], axis=-1)
        return found if k else found[0, ...]

    @given(lambda self: hasattr(self.term, "domain") and isinstance(self.term.domain(), Free))
    def domain(self) -> ClosedSet:
        """Return the vectors whose last entry is not negative; others are not known."""
        return LastNonNegative().batched(self.batch_ndim)

    def conjugate_value(self, u: Array) -> float:
        """Return 0 where g*(u) + mu <= 0 up to rounding, else infinity."""
        xp = namespace(u)
        v, mu, term = self._rows(u)
        dual = term.conjugate().batched(term.batch_ndim)  # pyright: ignore[reportAttributeAccessIssue]
        slack = 100 * self.accuracy * eps(u) * (1.0 + row_norms(v) + xp.abs(mu))[..., 0]
        each = xp.where(dual.value(v) + mu[..., 0] <= slack, 0.0 * slack, inf * xp.ones_like(slack))
        return each if self.batch_ndim else float(each[0])

    @classmethod
    def examples(cls) -> list[tuple["Perspective", Shape]]:
        from trisplit.terms.norms.l1 import SquaredL2
        from trisplit.terms.norms.potentials import Huber

        return [(cls(Huber()), (3,)), (cls(SquaredL2(2.0)), (4,))]
