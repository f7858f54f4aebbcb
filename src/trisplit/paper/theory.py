"""Theorems 1 to 4 and Corollaries 1 and 2 of [YMS21], measured: the error of real runs next to its bound.

For every x in dom phi the theorems bound the average over t = 1, ..., T, in Theorems 3 and 4 also its expectation, of

    <grad f(z_t), z_t - x> + g(z_t) - g(x) + h(z_t) - h(x),

with the exact gradient, also where the algorithm sees a minibatch. Its largest value over x is one call of the linear
oracle, at the average gradient: the "stationarity" of a row. "Infeasibility" is the average of dist(z_t, H).

In a deterministic theorem each of several starts must obey the bound, and the largest error counts. In a stochastic one
an expectation is estimated by the mean of independent runs; as the maximum over x is taken of that mean, the estimate
errs upwards.

Where to expect the slope -1/3: the theorems' step makes T iterations a stretch gamma T ~ T^(1/3) of the gradient flow,
so that an error with a positive, finite integral along the flow has an average that falls like T^(-1/3).
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from trisplit.arrays import Array
from trisplit.arrays.batched import per_problem_dot
from trisplit.paper.theory_problems import Case, cases
from trisplit.problems.problem import Problem, is_indicator
from trisplit.splitting.tos import tos

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Item = TypeVar("Item")
ITERATIONS = tuple(round(10 ** (half / 2)) for half in range(2, 11))  # 10, 32, 100, ..., 10^5
QUICK = 1000
ROUNDING = 1e-12  # times the bound: an error below it is zero


class Row(NamedTuple):
    """What was measured in T iterations of one problem, and what the theorem promises.

    `bound` is the main text's and `tight_bound` the appendix's; `samples` are those of one run, counted: T |Q|, and
    the T gradients of a deterministic one.
    """

    theorem: str
    problem: str
    quantity: str
    T: int
    step: float
    batch_size: int
    runs: int
    measured: float
    bound: float
    tight_bound: float
    samples: int


class Averages(NamedTuple):
    """Averages over t, one for each run, or of all runs: grad f(z_t), <grad f(z_t), z_t> + g + h, and dist(z_t, H)."""

    grad: Array
    at_z: Array
    distance: Array
    samples: int


class Slope(NamedTuple):
    """The slope of log(measured) over log(T) with its standard error, and the slope over the last decade of T.

    None where fewer than three of the points are positive; `left_out` counts the others.
    """

    theorem: str
    problem: str
    quantity: str
    slope: float | None
    error: float | None
    last: float | None
    points: int
    left_out: int


class SampleCount(NamedTuple):
    """How many samples a run drew until its larger bound fell to `epsilon`, and the larger error measured then."""

    theorem: str
    problem: str
    T: int
    batch_size: int
    samples: int
    epsilon: float
    measured: float

    @property
    def constant(self) -> float:
        """Samples times epsilon^5, which Corollary 2 bounds."""
        return self.samples * self.epsilon**5


def run(quick: bool, report: Callable[[str, float], None]) -> list[Row]:
    """Return the rows of all problems, for T = 10, 32, 100, ... up to 10^5, or up to 1000 where it has to be quick.

    Parameters
    ----------
    quick : bool
    report : callable
        Told what is being computed, and the share that is done.
    """
    work = [(case, T) for case in cases() for T in ITERATIONS if T <= QUICK or not quick]
    whole, done, rows = sum(T for _, T in work), 0, []
    with threadpool_limits(1):  # the matrices are small
        for case, T in work:
            report(f"{case.theorem}, {case.name}: {T} iterations", done / whole)
            rows += measure(case, T)
            done += T
    report("done", 1.0)
    return rows


def measure(case: Case, T: int) -> Iterator[Row]:
    """Yield a row for each quantity that the theorem bounds."""
    found, theorem, problem = averages(case, T), case.bounds, case.problem(T)
    worst_x = case.domain.minimizer(found.grad)
    measured = {"stationarity": float(np.max(nonstationarity(problem, found, worst_x)))}
    if theorem.sets:
        measured["infeasibility"] = float(np.max(found.distance))
    about = T, theorem.step(T), theorem.batch_size(T), len(case.starts)
    for quantity, error in measured.items():
        bound = getattr(theorem, quantity)
        yield Row(case.theorem, case.name, quantity, *about, error, bound(T), bound(T, tight=True), found.samples)


def averages(case: Case, T: int) -> Averages:
    """Run Algorithm 1 for T iterations and return its averages: for each start, or of all runs of an expectation."""
    problem = case.problem(T)
    h, sets = problem.h, case.bounds.sets
    grad, at_z, distance = np.zeros_like(case.starts), np.zeros(len(case.starts)), np.zeros(len(case.starts))
    for made in islice(tos(problem, case.starts, case.bounds.step(T)), T):
        z, grad_f_z = made.z, case.f.grad(made.z) if case.stochastic else made.u
        grad += grad_f_z
        at_z += per_problem_dot(grad_f_z, z, 1) + own_terms(problem, z)
        if sets:
            distance += h.distance(z)  # pyright: ignore[reportAttributeAccessIssue]
    each = (total / T for total in (grad, at_z, distance))
    grad, at_z, distance = (a.mean(axis=0, keepdims=True) if case.stochastic else a for a in each)
    return Averages(grad, at_z, distance, problem.counts.grad * case.bounds.batch_size(T))


def nonstationarity(problem: Problem, found: Averages, x: Array) -> Array:
    """Return the average of <grad f(z_t), z_t - x> + g(z_t) - g(x) + h(z_t) - h(x), for a stack of x in dom phi."""
    return found.at_z - per_problem_dot(found.grad, x, 1) - own_terms(problem, x)


def own_terms(problem: Problem, x: Array) -> Array | float:
    """Return g(x) + h(x) for each run, sets left out: x is in dom phi, or its distance is counted apart."""
    return sum(term.value(x) for term in problem.terms if not is_indicator(term))


def slopes(rows: list[Row]) -> list[Slope]:
    """Fit measured ~ T^slope by least squares of the logarithms, for each problem and quantity.

    The theorems allow -1/3 or less in the long run; over a few decades an error far below its bound may fall more
    slowly. The largest average over x may be zero or negative: between two sets as z_t need not be feasible, and for a
    nonconvex f in any case, since only convexity makes the average against x = the mean of z_t, a covariance of
    grad f(z_t) and z_t, nonnegative. Such a point obeys its bound and has no logarithm; it is left out of the fit, and
    counted.
    """
    return [fit_slope(group) for group in grouped(rows, key_of)]


def key_of(row: Row) -> tuple[str, str, str]:
    """Return what all rows of one slope share."""
    return row.theorem, row.problem, row.quantity


def grouped(rows: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Return the rows that share a key together, in the order in which the keys come."""
    groups = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return list(groups.values())


