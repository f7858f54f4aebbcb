"""Draw a line through samples of which a third are outliers, by least squares and with Tukey's biweight.

    python examples/robust_regressor.py [my.png]    # else docs/figures/robust_regressor.png

Needs scikit-learn and matplotlib: pip install 'trisplit[sklearn,plot]'.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trisplit.sklearn import RobustRegressor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "robust_regressor.png"


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Return 90 samples about a line, 30 of which have other things to say."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, 90)
    y = 0.8 * x + 1 + 0.4 * rng.standard_normal(90)
    y[:30] = rng.uniform(8, 20, 30) - 0.6 * x[:30]
    return x[:, None], y


def draw(X: np.ndarray, y: np.ndarray) -> "Figure":
    """Draw samples, coloured by how much they count, and both lines."""
    from matplotlib.figure import Figure

    tukey, least = RobustRegressor("tukey").fit(X, y), RobustRegressor("least_squares").fit(X, y)
    figure = Figure(figsize=(7.4, 3.6), layout="constrained")
    axis = figure.subplots()
    ends = np.array([[0.0], [10.0]])
    axis.plot(ends, least.predict(ends), color="#D55E00", linewidth=2, linestyle="--", label="least squares")
    axis.plot(ends, tukey.predict(ends), color="#0072B2", linewidth=2, label="Tukey's biweight")
    look = {"cmap": "Blues", "vmin": 0, "vmax": 1, "edgecolor": "#444444", "linewidth": 0.6, "zorder": 3}
    dots = axis.scatter(X[:, 0], y, c=tukey.weights_, s=26, **look)
    figure.colorbar(dots, ax=axis, label="how much a sample counts (weights_)", pad=0.01)
    axis.set(xlabel="x", ylabel="y", xlim=(-0.2, 10.2))
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, loc="upper right")
    return figure


def main(target: str | Path = TARGET) -> None:
    draw(*samples()).savefig(target, dpi=150, metadata={"Software": None})
    print(f"{target} is written")


if __name__ == "__main__":
    main(*sys.argv[1:])
