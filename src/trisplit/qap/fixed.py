"""Quadratic assignment with some rows fixed: the smaller problem of the others.

With p[j] = l for the fixed pairs (j, l), the cost of the free rows i at the free columns k is again quadratic, with the
submatrices of A and B, and a linear term

    C'[i,k] = C[i,k] + sum over fixed (j, l) of A[i,j] B[k,l] + A[j,i] B[l,k]  +  constant / n',

where the constant is what the fixed rows cost among themselves and n' the number of free rows: every permutation pays
it once, so the smaller problem has the costs of the whole one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trisplit.errors import InputError
from trisplit.qap.instance import Instance, as_array, as_permutation, max_abs
from trisplit.qap.matrices import as_dense, is_sparse
from trisplit.qap.relaxation import Matrices, as_instance

Fixed: TypeAlias = Mapping[int, int] | ArrayLike

_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, eq=False)
class Expansion:
    """The way from permutations of the smaller problem to those of the whole one, and back.

    Attributes
    ----------
    pairs : array of int, shape (m, 2)
        The fixed rows with their columns, sorted by row.
    rows, columns : arrays of int
        The free ones, ascending; row i of the smaller problem is row `rows[i]` of the whole one.

    Examples
    --------
    >>> import trisplit as ts
    >>> smaller, expand = ts.qap.reduced(ts.qap.load("nug12"), None, None, {0: 3})
    >>> smaller.n, expand.rows[0]
    (11, np.int64(1))
    """

    pairs: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    def __call__(self, permutation: ArrayLike) -> NDArray[np.int64]:
        """Return the permutation of the whole problem that a permutation of the free rows stands for."""
        p = np.empty(len(self.pairs) + len(self.rows), dtype=np.int64)
        p[self.pairs[:, 0]] = self.pairs[:, 1]
        p[self.rows] = self.columns[as_permutation(permutation, len(self.rows))]
        return p

    def restrict(self, permutation: ArrayLike, *, name: str = "x0") -> NDArray[np.int64]:
        """Return the permutation of the free rows, or raise an `InputError` if a fixed pair is not kept."""
        p = as_permutation(permutation, len(self.pairs) + len(self.rows), name=name)
        for row, column in self.pairs:
            if p[row] != column:
                raise InputError(
                    f"`{name}` must keep the fixed pairs, it sends row {row} to {p[row]}; set {name}[{row}] = {column}"
                )
        return np.searchsorted(self.columns, p[self.rows])


def reduced(A: Matrices, B: np.ndarray | None, C: np.ndarray | None, fixed: Fixed) -> tuple[Instance, Expansion]:
    """Return the smaller problem that fixed pairs leave, and the map from its permutations to the whole ones.

    The cost of a permutation is the same in both problems: exactly for integer data, unless an entry of the new linear
    term is beyond int64 and is rounded to float64.

    Parameters
    ----------
    A, B, C : as in `solve`
    fixed : mapping {row: column}, or array of int of shape (m, 2), in any order
        Row `fixed[i, 0]` of A goes to row `fixed[i, 1]` of B. If all rows are fixed, the last one stays in the smaller
        problem, where it has only its own column to go to.

    Returns
    -------
    Instance
        With the best-known value and the lower bound of the whole problem, which may be out of reach.
    Expansion

    Examples
    --------
    >>> from trisplit import qap
    >>> nug12 = qap.load("nug12")
    >>> smaller, expand = qap.reduced(nug12, None, None, {3: 0, 0: 7})
    >>> smaller.n, expand(range(10))
    (10, array([ 7,  1,  2,  0,  3,  4,  5,  6,  8,  9, 10, 11]))
    >>> smaller.cost(range(10)) == nug12.cost(expand(range(10)))
    True
    """
    whole = as_instance(A, B, C)
    pairs = as_pairs(fixed, whole.n, name="fixed")[: whole.n - 1]
    everything = np.arange(whole.n)
    expand = Expansion(pairs, np.setdiff1d(everything, pairs[:, 0]), np.setdiff1d(everything, pairs[:, 1]))
    if not len(pairs):
        return whole, expand
    if is_sparse(whole.A) or is_sparse(whole.B):
        whole = replace(whole, A=as_dense(whole.A), B=as_dense(whole.B))
    smaller = Instance(
        whole.name,
        whole.A[np.ix_(expand.rows, expand.rows)],
        whole.B[np.ix_(expand.columns, expand.columns)],
        whole.best_known,
        whole.proven,
        whole.lower_bound,
        C=_linear_term(whole, expand),
    )
    return smaller, expand


def as_pairs(fixed: Fixed, n: int, *, name: str, rows: int | None = None) -> NDArray[np.int64]:
    """Return (row, column) pairs as an (m, 2) array sorted by row, or raise an `InputError` that names the argument.

    No row and no column may occur twice. There are n columns, and n rows unless `rows` says otherwise.

    Examples
    --------
    >>> as_pairs({4: 0, 1: 3}, 5, name="fixed")
    array([[1, 3],
           [4, 0]])
    """
    shape = (n if rows is None else rows, n)
    pairs = in_range(list(fixed.items()) if isinstance(fixed, Mapping) else fixed, shape, name=name)
    for column, label in enumerate(("row", "column")):
        numbers, counts = np.unique(pairs[:, column], return_counts=True)
        if len(pairs) and counts.max() > 1:
            twice = numbers[counts.argmax()]
            raise InputError(f"`{name}` must not repeat, got {label} {twice} more than once; keep one of its pairs")
    return pairs[np.argsort(pairs[:, 0])]


def in_range(value: ArrayLike, shape: tuple[int, int], *, name: str) -> NDArray[np.int64]:
    """Return places in a matrix of that shape as an (m, 2) array, or raise an `InputError` that names the argument."""
    pairs = as_array(value, name)
    if pairs.size == 0 and pairs.shape in ((0,), (0, 2)):
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"`{name}` must have shape (m, 2), got {pairs.shape}; list [row, column] pairs")
    if pairs.dtype.kind not in "iu":
        raise InputError(f"`{name}` must hold integers, got dtype {pairs.dtype}; convert it with `.astype(int)`")
    for numbers, end, label in zip(pairs.T, shape, ("rows", "columns"), strict=True):
        outside = numbers[(numbers < 0) | (numbers >= end)]
        if outside.size:
            raise InputError(
                f"`{name}` must have {label} counted from 0, below {end}, got {outside[0]}; use numbers 0 .. {end - 1}"
            )
    return pairs.astype(np.int64)


def _linear_term(whole: Instance, expand: Expansion) -> np.ndarray:
    """Return C' of the formula above: int64 for integer data where it fits, float64 otherwise."""
    exact = all(M.dtype.kind == "i" for M in (whole.A, whole.B, whole.C) if M is not None)
    kind = (np.int64 if _fits_int64(whole, len(expand.pairs)) else object) if exact else np.float64
    A, B = whole.A.astype(kind), whole.B.astype(kind)
    C = np.zeros_like(A) if whole.C is None else whole.C.astype(kind)
    rows, columns, (fixed_rows, fixed_columns) = expand.rows, expand.columns, expand.pairs.T
    with np.errstate(over="ignore", invalid="ignore"):
        linear = (
            A[np.ix_(rows, fixed_rows)] @ B[np.ix_(columns, fixed_columns)].T
            + A[np.ix_(fixed_rows, rows)].T @ B[np.ix_(fixed_columns, columns)]
            + C[np.ix_(rows, columns)]
        )
        constant = np.sum(A[np.ix_(fixed_rows, fixed_rows)] * B[np.ix_(fixed_columns, fixed_columns)])
        constant = constant + np.sum(C[fixed_rows, fixed_columns])
    # Spread over all rows: in one row alone it would bend the path of the relaxation, which sees rows and columns.
    share, rest = divmod(constant, len(rows)) if exact else (constant / len(rows), 0)
    linear = linear + share
    linear[: int(rest)] += 1
    if kind is object and not all(abs(entry) <= _INT64.max for entry in linear.flat):
        kind = np.float64
    linear = linear.astype(np.float64 if kind is np.float64 else np.int64)
    if not np.isfinite(linear).all():
        raise InputError("`A` and `B` are too large, their products overflow in float64; scale them down")
    return linear


def _fits_int64(whole: Instance, m: int) -> bool:
    """Whether no partial sum of the linear term or the constant can leave int64."""
    product = max_abs(whole.A) * max_abs(whole.B)
    linear = 0 if whole.C is None else max_abs(whole.C)
    return (m + 2) ** 2 * product + (m + 2) * linear + 1 <= _INT64.max
