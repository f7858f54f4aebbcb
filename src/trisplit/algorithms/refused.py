"""The problems of a batch whose step was refused: where they are few, only they are tried again."""

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from trisplit.algorithms.state import State
from trisplit.arrays import Array, index_like, put_rows, shapes_are_cheap, take_rows, to_numpy

if TYPE_CHECKING:
    from trisplit.problem import Function, Term
    from trisplit.steps import StepRule
    from trisplit.steps.adaptive_batch import BatchAdaptive

# Taking rows out and putting them back costs some ten operations on all of them; below, a trial of all is cheaper.
MIN_ROWS = 500
MAX_SHARE = 0.25


@dataclass(frozen=True)
class RefusedRows:
    """Some problems of a batch, as a batch of one axis of their own."""

    rows: np.ndarray
    f: "Function"
    h: "Term"
    whole: "BatchAdaptive"
    rule: "BatchAdaptive"  # for these rows

    def taken(self, *arrays: "float | Array | None") -> "list[Array | None]":
        """Return these problems of arrays of the whole batch."""
        index, k = index_like(self.rows, arrays[0]), self.whole.batch_ndim  # pyright: ignore[reportArgumentType]
        return [None if array is None else take_rows(array, index, k) for array in arrays]  # pyright: ignore

    def memory_of(self, memory: tuple) -> tuple:
        """Return these problems of what the rule remembers of the whole batch."""
        return self.whole.memory_of(memory, self.rows)  # pyright: ignore[reportArgumentType]

    def put_back(self, state: State, memory: tuple, settled: State, new_y: bool) -> tuple[State, tuple, Array]:
        """Return state, memory and x - z of the whole batch with these problems as they are in `settled`.

        `new_y` says that y was made in this iteration, as d always is, so that nobody else has it; x may be the term's.
        """
        index, k = index_like(self.rows, state.z), self.whole.batch_ndim
        own = {"x": False, "y": new_y, "gamma": False, "d": True}
        new = {name: put_rows(getattr(state, name), index, getattr(settled, name), k, own=own[name]) for name in own}
        memory = self.whole.joined(memory, self.rows, settled.memory, new["d"])  # pyright: ignore[reportArgumentType]
        return state._replace(**new, memory=memory), memory, new["d"]


def refused_rows(f: "Function", h: "Term", state: State, trial: float, rule: "StepRule") -> RefusedRows | None:
    """Return the problems whose trial step differs from that of the state, None if all are to be tried again."""
    batch = state.z.shape[: getattr(rule, "batch_ndim", 0)]
    if prod(batch) < MIN_ROWS or not hasattr(rule, "joined") or not shapes_are_cheap(state.z):
        return None
    refused = np.flatnonzero(to_numpy(trial != state.gamma))  # pyright: ignore[reportArgumentType]
    if len(refused) > MAX_SHARE * prod(batch):
        return None
    places = (refused,) if len(batch) == 1 else np.unravel_index(refused, batch)
    members = tuple(index_like(axis, state.z) for axis in places)
    f_rows, h_rows = f.select(members), h.select(members, state.z.shape)  # pyright: ignore
    if f_rows is None or h_rows is None:
        return None
    return RefusedRows(refused, f_rows, h_rows, rule, replace(rule, batch_ndim=1))  # pyright: ignore[reportArgumentType]
