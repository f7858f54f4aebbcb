"""Evidence against a gradient or a proximal map is found where it is wrong, and nowhere else."""

import math
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trisplit as ts
from tests.problems import quadratic, ripples
from trisplit.losses import registry as losses
from trisplit.problems.gradient_faults import compare_slopes, gradient_fault
from trisplit.problems.product import with_two_terms
from trisplit.problems.prox_faults import Proximal, prox_fault
from trisplit.terms import L0, L1, L2, Box, L2Ball, NonNegative, Simplex, Zero, registry

TERMS = {
    "l1": L1(0.3),
    "box and l1": [Box(-1, 1), L1(0.1)],
    "cone": [NonNegative(), L1(0.05)],
    "simplices": [Simplex(), Box(0, 0.9)],
    "three": [Box(-1, 1), L1(0.1), L2Ball(0.8)],
    "nonconvex": L0(0.1),
    "none": Zero(),
}


def last(f, x0, terms, iterations=30, step="auto"):
    """Return the problem, as it is iterated on, and an iterate."""
    problem = ts.Problem(f, terms)
    (made,) = islice(ts.tos(problem, x0, step), iterations - 1, iterations)
    return with_two_terms(problem), made


def fault_of(f, x0, terms, seed=0, **options):
    """Return what is found out about the gradient of f after some iterations."""
    problem, made = last(f, x0, terms, **options)
    return gradient_fault(problem.base, problem.point(made), x0, made.gamma, seed=seed)


MISTAKES = {
    "one entry is forgotten": lambda u: np.where(np.arange(u.size) == 3, 0.0, u),
    "one entry has the wrong sign": lambda u: np.where(np.arange(u.size) == 3, -u, u),
    "the sign is wrong": lambda u: -u,
    "it is halved": lambda u: u / 2,
    "it is doubled": lambda u: 2 * u,
    "a factor is 1.05": lambda u: 1.05 * u,
}


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_gradient_is_found(mistake, terms):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        f, x0 = quadratic(rng, 8, "convex"), rng.standard_normal(8)
        wrong = lambda x, f=f: (f.value(x), MISTAKES[mistake](f.grad(x)))  # noqa: E731
        assert fault_of(f, x0, TERMS[terms], seed) is None
        assert "its gradient says by" in fault_of(wrong, x0, TERMS[terms], seed)


def test_a_forgotten_ridge_is_found_at_a_false_minimum():
    f = quadratic(np.random.default_rng(0), 8, "convex")
    wrong = lambda x: (f.value(x) + 0.1 * x @ x, f.grad(x))  # noqa: E731
    assert fault_of(wrong, np.ones(8), L1(0.01), iterations=300) is not None


def test_an_entry_in_which_the_path_never_moved_is_tested():
    wrong = lambda x: (((x - [1, 2, 3]) ** 2).sum(), 2 * (x - [1, 2, 3]) * [1, 0, 1])  # noqa: E731
    res = ts.minimize(wrong, np.zeros(3), Box(-5, 5))
    assert res.x[1] == 0
    assert gradient_fault(ts.Problem(wrong, Box(-5, 5)), res.x, np.zeros(3)) is not None


