"""How good an iterate is: at the checks of a run, and once more before it may end the run.

What is compared with the tolerance, and why a whole iteration with the natural step confirms it, stands in
`trisplit.problems.scales`.
"""

from collections.abc import Callable
from math import inf, isfinite, nan, prod
from typing import NamedTuple

import numpy as np

from trisplit.arrays import Shape, Values, as_host, from_numpy, none_if_failed
from trisplit.problems.certificates import certify, recompute
from trisplit.problems.oracles import is_convex
from trisplit.problems.scales import AROUND, aim, confirm
from trisplit.problems.sizes import Marks, Scales, sizes_of
from trisplit.problems.space import Space
from trisplit.splitting.tos import Iterate


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


def judged(
    problem: Space, made: Iterate, kind: str, t: int, scales: Scales, marks: Marks, decision: Callable
) -> Checked:
    """Return how good the points of an iterate are after t iterations; nothing if f or a term raises at a NaN."""
    batch, scales = tuple(made.y.shape[: problem.batch_ndim]), scales.copy()
    finite = problem.finite(made.z, made.x, made.u)
    if not np.count_nonzero(finite):  # many times faster than `any` for one problem
        return Checked(made, unknown(batch), scales)
    filled = made if finite is True else problem.filled(made, finite)
    if (known := none_if_failed(goodness, problem, filled, kind, marks)) is None:
        return Checked(made, unknown(batch), scales)
    numbers, sizes = known
    if batch:
        numbers = [in_rows(values, batch) for values in numbers]
        sizes = {name: in_rows(values, batch) for name, values in sizes.items()}
    scales.put({**sizes, "t": t})
    scales.count(decision)
    fun, stationarity, infeasibility = numbers
    if not batch:
        error = scales.error if isfinite(stationarity + infeasibility) else inf
        return Checked(made, Measured(fun, stationarity, infeasibility, error), scales)
    good = finite & np.isfinite(fun)
    fun, stationarity, infeasibility, error = (np.where(good, column, nan) for column in (*numbers, scales.error))
    error[~np.isfinite(stationarity + infeasibility)] = inf
    return Checked(made, Measured(fun, stationarity, infeasibility, error), scales)


def confirmed(problem: Space, made: Iterate, kind: str, t: int, scales: Scales, *, natural: bool) -> Checked:
    """Return an iterate computed anew, and how good its points are: what may end a run.

    With `natural` the step is the natural one, see `trisplit.problems.scales`, unless a term is not convex, whose
    proximal map may lead elsewhere then.
    """
    step = None
    if natural:
        scales = scales.copy()
        scales.curvature = none_if_failed(curvature, problem, made, scales.length)
        scales.count(aim)
        convex = all(map(is_convex, problem.base.terms))
        step = problem.as_steps(scales.natural, made.y) if convex else None
    if (anew := none_if_failed(recompute, problem, made, step)) is None:
        return Checked(made, unknown(tuple(made.y.shape[: problem.batch_ndim])), scales)
    at = problem.point(anew if made.z is None else made)
    return judged(problem, anew, kind, t, scales, Marks(at, at, at), confirm)


def curvature(problem: Space, made: Iterate, length: Values) -> np.ndarray:
    """Return that of f around z, where a way has that length."""
    z, k = made.z, problem.batch_ndim
    noise = np.random.default_rng(0).standard_normal(z.shape[k:])  # the same for all problems of a batch
    far = AROUND * np.asarray(length) / float(np.linalg.norm(noise))
    return problem.curvature(z, problem.grad(z), problem.as_steps(far, z) * from_numpy(noise, z))


def goodness(problem: Space, made: Iterate, kind: str, marks: Marks) -> tuple[list[Values], dict[str, Values]] | None:
    """Return phi and the certificate, and the sizes for the error; nothing unless phi is finite."""
    fun: Values = as_host(problem.objective(made))  # pyright: ignore[reportAssignmentType]
    if not (isfinite(fun) if isinstance(fun, float) else np.isfinite(fun).any()):
        return None
    sizes = sizes_of(problem, made, marks)
    certificate = certify(problem, made, kind, sizes)
    return [fun, certificate.stationarity, certificate.infeasibility], sizes


def in_rows(values: Values, batch: Shape) -> np.ndarray:
    """Return numbers of a batch on the host, one for each problem counted through."""
    return np.ravel(np.broadcast_to(np.asarray(as_host(values), dtype=float), batch))


def unknown(batch: Shape) -> Measured:
    """Return what is said of points that are not finite."""
    if not batch:
        return Measured(nan, nan, nan, inf)
    columns = np.full((4, prod(batch)), nan)
    columns[-1] = inf
    return Measured(*columns)
