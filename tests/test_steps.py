"""Step rules: the adaptive rule needs no constants, stays bounded, and is fast where it should be."""

from itertools import islice

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import trisplit as ts
from tests.problems import BIRKHOFF_SPLITS, quadratic
from trisplit.steps import Adaptive, Constant, Theory, as_step
from trisplit.steps.adaptive import Memory
from trisplit.steps.decisions import MAX_BLIND, PERIOD, SURGE, change, verdict
from trisplit.terms import L1, Affine, Box, GroupL2, NonNegative, Zero

KINDS = ("linear", "concave", "indefinite", "convex")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [4, 10])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BIRKHOFF_SPLITS)
def test_auto_reaches_the_tolerance_over_the_birkhoff_polytope(name, kind, n, seed):
    rng = np.random.default_rng(100 * n + seed)
    f = quadratic(rng, n * n, kind)
    x0 = ts.qap.initial_point(n, rng)
    steps = []
    res = ts.minimize(f, x0, BIRKHOFF_SPLITS[name], callback=lambda s: steps.append(s.gamma))
    assert res.success, res
    assert abs(res.certificate.stationarity) <= 1e-6 * max(1.0, abs(res.fun))
    assert res.certificate.infeasibility <= 1e-6 * max(1.0, float(np.linalg.norm(res.x)))
    # Bounded: by a multiple of 1/L, and without curvature by one of what balances domain and gradient.
    natural = 1 / f.lipschitz if kind != "linear" else n**0.5 / np.linalg.norm(f.c)
    assert max(steps) <= 1e3 * natural


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["concave", "indefinite", "convex"])
def test_auto_converges_with_three_terms(kind, seed):
    """The free copy of Algorithm 2 has an unbounded domain, where a nonconvex f has no minimum: it must stay."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((2, 6))
    terms = [Box(-1, 1), L1(0.3), Affine(A, A @ rng.uniform(-0.5, 0.5, 6))]
    res = ts.minimize(quadratic(rng, 6, kind), np.zeros(6), terms)
    assert res.success, res


def gallery_problem(beta):
    """The overlapping group lasso of copt's gallery: logistic loss, n = 100, p = 1002, 125 groups."""
    rng = np.random.RandomState(0)
    n, p, rho = 100, 1002, 0.95
    groups = [np.arange(8 * i, 8 * i + 10) for i in range(125)]
    truth = np.zeros(p)
    for i in rng.randint(0, len(groups), 10):
        truth[groups[i]] = rng.randn()
    A = rng.randn(n, p)
    for i in range(1, p):
        A[:, i] = rho * A[:, i] + (1 - rho) * A[:, i - 1]
    A[:, 0] /= np.sqrt(1 - rho**2)
    A = StandardScaler().fit_transform(A)
    signs = np.sign(A @ truth + rng.randn(n))

    def loss(x):
        margins = signs * (A @ x)
        slopes = -signs / (1 + np.exp(margins))
        return np.logaddexp(0, -margins).mean(), A.T @ slopes / n

    return loss, GroupL2.split(groups, beta)


@pytest.mark.parametrize("beta", [1e-3, 1e-2])
def test_auto_on_the_overlapping_group_lasso_of_copts_gallery(beta):
    loss, (g, h) = gallery_problem(beta)

    def phi(state):
        return loss(state.z)[0] + g.value(state.z) + h.value(state.z)

    best = min(phi(state) for state in islice(ts.tos(ts.Problem(loss, (g, h)), np.zeros(1002), "auto"), 4000))
    reached = []
    res = ts.minimize(
        loss, np.zeros(1002), (g, h), callback=lambda s: phi(s) <= best + 1e-5 and not reached.append(s.t)
    )
    assert res.status is ts.Status.CALLBACK
    assert reached[0] <= 350
    assert res.njev <= 1.3 * res.nit


def test_every_step_that_grew_passes_the_sufficient_decrease_test():
    """f(x) <= f(z) + <grad f(z), x - z> + ||x - z||^2 / (2 gamma), with x computed for the accepted gamma.

    A step that has not grown is tested again after a few iterations.
    """
    rng = np.random.default_rng(3)
    M, b = rng.standard_normal((30, 12)), rng.standard_normal(30)
    f = lambda x: (0.5 * ((M @ x - b) ** 2).sum(), M.T @ (M @ x - b))  # noqa: E731
    h = L1(0.5)
    problem = ts.Problem(f, (NonNegative(), h))
    resting, gamma, tested, steep, values = 0, 0.0, 0, 0.0, 0
    for state in islice(ts.tos(problem, np.ones(12), "auto"), 200):
        values, new = problem.counts.value, problem.counts.value > values
        if new:
            resting, tested, steep = 0, tested + 1, state.u @ state.u
            f_z = f(state.z)[0]
            model = f_z + state.u @ state.d + state.d @ state.d / (2 * state.gamma)
            assert f(state.x)[0] <= model + 1e-12 * abs(f_z)
        else:
            resting += 1
            assert state.gamma <= gamma
            assert resting < 2 * PERIOD
            assert state.u @ state.u <= SURGE * steep
        gamma = state.gamma
        assert np.array_equal(state.d, state.x - state.z)
        np.testing.assert_array_equal(state.x, h.prox(2 * state.z - state.y - state.gamma * state.u, state.gamma))
    assert tested > 20


