"""Scalar equations behind projections onto epigraphs and proximal maps of perspectives, many at once."""

import math

from trisplit.arrays import Array, namespace
from trisplit.terms.roots import increasing_root


def cubic_root(a: float | Array, c: float | Array, e: Array, m: Array) -> Array:
    """Return the root r >= sqrt(max(-e, 0) / a) of a r^3 + (c + e) r = m, for a, c > 0 and m >= 0.

    There the left side increases and is convex: Newton's method falls from above. Where there is no such root, some
    finite number is returned. The upper bound is near the root, and r is found in units of it: nothing overflows.
    """
    xp = namespace(e)
    one = xp.ones_like(e)
    low = xp.sqrt(xp.where(e < 0, -e, 0.0 * one)) / a**0.5
    # Where a r^2 > 2 |e|, half of a r^3 remains
    cube = (2.0 * xp.where(m > 0, m, one)) ** (1.0 / 3.0) / a ** (1.0 / 3.0)
    hi, C = xp.maximum(2.0**0.5 * low, cube), c + xp.clip(e, 0.0, None)
    linear = m / hi < C  # then m / C is smaller, and cannot overflow
    hi = xp.where(linear, m / xp.where(linear, C, one), hi)
    hi = xp.where(m > 0, xp.maximum(hi, low), low)
    unit = xp.where(hi > 0, hi, one)
    A, M = (a * unit) * unit, m / unit
    size = xp.maximum(xp.maximum(A, xp.abs(e)), xp.maximum(M, c * one))
    A, C, E, M = A / size, c / size, e / size, M / size

    def F(s: Array) -> tuple[Array, Array]:
        return s * (A * s**2 + (C + E)) - M, 3.0 * A * s**2 + (C + E)

    return unit * increasing_root(F, xp.clip(low / unit, None, 1.0), one, one)


def power_root(q: float, w: float, t: Array, m: Array) -> Array:
    """Return p > 0 with p + q w p^(q - 1) (w p^q - t) = m and w p^q >= t, for m > 0 with w m^q > t, and q > 1.

    It is found in units of an upper bound. The coefficients are computed by logarithms, since powers would overflow.
    """
    xp = namespace(t)
    one = xp.ones_like(t)

    def log(a: Array) -> Array:
        return xp.log(xp.where(a > 0, a, one))

    log_m, log_t = log(m), log(xp.abs(t))
    log_w, log_qw = math.log(w), math.log(q * w)
    alone = (log_m - log_qw - log_w) / (2 * q - 1)  # q w^2 p^(2 q - 1) = m
    least = (log_t - log_w) / q  # w p^q = t
    high = xp.maximum(least + 0.7 / q, alone + 0.7 / (2 * q - 1))
    linear = (log_m - log_t - log_qw) / (q - 1)  # q w |t| p^(q - 1) = m
    top = xp.where(t > 0, high, xp.where(t < 0, xp.minimum(alone, linear), alone))
    top = xp.minimum(top, log_m)
    # The terms of the equation, divided by p = e^top
    logs = [0.0 * one, log_qw + log_w + (2 * q - 2) * top, log_qw + log_t + (q - 2) * top, log_m - top]
    size = xp.maximum(xp.maximum(logs[0], logs[1]), xp.maximum(xp.where(t == 0, logs[0], logs[2]), logs[3]))
    one_, A, B, M = (xp.exp(xp.clip(each - size, None, 0.0)) for each in logs)
    B = xp.where(t > 0, B, xp.where(t < 0, -B, 0.0 * one))
    low = xp.where(t > 0, xp.exp(xp.clip(least - top, -100.0, 0.0)), 0.0 * one)

    def F(s: Array) -> tuple[Array, Array]:
        safe = xp.where(s > 0, s, one)
        up, down = safe ** (2 * q - 2), safe ** (q - 2)
        value = s * (one_ + A * up - B * down) - M
        slope = one_ + (2 * q - 1) * A * up - (q - 1) * B * down
        return xp.where(s > 0, value, -M), slope

    return xp.exp(top) * increasing_root(F, low, one, one)


