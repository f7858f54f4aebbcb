"""A graph that was written is read again, by whichever library it was written; a bad file gives one line."""

import gzip
import io
import os
import pickle
import sys
import zipfile
from itertools import product

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import trisplit as ts
from tests.matching.messages import message
from trisplit.matching import file_bytes, graphml
from trisplit.matching.files import read_graph, read_seeds
from trisplit.matching.graphs import Graph, as_graph

M = np.array([[0, 2, 0, 1], [2, 1, 0.5, 0], [0, 0.5, 0, 0], [1, 0, 0, 0]])
NAMES = ("Ada", "Bob", "Eve", "Joe")


def dense(graph):
    (layer,) = graph.layers
    assert layer.dtype == np.float64
    return layer if isinstance(layer, np.ndarray) else layer.toarray()


def named():
    """Return the graph M of networkx with names."""
    return nx.relabel_nodes(nx.from_numpy_array(M), dict(enumerate(NAMES)))


def written(folder, name, content):
    path = folder / name
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


# ---- what is written is read


def write_dense_market(path):
    scipy.io.mmwrite(path, M)


def write_pandas(path, **options):
    nx.to_pandas_edgelist(named()).to_csv(path, **options)


def write_igraph(path):
    graph = igraph.Graph.Weighted_Adjacency(M.tolist(), mode="undirected", loops="once")
    graph.vs["name"] = NAMES
    graph.write_graphml(str(path))


WRITERS = {
    "sparse.npz": lambda path: sp.save_npz(path, sp.csr_array(M)),
    "coo.npz": lambda path: sp.save_npz(path, sp.coo_matrix(M), compressed=False),
    "dia.npz": lambda path: sp.save_npz(path, sp.dia_array(M)),
    "dense.npz": lambda path: np.savez(path, M),
    "packed.npz": lambda path: np.savez_compressed(path, A=M.astype(np.float32)),
    "dense.npy": lambda path: np.save(path, np.asfortranarray(M)),
    "sparse.mtx": lambda path: scipy.io.mmwrite(path, sp.coo_array(M)),
    "dense.mtx": write_dense_market,
    "general.mtx": lambda path: scipy.io.mmwrite(path, sp.coo_array(M), symmetry="general"),
    "numbers.graphml": lambda path: nx.write_graphml(nx.from_numpy_array(M), path),
    "numbers.txt": lambda path: nx.write_weighted_edgelist(nx.from_numpy_array(M), path),
    "numbers.edgelist": lambda path: nx.write_edgelist(nx.from_numpy_array(M), path),
    "commas.edges": lambda path: nx.write_edgelist(nx.from_numpy_array(M), path, delimiter=","),
    "savetxt.txt": lambda path: np.savetxt(path, [(i, j, M[i, j]) for i, j in np.argwhere(np.triu(M))]),
    "both.csv": lambda path: np.savetxt(path, [(i, j, M[i, j]) for i, j in np.argwhere(M)], fmt="%g", delimiter=","),
}
NAMED_WRITERS = {
    "named.graphml": lambda path: nx.write_graphml(named(), path),
    "igraph.graphml": write_igraph,
    "named.csv": lambda path: write_pandas(path, index=False),
    "indexed.csv": write_pandas,
    "headless.csv": lambda path: write_pandas(path, index=False, header=False),
    "named.tsv": lambda path: write_pandas(path, index=False, sep="\t"),
    "named.edges": lambda path: nx.write_weighted_edgelist(named(), path),
}


@pytest.mark.parametrize("name", [*WRITERS, *NAMED_WRITERS])
def test_what_is_written_is_read(name, tmp_path):
    path = tmp_path / name
    (WRITERS | NAMED_WRITERS)[name](path)
    graph = read_graph(str(path))
    np.testing.assert_array_equal(dense(graph), M)
    assert graph.labels == (NAMES if name in NAMED_WRITERS else None)
    if path.suffix not in (".npy", ".npz"):
        packed = written(tmp_path, name + ".gz", path.read_bytes())
        np.testing.assert_array_equal(dense(read_graph(packed)), M)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 5), st.sampled_from(["general", "symmetric", "skew-symmetric"]), st.data())
