"""Draw how an iterate of the relaxed quadratic assignment problem becomes a permutation.

    python examples/iterate_to_permutation.py                # nug30, into docs/figures/iterate_to_permutation.png
    python examples/iterate_to_permutation.py ste36a my.png

Needs matplotlib: pip install 'trisplit[plot]'.

The iteration is [YMS21] Algorithm 1 with the splitting and the adaptive step of `ts.qap.solve`: z is row-stochastic in
every iteration, its columns come to add up to 1, and it settles at a stationary point. Columns are drawn in the order
of the permutation that is nearest to the last iterate, so that this permutation is the diagonal.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import trisplit as ts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = (1, 4, 10, 30)  # iterations, before the last one
TOL, SEED = 1e-5, 1
TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "iterate_to_permutation.png"


class Picture(NamedTuple):
    """One iterate z: its number, f(z), the gap and the distance to unit column sums; and whether it is the last."""

    t: int
    z: np.ndarray
    f_z: float
    gap: float
    infeasibility: float
    last: bool


def pictures(instance: ts.qap.Instance) -> list[Picture]:
    """Return some iterates, up to the one whose two errors are at most 1e-5."""
    n = instance.n
    f = ts.qap.Objective(instance.A.astype(float), instance.B.astype(float))
    sets = [ts.terms.Simplex(axis=1), ts.terms.Simplex(axis=0)]  # row-stochastic, column-stochastic
    relaxed = ts.Problem(f, sets)
    y = ts.qap.initial_point(n, np.random.default_rng(SEED))
    found = []
    for made in ts.tos(ts.Problem(f.tangent(), sets), y, ts.steps.Adaptive()):
        f_z = f.value(made.z)
        infeasibility, gap = ts.certificates.feasible_stationary(relaxed, made.z)
        last = max(abs(gap) / max(f_z, 1.0), infeasibility / n**0.5) <= TOL
        if last or made.t in SHOWN:
            found.append(Picture(made.t, made.z.copy(), f_z, gap, infeasibility, last))
        if last:
            break
    return found


def draw(instance: ts.qap.Instance, found: list[Picture]) -> "Figure":
    """Draw the iterates and the permutation that the last one is rounded to."""
    import matplotlib as mpl
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure

    permutation = ts.qap.round_to_permutation(found[-1].z)
    cost, best = instance.cost(permutation), instance.best_known
    panels = [
        (
            f"iteration {one.t}{', converged' if one.last else ''}",
            one.z[:, permutation],
            f"f = {one.f_z:,.0f}    gap = {number(one.gap)}\ninfeasibility = {number(one.infeasibility)}",
        )
        for one in found
    ]
    above = "" if best is None else f"\n{100 * (cost - best) / max(abs(best), 1):.1f} % above the best known"
    panels.append(("rounded", np.eye(instance.n), f"cost = {cost:,}{above}"))
    with mpl.rc_context({"font.size": 10, "font.family": "sans-serif", "text.color": "#333333"}):
        columns = 3
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(7.4, 2.95 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        figure.get_layout_engine().set(wspace=0.05, hspace=0.05)  # pyright: ignore[reportOptionalMemberAccess]
        for axis, (title, z, text) in zip(axes, panels, strict=False):
            # The root shows small entries, which the first iterates consist of.
            image = axis.imshow(z, cmap="magma_r", norm=PowerNorm(0.5, 0.0, 1.0), interpolation="nearest")
            axis.set_title(title, fontsize=10.5, fontweight="bold", pad=5)
            axis.set_xlabel(text, fontsize=9, labelpad=5, linespacing=1.35, color="#333333")
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set(color="#bbbbbb", linewidth=0.6)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        bar = figure.colorbar(image, ax=axes.tolist(), shrink=0.55, aspect=28, pad=0.02, ticks=[0, 0.1, 0.3, 0.6, 1])
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
        bar.ax.tick_params(length=0, labelsize=9)
        bar.ax.set_title("entry", fontsize=9, pad=7, loc="left")
    return figure


def number(x: float) -> str:
    """Return a number of any size in few characters.

    >>> number(1234.5), number(0.012), number(3.2e-7), number(3e-15)
    ('1,234', '0.012', '3.2e-07', '0')
    """
    if abs(x) < 1e-12:
        return "0"
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.2g}"


def main(name: str = "nug30", target: str | Path = TARGET) -> None:
    """Draw one instance into a file."""
    instance = ts.qap.load(name)
    figure = draw(instance, pictures(instance))
    figure.savefig(target, dpi=150, metadata={"Software": None})  # the same file at every run
    print(f"{target} is written")


if __name__ == "__main__":
    main(*sys.argv[1:])
