"""Matrices as products U V' of two thin ones: all of a matrix, or some of its entries.

x stacks both, its first m rows are U and the others V: x has shape (m + k, rank). The functions are quartic and have no
smoothness constant on the whole space.
"""

from typing import Self

import numpy as np
from scipy import sparse

from trisplit.arrays import Array, Shape, constant_like, device, from_numpy, index_like, namespace, on_host
from trisplit.arrays.batched import put_rows
from trisplit.errors import InputError
from trisplit.losses.base import FiniteSum, as_number
from trisplit.losses.linear import as_targets
from trisplit.losses.samples import Samples, like, take
from trisplit.terms.checks import nonnegative_weight, whole

__all__ = ["MatrixCompletion", "MatrixFactorization"]


class _Factors(FiniteSum):
    """Half the mean of (u_i' v_j - y_ij)^2 over some entries (i, j)."""

    convex = False

    def __init__(self, m: int, k: int, rank: int, ridge: float) -> None:
        self.m, self.k, self.rank = m, k, whole(rank, "rank")
        self.ridge, self.shape = nonnegative_weight(ridge, "ridge"), (m + k, self.rank)

    def entries(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return row and column of some samples."""
        raise NotImplementedError(f"{type(self).__name__} must define `entries`")

    def observed(self, rows: np.ndarray, x: Array) -> Array:
        """Return y_ij of some samples."""
        raise NotImplementedError(f"{type(self).__name__} must define `observed`")

    def split(self, x: Array) -> tuple[Array, Array]:
        """Return U and V."""
        return x[: self.m, :], x[self.m :, :]

    def sample_grads(self, x: Array, rows: np.ndarray) -> Array:
        """Return the gradients of some samples: r v_j in row i, and r u_i in row m + j."""
        self.check(x)
        rows = self.check_rows(rows)
        xp, (i, j) = namespace(x), self.entries(rows)
        u, v = (xp.take(x, index_like(places, x), axis=0) for places in (i, self.m + j))
        r = (xp.sum(u * v, axis=1) - self.observed(rows, x))[:, None, None]
        of_u, of_v = (_marks(places, self.m + self.k, x) for places in (i, self.m + j))
        return r * (of_u * v[:, None, :] + of_v * u[:, None, :]) + self.ridge * x

    def _regularized(self, value: float, grad: Array, x: Array) -> tuple[float, Array]:
        if self.ridge:
            value, grad = value + 0.5 * self.ridge * namespace(x).sum(x * x), grad + self.ridge * x
        return as_number(value), grad


class MatrixFactorization(_Factors):
    """||U V' - Y||^2 / (2 m k) for a matrix Y of shape (m, k), x = (U, V) stacked, of shape (m + k, rank).

    The samples of the finite sum are the entries of Y, row by row.

    Parameters
    ----------
    Y : array (m, k) or sparse matrix
    rank : int
    ridge : float
        ridge (||U||^2 + ||V||^2) / 2 is added.

    References
    ----------
    Ge, Jin, Zheng (2017), No spurious local minima in nonconvex low rank problems.

    Examples
    --------
    >>> import numpy as np
    >>> f = MatrixFactorization(np.array([[2.0, 4.0]]), rank=1)
    >>> x = np.array([[1.0], [2.0], [2.0]])  # U is 1, V is (2, 2)
    >>> f.value(x), f.grad(x)
    (1.0, array([[-2.],
           [ 0.],
           [-1.]]))
    """

    def __init__(self, Y: object, rank: int, *, ridge: float = 0.0) -> None:
        self.Y = Samples(Y.toarray() if sparse.issparse(Y) else Y, "Y")  # pyright: ignore
        if self.Y.mapped:
            self.Y = Samples(np.array(self.Y.array, dtype=self.Y.dtype), "Y")
        super().__init__(self.Y.n, self.Y.width, rank, ridge)
        self.n = self.m * self.k

    def entries(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return row and column of some samples."""
        return rows // self.k, rows % self.k

    def observed(self, rows: np.ndarray, x: Array) -> Array:
        """Return y_ij of some samples."""
        return take(namespace(x).reshape(self.Y.like(x).array, (-1,)), rows)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both."""
        self.check(x)
        xp, (U, V) = namespace(x), self.split(x)
        R = U @ V.T - self.Y.like(x).array
        grad = xp.concat([R @ V, R.T @ U]) / self.n
        return self._regularized(0.5 * xp.sum(R * R) / self.n, grad, x)

    @classmethod
    def examples(cls) -> list[tuple[Self, Shape]]:
        Y = np.random.default_rng(3).standard_normal((3, 4))
        return [(cls(Y, 2), (7, 2)), (cls(Y, 1, ridge=0.1), (7, 1))]


class MatrixCompletion(_Factors):
    """Half the mean of (u_i' v_j - y_ij)^2 over observed entries (i, j), x = (U, V) stacked, of shape (m + k, rank).

    The samples of the finite sum are the entries. With NumPy the residuals are a sparse matrix; with other libraries, a
    dense one of shape (m, k).

    Parameters
    ----------
    i, j : array of int
        Rows and columns of the observed entries, counted from 0, each entry once.
    y : array
        What was observed there.
    shape : tuple (m, k)
        That of the matrix.
    rank : int
    ridge : float
        ridge (||U||^2 + ||V||^2) / 2 is added.

    References
    ----------
    Koren, Bell, Volinsky (2009), Matrix factorization techniques for recommender systems.

    Examples
    --------
    >>> import numpy as np
    >>> f = MatrixCompletion([0, 0], [0, 1], [2.0, 4.0], shape=(1, 3), rank=1)
    >>> x = np.array([[1.0], [2.0], [2.0], [7.0]])
    >>> f.n, f.value(x), f.grad(x).ravel()
    (2, 1.0, array([-2.,  0., -1.,  0.]))
    """

    def __init__(self, i: object, j: object, y: object, shape: Shape, rank: int, *, ridge: float = 0.0) -> None:
        if not isinstance(shape, tuple) or len(shape) != 2:
            raise InputError(f"`shape` must be (m, k), rows and columns of the matrix, got {shape!r}; give a pair")
        super().__init__(whole(shape[0], "shape"), whole(shape[1], "shape"), rank, ridge)
        self.i, self.j = _indices(i, self.m, "i"), _indices(j, self.k, "j")
        self.n = len(self.i)
        if len(self.j) != self.n:
            raise InputError(f"`i` has {self.n} entries and `j` {len(self.j)}; make them equal")
        flat = self.i * self.k + self.j
        if len(np.unique(flat)) != self.n:
            raise InputError("`i` and `j` name an entry of the matrix twice; average what was observed there")
        self.y = as_targets(y, Samples(np.zeros((self.n, 1)), "i"), "y")

    def entries(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return row and column of some samples."""
        return self.i[rows], self.j[rows]

    def observed(self, rows: np.ndarray, x: Array) -> Array:
        """Return y_ij of some samples."""
        return take(like(self.y, x, "y"), rows)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both."""
        self.check(x)
        value, grad = self._sums(
            x, constant_like(self.i, x, indices=True), constant_like(self.j, x, indices=True), None
        )
        return self._regularized(value, grad, x)

    def batch_grad(self, x: Array, rows: np.ndarray) -> Array:
        """Return the mean of the gradients of some samples."""
        self.check(x)
        rows, counts = np.unique(self.check_rows(rows), return_counts=True)
        i, j = (index_like(places, x) for places in self.entries(rows))
        return self._regularized(*self._sums(x, i, j, rows, counts), x)[1]

    def _sums(
        self, x: Array, i: Array, j: Array, rows: np.ndarray | None, counts: np.ndarray | None = None
    ) -> tuple[float, Array]:
        """Return half the mean of squared residuals and its gradient; a sample counts as often as `counts` says."""
        xp, (U, V) = namespace(x), self.split(x)
        y = like(self.y, x, "y") if rows is None else self.observed(rows, x)
        r = xp.sum(xp.take(U, i, axis=0) * xp.take(V, j, axis=0), axis=1) - y
        total = self.n if counts is None else int(counts.sum())
        weighted = r if counts is None else r * from_numpy(counts, x)
        if on_host(x):
            R = sparse.csr_array((weighted, (i, j)), shape=(self.m, self.k))
        else:
            R = put_rows(xp.zeros((self.m, self.k), dtype=x.dtype, device=device(x)), i * self.k + j, weighted, 2)
        return 0.5 * xp.sum(r * weighted) / total, xp.concat([R @ V, R.T @ U]) / total

    @classmethod
    def examples(cls) -> list[tuple[Self, Shape]]:
        rng = np.random.default_rng(4)
        i, j = np.divmod(rng.permutation(20)[:11], 5)
        y = rng.standard_normal(11)
        return [(cls(i, j, y, (4, 5), 2), (9, 2)), (cls(i, j, y, (4, 5), 1, ridge=0.1), (9, 1))]


def _indices(places: object, limit: int, name: str) -> np.ndarray:
    found = np.asarray(places)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not found.size:
        came = f"got {found.dtype} of shape {found.shape}"
        raise InputError(f"`{name}` must be a vector of at least one whole number, {came}; count from 0")
    if found.min() < 0 or found.max() >= limit:
        came = f"got {found.min()} to {found.max()}; change it or `shape`"
        raise InputError(f"`{name}` must lie between 0 and {limit - 1}, {came}")
    return found.astype(np.int64)


def _marks(places: np.ndarray, size: int, x: Array) -> Array:
    """Return for each place a column with a 1 there and zeros elsewhere."""
    return from_numpy((places[:, None] == np.arange(size))[:, :, None], x)
