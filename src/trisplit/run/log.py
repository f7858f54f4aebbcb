"""What a run remembers of the iterates that it checked: one row for each problem that is still in the arrays.

A `Log` never changes; a check makes a new one, so that an interrupt finds all of a check or nothing of it.
"""

from collections.abc import Callable, Sequence
from math import inf, nan, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trisplit.arrays import Array, Shape, as_host, from_numpy, index_like, to_numpy
from trisplit.arrays.batched import all_finite, column, each_finite, put_rows, take_rows, where_rows
from trisplit.options import Options
from trisplit.problems.certificates import recompute
from trisplit.problems.measures import Checked, Measured
from trisplit.problems.scales import FIRST
from trisplit.problems.sizes import Marks, Scales
from trisplit.result import BatchResult, BatchTraceRow, Certificate, Guarantee, Result, Status, Trace, TraceRow
from trisplit.run.verdicts import Verdict
from trisplit.splitting.engine import Engine, Part, Splitting, Warm, mapped
from trisplit.splitting.tos import Iterate, differs
from trisplit.steps.records import Table

# What theory says of problems after so many iterations each.
Guarantees: TypeAlias = Callable[[list[int]], Sequence[Guarantee]]
Mask: TypeAlias = bool | np.ndarray  # of rows; True or False for one problem
KINDS = {Status.INFEASIBLE: "separation", Status.UNBOUNDED: "recession"}
NO_GUARANTEE = Guarantee(None, "f or its gradient was not finite at an iterate")
STATUSES = tuple(Status)
# Of a problem that goes on; the status is a place in STATUSES.
UNFINISHED = {**FIRST, **dict.fromkeys((*Measured._fields, "iteration", "nit", "status"), nan)}


class Log(NamedTuple):
    """What was seen so far.

    An iterate that is kept, `best` or `drawn`, may be merged of several: it is then only y, gamma and t, with an entry
    for each row, from which all else follows.
    """

    places: np.ndarray  # of each row in the batch, counted through
    done: Mask  # finished, but still in the arrays
    ends: Table  # how each problem of the whole batch ended
    scales: Scales  # what the checks have seen
    marks: Marks  # points at which z was
    x: Array | None = None  # where they ended, as soon as one has
    next_check: int = 1
    samples_then: int = 0  # that estimates had taken at the last check that was due
    best: tuple[Iterate, Measured] | None = None
    drawn: Iterate | None = None
    verdicts: tuple[tuple[int, Verdict], ...] = ()  # on problems at these places
    trace: tuple[TraceRow | BatchTraceRow, ...] = ()
    y: Array | None = None  # with which a run would go on from where they ended
    duals: tuple[Array | None, ...] = ()  # there

    @classmethod
    def of(cls, engine: Engine, options: Options) -> "Log":
        """Return the log of problems that begin."""
        n, told = prod(engine.batch), engine.scales(options.tol, options.atol)
        done = np.zeros(n, dtype=bool) if engine.batch else False  # for one problem masks are plain
        return cls(
            np.arange(n),
            done,
            Table.of(n, UNFINISHED),
            told,
            Marks(*[engine.x0] * 3),
            next_check=engine.first_check,
        )

    @property
    def left(self) -> int:
        """How many rows are not finished."""
        return len(self.places) - count(self.done)

    def ended_as(self, status: Status) -> np.ndarray:
        """Say of each problem of the whole batch whether it ended with that status."""
        return self.ends.status == STATUSES.index(status)

    def checked(self, found: Checked, batch: Shape, **news: Any) -> "Log":  # noqa: ANN401
        """Return the log after a check, with other fields as given; its points may be the best so far.

        A check that was not due must not change what later ones see, but for the errors of the best.
        """
        best, (made, numbers, scales) = self.best, found
        made = made if made.after is None else made._replace(after=None)
        better = (scales.better == 1.0) & (self.done ^ True) & (numbers.error < inf)  # not where f broke
        if best is None or count(better) == len(self.places):
            best = made, numbers
        elif count(better):
            best = (
                merged(better, made, best[0], batch),
                Measured(*(np.where(better, *pair) for pair in zip(numbers, best[1], strict=True))),
            )
        if "scales" not in news:
            news["scales"] = self.scales.copy()
            kept = ("best_residual", "best_apart", "best_t")
            news["scales"].put({name: getattr(scales, name) for name in kept})
        return self._replace(best=best, **news)

    def finish(
        self,
        rows: Mask,
        engine: Engine,
        made: Iterate,
        numbers: Measured,
        status: Status,
        verdict: Verdict | None = None,
    ) -> "Log":
        """Return the log in which some rows, given by a mask, ended at the points of an iterate."""
        if not count(rows):
            return self
        t, made = made.t, recompute(engine.problem, made) if made.z is None else made
        few, x, k, ends = np.flatnonzero(rows), engine.problem.point(made), len(engine.batch), self.ends.copy()
        places, y, duals = self.places[few], None, ()
        if isinstance(engine, Splitting) and engine.now is not None:
            y, duals = engine.now.after.y, engine.duals(made)
            for name in FIRST if engine.batch else ():  # one problem has them still
                ends.rows[name][places] = np.ravel(getattr(self.scales, name))[few]
            gamma = np.asarray(as_host(engine.now.gamma), dtype=float)
            ends.gamma[places] = np.broadcast_to(gamma.ravel(), self.places.shape)[few]
        told = {**numbers._asdict(), "iteration": t, "nit": engine.t, "status": STATUSES.index(status)}
        for name, number in told.items():
            ends.rows[name][places] = number[few] if isinstance(number, np.ndarray) and number.ndim else number

        def put(new: Array | None, old: Array | None) -> Array | None:
            if new is None or old is None:
                return new
            ended = take_rows(new, index_like(few, new), k)
            axes = old.ndim - new.ndim + k  # those of the whole batch may be more
            return put_rows(old, index_like(places, new), ended, axes)

        duals = tuple(map(put, duals, self.duals or (None,) * len(duals)))
        news = {"x": put(x, self.x), "y": put(y, self.y), "duals": duals}
        known = self.verdicts if verdict is None else (*self.verdicts, (int(places[0]), verdict))
        return self._replace(done=self.done | rows, ends=ends, verdicts=known, **news)

    def select(self, rows: np.ndarray, engine: Splitting) -> "Log":
        """Return the log of some rows; the engine is that of all."""

        def taken(part: Part) -> Part:
            if isinstance(part, np.ndarray) and part.shape == self.places.shape:
                return part[rows]  # pyright: ignore[reportReturnType]
            return engine.taken(part, rows)

        names = "places", "done", "scales", "marks", "best", "drawn"
        return self._replace(**{name: mapped(getattr(self, name), taken) for name in names})


