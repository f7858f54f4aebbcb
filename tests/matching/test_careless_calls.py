"""What a careless user passes: a right answer, or one line that says what to do."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from trisplit.errors import InputError
from trisplit.matching import Graph, GraphMatcher, api, graph_match, strategies

PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
SPARSE = sparse.csr_array(
    np.kron(np.eye(400), np.ones((4, 4)) - np.eye(4))
)  # 1,600 vertices, beyond the dense strategy


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("graph", [SPARSE, PATH])
def test_an_empty_graph_matches_nobody(graph, turned):
    empty = sparse.csr_array((0, 0)) if sparse.issparse(graph) else np.zeros((0, 0))
    res = graph_match(*((empty, graph) if turned else (graph, empty)), n_init=2)
    assert res.matches == 0
    assert res.message == "nothing to match"
    assert len(res.unmatched_A) + len(res.unmatched_B) == graph.shape[0]


def test_ties_where_all_edges_agree_are_no_reason_for_dense_matrices(monkeypatch):
    """In a graph of cliques no vertex is sure, and any match of cliques with cliques is right."""
    monkeypatch.setattr(strategies, "_dense_strategy", lambda *_: pytest.fail("dense matrices"))
    seeds = np.column_stack([np.arange(0, 1600, 4)] * 2)
    res = graph_match(SPARSE, SPARSE, partial_match=seeds, rng=0)
    assert res.score == res.bound == SPARSE.nnz
    assert np.median(res.confidence) == 0.0


def test_a_match_that_is_found_is_not_lost_for_want_of_memory(monkeypatch):
    rng = np.random.default_rng(0)
    A, B = (sparse.random_array((1600, 1600), density=0.005, rng=rng, format="csr") for _ in range(2))
    monkeypatch.setattr("trisplit.matching.strategies.available_bytes", lambda: 10**8)
    assert graph_match(A, B, rng=0).matches == 1600
    for options, remedy in (
        ({"n_init": 2}, "n_init=1"),
        ({"init_perturbation": 0.5}, "init_perturbation=0"),
        ({"method": "faq"}, 'method="tos"'),
        ({"S": np.zeros((1600, 1600))}, "sparse `S`"),
    ):
        with pytest.raises(InputError, match=f"{remedy}, so that no dense matrix is needed"):
            graph_match(A, B, rng=0, **options)
    with pytest.raises(InputError, match="pass sparse graphs"):
        graph_match(A.toarray(), B)


def test_padding_is_part_of_the_memory():
    n = 3_000_000
    seeds = np.column_stack([np.arange(n - 10)] * 2)
    with pytest.raises(InputError, match=r"GiB.*padding=\"naive\""):
        graph_match(sparse.csr_array((n, n)), sparse.csr_array((n - 1, n - 1)), padding="adopted", partial_match=seeds)


def test_runners_up_are_vertices_of_the_other_graph():
    rng = np.random.default_rng(3)
    A, B = (np.triu(rng.random((n, n)) < 0.3, 1) for n in (40, 30))
    for padding in ("naive", "adopted"):
        res = graph_match(A + A.T, B + B.T, padding=padding, rng=0)
        assert ((res.runners_up >= 0) & (res.runners_up < 30)).all()
        assert (res.runners_up != res.indices_B[:, None]).all()


@pytest.mark.parametrize(
    ("layers", "labels", "said"),
    [
        (([[0, 1]],), None, "square"),
        ((np.array([[np.nan]]),), None, "finite"),
        ((PATH,), ("a", "b"), "a label of its own"),
        ((PATH, np.eye(2)), None, "one size"),
        ((), None, "tuple of matrices"),
    ],
)
def test_a_graph_made_by_hand_is_checked(layers, labels, said):
    with pytest.raises(InputError, match=said):
        graph_match(Graph(layers, labels), PATH)
    by_hand = Graph((PATH > 0,), ("a", "b", "c"))
    assert graph_match(by_hand, PATH, rng=0).score == 4


def test_transform_finds_vertices_by_name():
    first = nx.path_graph(["a", "b", "c"])
    first.add_edge("a", "a")
    second = nx.Graph()
    second.add_nodes_from(["c", "b", "a"])
    second.add_edges_from(first.edges)
    matcher = GraphMatcher(rng=0).fit(first, first)
    assert (matcher.transform(first) != matcher.transform(second)).nnz == 0
    with pytest.raises(InputError, match="'c' is missing"):
        matcher.transform(nx.path_graph(["a", "b", "d"]))


def test_a_table_of_similarities_is_read_by_its_names():
    G = nx.path_graph(["a", "b", "c"])
    S = pd.DataFrame(np.zeros((3, 3)), index=list("cba"), columns=list("bca"))
    S.loc["a", "b"] = 100.0
    res = graph_match(G, G, S=S, rng=0)
    assert res.labels_B[list(res.labels_A).index("a")] == "b"
    assert graph_match(G, G, S=pd.DataFrame(100.0 * np.eye(3)[[1, 0, 2]]), rng=0).permutation.tolist() == [1, 0, 2]
    with pytest.raises(InputError, match=r"'x'.*to_numpy"):
        graph_match(G, G, S=S.rename(index={"c": "x"}))


@pytest.mark.parametrize(
    ("S", "said"),
    [
        (1j * np.eye(3), "real numbers"),
        (sparse.csr_array(1j * np.eye(3)), "real numbers"),
        (np.ma.masked_equal(np.eye(3), 1.0), "masked"),
        ([[1, 2, 3], [4, 5]], "different lengths"),
    ],
)
def test_a_similarity_is_checked_as_graphs_are(S, said):
    with pytest.raises(InputError, match=said):
        graph_match(PATH, PATH, S=S)
    rows = [[0, 9, 0], [9, 0, 0], [0, 0, 9]]
    assert graph_match(PATH, PATH, S=rows, rng=0).permutation.tolist() == [1, 0, 2]


@pytest.mark.parametrize("seeds", [{0: 1}, {(0, 1)}, zip([0], [1], strict=True)])
def test_seeds_as_pairs_of_any_kind(seeds):
    assert graph_match(PATH, PATH, partial_match=seeds, rng=0).permutation[0] == 1


def test_names_are_no_seeds():
    with pytest.raises(InputError, match=r"places of vertices, got the name .*'a'.*read_seeds"):
        graph_match(nx.path_graph(["a", "b"]), nx.path_graph(["a", "b"]), partial_match=[("a", "b")])


@pytest.mark.parametrize("jobs", [1, 2])
def test_threads_of_linear_algebra_do_not_depend_on_jobs(jobs, monkeypatch):
    entered = []

    def one_thread():
        entered.append(True)
        return api.nullcontext()

    monkeypatch.setattr(api, "one_thread", one_thread)
    monkeypatch.setattr(api, "ONE_THREAD", 2)
    graph_match(PATH, PATH, n_init=2, n_jobs=jobs, rng=0)
    assert entered == [True]
