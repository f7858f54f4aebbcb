"""Sets of positive semidefinite matrices, and the matrices with a unit diagonal."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace, positive_part
from trisplit.arrays.batched import inner
from trisplit.terms.base import ConvexSet, zero_where
from trisplit.terms.blocks import SquareMatrices, mapped, on_the_host
from trisplit.terms.checks import positive
from trisplit.terms.matrix.correlation import nearest_correlation
from trisplit.terms.matrix.patterns import offsets, zero_if_small
from trisplit.terms.matrix.spectra import Eigenvalues, of_spectrum, on_spectrum, onto_simplex, symmetric_part
from trisplit.terms.numbers import safe_norm

__all__ = ["PSD", "Correlation", "Spectraplex", "UnitDiagonal"]

LARGE = 32  # rows from which it pays to count the signs of eigenvalues


@dataclass(frozen=True)
class PSD(Eigenvalues, ConvexSet):
    """Indicator of the cone of symmetric positive semidefinite matrices.

    prox(X) = V diag(max(w, 0)) V' for the symmetric part V diag(w) V' of X.

    References
    ----------
    Higham (1988), Computing a nearest symmetric positive semidefinite matrix.

    Examples
    --------
    >>> import numpy as np
    >>> PSD().prox(np.diag([3.0, -0.5]), gamma=1.0)
    array([[3., 0.],
           [0., 0.]])
    """

    broadcast = ()
    name = "psd"

    def project(self, x: Array) -> Array:
        """Return the nearest symmetric positive semidefinite matrix."""
        if type(x) is np.ndarray and x.ndim == 2 and not self.batch_ndim and len(x) >= LARGE:
            return _positive_part(self.blocks(x))
        return self._project(x)

    @on_spectrum
    def _project(self, w: Array) -> Array:
        return positive_part(w)

    def support(self, u: Array) -> float:
        """Return 0 if the symmetric part of `u` has no positive eigenvalue, up to rounding, else infinity."""
        top = self._largest(u)
        return zero_where(top <= 100 * eps(u) * safe_norm(u, self.batch_ndim), u)

    @of_spectrum
    def _largest(self, w: Array) -> Array:
        return w[..., -1]

    @classmethod
    def examples(cls) -> list[tuple["PSD", Shape]]:
        return [(cls(), (4, 4)), (cls(), (1, 1))]


def _positive_part(x: np.ndarray) -> np.ndarray:
    """Return the projection of a NumPy matrix, from the smaller of the two sides of its spectrum."""
    symmetric = symmetric_part(x)
    values, vectors = np.linalg.eigh(symmetric)
    first = int(np.searchsorted(values, 0.0))  # the first that is not negative
    if 2 * first < len(values):
        half = vectors[:, :first] * np.sqrt(-values[:first])
        return symmetric + half @ half.T  # NumPy knows that this product is symmetric
    half = vectors[:, first:] * np.sqrt(values[first:])
    return half @ half.T


@dataclass(frozen=True)
class Spectraplex(Eigenvalues, ConvexSet):
    """Indicator of {X symmetric positive semidefinite : trace X = total}.

    prox(X) = V diag(max(w - theta, 0)) V' for the symmetric part V diag(w) V' of X, with theta such that the trace is
    `total`.

    Parameters
    ----------
    total : float
        The trace, positive.

    References
    ----------
    Hazan (2008), Sparse approximate solutions to semidefinite programs.

    Examples
    --------
    >>> import numpy as np
    >>> Spectraplex().prox(np.diag([3.0, 2.5]), gamma=1.0)
    array([[0.75, 0.  ],
           [0.  , 0.25]])
    """

    total: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", positive(self.total, "total"))

    @on_spectrum
    def project(self, w: Array) -> Array:
        """Return `x` with its eigenvalues projected on the simplex."""
        xp = namespace(w)
        return xp.flip(onto_simplex(xp.flip(w, axis=-1), self.total), axis=-1)

    @of_spectrum
    def support(self, w: Array) -> Array:
        """Return total times the largest eigenvalue of the symmetric part."""
        return self.total * w[..., -1]

    @on_spectrum
    def lmo(self, w: Array) -> Array:
        """Return total v v' for an eigenvector v of the smallest eigenvalue."""
        xp = namespace(w)
        return self.total * xp.concat([xp.ones_like(w[..., :1]), xp.zeros_like(w[..., 1:])], axis=-1)

    def diameter(self, shape: Shape) -> float:
        """Return sqrt(2) total, and 0 for matrices of one entry."""
        return 0.0 if self.sides(shape)[0] == 1 else 2.0**0.5 * self.total

    @classmethod
    def examples(cls) -> list[tuple["Spectraplex", Shape]]:
        return [(cls(), (4, 4)), (cls(2.5), (2, 2))]


@dataclass(frozen=True)
class Correlation(SquareMatrices, ConvexSet):
    """Indicator of the correlation matrices {X symmetric positive semidefinite : X_ii = 1}.

    prox(X) is the nearest correlation matrix, the positive part of X + diag(y) for the y that gives it a unit diagonal;
    a semismooth Newton method finds y on the host, in double precision.

    References
    ----------
    Qi, Sun (2006), A quadratically convergent Newton method for computing the nearest correlation matrix; Higham
    (2002), Computing the nearest correlation matrix: a problem from finance.

    Examples
    --------
    >>> import numpy as np
    >>> Correlation().prox(np.array([[1.0, 3.0], [3.0, 1.0]]), gamma=1.0).round(12)
    array([[1., 1.],
           [1., 1.]])
    """

    broadcast = ()
    cost = "n^1.5"
    accuracy = 100.0
    host = "the number of Newton steps and of conjugate gradients within depends on the numbers"
    diameter_exact = False

    def project(self, x: Array) -> Array:
        """Return the nearest correlation matrix."""
        return on_the_host(self, nearest_correlation, self.blocks(x))

    def diameter(self, shape: Shape) -> float:
        """Return sqrt(2) n, attained for even n by two matrices v v' and w w' of orthogonal vectors of signs."""
        n = self.sides(shape)[0]
        return 0.0 if n == 1 else 2.0**0.5 * n

    @classmethod
    def examples(cls) -> list[tuple["Correlation", Shape]]:
        return [(cls(), (4, 4)), (cls(), (2, 2))]


@dataclass(frozen=True)
class UnitDiagonal(SquareMatrices, ConvexSet):
    """Indicator of the square matrices with ones on the diagonal, {X : X_ii = 1}.

    prox(X) is X with ones on its diagonal.

    References
    ----------
    Higham (2002), Computing the nearest correlation matrix: a problem from finance.

    Examples
    --------
    >>> import numpy as np
    >>> UnitDiagonal().prox(np.array([[3.0, 0.5], [0.2, 0.0]]), gamma=1.0)
    array([[1. , 0.5],
           [0.2, 1. ]])
    """

    broadcast = ()

    @mapped
    def project(self, x: Array) -> Array:
        """Return `x` with ones on the diagonal."""
        xp = namespace(x)
        return xp.where(offsets(x) == 0, xp.ones_like(x), x)

    def support(self, u: Array) -> float:
        """Return the trace of a diagonal matrix, infinity at others."""
        xp = namespace(u)
        diagonal = xp.where(offsets(self.blocks(u)) == 0, u, xp.zeros_like(u))
        return inner(diagonal, xp.ones_like(u), self.batch_ndim) + zero_if_small(u - diagonal, u, self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["UnitDiagonal", Shape]]:
        return [(cls(), (3, 3)), (cls(), (1, 1))]