def test_the_adaptive_step_finds_its_own_scale():
    """Multiplying f + g + h by a constant leaves the iterates of a scale-free rule alone."""
    rng = np.random.default_rng(4)
    M, b = rng.standard_normal((20, 8)), rng.standard_normal(20)
    results = []
    for c in (1e-6, 1.0, 1e6):
        f = lambda x, c=c: (c * 0.5 * ((M @ x - b) ** 2).sum(), c * (M.T @ (M @ x - b)))  # noqa: E731
        terms = (L1(0.5 * c), Box(-0.3, 0.3))
        results.append([s.z for s in islice(ts.tos(ts.Problem(f, terms), np.zeros(8), "auto"), 40)])
    for other in (results[0], results[2]):
        for a, b_ in zip(results[1], other, strict=True):
            np.testing.assert_allclose(a, b_, atol=1e-8)


@pytest.mark.parametrize("batch", [False, True])
def test_a_step_that_rests_does_not_run_away_towards_a_barrier(batch):
    """<c, x> - sum log x is least at 1 / c; its curvature has no bound: a step that was right may soon be too long."""
    rng = np.random.default_rng(0)
    c, x0 = rng.uniform(0.1, 12.0, (100, 2)), rng.uniform(0.5, 3.0, (100, 2))

    def f(x, c):
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = (x > 0).all(-1)
            return np.where(inside, (c * x - np.log(np.where(x > 0, x, 1.0))).sum(-1), np.inf)[()], c - 1 / x

    if batch:
        res = ts.minimize(lambda x: f(x, c), x0, NonNegative(), batch_ndim=1)
        status, x = res.status.tolist(), res.x
    else:
        own = [ts.minimize(lambda x, c=c: f(x, c), x, NonNegative()) for c, x in zip(c, x0, strict=True)]
        status, x = [res.status for res in own], np.array([res.x for res in own])
    assert set(status) == {ts.Status.CONVERGED}
    np.testing.assert_allclose(x, 1 / c, rtol=1e-3)


