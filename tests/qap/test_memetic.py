"""The memetic search: a function of its seed, with exact costs, whose members come and go."""

from itertools import permutations
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.errors import InputError
from trisplit.qap import Instance, load
from trisplit.qap.memetic import DEEP_WALKS, KICKS, LONG_WALKS, MemeticSearch, Recipe, crossed, shuffled
from trisplit.qap.swap_form import swap_form
from trisplit.qap.tabu import Rules

RECIPES = {recipe.name: recipe for recipe in (KICKS, DEEP_WALKS, LONG_WALKS)}
SHORT = Recipe("short", 4, Rules(rounds=3, patience=1.0))


def memetic(instance, recipe=KICKS, seed=0):
    return MemeticSearch(instance, recipe, np.random.default_rng(seed))


@st.composite
def problems(draw):
    n, size = draw(st.integers(1, 6)), draw(st.sampled_from([1, 9, 10**6]))
    A, B, C = (draw(arrays(np.int64, (n, n), elements=st.integers(-size, size))) for _ in range(3))
    return Instance("any", A, B, C=draw(st.sampled_from([None, C])))


@settings(deadline=None, max_examples=30)
@given(problems(), st.integers(0, 2**32 - 1))
def test_optima_of_small_problems_are_found(instance, seed):
    search = memetic(instance, Recipe("some", 5, Rules(rounds=10, patience=1.0, kick=(0.3, 1.0))), seed)
    search.step(10_000)
    assert search.best.cost == min(instance.cost(p) for p in permutations(range(instance.n)))
    assert search.best.cost == instance.cost(search.best.permutation)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", ["nug12", "chr18a", "esc32a", "nug30", "tai64c"])
def test_known_optima_are_found(name, recipe):
    instance = load(name)
    search = memetic(instance, RECIPES[recipe])
    search.step(300_000, lambda: search.best.cost <= instance.best_known)
    assert search.best.cost == instance.best_known


@pytest.mark.parametrize("recipe", [SHORT, Recipe("long", 3, Rules(length=70, tenure=(0.2, 0.6)))])
@pytest.mark.parametrize("name", ["nug20", "bur26a", "esc16a"])
def test_the_same_seed_gives_the_same_members_however_moves_are_divided(name, recipe):
    instance = load(name)
    whole, divided = memetic(instance, recipe, 5), memetic(instance, recipe, 5)
    assert whole.step(9000) == 9000
    divided.chunk = 4096
    assert sum(divided.step(moves) for moves in (1, 2, 1997, 0, 3000, 4000)) == 9000
    assert whole.generations == divided.generations > 10
    for one, other in zip(whole.elites(), divided.elites(), strict=True):
        assert one.cost == other.cost == instance.cost(one.permutation)
        assert np.array_equal(one.permutation, other.permutation)
    other_seed = memetic(instance, recipe, 6)
    other_seed.step(9000)
    assert not all(np.array_equal(*pair) for pair in zip(whole.search.p, other_seed.search.p, strict=True))


def test_the_best_one_is_never_lost():
    instance = load("tai20a")
    search, best = memetic(instance, SHORT), []
    for _ in range(300):
        search.step(137)
        best.append(search.best.cost)
    assert best == sorted(best, reverse=True)
    assert search.generations > 100  # so that it has stagnated, and been mutated, more than once


def test_members_are_the_best_first_and_differ():
    search = memetic(load("nug20"), SHORT)
    search.step(20_000)
    costs = [member.cost for member in search.elites()]
    assert costs == sorted(set(costs))
    assert len(costs) <= SHORT.population
    assert search.elites(2)[0].cost == costs[0]
    search.elites()[0].permutation[:] = 0  # a copy
    assert sorted(search.elites()[0].permutation) == list(range(20))


def test_before_the_first_step_there_is_an_answer():
    search = memetic(load("nug12"))
    assert search.best.cost == load("nug12").cost(search.best.permutation)
    assert search.elites() == []


def test_a_search_can_be_stopped_between_chunks():
    search, asked = memetic(load("nug30")), []

    def stopped():
        asked.append(True)
        return len(asked) > 5

    assert 0 < search.step(10**9, stopped) < 10**9
    assert len(asked) == 6


@pytest.mark.parametrize("improve", [False, True])
def test_immigrants_join_and_are_crossed(improve):
    instance = load("nug30")
    search = memetic(instance, SHORT)
    search.step(500)
    search.immigrate(instance.solution, improve=improve)
    if not improve:
        assert search.elites()[0].cost == instance.best_known
    search.step(3000)
    assert search.best.cost == instance.best_known
    with pytest.raises(InputError, match="permutation"):
        search.immigrate(np.zeros(30, int))


def test_a_bad_immigrant_is_not_taken_in_by_a_full_population():
    instance = load("tai20a")
    search = memetic(instance, SHORT)
    while len(search.members) < SHORT.population:
        search.step(100)
    before = search.elites()
    search.immigrate(np.arange(20))
    assert [member.cost for member in search.elites()] == [member.cost for member in before]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_tiny_problems(n, recipe):
    rng = np.random.default_rng(n)
    for A, B in ((np.zeros((n, n), int), np.ones((n, n))), tuple(rng.integers(-9, 9, (2, n, n)))):
        instance = Instance("tiny", A, B)
        search = memetic(instance, recipe)
        assert search.step(2000) == 2000
        assert search.best.cost == min(instance.cost(p) for p in permutations(range(n)))


def test_several_searches_may_share_a_form():
    instance = load("nug20")
    form, alone = swap_form(instance), memetic(instance, SHORT)
    alone.step(20_000)
    searches = [MemeticSearch(instance, SHORT, np.random.default_rng(seed), form) for seed in (0, 1)]
    threads = [Thread(target=search.step, args=(20_000,)) for search in searches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(searches[0].best.permutation, alone.best.permutation)


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_a_child_keeps_what_its_parents_share(n, seed):
    rng = np.random.default_rng(seed)
    p = rng.permutation(n)
    q = shuffled(p, rng)
    child = crossed(p, q, rng)
    assert sorted(child) == sorted(q) == list(range(n))
    assert np.array_equal(child[p == q], p[p == q])
    assert (p != q).sum() <= (n + 1) // 2
    assert np.array_equal(crossed(p, p, rng), p)
