"""The picture of figure 1: a row for each instance, the two errors over iterations and over seconds."""

from typing import TYPE_CHECKING

from trisplit.paper.figure1 import Row
from trisplit.paper.methods import NAMES, STARTS
from trisplit.paper.style import COLOURS, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = {
    "tos1": (COLOURS[0], "-", "o"),
    "tos": (COLOURS[2], "--", "s"),
    "fw": (COLOURS[1], "-.", "^"),
    "today": (COLOURS[3], "-", "D"),
}
PANELS = tuple((over, error) for over in ("iteration", "seconds") for error in ("infeasibility", "nonstationarity"))
LOWEST = 1e-17  # what is smaller is drawn there: zero has no logarithm


def draw(rows: list[Row], start: str) -> "Figure":
    """Return the figure."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    instances, methods = list(dict.fromkeys(r.instance for r in rows)), list(dict.fromkeys(r.method for r in rows))
    with mpl.rc_context(STYLE):  # pyright: ignore[reportArgumentType]
        drawing = Figure(figsize=(13.0, 3.2 * len(instances) + 0.8), layout="constrained")
        axes = drawing.subplots(len(instances), len(PANELS), squeeze=False)
        for line, name in zip(axes, instances, strict=True):
            for ax, (over, error) in zip(line, PANELS, strict=True):
                for method in methods:
                    own = [row for row in rows if (row.instance, row.method) == (name, method)]
                    if error == "infeasibility" and method == "fw":
                        continue  # its iterates are feasible
                    colour, dash, marker = LOOKS[method]
                    x = [max(getattr(row, over), 1e-6) for row in own]
                    y = [max(getattr(row, error), LOWEST) for row in own]
                    ax.loglog(x, y, dash, marker=marker, markersize=3, color=colour, label=NAMES[method])
                ax.set(title=f"{name}: {error} error", xlabel=over, ylim=(LOWEST, 10))
        handles, labels = axes[0][1].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        drawing.suptitle(f"Initial point: {STARTS[start]}", fontsize=10)
    return drawing
