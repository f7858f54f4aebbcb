"""Sets with flat sides: hyperplanes, half-spaces, slabs, polyhedra, subspaces and graphs of linear maps."""

from dataclasses import dataclass, field
from math import inf, prod

import numpy as np

from trisplit.arrays import Array, Shape, constant_like, namespace
from trisplit.arrays.batched import total
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet
from trisplit.terms.blocks import Lines, mapped
from trisplit.terms.checks import axis_or_none, parameter
from trisplit.terms.numbers import safe_norm
from trisplit.terms.sets.sums import finite_where_small

__all__ = ["GraphOfLinearMap", "HalfSpace", "Hyperplane", "Slab", "Subspace"]


class Layer(Lines, ConvexSet):
    """{x : lo <= <normal, x> <= hi}: what a hyperplane, a half-space and a slab share."""

    normal: Array
    _unit: Array  # the normal at length 1

    def bounds(self) -> tuple[float, float]:
        """Return lo and hi."""
        raise NotImplementedError(f"{type(self).__name__} must define `bounds`")

    def set_up(self, axis: object, **numbers: object) -> None:
        """Check the normal and what else there is."""
        normal = np.ravel(parameter(self.normal, "normal"))
        size = safe_norm(normal)
        if size == 0:
            raise InputError("`normal` is zero; give a vector with an entry that is not")
        given = {name: parameter(value, name, infinite=name in ("lo", "hi")) for name, value in numbers.items()}
        for name, value in given.items():
            if np.ndim(value):
                raise InputError(f"`{name}` must be one number, got shape {np.shape(value)}; give a float")
        given |= {"normal": normal, "_unit": normal / size, "_size": size, "axis": axis_or_none(axis)}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def length(self, shape: Shape) -> int:
        """Return the length of the vectors, which must be that of the normal."""
        n = super().length(shape)
        if self.normal.size != n:
            raise InputError(f"`normal` has {self.normal.size} entries but the vectors have {n}; make them equal")
        return n

    @mapped
    def project(self, v: Array) -> Array:
        """Return each vector, moved along the normal."""
        xp, unit = namespace(v), constant_like(self._unit, v)
        lo, hi = (bound / self._size for bound in self.bounds())  # pyright: ignore[reportAttributeAccessIssue]
        level = xp.sum(v * unit, axis=-1, keepdims=True)
        return v - (level - xp.clip(level, lo if lo > -inf else None, hi if hi < inf else None)) * unit

    def support(self, u: Array) -> float:
        """Return the largest t <normal, x> if u = t normal, else infinity."""
        v = self.blocks(u)
        xp, unit = namespace(v), constant_like(self._unit, v)
        lo, hi = (bound / self._size for bound in self.bounds())  # pyright: ignore[reportAttributeAccessIssue]
        t = xp.sum(v * unit, axis=-1, keepdims=True)
        # Along an unbounded direction no step is allowed: it counts as a part that does not fit.
        allowed = xp.clip(t, 0.0 if lo == -inf else None, 0.0 if hi == inf else None)
        each = xp.where(allowed > 0, hi if hi < inf else 0.0, xp.where(allowed < 0, lo if lo > -inf else 0.0, 0 * t))
        value = total(allowed * each, self.batch_ndim)
        return finite_where_small(self.unblock(v - allowed * unit, u), u, value, self.batch_ndim)


@dataclass(frozen=True, eq=False)
class Hyperplane(Layer):
    """Indicator of the hyperplane {x : <normal, x> = level}.

    prox(x) = x - normal (<normal, x> - level) / ||normal||^2.

    Parameters
    ----------
    normal : array
        Not zero; with as many entries as x, or as its vectors along `axis`.
    level : float
    axis : int, optional
        The axis along which vectors lie; None takes all of x as one vector.

    References
    ----------
    Bauschke, Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, example 29.18.

    Examples
    --------
    >>> import numpy as np
    >>> Hyperplane([0.0, 2.0], 1.0).prox(np.array([2.0, 1.0]), gamma=1.0)
    array([2. , 0.5])
    """

    normal: Array
    level: float = 0.0
    axis: int | None = None
    broadcast = ()
    _unit: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.set_up(self.axis, level=self.level)

    def bounds(self) -> tuple[float, float]:
        """Return the level twice."""
        return self.level, self.level

    @classmethod
    def examples(cls) -> list[tuple["Hyperplane", Shape]]:
        return [(cls(np.array([1.0, -2.0, 0.5]), 1.5), (3,)), (cls(np.array([1.0, 3.0]), axis=0), (2, 3))]


@dataclass(frozen=True, eq=False)
class HalfSpace(Layer):
    """Indicator of the half-space {x : <normal, x> <= level}.

    prox(x) = x - normal max(<normal, x> - level, 0) / ||normal||^2.

    Parameters
    ----------
    normal : array
        Not zero; with as many entries as x, or as its vectors along `axis`.
    level : float
    axis : int, optional
        The axis along which vectors lie; None takes all of x as one vector.

    References
    ----------
    Bauschke, Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, example 29.20.

    Examples
    --------
    >>> import numpy as np
    >>> HalfSpace([0.0, 2.0], 1.0).prox(np.array([2.0, 1.0]), gamma=1.0)
    array([2. , 0.5])
    """

    normal: Array
    level: float = 0.0
    axis: int | None = None
    broadcast = ()
    _unit: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.set_up(self.axis, level=self.level)

    def bounds(self) -> tuple[float, float]:
        """Return minus infinity and the level."""
        return -inf, self.level

    @classmethod
    def examples(cls) -> list[tuple["HalfSpace", Shape]]:
        return [(cls(np.array([1.0, -2.0, 0.5]), 1.5), (3,)), (cls(np.array([1.0, 3.0]), axis=0), (2, 3))]


