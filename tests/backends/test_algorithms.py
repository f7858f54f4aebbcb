"""The iterations, the driver, the certificates and the theorems give on every library what they give on NumPy."""

from itertools import islice, pairwise

import numpy as np
import pytest

import trisplit as ts
from tests.backends.problems import CASES, setting
from tests.kinds import Kind, numpy64
from trisplit.splitting.frank_wolfe import LINE_SEARCHES, frank_wolfe

ARRAYS = ("z", "x", "y", "u")


def reference(kind):
    """NumPy in the same precision."""
    return Kind("numpy", kind.precision)


def close(a, b, units, kind):
    a, b = numpy64(a), numpy64(b)
    assert np.linalg.norm(a - b) <= units * kind.eps * (1 + np.linalg.norm(b))


def rounding(kind, step):
    """Return how many units of eps two libraries may differ by.

    An adaptive step starts from a difference of gradients and goes on with differences of values: half of the digits.
    """
    return 20 * kind.eps**-0.5 if step == "auto" else 1000


@pytest.mark.parametrize(("step", "relax"), [("constant", 1.0), ("constant", np.float64(1.4)), ("auto", 1.0)])
@pytest.mark.parametrize("name", CASES)
def test_iterates_are_those_of_numpy(kind, name, step, relax):
    runs, units = [], rounding(kind, step)
    for arrays in (kind, reference(kind)):
        f, terms, x0 = setting(name, arrays)
        before = numpy64(x0).copy()
        rule = 0.7 / f.lipschitz if step == "constant" else step
        runs.append(list(islice(ts.tos(ts.Problem(f, terms), x0, rule, relax=relax), 6 if step == "auto" else 20)))
        assert np.array_equal(numpy64(x0), before)
    for ours, numpys in zip(*runs, strict=True):
        assert type(ours.gamma) is float
        assert ours.gamma == pytest.approx(numpys.gamma, rel=units * kind.eps)
        for array in ARRAYS:
            assert kind.holds(getattr(ours, array)), array
            close(getattr(ours, array), getattr(numpys, array), units, kind)


@pytest.mark.parametrize("step", [0.3, "auto", "theory"])
@pytest.mark.parametrize("name", CASES)
def test_certificate_and_trace_are_those_of_numpy(kind, name, step):
    results = []
    for arrays in (kind, reference(kind)):
        f, terms, x0 = setting(name, arrays, "indefinite")
        results.append(ts.minimize(f, x0, terms, step=step, tol=0, max_iter=8, output="random", rng=1))
    (ours, numpys), units = results, rounding(kind, step)
    assert kind.holds(ours.x)
    close(ours.x, numpys.x, units, kind)
    assert ours.fun == pytest.approx(numpys.fun, rel=units * kind.eps, abs=units * kind.eps)
    assert ours.certificate.kind == numpys.certificate.kind
    assert ours.guarantee.theorem == numpys.guarantee.theorem
    for a, b in zip(ours.certificate[:2], numpys.certificate[:2], strict=True):
        assert type(a) is float
        assert a == pytest.approx(b, rel=5 * units * kind.eps, abs=5 * units * kind.eps)
    for column in ("iteration", "gradients", "proxes"):
        assert np.array_equal(ours.trace[column], numpys.trace[column])
    for column in ("objective", "stationarity", "infeasibility", "step"):
        slack = 5 * units * kind.eps
        np.testing.assert_allclose(ours.trace[column], numpys.trace[column], rtol=slack, atol=slack)


@pytest.mark.parametrize("step", ["auto", "constant"])
@pytest.mark.parametrize("name", CASES)
def test_minimize_converges_and_keeps_library_dtype_and_device(kind, name, step):
    f, terms, x0 = setting(name, kind)
    before = numpy64(x0).copy()
    tol = 1e-3 if kind.precision == "float32" else 1e-5
    res = ts.minimize(f, x0, terms, step=1 / f.lipschitz if step == "constant" else step, tol=tol, max_iter=3000)
    assert res.success, res
    assert kind.holds(res.x)
    assert tuple(res.x.shape) == CASES[name][1]
    assert type(res.fun) is float
    assert np.array_equal(numpy64(x0), before)
    exact = ts.minimize(*setting(name, Kind("numpy", "float64"))[::2], terms, tol=1e-9)
    assert res.fun <= exact.fun + 100 * tol * max(1, abs(exact.fun))


def test_data_of_another_dtype_inside_f_does_not_leak(kind):
    other = Kind(kind.library, {"float32": "float64", "float64": "float32"}[kind.precision])
    f, terms, _ = setting("box and L1, by entry", other)

    class Mixed:
        def value(self, x):
            return f.value(self.cast(x))

        def grad(self, x):
            return f.grad(self.cast(x))

        def cast(self, x):
            return other.array(numpy64(x))

    res = ts.minimize(Mixed(), kind.array(np.zeros(6)), terms, max_iter=20)
    assert kind.holds(res.x)


def test_start_of_integers_takes_the_default_dtype_of_the_library(kind):
    x0 = kind.xp.asarray(np.zeros(2, dtype=int), device=kind.device)
    res = ts.minimize(lambda x: (kind.xp.sum((x - 3) ** 2) / 2, x - 3), x0, ts.terms.Box(0, 1))
    assert np.allclose(numpy64(res.x), 1)
    default = "float32" if kind.library == "torch" else "float64"
    assert res.x.dtype == Kind(kind.library, default).dtype


