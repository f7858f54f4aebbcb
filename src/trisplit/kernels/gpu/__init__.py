"""Kernels in Triton, and what surrounds them in torch: import the modules where they are used, both are optional."""

from importlib import import_module
from importlib.util import find_spec


def usable(device: object) -> bool:
    """Return whether Triton kernels run on tensors of this device: CUDA, or any if Triton is imported to interpret.

    Triton interprets if the environment variable TRITON_INTERPRET is 1 when it is first imported.

    Examples
    --------
    >>> usable("meta")
    False
    """
    where = str(getattr(device, "type", device)).split(":")[0]
    if where not in ("cpu", "cuda") or find_spec("torch") is None or find_spec("triton") is None:
        return False
    interpreted = type(import_module("triton.language").sum).__name__ == "InterpretedFunction"
    return interpreted or where == "cuda"
