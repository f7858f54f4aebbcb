"""Splitting on a pattern, iterate by iterate, against trisplit's own on dense matrices that are zero off it."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import trisplit as ts
from trisplit.matching.large.layers import layer_pairs
from trisplit.matching.large.pattern_tos import PatternProblem, pattern_tos


class Masked:
    """A set of lines, each projected on its candidate entries alone; zero elsewhere."""

    indicator = True

    def __init__(self, term, mask, axis):
        self.term, self.mask, self.axis = term, mask, axis

    def value(self, x):
        return 0.0

    def prox(self, x, gamma):
        out = np.zeros_like(x)
        lines = range(x.shape[1 - self.axis])
        for i in lines:
            at = (i, self.mask[i]) if self.axis == 1 else (self.mask[:, i], i)
            if self.mask[i].any() if self.axis == 1 else self.mask[:, i].any():
                out[at] = self.term.prox(x[at], gamma)
        return out


def random_graphs(kind, n_A, n_B, rng):
    layers = 2 if "layers" in kind else 1
    A, B = ([(rng.random((n, n)) < 0.4) * rng.integers(1, 4, (n, n)) for _ in range(layers)] for n in (n_A, n_B))
    if "directed" not in kind:
        A, B = [np.triu(M) + np.triu(M, 1).T for M in A], [np.triu(M) + np.triu(M, 1).T for M in B]
    return [M.astype(float) for M in A], [M.astype(float) for M in B]


def random_problem(kind, n_A=7, n_B=9, seed=0):
    rng = np.random.default_rng(seed)
    A, B = random_graphs(kind, n_A, n_B, rng)
    S = rng.integers(0, 3, (n_A, n_B)).astype(float)
    mask = rng.random((n_A, n_B)) < 0.5
    mask[np.arange(n_A), np.arange(n_A)] = True
    graphs = layer_pairs(tuple(map(csr_array, A)), tuple(map(csr_array, B)), csr_array(S))
    return A, B, S, mask, PatternProblem(graphs, csr_array(mask.astype(float)))


KINDS = ["one", "directed", "layers", "directed layers"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_dense_matrices(kind):
    A, B, S, mask, problem = random_problem(kind)
    X = np.random.default_rng(1).integers(0, 4, mask.shape) * mask.astype(float)
    grad = sum(a @ X @ b.T + a.T @ X @ b for a, b in zip(A, B, strict=True)) + S
    half = 1 if "directed" in kind else 2
    assert np.array_equal(problem.ascent(X[mask].astype(np.float32)) * half, grad[mask])


@pytest.mark.parametrize("kind", KINDS)
def test_the_curvature_is_the_norm_on_the_pattern(kind):
    *_, mask, problem = random_problem(kind)
    H = np.stack([problem.product(e) for e in np.eye(problem.size, dtype=np.float32)])
    assert np.array_equal(H, H.T)
    norm = np.abs(np.linalg.eigvalsh(H)).max()
    assert 0.98 * norm <= problem.curvature() <= 1.021 * norm


@pytest.mark.parametrize("kind", KINDS)
def test_iterates_are_those_of_the_dense_twin(kind):
    A, B, S, mask, problem = random_problem(kind)
    half = 1 if "directed" in kind else 2

    def f(X):
        grad = sum(a @ X @ b.T + a.T @ X @ b for a, b in zip(A, B, strict=True))
        return -((grad * X).sum() / 2 + (S * X).sum()) / half, -(grad + S) / half

    rows, columns = Masked(ts.terms.Simplex(), mask, 1), Masked(ts.terms.SolidSimplex(), mask, 0)
    start = np.random.default_rng(2).random(mask.shape) * mask
    gamma = 1 / problem.curvature()
    states = ts.tos(ts.Problem(f, [rows, columns]), start, gamma)
    for state in states:
        ours = pattern_tos(problem, start[mask], gamma, max_iter=state.t, tol=0.0)
        assert np.abs(ours.z - state.z[mask]).max() <= 1e-4
        if state.t == 25:
            break


def test_seeds_and_empty_rows_stay_what_they_are():
    ring = csr_array(np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1))
    mask = np.ones((5, 5))
    mask[0] = mask[:, 0] = mask[3] = 0
    mask[0, 0] = 1
    problem = PatternProblem(layer_pairs((ring,), (ring,)), csr_array(mask))
    z = pattern_tos(problem, np.full(problem.size, 0.2), 0.1).z
    assert z[0] == 1
    assert np.isfinite(z).all()


def test_no_pairs_at_all():
    problem = PatternProblem(layer_pairs((csr_array((3, 3)),), (csr_array((3, 3)),)), csr_array((3, 3)))
    assert problem.curvature() == 0
    assert pattern_tos(problem, np.zeros(0), 1.0).z.size == 0
