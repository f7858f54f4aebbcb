"""The thin parameter of the backend suite: a library and a dtype.

A library that is not installed is skipped, unless the environment variable TRISPLIT_BACKENDS is set: then it is an
error.
"""

import os
import threading
from importlib.util import find_spec
from math import inf
from time import monotonic, sleep

import pytest

from tests.backends.searches import HANG, MADE, made
from tests.kinds import kinds
from trisplit import qap
from trisplit.qap.local_search import load_kernels
from trisplit.qap.warmup import load_code

# Triton kernels run on the CPU if Triton has been told so before it is first imported.
if os.environ.get("TRISPLIT_DEVICE", "cpu") == "cpu":
    os.environ.setdefault("TRITON_INTERPRET", "1")

LIBRARIES = ("torch", "jax", "array_api_strict", *(["cupy"] if find_spec("cupy") else []))

# Where no library is installed, thousands of facts would only be skipped.
WANTED = os.environ.get("TRISPLIT_BACKENDS") or any(map(find_spec, ("torch", "jax", "array_api_strict")))
collect_ignore = [] if WANTED else ["test_terms.py", "test_traced_terms.py"]


@pytest.fixture(scope="session", params=kinds(*LIBRARIES), ids=str)
def kind(request):
    request.param.xp  # noqa: B018  import it, or skip
    return request.param


@pytest.fixture(scope="module")
def one_thread():
    """Small tensors are multiplied faster by one thread, and the more so next to other tests."""
    torch = pytest.importorskip("torch", exc_type=ImportError)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def loaded():
    """What takes long is only done once, and not in a test that looks at the clock."""
    load_kernels(faces=True)
    for problem in (MADE, made(10, real=True)):
        load_code(problem, inf, polish=True, faces=True)
    qap.solve(MADE, starts=1, rng=0)


@pytest.fixture
def small_search(loaded, monkeypatch):
    """Few starts and a small population, without the interpreter of Triton, which takes a hundred times as long.

    No search takes long, and none leaves a thread behind.
    """
    for module in ("trisplit.qap.gpu.batch", "trisplit.qap.gpu.rounding", "trisplit.kernels.gpu.walks"):
        monkeypatch.setattr(f"{module}.usable", lambda device: False)
    monkeypatch.setattr("trisplit.qap.gpu.starts.MOST", 20)
    monkeypatch.setattr("trisplit.qap.gpu.tabu_population.SMALL", 3)
    monkeypatch.setattr("trisplit.qap.gpu.search.TELLING", 50)
    monkeypatch.setattr("trisplit.qap.solver.GPU_ITERATIONS", 20)
    # The strong bound takes its time
    monkeypatch.setattr("trisplit.qap.portfolio.Portfolio.bound", lambda self, seconds: False)
    begin = monotonic()
    yield
    end = monotonic() + HANG
    while _threads() and monotonic() < end:
        sleep(0.01)
    assert not _threads()
    assert monotonic() - begin < HANG


def _threads():
    return [thread for thread in threading.enumerate() if thread.name in ("trisplit-gpu", "trisplit-warmup")]


@pytest.fixture
def gpu(monkeypatch):
    """The processor stands in for a GPU."""
    torch = pytest.importorskip("torch", exc_type=ImportError)
    for module in ("search", "warmup"):
        monkeypatch.setattr(f"trisplit.qap.gpu.{module}.gpu", lambda device: torch.device("cpu"))
    monkeypatch.setattr("trisplit.qap.gpu.search._name", lambda device: "stand-in")
