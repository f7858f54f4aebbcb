"""Three operator splitting for graph matching with X kept on a sparse pattern of candidate pairs.

    maximise  <sum over pairs of layers of A X B', X> / 2 + <S, X>   over X on the pattern,
    g: rows in the simplex,    h: columns x >= 0 with sums at most 1,

which is the relaxed problem with a column for each vertex of the larger graph. Where no match of all rows exists on the
pattern, the two sets do not meet; z then approaches the points of g that are nearest to h.

[YMS21] Yurtsever, Mangalick, Sra (2021), Three Operator Splitting with a Nonconvex Loss Function.
"""

# pyright: reportOptionalSubscript=false, reportOptionalMemberAccess=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportOptionalIterable=false
# The types of scipy.sparse are not declared, only guessed.

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trisplit.matching.large.layers import LayerPairs, arrays
from trisplit.problems.space import Space
from trisplit.splitting.tos import tos_step

POWER_STEPS = 20
SAFETY = 1.02  # power iterations approach the curvature from below


class Relaxed(NamedTuple):
    """Where the iteration ended: values of z on the pattern, iterations, and ||x - z|| / sqrt(rows)."""

    z: np.ndarray
    iterations: int
    residual: float


class PatternProblem(Space):
    """Gradient and projections on the pattern, as `tos_step` asks for them.

    Vectors hold one float32 for each of its pairs.

    Parameters
    ----------
    graphs : LayerPairs
    pattern : csr_array of shape (n_A, n_B)
        Its stored entries, in order, are the candidate pairs; n_A <= n_B.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.matching.large.layers import layer_pairs
    >>> path = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> problem = PatternProblem(layer_pairs((path,), (path,)), csr_array(np.ones((2, 2))))
    >>> problem.ascent(np.array([1, 0, 0, 1], dtype=np.float32))
    array([1., 0., 0., 1.], dtype=float32)
    """

    def __init__(self, graphs: LayerPairs, pattern: csr_array) -> None:
        self.graphs = graphs
        self.starts, self.columns, _ = arrays(pattern)
        self.shape, self.size = pattern.shape, pattern.nnz
        self.entries = np.arange(self.size)
        order = csr_array((self.entries, self.columns, self.starts), shape=pattern.shape).tocsc()
        self.column_starts, self.column_entries = order.indptr.astype(np.int64), order.data.astype(np.int64)
        self.linear = np.asarray(_values_at(graphs.S, self.starts, self.columns))

    def product(self, X: np.ndarray) -> np.ndarray:
        """Return (sum of A X B') on the pattern, in float64."""
        from trisplit.kernels.matching import add_product

        out = np.zeros(self.size)
        for a, b in self.graphs.pairs:
            add_product(*arrays(a), self.starts, self.columns, X, *arrays(b), out)
        return out

    def ascent(self, X: np.ndarray) -> np.ndarray:
        """Return the gradient of what is maximised."""
        return (self.product(X) + self.linear).astype(np.float32)

    def curvature(self) -> float:
        """Return the largest absolute eigenvalue of X -> (sum of A X B') on the pattern, by power iterations."""
        v, value = np.ones(self.size, np.float32), 0.0
        for _ in range(POWER_STEPS):
            w = self.product(v)
            value = float(np.linalg.norm(w)) / max(float(np.linalg.norm(v)), 1e-30)
            if value == 0:
                return 0.0
            v = (w / np.abs(w).max()).astype(np.float32)
        return SAFETY * value

    def grad(self, z: np.ndarray) -> np.ndarray:
        """Return the gradient of what is minimised."""
        return -self.ascent(z)

    def prox_g(self, y: np.ndarray, gamma: float) -> np.ndarray:
        """Project the rows onto the simplex; a row without pairs has nothing to project."""
        from trisplit.kernels.matching import project_groups
        from trisplit.kernels.simplex import SIMPLEX

        out = np.empty_like(y)
        project_groups(self.starts, self.entries, y, SIMPLEX, out)
        return out

    def prox_h(self, v: np.ndarray, gamma: float) -> np.ndarray:
        """Project the columns onto {x >= 0, sum <= 1}."""
        from trisplit.kernels.matching import project_groups
        from trisplit.kernels.simplex import SOLID

        out = np.empty_like(v)
        project_groups(self.column_starts, self.column_entries, v, SOLID, out)
        return out


def pattern_tos(
    problem: PatternProblem,
    y: np.ndarray,
    gamma: float,
    *,
    max_iter: int = 200,
    tol: float = 1e-3,
    report: Callable[[str], None] | None = None,
) -> Relaxed:
    """Iterate from y until z and x are closer than `tol` * sqrt(rows) and z has come to rest, or for `max_iter` rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.matching.large.layers import layer_pairs
    >>> path = csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]]))
    >>> problem = PatternProblem(layer_pairs((path,), (path,)), csr_array(np.eye(3) + np.eye(3)[::-1]))
    >>> pattern_tos(problem, np.full(problem.size, 0.5, np.float32), 0.1).z.round(3)
    array([1., 0., 1., 0., 1.], dtype=float32)
    """
    y, gamma = y.astype(np.float32), float(gamma)
    size, before, t, residual = problem.shape[0] ** 0.5, None, 0, np.inf
    z = problem.prox_g(y, gamma)
    for t in range(1, max_iter + 1):
        z, x, _, y = tos_step(problem, y, gamma)
        residual = float(np.linalg.norm(x - z)) / max(size, 1.0)
        if report is not None and t % 10 == 0:
            report(f"splitting: iteration {t}, distance of the two sets {residual:.1e}")
        if before is not None and max(residual, float(np.linalg.norm(z - before)) / max(size, 1.0)) <= tol:
            break
        before = z
    return Relaxed(z, t, residual)


def _values_at(S: csr_array, starts: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the entries of S at the pairs of a pattern."""
    if S.nnz == 0:
        return np.zeros(columns.size)
    rows = np.repeat(np.arange(S.shape[0]), np.diff(starts))
    return np.asarray(S[rows, columns]).ravel()
