"""What all estimators do: minimise in the units of a design, warn if it takes too long, predict."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from trisplit.options import check_options
from trisplit.problems.problem import Problem, Smooth, Term
from trisplit.problems.product import Product
from trisplit.result import Certificate
from trisplit.sklearn.design import Design, InUnits
from trisplit.solve import minimize
from trisplit.splitting.tos import Iterate


class Fit(NamedTuple):
    """What a run has found, in the units of a design.

    `x` has the zeros of all terms, `first` is what one or two terms return: the proximal point of the first.
    """

    x: np.ndarray
    first: np.ndarray
    n_iter: int
    certificate: Certificate


def solve(
    f: Smooth,
    x0: np.ndarray,
    terms: Sequence[Term],
    design: Design,
    s: float,
    *,
    tol: float,
    max_iter: int,
    rtol: float = 0.0,
    quiet: bool = False,
) -> Fit:
    """Minimise f plus terms of the coefficients, and warn if `tol` is not reached, unless `quiet`.

    In the units of a design sizes are known beforehand, so `tol` is absolute: relative to what a run has seen, a start
    near the answer would ask for more than one from afar. `rtol` is relative, and comes on top.

    Several proximal maps agree up to `tol` only, so an entry that one of them has set to zero is zero: the answer is as
    sparse as each of the terms wants it.
    """
    check_options(tol=tol, max_iter=max_iter, time_limit=None)  # else it would be `atol` that is named
    last: list[Iterate] = []

    def keep(made: Iterate) -> None:
        last[:] = [made]

    inner = [InUnits(term, design, s) for term in terms]
    res = minimize(f, x0, inner, tol=rtol, atol=tol, max_iter=max_iter, callback=keep, rng=0)
    if not (res.success or quiet):
        stationarity = f"stationarity is {res.certificate.stationarity:.1e}, tol {tol:.1e}"
        warnings.warn(f"{res.message} ({stationarity})", ConvergenceWarning, stacklevel=3)
    x, made = np.array(res.x), last[0]
    if len(inner) > 1 and res.iteration == made.t:
        reached = [made.x] if len(inner) == 2 else Product(Problem(f, inner)).of_terms(made.z)
        x[np.any([each == 0 for each in reached], axis=0)] = 0.0
    return Fit(x, res.x, int(res.nit), res.certificate)


def unit_of(y: np.ndarray) -> float:
    """Return the root mean square of targets as their unit, 1 if they are zeros."""
    return float(np.sqrt(np.mean(y**2))) or 1.0


class LinearEstimator(BaseEstimator):
    """An estimator with `coef_` and `intercept_` that takes sparse tables."""

    coef_: np.ndarray
    intercept_: float | np.ndarray

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _checked(self, X: object, y: object, **options: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return a table, dense or sparse by rows, and targets, if they are sound; remember the features."""
        return validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, **options)  # pyright: ignore

    def _linear(self, X: object) -> np.ndarray:
        """Return X coef' + intercept."""
        check_is_fitted(self)
        table: np.ndarray = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)  # pyright: ignore
        return np.asarray(table @ self.coef_.T + self.intercept_)
