"""The proximal map of a sum of the k largest entries, for the rows of a matrix and without sorting.

For one row x_1, ..., x_n and c >= 0 the proximal point is x - u, where u is the projection of x on
{u : 0 <= u <= c, sum u = k c}: u_i = x_i - theta, cut off at 0 and c, with theta such that

    phi(theta) = sum_i min(max(x_i - theta, 0), c) = k c.

phi is piecewise linear and nonincreasing. Of absolute values the sum need not be attained: theta >= 0.

theta is enclosed in a bracket. An entry is settled once neither of its two knots, x_i and x_i - c, is inside: then it
is counted in sums and looked at no more. A step goes to the root of the linear piece, or to the middle should that
leave the bracket. In practice nearly all are soon settled, so that the work is O(n).
"""

import numpy as np

from trisplit.kernels import by_precision, compiled

SAMPLE = 32  # of long rows, every so many entries give a guess
PATIENT = 20  # steps after which every second one halves the bracket
STEPS = 2200  # halving any bracket of doubles takes fewer


@compiled(fast=True)
def piece(v: np.ndarray, c: float, theta: float) -> tuple[float, float, float]:
    """Return of phi at theta: how many entries are not cut off, their sum, and how many are cut off at c."""
    count, total, capped = 0.0, 0.0, 0.0
    for i in range(v.size):  # without branches, which nobody could predict
        high = v[i] - c >= theta
        inner = (v[i] > theta) & (not high)
        capped += 1.0 if high else 0.0
        count += 1.0 if inner else 0.0
        total += v[i] if inner else 0.0
    return count, total, capped


@compiled()
def settle(v: np.ndarray, c: float, lo: float, hi: float) -> tuple[int, float, float, float]:
    """Move the entries with a knot inside of (lo, hi) to the front; return how many, and the `piece` of the others."""
    kept, count, total, capped = 0, 0.0, 0.0, 0.0
    for i in range(v.size):
        one = v[i]
        high = one - c >= hi
        inner = (one >= hi) & (one - c <= lo) & (not high)
        capped += 1.0 if high else 0.0
        count += 1.0 if inner else 0.0
        total += one if inner else 0.0
        v[kept] = one
        kept += int((one > lo) & (not high) & (not inner))
    return kept, count, total, capped


@compiled()
def threshold(active: np.ndarray, c: float, target: float, lo: float, hi: float, theta: float) -> float:
    """Return theta in [lo, hi] with phi(theta) = target, from a guess; `active` has the entries and is overwritten."""
    n = active.size
    # Of the settled ones: how many are not cut off, their sum, and how many are cut off at c.
    within, settled, above = 0.0, 0.0, 0.0
    theta = theta if lo < theta < hi else lo + 0.5 * (hi - lo)
    halve = False
    for step in range(STEPS):
        count, total, capped = piece(active[:n], c, theta)
        count, total, capped = count + within, total + settled, capped + above
        # On this piece phi is total - count theta + capped c.
        root = (total - (target - capped * c)) / count if count > 0.0 else theta
        value = total - count * theta - (target - capped * c)
        if value == 0.0 or n == 0:
            return min(max(root, lo), hi)
        width = hi - lo
        if value > 0.0:
            lo = theta
        else:
            hi = theta
        middle = lo + 0.5 * (hi - lo)
        if not lo < middle < hi:
            return min(max(root, lo), hi)
        halve = hi - lo > 0.5 * width and not halve
        if halve:  # the root is approached from one side: pass it by a little, to have both
            root += 2.0 * (root - theta)
        theta = root if lo < root < hi and not (halve and step > PATIENT) else middle
        if step % 2:
            n, count, total, capped = settle(active[:n], c, lo, hi)
            within, settled, above = within + count, settled + total, above + capped
    return theta


@compiled()
def shift(row: np.ndarray, c: float, k: int, active: np.ndarray, absolute: bool) -> float:
    """Return theta for a row, which is finite and longer than k; the threshold of absolute values is not negative."""
    n = row.size
    top = bottom = abs(row[0]) if absolute else row[0]
    for i in range(n):
        v = abs(row[i]) if absolute else row[i]
        active[i] = v
        top, bottom = max(top, v), min(bottom, v)
    hi, lo = top, (top if k == 1 else bottom) - c
    if absolute:
        lo = max(lo, 0.0)
        total = 0.0
        if lo == 0.0:
            for i in range(n):
                total += min(active[i], c)
            if total <= k * c:
                return 0.0
    if k == 1:
        kept = 0
        for i in range(n):
            if active[i] > lo:
                active[kept] = active[i]
                kept += 1
        if kept == 0:  # c is lost in rounding
            return lo
        n = kept
    guess = hi
    if n > SAMPLE * SAMPLE:
        sample = active[: n - n % SAMPLE : SAMPLE].copy()
        guess = threshold(sample, c, k * c * (sample.size / n), lo, hi, hi)
    return threshold(active[:n], c, k * c, lo, hi, guess)


@by_precision("void(Array({f}, 2, 'C', readonly=True), Array(f8, 1, 'C', readonly=True), i8, b1, {f}[:, ::1])")
def prox_largest(x: np.ndarray, cs: np.ndarray, k: int, absolute: bool, out: np.ndarray) -> None:
    """Write the proximal points of the rows, with cs[i] times the sum of the k largest (absolute) values, into `out`.

    A row with NaN or infinity becomes NaN.
    """
    rows, n = x.shape
    active = np.empty(n)
    for i in range(rows):
        c = cs[i]
        wrong = 0
        for j in range(n):
            wrong += int(not abs(x[i, j]) < np.inf)
        if wrong > 0 or not c < np.inf:
            out[i, :] = np.nan
            continue
        bottom = 0.0 if absolute else -np.inf
        theta = bottom if k >= n else shift(x[i], c, k, active, absolute)
        if absolute:
            for j in range(n):
                v = np.float64(x[i, j])
                size = abs(v)
                # theta itself where it is between: x - (x - theta) would be rounded
                p = size if size <= theta else (theta if size - c <= theta else size - c)
                out[i, j] = p if v >= 0.0 else -p
        else:
            for j in range(n):
                v = np.float64(x[i, j])
                out[i, j] = v if v <= theta else (theta if v - c <= theta else v - c)
