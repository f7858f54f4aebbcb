"""Parts that problems are made of: smooth functions with a given minimiser, and terms with a given normal there.

A convex problem is built backwards. Choose the solution x*, a smooth convex q, and terms around x*: a set that has a
given normal v_i at x*, or a function with a known subgradient v_i there. Then

    f(x) = energy (q(x / unit) - <grad q(x* / unit), (x - x*) / unit>) - <sum_i v_i, x - x*>

is convex with grad f(x*) + sum_i v_i = 0, so x* is optimal, with multipliers v_i.
"""

import math

import numpy as np

import trisplit as ts
from tests.campaigns.known import choose, direction, pair

T = ts.terms

# Smooth convex functions of n variables, and a bound on their curvature.


def quadratic(rng, n):
    M = rng.standard_normal((max(1, int(n * rng.uniform(0.5, 1.5))), n)) / n**0.5
    return pair(lambda s: 0.5 * (M @ s) @ (M @ s), lambda s: M.T @ (M @ s)), np.linalg.norm(M, 2) ** 2


def strong(rng, n):
    (q, L), mu = quadratic(rng, n), rng.uniform(0.2, 1)
    return pair(lambda s: q(s)[0] + mu / 2 * s @ s, lambda s: q(s)[1] + mu * s), L + mu


def logistic(rng, n):
    A = rng.standard_normal((2 * n, n))
    grad = lambda s: A.T @ (0.5 + 0.5 * np.tanh(A @ s / 2))  # noqa: E731
    return pair(lambda s: np.logaddexp(0, A @ s).sum(), grad), np.linalg.norm(A, 2) ** 2


def pseudo_huber(rng, n):
    c = rng.standard_normal(n)
    return pair(lambda s: np.hypot(1, s - c).sum(), lambda s: (s - c) / np.hypot(1, s - c)), 1.0


def linear(rng, n):
    return pair(lambda s: 0.0, np.zeros_like), 0.0


def quartic(rng, n):
    return pair(lambda s: (s**4).sum() / 4, lambda s: s**3), math.inf


def exponential(rng, n):
    A = rng.standard_normal((n, n)) / n**0.5
    return pair(lambda s: np.exp(A @ s).sum(), lambda s: A.T @ np.exp(A @ s)), math.inf


TAME = [quadratic, strong, logistic, pseudo_huber]  # whose curvature is bounded
SMOOTH = [*TAME, linear, quartic, exponential]


def tilted(q, x, v, energy=1.0, unit=1.0):
    """Return the f above, for which x is optimal where the multipliers sum to v."""
    at = q(x / unit)[1]

    def f(z):
        value, grad = q(z / unit)
        return energy * (value - at @ ((z - x) / unit)) - v @ (z - x), energy * (grad - at) / unit - v

    return f


# Sets that have the normal v at x.


def half_space(rng, x, v, unit=1.0):
    a = v / np.linalg.norm(v)
    return T.HalfSpace(a, a @ x)


def slab(rng, x, v, unit=1.0):
    a = v / np.linalg.norm(v)
    return T.Slab(a, a @ x - np.min(unit) * rng.uniform(0.3, 3), a @ x)


def ball(rng, x, v, unit=1.0):
    r = np.min(unit) * rng.uniform(0.5, 2)
    return T.L2Ball(r, x - r * v / np.linalg.norm(v))


def box(rng, x, v, unit=1.0):
    down, up = unit * rng.uniform(0.2, 2, (2, len(x)))
    return T.Box(np.where(v < 0, x, x - down), np.where(v > 0, x, x + up))


def hyperplane(rng, x, v, unit=1.0):
    a = v / np.linalg.norm(v)
    return T.Hyperplane(a, a @ x)


def affine(rng, x, v, unit=1.0):
    A = np.vstack([v / np.linalg.norm(v), rng.standard_normal((max(0, len(x) // 3 - 1), len(x)))])
    return T.Affine(A, A @ x)


SETS = [half_space, slab, ball, box, hyperplane, affine]


def l1(rng, x, energy=1.0, unit=1.0):
    """Return a weighted L1 norm and one of its subgradients at x."""
    weight = energy / unit * rng.uniform(0.1, 2)
    return T.L1(weight), weight * np.where(x == 0, rng.uniform(-0.9, 0.9, len(x)), np.sign(x))


def sparse(rng, n):
    return rng.standard_normal(n) * (rng.random(n) < 0.7)


def normals(rng, n, count):
    """Return unit vectors and minus their sum, which is not small."""
    while True:
        some = [direction(rng, n) for _ in range(count - 1)]
        if np.linalg.norm(sum(some)) > 0.3:  # else sets with these normals almost meet
            return [*some, -sum(some)]


def separated(rng, n, count, gap, unit=1.0, sets=SETS):
    """Return disjoint sets: around points p_i with normals n_i, sum n_i = 0, sum <n_i, p_i> = -gap ||n_count||."""
    p, directions = rng.standard_normal(n), normals(rng, n, count)
    units = [v / np.linalg.norm(v) for v in directions]
    points = [p + w - (w @ a) * a for w, a in zip(rng.standard_normal((count, n)), units, strict=True)]
    points[-1] = points[-1] - gap * units[-1]
    made = [choose(rng, sets)(rng, unit * x, v, unit) for x, v in zip(points, directions, strict=True)]
    return [made[i] for i in rng.permutation(count)]
