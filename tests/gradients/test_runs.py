"""Runs with estimated gradients: interrupted, relaxed, on files, with estimators of one's own."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import trisplit as ts
from trisplit.gradients import SAGA, SVRG, SVRG2, estimators
from trisplit.losses.samples import Samples

OF_SAMPLES = [name for name in estimators if name not in ("exact", "stream")]


def signs(n, d, seed=0):
    """Return a well-conditioned least squares problem."""
    rng = np.random.default_rng(seed)
    A = rng.choice([-1.0, 1.0], (n, d))
    return ts.losses.LeastSquares(A, A @ rng.standard_normal(d) + rng.standard_normal(n))


class Interrupting:
    """An L1 norm whose proximal map is interrupted once: a run leaves it in the midst of an iteration."""

    convex, indicator = True, False
    left = 0  # calls until then, of the class: it is no part of the problem

    def value(self, x):
        return 0.1 * np.abs(x).sum()

    def prox(self, x, gamma):
        type(self).left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return x - np.clip(x, -0.1 * gamma, 0.1 * gamma)


@pytest.mark.parametrize("calls", [20, 33])
@pytest.mark.parametrize("name", OF_SAMPLES)
def test_an_interrupt_within_an_iteration_loses_nothing(name, calls, tmp_path, monkeypatch):
    loss, x0, terms = signs(60, 5), np.zeros(5), [ts.terms.Zero(), Interrupting()]
    options = {"gradient": name, "tol": 0, "rng": 3, "step": 0.05, "max_iter": 50}
    whole = ts.minimize(loss, x0, terms, **options)
    monkeypatch.setattr(Interrupting, "left", calls)
    res = ts.minimize(loss, x0, terms, checkpoint=tmp_path / "run", **options)
    assert res.status is ts.Status.INTERRUPTED
    res = ts.minimize(loss, x0, terms, checkpoint=tmp_path / "run", **options)
    assert res.nit == 50
    assert_array_equal(res.x, whole.x)


@pytest.mark.parametrize("relax", [0.6, 1.5, 1.9])
@pytest.mark.parametrize("name", ["svrg", "svrg2", "saga"])
def test_default_steps_bear_relaxation(name, relax):
    res = ts.minimize(signs(2000, 5), np.zeros(5), [ts.terms.L1(0.01), ts.terms.Zero()], gradient=name, relax=relax,
                      tol=1e-5, rng=0)  # fmt: skip
    assert res.success


def test_a_part_of_the_samples_that_is_less_smooth_is_not_used():
    """Of categories as zeros and ones, a part may hold some twice as often: its steps would have to be half as long."""
    d, rng = 40, np.random.default_rng(0)
    n = 1600 * d
    level, farthest = rng.integers(0, d, n), []
    A = sparse.csr_array((np.ones(n), (np.arange(n), level)), shape=(n, d))
    loss = ts.losses.LeastSquares(A, rng.standard_normal(d)[level] + rng.standard_normal(n))
    res = ts.minimize(loss, np.zeros(d), [ts.terms.L1(1e-6), ts.terms.Zero()], gradient="svrg2", rng=0,
                      callback=lambda state: farthest.append(np.abs(state.z).max()))  # fmt: skip
    assert res.success
    assert max(farthest) < 10


def test_one_long_row_leaves_batches_small():
    loss = signs(400, 5)
    A = loss.samples.array.copy()
    A[7] *= 1000
    assert SVRG2().batch(ts.losses.LeastSquares(A, np.zeros(400))) == 20
    assert SVRG2().batch(loss) <= 20


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("name", ["svrg", "svrg2", "saga", "sarah"])
def test_a_file_of_another_dtype_is_converted_in_blocks(name, dtype, tmp_path, monkeypatch):
    monkeypatch.setattr(ts.losses.samples, "BLOCK", 8 * 5 * 50)  # 50 rows
    given = signs(3000, 5)
    np.save(tmp_path / "A.npy", given.samples.array.astype(dtype))
    loss, most = ts.losses.LeastSquares(np.load(tmp_path / "A.npy", mmap_mode="r"), given.b), []
    part = Samples.part

    def watched(self, rows):
        found = part(self, rows)
        most.append(found.shape[0])
        return found

    monkeypatch.setattr(Samples, "part", watched)
    res = ts.minimize(loss, np.zeros(5), ts.terms.L1(0.01), gradient=name, step=0.3, tol=1e-6, rng=0)
    assert res.success
    assert max(most) <= 100  # float32 of half the size: twice as many rows in a block


@pytest.mark.parametrize("estimator", [SVRG, SVRG2, SAGA])
def test_sizes_of_numpy_are_kept_as_numbers(estimator, tmp_path):
    given = estimator(np.int64(8)) if estimator is SAGA else estimator(np.int64(8), np.int64(4))
    assert given == (estimator(8) if estimator is SAGA else estimator(8, 4))
    res = ts.minimize(signs(100, 3), np.zeros(3), ts.terms.L1(0.1), gradient=given, tol=0, max_iter=11,
                      checkpoint=tmp_path / "run")  # fmt: skip
    assert res.nit == 11
    with pytest.raises(ts.InputError, match="`size` must be a whole number, got True"):
        estimator(True)


def test_an_estimator_that_counts_no_samples_is_looked_at_all_the_same():
    class Silent:
        def estimate(self, memory, f, z, draw):
            return f.loss.grad(z), ()

        def step(self, loss):
            return 1.0 / loss.lipschitz

    res = ts.minimize(signs(100, 3), np.zeros(3), ts.terms.L1(0.1), gradient=Silent(), tol=1e-8)
    assert res.success
    assert res.nit < 1000


def test_snapshots_serve_no_longer_than_they_help():
    """On a problem where half a pass is enough, SVRG takes about as many passes as SAGA."""
    loss, passes = signs(5000, 20), {}
    for name in ("svrg", "saga"):
        res = ts.minimize(loss, np.zeros(20), [ts.terms.L1(0.01), ts.terms.Zero()], gradient=name, tol=1e-6, rng=0)
        assert res.success
        passes[name] = res.trace.rows[-1].samples / loss.n
    assert passes["svrg"] < 1.5 * passes["saga"]


def test_single_precision_is_used_to_the_end():
    loss = signs(2000, 4)
    loss = ts.losses.LeastSquares(loss.samples.array.astype(np.float32), 100 * loss.b.astype(np.float32))
    errors = {}
    for name in ("svrg2", "exact"):
        res = ts.minimize(
            loss, np.zeros(4, np.float32), ts.terms.L1(0.01), gradient=name, tol=1e-7, max_iter=3000, rng=0
        )
        errors[name] = res.certificate.stationarity / max(1, abs(res.fun))
    assert errors["svrg2"] < max(4 * errors["exact"], 1e-7)
