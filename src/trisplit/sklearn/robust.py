"""Regression with a robust, possibly nonconvex loss and any terms."""

from collections.abc import Callable, Sequence
from math import inf
from numbers import Real
from typing import Self, TypeAlias

import numpy as np
from sklearn.base import RegressorMixin

from trisplit.errors import InputError
from trisplit.losses import LinearModel, Loss, Samples, registry
from trisplit.problems.problem import Problem, Term
from trisplit.sklearn.design import Design
from trisplit.sklearn.fitting import Fit, LinearEstimator, solve
from trisplit.terms import Zero
from trisplit.terms.checks import positive, yes_or_no

MakesLoss: TypeAlias = Callable[[Samples, np.ndarray], LinearModel]

NORMAL = 0.6744897501960817  # the median of |r| for r of the standard normal distribution
FLOOR = 1e-4  # the least scale, times the first: residuals that vanish leave none of their own
LOOSE = 1e-3  # tolerance on the way to the last scale, relative and in units of the scale
ROUNDS = 20  # of fits until the scale settles
BELOW = 4.0  # how far under the scale of the best residuals the search for better ones goes


class AtScale:
    """sigma^2 f(x / sigma), where f has targets over sigma: residuals over sigma, in the units of squared residuals."""

    def __init__(self, f: LinearModel, sigma: float) -> None:
        self.f, self.sigma, self.lipschitz = f, sigma, f.lipschitz

    def value(self, x: np.ndarray) -> float:
        return self.value_and_grad(x)[0]

    def grad(self, x: np.ndarray) -> np.ndarray:
        return self.value_and_grad(x)[1]

    def value_and_grad(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        value, grad = self.f.value_and_grad(x / self.sigma)
        return self.sigma**2 * value, self.sigma * grad


class RobustRegressor(RegressorMixin, LinearEstimator):
    """Linear regression with a loss that forgives outliers, and any terms of the coefficients.

    min over w and b of (sigma^2 / n) sum_i rho((y_i - x_i' w - b) / sigma) + terms(w)

    with rho a loss such as Tukey's biweight, which gives up on samples far off and is therefore not convex. The scale
    sigma starts with the deviations of y from its median, where rho hardly differs from least squares, and falls to
    that of the residuals, each fit starting from the one before (graduated nonconvexity).

    Parameters
    ----------
    loss : str or callable
        A name in `ts.losses.registry`, or what makes a `LinearModel` from samples A and targets b: a class, or
        `functools.partial` of a class and its tuning constant.
    terms : term or sequence of terms, optional
        What `ts.minimize` takes: penalties and sets for w. None is none.
    scale : "mad" or float
        sigma, or how it is found: "mad" is the median absolute residual over 0.6745, where as many of the smallest are
        left out as there are coefficients in use.
    fit_intercept : bool
    tol : float
        Relative, as in `trisplit.minimize`.
    max_iter : int
        Of each fit.
    warm_start : bool
        Start from the coefficients of the last fit, and the scale of their residuals.

    Attributes
    ----------
    coef_ : array (n_features,)
    intercept_ : float
    scale_ : float
        sigma.
    weights_ : array (n_samples,)
        rho'(r) / r at the residuals r over sigma: how much a sample counts, 0 for those given up on.
    n_iter_ : int
        Of all fits.
    certificate_ : Certificate
        How far the coefficients can be from stationary, for y with the median absolute deviation 0.6745 and X with the
        norm sqrt(n).
    n_features_in_ : int
    feature_names_in_ : array of str
        If X has names of columns.

    References
    ----------
    Maronna, Martin, Yohai, Salibián-Barrera (2019), Robust statistics, chapter 5.
    Blake, Zisserman (1987), Visual reconstruction, chapter 7 (graduated nonconvexity).

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> y = 2 * X[:, 0] + 1 + 0.01 * np.cos(7 * np.arange(40))
    >>> y[:8] = 50.0
    >>> model = RobustRegressor("tukey", terms=ts.terms.Box(0, 5)).fit(X, y)
    >>> model.coef_.round(1), round(model.intercept_, 1), bool(model.weights_[:8].any())
    (array([2.]), 1.0, False)
    """

    def __init__(
        self,
        loss: str | MakesLoss = "tukey",
        terms: Term | Sequence[Term] | None = None,
        *,
        scale: str | float = "mad",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        warm_start: bool = False,
    ) -> None:
        self.loss = loss
        self.terms = terms
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def fit(self, X: object, y: object) -> Self:
        """Fit coefficients to a table X (n, d), dense or sparse, and targets y (n,)."""
        table, targets = self._checked(X, y, y_numeric=True)
        loss, terms = as_loss(self.loss), as_terms(self.terms)
        with_intercept = yes_or_no(self.fit_intercept, "fit_intercept")
        scale = self.scale if self.scale == "mad" else as_scale(self.scale)
        design = Design.of(table, centre=with_intercept, ones=with_intercept)
        y0 = float(np.median(targets)) if with_intercept else 0.0
        s = first_scale(targets - y0)
        x, warm = np.zeros(design.samples.width), False
        if yes_or_no(self.warm_start, "warm_start") and hasattr(self, "coef_"):
            x, warm = design.inward(self.coef_, self.intercept_, y0, s), True
        given = None if isinstance(scale, str) else scale / s
        run = Graduated(loss, (targets - y0) / s, terms, design, s, tol=self.tol, max_iter=self.max_iter)
        f, found, sigma = run.fit(x, given, warm=warm)
        self.coef_, intercept = design.outward(found.x, y0, s)
        self.intercept_ = float(intercept)
        self.scale_ = sigma * s
        r = -run.residuals(found.x) / sigma
        r[np.abs(r) < 1e-6] = 1e-6
        self.weights_ = f.slope(r, np.zeros_like(r)) / r
        self.n_iter_, self.certificate_ = run.n_iter, found.certificate
        return self

    def predict(self, X: object) -> np.ndarray:
        """Return X coef + intercept."""
        return self._linear(X)


class Graduated:
    """Fits with falling scales, each from the coefficients of the one before, in the units of a design."""

    def __init__(
        self, loss: MakesLoss, b: np.ndarray, terms: list[Term], design: Design, s: float, *, tol: float, max_iter: int
    ) -> None:
        self.loss, self.b, self.terms, self.design, self.s = loss, b, terms, design, s
        self.tol, self.max_iter, self.n_iter = tol, max_iter, 0

    def fit(self, x: np.ndarray, given: float | None, *, warm: bool) -> tuple[LinearModel, Fit, float]:
        """Return the loss, coefficients and the scale, which is found from residuals unless it is given."""
        sigma = residual_scale(self.residuals(x), x) if warm else 1.0
        if given is None:
            x, sigma = self.settled(*((x, sigma) if warm else self.best(x, sigma)))
        else:
            while sigma > given:
                x = self.at(sigma, x)[1].x
                sigma = max(sigma / 2, given)
            sigma = given
        f, found = self.at(sigma, x, last=True)
        return f, found, sigma

    def best(self, x: np.ndarray, sigma: float) -> tuple[np.ndarray, float]:
        """Halve the scale; return the coefficients with the smallest residuals, and the scale of these."""
        best, least = x, inf
        while sigma > FLOOR and (least == inf or sigma > least / BELOW):
            x = self.at(sigma, x)[1].x
            scale = residual_scale(self.residuals(x), x)
            if scale < least:
                best, least = x, scale
            sigma /= 2
        return best, least

    def settled(self, x: np.ndarray, sigma: float) -> tuple[np.ndarray, float]:
        """Take the scale of the residuals for the next fit until it falls no more."""
        for _ in range(ROUNDS):
            x = self.at(sigma, x)[1].x
            scale = residual_scale(self.residuals(x), x)
            if scale > 0.99 * sigma:
                break
            sigma = scale
        return x, sigma

    def at(self, sigma: float, x: np.ndarray, *, last: bool = False) -> tuple[LinearModel, Fit]:
        """Return the loss and the fit at a scale; only the last fit is asked for `tol`, and warns without it."""
        f = self.loss(self.design.samples, self.b / sigma)
        tol, rtol = (self.tol, 0.0) if last else (max(LOOSE * sigma, self.tol), LOOSE)
        options = {"tol": tol, "rtol": rtol, "max_iter": self.max_iter, "quiet": not last}
        found = solve(AtScale(f, sigma), x, self.terms, self.design, self.s, **options)
        self.n_iter += found.n_iter
        return f, found

    def residuals(self, x: np.ndarray) -> np.ndarray:
        """Return b - A x."""
        return self.b - self.design.samples.dot(x, slice(0, len(self.b)))


def of_residuals(loss: type[Loss]) -> bool:
    """Say whether a loss depends on predictions less targets alone, as those of regression do."""
    p, b = np.array([0.5, -1.0]), np.array([0.0, 1.0])
    try:
        f = loss(np.ones((2, 1)), b)  # pyright: ignore[reportCallIssue]
        return bool(np.allclose(f.phi(p, b), f.phi(p + 1.0, b + 1.0)))  # pyright: ignore
    except (AttributeError, IndexError, TypeError, ValueError):  # of something else than a vector
        return False


def as_loss(loss: object) -> MakesLoss:
    """Return what makes a loss from samples and targets."""
    if callable(loss):
        return loss  # pyright: ignore[reportReturnType]
    choices = [name for name, one in registry.items() if of_residuals(one)]
    if loss not in choices:
        raise InputError(f"`loss` is unknown, got {loss!r}; choose one of {', '.join(sorted(choices))}")
    return registry[loss]  # pyright: ignore


def as_terms(terms: Term | Sequence[Term] | None) -> list[Term]:
    """Return terms as a list, if they are."""
    listed: list[Term] = [Zero()] if terms is None else list(terms) if isinstance(terms, Sequence) else [terms]
    Problem(lambda x: (0.0, x), listed)  # raises for what is no term
    return listed


def as_scale(scale: object) -> float:
    """Return a scale that is given as a number."""
    if not isinstance(scale, Real) or isinstance(scale, bool):
        raise InputError(f"`scale` must be 'mad' or a number > 0, got {scale!r}; 'mad' takes it from the residuals")
    return positive(float(scale), "scale")


def first_scale(deviations: np.ndarray) -> float:
    """Return the median absolute deviation, over 0.6745; where it is 0 the root mean square, or 1."""
    return float(np.median(np.abs(deviations))) / NORMAL or float(np.sqrt(np.mean(deviations**2))) or 1.0


def residual_scale(r: np.ndarray, x: np.ndarray) -> float:
    """Return the scale of residuals; as many of the smallest as numbers were fitted say nothing and are left out."""
    sizes = np.sort(np.abs(r))
    fitted = min(int(np.count_nonzero(x)), len(r) // 2)
    return max(float(np.median(sizes[fitted:])) / NORMAL, FLOOR)
