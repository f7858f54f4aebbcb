"""Affine sets: the solutions of a linear system."""

from dataclasses import dataclass, field

import numpy as np

from trisplit.arrays import Array, from_numpy, namespace
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet, Shape


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
    _basis: Array = field(init=False, repr=False)
    _level: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        A, b = np.atleast_2d(np.asarray(self.A, dtype=float)), np.atleast_1d(np.asarray(self.b, dtype=float))
        if A.ndim != 2 or b.shape != (A.shape[0],):
            raise InputError(f"`b` must have one entry per row of `A`, got A {A.shape} and b {b.shape}")
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            raise InputError("`A` and `b` must be finite, got NaN or inf; remove these rows")
        left, sizes, right = np.linalg.svd(A, full_matrices=False)
        rank = int(np.sum(sizes > sizes.max(initial=0.0) * max(A.shape) * np.finfo(float).eps))
        level = (left[:, :rank].T @ b) / sizes[:rank]
        miss = np.linalg.norm(A @ (right[:rank].T @ level) - b)
        if miss > 1e-8 * max(1.0, float(np.linalg.norm(b))):
            raise InputError(f"A x = b has no solution (the best x misses b by {miss:.2g}); check `A` and `b`")
        for name, value in (("A", A), ("b", b), ("_basis", right[:rank]), ("_level", level)):
            object.__setattr__(self, name, value)

    def project(self, x: Array) -> Array:
        """Return the nearest solution of A x = b."""
        xp = namespace(x)
        flat = xp.reshape(x, (-1,))
        if flat.shape[0] != self.A.shape[1]:
            raise InputError(f"`A` has {self.A.shape[1]} columns but x has {flat.shape[0]} entries; make them equal")
        basis = from_numpy(self._basis, x)
        return xp.reshape(flat - (basis @ flat - from_numpy(self._level, x)) @ basis, x.shape)

    @classmethod
    def examples(cls) -> list[tuple["Affine", Shape]]:
        A = np.array([[1.0, 2.0, -1.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
        return [(cls(A, [1.0, -2.0]), (4,)), (cls(np.vstack([A, A[0] + A[1]]), [1.0, -2.0, -1.0]), (2, 2))]
