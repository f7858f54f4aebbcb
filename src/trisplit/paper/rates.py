"""How fast an error falls at the end of a run: linearly, e_t ~ c q^t, or like a power of t.

A run is looked at at evenly spaced iterations, as t = 1, 2, 4, 8, ... leaves two or three points of a linear phase.
"""

from collections.abc import Sequence
from math import nan
from typing import NamedTuple

import numpy as np

FLOOR = 1e-13  # smaller errors are rounding
FLOORS = tuple(10.0**-k for k in range(13, 5, -1))
STRAIGHT, DECADES = 0.999, 4.0  # R^2 of a stretch that counts as a straight line, and how far it should reach
POINTS = 5  # of a stretch; through two points there is always a line
NORMAL = 1.96  # standard errors in a confidence interval of 95 %


class Rate(NamedTuple):
    """A straight line through log10(error), over t (linear convergence) or over log10(t) (a power of t).

    `slope` is that of the line, with the half-width of its confidence interval of 95 % as least squares has it;
    `decades` says how far the error fell from the first to the last point.
    """

    slope: float
    half_width: float
    r_squared: float
    decades: float
    first: int
    last: int


NO_RATE = Rate(nan, nan, nan, nan, 0, 0)


def linear_rate(iterations: Sequence[int], errors: Sequence[float]) -> Rate | None:
    """Fit the longest straight stretch of at least four decades in the final fall of the error; None if there is none.

    A stretch ends where the error first falls below some power of ten, 1e-13 the smallest: near rounding it is no
    longer straight. It reaches back four decades from there, and further as long as R^2 stays above 0.999. If none of
    them is that straight, the straightest counts. Fewer than five points are no stretch.

    >>> rate = linear_rate(range(1, 400), [10 ** (-t / 20) for t in range(1, 400)])
    >>> round(rate.slope, 6), round(rate.r_squared, 6)
    (-0.05, 1.0)
    """
    t, e = np.asarray(iterations, dtype=float), np.asarray(errors, dtype=float)
    highest = int(np.argmax(e))  # before it, an iterate may be feasible because the initial point is
    t, e = t[highest:], e[highest:]
    found = []
    for floor in FLOORS:
        low = np.flatnonzero(~(e > floor))
        end = int(low[0]) if low.size else len(e)
        stretch = straight_end(t[:end], np.log10(e[:end]))
        found += [] if stretch is None else [stretch]
    straight = [rate for rate in found if rate.r_squared >= STRAIGHT]
    if straight:
        return max(straight, key=lambda rate: rate.decades)
    return max(found, key=lambda rate: rate.r_squared, default=None)


def straight_end(t: np.ndarray, e: np.ndarray) -> Rate | None:
    """Fit the last four decades of e, a logarithm, and all before that keep the line straight."""
    high = np.flatnonzero(e - e[-1] >= DECADES) if e.size >= POINTS else []
    if not len(high):
        return None
    # The last point so high above the end: from there on the error has fallen by four decades.
    begin = min(int(high[-1]), e.size - POINTS)
    best = line(t[begin:], e[begin:])
    while begin > 0 and best.r_squared >= STRAIGHT:
        begin = max(begin - max(len(e) // 200, 1), 0)
        longer = line(t[begin:], e[begin:])
        if longer.r_squared < STRAIGHT:
            break
        best = longer
    return best


def power_rate(iterations: Sequence[int], errors: Sequence[float], first: int) -> Rate | None:
    """Fit log10(error) over log10(t) from iteration `first` on; the slope is the power of t.

    >>> rate = power_rate([2**k for k in range(12)], [3 / 2**k for k in range(12)], 16)
    >>> round(rate.slope, 6), rate.first, rate.last
    (-1.0, 16, 2048)
    """
    kept = [(t, e) for t, e in zip(iterations, errors, strict=True) if t >= first and e > FLOOR]
    if len(kept) < 3:
        return None
    t, e = np.array(kept).T
    fitted = line(np.log10(t), np.log10(e))
    return fitted._replace(first=int(t[0]), last=int(t[-1]))


def line(t: np.ndarray, e: np.ndarray) -> Rate:
    """Return the least-squares line of e over t."""
    centred, values = t - t.mean(), e - e.mean()
    spread = float(centred @ centred)
    slope = float(centred @ values) / spread
    residual = float(((values - slope * centred) ** 2).sum())
    total = float(values @ values)
    error = (residual / max(len(t) - 2, 1) / spread) ** 0.5
    r_squared = 1.0 - residual / total if total > 0.0 else 0.0
    return Rate(slope, NORMAL * error, r_squared, float(e[0] - e[-1]), int(t[0]), int(t[-1]))
