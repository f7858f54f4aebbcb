"""Divergences D(x, y) of which both arguments are variables: pairs (x, y) along an axis of length 2.

They are y phi(x / y), jointly convex and homogeneous. With the quotient exp(l) of the proximal point (p, q),
p = x - gamma phi'(exp l) and q = y - gamma (phi - exp(l) phi')(exp l), so that q exp(l) = p is an equation in l alone
[El Gheche, Chierchia and Pesquet (2018), Proximity operators of discrete information divergences]. The conjugate is the
indicator of the polar set, where the proximal point is 0.
"""

from dataclasses import dataclass
from math import inf, log

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.barriers.equations import barrier_root, full, omega, safe_log, tiny
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Lines, mapped, nan_kept, summed
from trisplit.terms.checks import axis_or_none, positive
from trisplit.terms.roots import increasing_root
from trisplit.terms.sets.box import Box

__all__ = ["AbsoluteDifference", "Jeffreys", "JointKullbackLeibler"]

Pair = tuple[Array, Array]


class Divergence(Lines, ConvexFunction):
    """A homogeneous function of pairs of nonnegative numbers.

    A subclass supplies `of`, its values there; `moved`, its proximal map; `polar`, a number that is <= 0 exactly on the
    polar set. None of them knows of the weight.
    """

    weight: float
    axis: int | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive(self.weight, "weight"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def length(self, shape: Shape) -> int:
        """Return 2, the length that the vectors must have."""
        n = super().length(shape)
        if n != 2:
            came = f"{type(self).__name__} needs pairs, got vectors of {n} entries"
            raise InputError(f"{came}; stack x and y along `axis`")
        return n

    def of(self, x: Array, y: Array) -> Array:
        """Return D(x, y) for x, y >= 0."""
        raise NotImplementedError(f"{type(self).__name__} must define `of`")

    def moved(self, x: Array, y: Array, t: Array) -> Pair:
        """Return the proximal point of (x, y)."""
        raise NotImplementedError(f"{type(self).__name__} must define `moved`")

    def polar(self, a: Array, b: Array) -> Array:
        """Return a number that is at most 0 where a x + b y <= D(x, y) for all x, y."""
        raise NotImplementedError(f"{type(self).__name__} must define `polar`")

    @summed
    def value(self, v: Array) -> Array:
        """Return the sum over the pairs, infinite if a number is negative."""
        xp, x, y = namespace(v), v[..., 0], v[..., 1]
        inside = (x >= 0) & (y >= 0)
        return xp.where(inside, self.weight * self.of(xp.where(inside, x, 1.0), xp.where(inside, y, 1.0)), inf)

    @mapped
    @nan_kept
    def prox(self, v: Array, t: float) -> Array:
        """Return the proximal point of each pair."""
        x, y = v[..., 0], v[..., 1]
        pair = self.moved(x, y, full(t, v)[..., 0] * self.weight)
        return namespace(v).stack(pair, axis=-1)

    @summed
    def conjugate_value(self, v: Array) -> Array:
        """Return 0 in the polar set up to rounding, else infinity."""
        xp, a, b = namespace(v), v[..., 0] / self.weight, v[..., 1] / self.weight
        # smaller numbers stay in the polar set of a function of nonnegative ones
        slack = 100 * self.accuracy * eps(v) * (1 + xp.abs(a) + xp.abs(b))
        return xp.where(self.polar(a - slack, b - slack) <= 0, 0.0 * a, inf)

    def domain(self) -> Box:
        """Return {(x, y) : x >= 0, y >= 0}."""
        return Box(0.0, inf).batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["Divergence", Shape]]:
        return [(cls(), (3, 2)), (cls(weight=0.7, axis=0), (2, 3))]  # pyright: ignore[reportCallIssue]


def scaled(x: Array, y: Array, t: Array) -> tuple[Array, Array, Array, Array]:
    """Return x, y and t over the larger of |x| and |y|, with t kept where its inverse is a number; and what divided."""
    xp = namespace(x)
    size = xp.maximum(xp.abs(x), xp.abs(y))
    size = xp.where(size > 0, size, 1.0)
    least = 16 * tiny(x)
    return x / size, y / size, xp.clip(t / size, least, 1 / least), size


