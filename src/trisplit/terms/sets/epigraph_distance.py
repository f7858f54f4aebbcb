"""The epigraph of the distance to a convex set, or of its square."""

from dataclasses import dataclass
from math import inf

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm, ConvexSet
from trisplit.terms.blocks import mapped, summed
from trisplit.terms.checks import axis_or_none, positive, whole
from trisplit.terms.numbers import row_norms
from trisplit.terms.sets.cones import LinesOf, ahead_of_line
from trisplit.terms.sets.equations import onto_square

__all__ = ["EpigraphDistance"]


@dataclass(frozen=True, eq=False)
class EpigraphDistance(LinesOf, ConvexSet):
    """Indicator of the epigraph of the distance to a convex set C, {(y, t) : weight dist(y, C)^power <= t}.

    t is the last entry. prox(y, t) moves y towards its projection onto C: (dist, t) goes to its projection onto the
    epigraph of weight |.|^power.

    Parameters
    ----------
    set_ : term
        The convex set C; it treats each vector y as its x.
    power : int
        1 or 2.
    weight : float
        Positive.
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import Box
    >>> EpigraphDistance(Box(0, 1), power=1).prox(np.array([0.5, 4.0, 1.0]), gamma=1.0)
    array([0.5, 3. , 2. ])
    """

    set_: BaseTerm
    power: int = 2
    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    parts = ("set_",)
    least = 2

    def __post_init__(self) -> None:
        if not (getattr(self.set_, "convex", False) and getattr(self.set_, "indicator", False)):
            raise InputError(f"`set_` must be a convex set, got {type(self.set_).__name__}; for example Box(0, 1)")
        if whole(self.power, "power") > 2:
            raise InputError(f"`power` must be 1 or 2, got {self.power}; choose one of these")
        object.__setattr__(self, "weight", positive(self.weight, "weight"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @property
    def cost(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the set."""
        return self.set_.cost

    @property
    def accuracy(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the set, and of the equation for the distance."""
        return self.set_.accuracy + 10.0

    @property
    def host(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the set."""
        return self.set_.host

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        xp = namespace(v)
        y, t = v[..., :-1], v[..., -1:]
        near = self.set_.batched(v.ndim - 1).project(y)  # pyright: ignore[reportAttributeAccessIssue]
        away = y - near
        if self.power == 1:
            factor, s, inside = ahead_of_line(away, t, self.weight)
            return xp.where(inside, v, xp.concat([near + factor * away, s], axis=-1))
        d = row_norms(away)
        p, s = onto_square(d, t, self.weight)
        factor = p / xp.where(d > 0, d, xp.ones_like(d))
        return xp.where((s == t) & (p == d), v, xp.concat([near + factor * away, s], axis=-1))

    def support(self, u: Array) -> float:
        """Return that of the set at u plus s phi*(||u|| / s) at (u, -s), phi the power."""
        return self._support(u)

    @summed
    def _support(self, u: Array) -> Array:
        xp = namespace(u)
        slack = 100 * self.accuracy * eps(u) * (1.0 + row_norms(u)[..., 0])
        v, s = u[..., :-1], -u[..., -1]
        size = row_norms(v)[..., 0]
        # A batch of one at least, so that the numbers are arrays
        rows = xp.reshape(v, (-1, v.shape[-1])) if u.ndim == 1 else v
        own = self.set_.batched(rows.ndim - 1).support(rows)  # pyright: ignore[reportAttributeAccessIssue]
        own = xp.reshape(own, s.shape)
        high = xp.maximum(s, slack)
        if self.power == 1:
            value, allowed = own, size <= self.weight * s + slack * max(1.0, self.weight)
        else:
            value, allowed = own + size / (4 * self.weight * high) * size, s >= -slack
        return xp.where(allowed, value, inf * xp.ones_like(s))

    @classmethod
    def examples(cls) -> list[tuple["EpigraphDistance", Shape]]:
        from trisplit.terms.sets.balls import L2Ball
        from trisplit.terms.sets.box import Box

        return [(cls(Box(-0.5, 1.0)), (3,)), (cls(L2Ball(1.0), 1, 0.4), (4,)), (cls(Box(0.0, 1.0), 2, 3.0, 0), (3, 2))]
