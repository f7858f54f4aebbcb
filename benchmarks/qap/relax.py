"""Seconds to a stationary point of the relaxed quadratic assignment problem, and what rounding it costs.

    minimise trace(A X B' X')   over X >= 0 with unit row and column sums

All methods start from the same point, Gaussian entries divided by n and projected, and stop when the two errors of
[YMS21] section 5 are at most 1e-5: dist(X, H) / sqrt(n) and |gap| / max(f(X), 1). This file computes both anew at the
point that a method returns. A run that has not arrived within the cap counts with the cap. The rounded error is
(cost - best known) / max(best known, 1) of the permutation nearest to X, whether X has arrived or not.
"""

from collections.abc import Callable
from math import exp, inf, log, sqrt
from statistics import fmean, median, variance
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment

import trisplit as ts
from trisplit.paper.instances import assignment_error
from trisplit.paper.style import COLOURS, STYLE

from ..report import Table, duration
from ..timing import Report, settled
from . import products
from .frank_wolfe import frank_wolfe
from .goals import goal
from .goals import table as goals_table
from .instances import PAPER, choose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOL, MAX_ITER = 1e-5, 10_000_000
CAP, SEEDS, TIMED_SEEDS = 60.0, 5, 1  # seconds; times are those of the first seeds, rounded errors those of all
UNTIMED_CAP = 5.0  # seconds for the other seeds: later the nearest permutation hardly changes
QUICK_CAP, QUICK_SEEDS = 2.0, 2
REPEATS, BRIEF = 3, 1.0  # a timed run below so many seconds is repeated, and the least time counts

OURS, SHORT, PLAIN, FW, FW_SCIPY = "TOS (ours)", "TOS (ours), short", "TOS 1/L", "FW", "FW, SciPy's solver"
SHORT_ITERATIONS = 600
METHODS = {
    OURS: "relax(split=1): row-stochastic and column-stochastic matrices, adaptive step",
    SHORT: f"the same with at most {SHORT_ITERATIONS} iterations; a run that ends there counts with its own seconds",
    PLAIN: "relax(split=2, step=1/L): the algorithm of the paper, L = 2 ||A|| ||B||, computing L included",
    FW: "relax(method='fw'): Frank-Wolfe with exact line search and this package's assignment solver",
    FW_SCIPY: "the same Frank-Wolfe in a NumPy loop with scipy.optimize.linear_sum_assignment",
}
LOOKS = {OURS: (COLOURS[0], "-"), PLAIN: (COLOURS[5], "--"), FW_SCIPY: (COLOURS[1], "-"), FW: (COLOURS[6], ":")}

Answer: TypeAlias = tuple[np.ndarray, int]  # the point and the number of iterations


class Run(NamedTuple):
    """What one method did from one starting point; a line of the JSON file."""

    instance: str
    n: int
    seed: int
    method: str
    seconds: float
    iterations: int
    converged: bool
    infeasibility: float
    nonstationarity: float
    rounded_error: float


def objective(instance: ts.qap.Instance) -> ts.qap.Objective:
    return ts.qap.Objective(instance.A.astype(float), instance.B.astype(float))


def relaxed(
    instance: ts.qap.Instance, x0: np.ndarray, cap: float, *, max_iter: int = MAX_ITER, **options: Any
) -> Answer:
    """Call `relax`, which turns Ctrl-C into a result; here it is to end the benchmark."""
    res = ts.qap.relax(instance, x0=x0, tol=TOL, max_iter=max_iter, time_limit=cap, **options)
    if res.status is ts.Status.INTERRUPTED:
        raise KeyboardInterrupt
    return res.x, res.nit


def plain(instance: ts.qap.Instance, x0: np.ndarray, cap: float) -> Answer:
    """Three operator splitting with the constant step 1/L; any step will do where f is constant (esc16f)."""
    L = objective(instance).lipschitz
    return relaxed(instance, x0, cap, split=2, step=1.0 / L if L > 0.0 else 1.0)


CALLS: dict[str, Callable[[ts.qap.Instance, np.ndarray, float], Answer]] = {
    OURS: lambda instance, x0, cap: relaxed(instance, x0, cap, split=1),
    SHORT: lambda instance, x0, cap: relaxed(instance, x0, cap, split=1, max_iter=SHORT_ITERATIONS),
    PLAIN: plain,
    FW: lambda instance, x0, cap: relaxed(instance, x0, cap, method="fw"),
    FW_SCIPY: lambda instance, x0, cap: frank_wolfe(objective(instance), x0, TOL, MAX_ITER, cap),
}


