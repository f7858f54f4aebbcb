"""Divergences of pairs (x, y) by powers of their quotient; both arguments are variables, as in `joint_divergences`."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.errors import InputError
from trisplit.terms.barriers.equations import power_balance, safe_log
from trisplit.terms.checks import positive
from trisplit.terms.divergences.pairs import Divergence, Pair, log_or_0, none_of, pair_of

__all__ = ["ChiSquare", "Hellinger", "IAlpha", "Renyi"]

FAR = 1e6  # a logarithm beyond all numbers


@np.errstate(all="ignore")
def renyi_quotient(x: Array, y: Array, t: Array, alpha: float) -> tuple[Array, Array]:
    """Return l for x^alpha / y^(alpha - 1), where x > 0, and where the proximal point is 0."""
    xp = namespace(x)
    log_t = xp.log(t)
    log_p, log_q = log_t + log(alpha), log_t + log(alpha - 1)
    x = xp.where(x > 0, x, 1.0)
    # t (alpha - 1) e^(alpha + 1) + t alpha e^(alpha - 1) + y e = x, each term on the side where it is positive
    left = [(log_q, alpha + 1), (log_p, alpha - 1), (safe_log(y), 1.0)]
    right = [(xp.log(x), 0.0), (safe_log(-y), 1.0)]
    least = xp.where(y < 0, (safe_log(-y) - log_q) / alpha, -FAR)  # where q = 0
    most = (xp.log(x) - log_p) / (alpha - 1)  # where p = 0
    return power_balance(left, right, least, xp.maximum(most, least)), least >= most


@dataclass(frozen=True)
class Renyi(Divergence):
    """The divergence of Renyi, weight sum x^alpha / y^(alpha - 1) over pairs (x, y) >= 0.

    prox((x, y), gamma) = (x - t alpha e^(alpha - 1), y + t (alpha - 1) e^alpha), t = gamma weight, with the e that is
    their quotient; (0, max(y, 0)) if x <= 0.

    Parameters
    ----------
    alpha : float
        Above 1.
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
    >>> Renyi(2.0).prox(np.array([[4.0, 1.0], [-1.0, 2.0]]), gamma=1.0)
    array([[2., 2.],
           [0., 2.]])
    """

    alpha: float = 2.0
    weight: float = 1.0
    axis: int | None = -1
    broadcast = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", above_one(self.alpha))

    def of(self, x: Array, y: Array) -> Array:
        """Return x^alpha / y^(alpha - 1), infinite where y = 0 < x."""
        return perspective_power(x, y, self.alpha)

    @np.errstate(all="ignore")
    def moved(self, x: Array, y: Array, t: Array) -> Pair:
        """Return the pair."""
        xp, alpha = namespace(x), self.alpha
        m, zero = renyi_quotient(x, y, t, alpha)
        p, q = xp.exp(xp.log(t) + log(alpha) + (alpha - 1) * m), xp.exp(xp.log(t) + log(alpha - 1) + alpha * m)
        p, q = none_of(zero, pair_of(xp.exp(m), x - p, y + q))
        return xp.where(x > 0, p, 0.0), xp.where(x > 0, q, xp.clip(y, 0.0, None))

    def polar(self, a: Array, b: Array) -> Array:
        """Return (alpha - 1) (max(a, 0) / alpha)^(alpha / (alpha - 1)) + b."""
        xp, alpha = namespace(a), self.alpha
        power = xp.exp(safe_log(a / alpha) * (alpha / (alpha - 1)))
        return xp.where(a > 0, (alpha - 1) * power, 0.0) + b

    @classmethod
    def examples(cls) -> list[tuple["Renyi", Shape]]:
        return [(cls(), (3, 2)), (cls(1.5, 0.7, axis=0), (2, 3)), (cls(4.0), (2, 2))]


def above_one(alpha: object) -> float:
    """Return `alpha` as a float above 1."""
    given = positive(alpha, "alpha")  # pyright: ignore[reportArgumentType]
    if given <= 1:
        raise InputError(f"`alpha` must be > 1, got {given}; for example 2.0")
    return given


def perspective_power(x: Array, y: Array, alpha: float) -> Array:
    """Return x^alpha / y^(alpha - 1) for x, y >= 0, infinite where y = 0 < x."""
    xp = namespace(x)
    quotient = xp.where(y > 0, x, 0.0) / xp.where(y > 0, y, 1.0)
    power = xp.where(x > 0, x * xp.where(quotient > 0, quotient, 1.0) ** (alpha - 1), 0.0)
    return xp.where((y > 0) | (x == 0), power, inf)


@dataclass(frozen=True)
class ChiSquare(Divergence):
    """The chi-square divergence, weight sum (x - y)^2 / y over pairs (x, y) >= 0.

    prox((x, y), gamma) = (x - 2 t (e - 1), y + t (e^2 - 1)), t = gamma weight, with the e that is their quotient;
    (0, max(y - t, 0)) if x <= -2 t.

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
    >>> ChiSquare().prox(np.array([[2.0, 2.0], [-3.0, 2.0]]), gamma=1.0)
    array([[2., 2.],
           [0., 1.]])
    """

    weight: float = 1.0
    axis: int | None = -1
    broadcast = ()

    def of(self, x: Array, y: Array) -> Array:
        """Return (x - y)^2 / y, infinite where y = 0 < x."""
        xp = namespace(x)
        quotient = (x - y) / xp.where(y > 0, y, 1.0)
        return xp.where(y > 0, (x - y) * quotient, xp.where(x > 0, inf, 0.0 * x))

    @np.errstate(all="ignore")
    def moved(self, x: Array, y: Array, t: Array) -> Pair:
        """Return the pair: Renyi's of (x + 2 t, y - t), whose quotient is then refined, as a large t drowns x and y."""
        xp = namespace(x)
        m, zero = renyi_quotient(x + 2 * t, y - t, t, 2.0)

        def F(m: Array) -> tuple[Array, Array]:
            power, q = xp.exp(m), y + t * xp.expm1(2 * m)
            return power * q - x + 2 * t * xp.expm1(m), power * (q + 2 * t * power * power + 2 * t)

        m = refined(F, m)
        p, q = none_of(zero, pair_of(xp.exp(m), x - 2 * t * xp.expm1(m), y + t * xp.expm1(2 * m)))
        inside = x > -2 * t
        return xp.where(inside, p, 0.0), xp.where(inside, q, xp.clip(y - t, 0.0, None))

    def polar(self, a: Array, b: Array) -> Array:
        """Return max(a + 2, 0)^2 / 4 - 1 + b, without cancellation."""
        return namespace(a).where(a > -2, a * (1 + a / 4), -1.0) + b


