"""Sections of a box by a hyperplane, {x : lo <= x <= hi, <a, x> = b} with a > 0, for vectors along the last axis.

The projection of v is x(t) = clip(v - t a, lo, hi) for the t with <a, x(t)> = b, which falls as t grows and is linear
between the knots (v - hi) / a and (v - lo) / a. The knots are sorted, bisection finds two neighbours between which b is
passed, and x lies between the x(t) of these two: it is in the box, and <a, x> = b holds up to the rounding of numbers
of the size of the box, however large v is.
"""

from collections.abc import Callable

from trisplit.arrays import Array, namespace


def project(v: Array, a: Array, lo: Array, hi: Array, b: Array) -> Array:
    """Return the projections; entries without weight are moved into their interval.

    Parameters
    ----------
    v, a, lo, hi : array
        Of one shape; a >= 0. Bounds may be infinite.
    b : array
        <a, x>, with the last axis kept at length 1.

    Examples
    --------
    >>> import numpy as np
    >>> v, one = np.array([3.0, 0.6, -1.0]), np.ones(3)
    >>> project(v, one, 0 * one, one, np.array([1.5]))
    array([1. , 0.5, 0. ])
    """
    xp = namespace(v)
    zero = xp.zeros_like(v)
    weighs = a > 0
    safe = xp.where(weighs, a, xp.ones_like(v))
    finite_lo, finite_hi = xp.isfinite(lo), xp.isfinite(hi)
    # A knot too many does no harm: it stands for those that are missing, in the midst of v / a.
    share = xp.where(weighs, a / xp.max(a, axis=-1, keepdims=True), zero) ** 2
    share = share / xp.sum(share, axis=-1, keepdims=True)
    middle = xp.sum(share * (v / safe), axis=-1, keepdims=True) + zero
    ends = xp.where(weighs & finite_hi, (v - xp.where(finite_hi, hi, zero)) / safe, middle)
    starts = xp.where(weighs & finite_lo, (v - xp.where(finite_lo, lo, zero)) / safe, middle)
    knots = xp.sort(xp.concat([ends, starts], axis=-1), axis=-1)

    def at(t: Array) -> Array:
        return xp.clip(v - t * a, lo, hi)

    def miss(t: Array) -> Array:
        return xp.sum(a * at(t), axis=-1, keepdims=True) - b

    # Outside of all knots <a, x(t)> has the slope of the entries that are unbounded there: one step is exact.
    first, last = knots[..., :1], knots[..., -1:]
    rising = xp.sum(xp.where(finite_hi, zero, a * a), axis=-1, keepdims=True)
    falling = xp.sum(xp.where(finite_lo, zero, a * a), axis=-1, keepdims=True)
    one = xp.ones_like(first)
    first = first + xp.clip(miss(first), None, 0.0) / xp.where(rising > 0, rising, one)
    last = last + xp.clip(miss(last), 0.0, None) / xp.where(falling > 0, falling, one)
    knots = xp.concat([first, knots, last], axis=-1)
    above = xp.where(finite_hi & weighs, hi, at(first))
    below = xp.where(finite_lo & weighs, lo, at(last))
    return between(knots, at, above, below, a, b)


def minimise(u: Array, a: Array, lo: Array, hi: Array, b: Array) -> Array:
    """Return minimisers of <u, x>, for finite bounds: the entries of the smallest u / a come first.

    Examples
    --------
    >>> import numpy as np
    >>> u, one = np.array([3.0, -0.6, 1.0]), np.ones(3)
    >>> minimise(u, one, 0 * one, one, np.array([1.5]))
    array([0. , 1. , 0.5])
    """
    xp = namespace(u)
    weighs = a > 0
    fixed = xp.where(u > 0, lo, hi)
    price = u / xp.where(weighs, a, xp.ones_like(u))

    def at(t: Array) -> Array:
        return xp.where(weighs, xp.where(-price > t, hi, lo), fixed)

    above, below = xp.where(weighs, hi, fixed), xp.where(weighs, lo, fixed)
    return between(xp.sort(-price, axis=-1), at, above, below, a, b)


def between(knots: Array, at: Callable[[Array], Array], above: Array, below: Array, a: Array, b: Array) -> Array:
    """Return the point with <a, x> = b between the x(t) of two neighbours: knots, or what is above and below all."""
    xp = namespace(knots)
    count = knots.shape[-1]
    # <a, x> is at least b at the knot `low` (or before all), and at most b at `high` (or after all).
    low = xp.argmax(knots[..., :1], axis=-1, keepdims=True) - 1  # of the library's type for indices
    high = low + (count + 1)
    for _ in range(count.bit_length()):
        middle = (low + high) // 2
        t = xp.take_along_axis(knots, xp.clip(middle, 0, count - 1), axis=-1)
        enough = (xp.sum(a * at(t), axis=-1, keepdims=True) >= b) & (high - low > 1)
        narrow = (high - low > 1) & ~enough
        low, high = xp.where(enough, middle, low), xp.where(narrow, middle, high)
    left = at(xp.take_along_axis(knots, xp.clip(low, 0, count - 1), axis=-1))
    right = at(xp.take_along_axis(knots, xp.clip(high, 0, count - 1), axis=-1))
    left, right = xp.where(low < 0, above, left), xp.where(high >= count, below, right)
    upper, lower = (xp.sum(a * x, axis=-1, keepdims=True) for x in (left, right))
    gap = upper - lower
    s = xp.clip((upper - b) / xp.where(gap > 0, gap, xp.ones_like(gap)), 0.0, 1.0)
    return left + xp.where(gap > 0, s, xp.zeros_like(s)) * (right - left)
