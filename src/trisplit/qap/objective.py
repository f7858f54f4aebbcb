"""The objective of the relaxed quadratic assignment problem, [YMS21] section 5, for dense and for sparse matrices.

    f(X) = trace(A X B' X') + <C, X>,    grad f(X) = A X B' + A' X B + C

Over matrices with unit row and column sums only the doubly centred parts of A and B bend f. The tangent form
f_tan(X) = f(proj_H(X)), proj_H the projection onto those matrices, has the values of f there and a much smaller
curvature, so a splitting may take longer steps. With P = I - 1 1' / n and the barycentre J = 1 1' / n it is

    f_tan(X) = f(J) + <g0, X> + trace(Ac X Bc' X'),    Ac = P A P,  Bc = P B P,  g0 = P grad f(J) P.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from trisplit.arrays import Array
from trisplit.arrays.batched import vdot
from trisplit.qap.matrices import Matrix, as_csr, centred, is_sparse, is_symmetric
from trisplit.qap.spectra import eigenvalue_range, operator_range, spectral_norm

# The Hessian of nonsymmetric matrices acts on n^2 numbers: up to the first size as a dense matrix, up to the second
# by Lanczos iterations.
DENSE_HESSIAN, LANCZOS = 8, 100


@dataclass(frozen=True, eq=False)
class Objective:
    """f(X) = trace(A X B' X') + <C, X>, smooth and in general nonconvex; gradient A X B' + A' X B + C.

    Parameters
    ----------
    A, B : array or scipy.sparse matrix, shape (n, n)
        Each dense or sparse, symmetric or not; sparse ones are used as csr.
    C : array, shape (n, n), optional

    Examples
    --------
    >>> import numpy as np
    >>> f = Objective(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 5.0], [2.0, 0.0]]))
    >>> float(f.value(np.eye(2))), f.lipschitz
    (5.0, 10.0)
    """

    A: Matrix
    B: Matrix
    C: Array | None = None

    def __post_init__(self) -> None:
        for label in ("A", "B"):
            if is_sparse(getattr(self, label)):
                object.__setattr__(self, label, as_csr(getattr(self, label)))

    @property
    def is_sparse(self) -> bool:
        """Whether A or B is sparse."""
        return is_sparse(self.A) or is_sparse(self.B)

    @cached_property
    def symmetric_parts(self) -> tuple[Matrix, Matrix, bool]:
        """A and B as products use them, and whether both are symmetric.

        If one is symmetric, then so is the quadratic form that the other one meets, and only its symmetric part counts:
        f stays the same, and its gradient needs two products in place of four.
        """
        A, B = self.A, self.B
        A_symmetric, B_symmetric = is_symmetric(A), is_symmetric(B)
        if A_symmetric and not B_symmetric:
            B = _symmetric_part(B)
        if B_symmetric and not A_symmetric:
            A = _symmetric_part(A)
        return A, B, A_symmetric or B_symmetric

    def value(self, X: Array) -> float:
        """Return f(X)."""
        A, B, _ = self.symmetric_parts
        return self._value(X, _product(A, X, B))

    def grad(self, X: Array) -> Array:
        """Return the gradient at X."""
        A, B, _ = self.symmetric_parts
        return self._grad(X, _product(A, X, B))

    def value_and_grad(self, X: Array) -> tuple[float, Array]:
        """Return f(X) and the gradient, which share two of their products."""
        A, B, _ = self.symmetric_parts
        AXB = _product(A, X, B)
        return self._value(X, AXB), self._grad(X, AXB)

    @cached_property
    def lipschitz(self) -> float:
        """2 ||A|| ||B|| in the spectral norm, a smoothness constant of f."""
        return 2.0 * spectral_norm(self.A) * spectral_norm(self.B)

    def tangent(self, dtype: DTypeLike | None = None) -> "Tangent":
        """Return f(proj_H(X)) as a function of X, in the precision of A and B if `dtype` is left out."""
        return Tangent(self, dtype)

    def _value(self, X: Array, AXB: Array) -> float:
        product = AXB if self.C is None else AXB + self.C
        return float(vdot(product, X))

    def _grad(self, X: Array, AXB: Array) -> Array:
        A, B, symmetric = self.symmetric_parts
        grad = 2.0 * AXB if symmetric else AXB + _product(A.T, X, B.T)
        return grad if self.C is None else grad + self.C


class Tangent:
    """f_tan(X) = f(proj_H(X)) = constant + <g0, X> + trace(Ac X Bc' X'), Ac and Bc doubly centred.

    It equals f where rows and columns have unit sums, and does not change in directions that only move those sums; its
    gradient has zero row and column sums.

    Parameters
    ----------
    f : Objective
    dtype : float32 or float64, optional
        The precision of the constants and of results; that of A and B if left out.

    Attributes
    ----------
    A, B : array or csr_array, shape (n, n)
        The symmetric parts of f's matrices where f depends on no more, the matrices otherwise. Dense ones are doubly
        centred and contiguous. Sparse ones are **not** centred: products centre what they multiply, and the result.
    g0 : array, shape (n, n)
        The doubly centred gradient of f at the barycentre.
    constant : float
        f at the barycentre.
    symmetric : bool
        Whether A and B are symmetric: the gradient is then g0 + 2 Ac X Bc.

    Examples
    --------
    >>> import numpy as np
    >>> f = Objective(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 5.0], [2.0, 0.0]]))
    >>> tangent, X = f.tangent(), np.array([[0.3, 0.7], [0.7, 0.3]])
    >>> np.round([f.value(X), tangent.value(X), tangent.value(X + 7)], 12)
    array([1.43, 1.43, 1.43])
    """

    def __init__(self, f: Objective, dtype: DTypeLike | None = None) -> None:
        A, B, self.symmetric = f.symmetric_parts
        self.dtype = np.result_type(A.dtype, B.dtype, np.float32) if dtype is None else np.dtype(dtype)
        self.A, self.B = (_centred_if_dense(M, self.dtype) for M in (A, B))
        n = A.shape[0]
        rows_A, rows_B, columns_A, columns_B = (
            M.sum(axis=axis, dtype=np.float64) for axis in (1, 0) for M in (f.A, f.B)
        )
        # grad f(J) = (A 1) (B 1)' / n + (A' 1) (B' 1)' / n + C, centred before it is stored in a lower precision.
        g0 = np.outer(rows_A - rows_A.mean(), rows_B - rows_B.mean()) / n
        g0 += np.outer(columns_A - columns_A.mean(), columns_B - columns_B.mean()) / n
        constant = rows_A.mean() * rows_B.mean()
        if f.C is not None:
            g0 += centred(f.C.astype(np.float64))
            constant += f.C.sum(dtype=np.float64) / n
        self.g0 = g0.astype(self.dtype, copy=False)
        self.constant = float(constant)

    def value(self, X: Array) -> float:
        """Return f(proj_H(X))."""
        return self._value(X, self._product(X))

    def grad(self, X: Array) -> Array:
        """Return the gradient at X: the doubly centred gradient of f at proj_H(X)."""
        return self._grad(X, self._product(X))

    def value_and_grad(self, X: Array) -> tuple[float, Array]:
        """Return value and gradient, which share two of their products."""
        AXB = self._product(X)
        return self._value(X, AXB), self._grad(X, AXB)

    @property
    def lipschitz(self) -> float:
        """The largest absolute curvature."""
        return self.curvature()[0]

    def curvature(self) -> tuple[float, float]:
        """Return the largest absolute and the largest positive eigenvalue of X -> Ac X Bc' + Ac' X Bc.

        The second is 0 where f_tan is concave. For symmetric matrices the eigenvalues are 2 a_i b_j, of those of Ac and
        Bc; above 500 rows to a relative 1e-5. Otherwise Lanczos iterations find them up to 100 rows, and above both
        numbers are upper bounds: with symmetric and skew parts the map is 2 As X Bs - 2 Ak X Bk.

        Returns
        -------
        tuple of two floats

        Examples
        --------
        >>> import numpy as np
        >>> Objective(np.diag([1.0, 0.0]), np.diag([-3.0, 0.0])).tangent().curvature()
        (1.5, 0.0)
        """
        return self._curvature

    @cached_property
    def _curvature(self) -> tuple[float, float]:
        if self.symmetric:
            return _product_range(self.A, self.B)
        ends = self._hessian_range()
        if ends is not None:
            return max(map(abs, ends)), max(0.0, *ends)
        largest, positive = _product_range(_symmetric_part(self.A), _symmetric_part(self.B))
        skew = 2.0 * spectral_norm(_skew_part(self.A)) * spectral_norm(_skew_part(self.B))
        return largest + skew, positive + skew

    def _hessian_range(self) -> tuple[float, float] | None:
        """Return the ends of the spectrum of the Hessian, a symmetric map of matrices, unless n is too large."""
        n = self.g0.shape[0]

        def matvec(x: Array) -> Array:
            return self._hessian(x.reshape(n, n)).ravel()

        if n > DENSE_HESSIAN:
            return operator_range(matvec, n * n) if n <= LANCZOS else None
        spectrum = np.linalg.eigvalsh(np.array([matvec(e) for e in np.eye(n * n)]))
        return float(spectrum[0]), float(spectrum[-1])

    def _hessian(self, X: Array) -> Array:
        return self._grad(X, self._product(X)) - self.g0

    def _product(self, X: Array) -> Array:
        return _centred_right(_centred_left(self.A, X), self.B)

    def _value(self, X: Array, AXB: Array) -> float:
        return self.constant + float(vdot(self.g0 + AXB, X))

    def _grad(self, X: Array, AXB: Array) -> Array:
        if self.symmetric:
            return 2.0 * AXB + self.g0
        return AXB + _centred_right(_centred_left(self.A.T, X), self.B.T) + self.g0


def _symmetric_part(M: Matrix) -> Matrix:
    return 0.5 * M + 0.5 * M.T


def _skew_part(M: Matrix) -> Matrix:
    return 0.5 * M - 0.5 * M.T


def _product(A: Matrix, X: Array, B: Matrix) -> Array:
    """Return A X B', row by row in memory also where SciPy would leave it column by column."""
    AX = A @ X
    return np.ascontiguousarray((B @ AX.T).T) if is_sparse(B) else AX @ B.T


