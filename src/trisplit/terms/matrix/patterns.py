"""Linear spaces of matrices with a pattern: symmetric, Toeplitz, banded and the like."""

from dataclasses import dataclass
from math import inf, prod

from trisplit.arrays import Array, Shape, device, eps, namespace
from trisplit.terms.base import ConvexSet, zero_where
from trisplit.terms.blocks import Matrices, SquareMatrices, mapped
from trisplit.terms.checks import whole
from trisplit.terms.matrix.spectra import symmetric_part
from trisplit.terms.numbers import safe_norm

__all__ = [
    "Banded",
    "Circulant",
    "Diagonal",
    "Hankel",
    "LowerTriangular",
    "SkewSymmetric",
    "Symmetric",
    "Toeplitz",
]


class Subspace(Matrices, ConvexSet):
    """A linear space of matrices."""

    def support(self, u: Array) -> float:
        """Return 0 if `u` is orthogonal to the space up to rounding, else infinity."""
        return zero_if_small(self.project(u), u, self.batch_ndim)


@dataclass(frozen=True)
class Symmetric(SquareMatrices, Subspace):
    """Indicator of the symmetric matrices, {X : X = X'}; prox(X) = (X + X') / 2.

    References
    ----------
    Fan, Hoffman (1955), Some metric inequalities in the space of matrices.

    Examples
    --------
    >>> import numpy as np
    >>> Symmetric().prox(np.array([[3.0, 1.0], [0.0, 2.0]]), gamma=1.0)
    array([[3. , 0.5],
           [0.5, 2. ]])
    """

    broadcast = ()

    @mapped
    def project(self, x: Array) -> Array:
        """Return the symmetric part."""
        return symmetric_part(x)

    @classmethod
    def examples(cls) -> list[tuple["Symmetric", Shape]]:
        return [(cls(), (3, 3)), (cls(), (1, 1))]


@dataclass(frozen=True)
class SkewSymmetric(SquareMatrices, Subspace):
    """Indicator of the skew-symmetric matrices, {X : X = -X'}; prox(X) = (X - X') / 2.

    References
    ----------
    Fan, Hoffman (1955), Some metric inequalities in the space of matrices.

    Examples
    --------
    >>> import numpy as np
    >>> SkewSymmetric().prox(np.array([[3.0, 1.0], [0.0, 2.0]]), gamma=1.0)
    array([[ 0. ,  0.5],
           [-0.5,  0. ]])
    """

    broadcast = ()

    @mapped
    def project(self, x: Array) -> Array:
        """Return the skew-symmetric part."""
        return 0.5 * x - 0.5 * x.mT

    @classmethod
    def examples(cls) -> list[tuple["SkewSymmetric", Shape]]:
        return [(cls(), (3, 3)), (cls(), (2, 2))]


@dataclass(frozen=True)
class Hankel(Subspace):
    """Indicator of the Hankel matrices, {X : X_ij depends on i + j only}.

    prox(X) replaces each entry by the mean of its anti-diagonal.

    References
    ----------
    Cadzow (1988), Signal enhancement: a composite property mapping algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> Hankel().prox(np.array([[1.0, 2.0], [4.0, 5.0]]), gamma=1.0)
    array([[1., 3.],
           [3., 5.]])
    """

    broadcast = ()

    @mapped
    def project(self, x: Array) -> Array:
        """Return the means of the anti-diagonals."""
        return _means_of_antidiagonals(x)

    @classmethod
    def examples(cls) -> list[tuple["Hankel", Shape]]:
        return [(cls(), (3, 4)), (cls(), (4, 2))]


@dataclass(frozen=True)
class Toeplitz(Subspace):
    """Indicator of the Toeplitz matrices, {X : X_ij depends on j - i only}.

    prox(X) replaces each entry by the mean of its diagonal.

    References
    ----------
    Grigoriadis, Frazho, Skelton (1994), Application of alternating convex projection methods for computation of
    positive Toeplitz matrices.

    Examples
    --------
    >>> import numpy as np
    >>> Toeplitz().prox(np.array([[1.0, 2.0], [4.0, 5.0]]), gamma=1.0)
    array([[3., 2.],
           [4., 3.]])
    """

    broadcast = ()

    @mapped
    def project(self, x: Array) -> Array:
        """Return the means of the diagonals, which are anti-diagonals once the rows are reversed."""
        xp = namespace(x)
        return xp.flip(_means_of_antidiagonals(xp.flip(x, axis=-2)), axis=-2)

    @classmethod
    def examples(cls) -> list[tuple["Toeplitz", Shape]]:
        return [(cls(), (3, 4)), (cls(), (3, 3))]


@dataclass(frozen=True)
class Circulant(SquareMatrices, Subspace):
    """Indicator of the circulant matrices, {X square : X_ij depends on (j - i) modulo n only}.

    prox(X) replaces each entry by the mean over its wrapped diagonal.

    References
    ----------
    Chan (1988), An optimal circulant preconditioner for Toeplitz systems.

    Examples
    --------
    >>> import numpy as np
    >>> Circulant().prox(np.array([[1.0, 2.0], [4.0, 5.0]]), gamma=1.0)
    array([[3., 3.],
           [3., 3.]])
    """

    broadcast = ()

    @mapped
    def project(self, x: Array) -> Array:
        """Return the means of the wrapped diagonals."""
        xp, n = namespace(x), x.shape[-1]
        # X_ij is at i n + j; with the matrix written twice side by side, a row that starts at its diagonal is a row
        # of the table of 2 n + 1 columns.
        twice = xp.reshape(xp.concat([x, x], axis=-1), (*x.shape[:-2], 2 * n * n))
        turned = xp.concat([twice, xp.zeros_like(twice[..., :n])], axis=-1)
        means = xp.mean(xp.reshape(turned, (*x.shape[:-2], n, 2 * n + 1))[..., :n], axis=-2)
        places = offsets(x)
        return _gather(means, xp.where(places < 0, places + n, places), x)

    @classmethod
    def examples(cls) -> list[tuple["Circulant", Shape]]:
        return [(cls(), (4, 4)), (cls(), (3, 3))]


