"""Three operator splitting over the Birkhoff polytope with the sets of split 2 exchanged, all iterations compiled.

    z = projection of y onto unit row and column sums,  x = projection of 2 z - y - gamma grad f(z) onto the box [0, 1]

The twin of `algorithms/tos.py` for a constant step, as `birkhoff.py` is with the sets in the order of the paper; the
arrays are the same, and a run can be interrupted between two calls.
"""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from trisplit.kernels import compiled
from trisplit.kernels.birkhoff import COLUMN_SHIFTS, ROW_SHIFTS, STATES, VALUE, D, U, V, Y, Z, product, unit_shifts

if TYPE_CHECKING:
    from collections.abc import Callable


@compiled(fast=True)
def add_shifts(y: np.ndarray, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
    """Write the shifted y."""
    for i in range(y.shape[0]):
        row = rows[i]
        for j in range(y.shape[1]):
            out[i, j] = y[i, j] + (row - columns[j])


@compiled(fast=True)
def clip_and_move(u: np.ndarray, g0: np.ndarray, z: np.ndarray, gamma: float, d: np.ndarray, y: np.ndarray) -> float:
    """Turn the product at z into the gradient 2 u + g0, write d = x - z, move y by d; return f(z) less its constant."""
    gamma, zero, one, value = z.dtype.type(gamma), z.dtype.type(0), z.dtype.type(1), 0.0
    for j in range(z.size):
        slope = 2 * u[j] + g0[j]
        u[j] = slope
        value += (slope + g0[j]) * z[j]
        x = min(max(z[j] + (z[j] - y[j]) - gamma * slope, zero), one)
        d[j] = x - z[j]
        y[j] += d[j]
    return value / 2


def run_iterations(
    matrices: np.ndarray,
    g0: np.ndarray,
    state: np.ndarray,
    vectors: np.ndarray,
    gamma: float,
    scalars: np.ndarray,
    constant: float,
    iterations: int,
) -> None:
    """Iterate on `state`; the arguments are those of `birkhoff.run_iterations`."""
    n = state.shape[1]
    flat, linear = state.reshape((STATES, n * n)), g0.reshape(n * n)
    rows, columns = vectors[ROW_SHIFTS], vectors[COLUMN_SHIFTS]
    for _ in range(iterations):
        unit_shifts(state[Y], rows, columns)
        add_shifts(state[Y], rows, columns, state[Z])
        product(matrices, state[Z], state[V], state[U])
        scalars[VALUE] = constant + clip_and_move(flat[U], linear, flat[Z], gamma, flat[D], flat[Y])


@cache
def engine(precision: str) -> "Callable[..., None]":
    """Return `run_iterations`, compiled for "f4" or "f8"."""
    matrix, stack = f"{precision}[:,::1]", f"{precision}[:,:,::1]"
    return compiled(f"void({stack},{matrix},{stack},{matrix},f8,f8[::1],f8,i8)")(run_iterations)