def _centred_if_dense(M: Matrix, dtype: np.dtype) -> Matrix:
    if is_sparse(M):
        return M.astype(dtype)
    Mc = centred(M.astype(np.float64))
    # What rounding leaves of a matrix without a centred part would ask for steps of length 1e16.
    noise = len(M) * np.finfo(M.dtype if M.dtype.kind == "f" else np.float64).eps
    if np.abs(Mc).max() <= noise * np.abs(M).max():
        Mc[:] = 0.0
    return np.ascontiguousarray(Mc, dtype=dtype)


def _centred_left(A: Matrix, X: Array) -> Array:
    """Return Ac X: by the dense Ac, or with a sparse A as P A P X."""
    if not is_sparse(A):
        return A @ X
    AX = A @ (X - X.mean(axis=0))
    AX -= AX.mean(axis=0)
    return AX


def _centred_right(X: Array, B: Matrix) -> Array:
    """Return X Bc'."""
    return np.ascontiguousarray(_centred_left(B, X.T).T) if is_sparse(B) else X @ B.T


def _product_range(A: Matrix, B: Matrix) -> tuple[float, float]:
    """Return max |2 a b| and max(2 a b, 0) over eigenvalues a, b of the centred symmetric matrices."""
    a, b = (eigenvalue_range(M, centre=is_sparse(M)) for M in (A, B))
    products = [2.0 * a_end * b_end for a_end in a for b_end in b]
    return max(map(abs, products)), max(0.0, *products)
