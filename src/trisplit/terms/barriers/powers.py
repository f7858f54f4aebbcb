"""Inverse powers and negative roots of positive numbers; entry by entry."""

from dataclasses import dataclass
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.errors import InputError
from trisplit.terms.barriers.equations import full, positive_numbers, power_root, safe_log
from trisplit.terms.barriers.logarithms import OfPositive
from trisplit.terms.blocks import mapped, nan_kept, summed
from trisplit.terms.checks import like, parameter

__all__ = ["Inverse", "NegativeRoot"]


@dataclass(frozen=True, eq=False)
class Inverse(OfPositive):
    """The inverse power, sum_i weight_i / x_i^power for x > 0.

    prox(x, gamma) is the root p > 0 of p - gamma weight power p^-(power + 1) = x.

    Parameters
    ----------
    power : float or array
        Positive.
    weight : float or array
        Positive; arrays must broadcast to the shape of x.

    References
    ----------
    Combettes and Pesquet (2011), Proximal splitting methods in signal processing, table of proximity operators.

    Examples
    --------
    >>> import numpy as np
    >>> Inverse().prox(np.array([0.0, 7 / 4]), gamma=1.0)
    array([1., 2.])
    """

    power: float | Array = 1.0
    weight: float | Array = 1.0
    broadcast = ("power", "weight")

    def __post_init__(self) -> None:
        for name in self.broadcast:
            object.__setattr__(self, name, positive_numbers(getattr(self, name), name))

    @summed
    def value(self, x: Array) -> Array:
        """Return sum_i weight_i / x_i^power, infinite unless x > 0."""
        xp, power = namespace(x), like(self.power, x, "power")
        # a logarithm too large for `exp` stands for infinity anyway
        exponent = xp.clip(-power * safe_log(x), None, float(np.log(xp.finfo(x.dtype).max)) - 1)
        return xp.where(x > 0, like(self.weight, x, "weight") * xp.exp(exponent), inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the positive root of p - gamma weight power p^-(power + 1) = x."""
        power = like(self.power, x, "power")
        return power_root(x, full(t * like(self.weight, x, "weight") * power, x), power + 1)

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i (1 + 1 / power) u_i y_i at y = (weight power / -u)^(1 / (power + 1)), infinite unless u <= 0."""
        xp, power = namespace(u), like(self.power, u, "power")
        weight = full(like(self.weight, u, "weight") * power, u)
        y = xp.exp((xp.log(weight) - safe_log(xp.where(u < 0, -u, 1.0))) / (power + 1))
        return xp.where(u <= 0, (1 + 1 / power) * u * y, inf)

    @classmethod
    def examples(cls) -> list[tuple["Inverse", Shape]]:
        return [(cls(), (5,)), (cls(np.array([0.5, 2.0, 6.0]), 0.7), (2, 3))]


@dataclass(frozen=True, eq=False)
class NegativeRoot(OfPositive):
    """The negative root, -weight sum_i x_i^(1 / order) for x >= 0.

    prox(x, gamma) is the root p > 0 of p - (gamma weight / order) p^(1 / order - 1) = x.

    Parameters
    ----------
    order : float
        Which root is taken, above 1: 2 is the square root.
    weight : float or array
        Positive.

    References
    ----------
    Combettes and Pesquet (2011), Proximal splitting methods in signal processing, table of proximity operators.

    Examples
    --------
    >>> import numpy as np
    >>> NegativeRoot().prox(np.array([0.5]), gamma=1.0)
    array([1.])
    """

    order: float = 2.0
    weight: float | Array = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        order = parameter(self.order, "order")
        if isinstance(order, np.ndarray) or order <= 1:
            raise InputError(f"`order` must be one number > 1, got {order}; 2 is the square root")
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "weight", positive_numbers(self.weight, "weight"))

    @summed
    def value(self, x: Array) -> Array:
        """Return -weight sum_i x_i^(1 / order), infinite unless x >= 0."""
        xp = namespace(x)
        root = xp.where(x > 0, xp.where(x > 0, x, 1.0) ** (1 / self.order), 0.0)
        return xp.where(x >= 0, -like(self.weight, x, "weight") * root, inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the positive root of p - (gamma weight / order) p^(1 / order - 1) = x."""
        return power_root(x, full(t * like(self.weight, x, "weight") / self.order, x), 1 - 1 / self.order)

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i (1 - order) u_i y_i, y = (weight / (-order u))^(order / (order - 1)); infinite unless u < 0."""
        xp, order = namespace(u), self.order
        weight = full(like(self.weight, u, "weight") / order, u)
        y = xp.exp((xp.log(weight) - safe_log(xp.where(u < 0, -u, 1.0))) * (order / (order - 1)))
        return xp.where(u < 0, -(order - 1) * u * y, inf)

    @classmethod
    def examples(cls) -> list[tuple["NegativeRoot", Shape]]:
        return [(cls(), (5,)), (cls(5.0, np.array([0.5, 2.0, 1.0])), (2, 3))]