def run(
    record: dict[str, Any],
    quick: bool,
    report: Report,
    *,
    instances: list[str] | None = None,
    cap: float | None = None,
    seeds: int | None = None,
) -> None:
    """Fill `record` with a row for each seed, instance and method: all instances with the first seed, then the next."""
    names = choose(quick, instances)
    cap = cap or (QUICK_CAP if quick else CAP)
    seeds = seeds or (QUICK_SEEDS if quick else SEEDS)
    record["missing"] = []  # SciPy, the only peer, is always there
    record["settings"] = {
        "contestants": METHODS,
        "instances": len(names),
        "tolerance": TOL,
        "cap_seconds": cap,
        "untimed_cap_seconds": min(cap, UNTIMED_CAP),
        "max_iterations": MAX_ITER,
        "seeds": seeds,
        "timed_seeds": TIMED_SEEDS,
        "repeats": REPEATS,
        "threads": 1,
    }
    record["columns"], record["rows"], record["goals"] = list(Run._fields), [], []
    with settled():
        record["engine"] = products.measure(quick)
        race(ts.qap.load("nug12"), 0, 0.1, repeats=1)  # compiles and imports; its times do not count
        for k, (seed, name) in enumerate((seed, name) for seed in range(seeds) for name in names):
            report(f"{name}, seed {seed}", k / (seeds * len(names)))
            timed = seed < TIMED_SEEDS
            limit = cap if timed else min(cap, UNTIMED_CAP)
            record["rows"] += race(ts.qap.load(name), seed, limit, repeats=REPEATS if timed else 1)
            if not quick:  # small instances say nothing about speed
                record["goals"] = goals(record)


def race(instance: ts.qap.Instance, seed: int, cap: float, repeats: int) -> list[Run]:
    """Let the methods take turns from one starting point."""
    x0 = ts.qap.initial_point(instance.n, np.random.default_rng(seed))
    best: dict[str, Run] = {}
    for _ in range(repeats):
        for method in METHODS:
            known = best.get(method)
            if known is None or known.seconds < min(BRIEF, cap):
                again = measure(method, instance, seed, x0, cap)
                best[method] = again if known is None else min(known, again, key=lambda one: one.seconds)
    return list(best.values())


def measure(method: str, instance: ts.qap.Instance, seed: int, x0: np.ndarray, cap: float) -> Run:
    """Return the time of one run, and how good its answer is."""
    begin = perf_counter()
    X, iterations = CALLS[method](instance, x0, cap)
    seconds = perf_counter() - begin
    infeasibility, nonstationarity = errors(instance, X)
    converged = max(infeasibility, nonstationarity) <= TOL * (1 + 1e-6)  # the sums round in another order
    cost = instance.cost(ts.qap.round_to_permutation(X))
    return Run(
        instance.name,
        instance.n,
        seed,
        method,
        round(min(seconds, cap), 6) if converged or method == SHORT else cap,
        iterations,
        converged,
        infeasibility,
        nonstationarity,
        assignment_error(cost, instance.best_known),  # pyright: ignore[reportArgumentType]
    )


def errors(instance: ts.qap.Instance, X: np.ndarray) -> tuple[float, float]:
    """Return the two errors of [YMS21] section 5; entries below zero count as infeasible, too."""
    f_X, u = objective(instance).value_and_grad(X)
    gap = float(np.vdot(u, X) - u[linear_sum_assignment(u)].sum())
    outside = max(float(np.linalg.norm(X - ts.terms.UnitSums().prox(X, 1.0))), float(np.linalg.norm(np.minimum(X, 0))))
    return outside / sqrt(instance.n), abs(gap) / max(f_X, 1.0)


def timed(record: dict[str, Any]) -> dict[str, dict[str, list[Run]]]:
    """Return for each method and instance the runs whose times count."""
    found: dict[str, dict[str, list[Run]]] = {method: {} for method in METHODS}
    for one in map(Run._make, record["rows"]):
        if one.seed < record["settings"]["timed_seeds"]:
            found[one.method].setdefault(one.instance, []).append(one)
    return found


