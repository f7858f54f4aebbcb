"""Matrix terms: fast ways for large NumPy matrices, bad parameters, NaN in a batch."""

import numpy as np
import pytest

from trisplit.errors import InputError
from trisplit.terms import (
    L1,
    PSD,
    Banded,
    Box,
    Correlation,
    EigenvalueFunction,
    EigenvalueSet,
    KyFan,
    LargestEigenvalue,
    LogDet,
    LogDetInverse,
    LogDetSchatten,
    NonNegative,
    NuclearBall,
    NuclearBlocks,
    NuclearNorm,
    NuclearNormRidge,
    Orthogonal,
    Rank,
    RankBall,
    Schatten,
    SpectralFunction,
    SpectralNorm,
    SpectralSet,
    Spectraplex,
    Stiefel,
    TotalVariation,
    Trace,
)
from trisplit.terms.matrix import spectra


@pytest.mark.parametrize("shape", [(80, 80), (120, 70), (70, 150)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_nuclear_norm_is_that_of_the_decomposition(shape, dtype):
    """Thresholds above and below the one at which X'X takes the place of X, and one above all singular values."""
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    for threshold in (1e-3, 2.0, sizes[0] / 3.9, sizes[0] / 2, 0.99 * sizes[0], 2 * sizes[0], 1e3):
        moved = NuclearNorm().prox(x, threshold)
        expected = (left * np.maximum(sizes - threshold, 0)) @ right
        assert moved.dtype == x.dtype
        assert np.abs(moved - expected).max() <= 100 * np.finfo(dtype).eps * sizes[0]


@pytest.mark.parametrize("shift", [-30.0, 0.0, 30.0])
def test_large_semidefinite_part_is_that_of_the_decomposition(shift):
    x = np.random.default_rng(1).standard_normal((60, 60)) + shift * np.eye(60)
    values, vectors = np.linalg.eigh((x + x.T) / 2)
    expected = (vectors * np.maximum(values, 0)) @ vectors.T
    assert np.abs(PSD().project(x) - expected).max() <= 1e-13 * np.abs(values).max()


def test_linear_oracle_of_a_large_nuclear_ball():
    u = np.random.default_rng(2).standard_normal((220, 250))
    best = NuclearBall(2.0).lmo(u)
    assert np.vdot(u, best) == pytest.approx(-2 * np.linalg.norm(u, 2), rel=1e-12)
    assert np.linalg.norm(best, "nuc") == pytest.approx(2.0)
    assert np.linalg.norm(NuclearBall(2.0).lmo(0 * u), "nuc") <= 2 * (1 + 1e-12)


def test_nearest_correlation_matrix_of_higham():
    """The example of [Higham 2002]: its nearest correlation matrix has the entries 0.7607 and 0.1573."""
    x = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    found = Correlation().project(x)
    assert np.allclose(found[[0, 0], [1, 2]], [0.7607, 0.1573], atol=5e-5)


@pytest.mark.parametrize("n", [20, 60])
def test_nearest_correlation_matrix_satisfies_its_conditions(n):
    """X - C is diag(y) + Z with Z positive semidefinite and Z X = 0: then X is the projection."""
    c = 2 * np.random.default_rng(3).standard_normal((n, n))
    x = Correlation().project(c)
    apart = x - (c + c.T) / 2
    y = np.diag(apart @ x)  # as Z X = 0
    z = apart - np.diag(y)
    size = np.linalg.norm(c)
    assert np.linalg.norm(z @ x) <= 1e-10 * size
    assert np.linalg.eigvalsh(z)[0] >= -1e-10 * size


@pytest.mark.parametrize("term", [NuclearNorm(), SpectralNorm(), LogDet(), PSD(), Spectraplex(), Correlation()])
def test_one_bad_matrix_of_a_batch_harms_no_other(term):
    x = np.random.default_rng(4).standard_normal((3, 4, 4))
    alone = term.prox(x[2], 0.5)
    x[1, 0, 0] = np.nan
    moved = term.batched(1).prox(x, 0.5)
    assert np.isnan(moved[1]).any()
    assert np.allclose(moved[2], alone, rtol=0, atol=1e-12)


def test_values_are_infinite_off_the_symmetric_matrices():
    x = np.array([[2.0, 1.0], [0.0, 2.0]])
    assert LogDet().value(x) == np.inf
    assert EigenvalueFunction(L1()).value(x) == np.inf
    assert LargestEigenvalue().value(x) == pytest.approx(2.5)  # of the symmetric part
    assert LogDet().value((x + x.T) / 2) == pytest.approx(-np.log(3.75))


BAD = {
    "weight": [
        lambda: NuclearNorm(-1.0),
        lambda: KyFan(1, np.nan),
        lambda: LogDet(0.0),
        lambda: Rank(-0.1),
        lambda: Trace(np.ones(2)),
        lambda: NuclearBlocks([[0]], [[0]], np.ones((2, 2))),
        lambda: NuclearBlocks([[0]], [[0]], -1.0),
    ],
    "k": [lambda: KyFan(0), lambda: KyFan(1.5)],
    "rank": [lambda: RankBall(0), lambda: RankBall("one")],
    "radius": [lambda: NuclearBall(0.0), lambda: NuclearBall(np.inf)],
    "total": [lambda: Spectraplex(-1.0)],
    "ridge": [lambda: NuclearNormRidge(1.0, 0.0)],
    "p": [lambda: Schatten(0.5), lambda: LogDetSchatten(0.9), lambda: LogDetInverse(0.0)],
    "lower": [lambda: Banded(-1, 0)],
    "rows": [lambda: NuclearBlocks([[0, 0]], [[0]]), lambda: NuclearBlocks([], [[0]]), lambda: NuclearBlocks(3, [[0]])],
    "columns": [lambda: NuclearBlocks([[0]], [[0], [0]]), lambda: NuclearBlocks([[0]], [[-1]])],
    "term": [
        lambda: SpectralFunction(3.0),
        lambda: SpectralFunction(Box()),
        lambda: SpectralSet(L1()),
        lambda: SpectralSet(NonNegative()),
        lambda: SpectralFunction(L1([1.0, 2.0])),
        lambda: EigenvalueFunction(TotalVariation()),
        lambda: EigenvalueSet(Box([0.0, 1.0, 2.0], 3.0)),
    ],
}


@pytest.mark.parametrize(("name", "make"), [(name, make) for name, makes in BAD.items() for make in makes])
def test_bad_parameters_are_named(name, make):
    with pytest.raises(InputError, match=f"`{name}`"):
        make()


@pytest.mark.parametrize(
    ("term", "shape"),
    [
        (NuclearNorm(), (3,)),
        (NuclearNorm(), (0, 3)),
        (PSD(), (2, 3)),
        (LogDet(), (2, 2, 2)),
        (Stiefel(), (2, 3)),
        (Orthogonal(), (3, 2)),
        (NuclearBlocks([[0, 4]], [[0]]), (3, 3)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(term, shape):
    with pytest.raises(InputError, match=r"shape"):
        term.prox(np.zeros(shape), 1.0)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1.0, 1e300])
def test_huge_and_tiny_matrices_are_brought_into_range_where_the_library_does_not(size, monkeypatch):
    """As on GPUs, whose libraries return NaN for singular values of such matrices."""
    x = size * np.random.default_rng(0).normal(size=(2, 4, 3))
    expected = NuclearNorm(0.1 * size).batched(1).prox(x, 1.0)
    monkeypatch.setattr(spectra, "readable", lambda x: False)
    scaled, scale = spectra.in_range(x)
    assert np.all(np.abs(scaled) < 1e100)
    assert np.all((np.abs(scaled).max(axis=(1, 2)) > 1e-100) | (size == 0))
    np.testing.assert_allclose(scaled * scale[..., None], x, rtol=1e-15)
    np.testing.assert_allclose(NuclearNorm(0.1 * size).batched(1).prox(x, 1.0), expected, rtol=1e-10, atol=1e-13 * size)
