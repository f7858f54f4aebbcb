"""The proximal map of the (sparse) group norm, for the rows of a matrix.

For one row x:  minimise  soft ||p||_1 + sum_g c_g ||p_g||_2 + ||p - x||^2 / 2, with groups g that do not overlap:
s = sign(x) max(|x| - soft, 0), and p_g = max(0, 1 - c_g / ||s_g||) s_g. Entries in no group are s.

Group number g is members[starts[g]], ..., members[starts[g + 1] - 1]. Without members these are the places themselves:
starts[g], ..., starts[g + 1] - 1.
"""

import numpy as np

from trisplit.kernels import by_precision, compiled

WHOLE, REAL = (f"Array({kind}, 1, 'C', readonly=True)" for kind in ("i8", "f8"))

# Sums of squares between these lost nothing on the way, and neither did squares of float32, which become double.
SMALL, LARGE = 1e-250, 1e300


@compiled()
def soften(v: float, soft: float) -> float:
    """Return the soft threshold of a number; NaN stays."""
    return v - min(max(v, -soft), soft)


@compiled()
def factor(square: float, c: float) -> float:
    """Return max(0, 1 - c / norm), without a branch, which would be guessed wrongly often; NaN stays."""
    norm = np.sqrt(square)
    return max(norm - c, 0.0) / norm


@compiled()
def scaled_factor(row: np.ndarray, members: np.ndarray, first: int, end: int, soft: float, c: float) -> float:
    """Return the same for entries whose squares overflow or vanish."""
    top = 0.0
    for k in range(first, end):
        top = max(top, abs(soften(np.float64(row[members[k] if members.size else k]), soft)))
    if top == 0.0 or not top < np.inf:
        return top - top
    square = 0.0
    for k in range(first, end):
        square += (soften(np.float64(row[members[k] if members.size else k]), soft) / top) ** 2
    root = np.sqrt(square)
    return (root - c / top) / root if root > c / top else root - root  # NaN stays


@by_precision(f"void(Array({{f}}, 2, 'C', readonly=True), {WHOLE}, {WHOLE}, {REAL}, {REAL}, {REAL}, {{f}}[:, ::1])")
def prox_groups(
    x: np.ndarray,
    members: np.ndarray,
    starts: np.ndarray,
    weights: np.ndarray,
    gammas: np.ndarray,
    softs: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write the proximal points into `out`, row by row with c_g = gammas[i] weights[g] and soft = softs[i].

    Weights may be a single one. Of entries in no group `out` must hold the right values already.
    """
    rows, count = x.shape[0], starts.size - 1
    for i in range(rows):
        row, own, soft = x[i], out[i], softs[i]
        for g in range(count):
            c = gammas[i] * weights[g if weights.size > 1 else 0]
            first, size = np.uint64(starts[g]), starts[g + 1] - starts[g]  # unsigned: else each look asks for the sign
            square = 0.0
            if members.size:
                for k in range(size):
                    v = soften(np.float64(row[np.uint64(members[first + np.uint64(k)])]), soft)
                    square += v * v
            elif soft == 0.0:
                other = 0.0  # one sum would wait for each addition
                for k in range(0, size - 1, 2):
                    v, w = np.float64(row[first + np.uint64(k)]), np.float64(row[first + np.uint64(k + 1)])
                    square += v * v
                    other += w * w
                if size % 2:
                    v = np.float64(row[first + np.uint64(size - 1)])
                    square += v * v
                square += other
            else:
                for k in range(size):
                    v = soften(np.float64(row[first + np.uint64(k)]), soft)
                    square += v * v
            scale = factor(square, c)
            if square <= SMALL or square >= LARGE:
                scale = scaled_factor(row, members, starts[g], starts[g + 1], soft, c)
            if members.size:
                for k in range(size):
                    place = np.uint64(members[first + np.uint64(k)])
                    own[place] = soften(np.float64(row[place]), soft) * scale
            elif soft == 0.0:
                for k in range(size):
                    own[first + np.uint64(k)] = row[first + np.uint64(k)] * scale
            else:
                for k in range(size):
                    own[first + np.uint64(k)] = soften(np.float64(row[first + np.uint64(k)]), soft) * scale
