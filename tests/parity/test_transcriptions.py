"""The iterations against literal transcriptions of the paper, other people's code, and their special cases."""

from itertools import islice

import copt
import numpy as np
import pytest

import trisplit as ts
from tests.problems import BIRKHOFF_SPLITS, quadratic, ripples
from trisplit.terms import L1, Box, L2Ball, NonNegative, Simplex, SquaredL2, UnitSums, Zero

ITERATES = 50


def relative(a, b):
    return np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-300)


@pytest.mark.parametrize("relax", [1.0, 1.5])
@pytest.mark.parametrize("name", BIRKHOFF_SPLITS)
def test_algorithm_1_written_out(name, relax):
    g, h = BIRKHOFF_SPLITS[name]
    rng = np.random.default_rng(1)
    f, y, gamma = quadratic(rng, 36), rng.standard_normal((6, 6)), 0.4
    for state in islice(ts.tos(ts.Problem(f, (g, h)), y, gamma, relax=relax), ITERATES):
        z = g.project(y)
        x = h.project(2 * z - y - gamma * f.grad(z))
        for ours, literal in ((state.z, z), (state.x, x), (state.y, y)):
            assert relative(ours, literal) < 1e-12
        y = y + relax * (x - z)


@pytest.mark.parametrize("make", [quadratic, ripples])
def test_algorithm_2_written_out(make):
    terms = [Box(-1, 1), L1(0.2), L2Ball(1.5), SquaredL2(0.1)]
    rng = np.random.default_rng(2)
    f, x0, gamma = make(rng, 8), rng.standard_normal(8), 0.3
    m = len(terms)
    y = [x0.copy() for _ in range(m + 1)]
    for state in islice(ts.tos(ts.Product(ts.Problem(f, terms)), x0, gamma), ITERATES):
        z = [y[0]] + [term.prox(y_i, gamma) for term, y_i in zip(terms, y[1:], strict=True)]
        x = (sum(2 * z_i - y_i for z_i, y_i in zip(z, y, strict=True)) - gamma * f.grad(z[0])) / (m + 1)
        assert relative(state.x[0], x) < 1e-12
        assert relative(state.z, np.stack(z)) < 1e-12
        y = [y_i - z_i + x for y_i, z_i in zip(y, z, strict=True)]


class Blocks:
    """Terms on consecutive pieces of a long vector, the first piece free: the product space written out."""

    def __init__(self, terms, size):
        self.terms, self.size = terms, size

    def value(self, x):
        return sum(term.value(piece) for term, piece in zip(self.terms, x.reshape(-1, self.size)[1:], strict=True))

    def prox(self, x, gamma):
        pieces = x.reshape(-1, self.size)
        moved = [term.prox(piece, gamma) for term, piece in zip(self.terms, pieces[1:], strict=True)]
        return np.concatenate([pieces[0], *moved])


class Equal:
    def __init__(self, size):
        self.size = size

    def value(self, x):
        return 0.0

    def prox(self, x, gamma):
        pieces = x.reshape(-1, self.size)
        return np.tile(pieces.mean(axis=0), len(pieces))


def test_algorithm_2_is_algorithm_1_in_the_product_space():
    terms, n = [Simplex(), L1(0.2), L2Ball(0.9)], 6
    rng = np.random.default_rng(4)
    f, x0 = quadratic(rng, n), rng.standard_normal(n)

    def lifted(x):
        grad = np.zeros_like(x)
        grad[:n] = f.grad(x[:n])
        return f.value(x[:n]), grad

    flat = ts.tos(ts.Problem(lifted, (Blocks(terms, n), Equal(n))), np.tile(x0, 4), 0.25)
    ours = ts.tos(ts.Product(ts.Problem(f, terms)), x0, 0.25)
    for a, b in islice(zip(ours, flat, strict=False), ITERATES):
        for name in ("z", "x", "y", "u"):
            assert relative(getattr(a, name).reshape(-1), getattr(b, name)) < 1e-12


@pytest.mark.parametrize(
    ("g", "h"),
    [(Simplex(), L1(0.1)), (Box(0, 1), L1(0.3)), (NonNegative(), L2Ball(0.8))],
    ids=["simplex and L1", "box and L1", "orthant and ball"],
)
def test_copt(g, h):
    """copt updates z after x, and starts with a zero multiplier, so x0 must be a fixed point of prox_g."""
    rng = np.random.default_rng(5)
    n, gamma = 10, 0.05
    M = rng.standard_normal((20, n))
    b = rng.standard_normal(20)
    x0 = g.prox(np.abs(rng.standard_normal(n)), 1.0)

    def f_grad(x, return_gradient=True):
        residual = M @ x - b
        value = 0.5 * residual @ residual
        return (value, M.T @ residual) if return_gradient else value

    theirs = []
    copt.minimize_three_split(
        f_grad,
        x0,
        prox_1=lambda x, s, *args: h.prox(x, s),
        prox_2=lambda x, s, *args: g.prox(x, s),
        step_size=gamma,
        line_search=False,
        max_iter=ITERATES,
        tol=0.0,
        callback=lambda local: theirs.append((local["z"].copy(), local["x"].copy())),
    )
    ours = list(islice(ts.tos(ts.Problem(f_grad, (g, h)), x0, gamma), len(theirs) + 1))
    assert len(theirs) == ITERATES
    for (z_next, x), state, following in zip(theirs, ours, ours[1:], strict=False):
        assert relative(state.x, x) < 1e-10
        assert relative(following.z, z_next) < 1e-10


@pytest.mark.parametrize("g", [Box(0, 1), Simplex(), L1(0.2), UnitSums()])
def test_forward_backward_is_the_case_h_zero(g):
    """With h = 0 and relaxation 1, z_{t+1} = prox_{gamma g}(z_t - gamma grad f(z_t))."""
    rng = np.random.default_rng(6)
    f, gamma = quadratic(rng, 9), 0.2
    z = None
    for state in islice(ts.tos(ts.Problem(f, g), rng.standard_normal((3, 3)), gamma), ITERATES):
        if z is not None:
            assert relative(state.z, z) < 1e-10
        z = g.prox(state.z - gamma * f.grad(state.z), gamma)


@pytest.mark.parametrize("h", [Box(0, 1), Simplex(), L1(0.2)])
def test_forward_backward_is_the_case_g_zero(h):
    """With g = 0, z = y and y_{t+1} = x_t = prox_{gamma h}(z_t - gamma grad f(z_t))."""
    rng = np.random.default_rng(8)
    f, gamma, y = quadratic(rng, 7), 0.2, rng.standard_normal(7)
    for state in islice(ts.tos(ts.Problem(f, (Zero(), h)), y, gamma), ITERATES):
        assert relative(state.z, y) < 1e-10
        y = h.prox(y - gamma * f.grad(y), gamma)


def test_douglas_rachford_is_the_case_f_zero():
    g, h, gamma = L1(0.4), Box(0.1, 2.0), 0.7
    y = np.random.default_rng(9).standard_normal(12)
    for state in islice(ts.tos(ts.Problem(lambda x: (0.0, 0 * x), (g, h)), y, gamma), ITERATES):
        z = g.prox(y, gamma)
        assert relative(state.z, z) < 1e-12
        y = y + h.prox(2 * z - y, gamma) - z
