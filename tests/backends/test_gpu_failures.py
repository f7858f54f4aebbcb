"""Without a GPU, or with one that fails, a search goes on and says why."""

import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from tests.backends.searches import LONG, SECONDS, check, found, made, members, one_warning, solve  # noqa: E402
from trisplit import qap  # noqa: E402
from trisplit.qap.gpu import search as search_module  # noqa: E402
from trisplit.qap.gpu.device import NoGPU  # noqa: E402
from trisplit.qap.gpu.search import STARTS, TABU  # noqa: E402
from trisplit.qap.gpu.starts import Starts  # noqa: E402
from trisplit.qap.gpu.tabu_population import TabuPopulation  # noqa: E402
from trisplit.qap.incumbent import QAPStatus  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread", "small_search")
OUT_OF_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB\nsee the documentation")
NO_ROOM_FOR_CUBLAS = RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
LOST = RuntimeError("CUDA error: device lost\nCUDA kernel errors might be reported later")
MODES = [{"starts": 1}, {"time_limit": SECONDS}]


@pytest.fixture
def no_gpu(monkeypatch):
    def missing(device):
        raise NoGPU("PyTorch finds no CUDA device")

    monkeypatch.setattr(search_module, "gpu", missing)


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
        assert not {STARTS, TABU} & set(members(res))

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
    @pytest.mark.parametrize("device", ["cuda", "cuda:1", "auto"])
    def test_this_machine(self, device):
        with one_warning("nvidia-smi"):
            res = solve(made(5), device=device, starts=1)
        assert res.device == "cpu"

    def test_no_torch(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "torch", None)
        with one_warning("PyTorch is not installed; try `pip install"):
            res = solve(made(5), starts=1)
        assert res.device == "cpu"


def raising(error, *, after=0, before=None):
    """Return a method that raises from a call on; until then it does what it did."""
    calls = []

    def method(self, *args, **options):
        calls.append(args)
        if len(calls) > after:
            raise error
        return before(self, *args, **options)

    return method


def throw(error):
    raise error


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("mode", MODES, ids=["counted", "in time"])
class TestFailures:
    @pytest.mark.parametrize("error", [OUT_OF_MEMORY, NO_ROOM_FOR_CUBLAS], ids=["torch", "cublas"])
    def test_out_of_memory_once(self, mode, error, monkeypatch):
        """Half as many starts at once, and all of those that were asked for."""
        at_once, run = [], Starts.run

        def short(self, *args, **options):
            at_once.append(self.at_once)
            if len(at_once) == 1:
                raise error
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
        with one_warning("^memory of the GPU has run out, .* `nvidia-smi` .* Tried to allocate 20 GiB.$"):
            res = solve(**mode)
        check(res)
        assert at_once == [20, 10, 5, 2, 1]
        assert STARTS not in members(res)

    @pytest.mark.parametrize("error", [LOST, MemoryError("no room")], ids=["lost", "no room"])
    def test_the_population_fails(self, mode, error, monkeypatch):
        monkeypatch.setattr(TabuPopulation, "round", raising(error, after=3, before=TabuPopulation.round))
        mode = mode if "starts" in mode else {"time_limit": LONG}
        with one_warning(f"{type(error).__name__}: {str(error).splitlines()[0]}$"):
            res = solve(**mode)
        check(res)
        assert {STARTS, TABU} <= set(members(res))
        assert res.device == "stand-in"
        assert res.status is (QAPStatus.FINISHED if "starts" in mode else QAPStatus.TIME_LIMIT)

    @pytest.mark.parametrize(
        "part", [(Starts, "__init__"), (Starts, "costs"), (TabuPopulation, "__init__"), (TabuPopulation, "elites")]
    )
    def test_any_part_fails(self, mode, part, monkeypatch):
        monkeypatch.setattr(*part, raising(LOST))
        if part[0] is TabuPopulation and "time_limit" in mode:
            mode = {"time_limit": LONG}  # tabu search begins after the starts
        with one_warning("RuntimeError: CUDA error: device lost$"):
            res = solve(**mode)
        check(res)
        assert (STARTS in members(res)) == (part[0] is TabuPopulation)

    def test_another_device_than_there_is(self, mode, monkeypatch):
        monkeypatch.setattr(search_module, "gpu", lambda device: throw(LOST))
        with one_warning("device lost"):
            check(solve(**mode))
