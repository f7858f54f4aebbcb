"""Isotonic regression along the last axis of an array: the nearest point with entries in order.

NumPy's arrays go to a compiled loop. Elsewhere short vectors use the minimax formula

    p_i = max over j <= i of min over k >= i of the mean of v_j, ..., v_k,

which a compiler can follow, with n^2 numbers for a vector of length n. Of long ones the host finds the blocks, and
their means are taken on the device, so that automatic differentiation goes through.

R. E. Barlow, D. J. Bartholomew, J. M. Bremner, H. D. Brunk (1972), Statistical inference under order restrictions.
"""

import numpy as np

from trisplit.arrays import Array, device, from_numpy, index_like, namespace, to_numpy

SHORT = 512  # up to this length the square of it fits into memory as often as one needs


def isotonic(v: Array, *, decreasing: bool = False) -> Array:
    """Return argmin ||p - v|| over p_1 <= ... <= p_n, or >=, for the vectors along the last axis.

    Examples
    --------
    >>> import numpy as np
    >>> isotonic(np.array([1.0, 3.0, 2.0]))
    array([1. , 2.5, 2.5])
    """
    if type(v) is np.ndarray:
        return by_pooling(v, decreasing)
    if v.shape[-1] <= SHORT or device(v) is None:  # the latter is traced
        return -by_minimax(-v) if decreasing else by_minimax(v)
    return means_of_blocks(v, by_pooling(to_numpy(v), decreasing))


def by_pooling(v: np.ndarray, decreasing: bool) -> np.ndarray:
    """Return the fit, by a compiled loop."""
    from trisplit.kernels.isotonic import isotonic_rows

    rows = np.ascontiguousarray(v, dtype=np.float32 if v.dtype == np.float32 else np.float64)
    out = np.empty_like(rows)
    n = v.shape[-1]
    isotonic_rows(rows.reshape(-1, n), np.empty((1, 0)), decreasing, out.reshape(-1, n))
    return out


def by_minimax(v: Array) -> Array:
    """Return the increasing fit by its formula, with n^2 numbers."""
    xp, n = namespace(v), v.shape[-1]
    size = xp.max(xp.abs(v), axis=-1, keepdims=True)
    size = xp.where((size > 0) & xp.isfinite(size), size, xp.ones_like(size))
    place = xp.arange(n, device=device(v))
    later = place[None, :] >= place[:, None]  # (j, k): k >= j
    count = xp.astype(xp.where(later, place[None, :] - place[:, None] + 1, 1), v.dtype)
    # What lies before j counts neither in the mean nor in the minimum.
    means = xp.cumulative_sum(xp.where(later, (v / size)[..., None, :], 0.0), axis=-1) / count
    least = xp.flip(xp.where(later, means, xp.inf), axis=-1)
    step = 1
    while step < n:  # minima of twice as many neighbours each time: from k down to i
        least = xp.concat([least[..., :step], xp.minimum(least[..., step:], least[..., :-step])], axis=-1)
        step *= 2
    return xp.max(xp.where(later, xp.flip(least, axis=-1), -xp.inf), axis=-2) * size


def means_of_blocks(v: Array, host: np.ndarray) -> Array:
    """Return the fit of `v`, given its numbers: means over the runs of equal ones, to which derivatives flow."""
    xp, n = namespace(v), v.shape[-1]
    place = np.broadcast_to(np.arange(n), host.shape)
    new = np.concatenate([np.ones((*host.shape[:-1], 1), dtype=bool), host[..., 1:] != host[..., :-1]], axis=-1)
    first = np.maximum.accumulate(np.where(new, place, 0), axis=-1)
    end = np.where(np.roll(new, -1, axis=-1), place + 1, n)
    end = np.flip(np.minimum.accumulate(np.flip(end, axis=-1), axis=-1), axis=-1).copy()
    fit = from_numpy(host, v)
    # Sums of what is left of a block vanish: they lose nothing to those before.
    left = xp.cumulative_sum(v - fit, axis=-1)
    left = xp.concat([xp.zeros_like(left[..., :1]), left], axis=-1)
    before, after = (xp.take_along_axis(left, index_like(at, v), axis=-1) for at in (first, end))
    return fit + (after - before) / from_numpy(end - first, v)
