"""A GPU takes part in a search, here a stand-in: what it finds counts."""

import os
import signal
import threading
from contextlib import contextmanager
from time import perf_counter

import numpy as np
import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from tests.backends.searches import HANG, LONG, MADE, SECONDS, check, found, made, members, solve  # noqa: E402
from trisplit import qap  # noqa: E402
from trisplit.qap.gpu import search as search_module  # noqa: E402
from trisplit.qap.gpu.search import STARTS, TABU, GpuSearch  # noqa: E402
from trisplit.qap.gpu.starts import Starts  # noqa: E402
from trisplit.qap.gpu.tabu_population import TabuPopulation  # noqa: E402
from trisplit.qap.incumbent import QAPStatus  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread", "small_search", "gpu")
CPU = torch.device("cpu")


class TestCounted:
    def test_the_seed_alone_decides(self):
        first = solve(starts=2)
        check(first)
        assert first.device == "stand-in"
        assert first.starts == 4  # of the GPU, and of the processor
        assert first.status is QAPStatus.FINISHED
        assert {STARTS, TABU, "start", "bound"} <= set(members(first))  # a cheap bound after the first start
        assert members(first)[0] == STARTS
        for workers in (1, 2):
            res = solve(starts=2, workers=workers)
            assert (res.permutation == first.permutation).all()
            assert found(res) == found(first)

    def test_many_starts_are_those_of_the_gpu(self):
        res = solve(made(9), starts=45, polish=False, faces=False, max_iter=10)
        check(res, made(9))
        assert res.starts == 45 + 10
        assert members(res).count("start") == 10
        assert members(res).count(STARTS) == 1

    def test_large_ones_have_no_tabu_search(self, monkeypatch):
        """Nor more starts than were asked for."""
        monkeypatch.setattr(search_module, "LARGEST", MADE.n - 1)
        res = solve(starts=2)
        check(res)
        assert members(res).count(STARTS) == 1
        assert TABU not in members(res)
        assert res.starts == 4

    def test_the_population_hears_of_better_permutations(self, monkeypatch):
        heard = []
        monkeypatch.setattr(TabuPopulation, "immigrate", lambda self, permutations: heard.extend(permutations))
        solve(starts=1, x0=np.arange(MADE.n))
        known = qap.swap_descent(MADE, np.arange(MADE.n))
        assert any((p == known).all() for p in heard)

    def test_target_reached_by_the_gpu(self):
        res = solve(starts=2, target=10**9)
        assert (members(res), res.status) == ([STARTS], QAPStatus.TARGET)

    def test_nothing_after_the_target(self):
        best = solve(starts=2).cost
        res = solve(starts=2, target=best)
        assert res.status is QAPStatus.TARGET
        assert [row.best <= best for row in res.trace].index(True) == len(res.trace) - 1

    @pytest.mark.parametrize("member", [STARTS, TABU])
    def test_a_callback_that_stops_is_not_asked_again(self, member):
        rows = []

        def callback(row):
            rows.append(row)
            return row.member == member

        res = solve(starts=2, callback=callback)
        assert res.status is QAPStatus.CALLBACK
        assert [row.member for row in rows].count(member) == 1
        assert rows[-1].member == member

    def test_errors_of_a_callback_are_those_of_the_caller(self):
        def callback(row):
            raise ValueError("mine")

        with pytest.raises(ValueError, match="mine"):
            solve(starts=2, callback=callback)

    def test_constraints(self):
        res = solve(starts=1, fixed={0: 5}, forbidden=[(1, 2), (3, 4)])
        check(res)
        assert res.permutation[0] == 5
        assert res.permutation[1] != 2
        assert res.permutation[3] != 4

    def test_resumes(self, tmp_path):
        path = tmp_path / "search.npz"
        first = solve(starts=2, checkpoint=path, callback=lambda row: row.member == TABU)
        assert path.exists()
        second = solve(starts=2, checkpoint=path)
        check(second)
        assert second.cost <= first.cost
        assert second.status is QAPStatus.FINISHED
        assert second.starts == 4

    def test_resumes_among_the_starts(self, tmp_path):
        """They depend on their numbers: so the answer is that of a search that was never interrupted."""
        path = tmp_path / "search.npz"
        solve(made(9), starts=3, polish=False, checkpoint=path, callback=lambda row: row.member == "start")
        second = solve(made(9), starts=3, polish=False, checkpoint=path)
        whole = solve(made(9), starts=3, polish=False)
        assert second.starts == whole.starts == 6
        assert (second.permutation == whole.permutation).all()

    def test_kernels_are_launched_on_the_right_device(self, monkeypatch):
        """Other code may have another one as its own."""
        entered = []

        @contextmanager
        def current(device):
            entered.append(device)
            yield
            entered.append(None)

        def there(method):
            def inside(self, *args, **options):
                assert entered[-1] == CPU
                return method(self, *args, **options)

            return inside

        monkeypatch.setattr(search_module, "current", current)
        monkeypatch.setattr(Starts, "run", there(Starts.run))
        monkeypatch.setattr(TabuPopulation, "round", there(TabuPopulation.round))
        res = solve(made(9), starts=1, callback=lambda row: entered[-1] == CPU)
        assert res.status is not QAPStatus.CALLBACK


