"""The kernel of total variation gives the taut string, meets the conditions of optimality, and always comes back."""

import subprocess
import sys
from math import inf

import numpy as np
import pytest
from copt import tv_prox
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.terms import TotalVariation

quick = settings(max_examples=200, deadline=None, derandomize=True)
ENTRIES = st.one_of(st.floats(-8.0, 8.0, width=32, allow_subnormal=False), st.integers(-3, 3).map(float))
LINES = st.integers(1, 40).flatmap(lambda n: arrays(float, n, elements=ENTRIES))
LAMBDAS = st.one_of(st.floats(0.0, 30.0), st.sampled_from([0.0, 1e-6, 0.5, 1.0, 2.0, 1e6, inf]))


def taut_string(y, lam):
    """The plain twin: pull a string tight in a tube of radius lam around the sums of `y`; its slopes are the prox.

    Steps of the string: look ahead from where it is fixed for as long as a straight line stays in the tube, and fix
    it next where the tube first turned away. O(n^2).
    """
    n = len(y)
    sums = np.concatenate([[0.0], np.cumsum(y)])
    floor, ceiling = sums - lam, sums + lam
    floor[[0, n]] = ceiling[[0, n]] = sums[[0, n]]
    slopes, start, height = np.empty(n), 0, 0.0
    while start < n:
        steepest, shallowest, over, under = -inf, inf, start, start
        for k in range(start + 1, n + 1):
            at_least, at_most = (floor[k] - height) / (k - start), (ceiling[k] - height) / (k - start)
            if at_least > shallowest:
                slope, stop, wall = shallowest, under, ceiling
                break
            if at_most < steepest:
                slope, stop, wall = steepest, over, floor
                break
            if at_least >= steepest:
                steepest, over = at_least, k
            if at_most <= shallowest:
                shallowest, under = at_most, k
        else:
            slope, stop, wall = (sums[n] - height) / (n - start), n, sums
        slopes[start:stop] = slope
        start, height = stop, wall[stop]
    return slopes


def prox(y, lam, **options):
    return TotalVariation(lam if lam < inf else 1.0, **options).prox(y, 1.0 if lam < inf else inf)


def optimality(y, p, lam):
    """Return by how much p misses the conditions of optimality, relative to the numbers in them.

    y - p is lam times a subgradient: with u_k = sum of p - y up to k, |u_k| <= lam, u_n = 0, and u_k is lam or -lam
    where p jumps up or down.
    """
    u, jumps = np.cumsum(p - y), np.sign(np.diff(p))
    outside = np.max(np.abs(u[:-1]) - lam, initial=0.0)
    off = np.max(np.abs(u[:-1] * jumps - lam)[jumps != 0], initial=0.0)
    return max(outside, off, abs(u[-1])) / (np.abs(y).sum() + 1e-300)


@quick
@given(y=LINES, lam=LAMBDAS)
def test_kernel_and_taut_string_agree(y, lam):
    assert np.allclose(prox(y, lam), taut_string(y, min(lam, 1e4)), rtol=0, atol=1e-11)


@quick
@given(y=LINES, lam=LAMBDAS)
def test_conditions_of_optimality(y, lam):
    assert optimality(y, prox(y, lam), lam) <= 1e-15 * len(y)


@quick
@given(y=LINES, lam=LAMBDAS)
def test_float32_is_the_rounded_double(y, lam):
    p = prox(y.astype(np.float32), lam)
    assert p.dtype == np.float32
    assert np.array_equal(p, prox(y, lam).astype(np.float32))


@quick
@given(y=LINES, lam=LAMBDAS, shift=st.sampled_from([-3.0, 1e6]))
def test_symmetries(y, lam, shift):
    """Shifted, negated and reversed lines have shifted, negated and reversed proximal points."""
    p, eps = prox(y, lam), 1e-14 * len(y)
    assert np.allclose(prox(y + shift, lam), p + shift, rtol=0, atol=eps * (10 + abs(shift)))
    assert np.allclose(prox(-y, lam), -p, rtol=0, atol=10 * eps)
    assert np.allclose(prox(y[::-1], lam), p[::-1], rtol=0, atol=10 * eps)


rng, k = np.random.default_rng(0), np.arange(3000)
LONG = {
    "noise": rng.standard_normal(3000),
    "walk": np.cumsum(rng.standard_normal(3000)),
    "steps": np.repeat(rng.standard_normal(60), 50) + 0.1 * rng.standard_normal(3000),
    "plateaus": np.repeat(rng.integers(0, 3, 60), 50).astype(float),
    "ramp": k / 3000,
    "zigzag": np.where(k % 2, -1.0, 1.0),
    "root": np.sqrt(k),
    "one far entry": np.where(k == 1000, 1e9, 0.0),
}


@pytest.mark.parametrize("name", LONG)
def test_long_lines(name):
    y = LONG[name]
    for lam in (1e-3, 0.1, 1.0, 10.0, 1e3, 1e5):
        p = prox(y, lam)
        assert optimality(y, p, lam) <= 1e-13
        # copt takes differences of sums, whose rounding errors grow with them.
        expected = tv_prox.prox_tv1d(y, lam)
        assert np.allclose(p, expected, rtol=0, atol=1e-15 * (np.abs(np.cumsum(y)).max() + lam))


