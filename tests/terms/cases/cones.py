"""Cones, epigraphs, level sets and perspectives: what proxop and interior-point methods say."""

import warnings

import cvxpy as cp
import numpy as np
import proxop

from tests.terms.cases import GAP, Absent, Case, by_cvxpy
from trisplit.terms import (
    Box,
    EpigraphAbs,
    EpigraphDistance,
    EpigraphHinge,
    EpigraphL2,
    EpigraphLInfinity,
    EpigraphLog,
    EpigraphMax,
    EpigraphPower,
    EpigraphSquaredHinge,
    EpigraphSupport,
    KullbackLeiblerLevelSet,
    PerspectiveHuber,
    PerspectiveSquare,
    PerspectiveVapnik,
    SquaredL2,
)

HEIGHT = "the peer takes the height as an argument of its constructor, we as the last entry of a vector"
SCALE = "the peer takes the scale as an argument of its constructor, we as the last entry of a vector"
DATA = np.array([1.0, 2.0, 0.5, 3.0])


def joined(parts):
    return np.concatenate([np.ravel(part) for part in parts])


def rows(make):
    """Return the map of rows (y, t) that a peer for arrays of numbers y and heights t gives."""
    return lambda x, gamma: np.stack(make(x[:, 1]).prox(x[:, 0].copy()), axis=1)


def vector(make):
    """Return the map of one vector (y, t)."""
    return lambda x, gamma: joined(make(x[-1:]).prox(x[:-1].copy()))


def column(make):
    """Return the map of one vector (y, t) of a peer that needs a matrix of one column."""
    return lambda x, gamma: joined(make(x[-1:]).prox(x[:-1].copy().reshape(-1, 1)))


def scaled(make):
    """Return the proximal map of one vector (y, xi)."""
    return lambda x, gamma: joined(make(x[-1:]).prox(x[:-1].copy(), gamma))


def towards_box(y):
    return np.clip(y, -0.5, 0.5)


def below(x):
    """Return the points with heights <= 0."""
    return np.stack([x[:, 0], -np.abs(x[:, 1])], axis=1)


def epigraph_case(operator, term, prox, shape=(6, 2), convention=HEIGHT, **more):
    return Case("proxop", operator, term, prox, shape, convention=convention, **more)


CASES = [
    epigraph_case("EpiAbsValue", EpigraphAbs(0.7, axis=1), rows(lambda t: proxop.EpiAbsValue(t, 0.7))),
    epigraph_case("EpiHingeLoss", EpigraphHinge(0.7, axis=1), rows(lambda t: proxop.EpiHingeLoss(t, 0.7))),
    epigraph_case("EpiSupport", EpigraphSupport(-0.5, 2.0, 1), rows(lambda t: proxop.EpiSupport(t, -0.5, 2.0))),
    epigraph_case("EpiPower", EpigraphPower(3.0, 0.7, axis=1), rows(lambda t: proxop.EpiPower(t, 3, 0.7)), exact=False),
    epigraph_case(
        "EpiLog",
        EpigraphLog(0.7, axis=1),
        rows(lambda t: proxop.EpiLog(t, 0.7)),
        exact=False,
        convention=f"{HEIGHT}; its Newton steps get stuck at 0 for some y < 0, where it returns a point with y = 0",
        point=lambda x: np.abs(below(x)) * np.array([1.0, -1.0]) + np.array([0.1, 0.0]),
    ),
    epigraph_case(
        "EpiSquaredHingeLoss",
        EpigraphSquaredHinge(0.7, axis=1),
        rows(lambda t: proxop.EpiSquaredHingeLoss(t, 0.7)),
        exact=False,
        convention=f"{HEIGHT}; it tests weight max(y, 0) <= t without the square, hence only heights <= 0 are compared",
        point=below,
    ),
    epigraph_case("EpiL2Norm", EpigraphL2(0.7), vector(lambda t: proxop.EpiL2Norm(t, w=0.7)), (5,)),
    epigraph_case("EpiMax", EpigraphMax(0.7), column(lambda t: proxop.EpiMax(t, axis=0, w=0.7)), (5,)),
    epigraph_case("EpiLinfNorm", EpigraphLInfinity(0.7), column(lambda t: proxop.EpiLinfNorm(t, axis=0, w=0.7)), (5,)),
    epigraph_case(
        "EpiDistance",
        EpigraphDistance(Box(-0.5, 0.5), 1, 0.7),
        vector(lambda t: proxop.EpiDistance(t, project_C=towards_box, q=1, w=0.7)),
        (5,),
        convention=f"{HEIGHT}; with q = 2 its equation has the entries of y in place of the distance",
    ),
    Case(
        "proxop",
        "LogProjection",
        KullbackLeiblerLevelSet(DATA, 0.6),
        lambda x, gamma: proxop.LogProjection(0.6, DATA).prox(x),
        (4,),
        exact=False,
        convention="the peer needs positive x, and its Newton steps leave the domain for some near 0",
        point=lambda x: 0.5 + np.abs(x),
    ),
    Case("proxop", "PersSquare", PerspectiveSquare(), scaled(proxop.PersSquare), (4,), convention=SCALE),
    Case(
        "proxop",
        "PersAbsDiff",
        PerspectiveSquare(),
        scaled(proxop.PersAbsDiff),
        (4,),
        convention=f"{SCALE}; in spite of its name it is the perspective of the square",
    ),
    Case(
        "proxop",
        "PersHuber",
        PerspectiveHuber(1.5),
        scaled(lambda xi: proxop.PersHuber(1.5, xi[0])),
        (2,),
        convention=f"{SCALE}; where the square acts it forgets gamma and 1 / 2, and 0 for xi < 0: y is large, xi > 0",
        point=lambda x: np.array([x[0] + np.copysign(60.0, x[0]), abs(x[1])]),
    ),
    Case(
        "proxop",
        "PersVapnik",
        PerspectiveVapnik(0.5),
        scaled(lambda xi: proxop.PersVapnik(0.5, xi)),
        (2,),
        convention=f"{SCALE}; it moves points of {{|y| <= epsilon xi}}, where f is 0, to 0: here xi is very negative",
        point=lambda x: np.array([x[0] + np.copysign(5.0, x[0]), -abs(x[1]) - 5.0]),
    ),
]

