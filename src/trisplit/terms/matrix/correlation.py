"""The nearest correlation matrix, by a semismooth Newton method for the dual problem.

min over y of theta(y) = ||(C + diag y)_+||^2 / 2 - sum y has the gradient diag((C + diag y)_+) - 1; at its minimiser
(C + diag y)_+ is the nearest positive semidefinite matrix with unit diagonal. The gradient is not differentiable, but
strongly semismooth: with an element of its generalised Jacobian, Newton's method converges quadratically.

References
----------
Qi, Sun (2006), A quadratically convergent Newton method for computing the nearest correlation matrix.
"""

import numpy as np

STEPS, LARGEST = 100, 1e10


def nearest_correlation(x: np.ndarray) -> np.ndarray:
    """Return the nearest correlation matrix of each matrix along the last two axes, NaN for one that holds a NaN."""
    found = [_nearest(each) for each in np.asarray(x, dtype=float).reshape(-1, *x.shape[-2:])]
    return np.reshape(found, x.shape)


def _nearest(x: np.ndarray) -> np.ndarray:
    if not np.isfinite(x).all():
        return np.full_like(x, np.nan)
    # Far away, only the direction matters: beyond this size what is left of the unit diagonal drowns.
    size = np.abs(x).max()
    C = x * (LARGEST / size) if size > LARGEST else x
    C = (C + C.T) / 2
    y = 1.0 - np.diag(C)
    theta, gradient, decomposition = _dual(C, y)
    for _ in range(STEPS):
        miss = float(np.linalg.norm(gradient))
        if miss <= 1e-15 * (1.0 + np.linalg.norm(C)):
            break
        step = _newton_step(gradient, decomposition, min(1e-2, miss))
        slope, length = float(gradient @ step), 1.0
        for _ in range(40):
            after = _dual(C, y + length * step)
            # Near the end theta changes by less than its rounding, and the gradient tells.
            if after[0] <= theta + 1e-4 * length * slope or np.linalg.norm(after[1]) <= 0.5 * miss:
                break
            length /= 2
        else:
            break
        y = y + length * step
        theta, gradient, decomposition = after
    # The diagonal is 1 up to the gradient; the division makes it so and keeps the matrix positive semidefinite.
    values, vectors = decomposition
    X = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.maximum(np.diag(X), np.finfo(float).tiny))
    X = X / np.outer(scale, scale)
    X = (X + X.T) / 2
    np.fill_diagonal(X, 1.0)
    return X


def _dual(C: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return theta(y), its gradient and the eigenvalues and eigenvectors of C + diag y."""
    values, vectors = np.linalg.eigh(C + np.diag(y))
    positive = np.maximum(values, 0.0)
    return 0.5 * float(positive @ positive) - float(y.sum()), vectors**2 @ positive - 1.0, (values, vectors)


def _newton_step(gradient: np.ndarray, decomposition: tuple[np.ndarray, np.ndarray], tol: float) -> np.ndarray:
    """Return a solution d of V d = -gradient by conjugate gradients, V d = diag(P (W o (P' diag(d) P)) P')."""
    values, P = decomposition
    positive = np.maximum(values, 0.0)
    apart = values[:, None] - values[None, :]
    same = (values[:, None] > 0) & (values[None, :] > 0)
    W = np.where(same, 1.0, (positive[:, None] - positive[None, :]) / np.where(apart == 0, 1.0, apart))
    squares = P**2
    diagonal = np.maximum(np.einsum("ik,kl,il->i", squares, W, squares), 1e-8)
    damping = 1e-12

    def times(d: np.ndarray) -> np.ndarray:
        inside = W * ((P.T * d) @ P)
        return np.einsum("ik,kl,il->i", P, inside, P, optimize=True) + damping * d

    d, residual = np.zeros_like(gradient), -gradient
    z = residual / diagonal
    direction, rho, first = z, float(residual @ z), np.linalg.norm(residual)
    for _ in range(200):
        image = times(direction)
        alpha = rho / float(direction @ image)
        d, residual = d + alpha * direction, residual - alpha * image
        if np.linalg.norm(residual) <= tol * first:
            break
        z = residual / diagonal
        rho, before = float(residual @ z), rho
        direction = z + (rho / before) * direction
    return d
