"""Distances to a convex set."""

from dataclasses import dataclass

from trisplit.arrays import Array, Shape, namespace
from trisplit.arrays.batched import column, inner, scalar
from trisplit.terms.base import BaseTerm, ConvexFunction, zero_where
from trisplit.terms.calculus.wrapping import conjugate_value, given, has_conjugate_value, need_term
from trisplit.terms.checks import nonnegative_weight, positive
from trisplit.terms.numbers import safe_norm
from trisplit.terms.sets.box import Box

__all__ = ["Distance", "SquaredDistance"]


class _OfASet(ConvexFunction):
    """A function of the distance to a convex set."""

    set: BaseTerm
    weight: float
    parts = ("set",)

    @property
    def cost(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the set."""
        return self.set.cost

    @property
    def accuracy(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the set."""
        return self.set.accuracy

    @property
    def host(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the set."""
        return self.set.host


@dataclass(frozen=True)
class Distance(_OfASet):
    """The distance to a convex set, weight * min over s in the set of ||x - s||.

    With p = project(x) and d = ||x - p||, prox(x, gamma) = p if d <= gamma weight, else x + gamma weight (p - x) / d.

    Parameters
    ----------
    set : term
        A convex set.
    weight : float
        Nonnegative.

    References
    ----------
    Bauschke, Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, example 24.28.

    Examples
    --------
    >>> import numpy as np
    >>> Distance(Box(0, 1)).prox(np.array([4.0, 5.0]), gamma=1.0)
    array([3.4, 4.2])
    """

    set: BaseTerm
    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        need_term(self.set, "set", convex=True, indicator=True)
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    def value(self, x: Array) -> float:
        """Return weight times the distance."""
        return self.weight * self.set.distance(x)  # pyright: ignore[reportAttributeAccessIssue]

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` moved towards the set by gamma weight, but not beyond."""
        xp, k = namespace(x), self.batch_ndim
        away = x - self.set.prox(x, 1.0)
        d = _norm_column(away, k)
        reach = scalar(gamma, k) * self.weight
        share = xp.where(d > reach, reach / xp.where(d > 0, d, xp.ones_like(d)), xp.ones_like(d))
        return x - share * away

    def lipschitz(self, shape: Shape) -> float:
        """Return the weight."""
        return self.weight

    @given(lambda self: has_conjugate_value(self.set))
    def conjugate_value(self, u: Array) -> float:
        """Return the support function of the set, infinite if ||u|| > weight."""
        k, size = self.batch_ndim, 1e2 * self.accuracy * float(namespace(u).finfo(u.dtype).eps)
        short = safe_norm(u, k) <= self.weight * (1.0 + size) + size
        return conjugate_value(self.set, u) + zero_where(short, u)

    @classmethod
    def examples(cls) -> list[tuple["Distance", Shape]]:
        from trisplit.terms.sets.simplex import Simplex

        return [(cls(Box(-1.0, 0.5), 0.7), (4,)), (cls(Simplex(), 1.2), (3,))]


@dataclass(frozen=True)
class SquaredDistance(_OfASet):
    """Half the squared distance to a convex set, (weight / 2) min over s in the set of ||x - s||^2.

    prox(x, gamma) = (x + gamma weight project(x)) / (1 + gamma weight).

    Parameters
    ----------
    set : term
        A convex set.
    weight : float
        Positive.

    References
    ----------
    Bauschke, Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, proposition 24.8.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredDistance(Box(0, 1)).prox(np.array([4.0, 0.5]), gamma=1.0)
    array([2.5, 0.5])
    """

    set: BaseTerm
    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        need_term(self.set, "set", convex=True, indicator=True)
        object.__setattr__(self, "weight", positive(self.weight, "weight"))

    def value(self, x: Array) -> float:
        """Return (weight / 2) distance^2."""
        return 0.5 * self.weight * self.set.distance(x) ** 2  # pyright: ignore[reportAttributeAccessIssue]

    def prox(self, x: Array, gamma: float) -> Array:
        """Return a point between `x` and its projection."""
        t = scalar(gamma, self.batch_ndim) * self.weight
        return x / (1.0 + t) + (t / (1.0 + t)) * self.set.prox(x, 1.0)

    @given(lambda self: has_conjugate_value(self.set))
    def conjugate_value(self, u: Array) -> float:
        """Return the support function of the set plus ||u||^2 / (2 weight)."""
        return conjugate_value(self.set, u) + inner(u, u, self.batch_ndim) / (2 * self.weight)

    @classmethod
    def examples(cls) -> list[tuple["SquaredDistance", Shape]]:
        from trisplit.terms.sets.simplex import Simplex

        return [(cls(Box(-1.0, 0.5), 0.7), (4,)), (cls(Simplex(), 1.2), (3,))]


def _norm_column(x: Array, batch_ndim: int) -> Array:
    """Return the norm of x, in a batch those of the problems, as an array that multiplies x."""
    xp = namespace(x)
    alone = x if batch_ndim else x[None, ...]
    d = safe_norm(alone, batch_ndim or 1)
    return column(d, x) if batch_ndim else xp.reshape(d, (1,) * x.ndim)  # pyright: ignore[reportArgumentType]
