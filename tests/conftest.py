"""Which of the facts about terms and losses are asked of which array library and dtype."""

import os
from zlib import crc32

MANY = ("test_terms.py", "test_batches.py", "test_losses.py")
SHARES = {"numpy": 2, "torch": 12, "jax": 24, "array_api_strict": 24, "cupy": 24}  # one of so many


def pytest_collection_modifyitems(config, items):
    """Leave out some facts of some terms, unless TRISPLIT_ALL_FACTS is set."""
    if os.environ.get("TRISPLIT_ALL_FACTS"):
        return
    left = {item for item in items if any(file in item.nodeid for file in MANY) and not chosen(item)}
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=list(left))


def chosen(item):
    """Toss for each fact, term and library whether it is asked, and in which of the two dtypes.

    Operations of JAX and array-api-strict take ten to a hundred times as long as NumPy's. NumPy and PyTorch are asked
    for the minimum of every term, NumPy in double precision, the others for that of every third.
    """
    given = getattr(item, "callspec", None)
    if given is None or not {"kind", "name"} <= given.params.keys():
        return True
    kind, name = given.params["kind"], given.params["name"]
    toss, minimum = crc32(f"{kind.library} {name} {item.originalname}".encode()), "minimiser" in item.originalname
    if minimum and kind.library == "numpy":
        return kind.precision == "float64"
    often = {"torch": 1}.get(kind.library, 3) if minimum else SHARES[kind.library]
    asked = toss // 2 % often == 0
    return asked and (kind.precision == "float64") == bool(toss % 2)
