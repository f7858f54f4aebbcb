"""Matching of large sparse graphs as a whole: right matches, odd graphs, the same match again, memory."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.matching.large_graphs import correlated, some_seeds
from trisplit.errors import InputError
from trisplit.matching.large import estimate, match_large
from trisplit.matching.large.layers import layer_pairs
from trisplit.matching.large.memory import require_memory
from trisplit.matching.large.profiles import from_profiles


def assert_valid(permutation, n_A, n_B):
    assert permutation.shape == (n_A,)
    matched = permutation[permutation >= 0]
    assert np.unique(matched).size == matched.size == min(n_A, n_B)
    assert matched.size == 0 or matched.max() < n_B


@pytest.mark.slow
def test_5000_vertices_with_one_percent_of_seeds():
    rng = np.random.default_rng(0)
    A, B, truth = correlated(5000, 20, 0.9, rng)
    assert (match_large((A,), (B,), seeds=some_seeds(truth, 50, rng)).permutation == truth).mean() >= 0.99


def test_seeds_find_the_match_and_the_score_is_right():
    rng = np.random.default_rng(0)
    A, B, truth = correlated(400, 20, 0.8, rng)
    done = match_large((A,), (B,), seeds=some_seeds(truth, 8, rng))
    assert done.converged
    assert (done.permutation == truth).mean() >= 0.99
    p = done.permutation
    assert done.score == A.multiply(B[p][:, p]).sum()
    assert (np.asarray(done.witnesses.argmax(axis=1)).ravel() == p).mean() > 0.95


def test_a_similarity_takes_the_place_of_seeds():
    rng = np.random.default_rng(1)
    A, B, truth = correlated(400, 20, 0.9, rng)
    rows = np.repeat(np.arange(400), 6)
    columns = rng.integers(0, 400, rows.size)
    columns[::6] = truth  # one of six is right, and nothing tells which
    S = csr_array((np.full(rows.size, 0.01), (rows, columns)), shape=(400, 400))
    assert (match_large((A,), (B,), similarity=S).permutation == truth).mean() >= 0.99


@pytest.mark.parametrize("exchange", [False, True])
def test_unequal_sizes(exchange):
    rng = np.random.default_rng(2)
    A, B, truth = correlated(400, 20, 0.95, rng)
    A = csr_array(A[:330][:, :330])
    seeds = some_seeds(truth[:330], 12, rng)
    if exchange:
        p = match_large((B,), (A,), seeds=seeds[:, ::-1]).permutation
        assert_valid(p, 400, 330)
        assert (p[truth[:330]] == np.arange(330)).mean() >= 0.99
    else:
        p = match_large((A,), (B,), seeds=seeds).permutation
        assert_valid(p, 330, 400)
        assert (p == truth[:330]).mean() >= 0.99


def test_directed_weighted_layers():
    rng, n = np.random.default_rng(3), 300
    truth = rng.permutation(n)
    A = [(rng.random((n, n)) < 0.02) * rng.integers(1, 9, (n, n)) for _ in range(2)]
    B = []
    for M in A:
        B.append(np.zeros((n, n)))
        B[-1][np.ix_(truth, truth)] = M * (rng.random((n, n)) < 0.85)
    layers = [tuple(csr_array(M.astype(float)) for M in G) for G in (A, B)]
    assert (match_large(*layers, seeds=some_seeds(truth, 6, rng)).permutation == truth).mean() >= 0.99


@pytest.mark.parametrize("n_A", [0, 1, 2, 7])
@pytest.mark.parametrize("n_B", [0, 1, 5])
@pytest.mark.parametrize("full", [False, True])
def test_tiny_and_empty_graphs(n_A, n_B, full):
    A, B = (csr_array(np.ones((n, n)) * full) for n in (n_A, n_B))
    for seeds in ([], [[0, 0]] if min(n_A, n_B) else []):
        assert_valid(match_large((A,), (B,), seeds=np.array(seeds, int).reshape(-1, 2), rng=0).permutation, n_A, n_B)


def test_isolated_vertices_and_an_empty_graph_next_to_a_full_one():
    rng = np.random.default_rng(4)
    A, B, truth = correlated(200, 3, 1.0, rng)
    done = match_large((A,), (B,), seeds=some_seeds(truth, 30, rng))
    assert_valid(done.permutation, 200, 200)
    assert done.score >= 0.9 * A.nnz
    assert_valid(match_large((A,), (csr_array((200, 200)),), rng=0).permutation, 200, 200)


def test_negative_weights_are_no_obstacle():
    rng = np.random.default_rng(5)
    A, B, truth = correlated(200, 15, 1.0, rng)
    done = match_large((-A,), (-B,), seeds=some_seeds(truth, 10, rng))
    assert (done.permutation == truth).mean() >= 0.99
    assert_valid(match_large((-A,), (B,), seeds=some_seeds(truth, 10, rng)).permutation, 200, 200)


def test_graphs_without_seeds_get_the_same_match_again():
    A, B, _ = correlated(200, 10, 0.9, np.random.default_rng(6))
    kept = [M.copy() for M in (A, B)]
    first, second = (match_large((A,), (B,), rng=7, max_iter=20) for _ in range(2))
    assert_valid(first.permutation, 200, 200)
    assert np.array_equal(first.permutation, second.permutation)
    assert all((M != old).nnz == 0 for M, old in zip((A, B), kept, strict=True))


def test_progress_tells_of_rounds():
    A, B, truth = correlated(100, 10, 0.9, np.random.default_rng(6))
    lines = []
    match_large((A,), (B,), seeds=some_seeds(truth, 10, np.random.default_rng(0)), progress=lines.append)
    assert "GiB" in lines[0]
    assert any("percolation" in line for line in lines)


def test_an_interrupt_between_rounds_goes_through_and_leaves_the_graphs_alone():
    A, B, truth = correlated(100, 10, 0.9, np.random.default_rng(6))
    seeds, before = some_seeds(truth, 10, np.random.default_rng(0)), A.copy()

    def interrupt(line):
        if "round 2" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match_large((A,), (B,), seeds=seeds, progress=interrupt)
    assert (A != before).nnz == 0
    assert_valid(match_large((A,), (B,), seeds=seeds).permutation, 100, 100)


def test_errors_in_one_line():
    A = csr_array(np.ones((3, 3)))
    for wrong in (
        {"seeds": np.array([[0, 3]])},
        {"seeds": np.array([[0, 1], [0, 2]])},
        {"seeds": np.array([[0, 1], [1, 1]])},
        {"seeds": np.array([[-1, 0]])},
        {"similarity": csr_array((2, 3))},
    ):
        with pytest.raises(InputError, match=next(iter(wrong))):
            match_large((A,), (A,), **wrong)
    with pytest.raises(InputError, match="layers"):
        match_large((A, A), (A,))


def test_what_cannot_fit_is_refused_before(monkeypatch):
    monkeypatch.setattr("trisplit.matching.large.memory.available_bytes", lambda: 2**34)
    small, large = estimate(100, 100, 1000, 1000), estimate(10**8, 10**8, 10**10, 10**10)
    assert large.bytes > 100 * small.bytes
    assert large.seconds > small.seconds
    with pytest.raises(InputError, match="GiB"):
        require_memory(large)
    require_memory(small)


@pytest.mark.parametrize("n_A", [400, 380])
def test_surroundings_find_the_match_without_seeds(n_A):
    rng = np.random.default_rng(8)
    A, B, truth = correlated(400, 20, 0.95, rng)
    A = csr_array(A[:n_A][:, :n_A])
    assert (match_large((A,), (B,), rng=0).permutation == truth[:n_A]).mean() >= 0.99


def test_profiles_do_not_depend_on_the_order_of_vertices():
    rng = np.random.default_rng(9)
    A, B, truth = correlated(300, 12, 1.0, rng)
    pattern = from_profiles(layer_pairs((A,), (B,)), np.full(300, -1), 1, np.random.default_rng(0))
    connected = np.flatnonzero(np.diff(A.indptr) > 2)
    assert (np.asarray(pattern[connected, truth[connected]]).ravel() > 0).mean() >= 0.98
