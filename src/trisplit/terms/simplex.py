"""Simplices: nonnegative entries with a given sum, along one axis of an array."""

from dataclasses import dataclass
from math import prod
from operator import index

from trisplit.arrays import Array, device, namespace, positive_part, total
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet, Shape, positive


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
    Held, Wolfe, Crowder (1974), Validation of subgradient optimization.

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

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "axis", index(self.axis))
        except TypeError:
            raise InputError(f"`axis` must be an integer, got {self.axis!r}; for rows to add up, pass 1") from None
        object.__setattr__(self, "total", positive(self.total, "total"))

    def project(self, x: Array) -> Array:
        """Return the projection of each slice along `axis`, by sorting."""
        xp, length = namespace(x), self._length(x.shape)
        # A shift of a slice leaves its projection; without it `total` drowns in the rounding of a large sum.
        axis = self._axis
        x = x - xp.max(x, axis=axis, keepdims=True)
        largest = xp.flip(xp.sort(x, axis=axis), axis=axis)
        excess = xp.cumulative_sum(largest, axis=axis) - self.total
        count = xp.arange(1, length + 1, dtype=x.dtype, device=device(x))
        theta = xp.max(excess / self._along_axis(count, x.ndim), axis=axis, keepdims=True)
        return positive_part(x - theta)

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
