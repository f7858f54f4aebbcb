"""How fast the solvers of five libraries arrive on three problems, see `problems.py` and `peers.py`.

The error of a point x is (phi(x) - phi*) / max(1, |phi*|). phi* is the least value that a long run of trisplit or any
contestant has seen. A first run of every contestant, whose time does not count, looks at each iterate and notes after
how many iterations and gradients the error falls below 1e-3, 1e-5 and 1e-7. Then a run of exactly that many
iterations, without looking, is timed: contestants take turns, and the least time of all rounds counts.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from trisplit.paper.style import COLOURS, STYLE

from .peers import AUTO, COPT, Contestant, contestants
from .problems import Problem, deblurring, group_lasso, sparse_low_rank
from .report import Table
from .timing import Report, settled, take_turns
from .timing import seconds as seconds_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ERRORS = (1e-3, 1e-5, 1e-7)
MAIN = 1e-5  # where ratios are taken
PROBLEMS: tuple[Callable[[], Problem], ...] = (
    partial(group_lasso, 1e-2),
    partial(group_lasso, 1e-3),
    sparse_low_rank,
    deblurring,
)
QUICK_PROBLEMS: tuple[Callable[[], Problem], ...] = (
    partial(group_lasso, 1e-2, samples=20, groups=10),
    partial(sparse_low_rank, 12, 100),
    partial(deblurring, 16),
)
MAX_ITERATIONS, MAX_SECONDS, REPEATS, BUDGET = 10_000, 15.0, 5, 1.5
QUICK_ITERATIONS, QUICK_SECONDS, QUICK_REPEATS = 150, 0.1, 1
LIBRARY_COLOURS = dict(zip(("trisplit", "copt", "pyproximal", "pyunlocbox", "odl"), COLOURS, strict=False))
STYLES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))


class Enough(Exception):  # noqa: N818
    """Raised out of a contestant's loop when there is nothing more to see."""


class Watch:
    """Sees the iterates of one contestant; keeps the objective of each and the gradients so far."""

    def __init__(self, problem: Problem, target: float, max_seconds: float) -> None:
        self.problem, self.target, self.max_seconds = problem, target, max_seconds
        self.values: list[float] = []
        self.gradients: list[int] = []
        problem.f.grads = 0
        self.begin, self.looking = perf_counter(), 0.0

    def __call__(self, x: np.ndarray) -> None:
        start = perf_counter()
        self.values.append(self.problem.phi(np.asarray(x)))
        self.gradients.append(self.problem.f.grads)
        self.looking += perf_counter() - start
        if self.values[-1] <= self.target or perf_counter() - self.begin - self.looking > self.max_seconds:
            raise Enough


def run(record: dict[str, Any], quick: bool, report: Report) -> None:
    """Fill `record` with a part for each problem."""
    makers, repeats = (QUICK_PROBLEMS, QUICK_REPEATS) if quick else (PROBLEMS, REPEATS)
    taking_part = [one for one in contestants if one.library not in record["missing"]]
    record["settings"] = {
        "contestants": {one.name: one.settings for one in taking_part},
        "errors": list(ERRORS),
        "max_iterations": QUICK_ITERATIONS if quick else MAX_ITERATIONS,
        "max_seconds": QUICK_SECONDS if quick else MAX_SECONDS,
        "repeats": repeats,
        "threads": 1,
    }
    record["problems"], record["goals"] = [], []
    with settled():
        for k, make in enumerate(makers):
            problem = make()

            def part(text: str, done: float, k: int = k, name: str = problem.name) -> None:
                report(f"{name}: {text}", (k + done) / len(makers))

            record["problems"].append(measure(problem, taking_part, record["settings"], part))
    if not quick:  # small sizes say nothing about speed
        record["goals"] = goals(record["problems"])


