"""Penalties and losses of each entry: peers, and references for those of complex numbers and of vectors.

Not comparable are proxop's powers 4/3, 3/2 and 3 (at x = 4, gamma = 1 its prox of |x|^3 is 6, where y + 3 y^2 = 4 has
the root 1), with a term linear in x PyProximal's L2, and with an operator that is not diagonal, where L2 is a linear
solve.
"""

import cvxpy as cp
import numpy as np
import proxop
import pylops
import pyproximal
from copt import penalty

from tests.terms.cases import Absent, Case, by_cvxpy
from trisplit.terms import (
    L1,
    AbsoluteDeviation,
    AsymmetricL1,
    Berhu,
    EpsilonInsensitive,
    Exp,
    Hinge,
    Huber,
    HuberNorm,
    Logistic,
    Power,
    SquaredDeviation,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    SquaredL2,
)

WEIGHTS = np.array([0.0, 0.5, 1.0, 2.0, 0.1, 3.0])
TARGET = np.array([1.0, -2.0, 0.0, 0.5, 0.0, 3.0])
DIAGONAL = np.array([1.0, -2.0, 0.5, 0.2, 3.0, -1.0])
SLOPES = np.array([0.0, 1.0, 2.0, 0.5, 3.0, 0.1])
# In between, PyProximal's Huber thresholds where it should shrink: 0.9 is moved to 0 and not to 0.37 (gamma = 1).
OUTSIDE = lambda x: np.where(np.abs(x) <= 0.7, x, x + 2.5 * np.sign(x))  # noqa: E731


def huber_norm(term, x, gamma):
    """Huber's function of a norm is the least delta ||y - b|| + ||b||^2 / 2 over b."""

    def value(y):
        b = cp.Variable(x.shape)
        return term.weight * (term.delta * cp.sum(cp.norm(y - b, axis=term.axis)) + cp.sum_squares(b) / 2)

    return by_cvxpy(x, gamma, value)


def complex_l1(term, x, gamma):
    weights = np.broadcast_to(term.weight, (*x.shape[:-1], 1))[..., 0]
    return by_cvxpy(x, gamma, lambda y: weights @ cp.norm(y, axis=1))


CASES = [
    Case("proxop", "AbsValue", L1(), proxop.AbsValue().prox),
    Case("proxop", "L1Norm", L1(), proxop.L1Norm().prox),
    Case("proxop", "Thresholder", AsymmetricL1(-0.5, SLOPES), proxop.Thresholder(-0.5, SLOPES).prox),
    Case("proxop", "Square", SquaredL2(), proxop.Square().prox),
    Case("proxop", "Power", Power(4), proxop.Power(4).prox),
    Case("proxop", "Power", Power(2.7), proxop.Power(2.7).prox, exact=False),
    Case("proxop", "Huber", Huber(0.7), proxop.Huber(0.7).prox),
    Case(
        "proxop",
        "Berhu",
        Berhu(0.7),
        lambda x, gamma: gamma * proxop.Berhu(0.7 / gamma).prox(x / gamma),
        convention="it has no gamma; gamma berhu(x; delta) = gamma^2 berhu(x / gamma; delta / gamma)",
    ),
    Case("proxop", "Bathtub", EpsilonInsensitive(0.5), proxop.Bathtub(0.5).prox),
    Case(
        "proxop",
        "SquaredBathtub",
        SquaredEpsilonInsensitive(0.5),
        proxop.SquaredBathtub(0.5).prox,
        convention="as here a factor of 1/2, which its documentation omits",
    ),
    Case("proxop", "HingeLoss", Hinge(), proxop.HingeLoss().prox),
    Case(
        "proxop",
        "SquaredHinge",
        SquaredHinge(weight=2.0),
        proxop.SquaredHinge().prox,
        convention="without the factor of 1/2; between 1 - gamma and 1 it returns 1, where (2 gamma + x) / "
        "(2 gamma + 1) is the minimiser",
        point=lambda x: np.where(x < 1, x - 2.5, x),
    ),
    Case(
        "proxop",
        "LogisticLoss",
        Logistic(-1.0),
        lambda x, gamma: x - x / gamma + proxop.LogisticLoss().prox(x, gamma),
        exact=False,
        convention="label -1; it returns x / gamma - gamma s for x - gamma s",
    ),
    Case("proxop", "Exp", Exp(), proxop.Exp().prox, exact=False),
    Case("pyproximal", "L1", L1(WEIGHTS), pyproximal.L1(WEIGHTS).prox),
    Case("pyproximal", "L1", AbsoluteDeviation(TARGET, 0.6), pyproximal.L1(0.6, g=TARGET).prox),
    Case("pyproximal", "L2", SquaredL2(0.6), pyproximal.L2(sigma=0.6).prox),
    Case("pyproximal", "L2", SquaredDeviation(TARGET, 0.6), pyproximal.L2(b=TARGET, sigma=0.6).prox),
    Case(
        "pyproximal",
        "L2",
        SquaredDeviation(TARGET / DIAGONAL, 0.6 * DIAGONAL**2),
        pyproximal.L2(pylops.MatrixMult(np.diag(DIAGONAL)), TARGET, sigma=0.6).prox,
        convention="||D x - b||^2 for a diagonal D; for others it solves linear equations",
    ),
    Case(
        "pyproximal",
        "Huber",
        Huber(0.7, 1 / 0.7),
        pyproximal.Huber(0.7).prox,
        convention="x^2 / (2 alpha) near zero, and not right for alpha < |x| < alpha + gamma",
        point=OUTSIDE,
    ),
    Case(
        "pyproximal",
        "HuberCircular",
        HuberNorm(0.7, 1 / 0.7),
        pyproximal.HuberCircular(0.7).prox,
        convention="||x||^2 / (2 alpha) near zero",
    ),
    Case("copt", "L1Norm", L1(0.7), penalty.L1Norm(0.7).prox),
]

ABSENT = [
    Absent(
        "proxop",
        "FairPotential",
        "a -1 is missing under its square root: with w = gamma = 1 it moves 4 to 3.5, but y + y / (1 + y) = 4 has the "
        "root 3.236",
    ),
    Absent(
        "proxop",
        "Hyperbolic",
        "its Newton steps on a squared equation may stay at the start x / 2: with delta = 0.8 and gamma = 0.3 it moves "
        "4 to 2, the minimiser is 3.707",
    ),
]

REFERENCES = {"complex_l1": complex_l1, "huber_norm": huber_norm}
