"""The pool of tasks of a search: this thread, threads, or any executor runs them.

A task depends on the instance and on itself alone, so it may run anywhere, and again if its worker is lost. Outcomes
are taken in the order of the tasks where that is asked for, so the answer does not depend on who ran what, and when.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from threading import Event, Lock
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from trisplit.errors import InputError
from trisplit.qap.instance import Instance
from trisplit.qap.islands import Walk, Walked, run_walk
from trisplit.qap.local_search import Found, Outcome, Task, load_kernels, one_thread, run_local_search

AnyTask: TypeAlias = Task | Walk
AnyOutcome: TypeAlias = Any  # Outcome of a Task, Walked of a Walk
Take: TypeAlias = Callable[[AnyTask, AnyOutcome], bool]

IN_FLIGHT = 8  # tasks handed at once to an executor that does not say how many workers it has
GRACE = 0.1  # seconds after the deadline for outcomes that are on their way


def run_task(
    instance: Instance, task: AnyTask, found: Found | None = None, stopped: Callable[[], bool] | None = None
) -> Outcome | Walked:
    """Run one task."""
    if isinstance(task, Walk):
        return run_walk(instance, task, found, stopped)
    return run_local_search(instance, task, found, stopped)


def run_remote(instance: Instance, task: AnyTask) -> Outcome | Walked:
    """Run one task where others may run at the same time: with one thread of linear algebra."""
    with one_thread():
        return run_task(instance, task)


class TaskPool:
    """A context in which tasks on one instance are run.

    Parameters
    ----------
    instance : Instance
    workers : int, Executor or None
        As in `solve`.
    deadline : float or None
        Of `time.perf_counter()`; tasks that an executor has not done by then are given up.
    found : callable
        Told of permutations as they come up, where that is possible, so that nothing is lost by an interrupt.
    faces : bool
        Whether the first tasks need the compiled code for faces.
    """

    def __init__(
        self,
        instance: Instance,
        workers: int | Executor | None,
        deadline: float | None,
        found: Found,
        *,
        faces: bool,
    ) -> None:
        self.instance, self.deadline, self.found = instance, deadline, found
        self.faces = faces
        self.executor: Executor | None = workers if isinstance(workers, Executor) else None
        self.foreign = self.executor is not None
        self.slots = workers if isinstance(workers, int) else available_cores()
        if self.executor is not None:
            self.slots = getattr(self.executor, "_max_workers", None) or IN_FLIGHT
        self.broken = False
        self.stop, self.lock = Event(), Lock()
        self.stack = ExitStack()

    def __enter__(self) -> "TaskPool":
        self.stack.enter_context(one_thread())
        if self.executor is None and self.slots > 1:
            load_kernels(faces=self.faces)  # once, before several threads would all do it
            self.executor = self.stack.enter_context(ThreadPoolExecutor(self.slots, thread_name_prefix="trisplit"))
            self.stack.callback(self.stop.set)  # before the pool waits for its threads
        return self

    def __exit__(self, *exception: object) -> None:
        self.stack.close()

    def run(self, tasks: Iterator[AnyTask | None], take: Take, *, ordered: bool) -> bool:
        """Run tasks and hand each outcome to `take`, which says whether that is enough; return what it said last.

        A task that is None stands for none at the moment: it is asked again when another one is done.
        """
        if self.executor is None:
            return any(task is not None and take(task, run_task(self.instance, task, self.tell)) for task in tasks)
        pending: dict[Future, AnyTask] = {}
        try:
            return self._run_on(self.executor, tasks, take, ordered, pending)
        finally:  # take tasks back that nobody waits for any more
            for future in pending:
                future.cancel()

    def run_here(self, task: AnyTask) -> AnyOutcome:
        """Run a task in this thread, in the time that is left by now."""
        seconds = None if self.deadline is None else max(self.deadline - perf_counter(), 0.0)
        return run_task(self.instance, task._replace(seconds=seconds), self.tell)

    def tell(self, outcome: Outcome) -> None:
        """Hand over what a task has found so far, from any thread."""
        with self.lock:
            self.found(outcome)

    def _run_on(
        self,
        executor: Executor,
        tasks: Iterator[AnyTask | None],
        take: Take,
        ordered: bool,
        pending: dict[Future, AnyTask],
    ) -> bool:
        """Keep some tasks with the executor, and take their outcomes; those it loses are run here."""
        # Not `concurrent.futures.wait`, which waits for ever for a future that is cancelled by a shutdown.
        done: SimpleQueue[Future] = SimpleQueue()
        ready: dict[int, tuple[AnyTask, AnyOutcome]] = {}
        order: list[int] = []  # numbers of tasks whose outcomes have not been taken
        while True:
            while len(order) < self.slots and (task := next(tasks, None)) is not None:
                order.append(task.number)
                if not self._submit(executor, task, pending, done):
                    ready[task.number] = task, self.run_here(task)
                    break
            if not order:
                return False
            takeable = bool(ready) and (not ordered or order[0] in ready)
            for task, outcome in self._arrived(pending, done, wait=not takeable):
                ready[task.number] = task, outcome
                self.tell(outcome if isinstance(outcome, Outcome) else Outcome(outcome.permutation, None, 0, 0))
            while ready:
                number = order[0] if ordered else min(ready)
                if number not in ready:
                    break
                order.remove(number)
                if take(*ready.pop(number)):
                    return True
            if self.late():
                return False

    def _submit(self, executor: Executor, task: AnyTask, pending: dict[Future, AnyTask], done: SimpleQueue) -> bool:
        """Hand a task to the executor, unless it takes no more: a worker died, or it was shut down."""
        if self.broken:
            return False
        try:
            if self.foreign:
                future = executor.submit(run_remote, self.instance, task)
            else:
                future = executor.submit(run_task, self.instance, task, self.tell, self.stop.is_set)
        except Exception:
            self.broken = True
            return False
        pending[future] = task
        future.add_done_callback(done.put)
        return True

    def _arrived(
        self, pending: dict[Future, AnyTask], done: SimpleQueue, *, wait: bool
    ) -> Iterator[tuple[AnyTask, AnyOutcome]]:
        """Yield what is done; wait for something until the time is over."""
        while pending:
            timeout = None if self.deadline is None else max(self.deadline + GRACE - perf_counter(), 0.0)
            try:
                future = done.get(timeout=timeout if wait else 0.0)
            except Empty:
                return
            wait = False
            task = pending.pop(future)
            try:
                outcome = future.result()
            except (KeyboardInterrupt, InputError):
                raise
            except (Exception, CancelledError):  # its worker is gone; an error of our own shows again here
                outcome = self.run_here(task)
            yield task, outcome

    def late(self) -> bool:
        """Say whether the deadline has passed by so much that nothing more is waited for."""
        return self.deadline is not None and perf_counter() >= self.deadline + GRACE


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