def test_matrix_market_agrees_with_scipy(tmp_path_factory, n, symmetry, data):
    path = tmp_path_factory.mktemp("market") / "g.mtx"
    A = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=n * n, max_size=n * n)), float).reshape(n, n) / 4
    A = {"general": A, "symmetric": A + A.T, "skew-symmetric": A - A.T}[symmetry]
    kinds = [sp.coo_array(A), A, sp.coo_array(A).astype(int), (A != 0).astype(int)]
    for matrix in kinds:
        scipy.io.mmwrite(path, matrix, comment="note", symmetry=None if matrix is kinds[-1] else symmetry)
        expected = scipy.io.mmread(path)
        np.testing.assert_array_equal(
            dense(read_graph(path)), expected.toarray() if sp.issparse(expected) else expected
        )
    pattern = sp.coo_array((A != 0).astype(float))
    scipy.io.mmwrite(path, pattern, field="pattern")
    np.testing.assert_array_equal(dense(read_graph(path)), A != 0)


def test_matrix_market_without_entries(tmp_path):
    for n in (0, 1, 3):
        path = written(tmp_path, "g.mtx", square_market(f"{n} {n} 0"))
        np.testing.assert_array_equal(dense(read_graph(path)), np.zeros((n, n)))
    for n, symmetry in ((0, "general"), (0, "symmetric"), (1, "skew-symmetric")):
        path = written(tmp_path, "g.mtx", square_market(f"{n} {n}", form=f"array real {symmetry}"))
        np.testing.assert_array_equal(dense(read_graph(path)), np.zeros((n, n)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("comment", ["% the end", "  % the end\n\n%", "\n"])
def test_matrix_market_with_a_comment_in_place_of_entries(tmp_path, comment):
    for form, sizes in (("coordinate real symmetric", "3 3 0"), ("coordinate pattern general", "3 3 0")):
        path = written(tmp_path, "g.mtx", square_market(sizes, comment, form=form))
        np.testing.assert_array_equal(dense(read_graph(path)), np.zeros((3, 3)))
    path = written(tmp_path, "g.mtx", square_market("0 0", comment, form="array real general"))
    assert read_graph(path).n == 0
    path = written(tmp_path, "g.mtx", square_market("3 3 1", "% an entry is missing"))
    assert "declares 1 entries of 3 numbers, found 0" in message(path)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.integers(1, 9)), min_size=1),
    st.booleans(),
    st.randoms(),
)
def test_separators_titles_and_order_make_no_difference(tmp_path_factory, edges, directed, random):
    folder = tmp_path_factory.mktemp("edges")
    table = pd.DataFrame(edges, columns=["source", "target", "weight"])
    table.attrs["directed"] = directed
    expected = as_graph(table, "A")
    for separator, titled in product((",", "\t", " ", ", ", "   "), (True, False)):
        random.shuffle(edges)
        lines = [separator.join(map(str, edge)) for edge in edges]
        lines = ["# note", "% note", *[separator.join(["from", "to", "n"])] * titled, "", *lines]
        graph = read_graph(written(folder, "g.txt", "\r\n".join(lines)), directed=directed)
        assert graph.labels == expected.labels
        np.testing.assert_array_equal(dense(graph), dense(expected))


@pytest.mark.parametrize(
    ("text", "labels", "edges"),
    [
        ("0 1\n1 2", None, 2),
        ("7,12\n12,100", (7, 12, 100), 2),
        ("007 7\n7 1", ("007", "1", "7"), 2),
        ('"Doe, J.",Ada\nAda,"Roe, ""R."""', ("Ada", "Doe, J.", 'Roe, "R."'), 2),
        ("New York\tRome\nRome\tOslo", ("New York", "Oslo", "Rome"), 2),
        ("u v\n0 1\n1 2", None, 2),
        ("a b\nb c", ("a", "b", "c"), 2),
        ("a b w\nb c 2", ("b", "c"), 1),
        ("a b\n", ("a", "b"), 1),
        ("\ufeffa b\n", ("a", "b"), 1),
        ("é ü\n", ("é", "ü"), 1),
        ("a b {'weight': 3, 'note': 'x y'}\nb c {}", ("a", "b", "c"), 2),
        ("0\t1\t2\t1999\n1\t2\t2\t2000", None, 2),
    ],
)
def test_lists_of_edges(tmp_path, text, labels, edges):
    graph = read_graph(written(tmp_path, "g.csv", text))
    assert graph.labels == labels
    assert np.count_nonzero(dense(graph)) == 2 * edges


