"""From a matrix to a permutation, and from a permutation to a better one."""

from time import perf_counter

import numpy as np

from trisplit.arrays import Array, as_floating, to_numpy
from trisplit.arrays.batched import all_finite
from trisplit.errors import InputError
from trisplit.kernels import swaps
from trisplit.qap import time_model
from trisplit.qap.instance import Instance, as_permutation
from trisplit.qap.swap_delta import exact_descent
from trisplit.qap.swap_form import swap_form
from trisplit.terms.joint import assignment

MOVES, WORK = 100, 10_000_000  # swaps between two looks at the clock: at most, and n^2 times as many


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
    """Swap pairs of assignments, the best pair each time, until none lowers the cost.

    Parameters
    ----------
    instance : Instance
    permutation : array of int
    deadline : float, optional
        A `time.perf_counter()` value at which to stop.

    Returns
    -------
    array of int
        A permutation that no swap of two entries improves, unless the deadline came first. That is exact for
        integers of any size; other numbers may leave a swap whose gain is within rounding.

    Examples
    --------
    >>> from trisplit import qap
    >>> nug12 = qap.load("nug12")
    >>> better = swap_descent(nug12, range(12))
    >>> nug12.cost(better) < nug12.cost(range(12))
    True
    """
    p = as_permutation(permutation, instance.n)
    if not time_model.fits(time_model.FORM + time_model.FILL, instance.n, deadline):
        return p
    p = _compiled_descent(instance, p, deadline)
    whole = all(M.dtype.kind == "i" for M in (instance.A, instance.B, instance.C) if M is not None)
    if whole and swap_form(instance).kind == "f8":
        return exact_descent(instance, p, deadline=deadline)
    return p


def _compiled_descent(instance: Instance, p: np.ndarray, deadline: float | None) -> np.ndarray:
    """Return where swaps end that are made in the numbers of the swap form: for floats, up to rounding."""
    form = swap_form(instance)
    fill, descend = swaps.engine(form.kind)
    problem, scratch, q = (form.L, form.R, form.S, form.T), form.scratch(), form.turned(p)
    cost, most = instance.cost(p), min(MOVES, WORK // form.n**2 + 1)
    fill(*problem, form.D, q, *scratch)
    while True:
        moves = descend(*problem, form.X, q, *scratch, form.top, form.tiny, most)
        trial = form.turned(q)
        # The exact cost decides, so rounding in the deltas can neither loop for ever nor make the answer worse.
        trial_cost = instance.cost(trial)
        if trial_cost >= cost:
            return p
        p, cost = trial, trial_cost
        if moves < most or (deadline is not None and perf_counter() >= deadline):
            return p
