"""What `trisplit bench matching` shows: accuracies, seconds and scores by line, what is missing, and the goals last."""

from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from trisplit.paper.style import COLOURS, STYLE

from ..qap.goals import table as goals_table
from ..report import Table, duration
from .goals import Runs, duels, of_lines, runs
from .processes import CONTESTANTS, GRASPOLOGIC, OURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = dict(zip(CONTESTANTS, (COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[5], COLOURS[7]), strict=True))
MARKS = {0: "o", 1: "s", 5: "^"}  # by the percentage of seeds


def tables(record: dict[str, Any]) -> list[Table]:
    """Return the tables that have rows."""
    shown = [accuracies(record), times(record), scores(record), memory(record), missing(record)]
    aims = [goals_table(record["goals"])] if record.get("goals") else []
    return [table for table in [*shown, *aims] if table.rows]


def present(record: dict[str, Any]) -> tuple[list[str], list[str], dict[tuple[str, str], Runs]]:
    """Return the lines and contestants that there are, and the runs."""
    made = runs(record)
    names = [name for name in of_lines(record) if any(line == name for line, _ in made)]
    return names, [who for who in CONTESTANTS if any(one == who for _, one in made)], made


def accuracies(record: dict[str, Any]) -> Table:
    """Return a line for each line: mean and standard error; in front those behind are marked."""
    names, who, made = present(record)
    met = duels(record)
    table = Table(
        "vertices without seed that are right, in percent: mean and standard error over the seeds; a line is named "
        "by its graphs, the correlation and the seeds in percent; a time-out counts as 0",
        ["line", "runs", *who, f"against {GRASPOLOGIC}"],
    )
    for name in names:
        cells = [share(made.get((name, one))) for one in who]
        duel = met.get(name)
        word = "" if duel is None else "left out" if not duel.counts else "behind" if duel.behind else (
            "above" if duel.ours > duel.theirs else "equal" if duel.ours == duel.theirs else "within")  # fmt: skip
        count = max(len(made[name, one].accuracy) for one in who if (name, one) in made)
        table.rows.append([name, f"{count}", *cells, word])
    return table


def share(own: Runs | None) -> str:
    """Return the mean accuracy in percent with its standard error."""
    if own is None:
        return ""
    found = [100 * one for one in own.accuracy.values()]
    if own.late == len(found):
        return own.why
    error = f" ± {stdev(found) / len(found) ** 0.5:.1f}" if len(found) > 1 else ""
    return f"{fmean(found):.1f}{error}"


def times(record: dict[str, Any]) -> Table:
    """Return a line for each line: median seconds."""
    names, who, made = present(record)
    table = Table(
        f"seconds of a call on {record['settings']['threads']} threads, median over the seeds; "
        "a time-out counts with its limit",
        ["line", *who, f"trisplit / {GRASPOLOGIC}"],
    )
    for name in names:
        found = {one: made[name, one] for one in who if (name, one) in made}
        cells = [clock(found.get(one)) for one in who]
        both = OURS in found and GRASPOLOGIC in found
        ratio = f"{found[OURS].time / found[GRASPOLOGIC].time:.3g}" if both else ""
        table.rows.append([name, *cells, ratio])
    return table


def clock(own: Runs | None) -> str:
    """Return the median time, above the limit where most runs were too late."""
    if own is None:
        return ""
    return f"> {duration(own.time)}" if 2 * own.late > len(own.seconds) else duration(own.time)


def scores(record: dict[str, Any]) -> Table:
    """Return a line for each line: the mean score as a part of the right match's."""
    names, who, _ = present(record)
    table = Table("score / score of the right match, mean over the seeds (noise allows more than 1)", ["line", *who])
    parts: dict[tuple[str, str], list[float]] = {}
    for line, _, contestant, _, failed, _, score, true_score, _, _ in record["rows"]:
        if failed is None and true_score:
            parts.setdefault((line, contestant), []).append(score / true_score)
    for name in names:
        cells = [f"{fmean(parts[name, one]):.4f}" if (name, one) in parts else "" for one in who]
        table.rows.append([name, *cells])
    return table


