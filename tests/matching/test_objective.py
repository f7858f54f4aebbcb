"""The score, its gradient, and the search's parts: against finite differences, full enumeration and plain loops."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from trisplit.matching.bounds import score_bound
from trisplit.matching.faq import Transport
from trisplit.matching.objective import MatchObjective, unit_sums
from trisplit.matching.problem import as_problem, reduce
from trisplit.matching.relaxed import Tangent
from trisplit.matching.rounding import best_assignment, refine
from trisplit.matching.starts import balanced, similarity, soft

KINDS = ("symmetric", "one symmetric", "directed", "sparse", "layers", "crossed")


def objective(kind, n=6, seed=0, C=True):
    rng = np.random.default_rng(seed)

    def matrix(symmetric):
        M = rng.standard_normal((n, n))
        return M + M.T if symmetric else M

    layers = [(matrix(kind != "directed"), matrix(kind not in ("directed", "one symmetric")))]
    if kind == "layers":
        layers.append((matrix(False), matrix(False)))
    if kind == "sparse":
        layers = [tuple(sparse.csr_array(np.where(np.abs(M) > 1, M, 0)) for M in layers[0])]
    crossed = ((matrix(False), matrix(False)),) if kind == "crossed" else ()
    return MatchObjective(tuple(layers), crossed, rng.standard_normal((n, n)) if C else None)


def matrix_of(p):
    return np.eye(len(p))[p]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [True, False])
def test_the_gradient_is_that_of_the_value(kind, C):
    f, rng = objective(kind, C=C), np.random.default_rng(1)
    X, D = rng.standard_normal((2, f.n, f.n))
    step = 1e-4
    slope = (f.value(X + step * D) - f.value(X - step * D)) / (2 * step)
    assert_allclose(slope, (f.gradient(X) * D).sum(), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_at_a_permutation(kind):
    f = objective(kind)
    p = np.random.default_rng(2).permutation(f.n)
    assert_allclose(f.gradient_at(p), f.gradient(matrix_of(p)), atol=1e-12)
    assert_allclose(f.value_at(p), f.value(matrix_of(p)))
    flat = np.full((f.n, f.n), 1 / f.n)
    assert_allclose(f.gradient_at_barycentre(), f.gradient(flat), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_score_is_a_double_sum(kind):
    f = objective(kind)
    p = np.random.default_rng(3).permutation(f.n)
    dense = [(M.toarray() if sparse.issparse(M) else M for M in pair) for pair in f.layers]
    score = sum(A[i, j] * B[p[i], p[j]] for A, B in dense for A, B in [(A, B)] for i in range(f.n) for j in range(f.n))
    score += sum(AB[i, p[j]] * BA[p[i], j] for AB, BA in f.crossed for i in range(f.n) for j in range(f.n))
    assert_allclose(f.value_at(p), score + f.C[np.arange(f.n), p].sum())


@pytest.mark.parametrize("kind", KINDS)
def test_lipschitz_constant_on_the_tangent_space(kind):
    f, rng = objective(kind, n=9), np.random.default_rng(4)
    tangent = Tangent(f)
    for _ in range(20):
        X, Y = (unit_sums(M) for M in rng.standard_normal((2, f.n, f.n)))
        # The power method estimates from below; a margin of 1.1 covers what it leaves here.
        assert np.linalg.norm(tangent.grad(X) - tangent.grad(Y)) <= 1.001 * f.lipschitz * np.linalg.norm(X - Y)


@given(st.integers(2, 6), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_the_bound_is_never_beaten(n, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.integers(-2, 4, (2, n, n))
    S = rng.standard_normal((n, n))
    for maximize in (True, False):
        problem = as_problem(A, B, S=S, maximize=maximize)
        scores = [problem.score(np.arange(n), np.array(p)) for p in permutations(range(n))]
        best = max(scores) if maximize else min(scores)
        sign = 1 if maximize else -1
        assert sign * score_bound(problem) >= sign * best - 1e-9
        sparse_one = as_problem(sparse.csr_array(A), sparse.csr_array(B), S=sparse.csr_array(S), maximize=maximize)
        assert_allclose(score_bound(sparse_one), score_bound(problem))


@given(st.integers(3, 7), st.integers(0, 3), st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_taking_out_seeds_changes_scores_by_a_constant(n, m, seed, crossed, maximize):
    """What is left of the problem ranks the matches that keep the seeds as the whole one does."""
    rng = np.random.default_rng(seed)
    A, B, S = rng.standard_normal((3, n, n))
    options = dict(zip(("AB", "BA"), rng.standard_normal((2, n, n)), strict=True)) if crossed else {}
    whole = rng.permutation(n)
    rows = rng.permutation(n)[:m]
    problem = as_problem(A, B, S=S, partial_match=np.c_[rows, whole[rows]], maximize=maximize, **options)
    reduced = reduce(problem, "naive", np.float64, rng)
    sign, constants = (1 if maximize else -1), []
    for _ in range(4):
        p = rng.permutation(n - m)
        full = np.empty(n, dtype=int)
        full[problem.seeds[:, 0]] = problem.seeds[:, 1]
        full[reduced.rows] = reduced.columns[p]
        constants.append(sign * problem.score(np.arange(n), full) - reduced.objective.value_at(p))
    assert_allclose(constants, constants[0], atol=1e-9)


def test_adopted_padding_counts_missing_edges():
    A, B = np.array([[0, 1], [1, 0]]), np.zeros((3, 3))
    reduced = reduce(as_problem(A, B), "adopted", np.float64, None)
    ((A_wide, B_wide),) = reduced.objective.layers
    assert A_wide.tolist() == [[-1, 1, 0], [1, -1, 0], [0, 0, 0]]
    assert (B_wide == -1).all()


def test_refining_ends_at_its_own_best_answer():
    rng = np.random.default_rng(5)
    A = np.triu(rng.random((40, 40)) < 0.5, 1).astype(float)
    A, p = A + A.T, rng.permutation(40)
    f = MatchObjective(((A, A[np.ix_(p, p)]),), (), None)
    truth = np.argsort(p)
    start = truth.copy()
    start[:8] = np.roll(start[:8], 1)
    found = refine(f, start)
    assert (found.p == truth).all()
    assert found.settled
    assert (best_assignment(f.gradient_at(found.p)) == found.p).all()


def test_soft_starts_are_doubly_stochastic():
    f = objective("layers", n=12)
    for kind in ("spectral", "umeyama"):
        X = soft(similarity(f, kind))
        assert_allclose(X.sum(axis=0), 1.0, atol=2e-3)
        assert_allclose(X.sum(axis=1), 1.0, atol=2e-3)
        assert X.min() >= 0


def test_grampa_does_not_depend_on_the_order_of_vertices():
    """Relabelling both graphs relabels the similarity; signs of eigenvectors, which are arbitrary, do not matter."""
    rng = np.random.default_rng(6)
    A, B = rng.standard_normal((2, 10, 10)).astype(np.float32)
    A, B = A + A.T, B + B.T
    p, q = rng.permutation(10), rng.permutation(10)
    M = similarity(MatchObjective(((A, B),), (), None))
    N = similarity(MatchObjective(((A[np.ix_(p, p)], B[np.ix_(q, q)]),), (), None))
    assert_allclose(N, M[np.ix_(p, q)], atol=1e-3)


def test_transport_approaches_the_assignment():
    rng = np.random.default_rng(7)
    G = rng.random((8, 8))
    Q = Transport(regularizer=300.0, tol=1e-6, max_iter=20_000).direction(G)
    assert_allclose(Q.sum(axis=0), 1.0, atol=1e-3)
    assert (best_assignment(Q) == best_assignment(G)).all()
    assert (G * Q).sum() == pytest.approx((G * matrix_of(best_assignment(G))).sum(), rel=1e-2)


def test_balancing_keeps_a_doubly_stochastic_matrix():
    assert_allclose(balanced(np.full((4, 4), 0.25)), np.full((4, 4), 0.25))
