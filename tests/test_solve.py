"""The driver: when it stops, what it returns, and what it leaves alone."""

import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest

import trisplit as ts
from tests.problems import Quadratic, quadratic
from trisplit.terms import L1, Box, L2Ball, NonNegative, Simplex, SquaredL2, Zero

SIZE = 6
CERTIFIED = {  # kind of certificate -> terms that have it
    "gap": [Box(-0.5, 0.5), L1(0.1)],
    "bound": [L1(0.1), L2Ball(0.7)],
    "residual": [L1(0.1)],
    "bound of Algorithm 2": [L1(0.1), Box(-0.5, 0.5), L2Ball(0.7)],
}


def minimize(f, x0, terms, **options):
    """Untyped, as users call it: lists, numbers and NumPy scalars are as good."""
    return ts.minimize(f, x0, terms, **options)


def convex(seed=0):
    f = quadratic(np.random.default_rng(seed), SIZE, "convex")
    return Quadratic(f.Q + 0.3 * np.eye(SIZE), f.c)


# Stopping


@pytest.mark.parametrize("output", ["last", "best"])
@pytest.mark.parametrize("step", ["auto", 0.3])
@pytest.mark.parametrize("kind", CERTIFIED)
def test_the_certificate_of_the_returned_point_is_within_tol(kind, step, output):
    """Of the natural size of a gap, a slope times a way: both are about 3 here."""
    terms, f, tol = CERTIFIED[kind], convex(), 1e-7
    res = minimize(f, np.ones(SIZE), terms, step=step, output=output, tol=tol)
    assert res.status is ts.Status.CONVERGED
    assert res.success
    assert res.certificate.kind == kind.split()[0]
    assert max(res.certificate[:2]) <= 10 * tol
    assert res.nit == res.iteration == res.trace["iteration"][-1]
    if kind == "gap":  # and what rounding may have done to it
        gap = ts.certificates.epsilon_stationary(ts.Problem(f, terms), res.x)
        assert 0 < res.certificate.stationarity - gap < 1e-14


def test_it_stops_at_the_first_check_that_is_within_tol():
    """The residual must fall below tol times the largest slope, which was that of the start, as it vanishes."""
    target = np.linspace(-0.5, 0.5, SIZE)
    f = lambda x: (((x - target) ** 2).sum() / 2, x - target)  # noqa: E731
    res = minimize(f, np.ones(SIZE), [Box(-3, 3), L1(0.0)], step=0.1, tol=1e-6)
    residuals = 0.9 ** (res.trace["iteration"] - 1) * np.linalg.norm(1 - target)
    assert residuals[-1] <= 1e-6 * residuals[0] < residuals[-2]


def test_a_constant_added_to_f_changes_no_iteration():
    target = np.linspace(-2, 2, SIZE)
    runs = [
        minimize(lambda x, c=c: (((x - target) ** 2).sum() / 2 + c, x - target), np.ones(SIZE), Box(-3, 3), step=0.1)
        for c in (0.0, 1e-3, 1.0, 1e6)
    ]
    assert all(res.success for res in runs)
    assert len({(res.nit, res.x.tobytes()) for res in runs}) == 1


def test_zero_tol_never_stops_on_the_certificate():
    # f(x) = ||x||^2 / 2 is minimal at the start: stationarity and infeasibility are exactly 0.
    res = minimize(lambda x: (x @ x / 2, x), np.zeros(3), Box(-1, 1), tol=0, max_iter=50)
    assert res.certificate[:2] == (0.0, 0.0)
    assert res.status is ts.Status.MAX_ITER
    assert res.nit == 50
    assert not res.success


@pytest.mark.parametrize("max_iter", [1, 7, np.int64(100)])
def test_max_iter(max_iter):
    res = minimize(convex(), np.ones(SIZE), CERTIFIED["bound"], tol=0, max_iter=max_iter)
    assert res.nit == max_iter == res.trace["iteration"][-1]
    assert "max_iter" in res.message


class Sleepy:
    """A function that takes a while."""

    def __init__(self, seconds):
        self.seconds = seconds

    def value(self, x):
        return float(x @ x) / 2

    def grad(self, x):
        time.sleep(self.seconds)
        return x


@pytest.mark.parametrize("output", ["last", "random"])
def test_time_limit_is_kept(output):
    begin = time.perf_counter()
    res = minimize(
        Sleepy(0.002), np.ones(3), Box(-1, 1), step=1e-3, tol=0, time_limit=0.1, max_iter=10**9, output=output
    )
    taken = time.perf_counter() - begin
    assert res.status is ts.Status.TIME_LIMIT
    assert 0.1 <= res.elapsed <= taken < 1.0
    assert res.trace["iteration"][-1] == res.nit


