"""Step rules: the adaptive rule needs no constants, stays bounded, and is fast where it should be."""

import pickle
from copy import copy, deepcopy
from itertools import islice, pairwise

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import trisplit as ts
from tests.problems import BIRKHOFF_SPLITS, quadratic
from trisplit.splitting.tos import MAX_TRIALS
from trisplit.steps import Adaptive, Constant, Theory, as_step
from trisplit.steps.decisions import PERIOD, SURGE
from trisplit.steps.records import Table
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
    size = float(np.linalg.norm(res.x)) + float(np.linalg.norm(x0))
    assert abs(res.certificate.stationarity) <= 1e-5 * size * float(np.linalg.norm(f.grad(res.x)))
    assert res.certificate.infeasibility <= 1e-5 * size
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
@pytest.mark.filterwarnings("ignore:more time went")  # its f has data for each problem
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
    assert res.status is ts.Status.UNBOUNDED
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


# Resuming


@pytest.mark.parametrize("name", ["one problem", "batch", "three terms"])
@pytest.mark.parametrize("step", ["auto", 0.02])
def test_an_iteration_goes_on_bit_by_bit_from_what_it_left(name, step):
    """Also after a detour: what is handed on is not changed by those who iterate from it."""
    f, terms, x0, _ = pieces(name)
    problem = ts.Problem(f, terms, batch_ndim=x0.ndim - 1)
    whole = list(islice(ts.tos(problem, x0, step), 60))
    for t in (1, 2, 7, 30):
        for _ in range(2):
            after = islice(ts.tos(problem, x0, step, resume=whole[t - 1].after), 60 - t)
            for made, expected in zip(after, whole[t:], strict=True):
                assert made.t == expected.t
                for field in ("z", "x", "y", "u", "d", "gamma"):
                    assert np.array_equal(getattr(made, field), getattr(expected, field))
                assert np.array_equal(made.after.y, expected.after.y)


@pytest.mark.parametrize("step", ["auto", 0.5])
def test_an_iteration_goes_on_from_nothing_but_a_state_of_its_problem_and_step(step):
    problem, x0 = ts.Problem(lambda x: (x @ x / 2, x), [Box(-1, 1), L1(0.1)]), np.ones(3)
    made, other = next(ts.tos(problem, x0, step)), next(ts.tos(problem, x0, 0.5 if step == "auto" else "auto"))
    copies = next(ts.tos(ts.Product(problem), x0, step))
    for state, message in (
        (made, "`resume` must be a State, got Iterate; pass `made.after`"),
        (made.y, "`resume` must be a State, got ndarray; pass `made.after`"),
        (
            copies.after,
            r"`resume` is a state of another problem: its y has shape \(3, 3\), that of this problem \(3,\); .*",
        ),
        (other.after, "`resume` is no state of the step (Adaptive|Constant); pass the `step` that made it"),
    ):
        with pytest.raises(ts.InputError, match=f"^{message}$"):
            next(ts.tos(problem, x0, step, resume=state))
    assert next(ts.tos(problem, None, step, resume=made.after)).t == 2  # no starting point is needed


def renewed(value):
    """Return what pickle makes of a value."""
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copied", [copy, deepcopy, renewed])
@pytest.mark.parametrize("name", ["one problem", "batch", "three terms"])
def test_an_iteration_goes_on_from_a_copy_of_what_it_left(name, copied):
    f, terms, x0, _ = pieces(name)
    problem = ts.Problem(f, terms, batch_ndim=x0.ndim - 1)
    *_, before, now = islice(ts.tos(problem, x0), 10)
    record = copied(before.after.memory.record)
    state = copied(before).after._replace(memory=copied(before.after.memory)._replace(record=record))
    again = next(ts.tos(problem, x0, resume=copied(state)))
    assert np.array_equal(again.after.y, now.after.y)
    assert np.array_equal(again.gamma, now.gamma)
    assert type(again.after.memory.record) is type(now.after.memory.record)


@pytest.mark.parametrize("copied", [deepcopy, renewed])
def test_a_copied_table_has_numbers_of_its_own(copied):
    table = Table.of(2, {"gamma": 1.0, "size": 2.0})
    other = copied(table)
    other.gamma = 5.0
    assert other.rows.dtype == table.rows.dtype
    assert (table.gamma == 1.0).all()
    assert (other.gamma == 5.0).all()


# Rules of one's own


class Decreasing:
    """gamma / sqrt(t)."""

    def __init__(self, gamma):
        self.gamma = gamma

    def start(self, problem, y):
        return self.gamma, (1,)

    def propose(self, problem, memory, z, y, gamma):
        (t,) = memory
        return self.gamma / t**0.5, False, (t + 1,)

    def judge(self, problem, memory, made, d):
        return made.gamma, memory


class Halving:
    """Backtracking from a column or a number on f(x) <= f(z) + <grad f(z), d> + ||d||^2 / (2 gamma)."""

    def start(self, problem, y):
        return problem.as_steps(np.full(y.shape[: problem.batch_ndim], 1e3)[()], y), ()

    def propose(self, problem, memory, z, y, gamma):
        return gamma, True, memory

    def judge(self, problem, memory, made, d):
        (slope, square), f_z = problem.dots((made.u, d), (d, d)), problem.read(made.f_z)
        gamma = np.reshape(made.gamma, np.shape(f_z))
        model = f_z + slope + square / (2 * gamma) + 1e-12 * (1 + np.abs(f_z))  # rounding refuses nothing
        refused = problem.read(problem.value(made.x)) > model
        if not np.any(refused):
            return made.gamma, memory
        return problem.as_steps(np.where(refused, gamma / 2, gamma)[()], d), memory


