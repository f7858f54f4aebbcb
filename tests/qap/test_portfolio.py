"""The portfolio: right answers on small and odd problems, bounds that hold, and the same answer by any workers."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import permutations
from math import inf
from multiprocessing import get_context
from threading import Event
from time import perf_counter, sleep

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import trisplit as ts
from trisplit.qap import Instance, QAPStatus, load, portfolio, solve, solver, task_pool, time_model, warmup
from trisplit.qap.local_search import Task
from trisplit.verify import proven_bound

TAI20A = Instance("tai20a", load("tai20a").A, load("tai20a").B)  # without known values: nothing ends a search early


def made_small():
    """An instance that is enumerated."""
    return Instance("small", *np.random.default_rng(0).integers(1, 9, (2, 5, 5)))


def least(instance):
    """The smallest cost of all permutations, in Python integers or in float64."""
    A, B, n = instance.A, instance.B, instance.n
    C = np.zeros((n, n), A.dtype) if instance.C is None else instance.C
    if A.dtype.kind == "i" and max(abs(int(M.min())) + abs(int(M.max())) for M in (A, B, C)) > 10**6:
        A, B, C = (M.astype(object) for M in (A, B, C))
    p = np.array(list(permutations(range(n)))).T
    costs = sum(C[i, p[i]] + sum(A[i, j] * B[p[i], p[j]] for j in range(n)) for i in range(n))
    return min(costs.tolist())


def members(res):
    return [row.member for row in res.trace]


@pytest.fixture
def walks(monkeypatch):
    """The rounds of islands that are begun from now on."""
    begun, run_walk = [], task_pool.run_walk
    monkeypatch.setattr(
        task_pool, "run_walk", lambda instance, walk, *rest: begun.append(walk) or run_walk(instance, walk, *rest)
    )
    return begun


# Right answers


@st.composite
def problems(draw):
    """Up to 8 rows, odd in every way: zeros, equal entries, duplicate rows, negative, huge and decimal numbers."""
    n = draw(st.integers(1, 8 if draw(st.booleans()) else 5))
    size = draw(st.sampled_from([0, 1, 9, 10**6, 10**12]))
    whole = st.integers(-size, size)
    elements = draw(st.sampled_from([whole, st.integers(0, 1), st.just(size), whole.map(lambda k: k / 100)]))
    A, B, C = (draw(arrays(np.float64, (n, n), elements=elements.map(float))) for _ in range(3))
    if not any(np.any(M != np.round(M)) for M in (A, B, C)):
        A, B, C = (M.astype(np.int64) for M in (A, B, C))
    if draw(st.booleans()):
        A[-1] = A[0]
    if draw(st.booleans()):
        A, B = A + A.T, B + B.T
    return Instance("odd", A, B, C=draw(st.sampled_from([None, C])))


@settings(deadline=None, max_examples=60)
@given(problems(), st.integers(0, 2**32 - 1))
def test_small_problems_are_solved(instance, seed):
    res = solve(instance, starts=1, workers=1, rng=seed)
    best = least(instance)
    if isinstance(best, int):
        assert res.cost == res.lower_bound == best
        assert res.status is QAPStatus.OPTIMAL
    else:
        rounding = 1e-13 * (
            np.abs(instance.A).sum() * np.abs(instance.B).max()
            + (0 if instance.C is None else np.abs(instance.C).sum())
        )
        assert res.cost == pytest.approx(best, abs=rounding)
        assert res.lower_bound <= res.cost + rounding
    assert proven_bound(instance.A, instance.B, instance.C, res.bound.certificate) == res.lower_bound


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 10**12]), st.booleans())
def test_islands_solve_problems_that_are_too_large_to_enumerate(seed, size, linear):
    A, B, C = np.random.default_rng(seed).integers(-size, size, (3, 8, 8), endpoint=True)
    instance = Instance("eight", A, B, C=C if linear else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(portfolio, "ROWS", 0)
        res = solve(instance, starts=3, workers=1, rng=seed)
    assert {"kicks", "long walks"} <= set(members(res)) or res.status is QAPStatus.OPTIMAL
    assert res.cost == ts.qap.lower_bound(instance, method="enumeration").value


@pytest.mark.parametrize(
    "name", ["chr12a", "esc32e", "had20", "kra30a", "lipa40a", "nug25", "scr20", "ste36b", "tai64c"]
)
def test_best_known_values_are_found(name):
    res = solve(load(name), time_limit=20, rng=1)
    assert res.status is QAPStatus.OPTIMAL
    assert res.cost == load(name).best_known
    assert res.lower_bound <= res.cost


# Bounds


def test_a_bound_may_end_the_search():
    lipa = load("lipa20b")
    res = solve(Instance("unknown", lipa.A, lipa.B), time_limit=60, rng=0)
    assert (res.status, res.cost) == (QAPStatus.OPTIMAL, lipa.best_known)
    assert (res.bound.method, res.bound_gap) == ("gilmore-lawler", 0.0)
    assert proven_bound(lipa.A, lipa.B, None, res.bound.certificate) == res.cost


@pytest.mark.parametrize("name", ["esc16a", "had12", "tai20a", "bur26a", "nug30", "sko100a"])
def test_bounds_hold(name):
    instance = load(name)
    res = solve(Instance(name, instance.A, instance.B), time_limit=1.0, rng=0)
    assert res.lower_bound <= instance.best_known <= res.cost
    assert 0.0 <= res.bound_gap == (res.cost - res.lower_bound) / res.cost
    assert "bound" in members(res)
    assert [row.bound for row in res.trace if row.bound is not None][-1] == res.lower_bound
    assert proven_bound(instance.A, instance.B, None, res.bound.certificate) == res.lower_bound


@pytest.mark.parametrize("kind", ["fixed", "forbidden"])
@pytest.mark.parametrize("size", [10**12, 2**62])
def test_no_bound_is_claimed_where_the_smaller_problem_is_rounded(kind, size):
    for seed in range(4):
        A, B, C = np.random.default_rng(seed).integers(0, size, (3, 6, 6))
        instance = Instance("huge", A, B, C=C)
        allowed = [p for p in permutations(range(6)) if (p[0] == 1) == (kind == "fixed")]
        res = solve(instance, starts=1, rng=0, **({"fixed": {0: 1}} if kind == "fixed" else {"forbidden": [(0, 1)]}))
        best = min(map(instance.cost, allowed))
        assert res.cost == instance.cost(res.permutation) >= best
        assert res.lower_bound is None or res.lower_bound <= best
        assert res.status is not QAPStatus.OPTIMAL or res.cost == best


@pytest.mark.parametrize("name", ["esc32e", "esc16f"])
def test_the_relaxation_does_not_depend_on_the_workers(name):
    instance = Instance(name, load(name).A, load(name).B)
    one, two = (solve(instance, starts=4, polish=False, rng=0, workers=workers) for workers in (1, 2))
    assert np.array_equal(one.relaxation.x, two.relaxation.x)


def test_one_start_does_not_take_all_the_time():
    A, B = np.random.default_rng(0).integers(0, 100, (2, 300, 300))
    solve(A, B, time_limit=0.1, rng=0)
    res = solve(A + A.T, B + B.T, time_limit=2.0, rng=0)
    assert res.moves > 0


@pytest.mark.parametrize("options", [{}, {"starts": 3}, {"polish": False}])
def test_nothing_is_begun_that_there_is_no_time_for(options, monkeypatch):
    monkeypatch.setattr(time_model, "START", 1.0)
    res = solve(TAI20A, time_limit=0.2, rng=0, **options)
    assert "start" not in members(res)
    assert "sums" in members(res)
    assert res.relaxation is None
    assert res.status is QAPStatus.TIME_LIMIT
    assert res.cost == TAI20A.cost(res.permutation)


@pytest.mark.parametrize("part", ["FORM", "FILL"])
def test_no_swaps_without_time_for_them(part, monkeypatch):
    monkeypatch.setattr(time_model, part, 1.0)
    res = solve(TAI20A, time_limit=0.2, rng=0)
    assert set(members(res)) <= {"start", "bound"}
    assert res.moves == 0
    assert res.status is QAPStatus.TIME_LIMIT


def test_a_certificate_is_left_out_if_it_would_come_too_late(monkeypatch):
    monkeypatch.setattr(time_model, "CERTIFICATE", 1.0)
    res = solve(TAI20A, time_limit=0.2, rng=0)
    assert res.starts > 0
    assert res.relaxation is None
    assert solve(TAI20A, starts=2, rng=0).relaxation is not None


def test_walks_that_wait_are_told_the_time_that_is_left(walks):
    solve(TAI20A, starts=1, time_limit=100, workers=1, rng=0)
    told = [walk.seconds for walk in walks]
    assert len(told) == 4
    assert told == sorted(set(told), reverse=True)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_rows_are_matched_by_their_sums(n):
    A, B = np.random.default_rng(n).random((2, n, n))
    p = portfolio.by_sums(Instance("random", A, B))
    assert sorted(p) == list(range(n))
    a, b = (M.sum(axis=0) + M.sum(axis=1) for M in (A, B))
    assert a @ b[p] == pytest.approx(min(a @ b[q] for q in [p, np.arange(n), *map(np.roll, [p] * n, range(n))]))


# The same answer


@pytest.fixture(scope="module")
def alone():
    return solve(TAI20A, starts=8, rng=3, workers=1)


@pytest.mark.parametrize("workers", [2, 3, None])
def test_islands_do_not_depend_on_the_workers(alone, workers):
    res = solve(TAI20A, starts=8, rng=3, workers=workers)
    assert np.array_equal(res.permutation, alone.permutation)
    assert [row[:2] + row[3:5] for row in res.trace] == [row[:2] + row[3:5] for row in alone.trace]
    assert (res.moves, res.restarts, res.duplicates) == (alone.moves, alone.restarts, alone.duplicates)
    assert {"start", "kicks", "deep walks", "long walks", "kick", "bound"} == set(members(alone))


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, lambda k: ProcessPoolExecutor(k, get_context("spawn"))])
def test_islands_may_live_with_any_executor(alone, pool):
    with pool(2) as executor:
        res = solve(TAI20A, starts=8, rng=3, workers=executor)
    assert np.array_equal(res.permutation, alone.permutation)
    assert [row.cost for row in res.trace] == [row.cost for row in alone.trace]


@pytest.mark.parametrize(("workers", "islands"), [(1, 4), (6, 6)])
def test_more_cores_more_islands_where_the_clock_has_a_say(walks, workers, islands):
    res = solve(TAI20A, time_limit=1.0, rng=3, workers=workers)
    assert {walk.island for walk in walks} == set(range(islands))
    assert res.elapsed < 1.2


def test_two_islands_follow_the_favourite_recipe_and_have_most_turns(walks):
    solve(TAI20A, time_limit=2.0, rng=3, workers=1)
    turns = [sum(walk.island == i for walk in walks) for i in range(4)]
    assert [{walk.recipe.name for walk in walks if walk.island == i} for i in range(4)] == [
        {"deep walks"},
        {"deep walks"},
        {"kicks"},
        {"long walks"},
    ]
    assert min(turns[:2]) > 3 * max(turns[2:]) > 0


def test_what_a_kick_finds_joins_its_island(monkeypatch):
    class Heard(portfolio.Portfolio):
        def faces(self, number):
            tasks = super().faces(number)
            for task in tasks:
                members = self.islands[self.kicked[number]].members
                assert any(np.array_equal(task.permutation, member.permutation) for member in members)
            return tasks

        def take(self, task, outcome):
            island = self.kicked.get(task.number) if isinstance(task, Task) else None
            if island is None:
                return super().take(task, outcome)
            before = [len(waiting) for waiting in self.immigrants]
            over = super().take(task, outcome)
            kicks.append([len(waiting) for waiting in self.immigrants][island] - before[island])
            assert sum(map(len, self.immigrants)) == sum(before) + 1
            return over

    kicks = []
    monkeypatch.setattr(solver, "Portfolio", Heard)
    solve(TAI20A, starts=12, rng=0)
    assert set(kicks) == {1}
    assert len(kicks) > 1


# Options


def test_a_search_goes_on_while_code_for_faces_is_compiled(monkeypatch):
    """The limit holds though compiling takes longer, and no kick has its turn before."""
    compiling = Event()
    warmup.load_code(TAI20A, inf, polish=True, faces=False)  # the rest
    monkeypatch.setattr(portfolio, "load_kernels", lambda faces: compiling.wait(10.0))
    monkeypatch.setattr(portfolio, "LOADING", 0.01)
    try:
        res = solve(TAI20A, time_limit=1.0, workers=1, rng=0)
    finally:
        compiling.set()
    assert res.elapsed < 5.0  # of the ten that are waited for; a busy machine may take more than one
    assert "kick" not in {row.member for row in res.trace}
    assert len(res.trace) > 10


@pytest.mark.parametrize(("instance", "options"), [(TAI20A, {}), (TAI20A, {"polish": False}), (made_small(), {})])
def test_compiling_takes_none_of_the_time(instance, options, monkeypatch):
    """The shares of the search are those of the limit, and so is the time that is told."""
    seconds = []

    def slowly(*args, **kwargs):
        begin = perf_counter()
        sleep(1.0)
        seconds.append(perf_counter() - begin)
        return warmup.Loaded(seconds[0], True)

    warmup.load_code(instance, inf, polish=options.get("polish", True), faces=True)
    monkeypatch.setattr(solver, "load_code", slowly)
    begin = perf_counter()
    res = solve(instance, time_limit=0.8, workers=1, rng=0, **options)
    assert len(seconds) == 1
    assert perf_counter() - begin - res.elapsed >= seconds[0]  # on a busy machine a search may take longer
    assert res.status is QAPStatus.OPTIMAL if instance is not TAI20A else res.elapsed > 0.7
    assert all(row.seconds <= res.elapsed for row in res.trace)


def test_the_swaps_are_compiled_before_the_search_however_long_the_rest_took(monkeypatch):
    """Else the first search after an installation spends its time limit on them."""
    from trisplit.kernels import swaps, tabu

    asked = []
    monkeypatch.setattr(warmup, "load_kernels", lambda faces: sleep(0.3))
    for module in (swaps, tabu):
        monkeypatch.setattr(module, "engine", lambda kind, name=module.__name__: asked.append(name))
    warmup.load_code(TAI20A, perf_counter() + 0.2, polish=True, faces=True)
    assert asked == [swaps.__name__, tabu.__name__]


@pytest.mark.parametrize("compiles", [True, False])
def test_faces_are_compiled_with_the_rest_and_loaded_later(compiles, monkeypatch):
    """Compiled beside a search, they would take half of its time; loaded before it, they would keep it waiting."""
    asked = []
    monkeypatch.setattr(warmup, "load_kernels", lambda faces: asked.append(faces))
    monkeypatch.setattr(warmup, "LOADING", 0.0 if compiles else 60.0)
    seconds, _ = warmup.load_code(TAI20A, perf_counter() + 10.0, polish=True, faces=True)
    assert asked == ([False, True] if compiles else [False])
    assert (seconds > 0.0) == compiles


def test_what_was_found_before_joins_the_islands():
    known = load("tai50a").solution
    res = solve(load("tai50a"), x0=known, time_limit=0.5, rng=0)
    assert res.cost <= load("tai50a").best_known
    assert res.elapsed < 0.7


def test_a_target_ends_a_round():
    instance = load("tai60a")
    target = int(1.03 * instance.best_known)
    res = solve(instance, target=target, time_limit=30, rng=0)
    assert res.status is QAPStatus.TARGET
    assert res.cost <= target
    assert res.elapsed < 10


def test_all_equal_entries():
    res = solve(np.full((20, 20), 3), np.full((20, 20), 5), rng=0)
    assert (res.cost, res.status) == (20 * 20 * 15, QAPStatus.OPTIMAL)
