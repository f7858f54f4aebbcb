"""What every registered term must satisfy: the definition of its proximal map, and what it says of its domain.

A term enters by `__all__` of its file and its `examples()`; nothing is to be added here. The facts are those of a
closed function g and p = prox(x, gamma):

- p minimises gamma g(c) + ||c - x||^2 / 2 over c; for convex g, <x - p, c - p> <= gamma (g(c) - g(p)) for all c in
  dom g, prox is firmly nonexpansive, and g(p) + g*(v) = <p, v> for v = (x - p) / gamma (Fenchel and Young);
- support, linear oracle, diameter, distance and Lipschitz constant are those of dom g.

Rounding is counted in units of eps times the number of entries, times the size of the numbers that were added, times
the `accuracy` that a term declares. `kind` is a library and a dtype; numbers are compared in NumPy, in double
precision. Each fact is stated for all examples of a term at each draw.
"""

import inspect
import os
from functools import partial, wraps
from itertools import pairwise
from math import inf, isfinite, prod

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.kinds import numpy64
from trisplit.arrays import namespace
from trisplit.arrays.batched import all_finite
from trisplit.terms import registry

EXAMPLES = {name: cls.examples() for name, cls in registry.items()}
GAMMAS = (1e-6, 1e-2, 0.3, 1.0, 7.0, 1e2, 1e6)
HUGE = {"float32": 1e30, "float64": 1e300}
SEEDS = st.integers(0, 2**32 - 1)


def drawn(max_examples=4, **strategies):
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


def has(term, *names):
    return all(hasattr(term, name) for name in names)


def bounded(term, shape):
    return hasattr(term, "diameter") and isfinite(term.diameter(shape))


def with_oracle(term, shape):
    return bounded(term, shape) and has(term, "lmo", "support")


def every(where=lambda term, shape: True):
    """Parametrise over the names of the terms of which an example satisfies the condition."""
    return pytest.mark.parametrize("name", [name for name in registry if chosen(name, None, where)])


def chosen(name, kind, where=lambda term, shape: True):
    """Return the examples that satisfy the condition; for JAX, which compiles for each shape, only one of them."""
    found = [(term, shape) for term, shape in EXAMPLES[name] if where(term, shape)]
    slow = kind is not None and kind.library == "jax" and not os.environ.get("TRISPLIT_ALL_FACTS")
    return found[:1] if slow else found


def convex(term, shape):
    return term.convex


def point(rng, shape):
    """Return numbers of one of a few characters: rough, with ties, with zeros, large, small."""
    x = rng.standard_normal(shape)
    character = rng.integers(5)
    if character == 0:
        x = np.round(2 * x)
    elif character == 1:
        x = np.where(rng.random(shape) < 0.5, 0.0, 3 * x)
    return x * (1.0, 1.0, 2.0, 6.0, 0.05)[character]


def points(rng, shape, kind, count):
    return [kind.array(point(rng, shape)) for _ in range(count)]


def of_domain(rng, term, shape, kind, count):
    """Return points of dom g: proximal points, and if it is convex, points half-way between two of them."""
    found = [term.prox(y, 0.5) for y in points(rng, shape, kind, count)]
    return found + ([(a + b) / 2 for a, b in pairwise(found)] if term.convex else [])


def inner(a, b):
    return float(np.vdot(numpy64(a), numpy64(b)))


def length(a):
    return float(np.linalg.norm(numpy64(a)))


def rounding(term, x, size):
    limits = namespace(x).finfo(x.dtype)  # below the smallest number, products vanish
    return prod(x.shape) * (40 * term.accuracy * float(limits.eps) * size + float(limits.smallest_normal))


def competitors(rng, kind, term, x, p, gamma):
    """Points of dom g: far ones, ones between p and these, and perturbations of p put back into the domain."""
    far = of_domain(rng, term, x.shape, kind, 3)
    between = [p + t * (c - p) for c in far[:2] for t in (0.01, 0.3)] if term.convex else []
    near = [p + step * d for d in points(rng, x.shape, kind, 2) for step in (1e-4, 0.05)]
    near = [c if isfinite(term.value(c)) else term.prox(c, gamma) for c in near]
    return far + between + near


