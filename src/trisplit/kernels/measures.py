"""How good the points of a batch on the host are, by the bound of `trisplit.certificates`, in one pass over memory.

Also the choice of the better of two points for each problem.
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


def keep_better(
    done: np.ndarray,
    seen: tuple[np.ndarray, ...],
    known: tuple[np.ndarray, ...],
    best: np.ndarray,
    finite: np.ndarray,
    y: np.ndarray,
    known_y: np.ndarray,
    best_y: np.ndarray,
    gamma: np.ndarray,
    known_gamma: np.ndarray,
    best_gamma: np.ndarray,
    t: int,
    known_t: np.ndarray,
    best_t: np.ndarray,
) -> None:
    """Write the better one of two points of each row, that of iteration t and the best that is known; see `Rows.keep`.

    `seen` and `known` are the first four columns of `Numbers`, of which the last decides.
    """
    for i in range(done.size):
        if not done[i] and seen[3][i] < known[3][i]:
            best_gamma[i], best_t[i], finite[i] = gamma[i], t, True
            for k in range(4):
                best[k, i] = seen[k][i]
            for j in range(y.shape[1]):
                best_y[i, j] = y[i, j]
        else:
            best_gamma[i], best_t[i] = known_gamma[i], known_t[i]
            for k in range(4):
                best[k, i] = known[k][i]
            for j in range(y.shape[1]):
                best_y[i, j] = known_y[i, j]


class Measures(NamedTuple):
    """The loops, compiled."""

    measure_rows: Callable[..., bool]
    keep_better: Callable[..., None]


@cache
def compiled_measures() -> Measures:
    """Return the loops, compiled."""
    from trisplit.kernels import compiled

    table, vector = "f8[:,::1]", "f8[::1]"
    signature = f"b1({','.join([table] * 4)},{','.join([vector] * 4)},{table})"
    flags, numbers, indices = "b1[::1]", f"UniTuple({vector},4)", "i8[::1]"
    points = f"{table},{table},{table},{vector},{vector},{vector},i8,{indices},{indices}"
    return Measures(
        compiled(signature, sums=(row_products,), inline=True)(measure_rows),
        compiled(f"void({flags},{numbers},{numbers},{table},{flags},{points})")(keep_better),
    )
