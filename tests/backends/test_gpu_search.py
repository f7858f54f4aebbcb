"""A GPU takes part in a search, here a stand-in: what it finds counts, and if it fails the search goes on."""

import os
import signal
import threading
from contextlib import contextmanager
from time import monotonic, perf_counter
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

torch = pytest.importorskip("torch", exc_type=ImportError)

from tests.kinds import Kind  # noqa: E402
from trisplit import qap  # noqa: E402
from trisplit.errors import GPUWarning  # noqa: E402
from trisplit.qap.episodes import load_kernels  # noqa: E402
from trisplit.qap.gpu import card as card_module  # noqa: E402
from trisplit.qap.gpu import fleet as fleet_module  # noqa: E402
from trisplit.qap.gpu import starts as starts_module  # noqa: E402
from trisplit.qap.gpu.batch import Batch  # noqa: E402
from trisplit.qap.gpu.card import FLEET, STARTS, Card  # noqa: E402
from trisplit.qap.gpu.device import NoGPU, device_of  # noqa: E402
from trisplit.qap.gpu.fleet import Fleet  # noqa: E402
from trisplit.qap.gpu.starts import Starts  # noqa: E402
from trisplit.qap.instance import Instance  # noqa: E402
from trisplit.qap.portfolio import Portfolio  # noqa: E402
from trisplit.qap.record import QAPStatus  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
CPU = torch.device("cpu")
SECONDS = 0.5  # of a search with a time limit
LONG = 1.5  # where the fleet is to have a few rounds, on a busy machine too
HANG = 20.0  # seconds: what takes longer has not ended when it should


def made(n, *, linear=False, sparse=False, real=False, seed=0):
    """An instance of which no optimum is known."""
    rng = np.random.default_rng(seed)
    A, B = rng.integers(1, 100, (2, n, n)) * (0.5 if real else 1)
    if sparse:
        A, B = (csr_array(np.where(rng.random((n, n)) < 0.3, M, 0)) for M in (A, B))
    return Instance("made", A, B, C=rng.integers(0, 500, (n, n)) if linear else None)


