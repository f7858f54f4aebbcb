"""`tos_step` inside the compilers of JAX and PyTorch gives the iterates of the plain loop."""

import numpy as np
import pytest

import trisplit as ts
from tests.backends.problems import ON_DEVICE, lifted, setting
from tests.kinds import Kind, numpy64

STEPS = 25


def plain(problem, x0, gamma, relax):
    return [state.z for state, _ in zip(ts.tos(problem, x0, gamma, relax=relax), range(STEPS), strict=False)]


def same(kind, compiled, loop):
    for a, b in zip(compiled, loop, strict=True):
        assert np.linalg.norm(numpy64(a) - numpy64(b)) <= 1000 * kind.eps * (1 + np.linalg.norm(numpy64(b)))


@pytest.mark.parametrize("relax", [1.0, 1.4])
@pytest.mark.parametrize("name", ON_DEVICE)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_jax_scan(precision, name, relax):
    kind = Kind("jax", precision)
    f, terms, x0 = setting(name, kind)
    import jax

    problem, y0 = lifted(f, terms, x0)
    gamma = 0.7 / f.lipschitz

    def body(y, _):
        step = ts.tos_step(problem, y, gamma, relax)
        return step.y, step.z

    _, zs = jax.jit(lambda y: jax.lax.scan(body, y, length=STEPS))(y0)
    assert kind.holds(zs)
    same(kind, zs, plain(problem, x0, gamma, relax))
    # Nothing of the tracing is left behind in the terms.
    same(kind, zs, plain(problem, x0, gamma, relax))


def test_jax_while_loop_that_stops_at_a_fixed_point():
    kind = Kind("jax", "float64")
    f, terms, x0 = setting("box and L1, by entry", kind)
    import jax
    import jax.numpy as jnp

    problem = ts.Problem(f, terms)

    @jax.jit
    def solve(y):
        def moving(carry):
            return jnp.linalg.norm(carry.z - carry.x) > 1e-9

        return jax.lax.while_loop(moving, lambda carry: ts.tos_step(problem, carry.y, 0.2), start(y))

    def start(y):
        return ts.tos_step(problem, y, 0.2)

    res = ts.minimize(f, x0, terms, tol=1e-9)
    np.testing.assert_allclose(numpy64(solve(x0).z), numpy64(res.x), atol=1e-6)


def test_jax_vmap_over_starts():
    kind = Kind("jax", "float64")
    f, terms, _ = setting("two simplices", kind)
    import jax

    problem = ts.Problem(f, terms)
    starts = kind.array(np.random.default_rng(3).standard_normal((5, 4, 4)))
    together = jax.vmap(lambda y: ts.tos_step(problem, y, 0.2).z)(starts)
    same(kind, together, [ts.tos_step(problem, y, 0.2).z for y in starts])


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
@pytest.mark.parametrize("name", ON_DEVICE)
def test_torch_compile_traces_the_whole_step(name):
    """One program without a break, that is compiled once; the compiler's own back end has a test of its own."""
    compile_and_compare(name, backend="eager")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ON_DEVICE)
def test_torch_compile(name):
    compile_and_compare(name, backend="inductor")


def compile_and_compare(name, backend):
    kind = Kind("torch", "float64")
    f, terms, x0 = setting(name, kind)
    import torch

    problem, y0 = lifted(f, terms, x0)
    gamma = 0.7 / f.lipschitz
    loop = plain(problem, x0, gamma, 1.0)  # first: what the terms remember would cost a second compilation
    torch.compiler.reset()
    step = torch.compile(lambda y: ts.tos_step(problem, y, gamma), fullgraph=True, backend=backend)
    y, zs = y0, []
    with torch._dynamo.config.patch(error_on_recompile=True):
        for _ in range(STEPS):
            z, _, _, y = step(y)
            zs.append(z)
    same(kind, zs, loop)


def test_total_variation_cannot_be_traced_by_jax():
    kind = Kind("jax", "float64")
    x, term = kind.array(np.ones((2, 3))), ts.terms.TotalVariation()
    import jax

    def prox(x):
        return term.prox(x, 0.5)

    for trace in (jax.jit(prox), jax.vmap(prox), jax.grad(lambda x: prox(x).sum())):
        with pytest.raises(ts.InputError, match=r"on the host.*outside"):
            trace(x)


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
def test_torch_compile_leaves_its_program_for_total_variation():
    kind = Kind("torch", "float64")
    x, term = kind.array(np.random.default_rng(0).standard_normal(9)), ts.terms.TotalVariation()
    import torch

    torch.compiler.reset()
    step = torch.compile(lambda x: 2 * term.prox(x + 1, 0.5), backend="eager")
    assert np.array_equal(numpy64(step(x)), numpy64(2 * term.prox(x + 1, 0.5)))
