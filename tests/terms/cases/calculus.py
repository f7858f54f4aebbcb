"""Terms made of terms: what PyProximal says, and references that know nothing of the formulas."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pylops
import pyproximal

from tests.terms.cases import Absent, Case, by_cvxpy
from trisplit.terms import (
    L1,
    Box,
    ComposeOrthogonal,
    ComposeTightFrame,
    Intersection,
    L2Ball,
    Quadratic,
    SeparableSum,
    Simplex,
    SquaredL2,
    Translate,
)

Q = np.linalg.qr(np.random.default_rng(3).standard_normal((6, 6)))[0]
B = np.random.default_rng(4).standard_normal((4, 6))
SHIFT = np.arange(6.0) / 3
CIRCULANT = np.stack([np.roll([1.0, 0.5, 0, 0, 0, 0.2], i) for i in range(6)], axis=1)
DATA = np.array([1.0, -1.0, 0.5, 0.0, 2.0, 0.3])


def slabs(sigma):
    """The sets |x_i - x_j| <= sigma of three numbers."""
    rows = [np.eye(3)[i] - np.eye(3)[j] for i, j in combinations(range(3), 2)]
    return [ComposeTightFrame(Box(-sigma, sigma), row[None]) for row in rows]


CASES = [
    Case("pyproximal", "Orthogonal", ComposeOrthogonal(Translate(L1(0.7), -SHIFT), Q),
         lambda x, gamma: pyproximal.Orthogonal(pyproximal.L1(0.7), pylops.MatrixMult(Q), b=SHIFT).prox(x, gamma),
         convention="f(Q x + b); ours is the term shifted by -b, composed with Q"),
    Case("pyproximal", "Quadratic", Quadratic(B.T @ B, SHIFT),
         lambda x, gamma: pyproximal.Quadratic(pylops.MatrixMult(B.T @ B), SHIFT).prox(x, gamma)),
    Case("pyproximal", "L2Convolve", Quadratic(0.8 * CIRCULANT.T @ CIRCULANT, -0.8 * CIRCULANT.T @ DATA),
         lambda x, gamma: np.real(pyproximal.L2Convolve(CIRCULANT[:, 0], DATA, nfft=6, sigma=0.8).prox(x, gamma)),
         convention="with nfft = n; a larger one pads x by zeros and cuts the result, which is no proximal map"),
    Case("pyproximal", "VStack", SeparableSum([L1(0.7), SquaredL2(2.0)], [2, 4]),
         lambda x, gamma: pyproximal.VStack([pyproximal.L1(0.7), pyproximal.L2(sigma=2.0)], nn=[2, 4]).prox(x, gamma)),
    Case("pyproximal", "Intersection", Intersection(slabs(0.5)),
         lambda x, gamma: pyproximal.Intersection(3, 1, 0.5, niter=2000, tol=1e-14).prox(x, gamma), (3,), exact=False,
         convention="theirs is of the sets |x_i - x_j| <= sigma only"),
    Case("pyproximal", "GenericIntersectionProx", Intersection([Box(-0.3, 0.8), L2Ball(1.0)]),
         lambda x, gamma: pyproximal.GenericIntersectionProx(
             [Box(-0.3, 0.8).project, L2Ball(1.0).project], niter=10000, tol=1e-13).prox(x, gamma), exact=False),
]  # fmt: skip

ABSENT = [
    Absent("pyproximal", "Sum", "iterates, and ever longer as gamma grows: Dykstra's algorithm needs about gamma rounds"
           " for |x| + dist(x, [1, 2]); our methods take the terms one by one"),
    Absent("pyproximal", "Nonlinear", "a template: the user writes the minimisation that is the proximal map"),
    Absent("pyproximal", "RED", "fixed-point steps with a denoiser of the user, which may belong to no function"),
    Absent("pyproximal", "ProxOperator", "the base class, which has no proximal map of its own"),
]  # fmt: skip


def total_abs(weight, y):
    return cp.sum(cp.multiply(weight, cp.abs(y)))


def simplex(y):
    return [y >= 0, cp.sum(y) == 1]


def two(first, second):
    """Return a reference that treats the first kind of example, functions, and the second, sets, apart."""
    return lambda term, x, gamma: (second if _inner(term).indicator else first)(term, x, gamma)


def _inner(term):
    return getattr(term, "term", None) or term.set


def conjugate(term, x, gamma):
    """The support functions of [-1, 2]^n and of a ball."""
    if isinstance(term.term, Box):
        return by_cvxpy(x, gamma, lambda y: cp.sum(cp.maximum(-y, 2 * y)))
    ball = term.term
    return by_cvxpy(x, gamma, lambda y: ball.center @ y + ball.radius * cp.norm(y))


def by_epigraph(x, gamma, cost, sets):
    """Minimise over y and over a point z of a set: cost(y, z)."""
    y, z = cp.Variable(x.shape), cp.Variable(x.shape)
    problem = cp.Problem(cp.Minimize(gamma * cost(y, z) + cp.sum_squares(y - x) / 2), sets(z))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return y.value


def of_set(term):
    """The constraints that define the set of a distance."""
    inside = _inner(term)
    return simplex if isinstance(inside, Simplex) else lambda z: [z >= inside.lo, z <= inside.hi]


def minimum(term, x, gamma):
    """On a grid for each entry of a union, or the better of the references of the two functions."""
    found = []
    for part in term.terms:
        if isinstance(part, Box):
            found.append(by_cvxpy(x, gamma, constraints=lambda y, part=part: [y >= part.lo, y <= part.hi]))
        elif isinstance(part, L1):
            found.append(by_cvxpy(x, gamma, lambda y, part=part: part.weight * cp.norm1(y)))
        else:
            found.append(by_cvxpy(x, gamma, lambda y, part=part: part.weight * cp.sum_squares(y) / 2))
    found = [np.clip(y, part.lo, part.hi) if part.indicator else y for y, part in zip(found, term.terms, strict=True)]
    return min(found, key=lambda y: gamma * term.value(y) + np.sum((y - x) ** 2) / 2)


def intersection(term, x, gamma):
    box, other = term.terms
    rest = (lambda y: [cp.norm(y) <= other.radius]) if isinstance(other, L2Ball) else lambda y: [cp.sum(y) == 1]
    return by_cvxpy(x, gamma, constraints=lambda y: [y >= box.lo, y <= box.hi, *rest(y)])


def separable(term, x, gamma):
    first, second = (x[: term.sizes[0]], x[term.sizes[0] :])
    ball = lambda y: [cp.norm(y) <= term.terms[1].radius]  # noqa: E731
    one = (
        by_cvxpy(first, gamma, constraints=simplex)
        if term.indicator
        else by_cvxpy(first, gamma, lambda y: term.terms[0].weight * cp.norm1(y))
    )
    return np.concatenate([one, by_cvxpy(second, gamma, constraints=ball)])


def flat(x):
    return cp.vec(x, order="C") if x.ndim > 1 else x


def image(y, L):
    """L times the entries of y, row by row."""
    return L @ flat(y)


def restricted(term, y):
    return y[list(term.indices)]


REFERENCES = {
    "conjugate": conjugate,
    "moreau_envelope": two(
        lambda term, x, gamma: by_epigraph(
            x, gamma, lambda y, z: term.term.weight * cp.norm1(z) + cp.sum_squares(y - z) / (2 * term.mu), lambda z: []
        ),
        lambda term, x, gamma: by_epigraph(x, gamma, lambda y, z: cp.sum_squares(y - z) / (2 * term.mu), simplex),
    ),
    "translate": two(
        lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: term.term.weight * cp.norm1(y - term.shift)),
        lambda term, x, gamma: by_cvxpy(x, gamma, constraints=lambda y: simplex(y - term.shift)),
    ),
    "tilt": two(
        lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: term.term.weight * cp.norm1(y) + term.slope @ y),
        lambda term, x, gamma: by_cvxpy(
            x, gamma, lambda y: term.slope * cp.sum(y), lambda y: [y >= term.term.lo, y <= term.term.hi]
        ),
    ),
    "scale": two(
        lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: term.term.weight * cp.norm1(term.factor * y)),
        lambda term, x, gamma: by_cvxpy(x, gamma, constraints=lambda y: simplex(term.factor * y)),
    ),
    "weighted": two(
        lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: term.weight * term.term.weight * cp.sum_squares(y) / 2),
        lambda term, x, gamma: by_cvxpy(x, gamma, constraints=lambda y: [y >= term.term.lo, y <= term.term.hi]),
    ),
    "regularise": two(
        lambda term, x, gamma: by_cvxpy(
            x, gamma, lambda y: term.term.weight * cp.norm1(y) + term.ridge * cp.sum_squares(y - term.center) / 2
        ),
        lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: term.ridge * cp.sum_squares(y) / 2, simplex),
    ),
    "compose_diagonal": two(
        lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: total_abs(term.term.weight * np.abs(term.scale), y)),
        lambda term, x, gamma: by_cvxpy(
            x,
            gamma,
            constraints=lambda y: [
                cp.multiply(np.broadcast_to(term.scale, x.shape), y) >= term.term.lo,
                cp.multiply(np.broadcast_to(term.scale, x.shape), y) <= term.term.hi,
            ],
        ),
    ),
    "distance": lambda term, x, gamma: by_epigraph(x, gamma, lambda y, z: term.weight * cp.norm(y - z), of_set(term)),
    "squared_distance": lambda term, x, gamma: by_epigraph(
        x, gamma, lambda y, z: term.weight * cp.sum_squares(y - z) / 2, of_set(term)
    ),
    "pointwise_minimum": minimum,
    "intersection": intersection,
    "compose_tight_frame": two(
        lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: term.term.weight * cp.norm1(image(y, term.L))),
        lambda term, x, gamma: by_cvxpy(
            x, gamma, constraints=lambda y: [image(y, term.L) >= term.term.lo, image(y, term.L) <= term.term.hi]
        ),
    ),
    "compose_orthogonal": two(
        lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: term.term.weight * cp.norm1(image(y, term.L))),
        lambda term, x, gamma: by_cvxpy(x, gamma, constraints=lambda y: simplex(image(y, term.L))),
    ),
    "quadratic": lambda term, x, gamma: by_cvxpy(
        x, gamma, lambda y: cp.quad_form(flat(y), cp.psd_wrap(term.A)) / 2 + term.b @ flat(y)
    ),
    "reshape": two(
        lambda term, x, gamma: by_cvxpy(
            x, gamma, lambda y: term.term.weight * cp.normNuc(cp.reshape(y, term.shape, order="C"))
        ),
        lambda term, x, gamma: by_cvxpy(x, gamma, constraints=lambda y: simplex(flat(y))),
    ),
    "restrict": two(
        lambda term, x, gamma: by_cvxpy(x, gamma, lambda y: term.term.weight * cp.norm1(restricted(term, y))),
        lambda term, x, gamma: by_cvxpy(x, gamma, constraints=lambda y: simplex(restricted(term, y))),
    ),
    "separable_sum": separable,
}
