"""Three operator splitting over the Birkhoff polytope for a quadratic f, all iterations in compiled code.

The twin of `algorithms/tos.py` with the tangent form of the QAP objective (`qap/objective.py`), the sets of split 1
(row-stochastic, column-stochastic matrices) or split 2 (the box [0, 1], unit row and column sums), and the step rule
of `steps/adaptive.py` or a constant step. Nothing is allocated: everything that an iteration reads or writes is in the
arrays that `run` is given, so a run can be interrupted between two calls.

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
from trisplit.steps.decisions import REST, SPAN, WAIT, change, change_row, testable, verdict

if TYPE_CHECKING:
    from collections.abc import Callable

# The matrices of `state`; the two places of z take turns.
Y, Z, X, U, D, V, W, H, STATES = 0, 1, 3, 4, 5, 6, 7, 8, 9
ROWS, COLUMNS, SUMS, COUNTS, BEFORE, VECTORS = 0, 1, 2, 3, 4, 5  # of `vectors`
SQUARE, STARTED, PLACE, VALUE, TESTS, SCALARS = 0, 1, 2, 3, 4, 5  # of `scalars`
MAX_PASSES = 200  # a guard against rounding: each pass but the last changes a support
FAR, FAR_FLOAT32 = 1e4, 64.0  # thresholds beyond are not computed with; on QAPLIB they stay below 1e3


@compiled()
def project_far(v: np.ndarray, out: np.ndarray) -> None:
    """Project one row or column of any size, as `Simplex` does; the order of the two differences matters."""
    zero, one = v.dtype.type(0), v.dtype.type(1)
    largest, threshold, before = v.max(), -one, zero
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
    for j in range(v.size):
        w = (v[j] - largest) - threshold
        out[j] = w if w > zero else zero


@compiled(fast=True)
def rows_to_simplex(v: np.ndarray, t: np.ndarray, out: np.ndarray) -> None:
    """Project each row of v; t holds thresholds to start from, and those found."""
    n = v.shape[0]
    zero, one, far = v.dtype.type(0), v.dtype.type(1), FAR if v.itemsize == 8 else FAR_FLOAT32
    for i in range(n):
        threshold, before = t[i], -one
        if not abs(threshold) <= far:
            threshold = v[i].max() - one
        for _ in range(MAX_PASSES):
            total = count = zero
            for j in range(n):
                w = v[i, j] - threshold
                w = w if w > zero else zero
                out[i, j] = w
                total += w
                count += one if w > zero else zero
            if count == before:  # supports are nested, so the same number is the same support
                break
            before = count
            threshold = v[i].max() - one if count == zero else threshold + (total - one) / count
        t[i] = threshold
        if not abs(threshold) <= far:
            project_far(v[i], out[i])


@compiled(fast=True)
def columns_to_simplex(
    v: np.ndarray, t: np.ndarray, total: np.ndarray, count: np.ndarray, before: np.ndarray, out: np.ndarray
) -> None:
    """Project each column of v, all columns in each pass; the vectors but t are memory."""
    n = v.shape[0]
    zero, one, far = v.dtype.type(0), v.dtype.type(1), FAR if v.itemsize == 8 else FAR_FLOAT32
    before[:] = -one
    for j in range(n):
        if not abs(t[j]) <= far:
            t[j] = v[:, j].max() - one
    for _ in range(MAX_PASSES):
        total[:] = zero
        count[:] = zero
        last = n - n % 4
        for i in range(0, last, 4):  # four rows at once: the sums are read and written less often
            for j in range(n):
                a, b, c, d = v[i, j] - t[j], v[i + 1, j] - t[j], v[i + 2, j] - t[j], v[i + 3, j] - t[j]
                a, b = a if a > zero else zero, b if b > zero else zero
                c, d = c if c > zero else zero, d if d > zero else zero
                out[i, j], out[i + 1, j], out[i + 2, j], out[i + 3, j] = a, b, c, d
                total[j] += (a + b) + (c + d)
                first, second = (one if a > zero else zero), (one if b > zero else zero)
                third, fourth = (one if c > zero else zero), (one if d > zero else zero)
                count[j] += (first + second) + (third + fourth)
        for i in range(last, n):
            for j in range(n):
                w = v[i, j] - t[j]
                w = w if w > zero else zero
                out[i, j] = w
                total[j] += w
                count[j] += one if w > zero else zero
        settled = True
        for j in range(n):
            if count[j] != before[j]:
                settled = False
                before[j] = count[j]
                t[j] = v[:, j].max() - one if count[j] == zero else t[j] + (total[j] - one) / count[j]
        if settled:
            break
    for j in range(n):
        if not abs(t[j]) <= far:
            project_far(v[:, j], out[:, j])


@compiled(fast=True)
def to_box(v: np.ndarray, out: np.ndarray) -> None:
    """Project onto [0, 1]."""
    zero, one = v.dtype.type(0), v.dtype.type(1)
    for i in range(v.shape[0]):
        for j in range(v.shape[1]):
            out[i, j] = min(max(v[i, j], zero), one)


@compiled(fast=True)
def to_unit_sums(v: np.ndarray, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
    """Project onto the matrices with unit row and column sums; the vectors are memory."""
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
    shift = 1.0 / n + whole / n / n
    for j in range(n):
        columns[j] /= n
        rows[j] = shift - rows[j]
    for i in range(n):
        row = rows[i]
        for j in range(n):
            out[i, j] = v[i, j] + (row - columns[j])


@compiled()
def product(matrices: np.ndarray, at: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """Write A X B', or half of A X B' + A' X B if four matrices are given, for X = `at`; w is memory."""
    np.dot(matrices[0], at, w)
    np.dot(w, matrices[1], out)
    if matrices.shape[0] == 4:
        other = np.dot(np.dot(matrices[2], at), matrices[3])
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = (out[i, j] + other[i, j]) / 2


