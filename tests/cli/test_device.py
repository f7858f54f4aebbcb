"""`trisplit solve --device` and the devices of `trisplit info`, with a GPU and without: both are played here."""

import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cli.printed import printed
from trisplit import qap
from trisplit.cli import run
from trisplit.qap.gpu import search
from trisplit.qap.gpu.device import NoGPU, gpu
from trisplit.qap.gpu.starts import Rounded, Starts

info = import_module("trisplit.cli.info")  # in `trisplit.cli` the name is that of the command
ROOT = Path(__file__).resolve().parents[2]
SOLVE = ["solve", "nug12", "--starts", "1", "--no-polish"]


MISSING = "PyTorch is not installed; try `pip install 'trisplit[torch]'`"


def no_gpu(device):
    raise NoGPU(MISSING)


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.setattr(search, "gpu", no_gpu)


@pytest.fixture
def a_gpu(monkeypatch):
    """A GPU that knows the best permutation of nug12 after 5,000 starts."""

    class Known(Starts):
        def __init__(self, instance, device):
            self.instance = instance

        def run(self, starts, iterations, **options):
            p = qap.load("nug12").solution
            return Rounded(p[None], np.full((12, 12), 1 / 12), iterations, starts or 5_000)

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(OutOfMemoryError=MemoryError, Tensor=type("T", (), {})))
    monkeypatch.setattr("trisplit.qap.gpu.starts.Starts", Known)
    monkeypatch.setattr(search, "gpu", lambda device: SimpleNamespace(type="cpu"))
    monkeypatch.setattr(search, "_name", lambda device: "A Large GPU")


# solve


def test_without_torch_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr("trisplit.qap.gpu.device.find_spec", lambda name: None)
    with pytest.raises(NoGPU, match="^" + re.escape(MISSING) + "$"):
        gpu("cuda")


