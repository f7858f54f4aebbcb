"""Barriers, entropies, activations and divergences: what peers and slow solvers say."""

import warnings

import cvxpy as cp
import numpy as np
import proxop

from tests.terms.cases import Absent, Case, by_cvxpy
from trisplit.terms import (
    ISRLU,
    ISRU,
    AbsoluteDifference,
    AffineBarrier,
    ArctanActivation,
    AsinhActivation,
    BentIdentity,
    BoxLogBarrier,
    ElliotActivation,
    ELUActivation,
    Entropy,
    FermiDiracEntropy,
    GMActivation,
    Hellinger,
    IAlpha,
    Inverse,
    Jeffreys,
    JointKullbackLeibler,
    L2BallBarrier,
    LogActivation,
    LogBarrier,
    LogInverse,
    LogPower,
    PReLU,
    SigmoidActivation,
    SlabBarrier,
    SmoothedFermiDirac,
    TanhActivation,
)


def plain(operator, term, exact=True, **options):
    """A case of a scalar operator that takes gamma as ours does."""
    name = type(operator).__name__
    return Case("proxop", name, term, lambda x, gamma: operator.prox(x, gamma), exact=exact, **options)


def activation(operator, term, **options):
    """A case of an operator without gamma: a proximal point p for gamma is one for 1 of p + (x - p) / gamma."""

    def theirs(x, gamma):
        p = term.prox(x, gamma)
        return operator.prox(p + (x - p) / gamma)

    options.setdefault("convention", "theirs knows gamma = 1 only: p belongs to p + (x - p) / gamma")
    return Case("proxop", type(operator).__name__, term, theirs, **options)


def joint(operator, term, shift=(0.0, 0.0), scale=1.0, **options):
    """A case of a divergence of pairs, which the peer takes apart; a linear summand of only one of them is a shift."""

    def theirs(x, gamma):
        x, y = x[:, 0] + gamma * shift[0], x[:, 1] + gamma * shift[1]
        return np.stack(operator.prox(x, y, scale * gamma), axis=-1)

    return Case("proxop", type(operator).__name__, term, theirs, (5, 2), exact=False, **options)


NORMAL, CENTRE = np.array([1.0, -2.0, 0.5, 0.0, 1.0, 1.0]), np.arange(6.0) / 3

CASES = [
    plain(proxop.Log(), LogBarrier()),
    plain(proxop.LogBarrier(-1.0, 2.0), BoxLogBarrier(-1.0, 2.0), exact=False),
    plain(proxop.Inverse(), Inverse(), exact=False, point=lambda x: -1 - np.abs(x)),
    plain(proxop.LogInverse(0.7), LogInverse(0.7), exact=False, point=lambda x: 3 + np.abs(x)),
    plain(proxop.LogPower(3.0, 0.7), LogPower(3.0, 0.7), exact=False),
    plain(proxop.Entropy(), Entropy(), exact=False),
    plain(proxop.FermiDiracEntropy(), FermiDiracEntropy(), exact=False),
    plain(proxop.AffineBarrier(NORMAL, 0.5), AffineBarrier(NORMAL, 0.5)),
    plain(proxop.HyperslabBarrier(NORMAL, -1.0, 2.0), SlabBarrier(NORMAL, -1.0, 2.0), exact=False),
    plain(proxop.L2BallBarrier(CENTRE, 4.0), L2BallBarrier(2.0, CENTRE), exact=False, convention="theirs: radius^2"),
    activation(proxop.ArctanActi(), ArctanActivation()),
    activation(proxop.ArgsinhActi(), AsinhActivation()),
    activation(proxop.BentIdentity(), BentIdentity()),
    activation(proxop.ELUacti(1.0), ELUActivation(1.0)),
    activation(proxop.ElliotActi(), ElliotActivation()),
    activation(proxop.GMActi(), GMActivation()),
    activation(proxop.ISRU(), ISRU()),
    activation(proxop.ISRLU(), ISRLU()),
    activation(proxop.LogActi(), LogActivation()),
    activation(proxop.PRelu(0.4), PReLU(0.4), point=lambda x: -np.abs(x)),
    activation(proxop.TanhActi(), TanhActivation()),
    activation(proxop.UnimodalSigmoid(), SigmoidActivation()),
    activation(proxop.SmoothedFermiDiracEntropy(), SmoothedFermiDirac()),
    joint(proxop.AbsDiff(), AbsoluteDifference()),
    joint(proxop.Kullback(), JointKullbackLeibler(), (1.0, -1.0), convention="theirs: x log(x / y), without -x + y"),
    joint(proxop.Jeffrey(), Jeffreys(), point=lambda x: 1 + np.abs(x)),
    joint(proxop.Ialpha(2.0), IAlpha(2.0), (0.5, 0.5), convention="theirs adds (x + y) / 2, against its docstring"),
    joint(proxop.Hellinger(), Hellinger(), scale=2.0, convention="theirs is one half of ours, against its docstring"),
]


