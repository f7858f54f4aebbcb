"""Matrices with given row sums, column sums, or both: the affine hull of a transport polytope."""

from dataclasses import dataclass
from math import prod

import numpy as np

from trisplit.arrays import Array, Shape, constant_like, eps, namespace
from trisplit.arrays.batched import total
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet
from trisplit.terms.blocks import Matrices, mapped
from trisplit.terms.checks import parameter
from trisplit.terms.numbers import safe_norm

__all__ = ["ColumnSums", "RowAndColumnSums", "RowSums", "UnitSums"]

UNITS = 100  # of rounding, by which a vector may miss the space in which a support function is finite


def sums_of(value: object, name: str) -> float | Array:
    """Return given sums: a number for all rows or columns, or a vector."""
    given = parameter(value, name)
    if np.ndim(given) > 1:
        raise InputError(f"`{name}` must be a number or a vector, got shape {np.shape(given)}; flatten it")
    return given


def sums_like(value: float | Array, count: int, x: Array, name: str) -> float | Array:
    """Return given sums in the library of `x`, where `count` of them are needed."""
    if not isinstance(value, np.ndarray):
        return value
    if value.shape != (count,):
        shape = tuple(x.shape[-2:])
        raise InputError(f"`{name}` has {value.size} entries but x has shape {shape}; give {count}, or a scalar")
    return constant_like(value, x)


def finite_where_small(miss: Array, u: Array, value: float, batch_ndim: int) -> float:
    """Return `value` where `miss`, a part of `u`, is no more than rounding, else infinity."""
    size = 1.0 + safe_norm(u, batch_ndim)
    small = safe_norm(miss, batch_ndim) <= UNITS * eps(u) * size * max(prod(u.shape[batch_ndim:]), 1) ** 0.5
    if not batch_ndim:
        return value if small else np.inf
    xp = namespace(u)
    return xp.where(small, value, xp.inf * xp.ones_like(value))


@dataclass(frozen=True)
class UnitSums(ConvexSet):
    """Indicator of {X square : X 1 = 1, X' 1 = 1}.

    prox(X) = X - (X 1) 1' / n - 1 (1' X) / n + (1/n + 1' X 1 / n^2) 1 1'   ([YMS21] section 5, main text).

    Examples
    --------
    >>> import numpy as np
    >>> UnitSums().prox(np.zeros((2, 2)), gamma=1.0)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    broadcast = ()

    def project(self, x: Array) -> Array:
        """Return the nearest matrix with unit row and column sums."""
        self._check(x.shape)
        xp, n = namespace(x), x.shape[-1]
        rows = xp.sum(x, axis=-1, keepdims=True) / n
        columns = xp.sum(x, axis=-2, keepdims=True) / n
        return x - rows - columns + (1.0 + xp.sum(rows, axis=-2, keepdims=True)) / n

    def support(self, u: Array) -> float:
        """Return 1' s + 1' t if u = s 1' + 1 t', else infinity."""
        self._check(u.shape)
        return RowAndColumnSums().batched(self.batch_ndim).support(u)

    def _check(self, shape: Shape) -> None:
        own = tuple(shape[self.batch_ndim :])
        if len(own) < 2 or own[-1] != own[-2]:
            raise InputError(f"UnitSums needs a square matrix, got shape {own}; pass x0 of shape (n, n)")

    @classmethod
    def examples(cls) -> list[tuple["UnitSums", Shape]]:
        return [(cls(), (4, 4)), (cls(), (1, 1))]


@dataclass(frozen=True, eq=False)
class RowSums(Matrices, ConvexSet):
    """Indicator of the matrices with given row sums, {X : X 1 = sums}.

    prox(X) = X + (sums - X 1) 1' / n, for n columns.

    Parameters
    ----------
    sums : float or array of shape (rows,)

    References
    ----------
    Bauschke, Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, section 29.2.

    Examples
    --------
    >>> import numpy as np
    >>> RowSums([1.0, 2.0]).prox(np.zeros((2, 2)), gamma=1.0)
    array([[0.5, 0.5],
           [1. , 1. ]])
    """

    sums: float | Array = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", sums_of(self.sums, "sums"))

    @mapped
    def project(self, x: Array) -> Array:
        """Return the matrix with the same number added to all entries of a row."""
        return x + rows_missing(x, self.sums, "sums")

    def support(self, u: Array) -> float:
        """Return <t, sums> if u = t 1', else infinity."""
        self.sides(u.shape)
        t = namespace(u).mean(u, axis=-1)
        value = total(t * sums_like(self.sums, u.shape[-2], u, "sums"), self.batch_ndim)
        return finite_where_small(u - t[..., None], u, value, self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["RowSums", Shape]]:
        return [(cls(), (3, 4)), (cls(np.array([1.0, -2.0, 0.5])), (3, 2))]


