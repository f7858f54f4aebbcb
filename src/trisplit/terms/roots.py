"""Roots of increasing functions, many at once, entry by entry.

Newton's method inside a bracket: a step that leaves it is replaced by the middle, so nothing is lost where the
derivative misleads. Where numbers can be read, the loop ends as soon as nothing moves; elsewhere the number of steps is
fixed: a compiler can follow, and a GPU is not waited for. Derivatives are those of a last step, which are exact.
"""

from collections.abc import Callable

from trisplit.arrays import Array, any_true, eps, namespace, on_host, readable, repeated, without_history

STEPS = 40  # where numbers cannot be read; from a bracket of one unit, halving alone reaches double precision in 53
MANY = 100  # else


def increasing_root(
    F: Callable[[Array], tuple[Array, Array]], lo: Array, hi: Array, start: Array, steps: int = STEPS
) -> Array:
    """Return t in [lo, hi] with F(t) = 0 entry by entry, or the end nearest to a root.

    Parameters
    ----------
    F : callable
        Returns value and derivative; increasing in each entry, and must be defined between lo and hi.
    lo, hi, start : array
        Of one shape; finite.
    steps : int
        How many are taken where numbers cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([1.0, 10.0])
    >>> t = increasing_root(lambda t: (t + np.log(t) - x, 1 + 1 / t), 1e-9 + 0 * x, x, x)
    >>> np.allclose(t + np.log(t), x)
    True
    """
    xp, close = namespace(lo), 4 * eps(lo)

    def body(t: Array, lo: Array, hi: Array) -> tuple[Array, Array, Array]:
        value, slope = F(t)
        lo, hi = xp.where(value < 0, t, lo), xp.where(value > 0, t, hi)
        step = t - value / xp.where(slope > 0, slope, xp.ones_like(slope))
        inside = (step >= lo) & (step <= hi) & (slope > 0)
        after = xp.where(inside, step, lo + (hi - lo) / 2)
        return xp.where(value == value, after, value), lo, hi  # NaN stays visible

    state = start, lo, hi
    if readable(lo):
        for _ in range(MANY):
            before, state = state[0], body(*state)
            if not any_true(xp.abs(state[0] - before) > close * xp.abs(state[0])):
                break
    else:
        state = repeated(body, state, steps)
    if on_host(lo):
        return state[0]
    # One more step, the only one that derivatives see; without a bracket, which is as narrow as rounding by now.
    t = without_history(state[0])
    value, slope = F(t)
    step = value / xp.where(slope > 0, slope, xp.ones_like(slope))
    return t - xp.where(xp.abs(step) <= 1e-4 * (xp.abs(t) + (hi - lo)), step, xp.zeros_like(step))
