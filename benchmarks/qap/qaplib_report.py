"""What `trisplit bench qaplib` shows of its calls."""

from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np

import trisplit as ts
from trisplit.paper.instances import assignment_error, family
from trisplit.paper.style import COLOURS, STYLE

from ..report import Table, duration
from .calls import BOUNDS, LONG, SEARCHES, Call, gaps, of_part, overtime, proven
from .gaps import EARLIEST, by_family, over_time, percent, scale
from .goals import table as goals_table
from .instances import BEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 6  # of panels


def tables(record: dict[str, Any]) -> list[Table]:
    """Return the searches, the bounds, the families, the goals and every instance."""
    if not record["rows"]:
        return []
    shown = [searches(record), bounds(record), families(record)]
    aims = [goals_table(record["goals"])] if record["goals"] else []
    return [table for table in [*shown, *aims, every_instance(record)] if table.rows]


def made(record: dict[str, Any]) -> list[tuple[str, int, float]]:
    """Return the parts with searches that there are, each with its seeds and its limit."""
    parts = record["settings"]["parts"]
    kinds = [(name, seed, parts[name]["limit"]) for name in SEARCHES for seed in parts[name]["seeds"]]
    return [kind for kind in kinds if of_part(record, *kind[:2])]


def searches(record: dict[str, Any]) -> Table:
    """Return a line for each limit and seed."""
    table = Table(
        "searches: gap to the best-known cost in percent; time in all, and the most beyond the limit",
        ["limit", "seed", "instances", "mean", "median", "largest", "at best known", "in all", "overtime"],
    )
    for part, seed, limit in made(record):
        calls, found = of_part(record, part, seed).values(), list(gaps(record, part, seed).values())
        numbers = [percent(number) for number in (fmean(found), median(found), max(found))]
        best = sum(gap <= 0 for gap in found)
        times = [duration(sum(call.seconds for call in calls)), late(list(calls))]
        table.rows.append([f"{limit:g} s", f"{seed}", f"{len(found)}", *numbers, f"{best}", *times])
    return table


def late(calls: list[Call]) -> str:
    """Return the most seconds by which a limit was exceeded."""
    most = max(map(overtime, calls))
    return "none" if most == 0 else duration(most)


def below(call: Call) -> float:
    """Return how far a bound is below the best-known cost, as a part of that."""
    assert call.bound is not None
    return 0.0 - assignment_error(call.bound, BEST[call.instance])  # not -0.0


def bounds(record: dict[str, Any]) -> Table:
    """Return a line for each method that has given the best bound somewhere."""
    calls, ours = of_part(record, BOUNDS), proven(record)
    table = Table(
        f"lower bounds, at most {record['settings']['parts'][BOUNDS]['limit']:g} s each: "
        "distance to the best-known cost in percent; proven if the bound is a cost that we found",
        ["method", "instances", "mean", "median", "proven", "in all", "overtime"],
    )
    for method in sorted({str(call.method) for call in calls.values()}):
        own = [call for call in calls.values() if call.method == method]
        apart = [below(call) for call in own]
        table.rows.append(
            [
                method,
                f"{len(own)}",
                percent(fmean(apart)),
                percent(median(apart)),
                f"{sum(call.instance in ours for call in own)}",
                duration(sum(call.seconds for call in own)),
                late(own),
            ]
        )
    return table


def families(record: dict[str, Any]) -> Table:
    """Return the mean gap of each family, over all seeds."""
    kinds = made(record)
    limits = {part: limit for part, _, limit in kinds}
    means: dict[str, dict[str, float]] = {}
    for part in limits:
        of_seeds = [gaps(record, part, seed) for own, seed, _ in kinds if own == part]
        names = set.intersection(*map(set, of_seeds))
        means[part] = by_family({name: fmean(one[name] for one in of_seeds) for name in sorted(names)})
    table = Table(
        "mean gap of each family in percent, over all seeds", ["family", *(f"{limit:g} s" for limit in limits.values())]
    )
    for name in sorted({name for one in means.values() for name in one}):
        table.rows.append([name, *(percent(one[name]) if name in one else "" for one in means.values())])
    return table


def every_instance(record: dict[str, Any]) -> Table:
    """Return a line for each instance: the longest search with the first seed, and the bound."""
    part, limit = longest(record)
    calls, bound_of, ours = of_part(record, part, 0), of_part(record, BOUNDS), proven(record)
    table = Table(
        f"every instance, {limit:g} s: gap in percent, time until the last improvement; "
        "how far the lower bound is below the best-known cost, in percent",
        ["instance", "n", "best known", "cost", "gap", "time to best", "lower bound", "below", "method", "proven"],
    )
    for entry in ts.qap.table():
        call, bound = calls.get(entry.name), bound_of.get(entry.name)
        if call is None and bound is None:
            continue
        line = [entry.name, f"{entry.n}", f"{entry.best_known:,}"]
        if call is None:
            line += ["", "", ""]
        else:
            line += [f"{call.cost:,}", percent(call.gap or 0.0), duration(call.steps[-1][0])]
        if bound is None or bound.bound is None:
            line += ["", "", "", ""]
        else:
            distance = percent(below(bound))
            line += [f"{bound.bound:,}", distance, f"{bound.method}", "yes" if entry.name in ours else ""]
        table.rows.append(line)
    return table


def longest(record: dict[str, Any]) -> tuple[str, float]:
    """Return the longest searches with the first seed that there are, and their limit."""
    there = [(part, limit) for part, seed, limit in made(record) if seed == 0]
    return there[-1] if there else (LONG, record["settings"]["parts"][LONG]["limit"])


def figure(record: dict[str, Any]) -> "Figure":
    """Draw the gap over time, a panel for each family."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    part, limit = longest(record)
    members: dict[str, list[Call]] = {}
    for name, call in of_part(record, part, 0).items():
        members.setdefault(family(name), []).append(call)
    rows = max(-(-len(members) // COLUMNS), 1)
    latest = max((call.steps[-1][0] for calls in members.values() for call in calls), default=0.0)
    times = np.geomspace(EARLIEST, max(limit, latest), 400)
    with mpl.rc_context(STYLE):
        drawing = Figure(figsize=(10.0, 1.55 * rows + 0.7), layout="constrained")
        panels = drawing.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
        for panel, (name, calls) in zip(panels, sorted(members.items()), strict=False):
            draw(panel, calls, times)
            panel.set_title(f"{name} ({len(calls)})")
        for panel in panels[len(members) :]:
            panel.set_axis_off()
        drawing.supxlabel("seconds", fontsize=9)
        drawing.supylabel("gap to the best-known cost, percent", fontsize=9)
    return drawing


def draw(panel: "Axes", calls: list[Call], times: np.ndarray) -> None:
    """Draw the gaps of the instances of a family and, from when all have an answer, their mean."""
    gaps_of = np.array([100 * over_time(call.steps, BEST[call.instance], times) for call in calls])
    panel.plot(times, gaps_of.T, color=COLOURS[7], linewidth=0.6)
    panel.plot(times, gaps_of.mean(axis=0), color=COLOURS[0], linewidth=2.0)
    scale(panel, times)