def pair_of(quotient: Array, p: Array, q: Array) -> Pair:
    """Return (p, q) with that quotient: the larger of the two is believed, the other follows."""
    xp = namespace(p)
    below = quotient <= 1
    q = xp.clip(xp.where(below, q, p / xp.where(below, 1.0, quotient)), 0.0, None)
    return xp.where(below, quotient * q, xp.clip(p, 0.0, None)), q


def none_of(zero: Array, pair: Pair) -> Pair:
    """Return (0, 0) where said, else the pair."""
    xp = namespace(zero)
    return xp.where(zero, 0.0, pair[0]), xp.where(zero, 0.0, pair[1])


@dataclass(frozen=True)
class JointKullbackLeibler(Divergence):
    """The divergence of Kullback and Leibler of two variables, weight sum x log(x / y) - x + y over pairs (x, y) >= 0.

    prox((x, y), gamma) = (x - t l, y + t (exp l - 1)), t = gamma weight, with the l for which exp l is their quotient;
    0 if exp(x / t) + y / t <= 1.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int
        The axis of length 2 that holds x and y.

    References
    ----------
    El Gheche, Chierchia and Pesquet (2018), Proximity operators of discrete information divergences.

    Examples
    --------
    >>> import numpy as np
    >>> JointKullbackLeibler().prox(np.array([[2.0, 2.0], [-1.0, 0.0]]), gamma=1.0)
    array([[2., 2.],
           [0., 0.]])
    """

    weight: float = 1.0
    axis: int | None = -1
    broadcast = ()

    def of(self, x: Array, y: Array) -> Array:
        """Return x log(x / y) - x + y, infinite where y = 0 < x."""
        xp = namespace(x)
        return xp.where((y > 0) | (x == 0), x * (log_or_0(x) - log_or_0(y)) - x + y, inf)

    @np.errstate(all="ignore")
    def moved(self, x: Array, y: Array, t: Array) -> Pair:
        """Return the pair; F = q exp(l) - p is convex in l, and its root is approached from above."""
        xp = namespace(x)
        x, y, t, size = scaled(x, y, t)
        c, most = y - t, x / t
        largest = xp.log(xp.clip(barrier_root(-c / t, xp.clip(x, 0.0, None) / t), 1.0, None))  # for p <= x
        ratio = safe_log(c / t)
        # for q >= c and for q >= t exp(l)
        by_c, by_t = omega(most + ratio) - ratio, (omega(2 * most + log(2.0)) - log(2.0)) / 2
        falling = xp.where(c > 0, xp.minimum(by_c, by_t), 0.0)
        start = xp.minimum(most, xp.where(x >= y, largest, xp.clip(falling, None, 0.0)))
        least = safe_log(-c / t)  # where q = 0
        zero = (c < 0) & (most <= least)

        def F(m: Array) -> tuple[Array, Array]:
            power, q = xp.exp(m), y + t * xp.expm1(m)
            return power * q - x + t * m, power * (q + t * power) + t

        lo = xp.maximum(xp.where(x >= y, 0.0, start - 5), least)
        m = increasing_root(F, lo, start + 1e-3 * (1 + xp.abs(start)), xp.maximum(start, lo))
        p, q = none_of(zero, pair_of(xp.exp(m), x - t * m, y + t * xp.expm1(m)))
        return size * p, size * q

    def polar(self, a: Array, b: Array) -> Array:
        """Return exp(a) - 1 + b."""
        xp = namespace(a)
        return xp.expm1(xp.clip(a, None, 80.0)) + b


def log_or_0(x: Array) -> Array:
    """Return log x for x > 0, else 0."""
    xp = namespace(x)
    return xp.log(xp.where(x > 0, x, 1.0))


