"""Group norms: a sum of Euclidean norms of pieces of x, with overlapping groups split into terms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from trisplit.arrays import Array, constant_like, namespace, positive_part, scalar, total
from trisplit.errors import InputError
from trisplit.terms.base import Batchable, Shape, nonnegative_weight

Groups = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class GroupL2(Batchable):
    """The group norm, weight * sum_k ||x[groups[k]]||_2, for groups that do not overlap.

    prox(x, gamma) scales each group by max(0, 1 - gamma weight / ||x[group]||); entries in no group stay.
    Groups that overlap have no such formula: `GroupL2.split(groups)` gives the terms whose sum they are.

    Parameters
    ----------
    groups : sequence of sequences of int
        Disjoint index sets into the vector x.
    weight : float
        Nonnegative.

    Examples
    --------
    >>> import numpy as np
    >>> GroupL2([[0, 1], [2]], weight=1.0).prox(np.array([3.0, 4.0, 0.5]), gamma=1.0)
    array([2.4, 3.2, 0. ])
    """

    groups: Groups
    weight: float = 1.0
    convex = True
    indicator = False
    broadcast = ()
    _padded: Array = field(init=False, repr=False)
    _places: dict[int, tuple[Array, Array]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        groups = _as_groups(self.groups)
        members, counts = np.unique(np.concatenate(groups), return_counts=True)
        if counts.max() > 1:
            index = int(np.argmax(counts))
            overlap = f"index {members[index]} is in {counts[index]}"
            raise InputError(f"`groups` overlap ({overlap}); use GroupL2.split(groups, weight)")
        # Each row lists a group, filled up with -1, later the place of a zero appended to x: one gather, no loop.
        padded = np.full((len(groups), max(len(group) for group in groups)), -1)
        for row, group in zip(padded, groups, strict=True):
            row[: len(group)] = group
        object.__setattr__(self, "groups", tuple(tuple(int(i) for i in group) for group in groups))
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "_padded", padded)

    @classmethod
    def split(cls, groups: Groups, weight: float = 1.0) -> tuple["GroupL2", ...]:
        """Split groups that may overlap into terms of disjoint groups, whose sum is the group norm.

        Each group joins the first term in which it meets no other: two terms for a chain of groups.

        Examples
        --------
        >>> [term.groups for term in GroupL2.split([[0, 1], [1, 2], [2, 3]])]
        [((0, 1), (2, 3)), ((1, 2),)]
        """
        layers: list[tuple[list[np.ndarray], set[int]]] = []
        for group in _as_groups(groups):
            members = set(group.tolist())
            free = next((layer for layer in layers if layer[1].isdisjoint(members)), None)
            if free is None:
                free = ([], set())
                layers.append(free)
            free[0].append(group)
            free[1].update(members)
        return tuple(cls([group.tolist() for group in chosen], weight) for chosen, _ in layers)

    def value(self, x: Array) -> float:
        """Return weight * sum_k ||x[groups[k]]||."""
        return self.weight * total(self._norms(x), self.batch_ndim)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with every group shortened by gamma * weight, or zero if it is shorter."""
        xp = namespace(x)
        norms, (_, owners) = self._norms(x), self._indices(x)
        safe = xp.where(norms > 0, norms, xp.ones_like(norms))
        scale = positive_part(1.0 - scalar(gamma, self.batch_ndim) * self.weight / safe)
        return x * xp.take(xp.concat([scale, xp.ones_like(x[..., :1])], axis=-1), owners, axis=-1)

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(number of groups)."""
        return self.weight * len(self.groups) ** 0.5

    def _norms(self, x: Array) -> Array:
        xp = namespace(x)
        members, _ = self._indices(x)
        entries = xp.take(xp.concat([x, xp.zeros_like(x[..., :1])], axis=-1), members, axis=-1)
        return xp.sqrt(xp.sum(xp.reshape(entries, (*x.shape[:-1], *self._padded.shape)) ** 2, axis=-1))

    def _indices(self, x: Array) -> tuple[Array, Array]:
        """Return the entries of `_padded`, and for each entry of `x` the number of its group.

        n stands for no entry and the number of groups for no group.
        """
        n = x.shape[-1] if x.ndim == 1 + self.batch_ndim else 0  # a matrix is refused below, as too short
        if n not in self._places:
            last = max(max(group) for group in self.groups)
            if n <= last:
                shape = tuple(x.shape)
                raise InputError(f"`groups` reach index {last} but x has shape {shape}; x must be a longer vector")
            owner = np.full(n, len(self.groups))
            for k, group in enumerate(self.groups):
                owner[list(group)] = k
            self._places[n] = np.ravel(np.where(self._padded < 0, n, self._padded)), owner
        members, owners = self._places[n]
        return constant_like(members, x, indices=True), constant_like(owners, x, indices=True)

    @classmethod
    def examples(cls) -> list[tuple["GroupL2", Shape]]:
        return [(cls([[0, 1], [2], [4, 3]], 0.8), (5,)), (cls([[0, 2]], 1.3), (4,))]


def _as_groups(groups: Iterable[Iterable[int]]) -> list[np.ndarray]:
    try:
        arrays = [np.asarray(list(group)) for group in groups]
    except (TypeError, ValueError):
        raise InputError("`groups` must be a list of lists of indices; for example [[0, 1], [2]]") from None
    if not arrays:
        raise InputError("`groups` is empty; give at least one group, or use Zero()")
    for k, group in enumerate(arrays):
        if group.ndim != 1 or group.size == 0 or group.dtype.kind not in "iu" or group.astype(np.int64).min() < 0:
            raise InputError(f"`groups[{k}]` is {group.tolist()!r}; it must be a nonempty list of indices >= 0")
        if len(np.unique(group)) != group.size:
            raise InputError(f"`groups[{k}]` names an index twice: {group.tolist()!r}; list each once")
    return [group.astype(np.int64) for group in arrays]
