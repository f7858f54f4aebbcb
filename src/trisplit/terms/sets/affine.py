"""Affine sets: the solutions of a linear system, with a dense matrix, a sparse one, or an operator."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from trisplit.arrays import Array, Shape, constant_like, namespace
from trisplit.arrays.batched import total
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet
from trisplit.terms.blocks import on_the_host
from trisplit.terms.checks import parameter
from trisplit.terms.sets.sums import finite_where_small

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

__all__ = ["Affine", "AffineOperator"]


@dataclass(frozen=True, eq=False)
class Affine(ConvexSet):
    """Indicator of {x : A x = b}, `x` flattened.

    prox(x) = x - V (V' x - c), with V an orthonormal basis of the row space of A and c = V' s for any
    solution s. A may have dependent rows; a system without a solution is refused. `AffineOperator` takes sparse
    matrices and linear operators.

    Parameters
    ----------
    A : array of shape (m, n)
    b : array of shape (m,)

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 6.2.

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
        if hasattr(self.A, "matvec") or hasattr(self.A, "tocsr"):
            raise InputError("`A` is sparse or an operator; use AffineOperator(A, b), or pass `A.toarray()`")
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

    def support(self, u: Array) -> float:
        """Return <c, V' s> if u = V c, else infinity."""
        xp, k = namespace(u), self.batch_ndim
        size = prod(u.shape[k:])
        if size != self.A.shape[1]:
            raise InputError(f"`A` has {self.A.shape[1]} columns but x has {size} entries; make them equal")
        flat, basis = xp.reshape(u, (*u.shape[:k], size)), constant_like(self._basis, u)
        part = flat @ basis.T
        return finite_where_small(flat - part @ basis, flat, total(part * constant_like(self._level, u), k), k)

    @classmethod
    def examples(cls) -> list[tuple["Affine", Shape]]:
        A = np.array([[1.0, 2.0, -1.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
        dependent = np.vstack([A, A[0] + A[1]])
        return [(cls(A, np.array([1.0, -2.0])), (4,)), (cls(dependent, np.array([1.0, -2.0, -1.0])), (2, 2))]


@dataclass(frozen=True, eq=False)
class AffineOperator(ConvexSet):
    """Indicator of {x : A x = b} for a sparse matrix or a linear operator A, `x` flattened.

    prox(x) = x - A' y with A A' y = A x - b. A sparse matrix is factorised once, if its rows are independent; else, and
    for an operator, the least correction is found by LSQR. Both compute on the host, in double precision.

    Parameters
    ----------
    A : scipy.sparse matrix, scipy.sparse.linalg.LinearOperator or pylops operator, of shape (m, n)
        An operator needs `matvec` and `rmatvec`.
    b : array of shape (m,)

    References
    ----------
    Paige, Saunders (1982), LSQR: an algorithm for sparse linear equations and sparse least squares.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> AffineOperator(csr_array(np.ones((1, 2))), [1.0]).prox(np.zeros(2), gamma=1.0)
    array([0.5, 0.5])
    """

    A: "LinearOperator"
    b: Array
    broadcast = ()
    accuracy = 100.0
    host = "factors of sparse matrices and operators of SciPy and PyLops live there"
    _least: Callable[[Array], Array] = field(init=False, repr=False)  # r -> the shortest z with A z = r

    def __post_init__(self) -> None:
        from scipy.sparse import issparse
        from scipy.sparse.linalg import LinearOperator, aslinearoperator

        b = np.atleast_1d(parameter(self.b, "b"))
        if not (issparse(self.A) or hasattr(self.A, "rmatvec")):
            came = f"`A` must be a sparse matrix or a linear operator, got {type(self.A).__name__}"
            raise InputError(f"{came}; for a dense matrix use Affine")
        A = self.A.copy() if issparse(self.A) else self.A  # pyright: ignore[reportAttributeAccessIssue]
        if np.dtype(A.dtype or float).kind not in "fiub":
            raise InputError(f"`A` must hold real numbers, got dtype {A.dtype}; split it into real and imaginary parts")
        if issparse(A) and not np.isfinite(A.sum()):  # pyright: ignore[reportAttributeAccessIssue]
            raise InputError("`A` holds NaN or inf; remove or replace these entries")
        if len(A.shape) != 2 or b.shape != (A.shape[0],):
            raise InputError(f"`A` has shape {A.shape} and `b` {b.shape}; give one entry of `b` per row of `A`")
        operator = A if isinstance(A, LinearOperator) or not issparse(A) else aslinearoperator(A)
        least = (_by_factors(A) if issparse(A) else None) or _by_lsqr(operator)
        for name, value in (("A", operator), ("b", b), ("_least", least)):
            object.__setattr__(self, name, value)
        solution = self._project(np.zeros(A.shape[1]))
        miss = np.linalg.norm(operator.matvec(solution) - b)
        if not miss <= 1e-8 * np.linalg.norm(b):
            raise InputError(f"A x = b has no solution (the best x misses b by {miss:.2g}); check `A` and `b`")

    def _project(self, x: np.ndarray) -> np.ndarray:
        if not np.isfinite(x).all():
            return np.full(x.shape, np.nan)
        for _ in range(2):  # the second time corrects the rounding of the first
            x = x - self._least(self.A.matvec(x) - self.b)
        return x

    def project(self, x: Array) -> Array:
        """Return the nearest solution of A x = b, computed on the host."""
        n = self.A.shape[1]
        if prod(x.shape[self.batch_ndim :]) != n:
            size = prod(x.shape[self.batch_ndim :])
            raise InputError(f"`A` has {n} columns but x has {size} entries; make them equal")

        def compute(host: np.ndarray) -> np.ndarray:
            rows = host.reshape(-1, n).astype(float)
            return np.stack([self._project(row) for row in rows]).reshape(host.shape)

        return on_the_host(self, compute, x)

    @classmethod
    def examples(cls) -> list[tuple["AffineOperator", Shape]]:
        from scipy.sparse import csr_array
        from scipy.sparse.linalg import aslinearoperator

        A = np.array([[1.0, 2.0, -1.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
        dependent = csr_array(np.vstack([A, A[0] + A[1]]))
        return [
            (cls(csr_array(A), np.array([1.0, -2.0])), (4,)),  # pyright: ignore[reportArgumentType]
            (cls(dependent, np.array([1.0, -2.0, -1.0])), (2, 2)),  # pyright: ignore[reportArgumentType]
            (cls(aslinearoperator(A), np.array([1.0, -2.0])), (4,)),
        ]


def _by_factors(A: object) -> Callable[[Array], Array] | None:
    """Return the least solution by factors of A A', None if its rows depend on each other."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    rows = A.tocsr().astype(float)  # pyright: ignore[reportAttributeAccessIssue]
    size = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    if rows.shape[0] == 0 or not size.all():
        return None
    rows = diags_array(1.0 / size).tocsr() @ rows  # of one size: else the pivots would say nothing of the rank
    try:
        factors = splu((rows @ rows.T).tocsc())
    except RuntimeError:  # exactly singular
        return None
    pivots = np.abs(factors.U.diagonal())
    if pivots.min() < 1e-8 * pivots.max():
        return None
    return lambda r: rows.T @ factors.solve(r / size)


def _by_lsqr(A: "LinearOperator") -> Callable[[Array], Array]:
    """Return the least solution by LSQR, to the accuracy of double precision."""
    from scipy.sparse.linalg import lsqr

    limit = 10 * sum(A.shape) + 100

    def least(r: Array) -> Array:
        size = float(np.max(np.abs(r), initial=0.0))
        if size == 0.0:
            return np.zeros(A.shape[1])
        return size * lsqr(A, r / size, atol=1e-15, btol=1e-15, conlim=0.0, iter_lim=limit)[0]

    return least
