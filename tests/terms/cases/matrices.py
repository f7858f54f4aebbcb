"""Functions and sets of singular values and eigenvalues, and matrices with a pattern."""

import cvxpy as cp
import numpy as np
import proxop
import pyproximal
from copt import constraint, penalty
from scipy.linalg import polar
from scipy.optimize import minimize_scalar

from tests.terms.cases import Absent, Case, by_cvxpy
from trisplit.terms import (
    L1,
    Hankel,
    LogDet,
    LogDetFrobenius,
    LogDetInverse,
    LogDetNuclear,
    LogDetSchatten,
    NuclearBall,
    NuclearNorm,
    NuclearNormRidge,
    Rank,
    RankEnvelope,
    RankRidge,
    SchattenRidge,
    SpectralFunction,
    SpectralNorm,
)

SHAPE, SQUARE = (3, 4), (4, 4)
DEFINITE = "proxop takes absolute values of eigenvalues; equal at positive semidefinite matrices"
HALF = "proxop adds the square with the weight 1/2 that is `ridge` here"


def semidefinite(x):
    return x @ x.T


def definite(x):
    return x @ x.T + 3 * np.eye(len(x))


def ravelled(operator):
    return lambda x, gamma: operator.prox(x.ravel(), gamma)


CASES = [
    Case("proxop", "NuclearNorm", NuclearNorm(), proxop.NuclearNorm().prox, SHAPE),
    Case(
        "proxop", "NuclearNormRidge", NuclearNormRidge(0.7, 1.0), proxop.NuclearNormRidge(0.7).prox, SHAPE, True, HALF
    ),
    Case(
        "proxop",
        "Spectral",
        SpectralNorm(),
        proxop.Spectral().prox,
        SHAPE,
        convention="theirs is not zero, as it must be, at matrices whose nuclear norm is below gamma",
        point=lambda x: x + 4 * np.eye(3, 4),
    ),
    Case(
        "proxop",
        "PermutationInvariant",
        SpectralFunction(L1()),
        proxop.PermutationInvariant(proxop.AbsValue).prox,
        SHAPE,
    ),
    Case("proxop", "Rank", Rank(), proxop.Rank().prox, SHAPE),
    Case("proxop", "RankRidge", RankRidge(0.7, 1.0), proxop.RankRidge(0.7).prox, SHAPE, True, HALF),
    Case("proxop", "Schatten3Penalty", SchattenRidge(3.0, 0.7), proxop.Schatten3Penalty(0.7).prox, SHAPE, True, HALF),
    Case(
        "proxop", "Schatten3_2Penalty", SchattenRidge(1.5, 0.7), proxop.Schatten3_2Penalty(0.7).prox, SHAPE, True, HALF
    ),
    Case("proxop", "Schatten4Penalty", SchattenRidge(4.0, 0.7), proxop.Schatten4Penalty(0.7).prox, SHAPE, True, HALF),
    Case(
        "proxop",
        "Schatten4_3Penalty",
        SchattenRidge(4 / 3, 0.7),
        proxop.Schatten4_3Penalty(0.7).prox,
        SHAPE,
        True,
        HALF,
    ),
    Case("proxop", "LogDet", LogDet(), proxop.LogDet().prox, SQUARE, True, DEFINITE, semidefinite),
    Case(
        "proxop",
        "NuclearLogDet",
        LogDetNuclear(0.7),
        proxop.NuclearLogDet(0.7).prox,
        SQUARE,
        True,
        DEFINITE,
        semidefinite,
    ),
    Case(
        "proxop",
        "SquaredFrobeniusNormLogDet",
        LogDetFrobenius(1.4),
        proxop.SquaredFrobeniusNormLogDet(0.7).prox,
        SQUARE,
        convention=f"mu is half as large; {DEFINITE}",
        point=semidefinite,
    ),
    Case(
        "proxop",
        "SchattenPenaltyLogDet",
        LogDetSchatten(1.0, 0.7),
        proxop.SchattenPenaltyLogDet(1.0, 0.7).prox,
        SQUARE,
        exact=False,
        convention=f"p <= 1 there, where the function is not convex, and p >= 1 here; {DEFINITE}",
        point=semidefinite,
    ),
    Case(
        "proxop",
        "InvPenaltyLogDet",
        LogDetInverse(0.5, 0.7),
        proxop.InvPenaltyLogDet(0.5, 0.7).prox,
        SQUARE,
        exact=False,
        convention="Newton's method without a bracket misses the root for eigenvalues below sqrt(gamma p)",
        point=definite,
    ),
    Case("pyproximal", "Nuclear", NuclearNorm(0.8), ravelled(pyproximal.Nuclear(SHAPE, 0.8)), SHAPE),
    Case(
        "pyproximal",
        "NuclearBall",
        NuclearBall(1.3),
        ravelled(pyproximal.NuclearBall(SHAPE, 1.3, maxiter=1000, xtol=1e-13)),
        SHAPE,
        exact=False,
    ),
    Case("pyproximal", "Hankel", Hankel(), ravelled(pyproximal.Hankel(SHAPE)), SHAPE),
    Case(
        "pyproximal",
        "SingularValuePenalty",
        SpectralFunction(L1(0.6)),
        ravelled(pyproximal.SingularValuePenalty(SHAPE, pyproximal.L1(0.6))),
        SHAPE,
    ),
    Case(
        "pyproximal",
        "QuadraticEnvelopeRankL2",
        RankEnvelope(2),
        ravelled(pyproximal.QuadraticEnvelopeRankL2(SHAPE, 2, np.zeros(SHAPE))),
        SHAPE,
        convention="with the matrix M of theirs, ours is taken at X + gamma M",
    ),
    Case("copt", "TraceNorm", NuclearNorm(0.8), ravelled(penalty.TraceNorm(0.8, SHAPE)), SHAPE),
    Case("copt", "TraceBall", NuclearBall(1.3), ravelled(constraint.TraceBall(1.3, SHAPE)), SHAPE),
]

