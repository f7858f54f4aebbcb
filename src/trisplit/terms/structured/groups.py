"""Norms of groups of entries: their sum, with an L1 norm, in a tree; overlapping groups are split into terms."""

from dataclasses import dataclass, field

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.arrays.batched import scalar
from trisplit.errors import InputError
from trisplit.terms.base import ConvexFunction, zero_where
from trisplit.terms.blocks import mapped, summed
from trisplit.terms.checks import nonnegative_weight
from trisplit.terms.norms.vectors import shortened, slack
from trisplit.terms.numbers import row_norms
from trisplit.terms.structured.group_layout import Grouped, Groups, Layout, as_disjoint, as_groups, weight_of_groups

__all__ = ["GroupL2", "SparseGroupLasso", "TreeGroupL2"]


@dataclass(frozen=True, eq=False)
class GroupL2(Grouped, ConvexFunction):
    """The group norm, weight * sum_k ||x[groups[k]]||_2, for groups that do not overlap.

    prox(x, gamma) scales each group by max(0, 1 - gamma weight / ||x[group]||); entries in no group stay.
    It is the penalty of the group lasso. Overlapping groups have no such formula: `GroupL2.split(groups)` gives the
    terms whose sum they are.

    Parameters
    ----------
    groups : sequence of sequences of int
        Disjoint index sets into the vector x.
    weight : float or array
        Nonnegative; an array has a weight for each group.

    References
    ----------
    Yuan, Lin (2006), Model selection and estimation in regression with grouped variables.

    Examples
    --------
    >>> import numpy as np
    >>> GroupL2([[0, 1], [2]], weight=1.0).prox(np.array([3.0, 4.0, 0.5]), gamma=1.0)
    array([2.4, 3.2, 0. ])
    """

    groups: Groups
    weight: float | Array = 1.0
    broadcast = ()
    _layout: Layout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups, layout = as_disjoint(self.groups, "use GroupL2.split(groups, weight)")
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "weight", weight_of_groups(self.weight, layout.count))
        object.__setattr__(self, "_layout", layout)

    @classmethod
    def split(cls, groups: Groups, weight: float | Array = 1.0) -> tuple["GroupL2", ...]:
        """Split groups that may overlap into terms of disjoint groups, whose sum is the group norm.

        Each group joins the first term in which it meets no other, with its weight: two terms for a chain of groups.

        Examples
        --------
        >>> [term.groups for term in GroupL2.split([[0, 1], [1, 2], [2, 3]])]
        [((0, 1), (2, 3)), ((1, 2),)]
        """
        lists = [group.tolist() for group in as_groups(groups)]
        weight = weight_of_groups(weight, len(lists))
        layers: list[tuple[list[int], set[int]]] = []
        for k, group in enumerate(lists):
            free = next((layer for layer in layers if layer[1].isdisjoint(group)), None)
            if free is None:
                free = ([], set())
                layers.append(free)
            free[0].append(k)
            free[1].update(group)
        own = lambda chosen: weight[chosen] if isinstance(weight, np.ndarray) else weight  # noqa: E731
        return tuple(cls([lists[k] for k in chosen], own(chosen)) for chosen, _ in layers)

    @summed
    def value(self, v: Array) -> Array:
        """Return weight * sum_k ||x[groups[k]]||."""
        return self.weights(v) * row_norms(v)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with every group shortened by gamma * weight, or zero if it is shorter."""
        return self.by_kernel(x, gamma, self.weight, 0.0) if type(x) is np.ndarray else self._shortened(x, gamma)

    @mapped
    def _shortened(self, v: Array, t: float) -> Array:
        return shortened(v, t * self.weights(v))

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(number of groups), or ||weight||."""
        return float(np.linalg.norm(np.broadcast_to(self.weight, len(self.groups))))

    def conjugate_value(self, u: Array) -> float:
        """Return 0 if ||u[groups[k]]|| <= weight for all k, and 0 for entries in no group; else infinity."""
        return self._dual_norms_fit(u) + self.outside(u, 0.0)

    @summed
    def _dual_norms_fit(self, v: Array) -> Array:
        return zero_where(row_norms(v) <= self.weights(v) + slack(v), v)  # pyright: ignore[reportReturnType]

    @classmethod
    def examples(cls) -> list[tuple["GroupL2", Shape]]:
        equal = cls([[1, 2], [3, 4]], np.array([0.5, 2.0]))
        return [(cls([[0, 1], [2], [4, 3]], 0.8), (5,)), (cls([[0, 2]], 1.3), (4,)), (equal, (6,))]


