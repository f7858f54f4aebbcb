"""What does not fit is refused where a loss is made, in one line that names the argument and the remedy."""

import numpy as np
import pytest
from scipy import sparse

import trisplit as ts
from trisplit.losses import LinearModel, Parameters, registry

A, b = np.arange(6.0).reshape(3, 2) + 1.0, np.array([1.0, 0.0, 1.0])
NAN = np.array([[1.0, np.nan], [0.0, 1.0], [1.0, 1.0]])
losses = ts.losses
BAD = {
    "NaN": (lambda: losses.LeastSquares(NAN, b), "`A` holds NaN or inf; drop or fill those samples"),
    "sparse NaN": (lambda: losses.Logistic(sparse.csr_array(NAN), b), "`A` holds NaN or inf"),
    "inf": (lambda: losses.Huber(A, [1.0, np.inf, 0.0]), "`b` holds NaN or inf"),
    "empty": (lambda: losses.Tukey(np.zeros((0, 2)), []), r"`A` must have two axes, .* got shape \(0, 2\)"),
    "no columns": (lambda: losses.Cox(np.zeros((3, 0)), b), r"`A` must have two axes, .* got shape \(3, 0\)"),
    "one axis": (lambda: losses.LeastSquares(b, b), r"`A` must have two axes, .* got shape \(3,\)"),
    "ragged": (lambda: losses.LeastSquares([[1.0], [1.0, 2.0]], b), "`A` must be a table of numbers, got list"),
    "text": (lambda: losses.LeastSquares([["a", "b"]], [1.0]), "`A` must hold real numbers, got <U1"),
    "complex": (lambda: losses.LeastSquares(1j * A, b), "`A` must hold real numbers, got complex128"),
    "size": (lambda: losses.LeastSquares(A, [1.0]), r"`b` must be a vector .* of 3 samples, got shape \(1,\)"),
    "two axes": (lambda: losses.Logistic(A, A), r"`b` must be a vector .* of 3 samples, got shape \(3, 2\)"),
    "labels in words": (lambda: losses.Logistic(A, ["a", "b", "a"]), "`b` must hold numbers, got <U1; encode"),
    "labels": (lambda: losses.Logistic(A, [1, 2, 3]), r"`b` must hold labels of -1 and 1, .* got \[1.0, 2.0, 3.0\]"),
    "mixed labels": (lambda: losses.Sigmoid(A, [-1, 0, 1]), r"`b` must hold labels .* got \[-1.0, 0.0, 1.0\]"),
    "classes": (lambda: losses.Multinomial(A, [0, 1, 3], classes=3), r"whole numbers from 0 to 2, got \[3.0\]"),
    "half a class": (lambda: losses.Multinomial(A, [0, 1, 0.5]), r"whole numbers from 0 to 1, got \[0.5\]"),
    "negative class": (lambda: losses.MLP(A, [0, 1, -1]), r"whole numbers from 0 to 1, got \[-1.0\]"),
    "counts": (lambda: losses.Poisson(A, [1, -2, 0]), r"`b` must hold counts >= 0, got -2.0"),
    "sizes": (lambda: losses.PhaseIntensity(A, [1, -2, 0]), r"`b` must be >= 0, got -2.0"),
    "ridge": (lambda: losses.LeastSquares(A, b, ridge=-1.0), r"`ridge` must be a finite number >= 0, got -1.0"),
    "delta": (lambda: losses.Huber(A, b, delta=0.0), r"`delta` must be a finite number > 0, got 0.0"),
    "c": (lambda: losses.Welsch(A, b, c=-1.0), r"`c` must be a finite number > 0, got -1.0"),
    "nu": (lambda: losses.StudentT(A, b, nu=np.nan), r"`nu` holds NaN"),
    "s": (lambda: losses.SmoothRamp(A, b, s=1.0), r"`s` must be one number below 1, got 1.0"),
    "events": (lambda: losses.Cox(A, b, [0, 1, 2]), r"`events` must hold 0 \(censored\) and 1 .* got \[2.0\]"),
    "no event": (lambda: losses.Cox(A, b, [0, 0, 0]), r"`events` holds no event"),
    "times": (lambda: losses.Cox(A, [1.0, np.nan, 2.0]), r"`times` holds NaN"),
    "square": (lambda: losses.Quadratic(A), r"`Q` must be square, got shape \(3, 2\)"),
    "c of Q": (lambda: losses.Quadratic(np.eye(2), [1.0]), r"`c` has shape \(1,\) where `Q` asks for \(2,\)"),
    "sides": (lambda: losses.QAP(np.eye(2), np.eye(3)), r"`A` has 2 rows and `B` 3"),
    "C": (lambda: losses.QAP(np.eye(2), np.eye(2), np.ones(2)), r"`C` has shape \(2,\)"),
    "linear": (lambda: losses.Linear([]), "`c` is empty"),
    "rank": (lambda: losses.MatrixFactorization(A, 0), "`rank` must be at least 1, got 0"),
    "entries": (lambda: losses.MatrixCompletion([0, 3], [0, 0], [1, 1], (3, 2), 1), "`i` must lie between 0 and 2"),
    "twice": (lambda: losses.MatrixCompletion([0, 0], [1, 1], [1, 1], (3, 2), 1), "name an entry of the matrix twice"),
    "i and j": (lambda: losses.MatrixCompletion([0, 1], [1], [1, 1], (3, 2), 1), "`i` has 2 entries and `j` 1"),
    "not whole": (lambda: losses.MatrixCompletion([0.5], [1], [1], (3, 2), 1), "`i` must be a vector of .* whole"),
    "shape": (lambda: losses.MatrixCompletion([0], [1], [1], 3, 1), r"`shape` must be \(m, k\)"),
    "y": (lambda: losses.MatrixCompletion([0], [1], [1, 2], (3, 2), 1), "`y` must be a vector .* of 1 samples"),
    "sigma": (lambda: losses.GaussianMixture(A, 2, sigma=0.0), "`sigma` must be a finite number > 0"),
    "components": (lambda: losses.GaussianMixture(A, 0), "`components` must be at least 1, got 0"),
    "hidden": (lambda: losses.MLP(A, b, hidden=0), "`hidden` must be at least 1, got 0"),
    "loss": (lambda: losses.MLP(A, b, loss="hinge"), "`loss` must be one of cross_entropy, squared, got 'hinge'"),
    "no parameters": (lambda: Parameters({}), "`like` holds no arrays"),
    "a number": (lambda: Parameters({"a": 1.0}), "`like` must hold arrays .* got float at 'a'"),
    "integers": (lambda: Parameters([np.arange(3)]), "`like` must hold real floating-point numbers, got int64 at '0'"),
    "dtypes": (
        lambda: Parameters({"a": np.ones(2), "b": np.ones(2, dtype=np.float32)}),
        "of one library, device and dtype, got numpy float32 at 'b' and numpy float64 at 'a'",
    ),
    "paths": (lambda: Parameters({"a": {"b": b}, "a.b": b}), "two arrays with the path 'a.b'"),
    "empty array": (lambda: Parameters({"a": np.ones((0, 2))}), r"`like` is empty at 'a', shape \(0, 2\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_in_one_line(case):
    make, message = BAD[case]
    with pytest.raises(ts.InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert ";" in str(caught.value)


@pytest.mark.parametrize("rows", [[], [0.5], [-1], [3], [[0]], 0])
@pytest.mark.parametrize("method", ["sample_grads", "batch_grad"])
@pytest.mark.parametrize("name", ["logistic", "cox", "matrix_completion", "gaussian_mixture", "mlp"])
def test_rows_that_are_not_there_are_named(rows, method, name):
    loss, shape = registry[name].examples()[0]
    rows = [loss.n] if rows == [3] else rows
    with pytest.raises(ts.InputError, match=r"^`rows` must"):
        getattr(loss, method)(np.zeros(shape), np.array(rows))


def test_files_with_nan_are_refused_when_they_are_read(tmp_path):
    np.save(tmp_path / "A.npy", NAN)
    f = losses.LeastSquares(np.load(tmp_path / "A.npy", mmap_mode="r"), b)
    with pytest.raises(ts.InputError, match="`A` holds NaN or inf in rows 0 to 2"):
        f.value(np.zeros(2))
    with pytest.raises(ts.InputError, match="`A` holds NaN or inf in the rows asked for"):
        f.batch_grad(np.zeros(2), np.array([0]))
    with pytest.raises(ts.InputError, match="`A` is a mapped file"):
        losses.Cox(np.load(tmp_path / "A.npy", mmap_mode="r"), b)


def test_parameters_that_do_not_fit_are_named():
    layout = Parameters({"W": np.ones((2, 2)), "layers": [np.ones(3), np.ones(1)]})
    assert layout.paths == ("W", "layers.0", "layers.1")
    with pytest.raises(ts.InputError, match=r"`terms` names 'V', which is no parameter; there are 'W', 'layers.0', "):
        layout.terms({"V": ts.terms.L1()})
    with pytest.raises(ts.InputError, match=r"`params` must have the paths of `like`, but 'layers.1' is only in one"):
        layout.flatten({"W": np.ones((2, 2)), "layers": [np.ones(3)]})
    with pytest.raises(ts.InputError, match=r"`params` has shape \(4,\) at 'W', not \(2, 2\)"):
        layout.flatten({"W": np.ones(4), "layers": [np.ones(3), np.ones(1)]})
    with pytest.raises(ts.InputError, match="`x` must be a vector of 8 entries"):
        layout.unflatten(np.zeros(7))


def test_a_loss_needs_only_phi_and_its_slope():
    """The lines that the documentation asks of a new loss of linear predictions."""

    class Fourth(LinearModel):
        def phi(self, p, b):
            return (p - b) ** 4

        def slope(self, p, b):
            return 4 * (p - b) ** 3

    f = Fourth(A, b)
    assert f.value(np.zeros(2)) == pytest.approx(2 / 3)
    assert f.lipschitz is None
    np.testing.assert_allclose(f.sample_grads(np.ones(2), np.arange(3)).mean(axis=0), f.grad(np.ones(2)))