def refined(F: Callable[[Array], tuple[Array, Array]], m: Array) -> Array:
    """Return a root after a few more steps of Newton's method, from a point next to it."""
    xp = namespace(m)
    for _ in range(3):
        value, slope = F(m)
        step = value / xp.where(slope > 0, slope, 1.0)
        m = xp.where((slope > 0) & xp.isfinite(step) & (xp.abs(step) < 0.1), m - step, m)
    return m


@np.errstate(all="ignore")
def ialpha_quotient(x: Array, y: Array, t: Array, beta: float) -> tuple[Array, Array]:
    """Return l for -x^beta y^(1 - beta), and where the proximal point is 0."""
    xp = namespace(x)
    log_p, log_q = xp.log(t) + log(beta), xp.log(t) + log(1 - beta)
    # t (1 - beta) e^(1 + beta) + y e = x + t beta e^(beta - 1), each term on the side where it is positive
    left = [(log_q, 1 + beta), (safe_log(y), 1.0), (safe_log(-x), 0.0)]
    right = [(safe_log(x), 0.0), (log_p, beta - 1), (safe_log(-y), 1.0)]
    least = xp.where(y < 0, (safe_log(-y) - log_q) / beta, -FAR)  # where q = 0
    most = xp.where(x < 0, (log_p - safe_log(-x)) / (1 - beta), FAR)  # where p = 0
    return power_balance(left, right, least, xp.maximum(most, least)), least >= most


