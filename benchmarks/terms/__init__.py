"""Proximal maps side by side with everybody who has them, in one run; and how their time grows.

Contestants take turns. All compute in double precision on the same numbers, which are seeded and were not chosen for
anybody. JAX uses all cores, the others one; linear algebra has one thread. A contestant whose result differs from ours
is listed with the difference, and does not count as the fastest.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from trisplit.paper.style import COLOURS, STYLE

from ..report import Table, duration
from ..timing import Report, settled, take_turns
from . import growth
from .contestants import OURS, lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPEATS, QUICK_REPEATS = 15, 2
BUDGET = 6.0  # seconds, after which a contestant leaves the later rounds out
SAME = 1e-6  # relative difference up to which two results are one
WITHIN, TIMES = 1.05, 5.0  # what is aimed at: of the time of the fastest peer, and as fast as plain NumPy


def run(record: dict[str, Any], quick: bool, report: Report) -> None:
    """Fill `record` with a row for each line and contestant."""
    repeats = QUICK_REPEATS if quick else REPEATS
    record["settings"] = {"repeats": repeats, "threads": 1, "same": SAME}
    record["rows"] = []
    every = list(lines())
    with settled():
        for k, line in enumerate(every):
            report(line.name, 0.8 * k / len(every))
            runs = line.make(quick)
            ours = np.asarray(runs[OURS]())
            misses = {name: miss(ours, np.asarray(once())) for name, once in runs.items()}
            times = take_turns(runs, repeats, budget=BUDGET)
            record["rows"] += [
                {
                    "line": line.name,
                    "term": line.about,
                    "contestant": name,
                    "plain": name in line.plain,
                    "five_times": line.five_times,
                    "difference": misses[name],
                    "seconds": times[name],
                }
                for name in runs
            ]
        growth.run(record, quick, report)


def miss(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the difference of two results, relative to their size."""
    size = max(float(np.linalg.norm(ours)), 1e-300)
    return float(np.linalg.norm(ours - theirs.reshape(ours.shape)) / size)


def best(record: dict[str, Any], line: str, *, plain: bool = False) -> tuple[str, float] | None:
    """Return the fastest peer that is right and its time; or the fastest in plain NumPy, be it right or not."""
    rows = [row for row in record["rows"] if row["line"] == line and row["contestant"] != OURS]
    rows = [row for row in rows if (row["plain"] if plain else row["difference"] <= SAME)]
    return min(((row["contestant"], min(row["seconds"])) for row in rows), key=lambda pair: pair[1], default=None)


def names(record: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["line"] for row in record["rows"]))


def own(record: dict[str, Any], line: str) -> dict[str, Any]:
    return next(row for row in record["rows"] if row["line"] == line and row["contestant"] == OURS)


def tables(record: dict[str, Any]) -> list[Table]:
    """Return our time next to the fastest peer's, all times, and the growth."""
    head = ["proximal map", OURS, "fastest peer", "its time", "times as fast", "as NumPy peers"]
    short = Table(f"fastest peers; the goal: >= {1 / WITHIN:.2f}, and >= {TIMES:g} of peers in NumPy where *", head)
    full = Table("all contestants", ["proximal map", "contestant", "time", "our time / its time", "difference"])
    for line in names(record):
        mine = min(own(record, line)["seconds"])
        fastest, plain = best(record, line), best(record, line, plain=True)
        star = " *" if own(record, line)["five_times"] else ""
        named = ["", "", ""]
        if fastest is not None:
            named = [fastest[0], duration(fastest[1]), f"{fastest[1] / mine:.2f}"]
        of_plain = "" if plain is None else f"{plain[1] / mine:.1f}"
        short.rows.append([line, duration(mine), *named, of_plain + star])
        for row in record["rows"]:
            if row["line"] == line and row["contestant"] != OURS:
                time = min(row["seconds"])
                full.rows.append(
                    [line, row["contestant"], duration(time), f"{mine / time:.3f}", f"{row['difference']:.1e}"]
                )
    return [short, full, *([growth.table(record)] if record.get("growth") else [])]


def figure(record: dict[str, Any]) -> "Figure":
    """Draw everybody's time as a multiple of ours, a row for each map."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE | {"axes.grid.axis": "x"}):
        drawing = Figure(figsize=(7.2, 4.8), layout="constrained")
        axes, every = drawing.add_subplot(), names(record)
        shown = list(dict.fromkeys(row["contestant"].split()[0] for row in record["rows"] if row["contestant"] != OURS))
        for k, library in enumerate(shown):
            places, ratios = [], []
            for number, line in enumerate(every):
                for row in record["rows"]:
                    right = row["difference"] <= SAME and row["contestant"] != OURS
                    if row["line"] == line and right and row["contestant"].split()[0] == library:
                        places.append(number)
                        ratios.append(min(row["seconds"]) / min(own(record, line)["seconds"]))
            marker = "osD^vPX*<>"[k % 10]
            axes.plot(ratios, places, marker, color=COLOURS[(k + 1) % len(COLOURS)], label=library, markersize=6)
        axes.axvline(1.0, color=COLOURS[0], linewidth=1.5)
        axes.annotate(OURS, (1.0, 1.0), (3, 4), xycoords=("data", "axes fraction"), textcoords="offset points",
                      color=COLOURS[0])  # fmt: skip
        axes.set_xscale("log")
        axes.set_yticks(range(len(every)), every)
        axes.invert_yaxis()
        axes.set_xlabel("time of a call, ours = 1")
        drawing.legend(loc="outside upper center", ncols=min(len(shown), 6))
    return drawing
