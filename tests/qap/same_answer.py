"""Whether two searches on one instance have gone the same way, whoever ran their tasks."""

import numpy as np
import pytest

from trisplit.qap import Instance, load

NUG20 = Instance("nug20", load("nug20").A, load("nug20").B)  # without known values: nothing ends a search early


def same(res, other):
    """Assert that two results on NUG20 are the same, and return True."""
    assert np.array_equal(res.permutation, other.permutation)
    assert res.cost == other.cost == NUG20.cost(res.permutation)
    assert [row.cost for row in res.trace] == [row.cost for row in other.trace]
    assert [row.number for row in res.trace] == list(range(1, len(res.trace) + 1))
    assert (res.starts, res.restarts, res.duplicates) == (other.starts, other.restarts, other.duplicates)
    # Another process may round differently, and the adaptive step amplifies that; what is promised is the permutation.
    assert res.relaxation.certificate[:2] == pytest.approx(other.relaxation.certificate[:2], rel=1e-3)
    return True