@dataclass(frozen=True)
class Banded(Subspace):
    """Indicator of the banded matrices, of given bandwidth, {X : X_ij = 0 unless -lower <= j - i <= upper}.

    prox(X) is X with zeros outside of the band.

    Parameters
    ----------
    lower, upper : int
        How many diagonals below and above the main one may hold other numbers than zero.

    References
    ----------
    Golub, Van Loan (2013), Matrix computations, section 1.2.

    Examples
    --------
    >>> import numpy as np
    >>> Banded(lower=0, upper=1).prox(np.ones((3, 3)), gamma=1.0)
    array([[1., 1., 0.],
           [0., 1., 1.],
           [0., 0., 1.]])
    """

    lower: int = 1
    upper: int = 1
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", whole(self.lower, "lower", 0))
        object.__setattr__(self, "upper", whole(self.upper, "upper", 0))

    @mapped
    def project(self, x: Array) -> Array:
        """Return `x` with zeros outside of the band."""
        return _in_band(x, self.lower, self.upper)

    @classmethod
    def examples(cls) -> list[tuple["Banded", Shape]]:
        return [(cls(1, 0), (3, 4)), (cls(0, 2), (4, 4))]


@dataclass(frozen=True)
class Diagonal(Subspace):
    """Indicator of the diagonal matrices, {X : X_ij = 0 unless i = j}; prox(X) keeps the diagonal.

    References
    ----------
    Golub, Van Loan (2013), Matrix computations, section 1.2.

    Examples
    --------
    >>> import numpy as np
    >>> Diagonal().prox(np.ones((2, 2)), gamma=1.0)
    array([[1., 0.],
           [0., 1.]])
    """

    broadcast = ()

    @mapped
    def project(self, x: Array) -> Array:
        """Return the diagonal of `x`, zeros elsewhere."""
        return _in_band(x, 0, 0)

    @classmethod
    def examples(cls) -> list[tuple["Diagonal", Shape]]:
        return [(cls(), (3, 3)), (cls(), (2, 4))]


@dataclass(frozen=True)
class LowerTriangular(Subspace):
    """Indicator of the lower triangular matrices, {X : X_ij = 0 for j > i}; prox(X) is X with zeros there.

    References
    ----------
    Golub, Van Loan (2013), Matrix computations, section 1.2.

    Examples
    --------
    >>> import numpy as np
    >>> LowerTriangular().prox(np.ones((2, 2)), gamma=1.0)
    array([[1., 0.],
           [1., 1.]])
    """

    broadcast = ()

    @mapped
    def project(self, x: Array) -> Array:
        """Return the lower triangle of `x`, zeros elsewhere."""
        return _in_band(x, inf, 0)

    @classmethod
    def examples(cls) -> list[tuple["LowerTriangular", Shape]]:
        return [(cls(), (3, 3)), (cls(), (2, 4))]


def offsets(x: Array) -> Array:
    """Return j - i for the entries of a matrix."""
    xp = namespace(x)
    rows, columns = (xp.arange(size, device=device(x)) for size in x.shape[-2:])
    return columns[None, :] - rows[:, None]


def zero_if_small(part: Array, u: Array, batch_ndim: int) -> float:
    """Return 0 where a part of `u` is no more than rounding, else infinity."""
    rounding = 100 * eps(u) * safe_norm(u, batch_ndim) * prod(u.shape[batch_ndim:]) ** 0.5
    return zero_where(safe_norm(part, batch_ndim) <= rounding, u)


def _in_band(x: Array, lower: float, upper: float) -> Array:
    xp, offset = namespace(x), offsets(x)
    inside = offset <= upper if lower == inf else (offset >= -lower) & (offset <= upper)
    return xp.where(inside, x, xp.zeros_like(x))


def _gather(values: Array, places: Array, x: Array) -> Array:
    """Return the matrices whose entries are the values at these places, a matrix of indices."""
    xp = namespace(x)
    return xp.reshape(xp.take(values, xp.reshape(places, (-1,)), axis=-1), x.shape)


def _means_of_antidiagonals(x: Array) -> Array:
    """Return each entry replaced by the mean of its anti-diagonal."""
    xp, (m, n) = namespace(x), x.shape[-2:]
    length = m + n - 1
    # A row of n + m entries, of which the last m are zeros, read as if it had one fewer: row i moves by i columns.
    padded = xp.concat([x, xp.zeros((*x.shape[:-1], m), dtype=x.dtype, device=device(x))], axis=-1)
    flat = xp.reshape(padded, (*x.shape[:-2], m * (m + n)))[..., : m * length]
    sums = xp.sum(xp.reshape(flat, (*x.shape[:-2], m, length)), axis=-2)
    place = xp.arange(length, dtype=x.dtype, device=device(x)) + 1.0
    counts = xp.minimum(xp.minimum(place, xp.flip(place, axis=0)), xp.full_like(place, float(min(m, n))))
    return _gather(sums / counts, xp.flip(offsets(x), axis=-2) + (m - 1), x)