@dataclass(frozen=True, eq=False)
class Slab(Layer):
    """Indicator of the slab {x : lo <= <normal, x> <= hi}.

    prox(x) = x - normal (s - min(max(s, lo), hi)) / ||normal||^2 with s = <normal, x>.

    Parameters
    ----------
    normal : array
        Not zero; with as many entries as x, or as its vectors along `axis`.
    lo, hi : float
        The bounds, of which one may be infinite.
    axis : int, optional
        The axis along which vectors lie; None takes all of x as one vector.

    References
    ----------
    Bauschke, Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, example 29.21.

    Examples
    --------
    >>> import numpy as np
    >>> Slab([0.0, 2.0], 0.0, 1.0).prox(np.array([2.0, 1.0]), gamma=1.0)
    array([2. , 0.5])
    """

    normal: Array
    lo: float = 0.0
    hi: float = 1.0
    axis: int | None = None
    broadcast = ()
    _unit: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.set_up(self.axis, lo=self.lo, hi=self.hi)
        if self.lo > self.hi or self.lo == inf or self.hi == -inf:
            raise InputError(f"`lo` = {self.lo} and `hi` = {self.hi} leave nothing; give lo <= hi, not both infinite")

    def bounds(self) -> tuple[float, float]:
        """Return lo and hi."""
        return self.lo, self.hi

    @classmethod
    def examples(cls) -> list[tuple["Slab", Shape]]:
        return [
            (cls(np.array([1.0, -2.0, 0.5]), -0.5, 1.5), (3,)),
            (cls(np.array([1.0, 3.0]), 0.5, inf, axis=0), (2, 3)),
        ]


@dataclass(frozen=True, eq=False)
class Subspace(ConvexSet):
    """Indicator of the subspace {basis c : c any vector}, `x` flattened.

    prox(x) = Q Q' x, with the columns of Q an orthonormal basis.

    Parameters
    ----------
    basis : array of shape (n, k)
        Its columns span the subspace; they may depend on each other.

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> Subspace([[1.0], [1.0]]).prox(np.array([2.0, 0.0]), gamma=1.0)
    array([1., 1.])
    """

    basis: Array
    broadcast = ()
    _rows: Array = field(init=False, repr=False)  # Q'

    def __post_init__(self) -> None:
        basis = np.asarray(parameter(self.basis, "basis"))
        if basis.ndim != 2:
            raise InputError(f"`basis` must be a matrix, got shape {basis.shape}; give the vectors as columns")
        size = np.max(np.abs(basis), axis=0, initial=0.0)
        left, sizes, _ = np.linalg.svd(basis / np.where(size > 0, size, 1.0), full_matrices=False)
        rank = int(np.sum(sizes > sizes.max(initial=0.0) * max(basis.shape) * np.finfo(float).eps))
        object.__setattr__(self, "basis", basis)
        object.__setattr__(self, "_rows", np.ascontiguousarray(left[:, :rank].T))

    def project(self, x: Array) -> Array:
        """Return the nearest point of the subspace."""
        return onto_span(x, self._rows, "basis", self.batch_ndim)

    def support(self, u: Array) -> float:
        """Return 0 if u is orthogonal to the subspace, else infinity."""
        own = self.project(u)
        return finite_where_small(own, u, 0.0 * total(own, self.batch_ndim), self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["Subspace", Shape]]:
        basis = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [-1.0, 0.5, -0.5], [2.0, 0.0, 2.0]])
        return [(cls(basis), (4,)), (cls(basis[:, :1]), (2, 2))]


@dataclass(frozen=True, eq=False)
class GraphOfLinearMap(ConvexSet):
    """Indicator of the graph of a linear map, {(x, y) : y = A x}: the first n entries are x and the last m are y.

    prox(x, y) = (z, A z) with z = (I + A' A)^-1 (x + A' y).

    Parameters
    ----------
    A : array of shape (m, n)

    References
    ----------
    Parikh, Boyd (2014), Block splitting for distributed optimization.

    Examples
    --------
    >>> import numpy as np
    >>> GraphOfLinearMap([[2.0]]).prox(np.array([0.0, 5.0]), gamma=1.0)
    array([2., 4.])
    """

    A: Array
    broadcast = ()
    _rows: Array = field(init=False, repr=False)  # an orthonormal basis

    def __post_init__(self) -> None:
        A = np.asarray(parameter(self.A, "A"))
        if A.ndim != 2:
            raise InputError(f"`A` must be a matrix, got shape {A.shape}; give one row for each entry of y")
        Q, _ = np.linalg.qr(np.vstack([np.eye(A.shape[1]), A]))
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "_rows", np.ascontiguousarray(Q.T))

    def project(self, x: Array) -> Array:
        """Return the nearest pair with y = A x."""
        return onto_span(x, self._rows, "A", self.batch_ndim)

    def support(self, u: Array) -> float:
        """Return 0 if u is orthogonal to the graph, else infinity."""
        own = self.project(u)
        return finite_where_small(own, u, 0.0 * total(own, self.batch_ndim), self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["GraphOfLinearMap", Shape]]:
        return [(cls(np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 3.0]])), (5,)), (cls(np.array([[0.5]])), (2,))]


def onto_span(x: Array, rows: Array, name: str, batch_ndim: int) -> Array:
    """Return the projection of `x`, flattened, onto the span of orthonormal rows."""
    xp, k = namespace(x), batch_ndim
    size = prod(x.shape[k:])
    if size != rows.shape[1]:
        raise InputError(f"`{name}` is for vectors of {rows.shape[1]} entries but x has {size}; make them equal")
    rows = constant_like(rows, x)
    return xp.reshape((xp.reshape(x, (*x.shape[:k], size)) @ rows.T) @ rows, x.shape)
