"""The same graph is the same matrix, whatever its format."""

import warnings
from decimal import Decimal
from fractions import Fraction

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import trisplit as ts
from trisplit.matching.graphs import Graph, as_graph

EYE = np.eye(3)
FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")


def dense(graph):
    (layer,) = graph.layers
    assert layer.dtype == np.float64
    if isinstance(layer, np.ndarray):
        return layer
    assert isinstance(layer, sp.csr_array)
    assert layer.has_canonical_format
    assert layer.nnz == np.count_nonzero(layer.toarray())
    return layer.toarray()


def message(A, name="A"):
    with pytest.raises(ts.InputError) as caught:
        as_graph(A, name)
    text = str(caught.value)
    assert "\n" not in text
    assert ";" in text, "no remedy"
    assert f"`{name}`" in text
    return text


@st.composite
def weighted_edges(draw, least=0):
    """Return labels, edges between them with whole weights, and whether these are directed."""
    n = draw(st.integers(least, 7))
    labels = draw(st.permutations(list("abcdefg")[:n]))
    directed = draw(st.booleans())
    pairs = [(i, j) for i in range(n) for j in range(n) if directed or i <= j]
    edges = draw(st.lists(st.tuples(st.sampled_from(pairs), st.integers(-3, 5)), max_size=12)) if pairs else []
    return labels, [(i, j, w) for (i, j), w in edges], directed


def matrix(n, edges, directed):
    M = np.zeros((n, n))
    for i, j, w in edges:
        M[i, j] += w
        if not directed and i != j:
            M[j, i] += w
    return M


@settings(max_examples=60, deadline=None)
@given(weighted_edges())
def test_every_door_gives_the_same_matrix(drawn):
    labels, edges, directed = drawn
    n = len(labels)
    M = matrix(n, edges, directed)

    for form in FORMATS:
        for kind in ("array", "matrix"):
            graph = as_graph(getattr(sp, f"{form}_{kind}")(M) if n or form == "csr" else sp.csr_array(M), "A")
            np.testing.assert_array_equal(dense(graph), M)
            assert graph.labels is None
    if n:
        np.testing.assert_array_equal(dense(as_graph(M.tolist(), "A")), M)

    G = nx.MultiDiGraph() if directed else nx.MultiGraph()
    G.add_nodes_from(labels)
    G.add_weighted_edges_from([(labels[i], labels[j], w) for i, j, w in edges])
    H = igraph.Graph(n, [(i, j) for i, j, _ in edges], directed=directed)
    H.vs["name"], H.es["weight"] = labels, [w for _, _, w in edges]
    table = pd.DataFrame(M, index=labels, columns=labels)
    for other in (G, H, table, table[sorted(labels)]):
        graph = as_graph(other, "A")
        np.testing.assert_array_equal(dense(graph), M)
        assert graph.labels == (tuple(labels) or None)


@settings(max_examples=60, deadline=None)
@given(weighted_edges(least=1), st.randoms())
def test_the_order_of_a_list_of_edges_does_not_matter(drawn, random):
    labels, edges, directed = drawn
    M, found = matrix(len(labels), edges, directed), sorted({labels[k] for i, j, _ in edges for k in (i, j)})
    rows = [(labels[i], labels[j], w) for i, j, w in edges]
    place = [labels.index(name) for name in found]
    for _ in range(3):
        table = pd.DataFrame(rows, columns=["source", "target", "weight"])
        table.attrs["directed"] = directed
        graph = as_graph(table, "A")
        assert graph.labels == (tuple(found) or None)
        np.testing.assert_array_equal(dense(graph), M[np.ix_(place, place)])
        random.shuffle(rows)


@settings(max_examples=40, deadline=None)
@given(weighted_edges(least=1), st.randoms())
def test_the_direction_of_an_undirected_edge_does_not_matter(drawn, random):
    labels, edges, _ = drawn
    rows = [(labels[i], labels[j], w) for (i, j), w in {(min(i, j), max(i, j)): w for i, j, w in edges}.items()]
    turned = [(u, v, w) if random.random() < 0.5 else (v, u, w) for u, v, w in rows]
    one, two = (as_graph(pd.DataFrame(list_, columns=["source", "target", "weight"]), "A") for list_ in (rows, turned))
    assert one.labels == two.labels
    np.testing.assert_array_equal(dense(one), dense(two))


def test_a_list_of_both_directions_counts_each_edge_once():
    once = as_graph(pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 2]}), "A")
    twice = as_graph(pd.DataFrame({"source": [0, 1, 2, 1, 2], "target": [1, 2, 2, 0, 1]}), "A")
    np.testing.assert_array_equal(dense(twice), dense(once))
    assert once.labels is None


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.int64, np.float16, np.float32, np.longdouble, object])
def test_numbers_of_any_kind_become_float64(kind):
    M = np.array([[0, 1], [1, 1]], dtype=kind)
    np.testing.assert_array_equal(dense(as_graph(M, "A")), [[0, 1], [1, 1]])
    if kind not in (object, np.float16):
        np.testing.assert_array_equal(dense(as_graph(sp.csr_array(M), "A")), [[0, 1], [1, 1]])