class Never:
    """Halves every step."""

    def start(self, problem, y):
        return 1.0, ()

    def propose(self, problem, memory, z, y, gamma):
        return gamma, False, memory

    def judge(self, problem, memory, made, d):
        return made.gamma * 0.999, memory


SPACES = {
    "one problem": ((), [Box(-1, 1), L1(0.1)]),
    "batch": ((5,), [Box(-1, 1), L1(0.1)]),
    "three terms": ((), [Box(-1, 1), L1(0.1), NonNegative()]),
    "batch of three terms": ((5,), [Box(-1, 1), L1(0.1), NonNegative()]),
}
D, C = np.array([1.0, 2.0, 5.0]), np.linspace(-3, 3, 15).reshape(5, 3)


def pieces(name):
    """Return f = sum_i D_i x_i^2 / 2 + C_i x_i, in a batch with a C for each problem, terms, x0 and the minimum."""
    batch, terms = SPACES[name]
    c = C if batch else C[1]
    f = lambda x: ((D * x**2 / 2 + c * x).sum(-1), D * x + c)  # noqa: E731
    least = 0.0 if len(terms) == 3 else -1.0
    return f, terms, np.full(c.shape, 0.3), np.clip(-np.sign(c) * np.maximum(np.abs(c) - 0.1, 0) / D, least, 1)


@pytest.mark.parametrize("name", SPACES)
def test_a_decreasing_step_of_ones_own(name):
    f, terms, x0, expected = pieces(name)
    steps = []
    options = {"batch_ndim": x0.ndim - 1, "tol": 1e-5, "max_iter": 5000}
    res = ts.minimize(f, x0, terms, step=Decreasing(0.5), callback=lambda made: steps.append(made.gamma), **options)
    assert np.all(res.success)
    np.testing.assert_allclose(res.x, expected, atol=1e-3)
    np.testing.assert_allclose(steps, 0.5 / np.sqrt(np.arange(1, len(steps) + 1)), rtol=1e-15)


@pytest.mark.parametrize("name", SPACES)
def test_backtracking_of_ones_own(name):
    f, terms, x0, expected = pieces(name)
    steps = []
    options = {"batch_ndim": x0.ndim - 1, "tol": 1e-5, "max_iter": 20000}
    res = ts.minimize(f, x0, terms, step=Halving(), callback=lambda made: steps.append(made.gamma), **options)
    assert np.all(res.success)
    np.testing.assert_allclose(res.x, expected, atol=1e-3)
    assert np.max(steps[0]) < 1e3
    assert all(np.all(new <= old) for old, new in pairwise(steps))
    assert np.min(steps) >= 1 / (2 * D.max())


@pytest.mark.parametrize("name", SPACES)
def test_a_rule_of_ones_own_goes_on_from_a_checkpoint(tmp_path, name):
    f, terms, x0, _ = pieces(name)
    for step in (Decreasing(0.5), Halving()):
        options = {"step": step, "batch_ndim": x0.ndim - 1, "tol": 0}
        whole, path = ts.minimize(f, x0, terms, max_iter=50, **options), tmp_path / type(step).__name__
        until = int(whole.trace["iteration"][8])  # a run checks where it ends, so only there
        ts.minimize(f, x0, terms, max_iter=until, checkpoint=path, **options)
        res = ts.minimize(f, x0, terms, max_iter=50, checkpoint=path, **options)
        assert np.array_equal(res.x, whole.x)
        assert (res.nfev, res.njev, res.nprox) == (whole.nfev, whole.njev, whole.nprox)


@pytest.mark.parametrize("name", SPACES)
def test_a_rule_that_never_accepts_is_stopped(name):
    f, terms, x0, _ = pieces(name)
    with pytest.raises(ts.InputError, match=f"^Never refused {MAX_TRIALS} steps in a row; [^\n]*$"):
        ts.minimize(f, x0, terms, step=Never(), batch_ndim=x0.ndim - 1)


class OfAnOlderRelease:
    """The form of a rule before 2026."""

    needs_d = False

    def needs_value(self, memory):
        return False

    def start(self, problem, y):
        return 0.5, ()

    def propose(self, memory, z, y, gamma):
        return gamma, memory

    def judge(self, memory, state, f):
        return state.gamma, memory


def test_a_rule_of_an_older_release_is_refused_before_the_first_iteration():
    calls = []

    def f(x):
        calls.append(1)
        return (x**2).sum(), 2 * x

    problem = ts.Problem(f, Box(-1, 1))
    for use in (
        lambda: as_step(OfAnOlderRelease()),
        lambda: as_step(OfAnOlderRelease),
        lambda: next(ts.tos(problem, np.ones(2), OfAnOlderRelease())),
        lambda: ts.minimize(f, np.ones(2), Box(-1, 1), step=OfAnOlderRelease()),
    ):
        with pytest.raises(ts.InputError) as caught:
            use()
        message = str(caught.value)
        assert message.startswith("OfAnOlderRelease is a step rule of an older release")
        assert all(name in message for name in ("start(", "propose(", "judge(", "`StepRule`"))
        assert "\n" not in message
    assert not calls


def test_a_rule_whose_class_was_passed_is_refused():
    with pytest.raises(ts.InputError, match="`step` must be"):
        as_step(Decreasing)


class WithoutJudge:
    """Forgets to say that it accepts every step."""

    start, propose = Decreasing.start, Decreasing.propose


@pytest.mark.parametrize("step", [WithoutJudge(), WithoutJudge])
def test_a_rule_without_judge_is_told_to_say_so(step):
    message = "`judge` of WithoutJudge is missing; write `judge = None` if every step is accepted"
    with pytest.raises(ts.InputError, match=f"^{message}$"):
        as_step(step)
