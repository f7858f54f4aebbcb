"""The compiled loop is the plain one, its certificates hold, and nothing stops it but what should."""

import time
from itertools import islice

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import trisplit as ts
from trisplit.kernels import birkhoff_tos as birkhoff
from trisplit.qap import Instance, Objective, initial_point, load, relax
from trisplit.qap.engine import SPLITS, BirkhoffLoop
from trisplit.steps import Adaptive, Constant
from trisplit.steps.decisions import SURGE
from trisplit.steps.records import Record

LINEAR = Instance("linear", *np.random.default_rng(3).integers(-9, 10, (2, 14, 14)), C=np.arange(196).reshape(14, 14))
NAMES = ["nug12", "chr12a", "bur26a", "tai30a", "sko49", "esc16f", "esc32a", "lipa20a", "tai50b", "linear"]
INSTANCES = {name: LINEAR if name == "linear" else load(name) for name in NAMES}


def objective(instance, dtype=float):
    C = None if instance.C is None else instance.C.astype(dtype)
    return Objective(instance.A.astype(dtype), instance.B.astype(dtype), C)


def rule_of(kind, form):
    return Adaptive() if kind == "adaptive" else Constant.from_lipschitz(form.lipschitz)


def start_of(n, seed=0, dtype=float):
    return initial_point(n, np.random.default_rng(seed)).astype(dtype)


def loop_of(name="nug12", split=1, kind="adaptive", tangent=True, dtype=float):
    f = objective(INSTANCES[name], dtype)
    form = f.tangent() if tangent else f
    loop = BirkhoffLoop(form, split, rule_of(kind, form))
    loop.start(start_of(INSTANCES[name].n, dtype=dtype))
    return loop


def distance_between(loop, states, iterations):
    """Return the largest ||z - z'|| over iterations of both, and of the rest relative to its size."""
    z_off = other_off = 0.0
    for state in islice(states, iterations):
        loop.advance(1)
        mine = loop.last()
        assert mine.t == state.t
        z_off = max(z_off, np.abs(mine.z - state.z).max())
        pairs = [(mine.x, state.x), (mine.y, state.y), (mine.u, state.u), (mine.gamma, state.gamma)]
        others = [np.abs(a - b).max() / max(np.abs(b).max(), 1.0) for a, b in pairs]
        other_off = max(other_off, *others)
    return z_off, other_off


