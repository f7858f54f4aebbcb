"""The key lemma of [YMS21], on which every certificate and every theorem rests, at every iteration.

<u_t, x_t - x> + g(z_t) - g(x) + h(x_t) - h(x)
    <= (||y_t - x||^2 - ||y_{t+1} - x||^2 - ||x_t - z_t||^2) / (2 gamma)   for all x in dom phi.
"""

from itertools import count, islice, pairwise

import numpy as np
import pytest

import trisplit as ts
from tests.problems import BIRKHOFF_SPLITS, BoxedL1, quadratic, ripples
from trisplit.terms import L1, Box, GroupL2, L2Ball, Simplex

T = 60


def permutations(rng, n):
    return np.eye(n)[rng.permutation(n)]


def cases():
    """Yield name, terms, shape and a function that draws points of dom phi, random and extreme ones."""

    def birkhoff(rng):
        if rng.random() < 0.5:
            return permutations(rng, 5)
        weights = rng.dirichlet(np.ones(4))
        return sum(w * permutations(rng, 5) for w in weights)

    def box(rng):
        return rng.choice([-1.0, 0.0, 1.0], 12) if rng.random() < 0.5 else rng.uniform(-1, 1, 12)

    def ball(rng):
        point = rng.standard_normal(12)
        return point / np.linalg.norm(point) * (1.0 if rng.random() < 0.5 else rng.random())

    def simplex(rng):
        return np.eye(12)[rng.integers(12)] if rng.random() < 0.5 else rng.dirichlet(np.ones(12))

    for name, terms in BIRKHOFF_SPLITS.items():
        yield name, terms, (5, 5), birkhoff
    yield "box and L1", (Box(-1, 1), L1(0.7)), (12,), box
    yield "Lipschitz on a box, group norm", (BoxedL1(0.4), GroupL2([[0, 1, 2], [5, 7]], 0.8)), (12,), box
    yield "ball and nothing", (L2Ball(1.0), ts.terms.Zero()), (12,), ball
    yield "simplex and L1", (Simplex(), L1(0.3)), (12,), simplex
    yield "L1 first, then a simplex", (L1(0.3), Simplex()), (12,), simplex


CASES = {name: rest for name, *rest in cases()}


def competitors(terms, draw, rng, x):
    """Return points of dom phi: random and extreme ones, and where dom phi = dom g multiples of x brought into it.

    The subgradient inequality of a norm is tight along the ray of x, so only there a wrong gamma in prox_h shows.
    """
    g, h = terms
    points = [draw(rng) for _ in range(8)]
    if not getattr(h, "indicator", False):
        points += [g.prox(factor * x, 1e-300) for factor in (0.0, 0.5, 2.0)]
    return points


def worst_violation(states, terms, draw, rng):
    """Return the largest left-hand side minus right-hand side over iterations and x, in units of the scale."""
    g, h = terms
    worst = -np.inf
    for state, following in pairwise(states):
        t, z, x, y, u, gamma = state[:6]
        y_next = following[3]
        for p in competitors(terms, draw, rng, x):
            left = np.vdot(u, x - p) + g.value(z) - g.value(p) + h.value(x) - h.value(p)
            squares = [((y - p) ** 2).sum(), ((y_next - p) ** 2).sum(), ((x - z) ** 2).sum()]
            right = (squares[0] - squares[1] - squares[2]) / (2 * gamma)
            scale = 1 + abs(left) + sum(squares) / gamma + abs(np.vdot(u, u))
            worst = max(worst, (left - right) / scale)
    return worst


@pytest.mark.parametrize("gamma", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("make", [quadratic, ripples])
@pytest.mark.parametrize("name", CASES)
def test_key_lemma_holds_at_every_iteration(name, make, gamma):
    terms, shape, draw = CASES[name]
    rng = np.random.default_rng(7)
    f = make(rng, int(np.prod(shape)))
    states = list(islice(ts.tos(ts.Problem(f, terms), rng.standard_normal(shape), gamma), T))
    assert worst_violation(states, terms, draw, rng) <= 1e-12


@pytest.mark.parametrize("name", CASES)
def test_key_lemma_holds_with_the_adaptive_step(name):
    """With changing gamma the form <y+ - x, d> / gamma is the one that holds, y+ = y - d the unrelaxed update."""
    terms, shape, draw = CASES[name]
    g, h = terms
    rng = np.random.default_rng(3)
    f = quadratic(rng, int(np.prod(shape)))
    for state in islice(ts.tos(ts.Problem(f, terms), rng.standard_normal(shape), "auto", relax=1.4), T):
        t, z, x, y, u, gamma = state[:6]
        for p in competitors(terms, draw, rng, x):
            d = z - x
            left = np.vdot(u, x - p) + g.value(z) - g.value(p) + h.value(x) - h.value(p)
            right = np.vdot(y - d - p, d) / gamma
            assert left <= right + 1e-12 * (1 + abs(left) + (abs(y).max() + abs(d).max()) ** 2 / gamma)


def mutant(problem, y, gamma, *, sign=1.0, reflect=True, longer=(1.0, 1.0, 1.0)):
    """Iterate Algorithm 1 with one deliberate mistake: gradient sign, no reflection, or a gamma doubled somewhere."""
    f, g, h = problem.f, problem.g, problem.h
    for t in count(1):
        z = g.prox(y, longer[0] * gamma)
        u = sign * f.grad(z)
        x = h.prox((2 * z - y if reflect else z) - longer[1] * gamma * u, longer[2] * gamma)
        # The test takes u for the gradient of f, as the lemma does.
        yield t, z, x, y, f.grad(z), gamma
        y = y - z + x


MUTANTS = {
    "gradient sign flipped": {"sign": -1.0},
    "reflection left out": {"reflect": False},
    "gamma doubled at the gradient": {"longer": (1.0, 2.0, 1.0)},
    "gamma doubled in prox_g": {"longer": (2.0, 1.0, 1.0)},
    "gamma doubled in prox_h": {"longer": (1.0, 1.0, 2.0)},
}


def test_the_mutant_without_a_mistake_is_algorithm_1():
    terms, shape, _ = CASES["split 1"]
    rng = np.random.default_rng(0)
    problem, y = ts.Problem(quadratic(rng, 25), terms), rng.standard_normal(shape)
    for ours, plain in zip(islice(ts.tos(problem, y, 0.3), 20), mutant(problem, y, 0.3), strict=False):
        for a, b in zip(ours[:6], plain, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mistake", MUTANTS)
def test_the_key_lemma_catches_mistakes(mistake):
    """Each mistake breaks the inequality in some case; a mistake in gamma of a projection cannot be seen with sets."""
    worst = -np.inf
    for terms, shape, draw in CASES.values():
        rng = np.random.default_rng(7)
        problem = ts.Problem(quadratic(rng, int(np.prod(shape))), terms)
        states = list(islice(mutant(problem, rng.standard_normal(shape), 0.3, **MUTANTS[mistake]), T))
        worst = max(worst, worst_violation(states, terms, draw, rng))
    assert worst > 1e-6
