"""A primal-dual Newton method for proximal maps of sums of norms of differences, on the host.

For a linear map D into fields of m short vectors:  minimise  lam * sum_i ||(D x)_i|| + ||x - y||^2 / 2  over x.
The dual point is a field u with ||u_i|| <= lam, and x = y - D'u at the solution. Newton's method solves

    x - y + D'u = 0,     sqrt(||(D x)_i||^2 + beta^2) u_i = lam (D x)_i,

with beta falling to 0. The gap,

    ||x - y + D'u||^2 / 2 + sum_i (lam ||(D x)_i|| - <u_i, (D x)_i>)  >=  ||x - x*||^2 / 2,

is a sum of nonnegative numbers, so that rounding does not hide how small it is.

T. F. Chan, G. H. Golub, P. Mulet (1999), A nonlinear primal-dual method for total variation-based image restoration,
SIAM Journal on Scientific Computing 20.
"""

from collections.abc import Callable

import numpy as np

STEPS = 80
PATIENCE = 4  # steps without a smaller gap, after which rounding errors are all that is left


def primal_dual(
    y: np.ndarray,
    lam: float,
    D: Callable[[np.ndarray], np.ndarray],
    Dt: Callable[[np.ndarray], np.ndarray],
    solve: Callable[[np.ndarray, np.ndarray], np.ndarray],
    tol: float,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return x, u and the gap, which is at most `tol` unless rounding errors forbid it.

    Parameters
    ----------
    y : array
        Its size should be about 1.
    lam : float
        Positive.
    D, Dt : callable
        The map from x to fields of shape (length of the vectors, m), and its transpose.
    solve : callable
        `solve(W, b)` returns (I + D'WD)^{-1} b; W, of shape (length, length, m), has a matrix for each vector.
    tol : float
        For the gap.
    """
    x, d = y, D(y)
    u = np.zeros_like(d)
    length, m = d.shape
    best = x, u, np.inf
    waited = 0
    for _ in range(STEPS):
        lengths = np.sqrt(np.sum(d * d, axis=0))
        gap, apart = gap_at(x, u, y, lam, d, Dt)
        waited = 0 if gap < 0.9 * best[2] else waited + 1
        if gap < best[2]:
            best = x, u, gap
        if gap <= tol or waited > PATIENCE or not apart > 0.0:
            break
        beta = 0.5 * apart / (lam * m)
        eta = np.sqrt(lengths * lengths + beta * beta)
        shift = lam / eta * d - u
        # Positive definite while ||u_i|| <= lam
        W = (lam * np.eye(length)[:, :, None] - 0.5 / eta * (u[:, None] * d[None] + d[:, None] * u[None])) / eta
        try:
            dx = solve(W, y - x - Dt(u + shift))
        except (np.linalg.LinAlgError, RuntimeError):  # next to W, the identity is lost in rounding errors
            break
        dd = D(dx)
        du = shift + np.sum(W * dd[None], axis=1)
        u = u + min(1.0, 0.99 * _room(u, du, lam)) * du
        x, d = x + dx, D(x + dx)
    return best


def gap_at(
    x: np.ndarray, u: np.ndarray, y: np.ndarray, lam: float, d: np.ndarray, Dt: Callable[[np.ndarray], np.ndarray]
) -> tuple[float, float]:
    """Return the gap, and the part of it that does not come from x - y + D'u; d is D x."""
    rest = x - y + Dt(u)
    apart = np.sum(np.maximum(lam * np.sqrt(np.sum(d * d, axis=0)) - np.sum(u * d, axis=0), 0.0))
    return float(apart + 0.5 * np.vdot(rest, rest)), float(apart)


def _room(u: np.ndarray, du: np.ndarray, lam: float) -> float:
    """Return the largest t for which all ||u_i + t du_i|| <= lam."""
    a, b = np.sum(du * du, axis=0), np.sum(u * du, axis=0)
    c = np.maximum(lam * lam - np.sum(u * u, axis=0), 0.0)
    root = np.sqrt(b * b + a * c)
    t = np.where(b > 0, c / np.where(b + root > 0, b + root, 1.0), (root - b) / np.where(a > 0, a, 1.0))
    return float(np.min(np.where(a > 0, t, np.inf), initial=np.inf))
