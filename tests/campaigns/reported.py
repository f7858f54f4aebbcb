"""The cases that were reported as false, with other numbers each time."""

from dataclasses import replace

import numpy as np

from tests.campaigns.convex import constructed
from tests.campaigns.known import Problem, around, choose, pair
from tests.campaigns.nonconvex import grid
from tests.campaigns.parts import T, box, strong
from tests.campaigns.wrong import Own


def from_outside(rng, a):
    """Unbounded, and the infeasible start inflates the first residual."""
    f = pair(lambda x: -a * x.sum(), lambda x: -a * np.ones_like(x))
    return Problem("unbounded", f, np.array([-9.0, -9.0]), [T.NonNegative()])


def unmoved(rng, a):
    """The step is too short to move the iterate."""
    f, e = pair(lambda x: np.exp(x).sum(), np.exp), np.eye(2)
    terms = [T.Slab(e[0], -1, 1), T.Slab(e[1], -1, 1)]
    return around(rng, f, np.full(2, 40 * a), terms, np.full(2, -1.0), may={"STALLED"})


def apart(rng, a):
    """The residual speaks of z while x is far away."""
    f, one = pair(lambda x: a * x[0], lambda x: np.array([a])), np.ones(1)
    terms = [T.HalfSpace(one, 1e5), T.Slab(one, -5e4, 1e5)]
    return around(rng, f, 3e4 * one, terms, -5e4 * one, expected="CONVERGED")


def counted(rng, a):
    """A bound is claimed for a nonconvex term."""
    f = pair(lambda x: ((x - a) ** 2).sum() / 2, lambda x: x - a)
    points, terms = grid([T.Box(-2, 2)], np.zeros(2), [-2, -2], [2, 2]), [T.L0(0.5), T.Box(-2, 2)]
    return Problem("nonconvex", f, 2 * rng.standard_normal(2), terms, points, curvature=1.0)


def small(rng, a):
    """Least squares, L1 and a box, times 1e-12 to 1e12."""
    p = constructed(rng, 5, 1, [strong], [box], energy=10.0 ** rng.integers(-12, 13), expected="CONVERGED")
    weight, sign = 0.1 * a * p.slope, np.sign(p.competitors[0])
    f = pair(lambda z: p.f(z)[0] - weight * sign @ z, lambda z: p.f(z)[1] - weight * sign)
    terms = [*p.terms, T.L1(weight)]
    return replace(p, f=f, true_f=f, terms=terms, true_terms=terms)


def without_gamma(rng, a):
    f, norm = pair(lambda x: ((x - 3) ** 2).sum() / 2, lambda x: x - 3), T.L1(a / 2)
    p = around(rng, f, np.zeros(2), [norm], np.full(2, 3 - a / 2))
    return p.mistaken(terms=[Own(norm, norm, forgets_gamma=True)])


def halved(rng, a):
    b = a * np.array([3.0, 2.0, -4.0])
    f = pair(lambda x: ((x - b) ** 2).sum() / 2, lambda x: x - b)
    p = around(rng, f, np.zeros(3), [T.L1(a)], b - a * np.sign(b))
    return p.mistaken(f=pair(lambda x: f(x)[0], lambda x: f(x)[1] / 2))


def forgotten(rng, a):
    """The gradient of one coordinate is 0, so that the path never moves in it."""
    f = pair(lambda x: a * (x**2).sum(), lambda x: 2 * a * x)
    p = around(rng, f, np.array([0.5, 2.0, -1.0]), [T.Box(-4, 4)], np.zeros(3))
    return p.mistaken(f=pair(lambda x: f(x)[0], lambda x: f(x)[1] * [1, 0, 1]))


CASES = [from_outside, unmoved, apart, counted, small, without_gamma, halved, forgotten]


def cases(rng):
    return choose(rng, CASES)(rng, rng.uniform(0.5, 2))