@every()
@drawn(6, seed=SEEDS, gamma=st.sampled_from(GAMMAS))
def test_prox_is_the_minimiser(name, kind, seed, gamma):
    for term, shape in chosen(name, kind):
        rng = np.random.default_rng(seed)
        x = kind.array(point(rng, shape))
        p = term.prox(x, gamma)
        g_p = term.value(p)
        assert isfinite(g_p)
        for c in competitors(rng, kind, term, x, p, gamma):
            g_c = term.value(c)
            assert isfinite(g_c)
            size = 1.0 + length(x) + length(p) + length(c)
            slope = term.lipschitz(shape)
            slack = rounding(term, x, size**2 + gamma * (abs(g_p) + abs(g_c) + (slope if slope < inf else 1.0) * size))
            assert gamma * g_p + length(p - x) ** 2 / 2 <= gamma * g_c + length(c - x) ** 2 / 2 + slack
            if term.convex:
                assert inner(x - p, c - p) <= gamma * (g_c - g_p) + slack


@every(convex)
@drawn(seed=SEEDS, gamma=st.sampled_from(GAMMAS))
def test_prox_is_firmly_nonexpansive(name, kind, seed, gamma):
    for term, shape in chosen(name, kind, convex):
        x, y = points(np.random.default_rng(seed), shape, kind, 2)
        p, q = term.prox(x, gamma), term.prox(y, gamma)
        slack = rounding(term, x, (1 + length(x) + length(y) + length(p)) ** 2)
        assert length(p - q) ** 2 <= inner(p - q, x - y) + slack


@every(convex)
@drawn(seed=SEEDS, gamma=st.sampled_from(GAMMAS), t=st.sampled_from((0.0, 0.25, 1.0, 3.0)))
def test_all_points_on_a_ray_of_subgradients_have_one_prox(name, kind, seed, gamma, t):
    """(x - p) / gamma is a subgradient at p, hence prox(p + t (x - p), t gamma) = p; with t = 0, a set keeps p."""
    for term, shape in chosen(name, kind, convex):
        own = t if term.indicator else max(t, 0.25)
        x = kind.array(point(np.random.default_rng(seed), shape))
        p = term.prox(x, gamma)
        again = term.prox(p + own * (x - p), gamma if term.indicator else own * gamma)
        assert length(again - p) <= rounding(term, x, 1 + length(x) + length(p))


@every(convex)
@drawn(seed=SEEDS, gamma=st.sampled_from(GAMMAS))
def test_moreau_decomposition(name, kind, seed, gamma):
    for term, shape in chosen(name, kind, convex):
        x = kind.array(point(np.random.default_rng(seed), shape))
        dual = term.conjugate().prox(x / gamma, 1 / gamma)
        p = term.prox(x, gamma)
        assert length(p + gamma * dual - x) <= rounding(term, x, 1 + length(x) + length(p))


def with_conjugate_value(term, shape):
    if not term.convex:
        return False
    conjugate = term.conjugate()
    return type(conjugate).__name__ != "Conjugate" or has(term, "support" if term.indicator else "conjugate_value")


@every(with_conjugate_value)
@drawn(seed=SEEDS, gamma=st.sampled_from((0.1, 0.3, 1.0, 7.0)))
def test_fenchel_young(name, kind, seed, gamma):
    """<a, u> <= g(a) + g*(u), with equality where u is a subgradient of g at a: it proves that p is right."""
    for term, shape in chosen(name, kind, with_conjugate_value):
        rng, conjugate = np.random.default_rng(seed), term.conjugate()
        x = kind.array(point(rng, shape))
        p, u = term.prox(x, gamma), conjugate.prox(x / gamma, 1 / gamma)
        g_p, g_u = term.value(p), conjugate.value(u)
        slack = rounding(term, x, abs(g_p) + abs(g_u) + (1 + length(x)) * (length(u) + length(p) / gamma))
        assert g_p + g_u == pytest.approx(inner(p, u), abs=slack)
        for a in of_domain(rng, term, shape, kind, 2):
            for v in of_domain(rng, conjugate, shape, kind, 2):
                g_a, g_v = term.value(a), conjugate.value(v)
                slack = rounding(term, x, abs(g_a) + abs(g_v) + (1 + length(a)) * (1 + length(v)))
                assert inner(a, v) <= g_a + g_v + slack


