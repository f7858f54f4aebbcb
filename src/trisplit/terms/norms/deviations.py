"""Losses of the deviation from a target, entry by entry."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.errors import InputError
from trisplit.terms.checks import like, nonnegative, parameter
from trisplit.terms.norms.weighted import Weighted, between, keep, soft, within

__all__ = ["AbsoluteDeviation", "Quantile", "SquaredDeviation"]


class _Deviation(Weighted):
    """A loss of the deviation d = x - target."""

    target: float | Array

    def _deviation(self, v: Array) -> Array:
        return v - like(self.target, v, "target")


@dataclass(frozen=True, eq=False)
class AbsoluteDeviation(_Deviation):
    """The absolute deviation, sum_i weight_i |x_i - target_i|.

    prox(x, gamma) moves x towards the target by gamma weight, but not beyond it.

    Parameters
    ----------
    target : float or array
        Finite.
    weight : float or array
        Nonnegative. Arrays must broadcast to the shape of x.

    References
    ----------
    Combettes, Pesquet (2011), Proximal splitting methods in signal processing, Table 10.2.

    Examples
    --------
    >>> import numpy as np
    >>> AbsoluteDeviation(1.0).prox(np.array([-3.0, 1.5]), gamma=2.0)
    array([-1.,  1.])
    """

    target: float | Array = 0.0
    weight: float | Array = 1.0
    broadcast = ("target", "weight")

    def __post_init__(self) -> None:
        keep(self, target=parameter(self.target, "target"), weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return |d|."""
        return namespace(v).abs(self._deviation(v))

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the target plus the soft threshold of the deviation."""
        return like(self.target, v, "target") + soft(self._deviation(v), c)

    def phi_star(self, u: Array) -> Array:
        """Return u * target for |u| <= 1."""
        return u * like(self.target, u, "target") + within(namespace(u).abs(u), 1.0)

    def phi_slope(self) -> float:
        """Return 1."""
        return 1.0

    @classmethod
    def examples(cls) -> list[tuple["AbsoluteDeviation", Shape]]:
        return [(cls(0.5, 1.3), (5,)), (cls(np.array([0.0, 1.0, -2.0]), np.array([1.0, 0.0, 0.5])), (3,))]


@dataclass(frozen=True, eq=False)
class SquaredDeviation(_Deviation):
    """The squared deviation, sum_i (weight_i / 2) (x_i - target_i)^2.

    prox(x, gamma) = (x + gamma weight target) / (1 + gamma weight), entry by entry.

    Parameters
    ----------
    target : float or array
        Finite.
    weight : float or array
        Nonnegative. Arrays must broadcast to the shape of x.

    References
    ----------
    Combettes, Pesquet (2011), Proximal splitting methods in signal processing, Table 10.2.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredDeviation(1.0).prox(np.array([-3.0, 2.0]), gamma=1.0)
    array([-1. ,  1.5])
    """

    target: float | Array = 0.0
    weight: float | Array = 1.0
    broadcast = ("target", "weight")

    def __post_init__(self) -> None:
        keep(self, target=parameter(self.target, "target"), weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return d^2 / 2."""
        return self._deviation(v) ** 2 / 2.0

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the mean of v and the target, weighted with 1 and c."""
        return (v + c * like(self.target, v, "target")) / (1.0 + c)

    def phi_star(self, u: Array) -> Array:
        """Return u * target + u^2 / 2."""
        return u * (like(self.target, u, "target") + u / 2.0)

    @classmethod
    def examples(cls) -> list[tuple["SquaredDeviation", Shape]]:
        return [(cls(0.5, 1.3), (5,)), (cls(np.array([0.0, 1.0, -2.0]), np.array([1.0, 0.0, 0.5])), (3,))]


@dataclass(frozen=True, eq=False)
class Quantile(_Deviation):
    """The quantile (pinball) loss, sum_i weight_i (level max(target_i - x_i, 0) + (1 - level) max(x_i - target_i, 0)).

    prox(x, gamma) = target + d - min(max(d, -c level), c (1 - level)) with d = x - target and c = gamma weight.

    Parameters
    ----------
    level : float or array
        Between 0 and 1: the loss of a sample of targets is least at this quantile.
    target : float or array
        Finite.
    weight : float or array
        Nonnegative. Arrays must broadcast to the shape of x.

    References
    ----------
    Koenker, Bassett (1978), Regression quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> Quantile(0.25).prox(np.array([-3.0, 0.5, 2.0]), gamma=1.0)
    array([-2.75,  0.  ,  1.25])
    """

    level: float | Array = 0.5
    target: float | Array = 0.0
    weight: float | Array = 1.0
    broadcast = ("level", "target", "weight")

    def __post_init__(self) -> None:
        level = parameter(self.level, "level")
        if np.any(np.asarray(level) < 0) or np.any(np.asarray(level) > 1):
            wrong = np.ravel(level)[np.argmax(np.abs(np.ravel(level) - 0.5))]
            raise InputError(f"`level` must be between 0 and 1, got {wrong}; the median is 0.5")
        keep(self, level=level, target=parameter(self.target, "target"), weight=nonnegative(self.weight))

    def phi(self, v: Array) -> Array:
        """Return max(-level d, (1 - level) d)."""
        d, level = self._deviation(v), like(self.level, v, "level")
        return namespace(v).maximum(-level * d, (1.0 - level) * d)

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the target plus what is left of the deviation."""
        d, level = self._deviation(v), like(self.level, v, "level")
        return like(self.target, v, "target") + (d - between(d, -c * level, c * (1.0 - level)))

    def phi_star(self, u: Array) -> Array:
        """Return u * target for -level <= u <= 1 - level."""
        level = like(self.level, u, "level")
        return u * like(self.target, u, "target") + within(-u, level) + within(u, 1.0 - level)

    def phi_slope(self) -> float | Array:
        """Return the larger one of level and 1 - level."""
        return np.maximum(self.level, 1.0 - np.asarray(self.level))

    @classmethod
    def examples(cls) -> list[tuple["Quantile", Shape]]:
        return [(cls(0.3, 0.5, 1.3), (5,)), (cls(0.9, np.array([0.0, 1.0, -2.0]), np.array([1.0, 0.0, 0.5])), (3,))]
