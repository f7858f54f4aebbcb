"""What a run remembers of the iterates that it checked: the best of each problem, and those that have finished."""

from itertools import islice

import numpy as np
import pytest

import trisplit as ts
from tests.batches.problems import batch_of
from trisplit.arrays.batched import take_rows
from trisplit.options import Options
from trisplit.problems.measures import Checked, Measured
from trisplit.problems.sizes import Marks
from trisplit.result import Status
from trisplit.run.log import STATUSES, Log, merged
from trisplit.splitting.engine import Splitting
from trisplit.steps import Constant
from trisplit.terms import L1, Box, L2Ball

BATCHES = {"one axis": (7,), "two axes": (2, 3)}


def engine_of(batch, step=0.05):
    f, x0 = batch_of(batch, (4,))
    problem = ts.Problem(f, [Box(-1, 1), L2Ball(0.6)], batch_ndim=len(batch))
    return Splitting(problem, x0, Constant(step))


def log_of(engine, done):
    """Return the log of a run that begins, with some problems finished."""
    return Log.of(engine, Options(1e-6, 0.0, 100, None, 0.0))._replace(done=done)


def numbers_of(rng, error):
    """Return what a check might have measured."""
    return Measured(*rng.random((3, len(error))), error)


def checked(log, engine, numbers):
    """Return the log after a check of the last iterate; errors are compared as they are."""
    scales = log.scales.copy()
    better = np.ones_like(log.done) if log.best is None else numbers.error < log.best[1].error
    scales.put({"error": numbers.error, "better": better})
    found = Checked(engine.now, numbers, scales)
    return log.checked(found, engine.batch, scales=scales, marks=Marks(*[engine.now.z] * 3))


def flat(part, batch):
    """Return what an iterate has for each problem, counted through the axes of a batch."""
    return np.broadcast_to(part, (*batch, *np.shape(part)[len(batch) :])).reshape(int(np.prod(batch)), -1)


@pytest.mark.parametrize("step", ["one", "of each"])
@pytest.mark.parametrize("batch", BATCHES)
def test_the_best_of_each_problem_is_kept_until_it_is_finished(batch, step):
    """As a loop over the problems would; all else follows from y and gamma."""
    batch, rng = BATCHES[batch], np.random.default_rng(0)
    size = int(np.prod(batch))
    gamma = 0.05 if step == "one" else rng.uniform(0.01, 0.1, batch)
    engine, best = engine_of(batch, gamma), [None] * size
    log = log_of(engine, rng.random(size) < 0.3)
    for t in range(1, 9):
        engine.advance(t)
        made, error = engine.now, np.where(rng.random(size) < 0.2, np.inf, rng.random(size))
        numbers = numbers_of(rng, error)
        for i in range(size):
            if best[i] is None or (not log.done[i] and error[i] < best[i][0]):
                own = [column[i] for column in numbers]
                best[i] = error[i], t, own, flat(made.y, batch)[i], made.gamma if step == "one" else gamma.ravel()[i]
        log = checked(log, engine, numbers)
        kept, known = log.best
        assert np.array_equal(known.error, [one[0] for one in best])
        assert np.array_equal(np.broadcast_to(kept.t, (size,)), [one[1] for one in best])
        assert np.array_equal(flat(kept.y, batch), [one[3] for one in best])
        assert np.array_equal(np.broadcast_to(np.ravel(kept.gamma), (size,)), [one[4] for one in best])
        for i in range(size):
            assert [column[i] for column in known] == best[i][2]


@pytest.mark.parametrize("batch", BATCHES)
def test_an_iterate_merged_of_several_is_computed_anew_as_each_of_them(batch):
    batch = BATCHES[batch]
    size, engine, seen = int(np.prod(batch)), engine_of(batch), []
    for t in (1, 4, 9):
        engine.advance(t)
        seen.append(engine.now)
    chosen, together = np.arange(size) % 3, seen[0]
    for k in (1, 2):
        together = merged(chosen == k, seen[k], together, batch)
    assert np.array_equal(together.t, np.array([1, 4, 9])[chosen])
    told = engine.scales(1e-6, 0.0)
    anew = engine.confirm(together, told, natural=False).made
    for name in ("z", "x", "u", "y"):
        parts = [flat(getattr(made, name), batch) for made in seen]
        expected = [parts[chosen[i]][i] for i in range(size)]
        np.testing.assert_allclose(flat(getattr(anew, name), batch), expected, rtol=0, atol=1e-15)
    ours, *measured = [engine.measure(made, told, Marks(*[made.z] * 3)).numbers for made in (anew, *seen)]
    for name in Measured._fields:
        theirs = np.choose(chosen, [getattr(numbers, name) for numbers in measured])
        np.testing.assert_allclose(getattr(ours, name), theirs, rtol=1e-12, atol=1e-12)


def test_nothing_new_merges_to_what_was_there():
    engine = engine_of((7,))
    engine.advance(1)
    old = engine.now
    engine.advance(2)
    assert merged(np.zeros(7, dtype=bool), engine.now, old, (7,)) is old
    assert merged(np.ones(7, dtype=bool), engine.now, old, (7,)) is engine.now
    assert merged(np.zeros(7, dtype=bool), engine.now, None, (7,)) is engine.now


