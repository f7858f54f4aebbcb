"""Families without a solution: unbounded below, an infimum that is not attained, no feasible point.

Along a common direction of recession d of the terms f falls; or sets lie around points p_i with normals n_i where
sum n_i = 0 and sum <n_i, p_i> < 0, so that no x has <n_i, x - p_i> <= 0 for all i.
"""

import numpy as np

from tests.campaigns.known import Problem, choose, direction, pair
from tests.campaigns.parts import SETS, T, ball, box, half_space, linear, quadratic, separated, slab, strong


def falling(rng):
    """f falls along a direction of recession of all terms."""
    n, energy, unit = int(rng.integers(1, 8)), *10 ** (rng.uniform(-6, 6, 2) * (rng.random() < 0.3))
    flat = ["affine", "slab", "squares"] if n > 1 else []
    kind = choose(rng, ["nonnegative", "isotonic", "half-spaces", "l1", "free", *flat])
    d, p, A, terms = direction(rng, n), unit * rng.standard_normal(n), np.zeros((n, n)), [T.Zero()]
    across = np.eye(n) - np.outer(d, d)  # onto the normals along which d does not move
    if kind == "affine":
        rows = rng.standard_normal((rng.integers(1, n), n)) @ across
        terms = [T.Affine(rows, rows @ p)]
    elif kind == "nonnegative":
        terms, d = [T.NonNegative()], np.abs(d)
    elif kind == "isotonic":
        terms, d = [T.Isotonic()], np.sort(d)
    elif kind == "half-spaces":
        terms = [half_space(rng, p, -np.sign(v @ d) * v) for v in rng.standard_normal((rng.integers(1, 4), n))]
    elif kind == "slab":
        terms = [slab(rng, p, across @ direction(rng, n), unit)]
    elif kind == "squares":
        A = rng.standard_normal((n, n)) @ across
    c = -d + 0.3 * rng.random() * (np.eye(n) - np.outer(d, d)) @ direction(rng, n)
    if kind == "l1":
        terms = [T.L1(0.5 * energy / unit * np.max(np.abs(c)))]
    value, grad = lambda s: (A @ s) @ (A @ s) / 2 + c @ s, lambda s: A.T @ (A @ s) + c
    f = pair(lambda x: energy * value(x / unit), lambda x: energy / unit * grad(x / unit))
    x0 = unit * choose(rng, [rng.standard_normal(n), np.zeros(n), np.full(n, -9.0)])
    terms = terms + [T.Zero()] * (rng.random() < 0.2)
    return Problem("unbounded", f, x0, terms, options={"max_iter": 3000})


def slowly(rng):
    """f falls without bound, but slower than any line."""
    logs = pair(lambda x: -np.log1p(x).sum(), lambda x: -1 / (1 + x))
    roots = pair(lambda x: -np.sqrt(1 + x).sum(), lambda x: -0.5 / np.sqrt(1 + x))
    f, x0 = choose(rng, [logs, roots]), rng.uniform(0, 3, rng.integers(1, 5))
    return Problem("slowly unbounded", f, x0, [T.NonNegative()])


def vanishing(rng):
    """The infimum 0 is not attained."""
    x0 = np.full(rng.integers(1, 4), rng.standard_normal())
    f = pair(lambda x: np.exp(-x).sum(), lambda x: -np.exp(-x))
    term = choose(rng, [T.NonNegative(), T.Zero(), T.Box(-1, np.inf)])
    return Problem("unattained", f, x0, [term], infimum=0.0, slope=f(x0)[0])


def disjoint(rng):
    """Two or three sets without a common point."""
    n, unit = int(rng.integers(1, 8)), 10 ** (rng.uniform(-8, 8) * (rng.random() < 0.3))
    sets, count = (SETS, int(rng.integers(2, 4))) if n > 1 else ([half_space, slab, ball, box], 2)
    terms = separated(rng, n, count, 10 ** rng.uniform(-3, 1), unit, sets)
    q, c = choose(rng, [quadratic, strong, linear])(rng, n)[0], rng.standard_normal(n)
    f = pair(lambda x: q(x / unit)[0] + c @ x / unit, lambda x: (q(x / unit)[1] + c) / unit)
    terms = terms + [T.L1(1.0)] * (rng.random() < 0.15)
    return Problem("infeasible", f, unit * rng.standard_normal(n) * 3, terms, options={"max_iter": 3000})


def barely(rng):
    """No common point, at a distance that is 0 or below the tolerance."""
    n = int(rng.integers(2, 6))
    c, x0 = rng.standard_normal(n), rng.standard_normal(n)
    if rng.random() < 0.5:  # exp(x) <= t <= 0
        terms = [T.EpigraphExp(), T.HalfSpace(np.array([0.0, 1.0]))]
        f, known = pair(lambda x: c[:2] @ x, lambda x: c[:2]), {"may": {"UNBOUNDED"}, "options": {"max_iter": 500}}
        return Problem("weak", f, x0[:2], terms, **known)
    f = pair(lambda x: x @ x / 2 + c @ x, lambda x: x + c)
    return Problem("weak", f, x0, separated(rng, n, 2, 10 ** rng.uniform(-9, -7), sets=[ball]))