def test_exact_numbers_become_float64():
    assert dense(as_graph([[Fraction(1, 2)]], "A")) == 0.5
    assert dense(as_graph([[Decimal("0.5")]], "A")) == 0.5


def test_arguments_are_not_changed():
    data, indices, indptr = np.array([1.0, 2.0, 0.0]), np.array([1, 0, 1]), np.array([0, 3, 3])
    M = sp.csr_matrix((data, indices, indptr), shape=(2, 2))
    np.testing.assert_array_equal(dense(as_graph(M, "A")), [[2, 1], [0, 0]])
    assert data.tolist() == [1.0, 2.0, 0.0]
    assert M.indices.tolist() == [1, 0, 1]


def test_indices_are_as_narrow_as_they_can_be():
    wide = sp.csr_array((np.ones(1), np.array([1], np.int64), np.array([0, 1, 1], np.int64)), shape=(2, 2))
    (layer,) = as_graph(wide, "A").layers
    assert layer.indices.dtype == layer.indptr.dtype == np.int32


def test_labels_that_count_are_left_out():
    assert as_graph(nx.path_graph(3), "A").labels is None
    assert as_graph(nx.Graph([(1, 0)]), "A").labels == (1, 0)
    assert as_graph(igraph.Graph(3), "A").labels is None
    assert as_graph(pd.DataFrame(EYE), "A").labels is None
    assert as_graph(pd.DataFrame(np.array([[0.0, 1, 0.5], [2, 1, 0.5]]), columns=list("abc")), "A").labels is None


