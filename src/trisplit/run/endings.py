"""Which problems of a run are over, and why: the one place where statuses are decided.

At each iterate the first of these decides: f(z) is not finite (that problem ends); the callback says so; a check finds
problems that are not finite, converged, stalled, or proven to have no solution or a wrong oracle (they end); the time
is up; the iterations are used up. Ctrl-C ends a run anywhere, and so does an exception that stands for a NaN.
"""

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from trisplit.arrays.batched import where_rows
from trisplit.errors import InputError
from trisplit.options import Options
from trisplit.problems.measures import Checked, Measured
from trisplit.problems.prox_faults import prox_fault
from trisplit.problems.scales import STILL, doubtful
from trisplit.problems.sizes import Marks, Scales
from trisplit.result import Status
from trisplit.run.log import Log, Mask, count
from trisplit.run.verdicts import verdict_on
from trisplit.splitting.engine import Engine
from trisplit.splitting.tos import Iterate

STILL_AFTER = 20  # iterations: a run may need some before it moves
MOST_ASKED = 8  # problems of a batch that are asked for evidence at once, and of those that converge at all
UNASKED = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.CALLBACK)  # for whom evidence would come too late
NOT_FINITE_AT_START = "`f` or its gradient is NaN or inf at the first iterate; start where both are finite"


@dataclass(frozen=True)
class Endings:
    """Puts the problems aside that are over; `size` is how many the whole batch has."""

    options: Options
    size: int

    @property
    def by_tolerance(self) -> bool:
        """Whether a certificate may end the run: two tolerances of zero ask for no end, and for no evidence."""
        return self.options.tol > 0.0 or self.options.atol > 0.0

    def within_tol(self, numbers: Measured) -> Mask:
        """Say for each row whether the tolerance holds."""
        return numbers.error <= (self.options.tol if self.by_tolerance else -inf)

    def after_check(self, engine: Engine, log: Log, made: Iterate, found: Checked, *, due: bool) -> tuple[Engine, Log]:
        """Put the rows aside for which the run is over: those within the tolerance, and those that cannot get there."""
        if not self.by_tolerance or self.options.output == "random":
            return engine, log
        left, (_, numbers, scales) = log.done ^ True, found
        still = (engine.scale_free and scales.still >= STILL) & left & (made.t >= STILL_AFTER)
        asked = still | (self.within_tol(numbers) & left)
        if count(asked):
            answer, numbers, _ = engine.confirm(made, scales)
            rows = asked & self.within_tol(numbers)
            log = self.finished(engine, log, rows, answer, numbers, Status.CONVERGED)
            stuck = still & (rows ^ True)
            if count(stuck):
                again = engine.restarted(scales)
                if again is not None:
                    return again, log
                answer, numbers, _ = engine.confirm(made, scales, natural=False)
                log = self.finished(engine, log, stuck, answer, numbers, Status.STALLED)
        if due and engine.scale_free and count(doubts := doubted(engine, scales) & (log.done ^ True)):
            answer, numbers, _ = engine.confirm(made, scales, natural=False)
            log = self.finished(engine, log, doubts, answer, numbers, None)
        return engine, log

    def finished(
        self, engine: Engine, log: Log, rows: Mask, made: Iterate, numbers: Measured, status: Status | None
    ) -> Log:
        """Return the log with rows put aside, with another status where there is evidence; with None only these."""
        if not count(rows):
            return log
        places = np.flatnonzero(rows)
        if self.by_tolerance and engine.scale_free and log.best is not None and status not in UNASKED:
            if status is Status.CONVERGED:  # one mistake of f or a term is that of all rows
                places = places[log.places[places] % (1 + self.size // MOST_ASKED) == 0]
            for row in places[:: 1 + len(places) // MOST_ASKED]:
                with engine.problem.counts.apart():
                    verdict = verdict_on(engine, log.scales, log.marks, made, numbers, int(row), status)
                if verdict is not None:
                    only = np.arange(len(log.places)) == row if engine.batch else True
                    log = log.finish(only, engine, made, numbers, verdict.status, verdict)
                    rows = rows & (only ^ True)
        return log if status is None else log.finish(rows, engine, made, numbers, status)

    def ended(self, engine: Engine, log: Log, rows: Mask, status: Status) -> Log:
        """Return the log with rows put aside at the iterate that is asked for; where it is not finite, at the best."""
        chosen = log.drawn or engine.now
        if log.best is not None and (self.options.output == "best" or status is Status.NOT_FINITE):
            chosen, _ = log.best
        assert chosen is not None
        answer, numbers, _ = engine.confirm(chosen, log.scales, natural=False)
        if log.best is None and not np.isfinite(numbers.fun).any():
            raise InputError(not_finite_at_start(engine, answer))
        best, best_numbers = log.best or (answer, numbers)  # a run may end before its first check
        failed = older = unfounded(numbers)
        if engine.final_kind != engine.kind and (status is Status.INTERRUPTED or count(failed)):
            best_numbers = engine.confirm(best, log.scales, natural=False).numbers
        if status is Status.INTERRUPTED:
            worse = best_numbers.error < numbers.error
            failed = failed & ((worse & np.isfinite(numbers.fun)) ^ True)
            older = worse | failed
        if self.options.output == "random" and status in (Status.MAX_ITER, Status.TIME_LIMIT):
            good = rows & self.within_tol(numbers) & (failed ^ True)  # a drawn point is judged here only
            if count(good):
                sure, how, _ = engine.confirm(answer, log.scales)
                good = good & self.within_tol(how)
                log = self.finished(engine, log, good, sure, how, Status.CONVERGED)
                rows = rows & (good ^ True)
        log = self.finished(engine, log, rows & (older ^ True), answer, numbers, status)
        log = self.finished(engine, log, rows & older & (failed ^ True), best, best_numbers, status)
        return self.finished(engine, log, rows & failed, best, best_numbers, Status.NOT_FINITE)


def doubted(engine: Engine, scales: Scales) -> Mask:
    """Say of each problem whether it may have no solution, see `trisplit.problems.scales`."""
    yes = scales.count(doubtful)
    return scales.asked == engine.t if engine.batch else yes > 0


def marks_after(engine: Engine, log: Log, found: Checked) -> Marks:
    """Return the points of this check, where z and x came near each other at it as origins."""
    point, settled = engine.problem.point(found.made), found.scales.settled == 1.0
    if not count(settled):
        return Marks(point, log.marks.origin, engine.x0)
    if count(settled) == len(log.places):
        return Marks(point, point, engine.x0)
    return Marks(point, where_rows(np.reshape(settled, engine.batch), point, log.marks.origin), engine.x0)


def not_finite_at_start(engine: Engine, made: Iterate | None) -> str:
    """Return why a run has no point to hand out."""
    found = None if made is None or engine.batch else prox_fault(engine.problem, made)
    if found is not None:
        place, why = found
        return f"`terms[{place}]`: {why}; mend its `prox` or its `value`"
    failure = engine.problem.base.f.failure
    return NOT_FINITE_AT_START + (f"; {failure}" if failure else "")


def unfounded(numbers: Measured) -> Mask:
    """Say for each row whether its certificate is not finite."""
    certificate = numbers.stationarity + numbers.infeasibility
    return not isfinite(certificate) if isinstance(certificate, float) else ~np.isfinite(certificate)
