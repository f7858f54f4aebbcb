"""Norms and extreme eigenvalues of one matrix, dense or sparse: the constants behind step sizes.

Up to `EXACT` rows by a dense decomposition; above by Lanczos iterations from a fixed vector, so that equal data give
equal steps. A matrix on which they do not converge gets a bound that holds for every matrix:
||M||^2 <= min(sum M_ij^2, max_i sum_j |M_ij| * max_j sum_i |M_ij|).
"""

from collections.abc import Callable

import numpy as np

from trisplit.qap.matrices import Matrix, as_dense, centred

EXACT = 500
# Lanczos iterations: their relative precision, and the restarts (20 products each) after which the bound stands in.
PRECISION, RESTARTS = 1e-5, 200


def spectral_norm(M: Matrix) -> float:
    """Return the largest singular value of M; above `EXACT` rows it may be too large by a relative 1e-5.

    Examples
    --------
    >>> import numpy as np
    >>> spectral_norm(np.array([[0.0, 5.0], [2.0, 0.0]]))
    5.0
    """
    n, scale = M.shape[0], _max_abs(M)
    if scale == 0.0:
        return 0.0
    M = M.astype(np.float64) / scale  # so that squares neither overflow nor vanish
    if n <= EXACT:
        return scale * float(np.linalg.norm(as_dense(M), 2))
    square = _largest(lambda v: M.T @ (M @ v), n)
    return scale * (_norm_bound(M) if square is None else (1.0 + PRECISION) * abs(square) ** 0.5)


def eigenvalue_range(M: Matrix, *, centre: bool = False) -> tuple[float, float]:
    """Return the smallest and the largest eigenvalue of a symmetric M, or of its doubly centred part P M P.

    Numbers that are zero up to rounding are returned as zero: no step size should depend on them.

    Examples
    --------
    >>> import numpy as np
    >>> eigenvalue_range(np.ones((2, 2)), centre=True), eigenvalue_range(np.diag([3.0, -1.0]))
    ((0.0, 0.0), (-1.0, 3.0))
    """
    n, scale = M.shape[0], _max_abs(M)
    if scale == 0.0:
        return 0.0, 0.0
    noise = n * float(np.finfo(M.dtype).eps)
    M = M.astype(np.float64) / scale
    if n <= EXACT:
        spectrum = np.linalg.eigvalsh(centred(as_dense(M)) if centre else as_dense(M))
        low, high = float(spectrum[0]), float(spectrum[-1])
    else:
        around = (lambda v: _minus_mean(M @ _minus_mean(v))) if centre else (lambda v: M @ v)
        low, high = operator_range(around, n) or (-_norm_bound(M), _norm_bound(M))
    return tuple(0.0 if abs(end) <= noise else scale * end for end in (low, high))  # pyright: ignore[reportReturnType]


def operator_range(matvec: Callable[[np.ndarray], np.ndarray], size: int) -> tuple[float, float] | None:
    """Return both ends of the spectrum of a symmetric operator, ascending; None if the iterations do not converge."""
    far = _largest(matvec, size)
    if far is None:
        return None
    # Seen from its far end the other end is the eigenvalue of largest modulus, also where it is close to zero and
    # a relative precision could not be met.
    width = _largest(lambda v: matvec(v) - far * v, size)
    return None if width is None else (min(far, far + width), max(far, far + width))


def _largest(matvec: Callable[[np.ndarray], np.ndarray], size: int) -> float | None:
    """Return the eigenvalue of largest modulus of a symmetric operator."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh  # slow to import, needed by few

    v = np.random.default_rng(0).standard_normal(size)
    if not np.any(matvec(v)):
        return 0.0
    operator = LinearOperator((size, size), matvec=matvec, dtype=np.float64)  # pyright: ignore[reportCallIssue]
    try:
        options = {"v0": v, "tol": PRECISION, "maxiter": RESTARTS, "return_eigenvectors": False}
        return float(eigsh(operator, k=1, which="LM", **options)[0])
    except ArpackError:
        return None


def _minus_mean(v: np.ndarray) -> np.ndarray:
    return v - v.mean()


def _max_abs(M: Matrix) -> float:
    return float(max(M.max(), -M.min()))


def _norm_bound(M: Matrix) -> float:
    size = abs(M)
    rows_and_columns = float(size.sum(axis=1).max()) * float(size.sum(axis=0).max())
    return min(float((size * size).sum()), rows_and_columns) ** 0.5
