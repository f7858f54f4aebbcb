"""A joint oracle minimises <u, x> + g(x) + h(x) over both domains, and its support is not below the true one."""

from itertools import permutations, product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from trisplit.errors import InputError
from trisplit.terms import (
    L1,
    Affine,
    Box,
    GroupL2,
    L2Ball,
    NonNegative,
    NuclearNorm,
    Simplex,
    SquaredL2,
    UnitSums,
    Zero,
    assignment,
    find_joint_oracle,
    joint,
    joint_oracles,
)

ROWS, COLUMNS = Simplex(axis=1), Simplex(axis=0)
UNEVEN = Box(np.array([-1.0, 0.5, -3.0, 0.0]), np.array([2.0, 1.5, -1.0, 0.0]))
# name: g, h, shape of x
PAIRS = {
    "rows and columns": (ROWS, COLUMNS, (4, 4)),
    "rows and columns, axes from the end": (Simplex(axis=-1), Simplex(axis=-2), (3, 3)),
    "unit box and sums": (Box(0, 1), UnitSums(), (4, 4)),
    "larger box and sums": (Box(0, np.full((3, 3), 7.0)), UnitSums(), (3, 3)),
    "half-line and sums": (Box(0, inf), UnitSums(), (1, 1)),
    "orthant and sums": (NonNegative(), UnitSums(), (5, 5)),
    "unit box and L1": (Box(-1, 1), L1(0.7), (2, 3)),
    "uneven box and weighted L1": (UNEVEN, L1(np.array([0.5, 1.0, 2.0, 3.0])), (4,)),
    "box alone": (UNEVEN, Zero(), (4,)),
    "simplex alone": (Simplex(total=2.5), Zero(), (2, 3)),
    "ball alone": (L2Ball(1.5, np.array([1.0, 0.0, -2.0])), Zero(), (3,)),
}
BIRKHOFF = [name for name, (_, h, _) in PAIRS.items() if isinstance(h, UnitSums | Simplex)]
BOXES = [name for name, (g, h, _) in PAIRS.items() if isinstance(g, Box) and not isinstance(h, UnitSums)]

quick = settings(max_examples=25, deadline=None, derandomize=True)


def directions(shape, dtype=float):
    """Vectors with ties and zeros, on which an oracle has more than one answer, and with none."""
    ties = st.integers(-3, 3).map(float)
    return arrays(dtype, shape, elements=ties | st.floats(-5, 5, width=32, allow_subnormal=False))


def oracle_of(name):
    g, h, _ = PAIRS[name]
    oracle = find_joint_oracle(g, h)
    assert oracle is not None
    return oracle


def objective(name, u, x):
    g, h, _ = PAIRS[name]
    return float(np.vdot(u, x)) + sum(term.value(x) for term in (g, h) if not term.indicator)


def feasible_points(name, rng, count=20):
    """Points of both domains: mixtures of permutation matrices, or random points put into the one set there is."""
    g, _, shape = PAIRS[name]
    for _ in range(count):
        if name in BIRKHOFF:
            mixture = rng.dirichlet(np.ones(6))
            yield sum(w * np.eye(shape[0])[rng.permutation(shape[0])] for w in mixture)
        else:
            yield g.project(3 * rng.normal(size=shape))


def smallest_by_linprog(name, u):
    """min <u, x> + weight |x| over a box, x = p - q with p, q >= 0; or min <u, x> over the Birkhoff polytope."""
    g, h, shape = PAIRS[name]
    if name in BIRKHOFF:
        n = shape[0]
        sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
        return linprog(u.ravel(), A_eq=sums, b_eq=np.ones(2 * n), bounds=(0, None)).fun
    lo, hi = (np.broadcast_to(bound, shape).ravel() for bound in (g.lo, g.hi))
    weight = np.broadcast_to(getattr(h, "weight", 0.0), shape).ravel()
    both = np.hstack([np.eye(u.size), -np.eye(u.size)])
    cost = np.concatenate([u.ravel() + weight, weight - u.ravel()])
    return linprog(cost, A_ub=np.vstack([both, -both]), b_ub=np.concatenate([hi, -lo]), bounds=(0, None)).fun


def slack(u):
    return 1e-12 * u.size * (1 + float(np.abs(u).sum()))


@pytest.mark.parametrize("name", PAIRS)
@quick
@given(data=st.data())
def test_minimiser_is_feasible_and_best(name, data):
    g, h, shape = PAIRS[name]
    oracle = oracle_of(name)
    u = data.draw(directions(shape))
    x = oracle.minimizer(u)
    assert g.value(x) < inf
    assert h.value(x) < inf
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for other in feasible_points(name, rng):
        assert objective(name, u, x) <= objective(name, u, other) + slack(u)


@pytest.mark.parametrize("name", BIRKHOFF + BOXES)
@quick
@given(data=st.data())
def test_minimum_is_that_of_a_linear_program(name, data):
    _, _, shape = PAIRS[name]
    oracle = oracle_of(name)
    u = data.draw(directions(shape))
    # The linear programming solver works to 1e-7 in the constraints.
    expected = pytest.approx(smallest_by_linprog(name, u), abs=1e-6 * (1 + float(np.abs(u).sum())))
    assert objective(name, u, oracle.minimizer(u)) == expected


