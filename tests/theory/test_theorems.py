"""Theorems 1 and 2 and Corollary 1 on real runs, and the formulas of all theorems."""

from itertools import islice

import numpy as np
import pytest

import trisplit as ts
from tests.problems import BIRKHOFF_SPLITS, BoxedL1, quadratic
from trisplit import theory
from trisplit.steps import Theory
from trisplit.terms import L1, Box, GroupL2, L2Ball, NonNegative, Simplex, SquaredL2, UnitSums


def boxed_l1_oracle(g, h):
    """Minimise <u, x> + g(x) + h(x) over [-1, 1]^n for two multiples of the L1 norm."""

    def minimizer(u):
        weight = g.weight + h.weight
        return np.where(u > weight, -1.0, np.where(u < -weight, 1.0, 0.0))

    return minimizer


def covered():
    yield "Theorem 1", (BoxedL1(0.3), L1(0.2)), (20,)
    yield "Corollary 1", (Box(-1, 1), L1(0.3)), (20,)
    yield "Theorem 2", BIRKHOFF_SPLITS["split 1"], (5, 5)
    yield "Theorem 2", BIRKHOFF_SPLITS["split 2"], (5, 5)


@pytest.mark.parametrize("T", [100, 1000, 10_000])
@pytest.mark.parametrize(("name", "terms", "shape"), list(covered()))
def test_the_average_over_the_run_obeys_the_bound(name, terms, shape, T):
    """The theorems bound, for every x, the average over t; its largest value over x is one oracle call."""
    rng = np.random.default_rng(T)
    size = int(np.prod(shape))
    f = quadratic(rng, size)
    problem = ts.Problem(f, terms)
    g, h = terms
    y = g.prox(rng.standard_normal(shape), 1e-9)
    coverage = theory.theorem_for(problem, y)
    assert coverage.name == name
    theorem = coverage.theorem
    assert theorem is not None

    mean_u, mean_inner, mean_distance = np.zeros(shape), 0.0, 0.0
    for state in islice(ts.tos(problem, y, Theory(iterations=T)), T):
        assert state.gamma == theorem.step(T)
        assert np.linalg.norm(state.u) <= theorem.G_f + 1e-9
        own = 0.0 if name == "Theorem 2" else g.value(state.z) + h.value(state.z)
        mean_u += state.u / T
        mean_inner += (np.vdot(state.u, state.z) + own) / T
        mean_distance += (h.distance(state.z) if name == "Theorem 2" else 0.0) / T
    minimizer = boxed_l1_oracle(g, h) if name == "Theorem 1" else problem.oracle(shape).minimizer  # pyright: ignore
    worst_x = minimizer(mean_u)
    at_x = 0.0 if name == "Theorem 2" else g.value(worst_x) + h.value(worst_x)
    average = mean_inner - np.vdot(mean_u, worst_x) - at_x
    assert average <= theorem.stationarity(T, tight=True) <= theorem.stationarity(T)
    assert mean_distance <= theorem.infeasibility(T, tight=True) <= theorem.infeasibility(T) + 1e-15


@pytest.mark.parametrize("name", theory.theorems)
def test_tight_forms_are_tighter_and_bounds_fall_at_the_rate(name):
    constants = {"D": 3.0, "G_f": 0.7, "L_g": 0.4, "L_h": 0.2, "sigma": 1.3}
    make = theory.theorems[name]
    theorem = make(**{k: constants[k] for k in make.__code__.co_varnames[: make.__code__.co_argcount]})
    for T in (2, 10, 1000, 10**6):
        # The main-text forms of Theorems 3 and 4 leave out the term 2 / T^(2/3): T^(2/3) >= T^(1/3) covers it.
        assert theorem.stationarity(T, tight=True) <= theorem.stationarity(T) * (1 + 1e-12)
        assert theorem.infeasibility(T, tight=True) <= theorem.infeasibility(T) * (1 + 1e-12)
    ratio = theorem.stationarity(8 * 10**12) / theorem.stationarity(10**12)
    assert ratio == pytest.approx(0.5, rel=0.01)


