"""Barriers, activations and divergences: what they refuse, and facts that hold for some of them alone."""

import numpy as np
import pytest

import trisplit.terms as t
from trisplit.errors import InputError

REFUSED = {
    "weight": [lambda: t.LogBarrier(0.0), lambda: t.Entropy([1.0, -1.0]), lambda: t.Jeffreys(weight=np.nan)],
    "lo": [lambda: t.BoxLogBarrier(1.0, 1.0), lambda: t.SlabBarrier([1.0], 2.0, 1.0)],
    "power": [lambda: t.Inverse(0.0), lambda: t.LogPower(0.5)],
    "inverse": [lambda: t.LogInverse(-1.0)],
    "rate": [lambda: t.LogPower(2.0, -1.0)],
    "order": [lambda: t.NegativeRoot(1.0), lambda: t.NegativeRoot([2.0, 3.0])],
    "a": [lambda: t.AffineBarrier([0.0, 0.0], 1.0), lambda: t.SlabBarrier([[1.0]])],
    "b": [lambda: t.AffineBarrier([1.0], [1.0, 2.0])],
    "radius": [lambda: t.L2BallBarrier(0.0)],
    "alpha": [lambda: t.ELUActivation(1.5), lambda: t.PReLU(0.0), lambda: t.Renyi(1.0), lambda: t.IAlpha(0.5)],
    "target": [
        lambda: t.KullbackLeibler(-1.0),
        lambda: t.Burg(0.0),
        lambda: t.CrossEntropy(1.1),
        lambda: t.Poisson("a"),
    ],
    "axis": [lambda: t.Hellinger(axis="last")],
}


@pytest.mark.parametrize(("name", "make"), [(name, make) for name, makes in REFUSED.items() for make in makes])
def test_bad_parameters_are_named(name, make):
    with pytest.raises(InputError, match=f"`{name}`"):
        make()


@pytest.mark.parametrize(
    ("term", "shape", "name"),
    [
        (t.LogBarrier([1.0, 2.0]), (3,), "weight"),
        (t.Poisson([1.0, 2.0]), (3,), "target"),
        (t.AffineBarrier([1.0, 2.0], 1.0), (3,), "`a`"),
        (t.L2BallBarrier(1.0, [1.0, 2.0]), (3,), "center"),
        (t.ChiSquare(), (2, 3), "pairs"),
    ],
)
def test_sizes_that_do_not_fit_are_named(term, shape, name):
    with pytest.raises(InputError, match=name):
        term.prox(np.ones(shape), 1.0)


@pytest.mark.parametrize(
    ("term", "activation"),
    [
        (t.ArctanActivation(), lambda x: 2 / np.pi * np.arctan(x)),
        (t.AsinhActivation(), np.arcsinh),
        (t.BentIdentity(), lambda x: (x + np.sqrt(x**2 + 1) - 1) / 2),
        (t.ELUActivation(0.5), lambda x: np.where(x < 0, 0.5 * np.expm1(x), x)),
        (t.ElliotActivation(), lambda x: x / (1 + abs(x))),
        (t.ISRU(), lambda x: x / np.sqrt(1 + x**2)),
        (t.LogActivation(), lambda x: np.sign(x) * np.log1p(abs(x))),
        (t.SmoothedFermiDirac(), lambda x: 1 / (1 + np.exp(-x))),
        (t.TanhActivation(), np.tanh),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_proximal_map_with_gamma_one_is_the_activation(term, activation):
    x = np.linspace(-4, 4, 101)
    np.testing.assert_allclose(term.prox(x, 1.0), activation(x), rtol=0, atol=1e-14)


@pytest.mark.parametrize("gamma", [1e-6, 0.3, 1.0, 1e6])
def test_roots_solve_their_equations(gamma):
    """The derivative of the objective vanishes, also where numbers are large or small."""
    x = np.concatenate([-np.geomspace(1e-3, 1e6, 30), np.geomspace(1e-3, 1e6, 30)])
    for term, slope in (
        (t.Inverse(3.0), lambda p: -3 / p**4),
        (t.LogInverse(0.7), lambda p: -1 / p - 0.7 / p**2),
        (t.LogPower(1.5), lambda p: -1 / p + 1.5 * p**0.5),
        (t.Entropy(), lambda p: np.log(p) + 1),
    ):
        p = term.prox(x, gamma)
        inside = p > 1e-290
        steep = slope(np.where(inside, p, 1.0))
        size = abs(x) + p + gamma * (1 + abs(steep))  # of the numbers that cancel
        assert np.all((abs(p + gamma * steep - x) <= 1e-13 * size) | ~inside), type(term).__name__


def test_divergences_of_equal_numbers_move_nothing():
    v = np.repeat(np.array([[0.0], [1e-8], [0.5], [3.0], [1e8]]), 2, axis=1)
    for term in (t.JointKullbackLeibler(), t.Jeffreys(), t.Hellinger(), t.ChiSquare(), t.AbsoluteDifference()):
        for gamma in (1e-6, 1.0, 1e6):
            np.testing.assert_allclose(term.prox(v, gamma), v, rtol=1e-14, atol=1e-300)
        assert term.value(v) == 0.0
