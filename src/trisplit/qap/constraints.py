"""Quadratic assignment with fewer rows than columns, with fixed and with forbidden pairs, as a plain square problem.

    minimise over injective p   sum_ij A[i,j] B[p[i],p[j]]  +  sum_i C[i,p[i]],    A m x m, B n x n, m <= n

Rows of zeros fill A and C up to n: they take the columns that are left, at no cost. Fixed pairs leave the smaller
problem of `reduced`. In that one a penalty keeps permutations off the forbidden pairs, see `forbidden.py`; there it can
be smaller than before. The smaller the penalty, the better the relaxation and the search: it is as small as is exact.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trisplit.errors import InputError
from trisplit.qap import time_model
from trisplit.qap.fixed import Expansion, Fixed, as_pairs, reduced
from trisplit.qap.forbidden import as_mask, hall_violator, matched, nearest_allowed, penalised
from trisplit.qap.instance import Instance, as_array, as_matrix, as_permutation
from trisplit.qap.matrices import Matrix, is_sparse
from trisplit.qap.relaxation import Matrices, as_instance, as_point
from trisplit.qap.rounding import swap_descent

NAMED = 8  # rows in an error message


@dataclass(frozen=True, eq=False)
class Way:
    """The way from permutations of the inner problem to those of the user's, and back.

    Attributes
    ----------
    whole : Instance
        The user's problem, filled up with rows of zeros, without any penalty.
    rows : int
        How many rows the user's A has.
    expand : Expansion
        From the free rows to all rows.
    forbidden : array of bool, or None
        True at forbidden pairs of the inner problem; None if there are none.
    known : array of int, or None
        With forbidden pairs, an allowed permutation of the inner problem: all that cost no more are allowed, too. So
        the best of what a search has found and this one is allowed.

    Examples
    --------
    >>> import trisplit as ts
    >>> inner, way = ts.qap.constrained(ts.qap.load("nug12"), fixed={0: 3})
    >>> inner.n, way.rows
    (11, 12)
    """

    whole: Instance
    rows: int
    expand: Expansion
    forbidden: NDArray[np.bool_] | None = None
    known: NDArray[np.int64] | None = None

    def __call__(self, permutation: ArrayLike) -> NDArray[np.int64]:
        """Return the user's permutation that one of the inner problem stands for."""
        return self.expand(permutation)[: self.rows]

    def cost(self, permutation: ArrayLike) -> int | float:
        """Return the cost of a permutation of the user's, exactly for integer data."""
        return self.whole.cost(self._filled(permutation, "permutation"))

    def restrict(self, x0: ArrayLike, *, name: str = "x0") -> np.ndarray:
        """Return a permutation of the user's as one of the inner problem, or a matrix as one of its points.

        Rows that fill up A take the columns that are left in ascending order, or equal shares of what is left of them
        in a matrix. A permutation must keep all constraints; of a matrix, only the part of the free rows counts.
        """
        x0 = as_array(x0, name)
        if x0.ndim == 2:
            X = as_point(x0, self.whole.n, rows=self.rows)
            dummies = self.whole.n - self.rows
            X = np.vstack([X, np.tile((1.0 - X.sum(axis=0)) / max(dummies, 1), (dummies, 1))])
            return X[np.ix_(self.expand.rows, self.expand.columns)]
        p = self.expand.restrict(self._filled(x0, name), name=name)
        if not self.allows(p):
            assert self.forbidden is not None
            row = np.flatnonzero(self.forbidden[np.arange(len(p)), p])[0]
            raise InputError(
                f"`{name}` must not hold forbidden pairs, it sends row {self.expand.rows[row]} to "
                f"{self.expand.columns[p[row]]}; choose another column for this row, or leave `{name}` out"
            )
        return p

    def allows(self, permutation: ArrayLike) -> bool:
        """Return whether a permutation of the inner problem holds no forbidden pair."""
        p = as_permutation(permutation, len(self.expand.rows))
        return self.forbidden is None or not self.forbidden[np.arange(len(p)), p].any()

    def repaired(self, permutation: ArrayLike) -> NDArray[np.int64]:
        """Return an allowed permutation of the inner problem that differs from the given one in the fewest rows.

        It maximises the number of equal entries: an assignment problem.
        """
        p = as_permutation(permutation, len(self.expand.rows))
        return p if self.forbidden is None else nearest_allowed(p, self.forbidden)

    def _filled(self, permutation: ArrayLike, name: str) -> NDArray[np.int64]:
        p = as_permutation(permutation, self.whole.n, name=name, rows=self.rows)
        return np.concatenate([p, np.setdiff1d(np.arange(self.whole.n), p)])