def test_the_formulas_of_the_paper_at_one_point():
    """D = 2, G = 1, L_g = 0.5, L_h = 0.25, sigma = 1, T = 64: T^(1/3) = 4, T^(1/2) = 8, T^(2/3) = 16."""
    t1, t2 = theory.theorem1(2, 1, 0.5, 0.25), theory.theorem2(2, 1)
    assert t1.step(64) == pytest.approx(2 / (2 * 1.75 * 16))
    assert t1.stationarity(64) == pytest.approx(4 * 2 * 1.75 / 4)
    assert t1.stationarity(64, tight=True) == pytest.approx(2 * 1.75 / 4 + 2 * 1.25 * (1 / 16 + 1 / 8 + 1 / 4))
    assert t2.stationarity(64, tight=True) == pytest.approx(2 * (1 / 16 + 1 / 8 + 2 / 4))
    assert t2.infeasibility(64) == pytest.approx(3 * 2 / 4)
    assert t2.infeasibility(64, tight=True) == pytest.approx(2 * (1 / 16 + 1 / 8 + 1 / 4))
    t3, t4 = theory.theorem3(2, 1, 0.5, 0.25, 1.0), theory.theorem4(2, 0.1, 1.0)
    assert t3.batch_size(64) == np.ceil(16 / (2 * 1.75**2))
    assert t4.batch_size(64) == 800
    assert t3.stationarity(64) == pytest.approx(2 * 1.75 * (6**0.5 / 8 + (5 + 2**0.5) / 4))
    closeness = 2 / 16 + 6**0.5 / 8 + 2**0.5 / 4
    assert t3.stationarity(64, tight=True) == pytest.approx(2 * 1.75 * 3 / 4 + 2 * 1.25 * closeness)
    assert t4.infeasibility(64) == pytest.approx(2 * (6**0.5 / 8 + (2 + 2**0.5) / 4))
    assert t4.stationarity(64, tight=True) == pytest.approx(0.2 * (closeness + 3 / 4))
    assert theory.corollary1(2, 1, 0.25).stationarity(64) == pytest.approx(4 * 2 * 1.25 / 4)


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.01])
def test_iterations_and_samples_until_epsilon(epsilon):
    """Corollary 2: T = O(1 / epsilon^3), T |Q| = O(1 / epsilon^5)."""
    theorem = theory.theorem4(1.0, 1.0, 0.5)
    T = theorem.iterations(epsilon)
    assert max(theorem.stationarity(T), theorem.infeasibility(T)) <= epsilon * (1 + 1e-9)
    assert T == 1 or max(theorem.stationarity(T - 1), theorem.infeasibility(T - 1)) > epsilon
    assert T <= 1000 / epsilon**3
    assert theorem.samples(epsilon) <= 1e5 / epsilon**5


def test_a_constant_objective_has_a_step():
    """esc16f has a zero matrix: G_f = 0 must not divide by zero."""
    assert theory.theorem2(2.0, 0.0).step(100) == 1.0
    with pytest.raises(ts.InputError, match="G_f"):
        theory.theorem4(2.0, 0.0, 1.0).batch_size(10)


@pytest.mark.parametrize(
    ("terms", "missing"),
    [
        ((NonNegative(), L1()), "bounded"),
        ((BoxedL1(1.0), UnitSums()), "h is an indicator but g is not"),
        ((Box(0, 1), SquaredL2()), "h is not known to be Lipschitz"),
        ((Box(-5, 5), BoxedL1(1.0)), "whole space"),
        ((Box(0, 1), UnitSums()), "G_f"),
    ],
)
def test_what_is_missing_is_named(terms, missing):
    coverage = theory.theorem_for(ts.Problem(lambda x: (0.0, 0 * x), terms), np.zeros((3, 3)))
    assert coverage.theorem is None
    assert missing in coverage.missing


def test_a_gradient_bound_can_be_given():
    terms = (Simplex(), GroupL2([[0, 1]], 0.5))
    problem = ts.Problem(lambda x: (0.0, 0 * x), terms)
    theorem = theory.theorem_for(problem, np.zeros(4), gradient_bound=2.0).theorem
    assert theorem == theory.corollary1(2**0.5, 2.0, 0.5)
    unknown = theory.theorem_for(ts.Problem(lambda x: (0.0, 0 * x), L2Ball()), np.zeros(3))
    assert unknown.name == "Corollary 1"


@pytest.mark.parametrize("bad", [{"D": -1.0, "G_f": 1.0}, {"D": 1.0, "G_f": float("nan")}])
def test_bad_constants_are_refused(bad):
    with pytest.raises(ts.InputError, match="must be a finite number >= 0"):
        theory.theorem2(**bad)


SETS = {"terms": (Box(0, 1), UnitSums()), "step": "theory", "output": "random", "max_iter": 50, "rng": 0}


class Linear:
    lipschitz = 0.0

    def value(self, x):
        return float(x.sum())

    def grad(self, x):
        return np.ones_like(x)


def test_a_gradient_bound_that_the_start_contradicts_names_no_theorem():
    good = ts.minimize(Linear(), np.full((2, 2), 0.5), **{**SETS, "step": Theory(gradient_bound=2.5)})
    assert good.guarantee.theorem == "Theorem 2"
    bad = ts.minimize(Linear(), np.full((2, 2), 0.5), **{**SETS, "step": Theory(gradient_bound=1e-6)})
    assert bad.guarantee.theorem is None
    assert "gradient_bound" in str(bad.guarantee)


def test_a_rule_that_only_looks_like_the_theorys_names_no_theorem():
    class Growing(ts.steps.Adaptive):
        iterations = 50

    res = ts.minimize(Linear(), np.full((2, 2), 0.5), **{**SETS, "step": Growing()})
    assert res.guarantee.theorem is None


def test_the_gradient_bound_dominates_the_gradient_over_the_domain():
    """G_f = ||grad f(z)|| + L D holds at every vertex of the box, and L D / 2 would not."""
    f = quadratic(np.random.default_rng(0), 8, "convex")
    theorem = theory.theorem_for(ts.Problem(f, Box(-1, 1)), np.zeros(8)).theorem
    assert theorem is not None
    assert theorem.G_f == pytest.approx(np.linalg.norm(f.c) + f.lipschitz * 2 * 8**0.5)
