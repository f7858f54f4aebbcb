"""Frank-Wolfe on the Birkhoff polytope with SciPy's assignment solver, as one would write it without this package.

    v_t = argmin over doubly stochastic v of <grad f(z_t), v>,   z_{t+1} = z_t + gamma_t (v_t - z_t)

with exact line search: the iterates are those of `relax(method="fw")`. It is written to be fast: f(v) costs no matrix
product, as v is a permutation, and the gap, which v brings along, is looked at in every iteration.
"""

from itertools import count
from time import perf_counter

import numpy as np
from scipy.optimize import linear_sum_assignment

import trisplit as ts


def frank_wolfe(
    f: ts.qap.Objective, z: np.ndarray, tol: float, max_iter: int, time_limit: float
) -> tuple[np.ndarray, int]:
    """Return the first iterate with |gap| <= tol max(f, 1), or the last in time, and its number, from 1 on."""
    begin, rows = perf_counter(), np.arange(len(z))
    for t in count(1):
        f_z, u = f.value_and_grad(z)
        _, p = linear_sum_assignment(u)
        slope = float(u[rows, p].sum() - np.vdot(u, z))
        if abs(slope) <= tol * max(f_z, 1.0) or t >= max_iter or perf_counter() - begin >= time_limit:
            break
        curvature = float(np.vdot(f.A, f.B[p[:, None], p])) - f_z - slope
        gamma = line_search(slope, curvature)
        z = (1.0 - gamma) * z
        z[rows, p] += gamma
    return z, t


def line_search(slope: float, curvature: float) -> float:
    """Return the minimiser of slope gamma + curvature gamma^2 over [0, 1]."""
    if curvature <= 0.0:
        return 1.0 if slope + curvature < 0.0 else 0.0
    return min(max(-slope / (2.0 * curvature), 0.0), 1.0)
