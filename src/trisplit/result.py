"""What `minimize` returns: status, certificate, trace and guarantee."""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trisplit.arrays import Array, Values

if TYPE_CHECKING:
    from trisplit.splitting.engine import Warm


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
    STALLED = "stopped before tol was reached, as only rounding or noise moves the point; scale f and x, or loosen tol"
    INFEASIBLE = "the domains of the terms have no common point; `certificate.proof` separates them"
    UNBOUNDED = "phi falls without end; bound x by a set, or check signs; `certificate.proof` has the direction"
    BAD_GRADIENT = "the gradient is not that of the values of f; `ts.check(f, x0, terms)` says more"
    BAD_PROX = "a proximal map is not that of the values of its term; `ts.check(f, x0, terms)` says more"

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
        `kind="residual"`, the norm of an element of the subdifferential. What rounding may have done is added.
    infeasibility : float
        dist(z, dom h) where h can measure it, else ||z - x||.
    kind : str
        "gap" (exact, by a joint oracle), "bound" (an upper bound on the gap), "residual", "fixed point" (the same norm
        where a term is not convex, which promises no more), "separation" (`proof` keeps the domains apart) or
        "recession" (phi falls without end along `proof`).
    proof : Separation, Recession or None
        Why a problem has no solution; see `ts.certificates.verify_separation` and `ts.certificates.verify_recession`.
        Of a batch an array.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = lambda x: (((x - 3) ** 2).sum() / 2, x - 3)
    >>> res = ts.minimize(f, np.zeros(2), [ts.terms.Box(0, 1), ts.terms.L1(0.1)])
    >>> res.certificate.kind, bool(res.certificate.stationarity <= 1e-6), float(res.certificate.infeasibility)
    ('gap', True, 0.0)
    """

    stationarity: Values
    infeasibility: Values
    kind: str
    proof: object = None  # of a batch an array


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

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = lambda x: (x @ x / 2, x)
    >>> print(ts.minimize(f, np.ones(2), [ts.terms.L1(), ts.terms.Box(0, 1)]).guarantee)
    no theorem applies: dom g (L1) is not known to be bounded
    """

    theorem: str | None
    reason: str
    stationarity: float | None = None
    infeasibility: float | None = None

    def __str__(self) -> str:
        return f"{self.theorem}: {self.reason}" if self.theorem else f"no theorem applies: {self.reason}"


class TraceRow(NamedTuple):
    """One convergence check."""

    iteration: int
    seconds: float
    objective: float
    stationarity: float
    infeasibility: float
    step: float
    gradients: int
    proxes: int
    samples: int = 0  # whose gradients were taken for estimates

    def __str__(self) -> str:
        errors = f"stat {self.stationarity:.1e}  infeas {self.infeasibility:.1e}"
        return f"{self.iteration} it  f {self.objective:.6g}  {errors}"


class BatchTraceRow(NamedTuple):
    """One convergence check of a batch; the two errors are the largest of the unfinished problems."""

    iteration: int
    seconds: float
    unfinished: int
    stationarity: float
    infeasibility: float
    gradients: int
    proxes: int

    def __str__(self) -> str:
        errors = f"stat {self.stationarity:.1e}  infeas {self.infeasibility:.1e}"
        return f"{self.iteration} it  {self.unfinished} unfinished  {errors}"


