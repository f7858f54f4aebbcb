"""Closed sets that are not convex: few nonzero entries, two values, whole numbers, permutations."""

from dataclasses import dataclass
from math import prod

import numpy as np

from trisplit.arrays import Array, Shape, device, namespace, positive_part
from trisplit.arrays.batched import inner, norm, total
from trisplit.errors import InputError
from trisplit.terms.base import ClosedSet
from trisplit.terms.blocks import Entries, Lines, SquareMatrices, mapped, nan_kept, on_the_host, summed
from trisplit.terms.checks import axis_or_none, fit, like, parameter, positive, whole
from trisplit.terms.nonconvex.shrinkage import largest_entries
from trisplit.terms.numbers import row_norms

__all__ = ["Binary", "IntegerLattice", "L0Ball", "L20Ball", "Permutations", "SparseSimplex"]


@dataclass(frozen=True, eq=False)
class Binary(Entries, ClosedSet):
    """Indicator of {x : each x_i is lo or hi}.

    prox(x) = hi where x > (lo + hi) / 2, else lo.

    Parameters
    ----------
    lo, hi : float or array
        Finite, lo < hi; arrays must broadcast to the shape of x.

    References
    ----------
    Diamond, Takapoui, Boyd (2018), A general system for heuristic minimization of convex functions over non-convex
    sets.

    Examples
    --------
    >>> import numpy as np
    >>> Binary().prox(np.array([-2.0, 0.7]), gamma=1.0)
    array([0., 1.])
    """

    lo: float | Array = 0.0
    hi: float | Array = 1.0
    broadcast = ("lo", "hi")

    def __post_init__(self) -> None:
        object.__setattr__(self, "lo", parameter(self.lo, "lo"))
        object.__setattr__(self, "hi", parameter(self.hi, "hi"))
        try:
            wrong = np.any(np.asarray(self.lo) >= np.asarray(self.hi))
        except ValueError:
            shapes = f"{np.shape(self.lo)} and {np.shape(self.hi)}"
            raise InputError(f"`lo` and `hi` have shapes {shapes}; make them equal, or give a scalar") from None
        if wrong:
            raise InputError("`lo` must be below `hi` in each entry; for one value use `Box(value, value)`")

    def _values(self, x: Array) -> tuple[Array, Array]:
        zero = namespace(x).zeros_like(x)
        return like(self.lo, x, "lo") + zero, like(self.hi, x, "hi") + zero

    def project(self, x: Array) -> Array:
        """Return the nearer of the two values; NaN stays."""
        xp, (lo, hi) = namespace(x), self._values(x)
        return xp.where(xp.isnan(x), x, xp.where(x > lo / 2 + hi / 2, hi, lo))

    def support(self, u: Array) -> float:
        """Return sum_i max(lo_i u_i, hi_i u_i)."""
        lo, hi = self._values(u)
        return total(namespace(u).maximum(lo * u, hi * u), self.batch_ndim)

    def lmo(self, u: Array) -> Array:
        """Return lo where u > 0, else hi."""
        lo, hi = self._values(u)
        return namespace(u).where(u > 0, lo, hi)

    def diameter(self, shape: Shape) -> float:
        """Return ||hi - lo||."""
        return norm(fit(self.hi, shape, "hi") - fit(self.lo, shape, "lo"), self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["Binary", Shape]]:
        return [(cls(), (5,)), (cls(-1.0, np.array([0.5, 1.0, 2.0])), (2, 3))]


