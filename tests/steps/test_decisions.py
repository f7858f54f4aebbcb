"""What the adaptive step decides: the same for one problem as compiled for a batch, and what `docs/steps.md` says."""

import sys
import warnings
from types import CodeType, FunctionType

import numpy as np
import pytest

import trisplit as ts
from trisplit.steps import Adaptive, decisions
from trisplit.steps.decisions import ALL, EARLY, FIRST, MAX_NONFINITE, MIN_CHANGE, MOST_ROOM, PERIOD, SURGE
from trisplit.steps.records import Record, Table
from trisplit.terms import Box, Zero

N = 4000
NAMES = [decision.__name__ for decision in ALL]
EPS = float(np.finfo(float).eps)
# Fields that may become NaN or infinite in a run; a square is never below 0, and gamma is always positive.
SQUARES = ("square", "z_square", "slope_sq", "slope_sq_at_test")
LENGTHS = ("move", "primal", "dual", "size", "primal_mean", "dual_mean", "best")
SIGNED = ("z_along_d", "slope", "f_z", "f_x")


def random_table(n, seed=0):
    """Return a table whose rows are of all scales, with zeros, NaN and inf, and ties where the decisions compare."""
    rng = np.random.default_rng(seed)
    table = Table.of(n, {**FIRST, "eps": EPS})

    def spread(low, high):
        return 10.0 ** rng.uniform(low, high, n)

    table.relax = rng.choice([1.0, 1.5], n)
    table.change, table.dominance = rng.uniform(0.1, 0.6, n), rng.uniform(2.0, 6.0, n)
    table.eps = rng.choice([EPS, 2.0**-23], n)
    table.gamma = spread(-3, 3)
    table.gamma_max = np.where(rng.random(n) < 0.5, np.inf, table.gamma * rng.uniform(1.0, 2.0, n))
    for name in ("pending", "growing"):
        setattr(table, name, rng.integers(0, 2, n))
    for name in ("reversals", "shrinks"):
        setattr(table, name, rng.integers(0, 5, n))
    table.shrinks += table.growing  # never both 0 where the last change was no growth
    table.compare_in = rng.integers(-int(EARLY), int(PERIOD), n)
    for name in ("test_in", "last_rest"):
        setattr(table, name, rng.integers(0, 3, n))
    table.nonfinite_trials = rng.integers(0, MAX_NONFINITE + 1, n)
    table.patience = rng.integers(1, 6, n)
    table.stalled_for = rng.integers(0, 6, n)
    table.log_change_due = rng.choice([0.0, 0.01, -0.03, 0.2], n)
    table.test_ratio = rng.choice([0.0, 1.0, 1.5, 40.0, MOST_ROOM], n)
    for name in SQUARES + LENGTHS:
        setattr(table, name, spread(-3, 1))
    table.size[::5] = spread(12, 16)[::5]  # next to which moves are rounding
    for name in SIGNED:
        setattr(table, name, rng.standard_normal(n))
    table.f_z[::9] = spread(14, 18)[::9]
    table.f_x[::11] = (table.f_z + table.slope)[::11]  # f without curvature
    for name in (*SQUARES, *LENGTHS, *SIGNED):
        column, where = getattr(table, name), rng.random(n)
        column[where < 0.06] = 0.0
        column[where < 0.04] = np.nan
        column[where < 0.02] = np.inf
        if name in SIGNED:
            column[where < 0.01] = -np.inf
    table.smooth_square = table.square * rng.choice([1e-9, 0.3, 1.0], n)
    return table


def record_of(table, i):
    """Return a row of a table as the numbers of one problem."""
    return Record({name: float(table.rows[name][i]) for name in FIRST})


def record(**numbers):
    """Return what is known of a problem in float64 before its first iteration, but for some numbers."""
    return Record({**Adaptive().first_numbers(1e-16), **numbers})


@pytest.mark.parametrize("decision", ALL, ids=NAMES)
def test_a_compiled_decision_is_the_plain_one(decision):
    table = random_table(N)
    alone = [record_of(table, i) for i in range(N)]
    said = sum(one.count(decision) for one in alone)
    assert table.count(decision) == said
    assert 0 < said < N
    for name in FIRST:
        expected = [getattr(one, name) for one in alone]
        np.testing.assert_allclose(getattr(table, name), expected, rtol=1e-14, atol=0.0, err_msg=name)


