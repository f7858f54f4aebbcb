"""Estimates of gradients: what they are on average, how they vary, and that runs with them end where they should."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import trisplit as ts
from trisplit.gradients import PAGE, SAGA, SARAH, STORM, SVRG, SVRG2, Minibatch, batch_smoothness, estimators
from trisplit.gradients.access import Access
from trisplit.gradients.draws import Draw
from trisplit.problems.oracles import Counts

N, D = 12, 4
OF_SAMPLES = [name for name in estimators if name != "stream"]  # which tests/losses/test_streams.py is about


class Chosen(Draw):
    """A draw whose rows are given."""

    def rows(self, n, size, *, replace=False):
        return np.array(self.key)


class Plain:
    """A sum that knows no slopes, of the same samples."""

    def __init__(self, loss):
        self.loss, self.n, self.ridge = loss, loss.n, 0.0
        self.value, self.grad, self.lipschitz = loss.value, loss.grad, loss.lipschitz
        self.batch_grad, self.sample_grads = loss.batch_grad, loss.sample_grads
        self.sample_lipschitz = loss.sample_lipschitz


def sum_of(kind, n=N, d=D, ridge=0.1):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((n, d))
    loss = ts.losses.Logistic(A, np.sign(A @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n)), ridge=ridge)
    return loss if kind == "linear" else Plain(loss)


def copied(memory):
    return tuple(item.copy() if isinstance(item, np.ndarray) else item for item in memory)


OF_PAIRS = [Minibatch(2), SVRG(2, every=9), SAGA(2), SARAH(2, every=9), PAGE(2, chance=1e-9), STORM(2)]


@pytest.mark.parametrize(
    ("estimator", "kind"), [*product(OF_PAIRS, ["linear", "plain"]), (SVRG2(2, every=9), "linear")], ids=str
)
def test_the_mean_over_all_draws(estimator, kind):
    """Unbiased, or wrong by as much as the estimate before, times 1 - momentum."""
    loss, rng = sum_of(kind), np.random.default_rng(1)
    access, memory, z = Access(loss, Counts()), None, None
    points = rng.standard_normal((3, D))
    for t, z in enumerate(points[:2]):
        u, memory = estimator.estimate(memory, access, z, Chosen([0, 3], t))
    before = u - loss.grad(z)
    pairs = list(product(range(N), repeat=2)) if isinstance(estimator, Minibatch) else list(np.ndindex(N, N))
    if not isinstance(estimator, Minibatch):
        pairs = [(i, j) for i, j in pairs if i != j]  # different samples
    z = points[2]
    found = [estimator.estimate(copied(memory), access, z, Chosen(list(pair), 2))[0] for pair in pairs]
    share = {SARAH: 1.0, PAGE: 1.0, STORM: 0.9}.get(type(estimator), 0.0)
    assert_allclose(np.mean(found, axis=0), loss.grad(z) + share * before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_variance_of_a_minibatch(size):
    """[YMS21] Lemma 3: sigma^2 / |Q|; for independent samples that is what it is."""
    loss, z = sum_of("linear"), np.ones(D)
    each = loss.sample_grads(z, np.arange(N)) - loss.grad(z)
    sigma2 = np.mean(np.sum(each**2, axis=1))
    access = Access(loss, Counts())
    errors = [
        Minibatch(size).estimate(None, access, z, Chosen(list(rows), 0))[0] - loss.grad(z)
        for rows in product(range(N), repeat=size)
    ]
    assert_allclose(np.mean(np.sum(np.square(errors), axis=1)), sigma2 / size, rtol=1e-10)


@pytest.mark.parametrize("kind", ["linear", "plain"])
def test_expected_smoothness_bounds_a_step(kind):
    """E ||grad f_B(z) - grad f_B(x)||^2 <= 2 L_B (f(z) - f(x)) at the minimiser x."""
    loss = sum_of(kind)
    x = ts.minimize(loss, np.zeros(D), ts.terms.Zero(), tol=1e-12).x
    for size in (1, 2, 3):
        bound = batch_smoothness(loss, size)
        assert loss.lipschitz * (1 - 1e-12) <= bound <= loss.sample_lipschitz * (1 + 1e-12)
        rng = np.random.default_rng(size)
        for z in x + rng.standard_normal((5, D)):
            batches = [rng.choice(N, size, replace=False) for _ in range(300)]
            moved = [np.sum((loss.batch_grad(z, rows) - loss.batch_grad(x, rows)) ** 2) for rows in batches]
            assert np.mean(moved) <= 2 * bound * (loss.value(z) - loss.value(x)) * 1.2  # 300 draws of all


TERMS = [ts.terms.L1(0.02), ts.terms.Box(-0.3, 0.8)]


@pytest.mark.parametrize(
    ("name", "kind"), [*product(["svrg", "saga", "sarah", "page"], ["linear", "plain"]), ("svrg2", "linear")]
)
def test_variance_reduction_converges_linearly(name, kind):
    loss = sum_of(kind, n=200, d=8)
    x = ts.minimize(loss, np.zeros(8), TERMS, tol=1e-13, max_iter=100_000).x
    distances = []
    res = ts.minimize(
        loss, np.zeros(8), TERMS, gradient=name, tol=0, max_iter=1500, rng=1,
        callback=lambda state: distances.append(np.linalg.norm(state.z - x)),
    )  # fmt: skip
    distances = np.array(distances)
    assert distances[-1] < 1e-8
    until = np.argmax(distances < 1e-9) if (distances < 1e-9).any() else len(distances)
    t = np.arange(until)
    slope, level = np.polyfit(t, np.log(distances[:until]), 1)
    assert slope < -3e-3
    assert (
        np.abs(np.log(distances[:until]) - slope * t - level).max() < 6.0
    )  # a line over eight decades, with stairs between snapshots
    assert res.trace.rows[-1].samples > 0


@pytest.mark.parametrize("name", OF_SAMPLES)
def test_tol_is_honoured(name):
    loss = sum_of("linear", n=100, d=5)
    exact = ts.minimize(loss, np.zeros(5), TERMS, tol=1e-12)
    tol = 1e-7 if name not in ("minibatch", "storm") else 0.5
    res = ts.minimize(loss, np.zeros(5), TERMS, gradient=name, tol=tol, max_iter=20_000, rng=0)
    assert res.success
    assert res.certificate.stationarity <= tol * max(1, abs(res.fun))
    gap = ts.certificates.epsilon_stationary(ts.Problem(loss, TERMS), res.x)
    assert_allclose(res.certificate.stationarity, gap, rtol=1e-6, atol=1e-12)  # with the gradient itself
    assert res.fun >= exact.fun - 1e-12


def test_a_minibatch_reaches_its_floor_and_no_further():
    """E ||z - x||^2 <= 2 gamma sigma^2 / mu after long, sigma^2 the variance at the solution.

    R. M. Gower, N. Loizou, X. Qian, A. Sailanbayev, E. Shulgin, P. Richtarik (2019), SGD: general analysis and improved
    rates, theorem 3.1, for the proximal iteration that the splitting is if h is zero.
    """
    loss, mu, gamma, size = sum_of("linear", n=60, d=4, ridge=0.3), 0.3, 0.05, 5
    x = ts.minimize(loss, np.zeros(4), ts.terms.L1(0.02), tol=1e-13).x
    each = loss.sample_grads(x, np.arange(60)) - loss.grad(x)
    sigma2 = np.mean(np.sum(each**2, axis=1)) / size
    errors = []
    ts.minimize(
        loss, x, ts.terms.L1(0.02), gradient=Minibatch(size), step=gamma, tol=0, max_iter=6000, rng=0,
        callback=lambda state: errors.append(np.sum((state.z - x) ** 2)),
    )  # fmt: skip
    floor = np.mean(errors[1000:])
    assert 0 < floor <= 2 * gamma * sigma2 / mu
    assert floor > 1e-3 * gamma * sigma2 / mu


@pytest.mark.parametrize("name", [name for name in OF_SAMPLES if name != "exact"])
@pytest.mark.parametrize("terms", [TERMS, [*TERMS, ts.terms.L2Ball(2.0)]], ids=["two", "three"])
def test_a_run_that_resumes_is_bit_identical(name, terms, tmp_path):
    loss, path = sum_of("linear", n=50, d=5), tmp_path / "run"
    options = {"gradient": name, "tol": 0, "rng": 3}
    whole = ts.minimize(loss, np.zeros(5), terms, max_iter=40, **options)
    for end in (7, 23, 40):
        res = ts.minimize(loss, np.zeros(5), terms, max_iter=end, checkpoint=path, **options)
    assert_array_equal(res.x, whole.x)
    assert res.trace.rows[-1].samples == whole.trace.rows[-1].samples
    other = ts.minimize(loss, np.zeros(5), terms, max_iter=40, gradient=name, tol=0, rng=4)
    assert not np.array_equal(other.x, whole.x)


def test_a_checkpoint_of_another_gradient_is_refused(tmp_path):
    loss, path = sum_of("linear"), tmp_path / "run"
    ts.minimize(loss, np.zeros(D), TERMS, gradient=SVRG(2), max_iter=3, checkpoint=path)
    with pytest.raises(ts.InputError, match="`gradient` differs"):
        ts.minimize(loss, np.zeros(D), TERMS, gradient=SVRG(3), max_iter=3, checkpoint=path)


def test_samples_are_counted():
    loss = sum_of("linear")
    res = ts.minimize(loss, np.zeros(D), TERMS, gradient=SAGA(3), tol=0, max_iter=11, rng=0)
    assert res.trace.rows[-1].samples == N + 10 * 3
    res = ts.minimize(loss, np.zeros(D), TERMS, gradient=SARAH(3, every=5), tol=0, max_iter=12, rng=0)
    assert res.trace.rows[-1].samples == 2 * N + 10 * 6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gradient": "newton"}, "`gradient` must be an estimator or one of exact, minibatch"),
        ({"gradient": SVRG(N + 1)}, "`size` of a batch must be at most the number 12"),
        ({"gradient": SAGA(N + 1)}, "`size` of a batch must be at most the number 12"),
        ({"gradient": "saga", "step": ts.steps.Adaptive()}, "an adaptive step needs gradient='exact'"),
        ({"gradient": "saga", "batch_ndim": 1}, "a batch of problems needs gradient='exact'"),
    ],
)
def test_bad_options(given, message):
    x0 = np.zeros((1, D)) if "batch_ndim" in given else np.zeros(D)
    with pytest.raises(ts.InputError, match=message) as caught:
        ts.minimize(sum_of("linear"), x0, TERMS, **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Minibatch(0), "size"),
        (lambda: Minibatch("many"), "size"),
        (lambda: SVRG(every=0), "every"),
        (lambda: PAGE(chance=0.0), "chance"),
        (lambda: STORM(momentum=2.0), "momentum"),
        (lambda: SAGA(1.5), "size"),
    ],
)
def test_bad_parameters(make, name):
    with pytest.raises(ts.InputError, match=f"`{name}`"):
        make()


def test_an_f_without_samples_is_refused():
    with pytest.raises(ts.InputError, match="needs an f with `n` and `batch_grad"):
        ts.minimize(lambda x: (x @ x, 2 * x), np.zeros(2), TERMS, gradient="saga")