def exponential_root(y: Array, t: Array) -> Array:
    """Return p with p + e^p (e^p - t) = y and e^p >= t, for e^y > t: where (y, t) meets the graph of exp.

    The equation is divided or put into logarithms where that makes it nearly linear:
    - e^p - t - (y - p) e^-p = 0 for t > 0 and p > 0;
    - p + log(e^p - t) - log(y - p) = 0 for t <= 0 and points far outside.
    """
    xp = namespace(y)
    one, zero = xp.ones_like(y), xp.zeros_like(y)

    def log(a: Array) -> Array:
        return xp.log(xp.where(a > 0, a, one))

    largest = math.log(float(xp.finfo(y.dtype).max)) - 1.0
    positive = t > 0
    log_t = log(xp.abs(t))
    below = xp.where(positive, zero, -t)  # |t| where t <= 0
    # t > 0: with s = e^p, s <= 2 t or s^2 / 2 <= y - p
    high = xp.minimum(y, xp.maximum(log_t + 0.7, log(xp.clip(2 * y, 1.0, None)) / 2))
    # t <= 0: log of e^y (e^y - t), the excess at p = y
    grown = xp.where(y > log_t, y, log_t)
    log_sum = xp.where(t < 0, grown + xp.log1p(xp.exp(-xp.abs(y - log_t))), y)
    far = ~positive & (y + log_sum > 0)
    half = xp.clip(log(xp.clip(y, 1.0, None)) / 2, 0.0, None)
    high = xp.where(positive, high, xp.where(far, xp.minimum(y - 0.4, half), y))
    falls = xp.where(y >= 1, xp.minimum(zero, log(y) - xp.log1p(below)), y - xp.clip(y + log_sum, 1.0, None))
    low = xp.where(positive, xp.minimum(log_t, high), xp.where(far, falls, y - 1.0))
    divided = positive & (high > 0)
    # An end where the equation is not defined would be no use
    high = xp.clip(high, -largest * 1e6, largest)

    def F(p: Array) -> tuple[Array, Array]:
        e = xp.exp(xp.clip(p, None, largest))
        gap = y - p
        per = xp.exp(-xp.where(divided, p, zero))
        safe = xp.where(far & (gap > 0), gap, one)
        total = xp.where(far, e + below, one)
        least = float(xp.finfo(y.dtype).smallest_normal)
        small = xp.where(divided | far, zero, e)
        value = xp.where(
            divided,
            e - t - gap * per,
            xp.where(far, p + xp.log(xp.clip(total, least, None)) - xp.log(safe), small * (small - t) - gap),
        )
        slope = xp.where(
            divided,
            e + (1.0 + gap) * per,
            xp.where(far, 1.0 + e / xp.clip(total, least, None) + 1.0 / safe, 1.0 + small * (2.0 * small - t)),
        )
        return value, slope

    return increasing_root(F, xp.minimum(low, high), high, high)


def onto_square(m: Array, t: Array, weight: float) -> tuple[Array, Array]:
    """Project (m, t), m >= 0, onto {weight m^2 <= t}."""
    xp = namespace(m)
    one = xp.ones_like(m)
    inside = (t >= 0) & (m * weight**0.5 <= xp.sqrt(xp.where(t > 0, t, 0.0 * one)))
    p = cubic_root(2.0 * weight**2, 1.0, -2.0 * weight * xp.where(inside, -one, t), xp.where(inside, one, m))
    p = p + (0.0 * m + 0.0 * t)  # NaN, which a search for a root would lose
    return xp.where(inside, m, p), xp.where(inside, t, weight * p * p)


def onto_exp(y: Array, t: Array) -> tuple[Array, Array]:
    """Project (y, t) onto {exp(y) <= t}."""
    xp = namespace(y)
    one, zero = xp.ones_like(y), xp.zeros_like(y)
    inside = (t > 0) & (y <= xp.log(xp.where(t > 0, t, one)))
    p = exponential_root(xp.where(inside, one, y), xp.where(inside, zero, t))
    p = p + (0.0 * y + 0.0 * t)  # NaN, which a search for a root would lose
    return xp.where(inside, y, p), xp.where(inside, t, xp.exp(p))
