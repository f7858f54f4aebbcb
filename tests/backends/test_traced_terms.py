"""Proximal maps under `jax.jit`, `jax.vmap` and `torch.compile`-like tracing, and derivatives through them.

A term that computes on the host says so in `host`, and refuses to be traced.
"""

import numpy as np
import pytest

from tests.kinds import Kind, numpy64
from trisplit.errors import InputError
from trisplit.terms import registry

GAMMA = 0.7
JAX, TORCH = Kind("jax", "float64"), Kind("torch", "float64")
EXAMPLES = {name: cls.examples() for name, cls in registry.items()}
ON_DEVICE = [name for name, examples in EXAMPLES.items() if not any(term.host for term, _ in examples)]


def slack(term, x):
    return 4000 * term.accuracy * np.finfo(float).eps * (1 + np.linalg.norm(numpy64(x)))


@pytest.mark.parametrize("name", ON_DEVICE)
def test_jit_and_vmap(name):
    JAX.xp  # noqa: B018  import it, or skip
    import jax

    term, shape = EXAMPLES[name][0]
    rows = JAX.array(2 * np.random.default_rng(0).standard_normal((3, *shape)))
    expected = [numpy64(term.prox(row, GAMMA)) for row in rows]
    together = jax.jit(jax.vmap(lambda x: term.prox(x, GAMMA)))(rows)
    assert together.dtype == JAX.dtype
    np.testing.assert_allclose(numpy64(together), expected, rtol=0, atol=slack(term, rows))


@pytest.mark.parametrize("name", [name for name in registry if name not in ON_DEVICE])
def test_terms_of_the_host_refuse_to_be_traced(name):
    JAX.xp  # noqa: B018  import it, or skip
    import jax

    for term, shape in EXAMPLES[name]:
        if term.host:
            with pytest.raises(InputError, match=r"on the host.*outside"):
                jax.jit(lambda x, term=term: term.prox(x, GAMMA))(JAX.array(np.ones(shape)))


def slopes(term, x, d):
    """Return the differences of the proximal map along d at two lengths; they agree where it is differentiable."""
    return [numpy64(term.prox(x + h * d, GAMMA) - term.prox(x - h * d, GAMMA)) / (2 * h) for h in (1e-5, 5e-6)]


@pytest.mark.parametrize("name", ON_DEVICE)
def test_derivatives(name):
    """Along a direction, what automatic differentiation says is what differences say."""
    TORCH.xp, JAX.xp  # noqa: B018  import them, or skip
    import jax
    import torch

    checked = 0
    for term, shape in EXAMPLES[name]:
        rng = np.random.default_rng(1)
        for _ in range(2):
            x, d, w = (1.5 * rng.standard_normal(shape) for _ in range(3))
            ends = slopes(term, x, d)
            scale = 1 + np.linalg.norm(d) + np.linalg.norm(ends[0])
            if np.linalg.norm(ends[0] - ends[1]) > 1e-4 * scale:
                continue  # a kink in between
            checked += 1
            expected = float(np.vdot(w, ends[1]))
            leaf = TORCH.array(x).requires_grad_()
            found = torch.sum(TORCH.array(w) * term.prox(leaf, GAMMA))
            grad = np.zeros(shape)
            if found.requires_grad:  # else the proximal point is always the same
                found.backward()
                grad = numpy64(leaf.grad)
            assert float(np.vdot(grad, d)) == pytest.approx(expected, abs=2e-4 * scale * (1 + np.linalg.norm(w)))
            if checked == 1:
                compiled = jax.jit(jax.grad(lambda x, w, term=term: (w * term.prox(x, GAMMA)).sum()))
                grad = numpy64(compiled(JAX.array(x), JAX.array(w)))
                assert float(np.vdot(grad, d)) == pytest.approx(expected, abs=2e-4 * scale * (1 + np.linalg.norm(w)))
    assert checked
