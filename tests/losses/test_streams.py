"""Losses of data that come in batches, and of files that are larger than the memory they may take."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import trisplit as ts
from trisplit.losses import LeastSquares, Logistic, Streamed, Svmlight

TERMS = [ts.terms.L1(0.02), ts.terms.Box(-0.3, 0.8)]


def data(n=57, d=6):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    return A, np.sign(A @ rng.standard_normal(d) + 0.2)


def cut(A, b, sizes):
    edges = np.cumsum([0, *sizes])
    return [(A[i:j], b[i:j]) for i, j in pairwise(edges)]


@pytest.mark.parametrize("loss", [LeastSquares, Logistic, ts.losses.Tukey])
@pytest.mark.parametrize("sizes", [[57], [20, 20, 17], [1] * 57])
def test_a_stream_is_the_loss_of_all_its_samples(loss, sizes):
    A, b = data()
    whole, streamed = loss(A, b), Streamed(loss, cut(A, b, sizes))
    x = np.random.default_rng(0).standard_normal(6)
    assert streamed.n == 57
    assert_allclose(streamed.value(x), whole.value(x), rtol=1e-13)
    assert_allclose(streamed.grad(x), whole.grad(x), rtol=1e-12, atol=1e-14)
    assert streamed.lipschitz >= whole.lipschitz * (1 - 1e-12)
    assert_allclose(streamed.sample_lipschitz, whole.sample_lipschitz, rtol=1e-12)


def test_batches_come_in_order_and_again():
    A, b = data()
    streamed = Streamed(LeastSquares, lambda: iter(cut(A, b, [20, 20, 17])))
    x, found, position = np.ones(6), [], 0
    for _ in range(7):
        part, position = streamed.batch_at(position)
        found.append(part.grad(x))
    for k in range(3, 7):
        assert_array_equal(found[k], found[k - 3])
    again, _ = streamed.batch_at(4)  # sought from the beginning
    assert_array_equal(again.grad(x), found[4])


def test_runs_with_batches_resume(tmp_path):
    A, b = data()
    f = Streamed(Logistic, cut(A, b, [20, 20, 17]))
    options = {"gradient": "stream", "step": 0.1, "tol": 0}
    whole = ts.minimize(f, np.zeros(6), TERMS, max_iter=20, **options)
    for end in (4, 11, 20):
        res = ts.minimize(f, np.zeros(6), TERMS, max_iter=end, checkpoint=tmp_path / "run", **options)
    assert_array_equal(res.x, whole.x)
    assert whole.trace.rows[-1].samples == 7 * 20 + 7 * 20 + 6 * 17
    exact = ts.minimize(Logistic(A, b), np.zeros(6), TERMS, tol=1e-10)
    assert_allclose(ts.minimize(f, np.zeros(6), TERMS, tol=1e-10).x, exact.x, atol=1e-8)


def svmlight(path, A, b):
    lines = []
    for row, label in zip(A, b, strict=True):
        lines.append(" ".join([f"{label:g}", *(f"{j + 1}:{row[j]:.17g}" for j in np.flatnonzero(row))]))
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("chunk", [1, 37, 200, 10**6])
def test_a_file_in_chunks_of_any_size(tmp_path, chunk):
    pytest.importorskip("sklearn")
    A, b = data()
    svmlight(tmp_path / "data", A, b)
    f = Streamed(Logistic, Svmlight(tmp_path / "data", features=6, chunk=chunk))
    x = np.random.default_rng(0).standard_normal(6)
    assert f.n == 57
    assert_allclose(f.grad(x), Logistic(A, b).grad(x), rtol=1e-12, atol=1e-14)


def test_a_truncated_file_is_refused(tmp_path):
    pytest.importorskip("sklearn")
    A, b = data()
    path = tmp_path / "data"
    svmlight(path, A, b)
    f = Streamed(Logistic, Svmlight(path, features=6, chunk=300))
    text = path.read_text()
    path.write_text(text[: text.rindex(":") + 1])
    with pytest.raises(ts.InputError, match=r"cannot be read after byte .*truncated"):
        f.grad(np.zeros(6))
    path.write_text(text[: text.rindex("\n", 0, -1) + 1])  # a line less
    with pytest.raises(ts.InputError, match="must bring 57 samples in every pass, got 56"):
        f.grad(np.zeros(6))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Streamed(LeastSquares, iter([])), "can be read only once"),
        (lambda: Streamed(LeastSquares, []), "`batches` is empty"),
        (lambda: Streamed(LeastSquares, [np.ones(3)]), "batch 0 must be a pair"),
        (lambda: Streamed(LeastSquares, [(np.eye(2), [1.0, 2.0]), (np.full((1, 2), np.nan), [1.0])]), "batch 1: `A`"),
        (lambda: Streamed(Logistic, [(np.ones((2, 2)), [1.0, 7.0])]), "batch 0: `b` must hold labels"),
        (lambda: Svmlight("no such file", 3), "`path` must be a file"),
    ],
)  # fmt: skip
def test_bad_streams(make, message):
    with pytest.raises(ts.InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_an_iterable_that_ends_early_leaves_nothing_behind(tmp_path):
    """The error comes in the middle of a run; the checkpoint is that of before, and the run can go on from it."""
    A, b = data()
    left = [3]

    def batches():
        pairs = cut(A, b, [20, 20, 17])
        left[0] -= 1
        return iter(pairs if left[0] > 0 else pairs[:2])

    f = Streamed(Logistic, batches)
    with pytest.raises(ts.InputError, match="must bring 57 samples in every pass, got 40"):
        ts.minimize(f, np.zeros(6), TERMS, max_iter=50, tol=0, checkpoint=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_estimators_say_what_they_cannot_take():
    A, b = data()
    with pytest.raises(ts.InputError, match="gradient='stream' needs"):
        ts.minimize(Logistic(A, b), np.zeros(6), TERMS, gradient="stream")
    with pytest.raises(ts.InputError, match="samples of a stream have no numbers"):
        ts.minimize(Streamed(Logistic, [(A, b)]), np.zeros(6), TERMS, gradient="saga")


def test_a_data_loader_is_a_stream():
    torch = pytest.importorskip("torch")
    A, b = data()
    rows = torch.utils.data.TensorDataset(torch.asarray(A), torch.asarray(b))
    f = Streamed(LeastSquares, torch.utils.data.DataLoader(rows, batch_size=10))
    x = torch.ones(6, dtype=torch.float64)
    assert_allclose(f.grad(x).numpy(), LeastSquares(A, b).grad(np.ones(6)), rtol=1e-12)


@pytest.mark.parametrize("gradient", ["exact", "svrg", "saga"])
def test_mapped_files_and_sparse_matrices_give_the_answer_of_arrays(tmp_path, gradient, monkeypatch):
    A, b = data(n=300)
    np.save(tmp_path / "A.npy", A)
    monkeypatch.setattr("trisplit.losses.samples.BLOCK", 2000)
    expected = ts.minimize(Logistic(A, b, ridge=0.1), np.zeros(6), TERMS, gradient=gradient, tol=1e-9, rng=0)
    for table in (np.load(tmp_path / "A.npy", mmap_mode="r"), sparse.csr_array(A)):
        options = {"step": expected.trace.rows[-1].step} if gradient != "exact" else {}
        res = ts.minimize(
            Logistic(table, b, ridge=0.1), np.zeros(6), TERMS, gradient=gradient, tol=1e-9, rng=0, **options
        )
        assert_allclose(res.x, expected.x, atol=1e-8)


def test_a_wrong_gradient_of_ones_own_loss_is_found_within_a_stream():
    class Halved(LeastSquares):
        def value_and_grad(self, x):
            value, grad = super().value_and_grad(x)
            return value, grad / 2

    A, b = data()
    res = ts.minimize(Streamed(Halved, cut(A, b, [20, 37])), np.zeros(6), TERMS)
    assert res.status == ts.Status.BAD_GRADIENT, res.message
    assert ts.minimize(Streamed(LeastSquares, cut(A, b, [20, 37])), np.zeros(6), TERMS).success
