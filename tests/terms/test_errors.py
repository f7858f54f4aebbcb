"""Bad parameters and arrays of the wrong shape are refused in one line that names the argument and a remedy."""

from math import inf, nan

import numpy as np
import pytest

from trisplit.errors import InputError
from trisplit.terms import (
    L1,
    Affine,
    Box,
    ConvexSet,
    GroupL2,
    L2Ball,
    NuclearNorm,
    Simplex,
    SquaredL2,
    TotalVariation,
    UnitSums,
    Zero,
    registry,
)


def refused(names, call, *args, **options):
    """Call, and return the message of the refusal, which must be one line with a remedy after the semicolon."""
    with pytest.raises(InputError) as caught:
        call(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) <= 200
    problem, _, remedy = message.partition("; ")
    assert len(remedy) >= 8, message
    for name in names:
        assert name in problem, message
    return message


NOT_A_NUMBER = ["much", None, [1.0, [2.0]], 1 + 2j, np.array([1j]), {}, nan]
NOT_A_SIZE = [*NOT_A_NUMBER, inf, -1.0, np.array([1.0, 2.0])]


@pytest.mark.parametrize("bad", NOT_A_SIZE)
@pytest.mark.parametrize("term", [SquaredL2, NuclearNorm])
def test_weights_are_finite_and_not_negative(term, bad):
    refused(["`weight`"], term, bad)
    assert term(0).weight == 0.0


@pytest.mark.parametrize("bad", NOT_A_SIZE)
def test_weight_of_groups(bad):
    refused(["`weight`"], GroupL2, [[0]], bad)
    refused(["`weight`"], GroupL2.split, [[0], [0], [0]], bad)


@pytest.mark.parametrize("bad", [*NOT_A_NUMBER, inf, -1.0, [1.0, -2.0], [1.0, nan], -np.ones((40, 40))])
def test_weights_of_l1(bad):
    refused(["`weight`"], L1, bad)


@pytest.mark.parametrize("bad", [*NOT_A_SIZE, 0.0])
def test_radius_and_total_are_positive(bad):
    refused(["`radius`"], L2Ball, bad)
    refused(["`total`"], Simplex, total=bad)


@pytest.mark.parametrize("bad", [*NOT_A_NUMBER, inf, [0.0, nan]])
def test_center_is_finite(bad):
    refused(["`center`"], L2Ball, 1.0, bad)


@pytest.mark.parametrize("bad", [1.5, "rows", None, (0, 1)])
def test_axis_is_an_integer(bad):
    refused(["`axis`"], Simplex, axis=bad)
    refused(["`axis`"], TotalVariation, axis=bad)


@pytest.mark.parametrize("bad", NOT_A_NUMBER)
def test_bounds_are_numbers(bad):
    refused(["`lo`"], Box, bad, 1.0)
    refused(["`hi`"], Box, 0.0, bad)


def test_box_is_not_empty():
    assert "exchange" in refused(["`lo`", "`hi`", "2.0 > 1.0"], Box, 2, 1)
    refused(["`lo`", "`hi`", "3.0 > 2.5"], Box, np.array([0.0, 3.0]), np.array([1.0, 2.5]))
    refused(["`lo`", "`hi`"], Box, np.full((30, 30), 2.0), np.ones((30, 30)))
    refused(["`lo`", "`hi`"], Box, inf, inf)
    refused(["`lo`", "`hi`"], Box, -inf, -inf)
    refused(["`lo`", "`hi`", "(2,)", "(3,)"], Box, np.zeros(2), np.ones(3))


def test_linear_oracle_of_an_unbounded_box():
    refused(["`lo`", "`hi`", "infinite"], Box(0, inf).lmo, np.ones(3))


@pytest.mark.parametrize(
    ("groups", "named"),
    [
        ([], "`groups`"),
        (3, "`groups`"),
        ([0, 1], "`groups`"),
        ([[0, [1, 2]]], "`groups`"),
        ([[0], []], "`groups[1]`"),
        ([[0, -1]], "`groups[0]`"),
        ([[0.5, 1.0]], "`groups[0]`"),
        ([[True, False]], "`groups[0]`"),
        (["ab"], "`groups[0]`"),
        ([[[0, 1], [2, 3]]], "`groups[0]`"),
        ([[0], [1, 2, 1]], "`groups[1]`"),
        ([[0], [10**19]], "`groups[1]`"),
        ([[0], [10**30]], "`groups[1]`"),
    ],
)
def test_groups_are_lists_of_indices(groups, named):
    refused([named], GroupL2, groups)
    refused([named], GroupL2.split, groups)


def test_overlapping_groups_hint_at_split():
    message = refused(["`groups`", "overlap", "index 2"], GroupL2, [[0, 1, 2], [2, 3]])
    assert "GroupL2.split" in message


def test_a_large_index_costs_no_memory():
    """An index of 10^15 is no reason to count up to it; the vector is then too short."""
    term = GroupL2([[0], [10**15]])
    refused(["`groups`", "(5,)"], term.prox, np.ones(5), 1.0)


