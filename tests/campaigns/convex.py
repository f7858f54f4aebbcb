"""Families of convex problems that have a solution."""

import math
from dataclasses import replace

import numpy as np

from tests.campaigns.known import Problem, around, choose, direction, pair
from tests.campaigns.parts import (
    SETS,
    SMOOTH,
    TAME,
    T,
    ball,
    box,
    half_space,
    hyperplane,
    l1,
    linear,
    pseudo_huber,
    sparse,
    strong,
    tilted,
)


def constructed(rng, n, count, smooth=SMOOTH, sets=SETS, energy=1.0, unit=1.0, constant=False, **known):
    """Return a problem with `count` terms around its solution."""
    x, (q, L) = unit * sparse(rng, n), choose(rng, smooth)(rng, n)
    terms, parts = [], []
    for _ in range(count):
        if rng.random() < 0.3:
            term, v = l1(rng, x, energy, unit)
        else:
            v = energy / unit * rng.standard_normal(n) * rng.uniform(0.1, 1)
            term = choose(rng, sets)(rng, x, v, unit)
        terms.append(term)
        parts.append(v)
    x0 = rng.standard_normal(n) * choose(rng, [0, 1, 1, 5]) + x / unit * (rng.random() < 0.1)
    options = {"step": np.min(unit) ** 2 / (L * energy)} if constant else {}
    f = tilted(q, x, sum(parts), energy, unit)
    return around(rng, f, unit * x0, terms, x, parts, unit, options=options, **known)


def plain(rng):
    return constructed(rng, int(rng.integers(1, 20)), int(rng.integers(1, 3)))


def easy(rng):
    return constructed(rng, int(rng.integers(2, 9)), int(rng.integers(1, 3)), [strong], expected="CONVERGED")


def several(rng):
    return constructed(rng, int(rng.integers(2, 9)), int(rng.integers(3, 5)))


def constant(rng):
    return constructed(rng, int(rng.integers(2, 9)), int(rng.integers(1, 4)), TAME, constant=True)


def units(rng):
    """Whole problem times s, x in units of s."""
    energy, unit = 10 ** rng.uniform(-8, 8, 2)
    return constructed(rng, 5, int(rng.integers(1, 3)), [strong], energy=energy, unit=unit, expected="CONVERGED")


def coordinates(rng):
    """Each coordinate has its own unit, from 1e-8 to 1e8."""
    unit, sets = 10 ** rng.uniform(-8, 8, int(rng.integers(2, 6))), [box, half_space, hyperplane]
    return constructed(
        rng, len(unit), int(rng.integers(1, 3)), [strong, pseudo_huber], sets, unit=unit, may={"STALLED"}
    )


def single(rng):
    """All arrays are float32."""
    p = constructed(rng, int(rng.integers(2, 9)), int(rng.integers(1, 3)), TAME, eps=1.2e-7)
    f = pair(lambda x: np.float32(p.f(x)[0]), lambda x: np.float32(p.f(x)[1]))
    return replace(p, f=f, true_f=p.f, x0=np.float32(p.x0), options={"tol": 1e-4}, may={"STALLED"})


LINES = [
    (term, shape[0])
    for name, cls in T.registry.items()
    if name != "complex_l1"  # which is of complex numbers
    for term, shape in cls.examples()
    if term.convex and len(shape) == 1 and term.accuracy <= 1e3
]


def registered(rng):
    """Any convex term of the library: x* = prox(y) has the subgradient y - x*."""
    term, n = choose(rng, LINES)
    y = rng.standard_normal(n) * 2
    x = np.asarray(term.prox(y, 1.0))
    terms, parts = [term], [y - x]
    if rng.random() < 0.6:
        parts.append(rng.standard_normal(n))
        terms.insert(int(rng.integers(2)), choose(rng, SETS)(rng, x, parts[1]))
    f = tilted(choose(rng, TAME)(rng, n)[0], x, sum(parts))
    return around(rng, f, rng.standard_normal(n) * 2, terms, x, parts, may={"STALLED"})


def distant(rng):
    """The optimum lies up to 1e8 away from the start."""
    n, far = int(rng.integers(1, 6)), 10 ** rng.uniform(6, 8)
    u = direction(rng, n)
    x, (v, term) = far * u, choose(rng, [(u, T.L2Ball(far)), (u, T.HalfSpace(u, far)), (np.sign(u), None)])
    q, energy = choose(rng, [(linear, 1.0), (strong, 0.1 / far), (strong, 1.0)])
    f = tilted(q(rng, n)[0], x, v, energy)
    return around(rng, f, rng.standard_normal(n), [term or box(rng, x, v, far)], x, [v], far, may={"STALLED"})