def test_time_limit_counts_from_the_call():
    # Checking the input takes one gradient, longer than the limit; the first iterate is still returned.
    res = minimize(Sleepy(0.03), np.ones(3), Box(-1, 1), step=0.1, tol=0, time_limit=0.02)
    assert res.status is ts.Status.TIME_LIMIT
    assert res.nit == 1


def test_a_drawn_point_within_tol_is_a_success():
    for limit in ({"max_iter": 5}, {"time_limit": 0.01}):
        res = minimize(lambda x: (x @ x / 2, x), np.zeros(3), Box(-1, 1), output="random", rng=0, **limit)
        assert res.success


# Callback and Ctrl-C


def test_callback_sees_every_iteration_once():
    seen = []
    res = minimize(convex(), np.ones(SIZE), CERTIFIED["bound"], callback=seen.append)  # append returns None
    assert [state.t for state in seen] == list(range(1, res.nit + 1))
    for state in seen[:3]:
        assert state.z.shape == state.x.shape == state.y.shape == state.u.shape == (SIZE,)
        assert np.array_equal(state.u, convex().grad(state.z))
    for state, after in pairwise(seen):
        if state.gamma == after.gamma:
            assert np.allclose(after.y, state.y - state.z + state.x, rtol=0, atol=1e-12)


def test_callback_stops_on_a_true_value():
    res = minimize(convex(), np.ones(SIZE), CERTIFIED["bound"], tol=0, callback=lambda state: state.t == 13)
    assert res.status is ts.Status.CALLBACK
    assert res.nit == res.iteration == 13
    assert not res.success
    assert np.isfinite(res.certificate.stationarity)


class Interrupted:
    """Ctrl-C in the middle of the k-th gradient."""

    def __init__(self, f, k):
        self.f, self.left, self.value = f, k, f.value

    def grad(self, x):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return self.f.grad(x)


@pytest.mark.parametrize("kind", CERTIFIED)
@pytest.mark.parametrize("k", [2, 20])
def test_ctrl_c_returns_the_point_so_far(kind, k):
    f, terms = convex(), CERTIFIED[kind]
    options = {"step": 0.05, "tol": 0.0}
    if kind.endswith("2"):  # each look of Algorithm 2 takes one gradient more
        k = 2
    # The first gradient is taken by the check of the input, so the k-th belongs to iteration k - 1.
    res = minimize(Interrupted(f, k + 1), np.ones(SIZE), terms, **options)
    assert res.status is ts.Status.INTERRUPTED
    same = minimize(f, np.ones(SIZE), terms, max_iter=res.nit, **options)
    assert np.array_equal(res.x, same.x)
    assert res.certificate == same.certificate
    assert res.nit == k - 1


def test_ctrl_c_before_there_is_a_point_is_not_swallowed():
    for k in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            minimize(Interrupted(convex(), k), np.ones(SIZE), Box(-1, 1), step=0.1)


