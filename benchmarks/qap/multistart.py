"""The best permutation in equal wall time, without local search, on one core.

    minimise over permutations p   sum_ij A[i,j] B[p[i],p[j]]

SciPy's FAQ starts from the barycentre, then from random points until time is up; a start that has begun counts even if
it ends after the limit, so that FAQ always has an answer. The `solve` of trisplit gets the same time limit and does not
polish what it rounds. A search ends early at the best-known cost, where nothing more can be won. Before the first
search everybody solves one small instance: no compilation and no import is timed.
"""

from collections.abc import Callable
from statistics import fmean, median
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import quadratic_assignment

import trisplit as ts
from trisplit.paper.instances import assignment_error
from trisplit.paper.style import COLOURS, STYLE

from ..report import Table
from ..timing import Report, settled
from .gaps import by_family, compare, percent
from .goals import goal
from .goals import table as goals_table
from .instances import PAPER, choose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BUDGETS, QUICK_BUDGETS = (1.0, 5.0), (0.05, 0.1)  # seconds
SEED = 0
FAQ, PURE, OURS = "restarted FAQ", "TOS multi-start", "TOS with faces"
# What `solve` is told in each of its two roles
OPTIONS: dict[str, dict[str, Any]] = {
    PURE: {"polish": False, "faces": False, "workers": 1},
    OURS: {"polish": False, "workers": 1},
}
METHODS = {
    FAQ: "scipy.optimize.quadratic_assignment(method='faq'), then with P0='randomized' until time is up",
    **{name: f"solve({', '.join(f'{key}={value}' for key, value in OPTIONS[name].items())})" for name in OPTIONS},
}
# Colour, marker, and how far above the line of its family: equal gaps are not to hide each other
LOOKS = {FAQ: (COLOURS[1], "s", 0.2), PURE: (COLOURS[5], "D", 0.0), OURS: (COLOURS[0], "o", -0.2)}

Answer: TypeAlias = tuple[float, int]  # the cost and the number of starts


class Search(NamedTuple):
    """What one method found in one budget; a line of the JSON file."""

    instance: str
    n: int
    budget: float
    method: str
    seconds: float
    starts: int
    cost: float
    gap: float


def faq(instance: ts.qap.Instance, budget: float) -> Answer:
    """Restart SciPy's FAQ until time is up, from the barycentre first."""
    begin, rng = perf_counter(), np.random.default_rng(SEED)
    A, B = instance.A.astype(float), instance.B.astype(float)  # else it converts integers in every product
    best, starts, options = float("inf"), 0, {"rng": rng}
    while starts == 0 or (perf_counter() - begin < budget and best > instance.best_known):  # pyright: ignore
        found = quadratic_assignment(A, B, method="faq", options=options)
        best = min(best, instance.cost(found.col_ind))
        starts, options = starts + 1, {"P0": "randomized", "rng": rng}
    return best, starts


def tos(instance: ts.qap.Instance, budget: float, options: dict[str, Any]) -> Answer:
    """Call `solve`, which turns Ctrl-C into a result; here it is to end the benchmark."""
    res = ts.qap.solve(instance, time_limit=budget, target=instance.best_known, rng=SEED, **options)
    if res.status is ts.qap.QAPStatus.INTERRUPTED:
        raise KeyboardInterrupt
    return res.cost, res.starts


CALLS: dict[str, Callable[[ts.qap.Instance, float], Answer]] = {
    FAQ: faq,
    PURE: lambda instance, budget: tos(instance, budget, OPTIONS[PURE]),
    OURS: lambda instance, budget: tos(instance, budget, OPTIONS[OURS]),
}


def run(record: dict[str, Any], quick: bool, report: Report, *, instances: list[str] | None = None) -> None:
    """Fill `record` with a row for each instance, budget and method."""
    names, budgets = choose(quick, instances), QUICK_BUDGETS if quick else BUDGETS
    record["missing"] = []  # SciPy, the only peer, is always there
    record["settings"] = {
        "contestants": METHODS,
        "instances": len(names),
        "budgets": list(budgets),
        "seed": SEED,
        "threads": 1,
    }
    record["columns"], record["rows"], record["goals"] = list(Search._fields), [], []
    with settled():
        for method in METHODS:
            measure(method, ts.qap.load("nug12"), budgets[0])  # compiles and imports
        for k, name in enumerate(names):
            report(name, k / len(names))
            instance = ts.qap.load(name)
            record["rows"] += [measure(method, instance, budget) for budget in budgets for method in METHODS]
            if not quick:  # so little time says nothing
                record["goals"] = goals(record)