@dataclass(frozen=True)
class IntegerLattice(Entries, ClosedSet):
    """Indicator of {x : each x_i is a whole multiple of `spacing`}.

    prox(x) = spacing * round(x / spacing).

    Parameters
    ----------
    spacing : float
        Positive.

    References
    ----------
    Conway, Sloane (1982), Fast quantizing and decoding algorithms for lattice quantizers and codes.

    Examples
    --------
    >>> import numpy as np
    >>> IntegerLattice(0.5).prox(np.array([-2.1, 0.7]), gamma=1.0)
    array([-2. ,  0.5])
    """

    spacing: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "spacing", positive(self.spacing, "spacing"))

    def project(self, x: Array) -> Array:
        """Return the nearest multiple; a number without digits behind the point stays."""
        xp = namespace(x)
        eps = float(xp.finfo(x.dtype).eps)
        coarse = xp.abs(x) > self.spacing / eps  # neighbouring numbers are further apart than the points
        safe = xp.where(coarse, xp.zeros_like(x), x)
        return xp.where(coarse, x, self.spacing * xp.round(safe / self.spacing))

    @classmethod
    def examples(cls) -> list[tuple["IntegerLattice", Shape]]:
        return [(cls(), (5,)), (cls(0.75), (2, 3))]


@dataclass(frozen=True)
class L0Ball(Lines, ClosedSet):
    """Indicator of the vectors with at most k nonzero entries, ||line||_0 <= k.

    prox(x) keeps the k entries of largest absolute value of each line; of equal ones the first.

    Parameters
    ----------
    k : int
        The number of nonzero entries, at least 1.
    axis : int or None
        The lines along that axis; None takes all of x as one vector.

    References
    ----------
    Blumensath, Davies (2009), Iterative hard thresholding for compressed sensing.

    Examples
    --------
    >>> import numpy as np
    >>> L0Ball(1).prox(np.array([1.0, -3.0, 2.0]), gamma=1.0)
    array([ 0., -3.,  0.])
    """

    k: int = 1
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, "k"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @mapped
    @nan_kept
    def project(self, v: Array) -> Array:
        """Return the k largest entries of each line, 0 elsewhere."""
        xp = namespace(v)
        return xp.where(largest_entries(xp.abs(v), self.k), v, xp.zeros_like(v))

    @classmethod
    def examples(cls) -> list[tuple["L0Ball", Shape]]:
        return [(cls(2), (5,)), (cls(1, axis=0), (3, 2))]


@dataclass(frozen=True)
class L20Ball(Lines, ClosedSet):
    """Indicator of the arrays with at most k lines that are not 0, #{lines != 0} <= k.

    prox(x) keeps the k lines of largest Euclidean norm; of equal ones the first. For a matrix, axis=0 counts columns,
    axis=1 rows.

    Parameters
    ----------
    k : int
        The number of nonzero lines, at least 1.
    axis : int
        The lines along that axis.

    References
    ----------
    Baraniuk, Cevher, Duarte, Hegde (2010), Model-based compressive sensing.

    Examples
    --------
    >>> import numpy as np
    >>> L20Ball(1, axis=1).prox(np.array([[1.0, -3.0], [2.0, 2.0]]), gamma=1.0)
    array([[ 1., -3.],
           [ 0.,  0.]])
    """

    k: int = 1
    axis: int = 0  # pyright: ignore[reportIncompatibleVariableOverride]
    broadcast = ()
    cost = "n"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, "k"))
        if axis_or_none(self.axis) is None:
            raise InputError("`axis` must be an integer, got None; with one line there is nothing to count")

    def project(self, x: Array) -> Array:
        """Return the k longest lines, 0 elsewhere."""
        xp, b = namespace(x), self.batch_ndim
        v = self.blocks(x)
        norms = row_norms(v)
        flat = xp.reshape(norms, (*x.shape[:b], prod(norms.shape[b:])))
        kept = xp.reshape(largest_entries(flat, self.k), norms.shape) | (norms != norms)  # NaN stays visible
        return self.unblock(xp.where(kept, v, xp.zeros_like(v)), x)

    @classmethod
    def examples(cls) -> list[tuple["L20Ball", Shape]]:
        return [(cls(2, axis=0), (2, 4)), (cls(1, axis=1), (3, 2))]


