"""Relax-and-round over several starts: when it stops, and that its answer is what it says."""

import time
from collections import Counter

import numpy as np
import pytest

from trisplit.qap import Instance, QAPStatus, incumbent, load, solve, solver, task_pool
from trisplit.qap.engine import BirkhoffLoop

NUG12, ESC16F = load("nug12"), load("esc16f")


def random_instance(seed=0, n=14, **known):
    A, B, C = np.random.default_rng(seed).integers(-9, 10, (3, n, n))
    return Instance("random", A, B, C=C, **known)


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("starts", [1, 4, np.int64(2)])
def test_stops_after_all_starts(starts, polish):
    instance = random_instance()
    res = solve(instance, starts=starts, polish=polish, rng=0)
    assert res.status is QAPStatus.FINISHED
    members = Counter(row.member for row in res.trace)
    assert members["start"] == res.starts == starts
    assert members["kicks"] == members["long walks"] == (starts if polish else 0)
    assert [row.number for row in res.trace] == list(range(1, len(res.trace) + 1))
    assert res.cost == min(row.cost for row in res.trace) == res.trace[-1].best
    assert [row.best for row in res.trace] == np.minimum.accumulate([row.cost for row in res.trace]).tolist()
    assert all(row.seconds <= res.elapsed for row in res.trace)


def test_default_is_ten_starts():
    assert solve(random_instance(), polish=False, rng=0).starts == solver.DEFAULT_STARTS == 10


def test_stops_at_the_target():
    instance = random_instance()
    first = solve(instance, starts=1, rng=0).trace[0].cost
    for target in (first, first + 0.5, np.inf):
        res = solve(instance, starts=5, target=target, rng=0)
        assert res.status is QAPStatus.TARGET
        assert len(res.trace) == 1
        assert res.cost <= target
    assert solve(instance, starts=2, target=-np.inf, rng=0).status is QAPStatus.FINISHED


def test_stops_at_the_time_limit():
    begin = time.perf_counter()
    res = solve(random_instance(n=20), time_limit=0.2, rng=0)
    assert res.status is QAPStatus.TIME_LIMIT
    assert 0.2 <= res.elapsed <= time.perf_counter() - begin < 1.0
    # Even where there is no time at all, one start gives a permutation.
    res = solve(load("sko100a"), time_limit=1e-6, rng=0)
    assert res.status is QAPStatus.TIME_LIMIT
    assert sorted(res.permutation) == list(range(100))


def test_stops_at_the_proven_optimum_only_if_it_is_proven():
    assert solve(ESC16F, starts=5, rng=0).status is QAPStatus.OPTIMAL
    assert solve(NUG12, x0=NUG12.solution, rng=0).status is QAPStatus.OPTIMAL
    assert solve(NUG12, x0=NUG12.solution, rng=0).trace == ()
    claimed = Instance("claimed", NUG12.A, NUG12.B, best_known=NUG12.best_known, proven=False)
    assert solve(claimed, x0=NUG12.solution, starts=1, rng=0).status is QAPStatus.FINISHED


@pytest.mark.parametrize("options", [{"starts": 3}, {"starts": 2, "max_iter": 5}, {"starts": 2, "polish": False}])
def test_same_seed_same_answer(options):
    instance = load("tai12a")
    first, again = (solve(instance, rng=11, **options) for _ in range(2))
    assert np.array_equal(first.permutation, again.permutation)
    assert [row.cost for row in first.trace] == [row.cost for row in again.trace]
    assert first.seed == 11
    fresh = solve(instance, **options)
    assert np.array_equal(fresh.permutation, solve(instance, rng=fresh.seed, **options).permutation)
    generator = solve(instance, rng=np.random.default_rng(11), **options)
    assert np.array_equal(generator.permutation, first.permutation)
    assert generator.seed is None


def test_more_starts_continue_the_same_sequence():
    instance = load("tai12a")
    few, many = (solve(instance, starts=starts, rng=1) for starts in (2, 5))
    assert [row.cost for row in many.trace][:2] == [row.cost for row in few.trace][:2]
    assert many.cost <= few.cost


def test_cost_is_exact_and_the_relaxation_certified():
    huge = Instance("huge", NUG12.A * 2**40, NUG12.B * 2**40, C=np.eye(12, dtype=int))
    res = solve(huge, starts=2, rng=0)
    assert isinstance(res.cost, int)
    assert res.cost == huge.cost(res.permutation) > 2**80
    res = solve(random_instance(), starts=2, rng=0)
    assert res.relaxation is not None
    assert res.relaxation.success
    assert res.relaxation.certificate.kind == "gap"


