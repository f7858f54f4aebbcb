"""The look that the figures share."""

from pathlib import Path
from typing import TYPE_CHECKING

from trisplit.report.charts import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "STYLE", "save_figure"]
STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "trisplit",
}


def save_figure(path: Path, figure: "Figure") -> None:
    """Write a figure as PNG, without the date and versions that would change the file at every run."""
    figure.savefig(path, dpi=120, bbox_inches="tight", metadata={"Software": None})
