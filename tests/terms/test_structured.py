"""Facts about lines, images and graphs that the contracts do not state: limits, relations between terms, optimality."""

import numpy as np
import pytest

from trisplit.errors import InputError
from trisplit.terms import (
    FusedLasso,
    GraphTotalVariation,
    ImageTotalVariation,
    Isotonic,
    NearlyIsotonic,
    QuadraticDifferences,
    TotalVariation,
    TrendFiltering,
)
from trisplit.terms.structured.images import TOL, grid, isotropic, newton
from trisplit.terms.structured.trends import trend

rng = np.random.default_rng(0)
WALK = np.cumsum(rng.standard_normal(3000))
NOISE = rng.standard_normal(3000)


def picture(*shape):
    image = np.random.default_rng(1).normal(scale=0.2, size=shape)
    image[tuple(slice(n // 4, n // 2 + 1) for n in shape)] += 1.0
    return image


@pytest.mark.parametrize("y", [WALK, NOISE, np.round(NOISE), np.sqrt(np.arange(3000.0))])
@pytest.mark.parametrize("lam", [1e-3, 0.3, 1.0, 40.0, 1e12])
def test_equal_weights_are_one_weight(y, lam):
    """Two kernels, one of which is the plain twin of the other."""
    one, each = TotalVariation(lam).prox(y, 0.5), TotalVariation(np.full(2999, lam)).prox(y, 0.5)
    assert np.allclose(one, each, rtol=0, atol=1e-15 * np.abs(y - y[0]).sum())


@pytest.mark.parametrize("term", [TotalVariation, NearlyIsotonic])
@pytest.mark.parametrize("scale", [1e-3, 0.3, 5.0, 1e4])
def test_weighted_jumps_meet_the_conditions_of_optimality(term, scale):
    """With u the sums of p - y: u is between -fall and rise, ends at 0, and is at an end where p jumps."""
    weights = scale * rng.random(2999) * (rng.random(2999) < 0.9)
    for y in (WALK, NOISE, np.round(NOISE)):
        p = term(weights).prox(y, 1.0)
        u, jumps = np.cumsum(p - y), np.diff(p)
        rise = weights if term is TotalVariation else np.zeros(2999)
        size = 1e-13 * np.abs(y).sum()
        assert abs(u[-1]) <= size
        assert np.all(u[:-1] <= rise + size)
        assert np.all(u[:-1] >= -weights - size)
        assert np.all(np.abs(u[:-1] - rise)[jumps > 0] <= size)
        assert np.all(np.abs(u[:-1] + weights)[jumps < 0] <= size)


def test_weights_of_each_line():
    x, weights = rng.standard_normal((4, 3, 5)), rng.random((4, 5, 2))
    p = TotalVariation(weights, axis=1).prox(x, 0.7)
    for i, j in np.ndindex(4, 5):
        assert np.allclose(p[i, :, j], TotalVariation(weights[i, j]).prox(x[i, :, j], 0.7))
    assert np.allclose(
        TotalVariation(weights, axis=1).value(x), np.sum(weights * np.abs(np.diff(np.moveaxis(x, 1, -1))))
    )


def test_fused_lasso_without_one_part():
    assert np.array_equal(FusedLasso(0.0, 0.7).prox(WALK, 2.0), TotalVariation(0.7).prox(WALK, 2.0))
    assert np.allclose(FusedLasso(0.5, 0.0).prox(WALK, 2.0), np.sign(WALK) * np.maximum(np.abs(WALK) - 1.0, 0.0))


@pytest.mark.parametrize("increasing", [True, False])
def test_nearly_isotonic_becomes_isotonic(increasing):
    for y in (WALK, NOISE):
        near, order = NearlyIsotonic(1e6, increasing=increasing), Isotonic(increasing=increasing)
        assert np.allclose(near.prox(y, 1.0), order.project(y), rtol=0, atol=1e-10)
        assert near.value(order.project(y)) == 0.0


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("lam", [1e-3, 0.1, 3.0, 30.0])
def test_trend_filtering_meets_the_conditions_of_optimality(order, lam):
    """y - p = D'z with |z| <= lam, and z is at an end where p has a knot."""
    n, q = 60, order + 1
    y = np.sin(np.arange(n) / 8) + 0.2 * rng.standard_normal(n)
    p = TrendFiltering(lam, order).prox(y, 1.0)
    z = y - p
    for _ in range(q):
        z = np.cumsum(z)
    z, moments = (-1) ** q * z[: n - q], z[n - q :]
    size = 1e-9 * max(1.0, lam)
    assert np.abs(moments).max() <= size
    assert np.abs(z).max() <= lam + size
    knots = np.diff(p, n=q)
    assert np.sum(lam * np.abs(knots) - z * knots) <= size


@pytest.mark.parametrize("order", [1, 2, 3])
def test_trend_filtering_leaves_polynomials(order):
    t = np.linspace(-1, 1, 40)
    y = np.polynomial.polynomial.polyval(t, rng.standard_normal(order + 1))
    assert np.allclose(TrendFiltering(5.0, order).prox(y, 1.0), y, rtol=0, atol=1e-13)
    rough = y + rng.standard_normal(40)
    fit = np.polynomial.Polynomial.fit(t, rough, order)(t)
    assert np.allclose(TrendFiltering(1e9, order).prox(rough, 1.0), fit, rtol=0, atol=1e-12)
    assert np.allclose(trend(rough[::-1], 2.0, order + 1)[::-1], trend(rough, 2.0, order + 1), rtol=0, atol=1e-11)


def test_trends_without_differences():
    assert np.array_equal(TrendFiltering(1.0, 3).prox(np.array([3.0, 1.0]), 1.0), [3.0, 1.0])
    assert TrendFiltering(1.0, 3).value(np.array([3.0, 1.0])) == 0.0
    assert np.isnan(TrendFiltering(1.0).prox(np.array([0.0, np.nan, 1.0, 2.0]), 1.0)).all()


def test_squared_differences_solve_their_equations():
    x, D = rng.standard_normal(500), np.diff(np.eye(500), axis=0)
    p = QuadraticDifferences(3.0).prox(x, 40.0)
    assert np.allclose(p + 120.0 * D.T @ (D @ p), x, rtol=0, atol=1e-11)


@pytest.mark.parametrize("lam", [1e-3, 0.3, 5.0, 1e3, 1e12])
def test_a_path_is_a_line(lam):
    path = GraphTotalVariation(np.stack([np.arange(2999), np.arange(1, 3000)], axis=1))
    for y in (WALK, NOISE, np.round(NOISE)):
        expected = TotalVariation(lam).prox(y, 1.0)
        assert np.allclose(path.prox(y, lam), expected, rtol=0, atol=1e-14 * np.abs(y - y.mean()).sum())


def test_a_graph_in_pieces():
    """Nodes without edges stay, and pieces do not see each other."""
    y = rng.standard_normal(7)
    p = GraphTotalVariation([[0, 1], [4, 5], [5, 6]], 0.3).prox(y, 1.0)
    assert np.array_equal(p[2:4], y[2:4])
    assert np.allclose(p[:2], TotalVariation(0.3).prox(y[:2], 1.0))
    assert np.allclose(p[4:], TotalVariation(0.3).prox(y[4:], 1.0))


@pytest.mark.parametrize("shape", [(24, 20), (6, 7, 8)])
def test_an_anisotropic_image_is_a_graph(shape):
    x = picture(*shape)
    for lam in (0.05, 0.3, 2.0):
        p = ImageTotalVariation(lam, isotropic=False).prox(x, 1.0)
        assert np.allclose(p, GraphTotalVariation(grid(shape), lam).prox(x, 1.0), rtol=0, atol=1e-12)
        steps = [1.0 + 1e-3 * rng.standard_normal(shape), 1.0]
        for step in steps:  # no multiple and no neighbour is better
            costs = [lam * ImageTotalVariation(1.0, False).value(q) + np.sum((q - x) ** 2) / 2 for q in (p, p * step)]
            assert costs[0] <= costs[1] + 1e-12


@pytest.mark.parametrize("shape", [(24, 20), (6, 7, 8)])
@pytest.mark.parametrize("lam", [0.02, 0.2, 1.0, 30.0])
def test_two_methods_for_isotropic_images_agree(shape, lam):
    """Each certifies its distance to the proximal point."""
    x = picture(*shape)
    x = (x - x.mean()) / np.abs(x - x.mean()).max()
    size = np.linalg.norm(x)
    p = isotropic(x, lam)
    q, gap = newton(x.reshape((1,) * (3 - x.ndim) + shape), lam, 0.5 * (TOL * size) ** 2)
    assert np.sqrt(2 * gap) <= 10 * TOL * size
    assert np.linalg.norm(p.ravel() - q) <= np.sqrt(2 * gap) + 2 * TOL * size


def test_an_image_of_one_row_is_a_line():
    y = WALK[:60]
    expected = TotalVariation(0.8).prox(y, 2.0)
    for isotropic_or_not in (True, False):
        for x in (y[None], y[:, None]):
            p = ImageTotalVariation(0.8, isotropic_or_not).prox(x, 2.0)
            assert np.allclose(p.ravel(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("weight", lambda: TotalVariation([1.0, -1.0])),
        ("weight", lambda: TotalVariation([1.0, np.nan])),
        ("weight", lambda: TotalVariation([1.0, 2.0]).prox(np.zeros(4), 1.0)),
        ("weight", lambda: TotalVariation([1.0, 2.0]).value(np.zeros(4))),
        ("weight", lambda: TotalVariation([1.0]).prox(np.zeros(4), 1.0)),
        ("weight", lambda: TotalVariation(np.ones((5, 3))).prox(np.zeros(4), 1.0)),
        ("sparsity", lambda: FusedLasso(-1.0, 1.0)),
        ("smoothness", lambda: FusedLasso(1.0, np.nan)),
        ("axis", lambda: FusedLasso(axis=0.5)),
        ("axis", lambda: FusedLasso(axis=1).prox(np.zeros(3), 1.0)),
        ("weight", lambda: NearlyIsotonic(-1.0)),
        ("axis", lambda: Isotonic(axis="rows")),
        ("axis", lambda: Isotonic(axis=2).project(np.zeros((2, 2)))),
        ("order", lambda: TrendFiltering(1.0, 0)),
        ("order", lambda: TrendFiltering(1.0, 1.5)),
        ("weight", lambda: TrendFiltering(np.inf)),
        ("weight", lambda: QuadraticDifferences(-0.1)),
        ("weight", lambda: ImageTotalVariation(-0.1)),
        ("ImageTotalVariation", lambda: ImageTotalVariation().prox(np.zeros(3), 1.0)),
        ("ImageTotalVariation", lambda: ImageTotalVariation().value(np.zeros((2, 2, 2, 2)))),
        ("edges", lambda: GraphTotalVariation([[0, 1, 2]])),
        ("edges", lambda: GraphTotalVariation([])),
        ("edges", lambda: GraphTotalVariation([[0.5, 1.0]])),
        ("edges", lambda: GraphTotalVariation([[0, 1], [2]])),
        ("edges[1]", lambda: GraphTotalVariation([[0, 1], [2, 2]])),
        ("edges[0]", lambda: GraphTotalVariation([[-1, 1], [2, 0]])),
        ("edges", lambda: GraphTotalVariation([[0, 5]]).prox(np.zeros(5), 1.0)),
        ("edges", lambda: GraphTotalVariation([[0, 5]]).value(np.zeros(5))),
        ("weight", lambda: GraphTotalVariation([[0, 1]], [1.0, 2.0])),
        ("weight", lambda: GraphTotalVariation([[0, 1]], -1.0)),
    ],
)
def test_bad_parameters_are_named(name, make):
    with pytest.raises(InputError) as caught:
        make()
    problem, _, remedy = str(caught.value).partition("; ")
    assert name in problem
    assert len(remedy) >= 8
