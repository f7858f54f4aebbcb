"""Relax the quadratic assignment problem to the Birkhoff polytope and minimise there, [YMS21] section 5.

    minimise trace(A X B' X') + <C, X>   over X >= 0 with unit row and column sums

by three operator splitting (the polytope is the intersection of two simple sets, in two ways) or by Frank-Wolfe.
"""

from functools import partial
from time import perf_counter
from typing import TypeAlias

import numpy as np

from trisplit.arrays import as_floating, as_host
from trisplit.arrays.batched import all_finite
from trisplit.errors import InputError
from trisplit.options import Options, Rng, as_generator, check_options
from trisplit.problems.oracles import Function
from trisplit.problems.problem import Problem
from trisplit.qap.concavity import Concave, Concavity
from trisplit.qap.engine import SPLITS, Birkhoff, BirkhoffLoop, FrankWolfe, PlainRelaxation, paper_errors
from trisplit.qap.instance import Instance, max_abs
from trisplit.qap.objective import Objective
from trisplit.result import Certificate, Guarantee, Result, Status, Trace
from trisplit.run.run import Run
from trisplit.steps import Adaptive, Constant, StepRule, as_step
from trisplit.terms.joint import assignment
from trisplit.theory import guarantees

Matrices: TypeAlias = Instance | np.ndarray

ORDERS, METHODS = ("gh", "hg"), ("tos", "fw")
MAX_ITER = 20_000
TOO_LARGE = "`A` and `B` are too large, their products overflow in {}; scale them down"


