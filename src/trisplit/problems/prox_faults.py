"""Evidence that the proximal map of a term is wrong.

p = prox_{gamma t}(y) minimises t(q) + ||q - y||^2 / (2 gamma), so no competitor q is better. For a convex t,
(y - p) / gamma is a subgradient at p: t(q) >= t(p) + <y - p, q - p> / gamma, which sees mistakes earlier.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import inf, nan, prod, sqrt
from typing import NamedTuple, TypeAlias

import numpy as np

from trisplit.arrays import Array, Values, as_host, eps, fresh_copy, from_numpy, to_numpy
from trisplit.arrays.batched import all_finite, column, inner, norm
from trisplit.problems.gradient_faults import attempt
from trisplit.problems.oracles import Term, is_ours
from trisplit.problems.problem import is_indicator
from trisplit.problems.product import Product
from trisplit.problems.space import Space
from trisplit.splitting.tos import Iterate
from trisplit.terms.base import BaseTerm

Prox: TypeAlias = Callable[[Array, float], Array]

TINY = 1e-300  # in place of zero in a denominator
RELATIVE = 1e-5  # error of y - prox(y) that is borne
PAIRS = 8  # pairs of points near prox(y), where its value is inf
ACCURACY = {False: 1e7, True: 1e9}  # units of rounding of a function, or set, that declares none


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
    near = chain(*(around(1e-3) for _ in range(PAIRS)), (p + k * (p - y) for k in (1e-6, 1e-3)))
    return outside(*near) and not outside(y, *around(0.3), *around(1.0), *around(30.0))
