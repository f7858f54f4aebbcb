"""Moves a second of the compiled tabu search, next to one that is written as usual (`plain_tabu.py`).

The data are symmetric matrices of integers 0 .. 99 without zeros but on the diagonal. Both searches begin at the same
permutation and look at all swaps in every move. Time is that of moves alone, the shortest of some runs.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from trisplit.paper.style import COLOURS, STYLE
from trisplit.qap.instance import Instance
from trisplit.qap.swap_form import swap_form
from trisplit.qap.tabu import TabuSearch

from ..report import Table
from ..timing import Report, settled, take_turns
from . import goals
from .plain_tabu import PlainTabu

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES, QUICK_SIZES = (25, 50, 100, 150, 200), (10, 20)
AT_LEAST = {50: 10.0, 100: 16.0, 150: 20.0}  # times as many moves a second as the plain search
REPEATS, QUICK_REPEATS = 25, 2
PAIRS = 2e6  # exchanges that a run of the plain search looks at, which sets its moves
TIMES = 16  # as many moves of the fast one
PLAIN, FAST = "plain", "trisplit"


def dense_instance(n: int) -> Instance:
    """Return a problem with dense symmetric matrices of small integers."""
    rng = np.random.default_rng(n)
    A, B = (np.triu(rng.integers(1, 100, (n, n)), 1) for _ in range(2))
    return Instance(f"dense{n}", A + A.T, B + B.T)


def measure(n: int, repeats: int, pairs: float) -> dict[str, Any]:
    """Return the moves a second of both searches, the best of some runs in turns."""
    instance, rng = dense_instance(n), np.random.default_rng(0)
    start = rng.permutation(n)
    fast, plain = TabuSearch(swap_form(instance)), PlainTabu(instance.A, instance.B, start)
    fast.start(start)
    moves = {PLAIN: max(1, int(2 * pairs / n**2)), FAST: max(1, int(2 * TIMES * pairs / n**2))}
    runs = {PLAIN: lambda: plain.advance(moves[PLAIN], rng), FAST: lambda: fast.advance(moves[FAST], rng)}
    seconds = take_turns(runs, repeats)
    rates = {name: moves[name] / min(seconds[name]) for name in seconds}
    return {"n": n, "moves": moves, "seconds": seconds, "moves_per_second": rates}


def run(record: dict[str, Any], quick: bool, report: Report) -> None:
    """Fill `record` with a row for each size."""
    sizes, repeats, pairs = (QUICK_SIZES, QUICK_REPEATS, PAIRS / 1e3) if quick else (SIZES, REPEATS, PAIRS)
    record["settings"] = {"repeats": repeats, "threads": 1}
    record["rows"] = []
    with settled():
        for k, n in enumerate(sizes):
            report(f"n = {n}", k / len(sizes))
            record["rows"].append(measure(n, repeats, pairs))


def ratio(row: dict[str, Any]) -> float:
    """Return how many moves the fast search makes in the time of one of the plain one."""
    return row["moves_per_second"][FAST] / row["moves_per_second"][PLAIN]


def tables(record: dict[str, Any]) -> list[Table]:
    """Return the moves a second, and what was aimed at."""
    rates = Table("moves of tabu search a second, dense symmetric integers", ["n", PLAIN, FAST, "ratio"])
    aims = []
    for row in record["rows"]:
        n, rate = row["n"], row["moves_per_second"]
        rates.rows.append([f"{n}", f"{rate[PLAIN]:,.0f}", f"{rate[FAST]:,.0f}", f"{ratio(row):.1f}"])
        if n in AT_LEAST:
            aims.append(goals.goal(f"ratio at n = {n}", ratio(row), whole=True, at_least=AT_LEAST[n]))
    return [rates, *([goals.table(aims)] if aims else [])]


def figure(record: dict[str, Any]) -> "Figure":
    """Draw the moves a second against n."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    sizes = [row["n"] for row in record["rows"]]
    with mpl.rc_context(STYLE):
        drawing = Figure(figsize=(5.4, 3.6), layout="constrained")
        axes = drawing.add_subplot()
        for name, colour, marker in ((FAST, COLOURS[0], "o"), (PLAIN, COLOURS[1], "s")):
            axes.loglog(sizes, [row["moves_per_second"][name] for row in record["rows"]], color=colour, marker=marker)
            axes.annotate(name, (sizes[-1], record["rows"][-1]["moves_per_second"][name]), (6, 0), color=colour,
                          textcoords="offset points", va="center")  # fmt: skip
        axes.set_xticks(sizes, [f"{n}" for n in sizes])
        axes.minorticks_off()
        axes.set_xlabel("n")
        axes.set_ylabel("moves a second")
    return drawing
