"""Sets of matrices with given singular values: balls of matrix norms, bounded rank, orthonormal columns."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm, ClosedSet, ConvexSet
from trisplit.terms.checks import positive, whole
from trisplit.terms.matrix.spectra import SingularValues, of_spectrum, on_spectrum, onto_l1_ball

__all__ = ["NuclearBall", "Orthogonal", "RankBall", "SpectralBall", "Stiefel"]

LARGE = 200  # rows and columns from which the largest singular value alone is cheaper to find


@dataclass(frozen=True)
class NuclearBall(SingularValues, ConvexSet):
    """Indicator of {X : sum of the singular values <= radius}, the ball of the nuclear norm.

    prox(X) = U diag(max(s - theta, 0)) V' with theta >= 0 such that the sum is at most the radius.

    Parameters
    ----------
    radius : float
        Positive.

    References
    ----------
    Jaggi (2013), Revisiting Frank-Wolfe: projection-free sparse convex optimization.

    Examples
    --------
    >>> import numpy as np
    >>> NuclearBall(1.0).prox(np.diag([3.0, 2.5]), gamma=1.0)
    array([[0.75, 0.  ],
           [0.  , 0.25]])
    """

    radius: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))

    @on_spectrum
    def project(self, s: Array) -> Array:
        """Return `x` with its singular values projected on the ball of the L1 norm."""
        return onto_l1_ball(s, self.radius)

    @of_spectrum
    def support(self, s: Array) -> Array:
        """Return radius times the largest singular value."""
        return self.radius * s[..., 0]

    def lmo(self, u: Array) -> Array:
        """Return -radius v w' for the first pair v, w of singular vectors of `u`."""
        u = self.blocks(u)
        pair = _first_pair(u) if type(u) is np.ndarray and not self.batch_ndim and min(u.shape) >= LARGE else None
        return self._vertex(u) if pair is None else -self.radius * np.outer(*pair)

    @on_spectrum
    def _vertex(self, s: Array) -> Array:
        xp = namespace(s)
        first = xp.ones_like(s[..., :1])
        return -self.radius * xp.concat([first, xp.zeros_like(s[..., 1:])], axis=-1)

    def diameter(self, shape: Shape) -> float:
        """Return twice the radius."""
        self.sides(shape)
        return 2.0 * self.radius

    def conjugate(self) -> BaseTerm:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return radius times the spectral norm."""
        from trisplit.terms.matrix.spectral import SpectralNorm

        return SpectralNorm(self.radius).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["NuclearBall", Shape]]:
        return [(cls(1.0), (3, 4)), (cls(2.5), (4, 2))]


@dataclass(frozen=True)
class SpectralBall(SingularValues, ConvexSet):
    """Indicator of {X : largest singular value <= radius}, the ball of the spectral norm.

    prox(X) = U diag(min(s, radius)) V'.

    Parameters
    ----------
    radius : float
        Positive.

    References
    ----------
    Lewis (1995), The convex analysis of unitarily invariant matrix functions.

    Examples
    --------
    >>> import numpy as np
    >>> SpectralBall(1.0).prox(np.diag([3.0, 0.5]), gamma=1.0)
    array([[1. , 0. ],
           [0. , 0.5]])
    """

    radius: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))

    @on_spectrum
    def project(self, s: Array) -> Array:
        """Return `x` with no singular value above the radius."""
        return namespace(s).clip(s, None, self.radius)

    @of_spectrum
    def support(self, s: Array) -> Array:
        """Return radius times the sum of the singular values."""
        return self.radius * namespace(s).sum(s, axis=-1)

    @on_spectrum
    def lmo(self, s: Array) -> Array:
        """Return -radius U V'."""
        return -self.radius * namespace(s).ones_like(s)

    def diameter(self, shape: Shape) -> float:
        """Return 2 radius sqrt(rank), the distance of a matrix with equal singular values from its negative."""
        return 2.0 * self.radius * min(self.sides(shape)) ** 0.5

    def conjugate(self) -> BaseTerm:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return radius times the nuclear norm."""
        from trisplit.terms.matrix.nuclear import NuclearNorm

        return NuclearNorm(self.radius).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["SpectralBall", Shape]]:
        return [(cls(1.0), (3, 4)), (cls(0.4), (3, 2))]


@dataclass(frozen=True)
class RankBall(SingularValues, ClosedSet):
    """Indicator of {X : rank of X <= rank}, which is not convex.

    prox(X) keeps the largest `rank` singular values and drops the others.

    Parameters
    ----------
    rank : int
        At least 1.

    References
    ----------
    Eckart, Young (1936), The approximation of one matrix by another of lower rank.

    Examples
    --------
    >>> import numpy as np
    >>> RankBall(1).prox(np.diag([3.0, 0.5]), gamma=1.0)
    array([[3., 0.],
           [0., 0.]])
    """

    rank: int = 1
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", whole(self.rank, "rank"))

    @on_spectrum
    def project(self, s: Array) -> Array:
        """Return `x` without its smaller singular values."""
        xp, kept = namespace(s), min(self.rank, s.shape[-1])
        return xp.concat([s[..., :kept], xp.zeros_like(s[..., kept:])], axis=-1)

    @classmethod
    def examples(cls) -> list[tuple["RankBall", Shape]]:
        return [(cls(1), (3, 4)), (cls(2), (4, 3))]


@dataclass(frozen=True)
class Stiefel(SingularValues, ClosedSet):
    """Indicator of the Stiefel manifold {X : X'X = I}, the matrices with orthonormal columns, which is not convex.

    prox(X) = U V' for X = U diag(s) V', the orthogonal factor of the polar decomposition.

    References
    ----------
    Fan, Hoffman (1955), Some metric inequalities in the space of matrices.

    Examples
    --------
    >>> import numpy as np
    >>> Stiefel().prox(np.array([[3.0], [4.0]]), gamma=1.0)
    array([[0.6],
           [0.8]])
    """

    broadcast = ()

    def sides(self, shape: Shape) -> tuple[int, int]:
        """Return the numbers of rows and columns, of which there must not be more than rows."""
        rows, columns = super().sides(shape)
        if rows < columns:
            more = f"{type(self).__name__} needs at least as many rows as columns"
            raise InputError(f"{more}, got x of shape {(rows, columns)}; transpose it")
        return rows, columns

    @on_spectrum
    def project(self, s: Array) -> Array:
        """Return `x` with all singular values equal to 1."""
        return namespace(s).ones_like(s)

    @of_spectrum
    def support(self, s: Array) -> Array:
        """Return the sum of the singular values."""
        return namespace(s).sum(s, axis=-1)

    @on_spectrum
    def lmo(self, s: Array) -> Array:
        """Return -U V'."""
        return -namespace(s).ones_like(s)

    def diameter(self, shape: Shape) -> float:
        """Return 2 sqrt(columns), the distance of a matrix from its negative."""
        return 2.0 * self.sides(shape)[1] ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["Stiefel", Shape]]:
        return [(cls(), (4, 2)), (cls(), (3, 3))]