def absent(operator, why):
    return Absent("proxop", operator, why)


BREGMAN = "a proximal map for a Bregman distance in place of the Euclidean one"
ABSENT = [
    absent("NegativeRoot", "wrong: NegativeRoot(2).prox(3.75, 1) is sqrt(2), but p - 1 / (2 sqrt p) = 3.75 at p = 4"),
    absent("ChiSquare", "cannot be called: its check reads an attribute `gamma` that it does not have"),
    absent("Renyi", "wrong: Renyi(2).prox([4.], [1.], 1) is (0, 1), but (2, -1) is the gradient at (2, 2)"),
    *(
        absent(operator, BREGMAN)
        for operator in (
            "BregAbsEntropy",
            "BregAbsLog",
            "BregBoltzShannon",
            "BregBoltzShannon2",
            "BregExp",
            "BregLpNorm",
            "BregSquareLog",
        )
    ),
]


def pairs(term, y):
    return (y[0, :], y[1, :]) if term.axis == 0 else (y[:, 0], y[:, 1])


def of_pairs(divergence):
    """A reference by cvxpy for `divergence(x, y)`, a sum over vectors x and y."""

    def solve(term, v, gamma):
        def value(w):
            return term.weight * divergence(*pairs(term, w))

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # by its own, very small, measure
            return by_cvxpy(v, gamma, value, lambda w: [w >= 0])

    return solve


def by_power_cone(of):
    """A reference for a divergence that is `of` a new variable z, bound to x and y by a power cone of `of`."""

    def solve(term, v, gamma):
        z = cp.Variable(v.size // 2)

        def cone(w):
            return [of(z, *pairs(term, w), 1 / term.alpha), w >= 0]

        sign = 1.0 if term.__class__.__name__ == "Renyi" else -1.0
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            return by_cvxpy(v, gamma, lambda w: sign * term.weight * cp.sum(z), cone)

    return solve


def affine_barrier(term, x, gamma):
    return by_cvxpy(x, gamma, lambda y: -term.weight * cp.sum(cp.log(term.b - term.a @ y)))


def slab_barrier(term, x, gamma):
    def value(y):
        return -term.weight * cp.sum(cp.log(term.hi - term.a @ y) + cp.log(term.a @ y - term.lo))

    return by_cvxpy(x, gamma, value)


def l2_ball_barrier(term, x, gamma):
    center = np.broadcast_to(term.center, x.shape)

    def value(y):
        room = cp.reshape(term.radius**2 - cp.sum_squares(y - center), (1,), order="C")
        return -term.weight * cp.sum(cp.log(room))

    return by_cvxpy(x, gamma, value)


def quotients(x, y):
    return sum(cp.quad_over_lin(x[i] - y[i], y[i]) for i in range(x.shape[0]))


def roots(x, y):
    return cp.sum(x + y) - 2 * sum(cp.geo_mean(cp.hstack([x[i], y[i]])) for i in range(x.shape[0]))


REFERENCES = {
    "affine_barrier": affine_barrier,
    "slab_barrier": slab_barrier,
    "l2_ball_barrier": l2_ball_barrier,
    "joint_kullback_leibler": of_pairs(lambda x, y: cp.sum(cp.kl_div(x, y))),
    "jeffreys": of_pairs(lambda x, y: cp.sum(cp.kl_div(x, y) + cp.kl_div(y, x))),
    "hellinger": of_pairs(roots),
    "chi_square": of_pairs(quotients),
    "absolute_difference": of_pairs(lambda x, y: cp.norm1(x - y)),
    # z >= x^alpha / y^(alpha - 1), and |z| <= x^(1 / alpha) y^(1 - 1 / alpha)
    "renyi": by_power_cone(lambda z, x, y, power: cp.PowCone3D(z, y, x, power)),
    "i_alpha": by_power_cone(lambda z, x, y, power: cp.PowCone3D(x, y, z, power)),
}
