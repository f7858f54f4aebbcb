"""Draw coefficients that are sparse, of low rank, and both, next to the truth, which is both.

    python examples/sparse_low_rank.py [my.png]    # else docs/figures/sparse_low_rank.png

Needs scikit-learn and matplotlib: pip install 'trisplit[sklearn,plot]'.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trisplit.sklearn import SparseLowRank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "sparse_low_rank.png"


def panels() -> dict[str, np.ndarray]:
    """Return matrices of coefficients with their titles, each penalty at the weights that come closest to the truth."""
    rng = np.random.default_rng(0)
    W, X = np.zeros((30, 24)), rng.standard_normal((25, 30))
    W[3:9, 2:8] = np.outer(rng.uniform(0.6, 1.4, 6), rng.choice([-1, 1], 6))
    W[17:23, 13:19] = np.outer(rng.choice([-1, 1], 6), rng.uniform(0.6, 1.4, 6))
    Y = X @ W + rng.standard_normal((25, 24))
    found, some = {"truth\n(rank 2)": W}, np.geomspace(0.03, 2, 8)
    for name, alphas, betas in (("L1 norm", some, [0.0]), ("nuclear norm", [0.0], some), ("both", some, some)):
        models = [SparseLowRank(alpha, beta, tol=1e-4).fit(X, Y) for alpha in alphas for beta in betas]
        best = min(models, key=lambda model: np.linalg.norm(model.coef_.T - W))
        error = np.linalg.norm(best.coef_.T - W) / np.linalg.norm(W)
        found[f"{name}:\nerror {error:.0%}"] = best.coef_.T
    return found


def draw(images: dict[str, np.ndarray]) -> "Figure":
    """Draw the matrices in a row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 2.9), layout="constrained")
    axes = figure.subplots(1, len(images))
    for axis, (title, image) in zip(axes, images.items(), strict=True):
        axis.imshow(image, cmap="RdBu_r", vmin=-1.5, vmax=1.5, interpolation="nearest")
        axis.set_title(title, fontsize=10)
        axis.set(xticks=[], yticks=[], xlabel="target")
    axes[0].set_ylabel("feature")
    return figure


def main(target: str | Path = TARGET) -> None:
    draw(panels()).savefig(target, dpi=150, metadata={"Software": None})
    print(f"{target} is written")


if __name__ == "__main__":
    main(*sys.argv[1:])
