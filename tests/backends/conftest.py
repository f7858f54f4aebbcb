"""The thin parameter of the backend suite: a library and a dtype.

A library that is not installed is skipped, unless the environment variable TRISPLIT_BACKENDS is set: then it is an
error.
"""

import os
from importlib.util import find_spec

import pytest

from tests.kinds import kinds

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
