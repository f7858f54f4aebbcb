"""Smoothness along lines: trend filtering, and the squared differences of Tikhonov and Whittaker."""

from dataclasses import dataclass
from math import comb, pi

import numpy as np

from trisplit.arrays import Array, Shape, as_host, device, eps, namespace
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Lines, mapped, on_the_host, summed
from trisplit.terms.checks import axis_or_none, nonnegative_weight, whole
from trisplit.terms.numbers import row_norms
from trisplit.terms.structured.interior import gap_at, primal_dual
from trisplit.terms.structured.total_variation import zero_inside

__all__ = ["QuadraticDifferences", "TrendFiltering"]

GUESSES = 20  # of the knots; mostly the first or the second is right


@dataclass(frozen=True)
class TrendFiltering(Lines, ConvexFunction):
    """The penalty of trend filtering, weight * ||D^(order + 1) x||_1 with the differences D x = x_{k+1} - x_k.

    Where it is small, vectors are piecewise polynomials of degree `order` with few knots; order 0 would be the total
    variation. prox(x, gamma) is found by a primal-dual Newton method with banded matrices, and then by solving for the
    knots that were found. This is computed on the host.

    Parameters
    ----------
    weight : float
        Nonnegative.
    order : int
        The degree of the polynomials, at least 1.
    axis : int or None
        The vectors are the lines along this axis; None takes all of x as one vector.

    References
    ----------
    Kim, Koh, Boyd, Gorinevsky (2009), l1 trend filtering.

    Examples
    --------
    >>> import numpy as np
    >>> TrendFiltering(1.0).prox(np.array([0.0, 3.0, 0.0]), gamma=0.5)
    array([0.5, 2. , 0.5])
    """

    weight: float = 1.0
    order: int = 1
    axis: int | None = None
    broadcast = ()
    accuracy = 1e4
    host = "Newton's method with banded matrices"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "order", whole(self.order, "order"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @summed
    def value(self, v: Array) -> Array:
        """Return weight * ||D^(order + 1) v||_1."""
        xp = namespace(v)
        for _ in range(self.order + 1):
            v = v[..., 1:] - v[..., :-1]
        return self.weight * xp.sum(xp.abs(v), axis=-1)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return the proximal points of the lines, computed on the host."""

        def of_all(rows: np.ndarray) -> np.ndarray:
            lams = np.broadcast_to(self.weight * np.asarray(as_host(t), dtype=float), (*rows.shape[:-1], 1))
            flat = rows.reshape(-1, rows.shape[-1]).astype(float)
            found = [trend(y, lam, self.order + 1) for y, lam in zip(flat, lams.ravel().tolist(), strict=True)]
            return np.reshape(found, rows.shape)

        return on_the_host(self, of_all, v)

    def conjugate_value(self, u: Array) -> float:
        """Return 0 if u = D'z with |z| <= weight, up to rounding, else infinity; z are sums of sums of u."""
        xp, v = namespace(u), self.blocks(u)
        n, q = v.shape[-1], self.order + 1
        rounding = 100 * self.accuracy * eps(u) * (1.0 + row_norms(v)) * n**0.5
        for _ in range(q):
            v = xp.cumulative_sum(v, axis=-1)
        z = xp.abs(v)
        m = max(n - q, 0)
        inside = xp.all(z[..., :m] <= self.weight + rounding, axis=-1) & xp.all(z[..., m:] <= rounding, axis=-1)
        return zero_inside(inside, u, self.batch_ndim)

    def lipschitz(self, shape: Shape) -> float:
        """Return the slope of a zigzag, at which all differences have the signs that add up."""
        n, q = self.length(shape), self.order + 1
        if n <= q:
            return 0.0
        sums = np.convolve([comb(q, a) for a in range(q + 1)], np.ones(n - q))
        return self.weight * float(np.linalg.norm(sums)) * self.count(shape) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["TrendFiltering", Shape]]:
        return [(cls(0.7), (6,)), (cls(0.4, order=2, axis=0), (5, 2)), (cls(), (2,))]


def trend(y: np.ndarray, lam: float, q: int) -> np.ndarray:
    """Return argmin lam ||D^q x||_1 + ||x - y||^2 / 2."""
    n = y.size
    if n <= q or lam == 0:
        return y
    if not (np.isfinite(y).all() and lam == lam):
        return np.full(n, np.nan)
    top = float(np.max(np.abs(y)))
    if top == 0:
        return y
    # The polynomials of degree below q pass through unchanged; the rest is all there is to do.
    basis = np.linalg.qr(np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, n), q - 1))[0]
    y = y / top
    fit = basis @ (basis.T @ y)
    rest = y - fit
    rest -= basis @ (basis.T @ rest)
    u = rest
    for _ in range(q):
        u = np.cumsum(u)
    size = float(np.max(np.abs(rest)))
    if lam / top >= np.max(np.abs(u)) or size <= 1e-15:
        return top * fit
    return top * (fit + size * _trend(rest / size, lam / top / size, q))


