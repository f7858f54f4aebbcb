"""What f, terms and step rules of one's own must offer in a batch, and how one is told that they do not."""

from dataclasses import dataclass

import numpy as np
import pytest

import trisplit as ts
from tests.batches.problems import Quadratics, Selectable, batch_of
from trisplit.terms import L1, Box, L2Ball
from trisplit.terms.base import ConvexSet

TERMS = {"two": [Box(-1, 1), L2Ball(0.9)], "three": [Box(-1, 1), L1(0.1), L2Ball(0.9)]}


def squares(x):
    return (x**2).sum(-1), 2 * x


class Reversed(Selectable):
    def select(self, members):
        return Reversed(self.Q[::-1][members], self.c[::-1][members])


class Leading(Selectable):
    def select(self, members):
        count = len(members[0])
        return Leading(self.Q[:count], self.c[:count])


class TooMany(Selectable):
    def select(self, members):
        return TooMany(self.Q, self.c)


WRONG = {
    "reversed": (Reversed, "returns another problem"),
    "leading": (Leading, "returns another problem"),
    "too many": (TooMany, "what `f.select` returns fails"),
}


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_select_is_not_believed(name, terms):
    cls, message = WRONG[name]
    f, x0 = batch_of((16,), (4,), "convex", cls=cls)
    with pytest.raises(ts.InputError, match=message):
        ts.minimize(f, x0, TERMS[terms], batch_ndim=1, step=0.7 / f.lipschitz)


def test_a_select_that_went_wrong_is_noticed_in_a_resumed_run(tmp_path):
    f, x0 = batch_of((16,), (4,), "convex")
    options = {"batch_ndim": 1, "step": 0.7 / f.lipschitz, "checkpoint": tmp_path / "batch.ckpt"}
    whole = ts.minimize(f, x0, TERMS["two"], **{**options, "checkpoint": None})
    ts.minimize(f, x0, TERMS["two"], max_iter=int(np.median(whole.nit)) + 5, **options)
    with pytest.raises(ts.InputError, match="returns another problem"):
        ts.minimize(Reversed(f.Q, f.c), x0, TERMS["two"], **options)


def test_large_numbers_that_cancel_are_no_wrong_select():
    f, x0 = batch_of((16,), (4,), "convex")
    f = Selectable(1e9 * f.Q, 1e9 * f.c)
    res = ts.minimize(f, x0, TERMS["two"], batch_ndim=1, step=0.7 / f.lipschitz)
    assert res.success.all()


class Everything:
    """Indicator of the unit ball with every capability; each may be spoilt."""

    indicator = convex = True

    def __init__(self, **spoilt):
        self.spoilt = spoilt

    def _of(self, name, right):
        return self.spoilt.get(name, right)

    def value(self, x):
        return self._of("value", 0.0 * x.sum(axis=-1))

    def prox(self, x, gamma):
        return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1.0)

    def distance(self, x):
        return self._of("distance", np.maximum(np.linalg.norm(x, axis=-1) - 1, 0))

    def support(self, u):
        return self._of("support", np.linalg.norm(u, axis=-1))

    def diameter(self, shape):
        return self._of("diameter", 2.0)

    def lipschitz(self, shape):
        return self._of("lipschitz", 0.0)


@pytest.mark.parametrize("name", ["value", "distance", "support"])
def test_numbers_of_terms_are_for_each_problem(name):
    for bad, came in ((0.5, "one number"), (np.ones(2), r"shape \(2,\)"), ([0.0] * 3, "a list")):
        with pytest.raises(ts.InputError, match=rf"`terms\[1\]` \(Everything\) must return .* \(3,\), got {came}"):
            ts.minimize(squares, np.ones((3, 2)), [Box(-1, 1), Everything(**{name: bad})], batch_ndim=1)


@pytest.mark.parametrize("name", ["diameter", "lipschitz"])
def test_constants_of_terms_are_for_each_problem(name):
    with pytest.raises(ts.InputError, match=rf"`{name}` of `terms\[1\]` .* must be one number, or one for each"):
        ts.minimize(squares, np.ones((3, 2)), [Box(-1, 1), Everything(**{name: np.ones(4)})], batch_ndim=1)
    res = ts.minimize(squares, np.ones((3, 2)), [Box(-1, 1), Everything(**{name: np.ones(3)})], batch_ndim=1)
    assert res.success.all()


def test_a_distance_that_does_not_know_batches_is_refused():
    class OfVectors(Everything):
        def distance(self, x):
            return abs(float(x[0]))

    with pytest.raises(ts.InputError, match=r"`distance` of `terms\[1\]` \(OfVectors\) fails at .* count problems"):
        ts.minimize(squares, np.ones((3, 2)), [Box(-1, 1), OfVectors()], batch_ndim=1)


def test_a_value_of_f_for_all_problems_is_refused():
    class Two:
        def value(self, x):
            return float((x**2).sum())

        def grad(self, x):
            return 2 * x

        def value_and_grad(self, x):
            return squares(x)

    with pytest.raises(ts.InputError, match=r"`f.value` must return a value for each problem, .* got one number"):
        ts.minimize(Two(), np.ones((3, 2)), Box(-1, 1), batch_ndim=1)


