"""The search over episodes: one after the other, on threads, or on anybody's executor.

With a number of starts, every start is an episode of its own, which depends on its number and the seed alone; outcomes
count in the order of their numbers, so the answer does not depend on who ran what, and when. With a time limit alone,
some episodes kick the best permutation known when they begin, and only the better starts go on to faces, so there the
clock has a say.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import inf
from queue import Empty, SimpleQueue
from threading import Event, Lock
from time import perf_counter

import numpy as np

from trisplit.errors import InputError
from trisplit.qap.episodes import Found, Outcome, Task, load_kernels, one_thread, run_episode, run_remote
from trisplit.qap.instance import Instance

FRESH = 0.8  # the share of new starts among the episodes of a search without end
GOOD = 0.15  # the share of starts from which a search without end goes on to faces
RECENT = 1000  # starts that the others are compared with
IN_FLIGHT = 8  # tasks handed at once to an executor that does not say how many workers it has
GRACE = 0.1  # seconds after the deadline for outcomes that are on their way


@dataclass
class Plan:
    """What the episodes of a search are to be; `starts` is None for a search without end."""

    instance: Instance
    seed: np.random.SeedSequence
    starts: int | None
    max_iter: int
    tol: float
    faces: bool
    x0: np.ndarray | None
    deadline: float | None
    rounded: list[float] = field(default_factory=list)  # costs of the starts so far

    def tasks(self, best: Callable[[], np.ndarray | None]) -> Iterator[Task]:
        """Yield the tasks, each made when it is asked for."""
        number, endless = 0, self.starts is None
        # All at once where it is known how many: how many a search asks for may depend on its workers.
        seeds = iter([] if self.starts is None else self.seed.spawn(self.starts))
        while self.starts is None or number < self.starts:
            seed = next(seeds, None) or self.seed.spawn(1)[0]
            incumbent = None
            if endless and self.faces and np.random.default_rng(seed).random() >= FRESH:
                incumbent = best()
            x0 = self.x0 if number == 0 else None
            worth = self.worth() if endless else inf
            yield Task(number, seed, incumbent, x0, self.max_iter, self.tol, self.faces, worth, self.seconds())
            number += 1

    def worth(self) -> float:
        """Return the cost up to which a rounded start is among the best so far."""
        return float(np.quantile(self.rounded[-RECENT:], GOOD)) if self.rounded else inf

    def seconds(self) -> float | None:
        """Return the time left."""
        return None if self.deadline is None else max(self.deadline - perf_counter(), 0.0)


@dataclass
class Search:
    """Run the episodes of a plan, and hand each outcome to `take`, which says whether that is enough.

    `found` is told of permutations as they come up, where that is possible, so that nothing is lost by an interrupt.
    """

    plan: Plan
    take: Callable[[Task, Outcome], bool]
    found: Found
    best: Callable[[], np.ndarray | None]
    pending: dict[Future, Task] = field(default_factory=dict)
    # Not `concurrent.futures.wait`, which waits for ever for a future that is cancelled by a shutdown.
    done: "SimpleQueue[Future]" = field(default_factory=SimpleQueue)
    lock: Lock = field(default_factory=Lock)

    def run(self, workers: "int | Executor | None") -> None:
        """Run all episodes, with that many threads, or on an executor."""
        slots = workers if isinstance(workers, int) else None
        if workers is None:
            slots = available_cores()
        if slots is not None and self.plan.starts is not None:
            slots = min(slots, self.plan.starts)
        with one_thread():
            if slots == 1:
                self.run_here()
            elif slots is not None:
                self.run_on_threads(slots)
            else:
                assert isinstance(workers, Executor)
                self.run_on(workers, getattr(workers, "_max_workers", None) or IN_FLIGHT, run_remote)
                if self.best() is None:  # nothing came in time: at least a start cut short gives an answer
                    self.tell(self.run_lost(next(self.plan.tasks(self.best))))

    def tell(self, outcome: Outcome) -> None:
        """Hand over what an episode has found so far, from any thread."""
        with self.lock:
            self.found(outcome)

    def over_with(self, task: Task, outcome: Outcome) -> bool:
        """Hand over an outcome, and say whether that is enough."""
        if outcome.rounded is not None:
            self.plan.rounded.append(outcome.rounded)
        return self.take(task, outcome)

    def run_here(self) -> None:
        for task in self.plan.tasks(self.best):
            if self.over_with(task, run_episode(self.plan.instance, task, self.tell)):
                break

    def run_on_threads(self, slots: int) -> None:
        load_kernels(self.plan.faces)
        stop = Event()

        def episode(instance: Instance, task: Task) -> Outcome:
            return run_episode(instance, task, self.tell, stop.is_set)

        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(slots, thread_name_prefix="trisplit"))
            stack.callback(stop.set)  # before the pool waits for its threads
            self.run_on(pool, slots, episode)

    def run_on(self, executor: Executor, slots: int, episode: Callable[[Instance, Task], Outcome]) -> None:
        """Keep some tasks with the executor, and take their outcomes; those it loses are run here."""
        tasks, ready, following, broken = self.plan.tasks(self.best), {}, 0, False
        ordered = self.plan.starts is not None
        with self.cancelling():
            while True:
                while len(self.pending) + len(ready) < slots and not broken and (task := next(tasks, None)) is not None:
                    try:
                        future = executor.submit(episode, self.plan.instance, task)
                        self.pending[future] = task
                        future.add_done_callback(self.done.put)
                    except Exception:  # a pool whose worker died, or that was shut down, takes no more
                        broken = True
                        ready[task.number] = task, self.run_lost(task)
                if broken and not self.pending and not ready:
                    task = next(tasks, None)
                    if task is None:
                        return
                    ready[task.number] = task, self.run_lost(task)
                if not self.pending and not ready:
                    return
                for task, outcome in self.arrived():
                    ready[task.number] = task, outcome
                    self.tell(outcome)  # if an earlier one never comes, this one counts
                while ready:
                    number = following if ordered else min(ready)
                    if number not in ready:
                        break
                    if self.over_with(*ready.pop(number)):
                        return
                    following += 1
                if self.late():
                    return

    def arrived(self) -> list[tuple[Task, Outcome]]:
        """Wait until a task is done or the time is over, and return what there is."""
        deadline, outcomes = self.plan.deadline, []
        timeout = None if deadline is None else max(deadline + GRACE - perf_counter(), 0.0)
        while self.pending:
            try:
                future = self.done.get(timeout=0.0 if outcomes else timeout)
            except Empty:
                break
            task = self.pending.pop(future)
            try:
                outcome = future.result()
            except (KeyboardInterrupt, InputError):
                raise
            except (Exception, CancelledError):  # its worker is gone; an error of our own shows again here
                outcome = self.run_lost(task)
            outcomes.append((task, outcome))
        return outcomes

    def run_lost(self, task: Task) -> Outcome:
        """Run a task here that the executor did not, in the time that is left by now."""
        return run_episode(self.plan.instance, task._replace(seconds=self.plan.seconds()), self.tell)

    def late(self) -> bool:
        """Say whether the deadline has passed by so much that nothing more is waited for."""
        return self.plan.deadline is not None and perf_counter() >= self.plan.deadline + GRACE

    @contextmanager
    def cancelling(self) -> Iterator[None]:
        """Take tasks back that nobody waits for any more."""
        try:
            yield
        finally:
            for future in self.pending:
                future.cancel()


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(workers: object) -> None:
    """Raise an `InputError` unless `workers` is None, a positive integer or an executor."""
    if workers is None or isinstance(workers, Executor):
        return
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
        name = "a `concurrent.futures.Executor`"
        raise InputError(f"`workers` must be an integer >= 1 or {name}, got {workers!r}; None uses all cores")
