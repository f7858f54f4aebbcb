"""Bad input to `minimize` is one line that names the argument, what came and the remedy."""

import numpy as np
import pytest

import trisplit as ts
from trisplit.terms import L1, Box, UnitSums


def f(x):
    return ((x - 3) ** 2).sum() / 2, x - 3


class WithProx:
    """A term whose proximal map is given."""

    def __init__(self, prox):
        self.map = prox

    def value(self, x):
        return 0.0

    def prox(self, x, gamma):
        return self.map(x)


class OnlyValue:
    def value(self, x):
        return 0.0


def message(**arguments):
    """The one line that `minimize` complains with, for input that is fine but for `arguments`."""
    given = {"f": f, "x0": np.zeros(3), "terms": Box(0, 1), **arguments}
    with pytest.raises(ts.InputError) as caught:
        ts.minimize(**given)
    assert isinstance(caught.value, ValueError)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("x0", "came", "remedy"),
    [
        ([1.0, np.nan, 0.0], "NaN", "finite numbers"),
        ([1.0, -np.inf, 0.0], "inf", "finite numbers"),
        ([], "(0,)", "at least one number"),
        (np.zeros((3, 0)), "(3, 0)", "at least one number"),
        ([1j, 2.0, 3.0], "complex128", "pass numbers"),
        (["a", "b", "c"], "<U1", "pass numbers"),
        ("abc", "str", "pass numbers"),
        (None, "NoneType", "pass numbers"),
        ({}, "dict", "pass numbers"),
        ([[1.0], [1.0, 2.0]], "inhomogeneous", "rows of equal length"),
    ],
)
def test_x0(x0, came, remedy):
    text = message(x0=x0)
    assert "`x0`" in text
    assert came in text
    assert remedy in text


@pytest.mark.parametrize(
    ("given", "came", "remedy"),
    [
        (3, "int", "callable that returns (value, gradient)"),
        (None, "NoneType", "callable that returns (value, gradient)"),
        ("x ** 2", "str", "callable that returns (value, gradient)"),
        (OnlyValue(), "OnlyValue", "`grad(x)`"),
        (lambda x: (1.0, np.ones(4)), "(4,)", "make them equal"),
        (lambda x: (1.0, np.ones((3, 1))), "(3, 1)", "make them equal"),
        (lambda x: (1.0, 1.0), "one number", "make them equal"),
        (lambda x: (1.0, [1.0, 1.0, 1.0]), "a list", "make them equal"),
        (lambda x: (1.0, np.ones((3, 4)) @ x), "shape (3,)", "4"),
        (lambda x: (1.0, x[7]), "shape (3,)", "7"),
        (lambda x: x.sum(), "shape (3,)", "unpack"),
        (lambda x: (x, x), "shape (3,)", "scalar"),
        (lambda x: (None, x), "shape (3,)", "NoneType"),
        (lambda x: (np.nan, x), "NaN", "start where both are finite"),
        (lambda x: (np.inf, x), "inf", "start where both are finite"),
        (lambda x: (1.0, x * np.nan), "NaN", "start where both are finite"),
        (lambda x: (1.0, x - np.inf), "inf", "start where both are finite"),
    ],
)
@pytest.mark.parametrize("step", ["auto", 0.1, "theory"])
@pytest.mark.parametrize("terms", [Box(0, 1), [L1(), Box(0, 1), L1()]])
def test_f(given, came, remedy, step, terms):
    text = message(f=given, step=step, terms=terms)
    assert "`f`" in text
    assert came in text
    assert remedy in text


