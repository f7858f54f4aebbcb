"""How far a run over a batch has come: the last state, the rows in its arrays, the finished problems, the looks.

One object that never changes, so that an interrupt finds either all of a change or nothing of it.
"""

from typing import NamedTuple

import numpy as np

from trisplit.algorithms.state import State
from trisplit.arrays import Array, index_like, namespace, take_rows
from trisplit.result import BatchTraceRow, Status
from trisplit.rows import Numbers, Rows

STATUSES = tuple(Status)


class Finished(NamedTuple):
    """Problems that ended at the same look: which, where, how good that is, when and why."""

    members: np.ndarray
    x: Array
    numbers: Numbers
    iteration: np.ndarray
    nit: np.ndarray
    status: np.ndarray  # places in STATUSES


class Snapshot(NamedTuple):
    """The state belongs to the rows; `state` is None before the first iteration."""

    rows: Rows
    state: State | None = None
    finished: tuple[Finished, ...] = ()
    trace: tuple[BatchTraceRow, ...] = ()

    def at(self, state: State) -> "Snapshot":
        """Return the run at its next state, whose rows are the same."""
        return Snapshot(self.rows, state, self.finished, self.trace)

    def with_finished(
        self, rows: Rows, places: np.ndarray, state: State, numbers: Numbers, status: Status | np.ndarray, nit: int
    ) -> "Snapshot":
        """Return the snapshot in which some of the given rows, or of a part of them, ended at the points of `state`."""
        if not len(places):
            return self
        members = rows.members[places]
        codes = np.full(len(rows.members), STATUSES.index(status)) if isinstance(status, Status) else status
        iteration = np.broadcast_to(state.t, rows.members.shape)[places]
        points, numbers = rows.points(state, places), numbers.take(places)
        piece = Finished(members, points, numbers, iteration, np.full(len(places), nit), codes[places])
        done = self.rows.done.copy()
        done[np.searchsorted(self.rows.members, members)] = True
        return self._replace(rows=self.rows._replace(done=done), finished=(*self.finished, piece))

    def gathered(self) -> Finished:
        """Return all finished problems together, in the order of the batch."""
        members = np.concatenate([piece.members for piece in self.finished])
        order = np.argsort(members)
        points = [piece.x for piece in self.finished]
        x = take_rows(namespace(points[0]).concat(points, axis=0), index_like(order, points[0]), 1)
        columns = zip(*(piece.numbers for piece in self.finished), strict=True)
        numbers = Numbers(*(np.concatenate(column)[order] for column in columns))
        rest = zip(*(piece[3:] for piece in self.finished), strict=True)
        return Finished(members[order], x, numbers, *(np.concatenate(column)[order] for column in rest))
