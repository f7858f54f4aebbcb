"""Three operator splitting over the Birkhoff polytope for a quadratic f, all iterations in compiled code.

The twin of `algorithms/tos.py` with the tangent form of the QAP objective (`qap/objective.py`), the sets of split 1
(row-stochastic, column-stochastic matrices) or split 2 (the box [0, 1], unit row and column sums), and the step rule
of `steps/adaptive.py` or a constant step. Everything that an iteration leaves to the next one is in the arrays that
`run` is given, so a run can be interrupted between two calls. With symmetric matrices nothing is allocated.

A point of the unit simplex nearest to v is max(v - t, 0), where t is the root of sum_j max(v_j - t, 0) = 1. Newton's
method finds it in finitely many steps from any t, because the sum is convex and piecewise linear in t; started from the
t of the iteration before, two passes are the rule. No sorting. The rounding of a t that is far from zero would show in
the sum, so there the largest entry is subtracted first.
"""

from functools import cache
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from trisplit.kernels import compiled
from trisplit.kernels.certificate import certify
from trisplit.steps.decisions import BLIND, REST, SPAN, STEEP, SURGE, WAIT, change, change_row, testable, verdict

if TYPE_CHECKING:
    from collections.abc import Callable

# The matrices of `state`; the two places of z take turns, but for a constant step.
Y, Z, U, D, V, H, STATES = 0, 1, 3, 4, 5, 6, 7
# Of `vectors`: thresholds, what to add to rows and to subtract from columns, and memory.
ROWS, COLUMNS, ROW_SHIFTS, COLUMN_SHIFTS, COUNTS, BEFORE, VECTORS = 0, 1, 2, 3, 4, 5, 6
SQUARE, STARTED, PLACE, VALUE, TESTS, SCALARS = 0, 1, 2, 3, 4, 5  # of `scalars`
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