ABSENT = [
    Absent(
        "proxop",
        "NeumannEntropy",
        "VonNeumannEntropy is the same function; its proximal map takes Lambert's function at gamma exp(x / gamma - 1)"
        " where it must be at exp(x / gamma - 1) / gamma, and so is right for gamma = 1 only",
    ),
    Absent(
        "proxop",
        "NuclearBall",
        "NuclearBall is the same set; `prox` raises TypeError in proxop 1.0, and hands gamma over as the radius",
    ),
    Absent(
        "proxop",
        "NuclearBlocks",
        "NuclearBlocks is the same function; theirs multiplies two vectors of labels to a number where it needs the"
        " mask of a block, so that it raises ValueError unless the matrix is square and is wrong then",
    ),
]


def by_singular_values(x, gamma, function):
    """Return the proximal point from that of each singular value, found by a search on the line."""
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    return left @ np.diag([_line(s, gamma, function) for s in sizes]) @ right


def by_eigenvalues(x, gamma, function):
    values, vectors = np.linalg.eigh((x + x.T) / 2)
    return vectors @ np.diag([_line(w, gamma, function) for w in values]) @ vectors.T


def _line(a, gamma, function):
    def objective(r):
        return gamma * function(r) + (r - a) ** 2 / 2

    return minimize_scalar(
        objective, bounds=(0.0, abs(a) + 5 * gamma + 5), method="bounded", options={"xatol": 1e-11}
    ).x


def by_ranks(term, x, gamma):
    """Return the best of the approximations of each rank, of which the best is known."""
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    scale = 1 + gamma * getattr(term, "ridge", 0.0)
    found = [left[:, :r] @ np.diag(sizes[:r] / scale) @ right[:r] for r in range(len(sizes) + 1)]
    return min(found, key=lambda c: gamma * term.value(c) + np.sum((c - x) ** 2) / 2)


def by_gram(term, x, gamma):
    """Return the projection of the columns on the first eigenvectors of X X'."""
    _, vectors = np.linalg.eigh(x @ x.T)
    first = vectors[:, -term.rank :]
    return first @ first.T @ x


def by_dilation(term, x, gamma):
    """Singular values are eigenvalues of [[0, X], [X', 0]]."""
    m, n = x.shape
    k = min(getattr(term, "k", 1), m, n)

    def function(y):
        dilation = cp.bmat([[np.zeros((m, m)), y], [y.T, np.zeros((n, n))]])
        return term.weight * cp.lambda_sum_largest(dilation, k)

    return by_cvxpy(x, gamma, function)


def by_structures(term, x, gamma):
    """Return the best of all proximal points of the conjugate, (1/2) the sum of the r largest squares, by structure.

    The first a singular values are divided, those up to b are tied, the others stay; some a <= r <= b are right.
    """
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    n, r, t, y = len(sizes), min(term.rank, len(sizes)), 1 / gamma, sizes / gamma

    def objective(u):
        return t * np.sum(np.sort(u**2)[n - r :]) / 2 + np.sum((u - y) ** 2) / 2

    found = []
    for a in range(r + 1):
        for b in range(r, n + 1):
            level = np.sum(y[a:b]) / max(b - a + t * (r - a), 1)  # nothing is tied if a = b
            found.append(np.concatenate([y[:a] / (1 + t), np.full(b - a, level), y[b:]]))
    return left @ np.diag(sizes - gamma * min(found, key=objective)) @ right


def blocks(term, y):
    weights = np.broadcast_to(term.weight, (len(term.rows), len(term.columns)))
    return sum(
        weights[k, j] * cp.normNuc(y[list(row), :][:, list(column)])
        for k, row in enumerate(term.rows)
        for j, column in enumerate(term.columns)
    )


def of_eigenvalues(term, y):
    weight = term.term.weight
    return weight * (cp.normNuc(y) if isinstance(term.term, L1) else cp.sum_squares(y) / 2)


