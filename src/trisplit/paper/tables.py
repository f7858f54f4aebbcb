"""The tables of a reproduction."""

from collections.abc import Iterator
from math import exp, isnan, log
from statistics import fmean

from trisplit.paper import claims, theory
from trisplit.paper.comparison import (
    OTHERS,
    PAPER,
    PAPERS_LARGEST,
    PAPERS_SMALLEST,
    Draw,
    draws,
    errors_of,
    interval,
    unconverged,
)
from trisplit.paper.figure2 import COMPARED
from trisplit.paper.methods import NAMES, STARTS
from trisplit.paper.results import Results
from trisplit.report import Table

SHORT = {"near": "barycentre", "text": "text"}


def rates(results: Results) -> Table:
    """Return the fitted rates of figure 1."""
    rows = []
    for fit in results.figure1_rates:
        stretch = f"{fit.first:,} to {fit.last:,}" if fit.last else "none"
        names = f"{fit.instance}, {NAMES[fit.method]}", SHORT[fit.start]
        fitted = claims.rate_words(fit), None if isnan(fit.r_squared) else f"{fit.r_squared:.5f}", fit.decades, stretch
        rows.append([*names, *fitted, f"{fit.reached:.1e} at {fit.reached_at:,}"])
    columns = ["run", "initial point", "law", "R²", "decades", "iterations", "error reached"]
    note = (
        "The nonstationarity error of a splitting falls by a decade, a factor of ten, in so many iterations: a line "
        "through the last four decades above rounding, and as many before as keep R² above 0.999. Frank-Wolfe's falls "
        "like a power of t, from t = 128 on. Half-widths are those of least squares at 95 %, which take neighbouring "
        "points for independent and so are too narrow. The error reached is the first below 1e-13, or the smallest."
    )
    return Table("Fitted rates", columns, rows, note=note)


def shares(results: Results) -> Table:
    """Return where an iteration spends its time."""
    rows = [
        [f"{s.instance}, {NAMES[s.method]}", s.iteration, s.products, s.assignment, 100 * s.products / s.iteration]
        for s in results.figure1_shares
    ]
    columns = ["run", "iteration, µs", "products of matrices, µs", "assignment problem, µs", "products, %"]
    return Table("Time of an iteration", columns, rows)


def comparison(results: Results) -> Table:
    """Return the paper's table with the distribution over seeds: better, same, worse, margins."""
    first = [PAPER[key] for key in ("better", "same", "worse", "margin")]
    extremes = f"{PAPERS_LARGEST} {PAPER['largest']}", f"{PAPERS_SMALLEST} {PAPER['smallest']}"
    rows: list[list] = [["[YMS21], one draw", SHORT["text"], *first, *extremes]]
    found = draws(results.figure2)
    for start in STARTS:
        for method in OTHERS:
            own = [draw for draw in found if (draw.start, draw.method) == (start, method)]
            if own:
                rows.append([NAMES[method], SHORT[start], *_summary(own)])
    columns = ["against FW", "initial point", "better", "same", "worse", "mean margin"]
    columns += ["largest margin", "smallest margin"]
    seeds = len({draw.seed for draw in found})
    note = f"Means over {seeds} seeds ± half the interval of 95 % (Student's t); the extremes are over all seeds."
    return Table("Against Frank-Wolfe", columns, rows, note=note)


def _summary(own: list[Draw]) -> Iterator[str]:
    for field, digits in (("better", 1), ("same", 1), ("worse", 1), ("margin", 4)):
        yield interval([getattr(draw, field) for draw in own]).words(digits)
    high, low = max(own, key=lambda draw: draw.largest), min(own, key=lambda draw: draw.smallest)
    yield f"{high.largest_at} {high.largest:.3f}"
    yield f"{low.smallest_at} {low.smallest:.3f}"


def methods(results: Results) -> Table:
    """Return what each method reaches by itself: its error, how often it converges, and its iterations."""
    errors = errors_of(results.figure2)
    rows = []
    for start in STARTS:
        for method in COMPARED:
            own = [run for run in results.figure2 if (run.start, run.method) == (start, method)]
            if own:
                means = [fmean(found.values()) for key, found in errors.items() if key[:2] == (start, method)]
                iterations = exp(fmean(log(run.iterations) for run in own))
                share = 100 * fmean(run.converged for run in own)
                rows.append([NAMES[method], SHORT[start], interval(means).words(4), share, round(iterations)])
    columns = ["method", "initial point", "assignment error", "converged, %", "iterations, geometric mean"]
    note = "Errors are means over instances and seeds; runs that were cut off count with the iterations that they did."
    return Table("Each method", columns, rows, note=note)


def each_seed(results: Results) -> Table:
    """Return the paper's table for each draw."""
    rows = [
        [NAMES[d.method], SHORT[d.start], d.seed, d.better, d.same, d.worse, d.margin, d.largest_at, d.smallest_at]
        for d in draws(results.figure2)
    ]
    columns = ["against FW", "initial point", "seed", "better", "same", "worse", "mean margin", "largest", "smallest"]
    return Table("Each draw", columns, rows)


def not_converged(results: Results) -> Table:
    """Name the instances on which a method did not converge within the limits."""
    rows = [
        [
            NAMES[method],
            SHORT[start],
            sum(names.values()),
            ", ".join(f"{name} ({count})" for name, count in names.items()),
        ]
        for (start, method), names in unconverged(results.figure2).items()
    ]
    note = "The last iterate is rounded all the same; the number of seeds is in brackets."
    columns = ["method", "initial point", "runs", "instances"]
    return Table("Not converged within the limits", columns, rows, numeric=False, note=note)


def slopes(results: Results) -> Table:
    """Return the fitted slopes of the theorems' errors."""
    rows = [
        [f"{s.theorem}: {s.problem}", s.quantity, s.slope, s.error, s.last, s.points, s.left_out]
        for s in theory.slopes(results.theory)
    ]
    columns = ["problem", "quantity", "slope", "standard error", "over the last decade", "points", "not above 0"]
    note = "Slope of log(error) over log(T); the bounds have -1/3. Errors that are not positive have no logarithm."
    return Table("Slopes", columns, rows, note=note)


def samples(results: Results) -> Table:
    """Return the samples of Corollary 2."""
    rows = [
        [f"{c.theorem}: {c.problem}", c.T, c.batch_size, c.samples, c.epsilon, c.measured, f"{c.constant:.2e}"]
        for c in theory.sample_counts(results.theory)
    ]
    columns = ["problem", "T", "batch", "samples", "epsilon", "measured error", "samples × epsilon^5"]
    return Table("Samples", columns, rows)
