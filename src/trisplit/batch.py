"""The driver for a batch: looks at all problems at once, and lets go of those that are finished.

A problem that converged, or became NaN, is put aside with its answer. Where f and the terms can `select` some of their
problems, the rows of the finished ones are taken out of the arrays as soon as enough have gathered, and cost nothing
from then on; elsewhere they are iterated on, and not looked at again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from time import perf_counter

import numpy as np

from trisplit.algorithms.product import ProductProblem
from trisplit.algorithms.state import State
from trisplit.algorithms.tos import tos
from trisplit.arrays import (
    Array,
    all_finite,
    each_finite,
    from_numpy,
    namespace,
    none_if_failed,
    on_host,
    shapes_are_cheap,
    to_numpy,
    where_rows,
)
from trisplit.certificates import kind_for
from trisplit.checkpoint import Checkpoint, Json
from trisplit.driver import NO_GUARANTEE, NOT_FINITE_AT_START, SAVE_SECONDS, Callback, after
from trisplit.errors import InputError
from trisplit.kernels.host_rows import is_double
from trisplit.problem import Problem
from trisplit.progress import Progress
from trisplit.result import BatchResult, BatchTraceRow, Certificate, Status, Trace
from trisplit.rows import Numbers, Rows
from trisplit.snapshot import STATUSES, Finished, Snapshot
from trisplit.steps import Adaptive, StepRule
from trisplit.theory import guarantees

COMPACT_SHARE = 1 / 10  # of finished rows; taking rows out costs as much as an iteration or two
PART_SHARE = 1 / 4  # of rows to be certified anew; more are certified together with all others
SELECTIONS = 8  # by `f.select` that are verified
FINISHED = ("finished members", "finished x", "finished iteration", "finished nit", "finished status")


@dataclass
class BatchDriver:
    """One run over a batch; the parameters are those of `minimize`, and `begin` is when it was called."""

    problem: Problem | ProductProblem
    x0: Array
    rule: StepRule
    relax: float
    tol: float
    max_iter: int
    time_limit: float | None
    output: str
    callback: Callback | None
    rng: np.random.Generator
    seed: int | None
    progress: bool
    begin: float
    checkpoint: Checkpoint | None

    def __post_init__(self) -> None:
        self.counts = (self.problem if isinstance(self.problem, Problem) else self.problem.base).counts
        self.kind = kind_for(self.problem, self.x0.shape)
        self.batch = tuple(self.x0.shape[: self.problem.batch_ndim])
        size = prod(self.batch)
        rows = Rows(self.problem, self.kind, tuple(self.x0.shape), np.arange(size), np.zeros(size, dtype=bool))
        # The rule says which, not whether numba is there: a resumed run must round as the first one did.
        self.now = Snapshot(rows._replace(in_one_pass=isinstance(self.rule, Adaptive) and is_double(self.x0)))
        self.next_look = 1
        self.verified = 0
        self.looking = 0.0
        self.earlier = (0.0, 0.0)  # seconds in runs before this one: iterating, and in all
        self.saved_at = self.begin

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def run(self) -> BatchResult:
        """Iterate until every problem is finished or the run is over."""
        self.restore()
        status = None
        try:
            status = self.iterate()
        except KeyboardInterrupt:
            if self.now.state is None:
                raise
            status = Status.INTERRUPTED
        state = self.now.state
        if state is None:
            raise InputError(NOT_FINITE_AT_START)
        if self.now.rows.best is None:
            self.record(state)
        self.save()
        if not self.now.rows.done.all():
            self.finish_rest(state, status or Status.NOT_FINITE)
        return self.result()

    def iterate(self) -> Status | None:
        """Visit states until there is a reason to stop all, and return it; None if every problem is finished."""
        status, state = None, self.now.state
        with Progress(self.max_iter, self.time_limit, enabled=self.progress) as shown:
            if state is not None:
                status = self.ended_at(state, shown)
                if status is None and not self.now.rows.done.all():
                    self.compact(state)
            states, unfinished = self.iteration(), not self.now.rows.done.all()
            while status is None and unfinished:
                state = none_if_failed(states.__next__)
                if state is None:
                    return Status.NOT_FINITE
                rows = self.now.rows
                self.now = self.now.at(state)
                status = self.visit(state, shown)
                if self.now.rows is not rows:  # problems may have finished
                    unfinished = not self.now.rows.done.all()
                    if status is None and unfinished and self.compact(state):
                        states = self.iteration()
                if self.checkpoint is not None and perf_counter() - self.saved_at >= SAVE_SECONDS:
                    self.save()
        return status

    def ended_at(self, state: State, shown: Progress) -> Status | None:
        """Return why a run that resumes from a state stops there, see `Driver.ended_at`."""
        out = state.t >= self.max_iter
        if self.looks_at(state.t) or (out and self.now.trace[-1].iteration < state.t):
            return self.examine(state, shown)
        return Status.MAX_ITER if out else None

    def iteration(self) -> Iterator[State]:
        """Return the states of the rows at work, those after the last one if there is one."""
        problem, state = self.now.rows.problem, self.now.state
        value_at = self.looks_at if isinstance(problem, Problem) else None  # elsewhere a look takes f at another point
        y0 = problem.start(self.x0) if state is None and isinstance(problem, ProductProblem) else self.x0
        return tos(problem, y0, self.rule, relax=self.relax, resume=state, value_at=value_at)

    def looks_at(self, t: int) -> bool:
        """Say whether the driver is going to look at iteration t; the end of the run may bring one look more."""
        return t >= self.next_look

    def visit(self, state: State, shown: Progress) -> Status | None:
        """Draw, call back and examine a state; return why to stop all there, or None."""
        if self.output == "random":
            # A reservoir of one for each problem; numbers are drawn for all, so that none depends on which are at work.
            rows = self.now.rows
            chosen = self.rng.random(prod(self.batch))[rows.members] * state.t < 1.0
            self.now = self.now._replace(rows=rows._replace(drawn=rows.keep(chosen, state, rows.drawn)))
        if self.callback is not None and self.callback(state):
            return Status.CALLBACK
        return self.examine(state, shown)

    def examine(self, state: State, shown: Progress) -> Status | None:
        """Put problems that failed aside, look if it is time to, and return why to stop all there, or None."""
        self.drop_not_finite(state)
        out_of_time = self.time_limit is not None and perf_counter() - self.begin >= self.time_limit
        out_of_iterations = state.t >= self.max_iter
        due = self.looks_at(state.t)
        if due or out_of_time or out_of_iterations:
            if not self.now.rows.done.all():
                self.look(state)
                shown.update(self.now.trace[-1])
            self.next_look = after(state.t) if due else self.next_look
        return Status.TIME_LIMIT if out_of_time else Status.MAX_ITER if out_of_iterations else None

    def drop_not_finite(self, state: State) -> None:
        """Put problems aside whose f(z) is NaN or inf, as `Driver` does; on a GPU that is left to the next look."""
        rows = self.now.rows
        if rows.best is None or state.f_z is None or not on_host(state.z):
            return
        if all_finite(state.f_z):  # pyright: ignore[reportArgumentType]
            return
        failed = np.flatnonzero(~rows.done & ~np.isfinite(np.ravel(state.f_z)))
        if len(failed):
            best, numbers = rows.known()
            self.finish(rows, failed, rows.recompute(best), numbers, Status.NOT_FINITE, state.t)

    def look(self, state: State) -> None:
        """Look at all rows, or, where an interrupt comes in between, at none; the time for it is not counted."""
        before, start = self.now, perf_counter()
        try:
            self.certify(state)
        except KeyboardInterrupt:
            self.now = before
            raise
        self.looking += perf_counter() - start

    def certify(self, state: State) -> None:
        """Certify all rows, remember the best of each, and put the finished ones aside."""
        working = ~self.now.rows.done
        seen = self.record(state)
        rows = self.now.rows
        best, numbers = rows.known()
        failed = np.flatnonzero(working & ~seen.finite)
        if len(failed):
            self.finish(rows, failed, rows.recompute(best), numbers, Status.NOT_FINITE, state.t)
        candidates = np.flatnonzero(working & self.within_tol(seen, rows.first, state.t))
        if self.output != "random" and len(candidates):
            rows, state, candidates = self.part(candidates, state)
            anew = rows.recompute(state)
            numbers = rows.measure(anew)
            converged = candidates[self.within_tol(numbers, rows.first, state.t)[candidates]]
            self.finish(rows, converged, anew, numbers, Status.CONVERGED, state.t)

    def record(self, state: State) -> Numbers:
        """Measure all rows, remember the best of each, and add a line to the trace."""
        rows, seconds = self.now.rows, self.earlier[0] + perf_counter() - self.begin - self.looking
        seen, working = rows.measure(state), ~rows.done
        if rows.best is None and not seen.finite.any():
            raise InputError(NOT_FINITE_AT_START)
        rows = rows.looked_at(state, seen)
        places = np.flatnonzero(working)  # indices are faster than a mask without order
        row = BatchTraceRow(
            iteration=state.t,
            seconds=seconds,
            unfinished=len(places),
            stationarity=largest(seen.stationarity[places]),
            infeasibility=largest(seen.infeasibility[places]),
            gradients=self.counts.grad,
            proxes=self.counts.prox,
        )
        earlier = (one for one in self.now.trace if one.iteration < state.t)  # a resumed run may look again
        self.now = self.now._replace(rows=rows, trace=(*earlier, row))
        return seen

    def part(self, places: np.ndarray, state: State) -> tuple[Rows, State, np.ndarray]:
        """Return some rows on their own if they are few, else all of them, and where the wanted ones are there."""
        rows = self.now.rows
        if len(places) <= PART_SHARE * len(rows.members) and shapes_are_cheap(state.z):
            bare = rows._replace(best=None, best_numbers=None, drawn=None)
            own = bare.selected(places, state.z)
            if own is not None:
                some = rows.taken(state._replace(memory=()), places)
                self.verify(own, some)
                return own, some, np.arange(len(places))
        return rows, state, places

    def within_tol(self, seen: Numbers, first: np.ndarray | None, t: int | np.ndarray) -> np.ndarray:
        """Say for each row whether the rule holds, and not because phi is unbounded below: see `Driver.within_tol`.

        `t` is the iteration, or that of each row, at which the numbers were seen.
        """
        good = seen.finite & (seen.error <= self.tol) if self.tol > 0 else np.zeros_like(seen.finite)
        if self.kind != "residual" or first is None:
            return good
        fallen = (seen.stationarity <= self.tol) | (seen.stationarity <= first / 2)
        return good & (fallen | (np.asarray(t) == self.now.trace[0].iteration))

    def finish(
        self, rows: Rows, places: np.ndarray, state: State, numbers: Numbers, status: Status | np.ndarray, nit: int
    ) -> None:
        """Put some of the rows aside with the points of `state`."""
        self.now = self.now.with_finished(rows, places, state, numbers, status, nit)

    def compact(self, state: State) -> bool:
        """Take the finished rows out, and say whether that was done: it may not be possible, or not pay."""
        rows, done = self.now.rows, self.now.rows.done
        least = COMPACT_SHARE if shapes_are_cheap(state.z) else 1 / 2
        if self.callback is not None or done.mean() < least:
            return False  # a callback sees all problems, each at its place
        stay = np.flatnonzero(~done)
        fewer = rows.selected(stay, state.z)
        if fewer is None:
            return False
        kept = rows.taken(state, stay)
        self.verify(fewer, kept)
        self.now = self.now._replace(rows=fewer, state=kept)
        return True

    def verify(self, rows: Rows, state: State) -> None:
        """Compare gradients of the first selections, and of selections from them: that costs an iteration each."""
        if self.verified < SELECTIONS:
            rows.require_own_f(state)
            self.verified += 1

    def finish_rest(self, state: State, status: Status) -> None:
        """Certify the returned points anew; where one is not finite, fall back on the best that was seen."""
        rows = self.now.rows
        best, best_numbers = rows.known()
        chosen = state
        if self.output == "best" or status is Status.NOT_FINITE:
            chosen = best
        elif rows.drawn is not None:
            chosen = rows.drawn
        answer = rows.recompute(chosen)
        numbers = rows.measure(answer)
        failed = older = numbers.error == np.inf
        if status is Status.INTERRUPTED:
            older = best_numbers.error < numbers.error
            failed = failed & ~(older & numbers.finite)
        codes = np.where(failed, STATUSES.index(Status.NOT_FINITE), STATUSES.index(status))
        if older.any():
            answer = rows.recompute(rows.keep(older, best, rows.keep(~older, chosen, None)))
            numbers = best_numbers.where(older, numbers)
        if status in (Status.MAX_ITER, Status.TIME_LIMIT):
            codes[self.within_tol(numbers, rows.first, answer.t) & ~failed] = STATUSES.index(Status.CONVERGED)
        self.finish(rows, np.flatnonzero(~rows.done), answer, numbers, codes, state.t)

    def result(self) -> BatchResult:
        """Return the answers in the shape of the batch."""
        _, x, numbers, iteration, nit, codes = self.now.gathered()
        fun, stationarity, infeasibility = (column.reshape(self.batch) for column in numbers[:3])
        every = guarantees(
            self.problem, self.x0, self.rule, relax=self.relax, output=self.output, iterations=nit.tolist()
        )
        status, guarantee = np.array(STATUSES, dtype=object)[codes], np.empty(len(nit), dtype=object)
        guarantee[:] = every
        guarantee[codes == STATUSES.index(Status.NOT_FINITE)] = NO_GUARANTEE
        x = namespace(x).reshape(x, self.x0.shape)
        if not all_finite(x):  # of problems that were not finite at the first iterate
            x = where_rows(to_numpy(each_finite(x, len(self.batch))), x, self.x0)
        return BatchResult(
            x=x,
            fun=fun,
            status=status.reshape(self.batch),
            nit=nit.reshape(self.batch),
            iteration=iteration.reshape(self.batch),
            certificate=Certificate(stationarity, infeasibility, self.kind),  # pyright: ignore[reportArgumentType]
            trace=Trace(self.now.trace, BatchTraceRow._fields),
            guarantee=guarantee.reshape(self.batch),
            nfev=self.counts.value,
            njev=self.counts.grad,
            nprox=self.counts.prox,
            elapsed=self.earlier[1] + perf_counter() - self.begin,
            seed=self.seed,
        )

    def save(self) -> None:
        """Write the checkpoint: all that the next iterates, the trace and the answers depend on."""
        if self.checkpoint is None:
            return
        rows, now = self.now.rows, perf_counter() - self.begin
        states = {"last": self.now.state, "best": rows.best, "drawn": rows.drawn}
        arrays = {"members": rows.members, "done": rows.done, "first": rows.first}
        arrays |= rows.known()[1].named("best")
        if self.now.finished:
            members, x, numbers, *rest = self.now.gathered()
            arrays |= {"finished members": members, "finished x": to_numpy(x), **numbers.named("finished")}
            arrays |= dict(zip(FINISHED[2:], rest, strict=True))
        info: dict[str, Json] = {
            "rows": [list(row) for row in self.now.trace],
            "counts": [self.counts.value, self.counts.grad, self.counts.prox],
            "next_look": self.next_look,
            "verified": self.verified,
            "seconds": [self.earlier[0] + now - self.looking, self.earlier[1] + now],
            "seed": self.seed,
            "rng": self.rng.bit_generator.state,  # pyright: ignore[reportAssignmentType]
        }
        self.checkpoint.save({name: kept for name, kept in states.items() if kept is not None}, info, arrays)
        self.saved_at = perf_counter()

    def restore(self) -> None:
        """Take over what `save` wrote, if there is such a file."""
        saved = None if self.checkpoint is None else self.checkpoint.load(like=self.x0)
        if saved is None:
            return
        states, info, arrays = saved
        self.next_look, self.earlier, self.seed = info["next_look"], tuple(info["seconds"]), info["seed"]
        self.verified = info["verified"]
        self.rng.bit_generator.state = info["rng"]
        rows = self.now.rows
        if len(arrays["members"]) < len(rows.members):
            if self.callback is not None:
                gone = "finished problems are gone from its arrays, and a callback is to see them"
                raise InputError(f"the checkpoint is of a run without `callback`: {gone}; leave the callback out")
            rows = rows.selected(arrays["members"], self.x0)
            if rows is None:
                raise InputError("the checkpoint needs `f.select`, which has gone; restore it, or choose another path")
            rows.require_own_f(states["last"])
        rows = rows._replace(
            done=arrays["done"],
            first=arrays["first"],
            best=states["best"],
            best_numbers=Numbers(*(arrays[f"best {name}"] for name in Numbers._fields)),
            drawn=states.get("drawn"),
        )
        finished = ()
        if "finished members" in arrays:
            members, x, *rest = (arrays[name] for name in FINISHED)
            numbers = Numbers(*(arrays[f"finished {name}"] for name in Numbers._fields))
            self.require_tol(rest[-1], numbers)
            finished = (Finished(members, from_numpy(x, self.x0), numbers, *rest),)
        self.counts.value, self.counts.grad, self.counts.prox = info["counts"]  # now: `require_own_f` has counted, too
        trace = tuple(BatchTraceRow(*row) for row in info["rows"])
        self.now = Snapshot(rows, states["last"], finished, trace)

    def require_tol(self, codes: np.ndarray, numbers: Numbers) -> None:
        """Raise an `InputError` if problems that converged in an earlier run have not by the tolerance of this one."""
        error = numbers.error[codes == STATUSES.index(Status.CONVERGED)].max(initial=0.0)
        if error > self.tol:
            came = f"problems in the checkpoint ended at a larger one, with errors up to {error:.3g}"
            raise InputError(f"`tol` is {self.tol:.3g}, but {came}; choose another path, or a `tol` of at least that")


def largest(errors: np.ndarray) -> float:
    """Return the largest number that is not NaN, NaN if there is none."""
    return float(np.fmax.reduce(errors, initial=np.nan))
