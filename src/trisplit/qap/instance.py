"""One quadratic assignment problem: two square matrices, and what is known about their best permutation.

    minimise over permutations p   sum_ij A[i,j] B[p[i],p[j]]  +  sum_i C[i,p[i]]

Row i of A goes to row p[i] of B, counted from 0. With the permutation matrix X, X[i,p[i]] = 1, the first
sum is trace(A X B' X'). Costs of integer data are exact, whatever their size: a best-known value is met or
it is not.

Reference: T. C. Koopmans, M. Beckmann, Assignment problems and the location of economic activities,
Econometrica 25 (1957) 53-76.
"""

import hashlib
import math
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from operator import mul

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trisplit.arrays import as_host
from trisplit.errors import InputError
from trisplit.qap.matrices import Matrix, as_csr, as_dense, entries, is_sparse, stored

_INT64 = np.iinfo(np.int64)
# A digest makes that many rows of a sparse matrix dense at a time.
HASHED_ROWS = 256


@dataclass(frozen=True, eq=False)  # `==` on arrays has no single truth value: instances compare by identity
class Instance:
    """A quadratic assignment problem.

    minimise over permutations p   sum_ij A[i,j] B[p[i],p[j]] + sum_i C[i,p[i]]

    Parameters
    ----------
    name : str
        What to call it in results and messages.
    A, B : array_like or scipy.sparse matrix, shape (n, n)
        Real and finite. Kept as read-only copies: integers (and booleans) as int64, other numbers as float64; sparse
        matrices of any format as csr arrays.
    best_known : int or float, optional
        The smallest cost known.
    proven : bool
        Whether `best_known` is proven optimal.
    lower_bound : int or float, optional
        A proven lower bound on the cost.
    in_paper : bool
        Whether the instance is one of the 134 of the experiment in [YMS21].
    solution : array_like of int, shape (n,), optional
        A known permutation, in the convention of `cost`; for bundled instances it attains `best_known`.
    C : array_like, shape (n, n), optional
        Linear costs: C[i,k] is paid when p[i] = k.

    Examples
    --------
    >>> from trisplit.qap.instance import Instance
    >>> instance = Instance("swap", A=[[0, 1], [0, 0]], B=[[0, 5], [2, 0]])
    >>> instance.n, instance.cost([0, 1]), instance.cost([1, 0])
    (2, 5, 2)
    """

    name: str
    A: Matrix = field(repr=False)
    B: Matrix = field(repr=False)
    best_known: int | float | None = None
    proven: bool = False
    lower_bound: int | float | None = None
    in_paper: bool = False
    solution: np.ndarray | None = field(default=None, repr=False)
    C: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"`name` must be a string, got {type(self.name).__name__}; pass `str(name)`")
        self._set("A", as_matrix(self.A, "A"))
        self._set("B", as_matrix(self.B, "B", like=self.A))
        if self.C is not None:
            if is_sparse(self.C):
                raise InputError("`C` must be dense, got a sparse matrix; pass `C.toarray()`")
            self._set("C", as_matrix(self.C, "C", like=self.A))
        for label in ("best_known", "lower_bound"):
            self._set(label, _as_value(getattr(self, label), label))
        self._check_values()
        if self.solution is not None:
            self._set("solution", as_permutation(self.solution, self.n, name="solution"))

    def _set(self, label: str, value: object) -> None:
        object.__setattr__(self, label, value)  # the only way past `frozen`, used by __post_init__ alone

    def _check_values(self) -> None:
        if self.proven and self.best_known is None:
            raise InputError("`proven` is true but `best_known` is None; pass the proven value as `best_known`")
        if self.best_known is None or self.lower_bound is None:
            return
        if self.lower_bound > self.best_known:
            raise InputError(
                f"`lower_bound` must not exceed `best_known`, got {self.lower_bound} > {self.best_known}; "
                "correct one of them"
            )

    @property
    def n(self) -> int:
        """The number of facilities, and of locations."""
        return self.A.shape[0]

    @cached_property
    def _has_integers(self) -> bool:
        return any(M.dtype.kind == "i" for M in (self.A, self.B, self.C) if M is not None)

    @cached_property
    def _fits_int64(self) -> bool:
        """Whether every partial sum of a cost is below 2^63, by n^2 max|A| max|B| + n max|C|."""
        linear = 0 if self.C is None else self.n * max_abs(self.C)
        return self.n**2 * max_abs(self.A) * max_abs(self.B) + linear <= _INT64.max

    def cost(self, permutation: ArrayLike) -> int | float:
        """Return the cost of a permutation, exactly if all matrices are integer.

        cost = sum_ij A[i,j] B[p[i],p[j]] + sum_i C[i,p[i]]

        Parameters
        ----------
        permutation : array_like of int, shape (n,)
            Row i of A goes to row `permutation[i]` of B; counted from 0.

        Returns
        -------
        int or float
            A Python int that never overflows for integer data, a float otherwise.

        Examples
        --------
        >>> from trisplit.qap.instance import Instance
        >>> Instance("large", A=[[2**62]], B=[[2**62]]).cost([0]) == 2**124
        True
        """
        p = as_permutation(permutation, self.n)
        a, b = self._pairs(p)
        linear = np.zeros(0, dtype=np.int64) if self.C is None else self.C[np.arange(self.n), p]
        if self._has_integers and not self._fits_int64:
            # Row by row, so that at most 2 n numbers of dense matrices exist as Python objects at a time.
            quadratic = sum(sum(map(mul, x.tolist(), y.tolist())) for x, y in zip(a, b, strict=True))
            return quadratic + sum(linear.tolist())
        return (np.sum(a * b) + np.sum(linear)).item()

    def _pairs(self, p: NDArray[np.int64]) -> tuple[np.ndarray, np.ndarray]:
        """Return the entries of A and of B that meet, in rows; of a sparse matrix only those that it stores."""
        if is_sparse(self.A):
            rows, columns, a = stored(self.A)
            return a[None], entries(self.B, p[rows], p[columns])[None]
        if is_sparse(self.B):
            inverse = np.argsort(p)
            rows, columns, b = stored(self.B)
            return self.A[inverse[rows], inverse[columns]][None], b[None]
        return self.A, self.B[p[:, None], p]

    def sha256(self) -> str:
        """Return a hex digest of the data: A, B and C with their shapes and kinds, not name or known values.

        It is the SHA-256 of, for A, B and (if given) C in turn, the ASCII line "LABEL KIND ROWS COLUMNS" with
        a line feed, KIND being `i` or `f`, followed by the entries row by row as little-endian int64 or
        float64, negative zeros as zeros. So machine, memory order, the width of the integers that came and
        whether a matrix is sparse do not matter.

        Returns
        -------
        str
            64 hexadecimal digits.

        Examples
        --------
        >>> from trisplit.qap.instance import Instance
        >>> a, b = ([[0, 1], [1, 0]], [[0, 3], [3, 0]])
        >>> Instance("one", a, b).sha256() == Instance("two", a, b).sha256()
        True
        """
        digest = hashlib.sha256()
        for label, M in (("A", self.A), ("B", self.B), ("C", self.C)):
            if M is None:
                continue
            kind = M.dtype.kind
            digest.update(f"{label} {kind} {M.shape[0]} {M.shape[1]}\n".encode("ascii"))
            for i in range(0, self.n, HASHED_ROWS):
                rows = as_dense(M[i : i + HASHED_ROWS])
                digest.update((rows + 0).astype(f"<{kind}8", order="C").tobytes())  # -0.0 + 0 is 0.0
        return digest.hexdigest()


