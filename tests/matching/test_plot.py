"""Pictures of a match: what they show adds up, whatever the graphs are stored as."""

import numpy as np
import pytest
from scipy import sparse

from tests.matching.results import a_pair, a_result
from trisplit.errors import InputError
from trisplit.matching.ordering import structured_order
from trisplit.matching.picture import picture

FULL = {"directed": True, "loops": True, "weighted": True}


def community_graph(blocks, size, seed=0):
    """Return a graph of dense blocks with shuffled vertices, and the block of each."""
    rng = np.random.default_rng(seed)
    which = rng.permutation(np.repeat(np.arange(blocks), size))
    W = np.triu(rng.random((len(which),) * 2) < np.where(which[:, None] == which, 0.5, 0.01), 1)
    return (W | W.T).astype(float), which


@pytest.mark.parametrize("kind", [{}, FULL], ids=["simple", "full"])
def test_cells_hold_the_matrices_in_the_order_of_the_match(kind):
    A, B, p = a_pair(13, **kind)
    i = np.arange(13)
    shown = picture([A], [B], i, p)
    o = shown.order
    assert np.array_equal(np.sort(o), i)
    assert np.array_equal(shown.A, A[np.ix_(o, o)])
    assert np.array_equal(shown.B, B[np.ix_(p[o], p[o])])
    assert np.allclose(shown.common, np.minimum(shown.A, shown.B))


@pytest.mark.parametrize("cells", [1, 4, 7, 13, 100])
@pytest.mark.parametrize("sparsely", [False, True])
def test_blocks_hold_the_means_of_their_pairs(cells, sparsely):
    A, B, p = a_pair(13, **FULL)
    A = A * np.random.default_rng(0).choice([-1, 1], A.shape)
    whole = picture([A], [B], np.arange(13), p)
    make = sparse.csr_array if sparsely else np.asarray
    shown = picture([make(A)], [make(B)], np.arange(13), p, order=whole.order, cells=cells)
    assert len(shown.A) == min(cells, 13)
    area = np.diff(np.append(shown.starts, 13))
    for name in ("A", "B", "common", "only_A", "only_B"):
        exact = getattr(whole, name)
        means = [
            [block.mean() for block in np.split(rows, shown.starts[1:], axis=1)]
            for rows in np.split(exact, shown.starts[1:], axis=0)
        ]
        assert np.allclose(getattr(shown, name), means), name
    assert area.sum() == 13


def test_the_order_puts_communities_side_by_side():
    W, which = community_graph(5, 30)
    changes = np.count_nonzero(np.diff(which[structured_order(W)]))
    assert changes <= 12  # 4 is the least, 120 what chance would do


def test_the_order_follows_a_path():
    n = 60
    q = np.random.default_rng(0).permutation(n)
    W = sparse.csr_array((np.ones(n - 1), (q[:-1], q[1:])), shape=(n, n))
    order = structured_order(W)
    places = np.argsort(q)[order]
    assert np.array_equal(places, np.arange(n)) or np.array_equal(places, np.arange(n)[::-1])


def test_the_order_is_the_same_for_all_ways_to_store_a_graph():
    W, _ = community_graph(3, 40)
    assert np.array_equal(structured_order(W), structured_order(sparse.csr_array(W)))
    assert np.array_equal(structured_order(W), structured_order(-W))


@pytest.mark.parametrize("W", [np.zeros((0, 0)), np.zeros((3, 3)), np.eye(2), np.ones((5, 5)), np.diag(np.ones(69), 1)])
def test_every_graph_has_an_order(W):
    assert np.array_equal(np.sort(structured_order(W)), np.arange(len(W)))


def test_a_large_sparse_graph_is_no_matrix():
    n = 30_000  # 7 GiB as a dense matrix
    rng = np.random.default_rng(0)
    A = sparse.csr_array((np.ones(4 * n), rng.integers(0, n, (2, 4 * n))), shape=(n, n))
    shown = picture([A], [A], np.arange(n), np.arange(n), order=np.arange(n), cells=50)
    assert shown.A.shape == (50, 50)
    assert shown.A.mean() == pytest.approx(A.sum() / n**2)
    assert not shown.only_A.any()


# figures


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def legend(figure):
    return [text.get_text() for text in figure.axes[2].get_legend().get_texts()]


def test_three_panels_say_what_they_show(plt):
    from trisplit.matching.plot import plot_match

    A, B, p = a_pair(20)
    p[[3, 8]] = -1
    figure = plot_match(A, B, a_result(A, B, p))
    assert [panel.get_title() for panel in figure.axes] == ["A", "B, as matched", "A and B"]
    assert figure.axes[0].get_xlabel() == "18 of 20 vertices"
    figure.canvas.draw()
    figure = plot_match(A, A, a_result(A, A, np.arange(20)))
    assert legend(figure) == ["both 100 %", "only A 0 %", "only B 0 %"]


def test_it_draws_into_axes_that_are_given(plt):
    from trisplit.matching.plot import plot_match

    networkx = pytest.importorskip("networkx")
    G = networkx.karate_club_graph()
    M = networkx.to_numpy_array(G)
    whole, axes = plt.subplots(1, 3)
    assert plot_match([G, G], [M, M], a_result(M, M, np.arange(34)), ax=axes, order="given") is whole
    image = axes[0].images[0].get_array()
    assert image.shape == (34, 34, 3)
    assert np.array_equal(image.min(axis=2) < 1, M > 0)


def test_colours_tell_the_three_kinds_of_edges_apart(plt):
    from trisplit.matching.plot import BLUE, GREY, ORANGE, _rgb, plot_match

    A, B = np.zeros((2, 3, 3))
    A[0, 1] = A[0, 2] = B[0, 1] = B[1, 2] = 1
    image = plot_match(A, B, a_result(A, B, np.arange(3)), order="given").axes[2].images[0].get_array()
    for place, colour in (((0, 1), GREY), ((0, 2), BLUE), ((1, 2), ORANGE), ((2, 0), "#ffffff")):
        assert np.allclose(image[place], _rgb(colour))


@pytest.mark.parametrize("n", [0, 1, 2, 300])
def test_all_sizes_can_be_drawn(plt, n):
    from trisplit.matching.plot import plot_match

    A, B, p = a_pair(n, 0.05)
    plot_match(A, sparse.csr_array(B), a_result(A, B, p)).canvas.draw()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "degree"}, "`order` must be one of 'structure', 'given'"),
        ({"order": [0, 1, 1, 2]}, "`order` must hold each of 0 .. 3 once"),
        ({"ax": [None]}, "`ax` must be three axes, got 1"),
        ({"cells": 0}, "`cells` must be a positive whole number"),
    ],
)
def test_what_cannot_be_drawn_is_refused(plt, options, message):
    from trisplit.matching.plot import plot_match

    A, B, p = a_pair(4)
    with pytest.raises(InputError, match=message):
        plot_match(A, B, a_result(A, B, p), **options)


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    import sys

    from trisplit.matching.plot import plot_match

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    A, B, p = a_pair(4)
    with pytest.raises(ImportError, match=r"pip install 'trisplit\[plot\]'"):
        plot_match(A, B, a_result(A, B, p))