@every(with_oracle)
@drawn(seed=SEEDS)
def test_linear_oracle_attains_the_support(name, kind, seed):
    for term, shape in chosen(name, kind, with_oracle):
        rng = np.random.default_rng(seed)
        u = kind.array(point(rng, shape))
        best = term.lmo(-u)
        assert isfinite(term.value(best))
        slack = rounding(term, u, length(u) * (1 + length(best) + term.diameter(shape)))
        assert term.support(u) == pytest.approx(inner(u, best), abs=slack)
        for c in of_domain(rng, term, shape, kind, 3):
            assert inner(u, c) <= term.support(u) + slack


@every(lambda term, shape: has(term, "support"))
@drawn(seed=SEEDS)
def test_support_bounds_the_domain_and_is_met_at_normals(name, kind, seed):
    """<u, c> <= support(u) on dom g; x - p is normal to a convex set at its projection p, where equality holds."""
    for term, shape in chosen(name, kind, lambda term, shape: has(term, "support")):
        rng = np.random.default_rng(seed)
        x = kind.array(point(rng, shape))
        for c in of_domain(rng, term, shape, kind, 3):
            assert inner(x, c) <= term.support(x) + rounding(term, x, length(x) * (1 + length(c)))
        if term.indicator and term.convex and bounded(term, shape):
            p = term.project(x)
            size = (1 + length(x) + length(p)) * (1 + length(p) + term.diameter(shape))
            assert term.support(x - p) == pytest.approx(inner(x - p, p), abs=rounding(term, x, size))


@every(bounded)
@drawn(seed=SEEDS)
def test_diameter_bounds_all_distances(name, kind, seed):
    for term, shape in chosen(name, kind, bounded):
        rng = np.random.default_rng(seed)
        found = of_domain(rng, term, shape, kind, 3)
        if has(term, "lmo"):
            u = kind.array(point(rng, shape))
            found += [term.lmo(u), term.lmo(-u)]
        for a, b in pairwise([*found, found[0]]):
            assert length(a - b) <= term.diameter(shape) + rounding(term, a, 1 + length(a) + length(b))


@every(lambda term, shape: term.lipschitz(shape) < inf)
@drawn(seed=SEEDS)
def test_lipschitz_constant_on_the_domain(name, kind, seed):
    for term, shape in chosen(name, kind, lambda term, shape: term.lipschitz(shape) < inf):
        rng = np.random.default_rng(seed)
        found = points(rng, shape, kind, 2) + of_domain(rng, term, shape, kind, 2)
        found = [(a, term.value(a)) for a in found]
        found = [(a, g_a) for a, g_a in found if isfinite(g_a)]
        for (a, g_a), (b, g_b) in pairwise(found):
            slack = rounding(term, a, abs(g_a) + abs(g_b) + length(a) + length(b))
            assert abs(g_a - g_b) <= term.lipschitz(shape) * length(a - b) + slack


@every(lambda term, shape: term.indicator)
@drawn(seed=SEEDS)
def test_distance_to_a_set(name, kind, seed):
    for term, shape in chosen(name, kind, lambda term, shape: term.indicator):
        rng = np.random.default_rng(seed)
        x = kind.array(point(rng, shape))
        p = term.project(x)
        slack = rounding(term, x, 1 + length(x) + length(p))
        assert term.distance(x) == pytest.approx(length(x - p), abs=slack)
        assert term.distance(p) <= slack
        assert length(term.project(p) - p) <= slack
        assert term.value(p) == 0.0
        if term.distance(x) > slack:
            assert term.value(x) == inf
        assert np.array_equal(numpy64(term.prox(x, 0.1)), numpy64(p))
        for c in of_domain(rng, term, shape, kind, 3):
            assert term.distance(x) <= length(x - c) + slack


@every(lambda term, shape: has(term, "domain"))
@drawn(seed=SEEDS)
def test_the_domain_is_where_the_value_is_finite(name, kind, seed):
    for term, shape in chosen(name, kind, lambda term, shape: has(term, "domain")):
        rng, domain = np.random.default_rng(seed), term.domain()
        assert domain.indicator
        for c in points(rng, shape, kind, 3) + of_domain(rng, term, shape, kind, 2):
            slack = rounding(term, c, 1 + length(c))
            if isfinite(term.value(c)):
                assert domain.distance(c) <= slack
            elif domain.distance(c) == 0.0:  # on the boundary, which the domain may lack
                inside = domain.project(c + 1e-3 * kind.array(rng.standard_normal(shape)))
                assert length(inside - c) <= 1.0


