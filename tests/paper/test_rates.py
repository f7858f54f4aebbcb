"""Fitted rates: known ones come out, and what is not straight, or too short, is not called straight."""

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trisplit.paper.claims import LINEAR as CALLED_STRAIGHT
from trisplit.paper.rates import DECADES, FLOORS, POINTS, STRAIGHT, line, linear_rate, power_rate

seeds = st.integers(0, 2**32 - 1)


def falling(slope, decades, *, top=0.0, before=0, after=0, per_decade=20, noise=0.0, seed=0):
    """Return t and an error that stays, falls by so many decades with this slope of its logarithm, and stays."""
    width = max(round(1 / (slope * per_decade)), 1)
    n = before + after + int(decades / (slope * width)) + 2
    t = 1 + width * np.arange(n)
    log_e = top - slope * np.clip(t - t[before], 0.0, decades / slope)
    return t, 10 ** (log_e + noise * np.random.default_rng(seed).uniform(-1, 1, n))


@given(
    slope=st.floats(1e-4, 0.3),
    below=st.floats(0.2, 9.0),
    top=st.floats(-1.5, 2.0),
    before=st.integers(0, 300),
    after=st.integers(0, 300),
    per_decade=st.integers(4, 60),
    noise=st.floats(0.0, 0.05),
    seed=seeds,
)
@settings(deadline=None, max_examples=200)
def test_a_known_rate_comes_out_between_a_plateau_and_a_floor(
    slope, below, top, before, after, per_decade, noise, seed
):
    """The error falls at least four decades above some power of ten that counts as a floor, and further below it."""
    decades = max(top + 6.0, DECADES + 1.0) + below
    t, e = falling(slope, decades, top=top, before=before, after=after, per_decade=per_decade, noise=noise, seed=seed)
    rate = linear_rate(t, e)
    assert rate is not None
    assert rate.slope == pytest.approx(-slope, rel=0.02)
    assert rate.r_squared >= STRAIGHT
    assert rate.decades >= DECADES
    assert t[0] <= rate.first < rate.last <= t[-1]


@given(slope=st.floats(1e-3, 0.2), top=st.floats(-1.0, 2.0), before=st.integers(0, 50))
@settings(deadline=None)
def test_without_noise_the_rate_is_exact_and_reaches_from_the_plateau_to_rounding(slope, top, before):
    t, e = falling(slope, 20.0, top=top, before=before, per_decade=40)
    rate = linear_rate(t[before:], e[before:])
    assert rate.slope == pytest.approx(-slope, rel=1e-9)
    assert rate.r_squared == pytest.approx(1.0, abs=1e-12)
    above = t[e > FLOORS[0]]
    assert (rate.first, rate.last) == (t[before], above[-1])
    assert rate.decades == pytest.approx(slope * (rate.last - rate.first), rel=1e-9)
    assert rate.half_width <= 1e-6 * slope


@given(
    st.lists(st.floats(0.0, DECADES - 1e-6), min_size=1, max_size=60),
    st.floats(-20.0, 5.0),
)
@settings(deadline=None)
def test_less_than_four_decades_have_no_rate(log_e, lowest):
    assert linear_rate(range(1, len(log_e) + 1), [10 ** (lowest + one) for one in log_e]) is None


@given(slope=st.floats(1e-3, 0.2), decades=st.floats(0.5, 3.9), after=st.integers(0, 100))
@settings(deadline=None)
def test_a_fall_below_rounding_does_not_count(slope, decades, after):
    t, e = falling(slope, decades, top=-13.0 + decades, after=after)
    below = [1e-15, 0.0, 1e-17]
    assert linear_rate([*t, *(t[-1] + 1 + np.arange(3))], [*e, *below]) is None


@pytest.mark.parametrize("slope", [-2.0, -3.0, -6.0])
def test_a_power_of_t_is_not_called_straight(slope):
    t = np.arange(1, 3000)
    rate = linear_rate(t, t**slope)
    assert rate.r_squared < CALLED_STRAIGHT
    assert rate.decades >= DECADES