@pytest.mark.parametrize("name", BOXES)
@quick
@given(data=st.data())
def test_a_box_has_its_minimum_at_a_bound_or_at_zero(name, data):
    """<u, x> + w |x| is linear between lo, 0 and hi: the smallest of the 3^n grid points is the minimum."""
    g, _, shape = PAIRS[name]
    oracle = oracle_of(name)
    u = data.draw(directions(shape))
    lo, hi = (np.broadcast_to(bound, shape).ravel() for bound in (g.lo, g.hi))
    grid = [np.reshape(x, shape) for x in product(*zip(lo, np.clip(0, lo, hi), hi, strict=True))]
    best = min(objective(name, u, x) for x in grid)
    assert objective(name, u, oracle.minimizer(u)) == pytest.approx(best, abs=slack(u))


@pytest.mark.parametrize("name", PAIRS)
@quick
@given(data=st.data())
def test_support_is_not_below_the_exact_one(name, data):
    g, _, shape = PAIRS[name]
    oracle = oracle_of(name)
    u = data.draw(directions(shape))
    exact = -smallest_by_linprog(name, -u) if name in BIRKHOFF else g.support(u)
    assert oracle.support(u) >= exact - 1e-6 * (1 + float(np.abs(u).sum()))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for x in feasible_points(name, rng):
        assert oracle.support(u) >= float(np.vdot(u, x)) - slack(u)


@pytest.mark.parametrize("name", PAIRS)
def test_both_orders_are_found(name):
    g, h, shape = PAIRS[name]
    forwards, backwards = find_joint_oracle(g, h), find_joint_oracle(h, g)
    assert forwards is not None
    assert backwards is not None
    u = np.random.default_rng(3).normal(size=shape)
    assert np.array_equal(forwards.minimizer(u), backwards.minimizer(u))
    assert forwards.support(u) == backwards.support(u)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_minimiser_has_the_dtype_of_the_direction(name, dtype):
    _, _, shape = PAIRS[name]
    oracle = oracle_of(name)
    u = np.random.default_rng(4).normal(size=shape).astype(dtype)
    before = u.copy()
    u.flags.writeable = False
    x = oracle.minimizer(u)
    assert (x.dtype, x.shape) == (np.dtype(dtype), shape)
    assert type(oracle.support(u)) is float
    assert np.array_equal(u, before)


def test_every_registered_pair_is_tested():
    tested = {(type(g), type(h)) for g, h, _ in PAIRS.values()}
    generic = {second for first, second in joint_oracles if first is object}
    assert generic <= {second for _, second in tested}
    assert {pair for pair in joint_oracles if pair[0] is not object} <= tested


@pytest.mark.parametrize(
    ("g", "h"),
    [
        (ROWS, Simplex(axis=0, total=2.0)),
        (Simplex(axis=1, total=2.0), Simplex(axis=0, total=2.0)),
        (ROWS, ROWS),
        (ROWS, Simplex(axis=-1)),
        (COLUMNS, Simplex(axis=-2)),
        (Box(-1, 1), UnitSums()),
        (Box(0, 0.5), UnitSums()),
        (Box(0.1, 1), UnitSums()),
        (Box(-inf, inf), UnitSums()),
        (Box(0, inf), L1()),
        (Box(-inf, 1), Zero()),
        (NonNegative(), Zero()),
        (NonNegative(), L1()),
        (Affine(np.ones((1, 4)), np.ones(1)), Zero()),
        (UnitSums(), Zero()),
        (UnitSums(), UnitSums()),
        (L1(), Zero()),
        (L1(), L1()),
        (SquaredL2(), Zero()),
        (NuclearNorm(), Zero()),
        (GroupL2([[0, 1]]), Zero()),
        (Zero(), Zero()),
        (L2Ball(), L1()),
    ],
)
def test_other_parameters_have_no_oracle(g, h):
    assert find_joint_oracle(g, h) is None
    assert find_joint_oracle(h, g) is None


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3)])
def test_assignment_needs_a_square_matrix(shape):
    with pytest.raises(InputError, match="`u` must be a square matrix"):
        assignment(np.zeros(shape))


class OtherLap:
    """The package lap installs a module of the same name, without `lapjvr`."""


@pytest.mark.parametrize("module", ["lapx", None, OtherLap])
@quick
@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64]))
def test_every_assignment_solver_finds_the_cheapest_permutation(module, data, dtype):
    n = data.draw(st.integers(1, 5))
    u = data.draw(directions((n, n), dtype))
    u.setflags(write=False)
    if module == "lapx":
        assert hasattr(joint._lap(), "lapjvr")  # a dependency
    with pytest.MonkeyPatch.context() as patch:
        if module != "lapx":
            patch.setattr(joint, "_lap", lambda: module)
        X = assignment(u)
    assert X.dtype == dtype
    assert np.array_equal(X.sum(axis=0), np.ones(n))
    assert np.array_equal(X.sum(axis=1), np.ones(n))
    cheapest = min(sum(float(u[i, p[i]]) for i in range(n)) for p in permutations(range(n)))
    assert (X * u.astype(float)).sum() == pytest.approx(cheapest, abs=1e-12)


@pytest.mark.parametrize("bad", [np.nan, -inf])
def test_no_assignment_is_made_up_for_costs_that_are_not_numbers(bad):
    with pytest.raises(ValueError, match="invalid numeric entries"):
        assignment(np.array([[0.0, bad, 1.0], [1.0, 0.0, 2.0], [2.0, 1.0, 0.0]]))
    forbidden = assignment(np.array([[inf, 1.0], [1.0, inf]]))
    assert np.array_equal(forbidden, [[0, 1], [1, 0]])
