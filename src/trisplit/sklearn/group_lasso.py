"""Least squares with norms of groups of coefficients, which may overlap."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from sklearn.base import RegressorMixin

from trisplit.losses import LeastSquares
from trisplit.sklearn.design import Design
from trisplit.sklearn.fitting import LinearEstimator, solve, unit_of
from trisplit.sklearn.penalties import Groups, group_penalty
from trisplit.terms.checks import yes_or_no


class OverlappingGroupLasso(RegressorMixin, LinearEstimator):
    """Linear regression that selects groups of features, which may overlap.

    min over w and b of (1/2n) ||y - X w - b||^2 + alpha sum_k weights_k ||w[groups[k]]||_2 + l1 ||w||_1.

    A feature is used if none of its groups is dropped. Without groups it is the lasso.

    Parameters
    ----------
    groups : list of lists of int, optional
        Features of each group, counted from 0; one in no group has no group norm. None makes each feature a group.
    alpha : float
        Weight of the group norms.
    weights : sequence of float, optional
        One for each group; None is 1 for all.
    l1 : float
        Weight of the L1 norm, which selects features within groups.
    fit_intercept : bool
    tol : float
        Relative, as in `trisplit.minimize`.
    max_iter : int
    warm_start : bool
        Start from the coefficients of the last fit.

    Attributes
    ----------
    coef_ : array (n_features,)
    intercept_ : float
    n_iter_ : int
    certificate_ : Certificate
        How far the coefficients can be from a minimiser,
        for y with the root mean square 1 and X with the norm sqrt(n).
    n_features_in_ : int
    feature_names_in_ : array of str
        If X has names of columns.

    References
    ----------
    Yuan, Lin (2006), Model selection and estimation in regression with grouped variables.
    Jenatton, Audibert, Bach (2011), Structured variable selection with sparsity-inducing norms.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 5))
    >>> model = OverlappingGroupLasso([[0, 1, 2], [2, 3], [3, 4]], alpha=0.1)
    >>> model.fit(X, X[:, 0] - X[:, 1] + 3).coef_.round(1)
    array([ 0.9, -0.9,  0. ,  0. ,  0. ])
    """

    def __init__(
        self,
        groups: Groups | None = None,
        alpha: float = 1.0,
        *,
        weights: Sequence[float] | np.ndarray | None = None,
        l1: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        warm_start: bool = False,
    ) -> None:
        self.groups = groups
        self.alpha = alpha
        self.weights = weights
        self.l1 = l1
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def fit(self, X: object, y: object) -> Self:
        """Fit coefficients to a table X (n, d), dense or sparse, and targets y (n,)."""
        table, targets = self._checked(X, y, y_numeric=True)
        terms = group_penalty(self.groups, self.alpha, self.weights, self.l1, table.shape[1])
        centre = yes_or_no(self.fit_intercept, "fit_intercept")
        design, y0 = Design.of(table, centre=centre), float(targets.mean()) if centre else 0.0
        s = unit_of(targets - y0)
        x0 = np.zeros(table.shape[1])
        if yes_or_no(self.warm_start, "warm_start") and hasattr(self, "coef_"):
            x0 = design.inward(self.coef_, self.intercept_, y0, s)
        f = LeastSquares(design.samples, (targets - y0) / s)
        found = solve(f, x0, terms, design, s, tol=self.tol, max_iter=self.max_iter)
        self.coef_, intercept = design.outward(found.x, y0, s)
        self.intercept_ = float(intercept)
        self.n_iter_, self.certificate_ = found.n_iter, found.certificate
        return self

    def predict(self, X: object) -> np.ndarray:
        """Return X coef + intercept."""
        return self._linear(X)
