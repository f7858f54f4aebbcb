"""Rounding is the nearest permutation, and swaps of pairs end where none helps."""

from itertools import combinations, permutations
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.qap import Instance, load, round_to_permutation, swap_descent
from trisplit.qap.swap_delta import swap_deltas
from trisplit.qap.swap_form import swap_form


@st.composite
def matrices(draw, entries, count=3):
    n = draw(st.integers(1, 6))
    dtype = int if entries is WHOLE else float
    return [draw(arrays(dtype, (n, n), elements=entries)) for _ in range(count)]


WHOLE = st.integers(-50, 50)
REAL = st.floats(-10, 10, allow_subnormal=False)


@settings(deadline=None)
@given(st.data(), matrices(WHOLE))
def test_descent_ends_where_no_swap_helps_and_never_makes_worse(data, given_matrices):
    A, B, C = given_matrices
    check_descent(Instance("any", A, B, C=C), data.draw(st.permutations(range(len(A)))))


def check_descent(instance, start):
    p = swap_descent(instance, start)
    assert sorted(p) == list(range(instance.n))
    assert instance.cost(p) <= instance.cost(start)
    for r, s in combinations(range(instance.n), 2):
        q = np.array(p)
        q[[r, s]] = q[[s, r]]
        assert instance.cost(q) >= instance.cost(p)


@settings(deadline=None, max_examples=200)
@given(st.data(), st.integers(1, 6), st.sampled_from([10**12, 10**15, 2**62]), st.booleans(), st.booleans())
def test_descent_of_huge_integers_is_exact(data, n, size, linear, symmetric):
    """Next to `size`, differences of a few units are far below the rounding of float64."""
    entries = st.one_of(st.integers(-size, size), st.integers(size - 2, size + 2), st.integers(-2, 2))
    A, B, C = (data.draw(arrays(np.int64, (n, n), elements=entries)) for _ in range(3))
    if symmetric:
        A, B = (np.tril(M) + np.tril(M, -1).T for M in (A, B))
    check_descent(Instance("huge", A, B, C=C if linear else None), data.draw(st.permutations(range(n))))


@pytest.mark.parametrize("size", [10**12, 10**15, 2**62])
def test_descent_finds_gains_that_drown_in_float64(size):
    """All entries are `size` but for a few units: after the float descent there was still something to gain."""
    rng = np.random.default_rng(0)
    A, B = size + rng.integers(0, 5, (2, 12, 12))
    instance, start = Instance("flat", A, B), rng.permutation(12)
    assert swap_form(instance).kind == "f8"
    check_descent(instance, start)
    assert instance.cost(swap_descent(instance, start)) < instance.cost(start)


def test_a_deadline_ends_an_exact_descent():
    """Float64 leaves every pair in doubt here, and the descent would take many seconds."""
    rng = np.random.default_rng(0)
    A, B = 10**15 + rng.integers(0, 5, (2, 150, 150))
    instance, start = Instance("flat", A, B), np.arange(150)
    swap_form(instance)
    begin = perf_counter()
    p = swap_descent(instance, start, deadline=begin + 0.05)
    assert perf_counter() - begin < 1
    assert instance.cost(p) <= instance.cost(start)


@pytest.mark.parametrize("name", ["nug30", "bur26a", "tai30b", "chr25a", "esc16f"])
def test_descent_on_known_instances(name):
    instance, rng = load(name), np.random.default_rng(0)
    start = rng.permutation(instance.n)
    kept = start.copy()
    p = swap_descent(instance, start)
    assert np.array_equal(start, kept)
    assert instance.cost(p) <= instance.cost(start)
    deltas = swap_deltas(instance.A.astype(float), instance.B[np.ix_(p, p)].astype(float))
    assert deltas.min() >= 0


def test_an_optimum_is_kept():
    nug12 = load("nug12")
    assert nug12.solution is not None
    assert nug12.cost(swap_descent(nug12, nug12.solution)) == nug12.best_known


def test_a_passed_deadline_returns_the_start():
    nug12 = load("nug12")
    assert np.array_equal(swap_descent(nug12, np.arange(12), deadline=perf_counter() - 1), np.arange(12))


@settings(deadline=None)
@given(st.integers(1, 6).flatmap(lambda n: arrays(float, (n, n), elements=REAL)))
def test_rounding_is_the_best_of_all_permutations(X):
    n = len(X)
    p = round_to_permutation(X)
    assert sorted(p) == list(range(n))
    best = max(sum(X[i, q[i]] for i in range(n)) for q in permutations(range(n)))
    assert X[np.arange(n), p].sum() >= best - 1e-12 * (1 + np.abs(X).sum())


@settings(deadline=None)
@given(st.integers(1, 6).flatmap(lambda n: st.permutations(range(n))), st.integers(0, 2**32 - 1))
def test_rounding_undoes_a_small_perturbation(permutation, seed):
    X = np.eye(len(permutation))[permutation]
    noise = np.random.default_rng(seed).uniform(-0.2, 0.2, X.shape)
    assert round_to_permutation(X + noise / len(permutation)).tolist() == permutation
    assert round_to_permutation((X + noise / len(permutation)).astype(np.float32)).tolist() == permutation
