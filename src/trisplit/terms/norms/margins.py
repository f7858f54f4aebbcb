"""Losses of each entry that grow to one side: of margins, whose labels are -1 or 1; and log-cosh, their relative."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, namespace, positive_part
from trisplit.terms.checks import like, nonnegative
from trisplit.terms.norms.weighted import Weighted, descend, keep, signs, within

__all__ = ["Exp", "Hinge", "LogCosh", "Logistic", "SquaredHinge"]


class _Margin(Weighted):
    """A loss of the margin z = label * x: since labels are signs, all is that of z, times the label."""

    labels: float | Array

    def __post_init__(self) -> None:
        keep(self, labels=signs(self.labels), weight=nonnegative(self.weight))

    def _margin(self, v: Array) -> Array:
        return like(self.labels, v, "labels") * v


@dataclass(frozen=True, eq=False)
class Hinge(_Margin):
    """The hinge loss, sum_i weight_i max(1 - labels_i x_i, 0).

    prox(x, gamma) = labels z with z = min(labels x + gamma weight, max(labels x, 1)).

    Parameters
    ----------
    labels : float or array
        Each -1 or 1.
    weight : float or array
        Nonnegative. Arrays must broadcast to the shape of x.

    References
    ----------
    Cortes, Vapnik (1995), Support-vector networks.

    Examples
    --------
    >>> import numpy as np
    >>> Hinge().prox(np.array([-1.0, 0.8, 3.0]), gamma=0.5)
    array([-0.5,  1. ,  3. ])
    """

    labels: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("labels", "weight")

    def phi(self, v: Array) -> Array:
        """Return max(1 - z, 0)."""
        return positive_part(1.0 - self._margin(v))

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the margin moved towards 1 by at most c, times the label."""
        xp, z = namespace(v), self._margin(v)
        return like(self.labels, v, "labels") * xp.minimum(z + c, xp.clip(z, 1.0, None))

    def phi_star(self, u: Array) -> Array:
        """Return s for -1 <= s <= 0, s = label * u."""
        s = self._margin(u)
        return s + within(s, 0.0) + within(-s, 1.0)

    def phi_slope(self) -> float:
        """Return 1."""
        return 1.0

    @classmethod
    def examples(cls) -> list[tuple["Hinge", Shape]]:
        return [(cls(weight=0.7), (5,)), (cls(np.array([1.0, -1.0, -1.0]), np.array([1.0, 0.0, 2.0])), (3,))]


