"""Counts and margins of figure 2: a plain recomputation, sums that add up, and Student's t."""

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.paper.synthetic import runs
from trisplit import qap
from trisplit.paper.comparison import OTHERS, Interval, draws, errors_of, interval, mean_errors, unconverged
from trisplit.paper.figure2 import COMPARED
from trisplit.paper.instances import assignment_error, best_known, family, paper_instances
from trisplit.paper.methods import STARTS

INSTANCES = ("nug12", "chr12a", "esc16f", "chr15b", "tai12a", "bur26a", "tai64c")
SEEDS = 3
numbers = st.floats(-1e3, 1e3)


def random_runs(seed):
    """Return the costs by (instance, start, seed, method), and their runs in a random order; ties are common."""
    rng, best = np.random.default_rng(seed), best_known()
    costs = {
        (name, start, draw, method): best[name] + max(best[name], 1) * int(rng.integers(0, 4))
        for name in INSTANCES
        for start in STARTS
        for draw in range(SEEDS)
        for method in COMPARED
    }
    in_order = runs(costs)
    return costs, [in_order[k] for k in rng.permutation(len(in_order))]


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_draws_are_a_plain_recomputation(seed):
    costs, found = random_runs(seed)
    best = best_known()
    table = {(draw.start, draw.method, draw.seed): draw for draw in draws(found)}
    assert set(table) == {(start, method, k) for start in STARTS for method in OTHERS for k in range(SEEDS)}
    for (start, method, k), draw in table.items():
        margins = {}
        for name in INSTANCES:
            fw, own = costs[name, start, k, "fw"], costs[name, start, k, method]
            margins[name] = (fw - own) / max(best[name], 1)
        assert draw.better == sum(costs[name, start, k, method] < costs[name, start, k, "fw"] for name in INSTANCES)
        assert draw.same == sum(costs[name, start, k, method] == costs[name, start, k, "fw"] for name in INSTANCES)
        assert draw.worse == sum(costs[name, start, k, method] > costs[name, start, k, "fw"] for name in INSTANCES)
        assert draw.better + draw.same + draw.worse == len(INSTANCES)
        assert draw.margin == pytest.approx(np.mean(list(margins.values())))
        assert (draw.largest, draw.smallest) == pytest.approx((max(margins.values()), min(margins.values())))
        assert margins[draw.largest_at] == pytest.approx(draw.largest)
        assert margins[draw.smallest_at] == pytest.approx(draw.smallest)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_the_margin_is_the_difference_of_mean_errors(seed):
    """Means over seeds and over instances can be exchanged."""
    _, found = random_runs(seed)
    for start in STARTS:
        baseline = fmean(mean_errors(found, start, "fw").values())
        for method in OTHERS:
            own = [draw.margin for draw in draws(found) if (draw.start, draw.method) == (start, method)]
            assert fmean(own) == pytest.approx(baseline - fmean(mean_errors(found, start, method).values()), abs=1e-12)


def test_only_instances_that_both_have_run_are_compared():
    costs, _ = random_runs(0)
    without = {key: cost for key, cost in costs.items() if key[::3] not in {("nug12", "fw"), ("chr12a", "tos")}}
    for draw in draws(runs(without)):
        assert draw.better + draw.same + draw.worse == len(INSTANCES) - 1 - (draw.method == "tos")
    alone = {key: cost for key, cost in costs.items() if key[3] != "fw"}
    assert draws(runs(alone)) == []
    assert draws([]) == []


@given(st.lists(numbers, min_size=2, max_size=30))
@settings(deadline=None)
def test_the_interval_is_that_of_student(values):
    found, spread = interval(values), np.std(values, ddof=1)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)
    if spread > 1e-9:
        expected = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert (found.low, found.high) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    else:
        assert (found.low, found.high) == pytest.approx((found.mean, found.mean), abs=1e-8)


@given(st.lists(numbers, min_size=2, max_size=10))
@settings(deadline=None)
def test_the_sign_is_that_of_a_test_at_five_per_cent(values):
    found = interval(values)
    if np.std(values) < 1e-6 or min(abs(found.low), abs(found.high)) < 1e-9:
        return  # rounding decides
    p = stats.ttest_1samp(values, 0.0).pvalue
    assert found.sign == (int(np.sign(found.mean)) if p < 0.05 else 0)
    assert interval([-value for value in values]).sign == -found.sign


@pytest.mark.parametrize(
    ("low", "high", "sign"), [(0.1, 0.2, 1), (-0.2, -0.1, -1), (-0.1, 0.1, 0), (0.0, 0.1, 0), (-0.1, 0.0, 0)]
)
def test_an_interval_that_touches_zero_has_no_sign(low, high, sign):
    assert Interval((low + high) / 2, low, high).sign == sign


def test_one_seed_has_a_mean_and_no_interval():
    found = interval([0.3])
    assert found == (0.3, None, None)
    assert found.sign == 0


def test_runs_that_did_not_converge_are_counted_by_instance():
    _, found = random_runs(1)
    cut = [run._replace(converged=not (run.instance == "nug12" and run.seed < 2)) for run in found]
    expected = {(start, method): {"nug12": 2} for start in STARTS for method in COMPARED}
    assert unconverged(cut) == expected
    assert unconverged(found) == {}


def test_errors_are_relative_to_the_best_known_cost_and_that_of_esc16f_is_zero():
    best = best_known()
    costs = {(name, "near", 0, "fw"): best[name] + 7 for name in ("nug12", "esc16f")}
    assert errors_of(runs(costs)) == {("near", "fw", 0): {"nug12": 7 / 578, "esc16f": 7.0}}
    assert assignment_error(best["nug12"], best["nug12"]) == 0.0


def test_the_paper_has_134_instances_in_families():
    names = paper_instances()
    assert len(names) == len(set(names)) == 134
    assert set(names) < set(qap.names())
    assert {family(name) for name in names} == {
        *("bur", "chr", "els", "esc", "had", "kra", "lipa-a", "lipa-b", "nug", "rou", "scr", "sko", "ste"),
        *("tai-a", "tai-b", "tai-c", "tho", "wil"),
    }
