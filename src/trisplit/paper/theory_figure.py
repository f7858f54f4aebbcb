"""The figure of the measured theorems: a panel for each theorem and quantity, and one for Corollary 2.

Problems share a panel in units of their own main-text bound at the smallest T. Errors that are not positive are hollow
triangles at the lower edge.
"""

from typing import TYPE_CHECKING

import numpy as np

from trisplit.paper.style import COLOURS, STYLE
from trisplit.paper.theory import Row, SampleCount, fit_slope, grouped, is_positive, key_of, sample_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = (
    ("Theorem 1", "stationarity"),
    ("Corollary 1", "stationarity"),
    ("Theorem 2", "stationarity"),
    ("Theorem 2", "infeasibility"),
    ("Theorem 3", "stationarity"),
    ("Corollary 2", "error over samples"),
    ("Theorem 4", "stationarity"),
    ("Theorem 4", "infeasibility"),
)
MARKERS = "osD^vP"
BLACK, GREY = "#000000", COLOURS[-1]


def draw(rows: list[Row]) -> "Figure":
    """Return the figure of `trisplit.paper.theory.figure`."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    with mpl.rc_context(STYLE):  # pyright: ignore[reportArgumentType]
        drawing = Figure(figsize=(9.0, 13.0), layout="constrained")
        for ax, (theorem, quantity) in zip(drawing.subplots(4, 2).ravel(), PANELS, strict=True):
            ax.set(xscale="log", yscale="log", title=f"{theorem}: {quantity}")
            if theorem == "Corollary 2":
                _draw_samples(ax, sample_counts(rows))
            else:
                _draw_errors(ax, [row for row in rows if (row.theorem, row.quantity) == (theorem, quantity)])
            ax.set_ylabel(f"error / its bound at T = {rows[0].T}")
        lines = [
            Line2D([], [], color=BLACK, label="bound, main text"),
            Line2D([], [], color=BLACK, linestyle="--", label="bound, appendix"),
            Line2D([], [], color=GREY, marker="o", markersize=4, linewidth=1, label="measured, and fit"),
            Line2D([], [], color=GREY, marker="v", fillstyle="none", linestyle="", label="measured, not above 0"),
        ]
        drawing.legend(handles=lines, loc="outside lower center", ncols=4)
    return drawing


def _draw_errors(ax: "Axes", rows: list[Row]) -> None:
    groups, lowest = grouped(rows, key_of), 1.0
    for group, colour, marker in zip(groups, COLOURS, MARKERS, strict=False):
        unit, T, fit = group[0].bound, np.array([row.T for row in group]), fit_slope(group)
        positive = np.array([is_positive(row) for row in group])
        errors = np.array([row.measured for row in group]) / unit
        ax.plot(T, [row.bound / unit for row in group], color=BLACK, linewidth=1.2)
        ax.plot(T, [row.tight_bound / unit for row in group], "--", color=BLACK, linewidth=1.2)
        label = f"{group[0].problem}: {_words(fit.slope)}, {_words(fit.last)}"
        ax.plot(T[positive], errors[positive], marker, color=colour, markersize=4, label=label)
        if fit.slope is not None:
            log_constant = np.mean(np.log(errors[positive]) - fit.slope * np.log(T[positive]))
            ax.plot(T, np.exp(log_constant) * T**fit.slope, color=colour, linewidth=1)
        edge = np.full(np.sum(~positive), 0.02)  # of the height of the panel
        ax.plot(T[~positive], edge, "v", color=colour, fillstyle="none", transform=ax.get_xaxis_transform())
        lowest = min([lowest, *errors[positive]])
    legend = 0.07 * len(groups) + 0.16  # its share of the panel, to be kept free below the errors
    ax.set(xlabel="iterations T", ylim=(lowest ** (1 / (1 - legend)), None))
    small = {"fontsize": 7.5, "title_fontsize": 7.5, "handlelength": 1.0, "borderaxespad": 1.4}
    ax.legend(loc="lower left", title="problem: slope of all T, of the last decade", alignment="left", **small)


def _draw_samples(ax: "Axes", counts: list[SampleCount]) -> None:
    groups = grouped(counts, lambda count: (count.theorem, count.problem))
    colour = dict(zip(dict.fromkeys(count.theorem for count in counts), COLOURS, strict=False))
    for group in groups:
        unit, samples = group[0].epsilon, [count.samples for count in group]
        ax.plot(samples, [count.epsilon / unit for count in group], color=BLACK, linewidth=1.2)
        look = {"color": colour[group[0].theorem], "markersize": 3, "linewidth": 1}
        ax.plot(samples, [count.measured / unit for count in group], "o-", **look)
    for theorem in colour:
        ax.plot([], [], "o-", color=colour[theorem], markersize=3, linewidth=1, label=f"{theorem}, measured")
    ends = np.array([min(count.samples for count in counts), max(count.samples for count in counts)])
    ax.plot(ends, 3 * (ends / ends[0]) ** -0.2, ":", color=BLACK, linewidth=1.2, label="slope \N{MINUS SIGN}1/5")
    ax.set_xlabel("samples drawn, T |Q|")
    ax.legend(loc="lower left", fontsize=7.5)


def _words(slope: float | None) -> str:
    """Return a slope with a minus sign of the width of its digits.

    >>> _words(None)
    'none'
    """
    return "none" if slope is None else f"{slope:.2f}".replace("-", "\N{MINUS SIGN}")