def test_f_that_is_not_defined_outside_dom_g():
    """-log x is NaN at negative x: the trial x may lie there, and the step shrinks until it does not matter."""

    def f(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(-np.log(x).sum() + x.sum() * 0.5), 0.5 - 1 / x

    res = ts.minimize(f, np.full(3, 0.01), (Box(1e-3, 10.0), Zero()))
    assert res.success
    np.testing.assert_allclose(res.x, 2.0, atol=1e-4)


def test_f_that_is_not_defined_on_dom_h():
    """x stays in the affine set however short the step is, and -log is NaN there: the test is given up, not the run."""

    def f(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(-np.log(x).sum()), -1 / x

    terms = (Box(1e-3, 10.0), Affine(np.ones((1, 3)), [3.0]))
    res = ts.minimize(f, np.array([9.0, 1e-3, 1e-3]), terms)
    assert res.success
    np.testing.assert_allclose(res.x, 1.0, atol=1e-4)


@pytest.mark.parametrize(("angle", "curvature"), [(0.03, 30.0), (0.02, 30.0), (0.05, 10.0), (0.1, 1.0)])
def test_auto_converges_where_two_sets_hardly_meet(angle, curvature):
    """Two lines at a small angle: the dual moves dominate for long, which must not drive the step to 0 and back."""
    d = np.array([1.0, curvature])
    f = lambda x: (float((d * (x - 3) ** 2).sum() / 2), d * (x - 3))  # noqa: E731
    lines = (Affine(np.array([[0.0, 1.0]]), [0.0]), Affine(np.array([[np.sin(angle), -np.cos(angle)]]), [0.0]))
    res = ts.minimize(f, np.array([5.0, 3.0]), lines)
    assert res.success
    np.testing.assert_allclose(res.x, 0.0, atol=1e-3)


@pytest.mark.parametrize("rule", ["auto", "theory"])
@pytest.mark.parametrize("name", BIRKHOFF_SPLITS)
def test_a_zero_objective_is_survived(name, rule):
    res = ts.minimize(lambda x: (0.0, 0 * x), np.full((3, 3), 1 / 3), BIRKHOFF_SPLITS[name], step=rule, max_iter=100)
    assert res.success
    assert np.isfinite(res.trace["step"]).all()


@pytest.mark.parametrize("power", [2, 4])
def test_an_objective_that_is_unbounded_below_is_no_success(power):
    res = ts.minimize(lambda x: (-(x**power).sum(), -power * x ** (power - 1)), np.ones(2), L1(0.1))
    assert res.status is ts.Status.NOT_FINITE
    assert np.isfinite(res.x).all()


def test_constant_from_lipschitz():
    assert Constant.from_lipschitz(4.0) == Constant(0.25)
    assert Constant.from_lipschitz(0.0) == Constant(1.0)
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ts.InputError, match="`L`"):
            Constant.from_lipschitz(bad)


def test_theory_without_constants_uses_gamma0():
    problem = ts.Problem(lambda x: (0.0, 0 * x), (NonNegative(), L1()))
    assert Theory(iterations=1000, gamma0=3.0).start(problem, np.zeros(2))[0] == pytest.approx(0.03)
    with pytest.raises(ts.InputError, match="iterations"):
        Theory().start(problem, np.zeros(2))
    with pytest.raises(ts.InputError, match="iterations"):
        Theory(iterations=0)


def test_as_step_names_the_choices():
    assert as_step("auto") == Adaptive()
    assert as_step(Constant(2.0)) == Constant(2.0)
    with pytest.raises(ts.InputError, match="auto, theory"):
        as_step("fast")


@pytest.mark.parametrize("seed", range(10))
def test_the_first_step_is_no_rounding_error(seed):
    """In float32 it is that of float64 but for a percent, although it comes from a difference of gradients."""
    rng = np.random.default_rng(seed)
    M, c, y = rng.standard_normal((6, 6)), 1000 * rng.standard_normal(6), rng.standard_normal(6)

    def first_step(dtype):
        Q, b = (M @ M.T).astype(dtype), c.astype(dtype)
        problem = ts.Problem(lambda x: (x @ Q @ x / 2 + b @ x, Q @ x + b), [L1(0.3), NonNegative()])
        return Adaptive().start(problem, y.astype(dtype))[0]

    assert first_step("float32") == pytest.approx(first_step("float64"), rel=0.01)


@pytest.mark.parametrize(
    ("error", "ratio"), [(0.51, 0.9), (0.6, 0.95 * 0.5 / 0.6), (1.0, 0.475), (4.0, 0.95 / 8), (1e3, 0.1)]
)
def test_a_refused_step_shrinks_by_what_the_test_says(error, ratio):
    """With ||d|| = gamma = 1 an error of 1/2 is allowed."""
    found, passed, rest, _ = verdict(1.0, 1.0, 1.0, 0.0, 0.0, error, 1e-16, 3.0, 0.0, 0.0)
    assert (found, passed, rest) == (pytest.approx(ratio), 0.0, 0.0)


@pytest.mark.parametrize("f_x", [np.inf, -np.inf, np.nan])
def test_a_step_is_halved_where_f_is_not_finite_but_not_for_ever(f_x):
    """An infinite f(x) has infinite rounding errors, too, which excuse nothing."""
    trials = (1.0, 1.0, 1.0, 0.0, 0.0, f_x, 1e-16, 3.0, 0.0)
    assert verdict(*trials, 0.0) == (0.5, 0.0, 0.0, 1.0)
    assert verdict(*trials, float(MAX_BLIND)) == (1.0, 0.0, 0.0, float(MAX_BLIND))


@pytest.mark.parametrize(
    ("room", "reversals", "growth"),
    [(1.0, 0, 0.5), (4.0, 0, np.log(4)), (1e3, 0, 2.0), (4.0, 1, np.log(2)), (1e3, 9, 0.2)],
)
def test_a_step_grows_by_the_room_that_the_last_test_left(room, reversals, growth):
    """Which is at most 4 c / (1 + k), and c or half of log(room) unless there was no reversal; see docs/steps.md."""
    _, *numbers = Memory(None, None, 0.0, *Adaptive().first_numbers(1e-16))[2:]
    memory = dict(zip(Memory._fields[3:], numbers, strict=True)) | {"size": 1.0, "wait": 0.0}
    memory |= {"passed": room, "reversals": float(reversals)}
    gamma, _ = change(1.0, 0.5, 1.0, 0.5, 4.0, 1.0, *memory.values())
    assert np.log(gamma) == pytest.approx(growth)
