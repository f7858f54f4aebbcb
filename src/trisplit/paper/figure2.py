"""[YMS21] Figure 2: relax-and-round with the paper's TOS and with today's, against Frank-Wolfe, on QAPLIB.

All methods start from the same point and stop at the first t = 1, 2, 4, 8, ... at which both errors are at most 1e-5;
the last iterate is rounded to the nearest permutation. One draw of the initial point says little, so there are ten of
each of two kinds.
"""

import multiprocessing
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import NamedTuple

from threadpoolctl import threadpool_limits

import trisplit
from trisplit import qap
from trisplit.errors import InputError
from trisplit.machine import machine
from trisplit.paper.batches import run_batch
from trisplit.paper.instances import paper_instances
from trisplit.paper.methods import METHODS, STARTS, doubling, errors, objective, start_point
from trisplit.paper.run_store import RunStore, Value

COMPARED = ("fw", "tos", "tos-hg", "today")
BATCHED = ("tos", "tos-hg")
TOL, MAX_ITER, TIME_LIMIT, SEEDS = 1e-5, 1_000_000, 60.0, 10
QUICK = ("chr12a", "chr15b", "chr15c", "esc16a", "nug12", "rou15", "scr12", "tai12a")
QUICK_MAX_ITER, QUICK_TIME_LIMIT, QUICK_SEEDS = 32_768, 60.0, 1
Report = Callable[[str, float], None]


class Job(NamedTuple):
    """One run: a method from one initial point."""

    instance: str
    start: str
    seed: int
    method: str


class Run(NamedTuple):
    """What came of a job. Without seconds: all that is here is the same in every run that no time limit ended."""

    instance: str
    start: str
    seed: int
    method: str
    iterations: int
    converged: bool
    cost: int


def settings(quick: bool) -> dict[str, Value]:
    """Return what all runs have in common."""
    return {
        "experiment": "figure2",
        "version": trisplit.__version__,
        "tol": TOL,
        "max_iter": QUICK_MAX_ITER if quick else MAX_ITER,
        "time_limit": QUICK_TIME_LIMIT if quick else TIME_LIMIT,
    }


def open_store(folder: Path, quick: bool) -> RunStore:
    """Open the finished runs of a folder; raise an `InputError` if they were made in another way."""
    return RunStore(folder / "figure2.jsonl", settings(quick), len(Job._fields))


def jobs(instances: Sequence[str], seeds: int) -> list[Job]:
    """Return all runs, in the order of the CSV file."""
    return [Job(*job) for job in _product(instances, STARTS, range(seeds), COMPARED)]


def _product(instances: Sequence[str], starts: Iterable[str], seeds: range, methods: Sequence[str]) -> Iterator[tuple]:
    return ((name, start, seed, m) for name in instances for start in starts for seed in seeds for m in methods)


def run(
    folder: Path,
    quick: bool,
    report: Report,
    *,
    instances: Sequence[str] | None = None,
    workers: int | None = None,
    device: str = "cpu",
) -> RunStore:
    """Do what is not yet in `folder`; the largest instances come first, as they take the longest.

    On a GPU all initial points of an instance go together, for the splittings with the paper's step.
    """
    wanted = jobs(instances or (QUICK if quick else paper_instances()), QUICK_SEEDS if quick else SEEDS)
    limits = settings(quick)
    store = open_store(folder, quick)
    missing = [job for job in wanted if tuple(job) not in store.lines]
    sizes = {name: qap.load(name).n for name in {job.instance for job in missing}}
    missing.sort(key=lambda job: -sizes[job.instance])
    tasks, together = [], defaultdict(list)
    for job in missing:
        if device != "cpu" and job.method in BATCHED:
            together[job.instance, job.method].append(job)
        else:
            tasks.append(job)
    weight = {job: float(sizes[job.instance]) ** 3 for job in missing}
    whole, done, left = sum(weight.values()), 0.0, len(missing)
    try:
        with Pool(workers) as pool, ThreadPoolExecutor(1) as gpu:
            futures = {gpu.submit(run_together, batch, limits, device) for batch in together.values()}
            futures |= {pool.submit(run_alone, job, limits) for job in tasks}
            for lines in _as_they_end(futures):
                for job, line in lines:
                    store.add(line)
                    done, left = done + weight[job], left - 1
                report(f"{job.instance}, {len(wanted) - left:,} of {len(wanted):,} runs", done / whole)
    except BrokenProcessPool as error:
        raise InputError(
            f"a worker died, perhaps for want of memory; finished runs are kept in {folder}: call again"
        ) from error
    finally:
        store.close()
    return store


