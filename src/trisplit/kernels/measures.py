"""How good the points of a batch on the host are, by the bound of `trisplit.certificates`, in one pass over memory.

Also the choice between two points for each problem.
"""

from collections.abc import Callable
from functools import cache
from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np


def row_products(
    d: np.ndarray, y: np.ndarray, u: np.ndarray, z: np.ndarray, i: int
) -> tuple[float, float, float, float]:
    """Return ||d||^2, <y, d>, <u, d> and ||z||^2 of row i."""
    square = along_y = along_u = size = 0.0
    for j in range(d.shape[1]):
        square += d[i, j] * d[i, j]
        along_y += y[i, j] * d[i, j]
        along_u += u[i, j] * d[i, j]
        size += z[i, j] * z[i, j]
    return square, along_y, along_u, size


def measure_rows(
    d: np.ndarray,
    y: np.ndarray,
    u: np.ndarray,
    z: np.ndarray,
    gamma: np.ndarray,
    support: np.ndarray,
    fun: np.ndarray,
    distance: np.ndarray,
    measured: np.ndarray,
) -> bool:
    """Write the bound of each row, its infeasibility and the larger of the two relative errors; say if all are finite.

    d is x - z, the opposite of that in `trisplit.certificates`, and `support` the support function there. The
    infeasibility is ||d|| unless there are distances.
    """
    finite = True
    for i in range(d.shape[0]):
        square, along_y, along_u, size = row_products(d, y, u, z, i)
        bound, away = (
            (support[i] - along_y - square) / gamma[i] - along_u,
            distance[i] if distance.size else sqrt(square),
        )
        error = max(bound / max(1.0, abs(fun[i])), away / max(1.0, sqrt(size)))
        measured[0, i], measured[1, i], measured[2, i] = bound, away, error
        finite = finite and isfinite(fun[i]) and isfinite(bound) and isfinite(away) and isfinite(size)
    return finite


def choose_rows(mask: np.ndarray, new: np.ndarray, old: np.ndarray, chosen: np.ndarray) -> None:
    """Write the rows of `new` where the mask holds, else those of `old`."""
    for i in range(chosen.shape[0]):
        if mask[i]:
            for j in range(chosen.shape[1]):
                chosen[i, j] = new[i, j]
        else:
            for j in range(chosen.shape[1]):
                chosen[i, j] = old[i, j]


class Measures(NamedTuple):
    """The loops, compiled."""

    measure_rows: Callable[..., bool]
    choose_rows: Callable[..., None]


@cache
def compiled_measures() -> Measures:
    """Return the loops, compiled."""
    from trisplit.kernels import compiled

    table, vector = "f8[:,::1]", "f8[::1]"
    signature = f"b1({','.join([table] * 4)},{','.join([vector] * 4)},{table})"
    return Measures(
        compiled(signature, sums=(row_products,), inline=True)(measure_rows),
        compiled(f"void(b1[::1],{table},{table},{table})")(choose_rows),
    )