def test_a_rounding_error_stays_where_it_was_made():
    """An entry of 1e20 changes nothing at the other end of the line, where the numbers are small."""
    y = np.array([1e20, 5.0, 1.0, 2.0, 3.0, 7.0])
    assert np.allclose(prox(y, 0.25)[2:], prox(y[1:], 0.25)[1:], rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(37, 20), (20, 37), (3, 16, 5), (2, 3, 17, 2), (1, 33), (33, 1)])
def test_every_axis_and_every_layout(shape, dtype):
    x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    for axis in range(-len(shape), len(shape)):
        term = TotalVariation(0.8, axis)
        lines = np.moveaxis(x, axis, -1)
        one_by_one = [TotalVariation(0.8).prox(y, 0.5) for y in lines.reshape(-1, shape[axis])]
        expected = np.moveaxis(np.reshape(one_by_one, lines.shape), -1, axis)
        for laid_out in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], x[::-1].copy()[::-1]):
            assert np.array_equal(term.prox(laid_out, 0.5), expected)
        assert term.value(x) == pytest.approx(0.8 * np.abs(np.diff(x.astype(float), axis=axis)).sum(), rel=1e-6)


@pytest.mark.parametrize("lam", [0.01, 0.5, 20.0])
def test_rows_and_columns_of_an_image_are_those_of_copt(lam):
    x = np.random.default_rng(2).standard_normal((50, 70))
    flat = x.ravel()
    assert np.allclose(prox(x, lam, axis=1).ravel(), tv_prox.prox_tv1d_rows(lam, flat, 50, 70), rtol=0, atol=1e-12)
    assert np.allclose(prox(x, lam, axis=0).ravel(), tv_prox.prox_tv1d_cols(lam, flat, 50, 70), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, np.int64, ">f8", ">f4"])
def test_other_dtypes_are_computed_in_double_precision(dtype):
    x = np.array([3, 1, 0, 0, 5]).astype(dtype)
    p = TotalVariation().prox(x, 0.5)
    assert p.dtype == (np.float64 if x.dtype.kind == "i" else x.dtype)
    assert np.allclose(p.astype(float), prox(x.astype(float), 0.5), rtol=1e-3)


def test_empty_arrays():
    for shape in ((0,), (3, 0), (0, 3)):
        assert TotalVariation().prox(np.zeros(shape), 1.0).shape == shape
        assert TotalVariation().value(np.zeros(shape)) == 0.0
        assert TotalVariation().lipschitz(shape) == 0.0


@pytest.mark.parametrize("shape", [(2,), (3,), (7,), (4, 3)])
def test_the_lipschitz_constant_is_attained(shape):
    """The gradient at a zigzag is as long as the constant says."""
    for axis in range(len(shape)):
        term = TotalVariation(0.7, axis)
        signs = np.where(np.arange(shape[axis]) % 2, -1.0, 1.0)
        zigzag = np.moveaxis(np.broadcast_to(signs, np.moveaxis(np.empty(shape), axis, -1).shape), -1, axis)
        differences = np.sign(np.diff(zigzag, axis=axis))
        gradient = -0.7 * np.diff(differences, axis=axis, prepend=0.0, append=0.0)
        rise = term.value(zigzag + gradient) - term.value(zigzag)
        assert rise == pytest.approx(term.lipschitz(shape) * np.linalg.norm(gradient))


ALWAYS_COMES_BACK = """
import itertools, numpy as np
from trisplit.terms import TotalVariation
odd = [0.0, -0.0, 1.0, -2.0, np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 5e-324]
gammas = [0.0, 1.0, 1e300, np.inf, np.nan]
for gamma in gammas:
    for line in itertools.product(odd, repeat=4):
        y = np.array(line)
        p = TotalVariation().prox(y, gamma)
        if gamma == 0.0:
            assert np.array_equal(p, y, equal_nan=True)
        elif not np.isfinite(y).all() or gamma != gamma:
            assert np.isnan(p).all(), (line, gamma, p)
    for bad in odd:
        x = np.ones((5, 40)) + np.arange(40)
        x[2, 17] = bad
        p = TotalVariation(axis=1).prox(x, gamma)
        whole = [0, 1, 3, 4]
        assert np.isfinite(p[whole]).all() == (gamma == gamma), (bad, gamma)
        assert np.isfinite(p[2]).all() or not np.isfinite(bad) or gamma != gamma or abs(bad) > 1e300
# A method that starts again and again would need hours.
n = 1_000_000
rng, k = np.random.default_rng(0), np.arange(n)
for y in (rng.standard_normal(n), k / n, np.sqrt(k), -(k / n) ** 2, np.where(k % 2, 1.0, -1.0), np.cumsum(k % 7 - 3.0)):
    for lam in (1e-3, 1.0, 1e4, 1e8):
        assert np.isfinite(TotalVariation(lam).prox(y, 1.0)).all()
"""


def test_no_number_makes_it_hang():
    """In a process of its own, since a loop in compiled code cannot be interrupted."""
    subprocess.run([sys.executable, "-W", "error", "-c", ALWAYS_COMES_BACK], check=True, timeout=120)
