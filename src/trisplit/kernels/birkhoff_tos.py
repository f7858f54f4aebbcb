"""Three operator splitting over the Birkhoff polytope for a quadratic f, all iterations in compiled code.

The twin of `splitting/tos.py` with the tangent form of the QAP objective (`qap/objective.py`); the sets of split 1
(row-stochastic, column-stochastic matrices) or of split 2 (the box [0, 1], unit row and column sums), with a constant
step in either order; and the step rule of `steps/adaptive.py`, whose decisions it takes, or a constant step. Everything
that an iteration leaves to the next one is in the arrays that `run_iterations` is given, so a run can be interrupted
between two calls. With symmetric matrices nothing is allocated.
"""

from functools import cache
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from trisplit.kernels import compiled
from trisplit.kernels.birkhoff_sets import add_shifts, column_shifts, rows_to_simplex, to_box, unit_shifts
from trisplit.kernels.certificate import certify
from trisplit.steps.decisions import FIRST, add_moves, balance, compares_moves, needs_test, refuse, testable
from trisplit.steps.records import Table

if TYPE_CHECKING:
    from collections.abc import Callable

# The matrices of `state`; the two places of z take turns, but for a constant step.
Y, Z, U, D, V, H, STATES = 0, 1, 3, 4, 5, 6, 7
# Of `vectors`: thresholds, what to add to rows and to subtract from columns, and memory.
ROWS, COLUMNS, ROW_SHIFTS, COLUMN_SHIFTS, COUNTS, BEFORE, VECTORS = 0, 1, 2, 3, 4, 5, 6
FIRST_NUMBERS = {  # of the record of the loop, which is that of the step rule and more
    **FIRST,
    "adaptive": 0.0,  # else the step is constant
    "split": 1.0,
    "constant": 0.0,  # of the objective
    "mu": 0.0,
    "started": 0.0,
    "place": float(Z),
    "value": 0.0,  # of the objective at z
}
RECORD = Table.of(0, FIRST_NUMBERS).rows.dtype


@compiled(fast=True)
def clip_and_move(u: np.ndarray, g0: np.ndarray, z: np.ndarray, gamma: float, d: np.ndarray, y: np.ndarray) -> float:
    """Turn the product at z into the gradient 2 u + g0, write d = x - z, x in [0, 1], move y by d.

    Return f(z) less its constant.
    """
    gamma, zero, one, value = z.dtype.type(gamma), z.dtype.type(0), z.dtype.type(1), 0.0
    for j in range(z.size):
        slope = 2 * u[j] + g0[j]
        u[j] = slope
        value += (slope + g0[j]) * z[j]
        x = min(max(z[j] + (z[j] - y[j]) - gamma * slope, zero), one)
        d[j] = x - z[j]
        y[j] += d[j]
    return value / 2


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
    iterations: int,
) -> int:
    """Iterate on `state`: as `tos.iterate`, with the decisions of `Adaptive.propose` and `judge`.

    The objective is that of the tangent form less mu / 2 (||X||^2 - n). `matrices` are A and B' of the tangent form,
    and A' and B if these are not symmetric; `numbers` are those of `RECORD`. Returns how many curvature tests
    multiplied matrices.
    """
    n, r, tests = state.shape[1], numbers.view(RECORD)[0], 0
    flat, linear = state.reshape((STATES, n * n)), g0.reshape(n * n)  # for loops that need not know of rows
    y, u, d, v, h = flat[Y], flat[U], flat[D], flat[V], flat[H]
    rows, columns = vectors[ROW_SHIFTS], vectors[COLUMN_SHIFTS]
    adaptive, mu, place = r.adaptive != 0.0, r.mu, int(r.place)
    constant, least = r.constant + mu / 2.0 * n, 0.0 if r.split == 1.0 else -np.inf
    for _ in range(iterations):
        z_old = flat[place]
        if adaptive:
            place = 2 * Z + 1 - place
        z = flat[place]
        if r.split == 1.0:
            rows_to_simplex(state[Y], vectors[ROWS], vectors[COUNTS], state[place])
        else:
            to_box(y, z)
        gamma = r.gamma
        if r.started == 0.0:
            r.started = 1.0
            r.size = size(z, y)
        elif adaptive:
            if compares_moves(r):
                r.z_square, r.z_along_d = moves(z, z_old, d)
            if add_moves(r):
                r.size = size(z, y)
            balance(r)
        product(matrices, state[place], state[V], state[U])
        if r.gamma != gamma:
            rescale(z, y, r.gamma / gamma)
        value, r.slope_sq = gradient_and_reflect(u, linear, z, y, mu, r.gamma, v)
        r.value = value = value + constant
        rests = not adaptive or not needs_test(r)
        while True:
            if r.split == 1.0:
                column_shifts(state[V], vectors[COLUMNS], rows, columns, vectors[COUNTS], vectors[BEFORE])
            else:
                unit_shifts(state[V], rows, columns)
            if rests:
                r.square = shift_and_move(state[V], rows, columns, least, state[place], state[D], state[Y])
                break
            r.square, r.slope = shift(state[V], rows, columns, least, state[place], state[U], state[D])
            r.smooth_square, r.f_z, r.f_x = r.square, value, value + r.slope
            if testable(r):
                product(matrices, state[D], state[V], state[H])
                r.f_x += inner(h, d) - mu / 2.0 * r.square
                tests += 1
            if not refuse(r):
                for j in range(y.size):
                    y[j] += d[j]
                break
            rescale(z, y, r.ratio)
            reflect(z, y, u, r.gamma, v)
    r.place = place
    return tests


def run_exchanged(
    matrices: np.ndarray,
    g0: np.ndarray,
    state: np.ndarray,
    vectors: np.ndarray,
    numbers: np.ndarray,
    iterations: int,
) -> int:
    """Iterate with the sets of split 2 exchanged and a constant step; the arguments are those of `run_iterations`.

    z is the projection of y onto unit sums, x that of 2 z - y - gamma grad f(z) onto the box.
    """
    n, r = state.shape[1], numbers.view(RECORD)[0]
    flat, linear = state.reshape((STATES, n * n)), g0.reshape(n * n)
    rows, columns = vectors[ROW_SHIFTS], vectors[COLUMN_SHIFTS]
    for _ in range(iterations):
        unit_shifts(state[Y], rows, columns)
        add_shifts(state[Y], rows, columns, state[Z])
        product(matrices, state[Z], state[V], state[U])
        r.value = r.constant + clip_and_move(flat[U], linear, flat[Z], r.gamma, flat[D], flat[Y])
    return 0


@cache
def engine(precision: str, *, exchanged: bool = False) -> "tuple[Callable[..., int], Callable[..., tuple]]":
    """Return `run_iterations`, or `run_exchanged`, and `certify`, compiled for "f4" or "f8"."""
    matrix, stack = f"{precision}[:,::1]", f"{precision}[:,:,::1]"
    signature = f"i8({stack},{matrix},{stack},{matrix},f8[::1],i8)"
    run = compiled(signature)(run_exchanged if exchanged else run_iterations)
    return run, compiled(f"UniTuple(f8,2)({','.join([matrix] * 4)},f8,{precision}[::1])")(certify)
