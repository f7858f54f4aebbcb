"""Projections of lines onto the simplex {x >= 0, sum x = total}, the solid simplex and the L1 ball, without sorting.

The projection of y onto the simplex is max(y - theta, 0), where theta is the root of sum_i max(y_i - theta, 0) = total.
Counted from the largest entry m, only entries above m - total can be positive in it: most lines have few. Among these,
theta = (sum - total) / count is too small until every entry counted lies above it; entries below are dropped, and theta
is computed anew. Each round is Newton's method for a convex piecewise linear function, so supports are nested and the
rounds end; a line of n random entries takes a time proportional to n.

Entries are counted from m, since `total` would drown in the rounding of a large sum. All sums are in double precision.

C. Michelot (1986), A finite algorithm for finding the projection of a point onto the canonical simplex of R^n, Journal
of Optimization Theory and Applications 50. L. Condat (2016), Fast projection onto the simplex and the l1 ball,
Mathematical Programming 158.
"""

import numpy as np

from trisplit.kernels import by_precision, compiled

SIMPLEX, SOLID, BALL = 0, 1, 2  # kinds of sets
LINES = 16  # lines that are copied together: along the first axes of an array, neighbours share a cache line
PADDING = 8  # without it, lines whose length is a power of two would compete for the same places of the cache


@compiled()
def top(y: np.ndarray, ball: bool) -> float:
    """Return the largest entry, or the largest absolute value; NaN is passed over."""
    a = b = c = d = e = f = g = h = y.dtype.type(-np.inf)  # one maximum would wait for each comparison
    last = y.size - y.size % 8
    for k in range(0, last, 8):
        p, q, r, s = y[k], y[k + 1], y[k + 2], y[k + 3]
        t, u, v, w = y[k + 4], y[k + 5], y[k + 6], y[k + 7]
        if ball:
            p, q, r, s, t, u, v, w = abs(p), abs(q), abs(r), abs(s), abs(t), abs(u), abs(v), abs(w)
        a, b = p if p > a else a, q if q > b else b
        c, d = r if r > c else c, s if s > d else d
        e, f = t if t > e else e, u if u > f else f
        g, h = v if v > g else g, w if w > h else h
    for k in range(last, y.size):
        p = abs(y[k]) if ball else y[k]
        a = p if p > a else a
    return max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))


@compiled(fast=True)
def inside_sum(y: np.ndarray, ball: bool) -> float:
    """Return the sum of the absolute values, or of the positive parts; NaN if an entry is."""
    s = 0.0
    if ball:
        for k in range(y.size):
            s += abs(y[k])
    else:
        for k in range(y.size):
            s += 0.0 if y[k] <= 0 else y[k]
    return s


@compiled(fast=True)
def mean_excess(work: np.ndarray, count: int, total: float) -> float:
    """Return the theta for which the first `count` entries, lowered by it, add up to `total`."""
    s = 0.0
    for k in range(count):
        s += work[k]
    return (s - total) / count


@compiled()
def threshold(y: np.ndarray, m: float, total: float, ball: bool, work: np.ndarray) -> float:
    """Return theta for the entries (or absolute values) of `y` less m, their largest; `work` is memory.

    NaN if an entry is NaN or infinite, but for entries -inf.
    """
    count = 0
    for k in range(y.size):  # no branch: the processor would guess it wrongly often
        d = np.float64(abs(y[k]) if ball else y[k]) - m
        work[count] = d
        count += not d <= -total
    theta = mean_excess(work, count, total)
    while True:
        kept = 0
        for k in range(count):
            d = work[k]
            work[kept] = d
            kept += d > theta
        if kept == count or kept == 0:  # none only if theta is NaN
            return theta
        count = kept
        theta = mean_excess(work, count, total)


@compiled()
def project_line(y: np.ndarray, total: float, kind: int, work: np.ndarray, out: np.ndarray) -> None:
    """Write the projection of `y` into `out`, which may be the same; a line with NaN or +inf becomes NaN."""
    zero, ball = y.dtype.type(0), kind == BALL
    if kind != SIMPLEX and inside_sum(y, ball) <= total:
        for k in range(y.size):
            out[k] = y[k] if ball or y[k] > zero else zero
        return
    m = np.float64(top(y, ball))
    theta = threshold(y, m, total, ball, work)
    if theta != theta:
        out[:] = np.nan
    elif ball:
        for k in range(y.size):
            w = (abs(y[k]) - m) - theta
            w = w if w > 0.0 else 0.0
            out[k] = w if y[k] > zero else -w
    else:
        for k in range(y.size):
            w = (y[k] - m) - theta
            out[k] = w if w > 0.0 else 0.0


@by_precision("void(Array({f}, 3, 'C', readonly=True), f8, i8, {f}[:, :, ::1])")
def project_lines(x: np.ndarray, total: float, kind: int, out: np.ndarray) -> None:
    """Write the projections of the lines x[i, :, j] into `out`."""
    count, n, width = x.shape
    work = np.empty(n + 1)
    if width == 1:  # rows: their entries are known to be neighbours, so that loops use vector instructions
        rows, into = x.reshape((count, n)), out.reshape((count, n))
        for i in range(count):
            project_line(rows[i], total, kind, work, into[i])
        return
    lines = np.empty((min(LINES, width), n + PADDING), dtype=x.dtype)
    for i in range(count):
        for first in range(0, width, LINES):
            together = min(LINES, width - first)
            for k in range(n):
                for j in range(together):
                    lines[j, k] = x[i, k, first + j]
            for j in range(together):
                project_line(lines[j, :n], total, kind, work, lines[j, :n])
            for k in range(n):
                for j in range(together):
                    out[i, k, first + j] = lines[j, k]
