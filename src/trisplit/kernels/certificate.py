"""How good an iterate over the Birkhoff polytope is, by a bound that needs no oracle, for the compiled engine."""

from math import sqrt

import numpy as np


def certify(
    y: np.ndarray, z: np.ndarray, u: np.ndarray, d: np.ndarray, gamma: float, sums: np.ndarray
) -> tuple[float, float]:
    """Return an upper bound on the gap of the last iterate z, and its distance to unit row and column sums.

    The bound is that of `trisplit.certificates`, where d has the other sign. The smaller of the supports of
    row-stochastic and of column-stochastic matrices counts. y has moved by d; `sums` is memory.
    """
    n = y.shape[0]
    rows = columns = along_y = along_u = 0.0
    for i in range(n):
        rows += d[i].max()
        columns += d[:, i].max()
        for j in range(n):
            along_y += y[i, j] * d[i, j]
            along_u += u[i, j] * d[i, j]
    bound = (min(rows, columns) - along_y) / gamma - along_u
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
