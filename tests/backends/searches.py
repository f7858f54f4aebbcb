"""Searches that are the same for all tests of a GPU's part, and what holds of their results."""

from contextlib import contextmanager

import numpy as np
import pytest
from scipy.sparse import csr_array

from trisplit import qap
from trisplit.errors import GPUWarning
from trisplit.qap.instance import Instance

SECONDS = 0.5  # of a search with a time limit
LONG = 1.5  # where tabu search is to have a few rounds, on a busy machine too
HANG = 20.0  # seconds: what takes longer has not ended when it should


def made(n, *, linear=False, sparse=False, real=False, seed=0):
    """An instance of which no optimum is known."""
    rng = np.random.default_rng(seed)
    A, B = rng.integers(1, 100, (2, n, n)) * (0.5 if real else 1)
    if sparse:
        A, B = (csr_array(np.where(rng.random((n, n)) < 0.3, M, 0)) for M in (A, B))
    return Instance("made", A, B, C=rng.integers(0, 500, (n, n)) if linear else None)


MADE = made(10)


def solve(instance=MADE, **options):
    return qap.solve(instance, **{"device": "cuda", "rng": 0, "workers": 1, **options})


def members(res):
    return [row.member for row in res.trace]


def found(res):
    return [(row.member, row.cost, row.best) for row in res.trace]


def check(res, instance=MADE):
    """What holds of every result."""
    assert res.cost == instance.cost(res.permutation)
    best = [row.best for row in res.trace]
    assert best == sorted(best, reverse=True)
    assert res.cost <= min(best, default=res.cost)
    assert all(row.cost >= row.best for row in res.trace)


@contextmanager
def one_warning(match):
    """One line about the GPU, told where `solve` calls."""
    with pytest.warns(GPUWarning, match=match) as caught:
        yield
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "\n" not in str(caught[0].message)
