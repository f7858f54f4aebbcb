"""Pairs of correlated random graphs, generated without anything of n x n entries."""

import numpy as np
from scipy.sparse import coo_array, csr_array


def random_edges(n, p, rng):
    """Codes i * n + j of edges i < j, each there with probability p."""
    count = rng.binomial(n * (n - 1) // 2, p)
    codes = np.zeros(0, np.int64)
    while codes.size < count:
        i, j = rng.integers(0, n, (2, 2 * count + 10))
        new = np.unique(np.minimum(i, j) * n + np.maximum(i, j))
        new = np.setdiff1d(new[new // n != new % n], codes)
        codes = np.concatenate([codes, rng.permutation(new)[: count - codes.size]])
    return np.sort(codes)


def as_matrix(codes, to):
    n = to.size
    half = coo_array((np.ones(codes.size), (to[codes // n], to[codes % n])), shape=(n, n)).tocsr()
    return csr_array(half + half.T)


def correlated(n, degree, r, rng):
    """Return A, B and the right match of two graphs whose edges have correlation r."""
    p = degree / n
    A = random_edges(n, p, rng)
    kept = A[rng.random(A.size) < p + r * (1 - p)]
    B = np.union1d(kept, np.setdiff1d(random_edges(n, p * (1 - r), rng), A))
    truth = rng.permutation(n)
    return as_matrix(A, np.arange(n)), as_matrix(B, truth), truth


def some_seeds(truth, count, rng):
    rows = rng.choice(truth.size, count, replace=False)
    return np.stack([rows, truth[rows]], axis=1)
