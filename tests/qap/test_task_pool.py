"""The search over starts: the same answer whoever runs them, limits that hold, and nothing lost by an interrupt."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import trisplit as ts
from tests.qap.same_answer import NUG20, same
from trisplit.qap import Instance, Objective, QAPStatus, load, local_search, solve, task_pool
from trisplit.qap.engine import BirkhoffLoop
from trisplit.qap.rounding import round_to_permutation
from trisplit.steps import Adaptive

STARTS = 6


@pytest.fixture(autouse=True)
def no_thread_is_left_behind():
    before = threading.active_count()
    yield
    deadline = time.perf_counter() + 2
    while threading.active_count() > before and time.perf_counter() < deadline:
        time.sleep(0.01)  # an executor's own threads may need a moment after its shutdown
    assert threading.active_count() <= before


@pytest.fixture(scope="module")
def alone():
    return solve(NUG20, starts=STARTS, rng=5, workers=1)


def members(res):
    return [row.member for row in res.trace]


def processes(workers=2):
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


# The same answer


@pytest.mark.parametrize("workers", [2, 3, np.int64(2), 50, None])
def test_threads_give_the_same_answer(alone, workers):
    before = threading.active_count()
    assert same(solve(NUG20, starts=STARTS, rng=5, workers=workers), alone)
    assert threading.active_count() == before


class Sleepy(ThreadPoolExecutor):
    """Its outcomes come in any order."""

    def submit(self, run, instance, task):
        def late(instance, task):
            time.sleep(0.05 * ((7 * task.number) % 4))
            return run(instance, task)

        return super().submit(late, instance, task)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, Sleepy])
def test_executors_of_threads_give_the_same_answer(alone, kind):
    with kind(3) as pool:
        assert same(solve(NUG20, starts=STARTS, rng=5, workers=pool), alone)
        assert same(solve(NUG20, starts=STARTS, rng=5, workers=pool), alone)  # it is as it was


def test_processes_give_the_same_answer_even_if_one_is_killed(alone):
    with processes() as pool:
        assert same(solve(NUG20, starts=STARTS, rng=5, workers=pool), alone)

        def kill(row):
            if row.number == 2:
                os.kill(next(iter(pool._processes)), signal.SIGKILL)

        assert same(solve(NUG20, starts=STARTS, rng=5, workers=pool, callback=kill), alone)
        assert same(solve(NUG20, starts=STARTS, rng=5, workers=pool), alone)  # a broken pool takes nothing


class Refusing(Executor):
    """Takes some tasks, then none."""

    def __init__(self, error, taken=0):
        self.error, self.left = error, taken

    def submit(self, run, *arguments):
        if self.left == 0:
            raise self.error
        self.left -= 1
        future = Future()
        future.set_result(run(*arguments))
        return future


@pytest.mark.parametrize("error", [RuntimeError("shut down"), OSError("lost"), ValueError("odd")])
@pytest.mark.parametrize("taken", [0, 1, 3])
def test_an_executor_that_takes_no_more(alone, error, taken):
    assert same(solve(NUG20, starts=STARTS, rng=5, workers=Refusing(error, taken)), alone)


class Failing(Executor):
    """Loses every task, or every other one: its future fails or is cancelled."""

    def __init__(self, how, every=1):
        self.how, self.every = how, every

    def submit(self, run, instance, task):
        future = Future()
        if task.number % self.every:
            future.set_result(run(instance, task))
        elif self.how is None:
            future.cancel()
        else:
            future.set_exception(self.how)
        return future


@pytest.mark.parametrize("how", [None, OSError("lost"), RuntimeError("broken"), MemoryError()])
@pytest.mark.parametrize("every", [1, 2])
def test_an_executor_that_loses_tasks(alone, how, every):
    assert same(solve(NUG20, starts=STARTS, rng=5, workers=Failing(how, every)), alone)


def test_an_executor_that_is_shut_down(alone):
    pool = ThreadPoolExecutor(2)
    pool.shutdown()
    assert same(solve(NUG20, starts=STARTS, rng=5, workers=pool), alone)


def test_products_use_one_thread_from_the_first_one_on():
    """Else rounding could depend on where a start is run; numba loads the library of its products late."""
    code = """if True:
        import numpy as np
        from threadpoolctl import threadpool_info
        from trisplit.qap import local_search, load, solve
        def slow_run(self, *arguments):
            assert {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"} == {1}
            return run(self, *arguments)
        run, local_search.LocalSearch.run = local_search.LocalSearch.run, slow_run
        solve(load("nug12"), starts=1, workers=1)
    """
    limits = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in limits}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# Limits: half a second, and a margin that a busy machine keeps


@pytest.mark.parametrize("name", ["nug30", "sko100a"])
@pytest.mark.parametrize("workers", [1, 2])
def test_time_limit_is_kept(name, workers, alone):
    instance, over = Instance(name, load(name).A, load(name).B), []
    for _ in range(3):  # a machine that is busy with other things may miss it now and then
        begin = time.perf_counter()
        res = solve(instance, time_limit=0.5, workers=workers, rng=0)
        over.append(time.perf_counter() - begin - 0.5)
        assert res.status is QAPStatus.TIME_LIMIT
        assert 0.5 <= res.elapsed <= over[-1] + 0.5
        if over[-1] < 0.2:
            break
    assert min(over) < 0.2
    assert res.cost == instance.cost(res.permutation)
    assert res.relaxation.certificate.kind == "gap"
    assert 0 < res.starts <= len(res.trace)


class Silent(Executor):
    """Some of its tasks are never done."""

    def __init__(self, done=()):
        self.done, self.futures = done, []

    def submit(self, run, instance, task):
        future = Future()
        if task.number in self.done:
            future.set_result(run(instance, task))
        self.futures.append(future)
        return future


@pytest.mark.parametrize("options", [{}, {"starts": 4}])
def test_an_executor_that_is_silent_until_the_time_is_over(options, alone):
    pool = Silent()
    res = solve(NUG20, time_limit=0.2, workers=pool, rng=0, **options)
    assert res.status is QAPStatus.TIME_LIMIT
    assert res.elapsed < 0.2 + task_pool.GRACE + 0.2
    assert res.cost == NUG20.cost(res.permutation)
    assert all(future.cancelled() for future in pool.futures)


def test_what_came_out_of_order_counts_when_the_time_is_over(alone):
    """The first start never ends, so the others never have their turn; their permutations are not lost."""
    res = solve(NUG20, starts=4, polish=False, time_limit=3.0, workers=Silent(done=(1, 2, 3)), rng=5)
    rows = solve(NUG20, starts=4, polish=False, workers=1, rng=5).trace
    assert res.status is QAPStatus.TIME_LIMIT
    assert res.cost <= min(row.cost for row in rows[1:] if row.member == "start")


class Dying(Executor):
    """Its tasks fail when most of the time is over."""

    def __init__(self, seconds):
        self.seconds = seconds

    def submit(self, *arguments):
        future = Future()
        threading.Timer(self.seconds, lambda: future.cancelled() or future.set_exception(OSError("lost"))).start()
        return future


def test_lost_tasks_get_the_time_that_is_left_only(alone):
    res = solve(NUG20, time_limit=0.5, workers=Dying(0.4), rng=0)
    assert res.status is QAPStatus.TIME_LIMIT
    assert res.elapsed < 0.5 + 0.2
    time.sleep(0.5)  # for the timers


@pytest.mark.parametrize("workers", [1, 2])
def test_stops_at_the_target_or_the_optimum(alone, workers):
    before = threading.active_count()
    first = alone.trace[0].cost
    res = solve(NUG20, starts=100, target=first, rng=5, workers=workers)
    assert (res.status, members(res)) == (QAPStatus.TARGET, ["start"])
    assert res.bound.method == "gilmore-lawler"  # it costs next to nothing
    res = solve(NUG20, time_limit=60, target=first, rng=5, workers=workers)
    assert res.status is QAPStatus.TARGET
    assert res.cost <= first
    assert solve(load("nug12"), time_limit=60, rng=0, workers=workers).status is QAPStatus.OPTIMAL
    res = solve(NUG20, starts=100, rng=5, workers=workers, callback=lambda row: row.number == 2)
    assert (res.status, len(res.trace)) == (QAPStatus.CALLBACK, 2)
    assert threading.active_count() == before


# Interrupts


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_the_starts_that_are_done(monkeypatch, workers, alone):
    run = local_search.LocalSearch.run

    def interrupted(self, task, *arguments):
        if task.number == 3:
            raise KeyboardInterrupt
        return run(self, task, *arguments)

    monkeypatch.setattr(local_search.LocalSearch, "run", interrupted)
    res = solve(NUG20, starts=STARTS, rng=5, workers=workers)
    assert res.status is QAPStatus.INTERRUPTED
    assert res.cost == NUG20.cost(res.permutation) <= max(row.cost for row in alone.trace[:3])
    assert res.relaxation.certificate.kind == "gap"


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_on_a_face_keeps_the_rounded_permutation(monkeypatch, workers):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    expected = solve(NUG20, starts=1, faces=False, polish=False, rng=5)
    monkeypatch.setattr(local_search.LocalSearch, "search_faces", interrupted)
    res = solve(NUG20, starts=STARTS, polish=False, rng=5, workers=workers)
    assert res.status is QAPStatus.INTERRUPTED
    if workers == 1:
        assert np.array_equal(res.permutation, expected.permutation)
        assert res.relaxation.certificate == expected.relaxation.certificate


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_before_there_is_an_answer_is_ctrl_c(monkeypatch, workers):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(BirkhoffLoop, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve(NUG20, workers=workers)
    kept = solve(NUG20, workers=workers, x0=np.arange(20), polish=False)
    assert kept.permutation.tolist() == list(range(20))


LONG = """
import sys
from trisplit.qap import Instance, load, solve
sko49 = Instance("sko49", load("sko49").A, load("sko49").B)
res = solve(sko49, {limit}, workers={workers}, rng=0, callback=lambda row: print("row", flush=True))
assert res.cost == sko49.cost(res.permutation)
print(res.status.name, res.cost == min(row.best for row in res.trace) or res.cost, res.relaxation.certificate.kind)
"""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("limit", ["time_limit=600", "starts=10**6"])
def test_a_real_interrupt_ends_a_long_search(workers, limit):
    code = LONG.format(limit=limit, workers=workers)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "row\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    begin = time.perf_counter()
    out, err = child.communicate(timeout=20)
    assert time.perf_counter() - begin < 5
    assert (child.returncode, err) == (0, "")
    assert out.splitlines()[-1].split()[::2] == ["INTERRUPTED", "gap"]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_the_callback_comes_through(workers):
    def wrong(row):
        raise ZeroDivisionError

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        solve(NUG20, starts=50, workers=workers, callback=wrong)
    assert threading.active_count() == before


# Options, and what is counted


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_start_begins_at_x0(workers):
    X = np.random.default_rng(0).random((20, 20))
    engine = BirkhoffLoop(Objective(NUG20.A.astype(float), NUG20.B.astype(float)).tangent(), 1, Adaptive())
    engine.start(np.full((20, 20), 1 / 20))
    engine.start(X, engine.gamma)
    engine.advance(3)
    res = solve(NUG20, starts=1, x0=X, max_iter=3, faces=False, polish=False, rng=0, workers=workers)
    assert np.array_equal(res.relaxation.x, engine.z)
    assert np.array_equal(res.permutation, round_to_permutation(engine.z))
    elsewhere = solve(NUG20, starts=3, x0=X, max_iter=3, faces=False, polish=False, rng=0, workers=workers)
    without = solve(NUG20, starts=3, max_iter=3, faces=False, polish=False, rng=0, workers=workers)
    later = [[row.cost for row in res.trace if row.member == "start"][1:] for res in (elsewhere, without)]
    assert later[0] == later[1]
    assert elsewhere.trace[0].cost == res.cost


def test_faces_are_counted_and_may_be_left_out():
    rough, fine = (solve(NUG20, starts=STARTS, faces=faces, polish=False, rng=5) for faces in (False, True))
    assert (rough.starts, rough.restarts) == (STARTS, 0)
    assert fine.starts == STARTS
    assert fine.restarts >= STARTS * local_search.PATIENCE * 20
    assert fine.cost <= rough.cost  # each start goes on from the same rounded point
    endless = solve(NUG20, faces=False, polish=False, time_limit=0.2, rng=0)
    assert (endless.restarts, endless.starts) == (0, members(endless).count("start"))
    assert set(members(endless)) == {"start", "bound"}
    assert set(members(solve(NUG20, polish=False, time_limit=0.5, rng=0))) == {"start", "kick", "bound"}


def test_duplicates_are_starts_that_found_nothing_new():
    for seed in range(5):
        A, B = np.random.default_rng(seed).random((2, 3, 3))
        res = solve(A, B, starts=10, x0=np.arange(3), polish=False, rng=seed)
        assert len({row.cost for row in res.trace}) == res.starts - res.duplicates


@pytest.mark.parametrize("workers", [0, -1, True, False, 1.5, "2", [2], np.nan, object()])
def test_workers_that_are_none(workers):
    with pytest.raises(ts.InputError, match="`workers` must be an integer >= 1"):
        solve(NUG20, starts=1, workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("linear", [False, True])
def test_data_that_overflow_are_refused(workers, linear):
    A, B, C = np.random.default_rng(0).random((3, 8, 8)) * 1e200
    with pytest.raises(ts.InputError, match="too large"):
        solve(A, B, C if linear else None, starts=2, workers=workers)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_smallest_problems(n, workers):
    M = np.arange(n * n).reshape(n, n)
    for options in ({"starts": 3}, {"time_limit": 0.1}):
        res = solve(M, M.T, M, workers=workers, rng=0, **options)
        assert sorted(res.permutation) == list(range(n))
    zero = np.zeros((n, n))
    assert solve(zero, zero, starts=3, workers=workers, rng=0).cost == 0
