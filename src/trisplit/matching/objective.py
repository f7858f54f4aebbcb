"""The score of a match as a quadratic form of matrices X with unit row and column sums, and its gradient.

    f(X) = sum over layers of <A, X B X'> + <AB X', X BA>,  plus <C, X>        (X[i,p_i] = 1 gives the score of p)
    G(X) = A X B' + A' X B + BA' X' AB + AB X' BA' + C

If A or B is symmetric, both may be replaced by their symmetric parts, and two products make the gradient of a layer.
Sparse matrices stay sparse; X is dense.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from trisplit.qap.matrices import Matrix, is_sparse, is_symmetric

POWERS, MARGIN = 12, 1.1  # steps of the power method, and for what they leave
Pair = tuple[Matrix, Matrix]


@dataclass(frozen=True, eq=False)
class MatchObjective:
    """What is maximised, for graphs of the same size n.

    Parameters
    ----------
    layers : tuple of pairs of matrices, shape (n, n)
        A and B.
    crossed : tuple of pairs of matrices, shape (n, n)
        AB and BA.
    C : array, shape (n, n), or None

    Examples
    --------
    >>> A = np.array([[0.0, 2.0], [1.0, 0.0]])
    >>> f = MatchObjective(((A, A),), (), None)
    >>> f.value(np.eye(2)), f.value_at(np.array([1, 0]))
    (5.0, 4.0)
    """

    layers: tuple[Pair, ...]
    crossed: tuple[Pair, ...]
    C: np.ndarray | None

    @property
    def n(self) -> int:
        return self.layers[0][0].shape[0]

    @property
    def dtype(self) -> np.dtype:
        return self.layers[0][0].dtype

    @cached_property
    def pairs(self) -> tuple[tuple[Matrix, Matrix, bool], ...]:
        """A, B and whether both are symmetric, for each layer."""
        return tuple(_symmetric_parts(A, B) for A, B in self.layers)

    def gradient(self, X: np.ndarray) -> np.ndarray:
        """Return G(X)."""
        G = np.zeros(X.shape, X.dtype) if self.C is None else self.C.astype(X.dtype)
        for A, B, symmetric in self.pairs:
            AX = A @ X
            if symmetric:
                G += 2 * _right(AX, B)
            else:
                G += _right(AX, B.T)
                G += _right(A.T @ X, B)
        for AB, BA in self.crossed:
            G += _right(BA.T @ X.T, AB)
            G += _right(AB @ X.T, BA.T)
        return G

    def gradient_at(self, p: np.ndarray) -> np.ndarray:
        """Return G at the permutation p: X B is B with its rows in another order."""
        G = np.zeros((self.n, self.n), self.dtype) if self.C is None else self.C.astype(self.dtype)
        for A, B, symmetric in self.pairs:
            if symmetric:
                G += 2 * _dense(A @ B[p])
            else:
                G += _dense(A @ B.T[p])
                G += _dense(A.T @ B[p])
        for AB, BA in self.crossed:
            G += _dense(BA[p].T @ AB)
            G += _dense(AB[:, p] @ BA.T)
        return G

    def gradient_at_barycentre(self) -> np.ndarray:
        """Return G at the matrix of entries 1/n: products of sums."""
        G = np.zeros((self.n, self.n), self.dtype) if self.C is None else self.C.astype(self.dtype)
        for A, B in self.layers:
            G += np.outer(_sums(A, 1), _sums(B, 1)) / self.n + np.outer(_sums(A, 0), _sums(B, 0)) / self.n
        for AB, BA in self.crossed:
            G += np.outer(_sums(BA, 0), _sums(AB, 0)) / self.n + np.outer(_sums(AB, 1), _sums(BA, 1)) / self.n
        return G

    def value(self, X: np.ndarray, G: np.ndarray | None = None) -> float:
        """Return f(X), by its gradient."""
        G = self.gradient(X) if G is None else G
        linear = 0.0 if self.C is None else inner(self.C, X)
        return (inner(G, X) + linear) / 2

    def value_at(self, p: np.ndarray) -> float:
        """Return the score of the permutation p."""
        score = 0.0 if self.C is None else float(self.C[np.arange(self.n), p].sum(dtype=float))
        for A, B in self.layers:
            score += float((A * B[p][:, p]).sum(dtype=float))
        for AB, BA in self.crossed:
            score += float((AB[:, p] * BA[p]).sum(dtype=float))
        return score

    @cached_property
    def lipschitz(self) -> float:
        """How fast the gradient changes where sums do not: 2 ||PAP|| ||PBP|| for each pair, P = I - 11'/n."""
        rng = np.random.default_rng(0)
        total = sum(_norm(A, rng) * _norm(B, rng) for A, B in (*self.layers, *self.crossed))
        return 2 * MARGIN * total


def centred(X: np.ndarray) -> np.ndarray:
    """Return X less its row means and column means: an assignment problem has the same answers."""
    return X - X.mean(axis=1, keepdims=True) - (X.mean(axis=0) - X.mean())


def unit_sums(X: np.ndarray) -> np.ndarray:
    """Return the nearest matrix with unit row and column sums."""
    return centred(X) + X.dtype.type(1 / len(X))


def _symmetric_parts(A: Matrix, B: Matrix) -> tuple[Matrix, Matrix, bool]:
    if not (is_symmetric(A) or is_symmetric(B)):
        return A, B, False
    half = A.dtype.type(0.5)
    return *(M if is_symmetric(M) else _like(half * (M + M.T), M) for M in (A, B)), True  # pyright: ignore


def _like(M: Matrix, other: Matrix) -> Matrix:
    return sparse.csr_array(M) if is_sparse(other) else M  # pyright: ignore[reportReturnType]


def _right(X: np.ndarray, B: Matrix) -> np.ndarray:
    """Return X B, also for a sparse B."""
    return (B.T @ X.T).T if is_sparse(B) else X @ B


def _dense(M: Matrix) -> np.ndarray:
    return M.toarray() if is_sparse(M) else M  # pyright: ignore[reportAttributeAccessIssue]


def _sums(M: Matrix, axis: int) -> np.ndarray:
    return np.asarray(M.sum(axis=axis)).ravel()


def inner(X: np.ndarray, Y: np.ndarray) -> float:
    """Return <X, Y>, summed in float64; by one thread, which several of the BLAS are slower than."""
    return float(np.einsum("ij,ij->", X, Y, dtype=float))


def _norm(M: Matrix, rng: np.random.Generator) -> float:
    """Return an estimate from below of ||PMP||."""
    v = rng.standard_normal(M.shape[1])
    size = 0.0
    for _ in range(POWERS):
        v -= v.mean()
        size = float(np.linalg.norm(v))
        if size == 0.0:
            return 0.0
        w = M @ (v / size)
        v = M.T @ (w - w.mean())
    return size**0.5
