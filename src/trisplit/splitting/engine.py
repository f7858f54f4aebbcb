"""Algorithm 1 as a run sees it: something that iterates, and says how good its iterates are.

An engine is whatever iterates: `Splitting` here, the compiled loop and Frank-Wolfe in `trisplit.qap.engine`. A new one
is a subclass of `Engine` with `step`, or with `advance`, `measure` and `confirm` of its own.
"""

from collections.abc import Callable
from copy import copy
from math import isfinite
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from trisplit.arrays import (
    Array,
    Shape,
    StepSize,
    eps,
    index_like,
    misfits,
    none_if_failed,
    on_host,
    stands_for_nan,
    to_numpy,
)
from trisplit.arrays.batched import all_finite, norm, per_problem, take_rows
from trisplit.errors import InputError
from trisplit.gradients.base import Estimated
from trisplit.problems.certificates import recompute
from trisplit.problems.measures import Checked, confirmed, judged, unknown
from trisplit.problems.oracles import is_convex
from trisplit.problems.scales import ANEW, FIRST, check
from trisplit.problems.sizes import Marks, Scales
from trisplit.problems.space import Space, has_rows
from trisplit.result import Status
from trisplit.splitting.tos import Iterate, State, iterate
from trisplit.steps import Adaptive, StepRule
from trisplit.steps.records import Table

Part = TypeVar("Part")
Watch: TypeAlias = Callable[[Iterate], Status | None]  # sees an iterate, and returns a reason to stop


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

    @property
    def t(self) -> int:
        """Iterations done."""
        return 0 if self.now is None else self.now.t

    def step(self, valued: bool) -> Iterate:
        """Return the next iterate; with `valued`, its f(z) will be asked for."""
        raise NotImplementedError(f"{type(self).__name__} must define `step`, or `advance`")

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
        return judged(self.problem, made, self.kind, self.t, scales, marks, check)

    def confirm(self, made: Iterate, scales: Scales, *, natural: bool = True) -> Checked:
        """Return an iterate computed anew, with the natural step if that is asked for, and how good its points are."""
        return confirmed(self.problem, made, self.kind, self.t, scales, natural=natural)

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
        anew = made if self.estimated is None else none_if_failed(recompute, self.problem, made)
        return Checked(made, unknown(()), scales) if anew is None else super().measure(anew, scales, marks)

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
