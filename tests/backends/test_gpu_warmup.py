"""What takes time once on a GPU, here a stand-in, comes before the time that is counted."""

import threading
import warnings
from time import perf_counter, sleep

import numpy as np
import pytest
from scipy.sparse import csr_array

torch = pytest.importorskip("torch", exc_type=ImportError)

from tests.backends.searches import HANG, LONG, MADE, SECONDS, check, made, members, one_warning, solve  # noqa: E402
from trisplit.qap.gpu import warmup  # noqa: E402
from trisplit.qap.gpu.search import STARTS  # noqa: E402
from trisplit.qap.gpu.starts import Starts  # noqa: E402
from trisplit.qap.gpu.tabu_population import TabuPopulation  # noqa: E402
from trisplit.qap.incumbent import QAPStatus  # noqa: E402
from trisplit.qap.instance import Instance  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread", "small_search", "gpu")


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    monkeypatch.setattr(warmup, "_warmed_up", set())
    monkeypatch.setattr(warmup, "_stuck", [])


@pytest.fixture
def called(monkeypatch):
    """The names of methods in the order in which they are called."""
    order = []

    def told(name, method):
        return lambda self, *args, **options: order.append(name) or method(self, *args, **options)

    for where, name in ((Starts, "warm_up"), (Starts, "run"), (TabuPopulation, "round")):
        monkeypatch.setattr(where, name, told(name, getattr(where, name)))
    return order


def test_before_the_search_and_only_once(called):
    check(solve(time_limit=LONG))
    assert called[:3] == ["warm_up", "round", "run"]
    check(solve(time_limit=SECONDS))
    assert called.count("warm_up") == 1


def test_other_kernels_are_called_for_other_kinds_of_problems(called):
    A, B = MADE.A, MADE.B
    problems = [
        MADE,
        made(11),
        made(10, linear=True),
        made(10, sparse=True),
        made(10, real=True),
        Instance("symmetric", A + A.T, B),
        Instance("both", A + A.T, B + B.T),
        Instance("half", A, csr_array(B)),
    ]
    for problem in problems:
        warmup.warm_up(problem, "cuda", polish=True)
    assert called.count("warm_up") == len(problems)
    warmup.warm_up(Instance("the same kind", A + 1, 3 * B), "cuda", polish=True)
    assert called.count("warm_up") == len(problems)


def test_the_seconds_do_not_count(monkeypatch):
    monkeypatch.setattr(Starts, "warm_up", lambda self: sleep(1.0))
    begin = perf_counter()
    res = solve(time_limit=SECONDS)
    elapsed = perf_counter() - begin
    assert res.elapsed >= 0.8 * SECONDS
    assert elapsed - res.elapsed > 0.9
    assert STARTS in members(res)


@pytest.mark.parametrize("fits", [True, False])
def test_without_tabu_search(called, fits, monkeypatch):
    monkeypatch.setattr(warmup, "tabu_pays", lambda instance, device: fits)
    warmup.warm_up(MADE, "cuda", polish=not fits)
    assert called == ["warm_up"]


def test_large_ones_only_load_pytorch(called, monkeypatch):
    monkeypatch.setattr(warmup, "LARGEST", MADE.n - 1)
    warmup.warm_up(MADE, "cuda", polish=True)
    assert called == []
    assert warmup._warmed_up


def test_no_more_starts_than_there_is_memory_for(called, monkeypatch):
    """Half as many, as in the search; then tabu search."""
    at_once = []

    def costs(self, p):
        at_once.append(self.at_once)
        if self.at_once > 5:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return torch.zeros(len(p))

    monkeypatch.setattr(Starts, "costs", costs)
    warmup.warm_up(MADE, "cuda", polish=True)
    assert at_once == [20, 10, 5]
    assert called == ["warm_up", "round"]


def test_what_fails_is_left_to_the_search(monkeypatch):
    """Which may do better, and tells of it if not; the warm-up is not repeated."""
    failures = []
    monkeypatch.setattr(Starts, "warm_up", lambda self: failures.append(self) or 1 / 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(solve(time_limit=SECONDS))
    monkeypatch.setattr(Starts, "run", lambda *_, **__: 1 / 0)
    with one_warning("ZeroDivisionError"):
        check(solve(time_limit=SECONDS))
    assert len(failures) == 1


def test_a_gpu_that_does_not_answer(monkeypatch):
    """Searches go on without it, the next ones at once, until it does."""
    answers = threading.Event()
    monkeypatch.setattr(warmup, "PATIENCE", 0.2)
    monkeypatch.setattr(Starts, "warm_up", lambda self: answers.wait(HANG))
    try:
        for options in ({}, {"starts": 1}, {}):
            monkeypatch.setattr(warmup, "PATIENCE", 0.2 if not warmup._stuck else 10 * HANG)
            with one_warning("^the GPU does not answer, and the search goes on without it; see with `nvidia-smi`"):
                res = solve(time_limit=SECONDS, **options)
            check(res)
            assert res.device == "cpu"
            assert len(warmup._stuck) == 1
    finally:
        answers.set()
    warmup._stuck[0].join(HANG)
    assert solve(time_limit=LONG).device == "stand-in"


def test_interrupted_while_it_waits(monkeypatch):
    answers, waits = threading.Event(), []

    def interrupted(self, timeout):
        waits.append(timeout)
        raise KeyboardInterrupt

    monkeypatch.setattr(Starts, "warm_up", lambda self: answers.wait(HANG))
    try:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "join", interrupted)
            with pytest.raises(KeyboardInterrupt):
                solve(time_limit=SECONDS)
        assert len(waits) == 1
        (waiting,) = (thread for thread in threading.enumerate() if thread.name == "trisplit-warmup")
        assert waiting.daemon  # nor does the end of the process wait
    finally:
        answers.set()


def test_nothing_for_few_rows(called):
    """All of their permutations are looked at."""
    res = solve(made(5), time_limit=SECONDS)
    assert res.status is QAPStatus.OPTIMAL
    assert "warm_up" not in called
    assert np.array_equal(np.sort(res.permutation), np.arange(5))
