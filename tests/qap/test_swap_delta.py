"""What a swap of two assignments changes is the difference of two costs."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.qap import Instance
from trisplit.qap.swap_delta import swap_delta, swap_deltas


@st.composite
def matrices(draw, entries, dtype):
    n = draw(st.integers(1, 6))
    return [draw(arrays(dtype, (n, n), elements=entries)) for _ in range(3)]


WHOLE = matrices(st.integers(-50, 50), int)
HUGE = matrices(st.integers(-(2**63), 2**63 - 1), np.int64)
REAL = matrices(st.floats(-10, 10, allow_subnormal=False), float)


def cost(A, B, C):
    return (A * B).sum() + (0 if C is None else np.trace(C))


def exchanged(B, C, r, s):
    order = np.arange(len(B))
    order[[r, s]] = s, r
    return B[np.ix_(order, order)], None if C is None else C[:, order]


@settings(deadline=None)
@given(WHOLE, st.booleans())
def test_swap_deltas_are_the_changes_of_the_cost(given_matrices, linear):
    A, B, C = given_matrices
    C = C if linear else None
    deltas = swap_deltas(A.astype(float), B.astype(float), None if C is None else C.astype(float))
    for r in range(len(A)):
        for s in range(len(A)):
            assert deltas[r, s] == cost(A, *exchanged(B, C, r, s)) - cost(A, B, C)


@settings(deadline=None)
@given(REAL)
def test_swap_deltas_of_floats(given_matrices):
    A, B, C = given_matrices
    deltas = swap_deltas(A, B, C)
    slack = 1e-13 * (1 + np.abs(A).sum() * np.abs(B).max() + np.abs(C).sum())
    for r, s in combinations(range(len(A)), 2):
        assert abs(deltas[r, s] - (cost(A, *exchanged(B, C, r, s)) - cost(A, B, C))) <= slack
    assert np.array_equal(np.diag(deltas), np.zeros(len(A)))


@settings(deadline=None)
@given(HUGE, st.integers(0, 2**32 - 1))
def test_the_change_by_one_exchange_is_exact(given_matrices, seed):
    A, B, C = given_matrices
    instance, p = Instance("huge", A, B, C=C), np.random.default_rng(seed).permutation(len(A))
    for r, s in combinations(range(len(A)), 2):
        q = p.copy()
        q[[r, s]] = q[[s, r]]
        delta = swap_delta(A.astype(object), B.astype(object), C.astype(object), p, r, s)
        assert delta == instance.cost(q) - instance.cost(p)
