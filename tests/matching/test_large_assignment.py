"""The auction on sparse pairs against exact solvers: exact for integers, within n * eps else, duals that prove it."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from trisplit.matching.large.assignment import assign


def stored(D, mask):
    rows, columns = np.nonzero(mask)
    return csr_array((D[rows, columns], (rows, columns)), shape=D.shape)


def best_value(D, mask, price):
    """The exact optimum, with a column of its own for every row that stays alone."""
    n, m = D.shape
    never = -1e7
    whole = np.full((n, m + n), never)
    whole[:, :m][mask] = D[mask]
    whole[:, m:][np.eye(n, dtype=bool)] = -price
    return whole[linear_sum_assignment(whole, maximize=True)].sum()


def value(D, partner, price):
    rows = np.flatnonzero(partner >= 0)
    return D[rows, partner[rows]].sum() - price * (partner < 0).sum()


def assert_match(partner, mask):
    rows = np.flatnonzero(partner >= 0)
    assert mask[rows, partner[rows]].all()
    assert np.unique(partner[rows]).size == rows.size


@st.composite
def patterns(draw, elements):
    shape = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    return draw(arrays(float, shape, elements=elements)), draw(arrays(bool, shape))


@settings(deadline=None, max_examples=200)
@example((np.ones((4, 2)), np.ones((4, 2), bool)), 0)
@example((np.zeros((3, 3)), np.zeros((3, 3), bool)), None)
@given(patterns(st.integers(-4, 6).map(float)), st.sampled_from([None, 0, 2, -1]))
def test_integers_are_matched_at_best(given_pattern, price):
    D, mask = given_pattern
    partner = assign(stored(D, mask), price=price).partner
    assert_match(partner, mask)
    price = 1e4 if price is None else price
    assert value(D, partner, price) == best_value(D, mask, price)


@settings(deadline=None, max_examples=100)
@given(patterns(st.floats(-3, 5)), st.sampled_from([0.0, 1.5]), st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_reals_are_within_n_eps_and_the_duals_prove_it(given_pattern, price, eps):
    D, mask = given_pattern
    done = assign(stored(D, mask), price=price, eps=eps)
    assert_match(done.partner, mask)
    reached, n = value(D, done.partner, price), D.shape[0]
    assert reached >= best_value(D, mask, price) - n * eps - 1e-9
    if mask.any():
        excess = done.profits[:, None] + done.prices - D
        assert (excess[mask] >= -eps - 1e-9).all()
        assert (done.prices >= 0).all()
        unmatched = np.setdiff1d(np.arange(D.shape[1]), done.partner)
        assert (done.prices[unmatched] == 0).all()


@pytest.mark.parametrize("whole", [True, False])
def test_a_full_match_is_that_of_scipy(whole):
    rng, n, k = np.random.default_rng(0), 400, 8
    mask = np.eye(n, dtype=bool)[rng.permutation(n)]
    mask[np.repeat(np.arange(n), k), rng.integers(0, n, n * k)] = True
    D = rng.integers(1, 20, (n, n)).astype(float) if whole else rng.random((n, n)) + 0.1
    W = stored(D, mask)
    done = assign(W)
    assert (done.partner >= 0).all()
    best = D[min_weight_full_bipartite_matching(csr_matrix(W), maximize=True)].sum()
    assert abs(value(D, done.partner, 0.0) - best) <= (0 if whole else n * done.eps + 1e-9)


def test_many_rows_that_want_the_same_few_columns():
    W = csr_array(np.ones((300, 20)))
    assert (assign(W).partner >= 0).sum() == 20


def test_equal_weights_give_a_largest_match():
    """A path of pairs (i, i), (i, i + 1): greedy choice may leave half alone, a largest match leaves none."""
    n = 500
    W = csr_array(np.eye(n) + np.eye(n, k=1))
    assert (assign(W).partner == np.arange(n)).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 2)])
def test_no_pairs(shape):
    assert (assign(csr_array(shape)).partner == -1).all()