@dataclass(frozen=True)
class Trace:
    """The convergence checks, at iterations 1, 4, 7, 10 and then about 1.2 times later each; `seconds` leaves them out.

    The columns are those of `TraceRow`, in a batch those of `BatchTraceRow`.

    Examples
    --------
    >>> trace = Trace((TraceRow(1, 0.1, 5.0, 1.0, 0.0, 0.5, 1, 2),))
    >>> trace["objective"]
    array([5.])
    """

    rows: tuple[TraceRow | BatchTraceRow, ...]
    columns: tuple[str, ...] = TraceRow._fields

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow | BatchTraceRow]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> np.ndarray:
        """Return a column as an array."""
        if column not in self.columns:
            raise KeyError(f"{column!r} is not a column; the columns are {', '.join(self.columns)}")
        return np.array([getattr(row, column) for row in self.rows])

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the trace as a CSV file with a header line."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
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
        Calls of f, of its gradient and of proximal maps, those for checks included.
    elapsed : float
        Seconds, checks included.
    certificate : Certificate
        Recomputed at x.
    trace : Trace
    guarantee : Guarantee
    seed : int or None
        The entropy behind `output="random"`; None if a generator was given.
    why : str
        The evidence for the status, where it asks for some; part of `message`.
    nevidence : int
        Values and gradients of f that were compared with each other before the run ended; not counted above.
    duals : tuple of array or None
        For each term as it was given an element of its subdifferential at its own copy of x, which is as near to x as
        the proximal maps agree: grad f(x) + sum of the duals is about 0. None for a term that is not convex, and where
        the gradient is estimated.
    state : Warm or None
        What a run goes on with that is given the result as `x0`; opaque.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> res = ts.minimize(lambda x: (x @ x / 2, x), np.ones(2), ts.terms.Box(0.5, 1))
    >>> res.x, float(res.fun), res.success
    (array([0.5, 0.5]), 0.25, True)
    >>> res.message
    'converged: stationarity and infeasibility are within tol'
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
    why: str = ""
    nevidence: int = 0
    duals: tuple[Array | None, ...] = ()
    state: "Warm | None" = None

    @property
    def success(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status.success

    @property
    def message(self) -> str:
        """What the status means, and the evidence for it."""
        return f"{self.status.value} ({self.why})" if self.why else self.status.value

    def __repr__(self) -> str:
        return (
            f"Result(fun={self.fun:.6g}, success={self.success}, status={self.status.name}, nit={self.nit}, "
            f"stationarity={self.certificate.stationarity:.3g} ({self.certificate.kind}), "
            f"infeasibility={self.certificate.infeasibility:.3g}, elapsed={self.elapsed:.3g} s, "
            f"x of shape {tuple(self.x.shape)})"
        )


@dataclass(frozen=True, eq=False)
class BatchResult:
    """The answers of `minimize(..., batch_ndim=k)`: x in the library of x0, all else NumPy arrays of the batch's shape.

    Attributes
    ----------
    x : array
        The points, the axes of the batch in front.
    fun : array
        phi there, indicators counted as 0.
    status : array of Status
        Why each problem ended.
    nit : array of int
        Iterations that each problem took part in; `iteration` is the one that its x comes from.
    nfev, njev, nprox : int
        Calls of f, of its gradient and of proximal maps, each for all problems that were at work.
    elapsed : float
        Seconds, checks included.
    certificate : Certificate
        Recomputed at x; stationarity and infeasibility are arrays, and `kind` is the same for all.
    trace : Trace
        Of the batch as a whole; the columns are those of `BatchTraceRow`.
    guarantee : array of Guarantee
    seed : int or None
        The entropy behind `output="random"`; None if a generator was given.
    why : array of str
        The evidence for each status, where it asks for some; part of `message`.
    nevidence : int
        As in `Result`.
    duals : tuple of array or None
        As those of a `Result`, the axes of the batch in front.
    state : Warm or None
        What a run goes on with that is given the result as `x0`; opaque.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = lambda x: ((x**2).sum(axis=1) / 2, x)  # a value for each row
    >>> res = ts.minimize(f, np.array([[3.0, 4.0], [0.0, 1.0]]), ts.terms.Box(0.5, 9), batch_ndim=1)
    >>> res.fun, res.success, len(res)
    (array([0.25, 0.25]), array([ True,  True]), 2)
    """

    x: Array
    fun: np.ndarray
    status: np.ndarray
    nit: np.ndarray
    iteration: np.ndarray
    nfev: int
    njev: int
    nprox: int
    elapsed: float
    certificate: Certificate
    trace: Trace
    guarantee: np.ndarray
    seed: int | None = None
    why: np.ndarray | None = None
    nevidence: int = 0
    duals: tuple[Array | None, ...] = ()
    state: "Warm | None" = None

    @property
    def success(self) -> np.ndarray:
        """Whether the tolerance was reached, for each problem."""
        return self.status == Status.CONVERGED

    @property
    def message(self) -> np.ndarray:
        """What each status means, and the evidence for it."""
        words = lambda status, why: f"{status.value} ({why})" if why else status.value  # noqa: E731
        return np.vectorize(words, otypes=[object])(self.status, "" if self.why is None else self.why)

    def __len__(self) -> int:
        return self.status.size

    def __repr__(self) -> str:
        counts = Counter(status.name for status in self.status.ravel())
        statuses = ", ".join(f"{name}: {count}" for name, count in counts.most_common())
        return (
            f"BatchResult({len(self)} problems, {statuses}, nit={self.nit.min()} to {self.nit.max()}, "
            f"largest stationarity={np.nanmax(self.certificate.stationarity):.3g} ({self.certificate.kind}), "
            f"largest infeasibility={np.nanmax(self.certificate.infeasibility):.3g}, elapsed={self.elapsed:.3g} s, "
            f"x of shape {tuple(self.x.shape)})"
        )
