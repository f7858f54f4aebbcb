"""Affine sets: the solutions of a linear system."""

from dataclasses import dataclass, field
from math import prod

import numpy as np

from trisplit.arrays import Array, constant_like, namespace
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet, Shape, parameter


@dataclass(frozen=True, eq=False)
class Affine(ConvexSet):
    """Indicator of {x : A x = b}, `x` flattened.

    prox(x) = x - V (V' x - c), with V an orthonormal basis of the row space of A and c = V' s for any
    solution s. A may have dependent rows; a system without a solution is refused.

    Parameters
    ----------
    A : array of shape (m, n)
    b : array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> Affine(np.ones((1, 2)), [1.0]).prox(np.zeros(2), gamma=1.0)
    array([0.5, 0.5])
    """

    A: Array
    b: Array
    broadcast = ()
    _basis: Array = field(init=False, repr=False)
    _level: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        A, b = np.atleast_2d(parameter(self.A, "A")), np.atleast_1d(parameter(self.b, "b"))
        if A.ndim != 2 or b.shape != (A.shape[0],):
            raise InputError(f"`A` has shape {A.shape} and `b` {b.shape}; give one entry of `b` per row of `A`")
        # Rows of one size: else the rank and the miss below would be those of the largest row alone.
        size = np.max(np.abs(A), axis=1, initial=0.0)
        size[size == 0] = 1.0
        rows, right_side = A / size[:, None], b / size
        left, sizes, right = np.linalg.svd(rows, full_matrices=False)
        rank = int(np.sum(sizes > sizes.max(initial=0.0) * max(A.shape) * np.finfo(float).eps))
        level = (left[:, :rank].T @ right_side) / sizes[:rank]
        miss = np.linalg.norm(rows @ (right[:rank].T @ level) - right_side)
        if miss > 1e-8 * np.linalg.norm(right_side):
            raise InputError(f"A x = b has no solution (the best x misses b by {miss:.2g}); check `A` and `b`")
        for name, value in (("A", A), ("b", b), ("_basis", right[:rank]), ("_level", level)):
            object.__setattr__(self, name, value)

    def project(self, x: Array) -> Array:
        """Return the nearest solution of A x = b."""
        xp, k = namespace(x), self.batch_ndim
        size = prod(x.shape[k:])
        if size != self.A.shape[1]:
            raise InputError(f"`A` has {self.A.shape[1]} columns but x has {size} entries; make them equal")
        flat, basis = xp.reshape(x, (*x.shape[:k], size)), constant_like(self._basis, x)
        return xp.reshape(flat - (flat @ basis.T - constant_like(self._level, x)) @ basis, x.shape)

    @classmethod
    def examples(cls) -> list[tuple["Affine", Shape]]:
        A = np.array([[1.0, 2.0, -1.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
        dependent = np.vstack([A, A[0] + A[1]])
        return [(cls(A, np.array([1.0, -2.0])), (4,)), (cls(dependent, np.array([1.0, -2.0, -1.0])), (2, 2))]
