"""Solve a quadratic assignment problem by relax-and-round from several starts, [YMS21] section 5, and on faces."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from enum import Enum
from math import isnan
from numbers import Real
from time import perf_counter
from typing import NamedTuple

import numpy as np

from trisplit.errors import InputError
from trisplit.qap.episodes import Outcome, Task
from trisplit.qap.fixed import Fixed, reduced
from trisplit.qap.instance import Instance, as_permutation
from trisplit.qap.relaxation import Matrices, as_instance, as_point, certified, check_size
from trisplit.qap.rounding import swap_descent
from trisplit.qap.search import Plan, Search, check_workers
from trisplit.result import Result
from trisplit.solve import Rng, as_generator, check_callback, check_options

DEFAULT_STARTS = 10
MAX_ITERATIONS, ENDLESS_ITERATIONS, SMALL_ITERATIONS = 2000, 100, 50  # of a start
SMALL = 40  # rows
TOL = 1e-5
FOR_EVER = 1e9  # seconds: a longer time limit is none
# The splitting whose iteration counts are far smaller with the adaptive step (see docs/qap.md).
SPLIT = 1


class QAPStatus(Enum):
    """Why a search ended; the value is the message."""

    FINISHED = "all starts are done"
    TARGET = "the target was reached"
    OPTIMAL = "the cost equals the proven optimum"
    TIME_LIMIT = "stopped at time_limit; this is the best permutation found by then"
    INTERRUPTED = "interrupted; this is the best permutation found by then"
    CALLBACK = "stopped by the callback"


class QAPTraceRow(NamedTuple):
    """One start, or one kick: its number, the seconds since the call, the cost that it gave and the best so far."""

    start: int
    seconds: float
    cost: int | float
    best: int | float


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
    lower_bound : int, float or None
        A proven lower bound; None where none is computed.
    status : QAPStatus
    relaxation : Result or None
        The relaxed problem behind `permutation`, with its certificate; None if `x0` was never improved on.
    trace : tuple of QAPTraceRow
        One row per start, and in a search without end per kick of the best permutation.
    starts : int
        How many starts on the relaxed problem were done.
    restarts : int
        How many restarts on faces were done.
    duplicates : int
        How many rows of the trace ended at a permutation that an earlier one had found.
    seed : int or None
    elapsed : float
        Seconds.
    """

    permutation: np.ndarray
    cost: int | float
    best_known: int | float | None
    lower_bound: int | float | None
    status: QAPStatus
    relaxation: Result | None
    trace: tuple[QAPTraceRow, ...]
    starts: int
    restarts: int
    duplicates: int
    seed: int | None
    elapsed: float

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


