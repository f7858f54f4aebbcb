"""Starts say what their permutations cost, are as many as are asked for, and depend on their seed alone."""

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from tests.backends.searches import MADE, made  # noqa: E402
from trisplit.qap.gpu import starts as starts_module  # noqa: E402
from trisplit.qap.gpu.batch import Batch  # noqa: E402
from trisplit.qap.gpu.starts import Starts  # noqa: E402
from trisplit.qap.instance import Instance  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread", "small_search")


class TestStarts:
    @pytest.mark.parametrize("options", [{}, {"linear": True}, {"sparse": True}, {"real": True, "sparse": True}])
    @pytest.mark.parametrize("host", [False, True])
    def test_costs(self, options, host, monkeypatch):
        """Those of the instance: on the device, or on the host where sparse matrices would be large ones there."""
        monkeypatch.setattr(starts_module, "LARGE", 0 if host else 10**9)
        monkeypatch.setattr(starts_module, "PAIRS", 3 * 81)  # three at once
        problem = made(9, **options)
        starts = Starts(problem, "cpu")
        assert (starts.A is None) == (host and "sparse" in options)
        p = torch.rand((7, 9)).argsort(1)
        assert starts.costs(p).tolist() == [problem.cost(q) for q in p.numpy()]

    @pytest.mark.parametrize("options", [{}, {"linear": True}, {"sparse": True}])
    def test_the_best_first(self, options, monkeypatch):
        problem = made(9, **options)
        monkeypatch.setattr(starts_module, "NUMBERS", 10 * 81)
        found = Starts(problem, "cpu", "float64").run(25, 30, seed=0, keep=8)
        assert (found.starts, found.iterations, found.permutations.shape) == (25, 30, (8, 9))
        costs = [problem.cost(p) for p in found.permutations]
        assert costs == sorted(costs)
        everything = Starts(problem, "cpu", "float64").run(25, 30, seed=0, keep=25)
        assert [problem.cost(p) for p in everything.permutations[:8]] == costs
        assert found.z.shape == (9, 9)
        assert found.z.min() >= 0
        assert found.z.max() <= 1

    @pytest.mark.parametrize(("starts", "batches"), [(25, [10, 10, 5]), (10, [10]), (3, [3]), (None, [10])])
    def test_as_many_as_are_asked_for(self, starts, batches, monkeypatch):
        seen = []
        monkeypatch.setattr(starts_module, "NUMBERS", 10 * 25)
        monkeypatch.setattr(starts_module, "Batch", lambda *args: seen.append(args[1]) or Batch(*args))
        relaxed = Starts(made(5), "cpu")
        assert relaxed.run(starts, 4, seed=0, keep=2).starts == sum(batches)
        assert seen == sorted(set(batches), reverse=True)

    def test_the_seed_decides(self):
        one, same, other = (Starts(MADE, "cpu").run(12, 20, seed=seed, keep=12) for seed in (2**80, 2**80, 1))
        assert (one.permutations == same.permutations).all()
        assert (one.z == same.z).all()
        assert not (one.permutations == other.permutations).all()

    def test_it_stops_when_it_is_over(self, monkeypatch):
        monkeypatch.setattr(starts_module, "CHUNK", 3)
        monkeypatch.setattr(starts_module, "NUMBERS", 10 * MADE.n**2)
        found = Starts(MADE, "cpu").run(1000, 100, seed=0, keep=3, over=lambda: True)
        assert (found.starts, found.iterations, len(found.permutations)) == (10, 3, 3)
        asked = iter([False] * 4)
        found = Starts(MADE, "cpu").run(1000, 100, seed=0, keep=3, over=lambda: next(asked, True))
        assert (found.starts, found.iterations) == (10, 15)

    def test_as_many_as_fit_into_memory(self, monkeypatch):
        relaxed = Starts(MADE, "cpu")
        assert relaxed.at_once == 20
        relaxed.device = SimpleNamespace(type="cuda")
        free = 7 * starts_module.ARRAYS * 4 * MADE.n**2 / starts_module.MEMORY
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 10**12))
        assert relaxed.at_once == 7
        relaxed.batch = object()  # there is one: it is as large as the next one may be
        assert relaxed.at_once == 7
        relaxed.shrink()
        assert relaxed.at_once == 3
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (0, 10**12))
        assert relaxed.at_once == 1

    def test_numbers_that_overflow(self):
        """Permutations come out of it, and no point of the relaxed problem that is not one."""
        problem = Instance("huge", np.eye(5) * 1e-30, np.eye(5)[::-1] * 1e-30, C=np.arange(25.0).reshape(5, 5) * 1e30)
        found = Starts(problem, "cpu", "float32").run(2, 5, seed=0, keep=2)
        assert found.z is None or np.isfinite(found.z).all()
        assert (np.sort(found.permutations, 1) == np.arange(5)).all()
