"""The driver: asks an engine for iterations, checks certificates, records, saves, and stops for one reason.

One problem is a batch of one row. A problem that converged, or became NaN, is put aside with its answer. Where f and
the terms can `select` some of their problems, the rows of the finished ones are taken out of the arrays as soon as
enough have gathered; elsewhere they are iterated on, and not checked again.

At each iterate the first of these decides: f(z) is not finite (that problem ends); the callback says so; a check finds
problems that are not finite, converged, stalled, or proven to have no solution or a wrong oracle (they end); the time
is up; the iterations are used up. Ctrl-C ends a run anywhere, and so does an exception that stands for a NaN.
"""

from math import inf, isfinite, isnan, prod
from time import perf_counter
from typing import Any
from warnings import warn

import numpy as np

from trisplit.arrays import shapes_are_cheap
from trisplit.arrays.batched import where_rows
from trisplit.errors import InputError
from trisplit.options import Options
from trisplit.problems.faults import prox_fault
from trisplit.problems.space import Marks
from trisplit.progress import Progress
from trisplit.result import BatchTraceRow, Status, TraceRow
from trisplit.run.checkpoint import Checkpoint
from trisplit.run.log import Guarantees, Log, Mask, as_result, count, merged
from trisplit.run.verdicts import verdict_on
from trisplit.splitting.engine import Checked, Engine, Measured, Scales, Splitting, broken
from trisplit.splitting.tos import Iterate

CHECK_EVERY, GROWING_FROM, CHECK_GROWTH = (
    3,
    10,
    1.2,
)  # iterations between checks, then by how much t grows till the next
SAVE_SECONDS = 10.0
COMPACT_SHARE = 1 / 10  # of finished rows; taking rows out costs as much as an iteration or two
STILL_AFTER = 20  # iterations: a run may need some before it moves
MOST_ASKED = 8  # problems of a batch that are asked for evidence at once, and of those that converge at all
UNASKED = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.CALLBACK)  # for whom evidence would come too late
VAIN = 100  # iterations, before which it is not worth a word that finished problems are iterated on
LET_GO = {
    "`f`": "declare `f.rowwise = True` if it treats each row of x alike, or give it `select(members)`",
    "a term": "give it `select(members)`",
}
NOT_FINITE_AT_START = "`f` or its gradient is NaN or inf at the first iterate; start where both are finite"


