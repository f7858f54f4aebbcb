"""Where a search begins: matrices with unit row and column sums.

Spectral starts compare eigenvectors, u_i of A and v_j of B, by way of their eigenvalues a_i and b_j:

    GRAMPA    sum_ij (u_i' 1) (v_j' 1) / ((a_i - b_j)^2 + eta^2)  u_i v_j'
    Umeyama   |U| |V|',  both in the order of the eigenvalues

References: S. Umeyama, An eigendecomposition approach to weighted graph matching problems, IEEE TPAMI 10 (1988).
Z. Fan, C. Mao, Y. Wu, J. Xu, Spectral graph matching and regularized quadratic relaxations I, ICML 2020.
"""

import numpy as np

from trisplit.errors import InputError
from trisplit.matching.objective import MatchObjective, centred
from trisplit.qap.matrices import Matrix, as_dense

ETA = 0.5  # of GRAMPA, where a random graph has eigenvalues from -2 to 2
SHARPNESS = 0.5  # of the start, in standard deviations of the similarity
BALANCED, ROUNDS = 1e-3, 200
NAMED = ("barycenter", "spectral", "umeyama")


def starting_point(f: MatchObjective, init: "np.ndarray | str") -> np.ndarray:
    """Return the matrix that `init` names, or is."""
    n, dtype = f.n, f.dtype
    if isinstance(init, str):
        if init == "barycenter":
            return np.full((n, n), 1 / n, dtype)
        if init in ("spectral", "umeyama"):
            return soft(similarity(f, init)).astype(dtype)
        raise InputError(f"`init` is unknown, got {init!r}; choose one of {', '.join(NAMED)}, or pass a matrix")
    return init.astype(dtype)


def perturbed(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return X moved by some share of the way to a random doubly stochastic matrix."""
    if share == 0.0:
        return X
    random = balanced(rng.random(X.shape, dtype=np.float32))
    return ((1 - share) * X + share * random).astype(X.dtype)


def similarity(f: MatchObjective, kind: str = "spectral") -> np.ndarray:
    """Return how alike the vertices of A and B are by the spectra of all layers, and by the linear term."""
    total = np.zeros((f.n, f.n), np.float32)
    compare = _grampa if kind == "spectral" else _umeyama
    for A, B in f.layers:
        parts = [np.linalg.eigh(_standard(M)) for M in (A, B)]
        total += _unit(compare(*parts[0], *parts[1]))
    return total if f.C is None else total + _unit(centred(f.C))


def soft(M: np.ndarray) -> np.ndarray:
    """Return the doubly stochastic matrix that a similarity suggests: exp(M / s), balanced."""
    scale = SHARPNESS / (float(M.std()) or 1.0)
    return balanced(np.exp(np.clip(scale * (M - M.max(axis=1, keepdims=True)), -80.0, 0.0)))


def balanced(X: np.ndarray) -> np.ndarray:
    """Scale rows and columns in turn until their sums are 1 (Sinkhorn).

    Examples
    --------
    >>> balanced(np.array([[1.0, 1.0], [1.0, 3.0]])).sum(axis=0).round(3)
    array([1., 1.])
    """
    X = np.array(X)
    for _ in range(ROUNDS):
        X /= X.sum(axis=1, keepdims=True)
        columns = X.sum(axis=0)
        X /= columns
        if np.abs(columns - 1).max() < BALANCED:
            break
    return X


def _grampa(a: np.ndarray, U: np.ndarray, b: np.ndarray, V: np.ndarray) -> np.ndarray:
    weights = np.outer(U.sum(axis=0), V.sum(axis=0)) / ((a[:, None] - b[None, :]) ** 2 + ETA**2)
    return U @ weights.astype(U.dtype) @ V.T


def _umeyama(_: np.ndarray, U: np.ndarray, __: np.ndarray, V: np.ndarray) -> np.ndarray:
    return np.abs(U) @ np.abs(V).T


def _standard(M: Matrix) -> np.ndarray:
    """Return the symmetric part, without its mean, on the scale on which random matrices have eigenvalues -2 to 2."""
    S = as_dense(M).astype(np.float32)
    S = (S + S.T) / 2
    S -= S.mean()
    return S / (float(S.std()) * len(S) ** 0.5 or 1.0)


def _unit(M: np.ndarray) -> np.ndarray:
    return M / (float(M.std()) or 1.0)
