"""Solve a quadratic assignment problem by relax-and-round from several starts, [YMS21] section 5."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from math import isnan
from numbers import Real
from time import perf_counter
from typing import NamedTuple

import numpy as np

from trisplit.errors import InputError
from trisplit.qap.fixed import Fixed, reduced
from trisplit.qap.instance import Instance, as_permutation
from trisplit.qap.relaxation import Matrices, as_instance, relax
from trisplit.qap.rounding import round_to_permutation, swap_descent
from trisplit.result import Result, Status
from trisplit.solve import Rng, as_generator, check_callback, check_options

DEFAULT_STARTS = 10
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
    """One start: its number, the seconds since the call, the cost that it gave and the best cost so far."""

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
        One row per start.
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
    rng: Rng = None,
    callback: Callable[[QAPTraceRow], object] | None = None,
) -> QAPResult:
    """Look for a permutation p with a small cost sum_ij A[i,j] B[p[i],p[j]] (+ sum_i C[i,p[i]]).

    Every start relaxes the problem to the Birkhoff polytope, finds a certified stationary point by three operator
    splitting from a random point near the barycentre, rounds it to the nearest permutation and, with `polish`,
    exchanges pairs until no exchange helps. The best permutation of all starts is returned.

    Parameters
    ----------
    A, B : arrays of shape (n, n), or an `Instance` in place of A
    C : array of shape (n, n), optional
        Linear costs.
    starts : int, optional
        10 if left out; without end (until `time_limit`) if a time limit is given.
    polish : bool
        Whether to improve each rounded permutation by exchanges of pairs.
    time_limit : float, optional
        In seconds.
    max_iter : int, optional
        Iterations per start.
    target : float, optional
        Stop at this cost or below.
    x0 : array of int, optional
        A permutation to improve on.
    fixed : mapping {row: column}, or array of int of shape (m, 2), optional
        Rows of A with the rows of B that they must go to; `x0` keeps them as well. `relaxation` is then that of the
        problem of the free rows, see `reduced`.
    rng : int or Generator, optional
        The same seed gives the same answer when stopped by starts and iterations.
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
    if starts is None and time_limit is None:
        starts = DEFAULT_STARTS
    seed, generator = as_generator(rng)
    search = _Search(instance, polish, begin, None if time_limit is None else begin + time_limit, target, callback)
    known = None if x0 is None else as_permutation(x0, instance.n, name="x0")
    status = search.run(generator, starts, max_iter, known)
    best = search.best
    if best is None:
        raise KeyboardInterrupt
    return QAPResult(
        permutation=best[1],
        cost=best[0],
        best_known=instance.best_known,
        lower_bound=None,
        status=status,
        relaxation=best[2],
        trace=tuple(search.rows),
        seed=seed,
        elapsed=perf_counter() - begin,
    )


@dataclass
class _Search:
    """The starts of one call and the best of them."""

    instance: Instance
    polish: bool
    begin: float
    deadline: float | None
    target: float | None
    callback: Callable[[QAPTraceRow], object] | None

    def __post_init__(self) -> None:
        self.best: tuple[int | float, np.ndarray, Result | None] | None = None
        self.rows: list[QAPTraceRow] = []

    def run(
        self, rng: np.random.Generator, starts: int | None, max_iter: int | None, known: np.ndarray | None
    ) -> QAPStatus:
        """Improve on the known permutation, then run starts until one of the stopping rules holds."""
        try:
            if known is not None:
                self.offer(known, None)
            k, stop = 0, self.reached()
            while stop is None and (starts is None or k < starts):
                k += 1
                left = None if self.deadline is None else max(self.deadline - perf_counter(), 1e-3)
                relaxed = relax(self.instance, split=SPLIT, max_iter=max_iter, time_limit=left, rng=rng.spawn(1)[0])
                cost = self.offer(round_to_permutation(relaxed.x), relaxed)
                row = QAPTraceRow(k, perf_counter() - self.begin, cost, cost if self.best is None else self.best[0])
                self.rows.append(row)
                asked = self.callback is not None and self.callback(row)
                if relaxed.status is Status.INTERRUPTED:
                    return QAPStatus.INTERRUPTED
                stop = self.reached() or (QAPStatus.CALLBACK if asked else None)
        except KeyboardInterrupt:
            return QAPStatus.INTERRUPTED
        return stop or QAPStatus.FINISHED

    def offer(self, permutation: np.ndarray, relaxed: Result | None) -> int | float:
        """Keep a permutation if it is the best so far, then polish it; return the cost in the end."""
        cost = self.keep(permutation, relaxed)
        interrupted = relaxed is not None and relaxed.status is Status.INTERRUPTED
        if not self.polish or interrupted:
            return cost
        return self.keep(swap_descent(self.instance, permutation, deadline=self.deadline), relaxed)

    def keep(self, permutation: np.ndarray, relaxed: Result | None) -> int | float:
        """Remember a permutation if it is the best so far; return its cost."""
        cost = self.instance.cost(permutation)
        if self.best is None or cost < self.best[0]:
            self.best = (cost, permutation, relaxed)
        return cost

    def reached(self) -> QAPStatus | None:
        """Return the status if the search may end now: not before there is an answer."""
        if self.best is None:
            return None
        cost, instance = self.best[0], self.instance
        if instance.proven and instance.best_known is not None and cost <= instance.best_known:
            return QAPStatus.OPTIMAL
        if self.target is not None and cost <= self.target:
            return QAPStatus.TARGET
        if self.deadline is not None and perf_counter() >= self.deadline:
            return QAPStatus.TIME_LIMIT
        return None
