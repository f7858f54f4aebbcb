"""Powers of the singular values: Schatten norms."""

from dataclasses import dataclass

from trisplit.arrays import Array, Shape, eps, namespace, positive_part
from trisplit.errors import InputError
from trisplit.terms.base import ConvexFunction
from trisplit.terms.checks import nonnegative_weight, positive
from trisplit.terms.matrix.spectra import SingularValues, infinite_where, of_spectrum, on_spectrum
from trisplit.terms.roots import increasing_root

__all__ = ["Schatten", "SchattenRidge"]


@dataclass(frozen=True)
class Schatten(SingularValues, ConvexFunction):
    """The p-th power of the Schatten norm, weight * sum_i s_i^p over the singular values of the matrix X.

    prox(X, gamma) = U diag(r) V' with r >= 0 and r + gamma weight p r^(p - 1) = s.

    Parameters
    ----------
    p : float
        At least 1; the nuclear norm has 1, the squared Frobenius norm 2.
    weight : float
        Nonnegative.

    References
    ----------
    Chaux, Combettes, Pesquet, Wajs (2007), A variational formulation for frame-based inverse problems.

    Examples
    --------
    >>> import numpy as np
    >>> Schatten(p=3.0).prox(np.diag([4.0, 0.0]), gamma=1.0)
    array([[1., 0.],
           [0., 0.]])
    """

    p: float = 1.5
    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _power(self.p))
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    @of_spectrum
    def value(self, s: Array) -> Array:
        """Return weight times the sum of the p-th powers."""
        return self.weight * namespace(s).sum(s**self.p, axis=-1)

    @on_spectrum
    def prox(self, s: Array, t: float) -> Array:
        """Return `x` with its singular values shrunk."""
        return shrunk_by_power(s, t * self.weight, self.p) if self.weight else s

    @of_spectrum
    def conjugate_value(self, s: Array) -> Array:
        """Return (p - 1) sum_i weight r_i^p with p weight r_i^(p - 1) = s_i."""
        xp = namespace(s)
        if self.p == 1.0 or self.weight == 0.0:
            return infinite_where(s[..., 0] > (1 + 100 * eps(s)) * self.weight, xp.zeros_like(s[..., 0]))
        ratio = s / (self.weight * self.p)
        return (self.p - 1) * self.weight * xp.sum(ratio ** (self.p / (self.p - 1)), axis=-1)

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(rank) for p = 1, else infinity."""
        return self.weight * min(self.sides(shape)) ** 0.5 if self.p == 1.0 or not self.weight else float("inf")

    @classmethod
    def examples(cls) -> list[tuple["Schatten", Shape]]:
        return [(cls(4 / 3, 0.7), (3, 4)), (cls(3.0, 0.5), (3, 2)), (cls(1.0, 0.5), (2, 2))]


@dataclass(frozen=True)
class SchattenRidge(SingularValues, ConvexFunction):
    """A power of the Schatten norm and half the squared Frobenius norm, weight * sum_i s_i^p + (ridge / 2) ||X||_F^2.

    prox(X, gamma) = U diag(r) V' with r >= 0 and (1 + gamma ridge) r + gamma weight p r^(p - 1) = s.

    Parameters
    ----------
    p : float
        At least 1.
    weight : float
        Of the p-th power, nonnegative.
    ridge : float
        Of the squared Frobenius norm, positive.

    References
    ----------
    Benfenati, Chouzenoux, Pesquet (2020), Proximal approaches for matrix optimization problems.

    Examples
    --------
    >>> import numpy as np
    >>> SchattenRidge(p=3.0).prox(np.diag([5.0, 0.0]), gamma=1.0)
    array([[1., 0.],
           [0., 0.]])
    """

    p: float = 1.5
    weight: float = 1.0
    ridge: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _power(self.p))
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "ridge", positive(self.ridge, "ridge"))

    @of_spectrum
    def value(self, s: Array) -> Array:
        """Return weight sum_i s_i^p + (ridge / 2) sum_i s_i^2."""
        return namespace(s).sum(self.weight * s**self.p + 0.5 * self.ridge * s**2, axis=-1)

    @on_spectrum
    def prox(self, s: Array, t: float) -> Array:
        """Return `x` with its singular values shrunk."""
        scale = 1.0 + t * self.ridge
        return shrunk_by_power(s / scale, t * self.weight / scale, self.p) if self.weight else s / scale

    @of_spectrum
    def conjugate_value(self, s: Array) -> Array:
        """Return the sum of r (s - ridge r / 2) - weight r^p at the best r for each singular value."""
        r = s / self.ridge
        if self.weight:
            r = shrunk_by_power(r, self.weight / self.ridge, self.p)
        return namespace(s).sum(r * (s - 0.5 * self.ridge * r) - self.weight * r**self.p, axis=-1)

    @classmethod
    def examples(cls) -> list[tuple["SchattenRidge", Shape]]:
        return [(cls(1.5, 0.7), (3, 4)), (cls(4.0, 0.5, 0.3), (3, 2))]


def shrunk_by_power(a: Array, t: float | Array, p: float) -> Array:
    """Return r >= 0 with r + t p r^(p - 1) = a, for a >= 0 and t > 0."""
    xp = namespace(a)
    if p == 1.0:
        return positive_part(a - t)
    if p == 2.0:
        return a / (1.0 + 2.0 * t)
    c = t * p + xp.zeros_like(a)
    # In the variable y the equation is y + c y^q = a or c y + y^q = a with q >= 1: convex, so that Newton's method
    # falls to the root from the right. The start is at most twice as large as the root, and no power overflows.
    if p > 2.0:
        q = p - 1.0
        root = c ** (1.0 / q)
        start = xp.minimum(a, a ** (1.0 / q) / root)
        return increasing_root(
            lambda y: (y + (root * y) ** q - a, 1.0 + q * root * (root * y) ** (q - 1.0)), 0.0 * a, start, start
        )
    q = 1.0 / (p - 1.0)
    start = a / xp.maximum(c, a ** (1.0 - 1.0 / q))
    y = increasing_root(lambda y: (c * y + y**q - a, c + q * y ** (q - 1.0)), 0.0 * a, start, start)
    return y**q


def _power(p: float) -> float:
    number = positive(p, "p")
    if number < 1.0:
        raise InputError(f"`p` must be at least 1, got {number}; powers below 1 are not convex")
    return number
