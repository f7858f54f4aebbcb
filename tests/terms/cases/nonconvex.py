"""Nonconvex penalties and sets: what proxop and PyProximal say, and slow references."""

import warnings
from dataclasses import replace
from itertools import combinations, permutations

import cvxpy as cp
import numpy as np
import proxop
import pyproximal
from scipy.optimize import minimize

from tests.terms.cases import Absent, Case
from trisplit.terms import (
    CEL0,
    L0,
    MCP,
    SCAD,
    BlockL0,
    BurgCauchy,
    BurgLogSum,
    Cauchy,
    EntropyL0,
    EntropyLogSum,
    ExponentialPenalty,
    Geman,
    L0Ball,
    L20Ball,
    LogSum,
    QuadraticEnvelopeL0Ball,
    Root,
    Simplex,
    TruncatedL2,
    TruncatedQuadratic,
)


def l01_ball(x, gamma):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return pyproximal.L01Ball(2, 2).prox(x.ravel(), gamma)


def same_order(x):
    """Make the columns of a matrix multiples of each other: their L1 and L2 norms are in the same order then."""
    return np.outer(x[:, 0], x[0])


CASES = [
    Case("proxop", "L0Norm", L0(1.0), lambda x, gamma: proxop.L0Norm().prox(x, gamma)),
    Case("pyproximal", "L0", L0(0.5), lambda x, gamma: pyproximal.L0(1.0).prox(x, gamma**0.5),
         convention="theirs cuts at gamma sigma, not at sqrt(2 gamma sigma)"),
    Case("proxop", "L0L2Norm", BlockL0(1.0), lambda x, gamma: proxop.L0L2Norm().prox(x, gamma)),
    Case("proxop", "Root", Root(0.5), lambda x, gamma: proxop.Root(0.5).prox(x, gamma),
         convention="theirs is exact for q = 1/2 only; for others Newton's method starts from |x| / 2 and may fail"),
    Case("proxop", "MCP", MCP(0.8, 2.2), lambda x, gamma: proxop.MCP(0.8, 2.2).prox(x, gamma)),
    Case("proxop", "CEL0", CEL0(0.6, 0.9), lambda x, gamma: proxop.CEL0(0.6, 0.9).prox(x, gamma)),
    Case("pyproximal", "QuadraticEnvelopeCard", CEL0(0.6, 1.0),
         lambda x, gamma: pyproximal.QuadraticEnvelopeCard(0.6).prox(x, min(gamma, 1.0)) if gamma <= 1
         else proxop.CEL0(0.6, 1.0).prox(x, gamma),
         convention="theirs cuts at sqrt(2 mu) for tau > 1 too, where the minimiser is 0 up to sqrt(2 tau mu)"),
    Case("proxop", "SCAD", SCAD(0.7, 3.7), lambda x, gamma: proxop.SCAD(0.7, 3.7).prox(x, gamma)),
    Case("pyproximal", "SCAD", SCAD(0.7, 3.7), lambda x, gamma: pyproximal.SCAD(0.7, 3.7).prox(x, gamma)),
    Case("proxop", "Truncated", TruncatedQuadratic(1.3), lambda x, gamma: proxop.Truncated(1.3).prox(x, gamma)),
    Case("pyproximal", "RelaxedMumfordShah", TruncatedQuadratic(1.3, 0.6),
         lambda x, gamma: pyproximal.RelaxedMumfordShah(0.6, 1.3).prox(x, gamma),
         convention="entry by entry, although their value is that of the norm"),
    Case("proxop", "TruncatedNorm", TruncatedL2(4.0), lambda x, gamma: proxop.TruncatedNorm(4.0).prox(x, gamma)),
    Case("pyproximal", "Log", LogSum(1 / 1.3, 0.8 / np.log(2.3)),
         lambda x, gamma: pyproximal.Log(0.8, 1.3).prox(x, gamma),
         convention="sigma / log(gamma + 1) log(gamma |x| + 1)"),
    Case("pyproximal", "Log1", LogSum(2.0, 0.4), lambda x, gamma: pyproximal.Log1(0.8, 2.0).prox(x, gamma),
         point=lambda x: np.sign(x) * (2 + np.abs(x)),
         convention="theirs is of (sigma / 2) log(|x| + delta); near 0 it is wrong if sqrt(2 tau sigma) < delta: from"
         " 0.1 it goes to -0.11 for tau = 0.3, sigma = 0.8, delta = 2"),
    Case("pyproximal", "Geman", Geman(1.3, 0.8), lambda x, gamma: pyproximal.Geman(0.8, 1.3).prox(x, gamma)),
    Case("pyproximal", "ETP", ExponentialPenalty(1 / 1.3, 0.8 / (1 - np.exp(-1.3))),
         lambda x, gamma: pyproximal.ETP(0.8, 1.3).prox(x, gamma),
         convention="sigma / (1 - exp(-gamma)) (1 - exp(-gamma |x|))"),
    Case("proxop", "Cauchy", Cauchy(0.4), lambda x, gamma: proxop.Cauchy(0.4).prox(x, gamma)),
    Case("proxop", "EntropyL0", EntropyL0(0.7), lambda x, gamma: proxop.EntropyL0(0.7).prox(x, gamma)),
    Case("proxop", "EntropyLogSum", EntropyLogSum(0.5, 1.0),
         lambda x, gamma: proxop.EntropyLogSum(1.0, 0.5).prox(x, gamma), exact=False,
         convention="theirs finds one root; with w <= 4 delta it is the only one. It divides by 0 near 0",
         point=lambda x: 1.0 + np.abs(x)),
    Case("proxop", "BurgLogSum", BurgLogSum(0.5, 2.0), lambda x, gamma: proxop.BurgLogSum(2.0, 0.5).prox(x, gamma)),
    Case("proxop", "BurgCauchy", BurgCauchy(0.5, 1.0), lambda x, gamma: proxop.BurgCauchy(1.0, 0.5).prox(x, gamma),
         exact=False, point=lambda x: 1.0 + np.abs(x),
         convention="theirs has a wrong derivative in Newton's method, and sends 0.1 to 0, outside of the domain"),
    Case("pyproximal", "L0Ball", L0Ball(3), lambda x, gamma: pyproximal.L0Ball(3).prox(x, gamma)),
    Case("pyproximal", "L10Ball", L20Ball(2, axis=0), lambda x, gamma: pyproximal.L10Ball(2, 2).prox(x.ravel(), gamma),
         (2, 4), point=same_order,
         convention="theirs keeps the columns of largest L1 norm; those of largest L2 norm are nearest"),
    Case("pyproximal", "L01Ball", L20Ball(2, axis=0), l01_ball, (2, 4), point=same_order,
         convention="the old name of L10Ball"),
    Case("pyproximal", "QuadraticEnvelopeCardIndicator", QuadraticEnvelopeL0Ball(2),
         lambda x, gamma: pyproximal.QuadraticEnvelopeCardIndicator(2).prox(x, gamma) if gamma < 1
         else pyproximal.L0Ball(2).prox(x, gamma),
         convention="for tau >= 1 theirs cuts at tau, whatever r0 is; the minimiser has the r0 largest entries"),
]  # fmt: skip

