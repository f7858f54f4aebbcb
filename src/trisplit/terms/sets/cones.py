"""Convex cones of vectors: second-order, rotated, power; and the nonpositive orthant.

A cone K contains t x for all x in K and t >= 0. Its support function is 0 on the polar cone {u : <u, x> <= 0 on K}
and infinite elsewhere; u is in the polar cone where the projection of u onto K is 0.
"""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet, zero_where
from trisplit.terms.blocks import Entries, Lines, mapped
from trisplit.terms.checks import axis_or_none, positive
from trisplit.terms.numbers import largest, row_norms, safe_norm
from trisplit.terms.roots import increasing_root

__all__ = ["NonPositive", "PowerCone", "RotatedCone", "SecondOrderCone"]


class Cone(ConvexSet):
    """A convex cone: its support function follows from its projection."""

    def support(self, u: Array) -> float:
        """Return 0 if u is in the polar cone up to rounding, else infinity."""
        k = self.batch_ndim
        slack = 100 * self.accuracy * eps(u) * (1.0 + safe_norm(u, k)) * max(prod(u.shape[k:]), 1) ** 0.5
        return zero_where(safe_norm(self.project(u), k) <= slack, u)


class LinesOf(Lines):
    """Vectors of at least `least` entries, or of exactly `exactly` if that is not 0."""

    least: ClassVar[int] = 1
    exactly: ClassVar[int] = 0

    def length(self, shape: Shape) -> int:
        """Return the length of the vectors; one that does not suit is refused."""
        n = super().length(shape)
        if (self.exactly and n != self.exactly) or n < self.least:
            need = f"of {self.exactly} entries" if self.exactly else f"of at least {self.least} entries"
            came = f"{type(self).__name__} needs vectors {need}, got {n} in x of shape {tuple(shape)}"
            raise InputError(f"{came}; `axis` says along which axis the vectors lie, None takes all of x as one")
        return n


def ahead_of_line(v: Array, t: Array, slope: float = 1.0) -> tuple[Array, Array, Array]:
    """Project (r, t) with r = ||v|| onto {r : slope r <= t}: return the factor of v, the new t and what was inside.

    The boundary is the ray along (c, s), c^2 + s^2 = 1 and s = slope c, hence the point is max(c r + s t, 0) (c, s).
    """
    xp = namespace(v)
    c, s = 1.0 / float(np.hypot(1.0, slope)), slope / float(np.hypot(1.0, slope))
    r = row_norms(v)
    inside = slope * r <= t
    along = xp.clip(c * r + s * t, 0.0, None)
    safe = xp.where(r > 0, r, xp.ones_like(r))
    # divided first: a product could overflow, and beyond the boundary along <= r / c
    factor = xp.where(inside, xp.ones_like(r), c * (along / safe))
    return factor, xp.where(inside, t, s * along), inside


