"""A point near to all of some closed convex sets: a common one, where there is one.

The mean g of the displacements c - P_i(c) is the gradient of sum_i dist(c, C_i)^2 / (2 m), whose Lipschitz constant is
1: the step c - g leads to the mean of the projections. Longer steps, the shorter ones of [BB88], come to the end much
sooner. Where the sets have no common point, the displacements are normals whose sum tends to zero.

[BB88] Barzilai, Borwein (1988), Two-point step size gradient methods.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import TypeAlias

from trisplit.arrays import Array, eps
from trisplit.arrays.batched import inner, norm

Projection: TypeAlias = Callable[[Array], Array]

LONGEST = 1e4  # of the steps


def near_to_all(projections: Sequence[Projection], c: Array, steps: int) -> Array:
    """Return the best of some points on the way from c to one whose mean displacement is zero.

    Examples
    --------
    >>> import numpy as np
    >>> right_of_one, left_of_zero = lambda x: np.maximum(x, 1.0), lambda x: np.minimum(x, 0.0)
    >>> near_to_all([right_of_one, left_of_zero], np.array([5.0]), steps=10)
    array([0.5])
    """
    best, least, old, step = c, inf, None, 1.0
    for _ in range(steps):
        g = c - sum((project(c) for project in projections), 0 * c) / len(projections)
        size = norm(g)
        if size < least:
            best, least = c, size
        if size <= eps(c) * norm(c):
            break
        if old is not None:
            s, y = c - old[0], g - old[1]
            curvature = inner(y, y)
            step = max(1.0, min(inner(s, y) / curvature, LONGEST)) if curvature > 0 else 1.0
        old, c = (c, g), c - step * g
    return best