ABSENT = [
    Absent("proxop", "LogSum", "allocates an array of the length of x.shape: an IndexError for all x of two entries"),
    Absent("proxop", "CapL1", "adds a mask that is to multiply: for theta = 1/2 and gamma = 1 it sends 0.1 to 1"),
    Absent("proxop", "EntropyCauchy", "has delta - x for gamma - x in its equation: for w = gamma = 1 and delta = 1/2"
           " it sends 5 to 2.77, and the minimiser is 2.36"),
    Absent("proxop", "ConicL0", "a map of two complex arrays (x, d) tied by d = delta x, not of one real array"),
]  # fmt: skip


def by_lines(solve):
    """Make a function of one vector into one of the lines of an array."""

    def reference(term, x, gamma):
        if term.axis is None:
            return np.reshape(solve(term, np.ravel(x), gamma), x.shape)
        return np.apply_along_axis(lambda line: solve(term, line, gamma), term.axis, x)

    return reference


def along_the_ray(term, x, gamma):
    """The minimiser of a penalty of the norm is a multiple of x between 0 and 1."""
    one = replace(term, axis=None)
    multiples = np.linspace(0, 1, 5001)
    costs = [gamma * one.value(c * x) + (1 - c) ** 2 * np.sum(x**2) / 2 for c in multiples]
    return multiples[np.argmin(costs)] * x


