"""Functions of the Euclidean norm of vectors: all of x, or the lines along an axis."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace, positive_part
from trisplit.terms.base import ConvexFunction, ConvexSet, zero_where
from trisplit.terms.blocks import Lines, mapped, summed
from trisplit.terms.checks import axis_or_none, nonnegative_weight
from trisplit.terms.numbers import row_norms
from trisplit.terms.sets.box import NonNegative

__all__ = [
    "L2",
    "L21",
    "CubedL2",
    "InsensitiveL2",
    "NonNegativeL2",
]


class OfVectors(Lines, ConvexFunction):
    """What the functions here share: a weight and an axis."""

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(number of vectors)."""
        return self.weight * self.count(shape) ** 0.5


@dataclass(frozen=True)
class L2(OfVectors):
    """The Euclidean norm, weight * ||x||_2, of all of x or summed over the lines along an axis.

    prox(x, gamma) = max(0, 1 - gamma weight / ||x||) x.

    Parameters
    ----------
    weight : float
        Nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 6.5.1.

    Examples
    --------
    >>> import numpy as np
    >>> L2(1.0).prox(np.array([3.0, 4.0]), gamma=1.0)
    array([2.4, 3.2])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    @summed
    def value(self, v: Array) -> Array:
        """Return weight * ||x||."""
        return self.weight * row_norms(v)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return `x` shortened by gamma * weight, or zero if it is shorter."""
        return shortened(v, t * self.weight)

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return 0 if ||u|| <= weight, else infinity."""
        return zero_where(row_norms(u) <= self.weight + slack(u), u)  # pyright: ignore[reportReturnType]

    @classmethod
    def examples(cls) -> list[tuple["L2", Shape]]:
        return [(cls(0.8), (5,)), (cls(1.5, axis=0), (3, 2))]


@dataclass(frozen=True)
class L21(L2):
    """The mixed norm, weight * the sum of the Euclidean norms of the lines along an axis: of a matrix, rows for axis=1.

    prox(x, gamma) multiplies each line by max(0, 1 - gamma weight / its norm).

    Parameters
    ----------
    weight : float
        Nonnegative.
    axis : int
        The axis of the lines: 1 for the rows of a matrix, 0 for its columns.

    References
    ----------
    Yuan, Lin (2006), Model selection and estimation in regression with grouped variables.

    Examples
    --------
    >>> import numpy as np
    >>> L21(1.0, axis=1).prox(np.array([[3.0, 4.0], [0.5, 0.5]]), gamma=1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    """

    axis: int | None = 1
    broadcast = ()

    @classmethod
    def examples(cls) -> list[tuple["L21", Shape]]:
        return [(cls(0.8), (3, 2)), (cls(0.6, axis=0), (2, 3))]


@dataclass(frozen=True)
class CubedL2(OfVectors):
    """The cube of the Euclidean norm, weight * ||x||_2^3, as in cubic regularisation.

    prox(x, gamma) = 2 x / (1 + sqrt(1 + 12 gamma weight ||x||)).

    Parameters
    ----------
    weight : float
        Nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Beck (2017), First-order methods in optimization, example 6.20.

    Examples
    --------
    >>> import numpy as np
    >>> CubedL2(1.0).prox(np.array([2.0, 0.0]), gamma=1.0)
    array([0.66666667, 0.        ])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    @summed
    def value(self, v: Array) -> Array:
        """Return weight * ||x||^3."""
        return self.weight * row_norms(v) ** 3

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return 2 x / (1 + sqrt(1 + 12 gamma weight ||x||))."""
        xp, norms = namespace(v), row_norms(v)
        # Roots of the factors, whose product may overflow; at zero their derivative is infinite.
        root = xp.sqrt(xp.where(norms > 0, norms, xp.ones_like(norms)))
        product = xp.where(norms > 0, (12.0 * t * self.weight) ** 0.5 * root, 0.0 * norms)
        return v * (2.0 / (1.0 + xp.hypot(xp.ones_like(product), product)))

    def lipschitz(self, shape: Shape) -> float:
        """Return infinity, or 0 if there is nothing."""
        return np.inf if self.weight else 0.0

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return 2 ||u||^(3/2) / (3 sqrt(3 weight))."""
        norms = row_norms(u)
        if self.weight == 0:
            return zero_where(norms <= slack(u), u)  # pyright: ignore[reportReturnType]
        return norms**1.5 * (2.0 / (3.0 * (3.0 * self.weight) ** 0.5))

    @classmethod
    def examples(cls) -> list[tuple["CubedL2", Shape]]:
        return [(cls(0.7), (4,)), (cls(2.0, axis=1), (2, 3))]


@dataclass(frozen=True)
class InsensitiveL2(OfVectors):
    """The Euclidean norm that spares a ball, weight * max(||x||_2 - radius, 0), Vapnik's loss for vectors.

    prox(x, gamma) = x inside of the ball; else x is shortened by gamma weight, but not to less than the radius.

    Parameters
    ----------
    radius : float
        Nonnegative.
    weight : float
        Nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Combettes, Pesquet (2011), Proximal splitting methods in signal processing: distance to a convex set.

    Examples
    --------
    >>> import numpy as np
    >>> InsensitiveL2(2.0).prox(np.array([3.0, 4.0]), gamma=1.0)
    array([2.4, 3.2])
    """

    radius: float = 1.0
    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius", nonnegative_weight(self.radius, "radius"))

    @summed
    def value(self, v: Array) -> Array:
        """Return weight * max(||x|| - radius, 0)."""
        return self.weight * positive_part(row_norms(v) - self.radius)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return `x` shortened by gamma * weight where it is longer than the radius, to no less than that."""
        xp, norms = namespace(v), row_norms(v)
        shorter = xp.clip(norms - t * self.weight, self.radius, None)
        safe = xp.where(norms > self.radius, norms, xp.ones_like(norms))
        return xp.where(norms > self.radius, v * (shorter / safe), v)

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return radius * ||u|| if ||u|| <= weight, else infinity."""
        norms = row_norms(u)
        return self.radius * norms + zero_where(norms <= self.weight + slack(u), u)

    @classmethod
    def examples(cls) -> list[tuple["InsensitiveL2", Shape]]:
        return [(cls(1.2, 0.7), (4,)), (cls(0.5, 1.5, axis=0), (3, 2))]


@dataclass(frozen=True)
class NonNegativeL2(OfVectors):
    """The Euclidean norm of nonnegative vectors, weight * ||x||_2 where x >= 0 and infinite elsewhere.

    prox(x, gamma) = max(0, 1 - gamma weight / ||x_+||) x_+ with the positive part x_+ = max(x, 0).

    Parameters
    ----------
    weight : float
        Nonnegative.
    axis : int or None
        The axis of the vectors; None takes all of x as one.

    References
    ----------
    Yu (2013), On decomposing the proximal map: a positively homogeneous function and a cone.

    Examples
    --------
    >>> import numpy as np
    >>> NonNegativeL2(1.0).prox(np.array([3.0, 4.0, -9.0]), gamma=1.0)
    array([2.4, 3.2, 0. ])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    name = "nonnegative_l2"

    @summed
    def value(self, v: Array) -> Array:
        """Return weight * ||x|| where x >= 0, else infinity."""
        xp = namespace(v)
        return self.weight * row_norms(v) + zero_where(xp.all(v >= 0, axis=-1, keepdims=True), v)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return the positive part, shortened by gamma * weight."""
        return shortened(positive_part(v), t * self.weight)

    def lipschitz(self, shape: Shape) -> float:
        """Return infinity: the term is finite on an orthant only."""
        return np.inf

    @summed
    def conjugate_value(self, u: Array) -> Array:
        """Return 0 if ||u_+|| <= weight, else infinity."""
        norms = row_norms(positive_part(u))
        return zero_where(norms <= self.weight + slack(u), u)  # pyright: ignore[reportReturnType]

    def domain(self) -> ConvexSet:
        """Return the nonnegative orthant."""
        return NonNegative().batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["NonNegativeL2", Shape]]:
        return [(cls(0.8), (5,)), (cls(1.5, axis=0), (3, 2))]


def shortened(v: Array, c: float | Array) -> Array:
    """Return the vectors shortened by c, and zero for those that are not longer."""
    xp, norms = namespace(v), row_norms(v)
    bound = xp.clip(norms, c, None)
    return v * ((bound - c) / xp.where(bound > 0, bound, xp.ones_like(bound)))


def slack(u: Array, accuracy: float = 1.0) -> Array:
    """Return by how much a vector may leave a set and still count as inside, as in the values of sets."""
    return 100 * accuracy * eps(u) * u.shape[-1] ** 0.5 * (1.0 + row_norms(u))
