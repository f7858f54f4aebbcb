"""Values and proximal maps agree with copt and PyProximal, and where neither has the term, with its definition.

The definition is solved by CVXPY, to the accuracy of an interior-point method.
"""

import cvxpy as cp
import numpy as np
import pylops
import pyproximal
import pytest
from copt import constraint, penalty

from trisplit.terms import (
    L1,
    Affine,
    Box,
    GroupL2,
    L2Ball,
    NonNegative,
    NuclearNorm,
    Simplex,
    SquaredL2,
    TotalVariation,
    UnitSums,
    Zero,
)

POINTS = [(seed, scale) for seed in range(4) for scale in (0.3, 1.0, 20.0)]
GAMMAS = (0.05, 0.7, 4.0)

WEIGHTS = np.array([0.0, 0.5, 1.0, 2.0, 0.1, 3.0])
LO, HI = np.array([-1.0, 0.0, 0.5, -2.0, 0.0, -9.0]), np.array([1.0, 0.0, 2.0, 3.0, 0.4, 9.0])
CENTER = np.array([1.0, -2.0, 0.0, 0.5, 0.0, 3.0])
CONTIGUOUS = [[0, 1, 2], [4, 5]]
A = np.array([[1.0, 2.0, -1.0, 0.0, 0.5, 1.0], [0.0, 1.0, 1.0, 1.0, -1.0, 0.0]])
B = np.array([1.0, -2.0])


def point(shape, seed, scale):
    return scale * np.random.default_rng(seed).normal(size=shape)


# name: term, peer, shape of x, accuracy of the peer
NORMS = {
    "L1, copt": (L1(0.7), penalty.L1Norm(0.7), (6,), 0.0),
    "L1, PyProximal": (L1(0.7), pyproximal.L1(0.7), (6,), 0.0),
    "L1 weighted, PyProximal": (L1(WEIGHTS), pyproximal.L1(WEIGHTS), (6,), 0.0),
    "groups, copt": (GroupL2(CONTIGUOUS, 1.3), penalty.GroupL1(1.3, CONTIGUOUS), (6,), 0.0),
    "groups of columns, PyProximal": (GroupL2([[0, 3], [1, 4], [2, 5]], 0.9), pyproximal.L21(2, 0.9), (6,), 0.0),
    "one group, PyProximal": (GroupL2([range(6)], 2.0), pyproximal.Euclidean(2.0), (6,), 0.0),
    "nuclear norm, copt": (NuclearNorm(0.8), penalty.TraceNorm(0.8, (2, 3)), (2, 3), 0.0),
    "nuclear norm, PyProximal": (NuclearNorm(0.8), pyproximal.Nuclear((4, 2), 0.8), (4, 2), 0.0),
    "squared norm, PyProximal": (SquaredL2(0.6), pyproximal.L2(sigma=0.6), (6,), 0.0),
    "total variation, copt": (TotalVariation(0.7), penalty.FusedLasso(0.7), (6,), 0.0),
    "zero, copt without weight": (Zero(), penalty.L1Norm(0.0), (6,), 0.0),
}
# PyProximal finds the shift of a simplex by bisection and projects on an affine set by conjugate gradients.
SETS = {
    "simplex, copt": (Simplex(), constraint.SimplexConstraint(), (6,), 0.0),
    "simplex of total 3, copt": (Simplex(total=3), constraint.SimplexConstraint(3), (6,), 0.0),
    "simplex, PyProximal": (Simplex(total=1.5), pyproximal.Simplex(6, 1.5, xtol=1e-13), (6,), 1e-11),
    "rows, PyProximal": (Simplex(axis=1), pyproximal.Simplex(12, 1.0, (3, 4), 1, xtol=1e-13), (3, 4), 1e-11),
    "columns, PyProximal": (Simplex(axis=0), pyproximal.Simplex(12, 1.0, (3, 4), 0, xtol=1e-13), (3, 4), 1e-11),
    "ball, copt": (L2Ball(0.8), constraint.L2Ball(0.8), (6,), 0.0),
    "ball, PyProximal": (L2Ball(2.0, CENTER), pyproximal.EuclideanBall(CENTER, 2.0), (6,), 0.0),
    "ball of matrices, copt": (L2Ball(1.5), constraint.L2Ball(1.5), (2, 3), 0.0),
    "symmetric box, copt": (Box(-0.4, 0.4), constraint.LinfBall(0.4), (6,), 0.0),
    "box, PyProximal": (Box(LO, HI), pyproximal.Box(LO, HI), (6,), 0.0),
    "orthant, PyProximal": (NonNegative(), pyproximal.Box(0.0, np.inf), (6,), 0.0),
    "affine, PyProximal": (Affine(A, B), pyproximal.AffineSet(pylops.MatrixMult(A), B, niter=50), (6,), 1e-4),
}


def by_peer(peer, x, gamma):
    """Most peers want vectors, and some write on what they are given."""
    return np.reshape(peer.prox(x.ravel().copy(), gamma), x.shape)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize(("seed", "scale"), POINTS)
def test_value(name, seed, scale):
    term, peer, shape, _ = NORMS[name]
    x = point(shape, seed, scale)
    assert term.value(x) == pytest.approx(float(peer(x.ravel())), rel=1e-13)


