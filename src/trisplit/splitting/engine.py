"""Algorithm 1 as a run sees it: something that iterates, and says how good its iterates are.

An engine is whatever iterates: `Splitting` here, the compiled loop and Frank-Wolfe in `trisplit.qap.engine`. A new one
is a subclass of `Engine` with `step`, or with `advance`, `measure` and `confirm` of its own.
"""

from collections.abc import Callable
from copy import copy
from math import inf, isfinite, nan, prod
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from trisplit.arrays import (
    Array,
    Shape,
    StepSize,
    Values,
    as_host,
    eps,
    from_numpy,
    index_like,
    is_array,
    misfits,
    none_if_failed,
    on_host,
    stands_for_nan,
    to_numpy,
)
from trisplit.arrays.batched import all_finite, norm, per_problem, take_rows
from trisplit.errors import InputError
from trisplit.gradients.base import Estimated
from trisplit.problems.alone import alone
from trisplit.problems.certificates import certify, recompute
from trisplit.problems.oracles import is_convex
from trisplit.problems.product import with_two_terms
from trisplit.problems.scales import ANEW, AROUND, FIRST, STILL, aim, check, confirm, doubtful
from trisplit.problems.space import Marks, Space, has_rows
from trisplit.result import Status
from trisplit.splitting.tos import Iterate, State, iterate
from trisplit.steps import Adaptive, StepRule
from trisplit.steps.records import Record, Table

Part = TypeVar("Part")
Watch: TypeAlias = Callable[[Iterate], Status | None]  # sees an iterate, and returns a reason to stop


Scales: TypeAlias = Record | Table  # the numbers of `trisplit.problems.scales`


class Measured(NamedTuple):
    """How good the points of an iterate are; of a batch columns. NaN where a point is not finite."""

    fun: Values
    stationarity: Values
    infeasibility: Values
    error: Values  # what is compared with the tolerance; infinite where the certificate is not finite


class Checked(NamedTuple):
    """An iterate as it was judged, and what that told."""

    made: Iterate
    numbers: Measured
    scales: Scales


class Warm(NamedTuple):
    """Where a run ended, for one that goes on from there."""

    y: Array
    scales: Scales  # with its last step as `gamma`


