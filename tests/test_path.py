"""ts.path: one weight after another, with warm starts."""

import numpy as np
import pytest

import trisplit as ts
from trisplit.terms import L1, Box, L2Ball


def lasso(seed=0, m=100, n=50):
    """Return f, with columns that are like their neighbours, and the smallest weight for which the answer is 0."""
    rng = np.random.default_rng(seed)
    decay = 0.9 ** np.subtract.outer(np.arange(n), np.arange(n)).clip(0)
    A, x = rng.standard_normal((m, n)) @ np.tril(decay), np.zeros(n)
    x[rng.permutation(n)[: n // 10]] = rng.standard_normal(n // 10)
    b = A @ x + 0.1 * rng.standard_normal(m)
    return lambda x: (((A @ x - b) ** 2).sum() / 2, A.T @ (A @ x - b)), np.abs(A.T @ b).max()


def test_a_path_takes_a_third_of_the_iterations_of_cold_runs():
    warm, cold = 0, 0
    for seed in range(5):
        f, largest = lasso(seed)
        weights = largest * np.geomspace(1.0, 0.01, 20)
        path = ts.path(f, np.zeros(50), L1, weights)
        alone = [ts.minimize(f, np.zeros(50), L1(weight)) for weight in weights]
        assert path.success.all()
        assert np.allclose(path.x, [res.x for res in alone], atol=1e-3)
        warm, cold = warm + sum(path.nit), cold + sum(res.nit for res in alone)
    assert warm <= cold / 3


def test_between_changes_of_the_support_the_next_solution_is_foreseen():
    """Also with two terms more, in whatever direction the weights go."""

    def f(x):
        return ((x - 3) ** 2).sum() / 2, x - 3

    for terms in (L1, lambda w: [L1(w), Box(-9, 9)], lambda w: [L1(w), Box(-9, 9), L2Ball(9)]):
        path = ts.path(f, np.zeros(4), terms, [1.0, 0.9, 0.7, 0.6, 0.7])
        assert np.allclose(path.x, (3 - np.array(path.weights))[:, None], atol=1e-5)
        assert path.nit[2] < path.nit[0]  # each is right to `tol`, and the line lengthens errors
        assert (path.nit[3:] <= 2).all()


def test_a_path_has_a_line_for_each_weight():
    f, largest = lasso()
    path = ts.path(f, np.zeros(50), L1, largest * np.geomspace(1.0, 0.1, 5))
    assert len(path) == len(path.weights) == len(list(path)) == 5
    assert path.x.shape == (5, 50)
    assert np.array_equal(path.x[3], path[3].x)
    assert np.array_equal(path.fun, [res.fun for res in path.results])
    assert np.array_equal(path.nonzeros, np.count_nonzero(path.x, axis=1))
    lines = str(path).splitlines()
    assert len(lines) == 6
    assert lines[0].split() == ["weight", "fun", "nonzeros", "||x||", "nit", "status"]
    assert [line.split()[-1] for line in lines[1:]] == ["CONVERGED"] * 5


@pytest.mark.parametrize("where", ["terms", "f"])
def test_an_interrupted_path_has_what_there_is(where):
    f, largest = lasso()
    calls = []

    def interrupt():
        calls.append(0)
        if len(calls) == 3:
            raise KeyboardInterrupt

    def terms(weight):
        if where == "terms":
            interrupt()
        return L1(weight)

    def watch(made):
        if where == "f" and made.t == 2:
            interrupt()

    path = ts.path(f, np.zeros(50), terms, largest * np.geomspace(0.9, 0.1, 5), callback=watch)
    assert [status.name for status in path.status[:2]] == ["CONVERGED"] * 2
    assert len(path) == (2 if where == "terms" else 3)
    assert where == "terms" or path[2].status is ts.Status.INTERRUPTED


def test_the_time_limit_is_for_the_whole_path():
    f, largest = lasso()
    path = ts.path(f, np.zeros(50), L1, largest * np.geomspace(1.0, 0.01, 20), time_limit=1e-3)
    assert len(path) < 20


class Linear:
    """w times the sum of x."""

    def __init__(self, w):
        self.w = w

    def value(self, x):
        return self.w * x.sum()

    def prox(self, x, gamma):
        return x - gamma * self.w


def test_a_start_ahead_where_f_is_not_defined_is_given_up():
    """x = 1 / w falls below 0 on the line through the first two weights."""

    def f(x):
        return (-np.log(x).sum(), -1 / x) if (x > 0).all() else (np.nan, np.full_like(x, np.nan))

    path = ts.path(f, np.full(2, 0.1), lambda w: [ts.terms.Free(), Linear(w)], [1.0, 2.0, 3.9])
    assert np.allclose(path.x[:, 0], [1.0, 0.5, 1 / 3.9], atol=1e-4)


def test_weights_may_be_whatever_the_terms_are_made_of():
    f, largest = lasso()
    path = ts.path(
        f, np.zeros(50), lambda pair: [L1(pair[0]), Box(-pair[1], pair[1])], [(largest / 2, 1), (largest / 4, 2)]
    )
    assert path.success.all()
    assert "CONVERGED" in str(path)


def test_what_a_path_does_not_take_is_said():
    f, _ = lasso()
    with pytest.raises(ts.InputError, match="`weights` is empty"):
        ts.path(f, np.zeros(50), L1, [])
    with pytest.raises(ts.InputError, match="`batch_ndim` is not for a path"):
        ts.path(f, np.zeros(50), L1, [1.0], batch_ndim=1)
