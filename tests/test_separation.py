"""Proofs that sets have no common point: there is one where there is none, and no record proves it elsewhere."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trisplit as ts
from tests.kinds import kinds
from trisplit.problems.separation import Separation, separate, verify_separation
from trisplit.terms import (
    L1,
    Affine,
    Box,
    HalfSpace,
    Hyperplane,
    Isotonic,
    L2Ball,
    LogBarrier,
    NonNegative,
    SecondOrderCone,
    Simplex,
    Slab,
    Sphere,
)

SIZE = 4
SCALES = [1e-8, 1e-3, 1.0, 1e8]
ONES = np.ones(SIZE)


def problem(terms):
    return ts.Problem(lambda x: (0.0, 0 * x), terms)


def found(terms, centre, scale, steps=200):
    """Separate from the projections of the centre, as an iteration would see them."""
    points = [term.prox(centre, 1.0) for term in terms]
    size = max([scale, np.linalg.norm(centre), *map(np.linalg.norm, points)])
    return separate(problem(terms), centre, points, float(size), steps)


DISJOINT = {
    "balls": lambda k: [L2Ball(k, 2 * k * np.eye(SIZE)[0]), L2Ball(k, -0.5 * k * np.eye(SIZE)[0])],
    "half-spaces": lambda k: [HalfSpace(ONES, -k), HalfSpace(-ONES, -k / 10)],
    "three half-spaces": lambda k: [
        HalfSpace(np.array([1.0, 0, 0, 0]), -k),
        HalfSpace(np.array([0, 1.0, 0, 0]), -k),
        HalfSpace(np.array([-1.0, -2.0, 0, 0]), k),
    ],
    "a line and a slab": lambda k: [Affine(np.eye(SIZE)[:3], k * ONES[:3]), Slab(np.eye(SIZE)[0], 1.5 * k, 2 * k)],
    "a cone and a half-space": lambda k: [NonNegative(), HalfSpace(np.arange(1.0, SIZE + 1), -k)],
    "a round cone and a half-space": lambda k: [SecondOrderCone(), HalfSpace(np.array([1.2, 0.2, 0, 1.0]), -k)],
    "a simplex and a half-space": lambda k: [Simplex(total=k), HalfSpace(-ONES, -1.1 * k)],
    "equations and signs": lambda k: [Affine(np.array([[1.0, 2.0, 3.0, 0.5]]), np.array([-k])), NonNegative()],
    "four, of which three meet": lambda k: [Box(-k, k), Isotonic(), HalfSpace(ONES, k), HalfSpace(-ONES, -5 * k)],
    "three discs that meet in pairs": lambda k: [
        L2Ball(0.95 * k, k * np.array([np.cos(a), np.sin(a), 0, 0])) for a in (0.0, 2 * np.pi / 3, 4 * np.pi / 3)
    ],
    "with a function beside them": lambda k: [L1(0.1), Box(0, k), HalfSpace(ONES, -k)],
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", DISJOINT)
def test_disjoint_sets_are_separated_in_all_units(name, scale):
    terms = DISJOINT[name](scale)
    proof = found(terms, scale * np.array([1.0, -2.0, 0.5, 3.0]), scale)
    assert proof is not None
    assert verify_separation(terms, proof) == proof.distance > 1e8 * scale


@pytest.mark.parametrize("name", ["balls", "a simplex and a half-space", "three discs that meet in pairs"])
def test_a_bounded_set_makes_the_proof_exact(name):
    proof = found(DISJOINT[name](1.0), ONES, 1.0)
    assert proof.distance == inf
    assert proof.points[proof.closing] is None


def test_the_domain_of_a_function_takes_part():
    terms = [LogBarrier(), HalfSpace(ONES, -1.0)]
    assert verify_separation(terms, found(terms, ONES, 1.0)) > 1e8


def test_no_proof_speaks_of_nonconvex_sets_or_of_strangers():
    class Stranger:
        def value(self, x):
            return 0.0

        def prox(self, x, gamma):
            return np.maximum(x, 2.0)

    for other in (Sphere(2.0), Stranger()):
        assert found([other, L2Ball(0.5)], ONES, 1.0) is None
        record = Separation(0 * ONES, (ONES, -ONES), None, inf)
        assert verify_separation([other, L2Ball(0.5)], record) == 0.0


def test_a_map_that_is_no_projection_proves_nothing():
    class Mirrored:
        convex = indicator = True

        def value(self, x):
            return 0.0

        def prox(self, x, gamma):
            return np.where(x > 5.0, -10.0, 10.0)

    assert found([Mirrored(), L2Ball(1.0)], 0 * ONES, 1.0) is None


def through(p, kind, rng, k):
    """Return a set of size k with p at its boundary."""
    d = rng.standard_normal(SIZE)
    d /= np.linalg.norm(d)
    A = rng.standard_normal((2, SIZE))
    return {
        "ball": lambda: L2Ball(k, p + k * d),
        "half-space": lambda: HalfSpace(d, float(d @ p)),
        "plane": lambda: Hyperplane(d, float(d @ p)),
        "flat": lambda: Affine(A, A @ p),
        "box": lambda: Box(p, p + k * np.abs(d)),
        "slab": lambda: Slab(d, float(d @ p), float(d @ p) + k),
        "supported": lambda: Box(p - k * (d > 0), p + k * (d < 0)),
    }[kind]()


SETS = ["ball", "half-space", "plane", "flat", "box", "slab", "supported"]
MEETING = {
    "sets": st.lists(st.sampled_from(SETS), min_size=2, max_size=4),
    "seed": st.integers(0, 2**32 - 1),
    "scale": st.sampled_from(SCALES),
    "offset": st.sampled_from([0.0, 1.0, 1e5]),
}


@settings(max_examples=60, deadline=None)
@given(**MEETING)
def test_sets_that_touch_are_never_separated(sets, seed, scale, offset):
    rng = np.random.default_rng(seed)
    p = offset * scale * rng.standard_normal(SIZE)
    terms = [through(p, kind, rng, scale) for kind in sets]
    assert found(terms, p + scale * rng.standard_normal(SIZE), scale, steps=60) is None


@settings(max_examples=60, deadline=None)
@given(**MEETING, far=st.sampled_from([1.0, 1e4, 1e9]), closing=st.sampled_from([None, 0, 1]))
def test_no_record_whatever_proves_more_than_the_distance_to_a_common_point(sets, seed, scale, offset, far, closing):
    rng = np.random.default_rng(seed)
    p, centre = offset * scale * rng.standard_normal(SIZE), scale * rng.standard_normal(SIZE)
    terms = [through(p, kind, rng, scale) for kind in sets]
    d = rng.standard_normal((len(sets), SIZE))
    d[-1] -= d.sum(axis=0)  # normals that nearly cancel prove the most
    points = tuple(p + far * scale * row for row in d)
    record = Separation(centre, points, closing, inf)
    assert verify_separation(terms, record) <= np.linalg.norm(p - centre) * (1 + 1e-9)


def test_forged_records_are_refused():
    terms = DISJOINT["half-spaces"](1.0)
    proof = found(terms, ONES, 1.0)
    meeting = [HalfSpace(ONES, 1.0), HalfSpace(-ONES, 1.0)]
    swapped = proof._replace(points=proof.points[::-1])
    forged = [
        swapped,
        *(proof._replace(points=tuple(k * q for q in proof.points)) for k in (-1.0, 1e-3, 1e9, inf, nan)),
    ]
    for record in [proof, *forged]:
        assert verify_separation(meeting, record) <= np.linalg.norm(ONES)
    for record in forged[-2:]:
        assert verify_separation(terms, record) == 0.0
    assert verify_separation(terms, proof._replace(centre=nan * ONES)) == 0.0
    assert verify_separation(terms, proof._replace(closing=0)) == 0.0  # which is unbounded
    assert verify_separation(terms, proof._replace(closing=7)) == 0.0
    with pytest.raises(ts.InputError, match="2 points for 3 terms"):
        verify_separation([*terms, Box(0, 1)], proof)
    with pytest.raises(ts.InputError, match="like its centre"):
        verify_separation(terms, proof._replace(centre=np.ones(2)))


def test_what_is_not_finite_gives_no_proof():
    terms = DISJOINT["balls"](1.0)
    assert separate(problem(terms), ONES, [nan * ONES, ONES], 1.0, 10) is None
    assert separate(problem(terms), ONES, [ONES, ONES], nan, 10) is None
    assert separate(problem(terms), ONES, [ONES, ONES], inf, 10) is None


def test_projections_are_counted():
    asked = problem(DISJOINT["balls"](1.0))
    separate(asked, ONES, [ONES, ONES], 1.0, 10)
    assert asked.counts.prox >= 20


@pytest.mark.parametrize("kind", kinds("numpy", "torch", "jax", "array_api_strict"), ids=str)
def test_exact_proofs_in_every_library_and_precision(kind):
    terms, x = DISJOINT["balls"](1.0), kind.array(ONES)
    proof = separate(problem(terms), x, [term.prox(x, 1.0) for term in terms], 5.0, 100)
    assert proof.distance == inf == verify_separation(terms, proof)
    assert kind.holds(proof.points[1 - proof.closing])


def test_nothing_is_excluded_within_the_reach_of_a_bounded_set():
    """The common points lie a billion times as far away as the run goes, and yet inside the box."""
    flat, half = 1e-9, ts.terms.HalfSpace
    terms = [half(np.array([0.0, -1.0]), -flat), half(np.array([-flat, 1.0]), 0.0), ts.terms.Box(-9, 9)]
    assert all(term.value(np.array([2.0, 1.5e-9])) == 0 for term in terms)
    res = ts.minimize(lambda x: (0.0, 0 * x), np.zeros(2), terms, max_iter=200)
    assert res.status is not ts.Status.INFEASIBLE


def test_disjoint_sets_are_told_where_z_stays_at_zero():
    sets = [ts.terms.Box(0, 1), ts.terms.HalfSpace(np.ones(3), -1.0)]
    assert ts.minimize(lambda x: (x @ x / 2, x * 1.0), np.zeros(3), sets).status is ts.Status.INFEASIBLE
