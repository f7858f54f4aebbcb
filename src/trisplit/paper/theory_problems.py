"""Nonconvex problems whose constants D, G_f, L_g, L_h and sigma are proven, some for each theorem of [YMS21].

Each f is scaled to G_f = 1/2, so that the stochastic theorems ask for minibatches of more than one sample. Between sets
this changes no deterministic iterate, as the step scales with 1 / G_f.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt
from zlib import crc32

import numpy as np

from trisplit import theory
from trisplit.arrays import Array, Shape
from trisplit.paper.theory_losses import BoxedL1, LogLoss, Loss, Minibatch, Quadratic
from trisplit.problems.oracles import Term, batched
from trisplit.problems.problem import Problem, constant_of
from trisplit.terms import L1, Affine, Box, L2Ball, Simplex, UnitSums, assignment, find_joint_oracle

STARTS, RUNS = 8, 16  # starting points in a deterministic theorem; independent runs for an expectation
VECTOR, MATRIX = (20,), (5, 5)
G_F = 0.5


@dataclass(frozen=True, eq=False)
class Domain:
    """A pair (g, h), the minimiser of <u, x> + g(x) + h(x) for a stack of u, and a ball that holds dom g."""

    terms: tuple[Term, Term]
    minimizer: Callable[[Array], Array]
    center: Array
    radius: float


@dataclass(frozen=True, eq=False)
class Case:
    """A problem that satisfies the assumptions of a theorem.

    Parameters
    ----------
    theorem : str
        Its name, a key of `trisplit.theory.theorems`.
    name : str
        What the problem is; the same name has the same data in every theorem.
    draw : callable
        (generator, shape) -> f, before it is scaled.
    domain : Domain
    start : array, optional
        y_1, in dom g; drawn if it is not given.
    """

    theorem: str
    name: str
    draw: Callable[[np.random.Generator, Shape], Loss]
    domain: Domain
    start: Array | None = None

    @property
    def stochastic(self) -> bool:
        return self.theorem in ("Theorem 3", "Theorem 4")

    @property
    def seed(self) -> int:
        return crc32(self.name.encode())

    @cached_property
    def f(self) -> Loss:
        f, ball = self.draw(np.random.default_rng(self.seed), self.domain.center.shape), self.domain
        return f.scaled(G_F / f.gradient_bound(ball.center, ball.radius))

    @cached_property
    def bounds(self) -> theory.Theorem:
        """The theorem with the constants of this problem."""
        (g, h), shape = self.domain.terms, self.domain.center.shape
        D, sigma = constant_of(g, "diameter", shape), self.f.sigma
        L_g, L_h = constant_of(g, "lipschitz", shape), constant_of(h, "lipschitz", shape)
        return {
            "Theorem 1": theory.theorem1(D, G_F, L_g, L_h),
            "Corollary 1": theory.corollary1(D, G_F, L_h),
            "Theorem 2": theory.theorem2(D, G_F),
            "Theorem 3": theory.theorem3(D, G_F, L_g, L_h, sigma),
            "Theorem 4": theory.theorem4(D, G_F, sigma),
        }[self.theorem]

    @cached_property
    def starts(self) -> Array:
        """The y_1 of each run; all the same where the runs estimate an expectation."""
        center, g = self.domain.center, self.domain.terms[0]
        if self.start is not None:
            starts = self.start[None]
        else:
            drawn = np.random.default_rng([self.seed, 0]).standard_normal((STARTS, *center.shape))
            starts = batched(g, 1).prox(center + drawn, 0.0)
        return np.repeat(starts[:1], RUNS, axis=0) if self.stochastic else starts

    def problem(self, T: int) -> Problem:
        """Return what Algorithm 1 sees when it is to make T iterations; each T has samples of its own."""
        f = self.f
        if self.stochastic:
            f = Minibatch(f, self.bounds.batch_size(T), np.random.default_rng([self.seed, T]))
        return Problem(f, self.domain.terms, batch_ndim=1)  # pyright: ignore[reportArgumentType]


def boxed(weight_g: float, weight_h: float) -> Domain:
    """Return weight_g ||x||_1 on [-1, 1]^n and weight_h ||x||_1; a first weight of 0 makes g the box itself."""
    box, (n,) = Box(-1, 1), VECTOR
    oracle = find_joint_oracle(box, L1(weight_g + weight_h))
    assert oracle is not None  # the pair is registered
    return Domain((BoxedL1(weight_g) if weight_g else box, L1(weight_h)), oracle.minimizer, np.zeros(n), sqrt(n))


def birkhoff(split: int) -> Domain:
    """Return the doubly stochastic matrices, in one of the two splits of [YMS21] section 5."""
    n = MATRIX[0]
    if split == 1:
        return Domain((Simplex(axis=1), Simplex(axis=0)), assignment, np.full(MATRIX, 1 / n), sqrt(n - 1))
    return Domain((Box(0, 1), UnitSums()), assignment, np.full(MATRIX, 0.5), n / 2)


def ball_and_plane(offset: float) -> Domain:
    """Return the unit ball and {x : <a, x> = offset}, ||a|| = 1: they meet in a smaller ball, for offset 1 in a."""
    (n,) = VECTOR
    a, rest = np.full(n, 1 / sqrt(n)), sqrt(1 - offset**2)

    def minimizer(u: Array) -> Array:
        along = u - (u @ a)[..., None] * a
        size = np.linalg.norm(along, axis=-1, keepdims=True)
        return offset * a - rest * along / np.where(size > 0, size, 1.0)

    return Domain((L2Ball(1.0), Affine(a[None], np.array([offset]))), minimizer, np.zeros(n), 1.0)


def indefinite(rng: np.random.Generator, shape: Shape) -> Quadratic:
    n = prod(shape)
    M = rng.standard_normal((n, n)) / sqrt(n)
    return Quadratic((M + M.T) / 2, rng.standard_normal(n))


def robust_regression(rng: np.random.Generator, shape: Shape) -> LogLoss:
    n = prod(shape)
    A = rng.standard_normal((2 * n, n))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    return LogLoss(A, A @ rng.uniform(-1, 1, n) + rng.standard_t(1, 2 * n))  # Cauchy noise: outliers


def ramp(rng: np.random.Generator, shape: Shape) -> Quadratic:
    """Return <c, x> - (0.05 / sqrt(n)) ||x||^2 with c along `uphill`: concave, its slope nearly the same everywhere.

    A step of gamma G_f = D / (2 T^(2/3)) takes up to 2 T^(2/3) of the T iterations from the upper end of dom g to the
    lower one, and on the way the error is of the order of its bound D G_f: a hard case for the theorems.
    """
    n = prod(shape)
    return Quadratic(-0.1 / sqrt(n) * np.eye(n), uphill() / sqrt(n))


def uphill() -> Array:
    """Return a corner of [-1, 1]^n that is orthogonal to the vector of ones, for even n."""
    return np.where(np.arange(VECTOR[0]) % 2, 1.0, -1.0)


def cases() -> Iterator[Case]:
    """Yield every case, theorem by theorem, the same ones at every call."""
    lasso, box, plane, tangent = boxed(0.03, 0.02), boxed(0.0, 0.02), ball_and_plane(0.6), ball_and_plane(1.0)
    corner, pole = uphill(), uphill() / sqrt(VECTOR[0])
    lipschitz_g = [
        ("quadratic, L1 on a box + L1", indefinite, lasso),
        ("log loss, L1 on a box + L1", robust_regression, lasso),
        ("ramp, L1 on a box + L1", ramp, lasso, corner),
    ]
    set_g = [
        ("quadratic, box + L1", indefinite, box),
        ("log loss, box + L1", robust_regression, box),
        ("ramp, box + L1", ramp, box, corner),
    ]
    two_sets = [
        ("quadratic, box and unit sums", indefinite, birkhoff(2)),
        ("log loss, rows and columns", robust_regression, birkhoff(1)),
        ("ramp, ball and plane", ramp, plane, pole),
        ("quadratic, ball touching a plane", indefinite, tangent),
    ]
    covered = {
        "Theorem 1": lipschitz_g,
        "Corollary 1": set_g,
        "Theorem 2": two_sets,
        "Theorem 3": lipschitz_g + set_g,
        "Theorem 4": two_sets,
    }
    for theorem, problems in covered.items():
        for problem in problems:
            yield Case(theorem, *problem)
