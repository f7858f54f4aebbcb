"""Certificates dominate the true gap, and Definitions 2-4 and Observation 1 hold as code."""

from itertools import islice

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog

import trisplit as ts
from tests.problems import BIRKHOFF_SPLITS, quadratic, ripples
from trisplit import certificates
from trisplit.terms import L1, Affine, Box, GroupL2, L2Ball, NonNegative, Simplex, SquaredL2


def true_gap(problem, z):
    """Return max over dom phi of <grad f(z), z - x> + g(z) - g(x) + h(z) - h(x), by code that is not ours."""
    u = problem.f.grad(z)
    if isinstance(problem.h, L1):  # u x + w |x| is piecewise linear, so its minimum over [-1, 1] is at -1, 0 or 1
        w = problem.h.weight
        least = np.minimum(0.0, np.minimum(u + w, w - u)).sum()
        return float(u @ z) + w * np.abs(z).sum() - least
    rows, columns = linear_sum_assignment(u)
    return float(np.vdot(u, z) - u[rows, columns].sum())


def random_problems():
    """Twenty nonconvex problems with a joint oracle, of five kinds."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        make = (quadratic, ripples)[seed % 2]
        if seed % 5 == 4:
            terms, shape = (Box(-1, 1), L1(0.1 + 0.2 * rng.random())), (15,)
        else:
            splits = [*BIRKHOFF_SPLITS.values(), (NonNegative(), BIRKHOFF_SPLITS["split 2"][1])]
            terms, shape = splits[seed % 4], (6, 6)
        yield pytest.param(make(rng, int(np.prod(shape))), terms, shape, id=f"{seed}: {make.__name__}, {terms}")


@pytest.mark.parametrize(("f", "terms", "shape"), list(random_problems()))
def test_the_bound_is_never_below_the_true_gap(f, terms, shape):
    problem = ts.Problem(f, terms)
    y = np.random.default_rng(1).standard_normal(shape)
    for step in ("auto", 0.05, 0.7):
        for state in islice(ts.tos(problem, y, step), 300):
            bound, gap = certificates.bound(problem, state), true_gap(problem, state.z)
            scale = 1 + abs(gap) + np.linalg.norm(state.u) + np.linalg.norm(state.y) ** 2 / state.gamma
            assert bound is not None
            assert bound >= gap - 1e-12 * scale
            assert certificates.certify(problem, state).stationarity == pytest.approx(gap, abs=1e-12 * scale)
    for state in islice(ts.tos(problem, y, "auto"), 20_000):
        bound, scale = certificates.bound(problem, state), max(1.0, abs(f.value(state.z)))
        assert bound is not None
        if bound <= 1e-6 * scale and np.linalg.norm(state.z - state.x) <= 1e-6:
            break
    else:
        pytest.fail("the bound did not reach 1e-6")


def test_the_bound_with_three_terms_dominates_the_true_gap():
    """Algorithm 2: box, L1 and an affine set; the true gap at the common x is a linear program."""
    rng = np.random.default_rng(11)
    n = 6
    A = rng.standard_normal((2, n))
    b = A @ rng.uniform(-0.5, 0.5, n)
    terms = [Box(-1, 1), L1(0.3), Affine(A, b)]
    f = quadratic(rng, n)
    problem = ts.Product(ts.Problem(f, terms))
    for state in islice(ts.tos(ts.Product(ts.Problem(f, terms)), np.zeros(n), "auto"), 3000):
        if state.t > 50 and state.t % 50:
            continue
        x = state.x[0]
        u = f.grad(x)
        least = linprog(np.concatenate([u + 0.3, 0.3 - u]), A_eq=np.hstack([A, -A]), b_eq=b, bounds=[(0, 1)] * (2 * n))
        gap = u @ x + 0.3 * np.abs(x).sum() - least.fun
        bound = certificates.bound(problem, state)
        assert bound is not None
        assert bound >= gap - 1e-7 * (1 + abs(gap))  # the tolerance of the linear program
    assert bound <= 1e-6


@pytest.mark.parametrize("gamma", [0.1, 10.0])
@pytest.mark.parametrize("weight", [0.1, 8.0])
def test_the_bound_counts_what_h_loses_between_x_and_z(weight, gamma):
    """With a heavy L1 term and a long step h(z) - h(x) is large at first: without it the bound is wrong."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = ts.Problem(quadratic(rng, 5, "linear"), (Box(-1, 1), L1(weight)))
        for state in islice(ts.tos(problem, 3 * rng.standard_normal(5), gamma), 6):
            bound, gap = certificates.bound(problem, state), true_gap(problem, state.z)
            assert bound is not None
            assert bound >= gap - 1e-11 * (1 + abs(gap) + np.linalg.norm(state.y) ** 2 / gamma)