def test_a_list_of_edges_may_be_directed(tmp_path):
    path = written(tmp_path, "g.txt", "0 1\n1 2\n")
    np.testing.assert_array_equal(dense(read_graph(path, directed=True)), np.eye(3, k=1))
    np.testing.assert_array_equal(dense(read_graph(path)), np.eye(3, k=1) + np.eye(3, k=-1))


# ---- seeds


def test_seeds_of_savetxt_are_integers_with_labels_and_without(tmp_path):
    plain, numbered = Graph((np.zeros((4, 4)),)), Graph((np.zeros((3, 3)),), (10, 20, -7))
    np.savetxt(tmp_path / "seeds.txt", [(20, 3), (-7, 0)])
    assert read_seeds(tmp_path / "seeds.txt", numbered, plain).tolist() == [[1, 3], [2, 0]]
    np.savetxt(tmp_path / "seeds.txt", [(10, 20)])
    assert read_seeds(tmp_path / "seeds.txt", numbered, numbered).tolist() == [[0, 1]]
    with pytest.raises(ts.InputError, match="'11' in line 1, which `A` does not have; its vertices are such as 10"):
        read_seeds(written(tmp_path, "seeds.txt", "1.1e+01 0"), numbered, plain)


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file_of_seeds_is_no_graph(tmp_path, content):
    plain = Graph((np.zeros((4, 4)),))
    with pytest.raises(ts.InputError, match="is empty; save it again"):
        read_seeds(written(tmp_path, "seeds.txt", content), plain, plain)


# ---- GraphML, with networkx and without


GRAPHML = """<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="w" for="edge" attr.name="weight" attr.type="double"><default>3</default></key>
<graph edgedefault="directed"><node id="a"/><node id="b"/><node id="c"/>
<edge source="a" target="b"/><edge source="a" target="b"><data key="w">0.5</data></edge>
<edge source="b" target="b"/></graph></graphml>"""


def documents():
    yield GRAPHML.encode()
    yield GRAPHML.replace('"directed"', '"undirected"').encode()
    for graph in (named(), nx.DiGraph([(2, 0), (0, 1)]), nx.MultiGraph([(0, 1), (0, 1)]), nx.les_miserables_graph()):
        file = io.BytesIO()
        nx.write_graphml(graph, file)
        yield file.getvalue()


@pytest.mark.parametrize("data", list(documents()), ids=["both", "turned", "named", "directed", "parallel", "novel"])
def test_the_short_reader_of_graphml_agrees_with_networkx(tmp_path, monkeypatch, data):
    path = written(tmp_path, "g.graphml", data)
    one = read_graph(path)
    monkeypatch.setitem(sys.modules, "networkx", None)
    two = read_graph(path)
    assert one.labels == two.labels
    np.testing.assert_array_equal(dense(one), dense(two))


def test_weights_of_graphml(tmp_path):
    graph = read_graph(written(tmp_path, "g.graphml", GRAPHML))
    assert graph.labels == ("a", "b", "c")
    np.testing.assert_array_equal(dense(graph), [[0, 3.5, 0], [0, 3, 0], [0, 0, 0]])


@pytest.mark.parametrize("library", [True, False])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<graphml/>", "graph"),
        ("<html><body/></html>", "graph"),
        (GRAPHML[:-40], "GraphML"),
        (GRAPHML.replace("0.5", "nan"), "nan at the edge from 'a' to 'b'"),
        (GRAPHML.replace("0.5", "much"), "much"),
        (GRAPHML.replace('<edge source="b" ', '<edge directed="false" source="b" '), "directed"),
        (GRAPHML.replace("</graph>", "<hyperedge/></graph>"), "hyperedges"),
        (GRAPHML.replace('source="b"', ""), "g.graphml"),
        ("a b\nb c\n", "GraphML"),
        ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><graphml>&e;</graphml>', "GraphML"),
    ],
)
def test_bad_graphml(tmp_path, monkeypatch, library, text, found):
    if not library:
        monkeypatch.setitem(sys.modules, "networkx", None)
    assert found in message(written(tmp_path, "g.graphml", text))