def measure(problem: Problem, taking_part: list[Contestant], settings: dict[str, Any], report: Report) -> dict:
    """Return what all contestants did on one problem."""
    report("reference", 0.0)
    reference, iterations = problem.reference(10 * settings["max_iterations"])
    target = reference + ERRORS[-1] * max(1.0, abs(reference))
    playing = {one.name: one for one in taking_part if one.applies(problem)}
    watches = {}
    for k, (name, one) in enumerate(playing.items()):
        report(name, k / (2 * len(playing)))
        watches[name] = Watch(problem, target, settings["max_seconds"])
        with suppress(Enough):
            one.run(problem, settings["max_iterations"], watches[name])
    least = min(reference, *(min(watch.values) for watch in watches.values()))
    rows = {name: describe(one, watches[name], least) for name, one in playing.items()}
    for k, error in enumerate(ERRORS):
        report(f"seconds to {error:g}", 0.5 + k / (2 * len(ERRORS)))
        arrived = {name: row for name, row in rows.items() if row["iterations"][k] is not None}
        runs = {name: partial(playing[name].run, problem, row["iterations"][k], None) for name, row in arrived.items()}
        for name, seconds in take_turns(runs, settings["repeats"], warm_up=False, budget=BUDGET).items():
            rows[name]["seconds"][k], rows[name]["all_seconds"][k] = min(seconds), seconds
    for name, row in rows.items():
        row["ratio_to_auto"] = [ratio(a, b) for a, b in zip(row["seconds"], rows[AUTO]["seconds"], strict=True)]
        row["seconds_per_iteration"] = per_iteration(row, partial(playing[name].run, problem))
    return {
        "problem": problem.name,
        "variables": problem.x0.size,
        "lipschitz": problem.f.lipschitz,
        "weights": [problem.weight_g, problem.weight_h],
        "reference": least,
        "reference_iterations": iterations,
        "rows": list(rows.values()),
    }


def describe(one: Contestant, watch: Watch, least: float) -> dict[str, Any]:
    """Return the row of a contestant, but for its times."""
    errors = (np.array(watch.values) - least) / max(1.0, abs(least))
    first = [int(np.argmax(errors <= error)) if (errors <= error).any() else None for error in ERRORS]
    # A sample of the history for the figure, geometric in the number of iterations
    shown = np.unique(np.geomspace(1, len(errors), 60).astype(int)) - 1
    return {
        "contestant": one.name,
        "library": one.library,
        "iterations": [None if k is None else k + 1 for k in first],
        "gradients": [None if k is None else watch.gradients[k] for k in first],
        "seconds": [None] * len(ERRORS),
        "all_seconds": [[] for _ in ERRORS],
        "least_error": float(errors.min()),
        "history": [[int(k) + 1, float(f"{errors[: k + 1].min():.4g}")] for k in shown],
    }


def ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None else above / below


def per_iteration(row: dict[str, Any], run: Callable[[int, None], object]) -> float:
    """Return seconds per iteration: of the longest timed run, or of a new one if there is none."""
    timed = [(k, t) for k, t in zip(row["iterations"], row["seconds"], strict=True) if t is not None]
    if timed:
        return timed[-1][1] / timed[-1][0]
    return seconds_of(lambda: run(50, None)) / 50


