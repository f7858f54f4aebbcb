"""The thin parameter of the backend suite: a library and a dtype.

A library that is not installed is skipped, unless the environment variable TRISPLIT_BACKENDS is set: then it is an
error.
"""

import os
from importlib.util import find_spec
from zlib import crc32

import pytest

from tests.kinds import kinds

LIBRARIES = ("torch", "jax", "array_api_strict", *(["cupy"] if find_spec("cupy") else []))

# Where no library is installed, thousands of facts would only be skipped.
WANTED = os.environ.get("TRISPLIT_BACKENDS") or any(map(find_spec, ("torch", "jax", "array_api_strict")))
collect_ignore = [] if WANTED else ["test_terms.py", "test_traced_terms.py"]


@pytest.fixture(scope="session", params=kinds(*LIBRARIES), ids=str)
def kind(request):
    request.param.xp  # noqa: B018  import it, or skip
    return request.param


def pytest_collection_modifyitems(config, items):
    """Leave out some facts of some terms, unless TRISPLIT_ALL_FACTS is set; NumPy is asked for all of them."""
    if os.environ.get("TRISPLIT_ALL_FACTS"):
        return
    many = ("test_terms.py", "test_batches.py", "test_losses.py")
    left = {item for item in items if any(file in item.nodeid for file in many) and not chosen(item)}
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=list(left))


def chosen(item):
    """Toss for each fact, term and library which of the two dtypes is asked, and with slow ones, whether one is.

    Operations of JAX and array-api-strict take ten to a hundred times as long as NumPy's. They are asked for the
    minimum of every term, and for a third of the other facts; PyTorch for half of these.
    """
    given = getattr(item, "callspec", None)
    if given is None or not {"kind", "name"} <= given.params.keys():
        return True
    kind, name = given.params["kind"], given.params["name"]
    toss = crc32(f"{kind.library} {name} {item.originalname}".encode())
    asked = "minimiser" in item.originalname or toss // 2 % (2 if kind.library == "torch" else 3) == 0
    return asked and (kind.precision == "float64") == bool(toss % 2)