ABSENT = [
    Absent(
        "proxop",
        "EpiExp",
        "its equation is t^2 - xi t + y log(t) = 0 where it should be t^2 - xi t + log(t) - y = 0: at y = 0.29, "
        "xi = -0.03 it returns (-0.78, 0.46), farther away than (-0.29, 0.75), which is on the graph",
    ),
    Absent(
        "proxop",
        "PersSqrt",
        "it subtracts gamma sqrt(1 + t^2) from xi in place of adding it: at y = (-0.24, 0.34, 0.2), xi = -0.02, "
        "gamma = 0.3 it returns xi = -0.4, outside of the domain",
    ),
]


def solved(x, gamma, *parts):
    """Return what the solver found, also where it doubts its last digits: it is compared with ours anyway."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return by_cvxpy(x, gamma, *parts)


def lines(constraint):
    """Return a reference: project each vector, by an interior-point method, onto what constraint(term, y) says."""

    def project(term, x, gamma):
        return along_lines(term, x, lambda v: solved(v, gamma, lambda y: 0.0, lambda y: constraint(term, y)))

    return project


def functions(function, constraint):
    """Return a reference for a function with a domain."""

    def prox(term, x, gamma):
        return along_lines(
            term,
            x,
            lambda v: solved(v, gamma, lambda y: function(term, y), lambda y: constraint(term, y)),
        )

    return prox


def along_lines(term, x, compute):
    v = term.blocks(x)
    return term.unblock(np.apply_along_axis(compute, -1, v), x)


def distance(term, y):
    """Return the distance to the set of an example as an expression."""
    near = cp.Variable(y.shape)
    if isinstance(term.set_, Box):
        inside = [near >= term.set_.lo, near <= term.set_.hi]
    else:
        inside = [cp.norm(near) <= term.set_.radius]
    return cp.norm(y - near), inside


def distance_epigraph(term, y):
    expression, inside = distance(term, y[:-1])
    return [term.weight * expression**term.power <= y[-1], *inside]


def power_cone(term, y):
    return [cp.PowCone3D(y[0:1], y[1:2], y[2:3], term.alpha)]


def level_set(term, x, gamma):
    if type(term.term).__name__ == "L1":
        return by_cvxpy(x, gamma, constraints=lambda y: [term.term.weight * cp.norm1(y) <= term.level])
    return by_cvxpy(x, gamma, constraints=lambda y: [term.term.weight / 2 * cp.sum_squares(y) <= term.level])


def divergence(term, y):
    data = np.broadcast_to(term.data, y.shape)
    return [cp.sum(cp.kl_div(data, term.scale * y)) <= term.level, y >= 0]


def by_polar(constraint):
    """Return a reference for a perspective: x - gamma (projection of x / gamma onto the domain of the conjugate).

    Put directly, with ||y||^2 / xi in the objective, the solver stops at a value 1e-7 above the least.
    """

    def prox(term, x, gamma):
        return x - gamma * lines(constraint)(term, x / gamma, 1.0)

    return prox


def huber(term, u):
    w = term.weight
    return [cp.sum_squares(u[:-1]) / (2 * w) + u[-1] <= 0, cp.norm(u[:-1]) <= w * term.radius]


def perspective(term, x, gamma):
    """Do as `by_polar` does, for a vector and the perspective of a square or of Huber's function."""

    def in_domain(u):
        if isinstance(term.term, SquaredL2):
            return [cp.sum_squares(u[:-1]) / (2 * term.term.weight) + u[-1] <= 0]
        return [cp.abs(u[:-1]) <= 1, cp.sum_squares(u[:-1]) / 2 + u[-1] <= 0]

    return x - gamma * solved(x / gamma, 1.0, lambda u: 0.0, in_domain)