def as_permutation(
    permutation: ArrayLike, n: int, *, name: str = "permutation", rows: int | None = None
) -> NDArray[np.int64]:
    """Return a read-only int64 copy of a permutation of 0 .. n-1, or raise `InputError`.

    Parameters
    ----------
    permutation : array_like of int
        Every number 0 .. n-1 exactly once.
    n : int
        Its length.
    name : str
        The argument that an error names.
    rows : int, optional
        The length, if there are fewer rows than columns: every number at most once.

    Returns
    -------
    ndarray of int64, shape (n,) or (rows,)

    Examples
    --------
    >>> from trisplit.qap.instance import as_permutation
    >>> as_permutation([2, 0, 1], 3)
    array([2, 0, 1])
    """
    array, rows = as_array(permutation, name), n if rows is None else rows
    once = f"use every number 0 .. {n - 1} {'once' if rows == n else 'at most once'}"
    if array.ndim != 1 or array.size != rows:
        raise InputError(f"`{name}` must have shape ({rows},), got {array.shape}; list the image of every row of A")
    if array.dtype.kind not in "iu":
        raise InputError(f"`{name}` must hold integers, got dtype {array.dtype}; convert it with `.astype(int)`")
    outside = array[(array < 0) | (array >= n)]
    if outside.size:
        shift = "; it looks 1-based: subtract 1" if array.min() == 1 and array.max() == n else ""
        remedy = shift or f"; {once}"
        raise InputError(f"`{name}` must be 0-based, below {n}, got {outside[0]}{remedy}")
    p = np.array(array, dtype=np.int64)
    counts = np.bincount(p, minlength=n)
    if counts.max() > 1:
        twice = int(counts.argmax())
        raise InputError(f"`{name}` must not repeat, got {twice} more than once; {once}")
    p.setflags(write=False)
    return p


