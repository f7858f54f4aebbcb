"""The relaxation stops on the paper's two errors, here computed once more from their definitions."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import trisplit as ts
from trisplit.qap import Instance, Objective, initial_point, load, relax
from trisplit.steps import Constant


def random_instance(seed=0, n=8, linear=True):
    """Nonsymmetric, with diagonals of any sign."""
    A, B, C = np.random.default_rng(seed).integers(-9, 10, (3, n, n))
    return Instance("random", A, B, C=C if linear else None)


INSTANCES = {
    "nug12": load("nug12"),
    "chr12a": load("chr12a"),
    "bur26a, nonsymmetric": load("bur26a"),
    "random": random_instance(linear=False),
    "random with linear term": random_instance(),
}


def objective(instance, X):
    linear = 0 if instance.C is None else (instance.C * X).sum()
    return np.trace(instance.A @ X @ instance.B.T @ X.T) + linear


def gap(instance, X):
    """max <grad f(X), X - X'> over doubly stochastic X', which a permutation attains."""
    grad = instance.A @ X @ instance.B.T + instance.A.T @ X @ instance.B
    grad = grad if instance.C is None else grad + instance.C
    rows, columns = linear_sum_assignment(grad)
    return (grad * X).sum() - grad[rows, columns].sum()


def project_simplex(v):
    largest = np.sort(v)[::-1]
    thresholds = (np.cumsum(largest) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - thresholds[np.flatnonzero(largest > thresholds)[-1]], 0)


def project_unit_sums(X):
    n, one = len(X), np.ones((len(X), 1))
    return X - (X @ one @ one.T + one @ one.T @ X) / n + (1 / n + X.sum() / n**2) * one @ one.T


def project_rows(X):
    return np.array([project_simplex(row) for row in X])


PROJECTIONS = {  # (split, order) -> projections onto G and H
    (1, "gh"): (project_rows, lambda X: project_rows(X.T).T),
    (2, "gh"): (lambda X: np.clip(X, 0, 1), project_unit_sums),
}
for split in (1, 2):
    PROJECTIONS[split, "hg"] = PROJECTIONS[split, "gh"][::-1]


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize(("split", "order"), PROJECTIONS)
@pytest.mark.parametrize("method", ["tos", "fw"])
def test_both_errors_of_the_paper_are_below_tol(name, split, order, method):
    instance, tol = INSTANCES[name], 1e-4
    res = relax(instance, split=split, order=order, method=method, tol=tol, rng=1)
    X, n = res.x, instance.n
    project_G, project_H = PROJECTIONS[split, order]
    distance = np.linalg.norm(X - project_H(X))
    assert res.success
    assert res.certificate.kind == "gap"
    assert np.linalg.norm(X - project_G(X)) <= 1e-10  # z is a proximal point of g
    assert distance / n**0.5 <= tol
    assert abs(gap(instance, X)) / max(objective(instance, X), 1) <= tol
    assert res.certificate.infeasibility == pytest.approx(distance, abs=1e-10)
    assert res.certificate.stationarity == pytest.approx(gap(instance, X), abs=1e-9 * (1 + abs(res.fun)))
    assert res.fun == pytest.approx(objective(instance, X), rel=1e-10)


def test_splitting_is_the_driver_of_minimize():
    nug12, X = load("nug12"), initial_point(12, np.random.default_rng(0))
    f = Objective(nug12.A.astype(float), nug12.B.astype(float))
    one = relax(nug12, split=2, x0=X, max_iter=50, tol=0, step=1e-4)
    other = ts.minimize(f, X, [ts.terms.Box(0, 1), ts.terms.UnitSums()], max_iter=50, tol=0, step=1e-4)
    np.testing.assert_allclose(one.x, other.x, atol=1e-12)  # compiled and plain
    np.testing.assert_allclose(one.certificate[:2], other.certificate[:2], rtol=1e-9)
    assert one.certificate.kind == other.certificate.kind == "gap"


@pytest.mark.parametrize(("split", "order"), PROJECTIONS)
@pytest.mark.parametrize(
    "options",
    [{"step": "auto"}, {"step": "theory"}, {"step": Constant.from_lipschitz(0)}, {"step": 1.0}, {"method": "fw"}],
)
def test_esc16f_whose_objective_is_zero(split, order, options):
    esc16f = load("esc16f")
    assert Objective(esc16f.A.astype(float), esc16f.B.astype(float)).lipschitz == 0.0
    for x0 in (None, np.eye(16), np.full((16, 16), 1 / 16)):
        res = relax(esc16f, split=split, order=order, x0=x0, rng=0, **options)
        assert res.success
        assert res.fun == 0.0
        assert np.abs(res.x.sum(axis=0) - 1).max() < 1e-4


@pytest.mark.parametrize("method", ["tos", "fw"])
@pytest.mark.parametrize("split", [1, 2])
def test_float32_keeps_its_dtype(method, split):
    for dtype in (np.float32, "float32"):
        res = relax(load("nug12"), split=split, method=method, dtype=dtype, tol=1e-3, rng=0)
        assert res.x.dtype == np.float32
        assert res.success
    assert relax(load("nug12"), x0=np.eye(12, dtype=np.float32), max_iter=3).x.dtype == np.float64


def test_arguments_are_not_changed_and_an_instance_is_its_matrices():
    instance = random_instance()
    A, B, C, x0 = (np.array(M, dtype=float) for M in (instance.A, instance.B, instance.C, np.eye(8)))
    kept = [M.copy() for M in (A, B, C, x0)]
    res = relax(A, B, C, x0=x0, max_iter=40)
    for M, before in zip((A, B, C, x0), kept, strict=True):
        assert np.array_equal(M, before)
        assert not np.shares_memory(M, res.x)
    assert np.array_equal(res.x, relax(instance, x0=np.eye(8), max_iter=40).x)


def test_the_linear_term_alone_is_an_assignment_problem():
    C = np.random.default_rng(2).integers(0, 50, (9, 9))
    rows, columns = linear_sum_assignment(C)
    zero = np.zeros((9, 9))
    for split in (1, 2):
        assert relax(zero, zero, C, split=split, rng=0).fun == pytest.approx(C[rows, columns].sum(), rel=1e-4)


@pytest.mark.parametrize("method", ["tos", "fw"])
def test_same_seed_same_answer(method):
    first, again, other = (relax(load("nug12"), method=method, rng=seed, max_iter=30) for seed in (7, 7, 8))
    assert np.array_equal(first.x, again.x)
    assert not np.array_equal(first.x, other.x)
    assert first.seed == 7
    fresh = relax(load("nug12"), method=method, max_iter=30)
    assert np.array_equal(relax(load("nug12"), method=method, rng=fresh.seed, max_iter=30).x, fresh.x)


def test_limits():
    res = relax(load("nug12"), tol=0, max_iter=17)
    assert (res.status, res.nit) == (ts.Status.MAX_ITER, 17)
    res = relax(load("nug30"), tol=0, max_iter=10**9, time_limit=0.1)
    assert res.status is ts.Status.TIME_LIMIT
    assert 0.1 <= res.elapsed < 1.0


def test_no_theorem_is_named_for_the_last_iterate():
    assert relax(load("nug12"), step="theory", max_iter=20).guarantee.theorem is None
    assert "Frank-Wolfe" in relax(load("nug12"), method="fw", max_iter=20).guarantee.reason


# The starting point


@pytest.mark.parametrize("n", [1, 2, 5, 30])
@pytest.mark.parametrize("scale", [None, 1.0])
def test_initial_point_is_doubly_stochastic(n, scale):
    for seed in range(5):
        X = initial_point(n, np.random.default_rng(seed), scale)
        assert X.min() >= 0
        assert X.max() <= 1
        for axis in (0, 1):
            assert np.abs(X.sum(axis=axis) - 1).max() <= 1e-6
    if n > 1:
        assert not np.array_equal(X, initial_point(n, np.random.default_rng(0), scale))
    assert np.array_equal(X, initial_point(n, np.random.default_rng(4), scale))


# The objective


@pytest.mark.parametrize("name", INSTANCES)
def test_value_at_a_permutation_matrix_is_the_cost(name):
    instance, rng = INSTANCES[name], np.random.default_rng(3)
    C = None if instance.C is None else instance.C.astype(float)
    f = Objective(instance.A.astype(float), instance.B.astype(float), C)
    for _ in range(5):
        p = rng.permutation(instance.n)
        assert f.value(np.eye(instance.n)[p]) == instance.cost(p)


@pytest.mark.parametrize("name", INSTANCES)
def test_gradient_is_the_central_difference(name):
    instance, rng = INSTANCES[name], np.random.default_rng(4)
    C = None if instance.C is None else instance.C.astype(float)
    f = Objective(instance.A.astype(float), instance.B.astype(float), C)
    X, D = rng.standard_normal((2, instance.n, instance.n))
    # For a quadratic the central difference has no error but rounding, whatever the step.
    slope = (f.value(X + D) - f.value(X - D)) / 2
    size = np.abs(instance.A).max() * np.abs(instance.B).max() * instance.n**3
    assert slope == pytest.approx((f.grad(X) * D).sum(), abs=1e-12 * size)
    value, grad = f.value_and_grad(X)
    assert value == f.value(X)
    assert np.array_equal(grad, f.grad(X))
    assert f.value(X) == pytest.approx(objective(instance, X), abs=1e-12 * size)


@pytest.mark.parametrize("name", INSTANCES)
def test_lipschitz_dominates_the_difference_quotient_of_the_gradient(name):
    instance, rng = INSTANCES[name], np.random.default_rng(5)
    f = Objective(instance.A.astype(float), instance.B.astype(float))
    for _ in range(20):
        X, Y = rng.standard_normal((2, instance.n, instance.n))
        assert np.linalg.norm(f.grad(X) - f.grad(Y)) <= f.lipschitz * np.linalg.norm(X - Y) * (1 + 1e-12)
    if np.array_equal(instance.A, instance.A.T) and np.array_equal(instance.B, instance.B.T):
        u, v = (np.linalg.svd(M)[2][:1].T for M in (instance.A, instance.B))
        assert np.linalg.norm(f.grad(u @ v.T)) == pytest.approx(f.lipschitz)  # it is attained


def test_numbers_of_numpy_are_taken_as_limits():
    given = {"max_iter": np.int64(50), "concavity": np.int64(20)}
    res, plain = relax(load("nug12"), rng=0, **given), relax(load("nug12"), rng=0, max_iter=50, concavity=20)
    assert (res.nit, res.fun, res.status) == (plain.nit, plain.fun, plain.status)
