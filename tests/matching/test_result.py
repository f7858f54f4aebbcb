"""A result is graspologic's tuple, and says more."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from tests.matching.results import a_pair, a_result
from trisplit.result import Certificate


def test_it_unpacks_and_indexes_as_graspologics_tuple():
    A, B, p = a_pair(8)
    result = a_result(A, B, p)
    indices_A, indices_B, score, misc = result
    assert len(result) == 4
    assert np.array_equal(indices_A, np.arange(8))
    assert np.array_equal(result[1], indices_B)
    assert result[-2] == score == result.score
    assert result[2:] == (score, misc)
    with pytest.raises(IndexError):
        result[4]
    with pytest.raises(FrozenInstanceError):
        result.score = 0.0


def test_the_permutation_has_minus_one_for_no_partner():
    A, B, _ = a_pair(6)
    p = np.array([3, -1, 5, 0, -1, 2])
    result = a_result(A, B, p)
    assert np.array_equal(result.permutation, p)
    assert result.matches == 4
    assert set(result.unmatched_B) == {1, 4}


def test_the_least_sure_come_first():
    A, B, p = a_pair(4)
    result = a_result(A, B, p, confidence=np.array([0.5, 0.2, 1.0, 0.2]), agreement=np.array([1.0, 0.9, np.nan, 0.3]))
    assert result.least_sure(3).tolist() == [3, 1, 0]
    assert result.least_sure(99).tolist() == [3, 1, 0, 2]


def test_all_of_it_becomes_json():
    A, B, p = a_pair(5)
    result = a_result(
        A,
        B,
        p,
        agreement=np.array([1.0, np.nan, 0.5, 0.5, 1.0]),
        labels_A=np.array(list("abcde"), dtype=object),
        certificate=Certificate(np.float64(1e-6), 0.0, "gap"),
        misc=[{"nit": np.int64(3), "converged": np.bool_(True), "start": np.arange(2), "convex_solution": np.eye(5)}],
    )
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert record["permutation"] == p.tolist()
    assert record["agreement"] == [1.0, None, 0.5, 0.5, 1.0]
    assert record["bound"] is None
    assert record["labels_A"] == list("abcde")
    assert record["certificate"] == {"stationarity": 1e-6, "infeasibility": 0.0, "kind": "gap"}
    assert record["misc"] == [{"nit": 3, "converged": True, "start": [0, 1]}]


def test_it_says_what_it_is_in_a_few_lines():
    A, B, p = a_pair(40)
    text = repr(a_result(A, B, p, seeds=3, bound=1e6))
    assert text.startswith("MatchResult: all 40 vertices matched, 3 of them given\n")
    assert "none is above 1e+06" in text
    assert len(text.splitlines()) <= 6
    p[:5] = -1
    assert "35 of 40 and 40 vertices matched" in repr(a_result(A, B, p))


def test_a_match_of_nothing_can_be_shown():
    empty = np.zeros((0, 0))
    result = a_result(empty, empty, np.zeros(0, dtype=int))
    assert "all 0 vertices" in repr(result)
    assert result.least_sure().size == 0
    json.dumps(result.to_dict(), allow_nan=False)
