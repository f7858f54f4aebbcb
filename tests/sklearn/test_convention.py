"""The estimators follow scikit-learn's convention."""

import pytest

pytest.importorskip("sklearn")

import pickle
import subprocess
import sys

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import trisplit as ts
from trisplit.sklearn import OverlappingGroupLasso, OverlappingGroupLogistic, RobustRegressor, SparseLowRank

CHAIN = [[0, 1, 2], [2, 3, 4], [4, 5]]
ESTIMATORS = {
    "lasso": OverlappingGroupLasso(alpha=0.05, l1=0.01),
    "overlapping lasso": OverlappingGroupLasso(CHAIN, alpha=0.05, weights=[1.0, 2.0, 0.5], l1=0.01),
    "logistic": OverlappingGroupLogistic(alpha=0.01),
    "overlapping logistic": OverlappingGroupLogistic(CHAIN, alpha=0.01),
    "low rank": SparseLowRank(alpha=0.01, beta=0.02),
    "robust": RobustRegressor(),
    "robust with terms": RobustRegressor(terms=[ts.terms.L1(0.01), ts.terms.Box(-2, 2)], scale=0.5),
}
each = pytest.mark.parametrize("model", ESTIMATORS.values(), ids=list(ESTIMATORS))


def data(model, n=80, d=6):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7) + np.linspace(0, 1, d)
    y = X @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0]) + 2 + 0.1 * rng.standard_normal(n)
    return X, np.digitize(y, np.quantile(y, [0.3, 0.6])) if hasattr(model, "predict_proba") else y


@parametrize_with_checks([OverlappingGroupLasso(), OverlappingGroupLogistic(), SparseLowRank(), RobustRegressor()])
def test_check_estimator(estimator, check):
    check(estimator)


@each
def test_sparse_is_dense(model):
    X, y = data(model)
    dense, thin = clone(model).set_params(tol=1e-9).fit(X, y), clone(model).set_params(tol=1e-9)
    for kind in (sparse.csr_matrix, sparse.csc_array):
        thin.fit(kind(X), y)
        np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-6)
        np.testing.assert_allclose(thin.intercept_, dense.intercept_, atol=1e-6)
        np.testing.assert_allclose(thin.predict(kind(X)), dense.predict(X), atol=1e-5)


@each
def test_same_data_same_answer_also_after_pickling(model):
    X, y = data(model)
    one, two = clone(model).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(X), one.predict(X))
    assert again.certificate_ == one.certificate_


@each
def test_warm_start_is_near_the_answer(model):
    X, y = data(model)
    model = clone(model).set_params(warm_start=True).fit(X, y)
    cold, coef = np.sum(model.n_iter_), model.coef_
    model.fit(X, y)
    assert np.sum(model.n_iter_) <= cold
    # The scale of residuals is settled up to a hundredth.
    np.testing.assert_allclose(model.coef_, coef, atol=2e-3 if isinstance(model, RobustRegressor) else 1e-4)


@each
def test_too_few_iterations_warn(model):
    X, y = data(model)
    with pytest.warns(ConvergenceWarning, match="raise max_iter or loosen tol"):
        clone(model).set_params(max_iter=2, tol=1e-12).fit(X, y)


@each
def test_without_intercept_the_plane_meets_the_origin(model):
    X, y = data(model)
    model = clone(model).set_params(fit_intercept=False).fit(X, y)
    assert np.all(np.asarray(model.intercept_) == 0)


@each
def test_grid_search_in_a_pipeline(model):
    X, y = data(model)
    pipeline = make_pipeline(StandardScaler(), clone(model))
    name = f"{type(model).__name__.lower()}__tol"
    search = GridSearchCV(pipeline, {name: [1e-2, 1e-5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8


def test_grid_search_finds_a_useful_alpha():
    X, y = data(None)
    search = GridSearchCV(OverlappingGroupLasso(CHAIN), {"alpha": [1e-3, 1e2]}, cv=3).fit(X, y)
    assert search.best_params_ == {"alpha": 1e-3}


def test_names_of_columns_are_kept():
    pandas = pytest.importorskip("pandas")
    X, y = data(None)
    table = pandas.DataFrame(X, columns=list("abcdef"))
    assert list(OverlappingGroupLasso().fit(table, y).feature_names_in_) == list("abcdef")


def test_missing_scikit_learn_is_said():
    code = "import sys; sys.modules['sklearn'] = None; import trisplit as ts; ts.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: trisplit.sklearn needs scikit-learn; pip install trisplit[sklearn]" in done.stderr
