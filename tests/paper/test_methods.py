"""The methods of the paper: the iterates of the plain loops at every look, an honest clock, and errors recomputed."""

from itertools import count, islice

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import trisplit as ts
from trisplit import qap
from trisplit.paper import methods
from trisplit.paper.methods import METHODS, NAMES, SECOND_SET, STARTS, doubling, errors, objective, start_point
from trisplit.splitting.frank_wolfe import frank_wolfe
from trisplit.terms import Box, Simplex, UnitSums

ROWS, COLUMNS, BOX, SUMS = Simplex(axis=1), Simplex(axis=0), Box(0.0, 1.0), UnitSums()
SETS = {"tos1": (ROWS, COLUMNS), "tos": (BOX, SUMS), "tos-hg": (SUMS, BOX), "today": (ROWS, COLUMNS)}
INSTANCES = ("nug12", "chr12a", "bur26a", "esc16f", "lipa20a")
every_method = pytest.mark.parametrize("method", METHODS)
every_start = pytest.mark.parametrize("start", STARTS)
LONG = 1e9  # seconds


def plain_loop(method, instance, x0):
    """Yield z of the plain loops: gamma = 1 / (2 ||A|| ||B||) on f, or today's adaptive step on the tangent form."""
    A, B = instance.A.astype(float), instance.B.astype(float)
    f = qap.Objective(A, B)
    if method == "fw":
        states = frank_wolfe(ts.Problem(f, (BOX, SUMS)), x0)
    elif method == "today":
        states = ts.tos(ts.Problem(f.tangent(), SETS[method]), x0, ts.steps.Adaptive())
    else:
        L_f = 2 * np.linalg.norm(A, 2) * np.linalg.norm(B, 2)
        states = ts.tos(ts.Problem(f, SETS[method]), x0, 1 / L_f if L_f > 0 else 1.0)
    return (state.z for state in states)


def slack(method):
    """Rounding; decisions on the adaptive step amplify it."""
    return {"today": 1e-6, "fw": 0.0}.get(method, 1e-11)


@every_method
@every_start
@pytest.mark.parametrize("name", INSTANCES)
def test_every_iterate_is_that_of_the_plain_loop(method, start, name):
    instance = qap.load(name)
    x0 = start_point(instance.n, start, 3)
    before = x0.copy()
    looks = METHODS[method](instance, x0, iter(range(1, 61)), LONG)
    for t, (look, z) in enumerate(zip(looks, plain_loop(method, instance, x0), strict=False), start=1):
        assert look.iteration == t
        assert np.abs(look.X - z).max() <= slack(method)
    assert t == 60
    assert np.array_equal(x0, before)


@every_method
def test_looks_do_not_change_the_iterates(method):
    """Neither where they are nor how many: those at 1, 2, 4, ... are the same as in a run with looks at all t."""
    instance = qap.load("nug12")
    x0 = start_point(12, "near", 0)
    dense = [look.X.copy() for look in METHODS[method](instance, x0, iter(range(1, 201)), LONG)]
    for look in METHODS[method](instance, x0, doubling(200), LONG):
        assert np.abs(look.X - dense[look.iteration - 1]).max() <= slack(method)
    assert look.iteration == 200


@pytest.mark.parametrize("name", ["nug12", "chr12a", "bur26a"])
def test_frank_wolfe_is_the_textbook_with_an_exact_line_search(name):
    """On the segment from z to the vertex v of scipy, f is a parabola, minimised by hand."""
    instance = qap.load(name)
    A, B = instance.A.astype(float), instance.B.astype(float)
    z = start_point(instance.n, "text", 1)
    for look in islice(METHODS["fw"](instance, z, count(1), LONG), 20):
        assert np.abs(look.X - z).max() <= 1e-9
        grad = A @ z @ B.T + A.T @ z @ B
        v = np.zeros_like(z)
        v[linear_sum_assignment(grad)] = 1.0
        d = v - z
        slope, curvature = np.vdot(grad, d), np.vdot(A @ d @ B.T, d)  # f(z + s d) = f(z) + s slope + s^2 curvature
        step = 1.0 if curvature <= 0 else min(-slope / (2 * curvature), 1.0)
        z = z + step * d


# The clock


class Clock:
    """A clock that goes on by one tick whenever it is read."""

    def __init__(self, tick):
        self.tick, self.now = tick, 0.0

    def __call__(self):
        self.now += self.tick
        return self.now