def test_unsigned_and_signed_indices_mix():
    groups: list = [np.array([0, 1], dtype=np.uint64), np.array([2], dtype=np.int8)]
    term = GroupL2(groups)
    assert term.groups == ((0, 1), (2,))
    assert np.isfinite(term.prox(np.ones(3), 0.5)).all()


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_an_affine_set_is_not_empty(scale, factor):
    """Neither the units of the equations nor those of a single one decide whether they contradict each other."""
    A = scale * np.array([[1.0, 1.0], [factor, factor], [0.0, 1.0]])
    assert Affine(A, scale * np.array([1.0, factor, 2.0])).distance(np.array([-1.0, 2.0])) <= 1e-12
    refused(["A x = b", "no solution"], Affine, A, scale * np.array([1.0, 2 * factor, 2.0]))


def test_affine_sets_of_zero_rows():
    refused(["no solution"], Affine, np.zeros((1, 2)), [1.0])
    x = np.array([3.0, -4.0])
    assert np.array_equal(Affine(np.zeros((1, 2)), np.zeros(1)).project(x), x)


@pytest.mark.parametrize("bad", [[[nan, 1.0]], [[inf, 1.0]], [["x", 1.0]], [[1j, 1.0]], [[1.0], [1.0, 2.0]]])
def test_affine_needs_finite_numbers(bad):
    refused(["`A`"], Affine, bad, [1.0])


@pytest.mark.parametrize("bad", [nan, inf, [nan], ["x"], [1j], None])
def test_affine_needs_a_finite_right_side(bad):
    refused(["`b`"], Affine, np.ones((1, 2)), bad)


@pytest.mark.parametrize(("A", "b"), [((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), ()), ((2, 2, 2), (2,))])
def test_affine_needs_one_level_per_row(A, b):
    refused(["`A`", "`b`"], Affine, np.ones(A), np.ones(b))


# term, what it says is wrong, shapes of x that do not fit
WRONG_SHAPES = [
    (Affine(np.ones((1, 4)), np.ones(1)), "`A`", [(3,), (5,), (2, 3), ()]),
    (Box(np.zeros(3), 1.0), "`lo`", [(2,), (3, 1), (1,), ()]),
    (Box(0.0, np.ones((2, 3))), "`hi`", [(3,), (3, 2)]),
    (L1(np.ones(3)), "`weight`", [(2,), (3, 1), (1,), ()]),
    (L2Ball(1.0, np.ones(3)), "`center`", [(2,), (3, 1), (1,), ()]),
    (GroupL2([[0, 4]]), "`groups`", [(4,), (5, 5), (), (2, 5)]),
    (Simplex(axis=1), "`axis`", [(3,), ()]),
    (Simplex(axis=-2), "`axis`", [(3,)]),
    (Simplex(), "`total`", [(0,), (3, 0)]),
    (TotalVariation(axis=1), "`axis`", [(3,), ()]),
    (TotalVariation(axis=-2), "`axis`", [(3,)]),
    (NuclearNorm(), "matrix", [(3,), (2, 2, 2), ()]),
    (UnitSums(), "square", [(2, 3), (4,), ()]),
]


@pytest.mark.parametrize(("term", "named", "shapes"), WRONG_SHAPES)
def test_arrays_of_the_wrong_shape(term, named, shapes):
    for shape in shapes:
        x = np.ones(shape)
        refused([named], term.prox, x, 1.0)
        refused([named], term.value, x)
        for name in ("support", "lmo", "distance"):
            if hasattr(term, name):
                refused([named], getattr(term, name), x)
        if hasattr(term, "diameter") and not isinstance(term, L2Ball):
            refused([named], term.diameter, shape)


def test_wrong_shapes_for_the_lipschitz_constant():
    refused(["`weight`"], L1(np.ones(3)).lipschitz, (2,))
    refused(["matrix"], NuclearNorm().lipschitz, (3,))
    refused(["`axis`"], TotalVariation(axis=1).lipschitz, (3,))


def test_a_matrix_is_refused_after_a_vector_of_its_length():
    """What was learnt from a first vector must not let a matrix pass."""
    term = GroupL2([[0, 4]])
    term.prox(np.ones(5), 1.0)
    refused(["`groups`", "(5, 2)"], term.prox, np.ones((5, 2)), 1.0)


def test_conjugate_of_a_squared_norm_without_weight():
    assert "Zero()" in refused(["`weight`"], SquaredL2(0.0).conjugate)


def test_later_changes_of_an_argument_do_not_reach_the_term():
    weight, lo, center, A, b = np.ones(2), np.zeros(2), np.zeros(2), np.ones((1, 2)), np.ones(1)
    x = np.array([3.0, -4.0])
    terms = [L1(weight), Box(lo, 1.0), L2Ball(1.0, center), Affine(A, b)]
    before = [term.prox(x, 1.0) for term in terms]
    for argument in (weight, lo, center, A, b):
        argument += 7.0
    assert all(np.array_equal(term.prox(x, 1.0), p) for term, p in zip(terms, before, strict=True))


@pytest.mark.parametrize("name", registry)
def test_terms_cannot_be_changed(name):
    for term, _ in registry[name].examples():
        for field in ("weight", "radius", "total", "axis", "lo", "hi", "A", "groups"):
            if hasattr(term, field):
                with pytest.raises(AttributeError):
                    setattr(term, field, 1.0)


def test_zero_is_finite_everywhere():
    assert Zero().value(np.full(3, 1e300)) == 0.0


def test_a_set_must_define_its_projection():
    class Nowhere(ConvexSet):
        pass

    with pytest.raises(NotImplementedError, match="Nowhere must define `project`"):
        Nowhere().prox(np.zeros(2), 1.0)
