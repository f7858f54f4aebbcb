"""Index sets into a vector, as rows of a matrix: what terms of groups share.

A row lists the entries of a group, filled up with zeros. One gather makes the rows and one scatter puts them back, so
that what is to be done to each group is done to all rows at once. Groups of equal size, one after the other, are a
reshaped part of x.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from trisplit.arrays import Array, as_host, constant_like, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.base import zero_where
from trisplit.terms.blocks import Blocks
from trisplit.terms.checks import nonnegative
from trisplit.terms.numbers import safe_norm

Groups = Sequence[Sequence[int]]


class Layout:
    """Disjoint index sets: `members` one after the other, of which group g has those from starts[g] on."""

    def __init__(self, groups: Sequence[np.ndarray]) -> None:
        self.sizes = np.array([group.size for group in groups])
        self.members = np.concatenate(groups)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.last = int(self.members.max())
        self.first = int(self.members[0])
        self.count, self.width = len(groups), int(self.sizes.max())
        # Whether the groups follow one another in x, are of equal size, or both.
        self.in_order = bool(np.all(np.diff(self.members) == 1))
        self.full = bool(np.all(self.sizes == self.width))
        self.equal = self.in_order and self.full
        self._places: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def indices(self) -> tuple[np.ndarray, np.ndarray]:
        """What a compiled loop reads: members, empty if they are in order, and where groups start."""
        if self.in_order:
            return np.empty(0, dtype=np.int64), self.starts + self.first
        return self.members, self.starts

    def covers(self, n: int) -> bool:
        """Say whether every entry of a vector of length n is in a group."""
        return self.members.size == n

    def places(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return for each place of the rows its entry, n for none; for each entry its place, or that after all rows."""
        if n not in self._places:
            rows = np.full(self.count * self.width, n)
            at = np.repeat(np.arange(self.count) * self.width - self.starts[:-1], self.sizes) + np.arange(
                self.members.size
            )
            rows[at] = self.members
            entries = np.arange(n) + rows.size
            entries[self.members] = at
            self._places[n] = rows, entries
        return self._places[n]

    def gather(self, x: Array) -> Array:
        """Return the rows, (..., groups, width)."""
        xp, n = namespace(x), x.shape[-1]
        shape = (*x.shape[:-1], self.count, self.width)
        if self.equal:
            return xp.reshape(x[..., self.first : self.last + 1], shape)
        rows, _ = self.places(n)
        padded = x if self.full else xp.concat([x, xp.zeros_like(x[..., :1])], axis=-1)
        return xp.reshape(xp.take(padded, constant_like(rows, x, indices=True), axis=-1), shape)

    def scatter(self, rows: Array, rest: Array) -> Array:
        """Return `rest` with the rows in their places."""
        xp, n = namespace(rest), rest.shape[-1]
        flat = xp.reshape(rows, (*rest.shape[:-1], self.count * self.width))
        if self.equal:
            if self.covers(n):
                return flat
            return xp.concat([rest[..., : self.first], flat, rest[..., self.last + 1 :]], axis=-1)
        _, entries = self.places(n)
        return xp.take(xp.concat([flat, rest], axis=-1), constant_like(entries, rest, indices=True), axis=-1)

    def others(self, x: Array) -> Array:
        """Return `x` with zeros for all members of groups."""
        n = x.shape[-1]
        _, entries = self.places(n)
        free = entries >= self.count * self.width
        return namespace(x).where(constant_like(free, x, indices=True), x, namespace(x).zeros_like(x))


