"""Spheres, which are not convex."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, device, namespace
from trisplit.arrays.batched import inner
from trisplit.terms.base import ClosedSet
from trisplit.terms.blocks import Lines, mapped, summed
from trisplit.terms.checks import axis_or_none, like, parameter, positive
from trisplit.terms.numbers import largest, row_norms
from trisplit.terms.sets.balls import unit

__all__ = ["Sphere"]


@dataclass(frozen=True, eq=False)
class Sphere(Lines, ClosedSet):
    """Indicator of the sphere {x : ||x - center||_2 = radius}, which is not convex.

    prox(x) = center + radius (x - center) / ||x - center||; the centre itself goes along the first axis.
    With `axis` it holds for each line: pairs of real and imaginary parts then are numbers of a given modulus.

    Parameters
    ----------
    radius : float
        Positive.
    center : float or array
        A scalar stands for a constant vector; an array must broadcast to the shape of x.
    axis : int, optional
        The axis along which vectors lie, each on a sphere of its own; None takes all of x as one vector.

    References
    ----------
    Bauschke, Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> Sphere().prox(np.array([0.3, 0.4]), gamma=1.0)
    array([0.6, 0.8])
    """

    radius: float = 1.0
    center: float | Array = 0.0
    axis: int | None = None
    broadcast = ("center",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "radius"))
        object.__setattr__(self, "center", parameter(self.center, "center"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def project(self, x: Array) -> Array:
        """Return the point of the sphere in the direction of `x`."""
        center = like(self.center, x, "center")
        return center + self.radius * self._directions(x - center)

    def support(self, u: Array) -> float:
        """Return <center, u> + radius ||u||."""
        center = like(self.center, u, "center") + namespace(u).zeros_like(u)
        return inner(center, u, self.batch_ndim) + self.radius * self._norms(u)

    def lmo(self, u: Array) -> Array:
        """Return center - radius u / ||u||."""
        return like(self.center, u, "center") + self.radius * self._directions(-u)

    def diameter(self, shape: Shape) -> float:
        """Return twice the radius, for each vector."""
        return 2.0 * self.radius * self.count(shape) ** 0.5

    @summed
    def _norms(self, v: Array) -> Array:
        return row_norms(v)

    @mapped
    def _directions(self, v: Array) -> Array:
        xp = namespace(v)
        first = xp.astype(xp.arange(v.shape[-1], device=device(v)) == 0, v.dtype)
        return xp.where(largest(v) == 0, first, unit(v))

    @classmethod
    def examples(cls) -> list[tuple["Sphere", Shape]]:
        return [(cls(0.8), (4,)), (cls(2.0, np.array([1.0, -1.0, 3.0])), (3,)), (cls(1.5, axis=1), (3, 2))]
