"""Solve a quadratic assignment problem by relax-and-round from several starts, [YMS21] section 5, and on faces."""

import os
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from math import isnan
from numbers import Real
from time import perf_counter

import numpy as np

from trisplit.errors import InputError
from trisplit.qap.checkpoints import Keeper
from trisplit.qap.crew import Crew, check_workers
from trisplit.qap.fixed import Fixed, reduced
from trisplit.qap.instance import as_permutation
from trisplit.qap.portfolio import Portfolio
from trisplit.qap.record import QAPResult, QAPStatus, QAPTraceRow, Record
from trisplit.qap.relaxation import Matrices, as_instance, as_point, certified, check_size
from trisplit.qap.search import Plan
from trisplit.solve import Rng, as_generator, check_callback, check_options

DEFAULT_STARTS = 10
MAX_ITERATIONS, ENDLESS_ITERATIONS, SMALL_ITERATIONS = 2000, 100, 50  # of a start
SMALL = 40  # rows
TOL = 1e-5
FOR_EVER = 1e9  # seconds: a longer time limit is none
# The splitting whose iteration counts are far smaller with the adaptive step (see docs/qap.md).
SPLIT = 1


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
    checkpoint: str | os.PathLike | None = None,
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
            checkpoint=checkpoint,
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
    deadline = None if time_limit is None or time_limit > FOR_EVER else begin + time_limit
    if max_iter is None:
        max_iter = MAX_ITERATIONS if not endless else ENDLESS_ITERATIONS if instance.n > SMALL else SMALL_ITERATIONS
    plan = Plan(
        seeds.spawn(1)[0],  # pyright: ignore[reportAttributeAccessIssue]
        None if starts is None else int(starts),
        max_iter,
        TOL,
        bool(faces),
        point,
        deadline,
    )
    record = Record(instance, begin, deadline, target, callback)
    portfolio = Portfolio(plan, record, bool(polish), None if deadline is None else time_limit)
    if checkpoint is not None:
        keeper = portfolio.keeper = Keeper(checkpoint, portfolio, x0, seed)
        keeper.resume(portfolio, same_seed=rng is not None)
        seed = keeper.seed
    try:
        if known is not None and record.best is None:
            record.keep(record.offer(known, polish=bool(polish)))
        record.status = record.reached()
        if record.status is None:
            hands = workers if workers is None or isinstance(workers, Executor) else int(workers)
            with Crew(instance, hands, deadline, portfolio.found, faces=bool(faces), polish=bool(polish)) as crew:
                portfolio.run(crew)
    except KeyboardInterrupt:
        record.status = QAPStatus.INTERRUPTED
    status = record.end()
    if portfolio.keeper is not None:
        portfolio.keeper.write(portfolio, now=True)
    if record.best is None:
        raise KeyboardInterrupt
    at = record.point
    return QAPResult(
        permutation=record.best.permutation,
        cost=record.best.cost,
        best_known=instance.best_known,
        bound=record.bound,
        status=status,
        relaxation=None if at is None else certified(instance, at.z, at.iterations, TOL),
        trace=tuple(record.rows),
        starts=record.starts,
        restarts=record.restarts,
        moves=record.moves,
        duplicates=record.duplicates,
        seed=seed,
        elapsed=record.seconds(),
    )


def _start(x0: np.ndarray | None, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return x0 as a point to start from, or as a permutation."""
    if x0 is None:
        return None, None
    if np.ndim(x0) == 2:
        return as_point(x0, n), None
    return None, as_permutation(x0, n, name="x0")
