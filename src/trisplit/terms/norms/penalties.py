"""Piecewise linear and quadratic penalties of each entry: relatives of the absolute value."""

from dataclasses import dataclass
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, namespace, positive_part
from trisplit.arrays.batched import norm
from trisplit.terms.base import BaseTerm, ConvexFunction
from trisplit.terms.blocks import Entries, mapped, summed
from trisplit.terms.checks import fit, like, nonnegative
from trisplit.terms.norms.weighted import Weighted, between, keep, soft, summed_or_inf, within
from trisplit.terms.sets.box import Box, NonNegative

__all__ = [
    "BoxedL1",
    "ElasticNet",
    "EpsilonInsensitive",
    "NonNegativeL1",
    "SquaredEpsilonInsensitive",
]


@dataclass(frozen=True, eq=False)
class ElasticNet(Entries, ConvexFunction):
    """The elastic net, sum_i weight_i |x_i| + (ridge_i / 2) x_i^2.

    prox(x, gamma) = sign(x) max(|x| - gamma weight, 0) / (1 + gamma ridge), entry by entry.

    Parameters
    ----------
    weight, ridge : float or array
        Nonnegative; arrays must broadcast to the shape of x.

    References
    ----------
    Zou, Hastie (2005), Regularization and variable selection via the elastic net.

    Examples
    --------
    >>> import numpy as np
    >>> ElasticNet(1.0, ridge=0.5).prox(np.array([-4.0, 0.5]), gamma=2.0)
    array([-1.,  0.])
    """

    weight: float | Array = 1.0
    ridge: float | Array = 1.0
    broadcast = ("weight", "ridge")

    def __post_init__(self) -> None:
        keep(self, weight=nonnegative(self.weight), ridge=nonnegative(self.ridge, "ridge"))

    @summed
    def value(self, v: Array) -> Array:
        """Return sum_i weight_i |x_i| + (ridge_i / 2) x_i^2."""
        a = namespace(v).abs(v)
        return a * (like(self.weight, v, "weight") + like(self.ridge, v, "ridge") * (0.5 * a))

    @mapped
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return the soft threshold, shrunk."""
        return soft(v, t * like(self.weight, v, "weight")) / (1.0 + t * like(self.ridge, v, "ridge"))

    def lipschitz(self, shape: Shape) -> float:
        """Return ||weight||_2 if there is no ridge, else infinity."""
        return inf if np.any(self.ridge) else norm(fit(self.weight, shape, "weight"), self.batch_ndim)

    def conjugate(self) -> BaseTerm:
        """Return sum_i max(|u_i| - weight_i, 0)^2 / (2 ridge_i), a registered term if no ridge is zero."""
        if np.all(np.asarray(self.ridge) > 0):
            return SquaredEpsilonInsensitive(self.weight, 1.0 / self.ridge).batched(self.batch_ndim)
        return super().conjugate()

    @summed_or_inf
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i max(|u_i| - weight_i, 0)^2 / (2 ridge_i), infinite for a positive number over zero."""
        xp, w = namespace(u), like(self.weight, u, "weight")
        r = xp.zeros_like(u) + like(self.ridge, u, "ridge")
        safe = xp.where(r > 0, r, xp.ones_like(r))
        a = xp.abs(u)
        return xp.where(r > 0, positive_part(a - w) ** 2 / (2.0 * safe), within(a, w))

    @classmethod
    def examples(cls) -> list[tuple["ElasticNet", Shape]]:
        return [(cls(0.7, 0.4), (5,)), (cls(np.array([0.0, 1.0, 2.0]), np.array([3.0, 0.0, 0.5])), (3,))]


