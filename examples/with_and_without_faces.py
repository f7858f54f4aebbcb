"""Draw the best cost over time of `ts.qap.solve` with and without restarts on faces.

    python examples/with_and_without_faces.py                      # into docs/figures/with_and_without_faces.png
    python examples/with_and_without_faces.py my.png chr25a tai40a # other instances

Needs matplotlib: pip install 'trisplit[plot]'. Times are those of the machine that it runs on, with one thread.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import trisplit as ts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito: distinguishable with every kind of colour vision.
RUNS = {"faces=False": (False, "#D55E00"), "faces=True": (True, "#0072B2")}
SECONDS, SEEDS = 3.0, 5
TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "with_and_without_faces.png"

Curve = list[tuple[float, float]]  # seconds, and the gap to the best-known cost in percent


def curve(instance: ts.qap.Instance, seconds: float, seed: int, *, faces: bool) -> Curve:
    """Return how the gap to the best-known cost fell; what is rounded is not polished."""
    res = ts.qap.solve(instance, time_limit=seconds, faces=faces, polish=False, workers=1, rng=seed)
    best = instance.best_known
    assert best is not None, f"{instance.name} has no best-known cost to compare with"
    points = [(row.seconds, 100 * (row.best - best) / max(abs(best), 1)) for row in res.trace]
    return [*points, (max(seconds, points[-1][0]), points[-1][1])]


def draw(curves: dict[str, dict[str, list[Curve]]]) -> "Figure":
    """Draw a panel for each instance and a line for each search."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    style = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    with mpl.rc_context(style):
        figure = Figure(figsize=(7.4, 3.1), layout="constrained")
        axes = figure.subplots(1, len(curves), squeeze=False)[0]
        for axis, (name, kinds) in zip(axes, curves.items(), strict=True):
            for label, some in kinds.items():
                for one in some:
                    axis.step(*zip(*one, strict=True), where="post", color=RUNS[label][1], linewidth=1.5, alpha=0.7)
            axis.set(xscale="log", xlabel="seconds", ylim=(0, None))
            axis.set_title(name, fontsize=10.5, fontweight="bold")
            axis.xaxis.set_major_formatter("{x:g}")
            axis.grid(color="#e5e5e5", linewidth=0.6)
            axis.set_axisbelow(True)
        axes[0].set_ylabel("gap to the best known, percent")
        lines = [Line2D([], [], color=colour, linewidth=2) for _, colour in RUNS.values()]
        figure.legend(lines, list(RUNS), loc="outside lower center", ncols=len(RUNS))
    return figure


def main(target: str | Path = TARGET, *names: str) -> None:
    """Run both searches with some seeds, and draw them into a file."""
    ts.qap.solve(ts.qap.load("nug12"), starts=1, rng=0)  # compiles
    curves = {}
    for name in names or ("sko49", "tai64c"):
        instance = ts.qap.load(name)
        curves[name] = {
            label: [curve(instance, SECONDS, seed, faces=faces) for seed in range(SEEDS)]
            for label, (faces, _) in RUNS.items()
        }
    draw(curves).savefig(target, dpi=150, metadata={"Software": None})
    print(f"{target} is written")


if __name__ == "__main__":
    main(*sys.argv[1:])
