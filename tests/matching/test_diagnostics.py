"""Diagnostics of a match are what they are called: by enumeration of all matches, for sparse and dense alike."""

from itertools import permutations
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.matching.results import a_pair
from trisplit.errors import InputError
from trisplit.matching.diagnostics import alignment_strength, chance, edge_agreement, stability
from trisplit.matching.moments import mean_overlap, overlap_variance

KINDS = [
    {},
    {"loops": True},
    {"directed": True},
    {"weighted": True, "loops": True, "directed": True},
]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: " ".join(kind) or "simple")
measures = pytest.mark.parametrize("measure", [alignment_strength, chance, edge_agreement])


def layers(kind, n, count=2):
    """Return layers of two graphs with signed weights in the last layer."""
    rng = np.random.default_rng(8)
    pairs = [a_pair(n, 0.5, 0.4, seed, **kind)[:2] for seed in range(count)]
    return [A for A, _ in pairs], [B * rng.choice([1, -1]) for _, B in pairs]


def all_matches(n):
    return [np.array(p) for p in permutations(range(n))]


@kinds
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_alignment_strength_is_0_on_average_over_all_matches(kind, n):
    A, B = layers(kind, n)
    found = [alignment_strength(A, B, np.arange(n), p) for p in all_matches(n)]
    if any(map(isnan, found)):
        assert all(map(isnan, found))
        difference = [sum(np.abs(a - b[np.ix_(p, p)]).sum() for a, b in zip(A, B, strict=True)) for p in all_matches(n)]
        assert not any(difference)
    else:
        assert abs(np.mean(found)) < 1e-12


@kinds
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_overlap_has_this_mean_and_variance_over_all_matches(kind, n):
    A, B = layers(kind, n, 3)
    overlaps = [
        sum((a * b[np.ix_(p, p)]).sum() for a, b in zip(A, B, strict=True)) for p in map(np.array, all_matches(n))
    ]
    assert mean_overlap(A, B) == pytest.approx(np.mean(overlaps), abs=1e-12)
    assert overlap_variance(A, B) == pytest.approx(np.var(overlaps), abs=1e-10)
    scores = np.array([chance(A, B, np.arange(n), p) for p in all_matches(n)])
    if np.var(overlaps) > 1e-12:
        assert abs(scores.mean()) < 1e-10
        assert scores.std() == pytest.approx(1.0)
    else:
        assert np.isnan(scores).all()


def test_alignment_strength_of_simple_graphs_is_the_formula_with_densities():
    A, B, p = a_pair(30)
    n, i = len(p), np.arange(len(p))
    d_A, d_B = A.sum() / n / (n - 1), B.sum() / n / (n - 1)
    disagreements = (A != B[np.ix_(p, p)]).sum()
    expected = n * (n - 1) * (d_A * (1 - d_B) + (1 - d_A) * d_B)
    assert alignment_strength([A], [B], i, p) == pytest.approx(1 - disagreements / expected)


@kinds
def test_a_graph_agrees_with_itself(kind):
    A, _, p = a_pair(12, **kind)
    B = np.zeros_like(A)
    B[np.ix_(p, p)] = A
    i = np.arange(12)
    assert alignment_strength([A], [B], i, p) == 1.0
    assert (edge_agreement([A], [B], i, p) == 1.0).all()
    best = chance([A], [B], i, p)
    rng = np.random.default_rng(0)
    assert all(chance([A], [B], i, rng.permutation(12)) <= best for _ in range(50))


@measures
@kinds
def test_names_of_vertices_and_the_order_of_matches_do_not_matter(measure, kind):
    A, B, p = a_pair(9, **kind)
    rng = np.random.default_rng(1)
    q, r, order = (rng.permutation(9) for _ in range(3))
    i = np.arange(9)
    direct = measure([A], [B], i, p)
    A2, B2 = np.zeros_like(A), np.zeros_like(B)
    A2[np.ix_(q, q)], B2[np.ix_(r, r)] = A, B
    moved = measure([A2], [B2], q[order], r[p][order])
    assert np.allclose(moved, np.asarray(direct)[order] if np.ndim(direct) else direct, equal_nan=True)


