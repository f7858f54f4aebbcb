"""Results of matches that no search has found, for tests of what is shown of them."""

import numpy as np
from scipy import sparse

from trisplit.matching.diagnostics import alignment_strength, edge_agreement
from trisplit.matching.result import MatchResult


def a_result(A, B, permutation, **changes):
    """Return a result that matches vertex i of A with permutation[i] of B, where that is not -1."""
    p = np.asarray(permutation, dtype=np.intp)
    A, B = ([one] if sparse.issparse(one) or isinstance(one, np.ndarray) else list(one) for one in (A, B))
    a = np.flatnonzero(p >= 0)
    b = p[a]
    n_A, n_B = A[0].shape[0], B[0].shape[0]
    score = sum(float((one[a][:, a] * other[b][:, b]).sum()) for one, other in zip(A, B, strict=True))
    fields = {
        "indices_A": a,
        "indices_B": b,
        "score": score,
        "misc": [{"nit": 7, "score": score}],
        "labels_A": None,
        "labels_B": None,
        "unmatched_A": np.flatnonzero(p < 0),
        "unmatched_B": np.setdiff1d(np.arange(n_B), b),
        "confidence": np.linspace(1.0, 0.25, len(a)),
        "runners_up": np.stack([(b + 1) % max(n_B, 1), np.full(len(a), -1)], axis=1),
        "agreement": edge_agreement(A, B, a, b),
        "alignment_strength": alignment_strength(A, B, a, b),
        "stability": None,
        "certificate": None,
        "bound": float("inf"),
        "n_A": n_A,
        "n_B": n_B,
        "seeds": 0,
        "method": "tos",
        "seconds": 0.25,
        "message": "all starts are done",
        "maximize": True,
    }
    return MatchResult(**(fields | changes))


def a_pair(n, density=0.3, noise=0.1, seed=0, loops=False, weighted=False, directed=False):
    """Return a graph, a noisy copy with its vertices in another order, and the true match."""
    rng = np.random.default_rng(seed)
    A = (rng.random((n, n)) < density) * (rng.integers(1, 5, (n, n)) if weighted else 1.0)
    noisy = np.where(rng.random((n, n)) < noise, (rng.random((n, n)) < density) * 1.0, A)
    if not directed:
        A, noisy = (np.triu(one) + np.triu(one, 1).T for one in (A, noisy))
    if not loops:
        A, noisy = (one - np.diag(np.diag(one)) for one in (A, noisy))
    p = rng.permutation(n)
    B = np.zeros_like(noisy)
    B[np.ix_(p, p)] = noisy
    return A, B, p