def calls(term, shape):
    """The methods of a term that take an array, as functions of it alone, and whether they return one."""
    found = {"prox": (partial(term.prox, gamma=0.4), True), "value": (term.value, False)}
    optional = {"project": True, "distance": False, "support": False, "lmo": True, "conjugate_value": False}
    for name, returns_array in optional.items():
        if hasattr(term, name) and (name != "lmo" or bounded(term, shape)):
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


@every()
def test_arguments_keep_their_bits_and_results_their_dtype(name, kind):
    for term, shape in chosen(name, kind):
        values = kind.array(np.random.default_rng(7).normal(size=shape))
        for layout in ("contiguous", "strided", "reversed", "transposed"):
            x = laid_out(kind, values, layout)
            for method, (call, returns_array) in calls(term, shape).items():
                result = call(x)
                assert np.array_equal(numpy64(x), numpy64(values)), method
                if returns_array:
                    assert kind.holds(result), method
                    assert (type(result), tuple(result.shape)) == (type(x), shape), method
                    assert length(result - call(values)) <= rounding(term, values, 1 + length(values)), method
                else:
                    assert type(result) is float, method


@every()
def test_the_dtype_of_gamma_does_not_leak(name, kind):
    for term, shape in chosen(name, kind):
        x = kind.array(np.random.default_rng(8).normal(size=shape))
        for gamma in (np.float64(0.3), np.float32(0.3), np.array(0.3), 1):
            p = term.prox(x, gamma)
            assert kind.holds(p)
            assert length(p - term.prox(x, float(gamma))) <= rounding(term, x, 1 + length(x))


def extreme_points(shape, kind):
    huge = HUGE[kind.precision]
    signs = np.where(np.arange(np.prod(shape)) % 2, -1.0, 1.0).reshape(shape)
    ramp = np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)
    for size in (0.0, 1 / huge, 1.0, 1e8, huge):
        for pattern in (np.ones(shape), -np.ones(shape), signs, ramp):
            yield kind.array(size * pattern)
    yield kind.array(np.where(signs > 0, huge, 1 / huge))


@every()
def test_extreme_inputs_give_finite_right_results(name, kind):
    """Zeros, ties, huge and tiny entries; what is right is said by directions, as squares would overflow."""
    rng = np.random.default_rng(5)
    for term, shape in chosen(name, kind):
        inside = of_domain(rng, term, shape, kind, 2)
        for x in extreme_points(shape, kind):
            size = max(1.0, float(np.abs(numpy64(x)).max()))
            for gamma in (1e-12, 1.0, 1e12) if size <= 1.0 or not term.indicator else (1.0,):
                p = term.prox(x, gamma)
                assert all_finite(p)
                if bounded(term, shape):
                    assert isfinite(term.value(p))
                if term.indicator and term.convex:
                    scale = max(size, float(np.abs(numpy64(p)).max()))
                    normal, at = (numpy64(x) - numpy64(p)) / scale, numpy64(p) / scale
                    for c in inside:
                        assert np.vdot(normal, numpy64(c) / scale - at) <= rounding(term, x, 4.0)
            if with_oracle(term, shape):
                assert isfinite(term.value(term.lmo(x)))
                assert isfinite(term.support(x)) or size >= 0.99 * HUGE[kind.precision]


@every()
@drawn(seed=SEEDS)
def test_limits_of_gamma(name, kind, seed):
    """As gamma falls to 0, prox tends to x if x is in dom g; as gamma grows, g(prox) never rises."""
    for term, shape in chosen(name, kind):
        x = kind.array(point(np.random.default_rng(seed), shape))
        if isfinite(term.value(x)):
            assert length(term.prox(x, 1e-9) - x) <= 1e-4 * (1 + length(x)) + rounding(term, x, 1 + length(x))
        values = [term.value(term.prox(x, gamma)) for gamma in GAMMAS]
        slack = rounding(term, x, 1 + max(map(abs, values)) * (1 + length(x)))
        assert all(after <= before + slack for before, after in pairwise(values))
