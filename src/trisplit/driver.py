"""The driver: looks at the states of an iteration, certifies, records, saves and stops."""

from collections.abc import Callable, Iterator
from math import inf, isfinite
from time import perf_counter
from typing import NamedTuple, TypeAlias

import numpy as np

from trisplit.algorithms.product import ProductProblem
from trisplit.algorithms.state import State
from trisplit.arrays import Array, all_finite, none_if_failed
from trisplit.certificates import certify, kind_for, objective, point, recompute
from trisplit.checkpoint import Checkpoint, Json
from trisplit.errors import InputError
from trisplit.gradients.base import Estimated
from trisplit.problem import Problem
from trisplit.progress import Progress
from trisplit.result import Certificate, Guarantee, Result, Status, Trace, TraceRow

Callback: TypeAlias = Callable[[State], object]
# The two errors of a point relative to what the tolerance is multiplied with: (stationarity, infeasibility).
Errors: TypeAlias = Callable[[Certificate, float, Array], tuple[float, float]]

LOOK_RATIO = 1.2
SAVE_SECONDS = 10.0
NO_GUARANTEE = Guarantee(None, "f or its gradient was not finite at an iterate")
NOT_FINITE_AT_START = "`f` or its gradient is NaN or inf at the first iterate; start where both are finite"


def after(t: int) -> int:
    """Return the iteration of the look that follows the one at iteration t."""
    return max(t + 1, int(LOOK_RATIO * t))


class Measured(NamedTuple):
    """A state and how good it is; `error`, the larger of its two relative errors, is compared with the tolerance."""

    state: State
    fun: float
    certificate: Certificate
    error: float