def solve(
    A: Matrices,
    B: np.ndarray | None = None,
    C: np.ndarray | None = None,
    *,
    starts: int | None = None,
    polish: bool = True,
    time_limit: float | None = None,
    max_iter: int | None = None,
    target: float | None = None,
    x0: np.ndarray | None = None,
    fixed: Fixed | None = None,
    faces: bool = True,
    workers: int | Executor | None = None,
    rng: Rng = None,
    callback: Callable[[QAPTraceRow], object] | None = None,
) -> QAPResult:
    """Look for a permutation p with a small cost sum_ij A[i,j] B[p[i],p[j]] (+ sum_i C[i,p[i]]).

    Every start relaxes the problem to the Birkhoff polytope, goes to a certified stationary point by three operator
    splitting from a random point, and rounds it to the nearest permutation. From there the splitting restarts on random
    faces of the polytope, where all but 6 or 12 rows stay in place, until twice as many restarts as there are rows have
    been in vain; with `polish`, pairs are exchanged until no exchange helps. The best permutation of all is returned.

    Parameters
    ----------
    A, B : arrays of shape (n, n), or an `Instance` in place of A
    C : array of shape (n, n), optional
        Linear costs.
    starts : int, optional
        10 if left out; without end (until `time_limit`) if a time limit is given. Then only the best 15 % of the
        starts go on to faces, and about every fifth start is replaced by a kick: the best permutation, changed on a
        large face, is the next to be improved.
    polish : bool
        Whether to improve what each start has found by exchanges of pairs; without end, only what is new best.
    time_limit : float, optional
        In seconds.
    max_iter : int, optional
        Iterations of each start on the relaxed problem. If left out, a start ends at a relative error of 1e-5, or after
        2,000 iterations; in a search without end after 100, or 50 up to 40 rows: the rounded permutations are hardly
        better later.
    target : float, optional
        Stop at this cost or below.
    x0 : array, optional
        A permutation to improve on; or a matrix of shape (n, n), where the first start begins. The other starts begin
        near the barycentre, see `starting_point`.
    fixed : mapping {row: column}, or array of int of shape (m, 2), optional
        Rows of A with the rows of B that they must go to; `x0` keeps them as well. `relaxation` is then that of the
        problem of the free rows, see `reduced`.
    faces : bool
        Whether to restart on faces; without, every start is relaxed and rounded, and no more.
    workers : int or concurrent.futures.Executor, optional
        How many threads to use, all cores if left out; or an executor, such as that of a Dask or Ray cluster. What a
        worker that dies was doing is done again.
    rng : int or Generator, optional
        The same seed gives the same answer when stopped by starts and iterations, whatever the workers are.
    callback : callable, optional
        Sees a `QAPTraceRow` after every start; a true return value stops.

    Returns
    -------
    QAPResult

    Examples
    --------
    >>> import trisplit as ts
    >>> nug12 = ts.qap.load("nug12")
    >>> res = ts.qap.solve(nug12, starts=3, rng=0)
    >>> res.cost == nug12.cost(res.permutation)
    True
    """
    begin = perf_counter()
    instance = as_instance(A, B, C)
    if fixed is not None:
        smaller, expand = reduced(instance, None, None, fixed)
        known = None if x0 is None else expand.restrict(x0)
        found = solve(
            smaller,
            starts=starts,
            polish=polish,
            time_limit=time_limit,
            max_iter=max_iter,
            target=target,
            x0=known,
            faces=faces,
            workers=workers,
            rng=rng,
            callback=callback,
        )
        p = expand(found.permutation)
        return replace(found, permutation=p, cost=instance.cost(p), elapsed=perf_counter() - begin)
    check_options(tol=0.0, max_iter=1 if max_iter is None else max_iter, time_limit=time_limit)
    if starts is not None and (isinstance(starts, bool) or not isinstance(starts, int | np.integer) or starts < 1):
        raise InputError(f"`starts` must be an integer >= 1, got {starts!r}; try {DEFAULT_STARTS}")
    if target is not None and (isinstance(target, bool) or not isinstance(target, Real) or isnan(target)):
        raise InputError(f"`target` must be a number, got {target!r}; None sets no target")
    check_callback(callback)
    check_workers(workers)
    check_size(instance)
    for name, flag in (("polish", polish), ("faces", faces)):
        if not isinstance(flag, bool | np.bool_):
            raise InputError(f"`{name}` must be True or False, got {flag!r}; choose one")
    if starts is None and time_limit is None:
        starts = DEFAULT_STARTS
    seed, generator = as_generator(rng)
    point, known = _start(x0, instance.n)
    endless = starts is None
    seeds = generator.bit_generator.seed_seq
    if not hasattr(seeds, "spawn"):
        raise InputError("`rng` cannot spawn seeds; pass an integer or `np.random.default_rng(seed)`")
    plan = Plan(
        instance,
        seeds,  # pyright: ignore[reportArgumentType]
        None if endless else int(starts),  # pyright: ignore[reportArgumentType]
        max_iter or (MAX_ITERATIONS if not endless else ENDLESS_ITERATIONS if instance.n > SMALL else SMALL_ITERATIONS),
        TOL,
        bool(faces),
        point,
        None if time_limit is None or time_limit > FOR_EVER else begin + time_limit,
    )
    record = _Record(instance, polish, begin, plan.deadline, target, callback, endless)
    status = record.search(plan, known, workers if workers is None or isinstance(workers, Executor) else int(workers))
    best = record.best
    if best is None:
        raise KeyboardInterrupt
    return QAPResult(
        permutation=best.permutation,
        cost=best.cost,
        best_known=instance.best_known,
        lower_bound=None,
        status=status,
        relaxation=None if best.point is None else certified(instance, best.point, best.iterations, TOL),
        trace=tuple(record.rows),
        starts=record.starts,
        restarts=record.restarts,
        duplicates=len(record.rows) - len(record.seen),
        seed=seed,
        elapsed=perf_counter() - begin,
    )


