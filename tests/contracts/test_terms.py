"""What every registered term must satisfy: the definition of its proximal map, and what it says of its domain.

A term enters by its line in `trisplit.terms.registry` and its `examples()`; nothing is to be added here. The facts
are those of a closed convex function g and p = prox(x, gamma):

- p minimises gamma g(c) + ||c - x||^2 / 2 over c, and <x - p, c - p> <= gamma (g(c) - g(p)) for all c in dom g;
- prox is firmly nonexpansive; p + gamma prox of the conjugate at x / gamma is x (Moreau);
- support, linear oracle, diameter and Lipschitz constant are those of dom g.

Rounding is counted in units of eps times the number of entries, times the size of the numbers that were added. `kind`
is a library and a dtype; numbers are compared in NumPy, in double precision.
"""

import inspect
from functools import partial, wraps
from itertools import pairwise
from math import inf, isfinite, prod

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.kinds import numpy64
from trisplit.arrays import all_finite, namespace
from trisplit.terms import registry

EXAMPLES = {f"{name}-{k}": example for name, cls in registry.items() for k, example in enumerate(cls.examples())}
GAMMAS = (1e-6, 1e-2, 0.3, 1.0, 7.0, 1e2, 1e6)
# Squares of these, and sums of squares over an example, neither overflow nor vanish.
HUGE = {"float32": 1e15, "float64": 1e150}


def drawn(max_examples=20, **strategies):
    """Hand drawn arguments to a test; how often, depends on the kind of array."""

    def decorate(test):
        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in strategies]

        @wraps(test)
        def with_examples(**given):
            def fact(**more):
                test(**given, **more)

            fact.__name__ = test.__name__  # hypothesis seeds its draws with it
            given["kind"].fact(max_examples, strategies)(fact)()

        with_examples.__signature__ = signature.replace(parameters=kept)
        return with_examples

    return decorate


def bounded(key):
    term, shape = EXAMPLES[key]
    return hasattr(term, "diameter") and isfinite(term.diameter(shape))


def convex(key):
    return EXAMPLES[key][0].convex


def examples_with(*names, where=lambda key: True):
    """Parametrise over the examples of the terms that have all these methods."""
    chosen = [key for key, (term, _) in EXAMPLES.items() if all(hasattr(term, name) for name in names) and where(key)]
    return pytest.mark.parametrize("key", chosen)


def draw_point(data, shape, kind, label="x"):
    entries = st.floats(-8.0, 8.0, width=32, allow_subnormal=False)
    return kind.array(data.draw(arrays(kind.precision, shape, elements=entries), label=label))


