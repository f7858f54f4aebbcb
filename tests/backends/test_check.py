"""ts.check works on the arrays of every library, in both precisions."""

import numpy as np
import pytest

import trisplit as ts
from tests.kinds import DTYPES, Kind

KINDS = [Kind(library, dtype) for library in ("torch", "jax", "array_api_strict") for dtype in DTYPES]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_right_and_wrong_gradients_and_proximal_maps_are_told_apart(kind):
    xp, x0 = kind.xp, kind.array(np.array([0.5, -1.0, 2.0, 0.1]))
    signs = kind.array(np.array([1.0, 1.0, -1.0, 1.0]))

    class Forgetful(ts.terms.L1):
        def prox(self, x, gamma):
            return super().prox(x, 1.0)

    terms = [ts.terms.Box(-3, 3), ts.terms.L1(0.5)]
    assert ts.check(lambda x: (xp.sum(xp.cos(x)), -xp.sin(x)), x0, terms, quiet=True).ok
    res = ts.check(lambda x: (xp.sum(xp.cos(x)), -signs * xp.sin(x)), x0, terms, quiet=True)
    assert "wrong in [2]" in res.problems[0]
    res = ts.check(lambda x: (xp.sum(xp.cos(x)), -xp.sin(x)), x0, [Forgetful(), terms[0]], quiet=True)
    assert "`terms[0]` (Forgetful) is not the minimiser" in res.problems[0]
