"""Terms made of several terms on the same x: intersections and minima.

A sum of terms is missing. Dykstra's algorithm could find its proximal point from those of the terms, but takes ever
more steps as gamma grows; a splitting method takes the terms one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf, prod

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace, smaller
from trisplit.arrays.batched import column, per_problem, scalar
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm, ConvexSet, zero_where
from trisplit.terms.blocks import on_the_host
from trisplit.terms.calculus.wrapping import given, need_term
from trisplit.terms.checks import whole
from trisplit.terms.numbers import safe_norm
from trisplit.terms.sets.box import Box

__all__ = ["Intersection", "PointwiseMinimum"]


class _OfSeveral(BaseTerm):
    """What terms of several terms have in common."""

    terms: Sequence[BaseTerm]
    parts = ("terms",)

    @property
    def cost(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The longest of those of the terms."""
        return max((term.cost for term in self.terms), key=lambda cost: (cost != "n", len(cost), cost))

    def _need_terms(self, *, convex: bool = False, indicator: bool = False) -> None:
        if not isinstance(self.terms, Sequence) or not self.terms:
            raise InputError(f"`terms` must list at least one term, got {self.terms!r}; for example [L1(), Box(0, 1)]")
        for k, term in enumerate(self.terms):
            need_term(term, f"terms[{k}]", convex=convex, indicator=indicator)
        object.__setattr__(self, "terms", tuple(self.terms))


