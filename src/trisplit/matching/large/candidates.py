"""Candidate pairs: for each vertex of A the vertices of B that it may be matched with, as a sparse pattern.

They come from witnesses (see `percolation`), from a similarity, or from the spectra of the graphs. With the leading
eigenvalues and eigenvectors (a_i, u_i) of A and (b_j, v_j) of B,

    K(A, B) = sum over i, j of  u_i u_i' 1 1' v_j v_j' / ((a_i - b_j)^2 + eta^2),

is the similarity of GRAMPA, restricted to leading eigenvectors; it does not depend on their signs. It is a positive
kernel: divided by the roots of the diagonals of K(A, A) and K(B, B) it compares directions, else hubs would be the
best partners of all. It has low rank, so rows of it are computed in blocks and only their largest entries are kept.

Z. Fan, C. Mao, Y. Wu, J. Xu (2020), Spectral graph matching and regularized quadratic relaxations: algorithm and
theory, ICML.
"""

# pyright: reportOptionalSubscript=false, reportOptionalMemberAccess=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportOptionalIterable=false
# The types of scipy.sparse are not declared, only guessed.

import numpy as np
from scipy.sparse import csr_array, diags_array

from trisplit.matching.large.layers import LayerPairs, Layers, indexed
from trisplit.matching.large.percolation import witnesses

RANK, ETA = 200, 0.1  # eigenvectors, and eta in units of the deviation of the eigenvalues
BLOCK = 2**22  # entries of the similarity that are held at a time


def from_witnesses(graphs: LayerPairs, partner: np.ndarray, fixed: np.ndarray, kept: int) -> csr_array:
    """Return the best pairs by witnesses of each vertex of either graph, the match itself and the seeds."""
    least = graphs.unit * (1 - 1e-9)
    W, _ = witnesses(graphs, partner, fixed=fixed, least=least, kept=kept)
    back, _ = witnesses(
        graphs.turned(), inverse(partner, graphs.n_B), fixed=inverse(fixed, graphs.n_B), least=least, kept=kept
    )
    return join(W, csr_array(back.T), pairs_of(partner, W.shape), fixed=fixed)


def from_similarity(S: csr_array, fixed: np.ndarray, kept: int) -> csr_array:
    """Return the pairs with the largest similarity of each vertex of either graph, and the seeds."""
    return join(largest(S, kept), csr_array(largest(csr_array(S.T), kept).T), fixed=fixed)


def spectral(A: Layers, B: Layers, fixed: np.ndarray, kept: int, rng: np.random.Generator) -> csr_array:
    """Return the pairs that are most alike by leading eigenvectors, with their similarity, and the seeds.

    Layers are added up, and directions are left out.
    """
    a, u = _spectrum(A, rng)
    b, v = _spectrum(B, rng)
    n_A, n_B = A[0].shape[0], B[0].shape[0]
    if a.size == 0 or b.size == 0:
        return join(csr_array((n_A, n_B)), fixed=fixed)
    eta = ETA * max(float(a.std()), float(b.std()), 1e-12)
    u, v = u * u.sum(axis=0), v * v.sum(axis=0)
    left = _directions(u, a, eta) @ _cauchy(a, b, eta)
    right = _directions(v, b, eta)
    return join(best_products(left, right, kept), csr_array(best_products(right, left, kept).T), fixed=fixed)


def join(*patterns: csr_array, fixed: np.ndarray) -> csr_array:
    """Return the union of patterns; of seeds, only their own pairs. Values are the largest ones."""
    shape = patterns[0].shape
    free_A, free_B = (fixed < 0).astype(float), np.ones(shape[1])
    free_B[fixed[fixed >= 0]] = 0
    union = None
    for M in patterns:
        cut = csr_array(diags_array(free_A) @ M @ diags_array(free_B))
        cut.data = np.maximum(cut.data, 0) + 1e-12  # zeros would not be stored
        cut.eliminate_zeros()
        union = cut if union is None else csr_array(union.maximum(cut))
    return indexed(csr_array(union + pairs_of(fixed, shape)))


def pairs_of(partner: np.ndarray, shape: tuple[int, ...]) -> csr_array:
    """Return the matrix of a match."""
    matched = np.flatnonzero(partner >= 0)
    return csr_array((np.ones(matched.size), (matched, partner[matched])), shape=shape)


def inverse(partner: np.ndarray, size: int) -> np.ndarray:
    """Return the match from the other side."""
    back, matched = np.full(size, -1), np.flatnonzero(partner >= 0)
    back[partner[matched]] = matched
    return back


def largest(S: csr_array, kept: int) -> csr_array:
    """Return the `kept` largest entries of each row."""
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    order = np.lexsort((S.indices, -S.data, rows))
    rank = np.arange(S.nnz) - np.repeat(S.indptr[:-1], np.diff(S.indptr))
    chosen = order[rank < kept]
    return csr_array((S.data[chosen], (rows[chosen], S.indices[chosen])), shape=S.shape)


def best_products(left: np.ndarray, right: np.ndarray, kept: int) -> csr_array:
    """Return the largest entries of each row of left @ right', which is never held as a whole."""
    n, m = left.shape[0], right.shape[0]
    kept, step = min(kept, m), max(1, BLOCK // max(m, 1))
    columns, values = np.empty((n, kept), np.int64), np.empty((n, kept))
    for first in range(0, n, step):
        block = left[first : first + step] @ right.T
        at = np.argpartition(block, m - kept, axis=1)[:, m - kept :]
        columns[first : first + step], values[first : first + step] = at, np.take_along_axis(block, at, axis=1)
    return csr_array((values.ravel(), (np.repeat(np.arange(n), kept), columns.ravel())), shape=(n, m))


def _cauchy(a: np.ndarray, b: np.ndarray, eta: float) -> np.ndarray:
    return eta**2 / ((a[:, None] - b) ** 2 + eta**2)


def _directions(u: np.ndarray, a: np.ndarray, eta: float) -> np.ndarray:
    """Return the rows of u, each divided by its length in the kernel; an isolated vertex has none and stays 0."""
    lengths = np.sqrt(np.maximum(((u @ _cauchy(a, a, eta)) * u).sum(axis=1), 0))
    return u / np.where(lengths > 1e-12, lengths, np.inf)[:, None]


def _spectrum(layers: Layers, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return leading eigenvalues and eigenvectors of the sum of layers, made symmetric."""
    from scipy.sparse.linalg import eigsh

    n = layers[0].shape[0]
    M = sum(layers[1:], start=layers[0])
    M = csr_array(M + M.T)
    if n == 0 or M.nnz == 0:
        return np.zeros(0), np.zeros((n, 0))
    M = M / float(np.abs(M.data).mean())
    if n <= 2 * RANK:
        return np.linalg.eigh(M.toarray())
    start = rng.standard_normal(n)
    values, vectors = eigsh(M, k=RANK, which="LM", v0=start, tol=1e-6)
    return values, vectors
