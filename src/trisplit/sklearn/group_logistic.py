"""Logistic regression with norms of groups of coefficients, which may overlap."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from trisplit.errors import InputError
from trisplit.losses import Logistic
from trisplit.sklearn.design import Design
from trisplit.sklearn.fitting import LinearEstimator, solve
from trisplit.sklearn.penalties import Groups, group_penalty
from trisplit.terms.checks import yes_or_no


class OverlappingGroupLogistic(ClassifierMixin, LinearEstimator):
    """Logistic regression that selects groups of features, which may overlap; several classes by one against the rest.

    min over w and b of (1/n) sum_i log(1 + exp(-y_i (x_i' w + b)))
                        + alpha sum_k weights_k ||w[groups[k]]||_2 + l1 ||w||_1

    with y_i = 1 for the class in question and -1 for all others.

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
    classes_ : array
    coef_ : array (1, n_features) or (n_classes, n_features)
        One row for two classes, else one for each.
    intercept_ : array
    n_iter_ : array of int
    certificate_ : list of Certificate
        For each row of `coef_`, how far it can be from a minimiser,
        for X with the norm sqrt(n).
    n_features_in_ : int
    feature_names_in_ : array of str
        If X has names of columns.

    References
    ----------
    Meier, van de Geer, Bühlmann (2008), The group lasso for logistic regression.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> model = OverlappingGroupLogistic([[0, 1], [1, 2], [3]], alpha=0.05)
    >>> model.fit(X, np.where(X[:, 0] > 0, "up", "down")).predict(X[:3])
    array(['up', 'down', 'down'], dtype='<U4')
    """

    def __init__(
        self,
        groups: Groups | None = None,
        alpha: float = 0.1,
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
        """Fit coefficients to a table X (n, d), dense or sparse, and labels y (n,)."""
        table, targets = self._checked(X, y)
        check_classification_targets(targets)
        terms = group_penalty(self.groups, self.alpha, self.weights, self.l1, table.shape[1])
        with_intercept = yes_or_no(self.fit_intercept, "fit_intercept")
        classes = np.unique(targets)
        if len(classes) < 2:
            raise InputError(f"`y` must have at least 2 classes, got one class: {classes[0]!r}; add samples of another")
        design = Design.of(table, centre=with_intercept, ones=with_intercept)
        wanted = classes[1:] if len(classes) == 2 else classes
        starts = np.zeros((len(wanted), design.samples.width))
        if yes_or_no(self.warm_start, "warm_start") and hasattr(self, "coef_") and len(self.coef_) == len(wanted):
            pairs = zip(self.coef_, self.intercept_, strict=True)  # pyright: ignore[reportArgumentType]
            starts = [design.inward(coef, intercept, 0.0, 1.0) for coef, intercept in pairs]
        losses = [Logistic(design.samples, np.where(targets == label, 1.0, -1.0)) for label in wanted]
        found = [
            solve(f, x0, terms, design, 1.0, tol=self.tol, max_iter=self.max_iter)
            for f, x0 in zip(losses, starts, strict=True)
        ]
        coef, intercept = zip(*(design.outward(one.x, 0.0, 1.0) for one in found), strict=True)
        self.classes_ = classes
        self.coef_, self.intercept_ = np.array(coef), np.array(intercept)
        self.n_iter_ = np.array([one.n_iter for one in found])
        self.certificate_ = [one.certificate for one in found]
        return self

    def decision_function(self, X: object) -> np.ndarray:
        """Return X coef' + intercept: a column for each class, a vector for two."""
        decision = self._linear(X)
        return decision[:, 0] if decision.shape[1] == 1 else decision

    def predict(self, X: object) -> np.ndarray:
        """Return the class with the largest decision."""
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]

    def predict_proba(self, X: object) -> np.ndarray:
        """Return probabilities of classes: of more than two, those of one against the rest, made to add up to 1."""
        decision = self.decision_function(X)
        if decision.ndim == 1:
            return np.stack([expit(-decision), expit(decision)], axis=1)
        logs = log_expit(decision)
        likely = np.exp(logs - logs.max(axis=1, keepdims=True))  # all of them may underflow otherwise
        return likely / likely.sum(axis=1, keepdims=True)
