"""Match pairs of random graphs without seeds, where Frank-Wolfe fails, and draw how many vertices are right.

    python examples/match_without_seeds.py [my.png]    # else docs/figures/match_without_seeds.png

Needs matplotlib: pip install 'trisplit[plot]'; a minute. With networkx installed, the karate club is matched first.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import trisplit as ts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "match_without_seeds.png"
VERTICES, DENSITY, PAIRS = 150, 0.3, 5
CORRELATIONS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
STRATEGIES = {
    "splitting from a spectral start (default)": ({}, {"color": "#0072B2", "marker": "o"}),
    "Frank-Wolfe from a spectral start": (
        {"method": "faq", "init": "spectral", "polish": False},
        {"color": "#009E73", "marker": "^", "linestyle": "--"},
    ),
    "Frank-Wolfe from the barycentre (FAQ)": (
        {"method": "faq", "polish": False},
        {"color": "#D55E00", "marker": "s", "linestyle": ":"},
    ),
}


def pair(correlation: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two random graphs whose edges are correlated, and the vertex of the second for each of the first."""
    rng, n, p = np.random.default_rng(seed), VERTICES, DENSITY
    A = np.triu(rng.random((n, n)) < p, 1)
    B = np.triu(rng.random((n, n)) < np.where(A, p + correlation * (1 - p), p * (1 - correlation)), 1)
    order = rng.permutation(n)
    return (A | A.T).astype(float), (B | B.T)[np.ix_(order, order)].astype(float), np.argsort(order)


def shares(correlation: float) -> dict[str, list[float]]:
    """Return the shares of vertices that each strategy matches right, one for each pair."""
    found = {name: [] for name in STRATEGIES}
    for seed in range(PAIRS):
        A, B, truth = pair(correlation, seed)
        for name, (options, _) in STRATEGIES.items():
            res = ts.matching.graph_match(A, B, rng=seed, **options)
            found[name].append(float(np.mean(res.permutation == truth)))
    return found


def draw(found: list[dict[str, list[float]]]) -> "Figure":
    """Draw the mean shares, and each pair as a dot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 3.6), layout="constrained")
    axis = figure.subplots()
    for name, (_, look) in STRATEGIES.items():
        axis.plot(CORRELATIONS, [100 * np.mean(one[name]) for one in found], label=name, linewidth=1.8, **look)
        for correlation, one in zip(CORRELATIONS, found, strict=True):
            dots = [100 * share for share in one[name]]
            axis.plot([correlation] * len(dots), dots, ".", color=look["color"], alpha=0.35, markersize=6)
    axis.set(xlabel="correlation of the edges", ylabel="vertices matched right (%)", ylim=(-3, 103))
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, loc="upper left", fontsize=9)
    axis.set_title(f"{PAIRS} pairs of random graphs with {VERTICES} vertices each, no seeds", fontsize=10)
    return figure


def karate_club() -> None:
    """Match the karate club with a shuffled copy that lacks a few edges, and say how that went."""
    try:
        import networkx as nx
    except ImportError:
        print("networkx is not installed: no karate club")
        return
    rng = np.random.default_rng(0)
    club = nx.karate_club_graph()
    for _, _, edge in club.edges(data=True):
        edge["weight"] = 1  # who meets whom, not how often
    number = {member: f"number {k}" for member, k in enumerate(rng.permutation(len(club)))}
    copy = nx.relabel_nodes(club, number)
    copy.remove_edges_from([list(copy.edges)[k] for k in rng.choice(copy.number_of_edges(), 4, replace=False)])
    res = ts.matching.graph_match(club, copy, n_init=10, rng=0)
    assert res.labels_B is not None  # names come back; members are called 0 .. 33, as they are counted
    right = sum(number[a] == b for a, b in zip(res.indices_A, res.labels_B, strict=True))
    print(f"karate club: {right} of {len(club)} right, {sum(res.confidence == 0)} with a tie")
    print(res)


def main(target: str | Path = TARGET) -> None:
    karate_club()
    found = [shares(correlation) for correlation in CORRELATIONS]
    draw(found).savefig(target, dpi=150, metadata={"Software": None})
    print(f"{target} is written")


if __name__ == "__main__":
    main(*sys.argv[1:])
