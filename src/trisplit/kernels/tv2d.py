"""The proximal map of the isotropic total variation of images, by a fast gradient method on the dual.

For an image y:  minimise  lam * sum_i ||(D p)_i|| + ||p - y||^2 / 2  over p,  (D p)_i the forward differences at i.
The dual: minimise ||y - D'u||^2 / 2 over fields u with ||u_i|| <= lam; then p = y - D'u. The gap between the two,

    sum_i  lam ||(D p)_i|| - <u_i, (D p)_i>  >=  ||p - p*||^2 / 2,

is a sum of nonnegative numbers, so that rounding does not hide how small it is. Momentum starts afresh where it points
uphill.

A. Beck and M. Teboulle (2009), Fast gradient-based algorithms for constrained total variation image denoising and
deblurring problems, IEEE Transactions on Image Processing 18. B. O'Donoghue and E. Candès (2015), Adaptive restart for
accelerated gradient schemes, Foundations of Computational Mathematics 15.
"""

import numpy as np

from trisplit.kernels import compiled

EVERY = 10  # steps between two looks at the gap


@compiled()
def primal(y: np.ndarray, u: np.ndarray, p: np.ndarray) -> None:
    """Write y - D'u into `p`."""
    a, b, c = y.shape
    for i in range(a):
        for j in range(b):
            for k in range(c):
                s = y[i, j, k] + u[0, i, j, k] + u[1, i, j, k] + u[2, i, j, k]
                if i > 0:
                    s -= u[0, i - 1, j, k]
                if j > 0:
                    s -= u[1, i, j - 1, k]
                if k > 0:
                    s -= u[2, i, j, k - 1]
                p[i, j, k] = s


@compiled()
def gap_of(p: np.ndarray, u: np.ndarray, lam: float) -> float:
    """Return the duality gap at p = y - D'u."""
    a, b, c = p.shape
    total = 0.0
    for i in range(a):
        for j in range(b):
            for k in range(c):
                d = p[i + 1, j, k] - p[i, j, k] if i + 1 < a else 0.0
                e = p[i, j + 1, k] - p[i, j, k] if j + 1 < b else 0.0
                f = p[i, j, k + 1] - p[i, j, k] if k + 1 < c else 0.0
                along = u[0, i, j, k] * d + u[1, i, j, k] * e + u[2, i, j, k] * f
                total += max(lam * np.sqrt(d * d + e * e + f * f) - along, 0.0)
    return total


@compiled("UniTuple(f8, 2)(Array(f8, 3, 'C', readonly=True), f8, f8, i8, f8[:, :, :, ::1], f8[:, :, ::1])")
def prox_image(
    y: np.ndarray, lam: float, tol: float, max_steps: int, u: np.ndarray, p: np.ndarray
) -> tuple[float, float]:
    """Improve the field `u`, which must be feasible and 0 at the last entries, and write the image into `p`.

    Ends when the gap is at most `tol`; returns it and the number of steps.
    """
    a, b, c = y.shape
    axes = (a > 1) + (b > 1) + (c > 1)
    step = 1.0 / (4.0 * max(axes, 1))
    v = u.copy()
    primal(y, u, p)
    gap, t = gap_of(p, u, lam), 1.0
    done = 0
    while gap > tol and done < max_steps:
        primal(y, v, p)
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        momentum = (t - 1.0) / after
        uphill = 0.0
        for i in range(a):
            for j in range(b):
                for k in range(c):
                    d = p[i + 1, j, k] - p[i, j, k] if i + 1 < a else 0.0
                    e = p[i, j + 1, k] - p[i, j, k] if j + 1 < b else 0.0
                    f = p[i, j, k + 1] - p[i, j, k] if k + 1 < c else 0.0
                    d = v[0, i, j, k] + step * d
                    e = v[1, i, j, k] + step * e
                    f = v[2, i, j, k] + step * f
                    length = np.sqrt(d * d + e * e + f * f)
                    if length > lam:
                        shrink = lam / length
                        d, e, f = d * shrink, e * shrink, f * shrink
                    s0, s1, s2 = d - u[0, i, j, k], e - u[1, i, j, k], f - u[2, i, j, k]
                    uphill += (v[0, i, j, k] - d) * s0 + (v[1, i, j, k] - e) * s1 + (v[2, i, j, k] - f) * s2
                    u[0, i, j, k], u[1, i, j, k], u[2, i, j, k] = d, e, f
                    v[0, i, j, k], v[1, i, j, k], v[2, i, j, k] = (
                        d + momentum * s0,
                        e + momentum * s1,
                        f + momentum * s2,
                    )
        t = after
        if uphill > 0.0:
            t = 1.0
            v[:] = u
        done += 1
        if done % EVERY == 0:
            primal(y, u, p)
            gap = gap_of(p, u, lam)
    primal(y, u, p)
    return gap_of(p, u, lam), float(done)