def perspective_sqrt(term, x, gamma):
    """-sqrt(xi^2 - |y|^2) = -sqrt((xi - m) (xi + m)), the least over m >= |y|; m is one more entry here."""

    def value(y):
        return -term.weight * cp.geo_mean(cp.hstack([y[-2] - y[-1], y[-2] + y[-1]]))

    def solve(v):
        y, m = cp.Variable(v.shape), cp.Variable()
        objective = gamma * value(cp.hstack([y, m])) + cp.sum_squares(y - v) / 2
        problem = cp.Problem(cp.Minimize(objective), [cp.norm(y[:-1]) <= m])
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=GAP, tol_gap_rel=GAP, tol_feas=GAP)
        return np.asarray(y.value)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return along_lines(term, x, solve)


REFERENCES = {
    "second_order_cone": lines(lambda term, y: [cp.norm(y[1:]) <= y[0]] if y.size > 1 else [y >= 0]),
    "rotated_cone": lines(lambda term, y: [cp.norm(cp.hstack([2**0.5 * y[2:], y[0] - y[1]])) <= y[0] + y[1]]),
    "exponential_cone": lines(lambda term, y: [cp.ExpCone(y[0:1], y[1:2], y[2:3])]),
    "power_cone": lines(power_cone),
    "epigraph_abs": lines(lambda term, y: [term.weight * cp.abs(y[0]) <= y[1]]),
    "epigraph_hinge": lines(lambda term, y: [term.weight * cp.pos(y[0]) <= y[1]]),
    "epigraph_support": lines(lambda term, y: [term.lo * y[0] <= y[1], term.hi * y[0] <= y[1]]),
    "epigraph_l2": lines(lambda term, y: [term.weight * cp.norm(y[:-1]) <= y[-1]]),
    "epigraph_max": lines(lambda term, y: [term.weight * cp.max(y[:-1]) <= y[-1]]),
    "epigraph_l_infinity": lines(lambda term, y: [term.weight * cp.norm_inf(y[:-1]) <= y[-1]]),
    "epigraph_l1": lines(lambda term, y: [term.weight * cp.norm1(y[:-1]) <= y[-1]]),
    "epigraph_square": lines(lambda term, y: [term.weight * cp.square(y[0]) <= y[1]]),
    "epigraph_squared_hinge": lines(lambda term, y: [term.weight * cp.square(cp.pos(y[0])) <= y[1]]),
    "epigraph_power": lines(lambda term, y: [term.weight * cp.power(cp.abs(y[0]), term.power) <= y[1]]),
    "epigraph_exp": lines(lambda term, y: [term.weight * cp.exp(y[0]) <= y[1]]),
    "epigraph_log": lines(lambda term, y: [-term.weight * cp.log(y[0]) <= y[1]]),
    "epigraph_distance": lines(distance_epigraph),
    "level_set": level_set,
    "kullback_leibler_level_set": lines(divergence),
    "perspective": perspective,
    "perspective_square": by_polar(lambda term, u: [cp.sum_squares(u[:-1]) / (4 * term.weight) + u[-1] <= 0]),
    "perspective_huber": by_polar(huber),
    "perspective_vapnik": functions(
        lambda term, y: term.weight * cp.pos(cp.norm(y[:-1]) - term.epsilon * y[-1]), lambda term, y: [y[-1] >= 0]
    ),
    "perspective_sqrt": perspective_sqrt,
}
