"""Kernels for GPUs, in Triton, which is optional: import their modules where they are called."""

import os
from importlib.util import find_spec
from typing import Any


def usable(device: Any) -> bool:
    """Say whether kernels in Triton run on a device of torch: on a GPU, or anywhere in Triton's interpreter.

    Examples
    --------
    >>> import os
    >>> usable("cpu") == bool(find_spec("triton") and os.environ.get("TRITON_INTERPRET") == "1")
    True
    """
    on_gpu = str(device).startswith("cuda")
    return find_spec("triton") is not None and (on_gpu or os.environ.get("TRITON_INTERPRET") == "1")
