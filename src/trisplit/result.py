"""What `minimize` returns: status, certificate, trace and guarantee."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from os import PathLike
from typing import NamedTuple

import numpy as np

from trisplit.arrays import Array


class Status(Enum):
    """Why a run ended; the value is the message.

    Examples
    --------
    >>> Status.CONVERGED.success, Status.MAX_ITER.success
    (True, False)
    """

    CONVERGED = "converged: stationarity and infeasibility are within tol"
    MAX_ITER = "stopped at max_iter before tol was reached; raise max_iter or loosen tol"
    TIME_LIMIT = "stopped at time_limit before tol was reached; this is the point reached by then"
    INTERRUPTED = "interrupted; this is the best point found by then"
    CALLBACK = "stopped by the callback"
    NOT_FINITE = (
        "a number became NaN or inf; this is the best point before; check f, bound x by a set or try a smaller step"
    )

    @property
    def success(self) -> bool:
        """Whether the tolerance was reached."""
        return self is Status.CONVERGED


class Certificate(NamedTuple):
    """How good a point is.

    Attributes
    ----------
    stationarity : float
        The absolute epsilon of [YMS21] Definitions 2 and 3, signed: at an infeasible point it can be negative. For
        `kind="residual"`, the norm of an element of the subdifferential.
    infeasibility : float
        dist(z, dom h) where h can measure it, else ||z - x||.
    kind : str
        "gap" (exact, by a joint oracle), "bound" (an upper bound on the gap) or "residual".
    """

    stationarity: float
    infeasibility: float
    kind: str


@dataclass(frozen=True)
class Guarantee:
    """The theorem of [YMS21] that covers a run, or the reason why none does.

    Attributes
    ----------
    theorem : str or None
    reason : str
        Which assumption fails; with a theorem, what its bounds are.
    stationarity, infeasibility : float or None
        The theorem's bounds, in expectation over the random output, where all constants are known.
    """

    theorem: str | None
    reason: str
    stationarity: float | None = None
    infeasibility: float | None = None

    def __str__(self) -> str:
        return f"{self.theorem}: {self.reason}" if self.theorem else f"no theorem applies: {self.reason}"


class TraceRow(NamedTuple):
    """One look of the driver."""

    iteration: int
    seconds: float
    objective: float
    stationarity: float
    infeasibility: float
    step: float
    gradients: int
    proxes: int


@dataclass(frozen=True)
class Trace:
    """The looks of the driver, at iteration counts that grow by about 1.2; `seconds` leaves out the looking.

    Examples
    --------
    >>> trace = Trace((TraceRow(1, 0.1, 5.0, 1.0, 0.0, 0.5, 1, 2),))
    >>> trace["objective"]
    array([5.])
    """

    rows: tuple[TraceRow, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> np.ndarray:
        """Return a column as an array."""
        if column not in TraceRow._fields:
            raise KeyError(f"{column!r} is not a column; the columns are {', '.join(TraceRow._fields)}")
        return np.array([getattr(row, column) for row in self.rows])

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the trace as a CSV file with a header line."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(TraceRow._fields)
            writer.writerows(self.rows)


@dataclass(frozen=True)
class Result:
    """The answer of `minimize`, shaped like SciPy's.

    Attributes
    ----------
    x : array
        The point.
    fun : float
        phi there, indicators counted as 0.
    status : Status
        Why the run ended; `success` and `message` come from it.
    nit : int
        Iterations done; `iteration` is the one that x comes from.
    nfev, njev, nprox : int
        Calls of f, of its gradient and of proximal maps, those for checking and looking included.
    elapsed : float
        Seconds, looking included.
    certificate : Certificate
        Recomputed at x.
    trace : Trace
    guarantee : Guarantee
    seed : int or None
        The entropy behind `output="random"`; None if a generator was given.
    """

    x: Array
    fun: float
    status: Status
    nit: int
    iteration: int
    nfev: int
    njev: int
    nprox: int
    elapsed: float
    certificate: Certificate
    trace: Trace
    guarantee: Guarantee
    seed: int | None = None

    @property
    def success(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status.success

    @property
    def message(self) -> str:
        """What the status means."""
        return self.status.value

    def __repr__(self) -> str:
        return (
            f"Result(fun={self.fun:.6g}, success={self.success}, status={self.status.name}, nit={self.nit}, "
            f"stationarity={self.certificate.stationarity:.3g} ({self.certificate.kind}), "
            f"infeasibility={self.certificate.infeasibility:.3g}, elapsed={self.elapsed:.3g} s, "
            f"x of shape {tuple(self.x.shape)})"
        )
