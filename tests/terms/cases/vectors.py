"""Functions of vectors, of their largest entries, of their order, and of groups of entries."""

import warnings

import cvxpy as cp
import numpy as np
import proxop
import pyproximal
from copt import penalty

from tests.terms.cases import Absent, Case, by_cvxpy
from trisplit.terms import (
    L2,
    L21,
    GroupL2,
    InsensitiveL2,
    LInfinity,
    LInfinity1,
    Max,
    NonNegativeL2,
    SparseGroupLasso,
)

COLUMNS = [[0, 3], [1, 4], [2, 5]]  # of a matrix with two rows, as a vector


def quiet(prox):
    """Let a peer divide by the norm of a zero vector, which it means to."""

    def called(x, gamma):
        with np.errstate(divide="ignore", invalid="ignore"):
            return prox(x, gamma)

    return called


def spread(x):
    """Return a matrix whose rows keep most entries: where proxop's thresholds of rows are right."""
    return x + np.sign(x) * (1.0 + 2.0 * np.arange(x.shape[-1]))


CASES = [
    Case("proxop", "L2Norm", L2(), proxop.L2Norm().prox),
    Case("proxop", "L2Norm", L2(axis=0), proxop.L2Norm(axis=0).prox, (4, 3)),
    Case("proxop", "L21columns", L21(axis=0), proxop.L21columns().prox, (4, 3)),
    Case("proxop", "L21rows", L21(axis=1), proxop.L21rows().prox, (4, 3)),
    Case(
        "proxop",
        "Linf",
        LInfinity(),
        proxop.Linf().prox,
        convention="proxop's threshold turns negative where gamma exceeds ||x||_1 and the result should be 0",
        point=lambda x: x + np.sign(x),
    ),
    Case(
        "proxop",
        "Linf1",
        LInfinity1(axis=1),
        proxop.Linf1().prox,
        (3, 4),
        convention="proxop returns 0 for a row, but the first, whose entries are all lowered",
        point=spread,
    ),
    Case("proxop", "Max", Max(), proxop.Max().prox),
    Case("proxop", "Vapnik", InsensitiveL2(0.8), proxop.Vapnik(0.8).prox),
    Case("proxop", "Vapnik", InsensitiveL2(0.8, axis=0), proxop.Vapnik(0.8, axis=0).prox, (4, 3)),
    Case("proxop", "L2Positive", NonNegativeL2(), quiet(proxop.L2Positive().prox)),
    Case("pyproximal", "Euclidean", L2(0.7), pyproximal.Euclidean(0.7).prox),
    Case(
        "pyproximal",
        "L21",
        L21(0.9, axis=0),
        lambda x, gamma: pyproximal.L21(2, 0.9).prox(x.ravel(), gamma),
        (2, 3),
        convention="a vector that holds the rows of a matrix; the norms are those of its columns",
    ),
    Case(
        "pyproximal",
        "L21_plus_L1",
        SparseGroupLasso(COLUMNS, sparsity=1.5 * 0.3, weight=1.5 * 0.7),
        quiet(lambda x, gamma: pyproximal.L21_plus_L1(1.5, 0.3).prox(x.reshape(2, 3), gamma)),
        convention="sigma rho is the weight of L1 and sigma (1 - rho) that of the columns",
    ),
    Case("copt", "GroupL1", GroupL2([[0, 1, 2], [4, 5]], 1.3), penalty.GroupL1(1.3, [[0, 1, 2], [4, 5]]).prox),
]

ABSENT = [
    Absent(
        "proxop",
        "L2DownConv",
        "It does not minimise its own function, not even without downsampling: for d = 1 and a kernel of length 6 it "
        "misses the solution of the linear system by 0.4. The mask starts at entry 1 instead of 0 (in two dimensions "
        "only two rows are filled), and the number of axes stands where the product of d belongs.",
    ),
]


