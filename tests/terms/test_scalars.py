"""Facts about penalties and losses of each entry that the contracts do not state."""

from math import inf, nan

import numpy as np
import pytest

from tests.kinds import DTYPES, Kind, numpy64
from trisplit.errors import InputError
from trisplit.terms import (
    L1,
    AbsoluteDeviation,
    AsymmetricL1,
    Berhu,
    Box,
    BoxedL1,
    ComplexL1,
    ElasticNet,
    EpsilonInsensitive,
    Exp,
    Fair,
    Hinge,
    Huber,
    HuberNorm,
    Hyperbolic,
    LogCosh,
    Logistic,
    NonNegativeL1,
    Power,
    Quantile,
    SquaredDeviation,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    SquaredL2,
    Zero,
)

X = np.array([-40.0, -3.0, -1.0, -0.2, 0.0, 0.1, 0.9, 1.0, 2.5, 70.0])
GAMMAS = (1e-3, 0.4, 3.0, 500.0)

BAD = [
    (ElasticNet, {"weight": -1.0}, "weight"),
    (ElasticNet, {"ridge": nan}, "ridge"),
    (NonNegativeL1, {"weight": [1.0, -2.0]}, "weight"),
    (ComplexL1, {"weight": 1j}, "weight"),
    (BoxedL1, {"weight": -1.0}, "weight"),
    (BoxedL1, {"lo": 2.0}, "lo"),
    (BoxedL1, {"hi": nan}, "hi"),
    (AsymmetricL1, {"lo": 2.0}, "lo"),
    (AsymmetricL1, {"hi": inf}, "hi"),
    (Power, {"p": 0.5}, "p"),
    (Power, {"p": nan}, "p"),
    (Power, {"p": [2.0, 3.0]}, "p"),
    (Power, {"p": 3, "weight": -1.0}, "weight"),
    (Huber, {"delta": 0.0}, "delta"),
    (Huber, {"weight": inf}, "weight"),
    (HuberNorm, {"delta": -1.0}, "delta"),
    (HuberNorm, {"weight": -1.0}, "weight"),
    (HuberNorm, {"axis": 0.5}, "axis"),
    (Berhu, {"delta": [1.0, 0.0]}, "delta"),
    (Fair, {"delta": nan}, "delta"),
    (Hyperbolic, {"delta": -1.0}, "delta"),
    (EpsilonInsensitive, {"epsilon": -0.1}, "epsilon"),
    (SquaredEpsilonInsensitive, {"epsilon": "much"}, "epsilon"),
    (Hinge, {"labels": [1.0, 0.0]}, "labels"),
    (SquaredHinge, {"labels": 2.0}, "labels"),
    (Logistic, {"labels": nan}, "labels"),
    (LogCosh, {"weight": -1.0}, "weight"),
    (Exp, {"weight": nan}, "weight"),
    (Quantile, {"level": 1.5}, "level"),
    (Quantile, {"level": [0.5, -0.1]}, "level"),
    (Quantile, {"target": inf}, "target"),
    (AbsoluteDeviation, {"target": nan}, "target"),
    (SquaredDeviation, {"weight": -1.0}, "weight"),
]


@pytest.mark.parametrize(("term", "options", "named"), BAD)
def test_bad_parameters(term, options, named):
    with pytest.raises(InputError, match=f"`{named}`") as caught:
        term(**options)
    assert "; " in str(caught.value)


THREE = np.array([1.0, 1.0, 1.0])
MISFITS = [
    (ElasticNet(ridge=THREE), "ridge"),
    (NonNegativeL1(THREE), "weight"),
    (BoxedL1(1.0, -THREE), "lo"),
    (AsymmetricL1(-1.0, THREE), "hi"),
    (Huber(THREE), "delta"),
    (Power(3, THREE), "weight"),
    (Hinge(THREE), "labels"),
    (Logistic(1.0, THREE), "weight"),
    (Quantile(0.5, THREE), "target"),
    (EpsilonInsensitive(THREE), "epsilon"),
]


@pytest.mark.parametrize(("term", "named"), MISFITS)
def test_sizes_that_do_not_fit(term, named):
    for call in (term.value, lambda x: term.prox(x, 1.0)):
        with pytest.raises(InputError, match=f"`{named}`"):
            call(np.ones(2))
    if term.lipschitz((3,)) < inf:
        with pytest.raises(InputError, match=f"`{named}`"):
            term.lipschitz((2,))


