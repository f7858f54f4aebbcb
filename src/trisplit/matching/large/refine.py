"""From a match of most vertices to a better match of all: assignments by witnesses, then what is left by degrees."""

# pyright: reportOptionalSubscript=false, reportOptionalMemberAccess=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportOptionalIterable=false
# The types of scipy.sparse are not declared, only guessed.

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from trisplit.matching.large.assignment import assign
from trisplit.matching.large.candidates import inverse
from trisplit.matching.large.layers import LayerPairs
from trisplit.matching.large.percolation import Percolation, witnesses


def refine(
    graphs: LayerPairs,
    partner: np.ndarray,
    fixed: np.ndarray,
    *,
    max_iter: int = 100,
    report: Callable[[str], None] | None = None,
) -> Percolation:
    """Take the best assignment for the gradient at the match, as long as that raises the score.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from trisplit.matching.large.layers import layer_pairs
    >>> ring = csr_array(np.roll(np.eye(6), 1, axis=1) + np.roll(np.eye(6), -1, axis=1))
    >>> graphs = layer_pairs((ring,), (ring,))
    >>> refine(graphs, np.array([0, 1, 2, 3, -1, -1]), np.full(6, -1)).partner
    array([0, 1, 2, 3, 4, 5])
    """
    score = graphs.score(partner)
    for t in range(1, max_iter + 1):
        W, _ = witnesses(graphs, partner, fixed=fixed, least=float(np.finfo(float).tiny), share=0.0)
        to = assign(W, price=0.0).partner
        to = _overlay(np.where(fixed >= 0, fixed, to), partner, graphs.n_B)
        reached = graphs.score(to)
        if report is not None:
            report(f"assignment: round {t}, score {max(score, reached):.6g}")
        if reached <= score:
            return Percolation(partner, t, True)
        partner, score = to, reached
    return Percolation(partner, max_iter, False)


def complete(graphs: LayerPairs, partner: np.ndarray) -> np.ndarray:
    """Match what is left of the smaller graph with what is left of the other one, by descending degree.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from trisplit.matching.large.layers import layer_pairs
    >>> none = csr_array((3, 3))
    >>> complete(layer_pairs((none,), (none,)), np.array([-1, 0, -1]))
    array([1, 0, 2])
    """
    partner, owner = partner.copy(), inverse(partner, graphs.n_B)
    left_A, left_B = np.flatnonzero(partner < 0), np.flatnonzero(owner < 0)
    by_degree = np.argsort(-_degrees(graphs.pairs[0][0])[left_A], kind="stable")
    to = np.argsort(-_degrees(graphs.pairs[0][1])[left_B], kind="stable")
    both = min(left_A.size, left_B.size)
    partner[left_A[by_degree[:both]]] = left_B[to[:both]]
    return partner


def _overlay(partner: np.ndarray, before: np.ndarray, size: int) -> np.ndarray:
    """Keep pairs of `before` whose vertices are both without a partner in `partner`."""
    partner, owner = partner.copy(), inverse(partner, size)
    left = np.flatnonzero((partner < 0) & (before >= 0))
    left = left[owner[before[left]] < 0]
    partner[left] = before[left]
    return partner


def _degrees(M: csr_array) -> np.ndarray:
    return np.asarray(abs(M).sum(axis=1)).ravel()
