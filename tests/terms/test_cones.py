"""Cones, epigraphs, level sets and perspectives: what the contracts do not say."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from trisplit.errors import InputError
from trisplit.terms import (
    L1,
    Box,
    Entropy,
    EpigraphAbs,
    EpigraphDistance,
    EpigraphL2,
    EpigraphPower,
    EpigraphSquare,
    EpigraphSupport,
    ExponentialCone,
    Huber,
    KullbackLeiblerLevelSet,
    L2Ball,
    LevelSet,
    Perspective,
    PerspectiveHuber,
    PerspectiveSquare,
    PowerCone,
    RotatedCone,
    SecondOrderCone,
    SquaredL2,
    Zero,
)
from trisplit.terms.sets.cones import second_order
from trisplit.terms.sets.exponential_cone import exponential


def many(n, count=2000):
    """Return vectors of all sizes, whose entries may differ by many powers of ten."""
    rng = np.random.default_rng(0)
    mild = rng.standard_normal((count, n)) * 10.0 ** rng.integers(-3, 4, (count, n))
    wild = rng.standard_normal((count, n)) * 10.0 ** rng.integers(-200, 200, (count, n))
    return np.concatenate([mild, wild, np.sign(mild), np.zeros((1, n))])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("cone", "twin", "n"), [(SecondOrderCone, second_order, 5), (ExponentialCone, exponential, 3)])
def test_kernels_agree_with_their_twins(cone, twin, n, dtype):
    x = many(n) if dtype == "float64" else many(n)[:2000].astype(dtype)
    ours = cone(axis=1).project(x)
    assert ours.dtype == x.dtype
    size = np.abs(x).max(axis=1, keepdims=True)
    assert np.all(np.abs(ours - twin(x)) <= 40 * np.finfo(dtype).eps * size)


def test_exponential_cone_at_extreme_points():
    """v = p + d with p in the cone, d in its polar and <p, d> = 0: no other p could be the projection."""
    v = many(3)
    v = v / np.maximum(np.abs(v).max(axis=1, keepdims=True), 1e-300)
    p = ExponentialCone(axis=1).project(v)
    d = v - p
    assert np.all(np.abs(np.sum(p * d, axis=1)) <= 1e-15)
    (x, y, z), (a, b, c) = p.T, d.T
    assert np.all(below_exponential(x, y, z))
    assert np.all(below_exponential(b - a, a, -c))  # the polar cone is {a exp(b / a - 1) <= -c, a > 0}, closed


def below_exponential(x, y, z, rounding=1e-15):
    """Say where y exp(x / y) <= z, up to what rounding of x, y and z changes."""
    safe = np.where(y > 1e-12, y, 1.0)
    ratio = np.clip(x / safe, -700.0, 700.0)
    slack = rounding * (1.0 + (1.0 + np.abs(ratio)) * np.exp(ratio))
    return np.where(y > 1e-12, y * np.exp(ratio) <= z + slack, (x <= 1e-10) & (y >= -rounding)) & (z >= -rounding)


def test_one_cone_in_other_coordinates():
    x = np.random.default_rng(1).standard_normal((50, 4))
    moved = SecondOrderCone(axis=1).project(x)
    np.testing.assert_allclose(
        EpigraphL2(axis=1).project(np.roll(x, -1, axis=1)), np.roll(moved, -1, axis=1), atol=1e-14
    )
    # x^(1/2) y^(1/2) >= |z| is z^2 <= x y: the rotated cone with z times sqrt 2
    y = x[:, :3]
    s = np.array([1.0, 1.0, 2.0**0.5])
    inside = PowerCone(0.5, axis=1).project(y)
    assert RotatedCone(axis=1).distance(inside * s) <= 1e-13


def test_powers_of_two_are_squares():
    x = 3 * np.random.default_rng(2).standard_normal((100, 2))
    np.testing.assert_allclose(EpigraphPower(2.0, 0.7, 1).project(x), EpigraphSquare(0.7, 1).project(x), atol=1e-13)


def test_the_level_set_of_a_norm_is_a_ball():
    x = np.array([3.0, -1.0, 2.0])
    np.testing.assert_allclose(LevelSet(SquaredL2(), 0.5).project(x), L2Ball(1.0).project(x), atol=1e-12)


BAD = {
    "alpha": [lambda: PowerCone(0.0), lambda: PowerCone(1.0), lambda: PowerCone(np.nan)],
    "axis": [lambda: SecondOrderCone(axis=0.5), lambda: ExponentialCone(axis="rows")],
    "weight": [lambda: EpigraphAbs(0.0), lambda: EpigraphL2(-1.0), lambda: EpigraphSquare(np.inf)],
    "power": [
        lambda: EpigraphPower(1.0),
        lambda: EpigraphDistance(Box(0, 1), 3),
        lambda: EpigraphDistance(Box(0, 1), 0),
    ],
    "set_": [lambda: EpigraphDistance(L1()), lambda: EpigraphDistance(3.0)],
    "lo": [lambda: EpigraphSupport(2.0, 1.0), lambda: EpigraphSupport(np.zeros(2), 1.0)],
    "level": [
        lambda: KullbackLeiblerLevelSet(1.0, 0.0),
        lambda: LevelSet(Zero(), np.nan),
        lambda: LevelSet(L1(), [1, 2]),
    ],
    "term": [lambda: LevelSet(Box(0, 1), 1.0), lambda: LevelSet(None, 1.0)],
    "data": [lambda: KullbackLeiblerLevelSet([-1.0])],
    "radius": [lambda: PerspectiveHuber(0.0)],
}


@pytest.mark.parametrize(("name", "make"), [(name, make) for name, makes in BAD.items() for make in makes])
def test_bad_parameters_are_named(name, make):
    with pytest.raises(InputError, match=f"`{name}`"):
        make()


@pytest.mark.parametrize(
    "term", [ExponentialCone(), PowerCone(), EpigraphAbs(), EpigraphL2(axis=0), RotatedCone(axis=0)]
)
def test_vectors_of_a_wrong_length_are_refused(term):
    with pytest.raises(InputError, match=f"{type(term).__name__} needs vectors.*`axis`"):
        term.project(np.ones((1, 4)))


@settings(deadline=None, max_examples=60)
@given(x=arrays(float, 4, elements=st.floats(-10.0, 10.0)), gamma=st.sampled_from([1e-3, 0.4, 1.0, 30.0]))
def test_the_general_perspective_is_the_special_one(x, gamma):
    """Those of a square, of Huber's function of one entry, and of a norm, which does not feel its scale."""
    close = {"rtol": 1e-7, "atol": 1e-7}
    square = Perspective(SquaredL2(2.0))
    assert_allclose(square.prox(x, gamma), PerspectiveSquare().prox(x, gamma), **close)
    assert_allclose(Perspective(Huber()).prox(x[2:], gamma), PerspectiveHuber().prox(x[2:], gamma), **close)
    norm = np.append(L1(0.7).prox(x[:-1], gamma), max(x[-1], 0.0))
    assert_allclose(Perspective(L1(0.7)).prox(x, gamma), norm, **close)
    for term, other in ((square, PerspectiveSquare()), (Perspective(L1(0.7)), None)):
        at = term.prox(x, gamma)
        assert_allclose(term.value(at), other.value(at) if other else 0.7 * np.abs(at[:-1]).sum(), **close)


