"""Potentials of the sigmoid functions of neural networks, which are entropies less half a square; entry by entry.

As in `activations`, the proximal map with gamma = 1 is the activation.
"""

from dataclasses import dataclass
from math import inf, log

from trisplit.arrays import Array, Shape, namespace
from trisplit.terms.barriers.activations import Activation, cubic
from trisplit.terms.barriers.entropies import x_log_x
from trisplit.terms.barriers.equations import full
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Entries, mapped, summed
from trisplit.terms.sets.box import Box

__all__ = ["SigmoidActivation", "SmoothedFermiDirac", "TanhActivation"]


@dataclass(frozen=True)
class TanhActivation(Activation):
    """The potential of tanh, sum_i ((1 + x_i) log(1 + x_i) + (1 - x_i) log(1 - x_i) - x_i^2) / 2 for |x| <= 1.

    prox(x, 1) = tanh(x).

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> TanhActivation().prox(np.arctanh([0.5, -0.2]), gamma=1.0)
    array([ 0.5, -0.2])
    """

    broadcast = ()
    ends = (-1.0, 1.0)

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return tanh(u) and its derivative."""
        value = namespace(u).tanh(u)
        return value, 1 - value * value

    def gap(self, u: Array) -> tuple[Array, Array]:
        """Return u - tanh(u) and its derivative, by a series where u is small."""
        xp, value = namespace(u), namespace(u).tanh(u)
        small = xp.abs(u) < 0.125
        coefficients = (1 / 3, -2 / 15, 17 / 315, -62 / 2835, 1382 / 155925, -21844 / 6081075, 929569 / 638512875)
        return xp.where(small, cubic(xp.where(small, u, 0.0), *coefficients), u - value), value * value

    def potential(self, p: Array) -> Array:
        """Return the mean of two entropies, less p^2 / 2."""
        return (x_log_x(1 + p) + x_log_x(1 - p) - p * p) / 2


@dataclass(frozen=True)
class SigmoidActivation(Activation):
    """The potential of the sigmoid less 1/2, sum_i h(1/2 + x_i) + h(1/2 - x_i) + log 2 - x_i^2 / 2 with h(s) = s log s.

    prox(x, 1) = 1 / (1 + exp(-x)) - 1/2; the potential is finite for |x| <= 1/2.

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> SigmoidActivation().prox(np.array([0.0, np.log(3)]), gamma=1.0)
    array([0.  , 0.25])
    """

    broadcast = ()
    ends = (-0.5, 0.5)

    def sigma(self, u: Array) -> tuple[Array, Array]:
        """Return tanh(u / 2) / 2 and its derivative."""
        value = namespace(u).tanh(u / 2)
        return value / 2, (1 - value * value) / 4

    def potential(self, p: Array) -> Array:
        """Return both entropies, less p^2 / 2."""
        return x_log_x(0.5 + p) + x_log_x(0.5 - p) + log(2.0) - p * p / 2


@dataclass(frozen=True)
class SmoothedFermiDirac(Entries, ConvexFunction):
    """The potential of the sigmoid, sum_i x_i log x_i + (1 - x_i) log(1 - x_i) - x_i^2 / 2 for 0 <= x <= 1.

    prox(x, 1) = 1 / (1 + exp(-x)); any other gamma follows from that of `SigmoidActivation` by a shift.

    References
    ----------
    Combettes and Pesquet (2020), Deep neural network structures solving variational inequalities.

    Examples
    --------
    >>> import numpy as np
    >>> SmoothedFermiDirac().prox(np.array([0.0, np.log(3)]), gamma=1.0)
    array([0.5 , 0.75])
    """

    broadcast = ()

    @summed
    def value(self, x: Array) -> Array:
        """Return the sum, infinite outside of [0, 1]."""
        return namespace(x).where((x >= 0) & (x <= 1), x_log_x(x) + x_log_x(1 - x) - x * x / 2, inf)

    @mapped
    def prox(self, x: Array, t: float) -> Array:
        """Return 1/2 + the proximal point of x + (gamma - 1) / 2 for the sigmoid less 1/2."""
        sigmoid = SigmoidActivation()
        return 0.5 + sigmoid.sigma(sigmoid._inverse(x + (t - 1) / 2, full(t, x)))[0]

    def domain(self) -> Box:
        """Return [0, 1]."""
        return Box(0.0, 1.0).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["SmoothedFermiDirac", Shape]]:
        return [(cls(), (5,)), (cls(), (2, 3))]