def test_the_random_table_reaches_every_line_of_every_decision():
    """Else the test above would say nothing about those."""
    functions = [function for function in vars(decisions).values() if isinstance(function, FunctionType)]
    codes: dict[CodeType, set[int]] = {function.__code__: set() for function in functions}

    def line(frame, event, _):
        if event == "line":
            codes[frame.f_code].add(frame.f_lineno)
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: line if frame.f_code in codes else None)
    try:
        for decision in ALL:
            table = random_table(N)
            for i in range(N):
                decision(record_of(table, i))
    finally:
        sys.settrace(before)
    for code, reached in codes.items():
        missed = {number for *_, number in code.co_lines()} - reached - {None, code.co_firstlineno}
        assert not missed, f"{code.co_name}: lines {sorted(missed)}"


def test_a_table_of_no_rows_says_nothing():
    assert [Table.of(0, FIRST).count(decision) for decision in ALL] == [0] * len(ALL)


def test_copies_of_numbers_are_their_own():
    """An interrupt finds the old ones."""
    table, one = random_table(5), record()
    for numbers in (table, one):
        before, other = np.array(numbers.gamma), numbers.copy()
        other.gamma = 7.0
        assert np.array_equal(numbers.gamma, before)


# Moves


def test_the_dual_move_is_that_of_y_less_that_of_z():
    """y = z + w: ||w+ - w|| from three inner products, to within what cancels next to the primal move."""
    rng = np.random.default_rng(0)
    for relax in (1.0, 1.5):
        for scale in 10.0 ** rng.uniform(-9, 0, 40):
            d, z_move = rng.standard_normal((2, 7))
            d = (z_move + scale * d) / relax
            r = record(relax=relax, square=d @ d, z_square=z_move @ z_move, z_along_d=z_move @ d, size=0.0)
            assert not decisions.add_moves(r)
            assert r.move == pytest.approx(relax * np.linalg.norm(d))
            assert r.primal == pytest.approx(np.linalg.norm(z_move))
            assert r.dual == pytest.approx(np.linalg.norm(relax * d - z_move), rel=1e-6, abs=1e-7 * r.primal)
            assert r.size == r.primal + r.dual


def test_where_moves_are_not_compared_each_is_at_most_that_of_y():
    r = record(relax=1.5, square=4.0, z_square=np.nan, z_along_d=np.nan, compare_in=2.0, size=1.0)
    decisions.add_moves(r)
    assert (r.move, r.primal, r.dual, r.size) == (3.0, 3.0, 3.0, 7.0)


def test_moves_that_are_rounding_change_no_step():
    r = record(move=1e-16, primal=1.0, dual=0.0, size=1.0, compare_in=0.0, test_ratio=MOST_ROOM, best=1.0)
    assert not decisions.balance(r)
    assert (r.gamma, r.stalled_for, r.best) == (1.0, 0.0, 1.0)


def test_moves_are_compared_in_the_first_iterations_and_then_in_every_fourth_one():
    r, compared = record(size=1.0), []
    for t in range(1, 30):
        if decisions.compares_moves(r):
            compared.append(t)
        r.move, r.primal, r.dual = 1.0, 0.0, 0.0
        decisions.balance(r)
    first = int(EARLY) + 1
    assert compared == [*range(1, first + 1), *range(first + int(PERIOD), 30, int(PERIOD))]


# Growth and shrinkage


def balanced(**numbers):
    """Return the record after a comparison of a primal move 1 and a dual move 1/2 unless they are given."""
    r = record(**{"size": 1.0, "move": 1.0, "primal": 1.0, "dual": 0.5, "compare_in": 0.0, **numbers})
    decisions.balance(r)
    return r


@pytest.mark.parametrize(
    ("room", "reversals", "growth"),
    [(1.0, 0, 0.5), (4.0, 0, np.log(4)), (1e3, 0, 2.0), (4.0, 1, np.log(2)), (1e3, 9, 0.2)],
)
def test_a_step_grows_by_the_room_that_the_last_test_left(room, reversals, growth):
    """Which is at most 4 c / (1 + k), and c or half of log(room) unless there was no reversal; see docs/steps.md."""
    r = balanced(test_ratio=room, reversals=float(reversals), gamma=3.0)
    assert np.log(r.gamma / 3.0) == pytest.approx(growth)
    assert r.size == pytest.approx(r.gamma / 3.0)  # y - z is rescaled together with gamma
    assert (r.test_in, r.pending) == (0.0, 1.0)  # a longer step is tested


