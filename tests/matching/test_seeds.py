"""Seeds in a file are pairs of vertices, by label or by index."""

import numpy as np
import pytest

import trisplit as ts
from trisplit.matching.files import read_seeds
from trisplit.matching.graphs import Graph

PLAIN, NAMED = Graph((np.zeros((4, 4)),)), Graph((np.zeros((4, 4)),), ("Ada", "Bob", "Eve", "Joe"))


def seeds(folder, text, A, B):
    path = folder / "seeds.csv"
    path.write_text(text, encoding="utf-8")
    return read_seeds(path, A, B)


def test_seeds_are_labels_or_indices(tmp_path):
    for text in ("Eve,3\nAda,0", "Eve 3\nAda 0", "# note\nleft\tright\nEve\t3\nAda\t0\n", "Eve,3,x\nAda,0,y"):
        found = seeds(tmp_path, text, NAMED, PLAIN)
        assert found.dtype == np.int64
        assert found.tolist() == [[2, 3], [0, 0]]
    assert seeds(tmp_path, "3 Eve", PLAIN, NAMED).tolist() == [[3, 2]]
    assert seeds(tmp_path, "a b\n0 1", PLAIN, PLAIN).tolist() == [[0, 1]]
    numbers = Graph((np.zeros((2, 2)),), (10, 20))
    assert seeds(tmp_path, "20 1.0e+00", numbers, PLAIN).tolist() == [[1, 1]]
    assert seeds(tmp_path, "1 2\n1 2\n1 3", PLAIN, PLAIN).tolist() == [[1, 2], [1, 2], [1, 3]]


@pytest.mark.parametrize(
    ("text", "A", "found"),
    [
        ("", PLAIN, "empty"),
        ("# none", PLAIN, "comments"),
        ("0", PLAIN, "line 1"),
        ("0 4", PLAIN, "'4' in line 1, which `B` does not have; its vertices are 0 to 3"),
        ("0 1\n-1 2", PLAIN, "'-1' in line 2"),
        ("0 1\n1.5 2", PLAIN, "line 2"),
        ("Ada 1\nMax 2", NAMED, "'Max' in line 2, which `A` does not have; its vertices are such as 'Ada'"),
        ("0 1", Graph((np.zeros((0, 0)),)), "none"),
        ("1 1", Graph((np.zeros((2, 2)),), (1, "1")), "several"),
    ],
)
def test_bad_seeds(tmp_path, text, A, found):
    with pytest.raises(ts.InputError) as caught:
        seeds(tmp_path, text, A, PLAIN)
    message = str(caught.value)
    assert found in message
    assert "seeds.csv" in message
    assert ";" in message, "no remedy"
    assert "\n" not in message
