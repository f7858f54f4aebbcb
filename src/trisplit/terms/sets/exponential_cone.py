"""The exponential cone.

Outside of the cone K and its polar a point v is a sum of two orthogonal points, its projections onto them. These lie on
the rays along (rho, 1, e^rho) and (e^rho, (1 - rho) e^rho, -1), for one number rho. The first two coordinates give

    alpha(rho) = ((rho - 1) x + y) / D,     B(rho) = (x - rho y) / D,     D = rho^2 - rho + 1,

the projection alpha (rho, 1, e^rho) and the rest B e^-rho (e^rho, (1 - rho) e^rho, -1); the third is the equation
alpha e^rho - B e^-rho = z, whose left side increases where alpha and B are positive. Newton's method would climb such
exponentials a unit at a time. Hence it is applied to G(rho) = rho - log r(rho), r the positive root of
alpha r - B / r = z, which has the same root and sign, and grows like rho.

With v scaled to size 1, rho beyond 45 in size is as good as 45: exp(-45) times it is lost next to 1.

H. A. Friberg (2023), Projection onto the exponential cone: a univariate root-finding problem, Optimization Methods and
Software 38.
"""

from dataclasses import dataclass

from trisplit.arrays import Array, Shape, namespace
from trisplit.terms.blocks import mapped
from trisplit.terms.checks import axis_or_none
from trisplit.terms.numbers import largest
from trisplit.terms.roots import increasing_root
from trisplit.terms.sets.cones import Cone, LinesOf, _with_kernel

__all__ = ["ExponentialCone"]

FAR = 45.0


@dataclass(frozen=True)
class ExponentialCone(LinesOf, Cone):
    """Indicator of the exponential cone, the closure of {(x, y, z) : y exp(x / y) <= z, y > 0}.

    prox(v) is v in the cone, 0 in the polar cone, (x, 0, max(z, 0)) if x <= 0 and y <= 0, and else a multiple of
    (rho, 1, exp(rho)), where rho = x / y at the projection is the root of one equation.

    Parameters
    ----------
    axis : int or None
        Vectors of 3 entries lie along this axis; None takes all of x as one vector.

    References
    ----------
    Friberg (2023), Projection onto the exponential cone: a univariate root-finding problem.

    Examples
    --------
    >>> import numpy as np
    >>> ExponentialCone().prox(np.array([1.0, 1.0, 1.0]), gamma=1.0).round(6)
    array([0.426306, 0.751673, 1.325367])
    """

    axis: int | None = None
    broadcast = ()
    exactly = 3
    accuracy = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the cone."""
        return _with_kernel("exponential", v, exponential)

    @classmethod
    def examples(cls) -> list[tuple["ExponentialCone", Shape]]:
        return [(cls(), (3,)), (cls(axis=0), (3, 2))]


def exponential(v: Array) -> Array:
    """Return the projections onto exponential cones: the twin of the kernel, for every library."""
    xp = namespace(v)
    one = xp.ones_like(v[..., :1])
    size = largest(v)
    size = xp.where((size > 0) & xp.isfinite(size), size, one)
    x, y, z = (v[..., i : i + 1] / size for i in range(3))

    def log(a: Array) -> Array:
        return xp.log(xp.where(a > 0, a, one))

    def per(a: Array, b: Array) -> Array:
        """Return a / b within what is not FAR; b is not zero."""
        near = xp.abs(a) < 4 * FAR * xp.abs(b)
        return xp.where(
            near,
            xp.where(near, a, one) / xp.where(near, b, one),
            xp.where((a > 0) == (b > 0), one, -one) * (4 * FAR),
        )

    edge = (x <= 0) & (y <= 0)
    inside = (y > 0) & (z > 0) & (x <= y * (log(z) - log(y)))
    polar = (x > 0) & (z < 0) & (y - x <= x * (log(-z) - log(x)))
    settled = edge | inside | polar
    # A point with an easy root in place of those that need none
    X, Y, Z = xp.where(settled, one, x), xp.where(settled, one, y), xp.where(settled, one, z)

    far = FAR * one
    from_x, from_y = 1.0 - per(Y, xp.where(X == 0, one, X)), per(X, xp.where(Y == 0, one, Y))
    lo = xp.maximum(xp.where(X > 0, from_x, -far), xp.where(Y < 0, from_y, -far))
    hi = xp.minimum(xp.where(X < 0, from_x, far), xp.where(Y > 0, from_y, far))
    lo, hi = xp.clip(lo, -FAR, FAR), xp.clip(hi, -FAR, FAR)
    hi = xp.maximum(lo, hi)
    tiny = float(xp.finfo(v.dtype).smallest_normal) * 2.0**20

    def G(rho: Array) -> tuple[Array, Array]:
        D = rho * (rho - 1.0) + 1.0
        a, b = xp.clip(((rho - 1.0) * X + Y) / D, tiny, None), xp.clip((X - rho * Y) / D, tiny, None)
        product = xp.sqrt(a) * xp.sqrt(b)
        s = xp.hypot(Z, 2.0 * product)
        larger = (xp.abs(Z) + s) / 2
        smaller = product / larger * product
        zp, zd = xp.where(Z >= 0, larger, smaller), xp.where(Z >= 0, smaller, larger)  # a r and b / r
        log_r = xp.where(Z >= 0, xp.log(larger) - xp.log(a), xp.log(b) - xp.log(larger))
        shrinking = (2.0 * rho - 1.0) / D
        slope = 1.0 + (zp * (X / (a * D) - shrinking) + zd * (Y / (b * D) + shrinking)) / s
        return rho - log_r, slope

    rho = increasing_root(G, lo, hi, lo + (hi - lo) / 2)
    D = rho * (rho - 1.0) + 1.0
    q = xp.exp(-xp.abs(rho))
    # Each side uses the coordinate that keeps its digits there
    zr = xp.clip(Z + xp.clip(X - rho * Y, 0.0, None) / D * q, 0.0, None)
    zl = xp.clip((rho - 1.0) * X + Y, 0.0, None) / D * q
    zd = xp.clip(zl - Z, 0.0, None)
    right = xp.concat([rho * (zr * q), zr * q, zr], axis=-1)
    left = xp.concat([X - zd * q, xp.clip(Y - zd * (1.0 - rho) * q, 0.0, None), zl], axis=-1)
    moved = size * xp.where(rho > 0, right, left)
    flat = xp.concat([v[..., :1], 0.0 * one, xp.clip(v[..., 2:], 0.0, None)], axis=-1)
    return xp.where(polar, xp.zeros_like(v), xp.where(edge, flat, xp.where(inside, v, moved)))
