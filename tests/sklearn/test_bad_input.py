"""Bad parameters and data raise errors that name them."""

import pytest

pytest.importorskip("sklearn")

import numpy as np
from scipy import sparse

import trisplit as ts
from trisplit.sklearn import OverlappingGroupLasso, OverlappingGroupLogistic, RobustRegressor, SparseLowRank

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((20, 3)), RNG.standard_normal(20)
GROUPED = [OverlappingGroupLasso, OverlappingGroupLogistic]
ALL = [*GROUPED, SparseLowRank, RobustRegressor]

PARAMETERS = [
    *((cls, {"groups": [[0], [1, 3]]}, r"`groups\[1\]` names feature 3 but X has 3") for cls in GROUPED),
    *((cls, {"groups": [[0], []]}, r"`groups\[1\]` is \[\]; it must be a nonempty list") for cls in GROUPED),
    *((cls, {"groups": [[0, 0]]}, "names an index twice") for cls in GROUPED),
    *((cls, {"groups": [[-1]]}, "indices >= 0") for cls in GROUPED),
    *((cls, {"groups": 3}, "must be a list of lists") for cls in GROUPED),
    *((cls, {"groups": []}, "`groups` is empty") for cls in GROUPED),
    *((cls, {"groups": [[0], [1]], "weights": [1.0]}, "`weights` has shape") for cls in GROUPED),
    *((cls, {"weights": [1.0, -1.0, 1.0]}, "`weights` must be >= 0") for cls in GROUPED),
    *((cls, {"l1": -1.0}, "`l1` must be a finite number >= 0") for cls in GROUPED),
    *((cls, {"alpha": bad}, "`alpha` (must|holds)") for cls in ALL[:3] for bad in (-1.0, np.nan, "much")),
    (SparseLowRank, {"beta": -1.0}, "`beta` must be"),
    (RobustRegressor, {"loss": "unheard of"}, "`loss` is unknown, got 'unheard of'; choose one of .*least_squares"),
    (RobustRegressor, {"loss": "logistic"}, "`loss` is unknown"),
    (RobustRegressor, {"scale": -1.0}, "`scale` must be"),
    (RobustRegressor, {"scale": "sd"}, "`scale` must be 'mad' or a number"),
    (RobustRegressor, {"terms": "l1"}, r"`terms\[0\]` needs `value\(x\)` and `prox"),
    (RobustRegressor, {"terms": ts.terms.L1}, "create it"),
    (RobustRegressor, {"terms": ts.terms.GroupL2([[7]])}, "`groups` reach index 7"),
    *((cls, {"tol": -1.0}, "`tol` must be") for cls in ALL),
    *((cls, {"max_iter": 0}, "`max_iter` must be") for cls in ALL),
    *((cls, {"fit_intercept": "no"}, "`fit_intercept` must be True or False") for cls in ALL),
    *((cls, {"warm_start": 1}, "`warm_start` must be True or False") for cls in ALL),
]


@pytest.mark.parametrize(("cls", "parameters", "message"), PARAMETERS)
def test_bad_parameter_is_named(cls, parameters, message):
    with pytest.raises(ts.InputError, match=message):
        cls(**parameters).fit(X, Y > 0 if cls is OverlappingGroupLogistic else Y)


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_numbers_must_be_finite(cls, bad, kind):
    broken = X.copy()
    broken[3, 1] = bad
    y = Y > 0 if cls is OverlappingGroupLogistic else Y
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        cls().fit(kind(broken), y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        cls().fit(X, Y).predict(broken) if cls is not OverlappingGroupLogistic else cls().fit(X, y).predict(broken)


@pytest.mark.parametrize("cls", [OverlappingGroupLasso, RobustRegressor])
def test_one_target_only(cls):
    with pytest.raises(ValueError, match="1d array"):
        cls().fit(X, np.stack([Y, Y], axis=1))


def test_one_class_is_too_few():
    with pytest.raises(ValueError, match="one class"):
        OverlappingGroupLogistic().fit(X, np.ones(20))


def test_targets_that_do_not_vary():
    for cls in (OverlappingGroupLasso, SparseLowRank, RobustRegressor):
        model = cls().fit(X, np.full(20, 3.0))
        np.testing.assert_allclose(model.coef_, 0)
        assert model.intercept_ == pytest.approx(3.0)


def test_features_that_do_not_vary():
    model = OverlappingGroupLasso(alpha=0.1).fit(np.ones((20, 2)), Y)
    np.testing.assert_array_equal(model.coef_, 0)
    assert model.intercept_ == pytest.approx(Y.mean())
