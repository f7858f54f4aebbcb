"""Potentials of the activation functions of neural networks that leave large entries, almost, as they are.

As in `activations`, the proximal map with gamma = 1 is the activation.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.barriers.activations import ISRU, Activation
from trisplit.terms.barriers.entropies import x_log_x
from trisplit.terms.barriers.equations import barrier_root, full, positive_numbers, safe_log
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Entries, mapped, nan_kept, summed
from trisplit.terms.checks import like
from trisplit.terms.sets.box import Box

__all__ = ["ISRLU", "BentIdentity", "ELUActivation", "PReLU"]


@dataclass(frozen=True)
class ISRLU(ISRU):
    """The potential of the inverse square root linear unit, sum_i 1 - sqrt(1 - x_i^2) - x_i^2 / 2 over -1 <= x_i < 0.

    prox(x, 1) = x for x >= 0, else x / sqrt(1 + x^2).

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> ISRLU().prox(np.array([0.75, -0.75]), gamma=1.0)
    array([ 0.75, -0.6 ])
    """

    broadcast = ()
    name = "isrlu"
    ends = (-1.0, inf)

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return u or u / sqrt(1 + u^2), and its derivative."""
        xp, (value, slope) = namespace(u), super().sigma(u)
        return xp.where(u < 0, value, u), xp.where(u < 0, slope, 1.0)

    def gap(self, u: Array) -> tuple[Array, Array]:
        """Return that of ISRU for u < 0, else 0."""
        return super().gap(namespace(u).clip(u, None, 0.0))

    def potential(self, p: Array) -> Array:
        """Return that of ISRU for p < 0, else 0."""
        return super().potential(namespace(p).clip(p, None, 0.0))


@dataclass(frozen=True)
class ELUActivation(Activation):
    """The potential of the exponential linear unit, sum_i (x_i + a) log((x_i + a) / a) - x_i - x_i^2 / 2 over x_i < 0.

    prox(x, 1) = x for x >= 0, else alpha (exp(x) - 1); a stands for alpha, and x >= -alpha.

    Parameters
    ----------
    alpha : float
        In (0, 1]: the activation is nonexpansive, and the potential convex, only then.

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> ELUActivation().prox(np.array([2.0, -np.log(2)]), gamma=1.0)
    array([ 2. , -0.5])
    """

    alpha: float = 1.0
    broadcast = ()
    name = "elu_activation"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", slope_at_most_one(self.alpha))

    @property
    def ends(self) -> tuple[float, float]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The range of the activation."""
        return -self.alpha, inf

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return u or alpha (exp(u) - 1), and its derivative."""
        xp = namespace(u)
        low = xp.clip(u, None, 0.0)
        return xp.where(u < 0, self.alpha * xp.expm1(low), u), xp.where(u < 0, self.alpha * xp.exp(low), 1.0)

    def potential(self, p: Array) -> Array:
        """Return an entropy less p + p^2 / 2 for p < 0, else 0."""
        low = namespace(p).clip(p, None, 0.0) / self.alpha
        return self.alpha * (x_log_x(1 + low) - low - self.alpha * low * low / 2)

    @classmethod
    def examples(cls) -> list[tuple["ELUActivation", Shape]]:
        return [(cls(), (5,)), (cls(0.4), (2, 3))]


def slope_at_most_one(alpha: object) -> float | Array:
    """Return numbers in (0, 1]."""
    given = positive_numbers(alpha, "alpha")
    if np.any(np.asarray(given) > 1):
        raise InputError(f"`alpha` must be in (0, 1], got {np.max(given)}; else the activation is no proximal map")
    return given


@dataclass(frozen=True, eq=False)
class PReLU(Entries, ConvexFunction):
    """The potential of the parametric rectifier, (1/2) sum_i (1 / alpha_i - 1) min(x_i, 0)^2.

    prox(x, gamma) = x for x >= 0, else x / (1 + gamma (1 / alpha - 1)), which is alpha x for gamma = 1.

    Parameters
    ----------
    alpha : float or array
        In (0, 1]; an array must broadcast to the shape of x.

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> PReLU(0.25).prox(np.array([2.0, -4.0]), gamma=1.0)
    array([ 2., -1.])
    """

    alpha: float | Array = 0.25
    broadcast = ("alpha",)
    name = "prelu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", slope_at_most_one(self.alpha))

    @summed
    def value(self, x: Array) -> Array:
        """Return (1/2) sum_i (1 / alpha_i - 1) min(x_i, 0)^2."""
        low = namespace(x).clip(x, None, 0.0)
        return (1 / like(self.alpha, x, "alpha") - 1) / 2 * low * low

    @mapped
    def prox(self, x: Array, t: float) -> Array:
        """Return `x`, its negative entries scaled."""
        return namespace(x).where(x < 0, x / (1 + t * (1 / like(self.alpha, x, "alpha") - 1)), x)

    @classmethod
    def examples(cls) -> list[tuple["PReLU", Shape]]:
        return [(cls(), (5,)), (cls(np.array([0.3, 1.0, 0.7])), (2, 3))]


@dataclass(frozen=True)
class BentIdentity(Entries, ConvexFunction):
    """The potential of the bent identity, sum_i x_i / 2 - log(x_i + 1/2) / 4 for x > -1/2.

    prox(x, gamma) + 1/2 is the root q > 0 of q - gamma / (4 q) = x + (1 - gamma) / 2; prox(x, 1) is the activation
    (x + sqrt(x^2 + 1) - 1) / 2.

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> BentIdentity().prox(np.array([0.0, 0.75]), gamma=1.0)
    array([0. , 0.5])
    """

    broadcast = ()

    @summed
    def value(self, x: Array) -> Array:
        """Return the sum, infinite unless x > -1/2."""
        return namespace(x).where(x > -0.5, x / 2 - safe_log(x + 0.5) / 4, inf)

    @mapped
    @nan_kept
    def prox(self, x: Array, t: float) -> Array:
        """Return the proximal point of the logarithmic barrier, shifted."""
        p = barrier_root(x + (1 - t) / 2, full(t / 4, x)) - 0.5
        return namespace(x).clip(p, -0.5 * (1 - eps(x)), None)  # what rounds to -1/2 would have an infinite value

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i 1/4 - u_i / 2 - (1 + log(4 (1/2 - u_i))) / 4 - 1/4 + ..., infinite unless u < 1/2."""
        slope = 0.5 - u
        return namespace(u).where(slope > 0, slope / 2 - (1 + safe_log(4 * slope)) / 4, inf)

    def domain(self) -> Box:
        """Return {x : x >= -1/2}."""
        return Box(-0.5, inf).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["BentIdentity", Shape]]:
        return [(cls(), (5,)), (cls(), (2, 3))]