def draw_points(data, shape, kind, count):
    """Draw a few random points of different size."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    return [kind.array(rng.normal(size=shape) * 10.0 ** rng.uniform(-2, 1)) for _ in range(count)]


def draw_domain(data, term, shape, kind, count):
    """Draw points of dom g: proximal points, and points half-way between two of them."""
    found = [term.prox(y, 0.5) for y in draw_points(data, shape, kind, count)]
    return found + [(a + b) / 2 for a, b in pairwise(found)]


def inner(a, b):
    return float(np.vdot(numpy64(a), numpy64(b)))


def length(a):
    return inner(a, a) ** 0.5


def rounding(x, size):
    limits = namespace(x).finfo(x.dtype)  # below the smallest number, products vanish
    return prod(x.shape) * (40 * float(limits.eps) * size + float(limits.smallest_normal))


def competitors(data, kind, term, x, p, gamma):
    """Points of dom g: far ones, ones between p and these, and perturbations of p put back into the domain."""
    far = draw_domain(data, term, x.shape, kind, 4)
    between = [p + t * (c - p) for c in far[:3] for t in (0.01, 0.3)]
    near = [p + 1e-3 * d for d in draw_points(data, x.shape, kind, 4)]
    near = [c if isfinite(term.value(c)) else term.prox(c, gamma) for c in near]
    return far + between + near


def objective_rounding(term, x, p, c, gamma, g_p, g_c):
    size = 1.0 + length(x) + length(p) + length(c)
    slope = term.lipschitz(x.shape) if hasattr(term, "lipschitz") else 0.0
    return rounding(x, size**2 + gamma * (abs(g_p) + abs(g_c) + slope * size))


@examples_with("prox")
@pytest.mark.parametrize("gamma", GAMMAS)
@drawn(6, data=st.data())
def test_prox_is_the_minimiser(key, kind, gamma, data):
    term, shape = EXAMPLES[key]
    x = draw_point(data, shape, kind)
    p = term.prox(x, gamma)
    g_p = term.value(p)
    assert isfinite(g_p)
    for c in competitors(data, kind, term, x, p, gamma):
        g_c = term.value(c)
        assert isfinite(g_c)
        slack = objective_rounding(term, x, p, c, gamma, g_p, g_c)
        assert gamma * g_p + length(p - x) ** 2 / 2 <= gamma * g_c + length(c - x) ** 2 / 2 + slack
        if term.convex:
            assert inner(x - p, c - p) <= gamma * (g_c - g_p) + slack


@examples_with("prox", where=convex)
@drawn(data=st.data(), gamma=st.sampled_from(GAMMAS))
def test_prox_is_firmly_nonexpansive(key, kind, data, gamma):
    term, shape = EXAMPLES[key]
    x, y = draw_point(data, shape, kind), draw_point(data, shape, kind, "y")
    p, q = term.prox(x, gamma), term.prox(y, gamma)
    assert length(p - q) ** 2 <= inner(p - q, x - y) + rounding(x, (1 + length(x) + length(y) + length(p)) ** 2)


@examples_with("prox", where=convex)
@drawn(data=st.data(), gamma=st.sampled_from(GAMMAS))
def test_all_points_on_a_ray_of_subgradients_have_one_prox(key, kind, data, gamma):
    """(x - p) / gamma is a subgradient at p, hence prox(p + t (x - p), t gamma) = p; with t = 0, a set keeps p."""
    term, shape = EXAMPLES[key]
    t = data.draw(st.sampled_from((0.0, 0.25, 1.0, 3.0) if term.indicator else (0.25, 1.0, 3.0)), label="t")
    x = draw_point(data, shape, kind)
    p = term.prox(x, gamma)
    again = term.prox(p + t * (x - p), gamma if term.indicator else t * gamma)
    assert length(again - p) <= rounding(x, 1 + length(x) + length(p))


@examples_with("conjugate")
@drawn(data=st.data(), gamma=st.sampled_from(GAMMAS))
def test_moreau_decomposition(key, kind, data, gamma):
    term, shape = EXAMPLES[key]
    x = draw_point(data, shape, kind)
    dual = term.conjugate().prox(x / gamma, 1 / gamma)
    assert length(term.prox(x, gamma) + gamma * dual - x) <= rounding(x, length(x))


@examples_with("conjugate")
@drawn(data=st.data(), gamma=st.sampled_from((1e-2, 0.3, 1.0, 7.0, 1e2)))
def test_fenchel_young(key, kind, data, gamma):
    """<a, u> <= g(a) + g*(u), with equality where u is a subgradient of g at a."""
    term, shape = EXAMPLES[key]
    conjugate = term.conjugate()
    x = draw_point(data, shape, kind)
    p, u = term.prox(x, gamma), conjugate.prox(x / gamma, 1 / gamma)
    both = term.value(p) + conjugate.value(u)
    assert both == pytest.approx(inner(p, u), abs=rounding(x, abs(both) + length(x) * (length(u) + length(p) / gamma)))
    for a in draw_domain(data, term, shape, kind, 3):
        for v in draw_domain(data, conjugate, shape, kind, 3):
            both = term.value(a) + conjugate.value(v)
            assert inner(a, v) <= both + rounding(x, abs(both) + length(a) * length(v))


@examples_with("support", "lmo", where=bounded)
@drawn(data=st.data())
def test_linear_oracle_attains_the_support(key, kind, data):
    term, shape = EXAMPLES[key]
    u = draw_point(data, shape, kind, "u")
    best = term.lmo(-u)
    assert isfinite(term.value(best))
    slack = rounding(u, length(u) * (1 + length(best) + term.diameter(shape)))
    assert term.support(u) == pytest.approx(inner(u, best), abs=slack)
    for c in draw_domain(data, term, shape, kind, 5):
        assert inner(u, c) <= term.support(u) + slack


@examples_with("support")
@drawn(data=st.data())
def test_support_bounds_the_domain_and_is_met_at_normals(key, kind, data):
    """<u, c> <= support(u) on dom g; x - p is normal to a set at its projection p, where equality holds."""
    term, shape = EXAMPLES[key]
    x = draw_point(data, shape, kind)
    for c in draw_domain(data, term, shape, kind, 5):
        assert inner(x, c) <= term.support(x) + rounding(x, length(x) * (1 + length(c)))
    if term.indicator and bounded(key):
        p = term.project(x)
        size = (1 + length(x) + length(p)) * (1 + length(p) + term.diameter(shape))
        assert term.support(x - p) == pytest.approx(inner(x - p, p), abs=rounding(x, size))


@examples_with("diameter")
@drawn(data=st.data())
def test_diameter_bounds_all_distances(key, kind, data):
    term, shape = EXAMPLES[key]
    found = draw_domain(data, term, shape, kind, 5)
    if bounded(key) and hasattr(term, "lmo"):
        u = draw_point(data, shape, kind, "u")
        found += [term.lmo(u), term.lmo(-u)]
    for a in found:
        for b in found:
            assert length(a - b) <= term.diameter(shape) + rounding(a, 1 + length(a) + length(b))


@examples_with("diameter", "lmo", where=bounded)
def test_diameter_is_not_overstated(key, kind):
    """The set lies in the box of its widths, so its diameter is at most the diagonal and sqrt(n) times a width."""
    term, shape = EXAMPLES[key]
    basis = [kind.array(e) for e in np.eye(prod(shape)).reshape(-1, *shape)]
    pairs = [(term.lmo(-e), term.lmo(e)) for e in basis]
    widths = np.array([inner(e, a - b) for e, (a, b) in zip(basis, pairs, strict=True)])
    slack = len(basis) * rounding(basis[0], 1 + term.diameter(shape))
    assert term.diameter(shape) <= float(np.linalg.norm(widths)) + slack
    assert term.diameter(shape) <= len(basis) ** 0.5 * max(length(a - b) for a, b in pairs) + slack


@examples_with("lipschitz")
@drawn(data=st.data())
def test_lipschitz_constant_on_the_domain(key, kind, data):
    term, shape = EXAMPLES[key]
    points = draw_points(data, shape, kind, 4) + draw_domain(data, term, shape, kind, 3)
    points = [(a, term.value(a)) for a in points if isfinite(term.value(a))]
    for a, g_a in points:
        for b, g_b in points:
            assert abs(g_a - g_b) <= term.lipschitz(shape) * length(a - b) + rounding(a, abs(g_a) + abs(g_b))


@examples_with("distance", "project")
@drawn(data=st.data())
def test_distance_to_a_set(key, kind, data):
    term, shape = EXAMPLES[key]
    x = draw_point(data, shape, kind)
    p = term.project(x)
    slack = rounding(x, 1 + length(x) + length(p))
    assert term.distance(x) == pytest.approx(length(x - p), abs=slack)
    assert term.distance(p) <= slack
    assert term.value(p) == 0.0
    assert term.value(x) == (0.0 if term.distance(x) <= slack else inf)
    assert np.array_equal(numpy64(term.prox(x, 0.1)), numpy64(p))
    for c in draw_domain(data, term, shape, kind, 4):
        assert term.distance(x) <= length(x - c) + slack


def calls(key):
    """The methods of a term that take an array, as functions of it alone, and whether they return one."""
    term, _ = EXAMPLES[key]
    found = {"prox": (partial(term.prox, gamma=0.4), True), "value": (term.value, False)}
    optional = {"project": True, "distance": False, "support": False, "lmo": bounded(key)}
    for name, returns_array in optional.items():
        if hasattr(term, name) and (name != "lmo" or bounded(key)):
            found[name] = getattr(term, name), returns_array
    return found


def laid_out(kind, values, layout):
    """Return a copy of `values` whose memory is laid out in that way; of NumPy's, one that cannot be written."""
    plain = np.array(values) if kind.library == "numpy" else numpy64(values)
    if layout == "strided":
        x = kind.array(np.repeat(plain, 2, axis=-1))[..., ::2]
    elif layout == "reversed" and kind.library == "numpy":
        x = plain[::-1].copy()[::-1]
    else:
        x = kind.array(plain.T.copy().T if layout == "transposed" else plain)
    if kind.library == "numpy":
        x.flags.writeable = False
    return x