@dataclass(frozen=True)
class Jeffreys(Divergence):
    """The symmetric divergence of Jeffreys, weight sum (x - y) log(x / y) over pairs (x, y) >= 0.

    prox((x, y), gamma) = (x - t (l + 1 - exp(-l)), y + t (l + exp l - 1)), t = gamma weight, with the l for which exp l
    is their quotient; 0 if W(exp(1 - x / t)) W(exp(1 - y / t)) >= 1, with Lambert's function W.

    Parameters
    ----------
    weight : float
        Positive.
    axis : int
        The axis of length 2 that holds x and y.

    References
    ----------
    El Gheche, Chierchia and Pesquet (2018), Proximity operators of discrete information divergences.

    Examples
    --------
    >>> import numpy as np
    >>> Jeffreys().prox(np.array([[2.0, 2.0], [-1.0, 0.0]]), gamma=1.0)
    array([[2., 2.],
           [0., 0.]])
    """

    weight: float = 1.0
    axis: int | None = -1
    broadcast = ()

    def of(self, x: Array, y: Array) -> Array:
        """Return (x - y) log(x / y), infinite where only one of them is 0."""
        return namespace(x).where((x > 0) == (y > 0), (x - y) * (log_or_0(x) - log_or_0(y)), inf)

    @np.errstate(all="ignore")
    def moved(self, x: Array, y: Array, t: Array) -> Pair:
        """Return the pair; the larger number first, so that l >= 0, where F = q exp(l) - p is convex."""
        xp = namespace(x)
        a, b = xp.maximum(x, y), xp.minimum(x, y)
        a, b, t, size = scaled(a, b, t)
        most, least = -omega(1 - a / t), omega(1 - b / t)  # where p = 0 and where q = 0
        zero = most <= least
        largest = xp.log(xp.clip(barrier_root((t - b) / t, xp.clip(a, 0.0, None) / t), 1.0, None))  # for p <= a

        def F(m: Array) -> tuple[Array, Array]:
            power, inverse = xp.exp(m), xp.exp(-m)
            q = b + t * (m + xp.expm1(m))
            return power * q - a + t * (m - xp.expm1(-m)), power * (q + t * (1 + power)) + t * (1 + inverse)

        start, lo = xp.minimum(most, largest), xp.clip(least, 0.0, None)
        m = increasing_root(F, lo, start + 1e-3 * (1 + xp.abs(start)), xp.maximum(start, lo))
        p = xp.clip(a - t * (m - xp.expm1(-m)), 0.0, None)
        p, q = none_of(zero, (size * p, size * p * xp.exp(-m)))
        return xp.where(x >= y, p, q), xp.where(x >= y, q, p)

    def polar(self, a: Array, b: Array) -> Array:
        """Return -log(W(exp(1 - a)) W(exp(1 - b)))."""
        return -(omega(1 - a) + omega(1 - b))


@dataclass(frozen=True)
class AbsoluteDifference(Divergence):
    """The total variation of pairs, weight sum |x - y| over pairs (x, y) >= 0.

    prox((x, y), gamma) moves both by t = gamma weight towards each other, at most until they meet; if one would be
    negative, it is (max(x - t, 0), max(y - t, 0)).

    Parameters
    ----------
    weight : float
        Positive.
    axis : int
        The axis of length 2 that holds x and y.

    References
    ----------
    El Gheche, Chierchia and Pesquet (2018), Proximity operators of discrete information divergences.

    Examples
    --------
    >>> import numpy as np
    >>> AbsoluteDifference().prox(np.array([[4.0, 1.0], [-2.0, 3.0]]), gamma=1.0)
    array([[3., 2.],
           [0., 2.]])
    """

    weight: float = 1.0
    axis: int | None = -1
    broadcast = ()

    def of(self, x: Array, y: Array) -> Array:
        """Return |x - y|."""
        return namespace(x).abs(x - y)

    def moved(self, x: Array, y: Array, t: Array) -> Pair:
        """Return the pair."""
        xp = namespace(x)
        step = xp.clip(x / 2 - y / 2, -t, t)
        p, q = x - step, y + step
        inside = (p >= 0) & (q >= 0)
        p, q = xp.where(inside, p, x - t), xp.where(inside, q, y - t)
        return xp.clip(p, 0.0, None), xp.clip(q, 0.0, None)

    def polar(self, a: Array, b: Array) -> Array:
        """Return the largest of a - 1, b - 1 and a + b."""
        xp = namespace(a)
        return xp.maximum(xp.maximum(a, b) - 1, a + b)