class TestInTime:
    def test_both_parts_find_something(self):
        begin = perf_counter()
        res = solve(time_limit=LONG, workers=2)
        assert perf_counter() - begin < LONG + 1.0
        check(res)
        assert {STARTS, TABU} <= set(members(res))
        assert res.device == "stand-in"
        assert res.status is QAPStatus.TIME_LIMIT
        assert res.starts >= 20

    def test_without_polish(self):
        res = solve(polish=False, time_limit=SECONDS)
        check(res)
        assert STARTS in members(res)
        assert TABU not in members(res)

    def test_target(self):
        nug = qap.load("nug12")
        res = solve(nug, time_limit=HANG / 2, target=600)
        check(res, nug)
        assert res.status in (QAPStatus.TARGET, QAPStatus.OPTIMAL)

    def test_large_ones_have_no_tabu_search(self, monkeypatch):
        monkeypatch.setattr(search_module, "LARGEST", MADE.n - 1)
        res = solve(time_limit=SECONDS)
        assert STARTS in members(res)
        assert TABU not in members(res)

    def test_nothing_is_left_when_all_permutations_are_known(self):
        begin = perf_counter()
        check(solve(made(5, real=True), time_limit=HANG), made(5, real=True))
        assert perf_counter() - begin < HANG / 2

    def test_resumes(self, tmp_path):
        path = tmp_path / "search.npz"
        first = solve(time_limit=SECONDS, checkpoint=path)
        second = solve(time_limit=SECONDS, checkpoint=path)
        check(second)
        assert second.cost <= first.cost
        assert len(second.trace) > len(first.trace)
        assert second.starts > first.starts

    def test_a_callback_that_stops(self):
        rows = []

        def callback(row):
            rows.append(row)
            return row.member == TABU

        res = solve(time_limit=HANG, callback=callback)
        assert res.status is QAPStatus.CALLBACK
        assert rows[-1].member == TABU

    @pytest.mark.parametrize("member", [STARTS, TABU, "start"])
    def test_interrupted_in_the_callback(self, member):
        def callback(row):
            if row.member == member:
                raise KeyboardInterrupt

        res = solve(time_limit=HANG, callback=callback)
        check(res)
        assert res.status is QAPStatus.INTERRUPTED
        assert res.elapsed < HANG / 2

    @pytest.mark.skipif(os.name == "nt", reason="signals")
    def test_interrupted_by_a_signal(self):
        timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            res = solve(time_limit=HANG)
        finally:
            timer.cancel()
        check(res)
        assert res.status is QAPStatus.INTERRUPTED


def test_news_are_small():
    """Thousands of starts, but only the best are told."""
    news = next(GpuSearch(MADE, "cuda", 0, 5, polish=True, over=lambda: False).run(100))
    assert news.starts == 100
    assert len(news.permutations) == search_module.TOLD
