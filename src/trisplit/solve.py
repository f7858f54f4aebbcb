"""minimize(): the one driver. It looks at the states of an iteration, certifies, records and stops."""

from collections.abc import Callable, Iterator, Sequence
from math import inf, isfinite
from numbers import Real
from time import perf_counter
from typing import NamedTuple, TypeAlias

import numpy as np

from trisplit.algorithms.product import ProductProblem, product
from trisplit.algorithms.state import State
from trisplit.algorithms.tos import tos
from trisplit.arrays import Array, all_finite, as_floating, fresh_copy, is_numerical_failure, norm
from trisplit.certificates import certify, objective, point, recompute
from trisplit.errors import InputError
from trisplit.problem import Problem, Smooth, Term, ValueAndGrad
from trisplit.progress import Progress
from trisplit.result import Certificate, Guarantee, Result, Status, Trace, TraceRow
from trisplit.steps import StepRule, Theory, as_step
from trisplit.theory import guarantee_for

Rng: TypeAlias = np.random.Generator | int | None
Callback: TypeAlias = Callable[[State], object]
# The two errors of a point relative to what the tolerance is multiplied with: (stationarity, infeasibility).
Errors: TypeAlias = Callable[[Certificate, float, Array], tuple[float, float]]

OUTPUTS = ("last", "best", "random")
LOOK_RATIO = 1.2
NOT_FINITE_AT_START = "`f` or its gradient is NaN or inf at the first iterate; start where both are finite"


def minimize(
    f: Smooth | ValueAndGrad,
    x0: Array,
    terms: Term | Sequence[Term],
    *,
    step: StepRule | float | str = "auto",
    relax: float = 1.0,
    output: str = "last",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    callback: Callback | None = None,
    rng: Rng = None,
    progress: bool = False,
) -> Result:
    """Minimise f(x) + g(x) + h(x) by three operator splitting, with a certificate.

    Parameters
    ----------
    f : object with `value(x)` and `grad(x)`, or callable
        The smooth part, possibly nonconvex. A callable returns (value, gradient).
    x0 : array
        The starting point, y_1 of the algorithm.
    terms : a term or a sequence of terms
        One is g (h is zero); a pair is (g, h) for Algorithm 1, never reordered; more go to Algorithm 2.
    step : "auto", "theory", float or rule
        "auto" adapts and needs no constants; "theory" is the step of the theorem that applies.
    relax : float
        Relaxation of y, in (0, 2); 1 is the paper's algorithm.
    output : {"last", "best", "random"}
        Which iterate to return: the last, the one with the smallest certificate seen, or one drawn uniformly, as
        the theorems ask ("random" does not stop on the certificate).
    tol : float
        Stop when stationarity <= tol * max(1, |fun|) and infeasibility <= tol * max(1, ||z||); 0 never stops on it.
        A certificate of kind "residual" must also have halved since the first look, or be <= tol itself: where phi is
        unbounded below, |fun| alone would stop the run.
    max_iter : int
    time_limit : float, optional
        In seconds.
    callback : callable, optional
        Sees the state (t, z, x, y, u, gamma) of every iteration; a true return value stops.
    rng : int or Generator, optional
        For `output="random"`; None draws fresh entropy and records it in the result.
    progress : bool
        Show a progress line on standard error if that is a terminal.

    Returns
    -------
    Result

    Examples
    --------
    A nonconvex quadratic over the matrices with unit row and column sums and entries in [0, 1]:

    >>> import numpy as np, trisplit as ts
    >>> f = lambda X: (-(X**2).sum() / 2, -X)
    >>> x0 = np.array([[0.6, 0.4], [0.4, 0.6]])
    >>> res = ts.minimize(f, x0, [ts.terms.Box(0, 1), ts.terms.UnitSums()])
    >>> res.success, res.x.round(6)
    (True, array([[1., 0.],
           [0., 1.]]))
    >>> res.certificate.kind
    'gap'
    """
    begin = perf_counter()
    x0 = _checked_start(x0)
    if not (_is_real(relax) and 0 < relax < 2):
        raise InputError(f"`relax` must lie in (0, 2), got {relax!r}; 1 is the paper's algorithm")
    if output not in OUTPUTS:
        raise InputError(f"`output` is unknown, got {output!r}; choose one of {', '.join(OUTPUTS)}")
    check_callback(callback)
    check_options(tol=tol, max_iter=max_iter, time_limit=time_limit)
    seed, generator = as_generator(rng)
    rule = as_step(step)
    if isinstance(rule, Theory):
        rule = rule.with_iterations(max_iter)
    base = Problem(f, terms)
    base.check(x0)
    problem = base if len(base.terms) == 2 else ProductProblem(base)
    algorithm = tos if isinstance(problem, Problem) else product
    states = algorithm(base, x0, rule, relax=relax)

    def guarantee(iterations: int) -> Guarantee:
        return guarantee_for(problem, x0, rule, relax=relax, output=output, iterations=iterations)

    driver = Driver(
        problem,
        relative_errors,
        tol,
        max_iter,
        time_limit,
        output=output,
        callback=callback,
        rng=generator,
        seed=seed,
        progress=progress,
        begin=begin,
    )
    return driver.run(states, guarantee)


