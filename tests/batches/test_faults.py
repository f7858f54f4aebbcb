"""What goes wrong in some of the problems of a batch, or in the middle of a run, is told as for one problem."""

import numpy as np
import pytest

import trisplit as ts
from tests.batches.problems import Quadratics, Selectable, batch_of
from trisplit.problems.problem import Problem
from trisplit.run.log import Log
from trisplit.splitting.engine import Splitting
from trisplit.terms import L1, Box, L2Ball, UnitSums


def lonely(f, x0, i, terms, **options):
    return ts.minimize(f.member(i), x0[i], terms, **options)


def test_unit_sums_do_not_mix_problems():
    with pytest.raises(ts.InputError, match=r"square matrix, got shape \(4,\)"):
        ts.minimize(lambda x: ((x**2).sum(-1), 2 * x), np.zeros((4, 4)), [Box(0, 1), UnitSums()], batch_ndim=1)


class Broken(Selectable):
    """NaN in the problems with Q[0, 0] = 0."""

    def value_and_grad(self, x):
        value, grad = super().value_and_grad(x)
        bad = self.Q[:, 0, 0] == 0.0
        return np.where(bad, np.nan, value), np.where(bad[:, None], np.nan, grad)

    def select(self, members):
        return Broken(self.Q[members], self.c[members])


@pytest.mark.parametrize("terms", [[Box(-1, 1), L2Ball(0.9)], [Box(-1, 1), L1(0.1), L2Ball(0.9)]])
def test_a_problem_that_is_never_finite_has_no_certificate(terms):
    f, x0 = batch_of((5,), (4,), "convex", cls=Broken)
    x0 = x0 / 10
    f.Q[3, 0, 0] = 0.0
    options = {"output": "random", "step": "theory", "max_iter": 50, "rng": 0}
    res = ts.minimize(f, x0, terms, batch_ndim=1, **options)
    assert res.status[3] is ts.Status.NOT_FINITE
    assert np.isnan([res.fun[3], res.certificate.stationarity[3], res.certificate.infeasibility[3]]).all()
    assert np.allclose(res.x[3], x0[3])
    assert res.guarantee[3] == ts.Guarantee(None, "f or its gradient was not finite at an iterate")
    others = np.arange(5) != 3
    assert np.isfinite(res.certificate.stationarity[others]).all()
    assert np.isfinite(res.trace["stationarity"]).all()
    assert np.isfinite(res.trace["infeasibility"]).all()
    assert "nan" not in repr(res)


@pytest.mark.parametrize("stop", [1, 4])
def test_stopping_at_any_iteration_equals_the_members(stop):
    f, x0 = batch_of((3,), (4,))
    terms = [Box(-1, 1), L2Ball(0.9)]

    def told(state):
        return state.t == stop

    def interrupted(state):
        if state.t == stop:
            raise KeyboardInterrupt

    for callback, status in ((told, ts.Status.CALLBACK), (interrupted, ts.Status.INTERRUPTED)):
        res = ts.minimize(f, x0, terms, batch_ndim=1, step=0.1, tol=1e-12, callback=callback)
        for i in range(3):
            alone = lonely(f, x0, i, terms, step=0.1, tol=1e-12, callback=callback)
            assert res.status[i] is alone.status is status
            assert np.allclose(res.x[i], alone.x)
            assert (res.nit[i], res.iteration[i]) == (alone.nit, alone.iteration)


class Slope:
    """Indicator of all of R^n, which claims to be infinitely far from x > 0.5."""

    indicator = convex = True

    def __init__(self, axis):
        self.axis = axis

    def value(self, x):
        return 0.0 * x.sum(axis=self.axis)

    def prox(self, x, gamma):
        return x

    def distance(self, x):
        return np.where((x > 0.5).any(axis=self.axis), np.inf, 0.0)


def test_an_interrupt_where_only_the_certificate_is_not_finite():
    def interrupt(state):
        if state.t == 9:
            raise KeyboardInterrupt

    options = {"step": 0.1, "tol": 1e-12, "callback": interrupt}
    alone = ts.minimize(lambda x: (-x.sum(), -1 + 0 * x), np.zeros(2), [Box(-9, 9), Slope(None)], **options)
    many = (lambda x: (-x.sum(-1), -1 + 0 * x)), np.zeros((3, 2)), [Box(-9, 9), Slope(-1)]
    res = ts.minimize(*many, batch_ndim=1, **options)
    assert set(res.status) == {alone.status} == {ts.Status.INTERRUPTED}
    assert set(res.iteration) == {alone.iteration}