def goals(problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what was aimed at in times to an error of 1e-5, and whether it holds.

    On the first problem trisplit's default is to take at most a fifth of copt's default, and no longer than copt with
    any constant given; from the third on, to be no slower than any library, and so is its fastest setting.
    """
    k, found = ERRORS.index(MAIN), []

    def compare(part: dict[str, Any], of: dict[str, Any], to: dict[str, Any], at_most: float) -> None:
        measured = ratio(of["seconds"][k], to["seconds"][k])
        names = {"problem": part["problem"], "of": of["contestant"], "to": to["contestant"]}
        holds = of["seconds"][k] is not None and (measured is None or measured <= at_most)
        found.append(names | {"ratio": measured, "at_most": at_most, "holds": holds})

    for number, part in enumerate(problems):
        rows = {row["contestant"]: row for row in part["rows"]}
        if number == 0:
            for name in (name for name in rows if rows[name]["library"] == "copt"):
                compare(part, rows[AUTO], rows[name], 0.2 if name == COPT else 1.0)
        elif number > 1:
            fastest: dict[str, dict[str, Any]] = {}
            for row in sorted(part["rows"], key=lambda row: row["seconds"][k] or inf):
                fastest.setdefault(row["library"], row)
            ours = fastest.pop("trisplit")
            for theirs in fastest.values():
                compare(part, rows[AUTO], theirs, 1.0)
                if ours is not rows[AUTO]:
                    compare(part, ours, theirs, 1.0)
    return found


def tables(record: dict[str, Any]) -> list[Table]:
    """Return a table for each problem, and one of the goals."""
    shown = []
    for part in record["problems"]:
        to = "to " + ", ".join(power(error) for error in ERRORS)
        columns = ["contestant", f"iterations {to}", "gradients", f"milliseconds {to}", "time/auto"]
        table = Table(f"{part['problem']} (gradients and the ratio of times to an error of {power(MAIN)})", columns)
        for row in part["rows"]:
            iterations = " / ".join("-" if k is None else f"{k}" for k in row["iterations"])
            times = " / ".join("-" if t is None else milliseconds(t) for t in row["seconds"])
            gradients, relative = (row[key][ERRORS.index(MAIN)] for key in ("gradients", "ratio_to_auto"))
            last = "-" if relative is None else f"{relative:.2f}"
            table.rows.append(
                [row["contestant"], iterations, "-" if gradients is None else f"{gradients}", times, last]
            )
        shown.append(table)
    aims = Table(
        f"ratios of the times to an error of {power(MAIN)}, and the goal", ["problem", "ratio", "measured", "goal"]
    )
    for goal in record["goals"]:
        value = "never arrived" if goal["ratio"] is None else f"{goal['ratio']:.2f}"
        aims.rows.append([goal["problem"], f"{goal['of']} / {goal['to']}", value, f"<= {goal['at_most']:g}"])
    return [*shown, aims] if aims.rows else shown


def power(error: float) -> str:
    return f"{error:.0e}".replace("e-0", "e-")


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def figure(record: dict[str, Any]) -> "Figure":
    """Draw the error over time, a panel for each problem."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    parts = record["problems"]
    with mpl.rc_context(STYLE):
        drawing = Figure(figsize=(9.0, 3.2 * ((len(parts) + 1) // 2) + 0.9), layout="constrained")
        panels = drawing.subplots((len(parts) + 1) // 2, 2, squeeze=False).ravel()
        lines = {}
        for panel, part in zip(panels, parts, strict=False):
            for row in part["rows"]:
                iterations, errors = np.array(row["history"]).T
                (lines[row["contestant"]],) = panel.loglog(
                    iterations * row["seconds_per_iteration"],
                    np.maximum(errors, ERRORS[-1] / 10),
                    color=LIBRARY_COLOURS[row["library"]],
                    linestyle=style_of(row["contestant"]),
                    linewidth=2.4 if row["contestant"] == AUTO else 1.4,
                )
            panel.set_title(part["problem"])
            panel.set_ylim(ERRORS[-1] / 2, None)
            panel.set_xlabel("seconds")
            panel.set_ylabel("error")
        for panel in panels[len(parts) :]:
            panel.set_axis_off()
        names = [one.name for one in contestants if one.name in lines]
        drawing.legend([lines[name] for name in names], names, loc="outside lower center", ncols=4, handlelength=3.2)
    return drawing


def style_of(name: str) -> str | tuple[int, tuple[int, ...]]:
    """Return the line style of a contestant: its place among those of its library."""
    library = next(one.library for one in contestants if one.name == name)
    place = [one.name for one in contestants if one.library == library].index(name)
    return STYLES[place % len(STYLES)]
