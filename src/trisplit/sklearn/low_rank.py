"""Regression with several targets whose matrix of coefficients is sparse and of low rank at once."""

from typing import Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from trisplit.losses import Loss, Samples
from trisplit.sklearn.design import Design
from trisplit.sklearn.fitting import LinearEstimator, solve, unit_of
from trisplit.terms import L1, NuclearNorm
from trisplit.terms.checks import nonnegative_weight, yes_or_no


class LeastSquaresOfTasks(Loss):
    """(1/2n) ||A W - B||_F^2 for a matrix B of targets."""

    def __init__(self, samples: Samples, B: np.ndarray) -> None:
        self.samples, self.B, self.rows = samples, B, slice(0, samples.n)

    def value_and_grad(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return both from the residuals."""
        R = self.samples.dot(x, self.rows) - self.B
        return float(np.sum(R * R)) / (2 * self.samples.n), self.samples.t_dot(R, self.rows) / self.samples.n


class SparseLowRank(RegressorMixin, LinearEstimator):
    """Linear regression for one or more targets with coefficients that are sparse and of low rank.

    min over W and b of (1/2n) ||Y - X W - 1 b'||_F^2 + alpha ||W||_1 + beta ||W||_*

    with the sum of absolute values of the entries and that of the singular values.

    Parameters
    ----------
    alpha : float
        Weight of the L1 norm.
    beta : float
        Weight of the nuclear norm.
    fit_intercept : bool
    tol : float
        Relative, as in `trisplit.minimize`.
    max_iter : int
    warm_start : bool
        Start from the coefficients of the last fit.

    Attributes
    ----------
    coef_ : array (n_features,) or (n_targets, n_features)
        W', which has axes as y has.
    intercept_ : float or array (n_targets,)
    rank_ : int
        The number of singular values that the nuclear norm has left; of one target, 0 or 1.
    n_iter_ : int
    certificate_ : Certificate
        How far the coefficients can be from a minimiser,
        for Y with the root mean square 1 and X with the norm sqrt(n).
    n_features_in_ : int
    feature_names_in_ : array of str
        If X has names of columns.

    References
    ----------
    Richard, Savalle, Vayatis (2012), Estimation of simultaneously sparse and low rank matrices.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> Y = np.outer(X[:, 0] - X[:, 1], [1.0, 2.0, 0.0])
    >>> model = SparseLowRank(alpha=0.1, beta=0.1).fit(X, Y)
    >>> model.rank_, (model.coef_ != 0).astype(int)
    (1, array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 0, 0]]))
    """

    def __init__(
        self,
        alpha: float = 0.1,
        beta: float = 0.1,
        *,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: object, y: object) -> Self:
        """Fit coefficients to a table X (n, d), dense or sparse, and targets y (n,) or (n, k)."""
        table, targets = self._checked(X, y, y_numeric=True, multi_output=True)
        Y = targets.astype(np.float64).reshape(len(targets), -1)
        # The answer is the point of the first term: its rank is exact, and zeros of the second are put in.
        terms = [NuclearNorm(nonnegative_weight(self.beta, "beta")), L1(nonnegative_weight(self.alpha, "alpha"))]
        centre = yes_or_no(self.fit_intercept, "fit_intercept")
        design, y0 = Design.of(table, centre=centre), Y.mean(axis=0) if centre else np.zeros(Y.shape[1])
        s = unit_of(Y - y0)
        x0 = np.zeros((table.shape[1], Y.shape[1]))
        if yes_or_no(self.warm_start, "warm_start") and hasattr(self, "coef_") and self.coef_.size == x0.size:
            x0 = design.inward(self.coef_.T.reshape(x0.shape), self.intercept_, y0, s)
        f = LeastSquaresOfTasks(design.samples, (Y - y0) / s)
        found = solve(f, x0, terms, design, s, tol=self.tol, max_iter=self.max_iter)
        W, b = design.outward(found.x, y0, s)
        self.rank_ = int(np.linalg.matrix_rank(found.first))
        self.coef_, self.intercept_ = (W.T, b) if targets.ndim == 2 else (W[:, 0], float(b[0]))  # pyright: ignore
        self.n_iter_, self.certificate_ = found.n_iter, found.certificate
        return self

    def predict(self, X: object) -> np.ndarray:
        """Return X coef' + intercept, with axes as y had."""
        return self._linear(X)