def relative_errors(certificate: Certificate, fun: float, z: Array) -> tuple[float, float]:
    """Return stationarity / max(1, |fun|) and infeasibility / max(1, ||z||)."""
    return certificate.stationarity / max(1.0, abs(fun)), certificate.infeasibility / max(1.0, norm(z))


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
    ) -> None:
        self.problem = problem
        self.errors = errors
        self.tol, self.max_iter, self.time_limit = tol, max_iter, time_limit
        self.output, self.callback = output, callback
        self.seed, self.rng = seed, rng
        self.progress = progress
        self.begin = perf_counter() if begin is None else begin
        self.counts = (problem if isinstance(problem, Problem) else problem.base).counts
        self.rows: list[TraceRow] = []
        self.best: Measured | None = None
        self.answer: Measured | None = None
        self.next_look = 1
        self.looking = 0.0

    # A diverging iterate overflows; that becomes a status, so the warnings on the way there say nothing new.
    @np.errstate(over="ignore", invalid="ignore")
    def run(self, states: Iterator[State], guarantee: Callable[[int], Guarantee]) -> Result:
        """Consume `states` until a stopping rule holds."""
        state, status, drawn = None, None, None
        try:
            with Progress(self.max_iter, self.time_limit, enabled=self.progress) as shown:
                for state in _until_failure(states):
                    if self.output == "random" and self.rng is not None and self.rng.random() * state.t < 1.0:
                        drawn = state  # a reservoir of one: each iterate so far is kept with probability 1 / t
                    status = self.visit(state, shown)
                    if status is not None:
                        break
        except KeyboardInterrupt:
            if state is None:
                raise
            status = Status.INTERRUPTED
        if state is None:
            raise InputError(NOT_FINITE_AT_START)
        return self.finish(state, drawn, status or Status.NOT_FINITE, guarantee)

    def visit(self, state: State, shown: Progress) -> Status | None:
        """Look at a state if it is time to, and return why to stop there, or None."""
        if state.f_z is not None and not isfinite(state.f_z):
            return Status.NOT_FINITE
        if self.callback is not None and self.callback(state):
            return Status.CALLBACK
        out_of_time = self.time_limit is not None and perf_counter() - self.begin >= self.time_limit
        out_of_iterations = state.t >= self.max_iter
        if state.t >= self.next_look or out_of_time or out_of_iterations:
            self.next_look = max(state.t + 1, int(LOOK_RATIO * state.t))
            seen = self.look(state)
            if seen is None:
                return Status.NOT_FINITE
            shown.update(self.rows[-1])
            if self.output != "random" and self.converged(seen):
                return Status.CONVERGED
        return Status.TIME_LIMIT if out_of_time else Status.MAX_ITER if out_of_iterations else None

    def look(self, state: State) -> Measured | None:
        """Certify and record `state`; None if it is not finite. The time for it is not counted."""
        start = perf_counter()
        seen = self.measure(state)
        if seen is None:
            return None
        row = TraceRow(
            state.t,
            start - self.begin - self.looking,
            seen.fun,
            seen.certificate.stationarity,
            seen.certificate.infeasibility,
            float(state.gamma),
            self.counts.grad,
            self.counts.prox,
        )
        self.rows.append(row)
        if self.best is None or seen.error < self.best.error:
            self.best = seen
        self.looking += perf_counter() - start
        return seen

    def measure(self, state: State) -> Measured | None:
        """Return the state with its certificate, or None if a number of it is not finite."""
        z = point(self.problem, state)
        if not (all_finite(z) and all_finite(state.u) and all_finite(state.x)):
            return None
        fun = objective(self.problem, state)
        if not isfinite(fun):
            return None
        certificate = certify(self.problem, state)
        finite = isfinite(certificate.stationarity) and isfinite(certificate.infeasibility)
        return Measured(state, fun, certificate, max(self.errors(certificate, fun, z)) if finite else inf)

    def converged(self, seen: Measured) -> bool:
        """Say whether the tolerance holds at `seen`, and still does when all is computed anew."""
        if not self.within_tol(seen):
            return False
        anew = self.measure(recompute(self.problem, seen.state))
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

    def choose(self, state: State, drawn: State | None, status: Status) -> State:
        """Return the state to hand out: the last, the best or the drawn one."""
        if self.best is not None and (self.output == "best" or status is Status.NOT_FINITE):
            return self.best.state
        return drawn if drawn is not None else state

    def finish(
        self, state: State, drawn: State | None, status: Status, guarantee: Callable[[int], Guarantee]
    ) -> Result:
        """Certify the returned point anew; where that is not finite, fall back on the best that was seen."""
        answer = self.answer or self.measure(recompute(self.problem, self.choose(state, drawn, status)))
        if answer is None or answer.error == inf:
            answer, status = self.best, Status.NOT_FINITE
        if answer is None:
            raise InputError(NOT_FINITE_AT_START)
        if status in (Status.MAX_ITER, Status.TIME_LIMIT) and self.within_tol(answer):
            status = Status.CONVERGED
        failed = Guarantee(None, "f or its gradient was not finite at an iterate")
        return Result(
            x=point(self.problem, answer.state),
            fun=answer.fun,
            status=status,
            nit=state.t,
            iteration=answer.state.t,
            certificate=answer.certificate,
            trace=Trace(tuple(self.rows)),
            guarantee=failed if status is Status.NOT_FINITE else guarantee(state.t),
            nfev=self.counts.value,
            njev=self.counts.grad,
            nprox=self.counts.prox,
            elapsed=perf_counter() - self.begin,
            seed=self.seed,
        )