@dataclass(frozen=True, eq=False)
class SquaredHinge(_Margin):
    """The squared hinge loss, sum_i (weight_i / 2) max(1 - labels_i x_i, 0)^2.

    prox(x, gamma) = labels z with z = (labels x + c) / (1 + c) where labels x < 1, else x, and c = gamma weight.

    Parameters
    ----------
    labels : float or array
        Each -1 or 1.
    weight : float or array
        Nonnegative. Arrays must broadcast to the shape of x.

    References
    ----------
    Chang, Hsieh, Lin (2008), Coordinate descent method for large-scale L2-loss linear support vector machines.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge().prox(np.array([-1.0, 0.5, 3.0]), gamma=1.0)
    array([0.  , 0.75, 3.  ])
    """

    labels: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("labels", "weight")

    def phi(self, v: Array) -> Array:
        """Return max(1 - z, 0)^2 / 2."""
        return positive_part(1.0 - self._margin(v)) ** 2 / 2.0

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the distance of the margin below 1 shrunk, times the label."""
        z = self._margin(v)
        return like(self.labels, v, "labels") * namespace(v).where(z < 1.0, (z + c) / (1.0 + c), z)

    def phi_star(self, u: Array) -> Array:
        """Return s + s^2 / 2 for s <= 0, s = label * u."""
        s = self._margin(u)
        return s + s**2 / 2.0 + within(s, 0.0)

    @classmethod
    def examples(cls) -> list[tuple["SquaredHinge", Shape]]:
        return [(cls(weight=0.7), (5,)), (cls(np.array([1.0, -1.0, -1.0]), np.array([1.0, 0.0, 2.0])), (3,))]


@dataclass(frozen=True, eq=False)
class Logistic(_Margin):
    """The logistic loss, sum_i weight_i log(1 + exp(-labels_i x_i)).

    prox(x, gamma) = labels z with z - c / (1 + exp(z)) = labels x and c = gamma weight, by Newton's method.

    Parameters
    ----------
    labels : float or array
        Each -1 or 1.
    weight : float or array
        Nonnegative. Arrays must broadcast to the shape of x.

    References
    ----------
    Briceno-Arias, Chierchia, Chouzenoux, Pesquet (2019), A random block-coordinate Douglas-Rachford splitting method
    with low computational complexity for binary logistic regression.

    Examples
    --------
    >>> import numpy as np
    >>> z = Logistic().prox(np.array([-2.0, 3.0]), gamma=1.0)
    >>> np.allclose(z - 1 / (1 + np.exp(z)), [-2.0, 3.0])
    True
    """

    labels: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("labels", "weight")

    def phi(self, v: Array) -> Array:
        """Return max(-z, 0) + log(1 + exp(-|z|))."""
        xp, z = namespace(v), self._margin(v)
        return positive_part(-z) + xp.log1p(xp.exp(-xp.abs(z)))

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the root, times the label; the equation of a negative root is that of a positive one, mirrored."""
        xp, z = namespace(v), self._margin(v)
        step: Array = xp.zeros_like(v) + c
        mirrored = z < -step / 2.0
        root = _logistic_root(xp.where(mirrored, -(z + step), z), step)
        return like(self.labels, v, "labels") * xp.where(mirrored, -root, root)

    def phi_star(self, u: Array) -> Array:
        """Return s log(s) + (1 - s) log(1 - s) for 0 <= s <= 1, s = -label * u."""
        s = -self._margin(u)
        return within(-s, 0.0) + within(s, 1.0) + _entropy(s) + _entropy(1.0 - s)

    def phi_slope(self) -> float:
        """Return 1."""
        return 1.0

    @classmethod
    def examples(cls) -> list[tuple["Logistic", Shape]]:
        return [(cls(weight=0.7), (5,)), (cls(np.array([1.0, -1.0, -1.0]), np.array([1.0, 0.0, 5.0])), (3,))]


