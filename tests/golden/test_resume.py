"""A run that is interrupted in the midst of f or of a proximal map, and resumed, equals the one that was not.

No answer is stored: the two runs are of the same code.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import trisplit as ts
from tests.golden.endings import bounded, logistic
from tests.golden.functions import Selectable, forms
from tests.golden.problems import PROBLEMS, PRODUCTS

T = ts.terms
CALLS = (4, 7, 10, 33, 58, 121)


class Alarm:
    """Rings once, at the k-th call of what it watches; not an attribute of parts, which a checkpoint describes."""

    left = 0

    def set(self, k):
        self.left = k

    def tick(self):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


IN_F, IN_TERM = Alarm(), Alarm()


@dataclass(frozen=True, eq=False)
class WatchedForms(Selectable):
    """A batch of quadratics; its calls are watched."""

    def value_and_grad(self, x):
        IN_F.tick()
        return super().value_and_grad(x)


class Watched:
    """f with its calls watched; everything else is its own."""

    def __init__(self, f):
        self.f = f

    def __getattr__(self, name):
        found = getattr(self.__dict__["f"], name)
        if name not in ("value", "grad", "value_and_grad", "batch_grad", "sample_grads", "slopes_at"):
            return found

        def watched(*args):
            IN_F.tick()
            return found(*args)

        return watched


class WatchedTerm:
    """A term with its proximal map watched."""

    convex = True

    def __init__(self, term):
        self.term = term
        self.indicator = getattr(term, "indicator", False)

    def value(self, x):
        return self.term.value(x)

    def prox(self, x, gamma):
        IN_TERM.tick()
        return self.term.prox(x, gamma)


class WatchedBoxes:
    """The box [-1, 1] in each problem of a batch, with its proximal map watched."""

    convex = indicator = True

    def value(self, x):
        return np.zeros(x.shape[:-1])

    def prox(self, x, gamma):
        IN_TERM.tick()
        return np.clip(x, -1, 1)

    def select(self, members):
        return self


def one_problem():
    f, terms, x0, _ = PROBLEMS["indefinite quadratic, box and affine"]()
    return {"f": Watched(f), "x0": x0, "terms": [WatchedTerm(terms[0]), terms[1]]}


def three_terms():
    f, terms, x0, _ = PRODUCTS["indefinite quadratic, three terms"]()
    return {"f": Watched(f), "x0": x0, "terms": [terms[0], WatchedTerm(terms[1]), terms[2]]}


def estimated(gradient):
    def make():
        f, x0, terms = logistic()
        return {"f": Watched(f), "x0": x0, "terms": [WatchedTerm(terms[0]), terms[1]], "gradient": gradient}

    return make


def batch():
    f, x0 = forms((9,), (4,), "convex", 6, cls=WatchedForms)
    return {"f": f, "x0": x0, "terms": [WatchedBoxes(), T.L2Ball(0.9, axis=-1)], "batch_ndim": 1}


def at_random():
    f, x0, terms = bounded()
    return {"f": Watched(f), "x0": x0, "terms": [WatchedTerm(terms[0]), terms[1]], "output": "random"}


RUNS = {
    "one problem": (one_problem, {"tol": 0, "max_iter": 150}),
    "one problem, constant step": (one_problem, {"tol": 0, "max_iter": 150, "step": 0.2, "relax": 1.5}),
    "random output": (at_random, {"tol": 0, "max_iter": 150}),
    "three terms": (three_terms, {"tol": 0, "max_iter": 150}),
    "svrg": (estimated("svrg"), {"tol": 0, "max_iter": 150}),
    "saga": (estimated("saga"), {"tol": 0, "max_iter": 150}),
    "batch": (batch, {"tol": 1e-6, "max_iter": 150}),
    "batch, constant step": (batch, {"tol": 1e-6, "max_iter": 150, "step": 0.05}),
}


def run(name, path=None):
    make, options = RUNS[name]
    with np.errstate(all="ignore"):
        return ts.minimize(**make(), **options, rng=3, checkpoint=path)


def was_interrupted(res):
    return ts.Status.INTERRUPTED in np.ravel(res.status)


@pytest.mark.parametrize("k", CALLS)
@pytest.mark.parametrize("where", [IN_F, IN_TERM], ids=["f", "term"])
@pytest.mark.parametrize("name", RUNS)
def test_an_interrupted_run_goes_on_bit_by_bit(tmp_path, name, where, k):
    whole, path = run(name), tmp_path / "run.ckpt"
    for calls in (k, k + 3):  # twice
        where.set(calls)
        try:
            run(name, path)
        except KeyboardInterrupt:  # before the first iterate
            pass
        finally:
            where.set(0)
    res = run(name, path)
    assert not was_interrupted(res)
    assert np.array_equal(res.x, whole.x)
    assert np.array_equal(res.fun, whole.fun)
    assert np.array_equal(res.status, whole.status)
    assert np.array_equal(res.nit, whole.nit)
    assert np.array_equal(res.iteration, whole.iteration)
    if not name.startswith("batch"):  # where calls of an iteration that was interrupted stay counted
        assert (res.nfev, res.njev, res.nprox) == (whole.nfev, whole.njev, whole.nprox)
    assert np.array_equal(res.certificate.stationarity, whole.certificate.stationarity)
    assert np.array_equal(res.certificate.infeasibility, whole.certificate.infeasibility)
    for column in set(whole.trace.columns) - {"seconds", "gradients", "proxes", "samples"}:
        assert np.array_equal(res.trace[column], whole.trace[column])


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("where", [IN_F, IN_TERM], ids=["f", "term"])
def test_the_interrupts_come(name, where, tmp_path):
    where.set(CALLS[3])
    res = run(name, tmp_path / "run.ckpt")
    where.set(0)
    assert was_interrupted(res)
    assert np.max(res.nit) < 150
