"""Boxes, balls, spheres, simplices, flat sets, polyhedra and polytopes of matrices."""

import cvxpy as cp
import numpy as np
import proxop
import pylops
import pyproximal
from copt import constraint

from tests.terms.cases import Case, by_cvxpy
from trisplit.terms import (
    Affine,
    Box,
    HalfSpace,
    Hyperplane,
    L1Ball,
    L2Ball,
    L21Ball,
    LInfinityBall,
    NonNegativeL2Ball,
    Simplex,
    Slab,
    SolidSimplex,
)

NORMAL = np.array([1.0, -2.0, 0.5, 0.0, 3.0, 1.0])
LO, HI = np.array([-1.0, 0.0, 0.5, -2.0, 0.0, -9.0]), np.array([1.0, 0.0, 2.0, 3.0, 0.4, 9.0])
CENTER = np.array([1.0, -2.0, 0.0, 0.5, 0.0, 3.0])
A = np.array([[1.0, 2.0, -1.0, 0.0, 0.5, 1.0], [0.0, 1.0, 1.0, 1.0, -1.0, 0.0]])
B = np.array([1.0, -2.0])


def set_of(operator):
    """Return the projection of a peer that has no step."""
    return lambda x, gamma: operator.prox(x)


def stepped(operator):
    """Return the projection of a peer that takes a step and has no use for it."""
    return lambda x, gamma: operator.prox(x, gamma)


CASES = [
    Case("proxop", "BoxConstraint", Box(LO, HI), set_of(proxop.BoxConstraint(LO, HI))),
    Case(
        "proxop",
        "L1Ball",
        L1Ball(1.7),
        set_of(proxop.L1Ball(1.7)),
        convention="proxop moves points inside the ball, away from it: only points outside are compared",
        point=lambda x: x * (1.0 + 4.0 / np.sum(np.abs(x))),
    ),
    Case(
        "proxop",
        "L1_2Ball",
        L21Ball(2.0),
        set_of(proxop.L1_2Ball(2.0)),
        convention="one block: with an axis, proxop puts each norm into an interval of its own, not their sum",
    ),
    Case("proxop", "L2Ball", L2Ball(0.8), set_of(proxop.L2Ball(0.8))),
    Case("proxop", "LinfBall", LInfinityBall(0.7), set_of(proxop.LinfBall(0.7))),
    Case("proxop", "PositiveL2Ball", NonNegativeL2Ball(1.3), set_of(proxop.PositiveL2Ball(1.3))),
    Case("proxop", "Simplex", Simplex(axis=1, total=2.5), set_of(proxop.Simplex(2.5, axis=1)), shape=(3, 4)),
    Case("proxop", "ExtendedSimplex", SolidSimplex(1.5), set_of(proxop.ExtendedSimplex(1.5))),
    Case("proxop", "Hyperplane", Hyperplane(NORMAL, 1.5), set_of(proxop.Hyperplane(NORMAL, 1.5))),
    Case("proxop", "Hyperslab", Slab(NORMAL, -0.5, 1.5), set_of(proxop.Hyperslab(NORMAL, -0.5, 1.5))),
    Case("pyproximal", "Box", Box(LO, HI), stepped(pyproximal.Box(LO, HI))),
    Case("pyproximal", "L1Ball", L1Ball(1.7), stepped(pyproximal.L1Ball(6, 1.7, xtol=1e-12)), exact=False),
    Case("pyproximal", "EuclideanBall", L2Ball(2.0, CENTER), stepped(pyproximal.EuclideanBall(CENTER, 2.0))),
    Case("pyproximal", "HalfSpace", HalfSpace(NORMAL, 1.5), stepped(pyproximal.HalfSpace(NORMAL, 1.5))),
    Case("pyproximal", "AffineSet", Affine(A, B), stepped(pyproximal.AffineSet(pylops.MatrixMult(A), B, niter=50))),
    Case("copt", "SimplexConstraint", Simplex(total=3.0), stepped(constraint.SimplexConstraint(3.0))),
    Case("copt", "L1Ball", L1Ball(1.7), stepped(constraint.L1Ball(1.7))),
    Case("copt", "L2Ball", L2Ball(1.5), stepped(constraint.L2Ball(1.5)), shape=(2, 3)),
    Case("copt", "LinfBall", LInfinityBall(0.4), stepped(constraint.LinfBall(0.4))),
]


def within(constraints):
    """Return a reference: the projection by CVXPY, from the constraints (term, y) of a set."""
    return lambda term, x, gamma: by_cvxpy(x, gamma, constraints=lambda y: constraints(term, y))


def lines(term, y):
    """Return the vectors of `y`, a variable of CVXPY, along the axis of a term."""
    if term.axis is None or y.ndim == 1:
        return [cp.vec(y, order="C")]
    return [y[i, :] if term.axis % 2 == 1 else y[:, i] for i in range(y.shape[1 - term.axis % 2])]