@measures
@kinds
@pytest.mark.parametrize("dense", [(), ("A",), ("B",)])
def test_sparse_equals_dense_and_no_sparse_graph_becomes_dense(measure, kind, dense, monkeypatch):
    A, B = layers(kind, 11)
    chosen = np.random.default_rng(2).permutation(11)[:8], np.random.default_rng(3).permutation(11)[:8]
    expected = measure(A, B, *chosen)
    A, B = (
        layer if name in dense else [sparse.csr_array(one) for one in layer] for name, layer in (("A", A), ("B", B))
    )

    def refuse(*_):
        raise AssertionError("a sparse graph became dense")

    if not dense:
        for name in ("toarray", "todense"):
            monkeypatch.setattr(sparse.csr_array, name, refuse)
            monkeypatch.setattr(sparse.csc_array, name, refuse)
    assert np.allclose(measure(A, B, *chosen), expected, equal_nan=True)


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_agreement_is_what_the_parts_of_either_sign_have_in_common(seed):
    rng = np.random.default_rng(seed)
    A, B = (rng.integers(-2, 3, (5, 5)).astype(float) for _ in range(2))
    found = edge_agreement([A], [B], np.arange(5), np.arange(5))
    for k in range(5):
        common = whole = 0.0
        for i in range(5):
            for j in range(5):
                if k in (i, j):
                    a, b = A[i, j], B[i, j]
                    for sign in (1, -1):
                        common += min(max(sign * a, 0), max(sign * b, 0))
                        whole += max(max(sign * a, 0), max(sign * b, 0))
        assert found[k] == pytest.approx(common / whole if whole else nan, nan_ok=True)


def test_a_large_sparse_graph_takes_the_time_of_its_edges():
    n = 200_000  # as a dense matrix 300 GiB
    rng = np.random.default_rng(0)
    A = sparse.csr_array((np.ones(n), (rng.integers(0, n, n), rng.integers(0, n, n))), shape=(n, n))
    p = rng.permutation(n)
    assert abs(alignment_strength([A], [A], np.arange(n), p)) < 0.01
    assert abs(chance([A], [A], np.arange(n), p)) < 8
    assert edge_agreement([A], [A], np.arange(n), np.arange(n))[A.sum(axis=1) > 0].min() == 1.0


@measures
def test_nothing_to_judge(measure):
    none = np.zeros(0, dtype=int)
    for matrix in (np.zeros((3, 3)), sparse.csr_array((3, 3)), np.zeros((0, 0))):
        assert np.isnan(measure([matrix], [matrix], none, none)).all()
    assert np.isnan(measure([np.zeros((3, 3))], [np.zeros((3, 3))], np.arange(3), np.arange(3))).all()


@pytest.mark.parametrize("n", [2, 7, 40])
def test_matches_of_a_complete_graph_are_all_alike(n):
    A, weights, i = 0.1 * (1 - np.eye(n)), np.random.default_rng(0).random((n, n)), np.arange(n)
    for B in (A, weights - np.diag(np.diag(weights)), np.round(weights)):
        assert isnan(chance([A], [B], i, i))
    assert isnan(alignment_strength([A], [A], i, i))


def test_isolated_vertices_have_no_agreement():
    A = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert np.array_equal(edge_agreement([A], [A], np.arange(3), np.arange(3)), [1, 1, nan], equal_nan=True)


@pytest.mark.parametrize("size", [1.0, 1e-8, 1e8])
def test_the_unit_of_the_weights_does_not_matter(size):
    A, B, p = a_pair(10, weighted=True)
    i = np.arange(10)
    for measure in (alignment_strength, chance, edge_agreement):
        assert np.allclose(measure([size * A], [size * B], i, p), measure([A], [B], i, p), rtol=1e-9, equal_nan=True)


def test_stability_counts_the_starts_that_agree():
    chosen = np.array([2, 0, -1, 1])
    runs = np.array([[2, 0, -1, 1], [2, 1, -1, 0], [0, 2, 1, -1]])
    assert np.allclose(stability(runs, chosen), [2 / 3, 1 / 3, 2 / 3, 1 / 3])
    assert (stability([chosen] * 4, chosen) == 1).all()
    with pytest.raises(InputError, match="row of 4 vertices"):
        stability(runs[:, :3], chosen)


@measures
def test_layers_and_vertices_must_be_as_many(measure):
    A, i = np.zeros((3, 3)), np.arange(3)
    with pytest.raises(InputError, match="`B_layers` must be 2 layers"):
        measure([A, A], [A], i, i)
    with pytest.raises(InputError, match="`indices_B` must be 3 vertices"):
        measure([A], [A], i, i[:2])
