"""The nuclear norm."""

from dataclasses import dataclass

from trisplit.arrays import Array, namespace, positive_part, scalar, total
from trisplit.errors import InputError
from trisplit.terms.base import Batchable, Shape, nonnegative_weight


@dataclass(frozen=True)
class NuclearNorm(Batchable):
    """The nuclear norm, weight * (sum of the singular values of the matrix X).

    prox(X, gamma) = U diag(max(s - gamma weight, 0)) V' for X = U diag(s) V'. On a GPU, libraries wait for the
    device in the singular value decomposition.

    Parameters
    ----------
    weight : float
        Nonnegative.

    Examples
    --------
    >>> import numpy as np
    >>> NuclearNorm(1.0).prox(np.diag([3.0, 0.5]), gamma=1.0)
    array([[2., 0.],
           [0., 0.]])
    """

    weight: float = 1.0
    convex = True
    indicator = False
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    def value(self, x: Array) -> float:
        """Return weight times the sum of the singular values."""
        xp = namespace(x)
        self._need_matrix(x.shape)
        return self.weight * total(xp.linalg.svdvals(x), self.batch_ndim)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with its singular values lowered by gamma * weight, not below 0."""
        xp, k = namespace(x), self.batch_ndim
        self._need_matrix(x.shape)
        if k:  # NumPy refuses all matrices for the NaN of one
            finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
            x = xp.where(finite, x, 0.0)
        left, sizes, right = xp.linalg.svd(x, full_matrices=False)
        sizes = xp.expand_dims(sizes, axis=-2)  # a row, as gamma is a matrix of one entry for each problem
        lowered = (left * positive_part(sizes - scalar(gamma, k) * self.weight)) @ right
        return xp.where(finite, lowered, xp.nan) if k else lowered

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(rank), the constant with respect to the Frobenius norm."""
        self._need_matrix(shape)
        return self.weight * min(shape[-2:]) ** 0.5

    def _need_matrix(self, shape: Shape) -> None:
        own = tuple(shape[self.batch_ndim :])
        if len(own) != 2:
            raise InputError(f"NuclearNorm needs a matrix, got x of shape {own}; reshape x0")

    @classmethod
    def examples(cls) -> list[tuple["NuclearNorm", Shape]]:
        return [(cls(0.6), (3, 4)), (cls(1.2), (4, 2))]