@pytest.mark.parametrize("library", [True, False])
@pytest.mark.parametrize("names", [(7, 12, 5), (7.0, 12.0, 5.0)])
def test_names_of_graphml_may_be_numbers(tmp_path, monkeypatch, library, names):
    graph = nx.path_graph(["n0", "n1", "n2"])
    nx.set_node_attributes(graph, dict(zip(graph, names, strict=True)), "name")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    if not library:
        monkeypatch.setitem(sys.modules, "networkx", None)
    labels = read_graph(tmp_path / "g.graphml").labels
    assert labels == (7, 12, 5)
    assert all(isinstance(label, int) for label in labels)


@pytest.mark.parametrize("library", [True, False])
def test_weights_of_graphml_that_no_float_can_hold(tmp_path, monkeypatch, library):
    nx.write_graphml(nx.Graph([("a", "b", {"weight": 10**400})]), tmp_path / "g.graphml")
    if not library:
        monkeypatch.setitem(sys.modules, "networkx", None)
    text = message(tmp_path / "g.graphml")
    assert "the edge from 'a' to 'b'" in text
    assert "finite" in text


def test_names_need_not_differ(tmp_path):
    document = graphml.Document({"n0": "x", "n1": "x"}, [], directed=False)
    assert graphml.graph_of_document(document, "`A`").labels == ("n0", "n1")


# ---- bad files


def archive(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name + ".npy", content)
    return file.getvalue()


def npy(array, *, allow_pickle=False):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=allow_pickle)
    return file.getvalue()


def header(shape):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


def sparse(**changed):
    good = sp.csr_array(M)
    parts = {"format": np.array(b"csr"), "shape": np.array([4, 4]), "data": good.data}
    parts |= {"indices": good.indices, "indptr": good.indptr} | changed
    return archive(**{name: npy(array) for name, array in parts.items()})


def square_market(*lines, form="coordinate real general"):
    return "\n".join([f"%%MatrixMarket matrix {form}", *lines, ""])


JUNK = bytes(range(256)) * 4
ENDINGS = ("npz", "npy", "mtx", "graphml", "csv", "tsv", "txt", "edges")


@pytest.mark.parametrize("ending", [*ENDINGS, "mtx.gz", "csv.gz", "graphml.gz"])
@pytest.mark.parametrize("content", [b"", b" \n\n", JUNK, JUNK[::-1], b"\0" * 64, b"PK\x03\x04" + JUNK])
def test_empty_files_and_junk(tmp_path, ending, content):
    message(written(tmp_path, f"g.{ending}", content))