def lines(term, y):
    """Return the vectors of a variable."""
    if term.axis is None:
        return [cp.vec(y, order="C")] if y.ndim > 1 else [y]
    count = y.shape[1 - term.axis % 2] if y.ndim == 2 else 1
    return [(y[:, k] if term.axis % 2 == 0 else y[k, :]) for k in range(count)] if y.ndim == 2 else [y]


def solved(*args):
    """Return what `by_cvxpy` does; that it reached nine digits instead of eleven is none of our business here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
        return by_cvxpy(*args)


def by_lines(function, constraints=lambda y: []):
    """Return a reference: the term is the sum of function(term, line)."""

    def reference(term, x, gamma):
        total = lambda y: sum(function(term, line) for line in lines(term, y))  # noqa: E731
        return solved(x, gamma, total, constraints)

    return reference


def sorted_norm(weights, y):
    """Return sum_i w_i |y|_[i] as a sum of sums of the largest."""
    steps = weights - np.append(weights[1:], 0.0)
    return sum(step * cp.sum_largest(cp.abs(y), k + 1) for k, step in enumerate(steps))


def pairs(y):
    n = y.shape[0]
    return sum(cp.maximum(cp.abs(y[i]), cp.abs(y[j])) for i in range(n) for j in range(i))


def by_groups(function):
    """Return a reference: the term is the sum over groups of weight * function(entries)."""

    def reference(term, x, gamma):
        weights = np.broadcast_to(term.weight, len(term.groups))
        own = getattr(term, "sparsity", 0.0)
        groups = [list(group) for group in term.groups]
        return solved(
            x,
            gamma,
            lambda y: own * cp.norm1(y) + sum(w * function(y[group]) for w, group in zip(weights, groups, strict=True)),
        )

    return reference


def largest(term, y):
    return term.weight * cp.sum_largest(y, term.k)


def largest_abs(term, y):
    return term.weight * cp.sum_largest(cp.abs(y), term.k)


def k_support(term, x, gamma):
    """Minimise over theta, too."""
    theta = cp.Variable(x.shape)
    places = [tuple(place) for place in np.ndindex(x.shape)]
    bounds = [theta <= 1, *(cp.sum(line) <= term.k for line in lines(term, theta))]
    ratios = lambda y: sum(cp.quad_over_lin(y[place], theta[place]) for place in places)  # noqa: E731
    return solved(x, gamma, lambda y: term.weight / 2 * ratios(y), lambda y: bounds)


REFERENCES = {
    "l2": by_lines(lambda term, y: term.weight * cp.norm2(y)),
    "l21": by_lines(lambda term, y: term.weight * cp.norm2(y)),
    "cubed_l2": by_lines(lambda term, y: term.weight * cp.power(cp.norm2(y), 3)),
    "insensitive_l2": by_lines(lambda term, y: term.weight * cp.pos(cp.norm2(y) - term.radius)),
    "nonnegative_l2": by_lines(lambda term, y: term.weight * cp.norm2(y), lambda y: [y >= 0]),
    "max": by_lines(lambda term, y: term.weight * cp.max(y)),
    "l_infinity": by_lines(lambda term, y: term.weight * cp.norm_inf(y)),
    "l_infinity1": by_lines(lambda term, y: term.weight * cp.norm_inf(y)),
    "sum_largest": by_lines(largest),
    "sum_largest_abs": by_lines(largest_abs),
    "slope": by_lines(lambda term, y: sorted_norm(term.weights, y)),
    "oscar": by_lines(lambda term, y: term.weight * cp.norm1(y) + term.pairwise * pairs(y)),
    "squared_k_support": k_support,
    "group_l2": by_groups(cp.norm2),
    "sparse_group_lasso": by_groups(cp.norm2),
    "tree_group_l2": by_groups(cp.norm2),
    "group_l_infinity": by_groups(cp.norm_inf),
    "exclusive_lasso": by_groups(lambda y: cp.square(cp.norm1(y))),
}