@dataclass(frozen=True)
class IAlpha(Divergence):
    """The I-divergence of order alpha, -weight sum x^(1 / alpha) y^(1 - 1 / alpha) over pairs (x, y) >= 0.

    prox((x, y), gamma) = (x + t b e^(b - 1), y + t (1 - b) e^b), with b = 1 / alpha, t = gamma weight and the e that is
    their quotient; 0 where the two have no such e.

    Parameters
    ----------
    alpha : float
        Above 1.
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
    >>> IAlpha(2.0).prox(np.array([[1.0, 1.0], [-2.0, -2.0]]), gamma=1.0)
    array([[1.5, 1.5],
           [0. , 0. ]])
    """

    alpha: float = 2.0
    weight: float = 1.0
    axis: int | None = -1
    broadcast = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", above_one(self.alpha))

    def of(self, x: Array, y: Array) -> Array:
        """Return -x^(1 / alpha) y^(1 - 1 / alpha)."""
        xp, inside = namespace(x), (x > 0) & (y > 0)
        logs = log_or_0(x) / self.alpha + log_or_0(y) * (1 - 1 / self.alpha)
        return xp.where(inside, -xp.exp(logs), 0.0)

    @np.errstate(all="ignore")
    def moved(self, x: Array, y: Array, t: Array) -> Pair:
        """Return the pair."""
        xp, beta = namespace(x), 1 / self.alpha
        m, zero = ialpha_quotient(x, y, t, beta)
        p, q = xp.exp(xp.log(t) + log(beta) + (beta - 1) * m), xp.exp(xp.log(t) + log(1 - beta) + beta * m)
        return none_of(zero, pair_of(xp.exp(m), x + p, y + q))

    def polar(self, a: Array, b: Array) -> Array:
        """Return -log((-a / c)^c (-b / (1 - c))^(1 - c)) with c = 1 / alpha, and 1 unless a, b < 0."""
        xp, beta = namespace(a), 1 / self.alpha
        logs = beta * (log_or_0(-a) - log(beta)) + (1 - beta) * (log_or_0(-b) - log(1 - beta))
        return xp.where((a < 0) & (b < 0), -logs, 1.0)

    @classmethod
    def examples(cls) -> list[tuple["IAlpha", Shape]]:
        return [(cls(), (3, 2)), (cls(1.5, 0.7, axis=0), (2, 3)), (cls(4.0), (2, 2))]


@dataclass(frozen=True)
class Hellinger(Divergence):
    """The squared distance of Hellinger, weight sum (sqrt x - sqrt y)^2 over pairs (x, y) >= 0.

    prox((x, y), gamma) = (x + t (e^-1/2 - 1), y + t (e^1/2 - 1)), t = gamma weight, with the e that is their quotient;
    0 if x, y < t and (1 - x / t) (1 - y / t) >= 1.

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
    >>> Hellinger().prox(np.array([[2.0, 2.0], [-1.0, 0.0]]), gamma=1.0)
    array([[2., 2.],
           [0., 0.]])
    """

    weight: float = 1.0
    axis: int | None = -1
    broadcast = ()

    def of(self, x: Array, y: Array) -> Array:
        """Return (sqrt x - sqrt y)^2."""
        xp = namespace(x)
        one, other = (xp.where(z > 0, xp.sqrt(xp.where(z > 0, z, 1.0)), 0.0) for z in (x, y))
        return (one - other) ** 2

    @np.errstate(all="ignore")
    def moved(self, x: Array, y: Array, t: Array) -> Pair:
        """Return the pair: that of -2 t sqrt(x y) at (x - t, y - t), whose quotient is then refined."""
        xp = namespace(x)
        m = ialpha_quotient(x - t, y - t, 2 * t, 0.5)[0]
        a, b = x / t, y / t
        zero = (a < 1) & (b < 1) & (a + b <= a * b)

        def F(m: Array) -> tuple[Array, Array]:
            power, inverse = xp.exp(m / 2), xp.exp(-m / 2)
            up, down = power * (y + t * xp.expm1(m / 2)), inverse * (x + t * xp.expm1(-m / 2))
            return up - down, (up + down + t * (power * power + inverse * inverse)) / 2

        m = refined(F, m)
        pair = pair_of(xp.exp(m), x + t * xp.expm1(-m / 2), y + t * xp.expm1(m / 2))
        return none_of(zero, pair)

    def polar(self, a: Array, b: Array) -> Array:
        """Return 1 - (1 - a) (1 - b), and 1 unless a, b < 1."""
        return namespace(a).where((a < 1) & (b < 1), a + b - a * b, 1.0)
