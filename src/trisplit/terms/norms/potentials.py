"""Penalties that are smooth at zero or at infinity: Huber's function and its relatives."""

from dataclasses import dataclass
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, namespace, positive_part
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Lines, mapped, summed
from trisplit.terms.checks import axis_or_none, like, nonnegative, nonnegative_weight, positive
from trisplit.terms.norms.weighted import Weighted, descend, keep, positives, soft, summed_or_inf, within
from trisplit.terms.numbers import row_norms

__all__ = ["Berhu", "Fair", "Huber", "HuberNorm", "Hyperbolic"]


@dataclass(frozen=True, eq=False)
class Huber(Weighted):
    """Huber's function, sum_i weight_i (x_i^2 / 2 if |x_i| <= delta_i, else delta_i |x_i| - delta_i^2 / 2).

    prox(x, gamma) = x / (1 + c) if |x| <= delta (1 + c), else x - c delta sign(x), with c = gamma weight.

    Parameters
    ----------
    delta : float or array
        Where the parabola ends, positive.
    weight : float or array
        Nonnegative. Arrays must broadcast to the shape of x. Some write x^2 / (2 delta): that is weight = 1 / delta.

    References
    ----------
    Huber (1964), Robust estimation of a location parameter.

    Examples
    --------
    >>> import numpy as np
    >>> Huber(1.0).prox(np.array([-3.0, 1.0]), gamma=1.0)
    array([-2. ,  0.5])
    """

    delta: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("delta", "weight")

    def __post_init__(self) -> None:
        keep(self, delta=positives(self.delta, "delta"), weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return m (|v| - m / 2) with m = min(|v|, delta)."""
        xp = namespace(v)
        a = xp.abs(v)
        m = xp.clip(a, None, like(self.delta, v, "delta"))
        return m * (a - m / 2.0)

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return v shrunk, or shifted where it stays beyond delta."""
        xp, delta = namespace(v), like(self.delta, v, "delta")
        shrunk = v / (1.0 + c)
        return xp.where(xp.abs(shrunk) <= delta, shrunk, v - c * xp.clip(v, -delta, delta))

    def phi_star(self, u: Array) -> Array:
        """Return u^2 / 2 for |u| <= delta."""
        a = namespace(u).abs(u)
        return a**2 / 2.0 + within(a, like(self.delta, u, "delta"))

    def phi_slope(self) -> float | Array:
        """Return delta."""
        return self.delta

    @classmethod
    def examples(cls) -> list[tuple["Huber", Shape]]:
        return [(cls(0.8, 1.5), (5,)), (cls(np.array([0.5, 1.0, 2.0]), np.array([1.0, 0.0, 0.5])), (3,))]


@dataclass(frozen=True)
class HuberNorm(Lines, ConvexFunction):
    """Huber's function of the Euclidean norm, weight (r^2 / 2 if r <= delta, else delta r - delta^2 / 2), r = ||x||.

    prox(x, gamma) = x / (1 + c) if r <= delta (1 + c), else (1 - c delta / r) x, with c = gamma weight. With pairs
    along `axis` it is Huber's function of complex numbers.

    Parameters
    ----------
    delta : float
        Where the parabola ends, positive.
    weight : float
        Nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    O'Donoghue, Stathopoulos, Boyd (2013), A splitting method for optimal control.

    Examples
    --------
    >>> import numpy as np
    >>> HuberNorm(1.0).prox(np.array([3.0, 4.0]), gamma=2.5)
    array([1.5, 2. ])
    """

    delta: float = 1.0
    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        weight = nonnegative_weight(self.weight)
        keep(self, delta=positive(self.delta, "delta"), weight=weight, axis=axis_or_none(self.axis))

    @summed
    def value(self, v: Array) -> Array:
        """Return weight times the sum of Huber's function of the norms."""
        r = row_norms(v)[..., 0]
        m = namespace(v).clip(r, None, self.delta)
        return self.weight * m * (r - m / 2.0)

    @mapped
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return each vector shrunk, or shortened where it stays longer than delta."""
        xp, r, c = namespace(v), row_norms(v), t * self.weight
        long = r > self.delta * (1.0 + c)
        safe = xp.where(long, r, xp.ones_like(r))
        return xp.where(long, v - v * (c * self.delta / safe), v / (1.0 + c))

    @summed_or_inf
    def conjugate_value(self, u: Array) -> Array:
        """Return the sum of ||u||^2 / (2 weight) for ||u|| <= weight delta."""
        r = row_norms(u)[..., 0]
        outside = within(r, self.weight * self.delta)
        return outside if self.weight == 0 else outside + r * (r / (2.0 * self.weight))

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * delta * sqrt(number of vectors)."""
        return self.weight * self.delta * self.count(shape) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["HuberNorm", Shape]]:
        return [(cls(0.8, 1.5), (4,)), (cls(1.2, 0.7, axis=0), (2, 3))]