def as_array(value: ArrayLike, name: str) -> np.ndarray:
    """Return `value` as a NumPy array, or raise an `InputError` that names the argument.

    An array on a GPU is transferred to the host.
    """
    try:
        return np.asarray(as_host(value))
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        came, remedy = f"{type(value).__name__} that does not", "pass rows of equal length"
        if "bfloat16" in str(getattr(value, "dtype", None)):  # NumPy has none
            came, remedy = f"{type(value).__name__} of {value.dtype}", "convert it to float64 first"  # pyright: ignore
        raise InputError(f"`{name}` must convert to a NumPy array, got {came}; {remedy}") from error


def as_matrix(value: ArrayLike, name: str, *, like: Matrix | None = None) -> Matrix:
    """Return a read-only, square, finite int64 or float64 copy, of the shape of `like`; sparse if it came so."""
    array: Matrix = value if is_sparse(value) else as_array(value, name)  # pyright: ignore[reportAssignmentType]
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"`{name}` must be numeric, got dtype {array.dtype}; "
            "pass an array or a scipy.sparse matrix of real numbers, integers within int64"
        )
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InputError(f"`{name}` must be a square matrix, got shape {array.shape}; pass n rows of n numbers")
    if array.shape[0] == 0:
        raise InputError(f"`{name}` must not be empty, got shape {array.shape}; pass at least one row")
    if like is not None and array.shape != like.shape:
        raise InputError(
            f"`{name}` must have the shape of `A`, got {array.shape} against {like.shape}; "
            "pad the smaller matrix with zeros if there are fewer facilities than locations"
        )
    numbers = array.tocoo().data if is_sparse(array) else array  # pyright: ignore[reportAttributeAccessIssue]
    if array.dtype.kind == "u" and numbers.size and int(numbers.max()) > _INT64.max:
        raise InputError(f"`{name}` must fit int64, got {numbers.max()}; scale it or pass it as float64")
    dtype = np.float64 if array.dtype.kind == "f" else np.int64
    with np.errstate(over="ignore"):  # a wider float beyond float64 becomes inf, which is refused below
        matrix = as_csr(array, dtype) if is_sparse(array) else np.array(array, dtype=dtype, order="C")
    _require_finite(matrix, name)
    for label in ("data", "indices", "indptr") if is_sparse(matrix) else ():
        getattr(matrix, label).setflags(write=False)
    if not is_sparse(matrix):
        matrix.setflags(write=False)
    return matrix


def _require_finite(matrix: Matrix, name: str) -> None:
    rows, columns, values = stored(matrix) if is_sparse(matrix) else (None, None, matrix)
    if np.isfinite(values).all():
        return
    first = np.argwhere(~np.isfinite(values))[0]
    i, j = first if rows is None or columns is None else (rows[first[0]], columns[first[0]])
    raise InputError(
        f"`{name}` must be finite, got {values[tuple(first)]} at [{i}, {j}]; "
        "replace it, a large finite number may stand for a forbidden pair"
    )


def _as_value(value: float | None, name: str) -> int | float | None:
    """Return a plain int or float, so that a cost compares and prints the same whatever came."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"`{name}` must be a number or None, got {type(value).__name__}; pass None if unknown")
    if isinstance(value, Integral):
        return int(value)
    if not math.isfinite(value):
        raise InputError(f"`{name}` must be finite, got {value}; pass None if unknown")
    return float(value)


def max_abs(M: Matrix) -> int:
    """Return the largest absolute value of a matrix as a Python int, without its fraction."""
    return max(-int(M.min()), int(M.max()))  # not np.abs: it leaves -2^63 negative
