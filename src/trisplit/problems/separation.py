"""Proofs that the domains C_1, ..., C_m of the terms have no common point.

Project any points q_i onto the closed convex sets: p_i = P_i(q_i). Then <n_i, p - p_i> <= 0 for all p in C_i, where
n_i = q_i - p_i. With e = n_1 + ... + n_m, the sum over i says of a common point p that

    <e, p - c> <= -sum_i <n_i, c - p_i>,   so   ||p - c|| >= sum_i <n_i, c - p_i> / ||e||,

whatever the centre c. If e is as good as zero, a common point would lie absurdly far away. If C_j is bounded and has a
support function s_j, then n_j = -sum_{i != j} n_i makes e zero, and sum_{i != j} <n_i, c - p_i> + <n_j, c> > s_j(n_j)
leaves no common point at all. Floating-point errors are subtracted from what is proven.

Good q_i come from a point c that minimises the sum of the squared distances: with q_i = c, e is zero there.
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from trisplit.arrays import Array, Shape, eps, kind_of, none_if_failed
from trisplit.arrays.batched import all_finite, inner, norm
from trisplit.errors import InputError
from trisplit.problems.common_points import Projection, near_to_all
from trisplit.problems.oracles import Counts, Term, counted_prox
from trisplit.problems.problem import Problem, constant_of, is_indicator
from trisplit.terms import Free

FAR = 1e8  # times all that was seen: where a common point would have to lie
WIDTHS = (1e1, 1e3, 1e5, 1e7)  # how far points go along their normals, relative to the scale
ROUNDING = 20.0  # units in each subtraction and inner product
PROMISING = 0.3  # of the scale: if no common point is nearer than that, other points are tried


class Separation(NamedTuple):
    """What proves that the domains of the terms have no common point near `centre`, or none at all.

    Attributes
    ----------
    centre : array
    points : tuple of (array or None)
        q_i for each term, whose projections p_i onto the domains give normals n_i = q_i - p_i; None for a term that
        takes no part.
    closing : int or None
        The term whose domain is bounded and whose normal is minus the sum of the others, which makes the proof exact.
    distance : float
        Every common point lies at least so far from the centre; infinite if there is none.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (0.0, 0 * x), [ts.terms.Box(0, 1), ts.terms.HalfSpace(np.ones(2), -1.0)])
    >>> found = separate(problem, np.zeros(2), [np.zeros(2), -np.ones(2) / 2], scale=1.0, steps=10)
    >>> found.closing, found.distance
    (0, inf)
    """

    centre: Array
    points: tuple[Array | None, ...]
    closing: int | None
    distance: float


class _Domain(NamedTuple):
    """A closed convex set, as far as proofs ask for it."""

    project: Projection
    support: Callable[[Array], float] | None  # only where the set is bounded
    diameter: float
    accuracy: float  # units of rounding by which a projection may miss


def separate(problem: Problem, centre: Array, points: Sequence[Array], scale: float, steps: int) -> Separation | None:
    """Return a proof that the domains of the terms have no common point, None if none is found.

    Parameters
    ----------
    problem : Problem
    centre : array
        The point that is handed out.
    points : sequence of arrays
        Where the proximal map of each term arrived.
    scale : float
        The size of all that was seen; a proof says that there is no common point at all, or none within 1e8 times that.
    steps : int
        How many averaged projections may be spent.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = lambda x: (0.0, 0 * x)
    >>> far = ts.Problem(f, [ts.terms.HalfSpace(np.ones(2), -1.0), ts.terms.HalfSpace(-np.ones(2), -1.0)])
    >>> separate(far, np.zeros(2), [-np.ones(2) / 2, np.ones(2) / 2], scale=1.0, steps=10).distance > 1e8
    True
    >>> near = ts.Problem(f, [ts.terms.HalfSpace(np.ones(2), -1.0), ts.terms.HalfSpace(-np.ones(2), 1.0)])
    >>> separate(near, np.zeros(2), [-np.ones(2) / 2, np.zeros(2)], scale=1.0, steps=10) is None
    True
    """
    with np.errstate(all="ignore"):
        return none_if_failed(_separate, problem, centre, points, scale, steps)


def _separate(problem: Problem, centre: Array, points: Sequence[Array], scale: float, steps: int) -> Separation | None:
    domains = _domains(problem.terms, tuple(centre.shape), problem.counts)
    known = {i: domain for i, domain in enumerate(domains) if domain is not None}
    if len(known) < 2 or not 0 < scale < inf or not all(all_finite(points[i]) for i in known):
        return None
    start = sum((points[i] for i in known), 0 * centre) / len(known)
    middle = near_to_all([domain.project for domain in known.values()], start, steps)
    # All common points lie within a domain that is bounded; where none is, so far away that nothing is believed there.
    reaches = [domain.diameter + norm(centre - domain.project(centre)) for domain in known.values()]
    blank, least = (
        Separation(centre, (None,) * len(domains), None, 0.0),
        min(reaches) if min(reaches) < inf else FAR * scale,
    )
    found = _first(domains, _near(known, blank, middle), least)
    if PROMISING * scale < found.distance < least:
        found = _first(domains, _distant(known, blank, middle, scale), least)
    return found if found.distance >= least else None


def verify_separation(terms: Sequence[Term], separation: Separation) -> float:
    """Return how far from its centre a `Separation` proves every common point of the domains to lie.

    Everything is computed anew, from the terms, the centre and the points; the `distance` of the record is not read.

    Parameters
    ----------
    terms : sequence of terms
    separation : Separation

    Returns
    -------
    float
        0.0 if nothing is proven, infinity if there is no common point at all.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> terms = [ts.terms.Box(0, 1), ts.terms.HalfSpace(np.ones(2), -1.0)]
    >>> points = (None, np.zeros(2))
    >>> verify_separation(terms, Separation(np.zeros(2), points, closing=0, distance=0.0))
    inf
    >>> touching = [ts.terms.Box(0, 1), ts.terms.HalfSpace(np.ones(2), 0.0)]
    >>> verify_separation(touching, Separation(np.zeros(2), points, closing=0, distance=inf))
    0.0
    """
    centre, count = separation.centre, len(separation.points)
    if count != len(terms):
        raise InputError(f"the separation has {count} points for {len(terms)} terms; give the terms that it is about")
    for i, q in enumerate(separation.points):
        if q is not None and (q.shape != centre.shape or kind_of(q) != kind_of(centre)):
            raise InputError(f"`points[{i}]` of the separation must be an array like its centre; take what a run gave")
    if not all(q is None or all_finite(q) for q in (centre, *separation.points)):
        return 0.0
    with np.errstate(all="ignore"):
        return none_if_failed(_distance, _domains(terms, tuple(centre.shape)), separation) or 0.0


def _domains(terms: Sequence[Term], shape: Shape, counts: Counts | None = None) -> list[_Domain | None]:
    """Return the domain of each term, None where it is not known to be a closed convex set or is all of the space."""
    found: list[_Domain | None] = []
    for term in terms:
        known = getattr(term, "convex", False) and (is_indicator(term) or hasattr(term, "domain"))
        set_ = None if not known else term if is_indicator(term) else term.domain()  # pyright: ignore
        if set_ is None or not getattr(set_, "convex", False) or isinstance(set_, Free):
            found.append(None)
            continue
        prox = counted_prox(set_, counts or Counts())
        diameter = constant_of(set_, "diameter", shape)
        support = getattr(set_, "support", None) if isfinite(diameter) else None
        accuracy = float(getattr(set_, "accuracy", 1.0))
        found.append(_Domain(lambda x, prox=prox: prox(x, 1.0), support, diameter, accuracy))
    return found


def _near(known: dict[int, _Domain], blank: Separation, middle: Array) -> Iterator[Separation]:
    """Yield the middle itself, at first with each set in turn that can close the sum of the normals."""
    for j in known:
        if known[j].support is not None:
            yield _with(blank, {i: middle for i in known if i != j}, j)
    yield _with(blank, dict.fromkeys(known, middle))


def _distant(known: dict[int, _Domain], blank: Separation, middle: Array, scale: float) -> Iterator[Separation]:
    """Yield points far along the normals, one set in turn taking minus the sum of those of the others.

    Far away, an error in the middle and the roundness of the sets matter less, but rounding matters more.
    """
    normals = {i: middle - domain.project(middle) for i, domain in known.items()}
    total, size = sum(normals.values(), 0 * middle), max(map(norm, normals.values()))
    for tau in (width * scale / size for width in WIDTHS if size > 0):
        for j in known:
            yield _with(blank, {i: middle + tau * (n - total if i == j else n) for i, n in normals.items()})


def _with(blank: Separation, points: dict[int, Array], closing: int | None = None) -> Separation:
    return blank._replace(points=tuple(points.get(i) for i in range(len(blank.points))), closing=closing)


def _first(domains: Sequence[_Domain | None], tried: Iterator[Separation], least: float) -> Separation:
    """Return the first separation that proves that distance, else the last one."""
    for candidate in tried:
        found = candidate._replace(distance=_distance(domains, candidate))
        if found.distance >= least:
            break
    return found


def _distance(domains: Sequence[_Domain | None], separation: Separation) -> float:
    """Return how far from the centre a common point must lie at least, 0.0 if that is not proven."""
    c, closing = separation.centre, separation.closing
    unit = ROUNDING * eps(c)
    total, apart, error, shift = 0 * c, 0.0, 0.0, 0.0  # `shift` bounds the error in the sum of the normals
    for i, (domain, q) in enumerate(zip(domains, separation.points, strict=True)):
        if q is None or i == closing:
            continue
        if domain is None:
            return 0.0
        p = domain.project(q)
        n = q - p
        inside = domain.project(c)
        # What the projection misses by: rounding as declared, and what a second projection shows of it.
        blur = unit * domain.accuracy * (norm(q) + norm(p) + norm(c)) + 2 * norm(domain.project(p) - p)
        if not inner(n, inside - p) <= blur * (norm(n) + norm(inside - p)):
            return 0.0  # this is no projection onto a convex set
        total, apart = total + n, apart + inner(n, c - p)
        error, shift = error + blur * (norm(n) + norm(c - p)), shift + blur
    if closing is None:
        distance = (apart - error) / (norm(total) + shift) if shift > 0 else 0.0
        return distance if 0 < distance < inf else 0.0
    last = domains[closing] if 0 <= closing < len(domains) else None
    if last is None or last.support is None:
        return 0.0
    reach = last.diameter + norm(c - last.project(c))  # no point of the last domain lies farther from the centre
    apart -= inner(total, c) + float(last.support(-total))
    error += shift * reach + unit * last.accuracy * norm(total) * (reach + norm(c))
    return inf if apart > error else 0.0