@dataclass(frozen=True, eq=False)
class Berhu(Weighted):
    """Huber's function reversed, sum_i weight_i (|x_i| if |x_i| <= delta_i, else (x_i^2 + delta_i^2) / (2 delta_i)).

    prox(x, gamma) = sign(x) min(max(|x| - c, 0), |x| delta / (delta + c)), with c = gamma weight.

    Parameters
    ----------
    delta : float or array
        Where the parabola begins, positive.
    weight : float or array
        Nonnegative. Arrays must broadcast to the shape of x.

    References
    ----------
    Owen (2007), A robust hybrid of lasso and ridge regression.

    Examples
    --------
    >>> import numpy as np
    >>> Berhu(1.0).prox(np.array([-4.0, 1.5, 0.5]), gamma=1.0)
    array([-2. ,  0.5,  0. ])
    """

    delta: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("delta", "weight")

    def __post_init__(self) -> None:
        keep(self, delta=positives(self.delta, "delta"), weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return |v| + max(|v| - delta, 0)^2 / (2 delta)."""
        a, delta = namespace(v).abs(v), like(self.delta, v, "delta")
        return a + positive_part(a - delta) ** 2 / (2.0 * delta)

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the soft threshold, or v shrunk where it stays beyond delta."""
        xp, delta = namespace(v), like(self.delta, v, "delta")
        shrunk = v * (delta / (delta + c))
        return xp.where(xp.abs(shrunk) > delta, shrunk, soft(v, c))

    def phi_star(self, u: Array) -> Array:
        """Return delta max(u^2 - 1, 0) / 2."""
        return like(self.delta, u, "delta") / 2.0 * positive_part(u**2 - 1.0)

    @classmethod
    def examples(cls) -> list[tuple["Berhu", Shape]]:
        return [(cls(0.8, 1.5), (5,)), (cls(np.array([0.5, 1.0, 2.0]), np.array([1.0, 0.0, 0.5])), (3,))]


@dataclass(frozen=True, eq=False)
class Fair(Weighted):
    """Fair's function, sum_i weight_i delta_i^2 (|x_i| / delta_i - log(1 + |x_i| / delta_i)).

    prox(x, gamma) = sign(x) y with y^2 + (delta (1 + gamma weight) - |x|) y = delta |x|, y >= 0.

    Parameters
    ----------
    delta : float or array
        Positive: the function is like x^2 / 2 well below it and like delta |x| well above.
    weight : float or array
        Nonnegative. Arrays must broadcast to the shape of x.

    References
    ----------
    Fair (1974), On the robust estimation of econometric models.

    Examples
    --------
    >>> import numpy as np
    >>> Fair(1.0).prox(np.array([-1.5, 0.0]), gamma=1.0)
    array([-1.,  0.])
    """

    delta: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("delta", "weight")

    def __post_init__(self) -> None:
        keep(self, delta=positives(self.delta, "delta"), weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return delta^2 (r - log(1 + r)) with r = |v| / delta."""
        xp, delta = namespace(v), like(self.delta, v, "delta")
        r = xp.abs(v) / delta
        return delta * (delta * (r - xp.log1p(r)))

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the root of the quadratic equation, in the form that does not cancel."""
        xp, delta = namespace(v), like(self.delta, v, "delta")
        a = xp.abs(v)
        some = a > 0
        a = xp.where(some, a, xp.ones_like(a))
        b = delta * (1.0 + c) - a
        root = xp.sqrt(a) * delta**0.5  # a delta may overflow
        size = xp.abs(b) + xp.hypot(b, 2.0 * root)
        y = xp.where(b > 0, root * (2.0 * root / size), size / 2.0)
        return xp.where(some, xp.sign(v) * y, v / (1.0 + c))  # with the derivative at zero

    def phi_star(self, u: Array) -> Array:
        """Return -delta^2 (s + log(1 - s)) with s = |u| / delta, infinite from s = 1 on."""
        xp, delta = namespace(u), like(self.delta, u, "delta")
        s = xp.abs(u) / delta
        inside = s < 1.0
        safe = xp.where(inside, s, xp.zeros_like(s))
        return xp.where(inside, -delta * (delta * (safe + xp.log1p(-safe))), xp.zeros_like(s) + inf)

    def phi_slope(self) -> float | Array:
        """Return delta."""
        return self.delta

    @classmethod
    def examples(cls) -> list[tuple["Fair", Shape]]:
        return [(cls(0.8, 1.5), (5,)), (cls(np.array([0.5, 1.0, 2.0]), np.array([1.0, 0.0, 0.5])), (3,))]


@dataclass(frozen=True, eq=False)
class Hyperbolic(Weighted):
    """The hyperbolic function, sum_i weight_i sqrt(x_i^2 + delta_i^2).

    prox(x, gamma) = sign(x) y with y + c y / sqrt(y^2 + delta^2) = |x|, c = gamma weight, by Newton's method. With
    weight = delta it is the pseudo-Huber loss but for the constant delta^2.

    Parameters
    ----------
    delta : float or array
        The value at zero, positive.
    weight : float or array
        Nonnegative. Arrays must broadcast to the shape of x.

    References
    ----------
    Charbonnier, Blanc-Feraud, Aubert, Barlaud (1997), Deterministic edge-preserving regularization in computed imaging.

    Examples
    --------
    >>> import numpy as np
    >>> Hyperbolic(4.0).prox(np.array([-4.2, 0.0]), gamma=2.0).round(12)
    array([-3.,  0.])
    """

    delta: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("delta", "weight")

    def __post_init__(self) -> None:
        keep(self, delta=positives(self.delta, "delta"), weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return sqrt(v^2 + delta^2)."""
        xp = namespace(v)
        return xp.hypot(v, xp.zeros_like(v) + like(self.delta, v, "delta"))

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the root of an equation that is concave for v > 0, from the left; odd, so that signs follow."""
        xp, a = namespace(v), namespace(v).abs(v)
        delta = xp.zeros_like(v) + like(self.delta, v, "delta")

        def equation(y: Array) -> tuple[Array, Array]:
            h = xp.hypot(y, delta)
            return y - v + c * (y / h), 1.0 + c * ((delta / h) ** 2 / h)

        # y >= a - c, since y / h <= 1, and y >= a delta / (delta + c), since h >= delta. Where both are far below the
        # root, (y - a + c) h (h + y) = c delta^2 says how large it is.
        gap, scale = (a - c) / delta, c / delta
        after = scale / (2.0 + 8.0 * xp.clip(gap, 0.0, 1e10) ** 2)
        square = xp.clip(scale / (4.0 * xp.clip(-gap, 1e-10, None)), 1.0, 1e20) - 1.0
        before = xp.sqrt(xp.where(square > 0, square, xp.ones_like(v)))
        rest = xp.where(gap > 0, after, xp.where(square > 0, before, square))
        rest = xp.minimum(rest, xp.minimum(scale / 4.0, 0.39 * scale ** (1 / 3)))
        start = xp.maximum(a * (delta / (delta + c)), positive_part(a - c) + delta * rest)
        return descend(equation, xp.sign(v) * start, 12)

    def phi_star(self, u: Array) -> Array:
        """Return -delta sqrt(1 - u^2) for |u| <= 1."""
        xp = namespace(u)
        a = xp.abs(u)
        square = (1.0 - a) * (1.0 + a)
        root = xp.where(square > 0, xp.sqrt(xp.where(square > 0, square, xp.ones_like(u))), xp.zeros_like(u))
        return within(a, 1.0) - like(self.delta, u, "delta") * root

    def phi_slope(self) -> float:
        """Return 1."""
        return 1.0

    @classmethod
    def examples(cls) -> list[tuple["Hyperbolic", Shape]]:
        return [(cls(0.8, 1.5), (5,)), (cls(np.array([0.5, 1.0, 2.0]), np.array([1.0, 0.0, 0.5])), (3,))]
