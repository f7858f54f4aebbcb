"""Families in which f is right and yet hard to trust: steep, kinked, noisy, rounded, or raising errors."""

import math
from dataclasses import replace
from zlib import crc32

import numpy as np

from tests.campaigns.convex import constructed
from tests.campaigns.known import EPS, Problem, around, choose, pair
from tests.campaigns.parts import SETS, TAME, T, ball, box, half_space, slab, sparse, tilted


def kinks(rng):
    """f = sum_i |<a_i, x> - b_i| with some kinks at the solution."""
    n = int(rng.integers(1, 6))
    x, A = rng.standard_normal(n), rng.standard_normal((2 * n, n))
    b = A @ x + sparse(rng, 2 * n)
    v = -A.T @ np.where(A @ x == b, rng.uniform(-0.9, 0.9, 2 * n), np.sign(A @ x - b))
    f = pair(lambda z: np.abs(A @ z - b).sum(), lambda z: A.T @ np.sign(A @ z - b))
    return around(rng, f, rng.standard_normal(n) * 2, [choose(rng, SETS)(rng, x, v)], x, [v], may={"STALLED"})


def steep(rng):
    """f = sum exp(A x), from so far away that a step is below rounding there."""
    n, count = int(rng.integers(2, 6)), int(rng.integers(1, 3))
    A = np.eye(n) if rng.random() < 0.4 else rng.standard_normal((n, n))
    f, x = pair(lambda s: np.exp(A @ s).sum(), lambda s: A.T @ np.exp(A @ s)), rng.standard_normal(n) * 0.5
    parts = [rng.standard_normal(n) for _ in range(count - 1)]
    parts.append(-f(x)[1] - sum(parts))
    sets = [choose(rng, [slab, box, ball, half_space])(rng, x, v) for v in parts]
    x0 = choose(rng, [np.full(n, 40.0), 10 * rng.standard_normal(n)])
    return around(rng, f, x0, sets, x, parts, may={"STALLED", "NOT_FINITE"})


def raising(rng):
    """f raises an ArithmeticError where it overflows or divides by zero."""
    x, v = rng.uniform(0.5, 2, 2), rng.standard_normal(2)

    def power(s):
        return sum(math.exp(20 * (each - 2)) for each in s), np.array([20 * math.exp(20 * (each - 2)) for each in s])

    def inverse(s):
        if min(s) <= 0:
            raise ZeroDivisionError("f is defined for positive x only")
        return float((1 / s).sum()), -1 / s**2

    q, start = choose(rng, [(power, x - 1), (inverse, x + 0.3)])
    may = {"STALLED", "NOT_FINITE"}
    return around(rng, tilted(q, x, v), start, [half_space(rng, x, v)], x, [v], unit=0.4, may=may)


def noisy(rng):
    """Values, gradients or both have noise, which depends on each bit of x."""
    p = constructed(rng, int(rng.integers(1, 8)), int(rng.integers(1, 3)), TAME)
    values, grads = choose(rng, [(1e-3, 0), (1e-6, 0), (1e-9, 0), (0, 1e-2), (1e-4, 1e-4), (1e-6, 1e-8)])

    def f(x):
        noise = np.random.default_rng(crc32(x.tobytes())).uniform(-1, 1, x.size + 1)
        value, grad = p.f(x)
        return value + values * p.slope * p.length * noise[0], grad + grads * p.slope * noise[1:] / x.size**0.5

    may = {"STALLED"} if values else {"STALLED", "BAD_GRADIENT"}  # exact values contradict such a gradient
    return replace(p, f=f, true_f=p.f, eps=max(values, grads, EPS), may=may)


def rounded(rng):
    """The gradient has single precision, x0 double."""
    p, tol = constructed(rng, int(rng.integers(2, 8)), int(rng.integers(1, 3)), TAME), choose(rng, [1e-4, 1e-12])
    f = pair(lambda x: p.f(x)[0], lambda x: np.float32(p.f(x)[1]))
    expected = "STALLED" if tol < 1e-9 else ""
    return replace(p, f=f, true_f=p.f, eps=1.2e-7, options={"tol": tol}, expected=expected, may={"STALLED"})


def roots(rng):
    """f = sum sqrt|x_i|, infinitely steep at the solutions."""
    n, tiny = int(rng.integers(2, 6)), 1e-300
    f = pair(lambda x: np.sqrt(np.abs(x)).sum(), lambda x: np.sign(x) / (2 * np.sqrt(np.maximum(np.abs(x), tiny))))
    ball = T.L2Ball(0.9), np.vstack([np.zeros(n), 0.9 * np.eye(n)])
    term, points = choose(rng, [(T.Simplex(), np.eye(n)), ball])
    may = {"STALLED", "NOT_FINITE"}
    return Problem("stationary", f, rng.uniform(0.1, 2, n), [term], points, price=math.inf, may=may)