@dataclass(frozen=True)
class Orthogonal(Stiefel):
    """Indicator of the orthogonal group {X square : X'X = I}, which is not convex.

    prox(X) = U V' for X = U diag(s) V', as in the orthogonal Procrustes problem.

    References
    ----------
    Schoenemann (1966), A generalized solution of the orthogonal Procrustes problem.

    Examples
    --------
    >>> import numpy as np
    >>> Orthogonal().prox(np.diag([3.0, -0.5]), gamma=1.0)
    array([[ 1.,  0.],
           [ 0., -1.]])
    """

    broadcast = ()

    def sides(self, shape: Shape) -> tuple[int, int]:
        """Return the numbers of rows and columns, which must be equal."""
        rows, columns = super().sides(shape)
        if rows != columns:
            raise InputError(f"Orthogonal needs a square matrix, got x of shape {(rows, columns)}; use Stiefel()")
        return rows, columns

    @classmethod
    def examples(cls) -> list[tuple["Orthogonal", Shape]]:
        return [(cls(), (3, 3)), (cls(), (1, 1))]


def _first_pair(x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the singular vectors of the largest singular value by Lanczos' method, None if it does not converge."""
    from scipy.sparse.linalg import ArpackError, svds  # slow to import

    start = np.random.default_rng(0).standard_normal(min(x.shape)).astype(x.dtype)
    scale = np.abs(x).max()
    try:
        left, _, right = svds(x / (scale if scale > 0 else 1), k=1, v0=start)
    except ArpackError:
        return None
    return left[:, 0], right[0]  # pyright: ignore[reportOptionalSubscript]
