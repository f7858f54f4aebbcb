"""Evidence that the gradient of f is wrong.

Along a direction p, <grad f(m), p> is compared with central differences of f of several widths. Where these disagree
with each other, f has kinks or noise there and nothing is said. A mistake must also show in a difference that is
thousands of times wider, which no noise and no stairs reach.
"""

from collections.abc import Callable
from math import inf, isfinite, nan, prod, sqrt
from typing import NamedTuple, TypeVar

import numpy as np

from trisplit.arrays import Array, Values, eps, fresh_copy, from_numpy
from trisplit.arrays.batched import all_finite, inner, norm
from trisplit.problems.problem import Problem, is_indicator

Kept = TypeVar("Kept")

TOLERANCE = 3e-3  # of a slope, relative to that of a gradient of equal entries
SINGLE = 3e-6  # of the largest slope: gradients may be computed in single precision
WIDER = (3e3, 3e2)  # a mistake shows in a difference that is so many times wider, too
# Where f is asked: how far from z to the start, and the width of a difference as a power of eps. Slopes that vanish
# at z show there whatever else is wrong; farther away they do not vanish, and the wider the less noise matters.
PLACES = ((0.0, 1 / 2), (0.5, 1 / 5), (0.1, 1 / 3))
ENOUGH = 2  # places where the gradient is right, or wrong: one alone may have met a kink, or luck
FLAT = 0.2  # of the typical slope
AGREEING = (0.7, 0.85, 0.3)  # widths of more differences, which must agree where the gradient is to be wrong
ELSEWHERE = (1.0, 3.0)  # widths, the second for whom is in doubt: at the same places noise would be the same
WITHIN = (-0.83, -0.37, 0.61)  # where the gradient must say the same: else f has ripples that differences pass over
BESIDE = 100.0  # widths: a difference is taken so far beside z, where f may have a kink


class Slope(NamedTuple):
    """The slope of f along p by its gradient and by its values, and whether they contradict each other.

    `right` is None where values do not tell: they are not finite, noisy, or f has a kink.
    """

    said: float
    found: float
    right: bool | None
    typical: float = 0.0  # slope along a random direction

    @property
    def sure(self) -> bool:
        """Whether a mistake along p would have shown: f is not nearly flat there."""
        return self.right is True and abs(self.said) >= FLAT * self.typical


def gradient_fault(
    problem: Problem,
    z: Array,
    start: Array,
    gamma: float = 1.0,
    *,
    travel: float = 0.0,
    steepest: float = 0.0,
    seed: int = 0,
) -> str | None:
    """Return evidence that the gradient of f is wrong, None if it is right or nothing can be said.

    It takes 8 values of f and 2 gradients where all is well.

    Parameters
    ----------
    problem : Problem
        Of a `Product` its `base`.
    z : array
        The point that is about to be handed out.
    start : array
        Where the run began.
    gamma : float
        A step for the proximal map of g, which brings points to its domain.
    travel, steepest : float
        How far the run has been from its start, and the largest norm of a gradient on the way, if they are known.
    seed : int

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> b = np.array([3.0, 2.0, -4.0])
    >>> halved = ts.Problem(lambda x: ((x - b) @ (x - b) / 2, (x - b) / 2), ts.terms.L1(1.0))
    >>> print(gradient_fault(halved, np.array([1.0, 0.0, -2.0]), np.zeros(3)))
    along a random direction `f` falls by 3.72 per unit, its gradient says by 1.86
    >>> right = ts.Problem(lambda x: ((x - b) @ (x - b) / 2, x - b), ts.terms.L1(1.0))
    >>> gradient_fault(right, np.array([2.0, 1.0, -3.0]), np.zeros(3)) is None
    True
    """
    rng, seen = np.random.default_rng(seed), {True: [], False: [], None: []}
    with np.errstate(all="ignore"):
        inside = attempt(_to_domain, problem, start, gamma)
        start = z if inside is None else inside
        way = max(travel, norm(z - start), 1e-3 * norm(z))
        for scale in (way or 1.0, None):
            scale = scale or max(way, _of_values(problem, z)) or 1.0  # farther where values tell nothing
            for k in ELSEWHERE:
                for theta, power in PLACES:
                    width = k * scale * eps(z) ** power
                    slope = _slope(problem, z + theta * (start - z), width, gamma, steepest, rng)
                    seen[slope.right].append(slope)
                    if len(seen[False]) == ENOUGH:
                        return _in_words(max(seen[False], key=lambda slope: abs(slope.said - slope.found)))
                    if sum(slope.sure for slope in seen[True]) == ENOUGH:
                        return None
                if not seen[False]:
                    break
            if seen[True] or seen[False]:
                return None
    return None


