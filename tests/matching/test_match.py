"""graph_match: right answers where they are known, and a one-line error where there is none."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import trisplit as ts
from trisplit.errors import InputError
from trisplit.matching import graph_match


def correlated(n, p, r, seed, directed=False):
    """Return A, B and the vertex of B for each vertex of A: edges of density p with correlation r."""
    rng = np.random.default_rng(seed)
    A = rng.random((n, n)) < p
    B = rng.random((n, n)) < np.where(A, p + r * (1 - p), p * (1 - r))
    if not directed:
        A, B = (np.triu(M, 1) | np.triu(M, 1).T for M in (A, B))
    for M in (A, B):
        np.fill_diagonal(M, False)
    q = rng.permutation(n)
    return A.astype(float), B[np.ix_(q, q)].astype(float), np.argsort(q)


def right(result, truth):
    return float((result.permutation == truth).mean())


METHODS = ("tos", "concave", "faq", "transport")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("directed", [False, True])
def test_a_relabelled_graph_is_recognised(method, directed):
    A, B, truth = correlated(60, 0.4, 1.0, 0, directed)
    res = graph_match(A, B, method=method, rng=0)
    assert right(res, truth) == 1.0
    assert res.score == A.sum() == res.bound
    assert res.alignment_strength == pytest.approx(1.0)
    assert (res.confidence > 0.3).all()
    assert (res.agreement == 1.0).all()


def test_without_seeds_where_frank_wolfe_fails():
    A, B, truth = correlated(150, 0.5, 0.85, 1)
    assert right(graph_match(A, B, rng=0), truth) == 1.0
    assert right(graph_match(A, B, method="faq", rng=0), truth) < 0.2


@pytest.mark.parametrize("method", METHODS)
def test_seeds_in_any_order_stay_and_help(method):
    A, B, truth = correlated(100, 0.5, 0.8, 2)
    seeds = np.random.default_rng(0).permutation(100)[:10]
    res = graph_match(A, B, partial_match=np.c_[seeds, truth[seeds]], method=method, rng=0)
    assert right(res, truth) == 1.0
    assert (res.confidence[seeds] == 1.0).all()
    wrong = np.c_[seeds, truth[np.roll(seeds, 1)]]
    kept = graph_match(A, B, partial_match=wrong, method=method, rng=0)
    assert (kept.permutation[wrong[:, 0]] == wrong[:, 1]).all()


def test_seeds_as_two_sequences_and_repeated():
    A, B, truth = correlated(40, 0.5, 0.9, 3)
    pairs = [[7, truth[7]], [2, truth[2]], [7, truth[7]]]
    first = graph_match(A, B, partial_match=pairs, rng=0)
    second = graph_match(A, B, partial_match=([2, 7], [truth[2], truth[7]]), rng=0)
    assert first.seeds == second.seeds == 2
    assert (first.permutation == second.permutation).all()


def test_every_vertex_a_seed():
    A, B, truth = correlated(12, 0.5, 0.9, 4)
    res = graph_match(A, B, partial_match=np.c_[np.arange(12), truth], rng=0)
    assert right(res, truth) == 1.0


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6), st.booleans())
@settings(max_examples=25, deadline=None)
def test_small_ones_are_matched_and_counted_rightly(n_A, n_B, seed, maximize):
    """Sizes, bounds and the score of what comes back, whatever the graphs are; exact if exchanges reach the best."""
    rng = np.random.default_rng(seed)
    A, B = (rng.integers(0, 3, (n, n)) for n in (n_A, n_B))
    res = graph_match(A, B, rng=seed, maximize=maximize)
    i, k = res.indices_A, res.indices_B
    assert len(i) == len(k) == min(n_A, n_B)
    assert len(set(k.tolist())) == len(k)
    assert sorted([*i, *res.unmatched_A]) == list(range(n_A))
    assert sorted([*k, *res.unmatched_B]) == list(range(n_B))
    assert res.score == (A[np.ix_(i, i)] * B[np.ix_(k, k)]).sum()
    sign = 1 if maximize else -1
    assert sign * res.bound >= sign * res.score
    if n_A == n_B:
        every = [(A * B[np.ix_(p, p)]).sum() for p in map(list, permutations(range(n_A)))]
        best = max(every) if maximize else min(every)
        assert sign * res.score <= sign * best
        assert sign * res.score >= sign * np.median(every)


@pytest.mark.parametrize("padding", ["naive", "adopted"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_part_of_a_graph_is_found_in_it(padding, turned):
    A, B, truth = correlated(60, 0.5, 1.0, 5)
    keep = np.sort(np.random.default_rng(1).permutation(60)[:50])
    seeds = np.arange(5)
    small, pairs = A[np.ix_(keep, keep)], np.c_[seeds, truth[keep][seeds]]
    if turned:
        res = graph_match(B, small, partial_match=pairs[:, ::-1], padding=padding, rng=0)
        found, expected = res.indices_A[np.argsort(res.indices_B)], truth[keep]
    else:
        res = graph_match(small, B, partial_match=pairs, padding=padding, rng=0)
        found, expected = res.permutation, truth[keep]
    assert (found == expected).mean() > 0.9
    assert len(res.unmatched_B if not turned else res.unmatched_A) == 10


def test_layers_know_more_than_each_alone():
    first, second = correlated(50, 0.5, 0.9, 6), correlated(50, 0.2, 0.9, 6)
    q = np.random.default_rng(2).permutation(50)
    layers_A = [first[0], second[0]]
    layers_B = [M[np.ix_(q, q)] for M in (first[0], second[0])]
    res = graph_match(layers_A, layers_B, rng=0)
    assert right(res, np.argsort(q)) == 1.0
    assert res.score == sum(M.sum() for M in layers_A)


def test_bisected_matching_uses_the_edges_between():
    """Without edges inside, only those between the halves tell the vertices apart."""
    rng = np.random.default_rng(7)
    n = 30
    between = (rng.random((n, n)) < 0.4).astype(float)
    q = rng.permutation(n)
    nothing = np.zeros((n, n))
    # Vertex i of A is vertex p_i of B: what i sends to p_j comes back from p_i to j.
    p = np.argsort(q)
    AB = np.empty((n, n))
    AB[:, p] = between
    BA = np.empty((n, n))
    BA[p, :] = between
    inside, inside_B = correlated(n, 0.3, 0.5, 8)[:2]
    truth_score = (AB[:, p] * BA[p]).sum()
    assert truth_score == between.sum()
    res = graph_match(nothing, nothing, AB, BA, partial_match=[[k, p[k]] for k in range(4)], rng=0)
    assert res.score == truth_score
    assert right(res, p) == 1.0
    with pytest.raises(InputError, match="`AB` needs `BA`"):
        graph_match(inside, inside_B, AB=AB)


def test_similarity_is_a_soft_prior():
    n = 20
    ring = np.roll(np.eye(n), 1, axis=1)
    ring += ring.T
    p = np.random.default_rng(3).permutation(n)
    B = np.empty_like(ring)
    B[np.ix_(p, p)] = ring
    S = np.zeros((n, n))
    S[0, p[0]] = S[1, p[1]] = 5.0
    res = graph_match(ring, B, S=S, rng=0)
    assert right(res, p) == 1.0
    assert res.score == ring.sum() + 10.0
    assert graph_match(sparse.csr_array(ring), B, S=sparse.csr_array(S), rng=0).score == res.score


def test_sparse_and_dense_and_labels_agree():
    networkx = pytest.importorskip("networkx")
    G = networkx.karate_club_graph()
    order = np.random.default_rng(0).permutation(34)
    H = networkx.relabel_nodes(G, {k: f"v{order[k]}" for k in G})
    res = graph_match(G, H, rng=0)
    assert res.score == sum(2 * w["weight"] ** 2 for _, _, w in G.edges(data=True))
    assert res.labels_A is None
    assert [H.has_node(label) for label in res.labels_B] == [True] * 34
    M = networkx.to_scipy_sparse_array(G)
    assert graph_match(M, M.toarray(), rng=0).score == res.score


def test_same_seed_same_match_for_any_number_of_jobs():
    A, B, _ = correlated(60, 0.5, 0.5, 9)
    runs = [graph_match(A, B, n_init=4, init_perturbation=0.3, n_jobs=jobs, rng=5) for jobs in (None, 1, 3, -1)]
    assert all((one.permutation == runs[0].permutation).all() for one in runs)
    assert all([m["score"] for m in one.misc] == [m["score"] for m in runs[0].misc] for one in runs)
    assert runs[0].stability.shape == (60,)
    assert runs[0].stability.min() >= 0.25
    assert len(runs[0].misc) == 4


def test_nothing_that_was_given_is_changed():
    A, B, truth = correlated(30, 0.5, 0.8, 10)
    seeds, S, init = np.array([[1, truth[1]]]), np.ones((30, 30)), np.full((29, 29), 1 / 29)
    copies = [M.copy() for M in (A, B, seeds, S, init)]
    graph_match(A, B, S=S, partial_match=seeds, init=init, rng=0)
    assert all((one == other).all() for one, other in zip((A, B, seeds, S, init), copies, strict=True))


def test_an_initial_matrix_follows_the_order_of_the_vertices():
    A, B, truth = correlated(40, 0.3, 0.6, 11)
    free = np.setdiff1d(np.arange(40), [3])
    columns = np.setdiff1d(np.arange(40), [truth[3]])
    init = np.zeros((39, 39))
    init[np.arange(39), np.searchsorted(columns, truth[free])] = 1.0
    for method in METHODS:
        res = graph_match(A, B, partial_match=[[3, truth[3]]], init=init, method=method, rng=0, max_iter=10)
        assert right(res, truth) > 0.9, method


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_empty_graphs(n):
    res = graph_match(np.zeros((n, n)), np.zeros((n, n)), rng=0)
    assert res.score == 0.0
    assert sorted(res.indices_B) == list(range(n))
    assert graph_match(sparse.csr_array((n, n)), np.zeros((0, 0)), rng=0).indices_A.size == 0


def test_disconnected_vertices_are_matched_somewhere():
    A, B, truth = correlated(50, 0.4, 1.0, 12)
    A[40:], A[:, 40:] = 0, 0
    B[truth[40:]], B[:, truth[40:]] = 0, 0
    res = graph_match(A, B, rng=0)
    assert (res.permutation[:40] == truth[:40]).all()
    assert (res.confidence[40:] == 0.0).all()
    assert np.isnan(res.agreement[40:]).all()
    sure = graph_match(A, B, rng=0, min_confidence=0.05)
    assert sure.unmatched_A.tolist() == list(range(40, 50))
    assert sure.score == res.score


def test_runners_up_of_twins_are_the_twins():
    A, B, truth = correlated(30, 0.5, 1.0, 13)
    A[1], A[:, 1] = A[0], A[:, 0]
    A[0, 1] = A[1, 0] = A[0, 0] = A[1, 1] = 0
    B = np.empty_like(A)
    B[np.ix_(truth, truth)] = A
    res = graph_match(A, B, rng=0)
    assert {res.indices_B[0], res.indices_B[1]} == {truth[0], truth[1]}
    assert res.runners_up[0, 0] == res.indices_B[1]
    assert res.confidence[0] == res.confidence[1] == 0.0


@pytest.mark.parametrize("joined", [0, 1])
def test_vertices_that_may_change_places_are_not_sure(joined, monkeypatch):
    """Twins, joined or not, whichever strategy matches the graphs."""
    A, _, truth = correlated(40, 0.4, 1.0, 16)
    A[1], A[:, 1] = A[0], A[:, 0]
    A[:2, :2] = 0
    A[0, 1] = A[1, 0] = joined
    B = np.empty_like(A)
    B[np.ix_(truth, truth)] = A
    dense = graph_match(A, B, rng=0)
    monkeypatch.setattr("trisplit.matching.strategies.SPARSE", 10)
    seeds = np.c_[np.arange(30, 40), truth[30:]]
    thin = graph_match(sparse.csr_array(A), sparse.csr_array(B), partial_match=seeds, rng=0)
    for res in (dense, thin):
        assert (res.permutation[2:] == truth[2:]).all()
        assert res.confidence[:2].tolist() == [0.0, 0.0]
        assert (res.confidence[2:] > 0.2).all()
        assert res.runners_up[0, 0] == res.indices_B[1]


def test_disagreements_are_those_of_the_exchanged_match():
    """For each pair, by the definition: exchange i and j, and compare the edges of i with those of its new vertex."""
    from trisplit.matching.objective import MatchObjective
    from trisplit.matching.rounding import disagreements

    rng = np.random.default_rng(17)
    A, B = rng.standard_normal((2, 6, 6))
    f, p = MatchObjective(((A, B),), (), None), rng.permutation(6)
    D, unit = disagreements(f, p, f.gradient_at(p)), (abs(B).max() / abs(A).max()) ** 0.5
    for i in range(6):
        for j in range(6):
            q = p.copy()
            q[[i, j]] = q[[j, i]]
            M = A * unit - B[np.ix_(q, q)] / unit
            assert D[i, j] == pytest.approx((M[i] ** 2).sum() + (M[:, i] ** 2).sum())


def test_large_sparse_graphs_take_the_sparse_strategy():
    rng, n = np.random.default_rng(14), 1600
    rows, columns = rng.integers(0, n, (2, 12 * n))
    A = sparse.coo_array((np.ones(12 * n), (rows, columns)), shape=(n, n)).tocsr()
    A = sparse.csr_array(((A + A.T) > 0).astype(float))
    p = rng.permutation(n)
    B = A[p][:, p]
    truth = np.argsort(p)
    seeds = rng.permutation(n)[:32]
    res = graph_match(A, B, partial_match=np.c_[seeds, truth[seeds]], rng=0)
    assert right(res, truth) > 0.99
    assert "common neighbours" in res.message
    assert np.median(res.confidence) == 1.0
    assert res.bound >= res.score


NAN = np.array([[0.0, np.nan], [np.nan, 0.0]])
TWO, THREE = np.ones((2, 2)), np.ones((3, 3))
BAD = [
    ({"A": NAN}, "`A`"),
    ({"B": np.full((2, 2), np.inf)}, "`B`"),
    ({"A": np.ones((2, 3))}, "square"),
    ({"A": [TWO, TWO]}, "layers"),
    ({"S": np.ones((3, 2))}, "`S` must have shape \\(2, 2\\)"),
    ({"S": NAN}, "`S` must be finite"),
    ({"S": "alike"}, "`S` must be real numbers"),
    ({"AB": THREE, "BA": TWO}, "`AB` must have shape"),
    ({"partial_match": [[0, 0], [0, 1]]}, "contradicts itself"),
    ({"partial_match": [[0, 1], [1, 1]]}, "contradicts itself"),
    ({"partial_match": [[0, 5]]}, "below 2"),
    ({"partial_match": [[0.5, 1]]}, "integers"),
    ({"partial_match": ([0], [0, 1])}, "as many"),
    ({"init": THREE / 3}, "`init` must have shape"),
    ({"init": TWO}, "doubly stochastic"),
    ({"init": "middle"}, "choose one of"),
    ({"method": "magic"}, "choose one of"),
    ({"padding": "zeros"}, "choose one of"),
    ({"max_iter": 0}, "`max_iter`"),
    ({"n_init": 0}, "`n_init`"),
    ({"n_jobs": 0}, "`n_jobs`"),
    ({"tol": -1}, "`tol`"),
    ({"tol": np.nan}, "`tol`"),
    ({"rng": -1}, "`rng`"),
    ({"maximize": "yes"}, "`maximize`"),
    ({"init_perturbation": 2}, "`init_perturbation`"),
    ({"min_confidence": -0.1}, "`min_confidence`"),
    ({"transport": True, "transport_tol": 0}, "`transport_tol`"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_is_named_in_one_line(change, message):
    with pytest.raises(InputError, match=message) as caught:
        graph_match(**({"A": TWO, "B": TWO} | change))
    assert "\n" not in str(caught.value)


def test_what_does_not_fit_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr("trisplit.matching.strategies.available_bytes", lambda: 10_000)
    with pytest.raises(InputError, match="pass sparse graphs"):
        graph_match(np.ones((200, 200)), np.ones((200, 200)))


def test_lines_on_progress(capsys):
    A, B, _ = correlated(30, 0.5, 0.5, 15)
    lines = []
    graph_match(A, B, rng=0, verbose=lines.append)
    assert any("splitting" in line for line in lines)
    graph_match(A, B, rng=0, verbose=1)
    assert "splitting" in capsys.readouterr().err
    res = ts.matching.graph_match(A, B, rng=0)
    assert res.certificate.kind in ("gap", "bound")


def test_where_the_sparse_way_leads_to_nothing_dense_matrices_are_tried(monkeypatch):
    monkeypatch.setattr("trisplit.matching.strategies.SPARSE", 50)
    A, B, truth = correlated(150, 0.5, 0.85, 1)
    lines = []
    res = graph_match(sparse.csr_array(A), sparse.csr_array(B), rng=0, verbose=lines.append)
    assert right(res, truth) == 1.0