@dataclass(frozen=True)
class SparseSimplex(Lines, ClosedSet):
    """Indicator of the points of the simplex with at most k nonzero entries, {x >= 0 : sum = total, ||x||_0 <= k}.

    prox(x) projects the k largest entries of each line onto the simplex and sets the others to 0.

    Parameters
    ----------
    k : int
        The number of nonzero entries, at least 1.
    total : float
        The sum, positive.
    axis : int or None
        The lines along that axis; None takes all of x as one vector.

    References
    ----------
    Kyrillidis, Becker, Cevher, Koch (2013), Sparse projections onto the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> SparseSimplex(2).prox(np.array([0.5, 0.4, 0.7]), gamma=1.0)
    array([0.4, 0. , 0.6])
    """

    k: int = 1
    total: float = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, "k"))
        object.__setattr__(self, "total", positive(self.total, "total"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @mapped
    def project(self, v: Array) -> Array:
        """Return the projection of the k largest entries of each line."""
        xp, k = namespace(v), min(self.k, v.shape[-1])
        v = v - xp.max(v, axis=-1, keepdims=True)  # else `total` drowns in the rounding of a large sum
        falling = xp.flip(xp.sort(v, axis=-1), axis=-1)[..., :k]
        count = xp.arange(1, k + 1, dtype=v.dtype, device=device(v))
        theta = xp.max((xp.cumulative_sum(falling, axis=-1) - self.total) / count, axis=-1, keepdims=True)
        return xp.where(largest_entries(v, k), positive_part(v - theta), xp.zeros_like(v))

    @summed
    def support(self, u: Array) -> Array:
        """Return total times the largest entry of each line."""
        return self.total * namespace(u).max(u, axis=-1)

    @mapped
    def lmo(self, u: Array) -> Array:
        """Return `total` at the first smallest entry of each line."""
        xp = namespace(u)
        place = xp.arange(u.shape[-1], device=device(u)) == xp.expand_dims(xp.argmin(u, axis=-1), axis=-1)
        return xp.where(place, self.total + xp.zeros_like(u), xp.zeros_like(u))

    def diameter(self, shape: Shape) -> float:
        """Return sqrt(2) total for each line of two or more entries."""
        return 0.0 if self.length(shape) == 1 else self.total * (2.0 * self.count(shape)) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["SparseSimplex", Shape]]:
        return [(cls(2), (5,)), (cls(2, 1.5, axis=0), (3, 2))]


@dataclass(frozen=True)
class Permutations(SquareMatrices, ClosedSet):
    """Indicator of the permutation matrices: entries 0 or 1, with a single 1 in each row and column.

    prox(X) is the permutation P of largest <X, P>: a linear assignment problem.

    References
    ----------
    Kuhn (1955), The Hungarian method for the assignment problem.

    Examples
    --------
    >>> import numpy as np
    >>> Permutations().prox(np.array([[0.9, 0.8], [0.8, 0.1]]), gamma=1.0)
    array([[0., 1.],
           [1., 0.]])
    """

    broadcast = ()
    cost = "n^1.5"
    host = "assignment problems are solved by a sequential algorithm"

    @mapped
    def project(self, v: Array) -> Array:
        """Return the permutation that minimises <-X, P>."""
        from trisplit.terms.joint import assignment  # which knows terms of its own

        def nearest(X: np.ndarray) -> np.ndarray:
            finite = np.isfinite(X).all(axis=(-2, -1), keepdims=True)  # else it would be refused; here it stays visible
            return np.where(finite, assignment(-np.where(finite, X, 0.0)), np.nan)

        return on_the_host(self, nearest, v)

    @mapped
    def lmo(self, u: Array) -> Array:
        """Return the permutation that minimises <U, P>."""
        from trisplit.terms.joint import assignment

        return on_the_host(self, assignment, u)

    def support(self, u: Array) -> float:
        """Return the largest <U, P>."""
        return inner(u, self.project(u), self.batch_ndim)

    def diameter(self, shape: Shape) -> float:
        """Return sqrt(2 n): two permutations may have no entry in common."""
        n, _ = self.sides(shape)
        return 0.0 if n == 1 else (2.0 * n) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["Permutations", Shape]]:
        return [(cls(), (4, 4)), (cls(), (2, 2))]
