"""Directions along which phi = f + terms falls for ever.

If d is a recession direction of every domain and phi(p + s d) falls with s at a rate that does not fade, phi has no
minimum. Of f only values are known, so this is tried far beyond everything that the run has seen: s up to 1e14 times
that. Along a convex function slopes only rise, so that the last one counts:

- *proven*: the slopes of the last three pieces agree and every term declares itself convex. That is the slope of the
  recession function, as far as numbers of double precision can tell.
- *evidence*: phi falls linearly in the end, or ever faster, or as a logarithm does, by no less in each piece than in
  the one before. Where falls fade, as those of exp(-s), 1/s or s^-0.1 do, nothing is said.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from trisplit.arrays import Array, eps, kind_of, none_if_failed
from trisplit.arrays.batched import all_finite, norm
from trisplit.errors import InputError
from trisplit.problems.common_points import Projection, near_to_all
from trisplit.problems.oracles import Smooth, Term, ValueAndGrad
from trisplit.problems.problem import Problem, is_indicator
from trisplit.terms import Free

# How far a direction is followed, relative to the size of all that was seen: so far that offsets of sets are nothing.
REACH = 1e14
PIECES = (1.0, REACH**0.25, REACH**0.5, REACH**0.75, REACH)  # where phi is evaluated
ATTEMPTS, SWEEPS, STEPS = 3, 2, 10  # through the domains, and towards all of them, to find a point or a direction
OFF, TILTED = 1e-9, 1e-11  # how far a point may be off a domain, and a direction, relative to its size
LEAST = 1e-7  # of the natural slope
SLOWLY = 1e-2  # of a natural fall of phi, where that is a logarithm's: in each piece of the way
SLIVER, STILL_FALLING = 1e-3, 0.1  # of the way: its end, and the slope there; that of a logarithm is 0.17 of the mean
STRAIGHT = 1e-3  # by how much slopes along a line may differ
DOUBLE = 1e-15  # machine epsilon
SHORTEST = 1e-3  # what is left of a direction of norm 1 where it is one of recession


class Recession(NamedTuple):
    """A direction along which phi falls from a point of all domains, never to rise.

    Attributes
    ----------
    point, direction : array
        The direction has norm 1.
    slope : float
        That of phi at the far end, negative.
    proven : bool
        Whether phi falls along a line and all terms are convex; else it is evidence.
    reach : float
        How far from the point this was tried.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (-x.sum(), -np.ones_like(x)), ts.terms.NonNegative())
    >>> found = recede(problem, np.ones(2), [np.ones(2)], scale=1.0, slope=1.0)
    >>> found.direction.round(3), round(found.slope, 3), found.proven
    (array([0.707, 0.707]), -1.414, True)
    """

    point: Array
    direction: Array
    slope: float
    proven: bool
    reach: float


def recede(problem: Problem, z: Array, directions: Sequence[Array], scale: float, slope: float) -> Recession | None:
    """Return a direction along which phi falls for ever, None if none is found.

    Parameters
    ----------
    problem : Problem
    z : array
        A point of all domains is sought near it; far away, rounding would hide that there is none.
    directions : sequence of arrays
        Where to look, such as the latest moves of z; minus the gradient of f is tried before them.
    scale, slope : float
        The size of all that was seen, and a slope of phi that is natural for the problem.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (np.exp(-x).sum(), -np.exp(-x)), ts.terms.NonNegative())
    >>> recede(problem, np.ones(2), [np.ones(2)], scale=1.0, slope=1.0) is None
    True
    """
    if not (0 < scale < inf and 0 < slope < inf and all_finite(z)) or problem.is_bounded(tuple(z.shape)):
        return None
    if eps(z) > DOUBLE:  # in single precision far points are those of other problems
        return None
    with np.errstate(all="ignore"):
        return none_if_failed(_recede, problem, z, directions, scale, slope)


def _recede(problem: Problem, z: Array, directions: Sequence[Array], scale: float, slope: float) -> Recession | None:
    maps = _maps(problem, 1e-9 * scale / slope)
    point = _into(maps, z)
    start = inf if point is None else _phi(problem, point)
    if point is None or not start < inf:
        return None
    for far in _ahead(problem, point, directions, REACH * scale):
        if not _phi(problem, far) < start:
            continue
        far = _into(maps, far, TILTED * REACH * scale)
        length = 0.0 if far is None else norm(far - point)
        if far is None or not length >= SHORTEST * REACH * scale:
            continue
        direction = (far - point) / length
        fall = _fall(problem, maps, point, direction, scale)
        if fall is not None and -fall.slope >= slope * (LEAST if fall.linear else SLOWLY / REACH):
            return Recession(point, direction, fall.slope, fall.proven, REACH * scale)
    return None


def _ahead(problem: Problem, point: Array, directions: Sequence[Array], tau: float) -> Iterator[Array]:
    """Yield points far away along the directions, and where a step of that length down f and through the terms ends."""
    u = problem.grad(point)
    for d, gamma in [(-u, tau / max(norm(u), 1e-300)), *((d, None) for d in directions)]:
        size = norm(d)
        if 0 < size < inf:
            far = point + (tau / size) * d
            for term, prox in zip(problem.terms, problem.proxes, strict=True):
                if is_indicator(term) or gamma is not None:
                    far = prox(far, gamma or 1.0)
            yield far


def verify_recession(f: Smooth | ValueAndGrad, terms: Term | Sequence[Term], recession: Recession) -> bool:
    """Say whether phi = f + terms falls along a `Recession`, and as it says: everything is computed anew.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = lambda x: (-x.sum(), -np.ones_like(x))
    >>> found = Recession(np.zeros(2), np.array([0.6, 0.8]), slope=-1.4, proven=True, reach=1e12)
    >>> verify_recession(f, ts.terms.NonNegative(), found), verify_recession(f, ts.terms.Box(0, 9), found)
    (True, False)
    """
    point, direction, scale = recession.point, recession.direction, recession.reach / REACH
    if point.shape != direction.shape or kind_of(point) != kind_of(direction):
        raise InputError("`point` and `direction` of the recession must be like arrays; take what a run gave")
    if not 0 < scale < inf or not recession.slope < 0 or not (all_finite(point) and all_finite(direction)):
        return False
    if abs(norm(direction) - 1) > 1e3 * eps(point):
        return False
    problem = Problem(f, terms)
    with np.errstate(all="ignore"):
        maps = _maps(problem, 1e-9 * scale / -recession.slope)
        if any(not norm(project(point) - point) <= 2 * OFF * norm(point) for project in maps):
            return False
        fall = _fall(problem, maps, point, direction, scale)
    if fall is None or not abs(fall.slope - recession.slope) <= -STRAIGHT * recession.slope:
        return False
    return fall.proven or not recession.proven


def _maps(problem: Problem, gamma: float) -> list[Projection]:
    """Return maps onto the domains: projections, or a proximal map of so small a step that it is nearly one."""
    found: list[Projection] = []
    for term, prox in zip(problem.terms, problem.proxes, strict=True):
        domain = None if is_indicator(term) or not hasattr(term, "domain") else term.domain()  # pyright: ignore
        if isinstance(term, Free) or isinstance(domain, Free):
            continue
        step = prox if domain is None else domain.prox
        found.append(lambda x, step=step: step(x, gamma))
    return found


def _into(maps: Sequence[Projection], x: Array, tolerance: float | None = None) -> Array | None:
    """Return a point near x that no map moves farther than the tolerance, None if none is found."""
    for attempt in range(ATTEMPTS):
        for _ in range(SWEEPS):
            farthest = 0.0
            for project in maps:
                new = project(x)
                x, farthest = new, max(farthest, norm(new - x))
            if farthest <= (OFF * norm(x) if tolerance is None else tolerance):
                return x
        if attempt < ATTEMPTS - 1:
            x = near_to_all(maps, x, STEPS)
    return None


def _phi(problem: Problem, x: Array) -> float:
    """Return f + terms at x, sets counted as 0; NaN where a number could not be computed."""
    value = none_if_failed(problem.value, x)
    total = np.nan if value is None else float(value)
    return total + sum(float(term.value(x)) for term in problem.terms if not is_indicator(term))


class _Fall(NamedTuple):
    """How phi falls along a direction."""

    slope: float
    linear: bool
    proven: bool


def _fall(problem: Problem, maps: Sequence[Projection], point: Array, d: Array, scale: float) -> _Fall | None:
    """Return how phi falls along a unit vector, None if it need not fall for ever, or leaves a domain."""
    slack = 2 * OFF * (norm(point) + scale)
    for width in (REACH**0.5 * scale, REACH**0.75 * scale, REACH * scale):
        x = point + width * d
        if any(not norm(project(x) - x) <= 10 * TILTED * width + slack for project in maps):
            return None
    phis = [_phi(problem, point + width * scale * d) for width in PIECES]
    falls = [near - far for near, far in pairwise(phis)]
    noise = [100 * eps(point) * (abs(near) + abs(far)) for near, far in pairwise(phis)]
    if not all(isfinite(fall) and fall > most for fall, most in zip(falls, noise, strict=True)):
        return None
    slopes = [fall / ((far - near) * scale) for fall, (near, far) in zip(falls, pairwise(PIECES), strict=True)]
    end = _phi(problem, point + (1 - SLIVER) * REACH * scale * d) - phis[-1]
    if not end > max(noise[-1], STILL_FALLING * slopes[-1] * SLIVER * REACH * scale):  # a minimum is within reach
        return None
    # Lines, powers and logarithms lose the same share of their slope in each piece; before a minimum slopes break down.
    if not slopes[-1] * slopes[-3] >= (1 - STRAIGHT) * slopes[-2] ** 2:
        return None
    if slopes[-1] >= 0.5 * slopes[1]:
        straight = max(slopes[1:]) <= (1 + STRAIGHT) * min(slopes[1:])
        convex = all(getattr(term, "convex", False) for term in problem.terms)
        return _Fall(-slopes[-1], True, straight and eps(point) <= DOUBLE and convex)
    steady = all(after >= 0.99 * before for before, after in pairwise(falls[1:]))
    return _Fall(-slopes[-1], False, False) if steady else None
