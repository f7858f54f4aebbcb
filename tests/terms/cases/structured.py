"""Lines in order or with few jumps, images and graphs."""

import cvxpy as cp
import numpy as np
import pyproximal
from copt import penalty

from tests.terms.cases import Absent, Case, by_cvxpy
from trisplit.terms import ImageTotalVariation, TotalVariation


def pyproximal_tv(x, gamma):
    return pyproximal.TV(dims=x.shape, sigma=0.1, niter=400, rtol=0.0).prox(x.ravel(), gamma)


def copt_tv(x, gamma):
    return penalty.TotalVariation2D(0.4, x.shape, max_iter=300, tol=1e-9).prox(x.ravel(), gamma)


CASES = [
    Case("pyproximal", "TV", ImageTotalVariation(0.1), pyproximal_tv, (3, 3), exact=False),
    Case("copt", "TotalVariation2D", ImageTotalVariation(0.4, isotropic=False), copt_tv, (3, 4), exact=False),
    Case(
        "copt",
        "FusedLasso",
        TotalVariation(0.7),
        lambda x, gamma: penalty.FusedLasso(0.7).prox(x, gamma),
        convention="copt's has no L1 norm: it is the total variation",
    ),
]


ABSENT = [
    Absent(
        "proxop",
        "MonotoneCone",
        "it raises ValueError (truth value of an array) for every vector of two or more entries; ours is Isotonic",
    ),
]


def lines(y, axis):
    """Return the lines of y along an axis as columns."""
    if axis is None or y.ndim == 1:
        return cp.reshape(y, (y.size, 1), order="C")
    return y if axis % 2 == 0 else y.T


def jumps(term, y, order=1):
    columns = lines(y, term.axis)
    for _ in range(order):
        columns = columns[1:] - columns[:-1] if columns.shape[0] > 1 else 0.0 * columns
    return columns


def weights(term):
    weight = np.asarray(term.weight)
    return weight if weight.ndim == 0 else weight.reshape(-1, weight.shape[-1]).T


def weighted(term, costs):
    return cp.sum(cp.multiply(weights(term), costs))


def nearly_isotonic(term, x, gamma):
    sign = -1.0 if term.increasing else 1.0
    return by_cvxpy(x, gamma, lambda y: weighted(term, cp.pos(sign * jumps(term, y))))


def isotonic(term, x, gamma):
    sign = 1.0 if term.increasing else -1.0
    return by_cvxpy(x, gamma, constraints=lambda y: [sign * jumps(term, y) >= 0])


def image(term, x, gamma):
    """Return the reference for a volume, or an image: differences by matrices."""
    parts = []
    for axis, n in enumerate(x.shape):
        forward = np.eye(n, k=1) - np.eye(n)
        forward[-1] = 0.0
        factors = [forward if each == axis else np.eye(m) for each, m in enumerate(x.shape)]
        whole = np.eye(1)
        for factor in factors:
            whole = np.kron(whole, factor)
        parts.append(whole)

    def function(y):
        field = cp.vstack([part @ y for part in parts])
        return term.weight * (cp.sum(cp.norm(field, 2, axis=0)) if term.isotropic else cp.sum(cp.abs(field)))

    return by_cvxpy(x.ravel(), gamma, function).reshape(x.shape)


def graph(term, x, gamma):
    i, j = term.edges.T

    def function(y):
        columns = lines(y, term.axis)
        return cp.sum(cp.multiply(np.reshape(term.weight * np.ones(len(i)), (-1, 1)), cp.abs(columns[i] - columns[j])))

    return by_cvxpy(x, gamma, function)


REFERENCES = {
    "total_variation": lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: weighted(term, cp.abs(jumps(term, y)))),
    "fused_lasso": lambda term, x, gamma: by_cvxpy(
        x, gamma, lambda y: term.sparsity * cp.sum(cp.abs(y)) + term.smoothness * cp.sum(cp.abs(jumps(term, y)))
    ),
    "nearly_isotonic": nearly_isotonic,
    "isotonic": isotonic,
    "trend_filtering": lambda term, x, gamma: by_cvxpy(
        x, gamma, lambda y: term.weight * cp.sum(cp.abs(jumps(term, y, term.order + 1)))
    ),
    "quadratic_differences": lambda term, x, gamma: by_cvxpy(
        x, gamma, lambda y: term.weight / 2 * cp.sum_squares(jumps(term, y))
    ),
    "image_total_variation": image,
    "graph_total_variation": graph,
}
