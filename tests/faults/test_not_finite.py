"""A failing number is a status with the best finite point so far, not an exception and not a warning.

Warnings are errors in these tests, so an overflow that escapes the driver fails them.
"""

import math

import numpy as np
import pytest

import trisplit as ts
from trisplit.terms import L1, Box, L2Ball, NuclearNorm, Simplex, Zero

SIZE = 4
TERMS = {
    "gap": [Box(0, 1), L1(0.1)],
    "bound": [L1(0.1), L2Ball(2.0)],
    "residual": [L1(0.1)],
    "Algorithm 2": [L1(0.1), L2Ball(2.0), Box(0, 1)],
}


def value(x):
    return float(((x - 3) ** 2).sum()) / 2


class Breaks:
    """A function that breaks at its k-th call of value or gradient, for ever after or in a region."""

    def __init__(self, value_breaks, gradient_breaks):
        self.value_breaks, self.gradient_breaks = value_breaks, gradient_breaks

    def value(self, x):
        return math.nan if self.value_breaks(x) else value(x)

    def grad(self, x):
        return (x - 3) * (np.nan if self.gradient_breaks(x) else 1.0)


def after(calls):
    left = calls

    def broken(x):
        nonlocal left
        left -= 1
        return left < 0

    return broken


def never(x):
    return False


def check(res):
    assert res.status is ts.Status.NOT_FINITE
    assert not res.success
    assert "smaller step" in res.message
    assert np.isfinite(res.x).all()
    assert np.isfinite(res.fun)
    assert np.isfinite(res.certificate[:2]).all()
    assert np.isfinite(res.trace["objective"]).all()
    assert 1 <= res.iteration <= res.nit
    assert res.iteration in res.trace["iteration"]
    assert res.guarantee.theorem is None


@pytest.mark.parametrize("calls", [15, 20, 30])  # with 30, "both" breaks in the midst of a check
@pytest.mark.parametrize("output", ["last", "best", "random"])
@pytest.mark.parametrize("step", ["auto", 0.01])
@pytest.mark.parametrize("what", ["value", "gradient", "both"])
@pytest.mark.parametrize("terms", TERMS)
def test_f_breaks_midway_for_ever(terms, what, step, output, calls):
    broken = after(calls)
    f = Breaks(*{"value": (broken, never), "gradient": (never, broken), "both": (broken, broken)}[what])
    check(ts.minimize(f, np.full(SIZE, 0.3), TERMS[terms], step=step, tol=0, max_iter=1000, output=output, rng=0))


@pytest.mark.parametrize("step", ["auto", 0.01])
@pytest.mark.parametrize("what", ["value", "gradient", "both"])
@pytest.mark.parametrize("terms", TERMS)
def test_f_breaks_in_a_region(terms, what, step):
    def broken(x):
        return bool(np.any(x > 0.6))

    f = Breaks(*{"value": (broken, never), "gradient": (never, broken), "both": (broken, broken)}[what])
    res = ts.minimize(f, np.full(SIZE, 0.1), TERMS[terms], step=step, tol=0, max_iter=1000)
    if step != "auto" or what == "both":  # a shorter step may well stay outside for long
        check(res)
    assert np.isfinite(res.x).all()
    assert not res.success
    assert res.fun == pytest.approx(value(res.x) + 0.1 * np.abs(res.x).sum())


def minus_square(x):
    return -float((x * x).sum()), -2 * x


def minus_fourth(x):
    return -float((x**4).sum()), -4 * x**3


@pytest.mark.parametrize("f", [minus_square, minus_fourth])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("terms", [Zero(), L1(0.1), [L1(0.1), Zero()], [L1(0.1), Zero(), Zero()], NuclearNorm(0.1)])
def test_a_long_constant_step_on_an_unbounded_problem(f, dtype, terms):
    x0 = np.ones((2, 2), dtype=dtype)
    res = ts.minimize(f, x0, terms, step=1.0, tol=0, max_iter=5000)
    check(res)
    assert res.x.dtype == dtype


