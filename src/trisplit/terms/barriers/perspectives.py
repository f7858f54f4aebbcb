"""Perspectives of functions of a norm: f(y, xi) = xi phi(y / xi) for xi > 0, and its limit for xi = 0.

The scale xi is the last entry of a vector. The conjugate of f is the indicator of {(u, mu) : phi*(u) + mu <= 0}, hence
prox(x, gamma) = x - gamma (projection of x / gamma onto this set). All phi here depend on ||y|| alone, so that y keeps
its direction, and the rest happens in the plane of m = ||y|| and xi.

P. L. Combettes, C. L. Mueller (2018), Perspective functions: proximal calculus and applications in high-dimensional
statistics, Journal of Mathematical Analysis and Applications 457.
"""

from dataclasses import dataclass
from math import inf

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.terms.base import ClosedSet, ConvexFunction, ConvexSet
from trisplit.terms.blocks import mapped, summed
from trisplit.terms.checks import axis_or_none, positive
from trisplit.terms.numbers import row_norms
from trisplit.terms.roots import increasing_root
from trisplit.terms.sets.cones import LinesOf
from trisplit.terms.sets.epigraphs import EpigraphL2
from trisplit.terms.sets.equations import cubic_root

__all__ = ["PerspectiveHuber", "PerspectiveSqrt", "PerspectiveSquare", "PerspectiveVapnik"]