@given(first=st.floats(0.001, 0.01), times=st.floats(3.0, 30.0), each=st.floats(2.0, 3.5))
@settings(deadline=None)
def test_a_bend_in_the_last_four_decades_is_not_called_straight(first, times, each):
    """Two slopes, each for less than four decades, the second at least three times the first."""
    t = np.arange(1, int(each / first) + int(each / (first * times)) + 2)
    knee = each / first
    log_e = -first * np.minimum(t, knee) - first * times * np.maximum(t - knee, 0.0)
    rate = linear_rate(t, 10**log_e)
    assert rate is None or rate.r_squared < CALLED_STRAIGHT


@pytest.mark.parametrize("before", range(7))
def test_doubling_the_digits_is_not_called_straight(before):
    """Quadratic convergence leaves two points in the last four decades, and any two points lie on a line."""
    e = [0.1] * before + [10.0 ** -(2**k) for k in range(5)]
    rate = linear_rate(range(1, len(e) + 1), e)
    assert rate is None or rate.r_squared < CALLED_STRAIGHT
    if before + 4 < POINTS:  # the last error is rounding
        assert rate is None


def test_a_jump_to_zero_is_no_rate():
    """Frank-Wolfe that arrives at a vertex."""
    assert linear_rate(range(1, 21), [0.5 - 0.02 * t for t in range(18)] + [0.0, 0.0]) is None


def test_what_comes_before_the_largest_error_does_not_count():
    """From a feasible point the first errors are small, and grow."""
    _, e = falling(0.05, 20.0)
    grown = np.concatenate([1e-9 * 10.0 ** np.arange(9), e])
    rate = linear_rate(np.arange(1, len(grown) + 1), grown)
    assert rate.slope == pytest.approx(-0.05, rel=1e-9)
    assert rate.first == 10


@given(
    power=st.floats(-3.0, -0.2),
    scale=st.floats(1e-3, 1e3),
    noise=st.floats(0.0, 0.05),
    start=st.integers(0, 6),
    seed=seeds,
)
@settings(deadline=None)
def test_a_power_comes_out_from_its_first_iteration_on(power, scale, noise, start, seed):
    t = np.array([2**k for k in range(16)])
    off = noise * np.random.default_rng(seed).uniform(-1, 1, 16)
    e = scale * t**power * 10**off
    e[:start] = 7.0  # before `first` anything may happen
    rate = power_rate(t, e, 2**start)
    kept = e[start:] > FLOORS[0]
    reach = np.log10(t[start:][kept][-1] / t[start])
    assert rate.slope == pytest.approx(power, abs=1e-9 + 6 * noise / reach)
    assert (rate.first, rate.last) == (2**start, t[start:][kept][-1])
    if noise == 0.0:
        assert rate.r_squared == pytest.approx(1.0, abs=1e-9)


def test_two_points_have_no_power():
    assert power_rate([1, 2, 4, 8], [1.0, 0.5, 0.25, 0.125], 4) is None
    assert power_rate([1, 2, 4, 8], [1.0, 0.5, 0.0, 1e-14], 1) is None
    assert power_rate([1, 2, 4, 8], [1.0, 0.5, 0.25, 0.0], 1).slope == pytest.approx(-1.0)


@given(seed=seeds, n=st.integers(3, 40))
@settings(deadline=None)
def test_the_line_is_that_of_scipy(seed, n):
    from scipy.stats import linregress

    rng = np.random.default_rng(seed)
    t = np.array(list(accumulate(rng.integers(1, 9, n))), dtype=float)
    e = rng.normal(size=n) - 0.1 * t
    fit, other = line(t, e), linregress(t, e)
    assert fit.slope == pytest.approx(other.slope, rel=1e-9, abs=1e-12)
    assert fit.r_squared == pytest.approx(other.rvalue**2, rel=1e-9, abs=1e-12)
    assert fit.half_width == pytest.approx(1.96 * other.stderr, rel=1e-6, abs=1e-12)
    assert fit.decades == e[0] - e[-1]
