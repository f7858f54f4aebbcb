"""Estimated gradients on two large tables, against copt's VRTOS; and on a nonconvex problem. See `samples.py`.

The error of a point is phi(x) - phi*, phi* the least value that a long run or any contestant has seen. A first run of
each contestant is watched: it says after how many iterations the error falls below 1e-3 and 1e-6. Then runs of exactly
that many iterations are timed, without watching, in turns. A pass is as many samples as there are, each with its
gradient; the gradients with which `minimize` certifies what it has are not counted, but their time is. VRTOS is
told the largest smoothness constant of a sample and takes the step 1/(3 L); its time is taken from the end of its
compilation on.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

import trisplit as ts
from trisplit.paper.style import COLOURS, STYLE

from .estimates import EXACT, MANY, VRTOS, Contestant, Counted, Enough, Limits, Watch, Watched, contestants, narrow
from .report import Table, duration
from .samples import Array, Problem, Robust, group_lasso, like_covtype, like_rcv1, robust
from .timing import Report, settled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ERRORS = (1e-3, 1e-6)
HIGHEST_RATIOS = {"passes": 0.5, "seconds": 0.2}
REPEATS, BUDGET = 3, 20.0  # rounds; one that has taken longer than so many seconds leaves the later ones out


LASSOS: tuple[tuple[Callable[[], Problem], Limits], ...] = (
    (lambda: group_lasso("like rcv1", like_rcv1(), 1), Limits(300, 200.0)),
    (lambda: group_lasso("like covtype", like_covtype(), 1), Limits(40, 60.0)),
    (lambda: group_lasso("like rcv1, ridge 1/n", like_rcv1(), 1, ridge=1 / 20_000), Limits(40, 60.0)),
    (lambda: group_lasso("like covtype, ridge 1/n", like_covtype(), 1, ridge=1 / 580_000), Limits(40, 60.0)),
)
QUICK_LASSOS: tuple[tuple[Callable[[], Problem], Limits], ...] = (
    (lambda: group_lasso("like rcv1", like_rcv1(200, 300), 1), Limits(800, 0.1)),
    (lambda: group_lasso("like covtype", like_covtype(2_000), 1), Limits(800, 0.1)),
)
ROBUST_PASSES, QUICK_PASSES, MARKS = 60, 20, (2, 5, 20, 60)
SOONEST = 0.03  # passes, where logarithmic axes begin
NONCONVEX = (EXACT, "minibatch", "svrg", "svrg2", "saga", "sarah", "page")


def run(record: dict[str, Any], quick: bool, report: Report) -> None:
    """Fill `record` with a part for each problem."""
    lassos = QUICK_LASSOS if quick else LASSOS
    record["settings"] = {
        "contestants": {one.name: one.settings for one in contestants},
        "errors": list(ERRORS),
        "repeats": 1 if quick else REPEATS,
        "threads": 1,
    }
    record["problems"], record["goals"] = [], []
    taking_part = [one for one in contestants if not (one.name == VRTOS and "copt" in record["missing"])]
    with settled():
        for k, (make, limits) in enumerate(lassos):
            problem = make()

            def part(text: str, done: float, k: int = k, name: str = problem.name) -> None:
                report(f"{name}: {text}", (k + done) / (len(lassos) + 1))

            record["problems"].append(measure(problem, limits, taking_part, record["settings"]["repeats"], part))
        report("Tukey regression", len(lassos) / (len(lassos) + 1))
        record["nonconvex"] = certified(robust(*((300, 10) if quick else ())), QUICK_PASSES if quick else ROBUST_PASSES)
        if not quick:
            record["compilations"] = compilations(taking_part)
            record["goals"] = [goal for part in record["problems"][:2] for goal in goals(part)]


def measure(
    problem: Problem, limits: Limits, taking_part: list[Contestant], repeats: int, report: Report
) -> dict[str, Any]:
    """Return what all contestants did on one problem."""
    report("reference", 0.0)
    f = problem.f
    constants = {"lipschitz": f.lipschitz, "sample_lipschitz": f.sample_lipschitz}  # before time is taken
    least = reference(problem, limits)
    playing = [one for one in taking_part if one.applies(problem)]
    watches = {one.name: Watch(problem, least + ERRORS[-1], limits) for one in playing}
    for k, one in enumerate(playing):
        report(one.name, k / (2 * len(playing)))
        with suppress(Enough):
            one.watch(problem, watches[one.name])
    least = min(least, *(phi for watch in watches.values() for _, _, phi in watch.seen))
    rows = [row_of(one, watches[one.name], least) for one in playing]
    for k in range(len(ERRORS)):
        for turn in range(repeats):
            report(f"seconds to {ERRORS[k]:g}", 0.5 + (k + turn / repeats) / (2 * len(ERRORS)))
            for one, row in zip(playing, rows, strict=True):
                if row["iterations"][k] is None or sum(row["all_seconds"][k]) > BUDGET:
                    continue
                taken, row["passes"][k] = one.time(problem, row["iterations"][k])
                row["all_seconds"][k].append(taken)
    for row in rows:
        row["seconds"] = [min(times, default=None) for times in row["all_seconds"]]
    return {
        "problem": problem.name,
        "samples": f.n,
        "features": f.shape[0],
        "weight": problem.weight,
        "ridge": f.ridge,
        **constants,
        "reference": least,
        "rows": rows,
    }


def reference(problem: Problem, limits: Limits) -> float:
    """Return the least value of a long run."""
    name = "svrg2" if narrow(problem) else "svrg"
    given = {"gradient": name, "tol": 1e-9, "time_limit": 1.0 + limits.seconds, "max_iter": MANY, "rng": 1}
    return problem.phi(ts.minimize(problem.f, problem.x0, problem.terms, **given).x)


def row_of(one: Contestant, watch: Watch, least: float) -> dict[str, Any]:
    """Return the row of a contestant, but for its times."""
    iterations, passes, values = np.array(watch.seen).T
    errors = values - least
    first = [int(np.argmax(errors <= error)) if (errors <= error).any() else None for error in ERRORS]
    shown = np.unique(np.geomspace(1, len(errors), 60).astype(int)) - 1
    return {
        "contestant": one.name,
        "reduces_variance": one.reduces_variance,
        "iterations": [None if k is None else int(iterations[k]) for k in first],
        "passes": [None for _ in ERRORS],
        "all_seconds": [[] for _ in ERRORS],
        "least_error": float(errors.min()),
        "history": [[float(f"{passes[k]:.4g}"), float(f"{max(errors[k], 0.0):.4g}")] for k in shown],
    }


def certified(problem: Robust, most: int) -> dict[str, Any]:
    """Return stationarity against passes on the nonconvex problem, as the traces of runs say."""
    return {
        "problem": problem.name,
        "samples": problem.f.n,
        "features": problem.f.shape[0],
        "rows": [{"contestant": name, "history": history_of(problem, name, most)} for name in NONCONVEX],
    }


def history_of(problem: Robust, name: str, most: int) -> list[list[float]]:
    n, samples, passes = problem.f.n, 0, {}
    f = Counted(problem.f) if name == EXACT else problem.f

    def see(t: int, taken: int, z: Array) -> None:
        nonlocal samples
        samples = taken

    def enough(made: ts.Iterate) -> bool:
        passes[made.t] = (f.samples if isinstance(f, Counted) else samples) / n
        return passes[made.t] > most

    gradient = EXACT if name == EXACT else Watched(ts.gradients.as_gradient(name), see)
    given = {"gradient": gradient, "tol": 0, "max_iter": MANY, "rng": 0, "callback": enough}
    trace = ts.minimize(f, problem.x0, problem.terms, **given).trace
    return [[float(f"{passes[row.iteration]:.4g}"), float(f"{row.stationarity:.4g}")] for row in trace.rows]


def compilations(taking_part: list[Contestant]) -> dict[str, int]:
    """Return how many functions the second call of each contestant compiles."""
    from numba.core import event

    problem, counts = group_lasso("small", like_covtype(2_000), 1), {}
    for one in taking_part:
        one.time(problem, 2)
        with event.install_recorder("numba:compile") as seen:
            one.time(problem, 2)
        counts[one.name] = sum(1 for _, what in seen.buffer if what.is_start)
    return counts


def goals(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return how variance reduction compares with VRTOS in passes and seconds, by the method that is best off in both.

    Where VRTOS has not arrived, there is no ratio.
    """
    rows = {row["contestant"]: row for row in part["rows"]}
    arrived = [row for row in rows.values() if row["reduces_variance"] and row["seconds"][-1] is not None]
    if VRTOS not in rows or rows[VRTOS]["seconds"][-1] is None or not arrived:
        return []

    def ratios(row: dict[str, Any]) -> dict[str, float]:
        return {what: row[what][-1] / rows[VRTOS][what][-1] for what in HIGHEST_RATIOS}

    best = min(arrived, key=lambda row: max(ratios(row)[what] / most for what, most in HIGHEST_RATIOS.items()))
    names = {"problem": part["problem"], "of": best["contestant"]}
    return [
        names | {"what": what, "ratio": ratio, "at_most": HIGHEST_RATIOS[what], "holds": ratio <= HIGHEST_RATIOS[what]}
        for what, ratio in ratios(best).items()
    ]