def test_matrices_and_lists_are_as_good_as_an_instance():
    instance = random_instance()
    expected = solve(instance, starts=2, rng=3)
    arrays = solve(instance.A, instance.B, instance.C, starts=2, rng=3)
    assert np.array_equal(arrays.permutation, expected.permutation)
    assert (arrays.best_known, arrays.gap) == (None, None)


@pytest.mark.parametrize("best_known", [0, 100, -100, 1])
def test_gap_is_a_fraction_of_the_best_known_value_or_of_one(best_known):
    instance = random_instance(best_known=best_known)
    res = solve(instance, starts=1, rng=0)
    assert res.gap == (res.cost - best_known) / max(abs(best_known), 1)
    assert solve(ESC16F, starts=1, rng=0).gap == 0.0


@pytest.mark.parametrize("polish", [True, False])
def test_x0_is_never_made_worse_nor_changed(polish):
    rng = np.random.default_rng(5)
    for seed in range(8):
        instance, x0 = random_instance(seed), rng.permutation(14)
        kept = x0.copy()
        res = solve(instance, x0=x0, starts=1, max_iter=1, polish=polish, rng=0)
        assert res.cost <= instance.cost(x0)
        assert np.array_equal(x0, kept)
        assert not np.shares_memory(res.permutation, x0)
    best = solve(NUG12, x0=NUG12.solution)
    assert best.relaxation is None
    assert best.cost == NUG12.best_known


def test_polishing_never_hurts():
    for seed in range(5):
        rough, fine = (solve(random_instance(seed), starts=1, polish=polish, rng=0) for polish in (False, True))
        assert fine.cost <= rough.cost


def test_callback_sees_every_start_and_stops_on_a_true_value():
    seen = []
    res = solve(random_instance(), starts=4, rng=0, callback=seen.append)
    assert tuple(seen) == res.trace
    res = solve(random_instance(), starts=4, rng=0, callback=lambda row: row.number == 2)
    assert res.status is QAPStatus.CALLBACK
    assert len(res.trace) == 2
    seen.clear()
    assert solve(ESC16F, starts=4, rng=0, callback=seen.append).status is QAPStatus.OPTIMAL
    assert len(seen) == 1  # the start that ended the search is shown as well


def interrupt(*arguments, **options):
    raise KeyboardInterrupt


def test_ctrl_c_while_polishing_keeps_the_rounded_permutation(monkeypatch):
    monkeypatch.setattr(incumbent, "swap_descent", interrupt)
    res = solve(random_instance(), starts=3, rng=0, workers=1)
    assert res.status is QAPStatus.INTERRUPTED
    assert res.cost == solve(random_instance(), starts=1, polish=False, faces=False, rng=0).cost
    assert res.relaxation is not None
    x0 = np.arange(14)[::-1]
    assert solve(random_instance(), x0=x0).cost == random_instance().cost(x0)


def test_ctrl_c_while_relaxing_keeps_the_best_start(monkeypatch):
    run, calls = task_pool.run_task, []

    def run_twice(*arguments, **options):
        calls.append(1)
        return interrupt() if len(calls) == 3 else run(*arguments, **options)

    monkeypatch.setattr(task_pool, "run_task", run_twice)
    res = solve(random_instance(), starts=9, rng=0, workers=1)
    assert res.status is QAPStatus.INTERRUPTED
    assert res.starts == 2
    assert res.cost == min(row.cost for row in solve(random_instance(), starts=2, rng=0).trace[:3])
    monkeypatch.setattr(task_pool, "run_task", interrupt)
    with pytest.raises(KeyboardInterrupt):  # there is no answer yet
        solve(random_instance(), workers=1)


def test_ctrl_c_in_the_first_start_rounds_what_there_is(monkeypatch):
    advance, calls = BirkhoffLoop.advance, []

    def twice(self, iterations):
        calls.append(1)
        return interrupt() if len(calls) == 3 else advance(self, iterations)

    monkeypatch.setattr(BirkhoffLoop, "advance", twice)
    res = solve(load("sko100a"), rng=0, workers=1)
    assert res.status is QAPStatus.INTERRUPTED
    assert res.cost == load("sko100a").cost(res.permutation)
    assert res.relaxation is not None
    assert res.relaxation.nit == 2


def test_result_is_one_by_one():
    """The smallest problem there is."""
    res = solve(np.array([[3]]), np.array([[4]]), np.array([[5]]), starts=1)
    assert res.permutation.tolist() == [0]
    assert res.cost == 17
    assert res.message == res.status.value
