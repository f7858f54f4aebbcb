"""ts.check finds wrong gradients and proximal maps, and no fault in what is right."""

import numpy as np
import pytest

import trisplit as ts
from tests.problems import quadratic
from trisplit.losses import registry as losses
from trisplit.terms import L1, Box, Simplex, registry


def found(f, x0, terms=None, **options):
    return ts.check(f, x0, L1(0.1) if terms is None else terms, quiet=True, **options)


def half_square(x):
    return x @ x / 2, x


class Soft:
    """An L1 norm of one's own, with a mistake in its proximal map."""

    convex = True

    def __init__(self, prox):
        self.prox = prox

    def value(self, x):
        return np.abs(x).sum()


def soft(x, threshold):
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0)


def in_place(x, gamma):
    x -= np.clip(x, -gamma, gamma)
    return x


@pytest.mark.parametrize("name", registry)
def test_no_fault_is_found_in_the_terms(name):
    for term, shape in registry[name].examples():
        x0 = np.random.default_rng(0).standard_normal(shape)
        res = found(lambda x: ((x * x).sum() / 2, x), x0, term)
        assert res.ok, res


@pytest.mark.parametrize("name", losses)
def test_no_fault_is_found_in_the_losses(name):
    for f, shape in losses[name].examples():
        res = found(f, np.random.default_rng(0).standard_normal(shape))
        assert res.ok, res


MISTAKES = {
    "one entry is forgotten": lambda u: np.where(np.arange(u.size) == 3, 0.0, u),
    "one entry has the wrong sign": lambda u: np.where(np.arange(u.size) == 3, -u, u),
    "a sign is wrong": lambda u: -u,
    "it is halved": lambda u: u / 2,
    "a factor is 1.05": lambda u: 1.05 * u,
    "two entries are exchanged": lambda u: u[[1, 0, *range(2, u.size)]],
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("terms", [L1(1.0), [Box(-2, 2), L1(0.1)], [Simplex(), Box(0, 0.9)]])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_gradient_is_found(mistake, terms, seed):
    f, x0 = quadratic(np.random.default_rng(seed + 10), 12), np.random.default_rng(seed).standard_normal(12)
    wrong = lambda x: (f.value(x), MISTAKES[mistake](f.grad(x)))  # noqa: E731
    assert found(f, x0, terms, rng=seed).ok
    (problem,) = found(wrong, x0, terms, rng=seed).problems
    assert "the gradient of `f` is" in problem


def test_the_wrong_entries_and_the_factor_are_named():
    wrong = lambda x: (x @ x / 2, x * [1, 1, 0, 1, 0])  # noqa: E731
    (problem,) = found(wrong, np.arange(1.0, 6.0)).problems
    assert "wrong in [4], [2]: it has 0 where" in problem or "wrong in [2], [4]: it has 0 where" in problem
    (problem,) = found(lambda x: (x @ x, x), np.ones(3)).problems
    assert problem == "the gradient of `f` is 0.5 times what differences of its values give"


@pytest.mark.parametrize(
    ("prox", "text"),
    [
        (lambda x, gamma: soft(x, 1.0), "is not the minimiser"),
        (lambda x, gamma: soft(x, 2 * gamma), "is not the minimiser"),
        (lambda x, gamma: x + soft(x, gamma), "is not the minimiser"),
        (lambda x, gamma: soft(x, gamma).astype(np.float32), "returns float32 for an array of float64"),
        (lambda x, gamma: x / 0.0, "returns NaN or inf"),
        (in_place, "writes into its argument"),
    ],
)
def test_a_wrong_proximal_map_is_found(prox, text):
    with np.errstate(all="ignore"):
        res = found(half_square, np.array([3.0, 2.0, -4.0]), Soft(prox))
    assert not res.ok
    assert any("`terms[0]` (Soft)" in problem for problem in res.problems)
    assert text in str(res) or "`prox` of" in str(res)
    assert found(half_square, np.array([3.0, 2.0, -4.0]), Soft(lambda x, gamma: soft(x, gamma))).ok


def test_a_projection_that_leaves_its_set_is_found():
    class Half(Soft):
        indicator = True

        def value(self, x):
            return 0.0 if (x >= 0).all() else np.inf

    (problem,) = found(half_square, np.ones(3), Half(lambda x, gamma: x)).problems
    assert problem == "`prox` of `terms[0]` (Half) ends where the `value` of the term is inf"


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (np.abs(x).sum(), np.sign(x)),  # kinks
        lambda x: (np.maximum(x, 0).sum(), (x > 0) * 1.0),
        lambda x: (np.round(x @ x / 2, 2), x),  # stairs
        lambda x: (float(np.float32(x @ x / 2)), x),  # values of half of the digits
        lambda x: (x @ x / 2 + 1e-6 * np.sin(1e9 * x.sum()), x),  # noise
        lambda x: (1e9 + x @ x / 2, x),
        lambda x: (np.nan, x),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_kinks_noise_and_rounding_are_no_mistakes(f, seed):
    x0 = np.random.default_rng(seed).standard_normal(6)
    assert not [text for text in found(f, x0, rng=seed).problems if "gradient" in text]


def test_what_does_not_fit_is_said_in_the_words_of_minimize():
    with pytest.raises(ts.InputError) as raised:
        ts.minimize(half_square, np.ones((2, 2)), L1())
    assert found(half_square, np.ones((2, 2)), L1()).problems == (str(raised.value),)


def test_a_gradient_of_another_precision_is_found():
    (problem,) = found(lambda x: (x @ x / 2, x.astype(np.float32)), np.ones(3)).problems
    assert "another precision than x0, float64" in problem


def test_a_smoothness_constant_that_is_too_small_is_found():
    class Loss:
        lipschitz = 0.5

        def value(self, x):
            return x @ x / 2

        def grad(self, x):
            return x

    (problem,) = found(Loss(), np.ones(3)).problems
    assert problem.startswith("`f.lipschitz` is 0.5, but gradients differ by 1 times the distance")


def test_f_that_writes_into_its_argument_is_found():
    def f(x):
        x *= 1.0001
        return x @ x / 2, x.copy()

    (problem,) = found(f, np.ones(3)).problems
    assert problem == "`f` writes into its argument; let it make new arrays"


@pytest.mark.parametrize("right", [True, False])
def test_problems_of_a_batch_are_tested(right):
    f = lambda x: ((x * x).sum(-1) / 2, x if right else x * [[1], [1], [0]])  # noqa: E731
    res = found(f, np.random.default_rng(0).standard_normal((3, 4)), [Box(-1, 1), L1(0.1)], batch_ndim=1)
    assert res.ok == right
    assert right or "[2, " in res.problems[0]


def test_arguments_stay_as_they_are_and_the_table_is_printed(capsys):
    x0 = np.array([1.0, 2.0])
    res = ts.check(half_square, x0, L1())
    assert x0.tolist() == [1.0, 2.0]
    assert capsys.readouterr().out == f"{res}\n"
    assert str(res).splitlines()[0].startswith("gradient of `f`")