def test_weights_that_are_missing_are_one():
    G = nx.Graph([(0, 1, {"weight": 3}), (1, 2), (2, 0, {"weight": None})])
    np.testing.assert_array_equal(dense(as_graph(G, "A")), [[0, 3, 1], [3, 0, 1], [1, 1, 0]])
    H = igraph.Graph(2, [(0, 1)])
    H.es["weight"] = [None]
    np.testing.assert_array_equal(dense(as_graph(H, "A")), [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("row", "weight"),
    [
        ({"weight": 5, "target": "b", "source": "a"}, 5),
        ({"kind": "?", "Source": "a", "Target": "b"}, 1),
        ({"from": "a", "to": "b", "count": 5}, 5),
        ({"from": "a", "to": "b", "kind": "?", "weight": 5}, 5),
        ({0: "a", 1: "b"}, 1),
    ],
)
def test_columns_are_found_by_name_or_by_order(row, weight):
    table = pd.DataFrame([row])
    table.attrs["directed"] = True
    graph = as_graph(table, "A")
    assert graph.labels == ("a", "b")
    np.testing.assert_array_equal(dense(graph), [[0, weight], [0, 0]])


def test_a_matrix_from_a_csv_file_has_numbers_beside_and_strings_above(tmp_path):
    pd.DataFrame(np.ones((4, 4)), index=range(4, 8), columns=range(4, 8)).to_csv(tmp_path / "matrix.csv")
    graph = as_graph(pd.read_csv(tmp_path / "matrix.csv", index_col=0), "A")
    assert graph.labels == (4, 5, 6, 7)
    np.testing.assert_array_equal(dense(graph), 1)


def test_subclasses_are_recognised():
    class MyGraph(nx.DiGraph):
        pass

    np.testing.assert_array_equal(dense(as_graph(MyGraph([(0, 1)]), "A")), [[0, 1], [0, 0]])


def test_no_vertices_and_one():
    for nothing in (np.zeros((0, 0)), sp.csr_array((0, 0)), nx.Graph(), igraph.Graph(), pd.DataFrame()):
        assert as_graph(nothing, "A").n == 0
    assert as_graph(pd.DataFrame({"source": [], "target": []}), "A").n == 0
    assert as_graph([[2]], "A").n == 1


def test_a_graph_stays_itself():
    graph = as_graph(EYE, "A")
    again = as_graph(graph, "B")
    assert again.layers[0] is graph.layers[0]
    assert again.labels is graph.labels
    assert isinstance(graph, Graph)


# ---- layers


def test_layers_are_matrices_of_one_size():
    for layers in ([EYE, sp.csr_array(EYE)], (EYE.tolist(), EYE), np.stack([EYE, EYE]), [as_graph(EYE, "A"), EYE]):
        graph = as_graph(layers, "A")
        assert len(graph.layers) == 2
        assert graph.labels is None
    assert isinstance(as_graph([EYE, sp.csr_array(EYE)], "A").layers[1], sp.csr_array)
    assert len(as_graph([EYE.tolist()], "A").layers) == 1


def test_layers_of_graphs_have_the_union_of_their_vertices():
    graph = as_graph([nx.Graph([("a", "b")]), nx.DiGraph([("c", "a")])], "A")
    assert graph.labels == ("a", "b", "c")
    np.testing.assert_array_equal(graph.layers[0].toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(graph.layers[1].toarray(), [[0, 0, 0], [0, 0, 0], [1, 0, 0]])
    tables = [pd.DataFrame({"source": [0], "target": [2]}), pd.DataFrame({"source": [1], "target": [3]})]
    graph = as_graph(tables, "A")
    assert graph.labels is None
    assert graph.n == 4
    assert as_graph([nx.path_graph(2), nx.path_graph(4)], "A").n == 4


def test_layers_may_come_in_another_order():
    first = pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["a", "b"])
    second = pd.DataFrame([[4, 3], [2, 1]], index=["b", "a"], columns=["b", "a"])
    one, two = as_graph([first, second], "A").layers
    np.testing.assert_array_equal(one, two)


# ---- bad input


@pytest.mark.parametrize(
    ("A", "came"),
    [
        (np.ones((2, 3)), "(2, 3)"),
        (np.ones(3), "(3,)"),
        (np.ones((1, 2, 2, 2)), "(1, 2, 2, 2)"),
        (sp.csr_array((2, 3)), "(2, 3)"),
        (np.where(EYE, np.nan, 1), "nan at [0, 0]"),
        (np.where(EYE, 1, [1, -np.inf, 1]), "-inf at [0, 1]"),
        (sp.csr_array(np.diag([1, 1, np.nan])), "nan at [2, 2]"),
        (EYE * 1j, "complex128"),
        (sp.csr_array(EYE * 1j), "complex128"),
        (EYE.astype(str), "<U"),
        (np.full((2, 2), None), "object"),
        ([], "empty"),
        ((), "empty"),
        ([[1, 2], [3]], "list"),
        ([[]], "(1, 0)"),
        (None, "NoneType"),
        (3, "int"),
        ("graph.csv", "read_graph"),
        (np.ma.masked_equal(EYE, 1), "masked"),
        (np.full((1, 1), 1e4000, dtype=np.longdouble) if np.finfo(np.longdouble).max > 1e308 else [[np.inf]], "inf"),
        ([EYE, np.eye(4)], "3, 4 vertices"),
        ([EYE, nx.path_graph(4)], "3, 4 vertices"),
        ([EYE, EYE * np.nan], "layer 1"),
        ([EYE, None], "layer 1"),
        ([nx.path_graph(3), "x"], "layer 1"),
        (nx.Graph([("a", "b", {"weight": np.nan})]), "nan at the edge from 'a' to 'b'"),
        (nx.Graph([("a", "b", {"weight": "much"})]), "<U4"),
        (nx.Graph([("a", "b", {"weight": [1, 2]})]), "sequence"),
        (nx.Graph([("a", "b", {"weight": [1, 2]}), ("a", "c", {"weight": [1]})]), "sequence"),
        (nx.Graph([("a", "b", {"weight": 1j})]), "complex"),
        (nx.MultiGraph([("a", "b", {"weight": 1e308}), ("a", "b", {"weight": 1e308})]), "inf at [0, 1]"),
        (igraph.Graph(2, vertex_attrs={"name": ["a", "a"]}), "name"),
        (pd.DataFrame({"source": ["a"]}), "got 1"),
        (pd.DataFrame({"source": ["a", None, "b"], "target": ["b", "c", "d"]}), "row 1 of column 'source'"),
        (pd.DataFrame({"source": ["a"], "target": ["b"], "weight": [np.nan]}), "row 0 of column 'weight'"),
        (pd.DataFrame({"from": ["a"], "to": ["b"], "kind": ["x"]}), "numbers"),
        (pd.DataFrame({"source": [["a"]], "target": ["b"]}), "names"),
        (pd.DataFrame(EYE, index=[1, 1, 2], columns=[1, 1, 2]), "same name"),
        (pd.DataFrame([["x"]], index=["a"], columns=["a"]), "real numbers"),
    ],
)
def test_bad_graphs(A, came):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert came in message(A)


def test_a_sparse_matrix_with_indices_out_of_range():
    M = sp.csr_array(EYE)
    M.indices = np.array([0, 1, 7], dtype=np.int32)
    assert "sparse" in message(M)


def test_names_of_several_types_keep_their_order():
    graph = as_graph(pd.DataFrame({"source": ["b", 1], "target": [1, "a"]}), "A")
    assert graph.labels == ("b", 1, "a")