@every_method
def test_a_run_ends_at_its_time_limit_and_says_how_far_it_came(method, monkeypatch):
    tick, limit = 0.02, 1.0
    monkeypatch.setattr(methods, "perf_counter", Clock(tick))
    looks = [
        (look.iteration, look.seconds)
        for look in METHODS[method](qap.load("nug12"), start_point(12, "near", 0), doubling(10**9), limit)
    ]
    iterations, seconds = zip(*looks, strict=True)
    wanted = list(islice(doubling(10**9), len(looks)))
    assert list(iterations[:-1]) == wanted[:-1]
    assert wanted[-2] <= iterations[-1] < wanted[-1]
    assert all(second < limit for second in seconds[:-2])
    assert limit <= seconds[-1] <= limit + 3 * tick
    assert list(seconds) == sorted(seconds)


@every_method
def test_looking_takes_no_time(method, monkeypatch):
    clock = Clock(1e-6)
    monkeypatch.setattr(methods, "perf_counter", clock)
    seconds = []
    for look in METHODS[method](qap.load("nug12"), start_point(12, "near", 0), doubling(64), 1.0):
        seconds.append(look.seconds)
        clock.now += 1000.0
    assert look.iteration == 64
    assert seconds == sorted(seconds)
    assert seconds[-1] < 1.0


@every_method
def test_seconds_never_decrease(method):
    looks = METHODS[method](qap.load("chr12a"), start_point(12, "text", 0), doubling(500), LONG)
    seconds = [look.seconds for look in looks]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0.0


# Errors


def distance_to_columns(X):
    """Project each column onto the simplex by bisection of its threshold."""
    low, high = X.min(axis=0) - 1.0, X.max(axis=0)
    for _ in range(100):
        middle = (low + high) / 2
        above = np.maximum(X - middle, 0.0).sum(axis=0) > 1.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.linalg.norm(X - np.maximum(X - low, 0.0))


def distance_to_sums(X):
    """Solve the least-squares problem min ||D|| with row and column sums of X + D equal to one."""
    n = len(X)
    sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    return np.linalg.norm(np.linalg.lstsq(sums, 1.0 - sums @ X.ravel(), rcond=None)[0])


def distance_to_box(X):
    return np.linalg.norm(np.maximum(X - 1.0, 0.0) + np.maximum(-X, 0.0))


DISTANCE = {
    "tos1": distance_to_columns,
    "tos": distance_to_sums,
    "tos-hg": distance_to_box,
    "fw": lambda X: 0.0,
    "today": distance_to_columns,
}


@every_method
@pytest.mark.parametrize("name", ["nug12", "chr12a", "bur26a", "esc16f"])
def test_errors_are_those_of_the_paper(method, name):
    """Infeasibility dist(X, H) / sqrt(n), and the gap max <grad f(X), X - P> over permutations P, over max(f(X), 1)."""
    instance = qap.load(name)
    A, B, n = instance.A.astype(float), instance.B.astype(float), instance.n
    rng = np.random.default_rng(5)
    points = [rng.normal(0.5, 1.0, (n, n)), np.full((n, n), 1 / n), np.eye(n)[rng.permutation(n)]]
    points += [look.X.copy() for look in METHODS[method](instance, start_point(n, "near", 1), doubling(64), LONG)]
    for X in points:
        grad = A @ X @ B.T + A.T @ X @ B
        rows, columns = linear_sum_assignment(grad)
        gap = abs(np.vdot(grad, X) - grad[rows, columns].sum())
        expected = DISTANCE[method](X) / n**0.5, gap / max(np.trace(A @ X @ B.T @ X.T), 1.0)
        size = np.abs(grad).sum() * np.abs(X).max() + 1.0
        found = errors(objective(instance), X, method)
        assert found[0] == pytest.approx(expected[0], rel=1e-7, abs=1e-13)
        assert found[1] == pytest.approx(expected[1], rel=1e-9, abs=1e-13 * size)


@every_method
def test_the_iterates_lie_in_the_first_set_of_the_method(method):
    """So that the distance to the second one is all that is missing."""
    instance = qap.load("nug12")
    looks = METHODS[method](instance, start_point(12, "text", 0), doubling(256), LONG)
    lie_in = (BOX, SUMS) if method == "fw" else SETS[method][:1]
    for look in looks:
        assert max(one.distance(look.X) for one in lie_in) <= 1e-12


@every_start
def test_all_methods_share_a_feasible_initial_point(start):
    for n in (12, 26):
        x0 = start_point(n, start, 7)
        assert distance_to_sums(x0) <= 1e-9
        assert x0.min() >= -1e-9
        assert np.array_equal(x0, start_point(n, start, 7))
        assert not np.array_equal(x0, start_point(n, start, 8))
    off = np.linalg.norm(x0 - 1 / n)
    assert (off < 1.0) == (start == "near")  # how far it is from the barycentre
    assert set(NAMES) == set(METHODS) == set(SECOND_SET)
