"""Roots of increasing functions, many at once, entry by entry.

Newton's method inside a bracket: a step that leaves it is replaced by the middle, so nothing is lost where the
derivative misleads. Where numbers can be read, the loop ends as soon as nothing moves; elsewhere the number of steps is
fixed: a compiler can follow, and a GPU is not waited for. Derivatives are those of a last step, which are exact.
"""

from collections.abc import Callable
from math import log

import numpy as np

from trisplit.arrays import Array, any_true, eps, namespace, on_host, readable, repeated, without_history

STEPS = 40  # where numbers cannot be read; from a bracket of one unit, halving alone reaches double precision in 53
MANY = 100  # else, and for bisection


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


def largest_logarithm(x: Array) -> float:
    """Return a bound for logarithms, whose exponentials stay finite with room for a small factor."""
    return 0.97 * log(float(namespace(x).finfo(x.dtype).max))


def falling_root_of_logarithm(F: Callable[[Array], Array], ones: Array, far: float) -> Array:
    """Return where a falling function of log(s) passes 0, or the nearest end of [-far, far].

    Derivatives are those of a last step of Newton's by differences.
    """
    xp = namespace(ones)
    log_s = falling_root(F, -far * ones, far * ones)
    h = 8 * eps(ones) ** 0.5
    slope = (F(log_s + h) - F(log_s - h)) / (2 * h)
    steep = slope < 0
    change = xp.where(steep, F(log_s), 0.0 * ones) / xp.where(steep, slope, ones)
    return log_s - xp.clip(change, -h, h)


def falling_root(F: Callable[[Array], Array], lo: Array, hi: Array) -> Array:
    """Return where a falling function passes 0, entry by entry, or an end if it does not; a constant for derivatives.

    Inverse quadratic interpolation where three points promise that it gains, else bisection. Where numbers can be read,
    it ends when the brackets are as narrow as rounding; elsewhere the number of steps is fixed.

    T. R. Chandrupatla (1997), A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function
    without using derivatives, Advances in Engineering Software 28.
    """
    xp = namespace(lo)
    F_lo, F_hi = F(lo), F(hi)
    one, half = xp.ones_like(lo), 0.5 * xp.ones_like(lo)
    end = xp.where(F_lo <= 0, lo, hi)
    trivial = (F_lo <= 0) | (F_hi >= 0)

    def ratio(a: Array, b: Array) -> Array:
        return a / xp.where(b == 0, one, b)

    def narrow(a: Array) -> Array:
        return 4 * eps(lo) * (1.0 + xp.abs(a))

    def body(a: Array, b: Array, F_a: Array, F_b: Array, share: Array) -> tuple[Array, ...]:
        """Take the point between a and b at the given share; afterwards it is a, and the root lies between it and b."""
        t = a + share * (b - a)
        F_t = F(t)
        same = (F_t > 0) == (F_a > 0)
        c, F_c = xp.where(same, a, b), xp.where(same, F_a, F_b)
        b, F_b = xp.where(same, b, a), xp.where(same, F_b, F_a)
        place, height = ratio(t - b, c - b), ratio(F_t - F_b, F_c - F_b)
        gains = (1 - xp.sqrt(xp.clip(1 - place, 0.0, None)) < height) & (height < xp.sqrt(xp.clip(place, 0.0, None)))
        gains = gains & xp.isfinite(F_t) & xp.isfinite(F_b) & xp.isfinite(F_c)
        first = ratio(F_t, F_t - F_b) * ratio(F_c, F_c - F_b)
        second = ratio(c - t, b - t) * ratio(F_t, F_c - F_t) * ratio(F_b, F_c - F_b)
        least = xp.minimum(ratio(narrow(t), 2 * xp.abs(b - t)), half)
        share = xp.where(gains, xp.clip(first + second, least, 1 - least), half)
        return t, b, F_t, F_b, share

    state = lo, hi, F_lo, F_hi, half
    with np.errstate(over="ignore", invalid="ignore"):
        if readable(lo):
            for _ in range(MANY):
                a, b, *_ = state = body(*state)
                if not any_true(~trivial & (xp.abs(b - a) > narrow(a))):
                    break
        else:
            state = repeated(body, state, MANY)
    a, b = state[:2]
    return without_history(xp.where(trivial, end, xp.maximum(a, b)))