@examples_with("prox")
@pytest.mark.parametrize("layout", ["contiguous", "strided", "reversed", "transposed"])
def test_arguments_keep_their_bits_and_results_their_dtype(key, kind, layout):
    _, shape = EXAMPLES[key]
    values = kind.array(np.random.default_rng(7).normal(size=shape))
    x = laid_out(kind, values, layout)
    for name, (call, returns_array) in calls(key).items():
        result = call(x)
        assert np.array_equal(numpy64(x), numpy64(values)), name
        if returns_array:
            assert kind.holds(result), name
            assert (type(result), tuple(result.shape)) == (type(x), shape), name
            assert length(result - call(values)) <= rounding(values, 1 + length(values)), name
        else:
            assert type(result) is float, name


@examples_with("prox")
@pytest.mark.parametrize("gamma", [np.float64(0.3), np.float32(0.3), np.array(0.3), 1])
def test_the_dtype_of_gamma_does_not_leak(key, kind, gamma):
    term, shape = EXAMPLES[key]
    x = kind.array(np.random.default_rng(8).normal(size=shape))
    p = term.prox(x, gamma)
    assert kind.holds(p)
    assert length(p - term.prox(x, float(gamma))) <= rounding(x, length(x))


def extreme_points(shape, kind):
    huge = HUGE[kind.precision]
    signs = np.where(np.arange(np.prod(shape)) % 2, -1.0, 1.0).reshape(shape)
    ramp = np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)
    for size in (0.0, 1 / huge, 1.0, 1e8, huge):
        for pattern in (np.ones(shape), -np.ones(shape), signs, ramp):
            yield kind.array(size * pattern)
    yield kind.array(np.where(signs > 0, huge, 1 / huge))


