"""Figure 1 on chr12a: where it looks, straight lines of the splittings down to rounding, and 1/t of Frank-Wolfe."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trisplit as ts
from trisplit import qap
from trisplit.paper import figure1
from trisplit.paper.methods import STARTS, errors, objective, start_point
from trisplit.paper.rates import DECADES, FLOOR

ALL = (*figure1.PAPERS, figure1.TODAY)
SPLITTINGS = [(start, method) for start in STARTS for method in ("tos1", "tos")]


@pytest.fixture(scope="module")
def shares():
    return []


@pytest.fixture(scope="module")
def rows(shares):
    return figure1.run(True, lambda text, share: shares.append(share))


@pytest.fixture(scope="module")
def fits(rows):
    return {(fit.start, fit.method): fit for fit in figure1.fits(rows)}


def own(rows, start, method):
    return [row for row in rows if (row.start, row.method) == (start, method)]


@given(st.integers(1, 10**6))
@settings(deadline=None, max_examples=40)
def test_looks_are_dense_increase_and_hit_all_powers_of_two(last):
    looks = list(figure1.octaves(last))
    assert (looks[0], looks[-1]) == (1, last)
    steps = np.diff(looks)
    assert np.all(steps >= 1)
    assert np.all(steps <= np.maximum(np.array(looks[:-1]) / figure1.PER_OCTAVE, 1))
    assert {2**k for k in range(20) if 2**k <= last} <= set(looks)


def test_every_method_is_followed_from_both_points_to_the_end(rows, shares):
    for start in STARTS:
        for method in ALL:
            iterations = [row.iteration for row in own(rows, start, method)]
            assert iterations == list(figure1.octaves(figure1.QUICK_MAX_ITER))
    assert len(rows) == len(ALL) * len(STARTS) * len(iterations)
    assert {row.instance for row in rows} == {"chr12a"}
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_the_picture_shows_powers_of_two(rows):
    shown = figure1.shown(rows)
    for start in STARTS:
        for method in ALL:
            assert [row.iteration for row in own(shown, start, method)] == [2**k for k in range(14)]
    long = [rows[0]._replace(iteration=2**k) for k in range(21)]
    assert [row.iteration for row in figure1.shown(long)] == [2**k for k in range(17)]  # at most 100,000


def test_seconds_never_decrease(rows):
    for start in STARTS:
        for method in ALL:
            seconds = [row.seconds for row in own(rows, start, method)]
            assert seconds == sorted(seconds)


@pytest.mark.parametrize(("start", "method"), SPLITTINGS)
def test_errors_are_those_of_the_plain_loop(rows, start, method):
    instance = qap.load("chr12a")
    f, x0 = objective(instance), start_point(12, start, figure1.SEED)
    sets = {
        "tos1": [ts.terms.Simplex(axis=1), ts.terms.Simplex(axis=0)],
        "tos": [ts.terms.Box(0, 1), ts.terms.UnitSums()],
    }
    states = ts.tos(ts.Problem(f, sets[method]), x0, 1 / f.lipschitz)
    for row, state in zip(own(rows, start, method)[:64], islice(states, 64), strict=True):
        assert row.iteration == state.t
        expected = errors(f, state.z, method)
        assert (row.infeasibility, row.nonstationarity) == pytest.approx(expected, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize(("start", "method"), SPLITTINGS)
def test_a_splitting_ends_at_rounding_along_a_straight_line(rows, fits, start, method):
    last, fit = own(rows, start, method)[-1], fits[start, method]
    assert max(last.infeasibility, last.nonstationarity) < FLOOR
    assert fit.kind == "linear"
    assert fit.slope < 0
    assert fit.r_squared > 0.99
    assert fit.decades >= DECADES
    assert 1 <= fit.first < fit.last < fit.reached_at
    assert fit.reached < FLOOR


def test_frank_wolfe_is_feasible_and_sublinear_from_the_point_of_the_text(rows, fits):
    fit = fits["text", "fw"]
    assert fit.kind == "power"
    assert fit.slope == pytest.approx(-1.0, abs=0.05)
    assert fit.r_squared > 0.99
    assert fit.reached > 1e-6
    assert all(row.infeasibility == 0.0 for row in rows if row.method == "fw")


def test_frank_wolfe_from_near_the_barycentre_arrives_at_a_vertex(rows, fits):
    fit = fits["near", "fw"]
    assert np.isnan(fit.slope)
    assert (fit.first, fit.last) == (0, 0)
    assert fit.reached < FLOOR
    first = next(row for row in own(rows, "near", "fw") if row.nonstationarity < FLOOR)
    assert (fit.reached, fit.reached_at) == (first.nonstationarity, first.iteration)


def test_a_run_that_never_reaches_rounding_says_how_far_it_came():
    falls = [figure1.Row("chr12a", "text", "tos", t, 0.0, 0.0, e) for t, e in ((1, 0.5), (2, 0.1), (3, 0.2))]
    (fit,) = figure1.fits(falls)
    assert (fit.reached, fit.reached_at, fit.last) == (0.1, 2, 0)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("today", [False, True])
def test_the_figure_draws_all_errors(rows, start, today):
    drawing = figure1.figure(rows, start, today=today)
    methods = len(ALL) if today else len(figure1.PAPERS)
    assert [len(ax.lines) for ax in drawing.axes] == [methods - 1, methods] * 2  # Frank-Wolfe is feasible
    tos = own(figure1.shown(rows), start, "tos")
    drawn = [line.get_ydata() for line in drawing.axes[1].lines if line.get_label() == "TOS split 2"]
    assert np.array_equal(drawn, [[max(row.nonstationarity, 1e-17) for row in tos]])
