"""What separates the columns of a list of edges, and whether its first line is a title, is found out or asked for."""

import networkx as nx
import numpy as np
import pytest

from tests.matching import messages
from trisplit.matching.files import read_graph


def written(folder, text):
    path = folder / "g.csv"
    path.write_text(text, encoding="utf-8")
    return path


def read(folder, text):
    graph = read_graph(written(folder, text))
    return graph.labels, graph.layers[0].toarray()


def message(folder, text):
    path = written(folder, text)
    return messages.message(path).replace(repr(str(path)), "")


# ---- separators


@pytest.mark.parametrize(
    ("text", "labels", "weights"),
    [
        ("Zurich;Basel;1,5\nBasel;Bern;2", ("Basel", "Bern", "Zurich"), [1.5, 2]),
        ("a;b;1.5\nb;c;2", ("a", "b", "c"), [1.5, 2]),
        ("a;b\nb;c", ("a", "b", "c"), [1, 1]),
        ("7; 8; -0,5\n8; 9; 1,5e1", (7, 8, 9), [-0.5, 15]),
        ("source;target;weight\na;b;1,5\nb;c;,5", ("a", "b", "c"), [1.5, 0.5]),
        ("x;y;w\na;b;1,5\nb;c;0,5", ("a", "b", "c"), [1.5, 0.5]),
        ("weight;source;target\n1,5;a;b\n0,5;b;c", ("a", "b", "c"), [1.5, 0.5]),
        ("Bern, CH;b\nb;c", ("Bern, CH", "b", "c"), [1, 1]),
        ('"Bern, CH";"Rome, IT"\n"Rome, IT";"Oslo, NO"', ("Bern, CH", "Oslo, NO", "Rome, IT"), [1, 1]),
        ('"a;b",c\nc,d', ("a;b", "c", "d"), [1, 1]),
        ("a;b,c\nc,d", ("a;b", "c", "d"), [1, 1]),
        ("a;b\tc\nc\td", ("a;b", "c", "d"), [1, 1]),
        ("a;b;{'weight': 2}\nb;c;{'weight': 3}", ("a", "b", "c"), [2, 3]),
        ("New York,San Jose\nSan Jose,El Paso", ("El Paso", "New York", "San Jose"), [1, 1]),
        ("Gate 1,Gate 2\nGate 2,Gate 3", ("Gate 1", "Gate 2", "Gate 3"), [1, 1]),
    ],
)
def test_what_separates_columns_is_found_out(tmp_path, text, labels, weights):
    names, M = read(tmp_path, text)
    assert names == labels
    assert sorted(M[np.triu_indices(3)][M[np.triu_indices(3)] != 0]) == sorted(weights)


def test_a_list_with_semicolons_is_that_with_commas(tmp_path):
    graph = nx.les_miserables_graph()
    lines = [f"{u},{v},{w / 4}" for u, v, w in graph.edges(data="weight")]
    labels, M = read(tmp_path, "\n".join(lines))
    others = [line.replace(",", ";").replace(".25", ",25").replace(".5", ",5").replace(".75", ",75") for line in lines]
    names, N = read(tmp_path, "\n".join(others).replace(".0", ",0"))
    assert names == labels
    np.testing.assert_array_equal(M, N)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a b 0,5\nb c 1", "has spaces between columns and commas in numbers, as in 'a b 0,5'; write decimal points"),
        ("a b 0,5\nb c 1,5", "separate columns by semicolons"),
        ("from to weight\na b 0,5", "'0,5' in line 2; write it with a decimal point"),
        ("a\tb\t1,500", "'1,500' in line 1; write it with a decimal point"),
        ("a;b;1,500\nb;c;0.5", "'1,500' in line 1; write it with a decimal point"),
        ("a;b;1,000,000", "'1,000,000' in line 1; correct it"),
        ("a;b,c\nb;c,d", "commas and semicolons between names, as in 'a;b,c'; put names that hold either into quotes"),
        ("a;b;1,5\nb;c", "2 columns in line 2, and 3 before"),
        ("a b;\nb c;", "no vertex name in a column of line 1"),
    ],
)
def test_what_cannot_be_told_is_asked_for(tmp_path, text, found):
    assert found in message(tmp_path, text)


# ---- titles


TITLES = ("u,v", "i,j", "Node1,Node2", "id1,id2", "source_id,target_id", "vertex1,vertex2", "name_1,name_2")


@pytest.mark.parametrize("title", TITLES)
def test_usual_titles_are_no_vertices(tmp_path, title):
    names = ("Ada", "Bob", "Eve")
    assert read(tmp_path, f"{title}\nAda,Bob\nBob,Eve")[0] == names
    assert read(tmp_path, f"{title},weight\nAda,Bob,1\nBob,Eve,2")[0] == names
    assert read(tmp_path, f"{title}\n7,8\n8,9")[0] == (7, 8, 9)


@pytest.mark.parametrize("title", TITLES)
def test_titles_that_are_vertices_stay(tmp_path, title):
    one, two = title.split(",")
    for edges in ([(one, two)], [(one, two), (two, "Bob")], [(one, two), ("Bob", "Eve"), (two, one)]):
        labels, _ = read(tmp_path, "\n".join(map(",".join, edges)))
        assert labels == tuple(sorted({name for edge in edges for name in edge}))


@pytest.mark.parametrize("text", ["u,v\nx,y", "i,j\nAda,k", "node1,node2\nnode3,node4", "id_1,id_2\nid_10,id_20"])
def test_a_first_line_like_the_vertices_below_is_an_edge(tmp_path, text):
    assert len(read(tmp_path, text)[0]) == 4