@dataclass(frozen=True)
class PointwiseMinimum(_OfSeveral):
    """The smallest of several terms, min(g_1(x), ..., g_m(x)); of sets, their union.

    prox(x, gamma) is the best of the proximal points of the terms.

    Parameters
    ----------
    terms : sequence of terms

    References
    ----------
    Dao, Tam (2019), Union averaged operators with applications to proximal algorithms for min-convex functions.

    Examples
    --------
    >>> import numpy as np
    >>> PointwiseMinimum([Box(0, 1), Box(3, 4)]).prox(np.array([2.5]), gamma=1.0)
    array([3.])
    """

    terms: Sequence[BaseTerm]
    broadcast = ()
    convex = False

    def __post_init__(self) -> None:
        self._need_terms()

    @property
    def indicator(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether all terms are sets."""
        return all(term.indicator for term in self.terms)

    @property
    def accuracy(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The worst of the terms."""
        return max(term.accuracy for term in self.terms)

    @property
    def host(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the first term that computes there."""
        return next((term.host for term in self.terms if term.host), "")

    def value(self, x: Array) -> float:
        """Return the smallest value."""
        least = self.terms[0].value(x)
        for term in self.terms[1:]:
            least = smaller(least, term.value(x))
        return least

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the best proximal point; numbers stay on the device, as those of a batch."""
        if not self.batch_ndim:
            alone = self.batched(1)
            return alone.prox(x[None, ...], scalar(gamma, 0))[0, ...]  # pyright: ignore[reportArgumentType]
        xp, k = namespace(x), self.batch_ndim
        t, size = per_problem(gamma, k), 1.0 + safe_norm(x, k)
        best, least = x, None
        for term in self.terms:
            p = term.prox(x, gamma)
            d = safe_norm(p - x, k)
            with np.errstate(over="ignore"):
                cost = d * (d / size) / 2  # a square of 1e300 is never formed
                cost = cost if term.indicator else cost + t * (term.value(p) / size)
            better = True if least is None else cost < least
            best = p if least is None else xp.where(column(better, x), p, best)  # pyright: ignore
            least = cost if least is None else xp.where(better, cost, least)
        return best

    @given(lambda self: self.indicator)
    def project(self, x: Array) -> Array:
        """Return a nearest point of the union."""
        return self.prox(x, 1.0)

    @given(lambda self: self.indicator)
    def distance(self, x: Array) -> float:
        """Return the distance to the union."""
        return safe_norm(x - self.project(x), self.batch_ndim)

    def lipschitz(self, shape: Shape) -> float:
        """Return the largest of those of the terms, an upper bound; infinite if a domain may end."""
        if self.indicator:
            return 0.0
        if any(term.indicator or hasattr(term, "diameter") for term in self.terms):
            return inf
        known = [term.lipschitz(shape) for term in self.terms]  # pyright: ignore[reportAttributeAccessIssue]
        return reduce(np.maximum, known) if self.batch_ndim else max(known)

    @given(lambda self: all(hasattr(term, "domain") for term in self.terms))
    def domain(self) -> "PointwiseMinimum":
        """Return the union of the domains."""
        return self._with({"terms": tuple(term.domain() for term in self.terms)})  # pyright: ignore

    @classmethod
    def examples(cls) -> list[tuple["PointwiseMinimum", Shape]]:
        from trisplit.terms.norms.l1 import L1, SquaredL2

        return [(cls([L1(0.7), SquaredL2(0.5)]), (4,)), (cls([Box(-1.0, 0.0), Box(1.0, 2.0)]), (3,))]


@dataclass(frozen=True)
class Intersection(_OfSeveral, ConvexSet):
    """Indicator of the intersection of convex sets that have a point in common.

    prox(x) is found by Dykstra's algorithm, which projects onto the sets in turn, each time from a point that is
    corrected by what this set did the last time.

    Parameters
    ----------
    terms : sequence of terms
        Convex sets. If they have no point in common, what is returned is near to all of them at best.
    max_iter : int
        At most so many rounds.

    References
    ----------
    Boyle, Dykstra (1986), A method for finding projections onto the intersection of convex sets in Hilbert spaces;
    Birgin, Raydan (2005), Robust stopping criteria for Dykstra's algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import Affine, NonNegative
    >>> Intersection([NonNegative(), Affine(np.ones((1, 2)), [1.0])]).prox(np.zeros(2), gamma=1.0)
    array([0.5, 0.5])
    """

    terms: Sequence[BaseTerm]
    max_iter: int = 10_000
    broadcast = ()
    accuracy = 100.0
    host = "the number of steps of Dykstra's algorithm depends on the numbers"
    diameter_exact = False

    def __post_init__(self) -> None:
        self._need_terms(convex=True, indicator=True)
        object.__setattr__(self, "max_iter", whole(self.max_iter, "max_iter"))

    def project(self, x: Array) -> Array:
        """Return the nearest point of the intersection."""
        maps = [term.project for term in self.terms]  # pyright: ignore[reportAttributeAccessIssue]

        def compute(values: np.ndarray) -> np.ndarray:
            y = dykstra(maps, values.astype(float), self.max_iter)
            return _settled(maps, y, self.max_iter)

        return on_the_host(self, compute, x)

    def value(self, x: Array) -> float:
        """Return 0.0 if `x` is in all sets up to rounding, else infinity; no projection is trusted for that."""
        k = self.batch_ndim
        rounding = 100 * self.accuracy * eps(x) * (1.0 + safe_norm(x, k)) * max(prod(x.shape[k:]), 1) ** 0.5
        return zero_where(self._farthest(x) <= rounding, x)

    def distance(self, x: Array) -> float:
        """Return the distance to the projection, and no less than that to each of the sets."""
        return -smaller(-super().distance(x), -self._farthest(x))

    def _farthest(self, x: Array) -> float:
        """Return the largest distance to one of the sets."""
        return reduce(lambda a, b: -smaller(-a, -b), (term.distance(x) for term in self.terms))  # pyright: ignore

    @given(lambda self: any(hasattr(term, "diameter") for term in self.terms))
    def diameter(self, shape: Shape) -> float:
        """Return the least of those of the sets, an upper bound."""
        known = [term.diameter(shape) for term in self.terms if hasattr(term, "diameter")]  # pyright: ignore
        return reduce(np.minimum, known) if self.batch_ndim else min(known)

    @classmethod
    def examples(cls) -> list[tuple["Intersection", Shape]]:
        from trisplit.terms.sets.affine import Affine
        from trisplit.terms.sets.balls import L2Ball

        plane = Affine(np.array([[1.0, 1.0, 1.0]]), np.array([1.0]))
        return [(cls([Box(0.0, 0.8), plane]), (3,)), (cls([Box(-1.0, 0.5), L2Ball(1.0)]), (3,))]


def dykstra(maps: Sequence[Callable[[np.ndarray], np.ndarray]], x: np.ndarray, max_iter: int) -> np.ndarray:
    """Return the projection onto an intersection from those onto the sets, by Dykstra's algorithm.

    It ends when the corrections, not only the points, hardly change any more: the points may rest for many rounds.
    """
    y, corrections = x, [np.zeros_like(x) for _ in maps]
    small = 2 * np.finfo(float).eps * max(1.0, float(np.max(np.abs(x), initial=0.0)))
    for _ in range(max_iter):
        change = 0.0
        for i, prox in enumerate(maps):
            z = y + corrections[i]
            y = prox(z)
            change = max(change, float(np.max(np.abs(z - y - corrections[i]), initial=0.0)))
            corrections[i] = z - y
        if not change > small:  # NaN ends it too
            break
    return y


def _settled(maps: Sequence[Callable[[np.ndarray], np.ndarray]], y: np.ndarray, max_iter: int) -> np.ndarray:
    """Return a point of all sets near y: what rounding left of a huge x is removed by projections in turn."""
    for _ in range(max_iter):
        before = y
        for project in maps:
            y = project(y)
        if not np.max(np.abs(y - before), initial=0.0) > 4 * np.finfo(float).eps * np.max(np.abs(y), initial=1.0):
            break
    return y