@dataclass(frozen=True, eq=False)
class ColumnSums(Matrices, ConvexSet):
    """Indicator of the matrices with given column sums, {X : X' 1 = sums}.

    prox(X) = X + 1 (sums - X' 1)' / m, for m rows.

    Parameters
    ----------
    sums : float or array of shape (columns,)

    References
    ----------
    Bauschke, Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, section 29.2.

    Examples
    --------
    >>> import numpy as np
    >>> ColumnSums([1.0, 2.0]).prox(np.zeros((2, 2)), gamma=1.0)
    array([[0.5, 1. ],
           [0.5, 1. ]])
    """

    sums: float | Array = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", sums_of(self.sums, "sums"))

    @mapped
    def project(self, x: Array) -> Array:
        """Return the matrix with the same number added to all entries of a column."""
        return x + columns_missing(x, self.sums, "sums")

    def support(self, u: Array) -> float:
        """Return <t, sums> if u = 1 t', else infinity."""
        self.sides(u.shape)
        t = namespace(u).mean(u, axis=-2)
        value = total(t * sums_like(self.sums, u.shape[-1], u, "sums"), self.batch_ndim)
        return finite_where_small(u - t[..., None, :], u, value, self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["ColumnSums", Shape]]:
        return [(cls(), (3, 4)), (cls(np.array([1.0, -2.0])), (3, 2))]


@dataclass(frozen=True, eq=False)
class RowAndColumnSums(Matrices, ConvexSet):
    """Indicator of the matrices with given row and column sums, {X : X 1 = rows, X' 1 = columns}.

    prox(X) = X + a 1' / n + 1 b' / m - (1' a) 1 1' / (m n) with a = rows - X 1, b = columns - X' 1, for m x n matrices.

    Parameters
    ----------
    rows : float or array of shape (m,)
    columns : float or array of shape (n,)
        Both must add up to the same number.

    References
    ----------
    Yurtsever, Mangalick, Sra (2021), Three operator splitting with a nonconvex loss function, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> RowAndColumnSums([1.0, 3.0], [2.0, 2.0]).prox(np.zeros((2, 2)), gamma=1.0)
    array([[0.5, 0.5],
           [1.5, 1.5]])
    """

    rows: float | Array = 1.0
    columns: float | Array = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", sums_of(self.rows, "rows"))
        object.__setattr__(self, "columns", sums_of(self.columns, "columns"))
        if isinstance(self.rows, np.ndarray) and isinstance(self.columns, np.ndarray):
            self.sides(np.shape(self.rows) + np.shape(self.columns))

    def sides(self, shape: Shape) -> tuple[int, int]:
        """Return the numbers of rows and columns, for which the given sums must agree."""
        m, n = super().sides(shape)
        check_totals(self.rows, self.columns, m, n)
        return m, n

    @mapped
    def project(self, x: Array) -> Array:
        """Return the nearest matrix with these sums."""
        rows, columns = rows_missing(x, self.rows, "rows"), columns_missing(x, self.columns, "columns")
        return x + rows + columns - namespace(x).mean(rows, axis=-2, keepdims=True)

    def support(self, u: Array) -> float:
        """Return <s, rows> + <t, columns> if u = s 1' + 1 t', else infinity."""
        self.sides(u.shape)
        xp, (m, n) = namespace(u), u.shape[-2:]
        s = xp.mean(u, axis=-1)
        t = xp.mean(u - s[..., None], axis=-2)
        rows, columns = sums_like(self.rows, m, u, "rows"), sums_like(self.columns, n, u, "columns")
        value = total(s * rows, self.batch_ndim) + total(t * columns, self.batch_ndim)
        return finite_where_small(u - s[..., None] - t[..., None, :], u, value, self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["RowAndColumnSums", Shape]]:
        return [(cls(), (3, 3)), (cls(np.array([1.0, -2.0, 4.0]), np.array([2.0, 1.0])), (3, 2))]


def check_totals(rows: float | Array, columns: float | Array, m: int, n: int) -> None:
    """Refuse sums of the wrong number, and sums of rows that do not add up to those of columns."""
    for name, value, count in (("rows", rows, m), ("columns", columns, n)):
        if np.size(value) not in (1, count) or np.shape(value) == (1,) != (count,):
            raise InputError(f"`{name}` has {np.size(value)} entries but x has shape {(m, n)}; give {count}")
    one, other = (float(np.sum(np.broadcast_to(value, k))) for value, k in ((rows, m), (columns, n)))
    size = float(np.sum(np.abs(np.broadcast_to(rows, m))) + np.sum(np.abs(np.broadcast_to(columns, n))))
    if abs(one - other) > 1e-10 * size:
        raise InputError(f"`rows` add up to {one:.10g} and `columns` to {other:.10g}; make these equal")


def rows_missing(x: Array, sums: float | Array, name: str) -> Array:
    """Return what each entry of a row lacks, a column."""
    xp = namespace(x)
    given = sums_like(sums, x.shape[-2], x, name)
    return ((given - xp.sum(x, axis=-1)) / x.shape[-1])[..., None]


def columns_missing(x: Array, sums: float | Array, name: str) -> Array:
    """Return what each entry of a column lacks, a row."""
    xp = namespace(x)
    given = sums_like(sums, x.shape[-1], x, name)
    return ((given - xp.sum(x, axis=-2)) / x.shape[-2])[..., None, :]