@dataclass(frozen=True, eq=False)
class LogCosh(Weighted):
    """The logarithm of the hyperbolic cosine, sum_i weight_i log(cosh(x_i)).

    prox(x, gamma) = y with y + gamma weight tanh(y) = x, by Newton's method.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Green (1990), Bayesian reconstructions from emission tomography data using a modified EM algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> y = LogCosh().prox(np.array([-2.0, 3.0]), gamma=1.0)
    >>> np.allclose(y + np.tanh(y), [-2.0, 3.0])
    True
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        keep(self, weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return log(cosh(v)); far out |v| - log(2), and near zero log(1 + 2 sinh(v / 2)^2)."""
        xp = namespace(v)
        a = xp.abs(v)
        near = a < 1.0
        small = xp.where(near, a, xp.ones_like(a))
        far = a + (xp.log1p(xp.exp(-2.0 * a)) - np.log(2.0).item())
        return xp.where(near, xp.log1p(2.0 * xp.sinh(small / 2.0) ** 2), far)

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the root; 2 y solves the equation of the logistic loss for 2 (|v| - c) and 4 c."""
        xp = namespace(v)
        a, step = xp.abs(v), xp.zeros_like(v) + c

        def equation(y: Array) -> tuple[Array, Array]:
            tanh = xp.tanh(y)
            return y - v + c * tanh, 1.0 + c * ((1.0 - tanh) * (1.0 + tanh))

        start = _logistic_start(2.0 * (a - step), 4.0 * step) / 2.0
        return descend(equation, xp.sign(v) * xp.minimum(start, a), 8)

    def phi_star(self, u: Array) -> Array:
        """Return ((1 + u) log(1 + u) + (1 - u) log(1 - u)) / 2 for |u| <= 1."""
        return within(namespace(u).abs(u), 1.0) + (_entropy(1.0 + u) + _entropy(1.0 - u)) / 2.0

    def phi_slope(self) -> float:
        """Return 1."""
        return 1.0

    @classmethod
    def examples(cls) -> list[tuple["LogCosh", Shape]]:
        return [(cls(0.7), (5,)), (cls(np.array([0.0, 1.0, 5.0])), (3,))]


@dataclass(frozen=True, eq=False)
class Exp(Weighted):
    """The exponential, sum_i weight_i exp(x_i).

    prox(x, gamma) = x - W(c exp(x)) with Lambert's function W and c = gamma weight, by Newton's method for log(W).

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Corless, Gonnet, Hare, Jeffrey, Knuth (1996), On the Lambert W function.

    Examples
    --------
    >>> import numpy as np
    >>> p = Exp().prox(np.array([1.0, 1e300]), gamma=1.0)
    >>> bool(np.isclose(p[0], 0.0)), bool(np.isclose(np.exp(p[1]), 1e300))
    (True, True)
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        keep(self, weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return exp(v), which may be infinite."""
        with np.errstate(over="ignore"):
            return namespace(v).exp(v)

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return v - W or log(W / c), what loses less; W = exp(l) with l + exp(l) = v + log(c)."""
        xp = namespace(v)
        c = xp.zeros_like(v) + c
        some = c > 0
        log_c = xp.log(xp.where(some, c, xp.ones_like(c)))
        xi = v + log_c

        def equation(l: Array) -> tuple[Array, Array]:  # noqa: E741
            W = xp.exp(l)
            return l - xi + W, 1.0 + W

        one = xp.ones_like(v)
        log_xi = xp.log(xp.where(xi > 1.0, xi, one))
        start = xp.where(xi > 1.0, log_xi, xp.where(xi < -1.0, xi, (xi - 1.0) / 2.0))
        l = descend(equation, start, 7)  # noqa: E741
        above = l > 0
        moved = xp.where(above, l - log_c, v - xp.exp(xp.where(above, -one, l)))
        return xp.where(some, moved, v)

    def phi_star(self, u: Array) -> Array:
        """Return u log(u) - u for u >= 0."""
        return within(-u, 0.0) + _entropy(u) - u

    @classmethod
    def examples(cls) -> list[tuple["Exp", Shape]]:
        return [(cls(0.7), (5,)), (cls(np.array([0.0, 1.0, 5.0])), (3,))]


def _logistic_root(z: Array, c: Array) -> Array:
    """Return the p with p - c / (1 + exp(p)) = z, for z >= -c / 2, so that p >= 0."""
    xp = namespace(z)

    def equation(p: Array) -> tuple[Array, Array]:
        e = xp.exp(-p)
        s = e / (1.0 + e)
        return p - z - c * s, 1.0 + c * (s / (1.0 + e))

    return descend(equation, _logistic_start(z, c), 8)


def _logistic_start(z: Array, c: Array) -> Array:
    """Return about the p >= 0 with p - z = c / (1 + exp(p)), off by less than one.

    For z > 0, (p - z) exp(p - z) is about c exp(-z), and Lambert's function follows from the bounds of Iacono and
    Boyd (2017). For z < 0 there are two upper bounds, from p exp(p) <= c and from c / (1 + exp(p)) >= -z.
    """
    xp = namespace(z)
    size = xp.log1p(c * xp.exp(-positive_part(z)))
    lambert = size * (1.0 - xp.log1p(size) / (2.0 + size))
    far = z < -1.0  # nearer to zero the second bound is the larger one
    below = xp.where(far, -z, xp.ones_like(z))
    ratio = xp.where(c > 2.0 * below, c, 2.0 * below) / below
    return positive_part(z) + xp.where(far, xp.minimum(lambert, xp.log(ratio - 1.0)), lambert)


def _entropy(s: Array) -> Array:
    """Return s log(s), 0 for s <= 0."""
    xp = namespace(s)
    some = s > 0
    return xp.where(some, s * xp.log(xp.where(some, s, xp.ones_like(s))), xp.zeros_like(s))