def count(mask: Mask) -> int:
    """Return how many rows a mask has."""
    return mask if isinstance(mask, bool) else int(np.count_nonzero(mask))


def merged(mask: Mask, new: Iterate, old: Iterate | None, batch: Shape) -> Iterate:
    """Return the new iterate in the rows of the mask and the old one in the others."""
    if old is None or np.all(mask):
        return new
    if isinstance(mask, bool) or not mask.any():
        return old
    rows, gamma = mask.reshape(batch), new.gamma
    if gamma is not old.gamma and differs(gamma, old.gamma):
        zeros = column(from_numpy(np.zeros(batch), new.y), new.y)  # one number may be the step of all rows
        gamma = where_rows(rows, zeros + gamma, zeros + old.gamma)
    t, y = np.where(mask, new.t, old.t), where_rows(rows, new.y, old.y)
    return Iterate(t, None, None, y, None, gamma)  # pyright: ignore[reportArgumentType]  # the rest follows from these


def as_result(log: Log, engine: Engine, guarantees: Guarantees, elapsed: float, seed: int | None) -> Any:  # noqa: ANN401  # a `Result`, of a batch a `BatchResult`
    """Return the answers of all problems; a point that was never finite is that of x0."""
    batch, ends, x, counts = engine.batch, log.ends, log.x, engine.problem.counts

    def shaped(column: np.ndarray) -> Any:  # noqa: ANN401  # an array, or one value
        return column.reshape(batch) if batch else column.item()

    assert x is not None  # every problem has ended
    if batch and not all_finite(x):
        x = where_rows(to_numpy(each_finite(x, len(batch))), x, engine.x0)
    status, nit = np.array(STATUSES, dtype=object)[ends.status.astype(int)], ends.nit.astype(int)
    failed, guarantee = status == Status.NOT_FINITE, np.full(len(status), NO_GUARANTEE, dtype=object)
    if not failed.all():
        covered = np.array(guarantees(nit.tolist()), dtype=object)
        guarantee[~failed] = covered[~failed]
    kind, row = (BatchResult, BatchTraceRow) if batch else (Result, TraceRow)
    columns = {"status": status, "nit": nit, "iteration": ends.iteration.astype(int), "guarantee": guarantee}
    each = {name: shaped(column) for name, column in {**columns, "fun": ends.fun}.items()}
    whys, proofs = np.full(len(status), "", dtype=object), np.full(len(status), None, dtype=object)
    for place, verdict in log.verdicts:
        whys[place], proofs[place] = verdict.why, verdict.proof
    kind_of = KINDS.get(status[0], engine.final_kind) if not batch else engine.final_kind
    certificate = Certificate(shaped(ends.stationarity), shaped(ends.infeasibility), kind_of, shaped(proofs))
    if log.y is not None:
        scales = Table(ends.rows[list(FIRST)].copy()) if batch else log.scales.copy()
        scales.put({"gamma": ends.gamma if batch else ends.gamma.item()})
        each |= {"state": Warm(log.y, scales), "duals": log.duals[: engine.problem.base.given]}
    each |= {"nfev": counts.value, "njev": counts.grad, "nprox": counts.prox, "elapsed": elapsed, "seed": seed}
    each |= {"why": shaped(whys), "nevidence": counts.evidence}
    return kind(x=x, certificate=certificate, trace=Trace(log.trace, row._fields), **each)