def relax(
    A: Matrices,
    B: np.ndarray | None = None,
    C: np.ndarray | None = None,
    *,
    split: int = 1,
    order: str = "gh",
    method: str = "tos",
    x0: np.ndarray | None = None,
    step: StepRule | float | str = "auto",
    concavity: int | None = None,
    tol: float = 1e-5,
    max_iter: int | None = None,
    time_limit: float | None = None,
    dtype: type | str | None = None,
    rng: Rng = None,
    progress: bool = False,
) -> Result:
    """Find a stationary point of the relaxed problem.

    Stops when the paper's two errors are at most `tol`: dist(X, H) / sqrt(n) and |gap| / max(f(X), 1), where the gap is
    the largest <grad f(X), X - X'> over doubly stochastic X', an assignment problem. The trace holds an upper
    bound on the gap instead, which costs no assignment problem; with Frank-Wolfe it holds the gap.

    Parameters
    ----------
    A, B : arrays or scipy.sparse matrices of shape (n, n), or an `Instance` in place of A
    C : array of shape (n, n), optional
        Linear costs.
    split : {1, 2}
        1: g = row-stochastic, h = column-stochastic matrices. 2: g = the box [0, 1], h = unit row and column sums.
    order : {"gh", "hg"}
        "hg" exchanges the two sets.
    method : {"tos", "fw"}
        Three operator splitting, or Frank-Wolfe with exact line search.
    x0 : array of shape (n, n), optional
        The starting point; drawn near the barycentre by `initial_point` if left out.
    step : as in `trisplit.minimize`
        "auto" works on the tangent form of f, `Objective.tangent`; other steps on f itself.
    concavity : int, optional
        Graduated concavity: within so many iterations f turns into f(X) - mu / 2 (||X||^2 - n), where mu is the largest
        positive curvature, so that the result is nearly always a permutation; 200 is a good number. `fun` and the
        certificate are those of the concave problem, which equals f at permutations.
    tol, max_iter, time_limit, rng, progress : as in `trisplit.minimize`
        `max_iter` is 20,000 if left out.
    dtype : float32 or float64, optional
        The precision of the iteration, float64 if left out; the certificate is computed in float64.

    Returns
    -------
    Result

    Examples
    --------
    >>> import trisplit as ts
    >>> res = ts.qap.relax(ts.qap.load("chr12a"), split=1, rng=0)
    >>> res.success, res.certificate.kind
    (True, 'gap')
    """
    begin = perf_counter()
    instance = as_instance(A, B, C)
    if isinstance(split, bool) or not isinstance(split, int | np.integer) or split not in SPLITS:
        raise InputError(f"`split` is unknown, got {split!r}; choose 1 or 2")
    if order not in ORDERS:
        raise InputError(f"`order` is unknown, got {order!r}; choose one of {', '.join(ORDERS)}")
    if method not in METHODS:
        raise InputError(f"`method` is unknown, got {method!r}; choose one of {', '.join(METHODS)}")
    max_iter = MAX_ITER if max_iter is None else max_iter
    check_options(tol=tol, max_iter=max_iter, time_limit=time_limit)
    rule = as_step(step, iterations=max_iter)
    if method == "fw" and not (isinstance(step, str) and step == "auto"):
        raise InputError(f"`step` is for method='tos', got {step!r} with method='fw'; leave it out")
    if concavity is not None and (method != "tos" or order != "gh" or not isinstance(rule, Adaptive)):
        raise InputError("`concavity` is for method='tos', order='gh' and step='auto'; leave these as they are")
    if concavity is not None and (
        isinstance(concavity, bool) or not isinstance(concavity, int | np.integer) or concavity < 1
    ):
        raise InputError(f"`concavity` must be an integer >= 1, got {concavity!r}; try 200, or leave it out")
    precision = _precision(dtype)
    seed, generator = as_generator(rng)
    start = initial_point(instance.n, generator) if x0 is None else as_point(x0, instance.n)
    start = start.astype(precision)
    f = _objective(instance, start)
    if concavity is not None and f.is_sparse:
        raise InputError("`concavity` needs dense matrices, got sparse ones; pass `A.toarray()` and `B.toarray()`")
    tangent = f.tangent(precision) if isinstance(rule, Adaptive) else None
    growing = None if concavity is None or tangent is None else Concavity(tangent.curvature()[1], concavity)
    terms = SPLITS[split] if order == "gh" else SPLITS[split][::-1]
    problem = Problem(f if growing is None else Concave(f, growing.final), terms)

    original = problem  # in float64, where the certificate is computed
    if precision != np.float64:
        wide = _objective(instance, start.astype(np.float64))
        wide = wide if growing is None else Concave(wide, growing.final)
        original = Problem(Function(wide, counts=problem.counts), terms)
    # A step that adapts finds the small curvature of the tangent form; constant and theoretical ones are for f itself.
    form = f if tangent is None else tangent
    compiled = (order == "gh" or (split == 2 and isinstance(rule, Constant))) and not f.is_sparse
    if method == "fw":
        _require_feasible(start)
        engine = FrankWolfe(problem, start, original)
    elif compiled and isinstance(rule, Adaptive | Constant):
        loop = BirkhoffLoop(form, split, rule, order)
        loop.start(start)
        engine = Birkhoff(loop, original, growing)
    else:
        plain = Problem(Function(form, counts=original.counts), terms)
        engine = PlainRelaxation(plain, start, rule, original)
    covered = partial(guarantees, problem, start, rule, relax=1.0, output="last")
    if method == "fw":
        covered = lambda _: [Guarantee(None, "Frank-Wolfe is not the method of [YMS21]")]  # noqa: E731
    return Run(engine, Options(tol, 0.0, max_iter, time_limit, begin, seed=seed, progress=progress)).run(covered)


def certified(instance: Instance, X: np.ndarray, iterations: int, tol: float) -> Result:
    """Return a point of the relaxed problem that an engine has reached as a result, with its gap."""
    f = Objective(instance.A.astype(X.dtype), instance.B.astype(X.dtype), instance.C)
    fun, u = f.value_and_grad(X)
    off = float(np.linalg.norm(X - SPLITS[1][1].prox(X, 1.0)))
    gap = float(np.vdot(u, X - assignment(u)))
    certificate = Certificate(gap, off, "gap")
    good = paper_errors(instance.n, fun, gap, off) <= tol
    return Result(
        x=X,
        fun=fun,
        status=Status.CONVERGED if good else Status.MAX_ITER,
        nit=iterations,
        iteration=iterations,
        certificate=certificate,
        trace=Trace(()),
        guarantee=Guarantee(None, "the adaptive step is not that of a theorem"),
        nfev=iterations,
        njev=iterations,
        nprox=2 * iterations,
        elapsed=0.0,
        seed=None,
    )