def test_the_processor_is_the_default_and_says_nothing(no_torch, capsys):
    outputs = []
    for options in ([], ["--device", "cpu"]):
        assert run([*SOLVE, *options]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert "device" not in out
        outputs.append(printed(out)["permutation"])
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "auto"])
@pytest.mark.parametrize("action", ["error", "ignore", "default"])
def test_without_a_gpu_the_processor_solves_and_one_line_says_so(device, action, no_torch, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter(action)  # as python -W does
        assert run([*SOLVE, "--device", device]) == 0
    out, err = capsys.readouterr()
    assert len(printed(out)["permutation"]) == 12
    assert err.startswith("trisplit: no GPU")
    assert "pip install 'trisplit[torch]'" in err
    assert err.count("\n") == 1
    assert "device" not in out


@pytest.mark.parametrize("polish", ["--polish", "--no-polish"])
def test_a_short_search_says_it_too(polish, no_torch, capsys):
    assert run(["solve", "tai20a", "--time-limit", "0.2", "--device", "cuda", polish]) == 0
    err = capsys.readouterr().err
    assert err.startswith("trisplit: no GPU")
    assert err.count("\n") == 1


def test_a_gpu_that_is_never_ready_is_told_of(monkeypatch, capsys):
    class Late(search.GpuSearch):
        def run(self, starts=None):
            yield from ()

    monkeypatch.setattr("trisplit.qap.solver.GpuSearch", Late)
    assert run([*SOLVE, "--device", "cuda"]) == 0
    assert capsys.readouterr().err == "trisplit: no GPU took part: the search was over before one was ready\n"


def test_a_line_on_a_terminal_does_not_break_the_progress(no_torch, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # makes rich believe in a terminal
    assert run([*SOLVE, "--device", "cuda"]) == 0
    out, err = capsys.readouterr()
    assert "no GPU" in out + err  # rich prints what others print above its line
    assert ".py:" not in out + err


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda0", "CUDA", "", "mps"])
def test_an_unknown_device_is_bad_input(device, capsys):
    assert run([*SOLVE, "--device", device]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"trisplit: `device` is unknown, got {device!r}")
    assert err.count("\n") == 1


def test_a_gpu_that_took_part_is_named(a_gpu, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(["solve", "nug12", "--starts", "5000", "--no-polish", "--device", "cuda", "--report", str(page)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "A Large GPU" in out
    assert "5,000 starts" in printed(out)["time"]
    assert printed(out)["cost"] == "578"
    text = page.read_text(encoding="utf-8")
    assert "A Large GPU" in text
    assert "gpu starts" in text


def test_a_gpu_that_fails_is_one_line(a_gpu, monkeypatch, capsys):
    def lost(device):
        raise RuntimeError("CUDA error: unspecified launch failure\nCompile with TORCH_USE_CUDA_DSA")

    monkeypatch.setattr(search, "gpu", lost)
    assert run([*SOLVE, "--device", "cuda:1"]) == 0
    err = capsys.readouterr().err
    assert "unspecified launch failure" in err
    assert err.count("\n") == 1


def test_progress_ends_with_the_starts_of_the_processor():
    """The GPU does thousands in one turn; the processor 10, and as many rounds."""
    solve = import_module("trisplit.cli.solve")
    display = solve.Display(qap.load("nug12"), 5_000, None, polish=False, device="cuda")
    for number, member in enumerate([search.STARTS, *["start"] * 10, search.TABU], start=1):
        display.update(qap.QAPTraceRow(number, member, 0.0, 600, 600, None))
    assert display.bar.tasks[0].completed == 1.0


@pytest.mark.parametrize(("seconds", "share"), [(1.0, 0.1), (500.0, 0.6)], ids=["code was loaded", "resumed"])
def test_progress_is_that_of_the_time_limit(seconds, share, monkeypatch):
    """Of ten seconds, after six of which the first row comes: they count only if the search began before."""
    solve, now = import_module("trisplit.cli.solve"), [0.0]
    monkeypatch.setattr(solve, "perf_counter", lambda: now[0])
    display = solve.Display(qap.load("nug12"), None, 10.0, polish=True, device="cuda")
    now[0] = 6.0
    display.update(qap.QAPTraceRow(1, "start", seconds, 600, 600, None))
    assert display.bar.tasks[0].completed == pytest.approx(share)
    now[0] = 8.0
    display.update(qap.QAPTraceRow(2, "start", seconds + 2.0, 600, 600, None))
    assert display.bar.tasks[0].completed == pytest.approx(share + 0.2)


# info


def shown(capsys):
    assert run(["info"]) == 0
    return capsys.readouterr().out


def test_info_without_torch(monkeypatch, capsys):
    monkeypatch.setattr(info, "find_spec", lambda name: None)
    assert "cores); no GPU: PyTorch is not installed" in shown(capsys)


def test_info_names_the_gpus_of_torch(monkeypatch, capsys):
    cards = [SimpleNamespace(name="NVIDIA H200", total_memory=139 * 2**30), SimpleNamespace(name="B", total_memory=0)]
    monkeypatch.setattr(info, "_version", lambda package: "3.6.0" if package == "triton" else "1.0")
    monkeypatch.setattr(info, "find_spec", lambda name: object() if name in ("numpy", "torch") else None)
    monkeypatch.setattr(info, "version", lambda package: "2.11.0")
    cuda = SimpleNamespace(device_count=lambda: 2, get_device_properties=cards.__getitem__)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    lines = [" ".join(line.split()) for line in shown(capsys).splitlines()]
    assert "triton 3.6.0" in lines
    place = next(k for k, line in enumerate(lines) if line.startswith("devices cpu ("))
    assert lines[place].endswith("cores)")
    assert lines[place + 1 : place + 3] == ["cuda:0 NVIDIA H200, 139 GiB", "cuda:1 B, 0 GiB"]
    cuda.device_count = lambda: 0
    assert "no GPU: PyTorch finds none" in shown(capsys)


def test_info_names_the_gpus_of_jax(monkeypatch):
    cards = [SimpleNamespace(platform=kind, id=0, device_kind="NVIDIA H200") for kind in ("gpu", "cpu")]
    monkeypatch.setattr(info, "find_spec", lambda name: object() if name == "jax" else None)
    monkeypatch.setattr(info, "entry_points", lambda group: ["cuda13"])
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(devices=lambda: cards))
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    assert info.devices()[1:] == ["jax: 0 NVIDIA H200"]


@pytest.mark.parametrize("error", [ImportError, OSError, RuntimeError, NoGPU])
def test_info_survives_a_broken_installation(error, monkeypatch, capsys):
    def broken():
        warnings.warn("the driver is too old", stacklevel=1)
        raise error("libcudart.so.13:\ncannot open")

    monkeypatch.setattr(info, "find_spec", lambda name: object())
    monkeypatch.setattr(info, "_torch_gpus", broken)
    monkeypatch.setattr(info, "_jax_gpus", broken)
    assert "libcudart.so.13: cannot open" in shown(capsys)


def test_no_python_warning_is_shown_by_the_program():
    lines = ["import sys", "from tests.cli.test_device import search, no_gpu", "from trisplit.cli import main"]
    code = "; ".join([*lines, "search.gpu = no_gpu", "main(sys.argv[1:])"])
    command = [sys.executable, "-W", "error", "-c", code, *SOLVE, "--device", "cuda"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    assert done.stderr.startswith("trisplit: no GPU")
    assert done.stderr.count("\n") == 1