NOISE = np.random.default_rng(0)
HOSTILE = {
    "kinks": lambda x: (np.abs(x - 0.1).sum(), np.sign(x - 0.1)),
    "a kink at the solution": lambda x: (np.maximum(x, 0).sum() - x.sum() / 2, (x > 0) - 0.5),
    "a maximum": lambda x: (x.max(), np.eye(x.size)[x.argmax()]),
    "a constant": lambda x: (3.0, 0 * x),
    "linear": lambda x: (x.sum(), np.ones_like(x)),
    "an offset": lambda x: (1e9 + x @ x / 2, x),
    "stairs": lambda x: (np.round(x @ x / 2, 3), x),
    "values of single precision": lambda x: (float(np.float32(x @ x / 2)), x),
    "gradients of single precision": lambda x: (x @ x / 2, x.astype(np.float32).astype(float)),
    "a barrier": lambda x: (x.sum() - np.log(x + 3).sum(), 1 - 1 / (x + 3)),
    "a root": lambda x: (np.sqrt(x).sum(), 0.5 / np.sqrt(x)),
    "a steep exponential": lambda x: (np.exp(30 * x).sum() - x.sum(), 30 * np.exp(30 * x) - 1),
    "ill-conditioned": lambda x: (
        (10.0 ** np.linspace(-8, 8, x.size) * x) @ x / 2,
        10.0 ** np.linspace(-8, 8, x.size) * x,
    ),
    "ripples": lambda x: (x @ x / 2 + 1e-3 * np.sin(1e3 * x).sum(), x + np.cos(1e3 * x)),
    "fine ripples": lambda x: (x @ x / 2 + 1e-5 * np.sin(1e5 * x).sum(), x + np.cos(1e5 * x)),
    "only NaN": lambda x: (np.nan, x),
    **{
        f"noise {size:g}": lambda x, size=size: ((1 + size * NOISE.standard_normal()) * (1 + x @ x), 2 * x)
        for size in (1e-8, 1e-6, 1e-4, 1e-3)
    },
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("terms", TERMS)
def test_kinks_noise_and_rounding_are_no_mistakes(name, terms):
    for seed in range(3):
        x0 = np.random.default_rng(seed).uniform(0.1, 1.0, 5)
        for iterations in (1, 12):
            problem, made = last(HOSTILE[name], x0, TERMS[terms], iterations, step=0.01)
            assert gradient_fault(problem.base, problem.point(made), x0, made.gamma, seed=seed) is None


@pytest.mark.parametrize("name", losses)
def test_no_fault_is_found_in_the_losses(name):
    for f, shape in losses[name].examples():
        x0 = np.random.default_rng(0).standard_normal(shape)
        assert fault_of(f, x0, L1(0.01), iterations=10) is None


def test_where_all_is_well_few_values_are_asked_for():
    f = ripples(np.random.default_rng(0), 50)
    problem, made = last(f, np.ones(50), Box(-1, 1))
    before = vars(problem.counts).copy()
    assert gradient_fault(problem, made.z, np.ones(50)) is None
    assert problem.counts.value - before["value"] <= 12
    assert problem.counts.grad - before["grad"] <= 3


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-8, 1e-3, 1.0, 1e5]), unit=st.sampled_from([1e-6, 1, 1e6])
)
def test_verdicts_do_not_depend_on_units(seed, scale, unit):
    rng = np.random.default_rng(seed)
    f, x = ripples(rng, 6), unit * rng.standard_normal(6)
    value = lambda x: scale * f.value(x / unit)  # noqa: E731
    u = scale / unit * f.grad(x / unit)
    p = unit * 1e-5 * u / np.linalg.norm(u)  # across u a doubled gradient has the right slope
    grad = lambda x: scale / unit * f.grad(x / unit)  # noqa: E731
    assert compare_slopes(value, grad, x, u, p).right
    assert compare_slopes(value, lambda x: 2 * grad(x), x, 2 * u, p).right is False


def test_exceptions_at_points_that_are_only_tried_say_nothing():
    def f(x):
        return math.sqrt(1 - x @ x), -x / math.sqrt(1 - x @ x)

    assert gradient_fault(ts.Problem(f, Zero()), np.array([1.0, 0.0]), np.zeros(2)) is None


class Own:
    """A term of one's own."""

    def __init__(self, value, prox, **declared):
        self.value, self.prox = value, prox
        vars(self).update(declared)


def soft(x, threshold):
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0)


def l1(x):
    return np.abs(x).sum()


def in_ball(x, tolerance=1e-9):
    return 0.0 if np.linalg.norm(x) <= 1 + tolerance else np.inf


def to_ball(x, radius):
    return x * min(1.0, radius / max(np.linalg.norm(x), 1e-300))


WRONG = {
    "gamma is forgotten": (l1, lambda x, gamma: soft(x, 1.0)),
    "the weight is doubled": (l1, lambda x, gamma: soft(x, 2 * gamma)),
    "the sign is wrong": (l1, lambda x, gamma: x + gamma * np.sign(x)),
    "nothing is done": (l1, lambda x, gamma: x.copy()),
    "the ball is half as large": (in_ball, lambda x, gamma: to_ball(x, 0.5)),
    "the ball is twice as large": (in_ball, lambda x, gamma: to_ball(x, 2.0)),
    "the centre is another": (lambda x: (x - 1) @ (x - 1) / 2, lambda x, gamma: (x - gamma) / (1 + gamma)),
}


