"""The data of a fit in units of their own, and the way back.

With the means m of the columns of X, t = ||X - 1 m'|| / sqrt(n) and a unit s of y, coefficients w and an intercept b
become

    v = w t / s,    c = (b - y0 + m' w) / s,    so that    (y - X w - b) / s = (y - y0) / s - ((X - 1 m') / t) v - c.

So `tol` means the same whatever the units of the data are, the intercept is exact and takes part in no penalty, and
centred columns make the problem better conditioned. A sparse X stays sparse: its means are subtracted from products.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from trisplit.arrays import Array, Shape
from trisplit.losses import Samples
from trisplit.problems.problem import Term

POWER_ITERATIONS = 20  # the norm of X is a unit, no bound: it need not be exact


class CentredSamples(Samples):
    """A sparse table less a row of means, and a last column of ones if `ones`; it is never made dense."""

    def __init__(self, X: sparse.csr_array, means: np.ndarray, *, ones: bool) -> None:
        super().__init__(X)
        d = self.width
        self.width = d + ones
        centred = centred_operator(X, means)
        self.operator = centred
        if ones:
            both = lambda x: centred @ x[:d] + x[d]  # noqa: E731
            back = lambda r: np.append(centred.T @ r, r.sum())  # noqa: E731
            self.operator = LinearOperator((self.n, d + 1), matvec=both, rmatvec=back, dtype=float)  # pyright: ignore

    def part(self, rows: np.ndarray | slice) -> LinearOperator:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the table, all of it, as something that can be multiplied with."""
        return self.operator

    @cached_property
    def squared_norm(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The squared Frobenius norm before centring, an upper bound."""
        return float(np.sum(np.square(self.array.data))) + self.n * (self.width - self.array.shape[1])


def centred_operator(X: sparse.csr_array, means: np.ndarray) -> LinearOperator:
    """Return X - 1 means' for products with vectors and matrices."""
    forth = lambda v: X @ v - means @ v  # noqa: E731
    back = lambda r: X.T @ r - np.multiply.outer(means, r.sum(axis=0))  # noqa: E731
    return LinearOperator(X.shape, matvec=forth, rmatvec=back, matmat=forth, rmatmat=back, dtype=float)  # pyright: ignore


def spectral_norm(A: np.ndarray | LinearOperator) -> float:
    """Return about the largest singular value, by power iterations from a fixed start; 1 for a table of zeros."""
    v, size = np.random.default_rng(0).standard_normal(A.shape[1]), 0.0  # pyright: ignore
    for _ in range(POWER_ITERATIONS):
        v = A.T @ (A @ v)
        size = float(np.linalg.norm(v))
        if size == 0:
            return 1.0
        v = v / size
    return size**0.5


@dataclass(frozen=True)
class Design:
    """A table in units of its own: (X - 1 means') / size, with a column of ones for the intercept if `ones`."""

    samples: Samples
    means: np.ndarray
    size: float
    ones: bool

    @classmethod
    def of(cls, X: np.ndarray, *, centre: bool, ones: bool = False) -> "Design":
        """Return the design of a dense or sparse table; `centre` subtracts the means of its columns."""
        n, d = X.shape
        means = np.asarray(X.mean(axis=0), dtype=float).ravel() if centre else np.zeros(d)
        if sparse.issparse(X):
            thin = sparse.csr_array(X)
            size = spectral_norm(centred_operator(thin, means)) / n**0.5
            return cls(CentredSamples(thin / size, means / size, ones=ones), means, size, ones)
        table = np.ones((n, d + ones))
        np.subtract(X, means, out=table[:, :d])
        size = spectral_norm(table[:, :d]) / n**0.5
        table[:, :d] /= size
        return cls(Samples(table), means, size, ones)

    def inward(self, coef: np.ndarray, intercept: float | np.ndarray, y0: float | np.ndarray, s: float) -> np.ndarray:
        """Return v, followed by c if there is a column of ones."""
        v = coef * (self.size / s)
        return np.append(v, (intercept - y0 + self.means @ coef) / s) if self.ones else v

    def outward(self, x: np.ndarray, y0: float | np.ndarray, s: float) -> tuple[np.ndarray, float | np.ndarray]:
        """Return coefficients and intercept."""
        coef = x[: len(self.means)] * (s / self.size)
        return coef, y0 - self.means @ coef + (s * x[-1] if self.ones else 0.0)


class InUnits:
    """A term g of the coefficients w = (s / t) v as one of x = (v, c): g((s / t) v) / s^2.

    With a = s / t, prox(x, gamma) replaces v by prox_g(a v, gamma / t^2) / a; the intercept is free.
    """

    parts = ("term",)

    def __init__(self, term: Term, design: Design, s: float) -> None:
        self.term, self.d = term, len(design.means)
        self.a, self.t, self.s = s / design.size, design.size, s
        self.convex = bool(getattr(term, "convex", False))
        self.indicator = bool(getattr(term, "indicator", False))

    def value(self, x: Array) -> float:
        """Return g(a v) / s^2."""
        return self.term.value(self.a * x[: self.d]) / self.s**2

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with v moved."""
        moved = self.term.prox(self.a * x[: self.d], gamma / self.t**2) / self.a
        return moved if len(x) == self.d else np.append(moved, x[self.d :])

    def lipschitz(self, shape: Shape) -> float:
        """Return that of g in these units, infinite if it declares none."""
        known = getattr(self.term, "lipschitz", None)
        return float("inf") if known is None else float(known((self.d, *shape[1:]))) * self.a / self.s**2
