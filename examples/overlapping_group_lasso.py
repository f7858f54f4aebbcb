"""Draw what the lasso and overlapping groups find of a stretch of features that act together.

    python examples/overlapping_group_lasso.py [my.png]    # else docs/figures/overlapping_group_lasso.png

Needs scikit-learn and matplotlib: pip install 'trisplit[sklearn,plot]'.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trisplit.sklearn import OverlappingGroupLasso

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "overlapping_group_lasso.png"
D = 200
WINDOWS = [list(range(i, i + 10)) for i in range(0, D - 9, 5)]  # each shares half with the next


def fits() -> tuple[np.ndarray, dict[str, OverlappingGroupLasso]]:
    """Return the true coefficients, and both models fitted to few and noisy samples."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((80, D)), np.zeros(D)
    w[60:80], w[140:150] = np.sin(np.linspace(0.3, 2.8, 20)), -0.8
    y = X @ w + 0.5 * rng.standard_normal(80)
    lasso, grouped = OverlappingGroupLasso(alpha=0.1), OverlappingGroupLasso(WINDOWS, alpha=0.25)
    return w, {"lasso": lasso.fit(X, y), "windows of 10 features": grouped.fit(X, y)}


def draw(w: np.ndarray, models: dict[str, OverlappingGroupLasso]) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 3.6), layout="constrained")
    axes = figure.subplots(len(models), 1, sharex=True, sharey=True)
    for axis, (name, model), colour in zip(axes, models.items(), ("#D55E00", "#0072B2"), strict=True):
        axis.fill_between(np.arange(D), w, step="mid", color="#cccccc", linewidth=0, label="truth")
        used = np.flatnonzero(model.coef_)
        axis.vlines(used, 0, model.coef_[used], color=colour, linewidth=1.6, label="found")
        axis.axhline(0, color="#555555", linewidth=0.6)
        error = np.linalg.norm(model.coef_ - w) / np.linalg.norm(w)
        axis.set_title(f"{name}: error {error:.0%}", fontsize=10.5, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, fontsize=9, loc="lower center")
        axis.set(xlabel="feature", ylabel="coefficient", xlim=(-1, D))
        axis.label_outer()
    return figure


def main(target: str | Path = TARGET) -> None:
    draw(*fits()).savefig(target, dpi=150, metadata={"Software": None})
    print(f"{target} is written")


if __name__ == "__main__":
    main(*sys.argv[1:])
