"""Simplices: nonnegative entries with a given sum, along one axis of an array."""

from dataclasses import dataclass
from math import prod
from operator import index

import numpy as np

from trisplit.arrays import Array, Shape, device, namespace, positive_part
from trisplit.arrays.batched import total
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet
from trisplit.terms.checks import positive

__all__ = ["Simplex"]

MANY = 1000  # entries from which on NumPy's arrays go to a kernel, which has to be compiled once


def by_kernel(x: Array, axis: int | None, total: float, kind: str, batch_ndim: int = 0) -> Array | None:
    """Return the projections of the lines of a large array of NumPy's, without sorting; else None.

    `kind` is SIMPLEX, SOLID or BALL; `axis` counts from the first axis of x, None takes each problem as one line.
    """
    if type(x) is not np.ndarray or x.size < MANY or x.dtype not in (np.float32, np.float64):
        return None
    from trisplit.kernels import simplex as kernels

    first, after = (batch_ndim, x.ndim) if axis is None else (axis, axis + 1)
    lines = prod(x.shape[:first]), prod(x.shape[first:after]), prod(x.shape[after:])
    out = np.empty(x.shape, dtype=x.dtype)
    kernels.project_lines(np.ascontiguousarray(x).reshape(lines), total, getattr(kernels, kind), out.reshape(lines))
    return out


def lines_to_simplex(v: Array, total: float, axis: int = -1) -> Array:
    """Return the projections of the vectors along an axis onto the simplex, by sorting.

    Examples
    --------
    >>> import numpy as np
    >>> lines_to_simplex(np.array([[3.0, 0.0], [0.5, 0.5]]), 1.0)
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    xp = namespace(v)
    # A shift of a line leaves its projection; without it `total` drowns in the rounding of a large sum.
    v = v - xp.max(v, axis=axis, keepdims=True)
    excess = xp.cumulative_sum(-xp.sort(-v, axis=axis), axis=axis) - total
    count = xp.arange(1, v.shape[axis] + 1, dtype=v.dtype, device=device(v))
    count = xp.reshape(count, (-1, *[1] * (v.ndim - 1 - axis % v.ndim)))
    w = positive_part(v - xp.max(excess / count, axis=axis, keepdims=True))
    # The sums above are long, and round; those of w are `total` and a rest, which a step of Newton's method takes away.
    chosen = xp.astype(w > 0, v.dtype)
    rest = xp.sum(w, axis=axis, keepdims=True) - total
    return positive_part(w - chosen * rest / xp.sum(chosen, axis=axis, keepdims=True))


@dataclass(frozen=True)
class Simplex(ConvexSet):
    """Indicator of {x >= 0 : the sum along `axis` is `total`}.

    For a matrix, `axis=1` makes every row a point of the simplex (a row-stochastic matrix) and `axis=0` every
    column. prox(x) = max(x - theta, 0) with theta = max_k (sum of the k largest entries - total) / k.

    Parameters
    ----------
    axis : int
        The axis along which the entries add up.
    total : float
        The sum, positive.

    References
    ----------
    Held, Wolfe, Crowder (1974), Validation of subgradient optimization. Michelot (1986), A finite algorithm for finding
    the projection of a point onto the canonical simplex of R^n. Condat (2016), Fast projection onto the simplex and the
    l1 ball.

    Examples
    --------
    >>> import numpy as np
    >>> Simplex().prox(np.array([[3.0, 0.0], [0.5, 0.5]]), gamma=1.0)
    array([[1. , 0. ],
           [0.5, 0.5]])
    """

    axis: int = -1
    total: float = 1.0
    broadcast = ()
    cost = "n log n"

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "axis", index(self.axis))
        except TypeError:
            raise InputError(f"`axis` must be an integer, got {self.axis!r}; for rows to add up, pass 1") from None
        object.__setattr__(self, "total", positive(self.total, "total"))

    def project(self, x: Array) -> Array:
        """Return the projection of each slice along `axis`."""
        self._length(x.shape)
        projected = by_kernel(x, self._axis % x.ndim, self.total, "SIMPLEX")
        return lines_to_simplex(x, self.total, self._axis) if projected is None else projected

    def support(self, u: Array) -> float:
        """Return total times the sum over slices of the largest entry."""
        xp = namespace(u)
        self._length(u.shape)
        return self.total * total(xp.max(u, axis=self._axis), self.batch_ndim)

    def lmo(self, u: Array) -> Array:
        """Return the vertex that minimises <u, x>: `total` at the first smallest entry of each slice."""
        xp = namespace(u)
        place = xp.arange(self._length(u.shape), device=device(u))
        smallest = xp.expand_dims(xp.argmin(u, axis=self._axis), axis=self._axis)
        return xp.where(self._along_axis(place, u.ndim) == smallest, self.total, xp.zeros_like(u))

    def diameter(self, shape: Shape) -> float:
        """Return the largest distance, sqrt(2) total for each slice of two or more entries."""
        length = self._length(shape)
        return 0.0 if length == 1 else self.total * (2.0 * prod(shape[self.batch_ndim :]) / length) ** 0.5

    @property
    def _axis(self) -> int:
        """The axis among those of an array with the axes of a batch in front."""
        return self.axis if self.axis < 0 else self.axis + self.batch_ndim

    def _length(self, shape: Shape) -> int:
        shape = tuple(shape[self.batch_ndim :])
        if not -len(shape) <= self.axis < len(shape):
            raise InputError(f"`axis` is {self.axis} but x has shape {shape}; choose one of its axes")
        if shape[self.axis] == 0:
            raise InputError(f"x has shape {shape}: nothing adds up to `total`; give at least one entry")
        return shape[self.axis]

    def _along_axis(self, values: Array, ndim: int) -> Array:
        shape = [1] * ndim
        shape[self._axis] = -1
        return namespace(values).reshape(values, tuple(shape))

    @classmethod
    def examples(cls) -> list[tuple["Simplex", Shape]]:
        return [(cls(), (5,)), (cls(axis=1), (3, 4)), (cls(axis=0, total=2.5), (3, 4)), (cls(), (1,))]
