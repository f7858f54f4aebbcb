"""The forward step of a batch whose problems have steps of their own, as one pass over NumPy's arrays.

A column of steps times an array is slow in NumPy where the problems are small, and the whole line takes four to seven
passes. The loops here are compiled by numba; as loading that takes longer than most batches run, the one for steps that
stay is used where something else has loaded it. They return the same numbers, bit by bit, for equal steps.
"""

import sys
from collections.abc import Callable
from functools import cache
from math import prod
from typing import NamedTuple

import numpy as np

from trisplit.arrays import Array
from trisplit.kernels.host_rows import as_numbers, as_rows, is_double

SMALL = 2_000  # entries; below, a call of a loop takes as long as the operations that it replaces


def reflect_rows(y: np.ndarray, z: np.ndarray, u: np.ndarray, gamma: np.ndarray, forward: np.ndarray) -> None:
    """Write 2 z - y - gamma u."""
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            forward[i, j] = 2.0 * z[i, j] - y[i, j] - gamma[i] * u[i, j]


def scale_and_reflect_rows(
    y: np.ndarray,
    z: np.ndarray,
    u: np.ndarray,
    gamma: np.ndarray,
    trial: np.ndarray,
    scaled: np.ndarray,
    forward: np.ndarray,
) -> None:
    """Write z + (trial / gamma) (y - z), which is y where the two steps are equal, and `reflect_rows` of that."""
    for i in range(y.shape[0]):
        if trial[i] == gamma[i]:
            for j in range(y.shape[1]):
                scaled[i, j] = y[i, j]
                forward[i, j] = 2.0 * z[i, j] - y[i, j] - trial[i] * u[i, j]
        else:
            ratio = trial[i] / gamma[i]
            for j in range(y.shape[1]):
                own = z[i, j] + ratio * (y[i, j] - z[i, j])
                scaled[i, j] = own
                forward[i, j] = 2.0 * z[i, j] - own - trial[i] * u[i, j]


class Loops(NamedTuple):
    """The loops, compiled."""

    reflect_rows: Callable[..., None]
    scale_and_reflect_rows: Callable[..., None]


@cache
def compiled_loops() -> Loops:
    """Return the loops, compiled."""
    from trisplit.kernels import compiled

    table, vector = "f8[:,::1]", "f8[::1]"
    return Loops(
        compiled(f"void({table},{table},{table},{vector},{table})")(reflect_rows),
        compiled(f"void({table},{table},{table},{vector},{vector},{table},{table})")(scale_and_reflect_rows),
    )


def forward_of_rows(z: Array, y: Array, u: Array, gamma: Array) -> Array | None:
    """Return 2 z - y - gamma u; None where the loop is not to be used."""
    if prod(z.shape) < SMALL or not (is_double(gamma) and is_double(z) and "numba" in sys.modules):
        return None
    n, forward = gamma.size, np.empty(z.shape)
    compiled_loops().reflect_rows(as_rows(y, n), as_rows(z, n), as_rows(u, n), as_numbers(gamma), as_rows(forward, n))
    return forward
