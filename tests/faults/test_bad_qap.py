"""Bad input to the quadratic assignment functions is one line that names the argument, what came and the remedy."""

import numpy as np
import pytest

import trisplit as ts

EYE = np.eye(3)


def message(function, *matrices, **arguments):
    with pytest.raises(ts.InputError) as caught:
        function(*matrices, **arguments)
    text = str(caught.value)
    assert "\n" not in text
    assert ";" in text, "no remedy"
    return text


@pytest.mark.parametrize("function", [ts.qap.solve, ts.qap.relax])
@pytest.mark.parametrize(
    ("matrices", "named", "came"),
    [
        ((np.ones((2, 3)), EYE), "`A`", "(2, 3)"),
        ((np.ones(3), EYE), "`A`", "(3,)"),
        ((EYE, np.ones((4, 3))), "`B`", "(4, 3)"),
        ((EYE * np.nan, EYE), "`A`", "nan at [0, 0]"),
        ((EYE, EYE / np.array([1, 1, 0.5]) + np.diag([0, 0, np.inf])), "`B`", "inf at [2, 2]"),
        ((EYE, EYE, np.ones(3)), "`C`", "(3,)"),
        ((EYE, EYE, np.ones((4, 4))), "`C`", "(4, 4)"),
        ((EYE, EYE, np.full((3, 3), np.nan)), "`C`", "nan"),
        ((EYE,), "`B`", "missing"),
        (("nug12", EYE), "`A`", "<U5"),
        ((None, EYE), "`A`", "object"),
        ((EYE * 1j, EYE), "`A`", "complex128"),
        (([[1, 2], [3]], EYE), "`A`", "list"),
        ((np.zeros((0, 0)), np.zeros((0, 0))), "`A`", "(0, 0)"),
        ((1e200 * EYE, 1e200 * EYE), "`A` and `B`", "overflow in float64"),
    ],
)
def test_matrices(function, matrices, named, came):
    text = message(function, *matrices)
    assert named in text
    assert came in text


@pytest.mark.parametrize("function", [ts.qap.solve, ts.qap.relax])
def test_an_instance_brings_its_own_matrices(function):
    nug12 = ts.qap.load("nug12")
    assert "`B`" in message(function, nug12, EYE)
    assert "`C`" in message(function, nug12, C=EYE)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x0", ([0, 0, 1], [1, 2, 3], [0, 1], [[0, 1, 2]], [0.0, 1.0, 2.0], "abc", [0, 1, -1])),
        ("starts", (0, -1, 1.5, "3", True)),
        ("time_limit", (0, -1, np.nan, "1", True)),
        ("max_iter", (0, 1.5, "3", True)),
        ("target", ("low", np.nan, True, [3])),
        ("rng", (-1, 0.5, "seed", True)),
        ("callback", (3, "print")),
    ],
)
def test_options_of_solve(name, values):
    for value in values:
        assert f"`{name}`" in message(ts.qap.solve, EYE, EYE, **{name: value})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x0", (np.ones(3), np.ones((4, 4)), EYE * np.nan, EYE * 1j, "abc", [[1], [1, 2]])),
        ("split", (0, 3, "1", None, [1])),
        ("order", ("gg", "", None, 1)),
        ("method", ("newton", "TOS", None)),
        ("dtype", (int, "float16", "single precision", complex, [1, 2])),
        ("step", (-1.0, 0, np.nan, "fast", None, True)),
        ("tol", (-1, np.nan, "1e-5", None)),
        ("max_iter", (0, 2.5, "10")),
        ("time_limit", (0, np.nan, "1")),
        ("rng", (-1, "seed")),
    ],
)
def test_options_of_relax(name, values):
    for value in values:
        assert f"`{name}`" in message(ts.qap.relax, EYE, EYE, **{name: value})


@pytest.mark.parametrize("x0", [2 * EYE, EYE - 0.5, np.ones((3, 3)), -EYE + 2 / 3])
def test_frank_wolfe_needs_a_feasible_start(x0):
    text = message(ts.qap.relax, EYE, EYE, method="fw", x0=x0)
    assert "`x0`" in text
    assert "off by" in text
    assert "initial_point" in text
    assert ts.qap.relax(EYE, EYE, method="tos", x0=x0).success  # splitting starts anywhere


def test_frank_wolfe_takes_no_step():
    assert "`step`" in message(ts.qap.relax, EYE, EYE, method="fw", step=0.1)


def test_float32_overflows_earlier():
    large = 1e30 * EYE
    assert "float32" in message(ts.qap.relax, large, large, dtype="float32")
    assert ts.qap.relax(large, large, dtype="float64", max_iter=2).nit <= 2


@pytest.mark.parametrize("X", [np.ones((2, 3)), np.ones(3), np.full((2, 2), np.nan)])
def test_only_square_finite_matrices_round_to_a_permutation(X):
    assert "`X`" in message(ts.qap.round_to_permutation, X)
