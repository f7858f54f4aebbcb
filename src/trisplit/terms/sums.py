"""Matrices whose rows and columns all add up to one: the affine hull of the Birkhoff polytope."""

from dataclasses import dataclass

from trisplit.arrays import Array, namespace
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet, Shape


@dataclass(frozen=True)
class UnitSums(ConvexSet):
    """Indicator of {X square : X 1 = 1, X' 1 = 1}.

    prox(X) = X - (X 1) 1' / n - 1 (1' X) / n + (1/n + 1' X 1 / n^2) 1 1'   ([YMS21] section 5, main text).

    Examples
    --------
    >>> import numpy as np
    >>> UnitSums().prox(np.zeros((2, 2)), gamma=1.0)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    broadcast = ()

    def project(self, x: Array) -> Array:
        """Return the nearest matrix with unit row and column sums."""
        shape = tuple(x.shape[self.batch_ndim :])
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise InputError(f"UnitSums needs a square matrix, got shape {shape}; pass x0 of shape (n, n)")
        xp, n = namespace(x), x.shape[-1]
        rows = xp.sum(x, axis=-1, keepdims=True) / n
        columns = xp.sum(x, axis=-2, keepdims=True) / n
        return x - rows - columns + (1.0 + xp.sum(rows, axis=-2, keepdims=True)) / n

    @classmethod
    def examples(cls) -> list[tuple["UnitSums", Shape]]:
        return [(cls(), (4, 4)), (cls(), (1, 1))]