@dataclass(frozen=True, eq=False)
class SparseGroupLasso(Grouped, ConvexFunction):
    """The sparse group norm, sparsity * ||x||_1 + weight * sum_k ||x[groups[k]]||_2, for groups without overlap.

    prox(x, gamma): the soft threshold of x at gamma sparsity, then each group times max(0, 1 - gamma weight / norm).

    Parameters
    ----------
    groups : sequence of sequences of int
        Disjoint index sets into the vector x.
    sparsity : float
        Weight of the L1 norm, nonnegative.
    weight : float or array
        Weight of the group norms, nonnegative; an array has one for each group.

    References
    ----------
    Simon, Friedman, Hastie, Tibshirani (2013), A sparse-group lasso.

    Examples
    --------
    >>> import numpy as np
    >>> SparseGroupLasso([[0, 1], [2]], 1.0, 1.0).prox(np.array([4.0, 5.0, 1.5]), gamma=1.0)
    array([2.4, 3.2, 0. ])
    """

    groups: Groups
    sparsity: float = 1.0
    weight: float | Array = 1.0
    broadcast = ()
    _layout: Layout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups, layout = as_disjoint(self.groups, "join them, or add GroupL2.split(groups, weight) as terms")
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "sparsity", nonnegative_weight(self.sparsity, "sparsity"))
        object.__setattr__(self, "weight", weight_of_groups(self.weight, layout.count))
        object.__setattr__(self, "_layout", layout)

    def value(self, x: Array) -> float:
        """Return sparsity * ||x||_1 + weight * sum_k ||x[groups[k]]||."""
        ones = namespace(x).sum(namespace(x).abs(x), axis=-1)
        return self._norms(x) + self.sparsity * (ones if self.batch_ndim else float(ones))

    @summed
    def _norms(self, v: Array) -> Array:
        return self.weights(v) * row_norms(v)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the soft threshold with every group shortened."""
        if type(x) is np.ndarray:
            return self.by_kernel(x, gamma, self.weight, self.sparsity)
        limit = scalar(gamma, self.batch_ndim) * self.sparsity
        if getattr(limit, "shape", ()):
            limit = namespace(x).reshape(limit, (*limit.shape[: self.batch_ndim], 1))  # pyright: ignore
        return self._shortened(x - namespace(x).clip(x, -limit, limit), gamma)

    @mapped
    def _shortened(self, v: Array, t: float) -> Array:
        return shortened(v, t * self.weights(v))

    def lipschitz(self, shape: Shape) -> float:
        """Return the norm of the largest subgradient: that of equal entries in each group."""
        sizes = self._layout.sizes
        grouped = (self.sparsity * sizes**0.5 + self.weight) ** 2
        return float(grouped.sum() + self.sparsity**2 * (shape[-1] - sizes.sum())) ** 0.5

    def conjugate_value(self, u: Array) -> float:
        """Return 0 if the soft threshold of u at `sparsity` has group norms <= weight, else infinity."""
        return self._dual_norms_fit(u) + self.outside(u, self.sparsity)

    @summed
    def _dual_norms_fit(self, v: Array) -> Array:
        left = row_norms(v - namespace(v).clip(v, -self.sparsity, self.sparsity))
        return zero_where(left <= self.weights(v) + slack(v), v)  # pyright: ignore[reportReturnType]

    @classmethod
    def examples(cls) -> list[tuple["SparseGroupLasso", Shape]]:
        return [(cls([[0, 1], [2], [4, 3]], 0.3, 0.8), (5,)), (cls([[1, 2], [3, 4]], 0.5, np.array([0.5, 1.0])), (6,))]


@dataclass(frozen=True, eq=False)
class TreeGroupL2(ConvexFunction):
    """The norm of a tree of groups, sum_k weight_k ||x[groups[k]]||_2, where any two groups are nested or disjoint.

    prox(x, gamma): the proximal maps of the groups one after the other, each group after all those inside of it.

    Parameters
    ----------
    groups : sequence of sequences of int
        Index sets into the vector x; of two with a common index, one contains the other.
    weight : float or array
        Nonnegative; an array has a weight for each group.

    References
    ----------
    Jenatton, Mairal, Obozinski, Bach (2011), Proximal methods for hierarchical sparse coding.

    Examples
    --------
    >>> import numpy as np
    >>> TreeGroupL2([[0, 1, 2], [2]]).prox(np.array([3.0, 4.0, 0.5]), gamma=1.0)
    array([2.4, 3.2, 0. ])
    """

    groups: Groups
    weight: float | Array = 1.0
    broadcast = ()
    parts = ("_layers",)
    _layers: tuple[GroupL2, ...] = field(init=False, repr=False)
    _slope: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        arrays = as_groups(self.groups)
        weight = weight_of_groups(self.weight, len(arrays))
        weights = np.broadcast_to(weight, len(arrays))
        parent = _parents(arrays)
        depth = np.zeros(len(arrays), dtype=int)
        outer_first = sorted(range(len(arrays)), key=lambda k: -arrays[k].size)
        for k in outer_first:
            depth[k] = depth[parent[k]] + 1 if parent[k] >= 0 else 0
        # On a group of norm r the subtree is at most r times this, as the entries may be spread over its children.
        inner, roots = np.zeros(len(arrays)), 0.0
        for k in reversed(outer_first):
            square = (weights[k] + inner[k] ** 0.5) ** 2
            if parent[k] >= 0:
                inner[parent[k]] += square
            else:
                roots += square
        levels = [np.flatnonzero(depth == level) for level in range(depth.max(), -1, -1)]
        layers = tuple(GroupL2([arrays[k].tolist() for k in level], weights[level]) for level in levels)
        object.__setattr__(self, "groups", tuple(tuple(group.tolist()) for group in arrays))
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "_layers", layers)
        object.__setattr__(self, "_slope", float(roots) ** 0.5)

    def value(self, x: Array) -> float:
        """Return sum_k weight_k ||x[groups[k]]||."""
        values = [layer.value(x) for layer in self._layers]
        return sum(values[1:], start=values[0])

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with all groups shortened, from the innermost to the outermost."""
        for layer in self._layers:
            x = layer.prox(x, gamma)
        return x

    def lipschitz(self, shape: Shape) -> float:
        """Return the largest value on the unit sphere, which is found from the innermost groups to the outermost."""
        return self._slope

    @classmethod
    def examples(cls) -> list[tuple["TreeGroupL2", Shape]]:
        nested = [[0, 1, 2, 3], [0, 1], [3], [4]]
        return [(cls(nested, 0.6), (5,)), (cls([[2], [1, 2], [0, 1, 2]], np.array([1.0, 0.2, 0.4])), (4,))]


def _parents(groups: list[np.ndarray]) -> np.ndarray:
    """Return for each group the smallest other one that contains it, -1 if there is none; refuse those that cross."""
    owner = np.full(max(int(group.max()) for group in groups) + 1, -1)
    parent = np.full(len(groups), -1)
    for k in sorted(range(len(groups)), key=lambda k: -groups[k].size):
        above = np.unique(owner[groups[k]])
        if above.size > 1:
            other = int(above.max())
            crossing = f"`groups[{k}]` and `groups[{other}]` overlap, and neither contains the other"
            raise InputError(f"{crossing}; use GroupL2.split(groups, weight)")
        parent[k] = above[0]
        owner[groups[k]] = k
    return parent
