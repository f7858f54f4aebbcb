"""Kernels are compiled late, once, and whatever state the folder for compiled files is in."""

import errno
import subprocess
import sys
from io import StringIO
from types import FunctionType

import numba
import pytest
from numba.core.caching import IndexDataCacheFile
from numba.core.errors import NumbaError

from trisplit import kernels


def twice(x):
    return x + x


def nonsense(x):
    return x.no_such_thing


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def compile_twice():
    function = kernels.compiled("f8(f8)")(twice)
    assert function(2.0) == 4.0
    return function.stats


def full(*args):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_what_was_compiled_is_kept(folder):
    assert not compile_twice().cache_hits
    assert compile_twice().cache_hits


def calling(source, **names):
    """Compile a function of this file that calls another one, which `source` defines."""
    names = {"__name__": __name__, **names}
    exec(source, names)
    return kernels.compiled("f8(f8)")(FunctionType(call.__code__, names, "call"))(1.0)


def call(x):
    return callee(x)  # noqa: F821


def test_what_was_kept_is_not_used_once_a_callee_is_another_one(folder):
    assert calling("def callee(x): return x + 1.0") == 2.0
    assert calling("def callee(x): return x + 2.0") == 3.0
    assert calling("def callee(x): return x + STEP", STEP=3.0) == 4.0
    assert calling("def callee(x): return x + STEP", STEP=4.0) == 5.0


@kernels.compiled()
def cancelled(x):
    return (x + 1.0) - x


@kernels.compiled(fast=True)
def fast_caller(x):
    return cancelled(x)


def test_a_fast_caller_does_not_make_its_callees_fast():
    """In floating point (2^60 + 1) - 2^60 is 0; sums taken in any order may give 1."""
    assert fast_caller(2.0**60) == cancelled(2.0**60) == 0.0


def test_no_folder_can_be_written(folder, monkeypatch):
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    assert compile_twice().cache_path is None


def test_the_disk_is_full(folder, monkeypatch):
    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    assert compile_twice().cache_path is None


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_kept_file_is_damaged(folder, suffix):
    compile_twice()
    for path in folder.rglob(f"*.{suffix}"):
        path.write_bytes(path.read_bytes()[:20])
    compile_twice()


def test_an_error_in_the_function_is_not_hidden(folder):
    with pytest.raises(NumbaError, match="no_such_thing"):
        kernels.compiled("f8(f8)")(nonsense)


@pytest.mark.parametrize("stream", [Terminal, StringIO])
def test_a_terminal_is_told_why_it_takes_long(folder, monkeypatch, stream):
    monkeypatch.setattr(kernels, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", stream())
    compile_twice()
    expected = "trisplit: compiling `twice` ...\n" if stream is Terminal else ""
    assert sys.stderr.getvalue() == expected


def test_without_standard_error(folder, monkeypatch):
    monkeypatch.setattr(kernels, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", None)
    compile_twice()


def run(code):
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=300)


LATE = """
import sys, numpy as np
from trisplit.terms import TotalVariation
term = TotalVariation(0.5)
term.value(np.ones(3)), term.lipschitz((3,))
assert "numba" not in sys.modules
term.prox(np.ones(3), 1.0)
assert "numba" in sys.modules
"""

READ_ONLY = """
import errno, tempfile
def refuse(*args, **options):
    raise OSError(errno.EROFS, "Read-only file system")
tempfile.TemporaryFile = refuse
import numpy as np
from trisplit.kernels.total_variation import prox_lines
from trisplit.terms import TotalVariation
assert prox_lines.load("f8").stats.cache_path is None
assert np.array_equal(TotalVariation().prox(np.array([0.0, 4.0]), 1.0), [1.0, 3.0])
"""

THREADS = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from trisplit.terms import TotalVariation
x = np.random.default_rng(0).standard_normal((8, 100, 100))
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(lambda image: TotalVariation(0.5, 0).prox(image, 1.0), x))
assert all(np.array_equal(p, TotalVariation(0.5, 0).prox(image, 1.0)) for p, image in zip(found, x))
"""


@pytest.mark.parametrize("code", [LATE, READ_ONLY, THREADS], ids=["late", "read-only", "threads"])
def test_in_a_new_process(code):
    """The first proximal map compiles, a read-only installation does without files, and threads may start together."""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")