def touching(rng):
    """Sets that meet at an angle of 1e-4, in a layer of 1e-7, or in one point."""
    n, kind = int(rng.integers(2, 6)), rng.integers(3)
    x, a, q = rng.standard_normal(n), direction(rng, n), choose(rng, TAME)(rng, n)[0]
    x0, known = rng.standard_normal(n) * 2, {"may": {"STALLED"}}
    if kind == 0:
        parts = [1e3 * a, -1e3 * (a + 1e-4 * direction(rng, n))]
        terms = [choose(rng, [half_space, ball])(rng, x, v) for v in parts]
    elif kind == 1:
        terms, parts = [half_space(rng, x, a), half_space(rng, x - 1e-7 * a, -a)], [a, 0 * a]
    else:
        terms, parts = [ball(rng, x, a), choose(rng, [ball, half_space])(rng, x, -a)], [direction(rng, n)]
        known["price"] = math.inf
    return around(rng, tilted(q, x, sum(parts)), x0, terms, x, parts, **known)


def solved(rng):
    """Random data; Clarabel knows whether it is feasible and bounded, and the solution."""
    import cvxpy as cp

    n = int(rng.integers(2, 8))
    A, c, m = rng.standard_normal((int(rng.integers(1, 2 * n)), n)), rng.standard_normal(n), rng.standard_normal(n)
    a, b, w, lo = direction(rng, n), rng.standard_normal(), rng.uniform(0, 1), rng.standard_normal(n) - 1
    x = cp.Variable(n)
    sets = [
        (T.Simplex(), [x >= 0, cp.sum(x) == 1]),
        (T.NonNegative(), [x >= 0]),
        (T.HalfSpace(a, b), [a @ x <= b]),
        (T.L2Ball(1.0, m), [cp.norm(x - m) <= 1]),
        (T.Box(lo, lo + 1), [x >= lo, x <= lo + 1]),
        (T.Isotonic(), [cp.diff(x) >= 0]),
    ]
    chosen = [sets[i] for i in rng.permutation(len(sets))[: rng.integers(1, 4)]]
    terms, constraints = [term for term, _ in chosen], [each for _, some in chosen for each in some]
    A = A * (rng.random() < 0.7)
    objective = 0.5 * cp.sum_squares(A @ x) + c @ x
    if rng.random() < 0.4:
        terms, objective = [*terms, T.L1(w)], objective + w * cp.norm1(x)
    made = cp.Problem(cp.Minimize(objective), constraints)
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    made.solve(solver=cp.CLARABEL, **tight)
    Q, x0 = A.T @ A, rng.standard_normal(n) * 3
    f = pair(lambda z: 0.5 * z @ (Q @ z) + c @ z, lambda z: Q @ z + c)
    if made.status == "optimal":
        duals = [np.atleast_1d(each.dual_value) for each in constraints]
        return around(rng, f, x0, terms, x.value, duals, eps=1e-9)
    if made.status in ("infeasible", "unbounded"):
        return Problem(made.status, f, x0, terms, expected="")  # by how much is not known
    return plain(rng)


def batch(rng):
    """Separable problems; the first may be unbounded or infeasible."""
    rows, n, truth = int(rng.integers(2, 5)), int(rng.integers(1, 4)), choose(rng, list(BATCHES))
    d, c, b = rng.uniform(0.3, 2, (rows, 1)), rng.standard_normal((rows, n)), rng.standard_normal((rows, n))
    lo = rng.standard_normal((rows, n)) - 1
    if truth == "unbounded":
        d[0], b[0] = 0, -1 - rng.random(n)
    f = pair(lambda X: (d / 2 * (X - c) ** 2 + b * X).sum(axis=-1), lambda X: d * (X - c) + b)
    x0, each = rng.standard_normal((rows, n)) * 2, []
    for i in range(rows):
        alone = pair(
            lambda x, i=i: (d[i] / 2 * (x - c[i]) ** 2 + b[i] * x).sum(), lambda x, i=i: d[i] * (x - c[i]) + b[i]
        )
        terms = BATCHES[truth](lo[i], float(i == 0))
        if i == 0 and truth != "optimal":
            each.append(Problem(truth, alone, x0[i], terms))
            continue
        v, w = c[i] - b[i] / d[i], 0.3 / d[i] * (truth != "infeasible")
        x = terms[0].project(v - np.clip(v, -w, w))
        each.append(around(rng, alone, x0[i], terms, x, expected="CONVERGED"))
    first = (np.arange(rows) == 0)[:, None]
    return Problem("optimal", f, x0, BATCHES[truth](lo, first), rows=tuple(each), options={"batch_ndim": 1})


BATCHES = {
    "optimal": lambda lo, first: [T.Box(lo, lo + 2), T.L1(0.3)],
    "unbounded": lambda lo, first: [T.NonNegative(), T.L1(0.3)],
    "infeasible": lambda lo, first: [T.Box(lo, lo + 2), T.Box(lo + 3 * first, lo + 2 + 3 * first)],
}
