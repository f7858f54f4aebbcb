"""Witnesses against the plain sparse product, and what a round of percolation must keep."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.matching.large_graphs import correlated, some_seeds
from trisplit.matching.large import candidates
from trisplit.matching.large.layers import layer_pairs
from trisplit.matching.large.percolation import percolate, witnesses
from trisplit.matching.large.refine import complete, refine

TINY = float(np.finfo(float).tiny)


def random_layers(kind, n_A, n_B, seed=0):
    rng = np.random.default_rng(seed)
    layers = 2 if "layers" in kind else 1

    def graph(n):
        M = (rng.random((n, n)) < 0.3) * (rng.integers(1, 5, (n, n)) if "weighted" in kind else 1.0)
        return csr_array(M if "directed" in kind else np.triu(M) + np.triu(M, 1).T)

    A, B = (tuple(graph(n) for _ in range(layers)) for n in (n_A, n_B))
    S = csr_array((rng.random((n_A, n_B)) < 0.2) * 2.0) if "similar" in kind else None
    return A, B, S


def partial_match(n_A, n_B, count, seed=1):
    rng = np.random.default_rng(seed)
    partner = np.full(n_A, -1)
    partner[rng.choice(n_A, count, replace=False)] = rng.choice(n_B, count, replace=False)
    return partner


KINDS = ["plain", "weighted", "directed", "layers", "similar", "weighted directed layers similar"]


@pytest.mark.parametrize("kind", KINDS)
def test_witnesses_are_the_entries_of_the_product(kind):
    A, B, S = random_layers(kind, 12, 15)
    graphs, partner = layer_pairs(A, B, S), partial_match(12, 15, 8)
    P = candidates.pairs_of(partner, (12, 15)).toarray()
    gradient = sum(a @ P @ b.T + a.T @ P @ b for a, b in zip(A, B, strict=True)) + (0 if S is None else S.toarray())
    half = 1 if "directed" in kind else 2
    W, _ = witnesses(graphs, partner, fixed=np.full(12, -1), least=TINY, kept=15)
    assert np.array_equal(W.toarray() * half, gradient)
    assert np.array_equal(graphs.common(partner).toarray() * half, gradient)


@pytest.mark.parametrize("kept", [1, 2, 5])
def test_the_best_pairs_are_kept(kept):
    A, B, _ = random_layers("plain", 30, 30)
    graphs, partner, none = layer_pairs(A, B), partial_match(30, 30, 20), np.full(30, -1)
    W, keys = witnesses(graphs, partner, fixed=none, least=1.0)
    few, few_keys = witnesses(graphs, partner, fixed=none, least=1.0, kept=kept)
    for i in range(30):
        row = np.sort(keys[W.indptr[i] : W.indptr[i + 1]])[::-1]
        best = np.sort(few_keys[few.indptr[i] : few.indptr[i + 1]])[::-1]
        assert np.array_equal(row[:kept], best)


@pytest.mark.parametrize("kind", KINDS)
def test_the_score_is_its_definition(kind):
    A, B, S = random_layers(kind, 10, 12)
    p = partial_match(10, 12, 7)
    matched = np.flatnonzero(p >= 0)
    score = sum(
        (a.toarray()[np.ix_(matched, matched)] * b.toarray()[np.ix_(p[matched], p[matched])]).sum()
        for a, b in zip(A, B, strict=True)
    )
    score += 0 if S is None else S.toarray()[matched, p[matched]].sum()
    graphs = layer_pairs(A, B, S)
    assert graphs.score(p) == score
    assert graphs.turned().score(candidates.inverse(p, 12)) == score


@pytest.mark.parametrize("correlation", [1.0, 0.9, 0.7])
def test_few_seeds_grow_to_the_right_match(correlation):
    rng = np.random.default_rng(0)
    A, B, truth = correlated(500, 20, correlation, rng)
    fixed = np.full(500, -1)
    seeds = some_seeds(truth, 12, rng)
    fixed[seeds[:, 0]] = seeds[:, 1]
    done = percolate(layer_pairs((A,), (B,)), fixed)
    assert done.converged
    assert (done.partner == truth).mean() >= 0.99


def test_seeds_stay_even_if_they_are_wrong():
    rng = np.random.default_rng(0)
    A, B, truth = correlated(300, 15, 0.9, rng)
    seeds = some_seeds(truth, 20, rng)
    seeds[:4, 1] = seeds[[1, 2, 3, 0], 1]
    fixed = np.full(300, -1)
    fixed[seeds[:, 0]] = seeds[:, 1]
    graphs = layer_pairs((A,), (B,))
    done = refine(graphs, percolate(graphs, fixed).partner, fixed)
    assert (done.partner[seeds[:, 0]] == seeds[:, 1]).all()
    assert (done.partner == truth).mean() >= 0.95


def test_errors_of_the_start_correct_themselves():
    rng = np.random.default_rng(0)
    A, B, truth = correlated(500, 20, 0.9, rng)
    start = truth.copy()
    wrong = rng.choice(500, 350, replace=False)
    start[wrong] = truth[np.roll(wrong, 1)]
    assert (percolate(layer_pairs((A,), (B,)), np.full(500, -1), start=start).partner == truth).all()


def test_refinement_never_lowers_the_score():
    rng = np.random.default_rng(3)
    A, B, _ = correlated(200, 10, 0.6, rng)
    graphs = layer_pairs((A,), (B,))
    p = rng.permutation(200)
    assert graphs.score(refine(graphs, p, np.full(200, -1)).partner) >= graphs.score(p)


def test_completion_matches_the_smaller_graph_wholly():
    A, B, _ = random_layers("plain", 9, 13)
    for a, b, n in ((A, B, 9), (B, A, 9)):
        partner = complete(layer_pairs(a, b), partial_match(a[0].shape[0], b[0].shape[0], 4))
        matched = partner[partner >= 0]
        assert np.unique(matched).size == matched.size == n


def test_candidates_hold_seeds_alone_in_their_lines():
    rng = np.random.default_rng(0)
    A, B, truth = correlated(150, 8, 0.9, rng)
    seeds = some_seeds(truth, 10, rng)
    fixed = np.full(150, -1)
    fixed[seeds[:, 0]] = seeds[:, 1]
    S = csr_array(rng.random((150, 150)))
    graphs = layer_pairs((A,), (B,), S)
    for pattern in (
        candidates.from_witnesses(graphs, fixed, fixed, 5),
        candidates.from_similarity(S, fixed, 5),
        candidates.spectral((A,), (B,), fixed, 5, rng),
    ):
        there = pattern.toarray() > 0
        assert there[seeds[:, 0], seeds[:, 1]].all()
        assert (there[seeds[:, 0]].sum(axis=1) == 1).all()
        assert (there[:, seeds[:, 1]].sum(axis=0) == 1).all()
        assert pattern.has_sorted_indices


def test_spectral_candidates_find_an_isomorphic_graph():
    """The leading eigenvectors of a graph with hubs tell its vertices apart, whatever their signs."""
    rng = np.random.default_rng(0)
    weights = rng.random(200) ** -0.4
    A = np.triu(rng.random((200, 200)) < 0.02 * np.outer(weights, weights), 1).astype(float)
    A, truth = A + A.T, rng.permutation(200)
    B = np.empty_like(A)
    B[np.ix_(truth, truth)] = A
    pattern = candidates.spectral((csr_array(A),), (csr_array(B),), np.full(200, -1), 3, rng)
    edges = A.sum(axis=1) > 0
    assert (np.asarray(pattern[np.arange(200), truth]).ravel()[edges] > 0).mean() >= 0.9
