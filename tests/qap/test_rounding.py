"""Rounding is the nearest permutation, and exchanges of pairs end where none helps."""

from itertools import combinations, permutations
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.qap import Instance, load, round_to_permutation, swap_descent
from trisplit.qap.rounding import swap_deltas


@st.composite
def matrices(draw, entries, count=3):
    n = draw(st.integers(1, 6))
    dtype = int if entries is WHOLE else float
    return [draw(arrays(dtype, (n, n), elements=entries)) for _ in range(count)]


WHOLE = st.integers(-50, 50)
REAL = st.floats(-10, 10, allow_subnormal=False)


def cost(A, B, C):
    return (A * B).sum() + (0 if C is None else np.trace(C))


def exchanged(B, C, r, s):
    order = np.arange(len(B))
    order[[r, s]] = s, r
    return B[np.ix_(order, order)], None if C is None else C[:, order]


@settings(deadline=None)
@given(matrices(WHOLE), st.booleans())
def test_swap_deltas_are_the_changes_of_the_cost(given_matrices, linear):
    A, B, C = given_matrices
    C = C if linear else None
    deltas = swap_deltas(A.astype(float), B.astype(float), None if C is None else C.astype(float))
    for r in range(len(A)):
        for s in range(len(A)):
            assert deltas[r, s] == cost(A, *exchanged(B, C, r, s)) - cost(A, B, C)


@settings(deadline=None)
@given(matrices(REAL))
def test_swap_deltas_of_floats(given_matrices):
    A, B, C = given_matrices
    deltas = swap_deltas(A, B, C)
    slack = 1e-13 * (1 + np.abs(A).sum() * np.abs(B).max() + np.abs(C).sum())
    for r, s in combinations(range(len(A)), 2):
        assert abs(deltas[r, s] - (cost(A, *exchanged(B, C, r, s)) - cost(A, B, C))) <= slack
    assert np.array_equal(np.diag(deltas), np.zeros(len(A)))


@settings(deadline=None)
@given(st.data(), matrices(WHOLE))
def test_descent_ends_where_no_exchange_helps_and_never_makes_worse(data, given_matrices):
    A, B, C = given_matrices
    instance = Instance("any", A, B, C=C)
    start = data.draw(st.permutations(range(instance.n)))
    p = swap_descent(instance, start)
    assert sorted(p) == list(range(instance.n))
    assert instance.cost(p) <= instance.cost(start)
    for r, s in combinations(range(instance.n), 2):
        q = np.array(p)
        q[[r, s]] = q[[s, r]]
        assert instance.cost(q) >= instance.cost(p)


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
