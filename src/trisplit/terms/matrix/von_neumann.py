"""The entropy of von Neumann."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.terms.checks import positive
from trisplit.terms.matrix.log_det import Barrier, rounding_unit
from trisplit.terms.matrix.spectra import infinite_where, of_spectrum, on_spectrum, value_of_spectrum

__all__ = ["VonNeumannEntropy"]


@dataclass(frozen=True)
class VonNeumannEntropy(Barrier):
    """The negative entropy of von Neumann, weight * trace(X log X), on the symmetric positive semidefinite matrices.

    prox(X, gamma) = V diag(r) V' with r + c (1 + log r) = w, c = gamma weight, for the symmetric part V diag(w) V' of
    X; r is c times Lambert's function at exp(w / c - 1) / c.

    Parameters
    ----------
    weight : float
        Positive.

    References
    ----------
    Bauschke, Borwein (1997), Legendre functions and the method of random Bregman projections.

    Examples
    --------
    >>> import numpy as np
    >>> VonNeumannEntropy(1.0).prox(np.diag([2.0, 2.0]), gamma=1.0)
    array([[1., 0.],
           [0., 1.]])
    """

    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive(self.weight, "weight"))

    @value_of_spectrum
    def value(self, w: Array) -> Array:
        """Return weight sum_i w_i log w_i, infinity if an eigenvalue is negative, and 0 for one that is zero."""
        xp = namespace(w)
        logs = xp.log(xp.where(w > 0, w, xp.ones_like(w)))
        negative = xp.any(w < -rounding_unit(w), axis=-1)
        return infinite_where(negative, self.weight * xp.sum(w * logs, axis=-1))

    @on_spectrum
    def prox(self, w: Array, t: float) -> Array:
        """Return the positive definite matrix with moved eigenvalues."""
        return _entropy_root(w, t * self.weight)

    @of_spectrum
    @np.errstate(over="ignore")  # infinity is right
    def conjugate_value(self, w: Array) -> Array:
        """Return weight sum_i exp(w_i / weight - 1)."""
        xp = namespace(w)
        return self.weight * xp.sum(xp.exp(w / self.weight - 1.0), axis=-1)

    @classmethod
    def examples(cls) -> list[tuple["VonNeumannEntropy", Shape]]:
        return [(cls(0.6), (4, 4)), (cls(2.0), (2, 2))]


def _entropy_root(w: Array, c: float | Array) -> Array:
    """Return r > 0 with r + c (1 + log r) = w, by Newton's method from a side where it cannot step too far."""
    xp = namespace(w)
    c = c + xp.zeros_like(w)
    level = w - c - c * xp.log(c)  # c times z, where omega + log omega = z for omega = r / c
    high = level > c
    # omega > 1: the equation for r is concave, and the start is below the root
    top = xp.where(high, level, c)
    r = top - c * (xp.log(top) - xp.log(c))
    # omega <= 1: the equation for log omega is convex, and the start is above the root
    with np.errstate(over="ignore"):
        z = xp.where(high, xp.zeros_like(w), xp.clip(level / c, -1e4, 1.0))
    v = z
    for _ in range(8):
        r = r - (r + c * (xp.log(r) - xp.log(c)) - top) / (1.0 + c / r)
        v = v - (xp.exp(v) + v - z) / (xp.exp(v) + 1.0)
    return xp.where(high, r, c * xp.exp(v))
