"""Balls of sums of absolute values, of weighted ones, and of norms of lines."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, device, namespace
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet
from trisplit.terms.blocks import Lines, mapped, summed
from trisplit.terms.checks import axis_or_none, positive
from trisplit.terms.numbers import largest, row_norms
from trisplit.terms.sets import sections
from trisplit.terms.sets.balls import unit
from trisplit.terms.sets.simplex import by_kernel, lines_to_simplex
from trisplit.terms.sets.simplices import along, vector

__all__ = ["L1Ball", "L21Ball", "WeightedL1Ball"]


@dataclass(frozen=True)
class L1Ball(Lines, ConvexSet):
    """Indicator of {x : ||x||_1 <= radius}.

    prox(x) = x inside, else sign(x) max(|x| - theta, 0) with theta such that the absolute values add up to `radius`.

    Parameters
    ----------
    radius : float
        Positive.
    axis : int, optional
        The axis along which vectors lie, each in a ball of its own; None takes all of x as one vector.

    References
    ----------
    Duchi, Shalev-Shwartz, Singer, Chandra (2008), Efficient projections onto the l1-ball for learning in high
    dimensions. Condat (2016), Fast projection onto the simplex and the l1 ball.

    Examples
    --------
    >>> import numpy as np
    >>> L1Ball(1.0).prox(np.array([2.0, -1.5]), gamma=1.0)
    array([ 0.75, -0.25])
    """

    radius: float = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def project(self, x: Array) -> Array:
        """Return the projection of each vector."""
        self.length(x.shape)
        axis = None if self.axis is None else self.batch_ndim + self.axis % (x.ndim - self.batch_ndim)
        projected = by_kernel(x, axis, self.radius, "BALL", self.batch_ndim)
        return self._by_sorting(x) if projected is None else projected

    @mapped
    def _by_sorting(self, v: Array) -> Array:
        xp, size = namespace(v), namespace(v).abs(v)
        inside = xp.sum(size / self.radius, axis=-1, keepdims=True) <= 1.0
        return xp.where(inside, v, xp.sign(v) * lines_to_simplex(size, self.radius))

    @summed
    def support(self, u: Array) -> Array:
        """Return radius times the largest absolute value."""
        return self.radius * largest(u)

    @mapped
    def lmo(self, u: Array) -> Array:
        """Return the vertex at the first entry of largest absolute value."""
        xp = namespace(u)
        place = xp.arange(u.shape[-1], device=device(u))
        chosen = place == xp.argmax(xp.abs(u), axis=-1, keepdims=True)
        return xp.where(chosen, -self.radius * xp.sign(u), xp.zeros_like(u))

    def diameter(self, shape: Shape) -> float:
        """Return twice the radius, for each vector."""
        return 2.0 * self.radius * self.count(shape) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["L1Ball", Shape]]:
        return [(cls(1.7), (5,)), (cls(axis=0), (3, 2))]


@dataclass(frozen=True, eq=False)
class WeightedL1Ball(Lines, ConvexSet):
    """Indicator of {x : sum_i weights_i |x_i| <= radius}.

    prox(x) = x inside, else sign(x) max(|x| - theta weights, 0) with theta such that the weighted sum is `radius`.

    Parameters
    ----------
    weights : float or array of shape (n,)
        Positive.
    radius : float
        Positive.
    axis : int, optional
        The axis along which vectors lie, each in a ball of its own; None takes all of x as one vector.

    References
    ----------
    Perez, Ament, Gomes, Barlaud (2022), Efficient projection algorithms onto the weighted l1 ball.

    Examples
    --------
    >>> import numpy as np
    >>> WeightedL1Ball([1.0, 2.0], 2.0).prox(np.array([3.0, 1.0]), gamma=1.0)
    array([2., 0.])
    """

    weights: float | Array = 1.0
    radius: float = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    def __post_init__(self) -> None:
        weights = vector(self.weights, "weights")
        if np.any(np.asarray(weights) <= 0):
            raise InputError(f"`weights` must be > 0, got {np.min(weights)}; leave out entries without a bound")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def length(self, shape: Shape) -> int:
        """Return the length of the vectors, which must be that of the weights."""
        n = super().length(shape)
        if np.size(self.weights) not in (1, n):
            raise InputError(f"`weights` has {np.size(self.weights)} entries but the vectors have {n}; make them equal")
        return n

    @mapped
    def project(self, v: Array) -> Array:
        """Return the projection of each vector."""
        xp, w = namespace(v), along(self.weights, v, "weights")
        size, zero = xp.abs(v), xp.zeros_like(v)
        inside = xp.sum(w / self.radius * size, axis=-1, keepdims=True) <= 1.0
        # No point of the ball has an entry beyond radius / w.
        outside = sections.project(size, w, zero, self.radius / w, zero[..., :1] + self.radius)
        return xp.where(inside, v, xp.sign(v) * outside)

    @summed
    def support(self, u: Array) -> Array:
        """Return radius times the largest |u_i| / weights_i."""
        return self.radius * largest(u / along(self.weights, u, "weights"))

    @mapped
    def lmo(self, u: Array) -> Array:
        """Return the vertex at the first largest |u_i| / weights_i."""
        xp, w = namespace(u), along(self.weights, u, "weights")
        place = xp.arange(u.shape[-1], device=device(u))
        chosen = place == xp.argmax(xp.abs(u) / w, axis=-1, keepdims=True)
        return xp.where(chosen, -self.radius * xp.sign(u) / w, xp.zeros_like(u))

    def diameter(self, shape: Shape) -> float:
        """Return twice the distance of the farthest vertex from zero, for each vector."""
        self.length(shape)
        return 2.0 * self.radius / float(np.min(self.weights)) * self.count(shape) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["WeightedL1Ball", Shape]]:
        return [(cls(np.array([1.0, 0.3, 2.0, 1.0]), 1.5), (4,)), (cls(np.array([2.0, 0.5, 1.0]), axis=0), (3, 2))]


@dataclass(frozen=True)
class L21Ball(Lines, ConvexSet):
    """Indicator of {x : the sum of the norms ||.||_2 of the lines along `axis` is at most radius}.

    prox(x) scales the lines so that their norms become the projection of the norms onto the L1 ball.

    Parameters
    ----------
    radius : float
        Positive.
    axis : int
        The axis along which the lines lie.

    References
    ----------
    van den Berg, Schmidt, Friedlander, Murphy (2008), Group sparsity via linear-time projection.

    Examples
    --------
    >>> import numpy as np
    >>> L21Ball(3.0).prox(np.array([[3.0, 4.0], [0.0, 1.0]]), gamma=1.0)
    array([[1.8, 2.4],
           [0. , 0. ]])
    """

    radius: float = 1.0
    axis: int = -1  # pyright: ignore[reportIncompatibleVariableOverride]
    broadcast = ()
    cost = "n"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @mapped
    def project(self, v: Array) -> Array:
        """Return the lines, shortened."""
        xp, norms = namespace(v), row_norms(v)
        flat = self._per_problem(norms)
        inside = xp.sum(flat / self.radius, axis=-1, keepdims=True) <= 1.0
        shortened = xp.reshape(xp.where(inside, flat, lines_to_simplex(flat, self.radius)), norms.shape)
        return v * (shortened / xp.where(norms > 0, norms, xp.ones_like(norms)))

    @summed
    def support(self, u: Array) -> Array:
        """Return radius times the largest norm of a line."""
        return self.radius * largest(self._per_problem(row_norms(u)))

    @mapped
    def lmo(self, u: Array) -> Array:
        """Return the point with the first line of largest norm alone, in its direction."""
        xp, norms = namespace(u), row_norms(u)
        flat = self._per_problem(norms)
        place = xp.arange(flat.shape[-1], device=device(u))
        chosen = xp.reshape(place == xp.argmax(flat, axis=-1, keepdims=True), norms.shape)
        return xp.where(chosen, -self.radius * unit(u), xp.zeros_like(u))

    def diameter(self, shape: Shape) -> float:
        """Return twice the radius."""
        self.length(shape)
        return 2.0 * self.radius

    def _per_problem(self, norms: Array) -> Array:
        """Return the norms of a problem along the last axis."""
        return namespace(norms).reshape(norms, (*norms.shape[: self.batch_ndim], -1))

    @classmethod
    def examples(cls) -> list[tuple["L21Ball", Shape]]:
        return [(cls(2.0), (3, 2)), (cls(1.5, axis=0), (3, 2)), (cls(), (4,))]