@dataclass(frozen=True, eq=False)
class NonNegativeL1(Entries, ConvexFunction):
    """The L1 norm of nonnegative entries, sum_i weight_i x_i for x >= 0, infinite elsewhere.

    prox(x, gamma) = max(x - gamma weight, 0), entry by entry.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Hoyer (2002), Non-negative sparse coding.

    Examples
    --------
    >>> import numpy as np
    >>> NonNegativeL1(1.0).prox(np.array([-3.0, 0.5, 3.0]), gamma=2.0)
    array([0., 0., 1.])
    """

    weight: float | Array = 1.0
    broadcast = ("weight",)
    name = "nonnegative_l1"

    def __post_init__(self) -> None:
        keep(self, weight=nonnegative(self.weight))

    @summed_or_inf
    def value(self, v: Array) -> Array:
        """Return sum_i weight_i x_i, infinite if an entry is negative beyond rounding."""
        return like(self.weight, v, "weight") * positive_part(v) + within(-v, 0.0)

    @mapped
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return the positive part of x - gamma weight."""
        return positive_part(v - t * like(self.weight, v, "weight"))

    def domain(self) -> NonNegative:
        """Return the nonnegative orthant."""
        return NonNegative().batched(self.batch_ndim)

    def conjugate(self) -> Box:
        """Return the indicator of {u : u_i <= weight_i}."""
        return Box(-inf, self.weight).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["NonNegativeL1", Shape]]:
        return [(cls(0.6), (4,)), (cls(np.array([0.0, 1.0, 3.0])), (3,))]


@dataclass(frozen=True, eq=False)
class BoxedL1(Entries, ConvexFunction):
    """The L1 norm on a box, sum_i weight_i |x_i| for lo <= x <= hi, infinite elsewhere.

    prox(x, gamma) = min(max(sign(x) max(|x| - gamma weight, 0), lo), hi), entry by entry: on a line, the proximal map
    of a convex function on an interval is that of the function, moved to the interval.

    Parameters
    ----------
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.
    lo, hi : float or array
        The bounds, infinite ones allowed; arrays must broadcast to the shape of x.

    References
    ----------
    Combettes, Pesquet (2007), A Douglas-Rachford splitting approach to nonsmooth convex variational signal recovery,
    Proposition 11.

    Examples
    --------
    >>> import numpy as np
    >>> BoxedL1(1.0, -1.0, 2.0).prox(np.array([-3.0, 0.5, 2.5]), gamma=1.0)
    array([-1. ,  0. ,  1.5])
    """

    weight: float | Array = 1.0
    lo: float | Array = -1.0
    hi: float | Array = 1.0
    broadcast = ("weight", "lo", "hi")

    def __post_init__(self) -> None:
        box = Box(self.lo, self.hi)
        keep(self, weight=nonnegative(self.weight), lo=box.lo, hi=box.hi)

    @property
    def bounded(self) -> bool:
        """Whether all bounds are finite."""
        return self.domain().bounded

    @summed_or_inf
    def value(self, v: Array) -> Array:
        """Return sum_i weight_i |x_i|, infinite if an entry is outside of the box beyond rounding."""
        lo, hi = like(self.lo, v, "lo"), like(self.hi, v, "hi")
        outside = _above(v, hi) + _above(-v, -lo)
        return like(self.weight, v, "weight") * namespace(v).abs(v) + outside

    @mapped
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return the soft threshold, moved into the box."""
        return between(soft(v, t * like(self.weight, v, "weight")), like(self.lo, v, "lo"), like(self.hi, v, "hi"))

    def domain(self) -> Box:
        """Return the box."""
        return Box(self.lo, self.hi).batched(self.batch_ndim)

    def support(self, u: Array) -> float:
        """Return the support function of the box."""
        return self.domain().support(u)

    def lmo(self, u: Array) -> Array:
        """Return a minimiser of <u, x> over the box, which must be bounded."""
        return self.domain().lmo(u)

    def diameter(self, shape: Shape) -> float:
        """Return ||hi - lo||."""
        return self.domain().diameter(shape)

    def lipschitz(self, shape: Shape) -> float:
        """Return ||weight||_2, which holds on the box, if it is bounded."""
        weight, _ = fit(self.weight, shape, "weight"), self.diameter(shape)  # which looks at the shapes of the bounds
        return norm(weight, self.batch_ndim) if self.bounded else inf

    @summed_or_inf
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i max of u_i x - weight_i |x| over x: at a bound, or at the number next to zero."""
        xp, w, zero = namespace(u), like(self.weight, u, "weight"), namespace(u).zeros_like(u)
        lo, hi = zero + like(self.lo, u, "lo"), zero + like(self.hi, u, "hi")
        kink = xp.clip(zero, lo, hi)
        best = at_kink = kink * u - w * xp.abs(kink)
        for bound, sign in ((hi, 1.0), (lo, -1.0)):
            finite = xp.isfinite(bound)
            b = xp.where(finite, bound, zero)
            best = xp.maximum(best, xp.where(finite, b * u - w * xp.abs(b), at_kink + within(sign * u, w)))
        return best

    @classmethod
    def examples(cls) -> list[tuple["BoxedL1", Shape]]:
        bounds = np.array([-1.0, 0.0, 2.0, -inf]), np.array([1.0, 0.0, 5.0, 3.0])
        return [(cls(0.7, -1.0, 2.0), (2, 2)), (cls(np.array([0.5, 1.0, 2.0, 1.0]), *bounds), (4,))]


@dataclass(frozen=True, eq=False)
class EpsilonInsensitive(Weighted):
    """The epsilon-insensitive loss, sum_i weight_i max(|x_i| - epsilon_i, 0).

    prox(x, gamma) leaves what is within epsilon and moves the rest towards it by at most gamma weight.

    Parameters
    ----------
    epsilon, weight : float or array
        Nonnegative; arrays must broadcast to the shape of x.

    References
    ----------
    Vapnik (1995), The nature of statistical learning theory.

    Examples
    --------
    >>> import numpy as np
    >>> EpsilonInsensitive(1.0).prox(np.array([-3.0, 0.5, 1.2]), gamma=1.0)
    array([-2. ,  0.5,  1. ])
    """

    epsilon: float | Array = 0.1
    weight: float | Array = 1.0
    broadcast = ("epsilon", "weight")

    def __post_init__(self) -> None:
        keep(self, epsilon=nonnegative(self.epsilon, "epsilon"), weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return max(|v| - epsilon, 0)."""
        return positive_part(namespace(v).abs(v) - like(self.epsilon, v, "epsilon"))

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the part within epsilon plus the soft threshold of the rest."""
        epsilon = like(self.epsilon, v, "epsilon")
        near = namespace(v).clip(v, -epsilon, epsilon)
        return near + soft(v - near, c)

    def phi_star(self, u: Array) -> Array:
        """Return epsilon |u| for |u| <= 1."""
        a = namespace(u).abs(u)
        return like(self.epsilon, u, "epsilon") * a + within(a, 1.0)

    def phi_slope(self) -> float:
        """Return 1."""
        return 1.0

    def conjugate(self) -> BoxedL1:
        """Return epsilon ||u||_1 for |u_i| <= weight_i."""
        return BoxedL1(self.epsilon, -np.asarray(self.weight), self.weight).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["EpsilonInsensitive", Shape]]:
        return [(cls(0.5, 1.3), (5,)), (cls(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 0.5])), (3,))]


@dataclass(frozen=True, eq=False)
class SquaredEpsilonInsensitive(Weighted):
    """The squared epsilon-insensitive loss, sum_i (weight_i / 2) max(|x_i| - epsilon_i, 0)^2.

    prox(x, gamma) leaves what is within epsilon and divides the distance of the rest by 1 + gamma weight.

    Parameters
    ----------
    epsilon, weight : float or array
        Nonnegative; arrays must broadcast to the shape of x.

    References
    ----------
    Vapnik (1995), The nature of statistical learning theory.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredEpsilonInsensitive(1.0).prox(np.array([-3.0, 0.5, 1.2]), gamma=1.0)
    array([-2. ,  0.5,  1.1])
    """

    epsilon: float | Array = 0.1
    weight: float | Array = 1.0
    broadcast = ("epsilon", "weight")

    def __post_init__(self) -> None:
        keep(self, epsilon=nonnegative(self.epsilon, "epsilon"), weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return max(|v| - epsilon, 0)^2 / 2."""
        return positive_part(namespace(v).abs(v) - like(self.epsilon, v, "epsilon")) ** 2 / 2.0

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the part within epsilon plus the rest, shrunk."""
        epsilon = like(self.epsilon, v, "epsilon")
        near = namespace(v).clip(v, -epsilon, epsilon)
        return near + (v - near) / (1.0 + c)

    def phi_star(self, u: Array) -> Array:
        """Return epsilon |u| + u^2 / 2."""
        a = namespace(u).abs(u)
        return a * (like(self.epsilon, u, "epsilon") + a / 2.0)

    def conjugate(self) -> BaseTerm:
        """Return epsilon ||u||_1 + sum_i u_i^2 / (2 weight_i), an elastic net if no weight is zero."""
        if np.all(np.asarray(self.weight) > 0):
            return ElasticNet(self.epsilon, 1.0 / self.weight).batched(self.batch_ndim)
        return super().conjugate()

    @classmethod
    def examples(cls) -> list[tuple["SquaredEpsilonInsensitive", Shape]]:
        return [(cls(0.5, 1.3), (5,)), (cls(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 0.5])), (3,))]


def _above(v: Array, bound: float | Array) -> Array:
    """Return infinity where v exceeds a bound, which may be infinite, by more than rounding, else 0."""
    xp, zero = namespace(v), namespace(v).zeros_like(v)
    bound = zero + bound
    finite = xp.isfinite(bound)
    return xp.where(finite, within(v, xp.where(finite, bound, zero)), zero)
