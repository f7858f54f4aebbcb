"""The one loop, `iterate`, against [YMS21] Algorithms 1 and 2 written out in NumPy, line by line.

The step may change before an iteration, or be refused within it. Then y moves to z + gamma v, where v = (y - z) / gamma
is the subgradient of g at z that y stands for, so that z remains prox_{gamma g}(y). Relaxation takes y + relax (x - z)
for the next y. `tools/mutants.py` checks that each group of tests (`test_single_problem_`, `test_batch_`,
`test_product_` and `test_stochastic_`) fails if a line of the loop is wrong.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import trisplit as ts
from trisplit.gradients import SVRG, Estimated, Minibatch
from trisplit.gradients.draws import Draw
from trisplit.problems.product import Product
from trisplit.splitting.tos import State, iterate
from trisplit.terms import L1, L2, Box, SquaredL2

T = 12  # iterations
FIRST = 0.4  # gamma before the first iteration
STEPS = {  # which steps each iteration tries; it keeps the last one
    "constant": [(FIRST,)] * T,
    "changing": [(0.25,), (0.25,), (0.6,), (0.4,)] * (T // 4),
    "refused once": [(0.4,), (0.4,), (0.6, 0.2), (0.3,)] + [(0.3,)] * (T - 4),
    "refused often": [(0.5, 0.25), (0.25,), (0.5, 0.3, 0.1), (0.2,)] * (T // 4),
}
UNJUDGED = {
    "constant, unjudged": STEPS["constant"],
    "changing, unjudged": STEPS["changing"],
}  # no `judge`
STEPS |= UNJUDGED
LO, HI = -0.5, 0.8
W1, W2, RIDGE = 0.3, 0.4, 0.5  # weights of L1, L2 and SquaredL2
KEY, SIZE, EVERY = 11, 3, 4  # of the samples that are drawn

relaxed = pytest.mark.parametrize("relax", [1.0, 1.4])
stepped = pytest.mark.parametrize("name", STEPS)
batches = pytest.mark.parametrize("batch", [(3,), (2, 2)])


# The proximal maps, written out.


def soft(v, t):
    """Return the proximal map of t ||.||_1."""
    return np.sign(v) * np.maximum(np.abs(v) - t, 0)


def prox_l1(v, gamma):
    return soft(v, gamma * W1)


def prox_l2(v, gamma):
    length = (v @ v) ** 0.5
    return 0 * v if length <= gamma * W2 else (1 - gamma * W2 / length) * v


def prox_box(v, gamma):
    return np.minimum(np.maximum(v, LO), HI)


# The algorithms, written out.


class Line(NamedTuple):
    z: np.ndarray
    x: np.ndarray
    y: np.ndarray
    u: np.ndarray
    gamma: float
    y_next: np.ndarray


def algorithm_1(prox_g, prox_h, grad, y, gamma, tried, relax):
    """Return the iterations of [YMS21] Algorithm 1; y is that of the step that was kept."""
    lines = []
    for steps in tried:
        z = prox_g(y, gamma)
        u = grad(z)
        v = (y - z) / gamma
        gamma = steps[-1]
        y = z + gamma * v
        x = prox_h(2 * z - y - gamma * u, gamma)
        lines.append(Line(z, x, y, u, gamma, y - relax * z + relax * x))
        y = lines[-1].y_next
    return lines


def algorithm_2(proxes, grad, x0, gamma, tried, relax):
    """Return the iterations of [YMS21] Algorithm 2: a copy of y for f, and one for each term."""
    lines, n = [], len(proxes) + 1
    y = [x0.copy() for _ in range(n)]
    for steps in tried:
        z = [y[0]] + [prox(y_i, gamma) for prox, y_i in zip(proxes, y[1:], strict=True)]
        u = grad(z[0])
        v = [(y_i - z_i) / gamma for y_i, z_i in zip(y, z, strict=True)]
        gamma = steps[-1]
        y = [z_i + gamma * v_i for z_i, v_i in zip(z, v, strict=True)]
        x = (sum(2 * z_i - y_i for z_i, y_i in zip(z, y, strict=True)) - gamma * u) / n
        y_next = [y_i - relax * z_i + relax * x for y_i, z_i in zip(y, z, strict=True)]
        us = [u] + [0 * u for _ in proxes]
        lines.append(Line(np.array(z), np.array([x] * n), np.array(y), np.array(us), gamma, np.array(y_next)))
        y = y_next
    return lines


def side_by_side(members, batch):
    """Return the iterations of the problems of a batch, each on its own, as those of the batch."""
    return [
        Line(*(np.reshape(parts, (*batch, *np.shape(parts[0]))) for parts in zip(*lines, strict=True)))
        for lines in zip(*members, strict=True)
    ]


# The loop, and a step rule of one's own.


@dataclass(frozen=True)
class Told:
    """A step rule that is told which steps each iteration tries; it wants f(z) in every other iteration."""

    first: object
    tried: list

    def start(self, problem, y):
        return self.first, (0, 0)

    def propose(self, problem, memory, z, y, gamma):
        t, _ = memory
        step = self.tried[t][0]
        return (gamma if np.array_equal(step, gamma) else step), t % 2 == 1, (t, 0)

    def judge(self, problem, memory, made, d):
        t, k = memory
        if k + 1 < len(self.tried[t]):
            return self.tried[t][k + 1], (t, k + 1)
        return made.gamma, (t + 1, 0)


class Unjudged(Told):
    """A rule that accepts every step."""

    judge = None

    def propose(self, problem, memory, z, y, gamma):
        step, wanted, (t, k) = super().propose(problem, memory, z, y, gamma)
        return step, wanted, (t + 1, k)


def schedule(name, i):
    """Return the first step and the steps to try of the i-th problem of a batch: other ones for each."""
    scale = 1 / (1 + i / 3)
    tried = STEPS[name][i:] + STEPS[name][:i]
    return scale * FIRST, [tuple(scale * step for step in steps) for steps in tried]


def told(name, batch=(), axes=0):
    """Return the rule; for a batch one whose steps are columns with `axes` more axes."""
    rule = Unjudged if name in UNJUDGED else Told
    if not batch:
        return rule(FIRST, STEPS[name])
    firsts, schedules = zip(*(schedule(name, i) for i in range(np.prod(batch))), strict=True)

    def column(steps):
        return np.reshape(steps, (*batch, *(1,) * axes))

    tried = []
    for trials in zip(*schedules, strict=True):
        longest = max(len(steps) for steps in trials)
        tried.append([column([steps[min(k, len(steps) - 1)] for steps in trials]) for k in range(longest)])
    return rule(column(firsts), tried)


def run(problem, y, rule, relax=1.0, estimate=None, iterations=T):
    """Return what the loop makes."""
    state, made = State(0, y, *rule.start(problem, y)), []
    for _ in range(iterations):
        made.append(iterate(problem, state, rule, estimate, relax))
        state = made[-1].after
    return made


def assert_same(made, lines):
    """Assert that each iterate, and the state after it, is that of the algorithm written out."""
    assert [iterate.t for iterate in made] == list(range(1, len(lines) + 1))
    for ours, line in zip(made, lines, strict=True):
        near(ours.z, line.z)
        near(ours.u, line.u)
        near(ours.y, line.y)
        near(ours.x, line.x)
        near(ours.d, line.x - line.z)
        near(ours.after.y, line.y_next)
        near(np.reshape(ours.gamma, np.shape(line.gamma)), line.gamma)
        assert ours.after.gamma is ours.gamma
        assert ours.after.t == ours.t


def near(ours, literal):
    np.testing.assert_allclose(ours, literal, rtol=1e-12, atol=1e-12)


# The problems.


@dataclass(frozen=True, eq=False)
class Quadratic:
    """<x, Q x> / 2 + <c, x>, in a batch one for each problem."""

    Q: np.ndarray
    c: np.ndarray

    def value(self, x):
        return (x * (self.Q @ x[..., None])[..., 0] / 2 + self.c * x).sum(-1)

    def grad(self, x):
        return (self.Q @ x[..., None])[..., 0] + self.c

    def members(self):
        """Return f of each problem of the batch."""
        n = self.c.shape[-1]
        return [Quadratic(Q, c) for Q, c in zip(self.Q.reshape(-1, n, n), self.c.reshape(-1, n), strict=True)]


def quadratic(seed, batch=(), n=5, convex=False):
    """Return f, by default neither convex nor concave, and a starting point."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((*batch, n, n)) / n**0.5
    transposed = np.swapaxes(M, -1, -2)
    Q = M @ transposed if convex else (M + transposed) / 2
    return Quadratic(Q, rng.standard_normal((*batch, n))), rng.standard_normal((*batch, n))


