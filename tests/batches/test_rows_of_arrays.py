"""Rows of many small problems are merged, replaced and measured as entry by entry."""

from itertools import islice

import numpy as np
import pytest

import trisplit as ts
from trisplit.arrays.batched import put_rows, where_rows
from trisplit.terms.numbers import largest


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("shape", [(40, 3), (40, 1), (8, 5, 3), (8, 5, 2, 2)])
def test_merged_rows_are_those_of_the_mask(shape, share):
    rng = np.random.default_rng(0)
    batch = shape[: 1 if shape[0] == 40 else 2]
    x, y, mask = rng.standard_normal(shape), rng.standard_normal(shape), rng.random(batch) < share
    kept = x.copy(), y.copy()
    merged = where_rows(mask, x, y)
    assert np.array_equal(merged, np.where(mask.reshape(*batch, *(1,) * (len(shape) - len(batch))), x, y))
    assert np.array_equal([x, y], kept)


def test_replaced_rows_are_those_of_a_copy():
    x, rows, values = np.zeros((4, 2)), np.array([1, 3]), np.ones((2, 2))
    new = put_rows(x, rows, values, 1)
    assert not x.any()
    assert new.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]
    assert np.array_equal(put_rows(np.zeros((2, 4)).T, rows, values, 1), new)


@pytest.mark.parametrize("shape", [(1500, 3), (1500, 16), (1500, 17), (7, 3)])
def test_the_largest_entries_of_short_rows(shape):
    v = np.random.default_rng(0).standard_normal(shape)
    v[::7] = np.nan
    assert np.array_equal(largest(v), np.abs(v).max(axis=-1, keepdims=True), equal_nan=True)


class Remembering:
    """The indicator of {x >= 0.2}, which remembers what its proximal map returned."""

    indicator = convex = True

    def __init__(self, returned):
        self.returned = returned

    def value(self, x):
        return np.where(x.min(axis=-1) >= 0.2 - 1e-9, 0.0, np.inf)

    def prox(self, x, gamma):
        answer = np.maximum(x, 0.2)
        self.returned.append((answer, answer.copy()))
        return answer

    def select(self, members):
        return self


class Quartic:
    """sum_i w x_i^4 / 4, with a w for each problem."""

    def __init__(self, w):
        self.w = w

    def value(self, x):
        return self.w * (x**4).sum(axis=-1) / 4

    def grad(self, x):
        return self.w[:, None] * x**3

    def select(self, members):
        return Quartic(self.w[members])


def test_a_refused_step_changes_neither_the_start_nor_what_a_term_returns():
    rng, returned = np.random.default_rng(0), []
    x0 = rng.uniform(2.0, 3.0, (800, 3))
    x0[::10] *= -0.2  # z is 0.1 there, with less curvature than at x
    given = x0.copy()
    problem = ts.Problem(Quartic(np.ones(800)), [ts.terms.Box(0.1, 3), Remembering(returned)], batch_ndim=1)
    made = next(ts.tos(problem, x0, "auto"))
    assert problem.counts.prox > 4  # two for the first step, and two for each iteration: a step was refused
    assert made.y is not x0
    for made in islice(ts.tos(problem, x0, "auto"), 20):
        assert np.isfinite(made.after.y).all()
    assert np.array_equal(x0, given)
    assert all(np.array_equal(answer, copy) for answer, copy in returned)