@compiled(fast=True)
def gradient_and_reflect(
    u: np.ndarray, g0: np.ndarray, z: np.ndarray, y: np.ndarray, mu: float, gamma: float, ratio: float, out: np.ndarray
) -> float:
    """Turn the product at z into the gradient 2 u + g0 - mu z, then do as `reflect`; return the value at z.

    The value is without its constant.
    """
    kind = z.dtype.type
    gamma, ratio, mu, value = kind(gamma), kind(ratio), kind(mu), 0.0
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            slope = 2 * u[i, j] + g0[i, j] - mu * z[i, j]
            u[i, j] = slope
            value += (slope + g0[i, j]) * z[i, j]
            w = ratio * (y[i, j] - z[i, j])
            y[i, j] = z[i, j] + w
            out[i, j] = z[i, j] - w - gamma * slope
    return value / 2


@compiled(fast=True)
def moves(z: np.ndarray, z_old: np.ndarray, d: np.ndarray) -> tuple[float, float]:
    """Return ||z - z_old||^2 and <z - z_old, d>."""
    square = both = 0.0
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            move = z[i, j] - z_old[i, j]
            square += move * move
            both += move * d[i, j]
    return square, both


@compiled(fast=True)
def size(z: np.ndarray, y: np.ndarray) -> float:
    """Return ||z|| + ||y - z||."""
    first = second = 0.0
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            w = y[i, j] - z[i, j]
            first += z[i, j] * z[i, j]
            second += w * w
    return sqrt(first) + sqrt(second)


@compiled(fast=True)
def reflect(z: np.ndarray, y: np.ndarray, u: np.ndarray, gamma: float, ratio: float, out: np.ndarray) -> None:
    """Scale y - z by the ratio of the new gamma to the old one, and write 2 z - y - gamma u."""
    kind = z.dtype.type
    gamma, ratio = kind(gamma), kind(ratio)
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            w = ratio * (y[i, j] - z[i, j])
            y[i, j] = z[i, j] + w
            out[i, j] = z[i, j] - w - gamma * u[i, j]


@compiled(fast=True)
def difference(x: np.ndarray, z: np.ndarray, u: np.ndarray, d: np.ndarray) -> tuple[float, float]:
    """Write d = x - z; return ||d||^2 and <u, d>."""
    square = slope = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            move = x[i, j] - z[i, j]
            d[i, j] = move
            square += move * move
            slope += move * u[i, j]
    return square, slope


@compiled(fast=True)
def difference_and_move(x: np.ndarray, z: np.ndarray, d: np.ndarray, y: np.ndarray) -> float:
    """Write d = x - z and move y by it, where the step is sure to be accepted; return ||d||^2."""
    square = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            move = x[i, j] - z[i, j]
            d[i, j] = move
            y[i, j] += move
            square += move * move
    return square