def least_squares(seed, n=8, d=4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal(d)


TWO, THREE = [L1(W1), L2(W2)], [L1(W1), Box(LO, HI), L2(W2)]
PROXES = [prox_l1, prox_box, prox_l2]


# One problem: the lines of Algorithm 1.


@relaxed
@stepped
def test_single_problem_is_algorithm_1(name, relax):
    f, y = quadratic(0)
    made = run(ts.Problem(f, TWO), y, told(name), relax)
    assert_same(made, algorithm_1(prox_l1, prox_l2, f.grad, y, FIRST, STEPS[name], relax))


def test_single_problem_with_a_constant_rule_is_algorithm_1():
    f, y = quadratic(1)
    made = run(ts.Problem(f, TWO), y, ts.steps.Constant(FIRST))
    assert_same(made, algorithm_1(prox_l1, prox_l2, f.grad, y, FIRST, STEPS["constant"], 1.0))


def test_single_problem_has_f_at_z_where_it_is_wanted():
    f, y = quadratic(2)
    problem, rule = ts.Problem(f, TWO), told("refused often")
    for made in run(problem, y, rule):
        assert made.f_z == (None if made.t % 2 else f.value(made.z))
    state = State(0, y, *rule.start(problem, y))
    valued = iterate(problem, state, rule, valued=True)
    assert valued.f_z == f.value(valued.z)


# A batch: the lines of Algorithm 1 for each problem, with steps of its own.


@relaxed
@stepped
@batches
def test_batch_is_algorithm_1_for_each_problem(batch, name, relax):
    f, y = quadratic(3, batch)
    made = run(ts.Problem(f, TWO, batch_ndim=len(batch)), y, told(name, batch, axes=1), relax)
    members = [
        algorithm_1(prox_l1, prox_l2, f_i.grad, y_i, *schedule(name, i), relax)
        for i, (f_i, y_i) in enumerate(zip(f.members(), y.reshape(-1, y.shape[-1]), strict=True))
    ]
    assert_same(made, side_by_side(members, batch))


# More terms: the lines of Algorithm 2.


@relaxed
@stepped
def test_product_is_algorithm_2(name, relax):
    f, x0 = quadratic(4)
    space = Product(ts.Problem(f, THREE))
    made = run(space, space.start(x0), told(name), relax)
    assert_same(made, algorithm_2(PROXES, f.grad, x0, FIRST, STEPS[name], relax))


@relaxed
@stepped
def test_product_of_many_problems_is_algorithm_2_for_each(name, relax):
    batch = (3,)
    f, x0 = quadratic(5, batch)
    space = Product(ts.Problem(f, THREE, batch_ndim=1))
    made = run(space, space.start(x0), told(name, batch, axes=2), relax)
    members = [
        algorithm_2(PROXES, f_i.grad, x_i, *schedule(name, i), relax)
        for i, (f_i, x_i) in enumerate(zip(f.members(), x0, strict=True))
    ]
    assert_same(made, side_by_side(members, batch))


@stepped
def test_product_hands_each_step_that_is_tried_to_the_second_map(name):
    """The mean of the copies does not depend on gamma, so that no iterate shows with which one it was asked for."""
    f, x0 = quadratic(6)
    space, asked = Product(ts.Problem(f, THREE)), []
    mean = space.prox_h

    def watched(v, gamma):
        asked.append(gamma)
        return mean(v, gamma)

    space.prox_h = watched
    run(space, space.start(x0), told(name))
    assert asked == [step for steps in STEPS[name] for step in steps]


# Estimates of the gradient: the same lines with that u, which belongs to the samples of the iteration.


def minibatch(A, b, zs):
    """Return the mean gradient of the samples that each iteration draws."""
    us = []
    for t, z in enumerate(zs):
        rows = Draw(KEY, t).rows(len(b), SIZE, replace=True)
        us.append(np.mean([(A[i] @ z - b[i]) * A[i] for i in rows], axis=0))
    return us


def svrg(A, b, zs):
    """Return grad f_B(z) - grad f_B(w) + grad f(w), where w is a z that serves for the next EVERY iterations."""
    us = []
    for t, z in enumerate(zs):
        if t % (EVERY + 1) == 0:
            w, rows = z, []
        else:
            rows = Draw(KEY, t).rows(len(b), SIZE)
        change = [(A[i] @ (z - w)) * A[i] for i in rows]
        us.append(A.T @ (A @ w - b) / len(b) + (np.mean(change, axis=0) if change else 0))
    return us


ESTIMATES = {"minibatch": (Minibatch(SIZE), minibatch), "svrg": (SVRG(SIZE, EVERY), svrg)}


@relaxed
@stepped
@pytest.mark.parametrize("estimator", ESTIMATES)
def test_stochastic_is_algorithm_1_with_the_mean_of_the_samples(estimator, name, relax):
    A, b, y = least_squares(7)
    problem, (rule, means) = ts.Problem(ts.losses.LeastSquares(A, b), TWO), ESTIMATES[estimator]
    made = run(problem, y, told(name), relax, Estimated(problem.f, rule, KEY))
    given = iter([step.u for step in made])
    lines = algorithm_1(prox_l1, prox_l2, lambda z: next(given), y, FIRST, STEPS[name], relax)
    assert_same(made, lines)
    near([line.u for line in lines], means(A, b, [line.z for line in lines]))


@relaxed
@stepped
@pytest.mark.parametrize("estimator", ESTIMATES)
def test_stochastic_is_algorithm_2_with_the_mean_of_the_samples(estimator, name, relax):
    A, b, x0 = least_squares(8)
    problem, (rule, means) = ts.Problem(ts.losses.LeastSquares(A, b), THREE), ESTIMATES[estimator]
    space = Product(problem)
    made = run(space, space.start(x0), told(name), relax, Estimated(problem.f, rule, KEY))
    given = iter([step.u[0] for step in made])
    lines = algorithm_2(PROXES, lambda z: next(given), x0, FIRST, STEPS[name], relax)
    assert_same(made, lines)
    near([line.u[0] for line in lines], means(A, b, [line.z[0] for line in lines]))


# Subgradients: v in the subdifferential of g at z, that is g(z) + g*(v) = <v, z>.


def assert_l1_subgradient(v, z):
    assert np.abs(v).max() <= W1 + 1e-12
    near(v @ z, W1 * np.abs(z).sum())


def assert_l2_subgradient(v, z):
    assert (v @ v) ** 0.5 <= W2 + 1e-12
    near(v @ z, W2 * (z @ z) ** 0.5)


def assert_normal_to_box(v, z):
    near(v @ z, np.maximum(LO * v, HI * v).sum())


def assert_subgradients(z, x, y, u, gamma):
    """Assert (y - z) / gamma in dg(z) and (2 z - y - gamma u - x) / gamma in dh(x)."""
    assert_l1_subgradient((y - z) / gamma, z)
    assert_l2_subgradient((2 * z - y - gamma * u - x) / gamma, x)


@stepped
def test_single_problem_carries_subgradients(name):
    f, y = quadratic(9)
    for made in run(ts.Problem(f, TWO), y, told(name), 1.4):
        assert_subgradients(made.z, made.x, made.y, f.grad(made.z), made.gamma)


@stepped
def test_batch_carries_subgradients(name):
    f, y = quadratic(10, (3,))
    for made in run(ts.Problem(f, TWO, batch_ndim=1), y, told(name, (3,), axes=1), 1.4):
        for parts in zip(made.z, made.x, made.y, f.grad(made.z), made.gamma[:, 0], strict=True):
            assert_subgradients(*parts)


@stepped
def test_product_carries_subgradients(name):
    f, x0 = quadratic(11)
    space = Product(ts.Problem(f, THREE))
    for made in run(space, space.start(x0), told(name), 1.4):
        v = (made.y - made.z) / made.gamma
        near(v[0], 0)
        assert_l1_subgradient(v[1], made.z[1])
        assert_normal_to_box(v[2], made.z[2])
        assert_l2_subgradient(v[3], made.z[3])
        # The subgradients of the indicator of equal copies are those that sum to zero.
        near((2 * made.z - made.y - made.gamma * space.embed(f.grad(made.z[0])) - made.x).sum(axis=0), 0)


@stepped
def test_stochastic_carries_subgradients(name):
    A, b, y = least_squares(12)
    problem = ts.Problem(ts.losses.LeastSquares(A, b), TWO)
    for made in run(problem, y, told(name), 1.4, Estimated(problem.f, Minibatch(SIZE), KEY)):
        assert_subgradients(made.z, made.x, made.y, made.u, made.gamma)


# Fixed points: where -grad f(z) = v + s with v in dg(z) and s in dh(z), nothing moves, whatever step and relaxation.


def stationary(rng, shape):
    """Return z and subgradients of ||.||_1 and ||.||_2 there."""
    z = np.where(rng.random(shape) < 0.4, 0.0, rng.standard_normal(shape))
    z[..., 0] = 1.0  # the L2 norm is smooth where z is not zero
    v = W1 * np.where(z == 0, rng.uniform(-1, 1, shape), np.sign(z))
    return z, v, W2 * z / np.linalg.norm(z, axis=-1, keepdims=True)


def assert_stays(made, z, v):
    """Assert that z and x stay, while y follows the step."""
    for step in made:
        near(step.z, z)
        near(step.x, z)
        near(step.y, z + step.gamma * v)


@relaxed
@stepped
def test_single_problem_stays_at_a_stationary_point(name, relax):
    f, _ = quadratic(13)
    z, v, s = stationary(np.random.default_rng(13), f.c.shape)
    f = Quadratic(f.Q, -v - s - f.Q @ z)
    assert_stays(run(ts.Problem(f, TWO), z + FIRST * v, told(name), relax), z, v)


@relaxed
@stepped
def test_batch_stays_at_stationary_points(name, relax):
    f, _ = quadratic(14, (3,))
    z, v, s = stationary(np.random.default_rng(14), f.c.shape)
    f, rule = Quadratic(f.Q, -v - s - (f.Q @ z[..., None])[..., 0]), told(name, (3,), axes=1)
    assert_stays(run(ts.Problem(f, TWO, batch_ndim=1), z + rule.first * v, rule, relax), z, v)


@relaxed
@stepped
def test_product_stays_at_a_stationary_point(name, relax):
    f, _ = quadratic(15)
    z, v, s = stationary(np.random.default_rng(15), f.c.shape)
    lo, hi = z.min(), z.max() + 1
    normal = np.where(z == lo, -0.7, 0.0)
    f = Quadratic(f.Q, -v - normal - s - f.Q @ z)
    space = Product(ts.Problem(f, [L1(W1), Box(lo, hi), L2(W2)]))
    vs = np.array([0 * v, v, normal, s])
    assert_stays(run(space, z + FIRST * vs, told(name), relax), space.start(z), vs)


@relaxed
@stepped
def test_stochastic_stays_at_a_stationary_point(name, relax):
    """At a snapshot, the estimate of SVRG is the gradient."""
    A, _, y = least_squares(16)
    z, v, s = stationary(np.random.default_rng(16), y.shape)
    b = A @ z + len(A) * A @ np.linalg.solve(A.T @ A, v + s)
    problem = ts.Problem(ts.losses.LeastSquares(A, b), TWO)
    made = run(problem, z + FIRST * v, told(name), relax, Estimated(problem.f, SVRG(SIZE, EVERY), KEY))
    assert_stays(made, z, v)


# The certificate: over a box, `bound` is at least the largest <u, z - v> + g(z) - g(v) + h(z) - h(v).


def largest_gap(z, u, ridge=0.0):
    """Return the gap with g + h = W1 |.| + ridge |.|^2 / 2 on the box: the largest over v, entry by entry."""

    def convex_part(v):
        return W1 * np.abs(v) + ridge * v**2 / 2

    inside = [np.full_like(u, LO), np.full_like(u, HI), np.zeros_like(u)]
    if ridge:
        inside.append(prox_box(soft(-u, W1) / ridge, 1.0))
    values = [u * (z - v) + convex_part(z) - convex_part(v) for v in inside]
    return np.max(values, axis=0).sum(-1)


def assert_dominates(bounds, gaps):
    """Assert that every bound holds, and that the last ones say something; off the box a gap may be negative."""
    bounds, gaps = np.array(bounds), np.array(gaps)
    assert (bounds >= gaps - 1e-12 * (1 + np.abs(bounds))).all()
    assert (bounds[-1] < 0.1 * bounds[0]).all()


@relaxed
@stepped
@pytest.mark.parametrize("terms", [[Box(LO, HI), L1(W1)], [L1(W1), Box(LO, HI)]], ids=["box first", "L1 first"])
def test_single_problem_bound_is_at_least_the_gap(terms, name, relax):
    f, y = quadratic(17, convex=True)
    problem = ts.Problem(f, terms)
    made = run(problem, y, told(name), relax)
    assert_dominates([problem.bound(step) for step in made], [largest_gap(step.z, f.grad(step.z)) for step in made])


@relaxed
@stepped
def test_batch_bound_is_at_least_the_gap(name, relax):
    f, y = quadratic(18, (3,), convex=True)
    problem = ts.Problem(f, [Box(LO, HI), L1(W1)], batch_ndim=1)
    made = run(problem, y, told(name, (3,), axes=1), relax)
    assert_dominates([problem.bound(step) for step in made], [largest_gap(step.z, f.grad(step.z)) for step in made])


@relaxed
@stepped
def test_product_bound_is_at_least_the_gap(name, relax):
    f, x0 = quadratic(19, convex=True)
    space = Product(ts.Problem(f, [Box(LO, HI), L1(W1), SquaredL2(RIDGE)]))
    made = run(space, space.start(x0), told(name), relax)
    xs = [step.x[0] for step in made]
    assert_dominates([space.bound(step) for step in made], [largest_gap(x, f.grad(x), RIDGE) for x in xs])