MADE = made(10)


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """What takes long is only done once."""
    load_kernels(faces=True)
    qap.solve(MADE, starts=1, rng=0)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few starts and a small fleet, without the interpreter of Triton, which takes a hundred times as long."""
    for module in ("trisplit.qap.gpu.batch", "trisplit.qap.gpu.rounding", "trisplit.kernels.gpu.walks"):
        monkeypatch.setattr(f"{module}.usable", lambda device: False)
    monkeypatch.setattr(starts_module, "MOST", 20)
    monkeypatch.setattr(fleet_module, "SMALL", 3)
    monkeypatch.setattr(card_module, "TELLING", 50)
    monkeypatch.setattr("trisplit.qap.solver.GPU_ITERATIONS", 20)
    monkeypatch.setattr(Portfolio, "bound", lambda self, seconds: False)  # the strong one, which takes its time


@pytest.fixture
def gpu(monkeypatch):
    """The processor stands in for a GPU."""
    monkeypatch.setattr(card_module, "gpu", lambda device: CPU)
    monkeypatch.setattr(card_module, "_name", lambda device: "stand-in")


@pytest.fixture
def no_gpu(monkeypatch):
    def missing(device):
        raise NoGPU("PyTorch finds no CUDA device")

    monkeypatch.setattr(card_module, "gpu", missing)


def solve(instance=MADE, **options):
    return qap.solve(instance, device="cuda", **{"rng": 0, "workers": 1, **options})


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
    with pytest.warns(GPUWarning, match=match) as caught:
        yield
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "\n" not in str(caught[0].message)


def no_thread_is_left():
    end = monotonic() + HANG
    while any(thread.name == "trisplit-gpu" for thread in threading.enumerate()) and monotonic() < end:
        threading.Event().wait(0.01)
    return not any(thread.name == "trisplit-gpu" for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def ends():
    """No search takes long, and none leaves a thread behind."""
    begin = monotonic()
    yield
    assert no_thread_is_left()
    assert monotonic() - begin < HANG


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


class TestWithoutGPU:
    @pytest.mark.parametrize("starts", [2, 12])
    def test_the_same_answer(self, no_gpu, starts):
        """As with device="cpu", whatever the number of starts."""
        problem, options = made(9), {"polish": starts < 10, "max_iter": 30}
        with one_warning("^no GPU takes part in the search: PyTorch finds no CUDA device$"):
            res = solve(problem, starts=starts, **options)
        expected = qap.solve(problem, starts=starts, rng=0, workers=1, **options)
        assert (res.permutation == expected.permutation).all()
        assert found(res) == found(expected)
        assert (res.starts, res.device, res.status) == (starts, "cpu", expected.status)

    def test_in_time(self, no_gpu):
        with one_warning("finds no CUDA device"):
            res = solve(time_limit=SECONDS)
        check(res)
        assert res.status is QAPStatus.TIME_LIMIT
        assert not {STARTS, FLEET} & set(members(res))

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
    @pytest.mark.parametrize("device", ["cuda", "cuda:1", "auto"])
    def test_this_machine(self, device):
        with one_warning("nvidia-smi"):
            res = qap.solve(made(5), device=device, starts=1, rng=0)
        assert res.device == "cpu"

    def test_no_torch(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "torch", None)
        with one_warning("PyTorch is not installed; try `pip install"):
            res = solve(made(5), starts=1)
        assert res.device == "cpu"


@pytest.mark.usefixtures("gpu")
class TestCounted:
    def test_the_seed_alone_decides(self):
        first = solve(starts=2)
        check(first)
        assert first.device == "stand-in"
        assert first.starts == 4  # of the GPU, and of the processor
        assert first.status is QAPStatus.FINISHED
        assert {STARTS, FLEET, "start", "bound"} <= set(members(first))  # a cheap bound after the first start
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

    def test_the_fleet_hears_of_better_permutations(self, monkeypatch):
        heard = []
        monkeypatch.setattr(Fleet, "immigrate", lambda self, permutations: heard.extend(permutations))
        solve(starts=1, x0=np.arange(MADE.n))
        known = qap.swap_descent(MADE, np.arange(MADE.n))
        assert any((p == known).all() for p in heard)

    def test_target_reached_by_the_gpu(self):
        res = solve(starts=2, target=10**9)
        assert (members(res), res.status) == ([STARTS], QAPStatus.TARGET)

    def test_nothing_after_the_target(self, monkeypatch):
        """The first round of the fleet finds it: no second one."""
        made_rounds = []
        before = Fleet.round
        monkeypatch.setattr(Fleet, "round", lambda self, moves: made_rounds.append(moves) or before(self, moves))
        best = solve(starts=2).cost
        made_rounds.clear()
        res = solve(starts=2, target=best)
        assert res.status is QAPStatus.TARGET
        last = len(made_rounds)
        assert last <= 20
        assert res.trace[-1].best <= best

    @pytest.mark.parametrize("member", [STARTS, FLEET])
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
        first = solve(starts=2, checkpoint=path, callback=lambda row: row.member == FLEET)
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

        monkeypatch.setattr(card_module, "current", current)
        monkeypatch.setattr(Starts, "run", there(Starts.run))
        monkeypatch.setattr(Fleet, "round", there(Fleet.round))
        res = solve(made(9), starts=1, callback=lambda row: entered[-1] == CPU)
        assert res.status is not QAPStatus.CALLBACK


@pytest.mark.usefixtures("gpu")
class TestInTime:
    def test_both_parts_find_something(self):
        begin = perf_counter()
        res = solve(time_limit=LONG, workers=2)
        assert perf_counter() - begin < LONG + 1.0
        check(res)
        assert {STARTS, FLEET} <= set(members(res))
        assert res.device == "stand-in"
        assert res.status is QAPStatus.TIME_LIMIT
        assert res.starts >= 20

    def test_without_polish(self):
        res = solve(polish=False, time_limit=SECONDS)
        check(res)
        assert STARTS in members(res)
        assert FLEET not in members(res)

    def test_target(self):
        nug = qap.load("nug12")
        res = solve(nug, time_limit=HANG / 2, target=600)
        check(res, nug)
        assert res.status in (QAPStatus.TARGET, QAPStatus.OPTIMAL)

    def test_large_ones_have_no_fleet(self, monkeypatch):
        monkeypatch.setattr(card_module, "LARGEST", MADE.n - 1)
        res = solve(time_limit=SECONDS)
        assert STARTS in members(res)
        assert FLEET not in members(res)

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
            return row.member == FLEET

        res = solve(time_limit=HANG, callback=callback)
        assert res.status is QAPStatus.CALLBACK
        assert rows[-1].member == FLEET

    @pytest.mark.parametrize("member", [STARTS, FLEET, "start"])
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


def raising(error, *, after=0, before=None):
    """Return a method that raises from a call on; until then it does what it did."""
    calls = []

    def method(self, *args, **options):
        calls.append(args)
        if len(calls) > after:
            raise error
        return before(self, *args, **options)

    return method


OUT_OF_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB\nsee the documentation")
LOST = RuntimeError("CUDA error: device lost\nCUDA kernel errors might be reported later")
MODES = [{"starts": 1}, {"time_limit": SECONDS}]


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("mode", MODES, ids=["counted", "in time"])
class TestFailures:
    def test_out_of_memory_once(self, mode, monkeypatch):
        """Half as many starts at once, and all of those that were asked for."""
        at_once, run = [], Starts.run

        def short(self, *args, **options):
            at_once.append(self.at_once)
            if len(at_once) == 1:
                raise OUT_OF_MEMORY
            return run(self, *args, **options)

        monkeypatch.setattr(Starts, "run", short)
        res = solve(**mode)
        check(res)
        assert at_once[:2] == [20, 10]
        assert STARTS in members(res)
        if "starts" in mode:
            assert res.starts == 2

    def test_out_of_memory_always(self, mode, monkeypatch):
        at_once = []
        monkeypatch.setattr(Starts, "run", lambda self, *_, **__: at_once.append(self.at_once) or throw(OUT_OF_MEMORY))
        with one_warning("OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB$"):
            res = solve(**mode)
        check(res)
        assert at_once == [20, 10, 5, 2, 1]
        assert STARTS not in members(res)

    @pytest.mark.parametrize("error", [LOST, MemoryError("no room")], ids=["lost", "no room"])
    def test_the_fleet_fails(self, mode, error, monkeypatch):
        monkeypatch.setattr(Fleet, "round", raising(error, after=3, before=Fleet.round))
        mode = mode if "starts" in mode else {"time_limit": LONG}
        with one_warning(f"{type(error).__name__}: {str(error).splitlines()[0]}$"):
            res = solve(**mode)
        check(res)
        assert {STARTS, FLEET} <= set(members(res))
        assert res.device == "stand-in"
        assert res.status is (QAPStatus.FINISHED if "starts" in mode else QAPStatus.TIME_LIMIT)

    @pytest.mark.parametrize("part", [(Starts, "__init__"), (Starts, "costs"), (Fleet, "__init__"), (Fleet, "elites")])
    def test_any_part_fails(self, mode, part, monkeypatch):
        monkeypatch.setattr(*part, raising(LOST))
        with one_warning("RuntimeError: CUDA error: device lost$"):
            res = solve(**mode)
        check(res)
        assert (STARTS in members(res)) == (part[0] is Fleet)

    def test_another_device_than_there_is(self, mode, monkeypatch):
        monkeypatch.setattr(card_module, "gpu", lambda device: throw(LOST))
        with one_warning("device lost"):
            check(solve(**mode))


def throw(error):
    raise error


class Far(torch.Tensor):
    """A tensor on a GPU, which NumPy cannot read."""

    device = SimpleNamespace(type="cuda", index=2)

    def cpu(self):
        return self.as_subclass(torch.Tensor).clone()

    def __array__(self, *_, **__):
        raise TypeError("can't convert cuda:2 device type tensor to numpy")

    def numpy(self, *_, **__):
        raise TypeError("can't convert cuda:2 device type tensor to numpy")


def far(M):
    return torch.as_tensor(M).as_subclass(Far)


def from_jax(M):
    return Kind("jax", "float64").xp.asarray(M)


@pytest.mark.parametrize("there", [torch.as_tensor, from_jax, far], ids=["torch", "JAX", "a GPU"])
class TestArrays:
    A, B, C = made(6).A.copy(), made(6).B.copy(), made(6, linear=True).C.copy()

    def test_instance(self, there):
        problem = Instance("there", there(self.A), there(self.B), C=there(self.C))
        assert all(type(M) is np.ndarray for M in (problem.A, problem.B, problem.C))
        assert problem.sha256() == Instance("here", self.A, self.B, C=self.C).sha256()
        assert problem.cost(there(np.arange(6))) == problem.cost(range(6))

    @pytest.mark.parametrize("x0", [np.arange(6)[::-1].copy(), np.full((6, 6), 1 / 6)], ids=["permutation", "point"])
    def test_solve(self, there, x0, gpu):
        res = qap.solve(there(self.A), there(self.B), there(self.C), x0=there(x0), starts=1, rng=0)
        expected = qap.solve(self.A, self.B, self.C, x0=x0, starts=1, rng=0)
        assert res.cost == expected.cost
        assert type(res.permutation) is np.ndarray
        assert res.device == ("stand-in" if there is far else "cpu")

    def test_relax(self, there):
        x0 = np.full((6, 6), 1 / 6) + 0.01 * np.eye(6) - 0.01 / 6
        res = qap.relax(there(self.A), there(self.B), there(self.C), x0=there(x0), max_iter=20)
        assert (res.x == qap.relax(self.A, self.B, self.C, x0=x0, max_iter=20).x).all()

    def test_other_doors(self, there):
        options = {"C": there(self.C), "P0": there(np.full((6, 6), 1 / 6)), "rng": 0, "starts": 1}
        res = qap.quadratic_assignment(there(self.A), there(self.B), options=options)
        assert res.fun == Instance("here", self.A, self.B, C=self.C).cost(res.col_ind)
        bound, expected = (qap.lower_bound(M(self.A), M(self.B), M(self.C)).value for M in (there, np.asarray))
        assert bound == expected

    def test_constraints(self, there):
        mask = np.zeros((6, 6), dtype=bool)
        mask[0, 1] = True
        res = qap.solve(self.A, self.B, fixed=there(np.array([[2, 3]])), forbidden=there(mask), starts=1, rng=0)
        assert res.permutation[2] == 3
        assert res.permutation[0] != 1


def test_matrices_on_a_gpu_mean_that_one(monkeypatch):
    asked = []
    monkeypatch.setattr(card_module, "gpu", lambda device: asked.append(device) or CPU)
    A, B = made(5).A.copy(), made(5).B.copy()
    for options in ({}, {"device": "cuda"}, {"device": "cuda:1"}):
        qap.solve(A, far(B), starts=1, rng=0, **options)
    assert list(dict.fromkeys(asked)) == ["cuda:2", "cuda", "cuda:1"]


def test_devices_of_arrays():
    jax, cupy = SimpleNamespace(platform="gpu", id=3), SimpleNamespace(id=1)
    assert device_of(np.zeros(2), None, SimpleNamespace(device=jax)) == "cuda:3"
    assert device_of(SimpleNamespace(device=cupy)) == "cuda:1"
    assert device_of(SimpleNamespace(device=SimpleNamespace(type="cuda", index=None))) == "cuda:0"
    assert device_of(SimpleNamespace(device=SimpleNamespace(platform="cpu", id=0)), torch.zeros(1), MADE) is None


def test_news_are_small(gpu):
    """Thousands of starts, but only the best are told."""
    news = next(Card(MADE, "cuda", 0, 5, polish=True, over=lambda: False).search(100))
    assert news.starts == 100
    assert len(news.permutations) == card_module.TOLD
