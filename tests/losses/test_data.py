"""Data: sparse, mapped from a file, of single precision; and what independent code says of it."""

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse

import trisplit as ts
from trisplit.losses import LinearModel, Samples, registry
from trisplit.qap.objective import Objective

LINEAR = [name for name, cls in registry.items() if issubclass(cls, LinearModel)]


def with_table(loss, A):
    """Return the loss with its table in another form."""
    other = type(loss).__new__(type(loss))
    other.__dict__.update(vars(loss), samples=Samples(A))
    return other


def thin(shape, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.4, rng.standard_normal(shape), 0.0)


def same(loss, other, x):
    rows = np.array([2, 0, 2])
    assert loss.value(x) == pytest.approx(other.value(x), rel=1e-12)
    for ours, theirs in (
        (loss.grad(x), other.grad(x)),
        (loss.batch_grad(x, rows), other.batch_grad(x, rows)),
        (loss.sample_grads(x, rows), other.sample_grads(x, rows)),
    ):
        assert type(ours) is type(theirs) is np.ndarray
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [*LINEAR, "cox", "gaussian_mixture", "mlp"])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_data_give_what_dense_ones_give(name, form):
    loss, shape = registry[name].examples()[0]
    A = thin((loss.samples.n, loss.samples.width))
    x = np.random.default_rng(1).standard_normal(shape)
    same(with_table(loss, form(A)), with_table(loss, A), x)
    if name in LINEAR and loss.curvature is not None:
        assert with_table(loss, form(A)).lipschitz == pytest.approx(with_table(loss, A).lipschitz)


def test_sparse_matrices_of_quadratics_give_what_dense_ones_give():
    A, B, X = thin((5, 5)), thin((5, 5), 1), thin((5, 5), 2)
    for ours, theirs, x in (
        (ts.losses.QAP(sparse.csr_array(A), sparse.csr_array(B), X), ts.losses.QAP(A, B, X), X + 1.0),
        (ts.losses.Quadratic(sparse.csr_array(A), X[0]), ts.losses.Quadratic(A, X[0]), X[1] + 1.0),
    ):
        assert ours.value(x) == pytest.approx(theirs.value(x))
        np.testing.assert_allclose(ours.grad(x), theirs.grad(x), atol=1e-14)
        assert ours.lipschitz == pytest.approx(theirs.lipschitz)


@pytest.mark.parametrize("name", [*LINEAR, "gaussian_mixture", "mlp"])
def test_a_file_is_read_in_blocks_and_gives_what_memory_gives(name, tmp_path, monkeypatch):
    loss, shape = registry[name].examples()[0]
    A = loss.samples.array
    np.save(tmp_path / "A.npy", A)
    monkeypatch.setattr("trisplit.losses.samples.BLOCK", 3 * A.shape[1] * A.itemsize)
    mapped = with_table(loss, np.load(tmp_path / "A.npy", mmap_mode="r"))
    assert len(list(mapped.samples.blocks())) > 2
    x = np.random.default_rng(1).standard_normal(shape)
    same(mapped, loss, x)
    single = mapped.grad(x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, loss.grad(x), rtol=1e-3, atol=1e-4)
    if loss.lipschitz is not None:
        assert mapped.lipschitz >= loss.lipschitz * (1 - 1e-12)


def test_a_file_of_integers_is_a_table_too(tmp_path):
    A = np.arange(12).reshape(6, 2)
    np.save(tmp_path / "A.npy", A)
    f = ts.losses.LeastSquares(np.load(tmp_path / "A.npy", mmap_mode="r"), np.ones(6))
    np.testing.assert_allclose(f.grad(np.ones(2)), ts.losses.LeastSquares(A, np.ones(6)).grad(np.ones(2)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (620, 540)])
@pytest.mark.parametrize("scale", [1.0, 1e-25, 1e25])
def test_constants_bound_those_of_single_precision_data(form, shape, scale):
    """Squares of 1e25 overflow in single precision, and sums of squares fall short."""
    A = (scale * np.random.default_rng(0).standard_normal(shape)).astype(np.float32)
    exact = A.astype(float)
    table, norm = Samples(form(A)), np.linalg.norm(exact, 2)
    assert norm**2 * (1 - 1e-12) <= table.squared_norm <= 1.002 * norm**2
    lengths = (exact**2).sum(axis=1)
    np.testing.assert_allclose(table.squared_lengths, lengths, rtol=1e-12)


def test_the_constant_of_least_squares_is_the_largest_eigenvalue():
    A = np.random.default_rng(0).standard_normal((30, 6))
    f = ts.losses.LeastSquares(A, np.zeros(30), ridge=0.25)
    values, vectors = np.linalg.eigh(A.T @ A / 30)
    assert f.lipschitz == pytest.approx(values[-1] + 0.25)
    v = vectors[:, -1]
    np.testing.assert_allclose(f.grad(v), f.lipschitz * v, atol=1e-12)


def test_huge_margins_neither_overflow_nor_warn():
    A = np.array([[1e4], [-1e4]])
    for cls in (ts.losses.Logistic, ts.losses.Sigmoid, ts.losses.SmoothRamp, ts.losses.Multinomial):
        f = cls(A, np.array([0, 1]))
        x = np.ones(f.shape)
        assert np.isfinite(f.value(x))
        assert np.isfinite(f.grad(x)).all()
    assert ts.losses.Poisson(A, np.ones(2)).value(np.ones(1)) == np.inf
    far = ts.losses.Cox(A, [1.0, 2.0])
    assert far.value(np.ones(1)) == pytest.approx(0.0)
    assert far.value(-np.ones(1)) == pytest.approx(1e4)


