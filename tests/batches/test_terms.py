"""In a batch, a term does for each problem what it does for that problem alone."""

from copy import copy
from math import inf, isfinite

import numpy as np
import pytest

from tests.kinds import numpy64
from trisplit.arrays.batched import column
from trisplit.terms import L1, Box, L2Ball, Simplex, UnitSums, Zero, find_joint_oracle, registry

TERMS = {name: cls.examples() for name, cls in registry.items()}
BATCHES = ((5,), (2, 3))
NUMBERS = ("value", "support", "distance", "conjugate_value")


def with_oracle(example):
    term, shape = example
    return hasattr(term, "lmo") and hasattr(term, "diameter") and isfinite(term.diameter(shape))


def stacked(shape, batch, kind, seed=0):
    """Return points, some of them in the sets and some far away, and a gamma for each."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(batch))
    points = rng.standard_normal((count, *shape)) * np.geomspace(0.1, 100, count).reshape(-1, *[1] * len(shape))
    x = kind.array(points.reshape(*batch, *shape))
    return x, kind.array(np.geomspace(0.01, 10, count).reshape(batch))


def units(kind, x):
    return 200 * kind.eps * (1 + np.abs(numpy64(x)).max())


@pytest.mark.parametrize("name", registry)
def test_proximal_maps_are_those_of_the_members(kind, name):
    for number, (term, shape) in enumerate(TERMS[name]):
        batch = BATCHES[number % 2]
        x, gamma = stacked(shape, batch, kind)
        moved = term.batched(len(batch)).prox(x, column(gamma, x))
        assert kind.holds(moved)
        assert tuple(moved.shape) == (*batch, *shape)
        for place in np.ndindex(batch):
            alone = term.prox(x[(*place, ...)], float(gamma[place]))
            slack = term.accuracy * units(kind, x)
            np.testing.assert_allclose(numpy64(moved[(*place, ...)]), numpy64(alone), rtol=0, atol=slack)


@pytest.mark.parametrize("name", registry)
def test_values_supports_and_distances_are_those_of_the_members(kind, name):
    for number, (term, shape) in enumerate(TERMS[name]):
        batch = BATCHES[number % 2]
        together = term.batched(len(batch))
        x, _ = stacked(shape, batch, kind, seed=1)
        for at in (x, together.prox(x, 1.0)):
            for method in NUMBERS:
                if not hasattr(term, method):
                    continue
                numbers = getattr(together, method)(at)
                assert kind.holds(numbers)
                assert tuple(numbers.shape) == batch
                expected = np.reshape([getattr(term, method)(at[(*place, ...)]) for place in np.ndindex(batch)], batch)
                size = max(1.0, np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
                slack = 50 * term.accuracy * units(kind, x) * size
                np.testing.assert_allclose(numpy64(numbers), expected, rtol=0, atol=slack)


@pytest.mark.parametrize("name", [name for name, terms in TERMS.items() if any(map(with_oracle, terms))])
def test_oracles_are_those_of_the_members(kind, name):
    for term, shape in filter(with_oracle, TERMS[name]):
        u, _ = stacked(shape, (5,), kind, seed=2)
        best = term.batched(1).lmo(u)
        assert kind.holds(best)
        for i in range(5):
            np.testing.assert_allclose(numpy64(best[i, ...]), numpy64(term.lmo(u[i, ...])), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", registry)
def test_constants_are_those_of_a_member(name):
    for term, shape in TERMS[name]:
        for method in ("diameter", "lipschitz"):
            if hasattr(term, method):
                constants = np.broadcast_to(getattr(term.batched(2), method)((2, 3, *shape)), (2, 3))
                assert np.allclose(constants, getattr(term, method)(shape), equal_nan=True)


OWN = {  # terms with parameters of each problem, and their members
    "box": (
        Box(np.array([[0.0, -1], [1, 2], [-inf, 0]]), np.array([[1.0, 1], [2, 2], [0, 3]])),
        [Box([0.0, -1], [1.0, 1]), Box([1, 2], [2, 2]), Box([-inf, 0], [0, 3])],
    ),
    "half a box": (Box(0.0, np.array([[1.0], [2], [3]])), [Box(0.0, 1.0), Box(0.0, 2.0), Box(0.0, 3.0)]),
    "weights": (L1(np.array([[0.1], [1.0], [0.0]])), [L1(0.1), L1(1.0), L1(0.0)]),
    "centres": (L2Ball(1.0, np.arange(6.0).reshape(3, 2)), [L2Ball(1.0, [2.0 * i, 2.0 * i + 1]) for i in range(3)]),
    "shared": (L1(np.array([0.5, 2.0])), [L1(np.array([0.5, 2.0]))] * 3),
}


@pytest.mark.parametrize("name", OWN)
def test_each_problem_may_have_parameters_of_its_own(kind, name):
    term, members = OWN[name]
    x, gamma = stacked((2,), (3,), kind)
    moved = term.batched(1).prox(x, column(gamma, x))
    for i, member in enumerate(members):
        alone = member.prox(x[i, ...], float(gamma[i]))
        np.testing.assert_allclose(numpy64(moved[i, ...]), numpy64(alone), rtol=0, atol=units(kind, x))
    some = term.batched(1).select_rows((np.array([2, 0]),), (3, 2))
    chosen = some.prox(kind.array(numpy64(x)[[2, 0]]), column(kind.array(numpy64(gamma)[[2, 0]]), x))
    for row, i in enumerate((2, 0)):
        np.testing.assert_allclose(numpy64(chosen[row, ...]), numpy64(moved[i, ...]), rtol=0, atol=units(kind, x))


@pytest.mark.parametrize("name", registry)
def test_every_term_of_the_library_can_select(name):
    """Else finished problems would stay in the arrays."""
    for term, shape in TERMS[name]:
        assert term.batched(1).select_rows((np.array([2, 0]),), (3, *shape)) is not None


@pytest.mark.parametrize("name", OWN)
def test_members_of_two_axes_are_selected_as_arrays_are_indexed(name):
    term, members = OWN[name]
    for parameter in term.broadcast:
        value = getattr(term, parameter)
        if isinstance(value, np.ndarray) and value.ndim == 2:
            both = copy(term)
            object.__setattr__(both, parameter, np.stack([value, value + 1.0]))
            some = both.batched(2).select_rows((np.array([1, 0]), np.array([2, 1])), (2, 3, 2))
            assert np.array_equal(getattr(some, parameter), np.stack([value[2] + 1.0, value[1]]))


PAIRS = {
    "two simplices": (Simplex(axis=1), Simplex(axis=0)),
    "box and unit sums": (Box(0, 1), UnitSums()),
    "a ball": (L2Ball(0.8), Zero()),
    "box and L1": (Box(0, 1), L1(0.7)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_joint_oracles_are_those_of_the_members(name):
    g, h = PAIRS[name]
    u = np.random.default_rng(0).standard_normal((3, 2, 4, 4))
    oracle, alone = find_joint_oracle(g.batched(2), h.batched(2)), find_joint_oracle(g, h)
    assert oracle.fits(u.shape)
    assert alone.fits(u.shape[2:])
    best, support = oracle.minimizer(u), oracle.support(u)
    for place in np.ndindex(3, 2):
        assert np.array_equal(best[place], alone.minimizer(u[place]))
        assert support[place] == pytest.approx(alone.support(u[place]))