def test_real_x_of_complex_numbers_comes_in_pairs():
    for call in (ComplexL1().value, lambda x: ComplexL1().prox(x, 1.0), lambda x: ComplexL1().lipschitz(x.shape)):
        with pytest.raises(InputError, match="last axis of length 2"):
            call(np.ones(3))
    with pytest.raises(InputError, match="`weight`"):
        ComplexL1(np.ones(2)).prox(np.ones((2, 2)), 1.0)


# The same function in two ways
SAME = {
    "no ridge": (ElasticNet(0.7, 0.0), L1(0.7)),
    "only ridge": (ElasticNet(0.0, 0.7), SquaredL2(0.7)),
    "no bounds": (BoxedL1(0.7, -inf, inf), L1(0.7)),
    "no weight": (BoxedL1(0.0, -1.0, 2.0), Box(-1.0, 2.0)),
    "nonnegative": (BoxedL1(0.7, 0.0, inf), NonNegativeL1(0.7)),
    "symmetric slopes": (AsymmetricL1(-0.7, 0.7), L1(0.7)),
    "power 1": (Power(1, 0.7), L1(0.7)),
    "power 2": (Power(2, 0.7), SquaredL2(1.4)),
    "a wide parabola": (Huber(1e6, 0.7), SquaredL2(0.7)),
    "a narrow parabola": (Berhu(1e6, 0.7), L1(0.7)),
    "nothing insensitive": (EpsilonInsensitive(0.0, 0.7), L1(0.7)),
    "nothing insensitive, squared": (SquaredEpsilonInsensitive(0.0, 0.7), SquaredL2(0.7)),
    "no target": (AbsoluteDeviation(0.0, 0.7), L1(0.7)),
    "no target, squared": (SquaredDeviation(0.0, 0.7), SquaredL2(0.7)),
    "median": (Quantile(0.5, 1.0, 1.4), AbsoluteDeviation(1.0, 0.7)),
    "no weight at all": (Logistic(weight=0.0), Zero()),
    "Huber's function": (HuberNorm(0.8, 1.5, axis=-1), Huber(0.8, 1.5)),
}


@pytest.mark.parametrize("name", SAME)
def test_special_cases(name):
    one, other = SAME[name]
    x = X[:, None]  # vectors of length 1
    for gamma in GAMMAS:
        np.testing.assert_allclose(one.prox(x, gamma), other.prox(x, gamma), rtol=0, atol=1e-12)
    assert one.value(x) == pytest.approx(other.value(x), rel=1e-13)


def near_powers():
    return [(p, p * (1 + step)) for p in (4 / 3, 3 / 2, 3.0, 4.0) for step in (-1e-9, 1e-9)]


@pytest.mark.parametrize(("p", "q"), near_powers())
def test_closed_forms_of_powers_are_limits_of_newton(p, q):
    for gamma in GAMMAS:
        np.testing.assert_allclose(Power(p).prox(X, gamma), Power(q).prox(X, gamma), rtol=0, atol=1e-6)


# Derivative of the function at y, where it is smooth
SMOOTH = {
    "logistic": (Logistic(), lambda y: -np.exp(-np.logaddexp(0.0, y))),
    "log cosh": (LogCosh(), np.tanh),
    "exponential": (Exp(), np.exp),
    "hyperbolic": (Hyperbolic(0.5), lambda y: y / np.hypot(y, 0.5)),
    "Fair": (Fair(0.5), lambda y: 0.5 * y / (0.5 + np.abs(y))),
    **{f"power {p}": (Power(p), lambda y, p=p: p * np.sign(y) * np.abs(y) ** (p - 1)) for p in (4 / 3, 1.2, 5.5, 30.0)},
}


@pytest.mark.parametrize("name", SMOOTH)
def test_optimality_over_all_magnitudes(name):
    """y + gamma g'(y) = x, up to the rounding of x and of what y says about it."""
    term, slope = SMOOTH[name]
    sizes = np.logspace(-250, 250, 301) if name != "exponential" else np.logspace(-250, 2, 301)
    x = np.concatenate([-sizes, sizes])
    for gamma in (1e-12, 1e-4, 1.0, 1e4, 1e12):
        y = term.prox(x, gamma)
        with np.errstate(over="ignore", invalid="ignore"):
            force = gamma * slope(y)
            below, above = (gamma * slope(y * (1 + side)) for side in (-1e-13, 1e-13))
        slack = 1e-13 * (np.abs(x) + np.abs(y) + gamma * np.abs(slope(np.zeros(1)))) + np.abs(above - below)
        slack = slack + gamma * np.abs(slope(np.array([1e-300])))  # below which y vanishes
        assert np.all(np.abs(y + force - x) <= slack), (gamma, x[np.argmax(np.abs(y + force - x) - slack)])


