"""Sums over entries of weight times one convex function of a number: what penalties and losses share.

A subclass of `Weighted` says what the function phi of weight 1 is, entry by entry: `phi(v)`, its proximal map
`phi_prox(v, c)` for the step c = gamma weight, its conjugate `phi_star(u)` and the Lipschitz constant `phi_slope`.
The conjugate of w phi is w phi*(u / w), and of 0 the indicator of {0}.
"""

from collections.abc import Callable
from functools import wraps
from math import inf

import numpy as np

from trisplit.arrays import Array, Shape, eps, namespace
from trisplit.arrays.batched import norm
from trisplit.errors import InputError
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import Entries, mapped, summed
from trisplit.terms.checks import fit, like, parameter

ROUNDING = 200  # units by which a point that is meant to be in a domain may miss it


def summed_or_inf(method: Callable) -> Callable[..., float]:
    """Make `method` a sum over x as `summed` does, where some entries are infinite on purpose.

    A batch is summed by a product with ones, in which NumPy may warn of infinities although the sums are right.
    """
    of_all = summed(method)

    @wraps(method)
    def quiet(self: Entries, x: Array) -> float:
        with np.errstate(invalid="ignore"):
            return of_all(self, x)

    return quiet


class Weighted(Entries, ConvexFunction):
    """The sum over entries of weight phi(x_i)."""

    weight: float | Array

    def phi(self, v: Array) -> Array:
        """Return phi entry by entry."""
        raise NotImplementedError(f"{type(self).__name__} must define `phi`")

    def phi_prox(self, v: Array, c: float | Array) -> Array:
        """Return the minimisers of c phi(y) + (y - v)^2 / 2."""
        raise NotImplementedError(f"{type(self).__name__} must define `phi_prox`")

    def phi_star(self, u: Array) -> Array:
        """Return the conjugate of phi entry by entry."""
        raise NotImplementedError(f"{type(self).__name__} must define `phi_star`")

    def phi_slope(self) -> float | Array:
        """Return the Lipschitz constant of phi."""
        return inf

    @summed_or_inf
    def value(self, v: Array) -> Array:
        """Return sum_i weight_i phi(x_i)."""
        return like(self.weight, v, "weight") * self.phi(v)

    @mapped
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return the proximal map of each entry at the step gamma * weight."""
        return self.phi_prox(v, t * like(self.weight, v, "weight"))

    @summed_or_inf
    def conjugate_value(self, u: Array) -> Array:
        """Return sum_i weight_i phi*(u_i / weight_i)."""
        xp, w = namespace(u), like(self.weight, u, "weight")
        w = xp.zeros_like(u) + w
        some = w > 0
        safe = xp.where(some, w, xp.ones_like(w))
        return xp.where(some, safe * self.phi_star(xp.where(some, u / safe, xp.zeros_like(u))), within(xp.abs(u), 0.0))

    def lipschitz(self, shape: Shape) -> float:
        """Return the norm of the Lipschitz constants of all entries."""
        for name in self.broadcast:
            fit(getattr(self, name), shape, name)
        slope = self.phi_slope()
        if not np.isfinite(slope).all():
            return inf
        return norm(fit(self.weight, shape, "weight") * fit(slope, shape, self.broadcast[0]), self.batch_ndim)


def within(u: Array, bound: float | Array) -> Array:
    """Return 0 where u <= bound up to rounding, else infinity."""
    xp = namespace(u)
    zero = xp.zeros_like(u)
    return xp.where(u <= bound + ROUNDING * eps(u) * (1.0 + xp.abs(zero + bound)), zero, zero + inf)


def soft(x: Array, threshold: float | Array) -> Array:
    """Return sign(x) max(|x| - threshold, 0)."""
    return x - namespace(x).clip(x, -threshold, threshold)


def between(x: Array, lo: float | Array, hi: float | Array) -> Array:
    """Return min(max(x, lo), hi), also where one bound is a number and the other one an array."""
    clip = namespace(x).clip
    if isinstance(lo, float | int) == isinstance(hi, float | int):
        return clip(x, lo, hi)
    return clip(clip(x, lo, None), None, hi)


def descend(F: Callable[[Array], tuple[Array, Array]], start: Array, steps: int) -> Array:
    """Return the root of F, value and slope entry by entry, by Newton's method from a start that needs no bracket.

    NumPy ends with a step so short that the error after it, of the order of its square, is less than rounding;
    elsewhere the number of steps is fixed.
    """
    t, short = start, eps(start) ** (2 / 3)
    for _ in range(steps):
        value, slope = F(t)
        step = value / slope
        t = t - step
        if type(t) is np.ndarray and (np.abs(step) <= short * np.abs(t)).all():
            break
    return t


def positives(value: object, name: str) -> float | Array:
    """Return a number or an array of numbers that are finite and positive."""
    given = parameter(value, name)
    if not np.all(np.asarray(given) > 0):
        raise InputError(f"`{name}` must be > 0, got {np.min(given)}; for example 1.0")
    return given


def signs(value: object, name: str = "labels") -> float | Array:
    """Return labels, each of them -1 or 1."""
    given = parameter(value, name)
    if not np.all(np.abs(given) == 1.0):
        wrong = np.ravel(given)[np.argmax(np.abs(np.ravel(given)) != 1.0)]
        raise InputError(f"`{name}` must be -1 or 1, got {wrong}; of labels 0 and 1, pass 2 * labels - 1")
    return given


def keep(term: object, **values: object) -> None:
    """Set fields of a frozen dataclass while it is made."""
    for name, value in values.items():
        object.__setattr__(term, name, value)
