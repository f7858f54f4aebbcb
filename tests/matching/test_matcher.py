"""GraphMatcher is graph_match in scikit-learn's convention."""

import inspect
import pickle

import numpy as np
import pytest
from scipy import sparse

from tests.matching.results import a_pair, a_result
from trisplit.errors import InputError
from trisplit.matching import matcher as room
from trisplit.matching.matcher import GraphMatcher

DATA = ("A", "B", "AB", "BA", "S", "partial_match")


@pytest.fixture
def calls(monkeypatch):
    """Let the true match of `a_pair(8)` be the answer to everything, and note the questions."""
    asked = []

    def answer(A, B, AB=None, BA=None, S=None, partial_match=None, **options):
        asked.append((A, B, AB, BA, S, partial_match, options))
        p = a_pair(8)[2].copy()
        p[2] = -1
        return a_result(A, B, p)

    monkeypatch.setattr(room, "graph_match", answer)
    return asked


def test_the_parameters_are_those_of_graph_match():
    options = dict(inspect.signature(room.graph_match).parameters)
    for name in DATA:
        del options[name]
    mine = inspect.signature(GraphMatcher).parameters
    assert {name: one.default for name, one in mine.items()} == {name: one.default for name, one in options.items()}
    assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in mine.values())


def test_it_asks_graph_match_and_keeps_the_answer(calls):
    A, B, p = a_pair(8)
    S = np.eye(8)
    model = GraphMatcher(n_init=3, rng=5)
    assert model.fit(A, B, S=S, partial_match=[(0, 1)]) is model
    (asked,) = calls
    assert asked[0] is A
    assert asked[4] is S
    assert asked[5] == [(0, 1)]
    assert asked[6] == model.get_params()
    assert np.array_equal(model.permutation_, np.where(np.arange(8) == 2, -1, p))
    assert model.score_ == model.result_.score
    assert np.isnan(model.confidence_[2])
    assert np.array_equal(model.confidence_[model.result_.indices_A], model.result_.confidence)
    assert np.array_equal(model.fit_predict(A, B), model.permutation_)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_transform_brings_a_graph_into_the_order_of_the_first(calls, make):
    A, B, p = a_pair(8)
    B = np.arange(64.0).reshape(8, 8)
    model = GraphMatcher().fit(A, B)
    moved = model.transform(make(B))
    assert sparse.issparse(moved) == (make is sparse.csr_array)
    moved = moved.toarray() if sparse.issparse(moved) else moved
    expected = B[np.ix_(p, p)]
    expected[2] = expected[:, 2] = 0
    assert np.array_equal(moved, expected)
    several = model.transform([B, 2 * B])
    assert np.array_equal(several[1], 2 * expected)
    with pytest.raises(InputError, match="`B` must have 8 vertices as in `fit`, got 3"):
        model.transform(np.zeros((3, 3)))


def test_what_is_not_fitted_has_no_answer():
    model = GraphMatcher()
    for name in ("permutation_", "score_", "confidence_", "result_"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="not fitted yet"):
        model.transform(np.zeros((2, 2)))


def test_parameters_can_be_read_and_set():
    model = GraphMatcher(n_init=4)
    assert model.get_params()["n_init"] == 4
    assert model.set_params(n_init=2, rng=1) is model
    assert (model.n_init, model.rng) == (2, 1)
    assert repr(model) == "GraphMatcher(n_init=2, rng=1)"
    assert repr(GraphMatcher(init=np.eye(2))).startswith("GraphMatcher(init=array")
    with pytest.raises(InputError, match="`starts` is no parameter of GraphMatcher; choose from"):
        model.set_params(starts=2)
    with pytest.raises(TypeError):
        GraphMatcher(starts=2)


def test_scikit_learn_can_clone_it(calls):
    base = pytest.importorskip("sklearn.base")
    model = GraphMatcher(n_init=3, init=np.eye(8), rng=np.random.default_rng(0)).fit(*a_pair(8)[:2])
    twin = base.clone(model)
    assert twin is not model
    assert twin.n_init == 3
    assert not hasattr(twin, "result_")
    assert np.array_equal(pickle.loads(pickle.dumps(model)).permutation_, model.permutation_)
