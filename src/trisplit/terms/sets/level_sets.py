"""Level sets {x : g(x) <= level} of convex functions.

Outside, the projection is prox(x, s) of g with s > 0 such that g(prox(x, s)) = level: one equation, whose left side
falls as s grows.

H. H. Bauschke, P. L. Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, section 29.5.
"""

from dataclasses import dataclass
from math import inf, log

import numpy as np

from trisplit.arrays import Array, Shape, any_true, namespace, readable, without_history
from trisplit.arrays.batched import column
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm, ConvexSet, zero_where
from trisplit.terms.blocks import Lines, mapped
from trisplit.terms.checks import axis_or_none, like, nonnegative, parameter, positive
from trisplit.terms.roots import falling_root_of_logarithm, increasing_root, largest_logarithm

__all__ = ["KullbackLeiblerLevelSet", "LevelSet"]

LARGEST = 1e15  # entries up to which a set is known to be empty


@dataclass(frozen=True, eq=False)
class LevelSet(ConvexSet):
    """Indicator of the level set of a convex term g, {x : g(x) <= level}.

    prox(x) is that of g with a step s such that its value is the level. log(s) is found by interpolation and bisection,
    some twenty proximal maps of g, under a compiler or on a GPU a hundred. If the level lies below all values of g, the
    set is empty and the result means nothing; if it is the least value, the result is a rough one.

    Parameters
    ----------
    term : term
        A convex function with `value` and `prox`.
    level : float
        Above the least value of the term.

    References
    ----------
    Bauschke, Combettes (2017), Convex analysis and monotone operator theory in Hilbert spaces, section 29.5.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> LevelSet(L1(), 1.0).prox(np.array([2.0, 0.5]), gamma=1.0).round(6)
    array([1., 0.])
    """

    term: BaseTerm
    level: float = 1.0
    broadcast = ()
    parts = ("term",)

    def __post_init__(self) -> None:
        if not getattr(self.term, "convex", False) or getattr(self.term, "indicator", False):
            raise InputError(f"`term` must be a convex function, got {type(self.term).__name__}; for example L1()")
        level = parameter(self.level, "level")
        if isinstance(level, np.ndarray):
            raise InputError(f"`level` must be one number, got an array of shape {level.shape}; pass a float")
        object.__setattr__(self, "level", level)

    @property
    def cost(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term, many times."""
        return self.term.cost

    @property
    def accuracy(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The step is found up to rounding of the value of the term."""
        return 100.0 * self.term.accuracy

    @property
    def host(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term."""
        return self.term.host

    def project(self, x: Array) -> Array:
        """Return the proximal point of the term whose value is the level."""
        with np.errstate(over="ignore"):  # far outside, values may be infinite
            return self._project(x)

    def value(self, x: Array) -> float:
        """Return 0.0 if the term is at most `level` at `x`, or `x` is next to such a point, up to rounding."""
        k = self.batch_ndim
        below = self.term.value(x) <= self.level
        return zero_where(below, x) if k == 0 and below else super().value(x)

    def _project(self, x: Array) -> Array:
        xp, k = namespace(x), self.batch_ndim
        # A batch of one, so that values are arrays, which a compiler can follow
        rows = x if k else xp.expand_dims(x, axis=0)
        term = self.term.batched(max(k, 1))

        def excess(log_s: Array) -> Array:
            """Return value - level after a step of s."""
            return term.value(term.prox(rows, column(xp.exp(log_s), rows))) - self.level  # pyright: ignore

        before = term.value(rows)
        ones = xp.ones_like(before)  # pyright: ignore[reportArgumentType]
        inside = before <= self.level
        far = largest_logarithm(x)
        log_s = falling_root_of_logarithm(excess, ones, far)
        moved = term.prox(rows, column(xp.exp(log_s), rows))  # pyright: ignore[reportArgumentType]
        # After the longest step the term is at its minimum, unless x was too far away for that.
        if readable(x) and not any_true(xp.abs(x) >= LARGEST):
            above = without_history(excess(far * ones))
            if any_true(~inside & (above > 1e-6 * (1.0 + abs(self.level)))):  # pyright: ignore[reportArgumentType]
                least = self.level + float(xp.max(above))
                raise InputError(f"`level` is {self.level} but the term is at least {least:.4g}; choose a larger one")
        found = xp.where(column(inside, rows), rows, moved)  # pyright: ignore[reportArgumentType]
        return found if k else found[0, ...]

    @classmethod
    def examples(cls) -> list[tuple["LevelSet", Shape]]:
        from trisplit.terms.norms.l1 import L1, SquaredL2

        return [(cls(L1(0.7), 0.5), (4,)), (cls(SquaredL2(), 2.0), (2, 2))]


@dataclass(frozen=True, eq=False)
class KullbackLeiblerLevelSet(Lines, ConvexSet):
    """Indicator of {x >= 0 : sum_i (scale x_i - data_i + data_i log(data_i / (scale x_i))) <= level}.

    Outside, 2 prox(x)_i = a_i + sqrt(a_i^2 + 4 s data_i) with a_i = x_i - scale s, and s > 0 such that the sum is the
    level, found by Newton's method for log(s). It is the set of intensities that fit Poisson counts `data`.

    Parameters
    ----------
    data : float or array
        Nonnegative, as long as the vectors; 0 log 0 is 0.
    level : float
        Positive.
    scale : float
        Positive.
    axis : int or None
        Vectors lie along this axis; None takes all of x as one vector.

    References
    ----------
    Carlavan, Blanc-Feraud (2012), Sparse Poisson noisy image deblurring.

    Examples
    --------
    >>> import numpy as np
    >>> KullbackLeiblerLevelSet(1.0, level=2.0).prox(np.array([1.0, 2.0]), gamma=1.0)
    array([1., 2.])
    """

    data: float | Array = 1.0
    level: float = 1.0
    scale: float = 1.0
    axis: int | None = None
    broadcast = ("data",)
    accuracy = 100.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", nonnegative(self.data, "data"))
        object.__setattr__(self, "level", positive(self.level, "level"))
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @mapped
    def project(self, v: Array) -> Array:
        """Return the nearest point of the set."""
        xp, alpha = namespace(v), self.scale
        z = like(self.data, v, "data") + xp.zeros_like(v)
        has = z > 0
        one, none = xp.ones_like(v), xp.zeros_like(v)

        def divergence(p: Array) -> Array:
            """Return the sum, infinite where p is not positive and z is."""
            good = has & (p > 0)
            ratio = xp.where(good, alpha * xp.where(good, p, one) / xp.where(good, z, one), one)
            # p - z - z log(p / z) loses all digits near p = z
            near = good & (xp.abs(ratio - 1.0) < 0.5)
            shift = xp.where(near, (alpha * p - z) / xp.where(good, z, one), none)
            each = xp.where(near, shift - xp.log1p(shift), ratio - 1.0 - xp.log(ratio))
            each = xp.where(has, xp.where(p > 0, z * each, inf * one), alpha * p)
            return xp.sum(each, axis=-1, keepdims=True)

        def step(s: Array) -> tuple[Array, Array]:
            """Return the proximal point, and its derivative with respect to log(s)."""
            a = v - alpha * s
            root = xp.hypot(a, 2.0 * xp.sqrt(s) * xp.sqrt(z))
            safe = xp.where(root > 0, root, one)
            lower = 2.0 * (s / xp.where(a > 0, one, safe - a)) * z
            p = xp.where(a > 0, (a + root) / 2, lower)
            return p, xp.where(root > 0, (s / safe) * (z - alpha * p), none)

        def F(log_s: Array) -> tuple[Array, Array]:
            p, moved = step(xp.exp(log_s))
            value = divergence(p)
            per = xp.where(has, alpha - z / xp.where(p > 0, p, one), alpha * one)
            slope = xp.sum(per * moved, axis=-1, keepdims=True)
            value = xp.clip(value, float(xp.finfo(v.dtype).smallest_normal), None)
            return log(self.level) - xp.log(value), -slope / value

        nonnegative_ = xp.all(v >= 0, axis=-1, keepdims=True)
        inside = nonnegative_ & (divergence(xp.clip(v, 0.0, None)) <= self.level)
        far = largest_logarithm(v) - abs(log(alpha))
        ends = xp.ones_like(v[..., :1])
        log_s = increasing_root(F, -far * ends, far * ends, 0.0 * ends)
        return xp.where(inside, v, step(xp.exp(log_s))[0])

    @classmethod
    def examples(cls) -> list[tuple["KullbackLeiblerLevelSet", Shape]]:
        return [(cls(1.5, 0.4), (4,)), (cls(np.array([1.0, 0.0, 3.0]), 0.7, 2.0, axis=1), (2, 3))]
