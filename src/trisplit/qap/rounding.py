"""From a matrix to a permutation, and from a permutation to a better one."""

from time import perf_counter

import numpy as np

from trisplit.arrays import Array, all_finite, as_floating, to_numpy
from trisplit.errors import InputError
from trisplit.kernels import exchanges
from trisplit.qap.exchange_form import exchange_form
from trisplit.qap.instance import Instance, as_permutation
from trisplit.terms.joint import assignment

MOVES = 100  # exchanges between two looks at the clock


def round_to_permutation(X: Array) -> np.ndarray:
    """Return the permutation whose matrix is nearest to X: the assignment that maximises <X, P>.

    Examples
    --------
    >>> import numpy as np
    >>> round_to_permutation(np.array([[0.4, 0.6], [0.9, 0.1]]))
    array([1, 0])
    """
    X = as_floating(X)
    if X.ndim != 2 or X.shape[0] != X.shape[1] or not all_finite(X):
        raise InputError(f"`X` must be a square matrix of finite numbers, got shape {X.shape}; see `relax`")
    return np.argmax(to_numpy(assignment(-X)), axis=1)


def swap_descent(instance: Instance, permutation: np.ndarray, *, deadline: float | None = None) -> np.ndarray:
    """Exchange pairs of assignments, the best pair each time, until none lowers the cost.

    Parameters
    ----------
    instance : Instance
    permutation : array of int
    deadline : float, optional
        A `time.perf_counter()` value at which to stop.

    Returns
    -------
    array of int
        A permutation that no exchange of two entries improves, unless the deadline came first.

    Examples
    --------
    >>> from trisplit import qap
    >>> nug12 = qap.load("nug12")
    >>> better = swap_descent(nug12, range(12))
    >>> nug12.cost(better) < nug12.cost(range(12))
    True
    """
    p = as_permutation(permutation, instance.n)
    if deadline is not None and perf_counter() >= deadline:
        return p
    form = exchange_form(instance)
    fill, descend = exchanges.engine(form.kind)
    problem, scratch, q = (form.L, form.R, form.S, form.T), form.scratch(), form.turned(p)
    cost = instance.cost(p)
    fill(*problem, form.D, q, *scratch)
    while True:
        moves = descend(*problem, form.X, q, *scratch, form.top, form.tiny, MOVES)
        trial = form.turned(q)
        # The exact cost decides, so rounding in the deltas can neither loop for ever nor make the answer worse.
        trial_cost = instance.cost(trial)
        if trial_cost >= cost:
            return p
        p, cost = trial, trial_cost
        if moves < MOVES or (deadline is not None and perf_counter() >= deadline):
            return p


def swap_deltas(A: np.ndarray, B: np.ndarray, C: np.ndarray | None = None) -> np.ndarray:
    """Return for all pairs the change of sum_ij A_ij B_ij + sum_i C_ii if r and s change places in B and C.

    All pairs at once by two matrix products; A and B need not be symmetric. The compiled exchanges must agree.
    """
    columns, rows = A.T @ B, A @ B.T  # sums over k of A_kr B_ks and of A_rk B_sk
    deltas = np.zeros_like(A)
    for M in (columns, rows):
        own = np.diag(M)
        deltas += M + M.T - own[:, None] - own[None, :]
    # The sums ran over all k; for k = r and k = s the two exchanged indices meet, which changes four products.
    a, b = np.diag(A), np.diag(B)
    A_rr_ss, B_rr_ss = a[:, None] - a[None, :], b[None, :] - b[:, None]
    skew_A, skew_B = A - A.T, B.T - B
    wrong = _own_rows(A, B) + _own_rows(A.T, B.T)
    deltas += A_rr_ss * B_rr_ss + skew_A * skew_B - wrong
    if C is not None:
        own = np.diag(C)
        deltas += C + C.T - own[:, None] - own[None, :]
    return deltas


def _own_rows(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the terms k = r and k = s of sum_k (A_kr - A_ks) (B_ks - B_kr)."""
    a, b = np.diag(A), np.diag(B)
    at_r = (a[:, None] - A) * (B - b[:, None])
    at_s = (A.T - a[None, :]) * (b[None, :] - B.T)
    return at_r + at_s
