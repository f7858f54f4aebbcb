"""The iteration of the doubly nonnegative relaxation, in floating point: see `dnn` for the mathematics."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from trisplit.qap.bounds.integers import Integers, largest
from trisplit.terms.joint import assignment

RELAXATION = 1.618  # of the step of the multiplier
BALANCE, CHANGE = 1.5, 2.0


class Snapshot(NamedTuple):
    """A dual matrix S, a point x0, and the bound that they give up to rounding."""

    bound: float
    S: np.ndarray
    x0: np.ndarray


class Relaxed:
    """Y, R and Z of the alternating direction method of multipliers.

    All costs are those of the integer problem, twice, divided by 2^exponent.

    Attributes
    ----------
    exponent : int
    residual : float
        ||Y - V R V'|| after the last iteration.
    value, uncertainty : float
        <Q, Y>, which tends to the value of the relaxation, and by how much the residual may shift it.

    Examples
    --------
    >>> from trisplit import qap
    >>> relaxed = Relaxed(Integers.of(qap.load("nug12")))
    >>> for _ in range(300):
    ...     relaxed.advance()
    >>> bound = relaxed.look().bound * 2.0 ** (relaxed.exponent - 1)
    >>> 566 < bound < 568
    True
    """

    def __init__(self, problem: Integers) -> None:
        n = self.n = problem.n
        N = n * n
        Q = np.kron(problem.A, problem.B)
        Q = Q + Q.T + np.diag(2 * problem.C.ravel())
        self.exponent = largest(Q).bit_length()
        self.Q = (Q * 2**64 >> self.exponent).astype(np.float64) * 2.0**-64
        size = float(np.linalg.norm(self.Q))
        self.scale = N / size if size else 1.0  # brings the costs to the size that the first step is made for
        self.beta = 4 * n / 3
        self.L = np.zeros((N + 1, N + 1))
        self.L[1:, 1:] = self.scale * self.Q
        self.V = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, : n - 1]]))[0][:, 1:]
        self.fits = pairs_that_fit(n)
        self.may = np.ones((N + 1, N + 1))
        self.may[1:, 1:] = self.fits | np.eye(N, dtype=bool)
        self.Y = np.zeros((N + 1, N + 1))  # the mean over all permutations
        self.Y[0, 0] = 1.0
        self.Y[0, 1:] = self.Y[1:, 0] = 1.0 / n
        self.Y[1:, 1:] = self.fits / (n * max(n - 1, 1)) + np.eye(N) / n
        self.VRV, self.Z = self.Y, np.zeros_like(self.Y)
        self.residual = self.change = 0.0

    @property
    def value(self) -> float:
        return float(np.vdot(self.Q, self.Y[1:, 1:]))

    @property
    def uncertainty(self) -> float:
        return float(np.linalg.norm(self.Z)) * self.residual / self.scale

    def advance(self) -> None:
        """Do one iteration."""
        w, U = np.linalg.eigh(self._compress(self.Y + self.Z / self.beta))
        F = self._expand(U[:, w > 0] * np.sqrt(w[w > 0]))
        self.VRV = F @ F.T
        Y = np.clip(self.VRV - (self.L + self.Z) / self.beta, 0.0, 1.0) * self.may
        Y[0, 0] = 1.0
        off = Y - self.VRV
        self.Z += RELAXATION * self.beta * off
        self.residual, self.change = float(np.linalg.norm(off)), float(np.linalg.norm(Y - self.Y))
        self.Y = Y

    def balance(self) -> None:
        """Change beta where one of the two residuals lags behind."""
        if self.residual > BALANCE * self.change:
            self.beta *= CHANGE
        elif self.change > BALANCE * self.residual:
            self.beta /= CHANGE

    def look(self) -> Snapshot:
        """Return the dual matrix and the point of this moment, with their bound."""
        n = self.n
        S = self.Z[1:, 1:] / -self.scale
        S = (S + S.T) / 2.0
        M = self.Q - S
        others = np.where(self.fits, M, np.inf).reshape(n * n, n, n)
        by_rows, by_columns = others.min(axis=2), others.min(axis=1)
        by_rows[np.isinf(by_rows)] = by_columns[np.isinf(by_columns)] = 0.0
        m = np.diag(M) + np.maximum(by_rows.sum(axis=1), by_columns.sum(axis=1))
        X0 = self.VRV[0, 1:].reshape(n, n)
        x0 = (self.V @ (self.V.T @ X0 @ self.V) @ self.V.T + 1.0 / n).ravel()
        eps = max(0.0, -float(np.linalg.eigvalsh(self._compress_forms(S))[0]))
        costs = (2.0 * (S @ x0) + 2.0 * eps * x0 + m).reshape(n, n)
        bound = float(np.vdot(costs, assignment(costs)) - x0 @ S @ x0 - eps * (n + x0 @ x0))
        return Snapshot(bound, S, x0)

    def _compress(self, W: np.ndarray) -> np.ndarray:
        """Return V'W V for the orthonormal V = [(1; 1/n ...) / sqrt 2, (0; V (x) V)]."""
        n, m = self.n, self.n - 1
        H = np.empty((m * m + 1, m * m + 1))
        first = (W[:, 0] + W[:, 1:].sum(axis=1) / n) / sqrt(2.0)
        H[0, 0] = (first[0] + first[1:].sum() / n) / sqrt(2.0)
        H[0, 1:] = H[1:, 0] = (self.V.T @ first[1:].reshape(n, n) @ self.V).ravel()
        H[1:, 1:] = self._compress_forms(W[1:, 1:])
        return H

    def _compress_forms(self, W: np.ndarray) -> np.ndarray:
        """Return (V (x) V)' W (V (x) V)."""
        n, m, V = self.n, self.n - 1, self.V
        T = V.T @ W.reshape(n, -1)
        T = V.T @ T.reshape(m, n, -1)
        T = T.reshape(m * m, n, n) @ V
        T = (V.T @ T).reshape(m * m, m * m)
        return (T + T.T) / 2.0

    def _expand(self, U: np.ndarray) -> np.ndarray:
        """Return V U."""
        n, m, r = self.n, self.n - 1, U.shape[1]
        F = np.empty((n * n + 1, r))
        T = (self.V @ U[1:].reshape(m, m * r)).reshape(n, m, r)
        F[1:] = (self.V @ T).reshape(n * n, r) + U[0] / (n * sqrt(2.0))
        F[0] = U[0] / sqrt(2.0)
        return F


def pairs_that_fit(n: int) -> np.ndarray:
    """Return which two entries (i, j), (k, l) of a permutation matrix can both be one: i != k and j != l.

    Examples
    --------
    >>> pairs_that_fit(2).astype(int)
    array([[0, 0, 0, 1],
           [0, 0, 1, 0],
           [0, 1, 0, 0],
           [1, 0, 0, 0]])
    """
    return np.kron(~np.eye(n, dtype=bool), ~np.eye(n, dtype=bool))