@pytest.mark.parametrize(
    "failure",
    [
        lambda x: math.exp(1e4 * (1 + x.max())),  # OverflowError
        lambda x: 1.0 / 0.0 if x.max() > 0.5 else 1.0,  # ZeroDivisionError
        lambda x: np.linalg.inv(np.zeros((2, 2)))[0, 0] if x.max() > 0.5 else 1.0,  # LinAlgError
    ],
)
def test_python_numbers_and_lapack_that_raise_instead_of_giving_nan(failure):
    def f(x):
        return value(x), (x - 3) * (failure(x) if x.max() > 0.5 else 1.0)

    check(ts.minimize(f, np.full(SIZE, 0.1), Box(0, 1), step=0.01, tol=0))


def test_other_errors_of_f_are_not_swallowed():
    def f(x):
        if x.max() > 0.5:
            raise RuntimeError("my own")
        return value(x), x - 3

    with pytest.raises(RuntimeError, match="my own"):
        ts.minimize(f, np.full(SIZE, 0.1), Box(0, 1), step=0.01, tol=0)


def test_errors_of_the_callback_are_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        ts.minimize(lambda x: (value(x), x - 3), np.zeros(SIZE), Box(0, 1), callback=lambda state: 1 / 0)


@pytest.mark.parametrize("stop", [lambda t: t == 24, None])
def test_a_stop_between_two_looks_returns_no_nan(stop):
    # Looks are at 19, 22, 26, ...; the gradient breaks at 23 and the run is stopped at 24, by callback or Ctrl-C.
    def callback(state):
        if stop is None and state.t == 24:
            raise KeyboardInterrupt
        return stop is not None and stop(state.t)

    f = Breaks(never, after(23))
    check(ts.minimize(f, np.full(SIZE, 0.1), TERMS["gap"], step=1e-3, tol=0, callback=callback))


def test_sets_without_a_common_point_end_with_a_finite_certificate():
    # The simplex keeps a distance from the ball, so the step shrinks until dividing by it overflows.
    terms = [L1(0.1), L2Ball(0.3), Box(0, 1), Simplex()]
    res = ts.minimize(lambda x: (value(x), x - 3), np.full(SIZE, 0.1), terms, max_iter=12_000)
    assert not res.success
    assert np.isfinite(res.certificate[:2]).all()
    assert res.certificate.infeasibility > 0.1


def test_a_prox_that_breaks():
    class Fragile:
        def __init__(self):
            self.broken = after(60)

        def value(self, x):
            return 0.0

        def prox(self, x, gamma):
            return x * np.nan if self.broken(x) else np.clip(x, 0, 1)

    for terms in ([Fragile(), L1(0.1)], [L1(0.1), Fragile()], [L1(0.1), Fragile(), Zero()]):
        res = ts.minimize(lambda x: (value(x), x - 3), np.full(SIZE, 0.1), terms, step=1e-3, tol=0)
        assert res.status is ts.Status.NOT_FINITE
        assert np.isfinite(res.x).all()


def test_the_user_still_hears_the_warnings_of_f_outside():
    ts.minimize(lambda x: (value(x), x - 3), np.zeros(SIZE), Box(0, 1))
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert np.float64(1e200) * np.float64(1e200) == np.inf


@pytest.mark.parametrize("step", ["auto", 1.0])
@pytest.mark.parametrize("f", [minus_square, minus_fourth, lambda x: (-float(x.sum()), -np.ones_like(x))])
def test_an_unbounded_objective_is_no_success(f, step):
    # |fun| outgrows the residual, which alone would satisfy the rule.
    res = ts.minimize(f, np.ones(SIZE), L1(0.1), step=step, max_iter=2000)
    assert not res.success
    assert np.isfinite(res.x).all()
    assert np.isfinite(res.fun)


def test_a_residual_that_rises_on_the_way_is_no_failure():
    # Near the saddle point 0 the gradient is small; it must grow before the iterates reach a minimum at 1.
    def f(x):
        return float((x**4).sum() / 4 - (x**2).sum() / 2), x**3 - x

    res = ts.minimize(f, np.full(SIZE, 1e-4), L1(1e-6), step=0.1, max_iter=60)
    assert res.certificate.kind == "residual"
    assert res.certificate.stationarity > res.trace["stationarity"][0]
    assert res.status is ts.Status.MAX_ITER
    assert res.iteration == 60
    res = ts.minimize(f, np.full(SIZE, 1e-4), L1(1e-6), step=0.1)
    assert res.success
    assert np.allclose(res.x, 1.0, atol=1e-5)