def tables(record: dict[str, Any]) -> list[Table]:
    """Return a table for each problem, and one of the goals."""
    shown = []
    for part in record["problems"]:
        columns = [
            "contestant",
            "passes to 1e-3",
            "to 1e-6",
            "time to 1e-3",
            "to 1e-6",
            "passes / VRTOS",
            "time / VRTOS",
        ]
        size = f"{part['samples']:,} x {part['features']:,}"
        table = Table(f"{part['problem']}, {size}", columns)
        rows = {row["contestant"]: row for row in part["rows"]}
        for name, row in rows.items():
            passes = ["never" if value is None else f"{value:.3g}" for value in row["passes"]]
            times = [duration(value) for value in row["seconds"]]
            ratios = [share(row[what][-1], rows.get(VRTOS, row)[what][-1]) for what in ("passes", "seconds")]
            table.rows.append([name, *passes, *times, *ratios])
        shown.append(table)
    part = record.get("nonconvex")
    if part:
        table = Table(f"{part['problem']}: stationarity", ["contestant", *(f"after {k} passes" for k in MARKS)])
        for row in part["rows"]:
            table.rows.append([row["contestant"], *(after(row["history"], k) for k in MARKS)])
        shown.append(table)
    aims = Table("variance reduction / VRTOS, to 1e-6, and the goal", ["problem", "ratio", "measured", "goal"])
    for goal in record["goals"]:
        measured, most = f"{goal['ratio']:.2f}", f"<= {goal['at_most']:g}"
        aims.rows.append([goal["problem"], f"{goal['of']}, {goal['what']}", measured, most])
    for name, count in record.get("compilations", {}).items():
        if count:
            aims.rows.append(["second call", f"{name}, functions compiled", f"{count}", "0"])
    return [*shown, aims] if aims.rows else shown


