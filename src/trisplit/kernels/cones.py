"""Projections onto many small cones, one for each row of an array.

The plain twins, which serve every library, are in the files of the same names in `trisplit.terms.sets`.
Numbers are computed in double precision.
"""

import numpy as np

from trisplit.kernels import by_precision, compiled

SMALL, LARGE = 1e-250, 1e300  # sums of squares between these lost nothing
FAR = 45.0  # beyond, exp(-FAR) times FAR vanishes next to 1
STEPS = 100


@by_precision("void(Array({f}, 2, 'C', readonly=True), {f}[:, ::1])")
def second_order(x: np.ndarray, out: np.ndarray) -> None:
    """Write the projections of the rows (t, y) onto {||y|| <= t} into `out`."""
    count, n = x.shape
    for i in range(count):
        t = float(x[i, 0])
        square = 0.0
        for j in range(1, n):
            square += float(x[i, j]) * float(x[i, j])
        r = np.sqrt(square)
        if not SMALL < square < LARGE:  # also NaN, which stays
            size = 0.0
            for j in range(1, n):
                size = max(size, abs(float(x[i, j])))
            square = 0.0
            if size > 0.0:
                for j in range(1, n):
                    square += (x[i, j] / size) ** 2
            r = size * np.sqrt(square)
        # No branches, which random points would make the processor guess wrongly
        half = max(0.5 * r + 0.5 * t, 0.0)
        inside = r <= t
        scale = 1.0 if inside else (half / r if r > 0.0 else 0.0)
        out[i, 0] = t if inside else half
        for j in range(1, n):
            out[i, j] = scale * x[i, j]


@compiled()
def gap(rho: float, x: float, y: float, z: float) -> tuple[float, float]:
    """Return G(rho) and its derivative; see `trisplit.terms.sets.exponential_cone`."""
    D = rho * (rho - 1.0) + 1.0
    a, b = ((rho - 1.0) * x + y) / D, (x - rho * y) / D
    if a <= 0.0:
        return -np.inf, 1.0
    if b <= 0.0:
        return np.inf, 1.0
    s = np.hypot(z, 2.0 * np.sqrt(a) * np.sqrt(b))
    # e^log_r solves a r - b / r = z
    if z >= 0.0:
        above, below = 0.5 * (z + s), a
    else:
        above, below = b, 0.5 * (s - z)
    log_r = np.log(above / below) if below > 1e-300 * above else np.log(above) - np.log(below)
    zp = 0.5 * (s + z) if z >= 0.0 else a * b / below  # a r
    zd = 0.5 * (s - z) if z < 0.0 else a * b / above  # b / r
    Dp = (2.0 * rho - 1.0) / D
    # a' / a = x / (a D) - D' / D, b' / b = -y / (b D) - D' / D
    slope = 1.0 + (zp * (x / (a * D) - Dp) + zd * (y / (b * D) + Dp)) / s
    return rho - log_r, slope


@compiled()
def excess(rho: float, x: float, y: float, z: float) -> tuple[float, float]:
    """Return alpha e^rho - B e^-rho - z and its derivative: cheaper than G, and as good near the root."""
    D = rho * (rho - 1.0) + 1.0
    over = 1.0 / D
    e = np.exp(rho)
    per = 1.0 / e
    a, b = ((rho - 1.0) * x + y) * over, (x - rho * y) * over
    shrinking = (2.0 * rho - 1.0) * over
    slope = (a + x * over - a * shrinking) * e + (b + y * over + b * shrinking) * per
    return a * e - b * per - z, slope


@by_precision("void(Array({f}, 2, 'C', readonly=True), {f}[:, ::1])")
def exponential(v: np.ndarray, out: np.ndarray) -> None:
    """Write the projections of the rows (x, y, z) onto the closure of {y exp(x / y) <= z, y > 0} into `out`."""
    for i in range(v.shape[0]):
        x, y, z = float(v[i, 0]), float(v[i, 1]), float(v[i, 2])
        if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)):
            out[i, 0] = out[i, 1] = out[i, 2] = np.nan
            continue
        if x <= 0.0 and y <= 0.0:
            out[i, 0], out[i, 1], out[i, 2] = x, 0.0, max(z, 0.0)
            continue
        if y > 0.0 and z > 0.0 and x <= y * (np.log(z) - np.log(y)):
            out[i, 0], out[i, 1], out[i, 2] = x, y, z
            continue
        if x > 0.0 and z < 0.0 and y - x <= x * (np.log(-z) - np.log(x)):
            out[i, 0] = out[i, 1] = out[i, 2] = 0.0
            continue
        size = max(abs(x), abs(y), abs(z))
        x, y, z = x / size, y / size, z / size
        lo, hi = -FAR, FAR
        if x > 0.0:
            lo = max(lo, 1.0 - y / x)
        elif x < 0.0:
            hi = min(hi, 1.0 - y / x)
        if y > 0.0:
            hi = min(hi, x / y)
        elif y < 0.0:
            lo = max(lo, x / y)
        lo, hi = min(lo, FAR), max(hi, -FAR)
        left, right = lo, hi  # where alpha and B vanish
        rho = lo + 0.5 * (hi - lo) if lo < hi else (lo if lo >= FAR else hi)
        if hi - lo > 2.0:
            rho = min(max(0.5, lo + 1.0), hi - 1.0)
        moved = np.inf
        for _ in range(STEPS if lo < hi else 0):
            value, slope = gap(rho, x, y, z) if moved > 1.0 else excess(rho, x, y, z)
            if value < 0.0:
                lo = rho
            elif value > 0.0:
                hi = rho
            else:
                break
            after = rho - value / slope
            newton = lo <= after <= hi and slope > 0.0
            if not newton:
                after = lo + 0.5 * (hi - lo)
            moved = abs(after - rho)
            rho = after
            # What a step of Newton's leaves is about its square, over the distance from the ends
            if moved <= 4e-16 * max(1.0, abs(rho)):
                break
            if newton and moved * moved <= 1e-18 * min(1.0, rho - left, right - rho):
                break
        D = rho * (rho - 1.0) + 1.0
        if rho > 0.0:  # y / z = exp(-rho)
            q = np.exp(-rho)
            zp = max(z + max(x - rho * y, 0.0) / D * q, 0.0)
            yp = zp * q
            xp = rho * yp
        else:
            q = np.exp(rho)
            zp = max((rho - 1.0) * x + y, 0.0) / D * q
            zd = max(zp - z, 0.0)
            xp, yp = x - zd * q, max(y - zd * (1.0 - rho) * q, 0.0)
        out[i, 0], out[i, 1], out[i, 2] = size * xp, size * yp, size * zp