def _trend(y: np.ndarray, lam: float, q: int) -> np.ndarray:
    from scipy.linalg import solveh_banded

    n, m = y.size, y.size - q
    signed = np.array([(-1.0) ** (q - a) * comb(q, a) for a in range(q + 1)])
    lagged = np.array([signed[: q + 1 - s] @ signed[s:] for s in range(q + 1)] + [0.0])  # the entries of D D'

    def D(x: np.ndarray) -> np.ndarray:
        return np.diff(x, n=q)[None]

    def Dt(u: np.ndarray) -> np.ndarray:
        out = np.zeros(n)
        for a in range(q + 1):
            out[a : a + m] += signed[a] * u[0]
        return out

    def solve(W: np.ndarray, b: np.ndarray) -> np.ndarray:
        bands = np.zeros((q + 1, n))
        bands[0] = 1.0
        for s in range(q + 1):
            for a in range(q + 1 - s):
                bands[s, a : a + m] += signed[a] * signed[a + s] * W[0, 0]
        return solveh_banded(bands, b, lower=True, check_finite=False)

    x, u, gap = primal_dual(y, lam, D, Dt, solve, 1e-15 * float(y @ y))
    # Between knots D x is 0, at knots |u| is lam: guess which are which, solve for the rest of u, mend the guess.
    d = D(x)[0]
    ends = np.where(np.abs(d) * lam > (lam - np.abs(u[0])) * np.abs(d).max(), np.sign(u[0]), 0.0)
    for _ in range(GUESSES):
        sharp, flat = lam * ends[None], np.flatnonzero(ends == 0)
        bands = np.zeros((q + 1, flat.size))
        for s in range(min(q + 1, flat.size)):
            bands[s, : flat.size - s] = lagged[np.minimum(flat[s:] - flat[: flat.size - s], q + 1)]
        try:
            for _ in range(2 if flat.size else 0):  # the second time for what rounding left
                sharp[0, flat] += solveh_banded(bands, D(y - Dt(sharp))[0, flat], lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return x
        p = y - Dt(sharp)
        d = D(p)
        outside, turned = np.abs(sharp[0]) > lam * (1 + 1e-12), ends * d[0] < -1e-13
        if not (outside | turned).any() and np.abs(d[0, flat]).max(initial=0.0) <= 1e-11:
            return p
        ends = np.where(outside, np.sign(sharp[0]), np.where(turned, 0.0, ends))
    u = np.clip(sharp, -lam, lam)
    p = y - Dt(u)
    return p if gap_at(p, u, y, lam, D(p), Dt)[0] <= 2 * gap else x


@dataclass(frozen=True)
class QuadraticDifferences(Lines, ConvexFunction):
    """The squared differences of neighbours, (weight / 2) * sum_k (x_{k+1} - x_k)^2.

    prox(x, gamma) = (I + gamma weight D'D)^{-1} x: a filter on the cosine transform of x.

    Parameters
    ----------
    weight : float
        Nonnegative.
    axis : int or None
        The vectors are the lines along this axis; None takes all of x as one vector.

    References
    ----------
    Strang (1999), The discrete cosine transform.

    Examples
    --------
    >>> import numpy as np
    >>> QuadraticDifferences(1.0).prox(np.array([0.0, 3.0]), gamma=1.0)
    array([1., 2.])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @summed
    def value(self, v: Array) -> Array:
        """Return (weight / 2) * sum_k (v_{k+1} - v_k)^2."""
        return 0.5 * self.weight * namespace(v).sum((v[..., 1:] - v[..., :-1]) ** 2, axis=-1)

    @mapped
    def prox(self, v: Array, t: float) -> Array:
        """Return the filtered lines."""
        xp, n = namespace(v), v.shape[-1]
        # Next to its mirror image, a line is one period of a signal, and differences at its ends are 0.
        waves = xp.fft.rfft(xp.concat([v, xp.flip(v, axis=-1)], axis=-1), axis=-1)
        angles = xp.arange(n + 1, dtype=v.dtype, device=device(v)) * (pi / (2 * n))
        return xp.fft.irfft(waves / (1.0 + (4.0 * self.weight) * t * xp.sin(angles) ** 2), n=2 * n, axis=-1)[..., :n]

    def conjugate_value(self, u: Array) -> float:
        """Return ||z||^2 / (2 weight) with z the sums of u, infinite unless they end at 0."""
        xp, v = namespace(u), self.blocks(u)
        sums = xp.cumulative_sum(v, axis=-1)
        rounding = 100 * self.accuracy * eps(u) * (1.0 + row_norms(v)) * v.shape[-1] ** 0.5
        if self.weight == 0:
            return zero_inside(xp.all(xp.abs(sums) <= rounding, axis=-1), u, self.batch_ndim)
        outside = zero_inside(xp.all(xp.abs(sums[..., -1:]) <= rounding, axis=-1), u, self.batch_ndim)
        return self._energy(u) + outside

    @summed
    def _energy(self, u: Array) -> Array:
        xp = namespace(u)
        return xp.sum(xp.cumulative_sum(u, axis=-1)[..., :-1] ** 2, axis=-1) / (2.0 * self.weight)

    @classmethod
    def examples(cls) -> list[tuple["QuadraticDifferences", Shape]]:
        return [(cls(0.7), (6,)), (cls(3.0, axis=0), (5, 2)), (cls(), (1,))]
