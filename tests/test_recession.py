"""Directions along which an objective falls for ever: found where they exist, and nowhere else."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trisplit as ts
from tests.kinds import kinds
from trisplit.problems.recession import recede, verify_recession
from trisplit.terms import L1, Affine, Box, HalfSpace, Isotonic, L2Ball, NonNegative, SecondOrderCone, SquaredL2, Zero

SIZE = 4
SCALES = [1e-8, 1.0, 1e8]
A = np.array([[1.0, -1.0, 0.5, 0.0], [0.0, 1.0, -2.0, 1.0]])
DOWN = np.array([2.0, 1.0, 0.5, 1.5])  # in the null space of neither


def linear(c):
    return lambda x: (c @ x, c + 0 * x)


def in_units(f, k):
    """Return f of x in units of k."""

    def scaled(x):
        value, u = f(x / k)
        return value, u / k

    return scaled


def found(f, terms, z, scale, directions=()):
    problem = ts.Problem(f, terms)
    slope = float(np.linalg.norm(problem.grad(z)))
    return recede(problem, z, [*directions, DOWN], scale, slope)


def least_squares(x):
    r = A @ x - 1.0
    n = np.linalg.svd(A)[2][-1]
    return r @ r / 2 - n @ x, A.T @ r - n


FALLING = {
    "no term": (linear(-DOWN), [Zero()]),
    "signs": (linear(np.array([1.0, 2.0, -0.1, 1.0])), [NonNegative()]),
    "order": (linear(-np.arange(SIZE) + 0.5), [Isotonic()]),
    "equations": (linear(-DOWN), [Affine(A, A @ DOWN)]),
    "equations and signs": (linear(np.array([-2.0, 1, 1, 1])), [Affine(A[:1], np.ones(1)), NonNegative()]),
    "a cone": (linear(np.array([1.0, -2.0, 0, 0])), [SecondOrderCone()]),
    "three sets": (linear(-DOWN), [NonNegative(), HalfSpace(np.array([1.0, -1, 0, 0]), 1.0), Isotonic(), L1(0.1)]),
    "a norm that is too weak": (linear(np.array([1.0, 0.9, -0.5, 0.2])), [L1(0.8)]),
}


CONES = ["no term", "signs", "order", "a cone"]  # which are the same in all units


@pytest.mark.parametrize(("name", "k"), [(name, k) for name in FALLING for k in (SCALES if name in CONES else [1.0])])
def test_linear_falls_are_proven_in_all_units(name, k):
    f, terms = FALLING[name]
    f = in_units(f, k)
    falls = found(f, terms, k * np.array([1.0, 2.0, 0.5, 3.0]), k)
    assert falls is not None
    assert falls.proven
    assert falls.slope < 0
    assert verify_recession(f, terms, falls)
    for distance in (1e3 * k, 1e9 * k):  # what a direction of recession means
        x = falls.point + distance * falls.direction
        assert all(np.linalg.norm(t.prox(x, 1.0) - x) <= 1e-8 * distance for t in terms if getattr(t, "indicator", 0))


def test_a_null_space_of_least_squares_is_found():
    falls = found(least_squares, [Zero()], np.ones(SIZE), 10.0, [np.linalg.svd(A)[2][-1]])
    assert np.linalg.norm(A @ falls.direction) < 1e-5
    assert verify_recession(least_squares, [Zero()], falls)


SLOW = {
    "logarithm": lambda x: (-np.log1p(x).sum(), -1 / (1 + x)),
    "root": lambda x: (-np.sqrt(1 + x).sum(), -0.5 / np.sqrt(1 + x)),
    "parabola": lambda x: (-x @ x / 2, -x),
}


@pytest.mark.parametrize("k", SCALES)
@pytest.mark.parametrize("name", SLOW)
def test_other_falls_are_evidence(name, k):
    f = in_units(SLOW[name], k)
    falls = found(f, [NonNegative()], k * np.ones(SIZE), k)
    assert not falls.proven
    assert verify_recession(f, [NonNegative()], falls)
    assert not verify_recession(f, [NonNegative()], falls._replace(proven=True))


def test_a_nonconvex_term_gives_evidence_only():
    class OneSided:
        indicator, convex = True, False

        def value(self, x):
            return 0.0

        def prox(self, x, gamma):
            return np.where(np.arange(SIZE) == np.argmax(x), x, 0.0)

    assert found(linear(-DOWN), [OneSided()], DOWN, 1.0).proven is False


BOUNDED = {
    "exponential": (lambda x: (np.exp(-x).sum(), -np.exp(-x)), [NonNegative()]),
    "inverse": (lambda x: ((1 / (1 + x)).sum(), -1 / (1 + x) ** 2), [NonNegative()]),
    "slow inverse": (lambda x: (((1 + x**2) ** -0.05).sum(), -0.1 * x * (1 + x**2) ** -1.05), [Zero()]),
    "logistic": (lambda x: (np.logaddexp(0, -x).sum(), -1 / (1 + np.exp(x))), [Zero()]),
    "arc tangent": (lambda x: (-np.arctan(x).sum(), -1 / (1 + x**2)), [Zero()]),
    "far parabola": (lambda x: (0.5e-8 * x @ x - x.sum(), 1e-8 * x - 1), [Zero()]),
    "far kink": (lambda x: (np.abs(x - 1e8).sum(), np.sign(x - 1e8)), [Zero()]),
    "ridge": (linear(-DOWN), [SquaredL2(1e-8)]),
    "a strong norm": (linear(-DOWN), [L1(2.1)]),
    "far side": (linear(-DOWN), [NonNegative(), HalfSpace(DOWN, 1e8)]),
    "far corner": (linear(-np.eye(SIZE)[0]), [HalfSpace(np.array([1e-8, 1, 0, 0]), 1.0), HalfSpace(-np.eye(SIZE)[1])]),
    "far box": (linear(-DOWN), [Box(-1e8, 1e8)]),
    "half a far box": (linear(-DOWN), [Box(0, np.array([1e8, 1e8, 1e7, 1e9]))]),
    "ball": (linear(-DOWN), [L2Ball(1e8)]),
    "logarithm and cost": (lambda x: (1e-8 * x.sum() - np.log1p(x).sum(), 1e-8 - 1 / (1 + x)), [NonNegative()]),
    "wrong way": (linear(DOWN), [NonNegative()]),
    "no common point": (linear(-DOWN), [NonNegative(), HalfSpace(np.ones(SIZE), -1e-3)]),
    "f that fails": (lambda x: (float(-x[0]) if x[0] < 1e3 else 1 / 0, -np.eye(SIZE)[0]), [Zero()]),
    "f that overflows": (lambda x: (np.exp(x).sum() - DOWN @ x, np.exp(x) - DOWN), [NonNegative()]),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_what_is_bounded_below_is_no_alarm(name):
    f, terms = BOUNDED[name]
    for scale in (1.0, 1e3, 1e6):
        assert found(f, terms, np.ones(SIZE), scale, [np.eye(SIZE)[0], np.ones(SIZE)]) is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-6, 1e-3]), st.sampled_from([1.0, 1e4, 1e8]))
def test_linear_programs_with_a_dual_solution_are_no_alarm(seed, slack, far):
    """c = A^T y + s with s >= 0 bounds <c, x> from below where A x = b, x >= 0."""
    rng = np.random.default_rng(seed)
    M, s = rng.standard_normal((2, SIZE)), slack * rng.random(SIZE)
    terms = [Affine(M, M @ (far * rng.random(SIZE))), NonNegative()]
    f = linear(M.T @ rng.standard_normal(2) + s)
    assert found(f, terms, rng.random(SIZE), 1.0, rng.standard_normal((2, SIZE))) is None


def test_forged_records_are_refused():
    f, terms = linear(-DOWN), NonNegative()
    right = found(f, [terms], DOWN, 1.0)
    assert verify_recession(f, terms, right)
    forged = {
        "a long direction": right._replace(direction=2 * right.direction),
        "the other way": right._replace(direction=-right.direction),
        "out of the domain": right._replace(direction=np.array([0.8, 0.6 * 0.8, 0.6 * 0.6, -1e-6])),
        "another slope": right._replace(slope=2 * right.slope),
        "a slope that rises": right._replace(slope=1.0),
        "a point outside": right._replace(point=right.point - 5.0),
        "no number": right._replace(point=nan * right.point),
        "no numbers": right._replace(direction=nan * right.direction),
        "no slope": right._replace(slope=nan),
        "no reach": right._replace(reach=0.0),
        "all the reach": right._replace(reach=inf),
    }
    for name, record in forged.items():
        assert not verify_recession(f, terms, record), name
    assert not verify_recession(f, Box(0, 1e9), right)
    assert not verify_recession(SLOW["logarithm"], terms, right)
    with pytest.raises(ts.InputError, match="must be like arrays"):
        verify_recession(f, terms, right._replace(direction=np.ones(2)))


@pytest.mark.parametrize(("scale", "slope"), [(nan, 1.0), (inf, 1.0), (1.0, nan), (0.0, 1.0), (1.0, 0.0)])
def test_without_a_scale_there_is_no_verdict(scale, slope):
    assert recede(ts.Problem(linear(-DOWN), NonNegative()), DOWN, [DOWN], scale, slope) is None


def test_a_call_that_fails_is_cheap():
    problem = ts.Problem(*BOUNDED["far side"])
    recede(problem, np.ones(SIZE), [DOWN], 1.0, 1.0)
    assert problem.counts.prox <= 80
    assert problem.counts.value <= 20
    assert problem.counts.grad == 1


@pytest.mark.parametrize("kind", kinds("numpy", "torch", "jax", "array_api_strict"), ids=str)
def test_falls_in_every_library_and_precision(kind):
    f = lambda x: (-x.sum() if hasattr(x, "sum") else -kind.xp.sum(x), 0 * x - 1)  # noqa: E731
    falls = recede(ts.Problem(f, NonNegative()), kind.array(np.ones(SIZE)), [], 1.0, 2.0)
    if kind.precision == "float32":  # coarser numbers cannot tell wedges from strips
        assert falls is None
        return
    assert falls.proven
    assert kind.holds(falls.direction)
    assert verify_recession(f, NonNegative(), falls)


D_2, D_3, B = np.array([1e9, 1e-3]), np.array([1e11, 1e-3, 1e-3]), np.array([3.0, 2.0, -4.0])
FAR_MINIMA = {
    "a short step in one entry, two terms": (
        lambda x: ((D_2 * x * x).sum() / 2 - x.sum(), D_2 * x - 1),
        np.zeros(2),
        [ts.terms.NonNegative(), ts.terms.L1(1e-3)],
        {},
    ),
    "a short step in one entry": (
        lambda x: ((D_3 * x * x).sum() / 2 - x.sum(), D_3 * x - 1),
        np.zeros(3),
        ts.terms.Free(),
        {},
    ),
    "a tiny step": (lambda x: (x @ x / 2 - B @ x, x - B), np.zeros(3), ts.terms.Free(), {"step": 1e-18}),
    "a kink at the start": (
        lambda x: (np.maximum(x, x / 2).sum() + 1e-3 * x @ x, np.where(x >= 0, 1.0, 0.5) + 2e-3 * x),
        np.zeros(3),
        ts.terms.Free(),
        {},
    ),
    "waves": (lambda x: (np.sin(x).sum(), np.cos(x)), np.zeros(3), ts.terms.Free(), {"step": 1e-12}),
}


@pytest.mark.parametrize("name", FAR_MINIMA)
def test_a_minimum_far_beyond_what_was_seen_is_none_the_less_one(name):
    f, x0, terms, options = FAR_MINIMA[name]
    assert ts.minimize(f, x0, terms, max_iter=700, **options).status is not ts.Status.UNBOUNDED