def times(record: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return for each method and instance the seconds, the mean over the timed seeds."""
    return {
        method: {name: fmean(run.seconds for run in runs) for name, runs in found.items()}
        for method, found in timed(record).items()
    }


def rounded_errors(record: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Return for each method and instance the rounded errors, one for each seed."""
    found: dict[str, dict[str, list[float]]] = {method: {} for method in METHODS}
    for one in map(Run._make, record["rows"]):
        found[one.method].setdefault(one.instance, []).append(one.rounded_error)
    return found


def mean_and_error(samples: dict[str, list[float]]) -> tuple[float, float]:
    """Return the mean over the instances of their means over seeds, and its standard error: the seeds are random."""
    means = [fmean(one) for one in samples.values()]
    variances = [variance(one) / len(one) if len(one) > 1 else 0.0 for one in samples.values()]
    return fmean(means), sqrt(sum(variances)) / len(means)


def geometric_ratio(above: dict[str, float], below: dict[str, float]) -> float:
    return exp(fmean(log(above[name] / below[name]) for name in above))


def goals(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was aimed at and what was measured so far."""
    seconds, found = times(record), timed(record)
    whole = set(seconds[OURS]) == set(PAPER)
    total = {method: sum(seconds[method].values()) for method in METHODS}
    errors = rounded_errors(record)
    difference, spread = mean_and_error(
        {name: [a - b for a, b in zip(errors[OURS][name], errors[PLAIN][name], strict=True)] for name in errors[OURS]}
    )
    arrived = sum(all(run.converged for run in runs) for runs in found[OURS].values())
    return [
        goal(f"{OURS}: instances converged", arrived, whole=whole, at_least=131),
        goal(
            f"{OURS} / {FW_SCIPY}: geometric mean of times",
            geometric_ratio(seconds[OURS], seconds[FW_SCIPY]),
            whole=whole,
            at_most=0.2,
        ),
        goal(f"{OURS} / {FW_SCIPY}: sum of times", total[OURS] / total[FW_SCIPY], whole=whole, at_most=1.0),
        goal(f"{OURS} / {PLAIN}: sum of times", total[OURS] / total[PLAIN], whole=whole, at_most=0.1),
        goal(f"{OURS} - {PLAIN}: rounded error, one standard error", difference, whole=whole, at_most=spread),
        goal(f"{OURS}: mean rounded error", mean_and_error(errors[OURS])[0], whole=whole, at_most=0.065),
        goal(f"{SHORT}: mean rounded error", mean_and_error(errors[SHORT])[0], whole=whole, at_most=0.1),
        *products.goals(record["engine"], whole=whole),
    ]


def tables(record: dict[str, Any]) -> list[Table]:
    """Return what each method did on all instances, and the goals."""
    if not record["rows"]:
        return []
    settings, seconds, found, errors = record["settings"], times(record), timed(record), rounded_errors(record)
    number, seeds = len(seconds[OURS]), len({Run._make(row).seed for row in record["rows"]})
    summary = Table(
        f"{number} instances to {TOL:g}, at most {settings['cap_seconds']:g} s each: sum and geometric mean of times, "
        f"median of iterations, rounded error with its standard error (seeds: {seeds})",
        ["method", "converged", "sum", "mean", "iterations", "rounded error"],
    )
    for method in METHODS:
        runs = [run for one in found[method].values() for run in one]
        mean, spread = mean_and_error(errors[method])
        summary.rows.append(
            [
                method,
                f"{sum(all(run.converged for run in one) for one in found[method].values())}",
                duration(sum(seconds[method].values())),
                duration(exp(fmean(map(log, seconds[method].values())))),
                f"{median(run.iterations for run in runs):.0f}",
                f"{mean:.4f} ± {spread:.4f}" if seeds > 1 else f"{mean:.4f}",
            ]
        )
    shown = [summary, products.table(record["engine"])]
    return [*shown, *([goals_table(record["goals"])] if record["goals"] else [])]


def figure(record: dict[str, Any]) -> "Figure":
    """Draw how many instances have converged over time, and the sorted rounded errors."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    cap, found, errors = record["settings"]["cap_seconds"], timed(record), rounded_errors(record)
    number = len(found[OURS])
    with mpl.rc_context(STYLE):
        drawing = Figure(figsize=(9.0, 3.9), layout="constrained")
        left, right = drawing.subplots(1, 2)
        for method, (colour, style) in LOOKS.items():
            look = {"color": colour, "linestyle": style, "linewidth": 2.4 if method == OURS else 1.5}
            runs = [max(one, key=lambda run: (not run.converged, run.seconds)) for one in found[method].values()]
            arrivals = sorted(run.seconds if run.converged else inf for run in runs)
            arrived = [seconds for seconds in arrivals if seconds < inf]
            left.step([*arrived, cap], [*range(1, len(arrived) + 1), len(arrived)], where="post", label=method, **look)
            right.plot(range(1, number + 1), sorted(fmean(one) for one in errors[method].values()), **look)
        left.set(xscale="log", xlabel="seconds", ylabel="instances converged", ylim=(0, 1.05 * number))
        left.axhline(number, color="#999999", linewidth=0.8)
        left.set_title("time until both errors are at most 1e-5")
        right.set_yscale("symlog", linthresh=1e-2)
        right.set(xlabel="instances, sorted for each method", ylabel="rounded error", ylim=(0, None))
        right.set_title("cost of the nearest permutation")
        for axis in (left.yaxis, right.xaxis):
            axis.get_major_locator().set_params(integer=True)
        drawing.legend(loc="outside lower center", ncols=len(LOOKS), handlelength=3.2)
    return drawing