def constrained(
    A: Matrices,
    B: np.ndarray | None = None,
    C: np.ndarray | None = None,
    *,
    fixed: Fixed | None = None,
    forbidden: ArrayLike | None = None,
    deadline: float | None = None,
) -> tuple[Instance, Way]:
    """Return a square problem without constraints that stands for one with them, and the way back.

    An optimal permutation of the one is an optimal permutation of the other. Costs of allowed permutations are the
    same in both, exactly for integer data, unless an entry of the new linear term is beyond int64 and rounded to
    float64. All others cost more than one that is allowed, `Way.known`.

    Parameters
    ----------
    A : array of shape (m, m), or an `Instance`
    B : array of shape (n, n), with n >= m
        If there are more columns than rows, n - m columns are not used.
    C : array of shape (m, n), optional
    fixed : mapping {row: column}, or array of int of shape (k, 2), optional
        Pairs that must be assigned, as in `reduced`.
    forbidden : array_like of int of shape (k, 2), or of bool of shape (m, n), optional
        Pairs (row, column) that may not be assigned, or a mask that is true at them. The kind of the numbers says which
        it is: booleans are a mask.
    deadline : float, optional
        A `time.perf_counter()` value after which not to look for a good `Way.known` and a small penalty.

    Returns
    -------
    Instance
        Without constraints it is the problem itself. With fixed pairs it has the best-known value of the whole, as in
        `reduced`; with forbidden ones this is only a lower bound, and only if it is proven.
    Way

    Examples
    --------
    >>> from trisplit import qap
    >>> nug12 = qap.load("nug12")
    >>> inner, way = constrained(nug12.A[:9, :9], nug12.B, fixed={0: 4}, forbidden=[(1, 0), (2, 0)])
    >>> p = way(min(qap.swap_descent(inner, range(11)), way.known, key=inner.cost))
    >>> inner.n, len(p), int(p[0]), bool(p[1] == 0), inner.cost(way.restrict(p)) == way.cost(p)
    (11, 9, 4, False, True)
    """
    whole, rows = _squared(A, B, C)
    pairs = as_pairs(() if fixed is None else fixed, whole.n, name="fixed", rows=rows)
    mask = np.zeros((whole.n, whole.n), dtype=bool)
    if forbidden is not None:
        mask[:rows] = as_mask(forbidden, (rows, whole.n))
    for row, column in pairs[mask[pairs[:, 0], pairs[:, 1]]]:
        raise InputError(f"`fixed` and `forbidden` both hold ({row}, {column}); take this pair out of one of them")
    inner, expand = reduced(whole, None, None, pairs)
    mask = mask[np.ix_(expand.rows, expand.columns)]
    if not mask.any():
        return inner, Way(whole, rows, expand)
    allowed = _permutation(~mask, expand)
    # No swap leads from an allowed permutation to a forbidden one where all of these cost more.
    strict = penalised(inner, mask)
    known = swap_descent(strict, allowed, deadline=deadline)
    small = time_model.fits(time_model.PENALTY, inner.n, deadline)
    return penalised(inner, mask, known) if small else strict, Way(whole, rows, expand, mask, known)


def _squared(A: Matrices, B: np.ndarray | None, C: np.ndarray | None) -> tuple[Instance, int]:
    """Return the problem with as many rows as columns, and how many rows it came with."""
    if isinstance(A, Instance) or B is None:
        whole = as_instance(A, B, C)
        return whole, whole.n
    A, B = as_matrix(A, "A"), as_matrix(B, "B")
    m, n = A.shape[0], B.shape[0]
    if m > n:
        raise InputError(
            f"`A` must not have more rows than `B`, got {m} > {n}; swap A and B, "
            "and pass the transpose of C and pairs in the order (row of B, row of A)"
        )
    if m == n:
        return as_instance(A, B, C), n
    if C is not None:
        C = as_array(C, "C")
        if C.shape != (m, n):
            raise InputError(f"`C` must have shape ({m}, {n}), got {C.shape}; give a cost for every row of A and of B")
        C = _filled(C, n)
    return as_instance(_filled(A, n), B, C), m


def _filled(M: Matrix, n: int) -> Matrix:
    """Return M in the upper left corner of a matrix of zeros of shape (n, n)."""
    if is_sparse(M):
        M = M.copy()
        M.resize((n, n))
        return M
    out = np.zeros((n, n), dtype=M.dtype)
    out[: M.shape[0], : M.shape[1]] = M
    return out


def _permutation(allowed: NDArray[np.bool_], expand: Expansion) -> NDArray[np.int64]:
    """Return an allowed permutation, or raise an `InputError` that names rows with too few columns."""
    column_of = matched(allowed)
    if (column_of >= 0).all():
        return column_of
    few_rows, few_columns = hall_violator(allowed, column_of)
    rows, columns = expand.rows[few_rows], expand.columns[few_columns]
    left = "next to `fixed` " if len(expand.pairs) else ""
    many, few = (_listed(numbers, label) for numbers, label in ((rows, "row"), (columns, "column")))
    raise InputError(f"`forbidden` {left}leaves no permutation: {many} can go to {few} only; allow more pairs there")


def _listed(numbers: NDArray[np.int64], label: str) -> str:
    shown = ", ".join(map(str, numbers[:NAMED].tolist())) + (", ..." if len(numbers) > NAMED else "")
    return f"{len(numbers)} {label}{'' if len(numbers) == 1 else 's'} ({shown})" if len(numbers) else f"no {label}"
