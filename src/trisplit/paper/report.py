"""The report of a reproduction: verdicts, charts that can be explored, tables, and what made them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import trisplit
from trisplit.paper import figure1, tables, theory
from trisplit.paper.claims import BY_START, chart_of_theorem, verdicts
from trisplit.paper.comparison import OTHERS, PAPER, draws, mean_errors
from trisplit.paper.instances import family
from trisplit.paper.methods import NAMES, STARTS
from trisplit.paper.results import Results
from trisplit.report import Block, Chart, Image, Section, Series, Text, write_page

COLOUR = {"tos1": 0, "fw": 1, "tos": 2, "today": 3, "tos-hg": 4}
INTRODUCTION = (
    "A. Yurtsever, V. Mangalick, S. Sra, Three Operator Splitting with a Nonconvex Loss Function, ICML 2021 "
    "([YMS21]), computed again. Every chart can be read with the mouse or, after a click or Tab, with the arrow keys."
)
FIGURE1 = (
    "TOS split 1 (row-stochastic against column-stochastic matrices) and split 2 (the box against unit sums) have the "
    "paper's settings: f itself and the step 1/L. TOS today is split 1 with the adaptive step on the tangent form, the "
    "method behind `ts.qap.solve`. The splittings iterate in compiled code; FW calls NumPy and a compiled assignment "
    "solver, so that on small instances its time is mostly that of calls."
)
FIGURE2 = (
    "All methods start from the same point and stop when both errors are at most 1e-5, checked at t = 1, 2, 4, 8, ..., "
    "or at the limits that are named at the end; the last iterate is rounded to the nearest permutation. The error is "
    "(cost - best known) / max(best known, 1)."
)


def write_report(folder: Path, results: Results, drawn: Sequence[str] = ()) -> None:
    """Write index.html, with the pictures of these names that lie in the folder."""
    sections = [Section(title, blocks) for title, blocks in _sections(folder, results, drawn) if blocks]
    footer = f"Made by trisplit {trisplit.__version__}."
    write_page(folder / "index.html", "[YMS21], reproduced", INTRODUCTION, sections, footer)


def _sections(folder: Path, results: Results, drawn: Sequence[str]) -> Iterator[tuple[str, list[Block]]]:
    def images(prefix: str) -> list[Block]:
        names = [name for name in drawn if name.startswith(prefix)]
        return [Image(folder / f"{name}.png", name, f"`{name}.png`, for papers") for name in names]

    yield "The claims of the paper", list(verdicts(results))
    if results.figure1:
        blocks = [Text(FIGURE1), *_figure1(results), tables.rates(results), tables.shares(results)]
        yield "Figure 1: convergence", [*blocks, *images("figure1")]
    if results.figure2:
        blocks = [Text(FIGURE2), *_figure2(results), tables.comparison(results), tables.methods(results)]
        blocks += [_seeds(results), tables.not_converged(results), tables.each_seed(results)]
        yield "Figure 2: relax and round", [*blocks, *images("figure2")]
    if results.theory:
        blocks = [*_theory(results), _samples(results), tables.slopes(results), tables.samples(results)]
        yield "Theorems 1 to 4", [*blocks, *images("theory")]
    made = [f"`{name}.csv`: {'; '.join(lines)}" for name, lines in results.made_by.items() if lines]
    yield "What made these results", [Text("\n\n".join(made))]


def _figure1(results: Results) -> Iterator[Block]:
    rows = figure1.shown(results.figure1)
    for start in STARTS:
        for name in dict.fromkeys(row.instance for row in rows):
            for over in ("iteration", "seconds"):
                series = [
                    Series(
                        f"{NAMES[method]}, {error}",
                        [getattr(row, over) for row in own],
                        [getattr(row, error) for row in own],
                        dash=error == "infeasibility",
                        marker=True,
                        colour=COLOUR[method],
                    )
                    for method in (*figure1.PAPERS, figure1.TODAY)
                    for error in ("nonstationarity", "infeasibility")
                    if not (method == "fw" and error == "infeasibility")
                    for own in [[r for r in rows if (r.instance, r.start, r.method) == (name, start, method)]]
                ]
                timed = over == "seconds"
                title = f"{name}: errors over {'time' if timed else 'iterations'}, {BY_START[start]}"
                anchor = f"figure-1-{start}-{name}" + "-time" * timed
                note = "Nonstationarity solid, infeasibility dashed; at t = 1, 2, 4, 8, ... as in the paper."
                yield Chart(anchor, title, "lines", series, over, "error, relative", x_log=True, y_log=True, note=note)


def _figure2(results: Results) -> Iterator[Block]:
    for start, words in STARTS.items():
        series = []
        for method in ("fw", "tos", "tos-hg", "today"):
            errors = mean_errors(results.figure2, start, method)
            names = list(errors)
            values, families = list(errors.values()), [family(name) for name in names]
            series.append(Series(NAMES[method], names, values, groups=families, colour=COLOUR[method]))
        title = f"Assignment error {BY_START[start]}"
        note = f"The mean over seeds; lower is better. {words[0].upper() + words[1:]}."
        axes = ("instance", "assignment error")
        yield Chart(f"figure-2-{start}", title, "bars", series, *axes, note=note, filter_label="families")


def _seeds(results: Results) -> Block:
    found = draws(results.figure2)
    series = [
        Series(
            f"{NAMES[method]}, {tables.SHORT[start]}",
            [draw.seed for draw in own],
            [draw.margin for draw in own],
            labels=[f"{draw.better} better, {draw.same} same, {draw.worse} worse" for draw in own],
            groups=tables.SHORT[start],
            dash=start == "text",
            marker=True,
            colour=COLOUR[method],
        )
        for start in STARTS
        for method in OTHERS
        for own in [[draw for draw in found if (draw.start, draw.method) == (start, method)]]
    ]
    seeds = sorted({draw.seed for draw in found})
    series.append(Series("[YMS21]", seeds, [PAPER["margin"]] * len(seeds), colour=7, dash=True))
    note = "Positive: better than FW on average. One point is one draw of the paper's experiment, which had 0.046."
    axes = ("seed", "mean margin over FW")
    title = "What the seed changes"
    return Chart("figure-2-seeds", title, "points", series, *axes, note=note, filter_label="initial points")


def _theory(results: Results) -> Iterator[Block]:
    for group in theory.grouped(results.theory, lambda row: (row.theorem, row.quantity)):
        series = []
        problems = theory.grouped(group, lambda row: row.problem)
        for k, own in enumerate(problems):
            T, colour = [row.T for row in own], k % 6
            curves = (("measured", False), ("bound", True))
            for field, dash in curves:
                y = [getattr(row, field) for row in own]
                name = f"{own[0].problem}, {field}"
                series.append(
                    Series(name, T, y, groups=own[0].problem, dash=dash, marker=field == "measured", colour=colour)
                )
        anchor = chart_of_theorem(group[0].theorem, group[0].quantity)
        title, note = (
            f"{group[0].theorem}: {group[0].quantity}",
            "Measured errors solid, bounds of the main text dashed.",
        )
        axes = ("T", group[0].quantity)
        yield Chart(anchor, title, "lines", series, *axes, x_log=True, y_log=True, note=note, filter_label="problems")


def _samples(results: Results) -> Block:
    groups = theory.grouped(theory.sample_counts(results.theory), lambda count: (count.theorem, count.problem))
    series = [
        Series(
            f"{own[0].theorem}: {own[0].problem}",
            [count.epsilon for count in own],
            [count.samples for count in own],
            groups=own[0].theorem,
            marker=True,
            colour=k % 6,
        )
        for k, own in enumerate(groups)
    ]
    axes = ("epsilon, the larger bound", "samples drawn")
    title, note = "Corollary 2: samples for an epsilon", "The corollary allows 1/epsilon^5."
    return Chart(
        "corollary-2", title, "lines", series, *axes, x_log=True, y_log=True, note=note, filter_label="theorems"
    )
