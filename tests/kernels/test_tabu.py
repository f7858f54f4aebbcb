"""Tabu search reports exact costs, never loses its start, and finds the optima of small problems."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.kernels import tabu as kernel
from trisplit.qap import Instance, load
from trisplit.qap.swap_form import swap_form
from trisplit.qap.tabu import RESET, Rules, TabuSearch

KICKED = Rules(rounds=40, patience=1.0)
SIZES = {"i4": 9, "i8": 10**6, "f8": 10**12}


@st.composite
def problems(draw):
    n, size = draw(st.integers(1, 7)), draw(st.sampled_from([1, *SIZES.values(), None]))
    elements = st.floats(-10, 10, allow_subnormal=False) if size is None else st.integers(-size, size)
    A, B, C = (draw(arrays(float if size is None else np.int64, (n, n), elements=elements)) for _ in range(3))
    if draw(st.booleans()):
        A = np.triu(A) + np.triu(A, 1).T
    if draw(st.booleans()):
        which = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
        B = B[np.ix_(which, which)] if n > 1 else B
    return Instance("any", A, B, C=draw(st.sampled_from([None, C])))


def dense(kind, n, *, symmetric=True, linear=False):
    rng = np.random.default_rng(n)
    A, B, C = (rng.integers(-SIZES[kind], SIZES[kind], (n, n)) for _ in range(3))
    if symmetric:
        A, B = np.triu(A) + np.triu(A, 1).T, np.triu(B) + np.triu(B, 1).T
    return Instance("dense", A, B, C=C if linear else None)


def searched(instance, seed=0, moves=2000, rules=None):
    search, rng = TabuSearch(swap_form(instance), rules), np.random.default_rng(seed)
    search.start(rng.permutation(instance.n))
    search.advance(moves, rng)
    return search


@settings(deadline=None, max_examples=25)
@given(problems(), st.integers(0, 2**32 - 1))
def test_with_kicks_the_optima_of_small_problems_are_found(instance, seed):
    best = min(instance.cost(p) for p in permutations(range(instance.n)))
    cost = instance.cost(
        searched(instance, seed, 10_000, Rules(rounds=1000, patience=1.0, kick=(0.3, 1.0))).permutation
    )
    slack = 0  # an int: exact costs of integers may exceed 2^53
    if swap_form(instance).kind == "f8":
        slack = 1e-10 * instance.n**2 * float(np.abs(instance.A).max()) * float(np.abs(instance.B).max())
        slack += 0.0 if instance.C is None else 1e-10 * float(np.abs(instance.C).max())
    assert best <= cost <= best + slack


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_without_kicks_the_optimum_of_a_rugged_problem_is_found(kind, symmetric):
    instance = dense(kind, 7, symmetric=symmetric)
    best = min(instance.cost(p) for p in permutations(range(7)))
    assert instance.cost(searched(instance, rules=Rules(tenure=(0.3, 1.0))).permutation) == best


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("n", [2, 3, 17, 33, 64])
def test_what_is_kept_up_to_date_is_what_scratch_gives(kind, symmetric, linear, n):
    instance = dense(kind, n, symmetric=symmetric, linear=linear)
    form = swap_form(instance)
    assert form.kind == kind or (n <= 3 and kind != "i4")
    for rules in (None, KICKED):
        search, rng = TabuSearch(form, rules), np.random.default_rng(1)
        start = rng.permutation(n)
        search.start(start)
        for _ in range(3):
            search.advance(20 * n + 7, rng)
            for p, (W, d) in ((search.p, search.scratch[:2]), (search.best_p, (search.best_W, search.best_d))):
                fresh = form.scratch()
                search.fill(*search.problem, form.D, p, *fresh)
                upper = np.triu_indices(n, 1)
                slack = 0 if form.kind != "f8" else 1e3 * form.tiny
                assert np.abs(W - fresh[0])[:, :n].max() <= slack
                assert np.abs(d - fresh[1])[upper].max() <= slack
            before, after = (instance.cost(p) for p in (start, search.permutation))
            assert after <= before
            if form.kind != "f8":
                assert before - after == search.gain
                assert form.unit * int(search.values[kernel.VALUE]) == instance.cost(form.turned(search.p)) - before


@pytest.mark.parametrize("rules", [None, KICKED])
@pytest.mark.parametrize("name", ["nug12", "bur26a", "esc16f", "esc32a", "tai64c", "chr12a", "tai20b"])
def test_the_same_seed_gives_the_same_search_however_it_is_divided(name, rules):
    instance = load(name)
    whole = searched(instance, 3, 1000, rules)
    divided, rng = TabuSearch(swap_form(instance), rules), np.random.default_rng(3)
    divided.start(rng.permutation(instance.n))
    made = sum(divided.advance(moves, rng) for moves in (1, 0, 2, 97, 400, 500))
    assert made == 1000 or divided.over
    assert np.array_equal(whole.permutation, divided.permutation)
    assert np.array_equal(whole.p, divided.p)
    assert np.array_equal(whole.counts, divided.counts)
    assert instance.cost(whole.permutation) == instance.cost(divided.permutation)


@pytest.mark.parametrize("name", ["esc16a", "esc32e", "tai64c", "esc16f"])
def test_moves_are_not_wasted_on_rows_that_are_equal(name):
    instance = load(name)
    search = searched(instance, moves=20_000, rules=Rules(rounds=1000, patience=1.0))
    assert instance.cost(search.permutation) == instance.best_known


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_where_all_permutations_cost_the_same_nothing_moves(n):
    for A in (np.zeros((n, n), int), np.full((n, n), 7), np.full((n, n), -0.5)):
        instance = Instance("flat", A, np.arange(n * n).reshape(n, n) % 5)
        search = searched(instance, moves=100, rules=KICKED)
        assert search.gain == 0
        assert sorted(search.permutation) == list(range(n))


def test_rounds_end():
    instance = load("nug12")
    form, rng = swap_form(instance), np.random.default_rng(0)
    for rules, moves in ((Rules(length=50), 50), (Rules(length=50, rounds=4), 200)):
        search = TabuSearch(form, rules)
        for _ in range(2):  # it can be started again
            search.start(rng.permutation(12))
            assert not search.over
            assert search.advance(10_000, rng) == moves
            assert search.over
            assert search.advance(10, rng) == 0


def test_what_is_forbidden_is_forgotten_before_the_clock_overflows():
    instance, rng = load("nug12"), np.random.default_rng(0)
    search = searched(instance, moves=100)
    search.counts[kernel.CLOCK] = RESET + 1
    search.advance(100, rng)
    assert search.counts[kernel.CLOCK] == 100
    assert search.E.max() < 200
    assert (search.X[search.form.X == 0] < 200).all()


def test_a_tabu_move_does_not_come_back_before_its_tenure():
    """Without aspiration: the search starts at the optimum, so nothing is better than what is known."""
    instance, rng = load("nug12"), np.random.default_rng(0)
    search = TabuSearch(swap_form(instance), Rules(tenure=(2.0, 2.0)))
    search.start(instance.solution)
    places, left = search.p.copy(), {}
    for move in range(200):
        search.advance(1, rng)
        rows = np.flatnonzero(places != search.p)
        assert len(rows) == 2
        assert any(move - left.get((i, search.p[i]), -99) >= 24 for i in rows)
        left.update({(i, places[i]): move for i in rows})
        places = search.p.copy()
