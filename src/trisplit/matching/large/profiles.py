"""Vertices told apart by their surroundings: random nonlinear features, summed over neighbours again and again.

    x_0 = degrees,    h_t = tanh(R_t x_t + c_t),    x_{t+1} = (sum of h_t over neighbours, h_t)

with the same random R_t and c_t for both graphs. A vertex and its counterpart get features that differ only by the
edges that are not shared, while those of other vertices differ by all. Whitened, so that weak but telling directions
count as much as the degree, they are compared by their angle. This is Weisfeiler and Leman's refinement of colours with
colours that may be alike.
"""

import numpy as np
from scipy.sparse import csr_array

from trisplit.matching.large.candidates import best_products, join
from trisplit.matching.large.layers import LayerPairs

DEPTH, WIDTH = 5, 64
WEAKEST = 1e-2  # variance of a direction that is kept, times the largest one


def from_profiles(graphs: LayerPairs, fixed: np.ndarray, kept: int, rng: np.random.Generator) -> csr_array:
    """Return the pairs whose surroundings are most alike, of each vertex of either graph, and the seeds.

    Examples
    --------
    >>> from trisplit.matching.large.layers import layer_pairs
    >>> path = csr_array(np.diag([1.0, 2.0, 3.0], 1) + np.diag([1.0, 2.0, 3.0], -1))
    >>> none = np.full(4, -1)
    >>> from_profiles(layer_pairs((path,), (path,)), none, 1, np.random.default_rng(0)).indices
    array([0, 1, 2, 3], dtype=int32)
    """
    if graphs.n_A == 0 or graphs.n_B == 0:
        return join(csr_array((graphs.n_A, graphs.n_B)), fixed=fixed)
    x = _profiles(graphs, rng)
    left, right = x[: graphs.n_A], x[graphs.n_A :]
    return join(best_products(left, right, kept), csr_array(best_products(right, left, kept).T), fixed=fixed)


def _profiles(graphs: LayerPairs, rng: np.random.Generator) -> np.ndarray:
    """Return unit vectors of features, of the vertices of A and then of those of B."""

    def summed(h: np.ndarray) -> np.ndarray:
        h_A, h_B = h[: graphs.n_A], h[graphs.n_A :]
        return np.hstack([np.vstack([a @ h_A, b @ h_B]) for a, b in graphs.pairs])

    x = _standard(summed(np.ones((graphs.n_A + graphs.n_B, 1))))
    features = [x]
    for _ in range(DEPTH):
        R = rng.standard_normal((x.shape[1], WIDTH)) / x.shape[1] ** 0.5
        h = np.tanh(x @ R + rng.standard_normal(WIDTH))
        received = _standard(summed(h - h.mean(axis=0)))
        features.append(received)
        x = np.hstack([received, _standard(h)])
    x = np.hstack(features)
    variances, axes = np.linalg.eigh(x.T @ x / x.shape[0])
    strong = variances > WEAKEST * max(float(variances.max()), 1e-12)
    x = x @ axes[:, strong] / np.sqrt(variances[strong])
    return x / np.maximum(np.linalg.norm(x, axis=1), 1e-12)[:, None]


def _standard(x: np.ndarray) -> np.ndarray:
    """Return columns with mean 0 and variance 1; what is constant becomes 0."""
    x = x - x.mean(axis=0)
    deviation = np.sqrt((x**2).mean(axis=0))
    return x / np.where(deviation > 1e-9, deviation, np.inf)
