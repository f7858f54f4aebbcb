"""The pictures of figure 2: three panels of bars as in the paper, and what the seeds of the initial point change."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trisplit.paper.comparison import OTHERS, PAPER, draws, interval, mean_errors
from trisplit.paper.figure2 import Run
from trisplit.paper.methods import NAMES, STARTS
from trisplit.paper.style import COLOURS, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = {"fw": COLOURS[1], "tos": COLOURS[2], "today": COLOURS[3]}
ROWS = 3
HIGHEST = 1.0  # larger errors are cut off, and their height written on top


def draw_bars(runs: Sequence[Run], start: str) -> "Figure":
    """Draw the assignment error of Frank-Wolfe, the paper's TOS and today's on each instance, the mean over seeds."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    errors = {method: mean_errors(runs, start, method) for method in BARS}
    names = list(errors["fw"])
    with mpl.rc_context(STYLE):  # pyright: ignore[reportArgumentType]
        drawing = Figure(figsize=(13.0, 8.0), layout="constrained")
        axes = drawing.subplots(ROWS, 1)
        size = -(-len(names) // ROWS)
        for k, ax in enumerate(axes):
            _bars(ax, names[k * size : (k + 1) * size], errors)
        handles, labels = axes[0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        seeds = len({run.seed for run in runs})
        drawing.suptitle(
            f"Assignment error, mean over {seeds} seed{'s' * (seeds > 1)}. Initial point: {STARTS[start]}", fontsize=10
        )
    return drawing


def _bars(ax: "Axes", names: list[str], errors: dict[str, dict[str, float]]) -> None:
    width, highest = 0.8 / len(BARS), max(errors[method].get(name, 0.0) for method in BARS for name in names)
    for k, (method, colour) in enumerate(BARS.items()):
        at = [i + (k - (len(BARS) - 1) / 2) * width for i in range(len(names))]
        heights = [errors[method].get(name, 0.0) for name in names]
        ax.bar(at, [min(height, HIGHEST) for height in heights], width, color=colour, label=NAMES[method])
        for x, height in zip(at, heights, strict=True):
            if height > HIGHEST:
                ax.text(x, HIGHEST, f"{height:.1f}", ha="center", va="bottom", fontsize=6, rotation=90)
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    ax.set(
        xlim=(-0.6, len(names) - 0.4), ylabel="assignment error", ylim=(0.0, min(max(highest, 0.01), HIGHEST) * 1.08)
    )
    ax.grid(axis="x", visible=False)


def draw_seeds(runs: Sequence[Run]) -> "Figure":
    """Draw each seed's mean margin over Frank-Wolfe, for both initial points and all methods, and the paper's."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    found = draws(runs)
    groups = [(start, method) for start in STARTS for method in OTHERS]
    with mpl.rc_context(STYLE):  # pyright: ignore[reportArgumentType]
        drawing = Figure(figsize=(8.0, 3.6), layout="constrained")
        ax = drawing.subplots()
        for k, (start, method) in enumerate(groups):
            own = [draw.margin for draw in found if (draw.start, draw.method) == (start, method)]
            if not own:
                continue
            mean, low, high = interval(own)
            ax.plot(own, [k + 0.18] * len(own), "o", markersize=4, alpha=0.6, color=COLOURS[0])
            reach = [[0.0], [0.0]] if low is None or high is None else [[mean - low], [high - mean]]
            ax.errorbar([mean], [k - 0.12], xerr=reach, fmt="D", markersize=5, capsize=4, color=COLOURS[1])
        ax.axvline(0.0, color=COLOURS[6], linewidth=0.8)
        ax.axvline(PAPER["margin"], color=COLOURS[7], linestyle="--", label=f"the paper's {PAPER['margin']}")
        labels = [
            f"{NAMES[method]}, {'near the barycentre' if start == 'near' else 'text'}" for start, method in groups
        ]
        ax.set_yticks(range(len(groups)), labels)
        ax.invert_yaxis()
        ax.set_xlabel("mean margin over FW: dots are seeds, diamonds their mean with its interval of 95 %")
        ax.legend(loc="lower right")
    return drawing
