"""What an iteration costs beyond the user's own functions.

    minimise <x, Q x> / 2 + <c, x>  over  -1 <= x <= 1,  <a, x> <= b

All contestants call the same four functions: value and gradient of f, the projection on the box and the projection on
the half-space. Q is dense up to 1,000 variables and diagonal beyond, so that the loop is what is measured, not the
product. Its condition number is so large that nobody arrives within the iterations done. How often the value of f was
asked for is shown: the line search of copt does so twice in each iteration, the adaptive step when it tests.
Time is that of the whole call divided by the number of iterations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import trisplit as ts
from trisplit.paper.style import COLOURS, STYLE

from . import batches, machine
from .report import Table, duration
from .timing import Report, settled, take_turns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = {10: 2000, 100: 2000, 1000: 1000, 100_000: 2000}  # variables: iterations
QUICK_SIZES = {10: 100, 1000: 20}
REPEATS, QUICK_REPEATS = 7, 2
CONDITION = {
    "dense": 1e10,
    "diagonal": 1e5,
}  # with 1e10, a diagonal lets the moves of the adaptive step drown in rounding

BARE, CONSTANT, AUTO = "bare loop", "trisplit constant", "trisplit auto"
COPT_CONSTANT, COPT = "copt constant", "copt line search"
CONTESTANTS = {
    BARE: "the lines of the algorithm in a for loop over NumPy arrays, step 1/L",
    CONSTANT: "minimize(f, x0, (g, h), step=1/L, tol=0)",
    COPT_CONSTANT: "minimize_three_split(step_size=1/L, line_search=False, tol=-1)",
    AUTO: "minimize(f, x0, (g, h), tol=0): step='auto', the default",
    COPT: "minimize_three_split(tol=-1): its default line search",
}
# (numerator, denominator): the ratio not to be exceeded at some numbers of variables
RATIOS = {(CONSTANT, BARE): {10: 2.0, 100_000: 1.1}, (AUTO, COPT): {10: 1.5, 100_000: 0.7}}


class Quadratic:
    """<x, Q x> / 2 + <c, x>; Q is a matrix or, as a vector, its diagonal."""

    def __init__(self, Q: np.ndarray, c: np.ndarray) -> None:
        self.c, self.values, self.grads = c, 0, 0
        self.times = Q.dot if Q.ndim == 2 else Q.__mul__

    def value(self, x: np.ndarray) -> float:
        self.values += 1
        return 0.5 * np.dot(x, self.times(x)) + np.dot(self.c, x)

    def grad(self, x: np.ndarray) -> np.ndarray:
        self.grads += 1
        return self.times(x) + self.c

    def value_and_grad(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self.values += 1
        self.grads += 1
        Qx = self.times(x)
        return 0.5 * np.dot(x, Qx) + np.dot(self.c, x), Qx + self.c

    def for_copt(self, x: np.ndarray, return_gradient: bool = True) -> float | tuple[float, np.ndarray]:
        return self.value_and_grad(x) if return_gradient else self.value(x)


class UnitBox:
    """The box [-1, 1]^n, as a user would write it."""

    indicator = True

    def value(self, x: np.ndarray) -> float:
        return 0.0 if np.abs(x).max() <= 1.0 + 1e-12 else np.inf

    def prox(self, x: np.ndarray, gamma: float) -> np.ndarray:
        return np.clip(x, -1.0, 1.0)


class HalfSpace:
    """{x : <a, x> <= b}, as a user would write it."""

    indicator = True

    def __init__(self, a: np.ndarray, b: float) -> None:
        self.a, self.b, self.square = a, b, float(np.dot(a, a))

    def value(self, x: np.ndarray) -> float:
        return 0.0 if np.dot(self.a, x) <= self.b + 1e-12 * self.square else np.inf

    def prox(self, x: np.ndarray, gamma: float) -> np.ndarray:
        excess = np.dot(self.a, x) - self.b
        return x - (excess / self.square) * self.a if excess > 0 else x


@dataclass
class Data:
    """f with smoothness constant 1, g, h, and the starting point."""

    f: Quadratic
    g: UnitBox
    h: HalfSpace
    x0: np.ndarray


def make_data(n: int, seed: int = 0) -> Data:
    """Return a problem whose unconstrained minimiser lies outside both sets."""
    rng = np.random.default_rng(seed)
    sizes = np.logspace(-np.log10(CONDITION["dense" if n <= 1000 else "diagonal"]), 0, n)
    if n <= 1000:
        basis, _ = np.linalg.qr(rng.standard_normal((n, n)))
        Q = (basis * sizes) @ basis.T
    else:
        Q = sizes
    centre, a = rng.uniform(-1.5, 1.5, n), rng.standard_normal(n)
    c = -(Q @ centre if n <= 1000 else Q * centre)
    return Data(Quadratic(Q, c), UnitBox(), HalfSpace(a, float(a @ centre - 0.5 * np.linalg.norm(a))), np.zeros(n))


def bare_loop(data: Data, iterations: int) -> np.ndarray:
    """Run the algorithm with gamma = 1/L = 1 and nothing else."""
    grad, g, h, gamma, y = data.f.grad, data.g, data.h, 1.0, data.x0
    z = y
    for _ in range(iterations):
        z = g.prox(y, gamma)
        x = h.prox(2 * z - y - gamma * grad(z), gamma)
        y = y - z + x
    return z


def contestants(data: Data, iterations: int) -> dict[str, Callable[[], object]]:
    """Return the runs of those whose library is installed."""
    f, terms, x0 = data.f, (data.g, data.h), data.x0
    runs: dict[str, Callable[[], object]] = {
        BARE: lambda: bare_loop(data, iterations),
        CONSTANT: lambda: ts.minimize(f, x0, terms, step=1.0, tol=0, max_iter=iterations),
        AUTO: lambda: ts.minimize(f, x0, terms, tol=0, max_iter=iterations),
    }
    if "copt" not in machine.missing():
        import copt

        # Its second proximal map gives z, the first x: so both do the same iteration.
        def three_split(**options: Any) -> object:
            options = {"tol": -1, "max_iter": iterations, **options}
            return copt.minimize_three_split(f.for_copt, x0, data.h.prox, data.g.prox, **options)

        runs[COPT_CONSTANT] = lambda: three_split(step_size=1.0, line_search=False)
        runs[COPT] = three_split
    return runs


def run(record: dict[str, Any], quick: bool, report: Report) -> None:
    """Fill `record` with a row for each size and contestant, and the ratios."""
    sizes, repeats = (QUICK_SIZES, QUICK_REPEATS) if quick else (SIZES, REPEATS)
    record["settings"] = {"contestants": CONTESTANTS, "repeats": repeats, "condition_number": CONDITION, "threads": 1}
    record["rows"], record["ratios"] = [], []
    with settled():
        for k, (n, iterations) in enumerate(sizes.items()):
            report(f"{n:,} variables", 0.8 * k / len(sizes))
            measure(record, n, iterations, repeats)
        batches.run(record, quick, repeats, report)


def measure(record: dict[str, Any], n: int, iterations: int, repeats: int) -> None:
    """Add the rows and ratios of one number of variables."""
    data = make_data(n)
    runs = contestants(data, iterations)
    calls = {}
    for name, once in runs.items():
        data.f.values = data.f.grads = 0
        once()
        calls[name] = data.f.values / iterations, data.f.grads / iterations
    times = take_turns(runs, repeats)
    best = {name: min(seconds) / iterations for name, seconds in times.items()}
    for name in runs:
        record["rows"].append(
            {
                "variables": n,
                "contestant": name,
                "iterations": iterations,
                "seconds_per_iteration": best[name],
                "seconds": times[name],
                "values_per_iteration": calls[name][0],
                "gradients_per_iteration": calls[name][1],
            }
        )
    for (above, below), goals in RATIOS.items():
        if above in best and below in best:
            ratio = {"variables": n, "of": above, "to": below, "ratio": best[above] / best[below]}
            record["ratios"].append(ratio | {"at_most": goals.get(n)})


def tables(record: dict[str, Any]) -> list[Table]:
    """Return the times for each size, and the ratios."""
    sizes = list(dict.fromkeys(row["variables"] for row in record["rows"]))
    seconds = {(row["contestant"], row["variables"]): row["seconds_per_iteration"] for row in record["rows"]}
    times = Table("time per iteration", ["contestant", *(f"n = {n:,}" for n in sizes)])
    for name in CONTESTANTS:
        if any((name, n) in seconds for n in sizes):
            times.rows.append([name, *(duration(seconds[name, n]) if (name, n) in seconds else "" for n in sizes)])
    ratios = Table("ratios of the times, and the goal", ["ratio", *times.columns[1:]])
    measured = {(row["of"], row["to"], row["variables"]): row for row in record["ratios"]}
    for above, below in RATIOS:
        rows = [measured.get((above, below, n)) for n in sizes]
        if any(rows):
            ratios.rows.append([f"{above} / {below}", *(in_words(row) for row in rows)])
    calls = {(row["contestant"], row["variables"]): row["values_per_iteration"] for row in record["rows"]}
    values = Table("values of f in an iteration", times.columns)
    for name, *_ in times.rows:
        values.rows.append([name, *(f"{calls[name, n]:.2f}" for n in sizes)])
    return [times, ratios, values, *([batches.table(record)] if record.get("batches") else [])]


def in_words(ratio: dict[str, Any] | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio['ratio']:.2f}" + ("" if ratio["at_most"] is None else f" (<= {ratio['at_most']:g})")


def figure(record: dict[str, Any]) -> "Figure":
    """Draw the time per iteration as a multiple of the bare loop's, a group of bars for each size."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    seconds = {(row["contestant"], row["variables"]): row["seconds_per_iteration"] for row in record["rows"]}
    sizes = list(dict.fromkeys(row["variables"] for row in record["rows"]))
    names = [name for name in CONTESTANTS if any((name, n) in seconds for n in sizes)]
    looks = {BARE: ("#999999", ""), CONSTANT: (COLOURS[0], "//"), AUTO: (COLOURS[0], "")}
    looks |= {COPT_CONSTANT: (COLOURS[1], "//"), COPT: (COLOURS[1], "")}
    with mpl.rc_context(STYLE | {"hatch.linewidth": 0.8, "axes.grid.axis": "y"}):
        drawing = Figure(figsize=(7.2, 3.8), layout="constrained")
        axes, width = drawing.add_subplot(), 0.8 / len(names)
        for k, name in enumerate(names):
            colour, hatch = looks[name]
            times = [seconds[name, n] for n in sizes]
            heights = [time / seconds[BARE, n] for time, n in zip(times, sizes, strict=True)]
            places = [group + (k - (len(names) - 1) / 2) * width for group in range(len(sizes))]
            bars = axes.bar(places, heights, 0.92 * width, color=colour, hatch=hatch, edgecolor="white", label=name)
            axes.bar_label(bars, [duration(time).replace(" ", "\n") for time in times], fontsize=7, padding=1)
        axes.set_xticks(range(len(sizes)), [f"{n:,}" + ("" if n <= 1000 else " (diagonal)") for n in sizes])
        axes.set_xlabel("variables")
        axes.set_ylabel("time per iteration, bare loop = 1")
        axes.margins(y=0.12)
        drawing.legend(loc="outside upper center", ncols=len(names), handlelength=1.4, columnspacing=1.2)
    return drawing