class Engine:
    """Iterations of one problem, or of a batch of them, of which a run asks for more.

    Attributes
    ----------
    now : Iterate or None
        The last one; replaced in one assignment, so an interrupt finds a whole one. Its z, y and gamma describe it.
    problem : Space
        What is iterated on.
    kind, final_kind : str
        Of the certificates by `measure` and by `confirm`.
    first_check, samples_between : int
        The iteration before which no certificate is worth it, and how many samples estimates take between two.
    """

    now: Iterate | None = None
    first_check: int = 1
    samples_between: int = 0
    batch: Shape = ()
    scale_free: bool = True  # errors count against what the run has seen, and tell of problems without a solution
    x0: Array = np.zeros(())  # where it starts
    warm: Warm | None = None  # where the run ended that it goes on from, if there is one

    def __init__(self, problem: Space, kind: str) -> None:
        self.problem, self.kind, self.final_kind = problem, kind, kind
        self.convex = all(map(is_convex, problem.base.terms))

    @property
    def t(self) -> int:
        """Iterations done."""
        return 0 if self.now is None else self.now.t

    def step(self, valued: bool) -> Iterate:
        """Return the next iterate; with `valued`, its f(z) will be asked for."""
        raise NotImplementedError

    def advance(self, until: int, watch: Watch | None = None) -> Status | None:
        """Iterate until t = `until`, `watch` returns a reason to stop, or f(z) is not finite; return that reason.

        It is NOT_FINITE where f or a term raised what stands for a NaN.
        """
        while self.t < until:
            try:
                made = self.step(self.t + 1 == until)
            except Exception as error:
                if not isinstance(error, InputError):
                    error.add_note(f"in iteration {self.t + 1}")
                if not stands_for_nan(error):
                    raise
                lost = self.now is not None and is_zero(self.now.after.gamma)
                why = "the step became 0" if lost else f"{type(error).__name__}: {error}"
                self.problem.base.f.failure = f"{why}, {', '.join(error.__notes__)}"
                return Status.NOT_FINITE
            self.now = made
            reason = None if watch is None else watch(made)
            if reason is not None or broken(made):
                return reason
        return None

    def measure(self, made: Iterate, scales: Scales, marks: Marks) -> Checked:
        """Return an iterate as it is judged, how good its points are, and the scales with this check in them.

        `marks` are points that the run has been at.
        """
        return self.judged(made, scales, marks, check)

    def confirm(self, made: Iterate, scales: Scales, *, natural: bool = True) -> Checked:
        """Return an iterate computed anew, and how good its points are: what may end a run.

        With `natural` the step is the natural one, see `trisplit.problems.scales`, unless a term is not convex, whose
        proximal map may lead elsewhere then.
        """
        step = None
        if natural:
            scales = scales.copy()
            scales.curvature = none_if_failed(self.curvature, made, scales.length)
            scales.count(aim)
            step = self.problem.as_steps(scales.natural, made.y) if self.convex else None
        anew = none_if_failed(recompute, self.problem, made, step)
        if anew is None:
            return Checked(made, self.unknown(), scales)
        at = self.problem.point(anew if made.z is None else made)
        return self.judged(anew, scales, Marks(*[at] * 3), confirm)

    def curvature(self, made: Iterate, length: Values) -> np.ndarray:
        """Return that of f around z, where a way has that length."""
        problem, z, k = self.problem, made.z, self.problem.batch_ndim
        noise = np.random.default_rng(0).standard_normal(z.shape[k:])  # the same for all problems of a batch
        far = AROUND * np.asarray(length) / float(np.linalg.norm(noise))
        return problem.curvature(z, problem.grad(z), problem.as_steps(far, z) * from_numpy(noise, z))

    def judged(self, made: Iterate, scales: Scales, marks: Marks, decision: Callable) -> Checked:
        """Return how good the points are; nothing if f or a term raises at a NaN."""
        problem, scales = self.problem, scales.copy()
        finite = problem.finite(made.z, made.x, made.u)
        if not np.count_nonzero(finite):  # many times faster than `any` for one problem
            return Checked(made, self.unknown(), scales)
        filled = made if finite is True else problem.filled(made, finite)
        known = none_if_failed(goodness, problem, filled, self.kind, marks)
        if known is None:
            return Checked(made, self.unknown(), scales)
        numbers, sizes = known
        if self.batch:
            numbers = Measured(*(self.column(values) for values in numbers))
            sizes = {name: self.column(values) for name, values in sizes.items()}
        scales.put({**sizes, "t": self.t})
        scales.count(decision)
        numbers = numbers._replace(error=scales.error)
        if self.batch:
            good = finite & np.isfinite(numbers.fun)
            numbers = Measured(*(np.where(good, column, nan) for column in numbers))
            uncertain = ~np.isfinite(numbers.stationarity + numbers.infeasibility)
            return Checked(made, numbers._replace(error=np.where(uncertain, inf, numbers.error)), scales)
        if not isfinite(numbers.stationarity + numbers.infeasibility):
            numbers = numbers._replace(error=inf)
        return Checked(made, numbers, scales)

    def unknown(self) -> Measured:
        """Return what is said of points that are not finite."""
        if not self.batch:
            return Measured(nan, nan, nan, inf)
        columns = np.full((4, prod(self.batch)), nan)
        columns[-1] = inf
        return Measured(*columns)

    def column(self, values: Values) -> np.ndarray:
        """Return numbers of a batch on the host, one for each problem counted through."""
        return np.ravel(np.broadcast_to(np.asarray(as_host(values), dtype=float), self.batch))

    def still(self, scales: Scales) -> np.ndarray | bool:
        """Say of each problem whether nothing has moved but by rounding for a while."""
        return self.scale_free and scales.still >= STILL

    def doubts(self, scales: Scales) -> np.ndarray | bool:
        """Say of each problem whether it may have no solution, see `trisplit.problems.scales`."""
        yes = self.scale_free and scales.count(doubtful)
        return scales.asked == self.t if self.batch else yes > 0

    def restarted(self, scales: Scales) -> "Engine | None":
        """Return an engine that begins anew where this one is, None if that is of no use."""
        return None

    def scales(self, tol: float, atol: float) -> Scales:
        """Return the scales before the first check."""
        scales = self.problem.record(FIRST, self.x0) if self.warm is None else self.warm.scales.copy()
        known = 0.0 if self.warm is None else scales.length
        told = {"tol": tol, "atol": atol, "eps": eps(self.x0), "meets": float(self.problem.meets)}
        scales.put({**ANEW, "known": known, **told})
        return scales

    def alone(self, made: Iterate, row: int) -> tuple[Space, Iterate]:
        """Return one problem of a batch as one of its own, with its part of an iterate."""
        problem = with_two_terms(alone(self.problem.base, self.problem.point(made), row))
        parts = {name: part for name, part in made._asdict().items() if has_rows(part, self.batch)}
        one = {name: self.taken(part, np.array([row]))[0, ...] for name, part in parts.items()}
        gamma = one.get("gamma", made.gamma)
        gamma = float(to_numpy(gamma).ravel()[0]) if is_array(gamma) else gamma
        return problem, made._replace(**{**one, "gamma": gamma})

    def taken(self, part: Part, rows: np.ndarray) -> Part:
        """Return some of the problems of an array that has all of them."""
        if isinstance(part, Table):
            return Table(part.rows[rows])  # pyright: ignore[reportReturnType]
        return take_rows(part, index_like(rows, part), len(self.batch)) if has_rows(part, self.batch) else part  # pyright: ignore[reportReturnType]

    def select(self, rows: np.ndarray) -> "Engine | None":
        """Return the engine of some of the problems, None if they cannot be told apart."""
        return None

    def save(self) -> dict[str, object]:
        """Return all that `load` needs to go on from here."""
        return {"now": self.now}

    def load(self, saved: dict) -> None:
        """Go on from what `save` returned."""
        self.now = saved["now"]


