"""The objective and its tangent form: against the definition, for dense and sparse matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.qap import Objective, load, spectra
from trisplit.qap.matrices import centred
from trisplit.qap.objective import LANCZOS
from trisplit.terms import UnitSums

REAL = st.integers(-40, 40).map(lambda k: k / 8)
FORMS = [
    (np.asarray, np.asarray),
    (sp.csr_array, sp.csr_array),
    (np.asarray, sp.coo_matrix),
    (sp.csc_array, np.asarray),
]
CASES = ["symmetric", "A symmetric", "B symmetric", "nonsymmetric"]


def centring(n):
    return np.eye(n) - np.ones((n, n)) / n


def matrices(n, case, rng, linear=True, density=0.5):
    """A, B, C of the given kind, many entries zero."""
    A, B = rng.standard_normal((2, n, n)) * (rng.random((2, n, n)) < density)
    A = A + A.T if case in ("symmetric", "A symmetric") else A
    B = B + B.T if case in ("symmetric", "B symmetric") else B
    return A, B, rng.standard_normal((n, n)) if linear else None


def value_by_definition(A, B, C, X):
    return np.trace(A @ X @ B.T @ X.T) + (0.0 if C is None else (C * X).sum())


def grad_by_definition(A, B, C, X):
    return A @ X @ B.T + A.T @ X @ B + (0.0 if C is None else C)


@settings(deadline=None, max_examples=50)
@given(
    st.integers(1, 5).flatmap(lambda n: arrays(float, (4, n, n), elements=REAL)),
    st.sampled_from(CASES),
    st.sampled_from(FORMS),
    st.booleans(),
)
def test_value_and_gradient_are_the_definitions(data, case, forms, linear):
    A, B, C, X = data
    A = A + A.T if case in ("symmetric", "A symmetric") else A
    B = B + B.T if case in ("symmetric", "B symmetric") else B
    C = C if linear else None
    f = Objective(forms[0](A), forms[1](B), C)
    slack = 1e-11 * (1 + np.abs(A).sum() * np.abs(B).sum()) * (1 + np.abs(X).max()) ** 2
    value, grad = f.value_and_grad(X)
    assert f.value(X) == value == pytest.approx(value_by_definition(A, B, C, X), abs=slack)
    assert np.array_equal(f.grad(X), grad)
    np.testing.assert_allclose(grad, grad_by_definition(A, B, C, X), atol=slack)
    # f is a quadratic, so central differences are exact but for rounding
    D, t = np.ones_like(X) + np.eye(len(X)), 0.5
    assert (f.value(X + t * D) - f.value(X - t * D)) / (2 * t) == pytest.approx((grad * D).sum(), abs=100 * slack)
    tangent, P = f.tangent(), centring(len(X))
    projected = UnitSums().project(X)
    assert tangent.value(X) == pytest.approx(value_by_definition(A, B, C, projected), abs=10 * slack)
    np.testing.assert_allclose(tangent.grad(X), P @ grad_by_definition(A, B, C, projected) @ P, atol=10 * slack)


@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_tangent_equals_f_on_unit_sums_and_is_constant_across_them(case, forms):
    rng = np.random.default_rng(1)
    A, B, C = matrices(9, case, rng)
    f = Objective(forms[0](A), forms[1](B), C)
    tangent = f.tangent()
    assert tangent.symmetric == (case != "nonsymmetric")
    for X in (np.eye(9)[rng.permutation(9)], UnitSums().project(rng.standard_normal((9, 9)))):
        value, grad = tangent.value_and_grad(X)
        assert value == tangent.value(X) == pytest.approx(f.value(X), abs=1e-11)
        assert np.array_equal(grad, tangent.grad(X))
        np.testing.assert_allclose(grad, centred(f.grad(X)), atol=1e-11)
        across = rng.standard_normal((9, 1)) + rng.standard_normal(9)
        assert tangent.value(X + across) == pytest.approx(value, abs=1e-10)
        np.testing.assert_allclose([grad.sum(axis=0), grad.sum(axis=1)], 0, atol=1e-11)
    J = np.full((9, 9), 1 / 9)
    assert tangent.constant == pytest.approx(f.value(J), abs=1e-11)
    np.testing.assert_allclose(tangent.g0, centred(f.grad(J)), atol=1e-12)


def hessian(A, B):
    """X -> Ac X Bc' + Ac' X Bc on vectors row by row, without symmetrising anything."""
    P = centring(len(A))
    A, B = P @ A @ P, P @ B @ P
    return np.kron(A, B) + np.kron(A.T, B.T)


@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 12])
def test_curvature_is_that_of_the_kronecker_product(n, case, forms):
    for seed in range(3):
        A, B, C = matrices(n, case, np.random.default_rng(seed))
        spectrum = np.linalg.eigvalsh(hessian(A, B))
        tangent = Objective(forms[0](A), forms[1](B), C).tangent()
        largest, positive = tangent.curvature()
        assert largest == tangent.lipschitz == pytest.approx(np.abs(spectrum).max(), rel=1e-4, abs=1e-12)
        assert positive == pytest.approx(max(spectrum.max(), 0), rel=1e-4, abs=1e-12)


def test_curvature_where_f_is_concave_or_convex_on_the_tangent_space():
    M = np.diag(np.arange(1.0, 12.0))
    largest, positive = Objective(M, -M).tangent().curvature()
    assert largest > 1
    assert positive == 0.0
    assert Objective(M, M).tangent().curvature() == (largest, largest)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n", [1, 2, 16, 600])
def test_nothing_bends_where_a_matrix_has_no_centred_part(n, form):
    M = np.random.default_rng(0).standard_normal((n, n)).round(1)
    rows = np.outer(M[0], np.ones(n)) / 7
    flat = [np.zeros((n, n)), np.full((n, n), 0.1), rows + rows.T]
    for A in flat if form is np.asarray or n < 600 else flat[:1]:
        assert Objective(form(A), form(M + M.T)).tangent().curvature() == (0.0, 0.0)
    assert Objective(form(flat[0]), form(M)).lipschitz == 0.0


def test_known_instances():
    esc16f, nug30, bur26a = (load(name) for name in ("esc16f", "nug30", "bur26a"))
    assert Objective(esc16f.A, esc16f.B).tangent().curvature() == (0.0, 0.0)
    f = Objective(nug30.A, nug30.B)
    assert 5 < f.lipschitz / f.tangent().lipschitz < 9
    assert not Objective(bur26a.A, bur26a.B).tangent().symmetric
    assert Objective(load("tai12b").A, load("tai12b").B).tangent().symmetric


@pytest.mark.parametrize("case", CASES)
def test_bounds_hold_for_large_matrices(case):
    rng = np.random.default_rng(2)
    n = spectra.EXACT + 40
    A, B, _ = matrices(n, case, rng, linear=False, density=0.02)
    dense, sparse = Objective(A, B), Objective(sp.csr_array(A), sp.csr_array(B))
    exact = 2 * np.linalg.norm(A, 2) * np.linalg.norm(B, 2)
    X = rng.standard_normal((n, n))
    np.testing.assert_allclose(sparse.grad(X), dense.grad(X), atol=1e-10)
    np.testing.assert_allclose(sparse.tangent().grad(X), dense.tangent().grad(X), atol=1e-10)
    for f in (dense, sparse):
        assert exact <= f.lipschitz <= (1 + 1e-4) * exact
        tangent = f.tangent()
        largest, positive = tangent.curvature()
        V = centred(X)
        for _ in range(30):
            V = tangent.grad(V) - tangent.g0
            V /= np.linalg.norm(V)
        assert np.linalg.norm(tangent.grad(V) - tangent.g0) <= (1 + 1e-4) * largest
        assert 0 <= positive <= largest <= (1 + 1e-4) * (1 if case != "nonsymmetric" else 2) * exact
        if case != "nonsymmetric":
            P, (A_used, B_used, _) = centring(n), dense.symmetric_parts
            a, b = (np.linalg.eigvalsh(P @ M @ P)[[0, -1]] for M in (A_used, B_used))
            assert positive == pytest.approx(2 * np.outer(a, b).max(), rel=1e-4)
            assert largest == pytest.approx(2 * np.abs(np.outer(a, b)).max(), rel=1e-4)


@pytest.mark.parametrize("n", [30, LANCZOS + 10])
def test_bounds_hold_where_iterations_do_not_converge(n, monkeypatch):
    A, B, _ = matrices(n, "nonsymmetric", np.random.default_rng(3))
    f = Objective(A, B)
    exact, curvature = f.lipschitz, np.array(f.tangent().curvature())
    monkeypatch.setattr(spectra, "_largest", lambda matvec, size: None)
    monkeypatch.setattr(spectra, "EXACT", 0)
    assert exact <= Objective(A, B).lipschitz < 20 * exact
    assert np.all(curvature <= Objective(A, B).tangent().curvature())
    assert np.all(np.array(Objective(A + A.T, B).tangent().curvature()) < np.inf)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_single_precision_stays_single_and_integers_become_double(form):
    A, B, C = (M.round(1).astype(np.float32) for M in matrices(20, "nonsymmetric", np.random.default_rng(4)))
    X = np.random.default_rng(5).random((20, 20), dtype=np.float32)
    f = Objective(form(A), form(B), C)
    tangent = f.tangent()
    double = Objective(form(A.astype(float)), form(B.astype(float)), C.astype(float)).tangent()
    assert f.grad(X).dtype == tangent.grad(X).dtype == tangent.g0.dtype == tangent.A.dtype == np.float32
    assert tangent.value(X) == pytest.approx(double.value(X.astype(float)), rel=1e-4)
    np.testing.assert_allclose(tangent.curvature(), double.curvature(), rtol=1e-4)
    assert Objective(form(A.astype(int)), form(B.astype(int))).tangent().dtype == np.float64
    assert double.A.dtype == np.float64
    assert f.tangent(np.float64).grad(X).dtype == np.float64


@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_matrices_of_the_tangent_form_are_centred_and_contiguous(order):
    A, B, C = (np.array(M, order=order) for M in matrices(7, "nonsymmetric", np.random.default_rng(6)))
    kept = A.copy(), B.copy(), C.copy()
    tangent = Objective(A, B, C).tangent()
    for M, came in ((tangent.A, A), (tangent.B, B)):
        assert M.flags.c_contiguous
        np.testing.assert_allclose(M, centring(7) @ came @ centring(7), atol=1e-14)
    assert all(np.array_equal(M, K) for M, K in zip((A, B, C), kept, strict=True))