@pytest.mark.parametrize("declared", [{}, {"convex": True}])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_proximal_map_is_found(mistake, place, declared):
    b = np.array([3.0, 2.0, -4.0])
    terms = [Box(-9, 9), Zero()] if place == 2 else [Box(-9, 9)]
    terms.insert(place, Own(*WRONG[mistake], **declared))
    problem, made = last(lambda x: ((x - b) @ (x - b) / 2, x - b), np.zeros(3), terms, iterations=60, step=0.4)
    index, text = prox_fault(problem, made)
    assert index == place
    assert text.startswith("prox(y, 0.4) ")


RIGHT = {
    "l1": (l1, lambda x, gamma: soft(x, gamma)),
    "the norm": (np.linalg.norm, lambda x, gamma: x - to_ball(x, gamma)),
    "a ball": (in_ball, lambda x, gamma: to_ball(x, 1.0)),
    "a ball with no tolerance": (lambda x: in_ball(x, 0), lambda x, gamma: to_ball(x, 1.0)),
    "a ball with much tolerance": (lambda x: in_ball(x, 1e-5), lambda x, gamma: to_ball(x, 1.0)),
    "a prox by iterations": (l1, lambda x, gamma: soft(x, gamma) * (1 + 1e-7)),
    "a barrier": (
        lambda x: -np.log(x).sum() if (x > 0).all() else np.inf,
        lambda x, gamma: (x + np.sqrt(x * x + 4 * gamma)) / 2,
    ),
    "no convex function": (np.count_nonzero, lambda x, gamma: np.where(x * x > 2 * gamma, x, 0)),
}


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(sorted(RIGHT)), step=st.sampled_from([0.01, 0.3, "auto"]))
def test_no_fault_is_found_in_right_terms_of_ones_own(seed, name, step):
    rng = np.random.default_rng(seed)
    b, partner = 3 * rng.standard_normal(4), [Zero(), L2(0.1), Box(-2, 2)][seed % 3]
    f = lambda x: ((x - b) @ (x - b) / 2, x - b)  # noqa: E731
    problem, made = last(f, rng.standard_normal(4), [Own(*RIGHT[name]), partner], 1 + seed % 30, step)
    assert prox_fault(problem, made, seed=seed) is None


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e2])
@pytest.mark.parametrize("name", registry)
def test_no_fault_is_found_in_the_terms(name, scale):
    for term, shape in registry[name].examples():
        rng = np.random.default_rng(0)
        b, x0 = (scale * rng.standard_normal(shape) for _ in range(2))
        problem, made = last(lambda x, b=b: (((x - b) ** 2).sum() / 2, x - b), x0, [term, Box(-scale, scale)], 10)
        assert prox_fault(problem, made, [x0]) is None


def test_a_proximal_map_that_writes_into_its_argument_leaves_the_iterate_alone():
    def in_place(x, gamma):
        x -= np.clip(x, -gamma, gamma)
        return x

    problem, made = last(lambda x: (x @ x / 2, x), np.ones(2), [L1(1.0), Zero()], 1)
    before = made.y.copy()
    other = ts.Problem(lambda x: (x @ x / 2, x), [Own(l1, in_place), Zero()])
    prox_fault(other, made)
    assert (made.y == before).all()


@given(y=st.floats(-1e3, 1e3), gamma=st.floats(1e-3, 1e3), q=st.floats(-1e3, 1e3))
def test_a_proximal_point_loses_to_none(y, gamma, q):
    at = np.array([y])
    assert not Proximal.of(L1(1.0), at, soft(at, gamma), gamma).loses_to(np.array([q]))


def test_a_wrapper_of_a_right_term_is_asked_all_the_same():
    """That what it wraps comes with the package says nothing of its own map; in a batch neither."""

    class Doubled:
        convex = True

        def __init__(self, term):
            self.term = term

        def value(self, x):
            return 2 * np.abs(x).sum(axis=-1)

        def prox(self, x, gamma):
            return np.sign(x) * np.maximum(np.abs(x) - gamma, 0.0)  # that of the term

    f = lambda x: (((x - 3) ** 2).sum(axis=-1) / 2, x - 3)  # noqa: E731
    alone = ts.minimize(f, np.zeros(2), Doubled(ts.terms.L1(1.0)))
    together = ts.minimize(f, np.zeros((3, 2)), Doubled(ts.terms.L1(1.0)), batch_ndim=1)
    assert alone.status is ts.Status.BAD_PROX
    assert (together.status == ts.Status.BAD_PROX).any()