def test_a_perspective_at_scale_zero_is_its_limit():
    assert Perspective(SquaredL2()).value(np.array([1.0, 0.0])) == np.inf
    assert Perspective(SquaredL2()).value(np.array([0.0, 0.0])) == 0.0
    assert_allclose(Perspective(Huber()).value(np.array([-3.0, 0.0])), 3.0)
    assert Perspective(Huber()).value(np.array([1.0, -1e-9])) == np.inf


@settings(deadline=None, max_examples=30)
@given(
    x=arrays(float, 3, elements=st.floats(-10.0, 10.0)),
    other=arrays(float, 3, elements=st.floats(0.01, 10.0)),
    gamma=st.sampled_from([1e-3, 1.0, 30.0]),
)
@example(x=np.array([2.9e-218, 0.0, 0.0]), other=np.array([1.0, 2.0, 2.0]), gamma=1.0)
def test_the_perspective_of_a_barrier(x, other, gamma):
    """No other point has a smaller sum of y log(y / xi) and the distance."""
    term = Perspective(Entropy())
    p = term.prox(x, gamma)

    def objective(y):
        return gamma * term.value(y) + np.sum((y - x) ** 2) / 2

    assert_allclose(term.value(other), np.sum(other[:2] * np.log(other[:2] / other[2])), rtol=1e-12)
    for step in (1e-6, 1e-3, 0.1, 1.0):
        assert objective(p) <= objective(p + step * (other - p)) + 1e-9 * (1 + abs(objective(p)))
