"""The problems of the golden runs: a name -> a function that makes f, terms, the starting point and a constant step."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

import trisplit as ts
from tests.golden.functions import (
    Barrier,
    Exponentials,
    Masked,
    concave,
    form,
    ripples,
    rosenbrock,
    shifted,
    well,
)

T = ts.terms


class Made(NamedTuple):
    """A problem of its own: nothing is shared between two runs."""

    f: object
    terms: object
    x0: np.ndarray
    gamma: float


def rounded(gamma: float) -> float:
    """Return three digits, on which all machines agree."""
    return float(f"{gamma:.3g}")


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def made(f, terms, x0, gamma=None):
    return Made(f, terms, x0, rounded(0.5 / f.lipschitz) if gamma is None else gamma)


def regression(loss, seed, n, d, **options):
    A = draw(seed, n, d)
    b = A @ np.where(np.arange(d) % 3 == 0, 1.0, 0.0) + 0.3 * draw(seed + 1, n)
    return getattr(ts.losses, loss)(A, b, **options)


def classification(seed, n, d, **options):
    A = draw(seed, n, d)
    return ts.losses.Logistic(A, np.where(A[:, 0] + 0.5 * draw(seed + 1, n) > 0, 1, -1), **options)


def completion(seed, *shape):
    low = draw(seed, shape[0], 2) @ draw(seed + 1, 2, shape[1])
    return Masked((draw(seed + 2, *shape) > -0.3).astype(float), low)


def barrier(seed, d):
    a = draw(seed, 3 * d, d)
    return Barrier(a, 1.0 + np.abs(draw(seed + 1, 3 * d)), draw(seed + 2, d))


def signal(d):
    return np.repeat(draw(77, d // 8), 8) + 0.2 * draw(78, d)


BIRKHOFF = {
    1: lambda: [T.Simplex(axis=1), T.Simplex(axis=0)],
    2: lambda: [T.Box(0, 1), T.UnitSums()],
    3: lambda: [T.UnitSums(), T.Box(0, 1)],
}
PAIRS = [[0, 1], [2, 3, 4], [5, 6], [8, 9]]

PROBLEMS: dict[str, Callable[[], Made]] = {
    "least squares, box and l1": lambda: made(
        regression("LeastSquares", 1, 30, 10), [T.Box(0, 1), T.L1(0.1)], draw(2, 10)
    ),
    "least squares, l1 alone": lambda: made(regression("LeastSquares", 3, 25, 15), T.L1(0.1), draw(4, 15)),
    "least squares, simplex and l2 ball": lambda: made(
        regression("LeastSquares", 5, 30, 12, ridge=0.1), [T.Simplex(), T.L2Ball(0.6)], draw(6, 12)
    ),
    "least squares, nonnegative and l2 ball": lambda: made(
        regression("LeastSquares", 7, 20, 20), [T.NonNegative(), T.L2Ball(1.0)], draw(8, 20)
    ),
    "least squares, groups and box": lambda: made(
        regression("LeastSquares", 9, 30, 10), [T.GroupL2(PAIRS, 0.4), T.Box(-0.8, 0.8)], draw(10, 10)
    ),
    "least squares, elastic net and half-space": lambda: made(
        regression("LeastSquares", 11, 30, 8), [T.ElasticNet(0.1, 0.2), T.HalfSpace(np.ones(8), 0.5)], draw(12, 8)
    ),
    "sparse least squares, l1 and nonnegative": lambda: made(
        ts.losses.LeastSquares(
            sparse.random_array((60, 40), density=0.1, rng=np.random.default_rng(13)).tocsr(), draw(14, 60)
        ),
        [T.L1(0.01), T.NonNegative()],
        np.zeros(40),
        1.5,
    ),
    "ill-conditioned least squares, l1": lambda: made(
        ts.losses.LeastSquares(draw(15, 20, 10) * np.geomspace(1, 1e-3, 10), draw(16, 20)), T.L1(1e-4), np.zeros(10)
    ),
    "least squares, total variation and box": lambda: made(
        ts.losses.LeastSquares(np.eye(40), signal(40)), [T.TotalVariation(0.01), T.Box(-1, 1)], np.zeros(40)
    ),
    "least squares, isotonic and l1 ball": lambda: made(
        regression("LeastSquares", 17, 30, 12), [T.Isotonic(), T.L1Ball(2.0)], draw(18, 12)
    ),
    "least squares, image total variation and nonnegative": lambda: made(
        Masked(np.ones((6, 6)), 1 + draw(19, 6, 6)), [T.ImageTotalVariation(0.3), T.NonNegative()], np.zeros((6, 6))
    ),
    "logistic, l1": lambda: made(classification(21, 40, 15), T.L1(0.02), np.zeros(15)),
    "logistic, l1 and box": lambda: made(
        classification(23, 40, 8, ridge=0.01), [T.L1(0.02), T.Box(-0.5, 0.5)], draw(24, 8)
    ),
    "logistic, groups and nonnegative": lambda: made(
        classification(25, 40, 10), [T.GroupL2(PAIRS, 0.05), T.NonNegative()], np.zeros(10)
    ),
    "huber, l1 ball and box": lambda: made(
        regression("Huber", 27, 30, 10), [T.L1Ball(2.0), T.Box(-1, 1)], draw(28, 10)
    ),
    "cauchy, l2 ball and l1": lambda: made(
        regression("Cauchy", 29, 30, 10), [T.L2Ball(3.0), T.L1(0.01)], 3 * draw(30, 10)
    ),
    "geman-mcclure, box": lambda: made(regression("GemanMcClure", 31, 30, 6), T.Box(-2, 2), draw(32, 6)),
    "convex quadratic, box and affine": lambda: made(
        form(33, 10, "convex"), [T.Box(-1, 1), T.Affine(draw(34, 2, 10), np.array([0.5, -0.2]))], draw(35, 10)
    ),
    "indefinite quadratic, box and affine": lambda: made(
        form(36, 10), [T.Box(-1, 1), T.Affine(draw(37, 3, 10), np.array([0.5, -0.2, 0.0]))], draw(38, 10)
    ),
    "indefinite quadratic, simplex and l1": lambda: made(form(39, 12), [T.Simplex(), T.L1(0.1)], draw(40, 12)),
    "indefinite quadratic, l2 ball and box": lambda: made(
        form(41, 20), [T.L2Ball(1.5), T.Box(-0.4, 0.6)], draw(42, 20)
    ),
    "large indefinite quadratic, box and l1": lambda: made(
        form(43, 12, scale=1e6), [T.Box(-1, 1), T.L1(1e5)], draw(44, 12)
    ),
    "tiny indefinite quadratic, l2 ball and l1": lambda: made(
        form(45, 12, scale=1e-6), [T.L2Ball(1.0), T.L1(1e-8)], draw(46, 12), 1e5
    ),
    "concave quadratic, box and unit sums": lambda: made(form(47, 16, "concave"), BIRKHOFF[2](), draw(48, 4, 4)),
    "concave quadratic, l2 ball": lambda: made(form(49, 10, "concave"), T.L2Ball(2.0), 0.1 * draw(50, 10)),
    "indefinite quadratic, rows and columns": lambda: made(form(51, 25), BIRKHOFF[1](), draw(52, 5, 5)),
    "indefinite quadratic, box and unit sums": lambda: made(form(51, 25), BIRKHOFF[2](), draw(52, 5, 5)),
    "indefinite quadratic, unit sums and box": lambda: made(form(51, 25), BIRKHOFF[3](), draw(52, 5, 5)),
    "linear, rows and columns": lambda: made(
        ts.losses.Linear(draw(53, 6, 6)), BIRKHOFF[1](), np.full((6, 6), 1 / 6), 0.1
    ),
    "linear, box and half-space": lambda: made(
        ts.losses.Linear(draw(54, 10)), [T.Box(0, 1), T.HalfSpace(np.ones(10), 2.5)], np.zeros(10), 0.3
    ),
    "linear, simplex and l2 ball": lambda: made(
        ts.losses.Linear(draw(55, 8)), [T.Simplex(), T.L2Ball(0.7)], draw(56, 8), 0.3
    ),
    "rosenbrock, box": lambda: made(rosenbrock, T.Box(-1.5, 0.9), np.tile([-1.2, 0.5], 4), 1e-3),
    "rosenbrock, l1 and l2 ball": lambda: made(rosenbrock, [T.L1(0.1), T.L2Ball(2.0)], 0.5 * draw(57, 10), 2e-3),
    "exponentials, l1": lambda: made(
        Exponentials(draw(58, 9), draw(59, 9)), [T.L1(0.1), T.L2Ball(6.0)], 3 * draw(60, 9), 0.01
    ),
    "exponentials, box and hyperplane": lambda: made(
        Exponentials(3 * draw(61, 6), draw(62, 6)), [T.Box(-2, 2), T.Hyperplane(np.ones(6), 1.0)], draw(63, 6), 1e-3
    ),
    "barrier, l1": lambda: made(barrier(64, 5), T.L1(0.5), np.zeros(5), 1e-3),
    "barrier, box and l1": lambda: made(barrier(67, 7), [T.Box(-0.5, 0.5), T.L1(0.2)], np.zeros(7), 1e-3),
    "ripples, box and l1": lambda: made(ripples(70, 8), [T.Box(-2, 2), T.L1(0.1)], draw(71, 8), 0.02),
    "ripples, l2 ball and nonnegative": lambda: made(
        ripples(72, 10), [T.L2Ball(2.0), T.NonNegative()], draw(73, 10), 0.02
    ),
    "double well, l1": lambda: made(well, T.L1(0.01), 0.1 * draw(74, 6), 0.1),
    "completion, nuclear norm and box": lambda: made(
        completion(80, 7, 5), [T.NuclearNorm(0.3), T.Box(-1.5, 1.5)], np.zeros((7, 5))
    ),
    "completion, spectral ball and nonnegative": lambda: made(
        completion(83, 5, 5), [T.SpectralBall(2.0), T.NonNegative()], draw(84, 5, 5)
    ),
    "completion, semidefinite and box": lambda: made(completion(86, 5, 5), [T.PSD(), T.Box(-1, 1)], np.eye(5)),
    "log barrier and l2 ball": lambda: made(form(88, 8, "convex"), [T.LogBarrier(0.1), T.L2Ball(2.0)], np.ones(8)),
    "entropy and simplex": lambda: made(form(89, 8), [T.Entropy(0.2), T.Simplex()], np.full(8, 0.1)),
    "disjoint sets": lambda: made(form(90, 6), [T.Box(1, 2), T.L2Ball(1.0)], draw(91, 6)),
    "counted entries and box": lambda: made(
        regression("LeastSquares", 92, 20, 8), [T.L0(0.1), T.Box(-1, 1)], draw(93, 8)
    ),
    "unbounded below": lambda: made(concave, T.L1(0.1), np.ones(5), 0.3),
    "total variation and capped simplex": lambda: made(
        ts.losses.LeastSquares(np.eye(16), signal(16)), [T.TotalVariation(0.02), T.CappedSimplex(3.0)], np.zeros(16)
    ),
}

PRODUCTS: dict[str, Callable[[], Made]] = {
    "least squares, three terms": lambda: made(
        regression("LeastSquares", 101, 30, 8), [T.Box(0, 1), T.L1(0.1), T.L2Ball(1.0)], draw(102, 8)
    ),
    "indefinite quadratic, three terms": lambda: made(
        form(103, 9), [T.Box(-1, 1), T.L1(0.1), T.Affine(np.ones((1, 9)), np.array([0.5]))], draw(104, 9)
    ),
    "logistic, four terms": lambda: made(
        classification(105, 40, 10),
        [T.L1(0.01), T.GroupL2(PAIRS, 0.02), T.NonNegative(), T.L2Ball(1.0)],
        np.zeros(10),
    ),
    "indefinite quadratic, rows, columns and l1": lambda: made(
        form(107, 16), [*BIRKHOFF[1](), T.L1(0.1)], draw(108, 4, 4)
    ),
    "completion, nuclear norm, box and l1": lambda: made(
        completion(109, 5, 4), [T.NuclearNorm(0.2), T.Box(-1, 1), T.L1(0.05)], np.zeros((5, 4))
    ),
    "disjoint sets, four terms": lambda: made(
        shifted, [T.L1(0.1), T.L2Ball(0.3), T.Box(0, 1), T.Simplex()], np.full(4, 0.1), 0.3
    ),
    "double well, three terms": lambda: made(
        well, [T.L1(0.01), T.Box(-2, 0.8), T.L2Ball(3.0)], 0.1 * draw(110, 6), 0.1
    ),
    "total variation, half-space and box": lambda: made(
        ts.losses.LeastSquares(np.eye(24), signal(24)),
        [T.TotalVariation(0.02), T.HalfSpace(np.ones(24), 1.0), T.Box(-1, 1)],
        np.zeros(24),
    ),
}
