"""The proximal map of total variation along lines, by dynamic programming.

For one line y_1, ..., y_n:  minimise  lam * sum_k |p_{k+1} - p_k| + ||p - y||^2 / 2  over p.

Let m_k(t) be the derivative in t of the least cost of p_1, ..., p_k, with lam |t - p_k| added. Then

    m_k = m_{k-1} + t - y_k, cut off at -lam and lam,     m_0 = 0,

is piecewise linear and nondecreasing: -lam up to lo_k, lam from hi_k on. p_n is the zero of m_{n-1} + t - y_n, and
p_k is p_{k+1} moved into [lo_k, hi_k]. Each step inserts two knots and removes those outside [lo_k, hi_k], so the
work is O(n) whatever the numbers are, and no number can make a loop endless.

Here a knot holds its place and the jump of the slope, a whole number. Heights are counted from the ends of the
function, where they are known; sums over the whole line, in which small numbers would drown, do not occur.

The same holds if rises and falls cost differently, from jump to jump: m_k is cut off at -fall_k and rise_k. This
covers weighted total variation and nearly isotonic regression (rises are free).

N. A. Johnson (2013), A dynamic programming algorithm for the fused lasso and L0-segmentation, Journal of
Computational and Graphical Statistics 22.
"""

import numpy as np

from trisplit.kernels import by_precision, compiled

LINES = 16  # lines that are copied together: along the first axes of an array, neighbours share a cache line
PADDING = 8  # without it, lines whose length is a power of two would compete for the same places of the cache


@compiled()
def spread(y: np.ndarray) -> float:
    """Return sum_k |y_k - y_1|: from this lam on, p is constant. Infinity or NaN if an entry is."""
    a = b = c = d = 0.0  # one sum would wait for each addition
    last = y.size - y.size % 4
    for k in range(0, last, 4):
        a += abs(y[k] - y[0])
        b += abs(y[k + 1] - y[0])
        c += abs(y[k + 2] - y[0])
        d += abs(y[k + 3] - y[0])
    for k in range(last, y.size):
        a += abs(y[k] - y[0])
    return (a + b) + (c + d)


@compiled()
def solve(y: np.ndarray, lam: float, lo: np.ndarray, hi: np.ndarray, t: np.ndarray, jump: np.ndarray) -> None:
    """Overwrite the line `y` by its proximal point; `lo`, `hi` (as long as y), `t`, `jump` (twice that) are memory."""
    n = y.size
    left, right = n - 1, n  # the knots in use are t[left], ..., t[right]
    low, high = y[0] - lam, y[0] + lam  # places of the first and the last
    up, down = 1.0, 1.0  # slopes next to them, on the inner side
    t[left], jump[left], t[right], jump[right] = low, up, high, -down
    lo[0], hi[0] = low, high
    y[n - 1] += lam  # m_{n-1}(t) + t - y_n is 0 where, with this, it is -lam: at the low of the last step
    for k in range(1, n):
        v = y[k]
        above, below = low - v, high - v  # how far m + t - v is above -lam at the first knot, above lam at the last
        # Where m + t - v is -lam: before the first knot, or up from there to the knot i. Multiplying by a reciprocal
        # is faster than dividing: it does not wait for what it multiplies.
        i = left
        if above >= 0.0:
            low, up = v, 1.0
        else:
            i, up = left + 1, up + 1.0
            low -= above * (1.0 / up)
            if low >= t[i]:
                while i <= right:
                    ahead = above + up * (t[i] - t[i - 1])
                    if ahead > 0.0:
                        break
                    i, up, above = i + 1, up + jump[i], ahead
                low = t[i - 1] - above * (1.0 / up) if i <= right else v - 2.0 * lam
        # Where it is lam: after the last knot, or down from there to the knot j.
        j = right
        if below <= 0.0 or i > right:
            high, down = v, 1.0
        else:
            j, down = right - 1, down + 1.0
            high -= below * (1.0 / down)
            if high <= t[j]:
                while j >= i:
                    ahead = below - down * (t[j + 1] - t[j])
                    if ahead < 0.0:
                        break
                    j, down, below = j - 1, down - jump[j], ahead
                if j >= i:
                    high = t[j + 1] - below * (1.0 / down)
                else:  # no knot is left in between, where the slope is `up`
                    high, down = low + 2.0 * lam / up, up
        left, right = i - 1, j + 1
        t[left], jump[left], t[right], jump[right] = low, up, high, -down
        lo[k], hi[k] = low, high
    p = y[n - 1] = lo[n - 1]
    for k in range(n - 2, -1, -1):
        p = y[k] = min(max(p, lo[k]), hi[k])


