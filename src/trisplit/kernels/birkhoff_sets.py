"""Projections onto the sets that make the Birkhoff polytope: rows and columns in the simplex, the box, unit sums.

A point of the unit simplex nearest to v is max(v - t, 0), where t is the root of sum_j max(v_j - t, 0) = 1. Newton's
method finds it in finitely many steps from any t, because the sum is convex and piecewise linear in t; started from the
t of the iteration before, two passes are the rule. No sorting. The rounding of a t that is far from zero would show in
the sum, so there the largest entry is subtracted first.
"""

import numpy as np

from trisplit.kernels import compiled

MAX_PASSES = 200  # a guard against rounding: each pass but the last changes a support
FAR, FAR_FLOAT32 = 1e4, 64.0  # thresholds beyond are not computed with; on QAPLIB they stay below 1e3


@compiled()
def far_threshold(v: np.ndarray, largest: float) -> float:
    """Return the threshold of v - `largest`, for one row or column of any size."""
    zero, one = v.dtype.type(0), v.dtype.type(1)
    threshold, before = -one, zero
    for _ in range(MAX_PASSES):
        total = count = zero
        for j in range(v.size):
            w = (v[j] - largest) - threshold
            total += w if w > zero else zero
            count += one if w > zero else zero
        if count == before:
            break
        before = count
        threshold += (total - one) / count
    return threshold


@compiled()
def project_far(v: np.ndarray, out: np.ndarray) -> None:
    """Project a row of any size, as `Simplex` does; the order of the two differences matters."""
    zero, largest = v.dtype.type(0), v.max()
    threshold = far_threshold(v, largest)
    for j in range(v.size):
        w = (v[j] - largest) - threshold
        out[j] = w if w > zero else zero


@compiled(fast=True)
def row_to_simplex(v: np.ndarray, threshold: float, out: np.ndarray) -> float:
    """Project v, from a threshold to start from; return the one found."""
    zero, one, far = v.dtype.type(0), v.dtype.type(1), FAR if v.itemsize == 8 else FAR_FLOAT32
    if not abs(threshold) <= far:
        threshold = v.max() - one
    before = -1
    for _ in range(MAX_PASSES):
        total, count = zero, 0
        for j in range(v.size):
            w = v[j] - threshold
            w = w if w > zero else zero
            out[j] = w
            total += w
            count += w > zero
        if count == before:  # supports are nested, so the same number is the same support
            break
        before = count
        threshold = v.max() - one if count == 0 else threshold + (total - one) / v.dtype.type(count)
    if not abs(threshold) <= far:
        project_far(v, out)
    return threshold


@compiled(fast=True)
def rows_to_simplex(v: np.ndarray, t: np.ndarray, again: np.ndarray, out: np.ndarray) -> None:
    """Project each row of v; t holds thresholds to start from, and those found; `again` is memory.

    All rows take two passes, and then those go on that need more: a branch in each row would be guessed wrongly often.
    """
    n = v.shape[0]
    zero, one, far = v.dtype.type(0), v.dtype.type(1), FAR if v.itemsize == 8 else FAR_FLOAT32
    for i in range(n):
        threshold, total, before = t[i], zero, 0
        for j in range(n):
            w = v[i, j] - threshold
            w = w if w > zero else zero
            total += w
            before += w > zero
        threshold += (total - one) / v.dtype.type(max(before, 1))
        count = 0
        for j in range(n):
            w = v[i, j] - threshold
            w = w if w > zero else zero
            out[i, j] = w
            count += w > zero
        unfit = (count == 0) | (not abs(t[i]) <= far) | (not abs(threshold) <= far)
        t[i], again[i] = threshold, (count != before) | unfit
    for i in range(n):
        if again[i] != zero:
            t[i] = row_to_simplex(v[i], t[i], out[i])


@compiled(fast=True)
def column_shifts(
    v: np.ndarray, t: np.ndarray, rows: np.ndarray, columns: np.ndarray, count: np.ndarray, before: np.ndarray
) -> None:
    """Write what to subtract from the columns of v so that their positive parts add up to one, and zeros for its rows.

    t holds thresholds to start from, and those found. From columns whose threshold is far from zero, the largest entry
    is subtracted in v itself. `count` and `before` are memory.
    """
    n = v.shape[0]
    zero, one, far = v.dtype.type(0), v.dtype.type(1), FAR if v.itemsize == 8 else FAR_FLOAT32
    before[:] = -one
    for j in range(n):
        if not abs(t[j]) <= far:
            t[j] = v[:, j].max() - one
    for _ in range(MAX_PASSES):
        columns[:] = zero
        count[:] = zero
        last = n - n % 4
        for i in range(0, last, 4):  # four rows at once: the sums are read and written less often
            for j in range(n):
                a, b, c, d = v[i, j] - t[j], v[i + 1, j] - t[j], v[i + 2, j] - t[j], v[i + 3, j] - t[j]
                a, b = a if a > zero else zero, b if b > zero else zero
                c, d = c if c > zero else zero, d if d > zero else zero
                columns[j] += (a + b) + (c + d)
                first, second = (one if a > zero else zero), (one if b > zero else zero)
                third, fourth = (one if c > zero else zero), (one if d > zero else zero)
                count[j] += (first + second) + (third + fourth)
        for i in range(last, n):
            for j in range(n):
                w = v[i, j] - t[j]
                w = w if w > zero else zero
                columns[j] += w
                count[j] += one if w > zero else zero
        settled = True
        for j in range(n):
            if count[j] != before[j]:
                settled = False
                before[j] = count[j]
                t[j] = v[:, j].max() - one if count[j] == zero else t[j] + (columns[j] - one) / count[j]
        if settled:
            break
    rows[:] = zero
    for j in range(n):
        columns[j] = t[j]
        if not abs(t[j]) <= far:
            largest = v[:, j].max()
            columns[j] = far_threshold(v[:, j], largest)
            for i in range(n):
                v[i, j] -= largest


@compiled(fast=True)
def to_box(v: np.ndarray, out: np.ndarray) -> None:
    """Project onto [0, 1]."""
    zero, one = v.dtype.type(0), v.dtype.type(1)
    for j in range(v.size):
        out[j] = min(max(v[j], zero), one)


@compiled(fast=True)
def unit_shifts(v: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
    """Write what to add to the rows and to subtract from the columns of v so that all of them add up to one."""
    n = v.shape[0]
    whole = 0.0
    columns[:] = 0.0
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += v[i, j]
            columns[j] += v[i, j]
        rows[i] = total / n
        whole += total
    common = 1.0 / n + whole / n / n
    for j in range(n):
        columns[j] /= n
        rows[j] = common - rows[j]


@compiled(fast=True)
def add_shifts(y: np.ndarray, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
    """Write the shifted y."""
    for i in range(y.shape[0]):
        row = rows[i]
        for j in range(y.shape[1]):
            out[i, j] = y[i, j] + (row - columns[j])