@dataclass(frozen=True)
class SecondOrderCone(LinesOf, Cone):
    """Indicator of the second-order cone {(t, y) : ||y||_2 <= t}; t is the first entry of a vector.

    prox(t, y) = (t, y) in the cone, 0 if ||y|| <= -t, else (t + ||y||) / 2 (1, y / ||y||).

    Parameters
    ----------
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Bauschke (1996), Projection algorithms and monotone operators, theorem 3.3.6.

    Examples
    --------
    >>> import numpy as np
    >>> SecondOrderCone().prox(np.array([1.0, 0.0, 3.0]), gamma=1.0)
    array([2., 0., 2.])
    """

    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the cone."""
        return _with_kernel("second_order", v, second_order)

    @classmethod
    def examples(cls) -> list[tuple["SecondOrderCone", Shape]]:
        return [(cls(), (4,)), (cls(axis=0), (3, 2)), (cls(axis=1), (2, 1))]


@dataclass(frozen=True)
class RotatedCone(LinesOf, Cone):
    """Indicator of the rotated cone {(u, v, y) : ||y||_2^2 <= 2 u v, u >= 0, v >= 0}; u and v are the first entries.

    prox is that of the second-order cone in the coordinates ((u + v) / sqrt 2, (u - v) / sqrt 2, y), a rotation.

    Parameters
    ----------
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Alizadeh, Goldfarb (2003), Second-order cone programming.

    Examples
    --------
    >>> import numpy as np
    >>> RotatedCone().prox(np.array([1.0, 0.0, 0.0]), gamma=1.0)
    array([1., 0., 0.])
    """

    axis: int | None = None
    broadcast = ()
    least = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the cone."""
        xp, half = namespace(v), 0.5**0.5
        u, w, y = v[..., :1], v[..., 1:2], v[..., 2:]
        rotated = xp.concat([half * u + half * w, half * u - half * w, y], axis=-1)
        factor, t, inside = ahead_of_line(rotated[..., 1:], rotated[..., :1])
        d = factor * rotated[..., 1:2]
        # |d| <= t up to rounding, which must not make u or v negative
        ends = [xp.clip(half * t + half * d, 0.0, None), xp.clip(half * t - half * d, 0.0, None)]
        return xp.where(inside, v, xp.concat([*ends, factor * y], axis=-1))

    @classmethod
    def examples(cls) -> list[tuple["RotatedCone", Shape]]:
        return [(cls(), (4,)), (cls(axis=-1), (2, 3))]


@dataclass(frozen=True)
class PowerCone(LinesOf, Cone):
    """Indicator of the power cone {(x, y, z) : x^alpha y^(1 - alpha) >= |z|, x >= 0, y >= 0}.

    Outside of the cone and its polar, prox(x, y, z) = (a, b, sign(z) r) with 2 a = x + sqrt(x^2 + 4 alpha r (|z| - r)),
    b alike with y and 1 - alpha, and r the root of a^alpha b^(1 - alpha) = r in (0, |z|), found by Newton's method.

    Parameters
    ----------
    alpha : float
        Between 0 and 1, these excluded.
    axis : int or None
        Vectors of 3 entries lie along this axis; None takes all of x as one vector.

    References
    ----------
    Hien (2015), Differential properties of Euclidean projection onto power cone.

    Examples
    --------
    >>> import numpy as np
    >>> PowerCone(0.5).prox(np.array([0.0, 0.0, 2.0]), gamma=1.0).round(6)
    array([0.666667, 0.666667, 0.666667])
    """

    alpha: float = 0.5
    axis: int | None = None
    broadcast = ()
    exactly = 3
    accuracy = 10.0

    def __post_init__(self) -> None:
        alpha = positive(self.alpha, "alpha")
        if alpha >= 1.0:
            raise InputError(f"`alpha` must be between 0 and 1, got {alpha}; for example 0.5")
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @mapped
    @np.errstate(divide="ignore", invalid="ignore")  # at the ends of the bracket
    def project(self, v: Array) -> Array:
        """Return the nearest point of the cone."""
        xp = namespace(v)
        one = xp.ones_like(v[..., :1])
        size = largest(v)
        safe = xp.where((size > 0) & xp.isfinite(size), size, one)
        x, y, z = (v[..., i : i + 1] / safe for i in range(3))
        h = xp.abs(z)
        tiny = float(xp.finfo(v.dtype).smallest_normal)
        alphas = (self.alpha, 1.0 - self.alpha)

        def powers(a: Array, b: Array) -> Array:
            up = [xp.where(e > 0, e, one) ** alpha for e, alpha in zip((a, b), alphas, strict=True)]
            return xp.where((a > 0) & (b > 0), up[0] * up[1], 0.0 * one)

        flat = h <= tiny
        h = xp.where(flat, one, h)
        inside = (x >= 0) & (y >= 0) & (powers(x, y) >= h)
        polar = (x <= 0) & (y <= 0) & (powers(-x / alphas[0], -y / alphas[1]) >= h)

        def side(e: Array, alpha: float, part: Array) -> tuple[Array, Array, Array]:
            """Return a (or b) at r = part |z|, its logarithm, and the derivative of that with respect to part."""
            root = xp.sqrt(xp.clip(part * (1.0 - part), 0.0, None))
            s = xp.hypot(e, (2.0 * alpha**0.5) * h * root)
            up = xp.where(e > 0, (e + s) / 2, one)
            down = 2.0 * alpha / xp.where(e > 0, one, s - e) * h
            log_down = xp.log(down) + xp.log(h) + xp.log(part * (1.0 - part))
            value = xp.where(e > 0, up, down * h * (part * (1.0 - part)))
            log = xp.where(e > 0, xp.log(up), log_down)
            # (log a)' = alpha |z|^2 (1 - 2 part) / (a s), where alpha |z|^2 part (1 - part) / a = (s - e) / 2
            slope = (1.0 - 2.0 * part) * ((s - e) / (2 * s) / (part * (1.0 - part)))
            return value, log, slope

        def F(part: Array) -> tuple[Array, Array]:
            _, log_a, slope_a = side(x, alphas[0], part)
            _, log_b, slope_b = side(y, alphas[1], part)
            value = xp.log(part) + xp.log(h) - alphas[0] * log_a - alphas[1] * log_b
            return value, 1.0 / part - alphas[0] * slope_a - alphas[1] * slope_b

        least = float(xp.finfo(v.dtype).eps) / 4
        part = increasing_root(F, least * one, (1.0 - 2 * least) * one, 0.5 * one)
        a, b = side(x, alphas[0], part)[0], side(y, alphas[1], part)[0]
        a, b = (xp.where(flat, xp.clip(e, 0.0, None), moved) for e, moved in ((x, a), (y, b)))
        r = xp.where(flat, 0.0 * one, xp.where(z > 0, one, -one) * (h * part))
        moved = safe * xp.concat([a, b, r], axis=-1)
        return xp.where(inside, v, xp.where(polar & ~flat, xp.zeros_like(v), moved))

    @classmethod
    def examples(cls) -> list[tuple["PowerCone", Shape]]:
        return [(cls(0.5), (3,)), (cls(0.2, axis=0), (3, 2))]