CHILD = """
import signal
import numpy as np, trisplit as ts
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits SIGINT ignored
ready = lambda state: print("ready", flush=True) if state.t == 100 else None
res = ts.minimize(lambda x: (x @ x, 2 * x), np.ones(50), ts.terms.Box(0, 1), tol=0, max_iter=10**9, callback=ready)
print(res.status.name, res.nit >= 100, np.isfinite(res.x).all(), res.certificate.kind)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_real_sigint_returns_the_point_so_far():
    command, pipe = [sys.executable, "-c", CHILD], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert out.split() == ["INTERRUPTED", "True", "True", "gap"]
    assert err == ""
    assert child.returncode == 0


# What comes in and what goes out


@pytest.mark.parametrize("step", ["auto", 0.3, "theory"])
@pytest.mark.parametrize("terms", [Zero(), Box(-9, 9), [Zero(), Zero()], [Zero(), Box(-9, 9), Zero()]])
def test_x0_is_never_changed_nor_handed_out(terms, step):
    x0 = np.linspace(-1, 1, SIZE)
    kept = x0.copy()
    f = convex()

    def spoil(state):
        for array in (state.z, state.x, state.y):
            array *= 0.5

    for options in ({"max_iter": 1}, {"max_iter": 30}, {"max_iter": 5, "callback": spoil}):
        res = minimize(f, x0, terms, step=step, tol=0, **options)
        assert np.array_equal(x0, kept)
        assert not np.shares_memory(res.x, x0)


def test_x0_may_be_a_list_integers_a_view_or_read_only():
    f, terms = convex(), CERTIFIED["gap"]
    expected = minimize(f, np.ones(SIZE), terms).x
    view, frozen = np.ones((SIZE, 2))[:, 0], np.ones(SIZE)
    frozen.setflags(write=False)
    for x0 in ([1] * SIZE, np.ones(SIZE, dtype=int), np.ones(SIZE, dtype=bool), view, frozen):
        res = minimize(f, x0, terms)
        assert res.x.dtype == np.float64
        assert np.array_equal(res.x, expected)
    assert minimize(lambda x: ((x - 3) ** 2, 2 * (x - 3)), 0.0, Box(0, 1)).x == 1.0


@pytest.mark.parametrize("step", ["auto", "theory", 0.1])
@pytest.mark.parametrize("kind", CERTIFIED)
def test_float32_stays_float32(kind, step):
    target = np.linspace(-1, 1, SIZE, dtype=np.float32)
    for output in ("last", "best", "random"):
        res = minimize(
            lambda x: (((x - target) ** 2).sum(), 2 * (x - target)),
            np.ones(SIZE, dtype=np.float32),
            CERTIFIED[kind],
            step=step,
            output=output,
            max_iter=40,
            tol=1e-4,
        )
        assert res.x.dtype == np.float32
        assert isinstance(res.fun, float)


EXPRESSIONS = {  # terms and the same in cvxpy
    "one term": ([L1(0.3)], lambda x: (0.3 * cp.norm1(x), [])),
    "two terms": ([Box(-0.4, 0.6), L1(0.3)], lambda x: (0.3 * cp.norm1(x), [x >= -0.4, x <= 0.6])),
    "two sets": ([Box(0.0, 0.5), Simplex()], lambda x: (0, [x >= 0, x <= 0.5, cp.sum(x) == 1])),
    "three terms": (
        [NonNegative(), L1(0.3), L2Ball(0.5)],
        lambda x: (0.3 * cp.norm1(x), [x >= 0, cp.norm(x) <= 0.5]),
    ),
    "four terms": (
        [L2Ball(0.8), SquaredL2(0.5), Box(-0.5, 0.3), L1(0.1)],
        lambda x: (0.1 * cp.norm1(x) + 0.25 * cp.sum_squares(x), [x >= -0.5, x <= 0.3, cp.norm(x) <= 0.8]),
    ),
}


@pytest.mark.parametrize("step", ["auto", 0.5])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_any_number_of_terms_reaches_the_optimum(name, step):
    terms, written = EXPRESSIONS[name]
    f = convex(3)
    res = minimize(f, np.ones(SIZE), terms, step=step, tol=1e-8)
    x = cp.Variable(SIZE)
    penalty, constraints = written(x)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, cp.psd_wrap(f.Q)) / 2 + f.c @ x + penalty), constraints)
    problem.solve()
    assert res.success
    assert res.x.shape == (SIZE,)  # Algorithm 2: the common x, not the copies
    assert res.fun == pytest.approx(problem.value, rel=0, abs=1e-5)
    phi = f.value(res.x) + sum(term.value(res.x) for term in terms if not term.indicator)
    assert abs(res.fun - phi) <= 1e-12 * (1 + abs(phi))


# Ways to give f


class Apart:
    """f without value_and_grad."""

    def __init__(self, f):
        self.value, self.grad = f.value, f.grad


class Both:
    """f with value_and_grad, counting which of the three is called."""

    def __init__(self, f):
        self.f, self.calls = f, {"value": 0, "grad": 0, "both": 0}

    def value(self, x):
        self.calls["value"] += 1
        return self.f.value(x)

    def grad(self, x):
        self.calls["grad"] += 1
        return self.f.grad(x)

    def value_and_grad(self, x):
        self.calls["both"] += 1
        return self.f.value(x), self.f.grad(x)


@pytest.mark.parametrize("kind", CERTIFIED)
@pytest.mark.parametrize("step", ["auto", 0.3])
def test_all_ways_to_give_f_are_the_same(kind, step):
    f = convex()
    both = Both(f)
    runs = [
        minimize(given, np.ones(SIZE), CERTIFIED[kind], step=step)
        for given in (Apart(f), both, lambda x: (f.value(x), f.grad(x)))
    ]
    for res in runs[1:]:
        assert np.array_equal(res.x, runs[0].x)
        assert (res.fun, res.nit, res.nfev, res.njev) == (runs[0].fun, runs[0].nit, runs[0].nfev, runs[0].njev)
    calls = both.calls["value"] + both.calls["grad"] + 2 * both.calls["both"]
    assert calls == runs[1].nfev + runs[1].njev + runs[1].nevidence
    assert both.calls["both"] >= runs[1].nit / 8 * (step == "auto")  # shared work is used


@pytest.mark.parametrize("kind", CERTIFIED)
def test_progress_changes_no_number(kind, monkeypatch, capsys):
    quiet = minimize(convex(), np.ones(SIZE), CERTIFIED[kind], output="best")
    monkeypatch.setenv("FORCE_COLOR", "1")  # makes rich believe in a terminal
    shown = minimize(convex(), np.ones(SIZE), CERTIFIED[kind], output="best", progress=True, time_limit=60)
    captured = capsys.readouterr()
    assert "stat" in captured.err
    assert captured.out == ""
    assert np.array_equal(shown.x, quiet.x)
    assert [row[2:] for row in shown.trace] == [row[2:] for row in quiet.trace]
    assert shown.certificate == quiet.certificate


def test_progress_is_silent_without_a_terminal(capsys):
    minimize(convex(), np.ones(SIZE), Box(0, 1), progress=True)
    assert capsys.readouterr() == ("", "")


def test_a_tolerance_may_be_a_fraction():
    res = ts.minimize(lambda x: (((x - 3) ** 2).sum() / 2, x - 3), np.zeros(2), L1(0.1), tol=Fraction(1, 10**6))
    assert res.success
    assert res.x == pytest.approx(2.9, abs=1e-5)


CENTRE = np.array([0.3, 0.5, 0.1])
ROUNDED_AWAY = {  # the step is so long, or so short, that rounding or underflow hides the move
    "a huge step": (
        lambda x: (float((x - CENTRE) @ (x - CENTRE) / 2), x - CENTRE),
        np.full(3, 0.2),
        [ts.terms.Box(0, 1), ts.terms.L2Ball(0.4)],
        {"step": 1e15},
        0.019,
    ),
    "single precision, small sets": (
        lambda x: (float(1e8 * ((x * 1e6 - CENTRE) ** 2).sum() / 2), np.float32(1e14 * (x * 1e6 - CENTRE))),
        np.zeros(3, np.float32),
        [ts.terms.L1(0.1), ts.terms.SolidSimplex(1e-6)],
        {},
        1e-3,
    ),
    "squares underflow": (
        lambda x: (1e-165 * (x - 2) @ (x - 2) / 2, 1e-165 * (x - 2)),
        np.zeros(3),
        ts.terms.L1(0.5e-165),
        {},
        1.126e-165 * 3,
    ),
    "a kink at the start": (
        lambda x: (np.maximum(x, x / 9).sum(), np.where(x >= 0, 1.0, 1 / 9)),
        np.zeros(3),
        ts.terms.Box(-1, 1),
        {},
        -0.33,
    ),
}


@pytest.mark.parametrize("name", ROUNDED_AWAY)
def test_a_move_that_numbers_do_not_show_is_no_success(name):
    f, x0, terms, options, enough = ROUNDED_AWAY[name]
    res = ts.minimize(f, x0, terms, max_iter=300, **options)
    assert not res.success or res.fun <= enough


def test_a_run_that_is_stopped_early_has_not_stalled():
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((20, 3)), rng.standard_normal(20)
    f = lambda x: ((A @ x - b) @ (A @ x - b) / 2, A.T @ (A @ x - b))  # noqa: E731
    terms = [ts.terms.Box(-0.1, 0.1), ts.terms.L1(2.0)]
    for seed in range(10):
        res = ts.minimize(f, np.zeros(3), terms, max_iter=6, output="random", rng=seed)
        assert res.status in (ts.Status.MAX_ITER, ts.Status.CONVERGED)


def test_a_bound_is_as_tight_far_from_zero():
    b, s = np.array([0.3, 0.5, 0.1]), 1e6
    f = lambda x: (float((x - s - b) @ (x - s - b) / 2), x - s - b)  # noqa: E731
    res = ts.minimize(f, np.full(3, s), [ts.terms.Box(s, s + 1), ts.terms.HalfSpace(np.ones(3), 3 * s + 0.5)])
    assert res.certificate.kind == "bound"
    assert res.certificate.stationarity < 1e-6
