"""The nuclear norm."""

from dataclasses import dataclass

from trisplit.arrays import Array, namespace, positive_part
from trisplit.errors import InputError
from trisplit.terms.base import Shape, nonnegative_weight


@dataclass(frozen=True)
class NuclearNorm:
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    def value(self, x: Array) -> float:
        """Return weight times the sum of the singular values."""
        xp = namespace(x)
        _need_matrix(x.shape)
        return self.weight * float(xp.sum(xp.linalg.svdvals(x)))

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with its singular values lowered by gamma * weight, not below 0."""
        xp = namespace(x)
        _need_matrix(x.shape)
        left, sizes, right = xp.linalg.svd(x, full_matrices=False)
        return (left * positive_part(sizes - float(gamma) * self.weight)) @ right

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(rank), the constant with respect to the Frobenius norm."""
        _need_matrix(shape)
        return self.weight * min(shape) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["NuclearNorm", Shape]]:
        return [(cls(0.6), (3, 4)), (cls(1.2), (4, 2))]


def _need_matrix(shape: Shape) -> None:
    if len(shape) != 2:
        raise InputError(f"NuclearNorm needs a matrix, got x of shape {tuple(shape)}; reshape x0")