def goodness(problem: Space, made: Iterate, kind: str, marks: Marks) -> tuple[Measured, dict[str, Values]] | None:
    """Return how good points are, but for the error, and the sizes for that; nothing unless fun is finite."""
    fun: Values = as_host(problem.objective(made))  # pyright: ignore[reportAssignmentType]
    if not (isfinite(fun) if isinstance(fun, float) else np.isfinite(fun).any()):
        return None
    sizes = problem.sizes(made, marks)
    certificate = certify(problem, made, kind, sizes)
    return Measured(fun, certificate.stationarity, certificate.infeasibility, inf), sizes


class Splitting(Engine):
    """Algorithm 1 on a problem or a batch, with Algorithm 2 as its form on a `Product`.

    Parameters
    ----------
    problem : Space
    x0 : array
        y_1.
    rule : StepRule
    relax : float
    estimated : Estimated, optional
        What stands for the gradient.
    warm : Warm, optional
        The end of another run, with `x0` its point: this one begins with its y, unless that is for other copies of x.

    Examples
    --------
    >>> import trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.Box(0, 1), ts.terms.L1(0.5)])
    >>> start, engine = np.ones(2), Splitting(problem, np.ones(2), ts.steps.Constant(0.5))
    >>> engine.advance(3), engine.now.t
    (None, 3)
    >>> engine.measure(engine.now, engine.scales(1e-6, 0.0), Marks(start, start, start)).numbers.fun
    0.0
    """

    def __init__(
        self,
        problem: Space,
        x0: Array,
        rule: StepRule,
        relax: float = 1.0,
        estimated: Estimated | None = None,
        warm: Warm | None = None,
    ) -> None:
        super().__init__(problem, problem.kind_for(x0.shape))
        self.warm = warm
        self.x0, self.rule, self.relax, self.estimated = x0, rule, relax, estimated
        self.batch = tuple(x0.shape[: problem.batch_ndim])
        self.samples_between = 0 if estimated is None else estimated.access.n  # a check costs a pass over the data

    def step(self, valued: bool) -> Iterate:
        state = self.first() if self.now is None else self.now.after
        valued = valued and self.problem.hands_out_z and self.estimated is None
        return iterate(self.problem, state, self.rule, self.estimated, self.relax, valued=valued)

    def first(self) -> State:
        """Return the state to begin with; after another run with its step, unless the rule has one of its own."""
        problem, rule, y = self.problem, self.rule, self.problem.start(self.x0)
        if self.warm is None:
            return State(0, y, *rule.start(problem, y))
        gamma = self.warm.scales.gamma
        y = self.warm.y if self.warm.y.shape == y.shape else y
        if isinstance(rule, Adaptive):
            return State(0, y, *rule.begin(problem, y, gamma))
        (step, memory), gamma = rule.start(problem, y), problem.as_steps(gamma, y)
        z = problem.prox_g(y, gamma)
        return State(0, z + (step / gamma) * (y - z), step, memory)

    def duals(self, made: Iterate) -> tuple[Array | None, ...]:
        """Return an element of the subdifferential of each term, None where that is not convex or u an estimate."""
        terms = self.problem.base.terms
        if self.estimated is not None:
            return (None,) * len(terms)
        return tuple(self.problem.dual(made, i) if is_convex(term) else None for i, term in enumerate(terms))

    def measure(self, made: Iterate, scales: Scales, marks: Marks) -> Checked:
        if self.estimated is None:
            return super().measure(made, scales, marks)
        anew = none_if_failed(recompute, self.problem, made)
        return Checked(made, self.unknown(), scales) if anew is None else super().measure(anew, scales, marks)

    def restarted(self, scales: Scales) -> "Splitting | None":
        """Return an engine that begins anew at z, once: a first step from afar may have been far too short."""
        if self.batch or self.now is None or scales.restarts or not isinstance(self.rule, Adaptive):
            return None
        scales.restarts, y = 1.0, self.problem.start(self.problem.point(self.now))
        again, after = copy(self), State(self.t, y, *self.rule.start(self.problem, y), self.now.after.estimate)
        again.now = self.now._replace(after=after)
        return again

    def select(self, rows: np.ndarray) -> "Splitting | None":
        """Return the engine of some of the problems, None where f or a term cannot select them.

        The kind of certificates stays; fewer problems may allow a better one, but it is the same for all.
        """
        members = tuple(index_like(axis, self.x0) for axis in np.unravel_index(rows, self.batch))
        if (problem := self.problem.select(members, self.x0.shape)) is None:
            return None
        few = copy(self)
        few.problem = problem
        few.x0, few.batch = self.taken(self.x0, rows), rows.shape
        if self.now is not None:
            few.now = mapped(self.now, lambda part: self.taken(part, rows))
            few.require_own_f(few.now)
        return few

    def require_own_f(self, made: Iterate) -> None:
        """Raise an `InputError` unless f, as it was selected, has the gradients of an iterate; costs an iteration."""
        k, rowwise = len(self.batch), not hasattr(self.problem.base.f.source, "select")
        try:
            difference = norm(self.problem.grad(made.z) - made.u, k)
        except misfits(made.z) as error:
            what = "`f.rowwise` is declared, but f" if rowwise else "what `f.select` returns"
            raise InputError(f"{what} fails for x of shape {tuple(self.x0.shape)}: {error}") from error
        size = norm(made.u, k) + (norm(made.z, k) + norm(made.y, k)) / per_problem(made.gamma, k)
        if to_numpy(difference > eps(made.z) ** 0.5 * size).any():  # no rounding; NaN is not larger
            what = "`f.rowwise` is declared, but f" if rowwise else "`f.select(members)`"
            raise InputError(f"{what} returns another problem than that at x[members]: gradients differ")


def is_zero(gamma: StepSize) -> bool:
    """Say whether a step, not those of a batch, has underflowed."""
    return isinstance(gamma, float) and gamma == 0.0


def mapped(part: Part, function: Callable[[Part], Part]) -> Part:
    """Return nested tuples with a function applied to all that is in them."""
    if not isinstance(part, tuple):
        return function(part)
    parts = [mapped(each, function) for each in part]
    return part._make(parts) if hasattr(part, "_make") else tuple(parts)  # pyright: ignore[reportAttributeAccessIssue, reportReturnType]


def broken(made: Iterate) -> bool:
    """Say whether f(z) is known on the host and not finite; on a device that is left to the next check."""
    if (f_z := made.f_z) is None:
        return False
    return not isfinite(f_z) if isinstance(f_z, float | int) else on_host(f_z) and not all_finite(f_z)
