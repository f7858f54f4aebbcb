"""Results that nobody computed, for tests of what is read out of them."""

from math import nan

from trisplit.paper import comparison
from trisplit.paper.figure1 import Fit
from trisplit.paper.figure2 import COMPARED, Run
from trisplit.paper.methods import STARTS
from trisplit.paper.results import Results
from trisplit.paper.theory import Row

NOTHING = Results([], [], [], [], [], {})


def runs(costs):
    """Return runs of the given costs, by (instance, start, seed, method)."""
    return [Run(*key, 1024, True, int(cost)) for key, cost in costs.items()]


def runs_with_margins(margin_of, instances, seeds):
    """Return runs of all methods whose margin over Frank-Wolfe is margin_of(start, method, seed, instance)."""
    best = comparison.best_known()
    costs = {}
    for name in instances:
        for start in STARTS:
            for seed in range(seeds):
                for method in COMPARED:
                    margin = 0.0 if method == "fw" else margin_of(start, method, seed, name)
                    costs[name, start, seed, method] = round(best[name] * (3.0 - margin))
    return runs(costs)


def straight_fit(**changes):
    """Return the fit of a run that converges linearly, with some of its fields changed."""
    fit = Fit("chr12a", "near", "tos", "linear", -0.01, 1e-5, 0.9995, 9.0, 200, 1500, 9e-14, 1700)
    return fit._replace(**changes)


def no_fit(**changes):
    """Return the fit of a run in which nothing could be fitted."""
    return straight_fit(slope=nan, half_width=nan, r_squared=nan, decades=nan, first=0, last=0, reached=1e-3, **changes)


def power_fit(**changes):
    """Return the fit of a run of Frank-Wolfe whose error falls like 1 / t."""
    fit = Fit("chr12a", "text", "fw", "power", -1.02, 0.001, 0.9999, 1.9, 128, 10_000, 5e-5, 10_000)
    return fit._replace(**changes)


def theory_row(**changes):
    """Return a measured error below its bounds."""
    row = Row("Theorem 1", "ramp, L1 on a box + L1", "stationarity", 100, 0.1, 1, 20, 0.5, 4.0, 2.0, 100)
    return row._replace(**changes)