def _of_values(problem: Problem, z: Array) -> float:
    """Return on which way f changes by its own size, 0 where that is not known."""
    value, u = attempt(problem.value, z), attempt(problem.grad, z)
    size = 0.0 if value is None or u is None or not norm(u) > 0 else float(abs(value)) / norm(u)
    return size if isfinite(size) else 0.0


def _in_words(slope: Slope) -> str:
    falls = "falls" if slope.found < 0 else "rises"
    said = slope.said if slope.found >= 0 else -slope.said
    return f"along a random direction `f` {falls} by {abs(slope.found):.3g} per unit, its gradient says by {said:.3g}"


def _slope(
    problem: Problem, center: Array, width: float, gamma: float, steepest: float, rng: np.random.Generator
) -> Slope:
    """Return the slope of f near a point along a random direction in dom g, per unit."""
    r, other = (rng.standard_normal(center.shape) for _ in range(2))
    other = other if np.vdot(r, other) >= 0 else -other  # else they may cancel
    moves = [from_numpy(BESIDE * width / float(np.linalg.norm(draw)) * draw, center) for draw in (r, other)]
    # For sets with a boundary at the center one end is beyond it; the middle of both projections is inside. Two of them
    # at each end, as a projection leaves entries at zero that another one moves.
    ends = [attempt(_to_domain, problem, center + k * move, gamma) for k in (1.0, -0.6) for move in moves]
    if any(end is None for end in ends):
        return Slope(nan, nan, None)
    a, b = (ends[0] + ends[1]) / 2, (ends[2] + ends[3]) / 2  # pyright: ignore[reportOptionalOperand]
    m, p = (a + b) / 2, (a - b) / (2 * BESIDE)
    length, u = norm(p), attempt(problem.grad, fresh_copy(m))
    if not length > 1e-3 * width or u is None or not all_finite(u):
        return Slope(nan, nan, None)
    said, found, right, typical = compare_slopes(problem.value, problem.grad, m, u, p, steepest)
    return Slope(said / length, found / length, right, typical / length)


def _to_domain(problem: Problem, x: Array, gamma: float) -> Array:
    """Return x if it is in dom g, else a point of dom g that is near."""
    inside = not is_indicator(problem.g) and problem.g.value(x) < inf
    return x if inside else problem.prox_g(x, gamma)


def compare_slopes(
    value: Callable[[Array], Values],
    grad: Callable[[Array], Array],
    x: Array,
    u: Array,
    p: Array,
    steepest: float = 0.0,
) -> Slope:
    """Compare <u, p>, u = grad(x), with differences of f from x - p to x + p, and if that fails from farther away.

    Examples
    --------
    >>> import numpy as np
    >>> x, p = np.ones(2), np.array([1e-5, 0.0])
    >>> [compare_slopes(lambda x: x @ x, grad, x, grad(x), p).right for grad in (lambda x: 2 * x, lambda x: x)]
    [True, False]
    """
    said, size, root = inner(u, p), norm(p), sqrt(prod(x.shape))
    (double, rounding), (short, more) = (central_difference(value, x, p, width) for width in (1.0, 0.5))
    typical = norm(u) * size / root
    blur = 4 * abs(short - double) + rounding + more + 10 * eps(x) * norm(u) * norm(x)
    if not isfinite(short + double) or blur > max(abs(said), abs(short), typical) / 10 or short == double == 0.0:
        return Slope(said, short, None)
    error = abs(short - said)
    if error <= blur + TOLERANCE * max(typical, abs(short)) + SINGLE * steepest * size / root:
        return Slope(said, short, True, typical)
    if any(not abs(central_difference(value, x, p, k)[0] - short) < error / 4 for k in AGREEING):
        return Slope(said, short, None)
    for k in WITHIN:
        nearby = attempt(grad, x + k * p)
        if nearby is None or not abs(inner(nearby, p) - said) < error / 4:
            return Slope(said, short, None)
    far = next((found for k in WIDER if isfinite(found := central_difference(value, x, p, k)[0])), nan)
    return Slope(said, short, False if abs(far - said) >= error / 2 else None)


def central_difference(value: Callable[[Array], Values], x: Array, p: Array, width: float = 1.0) -> tuple[float, float]:
    """Return the central difference of f along p, in units of p, and the rounding error in it."""
    ahead, behind = (nan if (f := attempt(value, x + k * p)) is None else float(f) for k in (width, -width))
    return (ahead - behind) / (2 * width), 25 * eps(x) * (abs(ahead) + abs(behind)) / width


def attempt(compute: Callable[..., Kept], *args: object) -> Kept | None:
    """Return `compute(*args)`, None where it raises: the points are ours, and f or a term need not be defined there."""
    try:
        return compute(*args)
    except Exception:
        return None
