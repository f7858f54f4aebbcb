"""Exact dual variables of a linear assignment problem.

    max sum_i u_i + sum_j v_j   with   u_i + v_j <= c_ij

Any feasible pair bounds every assignment from below; the best one equals the optimum.
"""

import numpy as np

from trisplit.qap.bounds.integers import largest
from trisplit.terms.joint import assignment

# Costs below 2^44 leave room for sums over paths in int64 and are exact in float64, with which the solver works.
BITS = 44


def assignment_duals(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return integer dual variables of an assignment problem with integer costs of any size.

    They are optimal up to 44 leading bits of the costs, and always feasible.

    Parameters
    ----------
    costs : array of int64 or of Python integers, shape (n, n)

    Returns
    -------
    u, v : arrays of Python integers, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> u, v = assignment_duals(np.array([[4, 1], [2, 3]]))
    >>> int(u.sum() + v.sum())
    3
    """
    costs = costs.astype(object)
    low = costs.min(axis=1, keepdims=True)
    reduced = costs - low
    shift = max(largest(reduced).bit_length() - BITS, 0)
    v = _potentials((reduced >> shift).astype(np.int64)).astype(object) << shift
    u = (costs - v[None, :]).min(axis=1)  # what the shift has cut off is given back here
    return u, v


def _potentials(costs: np.ndarray) -> np.ndarray:
    """Return the column potentials: lengths of shortest paths from any row, by Bellman and Ford.

    With the optimal assignment p, v_j <= c_ij - c_ip(i) + v_p(i) must hold for all i, j: cycles have length >= 0.
    """
    n = len(costs)
    p = np.argmax(assignment(costs.astype(np.float64)), axis=1)
    lengths = costs - costs[np.arange(n), p][:, None]
    v = np.zeros(n, dtype=np.int64)
    for _ in range(n):
        better = np.minimum(v, (lengths + v[p][:, None]).min(axis=0))
        if np.array_equal(better, v):
            break
        v = better
    return v
