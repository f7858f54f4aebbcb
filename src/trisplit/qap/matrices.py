"""Square matrices that are dense or sparse: the few things that objective and instance do differently with the two.

Nothing here loads `scipy.sparse` for dense matrices.
"""

from typing import TypeAlias

import numpy as np

# A dense array or one of `scipy.sparse`; typed as NumPy's so that operators are known.
Matrix: TypeAlias = np.ndarray


def is_sparse(M: object) -> bool:
    """Return whether `M` is a matrix of `scipy.sparse`."""
    return hasattr(M, "tocsr")


def as_csr(M: Matrix, dtype: np.dtype | type | None = None) -> Matrix:
    """Return a copy as csr array, sorted, without stored zeros; entries that were given twice are added in `dtype`."""
    from scipy.sparse import csr_array

    csr = csr_array(M if dtype is None else M.astype(dtype), copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    return csr  # pyright: ignore[reportReturnType]


def as_dense(M: Matrix) -> np.ndarray:
    """Return M as a dense array."""
    return M.toarray() if is_sparse(M) else M  # pyright: ignore


def is_symmetric(M: Matrix) -> bool:
    """Return whether M equals its transpose exactly."""
    return (M != M.T).nnz == 0 if is_sparse(M) else bool(np.array_equal(M, M.T))  # pyright: ignore


def centred(M: np.ndarray) -> np.ndarray:
    """Return P M P with P = I - 1 1' / n: what is left of a dense M without its row and column means."""
    M = M - M.mean(axis=0)
    M -= M.mean(axis=1, keepdims=True)
    return M


def stored(M: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and values of the entries that a csr array stores, row by row."""
    rows = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))  # pyright: ignore[reportAttributeAccessIssue]
    return rows, M.indices.astype(np.int64), M.data  # pyright: ignore


def entries(M: Matrix, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return M[rows, columns], entry by entry; a csr array must be sorted, as by `as_csr`.

    Examples
    --------
    >>> import numpy as np
    >>> M = np.array([[0, 7], [8, 0]])
    >>> entries(as_csr(M), np.array([1, 1]), np.array([1, 0]))
    array([0, 8])
    """
    if not is_sparse(M):
        return M[rows, columns]
    n = M.shape[0]
    stored_rows, stored_columns, values = stored(M)
    keys, wanted = stored_rows * n + stored_columns, rows * n + columns
    if not len(keys):
        return np.zeros(len(wanted), dtype=M.dtype)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)
