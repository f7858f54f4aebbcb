"""`GroupL2.split` writes an overlapping group norm as a sum of group norms without overlap."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.terms import L1, GroupL2, NuclearNorm

SIZE = 8
GROUPS = st.lists(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=5, unique=True), min_size=1, max_size=8)
POINTS = arrays(float, SIZE, elements=st.floats(-8.0, 8.0, width=32, allow_subnormal=False))

quick = settings(max_examples=100, deadline=None, derandomize=True)


@quick
@given(groups=GROUPS, weight=st.floats(0.0, 5.0))
def test_each_term_is_disjoint_and_no_group_is_lost(groups, weight):
    terms = GroupL2.split(groups, weight)
    for term in terms:
        members = list(chain.from_iterable(term.groups))
        assert len(members) == len(set(members))
        assert term.weight == weight
    kept = [tuple(group) for term in terms for group in term.groups]
    assert sorted(kept) == sorted(map(tuple, groups))


@quick
@given(groups=GROUPS, weight=st.floats(0.0, 5.0), x=POINTS)
def test_values_add_up_to_the_overlapping_norm(groups, weight, x):
    overlapping = weight * sum(float(np.linalg.norm(x[group])) for group in groups)
    split = sum(term.value(x) for term in GroupL2.split(groups, weight))
    assert split == pytest.approx(overlapping, rel=1e-13, abs=1e-13)


@quick
@given(groups=GROUPS, x=POINTS)
def test_each_group_keeps_its_weight(groups, x):
    weights = np.arange(len(groups)) + 0.5
    overlapping = sum(weight * float(np.linalg.norm(x[group])) for weight, group in zip(weights, groups, strict=True))
    split = sum(term.value(x) for term in GroupL2.split(groups, weights))
    assert split == pytest.approx(overlapping, rel=1e-13, abs=1e-13)


@quick
@given(groups=GROUPS)
def test_number_of_terms(groups):
    """At least as many terms as groups share an index; no more than one for each group and the groups it meets."""
    shared = max(sum(i in group for group in groups) for i in range(SIZE))
    meets = max(sum(not set(a).isdisjoint(b) for b in groups) for a in groups)
    assert shared <= len(GroupL2.split(groups)) <= meets


@pytest.mark.parametrize("overlap", [1, 2])
@pytest.mark.parametrize("count", [2, 3, 10])
def test_a_chain_of_groups_needs_two_terms(count, overlap):
    """Groups of which each meets the next and no other."""
    width = 2 * overlap + 1
    groups = [range(k * (width - overlap), k * (width - overlap) + width) for k in range(count)]
    assert len(GroupL2.split(groups)) == 2


@quick
@given(x=POINTS)
def test_disjoint_groups_stay_one_term(x):
    groups = [[0, 3], [1], [7, 5, 6]]
    (term,) = GroupL2.split(groups, 0.5)
    whole = GroupL2(groups, 0.5)
    assert term.groups == whole.groups
    assert np.array_equal(term.prox(x, 0.7), whole.prox(x, 0.7))


@quick
@given(x=POINTS, weight=st.floats(0.0, 5.0), gamma=st.floats(0.01, 5.0))
def test_prox_is_that_of_a_plain_loop(x, weight, gamma):
    groups = [[0, 3], [1], [7, 5, 6]]
    expected = x.copy()
    for group in groups:
        size = np.linalg.norm(x[group])
        expected[group] = 0.0 if size <= gamma * weight else x[group] * (1 - gamma * weight / size)
    assert np.allclose(GroupL2(groups, weight).prox(x, gamma), expected, rtol=0, atol=1e-13)


def test_lipschitz_constants_are_attained():
    """Along the gradient of the norm the slope is the constant, so none of them is overstated."""
    rng = np.random.default_rng(0)
    x = np.abs(rng.standard_normal(6)) + 1
    groups = GroupL2([[0, 1], [2, 3, 4]], 0.7)
    units = np.concatenate([x[:2] / np.linalg.norm(x[:2]), x[2:5] / np.linalg.norm(x[2:5]), [0.0]])
    left, _, right = np.linalg.svd(rng.standard_normal((3, 5)), full_matrices=False)
    for term, start, direction in (
        (groups, x, units),
        (L1(0.7), x, np.ones(6)),
        (NuclearNorm(0.7), left @ right, left @ right),
    ):
        rise = term.value(start + direction) - term.value(start)
        assert rise == pytest.approx(term.lipschitz(start.shape) * np.linalg.norm(direction))