class RadialPerspective(LinesOf, ConvexFunction):
    """The perspective of weight * phi(||y||); a subclass knows what happens in the plane of ||y|| and xi."""

    weight: float
    axis: int | None
    least = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive(self.weight, "weight"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @summed
    def value(self, v: Array) -> Array:
        """Return the sum over the vectors of weight xi phi(||y|| / xi), infinite for xi < 0."""
        return self.weight * self.height(row_norms(v[..., :-1])[..., 0], v[..., -1])

    @mapped
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return the proximal points: the direction of y stays."""
        xp = namespace(v)
        y, xi = v[..., :-1], v[..., -1:]
        m = row_norms(y)
        p, q = self.moved(m, xi, t * self.weight * xp.ones_like(m))
        return xp.concat([p / xp.where(m > 0, m, xp.ones_like(m)) * y, q], axis=-1)

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return 0 where phi*(u) + mu <= 0 up to rounding, else infinity."""
        xp = namespace(u)
        size, mu = row_norms(u[..., :-1])[..., 0], u[..., -1]
        slack = 100 * self.accuracy * eps(u) * (1.0 + size + xp.abs(mu))
        allowed = self.in_polar(size / self.weight, mu / self.weight, slack * (1.0 + 1.0 / self.weight))
        return xp.where(allowed, xp.zeros_like(mu), inf * xp.ones_like(mu))

    def domain(self) -> ClosedSet:
        """Return the vectors whose last entry is not negative."""
        return LastNonNegative(self.axis).batched(self.batch_ndim)

    def height(self, m: Array, xi: Array) -> Array:
        """Return the value in the plane, for weight 1."""
        raise NotImplementedError(f"{type(self).__name__} must define `height`")

    def moved(self, m: Array, xi: Array, g: Array) -> tuple[Array, Array]:
        """Return the proximal point in the plane, for gamma * weight = g."""
        raise NotImplementedError(f"{type(self).__name__} must define `moved`")

    def in_polar(self, size: Array, mu: Array, slack: Array) -> Array:
        """Say where phi*(size) + mu <= 0 up to `slack`."""
        raise NotImplementedError(f"{type(self).__name__} must define `in_polar`")


@dataclass(frozen=True)
class LastNonNegative(LinesOf, ConvexSet):
    """Indicator of the vectors whose last entry is not negative."""

    axis: int | None = None
    broadcast = ()

    @mapped
    def project(self, v: Array) -> Array:
        """Return the vectors with the last entry moved to 0 if it is negative."""
        xp = namespace(v)
        return xp.concat([v[..., :-1], xp.clip(v[..., -1:], 0.0, None)], axis=-1)


@dataclass(frozen=True)
class PerspectiveSquare(RadialPerspective):
    """The perspective of the square, weight ||y||_2^2 / xi for xi > 0, and 0 at 0; xi is the last entry of a vector.

    With g = gamma weight, prox(y, xi) = 0 if ||y||^2 <= -4 g xi, and else (y / ||y|| r q, q) with q = xi + g r^2 and
    g r^3 + (xi + 2 g) r = ||y||.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Combettes, Mueller (2018), Perspective functions: proximal calculus and applications in high-dimensional statistics.

    Examples
    --------
    >>> import numpy as np
    >>> PerspectiveSquare().prox(np.array([0.0, 3.0, 0.0]), gamma=1.0)
    array([0., 1., 1.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    accuracy = 10.0

    def height(self, m: Array, xi: Array) -> Array:
        """Return m^2 / xi."""
        return square_over(m, xi)

    def moved(self, m: Array, xi: Array, g: Array) -> tuple[Array, Array]:
        """Return the proximal point of m^2 / xi."""
        return onto_square_over(m, xi, g)

    def in_polar(self, size: Array, mu: Array, slack: Array) -> Array:
        """Say where size^2 / 4 + mu <= 0."""
        return size**2 / 4 + mu <= slack * (1.0 + size)

    @classmethod
    def examples(cls) -> list[tuple["PerspectiveSquare", Shape]]:
        return [(cls(), (4,)), (cls(0.3, axis=0), (2, 3))]


@dataclass(frozen=True)
class PerspectiveHuber(RadialPerspective):
    """The perspective of Huber's function, weight (||y||^2 / (2 xi) or radius ||y|| - radius^2 xi / 2), xi >= 0.

    The first where ||y||_2 <= radius xi; xi is the last entry of a vector. With g = gamma weight, prox(y, xi) shortens
    y by g radius and adds g radius^2 / 2 to xi, cut off at 0, if ||y|| is large; else it is that of ||y||^2 / (2 xi).

    Parameters
    ----------
    radius : float
        Positive; where the square turns into the norm, for xi = 1.
    weight : float
        Positive.
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Combettes, Mueller (2018), Perspective functions: proximal calculus and applications in high-dimensional statistics.

    Examples
    --------
    >>> import numpy as np
    >>> PerspectiveHuber().prox(np.array([4.0, 1.0]), gamma=1.0)
    array([3. , 1.5])
    """

    radius: float = 1.0
    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    accuracy = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        super().__post_init__()

    def height(self, m: Array, xi: Array) -> Array:
        """Return Huber's function, scaled by xi."""
        xp, r = namespace(m), self.radius
        far = m >= r * xi
        value = xp.where(far, r * m - (r**2 / 2) * xi, square_over(xp.where(far, 0.0 * m, m), xi) / 2)
        return xp.where(xi >= 0, value, inf * xp.ones_like(m))

    def moved(self, m: Array, xi: Array, g: Array) -> tuple[Array, Array]:
        """Return the proximal point in the plane."""
        xp, r = namespace(m), self.radius
        drift = (r**2 / 2) * g
        far = xp.where(xi > -drift, m - g * r > r * (xi + drift), m > g * r)
        p, q = onto_square_over(xp.where(far, 0.0 * m, m), xi, g / 2)
        return xp.where(far, xp.clip(m - g * r, 0.0, None), p), xp.where(far, xp.clip(xi + drift, 0.0, None), q)

    def in_polar(self, size: Array, mu: Array, slack: Array) -> Array:
        """Say where size <= radius and size^2 / 2 + mu <= 0."""
        return (size <= self.radius + slack) & (size**2 / 2 + mu <= slack * (1.0 + size))

    @classmethod
    def examples(cls) -> list[tuple["PerspectiveHuber", Shape]]:
        return [(cls(), (4,)), (cls(2.0, 0.3, axis=0), (2, 3))]


@dataclass(frozen=True)
class PerspectiveVapnik(RadialPerspective):
    """The perspective of Vapnik's loss, weight max(||y||_2 - epsilon xi, 0) for xi >= 0; xi is the last entry.

    With g = gamma weight, prox(y, xi) shortens y by g and adds g epsilon to xi, cut off at 0, if the value stays
    positive; else it is the projection onto {||y|| <= epsilon xi}.

    Parameters
    ----------
    epsilon : float
        Positive; the width of what costs nothing, for xi = 1.
    weight : float
        Positive.
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Combettes, Mueller (2018), Perspective functions: proximal calculus and applications in high-dimensional statistics.

    Examples
    --------
    >>> import numpy as np
    >>> PerspectiveVapnik(1.0).prox(np.array([5.0, 1.0]), gamma=1.0)
    array([4., 2.])
    """

    epsilon: float = 0.1
    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        super().__post_init__()

    def height(self, m: Array, xi: Array) -> Array:
        """Return max(m - epsilon xi, 0)."""
        xp = namespace(m)
        return xp.where(xi >= 0, xp.clip(m - self.epsilon * xi, 0.0, None), inf * xp.ones_like(m))

    def moved(self, m: Array, xi: Array, g: Array) -> tuple[Array, Array]:
        """Return the proximal point in the plane."""
        xp, e = namespace(m), self.epsilon
        lower = xi + g * e
        far = xp.where(lower > 0, m - g > e * lower, m > g)
        c, s = e / (1.0 + e**2) ** 0.5, 1.0 / (1.0 + e**2) ** 0.5
        along = xp.clip(c * m + s * xi, 0.0, None)
        free = m <= e * xi
        p = xp.where(free, m, xp.where(far, m - g, c * along))
        return xp.clip(p, 0.0, None), xp.where(free, xi, xp.where(far, xp.clip(lower, 0.0, None), s * along))

    def in_polar(self, size: Array, mu: Array, slack: Array) -> Array:
        """Say where size <= 1 and epsilon size + mu <= 0."""
        return (size <= 1.0 + slack) & (self.epsilon * size + mu <= slack * (1.0 + self.epsilon))

    @classmethod
    def examples(cls) -> list[tuple["PerspectiveVapnik", Shape]]:
        return [(cls(0.7), (4,)), (cls(2.0, 0.3, axis=0), (2, 3))]


@dataclass(frozen=True)
class PerspectiveSqrt(RadialPerspective):
    """The perspective of -sqrt(1 - ||y||^2), which is -weight sqrt(xi^2 - ||y||_2^2) for ||y|| <= xi; xi is last.

    With g = gamma weight, prox(y, xi) = 0 if xi + sqrt(g^2 + ||y||^2) <= 0, and else (y / ||y|| q t / sqrt(1 + t^2), q)
    with q = xi + g sqrt(1 + t^2) and 2 g t + xi t / sqrt(1 + t^2) = ||y||, found by Newton's method.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Combettes, Mueller (2018), Perspective functions: proximal calculus and applications in high-dimensional statistics.

    Examples
    --------
    >>> import numpy as np
    >>> PerspectiveSqrt().prox(np.array([0.0, 2.0]), gamma=1.0)
    array([0., 3.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    accuracy = 10.0

    def height(self, m: Array, xi: Array) -> Array:
        """Return -sqrt(xi^2 - m^2)."""
        xp = namespace(m)
        slack = 100 * self.accuracy * eps(m) * (1.0 + m)
        inside = m <= xi
        roots = [xp.sqrt(xp.where(inside & (part > 0), part, xp.zeros_like(m))) for part in (xi - m, xi + m)]
        return xp.where(m <= xi + slack, -roots[0] * roots[1], inf * xp.ones_like(m))

    def moved(self, m: Array, xi: Array, g: Array) -> tuple[Array, Array]:
        """Return the proximal point in the plane."""
        xp = namespace(m)
        one = xp.ones_like(m)
        zero = xi + xp.hypot(g, m) <= 0
        # The unknown is T = g t, which cannot overflow; an easy point stands for those that go to 0
        M, X = xp.where(zero, g, m), xp.where(zero, g, xi)
        up, down = xp.clip(X, 0.0, None), xp.clip(-X, 0.0, None)
        deep = down > g
        low = xp.sqrt(xp.where(deep, down - g, 0.0 * g)) * xp.sqrt(down + g)
        high = xp.minimum(M, M / 2 + down / 2)
        # Near M = X >> g the root is about (X g^2 / 4)^(1/3); below, T / sqrt(g^2 + T^2) = M / X bounds it
        cube = (xp.where(X > 0, X, one) / 4) ** (1.0 / 3.0) * g ** (2.0 / 3.0)
        below = up > M
        ends = [xp.sqrt(xp.where(below, part, one)) for part in (up - M, up + M)]
        slant = g * (xp.where(below, M, 0.0 * one) / ends[0] / ends[1])
        small = M * (g / (2.0 * g + up))
        above = xp.maximum((M - up) / 2, xp.where(cube > g, cube, small))
        start = xp.where(X > 0, xp.where(below, xp.minimum(slant, cube), above), high)
        low = xp.minimum(low, high)

        def F(T: Array) -> tuple[Array, Array]:
            root = xp.hypot(g, T)
            part = root / (root + up)  # multiplies both, as X / root may overflow
            return part * (2.0 * T + X * (T / root) - M), 2.0 * part + X / (root + up) * (g / root) ** 2

        T = increasing_root(F, low, high, xp.minimum(xp.maximum(start, low), high))
        root = xp.hypot(g, T)
        q = xp.clip(X + root, 0.0, None)
        return xp.where(zero, 0.0 * one, q * (T / root)), xp.where(zero, 0.0 * one, q)

    def in_polar(self, size: Array, mu: Array, slack: Array) -> Array:
        """Say where sqrt(1 + size^2) + mu <= 0."""
        xp = namespace(size)
        return xp.hypot(xp.ones_like(size), size) + mu <= slack

    def domain(self) -> ClosedSet:
        """Return {(y, xi) : ||y|| <= xi}."""
        return EpigraphL2(1.0, self.axis).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["PerspectiveSqrt", Shape]]:
        return [(cls(), (4,)), (cls(0.3, axis=0), (2, 3))]


def square_over(m: Array, xi: Array) -> Array:
    """Return m^2 / xi for xi > 0, 0 at 0, else infinity."""
    xp = namespace(m)
    safe = xp.where(xi > 0, xi, xp.ones_like(xi))
    return xp.where(xi > 0, m / safe * m, xp.where((xi == 0) & (m == 0), 0.0 * m, inf * xp.ones_like(m)))


def onto_square_over(m: Array, xi: Array, g: Array) -> tuple[Array, Array]:
    """Return the proximal point of g m^2 / xi in the plane."""
    xp = namespace(m)
    one = xp.ones_like(m)
    zero = (xi <= 0) & (m <= 2 * xp.sqrt(xp.where(xi < 0, -xi, 0.0 * one)) * xp.sqrt(g))
    r = cubic_root(g, 2.0 * g, xp.where(zero, one, xi), xp.where(zero, one, m))
    r = r + (0.0 * xi + 0.0 * m)  # NaN, which a search for a root would lose
    # p = m - 2 g r and q = xi + g r^2 = p / r: the larger of the two comes first, and the other keeps their ratio
    steep = r > 1
    p = xp.clip(m - 2.0 * g * r, 0.0, None)
    flat = xp.where(steep, 0.0 * r, r)
    q = xp.where(steep, p / xp.where(steep, r, one), xp.clip(xi + g * flat * flat, 0.0, None))
    return xp.where(zero, 0.0 * one, xp.where(steep, p, flat * q)), xp.where(zero, 0.0 * one, q)
