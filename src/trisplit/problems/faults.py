"""Evidence that the gradient of f, or the proximal map of a term, is wrong; each question costs a few evaluations.

*Gradient.* Along a direction p, <grad f(m), p> is compared with two central differences of f, one twice as wide as the
other. Where these disagree with each other, f has kinks or noise there and nothing is said. A mistake must also show in
a difference that is thousands of times wider, which no noise and no stairs reach.

*Proximal map.* p = prox_{gamma t}(y) minimises t(q) + ||q - y||^2 / (2 gamma), so no competitor q is better. For a
convex t, (y - p) / gamma is a subgradient at p: t(q) >= t(p) + <y - p, q - p> / gamma, which sees mistakes earlier.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import inf, isfinite, nan, prod, sqrt
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from trisplit.arrays import Array, Values, as_host, eps, fresh_copy, from_numpy, to_numpy
from trisplit.arrays.batched import all_finite, column, inner, norm
from trisplit.problems.oracles import Term, is_ours
from trisplit.problems.problem import Problem, is_indicator
from trisplit.problems.product import Product
from trisplit.problems.space import Space
from trisplit.splitting.tos import Iterate
from trisplit.terms.base import BaseTerm

Kept = TypeVar("Kept")
Prox: TypeAlias = Callable[[Array, float], Array]

TINY = 1e-300  # in place of zero in a denominator
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
AROUND = 100.0  # widths: a difference is taken so far beside z, where f may have a kink
RELATIVE = 1e-5  # error of y - prox(y) that is borne
NEAR = 8  # pairs of points near prox(y), where its value is inf
ACCURACY = {False: 1e7, True: 1e9}  # units of rounding of a function, or set, that declares none


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
        """Whether a mistake would have shown: f is not nearly flat along p."""
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
    moves = [from_numpy(AROUND * width / float(np.linalg.norm(draw)) * draw, center) for draw in (r, other)]
    # For sets with a boundary at the center one end is beyond it; the middle of both projections is inside. Two of them
    # at each end, as a projection leaves entries at zero that another one moves.
    ends = [attempt(_to_domain, problem, center + k * move, gamma) for k in (1.0, -0.6) for move in moves]
    if any(end is None for end in ends):
        return Slope(nan, nan, None)
    a, b = (ends[0] + ends[1]) / 2, (ends[2] + ends[3]) / 2  # pyright: ignore[reportOptionalOperand]
    m, p = (a + b) / 2, (a - b) / (2 * AROUND)
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


class Proximal(NamedTuple):
    """A proximal point and what a competitor is compared with; of a batch, with numbers for each problem.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> y, too_far = np.array([3.0]), np.array([1.0])
    >>> Proximal.of(ts.terms.L1(1.0), y, too_far, 1.0).loses_to(np.array([2.0]))
    True
    >>> Proximal.of(ts.terms.L1(1.0), y, np.array([2.0]), 1.0).loses_to(too_far)
    False
    """

    term: Term
    y: Array
    p: Array
    gamma: float
    batch_ndim: int
    n: Array  # y - p
    size: Values  # of n
    t_p: Values
    miss: Values  # by how much p may be beside the minimiser
    blur: Values  # by how much gamma t may be wrong at p

    @classmethod
    def of(cls, term: Term, y: Array, p: Array, gamma: float, batch_ndim: int = 0) -> "Proximal":
        k, declared = batch_ndim, getattr(term, "accuracy", None) if isinstance(term, BaseTerm) else None
        units = eps(y) * (ACCURACY[is_indicator(term)] if declared is None else declared)
        root = sqrt(max(prod(y.shape[k:]), 1))
        n, t_p = y - p, _value(term, p)
        size, of_p, of_y = (np.asarray(norm(x, k)) for x in (n, p, y))
        miss = 300 * units * root * (1.0 + of_p + of_y)
        # Near the boundary of a domain a function is so steep that rounding of p matters.
        nearby = _value(term, p - _times(np.minimum(miss / np.maximum(size, TINY), 1.0), n))
        blur = gamma * np.where(np.isfinite(nearby - t_p), 4 * np.abs(nearby - t_p), 0.0)
        numbers = size, t_p, miss, blur
        return cls(term, y, p, gamma, k, n, *(numbers if k else map(float, numbers)))

    def loses_to(self, q: Array) -> bool:
        """Say whether q is better than p in any problem, beyond rounding."""
        return bool(np.any(self.fall(q) > 0))

    def fall(self, q: Array) -> Values:
        """Return by how much t + ||. - y||^2 / (2 gamma) falls per unit from p to q, 0 if that may be rounding."""
        k, size, move, t_q = self.batch_ndim, self.size, q - self.p, _value(self.term, q)
        along, distance = inner(self.n, move, k), norm(move, k)
        if k:
            along, distance = np.asarray(along), np.asarray(distance)
        curved = 0.0 if getattr(self.term, "convex", False) else distance**2 / 2
        excess = self.gamma * (self.t_p - t_q) + along - curved
        values = 1e3 * eps(q) * self.gamma * (0.01 + abs(self.t_p) + abs(t_q))
        margin = RELATIVE * size * distance + self.miss * (size + distance) + values + self.blur
        if not k:  # what is infinite or NaN is no evidence
            return excess / (self.gamma * distance) if excess > margin and distance > 0.0 else 0.0
        return np.where(excess > margin, excess / (self.gamma * np.maximum(distance, TINY)), 0.0)

    def competitors(self, generator: np.random.Generator, *, few: bool = False) -> Iterator[Array]:
        """Yield points on the lines through p and y, through p and 0, and through p at random."""
        p, n, r = self.p, self.n, noise(self.p, generator)
        moves = [n, n / 10, p / 3, r / 3]
        if not few:
            of_p = np.asarray(norm(p, self.batch_ndim))
            short = _times(np.minimum(of_p / np.maximum(self.size, TINY), 1.0) / 10, n)
            moves += [short, p / 100, r / 100]
        for move in moves:
            yield from (p + move, p - move)


def noise(x: Array, generator: np.random.Generator) -> Array:
    """Return random numbers of the size of the entries of x, of size 1 where x is zero."""
    size = float(np.sqrt(np.mean(to_numpy(x) ** 2))) or 1.0
    return from_numpy(size * generator.standard_normal(x.shape), x)


def attempt(compute: Callable[..., Kept], *args: object) -> Kept | None:
    """Return `compute(*args)`, None where it raises: the points are ours, and f or a term need not be defined there."""
    try:
        return compute(*args)
    except Exception:
        return None


def _value(term: Term, x: Array) -> Values:
    """Return the value of a term on the host, NaN where it has none; of a batch one for each problem."""
    value = attempt(term.value, x)
    return value if type(value) is float else np.asarray(nan if value is None else as_host(value), dtype=float)


def _times(numbers: np.ndarray, x: Array) -> Array:
    """Return the x of each problem times its number."""
    return column(from_numpy(numbers, x), x) * x


def prox_fault(problem: Space, made: Iterate, others: Sequence[Array] = (), seed: int = 0) -> tuple[int, str] | None:
    """Return which term has a wrong proximal map, with evidence, by what it makes of the points of an iterate.

    Terms of this package are not asked, others for two proximal maps and some twenty values.

    Parameters
    ----------
    problem : Problem or Product
    made : Iterate
    others : sequence of arrays
        More competitors, such as the start.
    seed : int
        For competitors beside the proximal points.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> class Forgetful(ts.terms.L1):
    ...     def prox(self, x, gamma):
    ...         return super().prox(x, 1.0)
    >>> problem = ts.Problem(lambda x: (((x - 3) ** 2).sum() / 2, x - 3), [ts.terms.Box(-9, 9), Forgetful()])
    >>> made = next(ts.tos(problem, np.zeros(2), 0.5))
    >>> print(*prox_fault(problem, made))
    1 prox(y, 0.5) is not the minimiser: value(x) + ||x - y||^2 / (2 gamma) falls by 1.41 per unit towards another point
    """
    gamma, base, generator = float(made.gamma), problem.base, np.random.default_rng(seed)
    reflected = 2 * made.z - made.y - gamma * made.u
    asked = problem.of_terms(made.y) if isinstance(problem, Product) else [made.y, reflected]
    for i, y in enumerate(asked):
        if is_ours(base.terms[i]):
            continue
        # A map that takes another gamma for its own may be right for one; that of a set feels none.
        for step in (gamma,) if is_indicator(base.terms[i]) else (gamma, gamma / 3):
            with np.errstate(all="ignore"):
                fault = _fault_at(base.terms[i], base.proxes[i], y, step, (*problem.reached(made), *others), generator)
            if fault is not None:
                return i, fault
    return None


def _fault_at(
    term: Term, prox: Prox, y: Array, gamma: float, others: Sequence[Array], generator: np.random.Generator
) -> str | None:
    """Return evidence that a proximal map is wrong at y."""
    p = attempt(prox, fresh_copy(y), gamma)
    if p is None or not all_finite(p):
        return None
    point, name = Proximal.of(term, y, p, gamma), f"prox(y, {gamma:.3g})"
    if np.isposinf(point.t_p):
        return f"{name} ends where `value` is inf" if _is_outside(prox, point, generator) else None
    if is_indicator(term) and _holds_all(point, generator):
        return None
    fall = max(float(point.fall(q)) for q in (*others, *point.competitors(generator, few=True)))
    what = "value(x) + ||x - y||^2 / (2 gamma)"
    return (
        f"{name} is not the minimiser: {what} falls by {fall:.3g} per unit towards another point" if fall > 0 else None
    )


def _holds_all(point: Proximal, generator: np.random.Generator) -> bool:
    """Say whether the `value` of a set calls all points inside: then it was not meant to be asked."""
    far = 1e6 * noise(point.p, generator)
    return all(float(_value(point.term, x)) < inf for x in (point.p + far, point.p - far))


def _is_outside(prox: Prox, point: Proximal, generator: np.random.Generator) -> bool:
    """Say whether a proximal point of infinite value is farther from the domain than by rounding.

    All points that are tried near it are outside, too, and one that is far away is not.
    """
    y, p = point.y, point.p
    size = norm(p) + norm(y) or 1.0

    def outside(*points: Array) -> bool:
        return all(np.all(np.isposinf(_value(point.term, x))) for x in points)

    def around(reach: float) -> Iterator[Array]:
        r = noise(p, generator)
        a, b = (prox(p + k * reach * size / norm(r) * r, point.gamma) for k in (1.0, -1.0))
        yield from (a, b, (a + b) / 2)

    # Sets whose `value` knows no tolerance contain few of these, but some.
    near = chain(*(around(1e-3) for _ in range(NEAR)), (p + k * (p - y) for k in (1e-6, 1e-3)))
    return outside(*near) and not outside(y, *around(0.3), *around(1.0), *around(30.0))
