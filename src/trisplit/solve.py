"""minimize(): from f, x0 and terms to a certified result, by the one driver."""

from collections.abc import Sequence
from numbers import Real
from os import PathLike
from time import perf_counter
from typing import TypeAlias

import numpy as np

from trisplit import checkpoint as checkpoints
from trisplit.algorithms.product import ProductProblem, product
from trisplit.algorithms.tos import tos
from trisplit.arrays import Array, as_floating, as_host, fresh_copy, norm, to_numpy
from trisplit.batch import BatchDriver
from trisplit.driver import Callback, Driver
from trisplit.errors import InputError
from trisplit.gradients import Estimated, Estimator, Exact, as_gradient
from trisplit.gradients.runs import for_run, steps_for
from trisplit.problem import Problem, Smooth, Term, ValueAndGrad, batched
from trisplit.result import BatchResult, Certificate, Guarantee, Result
from trisplit.steps import StepRule, Theory, as_step
from trisplit.theory import guarantees

Rng: TypeAlias = np.random.Generator | int | None

OUTPUTS = ("last", "best", "random")


def minimize(
    f: Smooth | ValueAndGrad,
    x0: Array,
    terms: Term | Sequence[Term],
    *,
    step: StepRule | float | str = "auto",
    gradient: Estimator | str = "exact",
    relax: float = 1.0,
    output: str = "last",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    batch_ndim: int = 0,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    rng: Rng = None,
    progress: bool = False,
) -> Result | BatchResult:
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
        "auto" adapts and needs no constants; "theory" is the step of the theorem that applies. With an estimated
        gradient "auto" is a constant step that suits the estimator and the smoothness constants of f.
    gradient : "exact", "minibatch", "stream", "svrg", "svrg2", "saga", "sarah", "page", "storm" or estimator
        What stands for the gradient of an f that is a mean over samples, such as those of `ts.losses`; see
        `ts.gradients`. Certificates are computed with the gradient itself, whatever this is.
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
    batch_ndim : int
        How many of the first axes of x0 count independent problems, each with its own step, objective, certificate and
        status. f then returns a value for each of them. A term's array parameters may have the axes of the batch too.
        If f has a method `select(members)` that returns f for the problems at `x[members]`, finished problems are
        taken out of the arrays.
    callback : callable, optional
        Sees the state (t, z, x, y, u, gamma) of every iteration; a true return value stops.
    checkpoint : path, optional
        A file that is written every few seconds and at the end, and from which the run goes on if it exists: to the
        same iterates, bit by bit, on the same machine. A file of another problem is refused.
    rng : int or Generator, optional
        For `output="random"` and for samples; None draws fresh entropy and records it in the result.
    progress : bool
        Show a progress line on standard error if that is a terminal.

    Returns
    -------
    Result, or BatchResult if `batch_ndim` is not 0

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
    estimator = as_gradient(gradient)
    base = Problem(f, terms, batch_ndim=batch_ndim)
    if base.batch_ndim > x0.ndim:
        fitting = f"an integer from 0 to {x0.ndim} for x0 of shape {tuple(x0.shape)}"
        raise InputError(f"`batch_ndim` must be {fitting}, got {batch_ndim!r}")
    if base.batch_ndim and not isinstance(estimator, Exact):
        raise InputError(f"a batch of problems needs gradient='exact', got {type(estimator).__name__}")
    rule_begin = perf_counter()
    batched(rule, base.batch_ndim)  # compiles what it needs, which is not for the time limit
    begin += perf_counter() - rule_begin
    value, grad = base.check(x0)
    problem = base if len(base.terms) == 2 else ProductProblem(base)
    iterated, estimated, moving = base, None, rule
    if not isinstance(estimator, Exact):
        estimator = for_run(estimator, base, x0, rule, max_iter)
        rule, moving = steps_for(estimator, base, x0, rule, step, relax)
        estimated = Estimated(base.f, estimator, int(generator.integers(2**63)))
        iterated = Problem(estimated, base.terms)
    names = {"relax": relax, "output": output, "gradient": estimator}
    file = None if checkpoint is None else _checkpoint(checkpoint, base, x0, rule, names, value, grad)
    if base.batch_ndim:
        return BatchDriver(
            problem,
            x0,
            rule,
            relax,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            output=output,
            callback=callback,
            rng=generator,
            seed=seed,
            progress=progress,
            begin=begin,
            checkpoint=file,
        ).run()

    def guarantee(iterations: int) -> Guarantee:
        names = {"relax": relax, "output": output, "gradient": estimator}
        return guarantees(problem, x0, rule, iterations=[iterations], **names)[0]

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
        checkpoint=file,
        estimated=estimated,
    )
    resumed = driver.restored(like=x0)
    if isinstance(problem, Problem):
        value_at = driver.looks_at if estimated is None else None
        states = tos(iterated, x0, moving, relax=relax, resume=resumed, value_at=value_at)
    else:
        states = product(iterated, x0, moving, relax=relax, resume=resumed)
    return driver.run(states, guarantee, resumed)


def relative_errors(certificate: Certificate, fun: float, z: Array) -> tuple[float, float]:
    """Return stationarity / max(1, |fun|) and infeasibility / max(1, ||z||)."""
    return certificate.stationarity / max(1.0, abs(fun)), certificate.infeasibility / max(1.0, norm(z))


def as_generator(rng: Rng) -> tuple[int | None, np.random.Generator]:
    """Return the seed behind `rng`, fresh for None and unknown for a generator, and the generator."""
    if isinstance(rng, np.random.Generator):
        return None, rng
    if rng is not None and (isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0):
        came = repr(rng) if isinstance(rng, int | float) else type(rng).__name__
        raise InputError(f"`rng` must be an int >= 0, a numpy Generator or None, got {came}; try 0")
    seed = int(np.random.SeedSequence(rng).entropy)  # pyright: ignore[reportArgumentType]
    return seed, np.random.default_rng(seed)


def _checkpoint(
    path: str | PathLike[str],
    problem: Problem,
    x0: Array,
    step: StepRule,
    names: dict,
    value: float,
    grad: Array,
) -> checkpoints.Checkpoint:
    file = checkpoints.checked_path(path)
    f_start = np.append(np.ravel(to_numpy(grad)), np.asarray(as_host(value)))
    return checkpoints.Checkpoint(file, checkpoints.identity(problem, x0, step, **names), f_start)


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
