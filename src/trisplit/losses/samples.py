"""A table of samples, one in each row: products with all of it, or with some rows.

The table may be an array of any library, a sparse matrix of SciPy, or a file that NumPy maps into memory. What does not
lie in memory is read in blocks of rows, so that no more than a block of it is held at once.
"""

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from trisplit.arrays import (
    Array,
    as_floating,
    constant_like,
    device,
    index_like,
    is_array,
    kind_of,
    library,
    namespace,
    on_host,
    to_numpy,
)
from trisplit.arrays.batched import all_finite
from trisplit.errors import InputError

BLOCK = 2**22  # bytes of a mapped file that are read at once: they stay in the cache for a second product
SMALL = 500  # rows or columns up to which the largest singular value comes from a full decomposition
SLACK = 1e-3  # by which a largest singular value from Lanczos' method is raised: it may fall short of the true one


class Samples:
    """A table A with `n` rows, each of them a sample, and its products.

    A table of NumPy's follows x into its library, dtype and device, once; one of another library into its dtype.

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
        self.array = _table(A, name)
        self.n, self.width = (int(length) for length in self.array.shape)
        self.dtype = self.array.dtype  # of what is handed out
        if self.mapped and self.dtype.kind != "f":
            self.dtype = np.dtype(float)
        self._cast: dict[object, Samples] = {}

    @property
    def sparse(self) -> bool:
        """Whether the table is a sparse matrix."""
        return sparse.issparse(self.array)

    @property
    def kind(self) -> str:
        """Library and device in words."""
        return "numpy" if self.sparse or self.mapped else kind_of(self.array)

    def check(self, x: Array) -> None:
        """Raise an `InputError` if products with `x` make no sense."""
        if x.shape[0] != self.width:
            raise InputError(
                f"`{self.name}` has {self.width} columns but x has shape {tuple(x.shape)}; make them equal"
            )

    def like(self, x: Array) -> Self:
        """Return the table in the library, on the device and in the dtype of `x`."""
        if on_host(x) and (self.sparse or self.mapped or on_host(self.array)):
            if x.dtype == self.dtype:
                return self
            if x.dtype not in self._cast:
                array = self.array if self.mapped else self.array.astype(x.dtype)
                self._cast[x.dtype] = self._with(array, x.dtype)
            return self._cast[x.dtype]  # pyright: ignore[reportReturnType]
        if self.sparse or self.mapped:
            what = "a sparse matrix" if self.sparse else "a mapped file"
            raise InputError(f"`{self.name}` is {what} and x of {kind_of(x)}; use NumPy for x, or a dense array")
        return self if same_kind(self.array, x) else self._with(like(self.array, x, self.name), x.dtype)

    def _with(self, array: Array, dtype: object) -> Self:
        new = copy(self)
        new.array, new.dtype, new._cast = array, dtype, {}  # pyright: ignore[reportAttributeAccessIssue]
        return new

    def blocks(self) -> list[slice]:
        """Return ranges of rows that together are the table: one of them if it lies in memory."""
        return self.chunks(slice(0, self.n))  # pyright: ignore[reportReturnType]

    def part(self, rows: np.ndarray | slice) -> Array:
        """Return some rows; of a mapped file they may still lie there, unless their dtype is another one."""
        if self.mapped:
            return np.asarray(self.array[rows], dtype=self.dtype)
        return self.array if isinstance(rows, slice) and rows == slice(0, self.n) else take(self.array, rows)

    def dense(self, rows: np.ndarray) -> Array:
        """Return some rows, in memory and dense."""
        part = self.part(rows)
        return part.toarray() if self.sparse else part  # pyright: ignore[reportAttributeAccessIssue]

    def chunks(self, rows: np.ndarray | slice) -> list[np.ndarray | slice]:
        """Return the rows in parts, of which no more than one need lie in memory; one part if the table does."""
        length = len(range(*rows.indices(self.n))) if isinstance(rows, slice) else len(rows)
        size = max(1, BLOCK // (8 * self.width)) if self.mapped else length
        starts = range(0, length, max(size, 1))
        if isinstance(rows, slice):
            return [slice(rows.start + k, min(rows.start + k + size, rows.stop)) for k in starts]
        return [rows[k : k + size] for k in starts]

    def dot(self, x: Array, rows: np.ndarray | slice) -> Array:
        """Return A[rows] x."""
        found = [self.times(self.part(some), x, some) for some in self.chunks(rows)]
        return found[0] if len(found) == 1 else namespace(x).concat(found)

    def times(self, part: Array, x: Array, rows: np.ndarray | slice) -> Array:
        """Return the product of these rows and x; it also tells whether a mapped file holds what it must not."""
        p = part @ x
        if self.mapped and not np.isfinite(p).all():
            self.require_finite(part, rows)
        return p

    def require_finite(self, part: Array, rows: np.ndarray | slice) -> None:
        """Raise an `InputError` if these rows, of a mapped file, hold NaN or inf."""
        if not np.isfinite(part).all():
            where = f"rows {rows.start} to {rows.stop - 1}" if isinstance(rows, slice) else "the rows asked for"
            raise InputError(f"`{self.name}` holds NaN or inf in {where}; drop or fill those samples")

    def t_dot(self, w: Array, rows: np.ndarray | slice) -> Array:
        """Return A[rows]' w."""
        total, start = None, 0
        for some in self.chunks(rows):
            part = self.part(some)
            product = part.T @ w[start : start + part.shape[0], ...]
            total, start = product if total is None else total + product, start + part.shape[0]
        return total  # pyright: ignore[reportReturnType]

    def gram(self, w: Array, rows: np.ndarray | slice) -> Array:
        """Return A[rows]' diag(w) A[rows], dense; of dense tables from blocks that stay in the cache."""
        if self.sparse:
            part = self.part(rows)
            return (part.T @ (part * w[:, None])).toarray()  # pyright: ignore[reportAttributeAccessIssue]
        size, total = max(1, BLOCK // (8 * self.width)), None
        for start in range(0, w.shape[0], size):
            stop = min(start + size, w.shape[0])
            some = rows[start:stop] if isinstance(rows, np.ndarray) else slice(rows.start + start, rows.start + stop)
            part = self.part(some)
            product = part.T @ (part * w[start:stop, None])
            total = product if total is None else total + product
        return total  # pyright: ignore[reportReturnType]

    def through(self, compute: Callable[[Array, slice], tuple[float, Array]]) -> tuple[float, Array]:
        """Return the sums of a number and an array that are computed from each block and its rows."""
        number, total = 0.0, None
        for rows in self.blocks():
            block = self.part(rows)
            value, part = compute(block, rows)
            if self.mapped and not np.isfinite(value).all():
                self.require_finite(block, rows)
            number, total = number + value, part if total is None else total + part
        return number, total  # pyright: ignore[reportReturnType]

    def host_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Return the blocks on the host in double precision: constants that must bound allow no other."""
        for rows in self.blocks():
            part = self.part(rows)
            if self.mapped:
                self.require_finite(part, rows)
            yield rows, (part if self.sparse else to_numpy(part)).astype(float)

    @cached_property
    def squared_lengths(self) -> np.ndarray:
        """The squared length of each row, on the host."""
        found = np.empty(self.n)
        for rows, part in self.host_blocks():
            found[rows] = part.multiply(part).sum(axis=1) if self.sparse else np.vecdot(part, part)  # pyright: ignore
        return found

    @cached_property
    def squared_norm(self) -> float:
        """An upper bound of the squared spectral norm, tight up to a thousandth; of wide files the Frobenius norm."""
        if self.mapped and self.width <= SMALL:
            gram = sum(part.T @ part for _, part in self.host_blocks())
            return max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)
        if self.mapped:
            return float(self.squared_lengths.sum())
        return squared_norm(next(self.host_blocks())[1])

    @cached_property
    def centred(self) -> tuple[float, float]:
        """Bounds for the table without its mean row: the squared spectral norm, and the largest squared length."""
        mean = np.sum([part.sum(axis=0) for _, part in self.host_blocks()], axis=0) / self.n
        square = float(mean @ mean)
        # ||a - mean||^2 = ||a||^2 - 2 a' mean + ||mean||^2 needs no dense copy of a sparse table.
        lengths = self.squared_lengths.copy()
        for rows, part in self.host_blocks():
            lengths[rows] += square - 2.0 * (part @ mean)
        return min(self.squared_norm, float(lengths.sum())), max(float(lengths.max()), 0.0)


def squared_norm(A: Array) -> float:
    """Return an upper bound of the squared spectral norm of a float64 matrix, dense or sparse, of the host."""
    n, width = A.shape
    if min(n, width) <= SMALL:
        gram = A @ A.T if n <= width else A.T @ A
        values = np.linalg.eigvalsh(gram.toarray() if sparse.issparse(gram) else gram)  # pyright: ignore
        return max(float(values[-1]), 0.0)
    whole = float((A.multiply(A) if sparse.issparse(A) else A * A).sum())  # pyright: ignore
    square = LinearOperator((width, width), matvec=lambda v: A.T @ (A @ v), dtype=float)  # pyright: ignore
    start = np.random.default_rng(0).standard_normal(width)
    try:
        found = eigsh(square, k=1, tol=SLACK / 10, v0=start, return_eigenvectors=False)  # pyright: ignore
    except ArpackError:
        return whole
    return min((1.0 + SLACK) * float(found[0]), whole)


def _table(A: object, name: str) -> Array:
    """Return a table of floating-point numbers, or raise an `InputError`."""
    if sparse.issparse(A):
        A = sparse.csr_array(A)
    elif not is_array(A):
        try:
            A = np.asarray(A)
        except (TypeError, ValueError) as error:
            came = f"got {type(A).__name__} ({' '.join(str(error).split())})"
            raise InputError(f"`{name}` must be a table of numbers, {came}; rows must be equally long") from error
    if len(A.shape) != 2 or 0 in A.shape:  # pyright: ignore
        shape = tuple(A.shape)  # pyright: ignore
        raise InputError(f"`{name}` must have two axes, samples and features, got shape {shape}; fill or reshape it")
    array: Array = A  # pyright: ignore[reportAssignmentType]
    kind = getattr(array.dtype, "kind", None)
    if kind is not None and kind not in "fiub":
        raise InputError(f"`{name}` must hold real numbers, got {array.dtype}; encode or convert its columns")
    if isinstance(array, np.memmap):  # looked at block by block, when it is read
        return array
    if sparse.issparse(array):
        array = array if kind == "f" else array.astype(float)
    else:
        try:
            array = as_floating(array)
        except TypeError as error:
            raise InputError(f"`{name}` must hold real numbers, got {array.dtype}; convert its columns") from error
    if not all_finite(array.data if sparse.issparse(array) else array):  # pyright: ignore[reportArgumentType]
        raise InputError(f"`{name}` holds NaN or inf; drop or fill those samples")
    return array


def same_kind(values: Array, x: Array) -> bool:
    """Say whether two arrays share library, dtype and device; where a compiler traces a program, x has no device."""
    if on_host(values) and on_host(x):  # asked for in every iteration
        return values.dtype == x.dtype
    if library(values) != library(x) or values.dtype != x.dtype:
        return False
    return device(x) is None or device(values) == device(x)


def like(values: Array, x: Array, name: str = "A") -> Array:
    """Return data in the library, on the device and in the dtype of `x`; data of NumPy's follow x anywhere."""
    if same_kind(values, x):
        return values
    if on_host(values):
        return constant_like(values, x)
    if library(values) != library(x) or (device(x) is not None and device(values) != device(x)):
        raise InputError(f"`{name}` is of {kind_of(values)} and x of {kind_of(x)}; convert one of them")
    return namespace(x).astype(values, x.dtype)


def take(values: Array, rows: np.ndarray | slice) -> Array:
    """Return some rows of an array or a sparse matrix."""
    if isinstance(rows, slice) or sparse.issparse(values) or on_host(values):
        return values[rows]
    return namespace(values).take(values, index_like(rows, values), axis=0)