@pytest.mark.parametrize("numbers", [{"test_ratio": 0.0}, {"test_ratio": 9.0, "dual": 1.1}])
def test_a_step_that_failed_its_test_or_moves_the_dual_more_does_not_grow(numbers):
    assert balanced(**numbers).gamma == 1.0


@pytest.mark.parametrize(("reversals", "shrinks", "fall"), [(0.0, 0.0, 0.5), (0.0, 3.0, 0.4), (4.0, 4.0, 0.2)])
def test_a_step_shrinks_where_the_dual_move_dominates_and_less_each_time(reversals, shrinks, fall):
    """By min(4 c / (k + s), c) after k reversals, this one among them, and s shrinkages."""
    r = balanced(dual=4.1, reversals=reversals, shrinks=shrinks, test_ratio=1.0)
    assert np.log(r.gamma) == pytest.approx(-fall)
    assert (r.growing, r.reversals, r.shrinks) == (0.0, reversals + 1.0, shrinks + 1.0)
    assert balanced(dual=3.9, test_ratio=1.0).gamma == 1.0


def test_a_step_does_not_grow_beyond_its_cap():
    assert balanced(test_ratio=1e3, gamma_max=1.25).gamma == 1.25


def test_small_changes_gather_while_the_test_rests():
    """Each would cost three passes over memory, and growth a test."""
    small = 0.4 * MIN_CHANGE
    r = balanced(change=small / PERIOD, test_ratio=1e3, last_rest=1.0, test_in=1.0)
    assert (r.gamma, r.log_change_due, r.test_in) == (1.0, pytest.approx(small), 1.0)
    for _ in range(2):
        assert r.gamma == 1.0
        r.compare_in, r.last_rest = 0.0, 1.0
        decisions.balance(r)
    assert np.log(r.gamma) == pytest.approx(3 * small)
    assert (r.log_change_due, r.last_rest, r.test_in) == (0.0, 0.0, 0.0)
    assert balanced(change=small / PERIOD, test_ratio=1e3).gamma > 1.0


def test_iterates_that_circle_halve_the_step_and_those_that_creep_lift_its_cap():
    stalled = {"best": 1.0, "stalled_for": 100.0, "primal_mean": 1.0, "gamma_max": 1.0, "test_ratio": 0.0}
    circling = balanced(dual_mean=1.0, **stalled)
    assert (circling.gamma, circling.gamma_max, circling.patience, circling.stalled_for) == (0.5, 0.5, 200.0, 0.0)
    creeping = balanced(dual_mean=0.0, dual=0.0, **stalled)
    assert (creeping.gamma, creeping.gamma_max, creeping.patience, creeping.stalled_for) == (1.0, 2.0, 100.0, 0.0)
    patient = balanced(dual_mean=1.0, **{**stalled, "stalled_for": 99.0})
    assert (patient.gamma, patient.stalled_for) == (1.0, 100.0)
    assert balanced(dual_mean=1.0, **{**stalled, "best": 2.0}).stalled_for == 0.0  # it has fallen


# The test of the curvature


def tried(**numbers):
    """Return the verdict on a step 1 with ||d|| = 1, f(z) = 0 and <grad f(z), d> = 0, and the record after it."""
    r = record(**{"square": 1.0, "smooth_square": 1.0, "compare_in": 3.0, **numbers})
    return decisions.refuse(r), r