@pytest.mark.parametrize("x", [1e8, 1e300])
def test_exponential_of_a_huge_number(x):
    """y + exp(y) = x, hence y = log(x - y)."""
    y = Exp().prox(np.array([x]), 1.0)
    np.testing.assert_allclose(y, np.log(x - y), rtol=1e-15)


CONJUGATES = [
    (ElasticNet(0.7, 0.4), SquaredEpsilonInsensitive),
    (SquaredEpsilonInsensitive(0.7, 0.4), ElasticNet),
    (EpsilonInsensitive(0.7, 0.4), BoxedL1),
    (NonNegativeL1(0.7), Box),
    (AsymmetricL1(-1.0, 2.0), Box),
]


@pytest.mark.parametrize(("term", "kind"), CONJUGATES)
def test_conjugates_are_terms_of_the_library(term, kind):
    assert type(term.conjugate()) is kind
    assert term.batched(1).conjugate().batch_ndim == 1
    if hasattr(term, "conjugate_value"):
        for u in (0.2 * X[2:7], 0.1 * X, X):
            assert term.conjugate_value(u) == pytest.approx(term.conjugate().value(u), rel=1e-13)


def test_a_boxed_norm_knows_its_box():
    term, u = BoxedL1(0.7, -1.0, 2.0), np.array([1.0, -3.0])
    assert term.bounded
    assert not BoxedL1(0.7, 0.0, inf).bounded
    assert term.support(u) == Box(-1.0, 2.0).support(u)
    assert np.array_equal(term.lmo(u), [-1.0, 2.0])
    assert term.value(np.array([2.1, 0.0])) == inf


HUGE = {"float32": 1e30, "float64": 1e300}
COMPLEX = {"float32": "complex64", "float64": "complex128"}


@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "array_api_strict"])
@pytest.mark.parametrize("precision", DTYPES)
def test_complex_numbers_are_pairs_of_real_ones(library, precision):
    kind = Kind(library, precision)
    rng = np.random.default_rng(0)
    pairs = rng.standard_normal((4, 3, 2))
    pairs[0, 0] = 0.0
    pairs[1, 1] *= HUGE[precision]
    z = kind.xp.asarray((pairs[..., 0] + 1j * pairs[..., 1]).astype(COMPLEX[precision]), device=kind.device)
    for weight in (0.8, np.array([0.0, 0.5, 2.0])):
        term, real = ComplexL1(weight), ComplexL1(weight if isinstance(weight, float) else weight[:, None])
        p, expected = term.prox(z, 0.9), numpy64(real.prox(kind.array(pairs), 0.9))
        assert p.dtype == z.dtype
        parts = np.stack([numpy64(kind.xp.real(p)), numpy64(kind.xp.imag(p))], axis=-1)
        np.testing.assert_allclose(parts, expected, rtol=8 * kind.eps, atol=8 * kind.eps)
        assert term.value(z) == pytest.approx(real.value(kind.array(pairs)), rel=8 * kind.eps)
        assert term.conjugate_value(0.0 * z) == 0.0
        alone, columns = kind.array([0.9] * 4), kind.xp.reshape(kind.array([0.9] * 4), (4, 1))
        assert tuple(term.batched(1).value(z).shape) == tuple(alone.shape)
        moved = term.batched(1).prox(z, columns)
        np.testing.assert_allclose(numpy64(kind.xp.real(moved)), parts[..., 0], rtol=8 * kind.eps, atol=8 * kind.eps)


# Smooth terms that are flat at zero, and their second derivative there
FLAT = [(Hyperbolic(0.5), 2.0), (LogCosh(3.0), 3.0), (Fair(0.5, 2.0), 2.0), (Huber(0.5, 2.0), 2.0), (Power(4), 0.0)]


@pytest.mark.parametrize(("term", "curvature"), [*FLAT, (Power(1.5), inf), (Power(4 / 3), inf)])
def test_derivatives_of_proximal_maps_at_zero(term, curvature):
    """Many entries of an iterate are zero; there the derivative of |x| would be taken for 0."""
    torch = pytest.importorskip("torch")
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    term.prox(x, 0.4).sum().backward()
    np.testing.assert_allclose(numpy64(x.grad), 1 / (1 + 0.4 * curvature), rtol=1e-14)