# The twin


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize(("kind", "tangent"), [("adaptive", True), ("constant", True), ("constant", False)])
def test_the_compiled_loop_is_the_plain_one(name, split, kind, tangent):
    """A constant step differs by rounding; decisions on the adaptive one amplify that, most of all in gamma."""
    loop = loop_of(name, split, kind, tangent)
    plain = ts.tos(ts.Problem(loop.form, SPLITS[split]), start_of(INSTANCES[name].n), loop.rule)
    z_off, other_off = distance_between(loop, plain, 200)
    assert z_off <= (1e-12 if kind == "constant" else 1e-6)
    assert other_off <= (1e-11 if kind == "constant" else 3e-2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tangent", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_compiled_loop_with_the_sets_exchanged_is_the_plain_one(name, tangent, dtype):
    f = objective(INSTANCES[name], dtype)
    form = f.tangent(dtype) if tangent else f
    rule = rule_of("constant", form)
    loop = BirkhoffLoop(form, 2, rule, "hg")
    start = start_of(INSTANCES[name].n, dtype=dtype)
    loop.start(start)
    plain = ts.tos(ts.Problem(form, SPLITS[2][::-1]), start, rule)
    z_off, other_off = distance_between(loop, plain, 200 if dtype is np.float64 else 50)
    assert z_off <= (1e-12 if dtype is np.float64 else 1e-4)
    assert other_off <= (1e-11 if dtype is np.float64 else 1e-3)
    if dtype is np.float64:
        assert loop.value == pytest.approx(form.value(loop.z), rel=1e-11)
        bound, _ = loop.certify()
        u = form.grad(loop.z)
        assert bound >= gap_of(u, loop.z) - 1e-12 * np.abs(u).sum() * (1 + np.abs(loop.last().y).max())


@pytest.mark.parametrize("name", ["nug12", "bur26a", "esc16f", "linear"])
@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("kind", ["adaptive", "constant"])
def test_the_compiled_loop_is_the_plain_one_in_float32(name, split, kind):
    loop = loop_of(name, split, kind, dtype=np.float32)
    assert loop.z.dtype == np.float32
    start = start_of(INSTANCES[name].n, dtype=np.float32)
    plain = ts.tos(ts.Problem(loop.form, SPLITS[split]), start, loop.rule)
    z_off, _ = distance_between(loop, plain, 50 if kind == "constant" else 15)
    assert z_off <= (1e-5 if kind == "constant" else 1e-3)


@pytest.mark.parametrize("name", ["nug12", "bur26a", "linear"])
@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("ratio", [0.51, 0.49])
def test_a_step_that_rests_is_tested_where_the_gradient_surges(name, split, ratio):
    """In the plain loop and in the compiled one; `ratio` is of ||grad f(z)||^2 at the last test to what it is now."""
    loop = loop_of(name, split)
    problem = ts.Problem(loop.form, SPLITS[split])
    *_, made = islice(ts.tos(problem, start_of(INSTANCES[name].n), loop.rule), 12)
    state = made.after
    now = next(ts.tos(problem, state.y, loop.rule, resume=state)).u
    numbers = {"compare_in": 2.0, "last_rest": 2.0, "test_in": 2.0, "slope_sq_at_test": ratio * float((now**2).sum())}
    record = Record({**vars(state.memory.record), **numbers})
    resting = state._replace(memory=state.memory._replace(record=record))
    plain = next(ts.tos(problem, state.y, loop.rule, resume=resting)).after.memory.record
    loop.advance(12)
    for field, number in numbers.items():
        setattr(loop.table, field, number)
    tests = loop.advance(1)
    tested = 1.0 / ratio > SURGE
    assert (tests > 0) == tested
    steep = numbers["slope_sq_at_test"]
    assert (loop.table.slope_sq_at_test[0] == steep) == (plain.slope_sq_at_test == steep) == (not tested)
    for field in numbers:
        assert getattr(loop.table, field)[0] == pytest.approx(getattr(plain, field), rel=1e-6), field


@pytest.mark.parametrize("name", ["nug12", "lipa20a", "linear"])
@pytest.mark.parametrize("split", [1, 2])
def test_value_is_the_form_at_z(name, split):
    loop = loop_of(name, split)
    for _ in range(30):
        loop.advance(3)
        assert loop.value == pytest.approx(loop.form.value(loop.z), rel=1e-11)
        assert np.allclose(loop.last().u, loop.form.grad(loop.z), rtol=1e-10, atol=1e-8)


# Certificates


def gap_of(u, X):
    rows, columns = linear_sum_assignment(u)
    return (u * X).sum() - u[rows, columns].sum()


def project_unit_sums(X):
    n = len(X)
    return X - X.mean(axis=0) - X.mean(axis=1, keepdims=True) + X.mean() + 1 / n


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("kind", ["adaptive", "constant"])
def test_bound_dominates_the_gap_and_distance_is_that_to_unit_sums(name, split, kind):
    loop = loop_of(name, split, kind)
    for iterations in (1, 1, 2, 5, 20, 100):
        loop.advance(iterations)
        bound, distance = loop.certify()
        X, u = loop.z, loop.form.grad(loop.z)
        assert bound >= gap_of(u, X) - 1e-12 * np.abs(u).sum() * (1 + np.abs(loop.last().y).max())
        assert distance == pytest.approx(np.linalg.norm(X - project_unit_sums(X)), rel=1e-6, abs=1e-11)


@pytest.mark.parametrize("name", ["nug12", "bur26a", "linear"])
@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("options", [{}, {"max_iter": 7}, {"step": 1e-5, "max_iter": 50}])
def test_relax_returns_certificates_of_the_original_f(name, split, options):
    instance, f = INSTANCES[name], objective(INSTANCES[name])
    res = relax(instance, split=split, rng=2, **options)
    u = f.grad(res.x)
    assert res.certificate.kind == "gap"
    assert res.fun == f.value(res.x)
    assert res.certificate.stationarity == pytest.approx(gap_of(u, res.x), abs=1e-12 * np.abs(u).sum())
    off = np.linalg.norm(res.x - SPLITS[split][1].prox(res.x, 1.0))
    assert res.certificate.infeasibility == pytest.approx(off, abs=1e-12)
    errors = abs(res.certificate.stationarity) / max(res.fun, 1), res.certificate.infeasibility / instance.n**0.5
    assert res.success == (max(errors) <= 1e-5)


@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("order", ["gh", "hg"])
@pytest.mark.parametrize("step", ["auto", 1e-4])
def test_relax_counts_its_calls(split, order, step):
    """Every iteration takes a gradient and two projections, and checks may take more."""
    res = relax(INSTANCES["nug12"], split=split, order=order, step=step, tol=0, max_iter=100, rng=0)
    assert res.njev >= 100
    assert res.nprox >= 200
    assert (np.diff(res.trace["gradients"]) > 0).all()


# The same again


@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_new_start_forgets_all_that_was_before(split, dtype):
    loop, x0 = loop_of("lipa20a", split, dtype=dtype), start_of(20, 1, dtype)
    loop.start(x0)
    tests = loop.advance(70)
    first = loop.last()
    for other in (1e30 * x0, np.full_like(x0, np.nan), x0.T):
        loop.start(other)
        loop.advance(30)
        loop.start(x0)
        tests_again = loop.advance(70)
        again = loop.last()
        assert np.array_equal(again.z, first.z)
        assert np.array_equal(again.y, first.y)
        assert (again.t, again.gamma, again.f_z, tests_again) == (first.t, first.gamma, first.f_z, tests)


@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("kind", ["adaptive", "constant"])
def test_chunks_do_not_matter(split, kind):
    whole, parts = loop_of("tai30a", split, kind), loop_of("tai30a", split, kind)
    whole.advance(137)
    for iterations in (1, 0, 2, 30, 3, 100, 1):
        parts.advance(iterations)
        parts.certify()
    assert parts.t == whole.t
    assert np.array_equal(parts.z, whole.z)
    assert np.array_equal(parts.last().y, whole.last().y)
    assert (parts.gamma, parts.value, parts.certify()) == (whole.gamma, whole.value, whole.certify())


def test_the_last_iteration_is_a_copy_and_arguments_are_not_changed():
    loop, x0 = loop_of(), start_of(12, 5)
    kept = x0.copy()
    loop.start(x0)
    loop.advance(3)
    last = loop.last()
    z = last.z.copy()
    loop.advance(5)
    assert np.array_equal(last.z, z)
    assert np.array_equal(x0, kept)


# Small, empty, huge


@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("step", ["auto", 0.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_smallest_problems(split, step, dtype):
    one = relax(np.array([[3]]), np.array([[4]]), np.array([[5]]), split=split, step=step, dtype=dtype, max_iter=300)
    assert one.x == pytest.approx(1.0, abs=1e-4)
    assert one.fun == pytest.approx(17, abs=1e-2)
    flip = relax(np.array([[0, 2], [1, 0]]), np.array([[0, 1], [1, 0]]), split=split, step=step, dtype=dtype, rng=0)
    assert flip.fun >= 0
    zero = np.zeros((5, 5))
    for linear in (None, zero):
        res = relax(zero, zero, linear, split=split, step=step, dtype=dtype, rng=0)
        assert res.success
        assert res.fun == 0.0


@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("step", ["auto", 1e-3])
@pytest.mark.parametrize("scale", [1e-161, 1e-100, 1e-30, 1e30, 1e90, 1e152])
def test_whatever_the_scale_no_nan_escapes(split, step, scale):
    A, B = np.random.default_rng(0).random((2, 8, 8)) * scale
    res = relax(A, B, split=split, step=step, max_iter=100, rng=0)
    assert np.isfinite(res.x).all()
    assert np.isfinite([res.fun, *res.certificate[:2]]).all()
    assert res.fun == objective(Instance("", A, B)).value(res.x)


@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize(("scale", "dtype"), [(1e200, np.float64), (1e30, np.float32)])
def test_data_that_overflow_are_refused(split, scale, dtype):
    A, B = np.random.default_rng(0).random((2, 8, 8)) * scale
    with pytest.raises(ts.InputError, match="too large"):
        relax(A, B, split=split, dtype=dtype)


@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("size", [1e6, 1e20, 1e150])
def test_a_start_far_away_is_projected(split, size):
    loop = loop_of("nug12", split)
    loop.start(size * np.random.default_rng(0).standard_normal((12, 12)))
    g, h = SPLITS[split]
    for _ in range(5):
        y = loop.state[birkhoff.Y].copy()
        loop.advance(1)
        assert np.allclose(loop.z, g.prox(y, 1.0), rtol=0, atol=1e-12)
        last = loop.last()
        expected = h.prox(2 * last.z - last.y - last.gamma * last.u, 1.0)
        if split == 1:  # with the other one, x is as large as y
            assert np.allclose(last.x, expected, rtol=0, atol=1e-9)


def test_a_number_that_is_none_stays_none():
    for split in (1, 2):
        loop = loop_of("nug12", split)
        y0 = start_of(12)
        y0[3, 4] = np.nan
        loop.start(y0, gamma=1.0)
        loop.advance(1)
        assert np.isnan(loop.last().x).any()


# Limits and interrupts


@pytest.mark.parametrize("name", ["nug12", "tai50b"])
def test_time_limit_is_kept(name):
    relax(INSTANCES[name], max_iter=1)  # loads what is compiled
    begin = time.perf_counter()
    res = relax(INSTANCES[name], tol=0, max_iter=10**9, time_limit=0.3)
    assert res.status is ts.Status.TIME_LIMIT
    assert 0.3 <= res.elapsed <= time.perf_counter() - begin < 0.3 + 0.2


@pytest.mark.parametrize("max_iter", [1, 2, 3, 17, 100, 101])
def test_exactly_so_many_iterations(max_iter):
    res = relax(INSTANCES["tai30a"], tol=0, max_iter=max_iter, split=1, rng=0)
    assert (res.nit, res.iteration, res.status) == (max_iter, max_iter, ts.Status.MAX_ITER)
    assert res.trace["iteration"][-1] == max_iter


@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("calls", [1, 2, 5, 9])
def test_ctrl_c_keeps_the_best_iterate_with_its_gap(split, calls, monkeypatch):
    advance, seen = BirkhoffLoop.advance, []

    def interrupted(self, iterations):
        seen.append(iterations)
        if len(seen) > calls:
            raise KeyboardInterrupt
        return advance(self, iterations)

    monkeypatch.setattr(BirkhoffLoop, "advance", interrupted)
    res = relax(INSTANCES["bur26a"], split=split, tol=0, rng=0)
    f = objective(INSTANCES["bur26a"])
    assert res.status is ts.Status.INTERRUPTED
    assert res.certificate.kind == "gap"
    u = f.grad(res.x)
    assert res.certificate.stationarity == pytest.approx(gap_of(u, res.x), abs=1e-12 * np.abs(u).sum())
    assert res.fun == f.value(res.x)


def test_ctrl_c_before_the_first_iterate_is_ctrl_c(monkeypatch):
    def interrupted(self, iterations):
        raise KeyboardInterrupt

    monkeypatch.setattr(BirkhoffLoop, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        relax(INSTANCES["nug12"])