class Driver:
    """One run over the states of any iteration: looks, stops, and returns a `Result`.

    `begin` is the `perf_counter()` value from which the time limit counts, by default that of the construction.
    """

    def __init__(
        self,
        problem: Problem | ProductProblem,
        errors: Errors,
        tol: float,
        max_iter: int,
        time_limit: float | None,
        *,
        output: str = "last",
        callback: Callback | None = None,
        rng: np.random.Generator | None = None,
        seed: int | None = None,
        progress: bool = False,
        begin: float | None = None,
        checkpoint: Checkpoint | None = None,
        estimated: Estimated | None = None,
    ) -> None:
        self.problem, self.estimated = problem, estimated
        self.errors = errors
        self.tol, self.max_iter, self.time_limit = tol, max_iter, time_limit
        self.output, self.callback = output, callback
        self.seed, self.rng = seed, rng
        self.progress = progress
        self.begin = perf_counter() if begin is None else begin
        self.counts = (problem if isinstance(problem, Problem) else problem.base).counts
        self.kind: str | None = None  # of all certificates, known once there is a point
        self.rows: list[TraceRow] = []
        self.best: Measured | None = None
        self.answer: Measured | None = None
        self.drawn: State | None = None
        self.next_look = 1
        self.samples_then = 0  # taken before the last look that was due
        self.looking = 0.0
        self.earlier = (0.0, 0.0)  # seconds in runs before this one: iterating, and in all
        self.counted = self.tally()  # when the last state arrived, or its visit was over
        self.checkpoint, self.saved_at = checkpoint, self.begin

    # A diverging iterate overflows; that becomes a status, so the warnings on the way there say nothing new.
    @np.errstate(over="ignore", invalid="ignore")
    def run(
        self, states: Iterator[State], guarantee: Callable[[int], Guarantee], resumed: State | None = None
    ) -> Result:
        """Consume `states`, which go on after `resumed` if that is given, until a stopping rule holds."""
        state, status = resumed, None
        try:
            with Progress(self.max_iter, self.time_limit, enabled=self.progress) as shown:
                if resumed is not None:
                    status = self.ended_at(resumed, shown)
                while status is None and (following := none_if_failed(states.__next__)) is not None:
                    state = following
                    if self.checkpoint is not None:
                        self.counted = self.tally()
                    if self.output == "random" and self.rng is not None and self.rng.random() * state.t < 1.0:
                        self.drawn = state  # a reservoir of one: each iterate so far is kept with probability 1 / t
                    status = self.visit(state, shown)
                    if self.checkpoint is not None:
                        self.counted = self.tally()
                        if perf_counter() - self.saved_at >= SAVE_SECONDS:
                            self.save(state)
        except KeyboardInterrupt:
            if state is None:
                raise
            status = Status.INTERRUPTED
        if state is None:
            raise InputError(NOT_FINITE_AT_START)
        if status is not None and status is not Status.NOT_FINITE:
            self.save(state)
        return self.finish(state, status or Status.NOT_FINITE, guarantee)

    def looks_at(self, t: int) -> bool:
        """Say whether the driver is going to look at iteration t; the end of the run may bring one look more."""
        return t >= self.next_look

    def is_due(self, state: State) -> bool:
        """Say whether to look: with estimates of the gradient no more than once in a pass over the data."""
        if state.t < self.next_look:
            return False
        if self.estimated is None or not self.rows:
            return True
        taken = self.counts.samples - self.samples_then  # none by an estimator that does not count
        return taken == 0 or taken >= self.estimated.access.n

    def ended_at(self, state: State, shown: Progress) -> Status | None:
        """Return the status of a run that resumes from a state at which it is over already.

        Where it was stopped before it had looked at that state, it does so now.
        """
        due, out = self.is_due(state), state.t >= self.max_iter
        looked_at = bool(self.rows) and self.rows[-1].iteration == state.t
        status = Status.MAX_ITER if out else None
        if due or (out and not looked_at):
            self.rows = [row for row in self.rows if row.iteration < state.t]
            return self.examine(state, due, shown) or status
        if looked_at and self.tol > 0 and self.output != "random":
            seen = self.measure(state)
            if seen is not None and self.converged(seen):
                return Status.CONVERGED
        return status

    def visit(self, state: State, shown: Progress) -> Status | None:
        """Look at a state if it is time to, and return why to stop there, or None."""
        if isinstance(state.f_z, float) and not isfinite(state.f_z):  # else it has not been read yet
            return Status.NOT_FINITE
        if self.callback is not None and self.callback(state):
            return Status.CALLBACK
        out_of_time = self.time_limit is not None and perf_counter() - self.begin >= self.time_limit
        out_of_iterations = state.t >= self.max_iter
        status = Status.TIME_LIMIT if out_of_time else Status.MAX_ITER if out_of_iterations else None
        due = self.is_due(state)
        if due or status is not None:
            return self.examine(state, due, shown) or status
        return None

    def examine(self, state: State, due: bool, shown: Progress) -> Status | None:
        """Look at a state, and return the status of a run that is over because of what is seen, else None.

        Where it was not due, as at the end of a run, the next look comes when it would have come without.
        """
        seen = self.look(state)
        if due:
            self.next_look, self.samples_then = after(state.t), self.counts.samples
        if seen is None:
            return Status.NOT_FINITE
        shown.update(self.rows[-1])
        return Status.CONVERGED if self.output != "random" and self.converged(seen) else None

    def look(self, state: State) -> Measured | None:
        """Certify and record `state`; None if it is not finite. The time for it is not counted."""
        start = perf_counter()
        seen = self.measure(state)
        if seen is None:
            return None
        row = TraceRow(
            state.t,
            self.earlier[0] + start - self.begin - self.looking,
            seen.fun,
            seen.certificate.stationarity,
            seen.certificate.infeasibility,
            float(state.gamma),
            self.counts.grad,
            self.counts.prox,
            self.counts.samples,
        )
        self.rows.append(row)
        if self.best is None or seen.error < self.best.error:
            self.best = seen
        self.looking += perf_counter() - start
        return seen

    def measure(self, state: State) -> Measured | None:
        """Return the state with its certificate, or None if a number of it is not finite.

        Where its gradient is an estimate, the state is computed anew with the gradient itself.
        """
        return none_if_failed(self._measure, state) if self.estimated is None else self.measure_anew(state)

    def measure_anew(self, state: State) -> Measured | None:
        """Return the state computed anew with its certificate, or None if a number of it is not finite."""
        return none_if_failed(lambda: self._measure(recompute(self.problem, state, self.kind)))

    def _measure(self, state: State) -> Measured | None:
        z = point(self.problem, state)
        if not (all_finite(z) and all_finite(state.u) and all_finite(state.x)):
            return None
        fun = objective(self.problem, state)
        if not isfinite(fun):
            return None
        if self.kind is None:
            self.kind = kind_for(self.problem, z.shape)
        certificate = certify(self.problem, state, self.kind)
        finite = isfinite(certificate.stationarity) and isfinite(certificate.infeasibility)
        return Measured(state, fun, certificate, max(self.errors(certificate, fun, z)) if finite else inf)

    def converged(self, seen: Measured) -> bool:
        """Say whether the tolerance holds at `seen`, and still does when all is computed anew."""
        if not self.within_tol(seen):
            return False
        anew = self.measure_anew(seen.state) if self.estimated is None else seen
        if anew is None or not self.within_tol(anew):
            return False
        self.answer = anew
        return True

    def within_tol(self, seen: Measured) -> bool:
        """Say whether the rule holds at `seen`, and not because phi is unbounded below.

        There |fun| grows faster than the residual does: a residual that has not become smaller than at the first look
        is no progress, however small it is next to |fun|.
        """
        if self.tol == 0 or seen.error > self.tol:
            return False
        residual, first = seen.certificate.stationarity, self.rows[0]
        if seen.certificate.kind != "residual" or seen.state.t == first.iteration or residual <= self.tol:
            return True
        return residual <= first.stationarity / 2

    def tally(self) -> list[int]:
        """Return the counts as they are now."""
        return [self.counts.value, self.counts.grad, self.counts.prox, self.counts.samples]

    def save(self, state: State) -> None:
        """Write the checkpoint: all that the next iterate, the trace and the answer depend on."""
        if self.checkpoint is None:
            return
        states = {"last": state}
        info: dict[str, Json] = {
            "rows": [list(row) for row in self.rows],
            "counts": self.counted,  # pyright: ignore[reportAssignmentType]
            "next_look": self.next_look,
            "samples_then": self.samples_then,
            "seconds": [
                self.earlier[0] + perf_counter() - self.begin - self.looking,
                self.earlier[1] + perf_counter() - self.begin,
            ],
            "seed": self.seed,
        }
        if self.drawn is not None:
            states["drawn"] = self.drawn
        if self.output == "random" and self.rng is not None:
            info["rng"] = self.rng.bit_generator.state  # pyright: ignore[reportArgumentType]
        if self.best is not None:
            states["best"] = self.best.state
            info["best"] = [self.best.fun, list(self.best.certificate), self.best.error]
        arrays = {}
        if self.estimated is not None:
            info["gradient"], arrays = self.estimated.saved(state.t)
        self.checkpoint.save(states, info, arrays)
        self.saved_at = perf_counter()

    def restored(self, like: Array) -> State | None:
        """Take over what `save` wrote, if there is such a file, and return the last state."""
        saved = None if self.checkpoint is None else self.checkpoint.load(like)
        if saved is None:
            return None
        states, info, arrays = saved
        self.rows = [TraceRow(*row) for row in info["rows"]]
        self.counts.value, self.counts.grad, self.counts.prox, self.counts.samples = self.counted = info["counts"]
        self.samples_then = info["samples_then"]
        if self.estimated is not None:
            self.estimated.restore(info["gradient"], arrays, like)
        self.next_look, self.earlier, self.seed = info["next_look"], tuple(info["seconds"]), info["seed"]
        self.drawn = states.get("drawn")
        if self.rng is not None and "rng" in info:
            self.rng.bit_generator.state = info["rng"]
        if "best" in states:
            fun, certificate, error = info["best"]
            self.best = Measured(states["best"], fun, Certificate(*certificate), error)
        return states["last"]

    def choose(self, state: State, status: Status) -> State:
        """Return the state to hand out: the last, the best or the drawn one."""
        if self.best is not None and (self.output == "best" or status is Status.NOT_FINITE):
            return self.best.state
        return self.drawn if self.drawn is not None else state

    def finish(self, state: State, status: Status, guarantee: Callable[[int], Guarantee]) -> Result:
        """Certify the returned point anew; where that is not finite, fall back on the best that was seen."""
        answer = self.answer or self.measure_anew(self.choose(state, status))
        better = self.best is not None and answer is not None and self.best.error < answer.error
        if status is Status.INTERRUPTED and better:
            answer = self.best
        if answer is None or answer.error == inf:
            answer, status = self.best, Status.NOT_FINITE
        if answer is None:
            raise InputError(NOT_FINITE_AT_START)
        if status in (Status.MAX_ITER, Status.TIME_LIMIT) and self.within_tol(answer):
            status = Status.CONVERGED
        return Result(
            x=point(self.problem, answer.state),
            fun=answer.fun,
            status=status,
            nit=state.t,
            iteration=answer.state.t,
            certificate=answer.certificate,
            trace=Trace(tuple(self.rows)),
            guarantee=NO_GUARANTEE if status is Status.NOT_FINITE else guarantee(state.t),
            nfev=self.counts.value,
            njev=self.counts.grad,
            nprox=self.counts.prox,
            elapsed=self.earlier[1] + perf_counter() - self.begin,
            seed=self.seed,
        )
