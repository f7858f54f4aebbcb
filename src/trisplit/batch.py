"""The driver for a batch: looks at all problems at once, and lets go of those that are finished.

A problem that converged, or became NaN, is put aside with its answer. Where f and the terms can `select` some of their
problems, the rows of the finished ones are taken out of the arrays as soon as enough have gathered, and cost nothing
from then on; elsewhere they are iterated on, and not looked at again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from time import perf_counter
from typing import NamedTuple

import numpy as np

from trisplit.algorithms.product import ProductProblem
from trisplit.algorithms.state import State
from trisplit.algorithms.tos import tos
from trisplit.arrays import Array, from_numpy, index_like, namespace, shapes_are_cheap, take_rows, to_numpy
from trisplit.certificates import kind_for, recompute
from trisplit.checkpoint import Checkpoint, Json
from trisplit.driver import LOOK_RATIO, NOT_FINITE_AT_START, SAVE_SECONDS, Callback, next_or_none
from trisplit.errors import InputError
from trisplit.problem import Problem
from trisplit.progress import Progress
from trisplit.result import BatchResult, BatchTraceRow, Certificate, Status, Trace
from trisplit.rows import Numbers, Rows
from trisplit.steps import StepRule
from trisplit.theory import guarantees

COMPACT_SHARE = 1 / 8  # of finished rows; taking rows out costs as much as an iteration or two
PART_SHARE = 1 / 4  # of rows to be certified anew; more are certified together with all others
STATUSES = tuple(Status)
FINISHED = ("finished members", "finished x", "finished iteration", "finished nit", "finished status")


class Finished(NamedTuple):
    """Problems that ended at the same look: which, where, how good that is, when and why."""

    members: np.ndarray
    x: Array
    numbers: Numbers
    iteration: np.ndarray
    nit: np.ndarray
    status: np.ndarray  # places in STATUSES


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
        self.rows = Rows(self.problem, tuple(self.x0.shape), np.arange(size), np.zeros(size, dtype=bool))
        self.finished: list[Finished] = []
        self.trace: list[BatchTraceRow] = []
        self.next_look = 1
        self.looking = 0.0
        self.earlier = (0.0, 0.0)  # seconds in runs before this one: iterating, and in all
        self.saved_at = self.begin

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def run(self) -> BatchResult:
        """Iterate until every problem is finished or the run is over."""
        state = self.restored()
        status = Status.MAX_ITER if state is not None and state.t >= self.max_iter else None
        states = self.iteration(state)
        try:
            with Progress(self.max_iter, self.time_limit, enabled=self.progress) as shown:
                while status is None and not self.rows.done.all():
                    following = next_or_none(states)
                    if following is None:
                        status = Status.NOT_FINITE
                        break
                    state = following
                    status = self.visit(state, shown)
                    if status is None and (kept := self.compacted(state)) is not None:
                        state, states = kept, self.iteration(kept)
                    if self.checkpoint is not None and perf_counter() - self.saved_at >= SAVE_SECONDS:
                        self.save(state)
        except KeyboardInterrupt:
            if state is None or self.rows.best is None:
                raise
            status = Status.INTERRUPTED
        if state is None or self.rows.best is None:
            raise InputError(NOT_FINITE_AT_START)
        self.save(state)
        if not self.rows.done.all():
            self.finish_rest(state, status or Status.NOT_FINITE)
        return self.result()

    def iteration(self, state: State | None) -> Iterator[State]:
        """Return the states of the rows at work, those after `state` if that is given."""
        problem = self.rows.problem
        y0 = self.x0 if isinstance(problem, Problem) else problem.start(self.x0)
        return tos(problem, y0, self.rule, relax=self.relax, resume=state)

    def visit(self, state: State, shown: Progress) -> Status | None:
        """Look at a state if it is time to, and return why to stop all there, or None."""
        if self.output == "random":
            # A reservoir of one for each problem; numbers are drawn for all, so that none depends on which are at work.
            chosen = self.rng.random(prod(self.batch))[self.rows.members] * state.t < 1.0
            self.rows = replace(self.rows, drawn=self.rows.keep(chosen, state, self.rows.drawn))
        if self.callback is not None and self.callback(state):
            return Status.CALLBACK
        out_of_time = self.time_limit is not None and perf_counter() - self.begin >= self.time_limit
        out_of_iterations = state.t >= self.max_iter
        if state.t >= self.next_look or out_of_time or out_of_iterations:
            self.next_look = max(state.t + 1, int(LOOK_RATIO * state.t))
            start = perf_counter()
            self.look(state, self.earlier[0] + start - self.begin - self.looking)
            shown.update(self.trace[-1])
            self.looking += perf_counter() - start
        return Status.TIME_LIMIT if out_of_time else Status.MAX_ITER if out_of_iterations else None

    def look(self, state: State, seconds: float) -> None:
        """Certify all rows, remember the best of each, and put the finished ones aside."""
        rows = self.rows
        seen, working = rows.measure(state), ~rows.done
        if rows.best_numbers is None:
            if not seen.finite.any():
                raise InputError(NOT_FINITE_AT_START)
            rows = replace(rows, first=seen.stationarity)
            better, numbers = working, seen
        else:
            better = working & (seen.error < rows.best_numbers.error)
            numbers = seen.where(better, rows.best_numbers)
        self.rows = rows = replace(rows, best=rows.keep(better, state, rows.best), best_numbers=numbers)
        self.trace.append(
            BatchTraceRow(
                iteration=state.t,
                seconds=seconds,
                unfinished=int(working.sum()),
                stationarity=float(seen.stationarity[working].max()),
                infeasibility=float(seen.infeasibility[working].max()),
                gradients=self.counts.grad,
                proxes=self.counts.prox,
            )
        )
        failed = np.flatnonzero(working & ~seen.finite)
        if len(failed):
            anew = recompute(rows.problem, rows.best)  # pyright: ignore[reportArgumentType]
            self.finish(rows, failed, anew, numbers, Status.NOT_FINITE, state.t)
        candidates = np.flatnonzero(working & self.within_tol(seen, rows.first, state.t))
        if self.output != "random" and len(candidates):
            rows, state, candidates = self.part(candidates, state)
            anew = recompute(rows.problem, state)
            numbers = rows.measure(anew)
            converged = candidates[self.within_tol(numbers, rows.first, state.t)[candidates]]
            self.finish(rows, converged, anew, numbers, Status.CONVERGED, state.t)

    def part(self, places: np.ndarray, state: State) -> tuple[Rows, State, np.ndarray]:
        """Return some rows on their own if they are few, else all of them, and where the wanted ones are there."""
        rows = self.rows
        if len(places) <= PART_SHARE * len(rows.members) and shapes_are_cheap(state.z):
            bare = replace(rows, best=None, best_numbers=None, drawn=None)
            own = bare.selected(places, state.z)
            if own is not None:
                return own, rows.taken(state._replace(memory=()), places), np.arange(len(places))
        return rows, state, places

    def within_tol(self, seen: Numbers, first: np.ndarray | None, t: int) -> np.ndarray:
        """Say for each row whether the rule holds, and not because phi is unbounded below: see `Driver.within_tol`."""
        good = seen.finite & (seen.error <= self.tol) if self.tol > 0 else np.zeros_like(seen.finite)
        if self.kind != "residual" or first is None or t == self.trace[0].iteration:
            return good
        return good & ((seen.stationarity <= self.tol) | (seen.stationarity <= first / 2))

    def finish(
        self, rows: Rows, places: np.ndarray, state: State, numbers: Numbers, status: Status | np.ndarray, nit: int
    ) -> None:
        """Put some of the rows aside with the points of `state`."""
        if not len(places):
            return
        members = rows.members[places]
        codes = np.full(len(rows.members), STATUSES.index(status)) if isinstance(status, Status) else status
        iteration = np.broadcast_to(state.t, rows.members.shape)[places]
        points, numbers = rows.points(state, places), numbers.take(places)
        self.finished.append(Finished(members, points, numbers, iteration, np.full(len(places), nit), codes[places]))
        done = self.rows.done.copy()
        done[np.searchsorted(self.rows.members, members)] = True
        self.rows = replace(self.rows, done=done)

    def compacted(self, state: State) -> State | None:
        """Take the finished rows out and return the state of the others; None where it cannot be or would not pay."""
        done = self.rows.done
        least = COMPACT_SHARE if shapes_are_cheap(state.z) else 1 / 2
        if self.callback is not None or done.all() or done.mean() < least:
            return None  # a callback sees all problems, each at its place
        stay = np.flatnonzero(~done)
        rows = self.rows.selected(stay, state.z)
        if rows is None:
            return None
        kept = self.rows.taken(state, stay)
        self.rows = rows
        return kept

    def finish_rest(self, state: State, status: Status) -> None:
        """Certify the returned points anew; where one is not finite, fall back on the best that was seen."""
        rows = self.rows
        best, best_numbers = rows.best, rows.best_numbers
        assert best is not None
        assert best_numbers is not None
        chosen = state
        if self.output == "best" or status is Status.NOT_FINITE:
            chosen = best
        elif rows.drawn is not None:
            chosen = rows.drawn
        answer = recompute(rows.problem, chosen)
        numbers = rows.measure(answer)
        unfit = numbers.error == np.inf
        older = best_numbers.error < numbers.error if status is Status.INTERRUPTED else unfit
        codes = np.where(unfit, STATUSES.index(Status.NOT_FINITE), STATUSES.index(status))
        if older.any():
            answer = recompute(rows.problem, rows.keep(older, best, rows.keep(~older, chosen, None)))
            numbers = best_numbers.where(older, numbers)
        if status in (Status.MAX_ITER, Status.TIME_LIMIT):
            codes[self.within_tol(numbers, rows.first, state.t) & ~unfit] = STATUSES.index(Status.CONVERGED)
        self.finish(rows, np.flatnonzero(~rows.done), answer, numbers, codes, state.t)

    def gathered(self) -> Finished:
        """Return all finished problems together, in the order of the batch."""
        members = np.concatenate([piece.members for piece in self.finished])
        order = np.argsort(members)
        whole = namespace(self.x0).concat([piece.x for piece in self.finished], axis=0)
        x = take_rows(whole, index_like(order, self.x0), 1)
        columns = zip(*(piece.numbers for piece in self.finished), strict=True)
        numbers = Numbers(*(np.concatenate(column)[order] for column in columns))
        rest = zip(*(piece[3:] for piece in self.finished), strict=True)
        return Finished(members[order], x, numbers, *(np.concatenate(column)[order] for column in rest))

    def result(self) -> BatchResult:
        """Return the answers in the shape of the batch."""
        _, x, numbers, iteration, nit, codes = self.gathered()
        fun, stationarity, infeasibility = (column.reshape(self.batch) for column in numbers[:3])
        every = guarantees(
            self.problem, self.x0, self.rule, relax=self.relax, output=self.output, iterations=nit.tolist()
        )
        status, guarantee = np.empty(len(nit), dtype=object), np.empty(len(nit), dtype=object)
        status[:], guarantee[:] = [STATUSES[code] for code in codes], every
        return BatchResult(
            x=namespace(x).reshape(x, self.x0.shape),
            fun=fun,
            status=status.reshape(self.batch),
            nit=nit.reshape(self.batch),
            iteration=iteration.reshape(self.batch),
            certificate=Certificate(stationarity, infeasibility, self.kind),  # pyright: ignore[reportArgumentType]
            trace=Trace(tuple(self.trace), BatchTraceRow._fields),
            guarantee=guarantee.reshape(self.batch),
            nfev=self.counts.value,
            njev=self.counts.grad,
            nprox=self.counts.prox,
            elapsed=self.earlier[1] + perf_counter() - self.begin,
            seed=self.seed,
        )

    def save(self, state: State) -> None:
        """Write the checkpoint: all that the next iterates, the trace and the answers depend on."""
        if self.checkpoint is None:
            return
        rows, now = self.rows, perf_counter() - self.begin
        states = {"last": state, "best": rows.best, "drawn": rows.drawn}
        arrays = {"members": rows.members, "done": rows.done, "first": rows.first}
        arrays |= _named("best", rows.best_numbers)
        if self.finished:
            members, x, numbers, *rest = self.gathered()
            arrays |= {"finished members": members, "finished x": to_numpy(x), **_named("finished", numbers)}
            arrays |= dict(zip(FINISHED[2:], rest, strict=True))
        info: dict[str, Json] = {
            "rows": [list(row) for row in self.trace],
            "counts": [self.counts.value, self.counts.grad, self.counts.prox],
            "next_look": self.next_look,
            "seconds": [self.earlier[0] + now - self.looking, self.earlier[1] + now],
            "seed": self.seed,
            "rng": self.rng.bit_generator.state,  # pyright: ignore[reportAssignmentType]
        }
        self.checkpoint.save({name: kept for name, kept in states.items() if kept is not None}, info, arrays)
        self.saved_at = perf_counter()

    def restored(self) -> State | None:
        """Take over what `save` wrote, if there is such a file, and return the last state."""
        saved = None if self.checkpoint is None else self.checkpoint.load(like=self.x0)
        if saved is None:
            return None
        states, info, arrays = saved
        self.trace = [BatchTraceRow(*row) for row in info["rows"]]
        self.counts.value, self.counts.grad, self.counts.prox = info["counts"]
        self.next_look, self.earlier, self.seed = info["next_look"], tuple(info["seconds"]), info["seed"]
        self.rng.bit_generator.state = info["rng"]
        rows = self.rows
        if len(arrays["members"]) < len(rows.members):
            rows = rows.selected(arrays["members"], self.x0)
            if rows is None:
                raise InputError("the checkpoint needs `f.select`, which has gone; restore it, or choose another path")
        self.rows = replace(
            rows,
            done=arrays["done"],
            first=arrays["first"],
            best=states["best"],
            best_numbers=Numbers(*(arrays[f"best {name}"] for name in Numbers._fields)),
            drawn=states.get("drawn"),
        )
        if "finished members" in arrays:
            members, x, *rest = (arrays[name] for name in FINISHED)
            numbers = Numbers(*(arrays[f"finished {name}"] for name in Numbers._fields))
            self.finished = [Finished(members, from_numpy(x, self.x0), numbers, *rest)]
        return states["last"]


def _named(what: str, numbers: Numbers | None) -> dict[str, np.ndarray]:
    return {} if numbers is None else {f"{what} {name}": column for name, column in numbers._asdict().items()}
