"""Scalar equations that proximal maps of barriers, entropies and divergences lead to, entry by entry.

Each is solved by Newton's method from a bound on the side from which it converges monotonically, so that a few steps
do, and in a form in which numbers from 1e-300 to 1e300 do not overflow.
"""

from math import log

import numpy as np

from trisplit.arrays import Array, namespace
from trisplit.errors import InputError
from trisplit.terms.checks import like, parameter
from trisplit.terms.roots import increasing_root

STEPS = 12  # from the starts below, 8 reach double precision
ABSENT = -1e4  # the logarithm of a coefficient that is not there
Powers = list[tuple[Array, float | Array]]


def positive_numbers(value: object, name: str) -> float | Array:
    """Return a number or an array of numbers that are finite and positive."""
    given = parameter(value, name)
    if np.any(np.asarray(given) <= 0):
        raise InputError(f"`{name}` must be > 0, got {np.min(given)}; for example 1.0")
    return given


def full(t: float | Array, v: Array) -> Array:
    """Return a number, or numbers that broadcast, as an array of the shape of `v`."""
    return t + namespace(v).zeros_like(v)


def safe_log(x: Array) -> Array:
    """Return log x, and `ABSENT` where x <= 0."""
    xp = namespace(x)
    return xp.where(x > 0, xp.log(xp.where(x > 0, x, 1.0)), ABSENT)


def tiny(x: Array) -> float:
    """Return the smallest normal number of the dtype."""
    return float(namespace(x).finfo(x.dtype).smallest_normal)


@np.errstate(all="ignore")
def barrier_root(x: Array, t: Array) -> Array:
    """Return p >= 0 with p - t / p = x, for t >= 0: the proximal point of -t log.

    Examples
    --------
    >>> barrier_root(np.array([0.0, 1e300]), np.array([4.0, 1.0]))
    array([2.e+000, 1.e+300])
    """
    xp = namespace(x)
    above = (xp.abs(x) + xp.hypot(x, 2 * xp.sqrt(t))) / 2
    return xp.where(x >= 0, above, t / xp.where(above > 0, above, 1.0))


@np.errstate(all="ignore")
def two_barriers_gap(z: Array, t: Array) -> Array:
    """Return w = 1 - s in (0, 1] for the s with s + 2 t s / (1 - s^2) = z, for z >= 0: the prox of -t log(1 - s^2).

    The distance to the barrier is returned and not s, which would round to 1.
    """
    xp = namespace(z)

    # 2 s / (1 - s^2) = 1 / w - 1 / (2 - w); concave for w <= 1, and 1 / (2 - w) <= 1 gives a lower bound
    def F(w: Array) -> tuple[Array, Array]:
        return z - 1 + w - t / w + t / (2 - w), 1 + t / w**2 + t / (2 - w) ** 2

    start = xp.clip(barrier_root(1 - z - t, t), tiny(z), 1.0)
    return increasing_root(F, start, xp.ones_like(z), start, STEPS)


def omega(z: Array) -> Array:
    """Return v with v + exp(v) = z: the logarithm of Lambert's W(exp(z)).

    Examples
    --------
    >>> omega(np.array([1.0 + np.e, -1e300]))
    array([ 1.e+000, -1.e+300])
    """
    xp = namespace(z)
    start = xp.where(z > 1, xp.log(xp.where(z > 1, z, 1.0)), z)  # above the root, by less than 1

    def F(v: Array) -> tuple[Array, Array]:
        power = xp.exp(v)
        return v + power - z, 1 + power

    return increasing_root(F, start - 1, start, start, STEPS)


@np.errstate(all="ignore")
def entropy_root(c: Array, t: Array) -> Array:
    """Return p with p + t log p = c, for t > 0.

    Where p >= t, Newton's method runs in p; elsewhere in log p, as p may be as small as exp(c / t).
    """
    xp = namespace(c)
    log_t = xp.log(t)
    d = c - t * log_t  # w + log w = d / t for w = p / t
    large = d > t
    small = t * xp.exp(omega(xp.clip(xp.where(large, t, d) / t, -1e5, 1.0)))
    d = xp.where(large, d, 2 * t)
    c = xp.where(large, c, d + t * log_t)
    start = d - t * (xp.log(d) - log_t)
    far = increasing_root(lambda p: (p + t * xp.log(p) - c, 1 + t / p), start, d, start, STEPS)
    return xp.where(large, far, small)