def in_set_of_eigenvalues(term, y):
    if hasattr(term.term, "total"):
        return [y >> 0, cp.trace(y) == term.term.total]
    return [y - term.term.lo * np.eye(y.shape[0]) >> 0, term.term.hi * np.eye(y.shape[0]) - y >> 0]


def equal_where(same):
    """Constrain entries whose places have the same number to be equal."""

    def constraints(y):
        m, n = y.shape
        first, found = {}, []
        for i in range(m):
            for j in range(n):
                if same(i, j, n) in first:
                    found.append(y[i, j] == y[first[same(i, j, n)]])
                first.setdefault(same(i, j, n), (i, j))
        return found

    return lambda term, x, gamma: by_cvxpy(x, gamma, constraints=constraints)


def zero_unless(kept):
    def reference(term, x, gamma):
        outside = [(i, j) for i, j in np.ndindex(x.shape) if not kept(term, i, j)]
        return by_cvxpy(x, gamma, constraints=lambda y: [y[place] == 0 for place in outside])

    return reference


def symmetric(function=lambda term, y: 0.0, constraints=lambda term, y: []):
    return lambda term, x, gamma: by_cvxpy(
        x, gamma, lambda y: function(term, y), lambda y: constraints(term, y), symmetric=True
    )


def general(function=lambda term, y: 0.0, constraints=lambda term, y: []):
    return lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: function(term, y), lambda y: constraints(term, y))


def powers(sign):
    """Return -weight log r + mu r^(sign p)."""

    def reference(term, x, gamma):
        return by_eigenvalues(
            x, gamma, lambda r: -term.weight * np.log(max(r, 1e-300)) + term.mu * max(r, 1e-300) ** (sign * term.p)
        )

    return reference


REFERENCES = {
    "nuclear_norm": general(lambda term, y: term.weight * cp.normNuc(y)),
    "nuclear_blocks": general(blocks),
    "nuclear_norm_ridge": general(lambda term, y: term.weight * cp.normNuc(y) + term.ridge * cp.sum_squares(y) / 2),
    "spectral_norm": by_dilation,
    "ky_fan": by_dilation,
    "largest_eigenvalue": general(lambda term, y: term.weight * cp.lambda_max((y + y.T) / 2)),
    "trace": general(lambda term, y: term.weight * cp.trace(y)),
    "schatten": lambda term, x, gamma: by_singular_values(x, gamma, lambda r: term.weight * r**term.p),
    "schatten_ridge": lambda term, x, gamma: by_singular_values(
        x, gamma, lambda r: term.weight * r**term.p + term.ridge * r**2 / 2
    ),
    "rank": by_ranks,
    "rank_ridge": by_ranks,
    "rank_envelope": by_structures,
    "spectral_function": general(of_eigenvalues),
    "eigenvalue_function": symmetric(of_eigenvalues),
    "spectral_set": general(constraints=lambda term, y: [cp.sigma_max(y) <= term.term.hi]),
    "eigenvalue_set": symmetric(constraints=in_set_of_eigenvalues),
    "log_det": symmetric(lambda term, y: -term.weight * cp.log_det(y)),
    "log_det_nuclear": symmetric(lambda term, y: term.mu * cp.trace(y) - term.weight * cp.log_det(y)),
    "log_det_frobenius": symmetric(lambda term, y: term.mu * cp.sum_squares(y) / 2 - term.weight * cp.log_det(y)),
    "log_det_schatten": powers(1),
    "log_det_inverse": powers(-1),
    "von_neumann_entropy": lambda term, x, gamma: by_eigenvalues(
        x, gamma, lambda r: term.weight * r * np.log(max(r, 1e-300))
    ),
    "psd": symmetric(constraints=lambda term, y: [y >> 0]),
    "spectraplex": symmetric(constraints=lambda term, y: [y >> 0, cp.trace(y) == term.total]),
    "correlation": symmetric(constraints=lambda term, y: [y >> 0, cp.diag(y) == 1]),
    "unit_diagonal": general(constraints=lambda term, y: [cp.diag(y) == 1]),
    "symmetric": general(constraints=lambda term, y: [y == y.T]),
    "skew_symmetric": general(constraints=lambda term, y: [y == -y.T]),
    "hankel": equal_where(lambda i, j, n: i + j),
    "toeplitz": equal_where(lambda i, j, n: i - j),
    "circulant": equal_where(lambda i, j, n: (i - j) % n),
    "banded": zero_unless(lambda term, i, j: -term.lower <= j - i <= term.upper),
    "diagonal": zero_unless(lambda term, i, j: i == j),
    "lower_triangular": zero_unless(lambda term, i, j: j <= i),
    "nuclear_ball": general(constraints=lambda term, y: [cp.normNuc(y) <= term.radius]),
    "spectral_ball": general(constraints=lambda term, y: [cp.sigma_max(y) <= term.radius]),
    "rank_ball": by_gram,
    "stiefel": lambda term, x, gamma: polar(x)[0],
    "orthogonal": lambda term, x, gamma: polar(x)[0],
}
