"""A table of samples, one in each row: products with all of it, or with some rows.

The table may be an array of any library, a sparse matrix of SciPy, or a file that NumPy maps into memory. What does not
lie in memory is read in blocks of rows, so that no more than a block of it is held at once.
"""

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from trisplit.arrays import Array, all_finite, index_like, is_array, kind_of, namespace, to_numpy
from trisplit.errors import InputError

BLOCK = 2**25  # bytes of a mapped file that are read at once
SMALL = 500  # rows or columns up to which the largest singular value comes from a full decomposition
SLACK = 1e-3  # by which a largest singular value from Lanczos' method is raised: it may fall short of the true one


class Samples:
    """A table A with `n` rows, each of them a sample, and its products.

    Examples
    --------
    >>> import numpy as np
    >>> A = Samples(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> A.dot(np.array([1.0, 1.0]), rows=np.array([2, 0]))
    array([11.,  3.])
    >>> A.t_dot(np.array([1.0, 1.0]), rows=np.array([2, 0]))
    array([6., 8.])
    """

    def __init__(self, A: object, name: str = "A") -> None:
        self.name, self.mapped = name, isinstance(A, np.memmap)
        if sparse.issparse(A):
            A = sparse.csr_array(A)
            if A.dtype.kind != "f":
                A = A.astype(float)
        elif not is_array(A):
            try:
                A = np.asarray(A, dtype=float)
            except (TypeError, ValueError) as error:
                raise InputError(f"`{name}` must be a table of numbers, got {type(A).__name__} ({error})") from error
        if len(A.shape) != 2 or 0 in A.shape:  # pyright: ignore
            raise InputError(f"`{name}` must have two axes, samples and features, got shape {tuple(A.shape)}")  # pyright: ignore
        self.array: Array = A  # pyright: ignore[reportAttributeAccessIssue]
        if not self.mapped and not all_finite(self.array.data if self.sparse else self.array):
            raise InputError(f"`{name}` holds NaN or inf; drop or fill those samples")
        self.n, self.width = (int(length) for length in self.array.shape)

    @property
    def sparse(self) -> bool:
        """Whether the table is a sparse matrix."""
        return sparse.issparse(self.array)

    def check(self, x: Array) -> None:
        """Raise an `InputError` if products with `x` make no sense."""
        if x.shape[0] != self.width:
            raise InputError(
                f"`{self.name}` has {self.width} columns but x has shape {tuple(x.shape)}; make them equal"
            )
        own = "numpy" if self.sparse else kind_of(self.array)
        if kind_of(x) != own:
            raise InputError(f"`{self.name}` is of {own} and x of {kind_of(x)}; convert one of them")

    def blocks(self) -> Iterator[slice]:
        """Return ranges of rows that together are the table: one of them if it lies in memory."""
        size = self.n
        if self.mapped:
            size = max(1, BLOCK // (self.width * self.array.dtype.itemsize))  # pyright: ignore
        return (slice(start, min(start + size, self.n)) for start in range(0, self.n, size))

    def part(self, rows: np.ndarray | slice) -> Array:
        """Return some rows, in memory."""
        if isinstance(rows, slice):
            if not self.mapped:
                return self.array if rows == slice(0, self.n) else self.array[rows]
            found = np.array(self.array[rows])
            if not np.isfinite(found).all():
                raise InputError(f"`{self.name}` holds NaN or inf in rows {rows.start} to {rows.stop - 1}")
            return found
        if self.sparse or type(self.array) is np.ndarray or self.mapped:
            return self.array[rows]
        return namespace(self.array).take(self.array, index_like(rows, self.array), axis=0)

    def dot(self, x: Array, rows: np.ndarray | slice) -> Array:
        """Return A[rows] x."""
        return self.part(rows) @ x

    def t_dot(self, w: Array, rows: np.ndarray | slice) -> Array:
        """Return A[rows]' w."""
        part = self.part(rows)
        return part.T @ w

    def through(self, compute: Callable[[Array, slice], tuple[float, Array]]) -> tuple[float, Array]:
        """Return the sums of a number and an array that are computed from each block and its rows."""
        number, total = 0.0, None
        for rows in self.blocks():
            value, part = compute(self.part(rows), rows)
            number, total = number + value, part if total is None else total + part
        return number, total  # pyright: ignore[reportReturnType]

    @cached_property
    def squared_lengths(self) -> np.ndarray:
        """The squared length of each row, on the host."""
        found = np.empty(self.n)
        for rows in self.blocks():
            part = self.part(rows)
            if self.sparse:
                found[rows] = part.multiply(part).sum(axis=1)
            else:
                found[rows] = to_numpy(namespace(part).sum(part * part, axis=1))
        return found

    @cached_property
    def squared_norm(self) -> float:
        """An upper bound of the squared spectral norm, tight up to a thousandth; of mapped files the Frobenius norm."""
        if self.mapped:
            return float(self.squared_lengths.sum())
        A = self.array if self.sparse else to_numpy(self.array).astype(float)
        if min(self.n, self.width) <= SMALL:
            gram = A @ A.T if self.n <= self.width else A.T @ A
            values = np.linalg.eigvalsh(gram.toarray() if self.sparse else gram)
            return max(float(values[-1]), 0.0)
        square = LinearOperator((self.width, self.width), matvec=lambda v: A.T @ (A @ v), dtype=float)  # pyright: ignore
        start = np.random.default_rng(0).standard_normal(self.width)
        found = eigsh(square, k=1, tol=SLACK / 10, v0=start, return_eigenvectors=False)
        return min((1.0 + SLACK) * float(found[0]), float(self.squared_lengths.sum()))