def test_the_objective_of_assignments_is_that_of_qap():
    rng = np.random.default_rng(0)
    A, B, C = rng.standard_normal((3, 4, 4))
    f, g = ts.losses.QAP(A, B, C), Objective(A, B, C)
    i = np.arange(4)
    for p in permutations(range(4)):
        p = np.array(p)
        cost = sum(A[j, k] * B[p[j], p[k]] for j in i for k in i) + C[i, p].sum()
        assert f.value(np.eye(4)[p]) == pytest.approx(cost)
    X = rng.standard_normal((4, 4))
    assert f.value(X) == pytest.approx(g.value(X))
    np.testing.assert_allclose(f.grad(X), g.grad(X))
    assert f.lipschitz == pytest.approx(g.lipschitz)


def test_the_tangent_constant_of_assignments_bounds_moves_that_keep_sums():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 5, 5)) + 4.0
    f, P = ts.losses.QAP(A, B), np.eye(5) - 0.2
    assert f.tangent_lipschitz < f.lipschitz / 4
    for _ in range(50):
        d = P @ rng.standard_normal((5, 5)) @ P
        move = P @ (f.grad(d) - f.grad(0 * d)) @ P
        assert np.linalg.norm(move) <= f.tangent_lipschitz * np.linalg.norm(d)


def test_cox_is_its_definition():
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((9, 3)), rng.standard_normal(3)
    times, events = rng.integers(1, 5, 9), np.array([1, 1, 0, 1, 0, 1, 1, 0, 1])
    p = A @ x
    parts = [np.log(np.exp(p[times >= times[i]]).sum()) - p[i] for i in range(9) if events[i]]
    assert ts.losses.Cox(A, times, events).value(x) == pytest.approx(np.mean(parts))


def test_two_classes_of_multinomial_are_logistic():
    rng = np.random.default_rng(0)
    A, b, x = rng.standard_normal((9, 3)), rng.integers(0, 2, 9), rng.standard_normal((3, 2))
    two, one = ts.losses.Multinomial(A, b), ts.losses.Logistic(A, b)
    assert two.value(x) == pytest.approx(one.value(x[:, 1] - x[:, 0]))


def test_completion_of_a_matrix_that_is_known_is_its_factorization():
    rng = np.random.default_rng(0)
    Y, x = rng.standard_normal((3, 4)), rng.standard_normal((7, 2))
    i, j = np.divmod(np.arange(12), 4)
    ours, theirs = ts.losses.MatrixCompletion(i, j, Y.ravel(), (3, 4), 2), ts.losses.MatrixFactorization(Y, 2)
    same(ours, theirs, x)


def test_a_mixture_is_its_definition():
    rng = np.random.default_rng(0)
    Y, x = rng.standard_normal((8, 2)), rng.standard_normal((3, 3))
    weights = np.exp(x[:, 2]) / np.exp(x[:, 2]).sum()
    squares = ((Y[:, None, :] - x[None, :, :2]) ** 2).sum(axis=2)
    density = (weights * np.exp(-squares / (2 * 0.49)) / (2 * np.pi * 0.49)).sum(axis=1)
    assert ts.losses.GaussianMixture(Y, 3, sigma=0.7).value(x) == pytest.approx(-np.log(density).mean())


@pytest.mark.parametrize("name", ["ridge", "logistic", "multinomial", "poisson"])
def test_the_minimisers_of_scikit_learn_have_no_slope(name):
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    A, r = rng.standard_normal((60, 4)), 0.1
    p = A @ np.array([1.0, -0.5, 0.0, 0.25])
    if name == "ridge":
        b = p + rng.standard_normal(60)
        f, model = ts.losses.LeastSquares(A, b, ridge=r), linear.Ridge(60 * r, fit_intercept=False)
    elif name == "poisson":
        b = rng.poisson(np.exp(p))
        f = ts.losses.Poisson(A, b, ridge=r)
        model = linear.PoissonRegressor(alpha=r, fit_intercept=False, tol=1e-9, max_iter=1000)
    else:
        b = (p > 0).astype(int) if name == "logistic" else np.digitize(p, [-0.5, 0.5])
        f = (ts.losses.Logistic if name == "logistic" else ts.losses.Multinomial)(A, b, ridge=r)
        model = linear.LogisticRegression(C=1 / (60 * r), fit_intercept=False, tol=1e-9, max_iter=1000)
    x = model.fit(A, b).coef_.T.reshape(f.shape)
    assert np.linalg.norm(f.grad(x)) < 1e-6


def test_minimize_recovers_a_sparse_vector_in_spite_of_outliers():
    rng = np.random.default_rng(0)
    A, true = rng.standard_normal((80, 6)), np.array([1.0, -0.5, 0.0, 0.0, 0.0, 0.25])
    b = A @ true
    b[:15] += 10.0
    for cls in (ts.losses.Tukey, ts.losses.Welsch, ts.losses.GemanMcClure):
        res = ts.minimize(cls(A, b, c=2.0), np.zeros(6), ts.terms.L1(1e-3))
        assert np.abs(res.x - true).max() < 0.05