def _start(x0: np.ndarray | None, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return x0 as a point to start from, or as a permutation."""
    if x0 is None:
        return None, None
    if np.ndim(x0) == 2:
        return as_point(x0, n), None
    return None, as_permutation(x0, n, name="x0")


class _Best(NamedTuple):
    """A permutation, its cost and, if it came from a start, the point of the relaxed problem behind it."""

    cost: int | float
    permutation: np.ndarray
    point: np.ndarray | None
    iterations: int


@dataclass
class _Record:
    """What the episodes of one call have found so far, and whether that is enough."""

    instance: Instance
    polish: bool
    begin: float
    deadline: float | None
    target: float | None
    callback: Callable[[QAPTraceRow], object] | None
    endless: bool

    def __post_init__(self) -> None:
        self.best: _Best | None = None
        self.glimpsed: _Best | None = None  # in an episode that has not ended: counts if it never does
        self.rows: list[QAPTraceRow] = []
        self.seen: set[bytes] = set()
        self.origins: dict[bytes, tuple[np.ndarray | None, int]] = {}  # starts behind permutations that were best
        self.starts = self.restarts = 0
        self.status: QAPStatus | None = None

    def search(self, plan: Plan, known: np.ndarray | None, workers: int | Executor | None) -> QAPStatus:
        """Improve on the known permutation, then run episodes until one of the stopping rules holds."""
        incumbent = lambda: None if self.best is None else self.best.permutation  # noqa: E731
        try:
            if known is not None:
                self.offer(Outcome(known, None, 0, 0))
                self.seen.clear()  # of rows of the trace alone
            self.status = self.reached()
            if self.status is None:
                Search(plan, self.take, self.glimpse, incumbent).run(workers)
        except KeyboardInterrupt:
            self.status = QAPStatus.INTERRUPTED
        if self.status is None and self.deadline is not None and perf_counter() >= self.deadline:
            self.status = QAPStatus.TIME_LIMIT
        if self.status in (QAPStatus.INTERRUPTED, QAPStatus.TIME_LIMIT):
            self.best = self.better(self.best, self.glimpsed)
        return self.status or QAPStatus.FINISHED

    def take(self, task: Task, outcome: Outcome) -> bool:
        """Add the outcome of an episode, and say whether the search is over."""
        self.starts += task.incumbent is None
        self.restarts += outcome.restarts
        cost = self.offer(outcome)
        row = QAPTraceRow(len(self.rows) + 1, perf_counter() - self.begin, cost, self.best.cost)  # pyright: ignore
        self.rows.append(row)
        asked = self.callback is not None and self.callback(row)
        self.status = self.reached() or (QAPStatus.CALLBACK if asked else None)
        return self.status is not None

    def glimpse(self, outcome: Outcome) -> None:
        """Remember what an episode has found before it ends."""
        self.glimpsed = self.better(self.glimpsed, self.rated(outcome))

    def offer(self, outcome: Outcome) -> int | float:
        """Keep what an episode has found if it is the best so far, then polish it; return the cost in the end."""
        found, before = self.rated(outcome), self.best
        self.best = self.better(before, found)
        if self.polish and (not self.endless or self.best is found):
            polished = swap_descent(self.instance, found.permutation, deadline=self.deadline)
            found = found._replace(cost=self.instance.cost(polished), permutation=polished)
            self.best = self.better(self.best, found)
        if self.best is not None and self.best is not before:
            self.origins[self.best.permutation.tobytes()] = self.best.point, self.best.iterations
        self.seen.add(found.permutation.tobytes())
        return found.cost

    def rated(self, outcome: Outcome) -> _Best:
        point, iterations = outcome.point, outcome.iterations
        if outcome.kicked is not None:
            point, iterations = self.origins.get(outcome.kicked.tobytes(), (None, 0))
        return _Best(self.instance.cost(outcome.permutation), outcome.permutation, point, iterations)

    @staticmethod
    def better(one: _Best | None, other: _Best | None) -> _Best | None:
        """Return the one with the smaller cost, the first if they are equal."""
        if one is None or other is None:
            return one or other
        return other if other.cost < one.cost else one

    def reached(self) -> QAPStatus | None:
        """Return the status if the search may end now: not before there is an answer."""
        if self.best is None:
            return None
        cost, instance = self.best.cost, self.instance
        if instance.proven and instance.best_known is not None and cost <= instance.best_known:
            return QAPStatus.OPTIMAL
        if self.target is not None and cost <= self.target:
            return QAPStatus.TARGET
        if self.deadline is not None and perf_counter() >= self.deadline:
            return QAPStatus.TIME_LIMIT
        return None
