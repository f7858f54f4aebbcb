"""minimize(): from f, x0 and terms to a certified result, by the one driver."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from time import perf_counter

import numpy as np

from trisplit.arrays import Array, as_floating, fresh_copy
from trisplit.arrays.batched import all_finite
from trisplit.errors import InputError
from trisplit.gradients import Estimated, Estimator, Exact, Minibatch, as_gradient
from trisplit.gradients.access import as_finite_sum
from trisplit.options import Callback, Options, Rng, as_generator, as_relax, check_options
from trisplit.problems import scales
from trisplit.problems.oracles import Smooth, Term, ValueAndGrad
from trisplit.problems.problem import Problem
from trisplit.problems.product import with_two_terms
from trisplit.problems.space import Space
from trisplit.result import BatchResult, Guarantee, Result
from trisplit.run.checkpoint import Checkpoint
from trisplit.run.run import Run
from trisplit.splitting.engine import Splitting, Warm
from trisplit.steps import Adaptive, Constant, StepRule, as_step, decisions
from trisplit.steps.records import compile_decisions
from trisplit.theory import guarantees, theorem_for

GOES_ON = Guarantee(None, "the theorems are about runs from a point of dom g, and this one went on from another")


def minimize(
    f: Smooth | ValueAndGrad,
    x0: Array | Result | BatchResult,
    terms: Term | Sequence[Term],
    *,
    step: StepRule | float | str = "auto",
    gradient: Estimator | str = "exact",
    relax: float = 1.0,
    output: str = "last",
    tol: float = 1e-6,
    atol: float = 0.0,
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
        The starting point, y_1 of the algorithm; or a result to go on from, of a batch as well, with its y, its step if
        the step adapts, and the sizes that it has seen. f and the weights of terms may be others by then; where their
        number is another, y_1 is its x.
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
        Stop when the residual is at most tol times the slopes of f and the terms, and the distance between the points
        where the proximal maps arrive at most tol times the way that x has gone or ||x||: whatever the units are.
    atol : float
        Added to both products, in absolute numbers. With tol = atol = 0 nothing but the other limits stops the run,
        and no evidence of mistakes or of a problem without a solution is sought.
    max_iter : int
    time_limit : float, optional
        In seconds.
    batch_ndim : int
        How many of the first axes of x0 count independent problems, each with its own step, objective, certificate and
        status. f then returns a value for each of them. A term's array parameters may have the axes of the batch too.
        Finished problems are taken out of the arrays if f has an attribute `rowwise = True`, which says that it treats
        each problem alike, however many there are, or a method `select(members)`, which returns f for the problems at
        `x[members]`.
    callback : callable, optional
        Sees the iterate (t, z, x, y, u, gamma) of every iteration; a true return value stops.
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
    warm = _warm(x0, batch_ndim) if isinstance(x0, Result | BatchResult) else None
    x0, relax = _checked_start(x0.x if isinstance(x0, Result | BatchResult) else x0), as_relax(relax)
    if output not in (outputs := ("last", "best", "random")):
        raise InputError(f"`output` is unknown, got {output!r}; choose one of {', '.join(outputs)}")
    check_options(tol=tol, atol=atol, max_iter=max_iter, time_limit=time_limit, callback=callback)
    seed, generator = as_generator(rng)
    rule, estimator = as_step(step, relax, max_iter), as_gradient(gradient)
    base = Problem(f, terms, batch_ndim=batch_ndim)
    if base.batch_ndim > x0.ndim:
        fitting = f"an integer from 0 to {x0.ndim} for x0 of shape {tuple(x0.shape)}"
        raise InputError(f"`batch_ndim` must be {fitting}, got {batch_ndim!r}")
    if base.batch_ndim and not isinstance(estimator, Exact):
        raise InputError(f"a batch of problems needs gradient='exact', got {type(estimator).__name__}")
    if base.batch_ndim:
        compile_decisions(scales)
        if isinstance(rule, Adaptive):
            compile_decisions(decisions)
    begin = perf_counter()  # compiling is not for the time limit
    at_start, problem, estimated = base.check(x0), with_two_terms(base), None
    if not isinstance(estimator, Exact):
        estimator, rule = _for_estimates(estimator, rule, problem, x0, step, relax, max_iter)
        estimated = Estimated(base.f, estimator, int(generator.integers(2**63)))
    names = {"relax": relax, "output": output, "gradient": estimator}
    start = x0 if warm is None else warm.y
    file = None if checkpoint is None else Checkpoint(checkpoint, base, start, rule, at_start, **names)
    engine = Splitting(problem, x0, rule, relax, estimated, warm)
    options = Options(tol, atol, max_iter, time_limit, begin, output, callback, generator, seed, progress)
    covered = partial(guarantees, problem, x0, rule, **names)
    return Run(engine, options, file).run(covered if warm is None else lambda nits: [GOES_ON] * len(nits))


def _for_estimates(
    estimator: Estimator, rule: StepRule, problem: Space, x0: Array, step: object, relax: float, max_iter: int
) -> tuple[Estimator, StepRule]:
    """Return the estimator with the batch size of the theorem, if it asks for that, and the step that suits it.

    Beyond relax = 1 the iteration bears steps up to (2 - relax) times as long only.
    """
    loss = as_finite_sum(problem.base.f.source, estimator)
    if isinstance(estimator, Minibatch) and estimator.size == "theory":
        coverage = theorem_for(problem, x0, getattr(rule, "gradient_bound", None))
        if coverage.theorem is None:
            wanted = f"a theorem that applies, with its constants ({coverage.missing})"
            raise InputError(f"`size='theory'` needs {wanted}; pass a number")
        estimator = estimator.of_size(replace(coverage.theorem, sigma=0.0).batch_size(max_iter))
    if isinstance(rule, Adaptive):
        if step != "auto":
            text = f"an adaptive step needs gradient='exact', got {type(estimator).__name__}"
            raise InputError(f"{text}; pass a number, 'theory' or 'auto'")
        rule = Constant(min(1.0, 2.0 - relax) * estimator.step(loss))
    return estimator, rule


def _warm(before: Result | BatchResult, batch_ndim: int) -> Warm | None:
    """Return where another run ended, None where that is not known or not finite: then its x has to do."""
    if (known := np.ndim(before.fun)) != batch_ndim:
        came = f"got `batch_ndim` {batch_ndim!r} and a result of {known} such axes"
        raise InputError(f"a result as `x0` goes on as it was, {came}; pass its x, or {known}")
    state = before.state
    return state._replace(y=fresh_copy(state.y)) if state is not None and all_finite(state.y) else None


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
