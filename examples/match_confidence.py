"""Match friends with telephone numbers, and draw the match and how sure each pair is.

    python examples/match_confidence.py [my.png]    # else docs/figures/match_confidence.png

Needs matplotlib: pip install 'trisplit[plot]'. The two graphs are those of the guide to graph matching.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import trisplit as ts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "match_confidence.png"
PEOPLE, STARTS = 60, 10
BLUE, ORANGE = "#0072B2", "#D55E00"


def friends_and_calls() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return who is a friend of whom, which number calls which, and the number of each person."""
    rng, n = np.random.default_rng(5), PEOPLE
    home = rng.random((n, 2))
    far = np.linalg.norm(home[:, None] - home, axis=2)
    friends = np.triu(rng.random((n, n)) < np.exp(-((far / 0.25) ** 2)), 1)
    by_chance = rng.random((n, n)) < friends.sum() / (n * (n - 1) / 2)
    calls = np.triu(np.where(rng.random((n, n)) < 0.15, by_chance, friends), 1)
    number = rng.permutation(n)
    B = np.zeros((n, n))
    B[np.ix_(number, number)] = calls | calls.T
    return (friends | friends.T).astype(float), B, number


def draw(A: np.ndarray, B: np.ndarray, number: np.ndarray) -> "Figure":
    """Draw matched matrices, and below them the confidence of each pair, the least sure first."""
    from matplotlib.figure import Figure

    res = ts.matching.graph_match(A, B, n_init=STARTS, rng=0)
    right = res.indices_B == number[res.indices_A]
    assert res.stability is not None
    figure = Figure(figsize=(7.4, 4.9), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.1, w_pad=0.08, hspace=0.08)  # pyright: ignore[reportOptionalMemberAccess]
    axes = figure.subplot_mosaic([["A", "B", "both"], ["sure"] * 3], height_ratios=[1.75, 1])
    ts.matching.plot_match(A, B, res, ax=[axes[name] for name in ("A", "B", "both")])
    legend = axes["both"].get_legend()
    assert legend is not None
    tight = {"handlelength": 0.8, "columnspacing": 0.8, "handletextpad": 0.4, "borderaxespad": 0.0}
    names = [text.get_text() for text in legend.get_texts()]
    small = axes["both"].legend(
        legend.legend_handles,
        names,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.03),
        ncols=3,
        fontsize=7,
        frameon=False,
        **tight,
    )
    small.set_in_layout(False)  # or all panels shrink to its width
    axes["A"].set_title("A: friends")
    axes["B"].set_title("B: calls, as matched")
    axes["both"].set_title("A and B")
    axis, order = axes["sure"], np.lexsort((res.stability, res.confidence))
    place = np.arange(len(order))
    axis.bar(place, res.confidence[order], color=[BLUE if one else ORANGE for one in right[order]], width=0.75)
    axis.plot(place, res.stability[order], ".", color="#444444", markersize=5)
    axis.plot(place[~right[order]], res.stability[order][~right[order]], ".", color=ORANGE, markersize=8)
    for label, style in (
        ("confidence, right pairs", {"marker": "s", "color": BLUE}),
        ("wrong pairs", {"marker": "s", "color": ORANGE}),
        ("stability over starts", {"marker": ".", "color": "#444444"}),
    ):
        axis.plot([], [], linestyle="", label=label, **style)
    axis.set(xlim=(-0.8, len(order) - 0.2), ylim=(0, 1.08), xticks=[], xlabel="pairs, the least sure first")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=9)
    return figure


def main(target: str | Path = TARGET) -> None:
    draw(*friends_and_calls()).savefig(target, dpi=150, metadata={"Software": None})
    print(f"{target} is written")


if __name__ == "__main__":
    main(*sys.argv[1:])
