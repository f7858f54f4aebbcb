"""What a term says of itself, without regard to a kind of array."""

from math import prod

import numpy as np
import pytest

from tests.contracts.test_terms import EXAMPLES, chosen, every, has, with_oracle
from trisplit.terms import MissingCapabilityError
from trisplit.terms.base import CAPABILITIES


def exact(term, shape):
    return with_oracle(term, shape) and term.diameter_exact


@every(exact)
def test_diameter_is_attained(name):
    """From many directions u, go on with the longest difference found: it ends at two points as far apart as can be."""
    for term, shape in chosen(name, None, exact):
        rng, best = np.random.default_rng(3), 0.0
        starts = [*np.eye(prod(shape)).reshape(-1, *shape), *(rng.standard_normal(shape) for _ in range(40))]
        for u in starts:
            for _ in range(3):
                u = term.lmo(-u) - term.lmo(u)
            best = max(best, float(np.linalg.norm(u)))
        assert best == pytest.approx(term.diameter(shape), rel=1e-6)


@every()
def test_a_missing_capability_is_named(name):
    for term, _ in EXAMPLES[name]:
        for capability in CAPABILITIES:
            if not hasattr(term, capability):
                with pytest.raises(MissingCapabilityError, match=f"{type(term).__name__} has no .*`{capability}`"):
                    getattr(term, capability)
        assert has(term, "lipschitz")
        assert has(term, "conjugate") == term.convex
        assert has(term, "project", "distance") or not term.indicator
