"""f that treats each row of x alike, and says so: finished problems leave its arrays."""

import numpy as np
import pytest

import trisplit as ts
from tests.batches.problems import Quadratics, batch_of
from trisplit.losses import LinearModel, registry
from trisplit.terms import L1, Box, L2Ball

TERMS = {"two": [Box(-999, 999), L1(0.01)], "three": [Box(-999, 999), L1(0.01), L2Ball(9e3)]}


class Spread:
    """sqrt(1 + (x_j - 1)^2) summed over j: with a constant step, the way from far off is long."""

    rowwise = True

    def __init__(self):
        self.sizes = []

    def value(self, x):
        return np.sqrt(1 + (x - 1) ** 2).sum(axis=-1)

    def grad(self, x):
        self.sizes.append(len(x))
        return (x - 1) / np.sqrt(1 + (x - 1) ** 2)


class Held(Spread):
    rowwise = False


def starts(*batch):
    return np.geomspace(0.1, 400, int(np.prod(batch)))[:, None].repeat(6, axis=1).reshape(*batch, 6)


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.filterwarnings("ignore:more time went")
def test_finished_problems_leave_an_f_that_works_row_by_row(terms):
    f, held = Spread(), Held()
    res = ts.minimize(f, starts(60), TERMS[terms], batch_ndim=1, step=1.0)
    whole = ts.minimize(held, starts(60), TERMS[terms], batch_ndim=1, step=1.0)
    assert res.success.all()
    assert min(f.sizes) < 10
    assert set(held.sizes) == {60}
    assert np.array_equal(res.nit, whole.nit)
    assert np.allclose(res.x, whole.x, rtol=1e-7, atol=1e-7)


def test_a_function_says_it_by_an_attribute():
    f, seen = Spread(), []

    def both(x):
        seen.append(len(x))
        return f.value(x), f.grad(x)

    both.rowwise = True
    assert ts.minimize(both, starts(60), TERMS["two"], batch_ndim=1, step=1.0).success.all()
    assert min(seen) < 10


def test_a_batch_of_two_axes_goes_on_with_one():
    res = ts.minimize(Spread(), starts(5, 12), TERMS["two"], batch_ndim=2, step=1.0)
    flat = ts.minimize(Spread(), starts(5, 12).reshape(60, 6), TERMS["two"], batch_ndim=1, step=1.0)
    assert np.array_equal(res.nit.ravel(), flat.nit)
    assert np.allclose(res.x.reshape(60, 6), flat.x, rtol=1e-9, atol=1e-9)


class Reckless(Quadratics):
    """Rows with data of their own, taken from the front whatever the rows are."""

    rowwise = True

    def value_and_grad(self, x):
        return Quadratics(self.Q[: len(x)], self.c[: len(x)]).value_and_grad(x)


class Rigid(Quadratics):
    rowwise = True


@pytest.mark.parametrize(("cls", "message"), [(Reckless, "returns another problem"), (Rigid, "fails for x of shape")])
def test_a_wrong_declaration_is_not_believed(cls, message):
    f, x0 = batch_of((16,), (4,), "convex", cls=cls)
    with pytest.raises(ts.InputError, match=f"`f.rowwise` is declared, but f {message}"):
        ts.minimize(f, x0, [Box(-1, 1), L2Ball(0.9)], batch_ndim=1, step=0.7 / f.lipschitz)


class Bare:
    """A term of one's own without `select`."""

    def value(self, x):
        return 0.01 * np.abs(x).sum(axis=-1)

    def prox(self, x, gamma):
        return np.sign(x) * np.maximum(np.abs(x) - 0.01 * gamma, 0.0)


@pytest.mark.parametrize(
    ("f", "terms", "message"),
    [
        (Held(), TERMS["two"], r"as `f` cannot let them go; declare `f.rowwise = True` .*`select\(members\)`"),
        (Spread(), [Box(-999, 999), Bare()], r"as a term cannot let them go; give it `select\(members\)`"),
    ],
)
def test_a_run_that_iterates_in_vain_says_so_once(f, terms, message):
    with pytest.warns(RuntimeWarning, match=message) as told:
        ts.minimize(f, starts(60), terms, batch_ndim=1, step=1.0)
    assert len(told) == 1
    assert told[0].filename == __file__


def test_nothing_is_said_where_a_callback_is_to_see_all_or_little_is_lost():
    """Warnings are errors here."""
    assert ts.minimize(
        Held(), starts(60), TERMS["two"], batch_ndim=1, step=1.0, callback=lambda made: None
    ).success.all()
    assert ts.minimize(Held(), starts(60), TERMS["two"], batch_ndim=1, step=1.0, max_iter=90).nit.max() == 90


@pytest.mark.parametrize("name", [name for name, loss in registry.items() if issubclass(loss, LinearModel)])
def test_losses_of_linear_predictions_take_batches(name):
    for loss, shape in registry[name].examples():
        if len(shape) != 1:
            continue
        x = np.random.default_rng(0).standard_normal((2, 3, *shape))
        many = loss.batched(2)
        values, grads = many.value_and_grad(x)
        each = [[loss.value_and_grad(row) for row in rows] for rows in x]
        assert np.allclose(values, [[value for value, _ in rows] for rows in each], rtol=1e-12)
        assert np.allclose(many.value(x), values, rtol=1e-12)
        assert np.allclose(grads, [[grad for _, grad in rows] for rows in each], rtol=1e-12, atol=1e-14)


def test_a_batch_of_a_loss_is_the_loop_over_its_problems():
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((40, 6)), rng.standard_normal(6)
    f, x0 = ts.losses.PhaseIntensity(A, (A @ x) ** 2), rng.standard_normal((20, 6))
    res = ts.minimize(f, x0, TERMS["two"], batch_ndim=1)
    for i in (0, 7, 19):
        alone = ts.minimize(f, x0[i], TERMS["two"])
        assert alone.nit == res.nit[i]
        assert np.allclose(alone.x, res.x[i], atol=1e-7)
    with pytest.raises(ts.InputError, match=r"must have shape \(6,\)"):
        ts.minimize(f, x0, TERMS["two"])