@pytest.mark.filterwarnings("ignore:more time went")  # Quadratics cannot select
def test_the_kind_of_the_certificate_stays_when_problems_are_taken_out():
    """Without the first problem, whose box is unbounded, there would be a gap: another stopping rule."""
    hi = np.ones((6, 4))
    hi[0] = np.inf
    results = []
    for cls in (Selectable, Quadratics):
        f, x0 = batch_of((6,), (4,), "convex", cls=cls)
        f.c[0], x0[0] = 0.0, 0.0  # finished at once
        results.append(ts.minimize(f, x0, Box(-1, hi), batch_ndim=1, step=0.05, tol=1e-8))
    taken_out, masked = results
    assert taken_out.certificate.kind == "residual"
    assert taken_out.nit[0] == 1
    assert np.array_equal(taken_out.nit, masked.nit)
    assert np.allclose(taken_out.certificate.stationarity, masked.certificate.stationarity, rtol=1e-6, atol=1e-12)


def test_the_kind_of_the_certificate_is_decided_once(monkeypatch):
    asked, kind_for = [], Problem.kind_for
    monkeypatch.setattr(Problem, "kind_for", lambda *args: asked.append(1) or kind_for(*args))
    ts.minimize(lambda x: ((x**2).sum(), 2 * x), np.ones(3), [Box(-1, 1), L1(0.1)], step=0.01, max_iter=50)
    assert len(asked) == 1


def interrupt_once(monkeypatch, owner, name, call):
    """Let the given call of a function end in Ctrl-C."""
    calls, original = [], getattr(owner, name)

    def function(*args, **kwargs):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, function)


# Called when rows are taken out, when the iterates that are left are, and when problems are put aside.
WINDOWS = {"select": (Splitting, "select"), "taken": (Splitting, "taken"), "finish": (Log, "finish")}


@pytest.mark.parametrize("call", [1, 2, 5])
@pytest.mark.parametrize("window", WINDOWS)
def test_ctrl_c_between_two_steps_of_a_change_loses_nothing(monkeypatch, tmp_path, window, call):
    f, x0 = batch_of((2, 8), (4,), "convex")
    terms, options = [Box(-1, 1), L2Ball(0.9)], {"batch_ndim": 2, "step": 0.7 / f.lipschitz, "tol": 1e-8}
    whole = ts.minimize(f, x0, terms, **options)
    path = tmp_path / "batch.ckpt"
    with monkeypatch.context() as patched:
        interrupt_once(patched, *WINDOWS[window], call)
        stopped = ts.minimize(f, x0, terms, checkpoint=path, **options)
    assert (stopped.status == ts.Status.INTERRUPTED).any()
    assert np.isfinite(stopped.fun).all()
    res = ts.minimize(f, x0, terms, checkpoint=path, **options)
    assert res.success.all()
    assert np.allclose(res.x, whole.x, atol=1e-6)


def test_a_tighter_tolerance_does_not_take_over_what_ended_at_a_looser_one(tmp_path):
    f, x0 = batch_of((8,), (4,), "convex")
    path, options = tmp_path / "batch.ckpt", {"batch_ndim": 1, "step": 0.7 / f.lipschitz}
    terms = [Box(-1, 1), L2Ball(0.9)]
    loose = ts.minimize(f, x0, terms, tol=1e-3, checkpoint=path, **options)
    with pytest.raises(ts.InputError, match="`tol` is 1e-09, but problems in the checkpoint ended at a larger one"):
        ts.minimize(f, x0, terms, tol=1e-9, checkpoint=path, **options)
    again = ts.minimize(f, x0, terms, tol=1e-2, checkpoint=path, **options)
    assert np.array_equal(again.x, loose.x)


def test_a_callback_is_not_shown_what_is_left_of_a_batch(tmp_path):
    f, x0 = batch_of((8,), (4,), "convex")
    options = {"batch_ndim": 1, "step": 0.7 / f.lipschitz, "checkpoint": tmp_path / "batch.ckpt"}
    whole = ts.minimize(f, x0, Box(-1, 1), **{**options, "checkpoint": None})
    until = int(np.median(whole.nit)) + 5
    ts.minimize(f, x0, Box(-1, 1), max_iter=until, **options)
    with pytest.raises(ts.InputError, match="of a run without `callback`"):
        ts.minimize(f, x0, Box(-1, 1), callback=lambda state: None, **options)
    assert ts.minimize(f, x0, Box(-1, 1), **options).success.all()


@pytest.mark.parametrize("batch", [(), (4,)])
def test_a_value_that_raises_in_a_check_is_not_finite(batch):
    """`Constant` asks for gradients only, so the value is first computed for a check."""

    class Singular:
        def value(self, x):
            if np.abs(x).max() > 0.3:
                raise np.linalg.LinAlgError("singular")
            return -x.sum(axis=-1)

        def grad(self, x):
            return -1 + 0 * x

    res = ts.minimize(Singular(), np.zeros((*batch, 2)), Box(-1, 1), step=0.1, tol=1e-9, batch_ndim=len(batch))
    assert set(np.ravel(res.status)) == {ts.Status.NOT_FINITE}
    assert np.isfinite(res.fun).all()
    assert np.abs(res.x).max() <= 0.3