def measure(method: str, instance: ts.qap.Instance, budget: float) -> Search:
    """Return what a method found."""
    begin = perf_counter()
    cost, starts = CALLS[method](instance, budget)
    seconds = perf_counter() - begin
    gap = assignment_error(cost, instance.best_known)  # pyright: ignore[reportArgumentType]
    return Search(instance.name, instance.n, budget, method, round(seconds, 6), starts, cost, gap)


def gaps(record: dict[str, Any], budget: float) -> dict[str, dict[str, float]]:
    """Return for each method and instance the gap in this budget."""
    found: dict[str, dict[str, float]] = {method: {} for method in METHODS}
    for one in map(Search._make, record["rows"]):
        if one.budget == budget:
            found[one.method][one.instance] = one.gap
    return found


def goals(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was aimed at in the smallest budget and what was measured so far."""
    budget = record["settings"]["budgets"][0]
    found = gaps(record, budget)
    whole = set(found[OURS]) == set(PAPER)
    families = compare(by_family(found[OURS]), by_family(found[FAQ]))
    theirs = fmean(found[FAQ].values())
    aims = [
        goal(
            f"instances won or tied at {budget:g} s",
            sum(compare(found[OURS], found[FAQ])[:2]),
            whole=whole,
            at_least=125,
        ),
        goal(f"families won or tied at {budget:g} s", sum(families[:2]), whole=whole, at_least=16),
    ]
    if theirs > 0:
        ratio = fmean(found[OURS].values()) / theirs
        aims.insert(0, goal(f"mean gap of {OURS} / {FAQ} at {budget:g} s", ratio, whole=whole, at_most=0.25))
    return aims


def tables(record: dict[str, Any]) -> list[Table]:
    """Return what each method reached, the mean gap of each family for each budget, and the goals."""
    if not record["rows"]:
        return []
    budgets = record["settings"]["budgets"]
    found = {budget: gaps(record, budget) for budget in budgets}
    shown = [summary(record, found)]
    for budget in budgets:
        table = Table(f"mean gap of each family in percent, {budget:g} s", ["family", *METHODS])
        means = [by_family(found[budget][method]) for method in METHODS]
        table.rows += [[name, *(percent(one[name]) for one in means)] for name in means[0]]
        shown.append(table)
    return [*shown, *([goals_table(record["goals"])] if record["goals"] else [])]


def summary(record: dict[str, Any], found: dict[float, dict[str, dict[str, float]]]) -> Table:
    """Return mean, median and number at the best-known cost, and how often a method beats FAQ."""
    number = len(next(iter(found.values()))[FAQ])
    overtime = max(max(one.seconds / one.budget - 1 for one in map(Search._make, record["rows"])), 0)
    table = Table(
        f"gap to the best-known cost in percent on {number} instances, one core, at most {overtime:.0%} overtime; "
        f"instances and families won / tied / lost against {FAQ}",
        ["method", "time", "mean", "median", "at best", "instances", "families"],
    )
    for budget, of_methods in found.items():
        for method, own in of_methods.items():
            pairs = (own, of_methods[FAQ]), (by_family(own), by_family(of_methods[FAQ]))
            against = ["" if method == FAQ else "/".join(map(str, compare(*pair))) for pair in pairs]
            mean, middle = percent(fmean(own.values())), percent(median(own.values()))
            best = sum(gap <= 0 for gap in own.values())
            table.rows.append([method, f"{budget:g} s", mean, middle, f"{best}", *against])
    return table


def figure(record: dict[str, Any]) -> "Figure":
    """Draw the mean gap of each family, a panel for each budget."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    budgets = record["settings"]["budgets"]
    means = {(budget, method): by_family(gaps(record, budget)[method]) for budget in budgets for method in METHODS}
    names = list(reversed(means[budgets[0], FAQ]))
    with mpl.rc_context(STYLE):
        drawing = Figure(figsize=(9.0, 0.28 * len(names) + 1.7), layout="constrained")
        panels = drawing.subplots(1, len(budgets), sharex=True, sharey=True)
        for panel, budget in zip(panels, budgets, strict=True):
            for method, (colour, marker, above) in LOOKS.items():
                row = [100 * means[budget, method][name] for name in names]
                places = [k + above for k in range(len(names))]
                panel.hlines(places, 0, row, color=colour, linewidth=1.0, alpha=0.5)
                panel.plot(row, places, color=colour, marker=marker, markersize=4.5, linestyle="", clip_on=False)
            panel.set_xscale("symlog", linthresh=0.1)
            panel.set(xlabel="mean gap, percent", xlim=(0, None))
            panel.set_title(f"{budget:g} s an instance")
            panel.grid(visible=False, axis="y")
        panels[0].set_yticks(range(len(names)), names)
        panels[0].set_ylim(-0.6, len(names) - 0.4)
        drawing.legend(panels[0].get_lines(), list(LOOKS), loc="outside lower center", ncols=len(LOOKS))
    return drawing
