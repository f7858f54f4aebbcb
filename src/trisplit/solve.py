"""minimize(): the one driver. It looks at the states of an iteration, certifies, records and stops."""

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from time import perf_counter
from typing import TypeAlias

import numpy as np

from trisplit.algorithms.product import ProductProblem, product
from trisplit.algorithms.state import State
from trisplit.algorithms.tos import tos
from trisplit.arrays import Array, all_finite, as_floating, norm
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
    x0 = _checked_start(x0)
    if not 0 < relax < 2:
        raise InputError(f"`relax` must lie in (0, 2), got {relax}; 1 is the paper's algorithm")
    if output not in OUTPUTS:
        raise InputError(f"`output` must be one of {', '.join(OUTPUTS)}, got {output!r}")
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
    )
    return driver.run(states, guarantee)


def relative_errors(certificate: Certificate, fun: float, z: Array) -> tuple[float, float]:
    """Return stationarity / max(1, |fun|) and infeasibility / max(1, ||z||)."""
    return certificate.stationarity / max(1.0, abs(fun)), certificate.infeasibility / max(1.0, norm(z))


class Driver:
    """One run over the states of any iteration: looks, stops, and returns a `Result`."""

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
    ) -> None:
        self.problem = problem
        self.errors = errors
        self.tol, self.max_iter, self.time_limit = tol, max_iter, time_limit
        self.output, self.callback = output, callback
        self.seed, self.rng = seed, rng
        self.progress = progress
        self.counts = (problem if isinstance(problem, Problem) else problem.base).counts
        self.rows: list[TraceRow] = []
        self.best: tuple[float, State] | None = None
        self.looking = 0.0

    def run(self, states: Iterator[State], guarantee: Callable[[int], Guarantee]) -> Result:
        """Consume `states` until a stopping rule holds."""
        begin = perf_counter()
        state, status, drawn, next_look, t = None, Status.MAX_ITER, None, 1, 0
        try:
            with Progress(self.max_iter, self.time_limit, enabled=self.progress) as shown:
                for state in states:
                    t = state.t
                    if self.output == "random" and self.rng is not None and self.rng.random() * t < 1.0:
                        drawn = state  # a reservoir of one: each iterate so far is kept with probability 1 / t
                    if state.f_z is not None and not isfinite(state.f_z):
                        status = Status.NOT_FINITE
                        break
                    if self.callback is not None and self.callback(state):
                        status = Status.CALLBACK
                        break
                    out_of_time = self.time_limit is not None and perf_counter() - begin >= self.time_limit
                    if t >= next_look or t >= self.max_iter or out_of_time:
                        next_look = max(t + 1, int(LOOK_RATIO * t))
                        row = self.look(state, begin)
                        shown.update(row)
                        if row is None:
                            status = Status.NOT_FINITE
                            break
                        if self.output != "random" and self.converged(row, state):
                            status = Status.CONVERGED
                            break
                    if out_of_time:
                        status = Status.TIME_LIMIT
                        break
                    if t >= self.max_iter:
                        break
        except KeyboardInterrupt:
            if state is None:
                raise
            status = Status.INTERRUPTED
        if state is None:
            raise InputError("the iteration gave no state")
        return self.finish(self.choose(state, drawn, status), status, t, begin, guarantee(t))

    def look(self, state: State, begin: float) -> TraceRow | None:
        """Certify and record `state`; None if it is not finite. The time for it is not counted."""
        start = perf_counter()
        z = point(self.problem, state)
        fun = objective(self.problem, state)
        if not (isfinite(fun) and all_finite(z) and all_finite(state.u)):
            return None
        certificate = certify(self.problem, state)
        row = TraceRow(
            state.t,
            start - begin - self.looking,
            fun,
            certificate.stationarity,
            certificate.infeasibility,
            float(state.gamma),
            self.counts.grad,
            self.counts.prox,
        )
        self.rows.append(row)
        score = max(abs(error) for error in self.errors(certificate, fun, z))
        if self.best is None or score < self.best[0]:
            self.best = (score, state)
        self.looking += perf_counter() - start
        return row

    def converged(self, row: TraceRow, state: State) -> bool:
        certificate = Certificate(row.stationarity, row.infeasibility, "")
        errors = self.errors(certificate, row.objective, point(self.problem, state))
        return self.tol > 0 and max(errors) <= self.tol

    def choose(self, state: State, drawn: State | None, status: Status) -> State:
        """Return the state to hand out: the last, the best or the drawn one, and a finite one in any case."""
        if status is Status.NOT_FINITE or (self.output == "best" and self.best is not None):
            if self.best is None:
                raise InputError("`f` is NaN or inf at the first iterate; start where it is finite")
            return self.best[1]
        return drawn if drawn is not None else state

    def finish(self, state: State, status: Status, nit: int, begin: float, guarantee: Guarantee) -> Result:
        """Certify the returned point anew."""
        state = recompute(self.problem, state)
        certificate = certify(self.problem, state)
        fun = objective(self.problem, state)
        x = point(self.problem, state)
        if status is Status.MAX_ITER and self.tol > 0 and max(self.errors(certificate, fun, x)) <= self.tol:
            status = Status.CONVERGED
        return Result(
            x=x,
            fun=fun,
            status=status,
            nit=nit,
            iteration=state.t,
            nfev=self.counts.value,
            njev=self.counts.grad,
            nprox=self.counts.prox,
            elapsed=perf_counter() - begin,
            certificate=certificate,
            trace=Trace(tuple(self.rows)),
            guarantee=guarantee,
            seed=self.seed,
        )


def as_generator(rng: Rng) -> tuple[int | None, np.random.Generator]:
    """Return the seed behind `rng`, fresh for None and unknown for a generator, and the generator."""
    if isinstance(rng, np.random.Generator):
        return None, rng
    if rng is not None and (isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0):
        raise InputError(f"`rng` must be an int >= 0, a numpy Generator or None, got {rng!r}")
    seed = int(np.random.SeedSequence(rng).entropy)  # pyright: ignore[reportArgumentType]
    return seed, np.random.default_rng(seed)


def _checked_start(x0: object) -> Array:
    try:
        array = as_floating(x0)
    except (TypeError, ValueError) as error:
        raise InputError(f"`x0` must be an array of real numbers, got {type(x0).__name__} ({error})") from error
    if array.size == 0:
        raise InputError(f"`x0` is empty, of shape {array.shape}; give at least one number")
    return array


def check_options(*, tol: float, max_iter: int, time_limit: float | None) -> None:
    """Raise an `InputError` unless the stopping options make sense."""
    if not tol >= 0:
        raise InputError(f"`tol` must be >= 0, got {tol}; 0 never stops on the certificate")
    if isinstance(max_iter, bool) or not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise InputError(f"`max_iter` must be an integer >= 1, got {max_iter!r}")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"`time_limit` must be positive seconds or None, got {time_limit}")
