"""What a search has found so far, whether that is enough, and what `solve` returns of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from math import inf
from time import perf_counter
from typing import NamedTuple

import numpy as np

from trisplit.qap.bounds import LowerBound
from trisplit.qap.instance import Instance
from trisplit.qap.local_search import Outcome
from trisplit.qap.memetic import Member
from trisplit.qap.rounding import swap_descent
from trisplit.result import Result

KEPT = 30  # permutations of starts for the populations


class QAPStatus(Enum):
    """Why a search ended; the value is the message.

    Examples
    --------
    >>> QAPStatus.OPTIMAL.value
    'the cost equals the proven optimum'
    """

    FINISHED = "all starts are done"
    TARGET = "the target was reached"
    OPTIMAL = "the cost equals the proven optimum"
    TIME_LIMIT = "stopped at time_limit; this is the best permutation found by then"
    INTERRUPTED = "interrupted; this is the best permutation found by then"
    CALLBACK = "stopped by the callback"


class QAPTraceRow(NamedTuple):
    """What one member of the portfolio has done: a start, a kick, a round of an island, a lower bound.

    Attributes
    ----------
    number : int
        From 1.
    member : str
        Who: "start", "kick" (of a permutation, then restarts on faces), the name of a memetic recipe, "gpu starts",
        "gpu tabu", "bound", "enumeration", or "sums" (of the rows, matched where there is no time for a start).
    seconds : float
        Since the call; with those of earlier calls, if the search was resumed.
    cost : int or float
        The best that it has found; of a bound, the best so far.
    best : int or float
        The best so far.
    bound : int or float or None
        The best lower bound so far.

    Examples
    --------
    >>> import trisplit as ts
    >>> res = ts.qap.solve(ts.qap.load("nug12"), starts=1, rng=0)
    >>> res.trace[0].member, res.trace[0].number
    ('start', 1)
    """

    number: int
    member: str
    seconds: float
    cost: int | float
    best: int | float
    bound: int | float | None


@dataclass(frozen=True)
class QAPResult:
    """The answer of `solve`.

    Attributes
    ----------
    permutation : array of int
        Row i of A goes to row permutation[i] of B, counted from 0.
    cost : int or float
        sum_ij A[i,j] B[p[i],p[j]] + sum_i C[i,p[i]], exact for integer data.
    best_known : int, float or None
        The best cost known for the instance.
    bound : LowerBound or None
        A proven lower bound with its certificate; None where none was computed in the time.
    status : QAPStatus
    relaxation : Result or None
        The relaxed problem of the start with the lowest cost, with its certificate; None if there was no start, or
        no time for the certificate.
    trace : tuple of QAPTraceRow
        Who has contributed what, and when.
    starts : int
        How many starts on the relaxed problem were done.
    restarts : int
        How many restarts on faces were done.
    moves : int
        How many moves of tabu search were done.
    duplicates : int
        How many starts and kicks ended at a permutation that an earlier one had found.
    seed : int or None
    device : str
        "cpu", or the name of the GPU that took part.
    elapsed : float
        Seconds.

    Examples
    --------
    >>> import trisplit as ts
    >>> res = ts.qap.solve(ts.qap.load("nug12"), starts=2, rng=0)
    >>> res.cost, res.best_known, len(res.permutation)
    (578, 578, 12)
    """

    permutation: np.ndarray
    cost: int | float
    best_known: int | float | None
    bound: LowerBound | None = field(repr=False)
    status: QAPStatus
    relaxation: Result | None
    trace: tuple[QAPTraceRow, ...] = field(repr=False)
    starts: int
    restarts: int
    moves: int
    duplicates: int
    seed: int | None
    device: str
    elapsed: float

    @property
    def lower_bound(self) -> int | float | None:
        """The value of the lower bound, or None."""
        return None if self.bound is None else self.bound.value

    @property
    def gap(self) -> float | None:
        """(cost - best_known) / max(|best_known|, 1), or None."""
        return None if self.best_known is None else (self.cost - self.best_known) / max(abs(self.best_known), 1)

    @property
    def bound_gap(self) -> float | None:
        """(cost - lower_bound) / max(|cost|, 1), or None."""
        return None if self.lower_bound is None else (self.cost - self.lower_bound) / max(abs(self.cost), 1)

    @property
    def message(self) -> str:
        """What the status means."""
        return self.status.value


class Point(NamedTuple):
    """Where a start ended on the relaxed problem, after how many iterations, and the cost that it was worth."""

    cost: int | float
    z: np.ndarray
    iterations: int


@dataclass
class Incumbent:
    """What the members of one call have found so far, and whether that is enough."""

    instance: Instance
    begin: float
    deadline: float | None
    target: float | None
    callback: Callable[[QAPTraceRow], object] | None
    exact: bool = True  # whether the costs of the instance are those of the user, not only up to rounding

    def __post_init__(self) -> None:
        self.best: Member | None = None
        self.glimpsed: Member | None = None  # by a member that has not ended: counts if it never does
        self.restored: Member | None = None  # the best of a checkpoint
        self.point: Point | None = None
        self.glimpsed_point: Point | None = None
        self.bound: LowerBound | None = None
        self.pool: list[Member] = []  # the best of the starts, with different costs
        self.rows: list[QAPTraceRow] = []
        self.seen: set[int] = set()  # digests of permutations
        self.earlier = 0.0  # seconds in runs before this one
        self.starts = self.kicks = self.restarts = self.moves = self.duplicates = 0
        self.gpu_starts = 0
        self.status: QAPStatus | None = None

    def rated(self, permutation: np.ndarray) -> Member:
        """Return a permutation with its exact cost."""
        return Member(self.instance.cost(permutation), permutation)

    def offer(self, permutation: np.ndarray, *, polish: bool = False) -> Member:
        """Keep a permutation if it is the best so far, then what swaps make of it; return the last."""
        found = self.rated(permutation)
        self.best = better(self.best, found)
        if polish:
            found = self.rated(swap_descent(self.instance, permutation, deadline=self.deadline))
            self.best = better(self.best, found)
        return found

    def glimpse(self, outcome: Outcome) -> bool:
        """Remember what a member has found before it ends, and say whether it is the best by now."""
        found, before = self.rated(outcome.permutation), self.best_by_now()
        self.glimpsed = better(self.glimpsed, found)
        if self.glimpsed_point is None and outcome.point is not None:
            self.glimpsed_point = Point(found.cost, outcome.point, outcome.iterations)
        return before is None or found.cost < before.cost

    def keep_point(self, outcome: Outcome, cost: int | float) -> None:
        """Remember where a start ended if its cost is the lowest so far."""
        if outcome.point is not None and (self.point is None or cost < self.point.cost):
            self.point = Point(cost, outcome.point, outcome.iterations)

    def take_start(self, outcome: Outcome, *, kicked: bool, polish: bool) -> Member:
        """Add the outcome of a start or a kick, and return what swaps have made of it."""
        self.starts += not kicked
        self.kicks += kicked
        self.restarts += outcome.restarts
        found = self.offer(outcome.permutation, polish=polish)
        self.keep_point(outcome, found.cost)
        label = int.from_bytes(blake2b(found.permutation.tobytes(), digest_size=8).digest())
        self.duplicates += label in self.seen
        self.seen.add(label)
        self.keep(found)
        self.add_row("kick" if kicked else "start", found.cost)
        return found

    def keep(self, found: Member) -> None:
        """Add to the permutations for the populations."""
        if all(found.cost != other.cost for other in self.pool):
            self.pool.append(found)
            self.pool.sort(key=lambda member: member.cost)
            del self.pool[KEPT:]

    def take_bound(self, bound: LowerBound) -> bool:
        """Keep the bound if it is the best so far, and say whether the search is over."""
        if self.bound is None or bound.value > self.bound.value:
            self.bound = bound
        assert self.best is not None
        return self.status is not None or self.add_row("bound", self.best.cost)

    def add_row(self, member: str, cost: int | float) -> bool:
        """Add a row to the trace, and say whether the search is over."""
        assert self.best is not None
        bound = None if self.bound is None else self.bound.value
        row = QAPTraceRow(len(self.rows) + 1, member, self.seconds(), cost, self.best.cost, bound)
        self.rows.append(row)
        asked = self.callback is not None and self.callback(row)
        self.status = self.reached() or (QAPStatus.CALLBACK if asked else None)
        return self.status is not None

    @property
    def optimum(self) -> int | float:
        """A cost that is known to be optimal if there is a permutation for it."""
        values = [-inf]
        if self.instance.proven and self.instance.best_known is not None:
            values.append(self.instance.best_known)
        if self.bound is not None:
            values.append(self.bound.value)
        return max(values)

    @property
    def goal(self) -> int | float:
        """The cost at which the search is over."""
        return max(self.optimum, -inf if self.target is None else self.target)

    def reached(self) -> QAPStatus | None:
        """Return the status if the search may end now: not before there is an answer."""
        if self.best is None:
            return None
        if self.best.cost <= self.optimum:
            return QAPStatus.OPTIMAL
        if self.target is not None and self.best.cost <= self.target:
            return QAPStatus.TARGET
        return QAPStatus.TIME_LIMIT if self.late() else None

    def seconds(self) -> float:
        """Return how long the search has taken."""
        return self.earlier + perf_counter() - self.begin

    def late(self) -> bool:
        """Say whether the time is over."""
        return self.deadline is not None and perf_counter() >= self.deadline

    def best_by_now(self) -> Member | None:
        """Return the best permutation, those of members that have not ended included."""
        return better(self.best, self.glimpsed)

    def end(self) -> QAPStatus:
        """Return why the search has ended, once what was cut short counts as well."""
        if self.status is None:
            self.status = QAPStatus.TIME_LIMIT if self.late() else QAPStatus.FINISHED
        self.best = better(self.best, self.restored)
        if self.status in (QAPStatus.INTERRUPTED, QAPStatus.TIME_LIMIT):
            self.best = self.best_by_now()
        self.point = self.point or self.glimpsed_point
        if self.best is not None and self.best.cost <= self.optimum:
            self.status = QAPStatus.OPTIMAL
        return self.status


def better(one: Member | None, other: Member | None) -> Member | None:
    """Return the one with the smaller cost, the first if they are equal."""
    if one is None or other is None:
        return one or other
    return other if other.cost < one.cost else one
