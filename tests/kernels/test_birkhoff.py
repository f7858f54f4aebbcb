"""The compiled projections are those of `trisplit.terms`, whatever they are given."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.kernels import birkhoff_tos as birkhoff
from trisplit.terms import Box, Simplex, UnitSums

SIZES = st.integers(1, 9)
NEAR, TIES = st.floats(-3, 3), st.sampled_from([-1.0, 0.0, 0.1, 1 / 3, 0.5, 1.0, 2.0])


@st.composite
def cases(draw, dtype):
    """A matrix, near zero, with ties, shifted or huge, and thresholds to start from, near or far off."""
    n, width, largest = draw(SIZES), np.dtype(dtype).itemsize * 8, float(np.finfo(dtype).max)
    huge = st.floats(-largest, largest, width=width)
    v = draw(arrays(dtype, (n, n), elements=draw(st.sampled_from([NEAR, TIES, huge, st.one_of(NEAR, TIES, huge)]))))
    if draw(st.booleans()):
        v = np.clip(v, -3, 3) + dtype(draw(st.floats(-1e12, 1e12)))
    t = draw(arrays(dtype, n, elements=st.one_of(NEAR, st.floats(-1e5, 1e5), st.floats(width=width))))
    return v, t


def shifted(v, rows, columns, least):
    """What `shift` takes for x, found from d = x - 0."""
    zero, out = np.zeros_like(v), np.full_like(v, np.nan)
    birkhoff.shift(v, rows, columns, least, zero, zero, out)
    return out


def rows(v, t):
    out = np.full_like(v, np.nan)
    birkhoff.rows_to_simplex(v, t, np.full_like(t, np.nan), out)
    return out


def columns(v, t):
    memory, kept = np.full((4, len(v)), np.nan, v.dtype), v.copy()
    birkhoff.column_shifts(kept, t, *memory)
    return shifted(kept, *memory[:2], 0.0)


def check(project, axis, v, t):
    kept, tolerance = v.copy(), 1e-3 if v.dtype == np.float32 else 1e-10
    with np.errstate(over="ignore"):
        expected = Simplex(axis=axis).prox(v, 1.0)
    for thresholds in (t, t, np.zeros_like(t)):  # the second time from those that were found
        found = project(v, thresholds)
        assert found.min() >= 0
        assert np.abs(found.sum(axis=axis) - 1).max() <= tolerance
        assert np.abs(found - expected).max() <= tolerance
    assert np.array_equal(v, kept)


@pytest.mark.parametrize(("project", "axis"), [(rows, 1), (columns, 0)])
@settings(deadline=None, max_examples=300)
@example((np.zeros((3, 3)), np.full(3, -1e20)))
@example((np.full((3, 3), 1e300), np.zeros(3)))
@example((1e20 * np.arange(9.0).reshape(3, 3), np.zeros(3)))
@given(case=cases(np.float64))
def test_projection_onto_simplices(project, axis, case):
    check(project, axis, *case)


@pytest.mark.parametrize(("project", "axis"), [(rows, 1), (columns, 0)])
@settings(deadline=None, max_examples=200)
@example((np.full((3, 3), 1e30, np.float32), np.zeros(3, np.float32)))
@given(case=cases(np.float32))
def test_projection_onto_simplices_in_float32(project, axis, case):
    check(project, axis, *case)


@pytest.mark.parametrize(("project", "axis"), [(rows, 1), (columns, 0)])
@pytest.mark.parametrize("n", [1, 2, 50, 256])
def test_large_projections_from_good_thresholds(project, axis, n):
    rng = np.random.default_rng(n)
    t = np.zeros(n)
    v = rng.standard_normal((n, n))
    for _ in range(20):
        v += 0.1 * rng.standard_normal((n, n))
        assert np.abs(project(v, t) - Simplex(axis=axis).prox(v, 1.0)).max() <= 1e-12


@settings(deadline=None)
@given(st.data())
def test_box_and_unit_sums(data):
    n = data.draw(SIZES)
    v = data.draw(arrays(float, (n, n), elements=st.one_of(NEAR, st.floats(-1e6, 1e6))))
    out = np.full_like(v, np.nan)
    birkhoff.to_box(v.ravel(), out.ravel())
    assert np.array_equal(out, Box(0.0, 1.0).prox(v, 1.0))
    shifts = np.full((2, n), np.nan)
    birkhoff.unit_shifts(v, *shifts)
    out = shifted(v, *shifts, -np.inf)
    size = 1 + np.abs(v).max()
    assert np.abs(out - UnitSums().prox(v, 1.0)).max() <= 1e-13 * size
    for axis in (0, 1):
        assert np.abs(out.sum(axis=axis) - 1).max() <= 1e-13 * n * size
