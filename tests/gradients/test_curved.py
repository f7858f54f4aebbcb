"""SVRG2: second derivatives, what they leave to a batch, and snapshots that grow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import trisplit as ts
from trisplit.gradients import SVRG2
from trisplit.gradients.access import Access
from trisplit.gradients.curved import Snapshot
from trisplit.gradients.draws import Draw
from trisplit.problems.oracles import Counts

N, D = 60, 3


def table(n=N, d=D, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    return A, np.sign(A @ rng.standard_normal(d) + rng.standard_normal(n))


def started(loss, z, estimator, key=0):
    """Return access to a loss and the memory after the snapshot at z."""
    access = Access(loss, Counts())
    return access, estimator.estimate(None, access, z, Draw(key, 0))[1]


def test_second_derivatives_are_those_of_phi():
    A, b = table()
    p, rows = np.linspace(-30.0, 30.0, N), np.arange(N)
    odds = np.exp(-np.abs(p))
    assert_allclose(ts.losses.Logistic(A, b).bends_at(p, rows), odds / (1 + odds) ** 2, atol=1e-9)
    assert_allclose(ts.losses.LeastSquares(A, b).bends_at(p, rows), np.ones(N), rtol=1e-9)
    assert_allclose(ts.losses.Poisson(A, np.abs(b)).bends_at(p / 10, rows), np.exp(p / 10), rtol=1e-8)


@pytest.mark.parametrize("kind", ["dense", "sparse", "mapped"])
@pytest.mark.parametrize("rows", [slice(0, N), np.array([5, 3, 8, 3])], ids=["all", "some"])
def test_the_hessian_of_some_samples(kind, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(ts.losses.samples, "BLOCK", 8 * D * 7)  # several blocks
    A, b = table()
    given = A
    if kind == "mapped":
        np.save(tmp_path / "A.npy", A)
        given = np.load(tmp_path / "A.npy", mmap_mode="r")
    loss = ts.losses.Logistic(sparse.csr_array(A) if kind == "sparse" else given, b)
    weights = np.random.default_rng(1).standard_normal(len(A[rows]))
    assert_allclose(loss.gram(weights, rows), A[rows].T @ np.diag(weights) @ A[rows], atol=1e-12)


def test_a_quadratic_leaves_nothing_to_a_batch():
    A, b = table()
    loss = ts.losses.LeastSquares(A, b, ridge=0.3)
    access, memory = started(loss, np.zeros(D), SVRG2(2))
    for t, z in enumerate(np.random.default_rng(2).standard_normal((5, D)), start=1):
        u, _ = SVRG2(2).estimate(memory, access, z, Draw(0, t))
        assert_allclose(u, loss.grad(z), rtol=1e-8, atol=1e-8)


def test_the_error_is_small_of_second_order():
    """Half the way from the snapshot, a quarter of the error; that of SVRG is half of it."""
    loss = ts.losses.Logistic(*table())
    w, direction = np.full(D, 0.2), np.array([1.0, -0.5, 0.3])
    errors = {}
    for estimator in (SVRG2(2, every=99), ts.gradients.SVRG(2, every=99)):
        access, memory = started(loss, w, estimator)
        for length in (0.02, 0.01):
            z = w + length * direction
            off = [estimator.estimate(memory, access, z, Draw(0, t))[0] - loss.grad(z) for t in range(1, 60)]
            errors[type(estimator), length] = np.sqrt(np.mean(np.square(off)))
    ratios = [errors[kind, 0.01] / errors[kind, 0.02] for kind in (SVRG2, ts.gradients.SVRG)]
    assert_allclose(ratios, [0.25, 0.5], rtol=0.05)
    assert errors[SVRG2, 0.01] < 0.02 * errors[ts.gradients.SVRG, 0.01]


def test_snapshots_grow_to_all_samples():
    """The first estimates are those of the mean over a part of the samples, from which batches are drawn."""
    A, b = table(n=6400)
    loss, z = ts.losses.Logistic(A, b), np.full(D, 0.1)
    estimator = SVRG2(8, every=1)
    access, memory, counts = Access(loss, Counts()), None, []
    for t in range(8):
        before = access.counts.samples
        u, memory = estimator.estimate(memory, access, z, Draw(0, t))
        counts.append(access.counts.samples - before)
        if t == 0:
            rows = Snapshot(*memory).rows
            assert_allclose(u, loss.batch_grad(z, rows), rtol=1e-12)
            assert len(set(rows)) == len(rows)
        if t == 1:  # at the snapshot, nothing is left to the batch
            assert_allclose(u, loss.batch_grad(z, rows), rtol=1e-12)
    assert counts == [100, 8, 800, 8, 6400, 8, 6400, 8]
    assert_allclose(u, loss.grad(z), rtol=1e-10)


def test_it_takes_fewer_passes_than_a_table():
    A, b = table(n=30_000, d=6)
    loss, terms = ts.losses.Logistic(A, b), [ts.terms.L1(0.01), ts.terms.Box(-1, 1)]
    passes = {}
    for name in ("svrg2", "saga", "svrg"):
        res = ts.minimize(loss, np.zeros(6), terms, gradient=name, tol=1e-8, rng=0)
        assert res.success
        passes[name] = res.trace.rows[-1].samples / loss.n
    assert passes["svrg2"] < min(passes["saga"], passes["svrg"]) / 2


@pytest.mark.parametrize("name", ["Huber", "SquaredHinge", "Tukey", "Welsch", "StudentT"])
def test_losses_that_bend_otherwise(name):
    """Second derivatives that jump or are negative: the estimate is unbiased all the same."""
    A, b = table(n=400)
    loss = getattr(ts.losses, name)(A, b)
    res = ts.minimize(loss, np.zeros(D), [ts.terms.L1(0.01), ts.terms.Box(-1, 1)], gradient="svrg2", tol=1e-6, rng=0)
    assert res.success


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ts.losses.Multinomial(table()[0], np.arange(N) % 3), "one prediction a sample, got Multinomial"),
        (lambda: ts.losses.LeastSquares(sparse.eye_array(4, 2001), np.zeros(4)), "at most 2000, got 2001"),
    ],
)
def test_what_it_does_not_take(make, message):
    loss = make()
    with pytest.raises(ts.InputError, match=message) as caught:
        ts.minimize(loss, np.zeros(loss.shape), ts.terms.L1(1.0), gradient="svrg2")
    assert "\n" not in str(caught.value)