@pytest.mark.parametrize("name", {**NORMS, **SETS})
@pytest.mark.parametrize(("seed", "scale"), POINTS)
def test_prox(name, seed, scale):
    term, peer, shape, accuracy = {**NORMS, **SETS}[name]
    x = point(shape, seed, scale)
    for gamma in GAMMAS:
        miss = np.linalg.norm(term.prox(x, gamma) - by_peer(peer, x, gamma))
        assert miss <= (1e-14 * x.size + accuracy) * (1 + np.linalg.norm(x))


@pytest.mark.parametrize(("name", "term"), [("L1", L1(0.7)), ("weighted", L1(WEIGHTS))])
@pytest.mark.parametrize("seed", range(4))
def test_prox_of_the_conjugate(name, term, seed):
    """PyProximal's `proxdual(x, tau)` is the proximal map of tau times the conjugate."""
    x = point((6,), seed, 3.0)
    expected = pyproximal.L1(term.weight).proxdual(x, 0.4)
    assert np.allclose(term.conjugate().prox(x, 0.4), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_linear_oracle_of_the_simplex(seed):
    """copt maximises <u, v> where this package minimises, and returns the step v - x."""
    x, u = Simplex().project(point((6,), seed, 1.0)), np.abs(point((6,), seed + 50, 1.0))
    step = constraint.SimplexConstraint().lmo(u, x)[0]
    assert np.allclose(Simplex().lmo(-u), x + step, rtol=0, atol=1e-15)


# The objective is 1-strongly convex: a gap of GAP leaves the minimiser uncertain by sqrt(2 GAP).
GAP = 1e-10
UNCERTAINTY = 2e-5


def solve_definition(x, gamma, function, constraints):
    """Return argmin gamma * function(y) + ||y - x||^2 / 2 subject to constraints(y)."""
    y = cp.Variable(x.shape)
    problem = cp.Problem(cp.Minimize(gamma * function(y) + cp.sum_squares(y - x) / 2), constraints(y))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=GAP, tol_gap_rel=GAP, tol_feas=GAP)
    assert y.value is not None
    return y.value


def nothing(y):
    return 0.0


DEPENDENT, LEVELS = np.vstack([A, A[0] + A[1], 1e6 * A[0]]), np.append(B, [B[0] + B[1], 1e6 * B[0]])
DEFINITIONS = {
    "unit sums": (UnitSums(), (4, 4), nothing, lambda y: [cp.sum(y, axis=0) == 1, cp.sum(y, axis=1) == 1]),
    "independent rows": (Affine(A, B), (6,), nothing, lambda y: [A @ y == B]),
    # Dependent equations are a nuisance to an interior-point method, so only the independent ones are given to it.
    "dependent rows": (Affine(DEPENDENT, LEVELS), (6,), nothing, lambda y: [A @ y == B]),
    "columns": (Simplex(axis=0, total=2.5), (3, 4), nothing, lambda y: [y >= 0, cp.sum(y, axis=0) == 2.5]),
    "groups": (GroupL2([[0, 5], [3]], 1.1), (6,), lambda y: 1.1 * (cp.norm(y[[0, 5]]) + cp.abs(y[3])), lambda y: []),
    "nuclear norm": (NuclearNorm(0.8), (3, 2), lambda y: 0.8 * cp.normNuc(y), lambda y: []),
    "rows": (TotalVariation(0.8), (3, 5), lambda y: 0.8 * cp.sum(cp.abs(y[:, 1:] - y[:, :-1])), lambda y: []),
    "lines down": (TotalVariation(0.8, 0), (5, 3), lambda y: 0.8 * cp.sum(cp.abs(y[1:] - y[:-1])), lambda y: []),
}


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("gamma", [0.3, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_prox_by_definition(name, gamma, seed):
    term, shape, function, constraints = DEFINITIONS[name]
    x = point(shape, seed, 2.0)
    expected = solve_definition(x, gamma, function, constraints)
    assert np.linalg.norm(term.prox(x, gamma) - expected) <= UNCERTAINTY * (1 + np.linalg.norm(x))


@pytest.mark.parametrize("seed", range(4))
def test_overlapping_groups_are_the_sum_of_the_split_terms(seed):
    """The overlapping group norm has no proximal formula; its split terms add up to CVXPY's value of it."""
    groups, weight = [[0, 1, 2], [2, 3], [3, 4, 5], [0, 5], [1]], 0.7
    x = point((6,), seed, 2.0)
    norms = cp.hstack([cp.norm(x[group]) for group in groups]).value
    assert norms is not None
    split = sum(term.value(x) for term in GroupL2.split(groups, weight))
    assert split == pytest.approx(weight * float(np.sum(norms)), rel=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_split_terms_solve_the_overlapping_problem(seed):
    """Dykstra's algorithm on the split terms reaches the prox of their sum, which is that of the overlapping norm."""
    groups, weight = [[0, 1], [1, 2], [2, 3]], 0.5
    first, second = GroupL2.split(groups, weight)
    x = point((4,), seed, 2.0)
    z, p, q = x, np.zeros(4), np.zeros(4)
    for _ in range(2000):
        y = first.prox(z + p, 1.0)
        p = z + p - y
        z = second.prox(y + q, 1.0)
        q = y + q - z
    expected = solve_definition(x, 1.0, lambda v: weight * sum(cp.norm(v[group]) for group in groups), lambda v: [])
    assert np.linalg.norm(z - expected) <= UNCERTAINTY * (1 + np.linalg.norm(x))
