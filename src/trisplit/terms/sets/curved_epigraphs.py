"""Epigraphs {(y, t) : phi(y) <= t} of curved functions: powers, the exponential, the logarithm.

The height t is the last entry of a vector. Outside, the projection is (p, phi(p)) where p + phi'(p) (phi(p) - t) = y.
The support function at (u, -s) is s phi*(u / s) for s > 0, and infinite for s < 0.
"""

from dataclasses import dataclass
from math import inf, log

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet
from trisplit.terms.blocks import mapped, summed
from trisplit.terms.checks import axis_or_none, positive
from trisplit.terms.numbers import row_norms
from trisplit.terms.sets.cones import LinesOf
from trisplit.terms.sets.equations import onto_exp, onto_square, power_root

__all__ = [
    "EpigraphExp",
    "EpigraphLog",
    "EpigraphPower",
    "EpigraphSquare",
    "EpigraphSquaredHinge",
]


class CurvedEpigraph(LinesOf, ConvexSet):
    """The epigraph of weight * phi: checks its parameters, and knows the support function by phi*."""

    weight: float
    axis: int | None
    exactly = 2
    accuracy = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive(self.weight, "weight"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @summed
    def support(self, u: Array) -> Array:
        """Return s phi*(u / s) at (u, -s), infinite outside of its domain up to rounding."""
        xp = namespace(u)
        slack = 100 * self.accuracy * eps(u) * (1.0 + row_norms(u)[..., 0])
        v, s = u[..., 0], -u[..., -1]
        value, allowed = self.scaled_conjugate(v, xp.maximum(s, slack), slack)
        return xp.where(allowed & (s >= -slack), value, inf * xp.ones_like(s))

    def scaled_conjugate(self, u: Array, s: Array, slack: Array) -> tuple[Array, Array]:
        """Return s phi*(u / s) for s > 0, and where u / s is in the domain of phi* up to `slack`."""
        raise NotImplementedError(f"{type(self).__name__} must define `scaled_conjugate`")


def everywhere(u: Array) -> Array:
    """Return True for each number."""
    return u == u


@dataclass(frozen=True)
class EpigraphSquare(CurvedEpigraph):
    """Indicator of the epigraph of the square, {(y, t) : weight y^2 <= t}; t is the last of two entries.

    Outside, prox(y, t) = (sign(y) p, weight p^2) with 2 weight^2 p^3 + (1 - 2 weight t) p = |y|.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors of 2 entries lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphSquare().prox(np.array([3.0, 0.0]), gamma=1.0)
    array([1., 1.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        xp = namespace(v)
        p, t = onto_square(xp.abs(v[..., :1]), v[..., 1:], self.weight)
        return xp.concat([xp.where(v[..., :1] < 0, -p, p), t], axis=-1)

    def scaled_conjugate(self, u: Array, s: Array, slack: Array) -> tuple[Array, Array]:
        """Return u^2 / (4 weight s)."""
        return u / (4 * self.weight * s) * u, everywhere(u)

    @classmethod
    def examples(cls) -> list[tuple["EpigraphSquare", Shape]]:
        return [(cls(), (2,)), (cls(0.3, axis=0), (2, 3))]


@dataclass(frozen=True)
class EpigraphSquaredHinge(CurvedEpigraph):
    """Indicator of the epigraph of the squared positive part, {(y, t) : weight max(y, 0)^2 <= t}, t the last of two.

    prox(y, t) = (y, max(t, 0)) for y <= 0, and that of `EpigraphSquare` for y > 0.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors of 2 entries lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphSquaredHinge().prox(np.array([-3.0, -1.0]), gamma=1.0)
    array([-3.,  0.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        xp = namespace(v)
        y, t = v[..., :1], v[..., 1:]
        p, s = onto_square(xp.clip(y, 0.0, None), t, self.weight)
        return xp.concat([xp.where(y <= 0, y, p), xp.where(y <= 0, xp.clip(t, 0.0, None), s)], axis=-1)

    def scaled_conjugate(self, u: Array, s: Array, slack: Array) -> tuple[Array, Array]:
        """Return u^2 / (4 weight s) for u >= 0."""
        return u / (4 * self.weight * s) * u, u >= -slack

    @classmethod
    def examples(cls) -> list[tuple["EpigraphSquaredHinge", Shape]]:
        return [(cls(), (2,)), (cls(2.0, axis=1), (3, 2))]


@dataclass(frozen=True)
class EpigraphPower(CurvedEpigraph):
    """Indicator of the epigraph of a power, {(y, t) : weight |y|^power <= t}; t is the last of two entries.

    Outside, prox(y, t) = (sign(y) p, weight p^power) with
    p + power weight p^(power - 1) (weight p^power - t) = |y|, found by Newton's method.

    Parameters
    ----------
    power : float
        Larger than 1; for 1 take `EpigraphAbs`.
    weight : float
        Positive.
    axis : int or None
        Vectors of 2 entries lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphPower(3.0).prox(np.array([4.0, 0.0]), gamma=1.0)
    array([1., 1.])
    """

    power: float = 2.0
    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        power = positive(self.power, "power")
        if power <= 1.0:
            raise InputError(f"`power` must be larger than 1, got {power}; for 1 use EpigraphAbs")
        object.__setattr__(self, "power", power)
        super().__post_init__()

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        xp, q, w = namespace(v), self.power, self.weight
        y, t = v[..., :1], v[..., 1:]
        m, one = xp.abs(y), xp.ones_like(y)
        # w m^q <= t, by logarithms, since a power may overflow
        logs = q * xp.log(xp.where(m > 0, m, one)) + log(w) <= xp.log(xp.where(t > 0, t, one))
        inside = (t >= 0) & ((m == 0) | ((t > 0) & logs))
        moves = ~inside & (m > 0)
        p = power_root(q, w, xp.where(moves, t, 0.0 * one), xp.where(moves, m, one))
        moved = xp.concat([xp.where(y < 0, -p, p), w * p**q], axis=-1)
        moved = xp.where(m > 0, moved, xp.zeros_like(v))  # below the origin
        lost = 0.0 * y + 0.0 * t  # NaN, which a search for a root would lose
        return xp.where(inside, v, moved + lost)

    def scaled_conjugate(self, u: Array, s: Array, slack: Array) -> tuple[Array, Array]:
        """Return (q - 1) weight s |u / (q weight s)|^(q / (q - 1))."""
        xp, q = namespace(u), self.power
        ratio = xp.abs(u) / (q * self.weight * s)
        return (q - 1) * self.weight * s * ratio ** (q / (q - 1)), everywhere(u)

    @classmethod
    def examples(cls) -> list[tuple["EpigraphPower", Shape]]:
        return [(cls(3.0), (2,)), (cls(1.5, 0.4, axis=0), (2, 3)), (cls(), (2,))]


@dataclass(frozen=True)
class EpigraphExp(CurvedEpigraph):
    """Indicator of the epigraph of the exponential, {(y, t) : weight exp(y) <= t}; t is the last of two entries.

    Outside, prox(y, t) = (p, s) with s = weight exp(p) and p + s (s - t) = y, found by Newton's method.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors of 2 entries lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphExp().prox(np.array([1.0, 0.0]), gamma=1.0)
    array([0., 1.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        xp, shift = namespace(v), log(self.weight)
        p, s = onto_exp(v[..., :1] + shift, v[..., 1:])
        return xp.where(s == v[..., 1:], v, xp.concat([p - shift, s], axis=-1))

    def scaled_conjugate(self, u: Array, s: Array, slack: Array) -> tuple[Array, Array]:
        """Return u log(u / (weight s)) - u for u >= 0."""
        xp = namespace(u)
        safe = xp.where(u > 0, u, xp.ones_like(u))
        value = safe * (xp.log(safe) - xp.log(s) - log(self.weight) - 1.0)
        return xp.where(u > 0, value, xp.zeros_like(u)), u >= -slack

    @classmethod
    def examples(cls) -> list[tuple["EpigraphExp", Shape]]:
        return [(cls(), (2,)), (cls(0.3, axis=0), (2, 3))]


@dataclass(frozen=True)
class EpigraphLog(CurvedEpigraph):
    """Indicator of the epigraph of the negative logarithm, {(y, t) : -weight log(y) <= t, y > 0}, t the last of two.

    It is {(y, t) : exp(-t / weight) <= y}, hence prox is that of `EpigraphExp` at (-t, y), scaled.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors of 2 entries lie along this axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Pustelnik, Pesquet, Pesquet-Popescu (2015), Epigraphical projection and proximal tools for solving
    constrained convex optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> EpigraphLog().prox(np.array([0.0, -1.0]), gamma=1.0)
    array([1., 0.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the epigraph."""
        xp, w = namespace(v), self.weight
        # In units of w, z = -t / w and y / w: exp(z) / w <= y / w
        p, s = onto_exp(-v[..., 1:] / w - log(w), v[..., :1] / w)
        return xp.where(s == v[..., :1] / w, v, w * xp.concat([s, 0.0 - p - log(w)], axis=-1))

    def scaled_conjugate(self, u: Array, s: Array, slack: Array) -> tuple[Array, Array]:
        """Return -weight s (1 + log(-u / (weight s))) for u < 0."""
        xp, w = namespace(u), self.weight
        return -w * s * (1.0 + xp.log(xp.maximum(-u, slack)) - xp.log(s) - log(w)), u <= slack

    @classmethod
    def examples(cls) -> list[tuple["EpigraphLog", Shape]]:
        return [(cls(), (2,)), (cls(0.3, axis=0), (2, 3))]