def _until_failure(states: Iterator[State]) -> Iterator[State]:
    """Yield the states until one cannot be computed."""
    try:
        yield from states
    except Exception as error:
        if not is_numerical_failure(error):
            raise


def as_generator(rng: Rng) -> tuple[int | None, np.random.Generator]:
    """Return the seed behind `rng`, fresh for None and unknown for a generator, and the generator."""
    if isinstance(rng, np.random.Generator):
        return None, rng
    if rng is not None and (isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0):
        raise InputError(f"`rng` must be an int >= 0, a numpy Generator or None, got {rng!r}; try 0")
    seed = int(np.random.SeedSequence(rng).entropy)  # pyright: ignore[reportArgumentType]
    return seed, np.random.default_rng(seed)


def _checked_start(x0: object) -> Array:
    """Return a floating copy of `x0`: an iterate, and so the result, may be the array that the iteration began with."""
    try:
        array = as_floating(x0)
    except (TypeError, ValueError) as error:
        came = f"`x0` must be an array of real numbers, got {type(x0).__name__} ({error})"
        raise InputError(f"{came}; pass numbers, in rows of equal length") from error
    if 0 in array.shape:
        raise InputError(f"`x0` is empty, of shape {tuple(array.shape)}; give at least one number")
    return fresh_copy(array)


def check_options(*, tol: float, max_iter: int, time_limit: float | None) -> None:
    """Raise an `InputError` unless the stopping options make sense."""
    if not (_is_real(tol) and tol >= 0):
        raise InputError(f"`tol` must be a number >= 0, got {tol!r}; 0 never stops on the certificate")
    if isinstance(max_iter, bool) or not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise InputError(f"`max_iter` must be an integer >= 1, got {max_iter!r}; try 10_000")
    if time_limit is not None and not (_is_real(time_limit) and time_limit > 0):
        raise InputError(f"`time_limit` must be positive seconds, got {time_limit!r}; None sets no limit")


def check_callback(callback: object) -> None:
    """Raise an `InputError` unless `callback` can be called or is None."""
    if callback is not None and not callable(callback):
        raise InputError(f"`callback` must be a function, got {type(callback).__name__}; None calls nothing")


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)
