"""Solve a quadratic assignment problem: relax and round, [YMS21] section 5, improve, and bound from below."""

import os
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from math import isnan
from numbers import Real
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from trisplit.errors import GPUWarning, InputError
from trisplit.options import Rng, as_generator, check_options
from trisplit.qap import time_model
from trisplit.qap.checkpoints import Keeper
from trisplit.qap.constraints import Way, constrained
from trisplit.qap.fixed import Fixed
from trisplit.qap.gpu.device import check_device, device_of
from trisplit.qap.gpu.search import GpuSearch, present
from trisplit.qap.gpu.worker import GpuWorker, outside
from trisplit.qap.incumbent import Incumbent, QAPResult, QAPStatus, QAPTraceRow
from trisplit.qap.multistart import StartPlan, derived
from trisplit.qap.portfolio import Portfolio
from trisplit.qap.relaxation import Matrices, certified, check_size
from trisplit.qap.task_pool import TaskPool, check_workers
from trisplit.qap.warmup import load_code

DEFAULT_STARTS = 10
MAX_ITERATIONS, ENDLESS_ITERATIONS, SMALL_ITERATIONS = 2000, 100, 50  # of a start
SMALL = 40  # rows
GPU_ITERATIONS = 200  # of a start on a GPU: more would make better starts, and fewer of them
GPU_KEY = 2**31 + 2  # of seeds
TOL = 1e-5
FOR_EVER = 1e9  # seconds: a longer time limit is none
CONSTRAINTS_SHARE = 0.2  # of the time, for a permutation that keeps off forbidden pairs
SLACK = 0.1  # seconds after the time limit in which a last certificate may end
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
    forbidden: ArrayLike | None = None,
    faces: bool = True,
    workers: int | Executor | None = None,
    device: str = "cpu",
    rng: Rng = None,
    callback: Callable[[QAPTraceRow], object] | None = None,
    checkpoint: str | os.PathLike | None = None,
) -> QAPResult:
    """Look for a permutation p with a small cost sum_ij A[i,j] B[p[i],p[j]] (+ sum_i C[i,p[i]]).

    Every start relaxes the problem to the Birkhoff polytope, goes to a certified stationary point by three operator
    splitting from a random point, rounds it to the nearest permutation, and swaps pairs until none helps. What the
    starts have found is the first population of memetic tabu searches, which tell each other of their best; now and
    then a permutation of theirs is improved by splittings on faces of the polytope. A lower bound says how far the
    answer can be from the optimum. `trace` tells who has contributed what.

    Parameters
    ----------
    A, B : arrays of shape (n, n), or an `Instance` in place of A
        A may be smaller than B: its rows then go to different rows of B, and some of these stay free.
    C : array of the shape (rows of A, rows of B), optional
        Linear costs.
    starts : int, optional
        10 if left out; each is followed by one round of all memetic searches later. If a time limit is given and this
        is left out, up to 10 starts in a twentieth of the time, then rounds without end.
    polish : bool
        Whether to swap pairs, and to go on to the memetic searches. Without, the starts go on to faces of the
        polytope; without end, only the best 15 % of them do, and about every fifth start is replaced by a kick: the
        best permutation, changed on a large face, is the next to be improved.
    time_limit : float, optional
        In seconds. A tenth of it is for a lower bound, more if nothing better is found for long. What does not count:
        the first search after an installation compiles its code, for about half a minute; the first one of a process
        with a GPU loads PyTorch, and compiles for the GPU what is new.
    max_iter : int, optional
        Iterations of each start on the relaxed problem. If left out, a start ends at a relative error of 1e-5, or after
        2,000 iterations; in a search without end after 100, or 50 up to 40 rows: the rounded permutations are hardly
        better later.
    target : float, optional
        Stop at this cost or below.
    x0 : array, optional
        A permutation to improve on; or a matrix of the shape of C, where the first start begins. The other starts begin
        near the barycentre, see `starting_point`.
    fixed : mapping {row: column}, or array of int of shape (m, 2), optional
        Rows of A with the rows of B that they must go to; `x0` keeps them as well. `relaxation` is then that of the
        problem of the free rows, see `reduced`.
    forbidden : array of int of shape (m, 2), or of bool of the shape of C, optional
        Rows of A with rows of B that they must not go to: as pairs, or True where that is so.
    faces : bool
        Whether to use splittings on faces.
    workers : int or concurrent.futures.Executor, optional
        How many threads to use, all cores if left out; or an executor, such as that of a Dask or Ray cluster. What a
        worker that dies was doing is done again.
    device : {"cpu", "cuda", "cuda:K", "auto"}
        "cuda": a GPU takes part, by thousands of starts and hundreds of tabu searches at once, see docs/gpu.md; "auto":
        if there is one. Without one, or if it fails, a warning says so and the processor goes on. Matrices that are
        arrays on a GPU mean that one. Needs PyTorch.
    rng : int or Generator, optional
        The same seed gives the same answer when stopped by starts and iterations, whatever the workers are.
    callback : callable, optional
        Sees each `QAPTraceRow`; a true return value stops.
    checkpoint : path, optional
        Write the search there now and then, and resume from it if it exists and belongs to this search. A time limit
        is one for each call.

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
    check_options(tol=0.0, max_iter=1 if max_iter is None else max_iter, time_limit=time_limit, callback=callback)
    _check(starts, target, polish=polish, faces=faces)
    check_workers(workers)
    check_device(device)
    device = (device_of(A, B, C) or device) if device == "cpu" else device
    end = None if time_limit is None or time_limit > FOR_EVER else begin + time_limit
    soon = None if end is None else begin + CONSTRAINTS_SHARE * (end - begin)
    instance, way = constrained(A, B, C, fixed=fixed, forbidden=forbidden, deadline=soon)
    check_size(instance)
    if end is not None:
        loaded = load_code(instance, end, polish=bool(polish), faces=bool(faces), device=device)
        begin, end = begin + loaded.seconds, end + loaded.seconds
        if not loaded.answered:
            silent = "the GPU does not answer, and the search goes on without it; see with `nvidia-smi` what it does"
            warnings.warn(silent, GPUWarning, stacklevel=outside())
            device = "cpu"
    deadline = None if end is None else _deadline(instance.n, end)
    point, known = _start(x0, way)
    seed, generator = as_generator(rng)
    count = None if starts is None and time_limit is not None else int(starts or DEFAULT_STARTS)
    if device != "cpu" and count is not None and present(device):
        count = min(count, DEFAULT_STARTS)  # on the processor, and rounds of memetic searches
    plan = _start_plan(generator, count, max_iter, point, deadline, n=instance.n, faces=bool(faces))
    # A linear term that was computed in floating point changes costs, and so bounds, by rounding.
    exact = instance is way.whole or instance.C is None or instance.C.dtype.kind == "i"
    incumbent = Incumbent(instance, begin, deadline, target, callback, exact)
    portfolio = Portfolio(plan, incumbent, bool(polish), None if deadline is None else time_limit)
    if checkpoint is not None:
        start = None if x0 is None else way.restrict(x0)
        problem = {"A, B, C": way.whole.sha256(), "fixed": way.expand.pairs, "forbidden": way.forbidden, "x0": start}
        keeper = portfolio.keeper = Keeper(checkpoint, portfolio, problem, seed)
        keeper.resume(portfolio, same_seed=rng is not None)
        seed = keeper.seed
    if device != "cpu":
        iterations = GPU_ITERATIONS if max_iter is None else max_iter
        key = int(derived(plan.seed, GPU_KEY).generate_state(1)[0])
        search = GpuSearch(instance, device, key, iterations, polish=bool(polish), over=incumbent.late)
        portfolio.gpu = GpuWorker(search, None if starts is None else int(starts))
    try:
        for permutation in known if incumbent.best is None else ():
            incumbent.keep(incumbent.offer(permutation, polish=bool(polish)))
        incumbent.status = incumbent.reached()
        if incumbent.status is None:
            hands = workers if workers is None or isinstance(workers, Executor) else int(workers)
            with TaskPool(instance, hands, deadline, portfolio.found, faces=bool(faces and not polish)) as pool:
                portfolio.run(pool)
    except KeyboardInterrupt:
        incumbent.status = QAPStatus.INTERRUPTED
    status = incumbent.end()
    portfolio.end()
    if incumbent.best is None:
        raise KeyboardInterrupt
    at, permutation = incumbent.point, way(incumbent.best.permutation)
    in_time = end is None or time_model.fits(time_model.CERTIFICATE, instance.n, end + SLACK)
    return QAPResult(
        permutation=permutation,
        cost=way.cost(permutation),
        best_known=instance.best_known,
        bound=incumbent.bound,
        status=status,
        relaxation=certified(instance, at.z, at.iterations, TOL) if at is not None and in_time else None,
        trace=tuple(incumbent.rows),
        starts=incumbent.starts + incumbent.gpu_starts,
        restarts=incumbent.restarts,
        moves=incumbent.moves,
        duplicates=incumbent.duplicates,
        seed=seed,
        device="cpu" if portfolio.gpu is None else portfolio.gpu.search.name,
        elapsed=incumbent.seconds(),
    )


def _check(starts: object, target: object, **flags: object) -> None:
    """Raise an `InputError` for an option that means nothing."""
    if starts is not None and (isinstance(starts, bool) or not isinstance(starts, int | np.integer) or starts < 1):
        raise InputError(f"`starts` must be an integer >= 1, got {starts!r}; try {DEFAULT_STARTS}")
    if target is not None and (isinstance(target, bool) or not isinstance(target, Real) or isnan(target)):
        raise InputError(f"`target` must be a number, got {target!r}; None sets no target")
    for name, flag in flags.items():
        if not isinstance(flag, bool | np.bool_):
            raise InputError(f"`{name}` must be True or False, got {flag!r}; choose one")


def _deadline(n: int, end: float) -> float:
    """Return when the search is to end: a table of swaps that is begun is filled, and a last certificate comes."""
    deadline = end - time_model.FILL * n**3
    if time_model.fits(time_model.START + time_model.CERTIFICATE, n, deadline):
        deadline -= time_model.CERTIFICATE * n**3
    return deadline


def _start(x0: np.ndarray | None, way: Way) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """Return x0 if it is a point to start from, and permutations of the inner problem that are known."""
    known = [] if way.known is None else [way.known]
    if x0 is None:
        return None, known
    start = way.restrict(x0)
    return (start, known) if start.ndim == 2 else (None, [start, *known])


def _start_plan(
    generator: np.random.Generator,
    starts: int | None,
    max_iter: int | None,
    point: np.ndarray | None,
    deadline: float | None,
    *,
    n: int,
    faces: bool,
) -> StartPlan:
    """Return what the starts are to be."""
    seeds = generator.bit_generator.seed_seq
    if not hasattr(seeds, "spawn"):
        raise InputError("`rng` cannot spawn seeds; pass an integer or `np.random.default_rng(seed)`")
    if max_iter is None:
        max_iter = MAX_ITERATIONS if starts is not None else ENDLESS_ITERATIONS if n > SMALL else SMALL_ITERATIONS
    root = seeds.spawn(1)[0]  # pyright: ignore[reportAttributeAccessIssue]
    return StartPlan(root, starts, max_iter, TOL, faces, point, deadline)
