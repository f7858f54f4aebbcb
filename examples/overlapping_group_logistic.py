"""Draw which pixels tell a handwritten 3 from an 8, chosen one by one and in overlapping patches.

    python examples/overlapping_group_logistic.py [my.png]    # else docs/figures/overlapping_group_logistic.png

Needs scikit-learn and matplotlib: pip install 'trisplit[sklearn,plot]'.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trisplit.sklearn import OverlappingGroupLogistic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "overlapping_group_logistic.png"
GRID = np.arange(64).reshape(8, 8)
PATCHES = [GRID[i : i + 2, j : j + 2].ravel().tolist() for i in range(7) for j in range(7)]  # of 2 x 2 pixels


def panels() -> dict[str, np.ndarray]:
    """Return images with their titles: the mean of each digit, and the coefficients of both models."""
    X, y = load_digits(return_X_y=True)
    X, y = X[(y == 3) | (y == 8)] / 16, y[(y == 3) | (y == 8)]
    train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    found = {f"mean of\nall {k}s": X[y == k].mean(axis=0) for k in (3, 8)}
    for name, groups, alpha in (("pixels", None, 0.02), ("patches", PATCHES, 0.0065)):
        model = OverlappingGroupLogistic(groups, alpha=alpha).fit(train, y_train)
        title = f"{name}: {np.count_nonzero(model.coef_)} in use,\n{model.score(test, y_test):.1%} correct"
        found[title] = model.coef_[0]
    return found


def draw(images: dict[str, np.ndarray]) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 2.3), layout="constrained")
    axes = figure.subplots(1, len(images), subplot_kw={"xticks": [], "yticks": []})
    for k, (axis, (title, image)) in enumerate(zip(axes, images.items(), strict=True)):
        look = {"cmap": "Greys", "vmin": 0} if k < 2 else {"cmap": "RdBu_r", "vmin": -2, "vmax": 2}
        shown = axis.imshow(image.reshape(8, 8), **look)
        axis.set_title(title, fontsize=10)
    bar = figure.colorbar(shown, ax=axes, ticks=[-1.9, 0, 1.9], fraction=0.02, shrink=0.8)
    bar.ax.set_yticklabels(["says 3", "0", "says 8"], fontsize=9)
    return figure


def main(target: str | Path = TARGET) -> None:
    draw(panels()).savefig(target, dpi=150, metadata={"Software": None})
    print(f"{target} is written")


if __name__ == "__main__":
    main(*sys.argv[1:])