@pytest.mark.parametrize(
    ("error", "ratio"), [(0.51, 0.9), (0.6, 0.95 * 0.5 / 0.6), (1.0, 0.475), (4.0, 0.95 / 8), (1e3, 0.1)]
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_refused_step_shrinks_by_what_the_test_says(error, ratio, sign):
    """With ||d|| = gamma = 1 an error of 1/2 is allowed, on either side: a concave f would pass a one-sided test."""
    refused, r = tried(f_x=sign * error)
    assert refused
    assert (r.gamma, r.ratio) == (pytest.approx(ratio), pytest.approx(ratio))
    assert (r.test_ratio, r.test_in, r.pending) == (0.0, 0.0, 1.0)
    assert (r.growing, r.reversals) == (0.0, 1.0)


def test_only_a_pending_step_is_judged():
    refused, r = tried(f_x=1e3, pending=0.0)
    assert (refused, r.gamma, r.test_ratio) == (False, 1.0, 0.0)


@pytest.mark.parametrize(
    ("f_x", "room"), [(0.5, 1.0), (0.25, 2.0), (1e-3, 500.0), (1e-10, MOST_ROOM), (0.0, 1.0), (-0.4, 1.0)]
)
def test_a_step_that_passes_remembers_by_how_much_a_longer_one_would_have(f_x, room):
    refused, r = tried(f_x=f_x)
    assert (refused, r.gamma, r.pending) == (False, 1.0, 0.0)
    assert r.test_ratio == pytest.approx(room)


def test_where_the_curvature_is_negative_only_the_part_counts_on_which_f_depends():
    """Else the free copy of Algorithm 2 would run away; and such a step never rests."""
    assert not tried(f_x=0.4, smooth_square=0.1)[0]
    refused, r = tried(f_x=-0.4, smooth_square=0.1)
    assert refused
    assert r.gamma == pytest.approx(0.95 * 0.05 / 0.4)
    refused, r = tried(f_x=-0.04, smooth_square=0.1, compare_in=2.0)
    assert (refused, r.test_in) == (False, 0.0)


@pytest.mark.parametrize(
    ("compare_in", "last_rest", "rest"), [(-3.0, 0.0, 0.0), (3.0, 0.0, 3.0), (2.0, 1.0, 6.0), (0.0, 2.0, 4.0)]
)
def test_a_step_that_passes_rests_until_the_next_comparison_or_the_one_after(compare_in, last_rest, rest):
    refused, r = tried(f_x=0.1, compare_in=compare_in, last_rest=last_rest)
    assert (refused, r.test_in, r.last_rest) == (False, rest, rest)
    assert decisions.wants_test(r) == (rest == 0.0)


@pytest.mark.parametrize(
    "numbers", [{"f_z": 1e16}, {"f_z": np.nan}, {"f_z": np.inf}, {"square": np.nan}, {"square": 0.0}]
)
def test_a_test_that_would_say_nothing_is_none(numbers):
    """What is allowed drowns in the rounding of f, or no shorter step mends the NaN."""
    refused, r = tried(f_x=1e300, **numbers)
    assert (refused, r.gamma, r.test_ratio) == (False, 1.0, 0.0)


@pytest.mark.parametrize("f_x", [np.inf, -np.inf, np.nan])
def test_a_step_is_halved_where_f_is_not_finite_but_not_for_ever(f_x):
    """An infinite f(x) has infinite rounding errors, too, which excuse nothing."""
    refused, r = tried(f_x=f_x)
    assert (refused, r.gamma, r.test_ratio, r.test_in, r.nonfinite_trials) == (True, 0.5, 0.0, 0.0, 1.0)
    trials = 1
    while refused:
        refused, trials = decisions.refuse(r), trials + 1
    assert (trials, r.nonfinite_trials, r.gamma) == (MAX_NONFINITE + 1, MAX_NONFINITE + 1, 0.5**MAX_NONFINITE)
    assert (r.pending, r.test_ratio, r.test_in) == (0.0, 0.0, 0.0)
    assert tried(f_x=0.1, nonfinite_trials=4.0)[1].nonfinite_trials == 0.0


def test_what_the_scale_of_f_and_of_x_changes():
    """With f and its slopes times c a step 1 / c is judged alike; with x and d times s, one s^2 / c."""
    rng = np.random.default_rng(1)
    for c, s in ((1e-6, 1.0), (1e6, 1.0), (1.0, 1e-4), (2.0, 512.0)):
        for f_x in rng.standard_normal(50):
            refused, r = tried(f_x=f_x, slope=0.1)
            scaled = {"square": s**2, "smooth_square": s**2, "f_x": c * f_x, "slope": c * 0.1, "gamma": s**2 / c}
            other, scaled = tried(**scaled)
            assert other == refused
            assert scaled.ratio == pytest.approx(r.ratio, rel=1e-9)
            assert scaled.test_ratio == pytest.approx(r.test_ratio, rel=1e-9)


def test_no_verdict_lengthens_a_step():
    table = random_table(N, seed=3)
    before, refused = table.gamma.copy(), table.count(decisions.refuse)
    shorter = table.gamma < before
    assert shorter.sum() == refused
    assert np.array_equal(table.gamma[~shorter], before[~shorter])
    assert (table.gamma >= 0.099 * before).all()
    assert (table.pending[shorter] == 1.0).all()
    assert not table.pending[~shorter].any()


@pytest.mark.parametrize("batch", [False, True])
def test_a_step_that_rests_is_tested_where_the_gradient_surges(batch):
    """gamma stays; a gradient that is NaN changes nothing."""
    slope_sq = np.array([0.5, 0.99, 1.01, np.nan]) * SURGE
    table = Table.of(4, {**FIRST, "test_in": 2.0, "slope_sq_at_test": 1.0})
    table.slope_sq = slope_sq
    if batch:
        assert table.count(decisions.needs_test) == 1
    else:
        records = [record_of(table, i) for i in range(4)]
        assert [decisions.needs_test(one) for one in records] == [False, False, True, False]
        for name in FIRST:
            setattr(table, name, [getattr(one, name) for one in records])
    assert table.test_in.tolist() == [1.0, 1.0, 2.0, 1.0]
    assert table.pending.tolist() == [0.0, 0.0, 1.0, 0.0]
    assert table.slope_sq_at_test.tolist() == [1.0, 1.0, slope_sq[2], 1.0]
    assert (table.gamma == 1.0).all()


# The first step


FIRST_STEPS = {  # with ||z|| = 2: curvature, slope, gamma, and how often the gradient is asked for
    "L = 4": (4.0, 3.0, 1 / 4, 2),
    "L = 1e-6": (1e-6, 1e3, 1e6, 2),
    "L = 1e6": (1e6, 1e-3, 1e-6, 2),
    "L = 0": (0.0, 8.0, 1 / 4, 2),
    "an L that is rounding": (5e-12, 8.0, 1 / 4, 2),
    "a NaN where the curvature is measured": (np.nan, 8.0, 1 / 4, 2),
    "an infinite L": (np.inf, 8.0, 1 / 4, 2),
    "a gradient of 0": (4.0, 0.0, 2**0.5 / 4, 2),  # the gradient changes along half of a move along ones
    "a gradient that is NaN": (4.0, np.nan, 1.0, 2),
    "an infinite gradient": (4.0, np.inf, 1.0, 2),
}
AT = np.array([0.0, 2.0])


def first_step(L, slope, term=None):
    """Return the first step, and where the gradient was asked for, which is (slope, L times the move) next to AT."""
    y, asked = np.zeros((*np.shape(L), 2)) + AT, []

    def f(x):
        asked.append(x)
        move = x[..., 0] - AT[0]
        with np.errstate(invalid="ignore"):
            return move, np.stack([slope + 0.0 * move, np.where(move == 0.0, 0.0, L * move)], axis=-1)

    problem = ts.Problem(f, Zero() if term is None else term, batch_ndim=np.ndim(L))
    gamma, memory = Adaptive().start(problem, y)
    assert np.array_equal(memory.record.gamma, np.ravel(gamma) if np.ndim(L) else gamma)
    return gamma, asked


@pytest.mark.parametrize("name", FIRST_STEPS)
def test_the_first_step_is_one_by_the_measured_curvature_or_moves_by_the_size_of_z(name):
    """Without a gradient it is 1."""
    L, slope, expected, asked = FIRST_STEPS[name]
    gamma, points = first_step(L, slope)
    assert type(gamma) is float
    assert gamma == pytest.approx(expected)
    assert len(points) == asked
    if np.isfinite(slope):
        assert [np.linalg.norm(x - AT) for x in points] == pytest.approx([0.0, 2e-4])


def test_the_first_steps_of_a_batch_are_those_of_its_problems():
    L, slope, _, _ = (np.array(numbers) for numbers in zip(*FIRST_STEPS.values(), strict=True))
    gammas, asked = first_step(L, slope)
    assert gammas.shape == (len(FIRST_STEPS), 1)
    assert gammas.ravel().tolist() == [first_step(*numbers)[0] for numbers in zip(L, slope, strict=True)]
    assert len(asked) == 2


@pytest.mark.parametrize("L", [4.0, np.full(3, 4.0)], ids=["one problem", "batch"])
def test_where_a_term_holds_z_fast_the_first_step_moves_by_the_size_of_z(L):
    gamma, _ = first_step(L, 8.0, Box(0.0, 2.0))
    assert np.unique(gamma) == 0.25


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_the_first_step_is_found_without_a_warning_where_squares_overflow(size):
    y = np.full(3, size)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Adaptive().start(ts.Problem(lambda x: (0.0, x), Zero()), y)[0] > 0.0