class Grouped(Blocks):
    """A term of the groups of a vector: a block is a row of the layout, entries in no group stay as they are."""

    groups: Groups
    _layout: Layout

    def blocks(self, x: Array) -> Array:
        """Return the rows."""
        return self.layout(x).gather(x)

    def unblock(self, v: Array, x: Array) -> Array:
        """Return the rows in their places."""
        return self._layout.scatter(v, x)

    def layout(self, x: Array) -> Layout:
        """Return the layout for `x`, which must be a vector that is long enough."""
        if x.ndim != 1 + self.batch_ndim or x.shape[-1] <= self._layout.last:
            came = f"`groups` reach index {self._layout.last} but x has shape {tuple(x.shape)}"
            raise InputError(f"{came}; x must be a longer vector")
        return self._layout

    def weights(self, v: Array) -> float | Array:
        """Return the weights as a factor of rows."""
        weight = self.weight  # pyright: ignore[reportAttributeAccessIssue]
        if not isinstance(weight, np.ndarray):
            return weight
        return namespace(v).expand_dims(constant_like(weight, v), axis=-1)

    def outside(self, u: Array, bound: float) -> float:
        """Return 0 if |u_i| <= bound for the entries in no group, else infinity; in a batch for each problem."""
        xp, k = namespace(u), self.batch_ndim
        worst = xp.max(xp.abs(self.layout(u).others(u)), axis=-1)
        fits = worst <= bound + 100 * eps(u) * (1.0 + safe_norm(u, k))
        return zero_where(fits if k else bool(fits), u)

    def by_kernel(self, x: np.ndarray, gamma: float, weight: float | Array, soft: float) -> np.ndarray:
        """Return the proximal point of weight * group norms + soft * L1 norm, by a compiled loop."""
        from trisplit.kernels.groups import prox_groups

        layout, n = self.layout(x), x.shape[-1]
        rows = np.ascontiguousarray(x, dtype=np.float32 if x.dtype == np.float32 else np.float64)
        gammas = np.array(as_host(gamma), dtype=float, ndmin=1)
        if self.batch_ndim:
            gammas = np.broadcast_to(gammas.reshape(*gammas.shape[: self.batch_ndim], 1), (*x.shape[:-1], 1))
        gammas = np.ascontiguousarray(gammas.reshape(-1))
        softs = soft * gammas
        if layout.covers(n):
            out = np.empty_like(rows)
        elif soft:
            limit = softs.reshape(*x.shape[:-1], 1).astype(rows.dtype)
            out = rows - np.clip(rows, -limit, limit)
        else:
            out = rows.copy()
        indices, weights = layout.indices, np.array(weight, dtype=float, ndmin=1)
        prox_groups(rows.reshape(-1, n), *indices, weights, gammas, softs, out.reshape(-1, n))
        return out


def weight_of_groups(weight: object, count: int, name: str = "weight") -> float | Array:
    """Return a nonnegative number, or one for each group."""
    given = nonnegative(weight, name)
    if isinstance(given, np.ndarray) and given.shape != (count,):
        came = f"`{name}` has shape {given.shape} but there are {count} groups"
        raise InputError(f"{came}; give one number, or one for each group")
    return given


def as_groups(groups: Iterable[Iterable[int]]) -> list[np.ndarray]:
    """Return index sets as arrays, if they are."""
    try:
        arrays = [np.asarray(list(group)) for group in groups]
    except (TypeError, ValueError):
        raise InputError("`groups` must be a list of lists of indices; for example [[0, 1], [2]]") from None
    if not arrays:
        raise InputError("`groups` is empty; give at least one group, or use Zero()")
    for k, group in enumerate(arrays):
        if group.ndim != 1 or group.size == 0 or group.dtype.kind not in "iu":
            raise InputError(f"`groups[{k}]` is {group.tolist()!r}; it must be a nonempty list of indices >= 0")
    arrays = [group.astype(np.int64) for group in arrays]
    every, number = np.concatenate(arrays), np.repeat(np.arange(len(arrays)), [group.size for group in arrays])
    if every.min() < 0:
        k = number[np.argmin(every)]
        raise InputError(f"`groups[{k}]` is {arrays[k].tolist()!r}; it must be a nonempty list of indices >= 0")
    order = np.lexsort((every, number))
    twice = np.flatnonzero((np.diff(every[order]) == 0) & (np.diff(number[order]) == 0))
    if twice.size:
        k = number[order[twice[0]]]
        raise InputError(f"`groups[{k}]` names an index twice: {arrays[k].tolist()!r}; list each once")
    return arrays


def as_disjoint(groups: Iterable[Iterable[int]], remedy: str) -> tuple[tuple[tuple[int, ...], ...], Layout]:
    """Return index sets as tuples, and their layout, if no two of them overlap."""
    arrays = as_groups(groups)
    members, counts = np.unique(np.concatenate(arrays), return_counts=True)
    if counts.max() > 1:
        index = int(np.argmax(counts))
        raise InputError(f"`groups` overlap (index {members[index]} is in {counts[index]}); {remedy}")
    return tuple(tuple(group.tolist()) for group in arrays), Layout(arrays)