@dataclass(frozen=True)
class NonPositive(Entries, ConvexSet):
    """Indicator of the nonpositive orthant {x : x <= 0}; prox(x) = min(x, 0).

    Examples
    --------
    >>> import numpy as np
    >>> NonPositive().prox(np.array([-2.0, 3.0]), gamma=1.0)
    array([-2.,  0.])
    """

    broadcast = ()
    name = "nonpositive"

    def project(self, x: Array) -> Array:
        """Return the negative part of `x`."""
        return namespace(x).clip(x, None, 0.0)

    def support(self, u: Array) -> float:
        """Return 0 if u >= 0, else infinity."""
        xp, k = namespace(u), self.batch_ndim
        inside = u >= 0
        return zero_where(xp.all(inside, axis=tuple(range(k, u.ndim))) if k else bool(xp.all(inside)), u)

    @classmethod
    def examples(cls) -> list[tuple["NonPositive", Shape]]:
        return [(cls(), (5,))]


def second_order(v: Array) -> Array:
    """Return the projections onto second-order cones: the twin of the kernel, for every library."""
    xp = namespace(v)
    factor, t, inside = ahead_of_line(v[..., 1:], v[..., :1])
    return xp.where(inside, v, xp.concat([t, factor * v[..., 1:]], axis=-1))


def _with_kernel(name: str, v: Array, twin: object) -> Array:
    """Project the rows of NumPy's arrays by a compiled kernel, those of other libraries by its twin."""
    if type(v) is not np.ndarray or v.dtype not in (np.float32, np.float64):
        return twin(v)  # pyright: ignore[reportCallIssue]
    from trisplit.kernels import cones

    rows = np.ascontiguousarray(v).reshape(-1, v.shape[-1])
    out = np.empty_like(rows)
    getattr(cones, name)(rows, out)
    return out.reshape(v.shape)
