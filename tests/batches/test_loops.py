"""The compiled loops over the problems of a batch are the plain ones."""

import numpy as np

from trisplit.algorithms import forward
from trisplit.steps import decisions, row_loops


def random_table(rows):
    rng = np.random.default_rng(1)
    table = np.abs(rng.standard_normal((rows, decisions.WIDTH)))
    table[:, 2] = np.finfo(float).eps
    table[:, [3, 4]] = rng.integers(0, 2, (rows, 2))
    table[:, [5, 9, 10, 12, 14, 15, 16, 17]] = rng.integers(0, 12, (rows, 8))
    table[::7, 11] = np.inf
    return table, rng


def test_compiled_decisions_are_the_plain_ones():
    loops = row_loops.compiled_rows()
    table, rng = random_table(500)
    moves = np.abs(rng.standard_normal((3, 500))) * np.geomspace(1e-18, 1e3, 500)
    tests = rng.standard_normal((6, 500)) * np.array([1.0, 1.0, 0.5, 0.3, 0.3, 0.3])[:, None]
    tests[:3] = np.abs(tests[:3])
    tests[rng.integers(0, 6, 60), rng.integers(0, 500, 60)] = np.nan
    tests[rng.integers(4, 6, 30), rng.integers(0, 500, 30)] = np.inf
    compiled, plain = table.copy(), table.copy()
    squares = moves**2
    squares[1] -= 0.5 * squares[0]
    own = squares.copy()
    assert loops.move_rows(compiled, own, 1.5) == row_loops.move_rows(plain, squares, 1.5)
    np.testing.assert_allclose(own, squares, rtol=1e-14)
    np.testing.assert_allclose(compiled, plain, rtol=1e-14)
    assert loops.change_rows(compiled, moves, 0.5, 4.0) == row_loops.change_rows(plain, moves, 0.5, 4.0)
    np.testing.assert_allclose(compiled, plain, rtol=1e-14)
    assert loops.verdict_rows(compiled, tests) == row_loops.verdict_rows(plain, tests)
    np.testing.assert_allclose(compiled, plain, rtol=1e-14)


def test_the_loops_over_arrays_are_the_plain_ones_and_those_over_lengths():
    loops = row_loops.compiled_rows()
    before, rng = random_table(300)
    z, z_old, d, y, u = rng.standard_normal((5, 300, 7)) * np.geomspace(1e-18, 1e3, 300)[:, None]
    x = z + d
    d = x - z
    square, f_z, f_x = np.vecdot(d, d), *rng.standard_normal((2, 300))
    steep = np.vecdot(u, u)
    before[:, decisions.STEEP] = steep * rng.uniform(0.3, 1.0, 300)
    found = []
    for own in (loops, row_loops):
        table, squares, moved, following = np.empty_like(before), np.empty(300), *np.empty((2, 300, 7))
        steps, rows = np.empty(300), np.empty(300, dtype=np.int64)
        counts = own.propose_rows(before, table, z, z_old, d, y, square, steps, 1.5, 0.5, 4.0)
        proposed = table.copy()
        assert np.array_equal(steps, proposed[:, 0])
        arrays = squares, squares, moved, following
        refused = own.judge_rows(table, *arrays, x, z, y, u, f_z, f_x, rows, 1.5, True, False)
        assert np.array_equal(rows[:refused], np.flatnonzero(table[:, decisions.REST] == row_loops.REFUSED))
        np.testing.assert_allclose(following, y + 1.5 * d, rtol=1e-13)
        assert 0 < refused < 300
        # Only those that were refused.
        again = own.judge_rows(table, *arrays, z + 0.1 * d, z, y, u, f_z, f_x, rows, 1.5, True, True)
        assert 0 < again <= refused
        found.append((*counts, refused, again, proposed, table, squares, moved))
    for compiled, plain in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-13)
    tests, changed, refused, _, proposed, *_ = found[1]
    table, moved = before.copy(), z - z_old
    lengths = np.array([np.vecdot(moved, moved), np.vecdot(moved, d), square])
    row_loops.move_rows(table, lengths, 1.5)
    loose = ~(lengths[2] > 10 * table[:, 2] * table[:, 1])
    table[loose, 1] = (np.linalg.norm(z, axis=1) + np.linalg.norm(y - z, axis=1))[loose]
    assert row_loops.change_rows(table, lengths, 0.5, 4.0) == tests
    np.testing.assert_allclose(table, proposed, rtol=1e-12)
    tests = np.array([square, square, steep, np.vecdot(u, d), f_z, f_x])
    assert row_loops.verdict_rows(table, tests) == refused
    assert changed == np.sum(proposed[:, 0] != before[:, 0])


def test_the_compiled_forward_step_is_the_plain_one(monkeypatch):
    rng = np.random.default_rng(0)
    z, y, u = rng.standard_normal((3, 40, 5))
    gamma = rng.random(40) + 0.1
    trial = np.where(np.arange(40) % 3, gamma, 0.7 * gamma)
    found = []
    for own in (forward.compiled_loops(), forward):
        scaled, moved, alone = np.empty((3, 40, 5))
        own.scale_and_reflect_rows(y, z, u, gamma, trial, scaled, moved)
        own.reflect_rows(scaled, z, u, trial, alone)
        assert np.array_equal(moved, alone)
        found.append((scaled, moved))
    assert np.array_equal(*found)
    scaled, moved = found[0]
    changed = gamma != trial
    assert np.array_equal(scaled[~changed], y[~changed])
    np.testing.assert_allclose(scaled, z + (trial / gamma)[:, None] * (y - z), rtol=1e-13)
    assert np.array_equal(moved, 2 * z - scaled - trial[:, None] * u)
    monkeypatch.setattr(forward, "SMALL", 0)
    arrays = [array.reshape(8, 5, 5, 1) for array in (z, scaled, u)]
    own = forward.forward_of_rows(*arrays, trial.reshape(8, 5, 1, 1))
    assert np.array_equal(own, moved.reshape(8, 5, 5, 1))


def test_a_step_that_rests_is_tested_where_the_gradient_surges():
    """Without values of f it counts as refused, and gamma stays; a gradient that is NaN changes nothing."""
    z, x, u = np.zeros((4, 2)), np.ones((4, 2)), np.zeros((4, 2))
    u[:, 0] = np.array([0.5, 0.99, 1.01, np.nan]) * decisions.SURGE**0.5
    table, square, d = np.ones((4, decisions.WIDTH)), np.empty(4), np.empty((4, 2))
    table[:, decisions.REST] = 2.0
    values, rows = (square, d, z + 0, x, z, z, u, square, square), np.empty(4, dtype=np.int64)
    assert row_loops.compiled_rows().judge_rows(table, square, *values, rows, 1.0, False, False) == 1
    assert rows[0] == 2
    assert table[:, decisions.REST].tolist() == [1.0, 1.0, row_loops.REFUSED, 1.0]
    assert table[:, decisions.STEEP].tolist() == [1.0, 1.0, u[2, 0] ** 2, 1.0]
    assert (table[:, 0] == 1.0).all()
    assert np.array_equal(d, x - z)
