"""Sparse matrices are an instance like any other: same costs, same digest, same relaxation."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.errors import InputError
from trisplit.qap import Instance, load, relax, solve
from trisplit.terms import joint

FORMATS = [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix, sp.dia_array]
FORMS = [(sp.csr_array, sp.csr_array), (np.asarray, sp.csr_array), (sp.csr_array, np.asarray)]
SMALL = st.sampled_from([0, 0, 0, 1, -7, 2])
HUGE = st.sampled_from([0, 0, 0, 2**62, -(2**63), 3])


def graph(n, rng, degree=4, dtype=float):
    M = sp.random_array((n, n), density=min(1.0, degree / (2 * n)), rng=rng, format="csr")
    M.data = np.ceil(9 * M.data)
    return (M + M.T).astype(dtype)


@settings(deadline=None)
@given(st.data(), st.sampled_from([SMALL, HUGE]), st.sampled_from(FORMS), st.booleans())
def test_costs_of_integers_are_exact(data, numbers, forms, linear):
    n = data.draw(st.integers(1, 6))
    A, B, C = data.draw(arrays(np.int64, (3, n, n), elements=numbers))
    C = C if linear else None
    p = data.draw(st.permutations(range(n)))
    dense, sparse = Instance("dense", A, B, C=C), Instance("sparse", forms[0](A), forms[1](B), C=C)
    assert sparse.cost(p) == dense.cost(p)
    assert isinstance(sparse.cost(p), int)
    assert sparse.sha256() == dense.sha256()


@pytest.mark.parametrize("dtype", [float, np.float32, int, np.uint8, bool])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_kept_as_a_read_only_csr_copy(form, dtype):
    A = (graph(30, np.random.default_rng(0)).toarray() > 3).astype(dtype)
    given_A = form(A)
    instance = Instance("any", given_A, given_A)
    for M in (instance.A, instance.B):
        assert isinstance(M, sp.csr_array)
        assert M.dtype == (np.float64 if np.dtype(dtype).kind == "f" else np.int64)
        assert np.array_equal(M.toarray(), A)
        with pytest.raises(ValueError, match="read-only"):
            M.data[0] = 5
    assert np.array_equal(given_A.toarray(), A)
    assert instance.sha256() == Instance("dense", A, A).sha256()
    p = np.random.default_rng(1).permutation(30)
    assert instance.cost(p) == Instance("dense", A, A).cost(p)


def test_entries_given_twice_are_added_without_overflow_and_stored_zeros_do_not_matter():
    twice = sp.coo_array((np.array([200, 100, 0], dtype=np.uint8), ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    instance = Instance("twice", twice, sp.csr_array(np.array([[0, 1], [1, 0]])))
    assert instance.A.nnz == 1
    assert instance.cost([0, 1]) == 300
    assert Instance("empty", sp.csr_array((3, 3)), sp.csr_array((3, 3))).cost([2, 0, 1]) == 0


def test_digest_spans_several_blocks_of_rows():
    M = graph(600, np.random.default_rng(2))
    assert Instance("sparse", M, M).sha256() == Instance("dense", M.toarray(), M.toarray()).sha256()


@pytest.mark.parametrize(
    ("A", "words"),
    [
        (sp.csr_array((2, 3)), "`A` must be a square matrix"),
        (sp.csr_array((0, 0)), "`A` must not be empty"),
        (sp.csr_array(np.array([[0, np.nan], [1, 0]])), r"`A` must be finite, got nan at \[0, 1\]"),
        (sp.csr_array(np.array([[0, 1j], [1, 0]])), "`A` must be numeric"),
        (sp.csr_array(np.array([[0, 2**63], [1, 0]], dtype=np.uint64)), "`A` must fit int64"),
    ],
)
def test_bad_sparse_matrices_are_refused(A, words):
    with pytest.raises(InputError, match=words):
        Instance("bad", A, A)


def test_shapes_must_agree_and_c_is_dense():
    eye = sp.eye_array(3)
    with pytest.raises(InputError, match="`B` must have the shape of `A`"):
        Instance("bad", eye, sp.eye_array(4))
    with pytest.raises(InputError, match="`C` must be dense"):
        Instance("bad", eye, eye, C=eye)


@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("options", [{"split": 1}, {"split": 2}, {"method": "fw"}, {"step": "theory", "max_iter": 50}])
def test_relaxation_is_that_of_the_dense_matrices(options, forms):
    chr20a = load("chr20a")
    dense = relax(chr20a.A, chr20a.B, tol=1e-3, rng=0, **options)
    sparse = relax(forms[0](chr20a.A), forms[1](chr20a.B), tol=1e-3, rng=0, **options)
    assert sparse.status is dense.status
    assert sparse.nit == dense.nit
    assert sparse.fun == pytest.approx(dense.fun, rel=1e-6)
    np.testing.assert_allclose(sparse.x, dense.x, atol=1e-6)
    single = relax(forms[0](chr20a.A), forms[1](chr20a.B), max_iter=5, dtype="float32", rng=0)
    assert single.x.dtype == np.float32


def test_a_permutation_for_two_sparse_graphs():
    A = graph(12, np.random.default_rng(3), dtype=int)
    res = solve(A, A, starts=2, rng=0)
    assert res.cost == Instance("dense", A.toarray(), A.toarray()).cost(res.permutation)


def count_gaps(monkeypatch, **options):
    """Run a relaxation of 60 rows; return it, and how many assignment problems it solved."""
    calls, solver, rng = [], joint.cheapest, np.random.default_rng(4)
    A, B = graph(60, rng), graph(60, rng)
    monkeypatch.setattr(joint, "cheapest", lambda costs: calls.append(1) or solver(costs))
    return relax(A, B, split=1, rng=0, **options), len(calls)


def test_an_assignment_problem_is_solved_only_to_confirm(monkeypatch):
    res, assignments = count_gaps(monkeypatch, tol=1e-4)
    assert res.success
    assert assignments <= 4 < len(res.trace)
    assert res.certificate.kind == "gap"
    stopped, one = count_gaps(monkeypatch, tol=1e-4, max_iter=3)
    assert stopped.certificate.kind == "gap"
    assert one == 1