def share(above: float | None, below: float | None) -> str:
    return "-" if above is None or below is None else f"{above / below:.3g}"


def after(history: list[list[float]], passes: float) -> str:
    """Return the least stationarity of the looks until then."""
    seen = [error for at, error in history if at <= passes]
    return f"{min(seen):.1e}" if seen else "-"


def figure(record: dict[str, Any]) -> "Figure":
    """Draw errors over passes and seconds on the two tables, and stationarity on the nonconvex problem."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        drawing = Figure(figsize=(10.0, 6.6), layout="constrained")
        panels = drawing.subplots(2, 3)
        for column, part in enumerate(record["problems"][:2]):
            for row in part["rows"]:
                passes, errors = np.array(row["history"]).T
                passes, look = np.maximum(passes, SOONEST), look_of(row["contestant"])
                panels[0, column].semilogy(passes, np.maximum(errors, ERRORS[-1] / 5), **look)
                if row["passes"][0]:
                    pace = next(t / p for t, p in zip(row["seconds"][::-1], row["passes"][::-1], strict=True) if t)
                    panels[1, column].semilogy(passes * pace, np.maximum(errors, ERRORS[-1] / 5), **look)
            for line, unit in enumerate(("passes", "seconds")):
                panel = panels[line, column]
                panel.set(xlabel=unit, ylabel="error", ylim=(ERRORS[-1] / 2, None), xscale="log")
                panel.set_title(part["problem"])
        panel = panels[0, 2]
        for row in record["nonconvex"]["rows"]:
            passes, errors = np.array(row["history"]).T
            panel.semilogy(passes, np.minimum.accumulate(errors), **look_of(row["contestant"]))
        panel.set(xlabel="passes", ylabel="stationarity", title=record["nonconvex"]["problem"])
        panels[1, 2].set_axis_off()
        for one in contestants:
            panels[1, 2].plot([], [], label=one.name, **look_of(one.name))
        panels[1, 2].legend(loc="center", ncols=2)
    return drawing


def look_of(name: str) -> dict[str, Any]:
    """Return colour and style of a contestant's line."""
    names = [one.name.lower() for one in contestants]
    k = names.index(name.lower())
    thick = name in (VRTOS, "SVRG2", "svrg2")
    return {
        "color": "black" if name == VRTOS else COLOURS[k % len(COLOURS)],
        "linestyle": "--" if k >= len(COLOURS) or name == VRTOS else "-",
        "linewidth": 2.4 if thick else 1.4,
    }