@compiled()
def product(matrices: np.ndarray, at: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """Write A X B', or half of A X B' + A' X B if four matrices are given, for X = `at`; w is memory."""
    np.dot(matrices[0], at, w)
    np.dot(w, matrices[1], out)
    if matrices.shape[0] == 4:
        np.add(out, np.dot(np.dot(matrices[2], at), matrices[3]), out)  # to assign arrays takes seconds to compile
        out /= 2


@compiled(fast=True)
def rescale(z: np.ndarray, y: np.ndarray, ratio: float) -> None:
    """Scale y - z by the ratio of the new gamma to the old one."""
    ratio = z.dtype.type(ratio)
    for j in range(z.size):
        y[j] = z[j] + ratio * (y[j] - z[j])


@compiled(fast=True)
def reflect(z: np.ndarray, y: np.ndarray, u: np.ndarray, gamma: float, out: np.ndarray) -> None:
    """Write 2 z - y - gamma u."""
    gamma = z.dtype.type(gamma)
    for j in range(z.size):
        out[j] = z[j] + (z[j] - y[j]) - gamma * u[j]


@compiled(fast=True)
def gradient_and_reflect(
    u: np.ndarray, g0: np.ndarray, z: np.ndarray, y: np.ndarray, mu: float, gamma: float, out: np.ndarray
) -> tuple[float, float]:
    """Make the product at z the gradient 2 u + g0 - mu z, do as `reflect`; return f(z) less a constant, ||u||^2."""
    gamma, mu, value, steep = z.dtype.type(gamma), z.dtype.type(mu), 0.0, 0.0
    for j in range(z.size):
        slope = 2 * u[j] + g0[j] - mu * z[j]
        u[j] = slope
        value += (slope + g0[j]) * z[j]
        steep += slope * slope
        out[j] = z[j] + (z[j] - y[j]) - gamma * slope
    return value / 2, steep


@compiled(fast=True)
def moves(z: np.ndarray, z_old: np.ndarray, d: np.ndarray) -> tuple[float, float]:
    """Return ||z - z_old||^2 and <z - z_old, d>."""
    square = both = 0.0
    for j in range(z.size):
        move = z[j] - z_old[j]
        square += move * move
        both += move * d[j]
    return square, both


@compiled(fast=True)
def size(z: np.ndarray, y: np.ndarray) -> float:
    """Return ||z|| + ||y - z||."""
    first = second = 0.0
    for j in range(z.size):
        w = y[j] - z[j]
        first += z[j] * z[j]
        second += w * w
    return sqrt(first) + sqrt(second)


@compiled(fast=True)
def shift(
    v: np.ndarray, rows: np.ndarray, columns: np.ndarray, least: float, z: np.ndarray, u: np.ndarray, d: np.ndarray
) -> tuple[float, float]:
    """Write d = x - z, where x is the shifted v but at least `least`; return ||d||^2 and <u, d>."""
    least, square, slope = v.dtype.type(least), 0.0, 0.0
    for i in range(z.shape[0]):
        row = rows[i]
        for j in range(z.shape[1]):
            w = v[i, j] + (row - columns[j])
            w = least if w < least else w  # NaN stays NaN
            move = d[i, j] = w - z[i, j]
            square += move * move
            slope += move * u[i, j]
    return square, slope


@compiled(fast=True)
def shift_and_move(
    v: np.ndarray, rows: np.ndarray, columns: np.ndarray, least: float, z: np.ndarray, d: np.ndarray, y: np.ndarray
) -> float:
    """Do as `shift`, and move y by d, where the step is sure to be accepted; return ||d||^2."""
    least, square = v.dtype.type(least), 0.0
    for i in range(z.shape[0]):
        row = rows[i]
        for j in range(z.shape[1]):
            w = v[i, j] + (row - columns[j])
            w = least if w < least else w  # NaN stays NaN
            move = d[i, j] = w - z[i, j]
            y[i, j] += move
            square += move * move
    return square


@compiled(fast=True)
def inner(a: np.ndarray, b: np.ndarray) -> float:
    """Return <a, b>."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


def run_iterations(
    matrices: np.ndarray,
    g0: np.ndarray,
    state: np.ndarray,
    vectors: np.ndarray,
    numbers: np.ndarray,
    scalars: np.ndarray,
    constant: float,
    mu: float,
    split: int,
    adaptive: bool,
    first: float,
    dominance: float,
    iterations: int,
) -> None:
    """Iterate on `state`: as `tos.iterate`, with the decisions of `Adaptive.propose` and `judge`.

    The objective is that of the tangent form less mu / 2 (||X||^2 - n). `matrices` are A and B' of the tangent form,
    and A' and B if these are not symmetric; `numbers` are gamma and the rule's memory; `scalars` are ||d||^2, whether
    there was an iteration, the place of z, f(z) and how many tests multiplied matrices.
    """
    n = state.shape[1]
    flat, linear = state.reshape((STATES, n * n)), g0.reshape(n * n)  # for loops that need not know of rows
    y, u, d, v, h = flat[Y], flat[U], flat[D], flat[V], flat[H]
    rows, columns = vectors[ROW_SHIFTS], vectors[COLUMN_SHIFTS]
    table = numbers.reshape((1, numbers.size))
    least, place = 0.0 if split == 1 else -np.inf, int(scalars[PLACE])
    constant += mu / 2.0 * n
    for _ in range(iterations):
        z_old = flat[place]
        if adaptive:
            place = 2 * Z + 1 - place
        z = flat[place]
        if split == 1:
            rows_to_simplex(state[Y], vectors[ROWS], vectors[COUNTS], state[place])
        else:
            to_box(y, z)
        gamma = numbers[0]
        if scalars[STARTED] == 0.0:
            scalars[STARTED] = 1.0
            numbers[1] = size(z, y)
        elif adaptive:
            move = sqrt(scalars[SQUARE])
            primal = dual = move
            if numbers[WAIT] <= 0.0:
                square, both = moves(z, z_old, d)
                primal, dual = sqrt(square), sqrt(max(square - 2.0 * both + move * move, 0.0))
            numbers[1] += primal + dual
            if not move > 10.0 * numbers[2] * numbers[1]:
                numbers[1] = size(z, y)
            change_row(table, table, 0, numbers[1], primal, dual, move, first, dominance)
        product(matrices, state[place], state[V], state[U])
        trial = numbers[0]
        if trial != gamma:
            rescale(z, y, trial / gamma)
        value, steep = gradient_and_reflect(u, linear, z, y, mu, trial, v)
        value += constant
        rests = not adaptive or (numbers[REST] > 0.0 and not steep > SURGE * numbers[STEEP])
        numbers[STEEP] = numbers[STEEP] if rests else steep
        while True:
            gamma = trial
            if split == 1:
                column_shifts(state[V], vectors[COLUMNS], rows, columns, vectors[COUNTS], vectors[BEFORE])
            else:
                unit_shifts(state[V], rows, columns)
            if rests:
                square = shift_and_move(state[V], rows, columns, least, state[place], state[D], state[Y])
                numbers[REST] -= 1.0
                break
            square, slope = shift(state[V], rows, columns, least, state[place], state[U], state[D])
            value_x = value + slope
            if testable(gamma, square, value, numbers[2]):
                product(matrices, state[D], state[V], state[H])
                value_x += inner(h, d) - mu / 2.0 * square
                scalars[TESTS] += 1.0
            ratio, numbers[3], rest, numbers[BLIND] = verdict(
                gamma, square, square, slope, value, value_x, numbers[2], numbers[WAIT], numbers[SPAN], numbers[BLIND]
            )
            numbers[SPAN] = numbers[REST] = rest
            if ratio == 1.0:
                for j in range(y.size):
                    y[j] += d[j]
                break
            trial = gamma * ratio
            numbers[4], numbers[5] = 0.0, numbers[5] + numbers[4]
            rescale(z, y, ratio)
            reflect(z, y, u, trial, v)
        numbers[0] = gamma
        scalars[SQUARE], scalars[VALUE] = square, value
    scalars[PLACE] = place


@cache
def engine(precision: str) -> "tuple[Callable[..., None], Callable[..., tuple[float, float]]]":
    """Return `run_iterations` and `certify`, compiled for "f4" or "f8"."""
    matrix, stack = f"{precision}[:,::1]", f"{precision}[:,:,::1]"
    numbers, calls = "f8[::1],f8[::1],f8,f8,i8,b1,f8,f8,i8", (change, change_row, testable, verdict)
    run = compiled(f"void({stack},{matrix},{stack},{matrix},{numbers})", calls=calls)(run_iterations)
    return run, compiled(f"UniTuple(f8,2)({','.join([matrix] * 4)},f8,{precision}[::1])")(certify)
