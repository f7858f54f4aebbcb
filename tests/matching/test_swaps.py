"""Swaps of pairs, for several layers and bisected graphs: the change of the score is exact."""

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse

from trisplit.matching import graph_match
from trisplit.matching.objective import MatchObjective
from trisplit.matching.swaps import changes, swap_pairs


def objective(seed, n=7, layers=2, crossed=1, form=np.asarray):
    rng = np.random.default_rng(seed)
    pairs = [[tuple(form(M) for M in rng.standard_normal((2, n, n))) for _ in range(k)] for k in (layers, crossed)]
    return MatchObjective(tuple(pairs[0]), tuple(pairs[1]), rng.standard_normal((n, n)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("layers", "crossed"), [(1, 0), (2, 0), (1, 1), (2, 2)])
def test_changes_are_differences_of_scores(layers, crossed, form):
    f = objective(0, layers=layers, crossed=crossed, form=form)
    p = np.random.default_rng(1).permutation(f.n)
    found = changes(f, p)
    for i in range(f.n):
        for j in range(f.n):
            q = p.copy()
            q[[i, j]] = p[[j, i]]
            assert found[i, j] == pytest.approx(f.value_at(q) - f.value_at(p), abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_in_the_end_no_swap_helps(seed):
    f = objective(seed)
    p, score = swap_pairs(f, np.arange(f.n))
    assert sorted(p) == list(range(f.n))
    assert score == f.value_at(p) >= f.value_at(np.arange(f.n))
    assert changes(f, p).max() <= 1e-10


def test_small_problems_with_layers_and_two_sides_are_mostly_solved():
    rng, best = np.random.default_rng(5), 0
    for _ in range(20):
        (A, B, C, D), (AB, BA) = rng.random((4, 6, 6)), rng.random((2, 6, 6))
        layers = {"A": [A, C], "B": [B, D], "AB": [AB, np.zeros((6, 6))], "BA": [BA, np.zeros((6, 6))]}
        scores = []
        for p in map(list, permutations(range(6))):
            scores.append((A * B[p][:, p]).sum() + (C * D[p][:, p]).sum() + (AB[:, p] * BA[p]).sum())
        best += graph_match(**layers, rng=0).score == pytest.approx(max(scores))
    assert best >= 15