@pytest.mark.parametrize("name", [*WRITERS, *NAMED_WRITERS])
@settings(max_examples=15, deadline=None)
@given(share=st.floats(0, 1), place=st.floats(0, 1), byte=st.integers(0, 255))
def test_a_damaged_file_is_read_or_refused(tmp_path_factory, name, share, place, byte):
    folder = tmp_path_factory.mktemp("damaged")
    (WRITERS | NAMED_WRITERS)[name](folder / name)
    data = (folder / name).read_bytes()
    where = int(place * (len(data) - 1))
    for content in (data[: int(share * len(data))], data[:where] + bytes([byte]) + data[where + 1 :]):
        try:
            graph = read_graph(written(folder, name, content))
        except ts.InputError as error:
            assert "\n" not in str(error)
            assert name in str(error)
        else:
            assert np.isfinite(dense(graph)).all()


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("g.npy", npy(np.ones((2, 3))), "(2, 3)"),
        ("g.npy", npy(np.ones(3)), "(3,)"),
        ("g.npy", npy(np.array([[np.nan]])), "nan at [0, 0]"),
        ("g.npy", npy(M * 1j), "complex128"),
        ("g.npy", npy(M)[:-8], "truncated"),
        ("g.npy", npy(np.full((2, 2), None), allow_pickle=True), "Python objects"),
        ("g.npy", npy(np.full((2, 2), "x")), "numbers"),
        ("g.npy", header((10**7, 10**7)), "memory"),
        ("g.npz", archive(A=npy(M), B=npy(M)), "2 arrays (A, B)"),
        ("g.npz", archive(), "no array"),
        ("g.npz", archive(A=npy(np.ones((2, 3)))), "(2, 3)"),
        ("g.npz", archive(A=npy(M)[:-8]), "truncated"),
        ("g.npz", archive(A=header((10**7, 10**7))), "memory"),
        ("g.npz", archive(A=npy(np.full((2, 2), None), allow_pickle=True)), "Python objects"),
        ("g.npz", archive(A=b"text"), "damaged"),
        ("g.npz", sparse(shape=np.array([4, 5])), "(4, 5)"),
        ("g.npz", sparse(shape=np.array([10**15, 10**15])), "memory"),
        ("g.npz", sparse(indices=np.array([1, 3, 0, 1, 99, 1, 0], np.int32)), "sound"),
        ("g.npz", sparse(data=np.full(7, np.inf)), "inf at [0, 1]"),
        ("g.npz", sparse(format=np.array(b"xyz")), "xyz"),
        ("g.npz", sparse(format=np.array(["x", "y"])), "damaged"),
        ("g.npz", archive(format=npy(np.array(b"csr")), shape=npy(np.array([4, 4]))), "damaged"),
        ("g.mtx", square_market("2 3 1", "1 1 1"), "(2, 3)"),
        ("g.mtx", square_market("2 2 9", "1 1 1"), "truncated"),
        ("g.mtx", square_market("2 2 2", "1 1 1.0000000000000"), "g.mtx"),
        ("g.mtx", square_market("2 2 1", "3 1 1"), "(3, 1)"),
        ("g.mtx", square_market("2 2 1", "0 1 1"), "(0, 1)"),
        ("g.mtx", square_market("2 2 1", "1.5 1 1"), "(1.5, 1)"),
        ("g.mtx", square_market("2 2 1", "2 1 1", "1 1 1"), "found 2"),
        ("g.mtx", square_market("2 2", "1 1 1"), "size"),
        ("g.mtx", square_market("-2 -2 1", "1 1 1"), "size"),
        ("g.mtx", square_market("2 2 1", "1 1 1\0"), "zero bytes"),
        ("g.mtx", square_market("2 2 1", "2 1 nan"), "nan at [1, 0]"),
        ("g.mtx", square_market("2 2 1", "2 1 1 1", form="coordinate complex general"), "complex"),
        ("g.mtx", square_market(f"{10**15} {10**15} 1", "1 1 1"), "memory"),
        ("g.mtx", square_market(f"{10**7} {10**7}", "1", form="array real general"), "truncated"),
        ("g.mtx", square_market("2 2 1", "2 1 x"), "g.mtx"),
        ("g.mtx", "a b\nb c\n", "MatrixMarket"),
        ("g.csv", "# nothing\n% here\n", "comments"),
        ("g.csv", "source,target\n", "no edge"),
        ("g.csv", "a,b\nb\n", "line 2"),
        ("g.csv", "a\nb\n", "line 1"),
        ("g.csv", "a,b,1\nb,c\n", "2 columns in line 2"),
        ("g.csv", "a,b,1\nb,c,nan\n", "'nan' in line 2"),
        ("g.csv", "a,b,1\nb,c,1e999\n", "'1e999' in line 2"),
        ("g.csv", "a,b,1\nb,c,much\n", "'much' in line 2"),
        ("g.csv", "a,b,1\nb,c,\n", "'' in line 2"),
        ("g.csv", "a,b\n,c\n", "line 2"),
        ("g.txt", "a b\nNew York c\n", "3 columns in line 2"),
        ("g.txt", "é".encode("latin-1"), "UTF-8"),
        ("g.csv.gz", gzip.compress(b"a,b\n" * 999)[:-20], "gzip"),
        ("g.pkl", pickle.dumps(M), ".npz"),
        ("g", "a b", ".npz"),
        ("g.gz", b"a b", ".npz"),
    ],
)
def test_bad_files(tmp_path, name, content, found):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert found in message(path)


def test_no_file(tmp_path):
    assert "exist" in message(tmp_path / "none.npz")
    assert "directory" in message(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "regular" in message(tmp_path / "pipe.csv")
    message("a\0b.csv")
    message(tmp_path / ("x" * 999 + ".csv"))
    with pytest.raises(ts.InputError, match="`path`"):
        read_graph(3)  # pyright: ignore


def test_a_small_file_that_unpacks_to_more_than_fits(tmp_path, monkeypatch):
    paths = [written(tmp_path, f"g.{form}.gz", b"0 1\n" * 10**5) for form in ("csv", "mtx", "graphml")]
    np.savez_compressed(tmp_path / "g.npz", np.zeros((1000, 1000)))
    monkeypatch.setattr(file_bytes, "available_bytes", lambda: 10**6)
    for path in [*paths, tmp_path / "g.npz"]:
        assert "memory" in message(path)
