"""An order of vertices in which a picture of the matrix shows its structure: communities as blocks, chains as bands.

Components come one after another, the largest first. Within one, vertices are sorted by the second eigenvector of
D^-1/2 W D^-1/2, divided by sqrt(d) (Fiedler); where the best cut of that order is clear, its two sides are sorted anew,
each by its own eigenvector, in the direction of the first.

Reference: J. Shi, J. Malik, "Normalized cuts and image segmentation", IEEE TPAMI 22 (2000) 888-905.
"""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from trisplit.matching.moments import Matrix

LEAST = 8  # vertices of a side
DEEPEST = 5  # cuts within cuts
CLEAR = 0.35  # share of the edges of the smaller side that may cross a clear cut
SMALL = 64  # for which all eigenvectors are as quick


def structured_order(W: Matrix) -> np.ndarray:
    """Return the vertices of the graph with weights |W|, in either direction, in an order that shows its structure.

    >>> W = np.kron(np.eye(2), np.ones((3, 3)))[np.ix_([0, 3, 1, 4, 2, 5], [0, 3, 1, 4, 2, 5])]
    >>> sorted(structured_order(W)[:3].tolist())
    [0, 2, 4]
    """
    both = abs(sparse.csr_array(W))
    both = sparse.csr_array(both + both.T)
    both.setdiag(0.0)
    both.eliminate_zeros()
    count, which = csgraph.connected_components(both, directed=False)
    sizes = np.bincount(which, minlength=count)
    groups = np.split(np.argsort(which, kind="stable"), np.cumsum(sizes)[:-1])
    in_turn = sorted((group for group in groups if len(group)), key=len, reverse=True)  # equal ones by first vertex
    parts = [_sorted(both, group, group.astype(float), 0) if len(group) > 2 else group for group in in_turn]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.intp)


def _sorted(W: sparse.csr_array, group: np.ndarray, before: np.ndarray, depth: int) -> np.ndarray:
    """Return the group in order, in the direction in which the values `before` rise."""
    part = W[group][:, group]
    degrees = np.asarray(part.sum(axis=1)).ravel()
    if not degrees.all():  # a cut can leave vertices alone
        return group[np.argsort(before, kind="stable")]
    values = _second(part, degrees)
    if (values - values.mean()) @ (before - before.mean()) < 0:
        values = -values
    order = np.argsort(values, kind="stable")
    if depth < DEEPEST and len(group) >= 2 * LEAST:
        size, share = _best_cut(part, degrees, order)
        if share < CLEAR:
            sides = order[:size], order[size:]
            return np.concatenate([_sorted(W, group[side], values[side], depth + 1) for side in sides])
    return group[order]


def _second(W: sparse.csr_array, degrees: np.ndarray) -> np.ndarray:
    """Return the second eigenvector of D^-1/2 W D^-1/2 over sqrt(d)."""
    root = np.sqrt(degrees)
    first, n = root / np.linalg.norm(root), len(root)
    scaled = sparse.diags_array(1 / root) @ W @ sparse.diags_array(1 / root)
    if n <= SMALL:
        return np.linalg.eigh(scaled.toarray() - 2 * np.outer(first, first))[1][:, -1] / root

    def product(x: np.ndarray) -> np.ndarray:
        x = np.ravel(x)
        return scaled @ x + x - 3 * first * (first @ x)  # shifted, so that the second eigenvalue is the largest

    start = np.random.default_rng(0).standard_normal(n)
    matrix = LinearOperator((n, n), matvec=product, dtype=float)  # pyright: ignore[reportCallIssue]
    try:
        vectors = eigsh(matrix, k=1, which="LA", v0=start, tol=1e-4, maxiter=60)[1]  # pyright: ignore
    except ArpackNoConvergence:
        vectors = _by_power(product, start)
    return vectors[:, -1] / root


def _by_power(product, start: np.ndarray, steps: int = 100) -> np.ndarray:  # noqa: ANN001
    """Return what is left of a vector after some multiplications: rough, but smooth along the edges."""
    for _ in range(steps):
        start = product(start)
        start /= np.linalg.norm(start)
    return start[:, None]


def _best_cut(W: sparse.csr_array, degrees: np.ndarray, order: np.ndarray) -> tuple[int, float]:
    """Return the size of the first side of the cut with the least share of crossing edges, and that share."""
    n = len(order)
    rank = np.empty(n, dtype=np.intp)
    rank[order] = np.arange(n)
    edges = W.tocoo()
    i, j = rank[edges.coords[0]], rank[edges.coords[1]]
    upper = i < j
    changes = np.bincount(i[upper] + 1, edges.data[upper], n + 1) - np.bincount(j[upper] + 1, edges.data[upper], n + 1)
    sizes = np.arange(LEAST, n - LEAST + 1)
    crossing, volume = np.cumsum(changes)[sizes], np.cumsum(degrees[order])[sizes - 1]
    shares = crossing / np.minimum(volume, degrees.sum() - volume)
    best = int(np.argmin(shares))
    return int(sizes[best]), float(shares[best])
