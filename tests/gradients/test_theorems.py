"""[YMS21] Theorems 3 and 4: the largest average nonstationarity over 200 runs stays below the bound."""

import numpy as np
import pytest

import trisplit as ts
from trisplit.gradients import Estimated, Minibatch
from trisplit.splitting.tos import FIXED, iterate
from trisplit.theory import theorem3, theorem4

RUNS = 200
N, D = 30, 5


class Waves:
    """A nonconvex sum with known constants, f_i(x) = sum_j cos(x_j + shift_ij) / sqrt(d)."""

    def __init__(self):
        self.shift = np.random.default_rng(0).uniform(0, 2, (N, D))
        self.n, self.lipschitz, self.sample_lipschitz = N, 1 / np.sqrt(D), 1 / np.sqrt(D)

    def value(self, x):
        return float(np.cos(x + self.shift).sum(axis=1).mean() / np.sqrt(D))

    def sample_grads(self, x, rows):
        return -np.sin(x + self.shift[rows]) / np.sqrt(D)

    def batch_grad(self, x, rows):
        return self.sample_grads(x, rows).mean(axis=0)

    def grad(self, x):
        return self.sample_grads(x, np.arange(N)).mean(axis=0)


G_F = 1.0  # ||grad f_i|| <= 1 for every sample
SIGMA = 1.0  # the variance of a vector of length at most 1 is at most 1


def averages(terms, theorem, T):
    """Return the averages over runs and t of grad f(z_t), of <grad f(z_t), z_t>, and of h(z_t) or dist(z_t, H)."""
    f, gamma, size = Waves(), theorem.step(T), theorem.batch_size(T)
    sums = np.zeros(D), 0.0, 0.0
    g, h = terms
    for run in range(RUNS):
        y0 = g.prox(np.random.default_rng(run).uniform(-1, 1, D), 1.0)
        problem, state = ts.Problem(f, list(terms)), ts.State(0, y0, gamma)
        noisy = Estimated(problem.f, Minibatch(size), key=run)
        for _ in range(T):
            made = iterate(problem, state, FIXED, noisy)
            u, z, state = f.grad(made.z), made.z, made.after
            sums = sums[0] + u, sums[1] + u @ z, sums[2] + (h.distance(z) if h.indicator else h.value(z))
    return tuple(each / (RUNS * T) for each in sums)


CASES = [
    (theorem4, ts.terms.Box(-1.0, 1.0), ts.terms.Hyperplane(np.ones(D), 0.5)),
    (theorem3, ts.terms.L2Ball(1.5), ts.terms.L1(0.2)),
]


@pytest.mark.parametrize("T", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("statement", "g", "h"), CASES, ids=["Theorem 4", "Theorem 3"])
def test_the_bounds_hold(statement, g, h, T):
    diameter = g.diameter((D,))
    if h.indicator:
        theorem = statement(diameter, G_F, SIGMA)
    else:
        theorem = statement(diameter, G_F, 0.0, h.lipschitz((D,)), SIGMA)
    slope, inner, own = averages((g, h), theorem, T)
    if h.indicator:
        assert own <= theorem.infeasibility(T)
        worst = inner - least_over_section(slope)
    else:
        worst = inner + own - least_with_norm(slope, g.radius, h.weight)
    assert worst <= theorem.stationarity(T)
    assert worst <= theorem.stationarity(T, tight=True)


def least_over_section(slope):
    """Return min <slope, x> over -1 <= x <= 1, sum x = 0.5, by sorting: all but one entry are at a bound."""
    x, left = -np.ones(D), 0.5 + D
    for j in np.argsort(slope):
        x[j] += min(2.0, left)
        left -= min(2.0, left)
    return slope @ x


def least_with_norm(slope, radius, weight):
    """Return min <slope, x> + weight ||x||_1 over ||x|| <= radius."""
    return -radius * np.linalg.norm(np.maximum(np.abs(slope) - weight, 0.0))


@pytest.mark.parametrize(("statement", "g", "h"), CASES, ids=["Theorem 4", "Theorem 3"])
def test_minimize_takes_step_and_batch_of_the_theorem_and_names_it(statement, g, h):
    rule = ts.steps.Theory(gradient_bound=G_F)
    x0 = g.prox(np.full(D, 0.1), 1.0)
    options = {"step": rule, "output": "random", "max_iter": 64, "tol": 0, "rng": 0}
    res = ts.minimize(Waves(), x0, [g, h], gradient=Minibatch("theory", sigma=SIGMA), **options)
    names = {theorem4: "Theorem 4", theorem3: "Theorem 3"}
    assert res.guarantee.theorem == names[statement]
    constants = (g.diameter((D,)), G_F) + (() if h.indicator else (0.0, h.lipschitz((D,))))
    theorem = statement(*constants, SIGMA)
    assert res.guarantee.stationarity == theorem.stationarity(64)
    assert res.trace.rows[-1].step == theorem.step(64)
    assert res.trace.rows[-1].samples == 64 * theorem.batch_size(64)
    few = ts.minimize(Waves(), x0, [g, h], gradient=Minibatch(1, sigma=SIGMA), **options)
    assert few.guarantee.theorem is None
    assert "batches of" in few.guarantee.reason
    unknown = ts.minimize(Waves(), x0, [g, h], gradient=Minibatch("theory"), **options)
    assert unknown.guarantee.theorem == names[statement]
    assert unknown.guarantee.stationarity is None
    other = ts.minimize(Waves(), x0, [g, h], gradient="saga", **options)
    assert "no theorem covers gradients by SAGA" in str(other.guarantee)


def test_no_theorem_of_two_terms_is_taken_for_three():
    """Algorithm 2 has a copy that no term bounds."""
    x0, terms = np.full(D, 0.1), [ts.terms.Box(0, 1), ts.terms.L2Ball(2.0), ts.terms.Box(0, 2)]
    rule, options = ts.steps.Theory(gradient_bound=G_F), {"max_iter": 64, "tol": 0, "rng": 0}
    res = ts.minimize(Waves(), x0, terms, step=rule, gradient=Minibatch(4), **options)
    assert res.trace["step"][-1] == 64 ** (-2 / 3)
    with pytest.raises(ts.InputError, match="Algorithm 2 has a block"):
        ts.minimize(Waves(), x0, terms, step=rule, gradient=Minibatch("theory", sigma=SIGMA), **options)