@pytest.mark.parametrize(
    ("terms", "named", "came", "remedy"),
    [
        ([], "`terms`", "empty", "at least one term"),
        ((), "`terms`", "empty", "ts.terms.Zero()"),
        (None, "`terms[0]`", "NoneType", "`prox(x, gamma)`"),
        ("box", "`terms[0]`", "str", "`prox(x, gamma)`"),
        (Box, "`terms[0]`", "class Box", "`Box(...)`"),
        ([Box(0, 1), L1], "`terms[1]`", "class L1", "`L1(...)`"),
        ([Box(0, 1), L1(), object()], "`terms[2]`", "object", "`prox(x, gamma)`"),
        ([Box(0, 1), OnlyValue()], "`terms[1]`", "OnlyValue", "`prox(x, gamma)`"),
        (Box(np.zeros(2), np.ones(2)), "`lo`", "(2,)", "make them equal"),
        ([Box(0, 1), L1(np.ones(4))], "`weight`", "(4,)", "make them equal"),
        ([Box(0, 1), L1(), UnitSums()], "UnitSums", "(3,)", "pass x0 of shape (n, n)"),
        (WithProx(lambda x: x[:2]), "`terms[0]`", "(2,)", "fix its prox or x0"),
        ([L1(), WithProx(lambda x: None)], "`terms[1]`", "None", "fix its prox or x0"),
        ([L1(), L1(), WithProx(lambda x: list(x))], "`terms[2]`", "a list", "fix its prox or x0"),
        (WithProx(lambda x: x @ np.ones((4, 4))), "`terms[0]`", "shape (3,)", "4"),
    ],
)
def test_terms(terms, named, came, remedy):
    text = message(terms=terms)
    assert named in text
    assert came in text
    assert remedy in text


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        *(("step", value, "step='auto'") for value in (-0.1, 0, 0.0, np.nan, np.inf, -np.inf)),
        *(("step", value, "auto, theory") for value in (True, "0.1", "fast", None, 1j, [], {})),
        *(("relax", value, "1 is the paper's") for value in (0, 2, -1.0, np.nan, np.inf, "1", None, True, [1])),
        *(("output", value, "last, best, random") for value in ("first", "", "LAST", None, 1, ["last"])),
        *(("tol", value, "0 never stops") for value in (-1e-6, np.nan, "1e-6", None, True, 1j)),
        *(("max_iter", value, "try 10_000") for value in (0, -3, 1e4, np.nan, "10", None, True)),
        *(("time_limit", value, "None sets no limit") for value in (0, -1.0, np.nan, "1", True, 1j)),
        *(("rng", value, "try 0") for value in (-1, 1.5, "seed", True, [1], np.random.RandomState(0))),
        *(("callback", value, "None calls nothing") for value in (3, "f", [print])),
    ],
)
def test_options(name, value, remedy):
    text = message(**{name: value})
    assert f"`{name}`" in text
    assert str(value) in text or type(value).__name__ in text
    assert remedy in text


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: ts.steps.Constant(0.0), "`step`"),
        (lambda: ts.steps.Constant(float("nan")), "`step`"),
        (lambda: ts.steps.Constant.from_lipschitz(-1.0), "`L`"),
        (lambda: ts.steps.Constant.from_lipschitz(float("inf")), "`L`"),
        (lambda: ts.steps.Theory(iterations=0), "`iterations`"),
        (lambda: ts.steps.Theory(gamma0=-1.0), "`gamma0`"),
        (lambda: ts.steps.Theory(gamma0=0.0), "`gamma0`"),
        (lambda: ts.steps.Theory(gamma0=np.ones(3)), "`gamma0` must be one number"),
        (lambda: ts.steps.Theory(gradient_bound=np.ones(3)), "`gradient_bound` must be one number"),
        (lambda: ts.steps.Theory(gradient_bound="1"), "`gradient_bound` must hold real numbers"),
        (lambda: ts.steps.Constant("x"), "`step` must hold real numbers"),
        (lambda: ts.steps.Constant(np.array(["a"])), "`step` must hold real numbers"),
        (lambda: ts.steps.Constant(np.array([1j])), "`step` must hold real numbers"),
        (lambda: ts.steps.as_step([0.1, 0.2]), "an array with one for each problem"),
    ],
)
def test_rules_complain_when_they_are_made(make, named):
    with pytest.raises(ts.InputError, match=named):
        make()


def test_bad_input_is_found_before_f_is_called():
    def expensive(x):
        raise AssertionError("called")

    for bad in ({"output": "x"}, {"tol": -1}, {"rng": -1}, {"step": -1}, {"terms": []}, {"x0": []}, {"callback": 1}):
        message(f=expensive, **bad)
