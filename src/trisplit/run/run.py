"""The driver: asks an engine for iterations, checks certificates, records, saves, and stops for one reason.

One problem is a batch of one row. A problem that converged, or became NaN, is put aside with its answer. Where f and
the terms can `select` some of their problems, the rows of the finished ones are taken out of the arrays as soon as
enough have gathered; elsewhere they are iterated on, and not checked again.

When problems are over, and why, is decided in `trisplit.run.endings`.
"""

from math import isnan, prod
from time import perf_counter
from typing import Any
from warnings import warn

import numpy as np

from trisplit.arrays import shapes_are_cheap
from trisplit.errors import InputError
from trisplit.options import Options
from trisplit.problems.measures import Measured
from trisplit.progress import Progress
from trisplit.result import BatchTraceRow, Status, TraceRow
from trisplit.run.checkpoint import Checkpoint
from trisplit.run.endings import Endings, marks_after, not_finite_at_start
from trisplit.run.log import Guarantees, Log, as_result, count, merged
from trisplit.splitting.engine import Engine, Splitting, broken
from trisplit.splitting.tos import Iterate

CHECK_EVERY, GROWING_FROM, CHECK_GROWTH = 3, 10, 1.2  # iterations between checks, and by how much t grows from then on
SAVE_SECONDS = 10.0
COMPACT_SHARE = 1 / 10  # of finished rows; taking rows out costs as much as an iteration or two
VAIN = 100  # iterations, before which it is not worth a word that finished problems are iterated on
LET_GO = {
    "`f`": "declare `f.rowwise = True` if it treats each row of x alike, or give it `select(members)`",
    "a term": "give it `select(members)`",
}


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
        self.endings = Endings(options, prod(engine.batch))
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
            raise InputError(not_finite_at_start(self.engine, None))
        if status is not Status.NOT_FINITE and (self.engine.batch or not self.log.ended_as(Status.NOT_FINITE).any()):
            self.save()  # else the file before is worth more than this end
        if status is not None and self.log.left:
            self.now = self.engine, self.endings.ended(*self.now, self.log.done ^ True, status)
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
                self.now = engine, self.endings.ended(engine, log, rows, Status.NOT_FINITE)
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
            self.now = engine, self.endings.ended(engine, log, log.done ^ True, Status.NOT_FINITE)
            return
        if count(unknown) < len(log.places) and not (log.trace and log.trace[-1].iteration == made.t):  # of a file
            news["trace"] = (*log.trace, self.trace_row(made, numbers, start))
        if due:
            news |= {"next_check": check_after(made.t), "samples_then": self.counts.samples}
            news |= {"scales": found.scales, "marks": marks_after(engine, log, found)}
        log = log.checked(found, engine.batch, **news)
        if count(unknown) and count(unknown & (log.done ^ True)):
            log = self.endings.ended(engine, log, unknown & (log.done ^ True), Status.NOT_FINITE)
        self.now = self.endings.after_check(engine, log, made, found, due=due)
        self.counted = dict(vars(self.counts))
        self.checking += perf_counter() - start

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
