"""Families of nonconvex problems that are small enough to try every competitor."""

from itertools import permutations

import numpy as np

from tests.campaigns.known import Problem, choose, direction, pair
from tests.campaigns.parts import T, ball, half_space, hyperplane, l1, slab


def bent(rng):
    """Return a smooth nonconvex function of two variables and a bound on its curvature in [-3, 3]^2."""
    M, a, c = rng.standard_normal((2, 2)), rng.standard_normal((3, 2)), rng.standard_normal(2)
    M = M + M.T
    functions = [
        (pair(lambda x: 0.5 * x @ M @ x + c @ x, lambda x: M @ x + c), np.linalg.norm(M, 2)),
        (pair(lambda x: np.cos(a @ x).sum() + c @ x, lambda x: c - a.T @ np.sin(a @ x)), np.linalg.norm(a) ** 2),
        (pair(lambda x: ((x**2 - 1) ** 2).sum() / 4 + c @ x, lambda x: x**3 - x + c), 26.0),
    ]
    return choose(rng, functions)


def frame(rng, x):
    """Return a box around x."""
    lo = x - rng.uniform(0.2, 2, 2)
    return T.Box(lo, lo + rng.uniform(2.2, 3, 2))


def grid(terms, x, lo, hi):
    """Return x and points that lie in all sets: of a grid from lo to hi, and of its projections."""
    axes = [np.linspace(*ends, 41) for ends in zip(lo, hi, strict=True)]
    points = np.vstack([x, np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)])
    sets = [term.domain().batched(1) for term in terms]
    for s in sets:
        points = np.vstack([points, s.prox(points, 1.0)])
    return points[np.all([s.distance(points) <= 1e-9 for s in sets], axis=0)]


def curved(rng):
    """f is not convex, the terms are."""
    (f, _), x = bent(rng), rng.uniform(-0.5, 0.5, 2)
    bounds = frame(rng, x)
    others = [l1(rng, x)[0], *(make(rng, x, direction(rng, 2)) for make in (half_space, slab, ball, hyperplane))]
    terms = [bounds, *(others[i] for i in rng.permutation(5)[: rng.integers(0, 3)])]
    points = grid(terms, x, bounds.lo, bounds.hi)
    slope = max(np.linalg.norm(f(z)[1]) for z in points[::50])
    terms = [terms[i] for i in rng.permutation(len(terms))]
    return Problem("stationary", f, rng.standard_normal(2), terms, points, slope=slope, length=3.0, price=50 * slope)


def stochastic(rng):
    """A nonconvex quadratic of matrices with unit row and column sums; permutations are the best competitors."""
    n = int(rng.integers(2, 5))
    A, B = rng.standard_normal((2, n, n))
    f = pair(lambda X: np.vdot(A @ X @ B, X) / 2, lambda X: (A @ X @ B + A.T @ X @ B.T) / 2)
    rows, columns = T.Simplex(axis=1), T.Simplex(axis=0)
    terms = choose(rng, [[T.Box(0, 1), T.UnitSums()], [T.UnitSums(), T.Box(0, 1)], [rows, columns]])
    points, slope = (
        np.stack([np.eye(n)[list(order)] for order in permutations(range(n))]),
        np.linalg.norm(A) * np.linalg.norm(B),
    )
    return Problem("stationary", f, rng.random((n, n)), terms, points, slope=slope, length=n, price=50 * slope)


def jumps(rng):
    """A term is not convex."""
    (f, L), x, w = bent(rng), rng.uniform(-0.5, 0.5, 2), rng.uniform(0.1, 1)
    known = {"slope": 10.0, "length": 3.0, "curvature": L}
    if rng.random() < 0.4:
        term = choose(rng, [T.Sphere(1.0), T.IntegerLattice(0.5), T.L0Ball(1), T.Binary(-0.5, 0.5)])
        terms = [term, T.Box(-1.5, 1.5)]
        points = grid(terms, np.full(2, 0.5), [-1.5, -1.5], [1.5, 1.5])
    else:
        term, bounds = choose(rng, [T.L0(w), T.MCP(w), T.SCAD(w), T.CappedL1(1.0, w), T.Root(0.5, w)]), frame(rng, x)
        terms = choose(rng, [[term, bounds], [bounds, term]])
        points = grid([bounds], x, bounds.lo, bounds.hi)
    return Problem("nonconvex", f, rng.standard_normal(2), terms, points, **known)