class Run:
    """One run of an engine.

    Parameters
    ----------
    engine : Engine
    options : Options
    checkpoint : Checkpoint, optional
        The file to go on from and to write to.
    """

    def __init__(self, engine: Engine, options: Options, checkpoint: Checkpoint | None = None) -> None:
        # Replaced together, so that an interrupt finds two that agree.
        self.now, self.saved_at = (engine, Log.of(engine, options)), options.begin
        self.options, self.seed, self.checkpoint = options, options.seed, checkpoint
        self.endable = options.tol > 0.0 or options.atol > 0.0
        watched = (options.callback, options.time_limit, checkpoint) != (None, None, None)
        self.watcher = self.watch if watched or options.output == "random" else None
        self.whole, self.counts = engine, engine.problem.counts
        self.begin, self.checking = options.begin, 0.0  # as if one run had done it all, and the seconds of its checks
        self.counted = dict(vars(self.counts))  # when the last iterate was whole, or its check over
        self.warned = False  # of finished problems that stay in the arrays
        if checkpoint is not None:
            self.restore(checkpoint.load())

    @property
    def engine(self) -> Engine:
        return self.now[0]

    @property
    def log(self) -> Log:
        return self.now[1]

    # A diverging iterate overflows; that becomes a status, so the warnings on the way there say nothing new.
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def run(self, guarantees: Guarantees) -> Any:  # a `Result`, of a batch a `BatchResult`
        """Iterate until every problem is finished or there is another reason to stop; return how they ended."""
        try:
            with Progress(self.options.max_iter, self.options.time_limit, enabled=self.options.progress) as shown:
                status = self.check_again()
                while status is None and self.log.left:
                    status = self.advance()
                    shown.update(self.log.trace)
        except KeyboardInterrupt:
            if self.engine.now is None:
                raise
            status = Status.INTERRUPTED
        except Exception:
            if self.engine.now is not None:
                self.save()
            raise
        if self.engine.now is None:
            raise InputError(self.not_finite_at_start(None))
        if status is not Status.NOT_FINITE and (self.engine.batch or not self.log.ended_as(Status.NOT_FINITE).any()):
            self.save()  # else the file before is worth more than this end
        if status is not None and self.log.left:
            self.now = self.engine, self.ended(self.log, self.log.done ^ True, status)
        return as_result(self.log, self.whole, guarantees, perf_counter() - self.begin, self.seed)

    def advance(self) -> Status | None:
        """Iterate until the next check, or until there is something to see before; return why to stop all, or None."""
        (engine, log), options = self.now, self.options
        until = min(max(log.next_check, engine.t + 1), options.max_iter)
        reason = engine.advance(until, self.watcher)
        if engine.now is None or reason in (Status.NOT_FINITE, Status.CALLBACK):
            return reason
        if broken(engine.now) and log.best is not None:  # on a device that is left to the check
            finite = np.isfinite(np.ravel(np.asarray(engine.now.f_z))) if engine.batch else False
            rows = (log.done ^ True) & (finite ^ True)
            if count(rows):  # those that have ended may still be in the arrays
                self.now = engine, self.ended(self.log, rows, Status.NOT_FINITE)
        reason = self.check_if_due(reason)
        self.compact()
        self.counted = dict(vars(self.counts))
        return reason

    def watch(self, made: Iterate) -> Status | None:
        """See an iterate between two checks, and return a reason to stop there; save now and then."""
        options, (engine, log) = self.options, self.now
        self.counted = dict(vars(self.counts))
        if options.output == "random" and options.rng is not None:
            # A reservoir of one for each problem: each iterate so far is kept with probability 1 / t. Numbers are drawn
            # for all problems, so that none depends on which are at work.
            chosen = options.rng.random(prod(self.whole.batch))[log.places] * made.t < 1.0
            if chosen.any():
                drawn = merged(chosen, made._replace(after=None), log.drawn, engine.batch)
                self.now = engine, log._replace(drawn=drawn)
        if self.checkpoint is not None and perf_counter() - self.saved_at >= SAVE_SECONDS:
            self.save()
        alone_and_broken = not engine.batch and broken(made)
        if options.callback is not None and not alone_and_broken and options.callback(made):
            return Status.CALLBACK
        late = options.time_limit is not None and perf_counter() - options.begin >= options.time_limit
        return Status.TIME_LIMIT if late else None

    def check_if_due(self, reason: Status | None = None, *, again: bool = False) -> Status | None:
        """Check the last iterate if that is due, or again, or if there is a reason to stop all; return that reason.

        A check is not due before its time, nor, with estimates, before another pass over the data.
        """
        (engine, log), samples = self.now, self.counts.samples
        too_few = bool(log.trace) and 0 < samples - log.samples_then < engine.samples_between
        due = engine.t >= log.next_check and not too_few
        reason = reason or (Status.MAX_ITER if engine.t >= self.options.max_iter else None)
        if (due or again or reason is not None) and log.left and engine.now is not None:
            self.check(engine.now, due=due)
        return reason

    def check_again(self) -> Status | None:
        """Check the iterate of a file, and return the status of a run that is over there already.

        It was not checked if the run was stopped before that; and if it was, the tolerance may be another one now.
        """
        (engine, log), counted = self.now, self.counted
        if engine.now is None:
            return None
        again = bool(log.trace) and log.trace[-1].iteration == engine.t
        reason = self.check_if_due(again=again)
        if again:
            self.counted = counted
            vars(self.counts).update(counted)
        self.compact()
        return reason

    def check(self, made: Iterate, *, due: bool) -> None:
        """Measure all rows, remember the best of each, and put the finished ones aside; the time is not counted."""
        (engine, log), start = self.now, perf_counter()
        found = engine.measure(made, log.scales, log.marks)
        numbers, news = found.numbers, {}
        unknown = np.isnan(numbers.fun) if engine.batch else isnan(numbers.fun)
        if log.best is None and count(unknown) == len(log.places):  # by another kind of certificate they may be known
            self.now = engine, self.ended(log, log.done ^ True, Status.NOT_FINITE)
            return
        if count(unknown) < len(log.places) and not (log.trace and log.trace[-1].iteration == made.t):  # of a file
            news["trace"] = (*log.trace, self.trace_row(made, numbers, start))
        if due:
            news |= {"next_check": check_after(made.t), "samples_then": self.counts.samples}
            news |= {"scales": found.scales, "marks": self.marks(found)}
        log = log.checked(found, engine.batch, **news)
        if count(unknown) and count(unknown & (log.done ^ True)):
            log = self.ended(log, unknown & (log.done ^ True), Status.NOT_FINITE)
        if self.endable and self.options.output != "random":
            engine, log = self.judged(engine, log, made, numbers, found.scales, due)
        self.now = engine, log
        self.counted = dict(vars(self.counts))
        self.checking += perf_counter() - start

    def marks(self, found: Checked) -> Marks:
        """Return the points of this check, where z and x came near each other at it as origins."""
        (engine, log), point = self.now, self.engine.problem.point(found.made)
        settled = found.scales.settled == 1.0
        if not count(settled):
            return Marks(point, log.marks.origin, engine.x0)
        if count(settled) == len(log.places):
            return Marks(point, point, engine.x0)
        return Marks(point, where_rows(np.reshape(settled, engine.batch), point, log.marks.origin), engine.x0)

    def judged(
        self, engine: Engine, log: Log, made: Iterate, numbers: Measured, scales: Scales, due: bool
    ) -> tuple[Engine, Log]:
        """Put the rows aside for which the run is over: those within the tolerance, and those that cannot get there."""
        left = log.done ^ True
        still = engine.still(scales) & left & (made.t >= STILL_AFTER)
        asked = still | (self.within_tol(numbers) & left)
        if count(asked):
            answer, numbers, _ = engine.confirm(made, scales)
            rows = asked & self.within_tol(numbers)
            log = self.finished(log, rows, answer, numbers, Status.CONVERGED)
            stuck = still & (rows ^ True)
            if count(stuck):
                again = engine.restarted(scales)
                if again is not None:
                    return again, log
                answer, numbers, _ = engine.confirm(made, scales, natural=False)
                log = self.finished(log, stuck, answer, numbers, Status.STALLED)
        if due and count(doubts := engine.doubts(scales) & (log.done ^ True)):
            answer, numbers, _ = engine.confirm(made, scales, natural=False)
            log = self.finished(log, doubts, answer, numbers, None)
        return engine, log

    def finished(self, log: Log, rows: Mask, made: Iterate, numbers: Measured, status: Status | None) -> Log:
        """Return the log with rows put aside, with another status where there is evidence; with None only these."""
        if not count(rows):
            return log
        engine, places = self.engine, np.flatnonzero(rows)
        if self.endable and engine.scale_free and log.best is not None and status not in UNASKED:
            if status is Status.CONVERGED:  # one mistake of f or a term is that of all rows
                places = places[log.places[places] % (1 + prod(self.whole.batch) // MOST_ASKED) == 0]
            for row in places[:: 1 + len(places) // MOST_ASKED]:
                with self.counts.apart():
                    verdict = verdict_on(engine, log.scales, log.marks, made, numbers, int(row), status)
                if verdict is not None:
                    only = np.arange(len(log.places)) == row if engine.batch else True
                    log = log.finish(only, engine, made, numbers, verdict.status, verdict)
                    rows = rows & (only ^ True)
        return log if status is None else log.finish(rows, engine, made, numbers, status)

    def within_tol(self, numbers: Measured) -> Mask:
        """Say for each row whether the tolerance holds; two zeros ask for no end."""
        return numbers.error <= (self.options.tol if self.endable else -inf)

    def trace_row(self, made: Iterate, numbers: Measured, start: float) -> TraceRow | BatchTraceRow:
        """Return the line of the trace for a check that began at `start`."""
        seconds, counts = start - self.begin - self.checking, self.counts
        if not self.engine.batch:
            found = float(numbers.fun), float(numbers.stationarity), float(numbers.infeasibility), float(made.gamma)
            return TraceRow(made.t, seconds, *found, counts.grad, counts.prox, counts.samples)
        working = np.flatnonzero(self.log.done ^ True)  # indices are faster than a mask without order
        pair = [np.asarray(column)[working] for column in (numbers.stationarity, numbers.infeasibility)]
        stationarity, infeasibility = np.fmax.reduce(pair, axis=1, initial=np.nan).tolist()  # NaN if all are
        return BatchTraceRow(made.t, seconds, len(working), stationarity, infeasibility, counts.grad, counts.prox)

    def compact(self) -> None:
        """Take the finished rows out if enough have gathered and f and the terms can select the others."""
        engine, log = self.now
        if not (engine.batch and log.left and isinstance(engine, Splitting)) or self.options.callback is not None:
            return  # a callback sees all problems, each at its place
        if count(log.done) / len(log.places) < (COMPACT_SHARE if shapes_are_cheap(engine.x0) else 1 / 2):
            return
        stay = np.flatnonzero(log.done ^ True)
        if (few := engine.select(stay)) is not None:
            self.now = few, log.select(stay, engine)
            return
        vain = (engine.t - log.ends.nit[log.places[log.done]]).sum()  # iterations of finished problems
        if not self.warned and engine.t >= VAIN and vain > engine.t * len(log.places) / 2:
            self.warned, whose = True, "a term" if engine.problem.base.f.selects else "`f`"
            text = f"more time went into finished problems than into others, as {whose} cannot let them go"
            warn(f"{text}; {LET_GO[whose]}", RuntimeWarning, stacklevel=6)

    def ended(self, log: Log, rows: Mask, status: Status) -> Log:
        """Return the log with rows put aside at the iterate that is asked for; where it is not finite, at the best."""
        engine, chosen = self.engine, log.drawn or self.engine.now
        if log.best is not None and (self.options.output == "best" or status is Status.NOT_FINITE):
            chosen, _ = log.best
        assert chosen is not None
        answer, numbers, _ = engine.confirm(chosen, log.scales, natural=False)
        if log.best is None and not np.isfinite(numbers.fun).any():
            raise InputError(self.not_finite_at_start(answer))
        best, best_numbers = log.best or (answer, numbers)  # a run may end before its first check
        arrived = status in (Status.MAX_ITER, Status.TIME_LIMIT)  # a drawn point is judged here only
        failed = older = unfounded(numbers)
        if engine.final_kind != engine.kind and (status is Status.INTERRUPTED or count(failed)):
            best_numbers = engine.confirm(best, log.scales, natural=False).numbers
        if status is Status.INTERRUPTED:
            worse = best_numbers.error < numbers.error
            failed = failed & ((worse & np.isfinite(numbers.fun)) ^ True)
            older = worse | failed
        good = rows & self.within_tol(numbers) & (failed ^ True) & arrived & (self.options.output == "random")
        if count(good):
            sure, how, _ = engine.confirm(answer, log.scales)
            good = good & self.within_tol(how)
            log = self.finished(log, good, sure, how, Status.CONVERGED)
        log = self.finished(log, rows & (good ^ True) & (older ^ True), answer, numbers, status)
        log = self.finished(log, rows & older & (failed ^ True), best, best_numbers, status)
        return self.finished(log, rows & failed, best, best_numbers, Status.NOT_FINITE)

    def not_finite_at_start(self, made: Iterate | None) -> str:
        """Return why a run has no point to hand out."""
        engine, failure = self.engine, self.engine.problem.base.f.failure
        found = None if made is None or engine.batch else prox_fault(engine.problem, made)
        if found is not None:
            place, why = found
            return f"`terms[{place}]`: {why}; mend its `prox` or its `value`"
        return NOT_FINITE_AT_START + (f"; {failure}" if failure else "")

    def save(self) -> None:
        """Write the checkpoint: all that the next iterates, the trace and the answers depend on."""
        if self.checkpoint is None:
            return
        (engine, log), rng = self.now, self.options.rng
        parts = {"engine": engine.save(), "log": log, "rng": None if rng is None else rng.bit_generator.state}
        seconds = {"elapsed": perf_counter() - self.begin, "checking": self.checking}
        self.checkpoint.save({**parts, **seconds, "counts": self.counted, "seed": self.seed})
        self.saved_at = perf_counter()

    def restore(self, saved: dict | None) -> None:
        """Take over what `save` wrote, if there is a file."""
        if saved is None:
            return
        engine, log = self.engine, saved["log"]
        self.begin, self.checking, self.seed = self.begin - saved["elapsed"], saved["checking"], saved["seed"]
        if self.options.rng is not None and saved["rng"] is not None:
            self.options.rng.bit_generator.state = saved["rng"]
        if len(log.places) < len(self.log.places):
            if self.options.callback is not None:
                gone = "finished problems are gone from its arrays, and a callback is to see them"
                raise InputError(f"the checkpoint is of a run without `callback`: {gone}; leave the callback out")
            engine = engine.select(log.places)
            if engine is None:
                raise InputError("the checkpoint needs `f.select`, which has gone; restore it, or choose another path")
        log.scales.put({"tol": self.options.tol, "atol": self.options.atol})  # those of before may be others
        engine.load(saved["engine"])
        if engine is not self.whole and isinstance(engine, Splitting) and engine.now is not None:
            engine.require_own_f(engine.now)
        error = log.ends.error[log.ended_as(Status.CONVERGED)].max(initial=0.0)
        if not engine.batch:  # the tolerance may be another one now
            log = log._replace(done=self.log.done, ends=self.log.ends)
        elif error > self.options.tol:
            came = f"problems in the checkpoint ended at a larger one, with errors up to {error:.3g}"
            remedy = "choose another path, or a `tol` of at least that"
            raise InputError(f"`tol` is {self.options.tol:.3g}, but {came}; {remedy}")
        self.counted = saved["counts"]  # last: what came before has counted, too
        vars(self.counts).update(self.counted)
        self.now = engine, log


def check_after(t: int) -> int:
    """Return when to check after iteration t: where problems are small, a check costs more than an iteration."""
    return t + CHECK_EVERY if t < GROWING_FROM else int(CHECK_GROWTH * t)


def unfounded(numbers: Measured) -> Mask:
    """Say for each row whether its certificate is not finite."""
    certificate = numbers.stationarity + numbers.infeasibility
    return not isfinite(certificate) if isinstance(certificate, float) else ~np.isfinite(certificate)
