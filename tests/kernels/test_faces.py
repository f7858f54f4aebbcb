"""Restarts on faces: exact changes of cost, permutations that differ only where they may, nothing made worse."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment

from trisplit.kernels import faces
from trisplit.qap import Instance, load
from trisplit.qap.local_search import LocalSearch

NO_C = np.zeros((0, 0))


def random_data(kind, n, seed=0):
    """Integer matrices as floats, so that every sum is exact."""
    A, B, C = np.random.default_rng(seed).integers(-9, 10, (3, n, n)).astype(float)
    if "nonsymmetric" not in kind:
        A, B = A + A.T, B + B.T
    return A, B, C if "linear" in kind else NO_C


def cost(A, B, C, p):
    return (A * B[np.ix_(p, p)]).sum() + (C[np.arange(len(p)), p].sum() if C.size else 0.0)


def near_of(A, B):
    return np.stack([np.argsort(M, axis=1, kind="stable") for M in (-(A + A.T), B + B.T)])


def is_permutation(p):
    return sorted(p) == list(range(len(p)))


# The assignment problem


def best_assignment(X):
    to = np.full(len(X), -1)
    faces.best_assignment(X, to)
    return to


@st.composite
def matrices(draw):
    k = draw(st.integers(1, 12))
    ties = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0])
    return draw(arrays(float, (k, k), elements=draw(st.sampled_from([ties, st.floats(-1, 1), st.floats(-1e9, 1e9)]))))


@settings(deadline=None, max_examples=300)
@example(np.zeros((5, 5)))
@example(np.array([[-3.0]]))
@example(-np.eye(6))
@given(matrices())
def test_best_assignment_is_optimal(X):
    kept, to = X.copy(), best_assignment(X)
    assert is_permutation(to)
    rows, columns = linear_sum_assignment(X, maximize=True)
    places = np.arange(len(X))
    assert X[places, to].sum() >= X[rows, columns].sum() - 1e-14 * len(X) * np.abs(X).max()
    assert np.array_equal(X, kept)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_best_assignment_ends_with_a_permutation_whatever_is_nan(share):
    rng = np.random.default_rng(0)
    for _ in range(300):
        X = rng.random((6, 6))
        X[rng.random((6, 6)) < share] = rng.choice([np.nan, np.inf, -np.inf])
        assert is_permutation(best_assignment(X))


# One restart


@pytest.mark.parametrize("kind", ["symmetric", "nonsymmetric", "symmetric, linear", "nonsymmetric, linear"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (9, 1), (9, 2), (9, 6), (20, 12), (9, 9)])
def test_restart_returns_the_exact_change_and_moves_free_rows_only(kind, n, k):
    moved = False
    for seed in range(15):
        data, rng = random_data(kind, n, seed), np.random.default_rng(seed)
        p, rows, q = rng.permutation(n), rng.permutation(n)[:k], np.full(n, -1)
        kept = [M.copy() for M in (*data, p, rows)]
        change = faces.restart(*data, p, rows, rng, q)
        assert is_permutation(q)
        fixed = np.setdiff1d(np.arange(n), rows)
        assert np.array_equal(q[fixed], p[fixed])
        assert change == cost(*data, q) - cost(*data, p)
        for M, before in zip((*data, p, rows), kept, strict=True):
            assert np.array_equal(M, before)
        moved = moved or not np.array_equal(p, q)
    assert moved == (k > 1)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e-160, 1e150])
def test_restart_with_constant_matrices_changes_nothing_in_the_cost(value):
    M, q = np.full((7, 7), value), np.empty(7, np.int64)
    assert faces.restart(M, M, NO_C, np.arange(7), np.arange(7), np.random.default_rng(0), q) == 0.0
    assert is_permutation(q)


# The rows of a face


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (6, 6), (7, 3), (30, 12)])
def test_chosen_rows_are_different_rows(n, k):
    A, B, _ = random_data("symmetric", n)
    rng, seen = np.random.default_rng(0), set()
    inverse, rows = rng.permutation(n), np.empty(k, np.int64)
    for _ in range(400):
        faces.choose_rows(rng, near_of(A, B), inverse, rows)
        assert len(set(rows)) == k
        assert 0 <= rows.min() <= rows.max() < n
        seen.update(rows.tolist())
    assert seen == set(range(n))


# Many restarts


class Run:
    """One call of `search_faces` from a random permutation."""

    def __init__(self, data, seed=0, kick=0, patience=40, restarts=60):
        rng = np.random.default_rng(seed)
        n = len(data[0])
        self.p = rng.permutation(n)
        self.begin, self.inverse, self.counts = self.p.copy(), np.argsort(self.p), np.zeros(2, np.int64)
        self.search = lambda kick, restarts: faces.engine()(
            *data, near_of(*data[:2]), self.p, self.inverse, rng, self.counts, kick, patience, restarts
        )
        self.fallen = self.search(kick, restarts)


@pytest.mark.parametrize("kind", ["symmetric", "nonsymmetric", "symmetric, linear", "nonsymmetric, linear"])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 13, 30])
@pytest.mark.parametrize("kick", [0, 2])
def test_search_counts_and_tells_by_how_much_the_cost_fell(kind, n, kick):
    data = random_data(kind, n, seed=n)
    for seed in range(4):
        run = Run(data, seed, min(kick, n))
        assert is_permutation(run.p)
        assert np.array_equal(run.inverse, np.argsort(run.p))
        assert run.fallen == cost(*data, run.begin) - cost(*data, run.p)
        assert kick or run.fallen >= 0
        in_vain, all_of_them = run.counts
        assert all_of_them <= 60
        assert in_vain <= min(40, all_of_them)
        assert in_vain == 40 or all_of_them == 60
        run.search(0, 60)  # goes on where it stopped, and not at all once patience is over
        assert run.counts[1] == all_of_them if in_vain == 40 else run.counts[1] > all_of_them


@pytest.mark.parametrize("kick", [0, 6])
def test_cost_never_rises_from_one_restart_to_the_next(kick):
    nug12 = load("nug12")
    data = nug12.A.astype(float), nug12.B.astype(float), NO_C
    run = Run(data, kick=kick, restarts=0)
    assert run.counts.tolist() == [0, 0]
    before = cost(*data, run.p)
    for restart in range(1, 31):
        in_vain = run.counts[0]
        fallen = run.search(0, 1)
        after = cost(*data, run.p)
        assert before - after == fallen >= 0
        assert run.counts.tolist() == [0 if fallen else in_vain + 1, restart]
        before = after


def test_same_seed_same_search():
    data = random_data("nonsymmetric, linear", 20)
    first, again, other = (Run(data, seed, kick=8) for seed in (1, 1, 2))
    assert np.array_equal(first.p, again.p)
    assert first.counts.tolist() == again.counts.tolist()
    assert not np.array_equal(first.p, other.p)


def test_faces_improve_on_random_permutations():
    """That is what they are for: from every start nug12 comes within 10 % of its optimum, 578."""
    nug12 = load("nug12")
    for seed in range(5):
        run = Run((nug12.A.astype(float), nug12.B.astype(float), NO_C), seed, restarts=200)
        assert nug12.cost(run.p) <= 1.1 * nug12.best_known


# What local search hands over


@pytest.mark.parametrize("symmetric", ["neither", "A", "B"])
def test_local_search_works_with_the_costs_of_the_instance(symmetric):
    """Symmetric parts take the place of matrices only where the cost stays the same."""
    A, B, C = np.random.default_rng(4).integers(-9, 10, (3, 9, 9))
    A, B = A + (A.T if symmetric == "A" else 0), B + (B.T if symmetric == "B" else 0)
    instance, rng = Instance("random", A, B, C=C), np.random.default_rng(0)
    search = LocalSearch(instance)
    for _ in range(10):
        p = rng.permutation(9)
        assert cost(search.A, search.B, search.C, p) == instance.cost(p)