def test_problems_that_finish_in_any_order_have_their_places_in_the_batch():
    batch, rng = (2, 3), np.random.default_rng(1)
    engine = engine_of(batch)
    log = log_of(engine, np.zeros(6, dtype=bool))
    for t, few, status in ((1, [4, 1], Status.CONVERGED), (3, [0], Status.NOT_FINITE), (5, [5, 2, 3], Status.MAX_ITER)):
        engine.advance(t)
        numbers, before = numbers_of(rng, rng.random(6)), log
        log = log.finish(np.isin(np.arange(6), few), engine, engine.now, numbers, status)
        others = np.setdiff1d(np.arange(6), few)
        assert np.array_equal(log.done, np.isin(np.arange(6), few) | before.done)
        assert log.left == before.left - len(few)
        assert np.array_equal(log.x.reshape(6, 4)[few], engine.now.z.reshape(6, 4)[few])
        if before.x is not None:
            assert np.array_equal(log.x.reshape(6, 4)[others], before.x.reshape(6, 4)[others])
        assert np.array_equal(np.flatnonzero(log.ended_as(status)), sorted(few))
        for name in Measured._fields:
            assert np.array_equal(getattr(log.ends, name)[few], getattr(numbers, name)[few])
        assert log.ends.rows[others].tobytes() == before.ends.rows[others].tobytes()
        assert (log.ends.iteration[few] == t).all()
        assert (log.ends.nit[few] == t).all()
    assert log.finish(np.zeros(6, dtype=bool), engine, engine.now, numbers, Status.CONVERGED) is log


def test_a_log_of_some_problems_has_their_rows():
    batch, rng = (2, 3), np.random.default_rng(2)
    engine = engine_of(batch, rng.uniform(0.01, 0.1, batch))
    log = log_of(engine, np.zeros(6, dtype=bool))
    for t in (1, 2, 3):
        engine.advance(t)
        log = checked(log, engine, numbers_of(rng, rng.random(6)))
    rows = np.array([0, 3, 4])
    few = log.select(rows, engine)
    assert np.array_equal(few.places, rows)
    assert few.left == 3
    assert np.array_equal(few.best[0].t, np.broadcast_to(log.best[0].t, (6,))[rows])
    assert np.array_equal(few.best[0].y, take_rows(log.best[0].y, rows, 2))
    assert np.array_equal(few.best[0].gamma.ravel(), log.best[0].gamma.ravel()[rows])
    assert np.array_equal(few.best[1], np.array(log.best[1])[:, rows])
    again = few.select(np.array([2]), engine.select(rows))
    assert again.places.tolist() == [4]
    assert np.array_equal(again.best[0].y[0], log.best[0].y.reshape(6, 4)[4])


def test_an_engine_of_some_problems_iterates_as_that_of_all():
    engine = engine_of((2, 3))
    engine.advance(4)
    rows = np.array([1, 5])
    few = engine.select(rows)
    for one in (engine, few):
        one.advance(9)
    assert few.batch == (2,)
    for name in ("z", "x", "y", "u", "d"):
        assert np.allclose(getattr(few.now, name), getattr(engine.now, name).reshape(6, 4)[rows], rtol=0, atol=1e-14)


def test_checks_are_three_iterations_apart_first_and_then_ever_further():
    f = lambda x: (x @ x / 2, x)  # noqa: E731
    seen = ts.minimize(f, np.ones(2), ts.terms.Box(-1, 1), tol=0, max_iter=1000).trace["iteration"][:-1].tolist()
    gaps = np.diff(seen)
    assert seen[:4] == [1, 4, 7, 10]
    assert (np.diff(gaps) >= -1).all()
    assert (gaps <= np.maximum(3, 0.2 * np.array(seen[:-1]))).all()
    assert len(seen) < 60


def test_the_statuses_of_a_file_are_numbered_as_ever():
    """A file holds their places."""
    assert STATUSES == tuple(Status)
    assert len(set(STATUSES)) == len(STATUSES)


def test_what_is_kept_of_a_run_holds_no_memory_of_the_rule():
    """It would keep arrays alive that nobody reads."""
    f, x0 = batch_of((3,), (4,))
    problem = ts.Problem(f, [Box(-1, 1), L2Ball(0.6)], batch_ndim=1)
    (made,) = islice(ts.tos(problem, x0), 1)
    late = merged(np.array([True, False, True]), made, made._replace(t=0), (3,))
    assert late.after is None
    assert late.t.tolist() == [1, 0, 1]


@pytest.mark.parametrize("fun", [np.inf, -np.inf, np.nan])
def test_nothing_is_said_of_a_point_whose_objective_is_not_finite(fun):
    values = np.array([fun, 1.0])
    f = lambda x: (values, x)  # noqa: E731
    together = Splitting(ts.Problem(f, L1(0.1), batch_ndim=1), np.ones((2, 2)), Constant(0.5))
    alone = Splitting(ts.Problem(lambda x: (fun, x), L1(0.1)), np.ones(2), Constant(0.5))
    for engine in (together, alone):
        engine.now = engine.step(True)
    ours, own = (one.measure(one.now, one.scales(1e-6, 0.0), Marks(*[one.x0] * 3)).numbers for one in (together, alone))
    for name in Measured._fields:
        assert np.array_equal(getattr(own, name), getattr(ours, name)[0], equal_nan=True)
    assert np.isnan(own[:3]).all()
    assert own.error == np.inf
    assert np.isfinite([column[1] for column in ours]).all()