def supports(n, k=None):
    return [list(S) for size in range(1, (k or n) + 1) for S in combinations(range(n), size)]


def nearest(x, points):
    return min(points, key=lambda point: np.sum((point - x) ** 2))


def on_a_support(x, S, values):
    y = np.zeros(x.shape)
    y[S] = values
    return y


def difference_of_norms(term, x, gamma):
    """On a support, with the signs of x, the function is smooth."""
    k, found = gamma * term.weight, [np.zeros(x.shape)]

    def cost(z, r):
        return k * (z.sum() - term.alpha * np.linalg.norm(z)) + np.sum((z - r) ** 2) / 2

    for S in supports(x.size):
        r = np.abs(x[S])
        z = minimize(cost, r, args=(r,), bounds=[(1e-12, None)] * len(S), tol=1e-15).x
        found.append(on_a_support(x, S, z * np.sign(x[S])))
    return min(found, key=lambda y: k * (np.abs(y).sum() - term.alpha * np.linalg.norm(y)) + np.sum((y - x) ** 2) / 2)


def few_entries(term, x, gamma):
    return nearest(x, [on_a_support(x, S, x[S]) for S in supports(x.size, term.k)])


def envelope(term, x, gamma):
    """g + ||y||^2 / 2 is half the squared k-support norm, min of sum y_i^2 / s_i over 0 <= s <= 1 of sum k."""
    if gamma >= 1:
        return few_entries(term, x, gamma)
    y, s = cp.Variable(x.size), cp.Variable(x.size)
    half_square = sum(cp.quad_over_lin(y[i], s[i]) for i in range(x.size)) / 2
    cost = gamma * half_square + (1 - gamma) * cp.sum_squares(y) / 2 - x @ y
    cp.Problem(cp.Minimize(cost), [s >= 0, s <= 1, cp.sum(s) <= term.k]).solve(solver=cp.CLARABEL)
    return y.value


def few_lines(term, x, gamma):
    lines = np.moveaxis(x, term.axis, -1)
    return np.moveaxis(
        nearest(lines, [on_a_support(lines, S, lines[S]) for S in supports(len(lines), term.k)]), -1, term.axis
    )


def sparse_simplex(term, x, gamma):
    simplex = Simplex(total=term.total)
    return nearest(x, [on_a_support(x, S, simplex.project(x[S])) for S in supports(x.size, term.k)])


def best_permutation(term, x, gamma):
    return nearest(x, [np.eye(len(x))[list(order)] for order in permutations(range(len(x)))])


REFERENCES = {
    "block_l0": by_lines(along_the_ray),
    "block_mcp": by_lines(along_the_ray),
    "block_scad": by_lines(along_the_ray),
    "truncated_l2": by_lines(along_the_ray),
    "l1_minus_l2": by_lines(difference_of_norms),
    "quadratic_envelope_l0_ball": by_lines(envelope),
    "l0_ball": by_lines(few_entries),
    "l20_ball": few_lines,
    "sparse_simplex": by_lines(sparse_simplex),
    "permutations": best_permutation,
}
