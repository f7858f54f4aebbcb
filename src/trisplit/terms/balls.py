"""Balls."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, at_least, inner, length, namespace, norm, where
from trisplit.terms.base import ConvexSet, Shape, like, parameter, positive


@dataclass(frozen=True, eq=False)
class L2Ball(ConvexSet):
    """Indicator of {x : ||x - center||_2 <= radius}.

    prox(x) = center + (x - center) min(1, radius / ||x - center||).

    Parameters
    ----------
    radius : float
        Positive.
    center : float or array
        A scalar stands for a constant vector.

    Examples
    --------
    >>> import numpy as np
    >>> L2Ball(1.0).prox(np.array([3.0, 4.0]), gamma=1.0)
    array([0.6, 0.8])
    """

    radius: float = 1.0
    center: float | Array = 0.0
    broadcast = ("center",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        object.__setattr__(self, "center", parameter(self.center, "center"))

    def project(self, x: Array) -> Array:
        """Return `x`, pulled to the sphere if it lies outside."""
        center = like(self.center, x, "center")
        away = x - center
        size = length(away, self.batch_ndim)
        return where(size <= self.radius, x, center + away * (self.radius / at_least(size, self.radius)))

    def support(self, u: Array) -> float:
        """Return <center, u> + radius ||u||."""
        center = like(self.center, u, "center") + namespace(u).zeros_like(u)
        return inner(center, u, self.batch_ndim) + self.radius * norm(u, self.batch_ndim)

    def lmo(self, u: Array) -> Array:
        """Return center - radius u / ||u||, and the centre for u = 0."""
        size, center = length(u, self.batch_ndim), like(self.center, u, "center")
        return center - u * where(size > 0, self.radius / where(size > 0, size, 1.0), 0.0)

    def diameter(self, shape: Shape) -> float:
        """Return twice the radius."""
        return 2.0 * self.radius

    @classmethod
    def examples(cls) -> list[tuple["L2Ball", Shape]]:
        return [(cls(0.8), (5,)), (cls(2.0, np.array([1.0, -1.0, 3.0])), (3,)), (cls(1.5), (2, 3))]