@by_precision("void(Array({f}, 3, 'C', readonly=True), f8[::1], {f}[:, :, ::1])")
def prox_lines(x: np.ndarray, lams: np.ndarray, out: np.ndarray) -> None:
    """Write the proximal points of x[i, :, j], with lams[i], into `out`; a line with NaN or infinity becomes NaN."""
    count, n, width = x.shape
    lines = np.empty((min(LINES, width), n + PADDING))
    lo, hi, t, jump = np.empty(n), np.empty(n), np.empty(2 * n), np.empty(2 * n)
    for i in range(count):
        lam = lams[i]
        for first in range(0, width, LINES):
            together = min(LINES, width - first)
            if together == 1:  # the same as below, without the inner loop, which would take longer than its body
                for k in range(n):
                    lines[0, k] = x[i, k, first]
            else:
                for k in range(n):
                    for j in range(together):
                        lines[j, k] = x[i, k, first + j]
            for j in range(together):
                y = lines[j, :n]
                total = spread(y)
                if not total < np.inf or lam != lam:
                    y[:] = np.nan
                elif lam >= total:  # with a huge lam, sums would keep the digits of lam alone
                    y[:] = y[0] + np.sum(y - y[0]) / n
                else:
                    solve(y, lam, lo, hi, t, jump)
            if together == 1:
                for k in range(n):
                    out[i, k, first] = lines[0, k]
            else:
                for k in range(n):
                    for j in range(together):
                        out[i, k, first + j] = lines[j, k]


@compiled()
def solve_chain(
    y: np.ndarray, fall: np.ndarray, rise: np.ndarray, lo: np.ndarray, hi: np.ndarray, t: np.ndarray, jump: np.ndarray
) -> None:
    """Overwrite the line `y` by its proximal point if a rise from k to k+1 costs rise[k] and a fall costs fall[k].

    Both are as long as y and end with 0: after the last entry, m is cut off where it is 0. Else this is `solve`.
    """
    n = y.size
    left, right = n - 1, n
    low, high = y[0] - fall[0], y[0] + rise[0]
    up, down = 1.0, 1.0
    t[left], jump[left], t[right], jump[right] = low, up, high, -down
    lo[0], hi[0] = low, high
    for k in range(1, n):
        v = y[k]
        deeper, higher = fall[k] - fall[k - 1], rise[k] - rise[k - 1]
        above, below = low - v + deeper, high - v - higher
        i = left
        if above >= 0.0:
            low, up = v - deeper, 1.0
        else:
            i, up = left + 1, up + 1.0
            low -= above * (1.0 / up)
            if low >= t[i]:
                while i <= right:
                    ahead = above + up * (t[i] - t[i - 1])
                    if ahead > 0.0:
                        break
                    i, up, above = i + 1, up + jump[i], ahead
                low = t[i - 1] - above * (1.0 / up) if i <= right else v - rise[k - 1] - fall[k]
        j = right
        if below <= 0.0 or i > right:
            high, down = v + higher, 1.0
        else:
            j, down = right - 1, down + 1.0
            high -= below * (1.0 / down)
            if high <= t[j]:
                while j >= i:
                    ahead = below - down * (t[j + 1] - t[j])
                    if ahead < 0.0:
                        break
                    j, down, below = j - 1, down - jump[j], ahead
                if j >= i:
                    high = t[j + 1] - below * (1.0 / down)
                else:
                    high, down = low + (fall[k] + rise[k]) / up, up
        left, right = i - 1, j + 1
        t[left], jump[left], t[right], jump[right] = low, up, high, -down
        lo[k], hi[k] = low, high
    p = y[n - 1] = lo[n - 1]
    for k in range(n - 2, -1, -1):
        p = y[k] = min(max(p, lo[k]), hi[k])


@by_precision("void(Array({f}, 3, 'C', readonly=True), f8[::1], Array(f8, 2, 'C', readonly=True), b1, {f}[:, :, ::1])")
def prox_chains(x: np.ndarray, lams: np.ndarray, weights: np.ndarray, free: bool, out: np.ndarray) -> None:
    """Write the proximal points of the lines x[i, :, j] into `out`; a line with NaN or infinity becomes NaN.

    The jumps of a line cost lams[i] times a row of `weights`, of which there is one for all lines, or one for each
    line. If rises are `free`, only falls cost.
    """
    count, n, width = x.shape
    y, fall, rise = np.empty(n), np.empty(n), np.empty(n)
    lo, hi, t, jump = np.empty(n), np.empty(n), np.empty(2 * n), np.empty(2 * n)
    fall[n - 1] = rise[n - 1] = 0.0
    for i in range(count):
        for j in range(width):
            for k in range(n):
                y[k] = x[i, k, j]
            row = weights[i * width + j if weights.shape[0] > 1 else 0]
            # The sums of p lie between the convex minorant and the concave majorant of those of y: no more is ever
            # paid for than twice the spread, and with a huge cost, sums would keep its digits alone.
            total = spread(y)
            for k in range(n - 1):
                fall[k] = min(lams[i] * row[k], 2.0 * total) if row[k] > 0.0 else 0.0  # not infinity times 0
                rise[k] = 0.0 if free else fall[k]
            if not total < np.inf or lams[i] != lams[i]:
                y[:] = np.nan
            elif total > 0.0:
                solve_chain(y, fall, rise, lo, hi, t, jump)
            for k in range(n):
                out[i, k, j] = y[k]
