"""Functions of vectors: what the contracts do not say. Compiled loops have plain twins, and special cases are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trisplit.errors import InputError
from trisplit.terms import (
    L1,
    L2,
    OSCAR,
    SLOPE,
    CubedL2,
    ExclusiveLasso,
    GroupL2,
    GroupLInfinity,
    InsensitiveL2,
    LInfinity,
    Max,
    SparseGroupLasso,
    SquaredKSupport,
    SquaredL2,
    SumLargest,
    SumLargestAbs,
    TreeGroupL2,
)
from trisplit.terms.norms import sorted as sorted_norms
from trisplit.terms.norms.maxima import lowered, one_threshold, threshold
from trisplit.terms.structured.isotonic import by_minimax, by_pooling, means_of_blocks

SEEDS = st.integers(0, 2**32 - 1)
quick = settings(max_examples=60, deadline=None, derandomize=True)


def vectors(rng, shape):
    """Return numbers with and without ties, of any size."""
    x = rng.standard_normal(shape) * 10 ** rng.uniform(-3, 3)
    return np.round(x) if rng.random() < 0.3 else x


@quick
@given(seed=SEEDS, n=st.integers(1, 40), decreasing=st.booleans(), dtype=st.sampled_from(("float32", "float64")))
def test_pooling_is_the_minimax_formula(seed, n, decreasing, dtype):
    v = vectors(np.random.default_rng(seed), (3, n)).astype(dtype)
    sign = -1 if decreasing else 1
    fit = by_pooling(v, decreasing)
    assert fit.dtype == v.dtype
    slack = 20 * n * np.finfo(dtype).eps * np.abs(v).max()
    assert np.allclose(fit, sign * by_minimax(sign * v), rtol=0, atol=slack)
    assert np.allclose(fit, means_of_blocks(v, fit), rtol=0, atol=slack)
    assert np.all(sign * np.diff(fit, axis=-1) >= 0)


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_weighted_pooling_is_that_of_repeated_entries(seed, n):
    from trisplit.kernels.isotonic import isotonic_rows

    rng = np.random.default_rng(seed)
    y, counts = vectors(rng, n), rng.integers(1, 5, n)
    out = np.empty((1, n))
    isotonic_rows(y[None], counts[None].astype(float), False, out)
    assert np.allclose(np.repeat(out[0], counts), by_pooling(np.repeat(y, counts), False), atol=1e-12 * np.abs(y).max())


def test_pooling_survives_the_largest_numbers_and_shows_nan():
    huge = np.finfo(float).max
    assert np.array_equal(by_pooling(np.array([huge, -huge, 3.0]), False), [0.0, 0.0, 3.0])
    assert np.isnan(by_pooling(np.array([[1.0, np.nan, 0.0]]), False)).all()


@quick
@given(
    seed=SEEDS,
    n=st.integers(2, 30),
    k=st.integers(1, 29),
    c=st.sampled_from((0.0, 1e-9, 0.3, 2.0, 1e6)),
    absolute=st.booleans(),
    dtype=st.sampled_from(("float32", "float64")),
)
def test_thresholds_without_sorting_are_those_by_sorting(seed, n, k, c, absolute, dtype):
    k = min(k, n - 1)
    v = vectors(np.random.default_rng(seed), (2, n)).astype(dtype)
    size = np.abs(v) if absolute else v
    theta = one_threshold(size, c) if k == 1 else threshold(size, c, k)
    theta = np.maximum(theta, 0) if absolute else theta
    p = np.minimum(size, np.maximum(size - c, theta))
    p = np.sign(v) * p if absolute else p
    slack = 20 * n * np.finfo(dtype).eps * (np.abs(v).max() + c)
    assert np.allclose(lowered(v, c, k, absolute), p, rtol=0, atol=slack)


@pytest.mark.parametrize(
    "make", [np.random.default_rng(0).standard_normal, np.arange, lambda n: np.exp(np.arange(n) / n)]
)
@pytest.mark.parametrize("k", [1, 50, 2500])
def test_thresholds_of_long_vectors(make, k):
    """Long ones start from a guess: from a part of their entries."""
    v = np.asarray(make(5000), dtype=float)
    for c in (1e-3, 1.0, 1e4):
        p = SumLargest(k, c).prox(v, 1.0)
        theta = one_threshold(v, c) if k == 1 else threshold(v, c, k)
        assert np.allclose(p, np.minimum(v, np.maximum(v - c, theta)), rtol=1e-12, atol=1e-12)
        assert np.sum(v - p) == pytest.approx(k * c)


def test_a_row_with_nan_or_infinity_is_nan():
    x = np.array([[1.0, 2.0, 0.0], [np.nan, 1.0, 0.0], [np.inf, 0.0, 1.0]])
    p = SumLargest(2, axis=1).prox(x, 1.0)
    assert np.isfinite(p[0]).all()
    assert np.isnan(p[1:]).all()
    groups = GroupL2([[0, 2], [1]]).batched(1).prox(x, 1.0)
    assert np.array_equal(np.isnan(groups), [[False] * 3, [True, False, True], [True, False, True]])


@quick
@given(seed=SEEDS, gamma=st.sampled_from((1e-3, 0.5, 3.0)))
def test_special_cases(seed, gamma):
    x = vectors(np.random.default_rng(seed), 6)
    ones = np.ones(6)
    equal = [
        (SLOPE(0.7 * ones), L1(0.7)),
        (OSCAR(0.7, 0.0), L1(0.7)),
        (SLOPE(0.7 * np.eye(6)[0]), LInfinity(0.7)),
        (SLOPE(0.7 * (np.arange(6) < 3)), SumLargestAbs(3, 0.7)),
        (SumLargest(1, 0.7), Max(0.7)),
        (SumLargestAbs(6, 0.7), L1(0.7)),
        (OSCAR(0.2, 0.1), SLOPE(0.2 + 0.1 * np.arange(5, -1, -1))),
        (GroupL2([range(6)], 0.7), L2(0.7)),
        (GroupLInfinity([range(6)], 0.7), LInfinity(0.7)),
        (SquaredKSupport(6, 0.7), SquaredL2(0.7)),
        (SquaredKSupport(1, 0.7), ExclusiveLasso([range(6)], 0.35)),
        (InsensitiveL2(0.0, 0.7), L2(0.7)),
        (GroupL2([[i] for i in range(6)], 0.7), L1(0.7)),
        (SparseGroupLasso([[0, 5], [1, 2]], 0.0, 0.7), GroupL2([[0, 5], [1, 2]], 0.7)),
        (SparseGroupLasso([[0, 5], [1, 2]], 0.7, 0.0), L1(0.7)),
        (TreeGroupL2([[0, 5], [1, 2]], 0.7), GroupL2([[0, 5], [1, 2]], 0.7)),
        (TreeGroupL2([range(6), *([i] for i in range(6))], [0.4] + [0.3] * 6), SparseGroupLasso([range(6)], 0.3, 0.4)),
    ]
    for one, other in equal:
        miss = np.abs(one.prox(x, gamma) - other.prox(x, gamma)).max()
        assert miss <= 1e-13 * (gamma + np.abs(x).max()), (one, other)
        assert one.value(x) == pytest.approx(other.value(x))


LAYOUTS = ([[0, 1, 2], [3, 4, 5]], [[1, 2], [3, 4]], [[0, 1], [2], [3, 4, 5]], [[5, 0], [2, 1, 3]], [[3, 2, 1, 0]])


@quick
@given(seed=SEEDS, groups=st.sampled_from(LAYOUTS), dtype=st.sampled_from(("float32", "float64")))
def test_loops_over_groups_are_their_array_version(seed, groups, dtype):
    rng = np.random.default_rng(seed)
    x = vectors(rng, (4, 6)).astype(dtype)
    if rng.random() < 0.3:
        x = x * x.dtype.type(1e-30 if dtype == "float32" else 1e-290)
    gamma = np.abs(x).max() * rng.random((4, 1))
    weight = rng.random(len(groups))
    slack = 20 * np.finfo(dtype).eps * np.abs(x).max()
    group = GroupL2(groups, weight).batched(1)
    assert np.allclose(group.prox(x, gamma), group._shortened(x, gamma), rtol=0, atol=slack)
    sparse = SparseGroupLasso(groups, 0.2, weight).batched(1)
    limit = (0.2 * gamma).astype(dtype)
    soft = x - np.clip(x, -limit, limit)
    assert np.allclose(sparse.prox(x, gamma), sparse._shortened(soft, gamma), rtol=0, atol=slack)


def test_lipschitz_constants_are_attained():
    """A norm has the constant of its value on the sphere, which is largest in these directions."""
    for term, direction in (
        (L2(0.7), np.ones(6)),
        (LInfinity(0.7), np.eye(6)[1]),
        (SumLargest(3, 0.7), np.array([1.0, 1, 1, 0, 0, 0])),
        (SLOPE([3.0, 2, 1, 1, 0, 0]), np.array([3.0, 2, 1, 1, 0, 0])),
        (
            SparseGroupLasso([[0, 1], [2, 3, 4]], 0.5, 0.7),
            np.array([*[0.5 + 0.7 / 2**0.5] * 2, *[0.5 + 0.7 / 3**0.5] * 3, 0.5]),
        ),
        (TreeGroupL2([[0, 1, 2], [0, 1]], [0.4, 0.9]), np.array([1.0, 0, 0, 0, 0, 0])),
    ):
        attained = term.value(direction) / np.linalg.norm(direction)
        assert attained == pytest.approx(term.lipschitz((6,)))


@pytest.mark.parametrize(
    ("cls", "options", "named"),
    [
        (L2, {"weight": -1.0}, "weight"),
        (L2, {"axis": 0.5}, "axis"),
        (CubedL2, {"weight": np.nan}, "weight"),
        (InsensitiveL2, {"radius": -1.0}, "radius"),
        (Max, {"weight": [1.0, 2.0]}, "weight"),
        (SumLargest, {"k": 0}, "k"),
        (SumLargest, {"k": 1.5}, "k"),
        (SquaredKSupport, {"k": 0}, "k"),
        (SLOPE, {"weights": [1.0, 2.0]}, "weights"),
        (SLOPE, {"weights": [1.0, -2.0]}, "weights"),
        (SLOPE, {"weights": 1.0}, "weights"),
        (SLOPE, {"weights": []}, "weights"),
        (SLOPE, {"weights": [np.nan]}, "weights"),
        (OSCAR, {"pairwise": -1.0}, "pairwise"),
        (GroupL2, {"groups": [[0], [1]], "weight": [1.0]}, "weight"),
        (GroupL2, {"groups": [[0], [0]]}, "groups"),
        (SparseGroupLasso, {"groups": [[0], [1, 0]]}, "groups"),
        (SparseGroupLasso, {"groups": [[0]], "sparsity": -1.0}, "sparsity"),
        (TreeGroupL2, {"groups": [[0, 1], [1, 2]]}, r"groups\[\d\]"),
        (ExclusiveLasso, {"groups": [[0, 0]]}, r"groups\[0\]"),
    ],
)
def test_bad_parameters_are_named(cls, options, named):
    with pytest.raises(InputError, match=f"`{named}`.*; "):
        cls(**options)


@pytest.mark.parametrize(
    ("term", "shape", "named"),
    [
        (L2(axis=1), (3,), "axis"),
        (L2(), (0,), r"\(0,\)"),
        (SumLargest(4), (3,), "k"),
        (SquaredKSupport(4), (3,), "k"),
        (SLOPE([1.0, 0.5]), (3,), "weights"),
        (GroupL2([[0, 3]]), (3,), "groups"),
        (TreeGroupL2([[0, 3], [3]]), (3,), "groups"),
        (ExclusiveLasso([[0, 1]]), (3, 2), "groups"),
    ],
)
def test_sizes_that_do_not_fit_are_named(term, shape, named):
    with pytest.raises(InputError, match=f"{named}.*; "):
        term.prox(np.zeros(shape), 1.0)
    with pytest.raises(InputError, match=f"{named}.*; "):
        term.value(np.zeros(shape))


@pytest.mark.parametrize("seed", range(30))
def test_sorted_norms_of_long_vectors_by_kernel_and_by_sorting(seed, monkeypatch):
    """Numbers of every size, with ties and zeros; weights of every size, some of them zero."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1000, 3000))
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4)
    x = (x, np.round(x), rng.standard_cauchy(n), np.where(rng.random(n) < 0.5, 0.0, x), np.ones(n))[seed % 5]
    weights = np.sort(rng.exponential(size=n) * 10.0 ** rng.integers(-3, 3))[::-1] * (seed % 7 > 0)
    term = SLOPE(weights)
    p = term.prox(x, 0.7)
    monkeypatch.setattr(sorted_norms, "LONG", 10**9)
    assert np.allclose(p, term.prox(x, 0.7), rtol=0, atol=1e-13 * (1 + np.abs(x).max()))
