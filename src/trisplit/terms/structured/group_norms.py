"""Further functions of groups of entries: the sum of their maximum norms, and of their squared L1 norms."""

from dataclasses import dataclass, field

import numpy as np

from trisplit.arrays import Array, Shape, namespace, positive_part
from trisplit.terms.base import ConvexFunction, zero_where
from trisplit.terms.blocks import mapped, summed
from trisplit.terms.norms.maxima import lowered
from trisplit.terms.norms.vectors import slack
from trisplit.terms.numbers import largest
from trisplit.terms.structured.group_layout import Grouped, Groups, Layout, as_disjoint, weight_of_groups

__all__ = ["ExclusiveLasso", "GroupLInfinity"]


@dataclass(frozen=True, eq=False)
class GroupLInfinity(Grouped, ConvexFunction):
    """The group maximum norm, weight * sum_k max |x[groups[k]]|, for groups that do not overlap.

    prox(x, gamma) cuts each group off where it loses gamma weight in all, as that of the maximum norm; entries in no
    group stay.

    Parameters
    ----------
    groups : sequence of sequences of int
        Disjoint index sets into the vector x.
    weight : float or array
        Nonnegative; an array has a weight for each group.

    References
    ----------
    Turlach, Venables, Wright (2005), Simultaneous variable selection.

    Examples
    --------
    >>> import numpy as np
    >>> GroupLInfinity([[0, 1], [2]]).prox(np.array([3.0, -2.5, 0.5]), gamma=1.0)
    array([ 2.25, -2.25,  0.  ])
    """

    groups: Groups
    weight: float | Array = 1.0
    broadcast = ()
    cost = "n log n"
    _layout: Layout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups, layout = as_disjoint(self.groups, "give disjoint ones")
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "weight", weight_of_groups(self.weight, layout.count))
        object.__setattr__(self, "_layout", layout)

    @summed
    def value(self, v: Array) -> Array:
        """Return weight * sum_k max |x[groups[k]]|."""
        return self.weights(v) * largest(v)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return the groups, each cut off; the zeros that fill a row up are never reached."""
        return lowered(v, t * self.weights(v), 1, absolute=True)

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(number of groups), or ||weight||."""
        return float(np.linalg.norm(np.broadcast_to(self.weight, len(self.groups))))

    def conjugate_value(self, u: Array) -> float:
        """Return 0 if ||u[groups[k]]||_1 <= weight for all k, and 0 for entries in no group; else infinity."""
        return self._dual_norms_fit(u) + self.outside(u, 0.0)

    @summed
    def _dual_norms_fit(self, v: Array) -> Array:
        size = namespace(v).sum(namespace(v).abs(v), axis=-1, keepdims=True)
        return zero_where(size <= self.weights(v) + slack(v) * v.shape[-1] ** 0.5, v)  # pyright: ignore

    @classmethod
    def examples(cls) -> list[tuple["GroupLInfinity", Shape]]:
        return [(cls([[0, 1], [2], [4, 3]], 0.8), (5,)), (cls([[1, 2], [3, 4]], np.array([0.5, 2.0])), (6,))]


@dataclass(frozen=True, eq=False)
class ExclusiveLasso(Grouped, ConvexFunction):
    """The exclusive norm, weight * sum_k (sum_i |x[groups[k]]_i|)^2, which leaves few entries in every group.

    prox(x, gamma): in each group the soft threshold at the largest 2 c S_j / (1 + 2 c j), where c = gamma weight and
    S_j is the sum of the j largest absolute values; entries in no group stay.

    Parameters
    ----------
    groups : sequence of sequences of int
        Disjoint index sets into the vector x.
    weight : float or array
        Nonnegative; an array has a weight for each group.

    References
    ----------
    Zhou, Jin, Hoi (2010), Exclusive lasso for multi-task feature selection.

    Examples
    --------
    >>> import numpy as np
    >>> ExclusiveLasso([[0, 1], [2]], weight=0.5).prox(np.array([3.0, 1.0, 2.0]), gamma=1.0)
    array([1.5, 0. , 1. ])
    """

    groups: Groups
    weight: float | Array = 1.0
    broadcast = ()
    cost = "n log n"
    _layout: Layout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups, layout = as_disjoint(self.groups, "give disjoint ones")
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "weight", weight_of_groups(self.weight, layout.count))
        object.__setattr__(self, "_layout", layout)

    @summed
    def value(self, v: Array) -> Array:
        """Return weight * sum_k ||x[groups[k]]||_1^2."""
        xp = namespace(v)
        return self.weights(v) * xp.sum(xp.abs(v), axis=-1, keepdims=True) ** 2

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return the soft thresholds of the groups."""
        xp = namespace(v)
        ordered = xp.flip(xp.sort(xp.abs(v), axis=-1), axis=-1)
        count = xp.cumulative_sum(xp.ones_like(ordered), axis=-1)
        # 2 c S / (1 + 2 c j) with the division first, so that no product overflows
        c = 2.0 * t * self.weights(v)
        limit = xp.max(xp.cumulative_sum(ordered, axis=-1) * (c / (1.0 + c * count)), axis=-1, keepdims=True)
        return xp.sign(v) * positive_part(xp.abs(v) - limit)

    def conjugate_value(self, u: Array) -> float:
        """Return sum_k (largest |u| in groups[k])^2 / (4 weight), infinite if u is not 0 outside of groups."""
        return self._squares(u) + self.outside(u, 0.0)

    @summed
    def _squares(self, v: Array) -> Array:
        xp, weights = namespace(v), self.weights(v)
        top = xp.max(xp.abs(v), axis=-1, keepdims=True)
        weights = xp.zeros_like(top) + weights
        free = zero_where(top <= slack(v), v)
        return xp.where(weights > 0, top**2 / xp.where(weights > 0, 4.0 * weights, xp.ones_like(top)), free)

    @classmethod
    def examples(cls) -> list[tuple["ExclusiveLasso", Shape]]:
        return [(cls([[0, 1], [2], [4, 3]], 0.8), (5,)), (cls([[1, 2, 3], [4, 5]], np.array([0.5, 2.0])), (6,))]
