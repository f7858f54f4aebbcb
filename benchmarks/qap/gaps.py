"""Searches and their gaps to the best-known costs: means, who wins, and how gaps fall over time."""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

import trisplit as ts
from trisplit.paper.instances import assignment_error, family
from trisplit.qap.portfolio import FACES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EARLIEST = 0.01  # seconds, in figures


def by_family(of_instances: dict[str, float]) -> dict[str, float]:
    """Return the mean gap of each family."""
    members: dict[str, list[float]] = {}
    for name, gap in of_instances.items():
        members.setdefault(family(name), []).append(gap)
    return {name: fmean(found) for name, found in members.items()}


def compare(ours: dict, theirs: dict) -> tuple[int, int, int]:
    """Return how often ours is won, tied and lost."""
    won = sum(ours[name] < theirs[name] for name in ours)
    tied = sum(ours[name] == theirs[name] for name in ours)
    return won, tied, len(ours) - won - tied


def percent(fraction: float) -> str:
    """Return a gap in percent.

    >>> percent(0.000123), percent(0.25)
    ('0.012', '25.0')
    """
    return f"{100 * fraction:.3f}" if fraction < 0.1 else f"{100 * fraction:.1f}"


def warm_up() -> None:
    """Let every member of a search and every bound have a turn, so that nothing is compiled while time is taken."""
    nug12 = ts.qap.load("nug12")
    ts.qap.solve(
        nug12.A, nug12.B, starts=FACES + 2, max_iter=10, rng=0
    )  # without its optimum, where it would end early
    ts.qap.lower_bound(nug12, time_limit=0.5)


def improvements(result: ts.qap.QAPResult) -> list[list[float]]:
    """Return when the best cost of a search became smaller, and what it was then."""
    steps: list[list[float]] = []
    for row in result.trace:
        if not steps or row.best < steps[-1][1]:
            steps.append([round(row.seconds, 4), row.best])
    if not steps or result.cost < steps[-1][1]:  # by a member that was cut short
        steps.append([round(result.elapsed, 4), result.cost])
    return steps


def over_time(steps: Sequence[Sequence[float]], best_known: float, times: np.ndarray) -> np.ndarray:
    """Return the gap at each of the times, NaN before there was an answer.

    >>> over_time([[0.1, 120], [1.0, 100]], 100, np.array([0.01, 0.5, 2.0]))
    array([nan, 0.2, 0. ])
    """
    gaps = np.array([np.nan, *(assignment_error(cost, best_known) for _, cost in steps)])
    return gaps[np.searchsorted([seconds for seconds, _ in steps], times, side="right")]


def scale(panel: "Axes", times: np.ndarray) -> None:
    """Give a panel of gaps in percent over time its axes: logarithmic, but for gaps from 0 to 0.01 %."""
    panel.set_xscale("log")
    panel.set_yscale("symlog", linthresh=0.01, linscale=0.5)
    panel.set(xlim=(times[0], times[-1]), ylim=(-0.001, 100))
    panel.set_yticks([0, 0.01, 0.1, 1, 10, 100], ["0", "0.01", "0.1", "1", "10", "100"])
    panel.minorticks_off()
