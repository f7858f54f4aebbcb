"""A match depends neither on the units of weights nor on how they are stored."""

import numpy as np
import pytest
from scipy import sparse

from trisplit.errors import InputError
from trisplit.matching import alignment_strength, chance, edge_agreement, graph_match


def friends(n=40, noise=0.05, seed=0):
    """Return a random graph, a noisy copy in another order that leaves no doubt, and the order."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < 0.4, 1)
    B = np.triu(np.where(rng.random((n, n)) < noise, rng.random((n, n)) < A.mean(), A), 1)
    to = rng.permutation(n)
    copy = np.zeros((n, n))
    copy[np.ix_(to, to)] = B + B.T
    return (A + A.T).astype(float), copy, to


UNITS = [(2.0, 1.0), (1.0, 0.1), (1e-3, 1e3), (1e19, 1e19), (1e-25, 1e-25), (1e140, 1e-80)]


@pytest.mark.parametrize(("a", "b"), UNITS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_units_of_weights_do_not_matter(a, b, form):
    A, B, _ = friends()
    one, other = (graph_match(form(s * A), form(t * B), rng=0) for s, t in ((1, 1), (a, b)))
    assert (one.permutation == other.permutation).all()
    np.testing.assert_allclose(other.confidence, one.confidence, atol=1e-4)
    assert other.score == pytest.approx(a * b * one.score)
    assert other.bound == pytest.approx(a * b * one.bound)
    assert other.message == one.message
    if other.certificate is not None:
        assert other.certificate.stationarity == pytest.approx(a * b * one.certificate.stationarity, rel=0.1)


def test_units_do_not_matter_with_seeds_two_sides_and_similarity():
    rng = np.random.default_rng(1)
    A, B, to = friends(noise=0.2)
    S, AB, BA = rng.random((40, 40)), rng.random((40, 40)), rng.random((40, 40))
    one = graph_match(A, B, AB, BA, S, [[0, to[0]]], rng=0)
    a, b, c = 1e25, 1e-60, 1e12  # c divides between AB and BA
    other = graph_match(a * A, b * B, c * AB, a * b / c * BA, a * b * S, [[0, to[0]]], rng=0)
    assert (one.permutation == other.permutation).all()
    assert other.score == pytest.approx(a * b * one.score)


def test_a_similarity_beyond_all_edges_decides():
    A, B, _ = friends()
    wanted = np.random.default_rng(2).permutation(40)
    S = np.zeros((40, 40))
    S[np.arange(40), wanted] = 1e250
    assert (graph_match(A, B, S=S, rng=0).permutation == wanted).all()


@pytest.mark.parametrize(("a", "b"), [(1e300, 1e300), (1e-300, 1e-300), (1e-320, 1e50)])
def test_weights_whose_products_leave_float64_are_refused(a, b):
    A, B, _ = friends()
    with pytest.raises(InputError, match="whose products no score holds"):
        graph_match(a * A, b * B)
    with pytest.raises(InputError, match="no score holds the sum"):
        graph_match(A, B, S=np.full((40, 40), 1e305))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.float16, np.float32])
def test_diagnostics_do_not_depend_on_how_weights_are_stored(dtype):
    A, B, to = friends()
    scale = 1 if dtype is bool else 100
    for judge in (edge_agreement, alignment_strength, chance):
        expected = judge([scale * A], [scale * B], np.arange(40), to)
        stored = [(scale * A).astype(dtype)], [(scale * B).astype(dtype)]
        np.testing.assert_allclose(judge(*stored, np.arange(40), to), expected)
        with pytest.raises(InputError, match="list of layers"):
            judge(A, [B], np.arange(40), to)