def initial_point(n: int, rng: np.random.Generator, scale: float | None = None) -> np.ndarray:
    """Return a random doubly stochastic matrix: Gaussian entries times `scale`, projected onto the polytope.

    The projection is at most 1000 rounds of alternating projections, as in [YMS21] section 5. `scale` is 1 / n if left
    out, which starts near the barycentre; 1 is the point that the paper's text describes.

    Examples
    --------
    >>> import numpy as np
    >>> initial_point(3, np.random.default_rng(0)).sum(axis=0).round(9)
    array([1., 1., 1.])
    """
    box, sums = SPLITS[2]
    X = rng.standard_normal((n, n)) * (1.0 / n if scale is None else scale)
    for _ in range(1000):
        X = box.prox(sums.prox(X, 1.0), 1.0)
        if float(np.abs(X.sum(axis=0) - 1).max() + np.abs(X.sum(axis=1) - 1).max()) <= 1e-13:
            break
    return X


def as_instance(A: Matrices, B: np.ndarray | None, C: np.ndarray | None) -> Instance:
    """Return the instance that the arguments describe."""
    if isinstance(A, Instance):
        if B is not None or C is not None:
            raise InputError("`A` is an Instance, which brings its own B and C; leave `B` and `C` out")
        return A
    if B is None:
        raise InputError("`B` is missing; pass two matrices, or an Instance such as ts.qap.load('nug30')")
    return Instance("matrices", A, B, C=C)


def _precision(dtype: type | str | None) -> np.dtype:
    try:
        precision = np.dtype(np.float64 if dtype is None else dtype)
    except TypeError:
        precision = np.dtype(object)
    if precision not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputError(f"`dtype` is unknown, got {dtype!r}; choose float32 or float64")
    return precision


def as_point(x0: np.ndarray, n: int, *, rows: int | None = None) -> np.ndarray:
    """Return a starting point as a floating matrix of n columns and `rows`, or n, rows, or raise an `InputError`."""
    shape = (n if rows is None else rows, n)
    try:
        X = as_floating(as_host(x0))
    except (TypeError, ValueError) as error:
        came = f"`x0` must be a matrix of real numbers, got {type(x0).__name__} ({error})"
        raise InputError(f"{came}; see `initial_point`") from error
    if X.shape != shape:
        raise InputError(f"`x0` must have shape {shape}, got {X.shape}; see `initial_point`")
    if not all_finite(X):
        raise InputError("`x0` holds NaN or inf; start from finite numbers, see `initial_point`")
    return X


@np.errstate(over="ignore", invalid="ignore")
def _objective(instance: Instance, start: np.ndarray) -> Objective:
    """Return f in the precision of `start`, if its numbers do not overflow there."""
    A, B = instance.A.astype(start.dtype), instance.B.astype(start.dtype)
    f = Objective(A, B, None if instance.C is None else instance.C.astype(start.dtype))
    value, grad = f.value_and_grad(start)
    if not (np.isfinite(value) and all_finite(grad)):
        raise InputError(TOO_LARGE.format(start.dtype))
    return f


def check_size(instance: Instance) -> None:
    """Raise an `InputError` if a cost, or a part of one, could overflow in float64."""
    linear = 0 if instance.C is None else instance.n * max_abs(instance.C)
    if instance.n**2 * max_abs(instance.A) * max_abs(instance.B) + linear > float(np.finfo(float).max) / 8:
        raise InputError(TOO_LARGE.format("float64"))


def _require_feasible(X: np.ndarray) -> None:
    off = max(float(np.abs(X.sum(axis=0) - 1).max()), float(np.abs(X.sum(axis=1) - 1).max()), float(-X.min()))
    if off > 1e-4:
        raise InputError(f"`x0` must be doubly stochastic for method='fw', it is off by {off:.2g}; see `initial_point`")