@pytest.mark.parametrize("gamma", [0.1, 10.0])
def test_the_bound_of_algorithm_2_counts_what_the_terms_lose(gamma):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        f, terms = quadratic(rng, 5), (Box(-1, 1), L1(6.0), L1(2.0))
        lifted = ts.Product(ts.Problem(f, terms))
        for state in islice(ts.tos(ts.Product(ts.Problem(f, terms)), 3 * rng.standard_normal(5), gamma), 6):
            x = state.x[0]
            u = f.grad(x)
            gap = u @ x + 8.0 * np.abs(x).sum() - np.minimum(0.0, np.minimum(u + 8.0, 8.0 - u)).sum()
            bound = certificates.bound(lifted, state)
            assert bound is not None
            assert bound >= gap - 1e-10 * (1 + abs(gap) + np.linalg.norm(state.y) ** 2 / gamma)


def test_the_residual_is_an_element_of_the_subdifferential():
    """Where no bounded set is known: (z - x) / gamma = grad f(z) + v + w with v in dg(z), w in dh(x)."""
    rng = np.random.default_rng(2)
    f, g, h = quadratic(rng, 8, "convex"), L1(0.4), GroupL2([[0, 1], [3, 4, 5]], 0.6)
    problem = ts.Problem(f, (g, h))
    for state in islice(ts.tos(problem, rng.standard_normal(8), "auto"), 60):
        v = (state.y - state.z) / state.gamma
        w = (state.z - state.x) / state.gamma - state.u - v
        for _ in range(5):
            p = rng.standard_normal(8)
            assert g.value(p) >= g.value(state.z) + v @ (p - state.z) - 1e-10
            assert h.value(p) >= h.value(state.x) + w @ (p - state.x) - 1e-10
        assert certificates.certify(problem, state).kind == "residual"
        assert certificates.residual(state) == pytest.approx(np.linalg.norm(state.u + v + w), rel=1e-9, abs=1e-12)


def test_definition_2_is_the_largest_left_hand_side():
    rng = np.random.default_rng(3)
    problem = ts.Problem(ripples(rng, 10), (Box(-1, 1), L1(0.2)))
    z = rng.uniform(-1, 1, 10)
    epsilon = certificates.epsilon_stationary(problem, z)
    competitors = [rng.uniform(-1, 1, 10) for _ in range(200)] + [rng.choice([-1.0, 0.0, 1.0], 10) for _ in range(200)]
    values = [certificates.stationarity_at(problem, z, x) for x in competitors]
    assert max(values) <= epsilon + 1e-12
    assert epsilon == pytest.approx(true_gap(problem, z))


@pytest.mark.parametrize("name", BIRKHOFF_SPLITS)
def test_observation_1_for_sets(name):
    """An alpha-close beta-stationary pair gives an alpha-feasible (alpha G + beta)-stationary point."""
    rng = np.random.default_rng(4)
    problem = ts.Problem(quadratic(rng, 25), BIRKHOFF_SPLITS[name])
    for state in islice(ts.tos(problem, rng.standard_normal((5, 5)), 0.3), 40):
        alpha, beta = certificates.close_stationary(problem, state.x, state.z)
        omega, epsilon = certificates.feasible_stationary(problem, state.z)
        assert omega <= alpha + 1e-12
        assert epsilon <= certificates.epsilon_from_pair(alpha, beta, np.linalg.norm(state.u)) + 1e-10


def test_observation_1_for_a_lipschitz_term():
    rng = np.random.default_rng(5)
    problem = ts.Problem(ripples(rng, 12), (Box(-1, 1), L1(0.4)))
    for state in islice(ts.tos(problem, rng.standard_normal(12), 0.3), 40):
        alpha, beta = certificates.close_stationary(problem, state.x, state.z)
        implied = certificates.epsilon_from_pair(alpha, beta, np.linalg.norm(state.u), 0.4 * 12**0.5)
        assert certificates.epsilon_stationary(problem, state.z) <= implied + 1e-10


@pytest.mark.parametrize(
    ("terms", "kind"),
    [
        ((Simplex(axis=1), Simplex(axis=0)), "gap"),
        ((Box(0, 1), L2Ball(2.0)), "bound"),
        ((L1(0.1), Box(-1, 1), SquaredL2()), "bound"),
        ((L1(0.1), SquaredL2()), "residual"),
        ((NonNegative(), L1(0.1), SquaredL2()), "residual"),
    ],
)
def test_the_best_certificate_known_is_used(terms, kind):
    f = quadratic(np.random.default_rng(6), 16, "convex")
    res = ts.minimize(f, np.full((4, 4), 0.25), terms, max_iter=50)
    assert res.certificate.kind == kind


def test_definitions_need_an_oracle_and_say_so():
    problem = ts.Problem(quadratic(np.random.default_rng(7), 4), (Box(0, 1), L2Ball()))
    with pytest.raises(ts.InputError, match="joint_oracles"):
        certificates.epsilon_stationary(problem, np.zeros(4))
    with pytest.raises(ts.InputError, match="distance"):
        certificates.feasible_stationary(ts.Problem(problem.f, (Box(0, 1), L1())), np.zeros(4))