def _as_they_end(futures: set[Future]) -> Iterator[list[tuple[Job, list[Value]]]]:
    try:
        while futures:
            ended, futures = wait(futures, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()
    finally:
        for future in futures:
            future.cancel()


class Pool(ProcessPoolExecutor):
    """Processes that end at once when their work is no longer wanted."""

    def __init__(self, workers: int | None) -> None:
        super().__init__(workers, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_work)

    def submit(self, *task: object) -> Future:
        """Hand over a call, for which a process may start."""
        with no_ctrl_c():
            return super().submit(*task)  # pyright: ignore

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for child in multiprocessing.active_children():
                child.terminate()
        self.shutdown(cancel_futures=True)


@contextmanager
def no_ctrl_c() -> Iterator[None]:
    """Keep Ctrl-C back until the end; a process that starts meanwhile inherits that it does not hear it.

    Else one that still imports would print where it was, and one that is half started would miss its instructions.
    """
    if current_thread() is not main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(True))
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _begin_work() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that has the store
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the one that has the store is gone, killed perhaps: it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run_alone(job: Job, limits: dict[str, Value]) -> list[tuple[Job, list[Value]]]:
    """Do one run, on one core."""
    with threadpool_limits(1):
        return [(job, run_job(job, limits))]


def run_job(job: Job, limits: dict[str, Value]) -> list[Value]:
    """Do one run and return its line: that of a `Run`, the seconds and the machine."""
    instance, tol = qap.load(job.instance), float(limits["tol"])
    f = objective(instance)
    x0 = start_point(instance.n, job.start, job.seed)
    looks = METHODS[job.method](instance, x0, doubling(int(limits["max_iter"])), float(limits["time_limit"]))
    for look in looks:
        converged = max(errors(f, look.X, job.method)) <= tol
        if converged:
            break
    cost = instance.cost(qap.round_to_permutation(look.X))
    return [*job, look.iteration, converged, int(cost), round(look.seconds, 4), machine()]


def run_together(batch: list[Job], limits: dict[str, Value], device: str) -> list[tuple[Job, list[Value]]]:
    """Do runs of one method on one instance as a batch; seconds are not those of one run, and left out."""
    instance = qap.load(batch[0].instance)
    points = [start_point(instance.n, job.start, job.seed) for job in batch]
    looks, tol = doubling(int(limits["max_iter"])), float(limits["tol"])
    lines = []
    for job, reached in zip(batch, run_batch(instance, points, batch[0].method, looks, tol, device), strict=True):
        cost = instance.cost(qap.round_to_permutation(reached.X))
        line = [*job, reached.iterations, reached.converged, int(cost), None, machine(device)]
        lines.append((job, line))
    return lines


def runs(store: RunStore) -> list[Run]:
    """Return the finished runs: by instance as QAPLIB lists them, then in the order of `jobs`."""
    place = {name: k for k, name in enumerate(qap.names())}
    starts = list(STARTS)

    def order(run: Run) -> tuple[int, ...]:
        return place[run.instance], starts.index(run.start), run.seed, COMPARED.index(run.method)

    return sorted((Run(*line[: len(Run._fields)]) for line in store.lines.values()), key=order)  # pyright: ignore


def machines(store: RunStore) -> list[str]:
    """Return where the runs were made and how many there; on a GPU, which, as no limit of seconds ends them there."""
    own: dict[str, list[list[Value]]] = defaultdict(list)
    for line in store.lines.values():
        own[str(line[-1])].append(line)
    said = []
    for name, lines in own.items():
        batched = "" if any(line[-2] is not None for line in lines) else f" without a limit of seconds, {_of(lines)}"
        said.append(f"{name}: {len(lines):,} runs{batched}")
    return said


def _of(lines: list[list[Value]]) -> str:
    methods, names = {str(line[3]) for line in lines}, {str(line[0]) for line in lines}
    return f"{' and '.join(sorted(methods))} on {', '.join(sorted(names))}"