@compiled(fast=True)
def inner(a: np.ndarray, b: np.ndarray) -> float:
    """Return <a, b>."""
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * b[i, j]
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

    The objective is that of the tangent form less mu / 2 (||X||^2 - n).

    `matrices` are A and B' of the tangent form, and A' and B if these are not symmetric; `numbers` are gamma and the
    rule's memory; `scalars` are ||d||^2, whether there was an iteration, the place of z, f(z) and how many tests
    multiplied matrices.
    """
    y, x, u, d, v, w, h = state[Y], state[X], state[U], state[D], state[V], state[W], state[H]
    totals, counts, before = vectors[SUMS], vectors[COUNTS], vectors[BEFORE]
    place = int(scalars[PLACE])
    constant += mu / 2.0 * y.shape[0]
    for _ in range(iterations):
        z_old = state[place]
        place = 2 * Z + 1 - place
        z = state[place]
        if split == 1:
            rows_to_simplex(y, vectors[ROWS], z)
        else:
            to_box(y, z)
        gamma = numbers[0]
        if scalars[STARTED] == 0.0:
            scalars[STARTED] = 1.0
            numbers[1] = size(z, y)
        elif adaptive:
            move = sqrt(scalars[SQUARE])
            primal = dual = move
            if numbers[WAIT] == 0.0:
                square, both = moves(z, z_old, d)
                primal, dual = sqrt(square), sqrt(max(square - 2.0 * both + move * move, 0.0))
            numbers[1] += primal + dual
            if not move > 10.0 * numbers[2] * numbers[1]:
                numbers[1] = size(z, y)
            change_row(numbers, primal, dual, move, first, dominance)
        product(matrices, z, w, u)
        trial = numbers[0]
        value = constant + gradient_and_reflect(u, g0, z, y, mu, trial, trial / gamma, v)
        while True:
            gamma = trial
            if split == 1:
                columns_to_simplex(v, vectors[COLUMNS], totals, counts, before, x)
            else:
                to_unit_sums(v, totals, counts, x)
            if not adaptive or numbers[REST] > 0.0:
                square = difference_and_move(x, z, d, y)
                numbers[REST] -= 1.0
                break
            square, slope = difference(x, z, u, d)
            value_x = value
            if testable(gamma, square, value, numbers[2]):
                product(matrices, d, w, h)
                value_x = value + slope + inner(h, d) - mu / 2.0 * square
                scalars[TESTS] += 1.0
            else:
                slope = 0.0
            ratio, numbers[3], rest, numbers[17] = verdict(
                gamma, square, square, slope, value, value_x, numbers[2], numbers[SPAN], numbers[17]
            )
            numbers[SPAN] = numbers[REST] = rest
            if ratio == 1.0:
                for i in range(y.shape[0]):
                    for j in range(y.shape[1]):
                        y[i, j] += d[i, j]
                break
            trial = gamma * ratio
            numbers[5] += numbers[4]
            numbers[4] = 0.0
            reflect(z, y, u, trial, ratio, v)
        numbers[0] = gamma
        scalars[SQUARE], scalars[VALUE] = square, value
    scalars[PLACE] = place


def certify_state(state: np.ndarray, scalars: np.ndarray, gamma: float, sums: np.ndarray) -> tuple[float, float]:
    """Return an upper bound on the gap of the last iterate z, and its distance to unit row and column sums.

    The bound is that of `certificates.py`, where d has the other sign. The smaller of the supports of row-stochastic
    and of column-stochastic matrices counts.
    """
    y, z, u, d = state[Y], state[int(scalars[PLACE])], state[U], state[D]
    n = y.shape[0]
    rows = columns = 0.0
    for i in range(n):
        rows += d[i].max()
        columns += d[:, i].max()
    bound = (min(rows, columns) - inner(y, d)) / gamma - inner(u, d)
    off = whole = 0.0
    sums[:] = 0.0
    for i in range(n):
        total = -1.0
        for j in range(n):
            total += z[i, j]
            sums[j] += z[i, j]
        off += total * total
        whole += total
    for j in range(n):
        off += (sums[j] - 1.0) ** 2
    return bound, sqrt(max(off / n - (whole / n) ** 2, 0.0))


@cache
def engine(precision: str) -> "tuple[Callable[..., None], Callable[..., tuple[float, float]]]":
    """Return `run_iterations` and `certify_state`, compiled for "f4" or "f8"."""
    matrix, stack = f"{precision}[:,::1]", f"{precision}[:,:,::1]"
    sizes = "f8,f8,i8,b1,f8,f8,i8"
    run = compiled(
        f"void({stack},{matrix},{stack},{matrix},f8[::1],f8[::1],{sizes})",
        calls=(change, change_row, testable, verdict),
    )(run_iterations)
    return run, compiled(f"UniTuple(f8,2)({stack},f8[::1],f8,{precision}[::1])")(certify_state)
