"""Draw the certificates of all iterates of a convex problem above the error that they bound.

    python examples/certificate_and_truth.py [my.png]    # else docs/figures/certificate_and_truth.png

Needs matplotlib: pip install 'trisplit[plot]'.
"""

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import trisplit as ts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "certificate_and_truth.png"
ITERATIONS = 80


def curves() -> dict[str, np.ndarray]:
    """Return phi(z) - min phi, the gap and the bound at each iterate, for least squares with a box and an L1 norm."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((60, 40)) * np.geomspace(0.2, 1, 40), rng.standard_normal(60)
    f = ts.losses.LeastSquares(A, b)
    problem = ts.Problem(f, [ts.terms.Box(-0.1, 0.1), ts.terms.L1(0.02)])
    least = ts.minimize(f, np.zeros(40), problem.terms, tol=1e-13, max_iter=100_000).fun
    rows = []
    for made in islice(ts.tos(problem, np.ones(40)), ITERATIONS):
        gap = ts.certificates.certify(problem, made).stationarity
        rows.append((ts.certificates.bound(problem, made), gap, problem.objective(made) - least))
    names = "the bound, from the iterate alone", "the gap, by a joint oracle", "the error φ(z) − min φ"
    return dict(zip(names, np.array(rows, dtype=float).T, strict=True))


def draw(found: dict[str, np.ndarray]) -> "Figure":
    """Draw the curves over the iterations."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 3.6), layout="constrained")
    axis = figure.subplots()
    for (name, values), colour in zip(found.items(), ("#D55E00", "#0072B2", "#444444"), strict=True):
        axis.semilogy(np.arange(1, len(values) + 1), values, color=colour, linewidth=1.8, label=name)
    axis.set(xlabel="iteration", ylabel="in units of φ", xlim=(1, ITERATIONS))
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    return figure


def main(target: str | Path = TARGET) -> None:
    draw(curves()).savefig(target, dpi=150, metadata={"Software": None})
    print(f"{target} is written")


if __name__ == "__main__":
    main(*sys.argv[1:])
