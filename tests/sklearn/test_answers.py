"""The coefficients minimise what the docstrings say: other solvers agree, and optimality conditions hold."""

import pytest

pytest.importorskip("sklearn")

import cvxpy as cp
import numpy as np
from scipy import sparse
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression

import trisplit as ts
from trisplit.losses import registry
from trisplit.sklearn import OverlappingGroupLasso, OverlappingGroupLogistic, RobustRegressor, SparseLowRank
from trisplit.sklearn.robust import of_residuals

CROSSING = [[0, 1, 2, 3], [3, 4, 5], [5, 6, 7, 0], [1, 4, 7]]  # three terms
CHAIN = [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7]]  # two
TREE = [[0, 1, 2, 3], [0, 1], [4, 5], [5], [6, 7]]  # one


def table(n=60, d=8, seed=0):
    """Columns of different sizes, not centred: units and intercept matter."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, d)) + rng.uniform(-3, 3, d)) * rng.uniform(0.3, 3, d)
    w = rng.standard_normal(d) * (rng.random(d) < 0.5)
    return X, X @ w + 7 + rng.standard_normal(n), rng


def clarabel(objective, tol=1e-10):
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
    return problem.value


def norms(w, groups, weights):
    return sum(weight * cp.norm(w[group]) for group, weight in zip(groups, weights, strict=True))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_without_groups_it_is_the_lasso_in_all_units(unit, fit_intercept):
    X, y, _ = table()
    alpha = 0.3 * unit
    own = OverlappingGroupLasso(alpha=alpha, tol=1e-10, fit_intercept=fit_intercept).fit(X, unit * y)
    peer = Lasso(alpha=alpha, tol=1e-14, max_iter=10**6, fit_intercept=fit_intercept).fit(X, unit * y)
    np.testing.assert_allclose(own.coef_, peer.coef_, atol=1e-6 * unit)
    np.testing.assert_allclose(own.intercept_, peer.intercept_, atol=1e-6 * unit)
    np.testing.assert_array_equal(own.coef_ == 0, peer.coef_ == 0)


@pytest.mark.parametrize("groups", [CROSSING, CHAIN, TREE])
@pytest.mark.parametrize("l1", [0.0, 0.2])
def test_overlapping_groups_agree_with_a_cone_solver(groups, l1):
    X, y, rng = table(seed=1)
    weights = rng.uniform(0.5, 2, len(groups))
    own = OverlappingGroupLasso(groups, alpha=0.6, weights=weights, l1=l1, tol=1e-10).fit(X, y)
    w, b = cp.Variable(8), cp.Variable()
    penalty = 0.6 * norms(w, groups, weights) + l1 * cp.norm1(w)
    clarabel(cp.sum_squares(y - X @ w - b) / 120 + penalty)
    np.testing.assert_allclose(own.coef_, w.value, atol=1e-6)
    assert own.intercept_ == pytest.approx(float(b.value), abs=1e-5)


def test_optimality_conditions_of_a_chain():
    """A subgradient of each group norm, together the negative gradient; found by least norm, so by another way."""
    X, y, _ = table(seed=2)
    model = OverlappingGroupLasso(CHAIN, alpha=1.2, tol=1e-11).fit(X, y)
    assert 0 < np.count_nonzero(model.coef_) < 8
    r = y - X @ model.coef_ - model.intercept_
    assert abs(r.sum()) < 1e-8 * len(y)  # the intercept
    pull, free = X.T @ r / len(y), []
    for group in CHAIN:
        norm = np.linalg.norm(model.coef_[group])
        if norm:
            pull[group] -= 1.2 * model.coef_[group] / norm
        else:
            free.append(group)
    parts = [cp.Variable(len(group)) for group in free]
    total = sum(np.eye(8)[:, group] @ part for group, part in zip(free, parts, strict=True))
    excess = cp.max(cp.hstack([cp.norm(part) for part in parts]))
    problem = cp.Problem(cp.Minimize(excess + 1e3 * cp.norm(total - pull)))
    problem.solve(solver=cp.CLARABEL)
    assert np.linalg.norm(total.value - pull) < 1e-6
    assert excess.value < 1.2 + 1e-6


def test_zeros_of_groups_are_exact():
    """Whichever term the dropped group is in."""
    X, y, _ = table(seed=3)
    for groups in (CHAIN, CHAIN[::-1], CROSSING):
        model = OverlappingGroupLasso(groups, alpha=4.0).fit(X, y)
        dropped = [group for group in groups if np.abs(model.coef_[group]).max() < 1e-4]
        assert dropped
        assert not any(model.coef_[group].any() for group in dropped)


def test_two_classes_agree_with_logistic_regression():
    X, y, _ = table(n=150, seed=4)
    labels = y > np.median(y)
    own = OverlappingGroupLogistic(alpha=0.02, tol=1e-11).fit(X, labels)
    w, b = cp.Variable(8), cp.Variable()
    signs = np.where(labels, 1, -1)
    clarabel(cp.sum(cp.logistic(-cp.multiply(signs, X @ w + b))) / 150 + 0.02 * cp.norm1(w))
    np.testing.assert_allclose(own.coef_[0], w.value, atol=1e-5)
    peer = LogisticRegression(l1_ratio=1.0, C=1 / (0.02 * 150), solver="saga", tol=1e-9, max_iter=10**6)
    if "penalty" in peer.get_params() and peer.get_params()["penalty"] == "l2":  # before scikit-learn 1.8
        peer.set_params(penalty="l1", l1_ratio=None)
    X = (X - X.mean(axis=0)) / 3  # for SAGA
    own.fit(X, labels)
    peer.fit(X, labels)
    np.testing.assert_allclose(own.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(own.intercept_, peer.intercept_, atol=1e-6)
    np.testing.assert_allclose(own.predict_proba(X), peer.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("groups", [CROSSING, CHAIN])
def test_classes_with_overlapping_groups_agree_with_a_cone_solver(groups):
    X, y, _ = table(n=90, seed=5)
    names = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]
    own = OverlappingGroupLogistic(groups, alpha=0.05, tol=1e-11).fit(X, names)
    assert list(own.classes_) == ["high", "low", "mid"]
    assert own.coef_.shape == (3, 8)
    np.testing.assert_allclose(own.predict_proba(X).sum(axis=1), 1)
    for name, coef, intercept in zip(own.classes_, own.coef_, own.intercept_, strict=True):
        w, b = cp.Variable(8), cp.Variable()
        signs = np.where(names == name, 1, -1)
        losses = cp.logistic(-cp.multiply(signs, X @ w + b))
        clarabel(cp.sum(losses) / 90 + 0.05 * norms(w, groups, np.ones(len(groups))), tol=1e-9)
        np.testing.assert_allclose(coef, w.value, atol=1e-5)
        assert intercept == pytest.approx(float(b.value), abs=1e-4)


def test_probabilities_of_hopeless_samples_are_numbers():
    X, y, _ = table()
    model = OverlappingGroupLogistic().fit(X, np.digitize(y, np.quantile(y, [0.3, 0.6])))
    model.intercept_ -= 1e4
    assert np.isfinite(model.predict_proba(X)).all()


def test_sparse_low_rank_agrees_with_a_cone_solver():
    X, _, rng = table(d=6, seed=6)
    Y = X @ np.outer([1.0, -1, 0, 0, 0, 0], [1.0, 2, 0, 1]) + 3 + 0.5 * rng.standard_normal((60, 4))
    own = SparseLowRank(alpha=0.1, beta=1.0, tol=1e-10).fit(X, Y)
    W, b = cp.Variable((6, 4)), cp.Variable((1, 4))
    clarabel(cp.sum_squares(Y - X @ W - np.ones((60, 1)) @ b) / 120 + 0.1 * cp.sum(cp.abs(W)) + cp.normNuc(W))
    np.testing.assert_allclose(own.coef_.T, W.value, atol=1e-5)
    np.testing.assert_allclose(own.intercept_, b.value[0], atol=1e-4)
    singular = np.linalg.svd(own.coef_, compute_uv=False)
    assert own.rank_ == np.sum(singular > 1e-6 * singular[0]) < 4
    assert 0 < np.sum(own.coef_ == 0)


def test_one_target_of_low_rank_is_the_lasso_with_a_group():
    X, y, _ = table()
    one = SparseLowRank(alpha=0.2, beta=0.5, tol=1e-10).fit(X, y)
    same = OverlappingGroupLasso([range(8)], alpha=0.5, l1=0.2, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(one.coef_, same.coef_, atol=1e-6)
    column = SparseLowRank(alpha=0.2, beta=0.5, tol=1e-10).fit(sparse.csr_array(X), y[:, None])
    np.testing.assert_allclose(column.coef_, one.coef_[None], atol=1e-6)
    assert column.predict(X).shape == (60, 1)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.4])
def test_tukey_ignores_gross_outliers(share):
    X, y, rng = table(n=200, d=4, seed=7)
    clean = RobustRegressor(scale=1.0).fit(X, y)
    hit = rng.random(200) < share
    wild = np.where(hit, y + rng.uniform(50, 100, 200), y)
    robust, least = RobustRegressor().fit(X, wild), LinearRegression().fit(X, wild)
    assert not robust.weights_[hit].any()
    assert np.mean(robust.weights_[~hit]) > 0.8
    assert 0.5 < robust.scale_ < 2.5
    np.testing.assert_allclose(robust.coef_, clean.coef_, atol=0.2)
    assert np.abs(robust.predict(X) - clean.predict(X)).max() < 0.6 < np.abs(least.predict(X) - clean.predict(X)).min()


@pytest.mark.parametrize("loss", [name for name, one in registry.items() if of_residuals(one)])
def test_every_loss_of_residuals_fits_clean_data(loss):
    X, _, rng = table(n=100, d=4, seed=11)
    y = X @ [1.0, -2.0, 0.0, 3.0] + 5 + 0.1 * rng.standard_normal(100)
    model = RobustRegressor(loss).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, -2.0, 0.0, 3.0], atol=0.1)
    assert 0 < model.weights_.min()
    assert 0.05 < model.scale_ < 0.2


def test_how_far_an_outlier_is_does_not_matter():
    X, y, _ = table(n=100, d=4, seed=8)
    y[:10] += 1e3
    near = RobustRegressor(scale=1.0, tol=1e-9).fit(X, y)
    y[:10] += 1e5
    far = RobustRegressor(scale=1.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(near.coef_, far.coef_, atol=1e-5)


def test_least_squares_at_any_scale_is_least_squares():
    X, y, _ = table(seed=9)
    plain = LinearRegression().fit(X, y)
    model = RobustRegressor("least_squares", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(plain.intercept_, abs=1e-6)
    np.testing.assert_allclose(model.weights_, 1.0)
    lasso = RobustRegressor("least_squares", ts.terms.L1(0.3), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(lasso.coef_, Lasso(0.3, tol=1e-14, max_iter=10**6).fit(X, y).coef_, atol=1e-6)


def test_robust_fit_is_stationary_and_its_terms_hold():
    X, y, rng = table(n=120, seed=10)
    y[:20] -= 60
    model = RobustRegressor(terms=[ts.terms.L1(0.1), ts.terms.Box(0, np.inf)], tol=1e-9).fit(X, y)
    assert model.coef_.min() >= 0
    r = (y - X @ model.coef_ - model.intercept_) / model.scale_
    pull = model.scale_ * X.T @ (model.weights_ * r) / 120
    np.testing.assert_allclose(pull[model.coef_ > 0], 0.1, atol=1e-6)
    assert pull[model.coef_ == 0].max() < 0.1 + 1e-6
    assert abs((model.weights_ * r).sum()) < 1e-5


def test_a_term_of_the_users_own():
    class Sum:
        convex = indicator = True

        def value(self, x):
            return 0.0

        def prox(self, x, gamma):
            return x - (x.sum() - 1) / x.size

    X, y, _ = table()
    assert RobustRegressor(terms=Sum()).fit(X, y).coef_.sum() == pytest.approx(1)