@np.errstate(all="ignore")
def power_balance(left: Powers, right: Powers, least: Array | None = None, most: Array | None = None) -> Array:
    """Return m with sum_i exp(a_i + k_i m) = sum_j exp(b_j + l_j m), where each k_i exceeds each l_j.

    Replaced by their largest terms, both sides have the root min_i max_j (b_j - a_i) / (k_i - l_j), and the logarithm
    of their quotient is nearly linear around. Powers are numbers of the host. Where some k_i <= l_j, one of the two
    must be `ABSENT`, or `least` and `most` must bracket a root between which the quotient increases.

    Examples
    --------
    >>> one = np.zeros(1)  # p^2 = 2 + p
    >>> np.exp(power_balance([(one, 2)], [(one + np.log(2), 0), (one, 1)]))
    array([2.])
    """
    xp = namespace(left[0][0])
    zero = xp.zeros_like(left[0][0])
    start, slope = None, None
    for a, k in left:
        reach = None
        for b, power in right:
            fall = np.asarray(k) - power
            if np.all(fall > 0):
                crossing = zero + (b - a) / _beside(fall, zero)
                reach = crossing if reach is None else xp.maximum(reach, crossing)
                slope = fall if slope is None else np.minimum(slope, fall)
        start = reach if start is None or reach is None else xp.minimum(start, reach)
    width = _beside(log(max(len(left), len(right))) / slope + 1e-3, zero)  # pyright: ignore
    left, right = ([(a, _beside(np.asarray(k), zero)) for a, k in powers] for powers in (left, right))
    lo, hi = start - width, start + width  # pyright: ignore
    if least is not None and most is not None:
        lo, hi = xp.maximum(lo, least), xp.minimum(hi, most)
        start = xp.clip(start, lo, xp.maximum(lo, hi))

    def side(m: Array, powers: Powers) -> tuple[Array, Array]:
        exponents = [a + k * m for a, k in powers]
        top = exponents[0]
        for each in exponents[1:]:
            top = xp.maximum(top, each)
        terms = [xp.exp(each - top) for each in exponents]
        total = sum(terms[1:], terms[0])
        slopes = [k * term for (_, k), term in zip(powers, terms, strict=True)]
        return top + xp.log(total), sum(slopes[1:], slopes[0]) / total  # pyright: ignore[reportReturnType]

    def F(m: Array) -> tuple[Array, Array]:
        (one, rise), (other, fall) = side(m, left), side(m, right)
        return one - other, rise - fall

    return increasing_root(F, lo, hi, start, STEPS)  # pyright: ignore[reportArgumentType]


def _beside(numbers: np.ndarray, x: Array) -> float | Array:
    """Return numbers of the host as what multiplies `x`."""
    return like(numbers, x, "power") if numbers.ndim else float(numbers)


@np.errstate(all="ignore")
def power_root(x: Array, t: Array, k: float | Array) -> Array:
    """Return p > 0 with p - t p^-k = x, for t > 0 and k > 0: for x > 0, (p - x) p^k = t is solved for log(p - x)."""
    xp = namespace(x)
    log_x, log_t = safe_log(xp.abs(x)), xp.log(t)
    alpha, beta = xp.where(x > 0, 1.0, full(k, x)), xp.where(x > 0, full(k, x), 1.0)

    # alpha v + beta log(exp(v) + |x|) = log t is convex in v; without one of the summands the root is larger
    def F(v: Array) -> tuple[Array, Array]:
        both = xp.logaddexp(v, log_x)
        return alpha * v + beta * both - log_t, alpha + beta * xp.exp(v - both)

    start = xp.minimum(log_t / (alpha + beta), (log_t - beta * log_x) / alpha)
    lo = start - beta / alpha
    return xp.exp(increasing_root(F, lo, start, start, STEPS)) + xp.where(x > 0, x, 0.0)