def each(fact):
    """Return a reference from the constraints (term, v) of each vector."""
    return within(lambda term, y: [one for v in lines(term, y) for one in fact(term, v)])


def by_multiplier(term, x):
    """Minimise ||y - x||^2 / 2 + mu ||y||^2 / 2 line by line, with mu such that y is in the ball, by bisection.

    CVXPY calls its own solution inaccurate here.
    """

    def line(v):
        lo, hi = 0.0, max(np.linalg.norm(v) / term.radius - 1.0, 0.0)
        for _ in range(100):
            mu = (lo + hi) / 2
            lo, hi = (mu, hi) if np.linalg.norm(v / (1 + mu)) > term.radius else (lo, mu)
        return v / (1 + hi)

    return np.reshape(line(np.ravel(x)), x.shape) if term.axis is None else np.apply_along_axis(line, term.axis, x)


def flat(y):
    return cp.vec(y, order="C")


def sphere(term, x, gamma):
    """The best of many points of the sphere, line by line."""
    rng, center = np.random.default_rng(0), np.broadcast_to(term.center, x.shape)
    best = term.project(rng.standard_normal(x.shape))
    for _ in range(2000):
        other = term.project(center + (best - center) + 0.3 * rng.standard_normal(x.shape))
        best = min(best, other, key=lambda c: np.sum((c - x) ** 2))
    return best


def unit_sums(y):
    return [cp.sum(y, axis=axis) == 1 for axis in range(2 if y.size > 1 else 1)]


def polyhedron(term, y):
    equations = [] if term.C is None else [term.C @ flat(y) == term.d]
    return [term.A @ flat(y) <= term.b, *equations]


REFERENCES = {
    "box": within(lambda term, y: [y >= np.maximum(term.lo, -1e6), y <= np.minimum(term.hi, 1e6)]),
    "hypercube": within(lambda term, y: [y >= 0, y <= term.side]),
    "nonnegative": within(lambda term, y: [y >= 0]),
    "free": lambda term, x, gamma: x,
    "l2_ball": lambda term, x, gamma: term.center + by_multiplier(term, x - term.center),
    "non_negative_l2_ball": lambda term, x, gamma: by_multiplier(term, np.maximum(x, 0.0)),
    "l1_ball": each(lambda term, v: [cp.norm1(v) <= term.radius]),
    "weighted_l1_ball": each(lambda term, v: [cp.sum(cp.multiply(term.weights, cp.abs(v))) <= term.radius]),
    "l21_ball": within(lambda term, y: [sum(cp.norm(v) for v in lines(term, y)) <= term.radius]),
    "sphere": sphere,
    "simplex": each(lambda term, v: [v >= 0, cp.sum(v) == term.total]),
    "solid_simplex": each(lambda term, v: [v >= 0, cp.sum(v) <= term.total]),
    "capped_simplex": each(lambda term, v: [v >= 0, v <= term.cap, cp.sum(v) == term.total]),
    "box_section": each(
        lambda term, v: [
            v >= np.maximum(term.lo, -1e6),
            v <= np.minimum(term.hi, 1e6),
            cp.sum(cp.multiply(np.broadcast_to(term.a, v.shape), v)) == term.b,
        ]
    ),
    "affine": within(lambda term, y: [term.A[:2] @ flat(y) == term.b[:2]]),  # a third equation follows from these
    "affine_operator": within(lambda term, y: [(term.A @ np.eye(4))[:2] @ flat(y) == term.b[:2]]),
    "hyperplane": each(lambda term, v: [term.normal @ v == term.level]),
    "half_space": each(lambda term, v: [term.normal @ v <= term.level]),
    "slab": each(lambda term, v: [term.normal @ v >= term.lo, term.normal @ v <= min(term.hi, 1e6)]),
    "polyhedron": within(polyhedron),
    "subspace": lambda term, x, gamma: np.reshape(
        term.basis @ np.linalg.lstsq(term.basis, np.ravel(x), rcond=None)[0], x.shape
    ),
    "graph_of_linear_map": within(lambda term, y: [y[term.A.shape[1] :] == term.A @ y[: term.A.shape[1]]]),
    "unit_sums": within(lambda term, y: unit_sums(y)),
    "row_sums": within(lambda term, y: [cp.sum(y, axis=1) == term.sums]),
    "column_sums": within(lambda term, y: [cp.sum(y, axis=0) == term.sums]),
    "row_and_column_sums": within(lambda term, y: [cp.sum(y, axis=1) == term.rows, cp.sum(y, axis=0) == term.columns]),
    "transport_polytope": within(
        lambda term, y: [y >= 0, cp.sum(y, axis=1) == term.rows, cp.sum(y, axis=0) == term.columns]
    ),
    "birkhoff": within(lambda term, y: [y >= 0, *unit_sums(y)]),
}