@examples_with("prox")
@pytest.mark.parametrize("gamma", [1e-12, 1.0, 1e12])
def test_extreme_inputs_give_finite_results(key, kind, gamma):
    """Zeros, ties, huge and tiny entries; in a bounded set the result is a point of the set whatever came in."""
    term, shape = EXAMPLES[key]
    for x in extreme_points(shape, kind):
        p = term.prox(x, gamma)
        assert all_finite(p)
        if bounded(key):
            assert isfinite(term.value(p))
        if bounded(key) and hasattr(term, "lmo"):
            assert isfinite(term.value(term.lmo(x)))
            assert isfinite(term.support(x))


@examples_with("prox")
@drawn(data=st.data())
def test_limits_of_gamma(key, kind, data):
    """As gamma falls to 0, prox tends to x if x is in dom g; as gamma grows, g(prox) never rises."""
    term, shape = EXAMPLES[key]
    x = draw_point(data, shape, kind)
    values = [term.value(term.prox(x, gamma)) for gamma in GAMMAS]
    if isfinite(term.value(x)):
        assert length(term.prox(x, 1e-9) - x) <= 1e-6 * (1 + length(x)) + rounding(x, 1 + length(x))
    slack = rounding(x, 1 + max(values) * (1 + length(x)))
    assert all(after <= before + slack for before, after in pairwise(values))
