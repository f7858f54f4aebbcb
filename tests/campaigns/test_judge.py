"""The judge itself: it accepts true answers, and sees planted lies."""

from types import SimpleNamespace

import numpy as np
import pytest

import trisplit as ts
from tests.campaigns import convex, hostile, nonconvex
from tests.campaigns.judge import judged
from tests.campaigns.known import direction

SOLVED = [convex.plain, convex.several, convex.units, convex.constant, convex.registered, convex.distant]
SOLVED += [convex.touching, convex.coordinates, hostile.kinks, hostile.steep]


def answer(problem, x, stationarity, infeasibility, kind="residual", status="CONVERGED", step=1.0):
    fun = problem.true_f(x)[0] + sum(term.value(x) for term in problem.terms if not term.indicator)
    certificate = SimpleNamespace(stationarity=stationarity, infeasibility=infeasibility, kind=kind)
    found = {"x": x, "fun": fun, "certificate": certificate, "trace": {"step": np.full(2, step)}}
    return SimpleNamespace(**found, status=SimpleNamespace(name=status), success=status == "CONVERGED")


@pytest.mark.parametrize("family", SOLVED)
def test_a_solution_is_no_lie_whatever_the_kind(family):
    for seed in range(20):
        problem = family(np.random.default_rng(seed))
        (x,) = problem.competitors
        for kind in ("gap", "bound", "residual"):
            assert not judged(problem, answer(problem, x, 0.0, 0.0, kind)).wrong


@pytest.mark.parametrize("family", [convex.plain, convex.several, convex.units, convex.constant])
@pytest.mark.parametrize("kind", ["bound", "residual"])
def test_a_point_that_is_off_by_a_tenth_is_a_lie(family, kind):
    seen = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = family(rng)
        (x,) = problem.competitors
        scale = np.linalg.norm(problem.x0 - x) + np.linalg.norm(x)
        y = x + 0.1 * scale * direction(rng, len(x))
        seen += bool(judged(problem, answer(problem, y, 1e-7 * problem.slope, 1e-7 * scale, kind)).wrong)
    assert seen >= 36  # some problems have many solutions


@pytest.mark.parametrize(
    ("family", "share"), [(nonconvex.curved, 0.9), (nonconvex.stochastic, 0.9), (nonconvex.jumps, 0.6)]
)
def test_an_iterate_that_has_not_arrived_is_a_lie(family, share):
    kind = "fixed point" if family is nonconvex.jumps else "bound"  # of which many points are close to one
    arrived = seen = 0
    for seed in range(30):
        problem = family(np.random.default_rng(seed))
        early = ts.minimize(problem.f, problem.x0, problem.terms, tol=0.0, max_iter=2)
        late = ts.minimize(problem.f, problem.x0, problem.terms, max_iter=500)
        if not late.success or np.linalg.norm(early.x - late.x) < 0.1:
            continue
        arrived += 1
        step = float(late.trace["step"][-1])
        assert not judged(problem, answer(problem, late.x, 1e-4 * problem.slope, 1e-4, kind, step=step)).wrong
        seen += bool(judged(problem, answer(problem, early.x, 1e-6, 1e-6, kind, step=step)).wrong)
    assert arrived >= 10
    assert seen >= share * arrived


def test_statuses_that_do_not_belong_are_wrong():
    problem = convex.easy(np.random.default_rng(0))
    (x,) = problem.competitors
    for status in ("INFEASIBLE", "UNBOUNDED", "BAD_GRADIENT", "BAD_PROX", "STALLED", "NOT_FINITE"):
        assert judged(problem, answer(problem, x, 0.0, 0.0, status=status)).wrong