@pytest.mark.parametrize("line_search", LINE_SEARCHES)
@pytest.mark.parametrize("name", ["two simplices", "box and unit sums", "one ball"])
def test_frank_wolfe(kind, name, line_search):
    runs = []
    for arrays in (kind, reference(kind)):
        f, terms, _ = setting(name, arrays)
        shape = CASES[name][1]
        z0 = arrays.array(np.full(shape, 1 / shape[0] if len(shape) == 2 else 0.0))
        runs.append(list(islice(frank_wolfe(ts.Problem(f, terms), z0, line_search), 6)))
    for ours, numpys in zip(*runs, strict=True):
        for array in ARRAYS:
            assert kind.holds(getattr(ours, array)), array
        if line_search != "backtracking":  # its test holds with equality for a quadratic: rounding decides
            close(ours.z, numpys.z, 1000, kind)
    values = [float(state.f_z) for state in runs[0]]
    assert all(after <= before + 1000 * kind.eps for before, after in pairwise(values))


def test_definitions_at_a_point(kind):
    for name in ("two simplices", "box and L1, by entry"):
        found = []
        for arrays in (kind, reference(kind)):
            f, terms, z = setting(name, arrays)
            problem, x = ts.Problem(f, terms), terms[1].prox(z, 1.0)
            found.append(
                [
                    ts.certificates.epsilon_stationary(problem, z),
                    ts.certificates.stationarity_at(problem, z, x),
                    *ts.certificates.close_stationary(problem, x, z),
                ]
            )
        assert all(type(number) is float for number in found[0])
        assert found[0] == pytest.approx(found[1], rel=1000 * kind.eps, abs=1000 * kind.eps)


def test_theory(kind):
    found = []
    for arrays in (kind, reference(kind)):
        f, terms, x0 = setting("box and L1, by entry", arrays)
        theorem = ts.theory.theorem_for(ts.Problem(f, terms), x0).theorem
        found.append([theorem.D, theorem.G_f, theorem.L_h, theorem.step(100)])
    assert found[0] == pytest.approx(found[1], rel=100 * kind.eps)


def test_the_history_of_automatic_differentiation_is_left_behind():
    torch = Kind("torch", "float32").xp
    x0 = torch.zeros(3, requires_grad=True)
    res = ts.minimize(lambda x: (torch.sum((x - 3) ** 2) / 2, x - 3), x0, ts.terms.Box(0, 1), step=0.5)
    assert res.success
    assert not res.x.requires_grad


# Failures


def test_a_number_that_is_not_finite_is_a_status(kind):
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return kind.xp.sum((x - 3) ** 2) / 2, (x - 3) * (float("nan") if calls > 12 else 1.0)

    for terms in ([ts.terms.Box(0, 1)], [ts.terms.NuclearNorm(0.1)], [ts.terms.L1(0.1)] * 3):
        calls = 0
        res = ts.minimize(f, kind.array(np.zeros((2, 2))), terms, step=0.1, tol=0, max_iter=50)
        assert res.status is ts.Status.NOT_FINITE
        assert np.isfinite(numpy64(res.x)).all()
        assert kind.holds(res.x)


class NumPyProx:
    def value(self, x):
        return 0.0

    def prox(self, x, gamma):
        return numpy64(x)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x0": lambda kind: kind.array(np.zeros((0, 2)))}, ["`x0`", "(0, 2)"]),
        ({"x0": lambda kind: kind.array([0.0, np.nan])}, ["`x0`", "NaN"]),
        ({"f": lambda kind: lambda x: (0.0, np.zeros(2))}, ["gradient of `f`", "numpy", "convert"]),
        ({"f": lambda kind: lambda x: (0.0, x[:1])}, ["gradient of `f`", "(1,)", "make them equal"]),
        ({"f": lambda kind: lambda x: (0.0, kind.array(np.eye(3)) @ x)}, ["`f`", "shape (2,)"]),
        ({"terms": lambda kind: NumPyProx()}, ["`terms[0]`", "numpy", "convert"]),
        ({"terms": lambda kind: ts.terms.Box(np.zeros(3), 1.0)}, ["`lo`", "(3,)", "make them equal"]),
        ({"terms": lambda kind: ts.terms.UnitSums()}, ["UnitSums", "(2,)"]),
        ({"terms": lambda kind: ts.terms.GroupL2([[0, 5]])}, ["`groups`", "(2,)"]),
    ],
)
def test_bad_input_is_one_line_that_names_the_argument(kind, given, words):
    good = {"f": lambda kind: lambda x: (0.0, x), "x0": lambda kind: kind.array([0.0, 1.0])}
    chosen = {"terms": lambda kind: ts.terms.Box(0, 1), **good, **given}
    with pytest.raises(ts.InputError) as caught:
        ts.minimize(**{name: make(kind) for name, make in chosen.items()})
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text


def test_parameters_of_terms_may_be_arrays_of_the_library(kind):
    for bound in (kind.array([1.0, 2.0]), kind.array(2.0)):
        box = ts.terms.Box(-bound, bound)
        assert np.array_equal(numpy64(box.prox(kind.array([5.0, -5.0]), 1.0)), numpy64(bound) * [1, -1])
