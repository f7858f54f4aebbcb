"""Batches on the other array libraries: the facts of `tests/batches` about terms, and runs that equal NumPy's."""

import numpy as np
import pytest

import trisplit as ts
from tests.backends.problems import CASES, ON_DEVICE
from tests.backends.test_transfers import STEPS, transfers
from tests.batches import test_terms
from tests.batches.problems import Quadratics, Selectable, batch_of
from tests.kinds import Kind, numpy64
from trisplit.run.run import Run

OF_A_KIND = (fact for name, fact in vars(test_terms).items() if name.startswith("test_"))
globals().update({fact.__name__: fact for fact in OF_A_KIND if "kind" in fact.__code__.co_varnames})
TORCH = Kind("torch", "float64")


# JAX takes seconds to compile the operations of a case.
FEW = ("two simplices", "groups and ball", "three terms", "total variation of an image")
ALL = [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in CASES]


@pytest.mark.parametrize("step", ["constant", "auto", "theory"])
@pytest.mark.parametrize("name", ALL)
def test_a_batch_is_that_of_numpy(kind, name, step):
    # The standard has no indexing by arrays for f to select with.
    cls = Selectable if step == "auto" and kind.library != "array_api_strict" else Quadratics
    terms, shape = CASES[name]
    results = []
    for arrays in (kind, Kind("numpy", kind.precision)):
        f, x0 = batch_of((6,), shape, "convex", cls=cls, kind=arrays)
        before = numpy64(x0).copy()
        rule = 0.7 / f.lipschitz if step == "constant" else step
        results.append(ts.minimize(f, x0, terms, batch_ndim=1, step=rule, tol=100 * kind.eps**0.5, max_iter=25))
        assert np.array_equal(numpy64(x0), before)
    ours, numpys = results
    assert kind.holds(ours.x)
    slack = 300 * kind.eps**0.5
    assert np.allclose(numpy64(ours.x), numpy64(numpys.x), rtol=slack, atol=slack * (1 + np.abs(numpys.x).max()))
    assert np.allclose(ours.fun, numpys.fun, rtol=slack, atol=slack)
    assert ours.certificate.kind == numpys.certificate.kind
    same = ours.status == numpys.status
    assert same.mean() >= 0.5  # where a certificate is at the tolerance, rounding decides


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ON_DEVICE)
def test_nothing_moves_between_two_checks_of_a_batch(monkeypatch, name, step):
    torch = TORCH.xp
    check, between = Run.check, []

    def check_aside(self, made, *, due):
        between.append(list(seen))
        check(self, made, due=due)
        seen.clear()

    terms, shape = CASES[name]
    f, x0 = batch_of((4,), shape, "convex", kind=TORCH)
    monkeypatch.setattr(Run, "check", check_aside)
    with transfers(torch) as seen:
        res = ts.minimize(f, x0, terms, batch_ndim=1, step=STEPS[step], tol=0, max_iter=40)
    assert len(between) == len(res.trace)
    assert between[0]
    assert not any(between[1:])


def test_a_stopped_batch_goes_on_bit_by_bit(kind, tmp_path):
    terms, shape = CASES["groups and ball"]
    f, x0 = batch_of((6,), shape, "convex", cls=Quadratics, kind=kind)
    options = {"batch_ndim": 1, "tol": 10 * kind.eps**0.5}
    whole = ts.minimize(f, x0, terms, max_iter=100, **options)
    path = tmp_path / "batch.ckpt"
    for until in (*whole.trace["iteration"][[3, 6]].tolist(), 100):
        res = ts.minimize(f, x0, terms, max_iter=until, checkpoint=path, **options)
    assert np.array_equal(numpy64(res.x), numpy64(whole.x))
    assert np.array_equal(res.nit, whole.nit)
    assert kind.holds(res.x)


def test_values_in_another_library_are_refused():
    def f(x):
        return (x.numpy() ** 2).sum(-1), 2 * x

    with pytest.raises(
        ts.InputError, match=r"`f` must return a value for each problem, .* got one of numpy where x is of torch"
    ):
        ts.minimize(f, TORCH.array(np.ones((3, 2))), ts.terms.Box(-1, 1), batch_ndim=1)
