"""Runs of the relaxed quadratic assignment problem while the documentation is built: a figure and two tables.

`{convergence} NAME` draws the larger of the paper's two errors against the number of iterations, as SVG made by hand.
`{relaxations} NAME ...` lists iterations and rounded costs, `{step-lengths} NAME ...` what longer steps save. All show
counts, which depend on no machine.
"""

from math import log10

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from terms_table import table

import trisplit as ts

VARIANTS: dict[str, dict] = {
    "split 1, gh": {"split": 1},
    "split 1, hg": {"split": 1, "order": "hg"},
    "split 2, gh": {"split": 2},
    "split 2, hg": {"split": 2, "order": "hg"},
    "Frank-Wolfe": {"method": "fw"},
}
DRAWN = {"TOS, split 1": "split 1, gh", "TOS, split 2": "split 2, gh", "Frank-Wolfe": "Frank-Wolfe"}

MANY = 200_000
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 340, 56, 96, 16, 44


class Convergence(SphinxDirective):
    """`{convergence} NAME`: the errors of three runs from the same starting point."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the figure."""
        instance = ts.qap.load(self.arguments[0])
        curves = {label: errors(instance, VARIANTS[variant]) for label, variant in DRAWN.items()}
        label = f"Error against iteration for {instance.name}: {', '.join(curves)}"
        html = f'<figure class="convergence align-default">{draw(curves, label)}</figure>'
        return [nodes.raw("", html, format="html")]


class Relaxations(SphinxDirective):
    """`{relaxations} NAME ...`: iterations to the default tolerance and the cost after rounding."""

    required_arguments = 1
    optional_arguments = 20

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = []
        for name in self.arguments:
            instance = ts.qap.load(name)
            rows.append([name, f"{instance.best_known:,}", *(cell(instance, options) for options in VARIANTS.values())])
        return self.parse_text_to_nodes(table(("instance", "best known", *VARIANTS), rows))


class StepLengths(SphinxDirective):
    """`{step-lengths} NAME ...`: iterations with f, with its tangent form and with the adaptive step."""

    required_arguments = 1
    optional_arguments = 20

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        columns = ("instance", "split 2, 1/L of f", "split 2, 1/L of the tangent form", "split 2, adaptive")
        columns += ("split 1, adaptive", "its largest step, times L")
        rows = [[name, *steps(ts.qap.load(name))] for name in self.arguments]
        return self.parse_text_to_nodes(table(columns, rows))


def steps(instance: ts.qap.Instance) -> list[str]:
    """Return the iterations of four runs from one point, and the largest adaptive step over 1/L of the tangent form."""
    f = ts.qap.Objective(instance.A.astype(float), instance.B.astype(float))
    tangent = f.tangent()
    # The tangent form as an instance; entries add up to n on the polytope, so a constant may be a linear cost.
    centred = ts.qap.Instance("centred", tangent.A, tangent.B, C=tangent.g0 + tangent.constant / instance.n)
    runs = [
        ts.qap.relax(data, rng=0, max_iter=MANY, **options)
        for data, options in (
            (instance, {"split": 2, "step": 1 / f.lipschitz}),
            (centred, {"split": 2, "step": 1 / tangent.lipschitz}),
            (instance, {"split": 2}),
            (instance, {"split": 1}),
        )
    ]
    longest = max(runs[-1].trace["step"]) * tangent.lipschitz
    return [*(count(run) for run in runs), f"{longest:,.0f}"]


def count(run: ts.Result) -> str:
    """Return the number of iterations in words."""
    return f"{run.nit:,}" if run.success else f"more than {run.nit:,}"


def cell(instance: ts.qap.Instance, options: dict) -> str:
    """Return "iterations: cost" of one run."""
    res = ts.qap.relax(instance, rng=0, **options)
    return f"{count(res)}: {instance.cost(ts.qap.round_to_permutation(res.x)):,}"


def errors(instance: ts.qap.Instance, options: dict) -> list[tuple[int, float]]:
    """Return the iterations of the convergence checks, and the larger of the paper's errors there."""
    trace = ts.qap.relax(instance, rng=0, **options).trace
    stationarity = np.abs(trace["stationarity"]) / np.maximum(trace["objective"], 1)
    larger = np.maximum(stationarity, trace["infeasibility"] / instance.n**0.5)
    return [(t, error) for t, error in zip(trace["iteration"].tolist(), larger.tolist(), strict=True) if error > 0]


def draw(curves: dict[str, list[tuple[int, float]]], label: str) -> str:
    """Return a figure with logarithmic axes."""
    points = [point for curve in curves.values() for point in curve]
    last = int(np.ceil(log10(max(t for t, _ in points))))
    low, high = (int(np.floor(log10(min(e for _, e in points)))), int(np.ceil(log10(max(e for _, e in points)))))

    def across(t: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * log10(t) / last

    def down(error: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - log10(error)) / (high - low)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">']
    for k in range(last + 1):
        x = across(10**k)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{10**k:,}</text>')
    for k in range(low, high + 1):
        y = down(10.0**k)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{k}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">iteration</text>')
    for i, (name, curve) in enumerate(curves.items()):
        path = " ".join(f"{across(t):.1f},{down(error):.1f}" for t, error in curve)
        parts.append(f'<polyline class="line-{i}" fill="none" stroke-width="2" points="{path}"/>')
        t, error = curve[-1]
        parts.append(f'<text x="{across(t) + 6:.1f}" y="{down(error) - 4:.1f}">{name}</text>')
    return "".join([*parts, "</svg>"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("convergence", Convergence)
    app.add_directive("relaxations", Relaxations)
    app.add_directive("step-lengths", StepLengths)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