def memory(record: dict[str, Any]) -> Table:
    """Return a line for each kind of graphs: the most memory of a process."""
    names, who, made = present(record)
    lines = of_lines(record)
    table = Table("most memory of a process in MiB, with its libraries and the two graphs", ["graphs", *who])
    for graph in dict.fromkeys(lines[name].graph for name in names):
        own = [name for name in names if lines[name].graph == graph]
        peaks = [max((made[name, one].peak_mib for name in own if (name, one) in made), default=0.0) for one in who]
        table.rows.append([graph, *(f"{peak:,.0f}" if peak else "" for peak in peaks)])
    return table


def missing(record: dict[str, Any]) -> Table:
    """Return the libraries that are missing, and what has failed or was too late."""
    table = Table("what is missing, has failed or was too late", ["contestant, line", "seeds", "why"])
    for who, found in record.get("contestants", {}).items():
        if "missing" in found:
            table.rows.append([who, "", found["missing"]])
    why: dict[tuple[str, str, str], int] = {}
    for line, _, contestant, _, failed, *_ in record["rows"]:
        if failed is not None and not failed.startswith("missing"):
            why[contestant, line, failed] = why.get((contestant, line, failed), 0) + 1
    table.rows += [[f"{who}, {line}", f"{count}", failed] for (who, line, failed), count in why.items()]
    return table


def figure(record: dict[str, Any]) -> "Figure":
    """Draw accuracies over the correlation, a panel for each size and share of seeds, and the times."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    lines, made = of_lines(record), runs(record)
    random = [line for line in lines.values() if line.part == "er"]
    graphs = list(dict.fromkeys(line.graph for line in random))
    hints = sorted({line.seeds for line in random})
    with mpl.rc_context(STYLE):  # pyright: ignore[reportArgumentType]
        drawing = Figure(figsize=(9.0, 2.2 * len(hints) + 2.6), layout="constrained")
        top, bottom = drawing.subfigures(2, 1, height_ratios=(2.2 * len(hints), 2.6))  # pyright: ignore
        panels = top.subplots(len(hints), len(graphs), sharex=True, sharey=True, squeeze=False)
        for row, seeds in zip(panels, hints, strict=True):
            for panel, graph in zip(row, graphs, strict=True):
                draw_accuracy(panel, record, graph, seeds)
        for panel in panels[:, 0]:
            panel.set_ylabel("right, percent")
        for panel in panels[-1]:
            panel.set_xlabel("correlation")
        handles, labels = panels[0][0].get_legend_handles_labels()
        if handles:
            drawing.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=8)
        draw_times(bottom.subplots(), {name: [made.get((name, who)) for who in (OURS, GRASPOLOGIC)] for name in lines},
                   {name: line.seeds for name, line in lines.items()})  # fmt: skip
    return drawing


def draw_accuracy(panel: "Axes", record: dict[str, Any], graph: str, seeds: int) -> None:
    """Draw the mean accuracy of each contestant over the correlation, with a standard error."""
    made = runs(record)
    own = [line for line in of_lines(record).values() if line.graph == graph and line.seeds == seeds]
    for who, colour in LOOKS.items():
        there = [(line.correlation or 0.0, made[line.name, who]) for line in own if (line.name, who) in made]
        if not there:
            continue
        means = [100 * one.mean for _, one in there]
        values = [[100 * one for one in each.accuracy.values()] for _, each in there]
        errors = [stdev(one) / len(one) ** 0.5 if len(one) > 1 else 0.0 for one in values]
        panel.errorbar([r for r, _ in there], means, errors, color=colour, marker="o", markersize=3, label=who)
    panel.set_title(f"{graph}, {seeds} % seeds", fontsize=8)
    panel.set_ylim(-5, 105)


def draw_times(panel: "Axes", pairs: dict[str, list[Runs | None]], seeds: dict[str, int]) -> None:
    """Draw our median time over graspologic's, a point for each line, with the diagonals of equal and of half time."""
    ends = []
    for name, (ours, theirs) in pairs.items():
        if ours is not None and theirs is not None:
            panel.plot(theirs.time, ours.time, MARKS.get(seeds[name], "o"), color=COLOURS[0], markersize=4)
            ends += [ours.time, theirs.time]
    if ends:
        low, high = min(ends), max(ends)
        for factor, style in ((1.0, "-"), (0.5, "--")):
            panel.plot([low, high], [factor * low, factor * high], style, color="black", linewidth=0.8)
        panel.set(xscale="log", yscale="log")
    panel.set(
        xlabel="seconds of graspologic (time-outs at their limit)", ylabel="seconds of trisplit\n(lines: equal, half)"
    )
