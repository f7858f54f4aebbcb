"""Graduated concavity: the engine follows the changing objective, and ends at permutations."""

import numpy as np
import pytest

import trisplit as ts
from trisplit.errors import InputError
from trisplit.qap import load, relax, round_to_permutation
from trisplit.qap.concavity import STAGE, Concave, Concavity
from trisplit.qap.engine import SPLITS, BirkhoffLoop
from trisplit.qap.objective import Objective


def form_of(instance):
    return Objective(instance.A.astype(float), instance.B.astype(float))


@pytest.mark.parametrize("name", ["nug12", "chr15a", "tai30a", "bur26a", "kra30a"])
def test_the_result_is_a_permutation_with_its_cost(name):
    instance = load(name)
    res = relax(instance, split=1, concavity=200, rng=0)
    p = round_to_permutation(res.x)
    assert res.success
    np.testing.assert_allclose(res.x, np.eye(instance.n)[p], atol=1e-4)
    assert res.fun == pytest.approx(instance.cost(p), rel=1e-4)
    assert res.trace["iteration"][0] >= 200


@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("rule", [ts.steps.Adaptive(), ts.steps.Constant(1e-3)])
def test_the_compiled_loop_is_the_plain_one_on_the_concave_objective(split, rule):
    f, mu = form_of(load("nug12")).tangent(), 40.0
    y0 = ts.qap.initial_point(12, np.random.default_rng(1))
    loop = BirkhoffLoop(f, split, rule)
    loop.start(y0)
    loop.mu = mu
    if isinstance(rule, ts.steps.Adaptive):  # the first step is measured without the concavity
        loop.table.gamma, _ = rule.start(ts.Problem(Concave(f, mu), SPLITS[split]), y0)
    for state in ts.tos(ts.Problem(Concave(f, mu), SPLITS[split]), y0, rule):
        loop.advance(1)
        np.testing.assert_allclose(loop.z, state.z, atol=1e-7)
        assert loop.value == pytest.approx(Concave(f, mu).value(state.z), rel=1e-9)
        if state.t == 60:
            break


def test_the_concave_objective_equals_f_at_permutations_and_is_concave_between():
    rng, instance = np.random.default_rng(0), load("tai12a")
    f = form_of(instance)
    _, positive = f.tangent().curvature()
    concave = Concave(f, positive)
    for _ in range(20):
        X, Y = (np.eye(12)[rng.permutation(12)] for _ in range(2))
        assert concave.value(X) == pytest.approx(f.value(X))
        t = rng.random()
        between = t * concave.value(X) + (1 - t) * concave.value(Y)
        assert concave.value(t * X + (1 - t) * Y) >= between - 1e-9 * abs(between)
        value, grad = concave.value_and_grad(t * X + (1 - t) * Y)
        assert value == concave.value(t * X + (1 - t) * Y)
        np.testing.assert_array_equal(grad, concave.grad(t * X + (1 - t) * Y))


def test_mu_grows_in_stages_to_its_final_value():
    growing = Concavity(8.0, 200)
    values = [growing.at(t) for t in range(400)]
    assert values[0] == 0.0
    assert values[200] == values[-1] == 8.0
    assert values == sorted(values)
    assert len(set(values[:200])) == 200 // STAGE


@pytest.mark.parametrize(
    "options",
    [
        {"concavity": 0},
        {"concavity": True},
        {"concavity": 2.5},
        {"concavity": 9, "method": "fw"},
        {"concavity": 9, "order": "hg"},
        {"concavity": 9, "step": 1e-3},
    ],
)
def test_what_it_cannot_be_combined_with(options):
    with pytest.raises(InputError, match="concavity"):
        relax(load("nug12"), **options)


def test_a_limit_before_it_has_grown():
    res = relax(load("nug12"), split=1, concavity=200, max_iter=50, rng=0)
    assert res.status is ts.Status.MAX_ITER
    assert res.nit == 50
    assert res.certificate.kind == "gap"