def test_values_in_a_list_are_called_a_list():
    with pytest.raises(ts.InputError, match="got a list"):
        ts.minimize(lambda x: ([0.0] * 3, 2 * x), np.ones((3, 2)), Box(-1, 1), batch_ndim=1)


@pytest.mark.parametrize("axes", [-1, True, 1.0, "a", None])
def test_a_number_of_axes_is_an_integer(axes):
    for make in (lambda: ts.Problem(squares, Box(-1, 1), batch_ndim=axes), lambda: many(axes)):
        with pytest.raises(ts.InputError, match="`batch_ndim` must be an integer >= 0"):
            make()


def many(axes):
    return ts.minimize(squares, np.ones((3, 2)), Box(-1, 1), batch_ndim=axes)


def test_a_number_of_axes_may_be_of_numpy():
    assert len(many(np.int64(1))) == 3


@dataclass(frozen=True, eq=False)
class Shifted(ConvexSet):
    """The box [-1, 1]^n around a centre of each problem, without `select`."""

    center: np.ndarray

    def project(self, x):
        return self.center + np.clip(x - self.center, -1, 1)


class ShiftedBox(Box):
    """A box with data that `Box` knows nothing of."""

    def __init__(self, center):
        super().__init__(-1, 1)
        object.__setattr__(self, "center", center)

    def project(self, x):
        return self.center + super().project(x - self.center)


@dataclass(frozen=True, eq=False)
class Selecting(Shifted):
    def select(self, members):
        return Selecting(self.center[members]).batched(1)


@pytest.mark.parametrize("make", [Shifted, ShiftedBox, Selecting])
def test_classes_derived_from_terms(make):
    sizes = []

    class Watched(Selectable):
        def value_and_grad(self, x):
            sizes.append(len(x))
            return super().value_and_grad(x)

        def select(self, members):
            return Watched(self.Q[members], self.c[members])

    f, x0 = batch_of((16,), (4,), "convex", cls=Watched)
    centers = np.linspace(0, 1, 16)[:, None] * np.ones(4)
    res = ts.minimize(f, x0, [L2Ball(2.0), make(centers)], batch_ndim=1)
    expected = ts.minimize(Quadratics(f.Q, f.c), x0, [L2Ball(2.0), Box(centers - 1, centers + 1)], batch_ndim=1)
    assert (sizes[-1] < 16) == (make is Selecting)
    assert res.success.all()
    assert np.allclose(res.x, expected.x, atol=1e-4)


class Falling:
    """gamma / t, one NumPy number for all problems; remembers an array that has nothing to do with them."""

    def __init__(self, number):
        self.number = number

    def start(self, problem, y):
        return self.number(0.5), (np.ones(3), 1)

    def propose(self, problem, memory, z, y, gamma):
        ones, t = memory
        return self.number(0.02 + 0.5 / t), False, (ones, t + 1)

    def judge(self, problem, memory, made, d):
        return made.gamma, memory


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("number", [float, np.float64, np.float32])
@pytest.mark.parametrize("output", ["last", "best"])
def test_a_rule_with_one_step_for_all_problems(number, output, terms):
    f, x0 = batch_of((8,), (4,), "convex")
    options = {"step": Falling(number), "output": output, "tol": 1e-4, "max_iter": 300}
    res = ts.minimize(f, x0, TERMS[terms], batch_ndim=1, **options)
    assert len(set(res.nit)) > 1
    for i in range(8):
        alone = ts.minimize(f.member(i), x0[i], TERMS[terms], **options)
        assert (res.status[i], res.nit[i], res.iteration[i]) == (alone.status, alone.nit, alone.iteration)
        assert np.allclose(res.x[i], alone.x, atol=1e-8)


def test_constant_steps_of_a_batch_are_values():
    given = np.array([0.1, 0.2])
    step = ts.steps.Constant(given)
    given[:] = 7.0
    assert step == ts.steps.Constant([0.1, 0.2])
    assert hash(step) == hash(ts.steps.Constant([0.1, 0.2]))
    assert step != ts.steps.Constant([0.1, 0.3])
    assert step != ts.steps.Constant(0.1)
    assert step != 0.1
    with pytest.raises(ValueError, match="read-only"):
        step.gamma[0] = 1.0


def test_a_smoothness_constant_of_another_shape_is_refused():
    class Declared(Quadratics):
        lipschitz = np.ones(5)

    f, x0 = batch_of((3,), (4,), cls=Declared)
    with pytest.raises(ts.InputError, match=r"`f.lipschitz` must be one number, .* shape \(5,\)"):
        ts.minimize(f, x0, [Box(-1, 1), L2Ball(0.9)], batch_ndim=1, step="theory")


def test_parts_may_compute_in_single_precision():
    """The bare iteration takes what they return as it is."""

    class Clipped:
        indicator = convex = True

        def value(self, x):
            return np.zeros(x.shape[:1])

        def prox(self, x, gamma):
            return np.clip(x, -1, 1).astype(np.float32)

    def f(x):
        x = x.astype(np.float32)
        return ((x - 0.3) ** 2).sum(-1) / 2, x - np.float32(0.3)

    problem = ts.Problem(f, [Clipped(), ts.terms.L2Ball(0.7)], batch_ndim=1)
    states = ts.tos(problem, np.random.default_rng(0).standard_normal((20, 4)))
    for _ in range(60):
        state = next(states)
    np.testing.assert_allclose(state.z, 0.3, atol=1e-4)