def fit_slope(rows: list[Row]) -> Slope:
    """Return the slope of one problem and quantity."""
    fitted, longest = [row for row in rows if is_positive(row)], max(row.T for row in rows)
    last = [row for row in fitted if longest <= 10 * row.T]
    return Slope(*key_of(rows[0]), *_fit(fitted), _fit(last)[0], len(fitted), len(rows) - len(fitted))


def _fit(rows: list[Row]) -> tuple[float, float] | tuple[None, None]:
    """Return the slope of a straight line through log(measured) over log(T), and its standard error."""
    if len(rows) < 3:
        return None, None
    log_T, log_error = np.log([(row.T, row.measured) for row in rows]).T
    log_T = log_T - log_T.mean()
    slope = log_T @ log_error / (log_T @ log_T)
    rest = log_error - log_error.mean() - slope * log_T
    return float(slope), float(np.sqrt(rest @ rest / (len(rows) - 2) / (log_T @ log_T)))


def is_positive(row: Row) -> bool:
    """Say whether the error has a logarithm: it is positive beyond rounding."""
    return row.measured > ROUNDING * row.bound


def exceeded(rows: list[Row]) -> list[Row]:
    """Return the rows whose error is above one of its bounds, or no number: none, if the theorems hold."""
    return [row for row in rows if not row.measured <= min(row.bound, row.tight_bound)]


def sample_counts(rows: list[Row]) -> list[SampleCount]:
    """Return the samples that Theorems 3 and 4 draw for an epsilon: O(1 / epsilon^5), by Corollary 2."""
    stochastic = (row for row in rows if row.theorem in ("Theorem 3", "Theorem 4"))
    counts = []
    for both in grouped(stochastic, lambda row: (row.theorem, row.problem, row.T)):
        first, epsilon, measured = both[0], max(row.bound for row in both), max(row.measured for row in both)
        about = first.theorem, first.problem, first.T, first.batch_size, first.samples
        counts.append(SampleCount(*about, epsilon, measured))
    return counts


def figure(rows: list[Row]) -> "Figure":
    """Draw error, fit and both bounds over T, a panel for each theorem and quantity, and the samples of Corollary 2."""
    from trisplit.paper.theory_figure import draw  # which imports this module

    return draw(rows)
