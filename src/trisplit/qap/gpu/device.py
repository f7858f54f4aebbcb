"""Which GPU there is, what it is called, and waiting for it."""

from contextlib import AbstractContextManager, nullcontext
from ctypes import CDLL
from importlib.util import find_spec
from math import inf
from os.path import exists
from time import sleep
from typing import TYPE_CHECKING

from trisplit.errors import InputError

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]

NAP = 0.0005  # seconds


class NoGPU(Exception):  # noqa: N818
    """There is no GPU that torch can use; the message says why, and what to do."""


def check_device(device: object) -> None:
    """Raise an `InputError` unless `device` is "cpu", "auto", "cuda" or "cuda:K".

    Examples
    --------
    >>> check_device("cuda:0")
    >>> check_device("gpu")
    Traceback (most recent call last):
    trisplit.errors.InputError: `device` is unknown, got 'gpu'; choose 'cpu', 'cuda', 'cuda:1' and so on, or 'auto'
    """
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if device not in ("cpu", "auto", "cuda") and not (kind == "cuda" and number.isdecimal()):
        choices = "choose 'cpu', 'cuda', 'cuda:1' and so on, or 'auto'"
        raise InputError(f"`device` is unknown, got {device!r}; {choices}")


def gpu(device: str) -> "torch.device":
    """Return a torch device for "cuda", "cuda:K" or "auto", or raise `NoGPU`."""
    if find_spec("torch") is None:
        raise NoGPU("PyTorch is not installed; try `pip install 'trisplit[torch]'`")
    if not has_driver():  # PyTorch would take seconds to say so
        raise NoGPU("this machine has no driver for one; check with `nvidia-smi`")
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except (ImportError, OSError) as error:
        raise NoGPU(f"PyTorch cannot be loaded ({error}); install it anew") from None
    if not torch.cuda.is_available():
        raise NoGPU("PyTorch finds no CUDA device; check the driver with `nvidia-smi`, and `torch.version.cuda`")
    found = torch.device("cuda" if device == "auto" else device)
    if found.index is not None and found.index >= torch.cuda.device_count():
        raise NoGPU(f"there are {torch.cuda.device_count()} CUDA devices, counted from 0; choose one of them")
    return found


def as_device(device: "torch.device | str") -> "torch.device":
    """Return a device of torch that is there, or raise an `InputError`.

    Examples
    --------
    >>> as_device("cpu")
    device(type='cpu')
    """
    import torch  # pyright: ignore[reportMissingImports]

    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise InputError(f"`device` is unknown to PyTorch, got {device!r}; choose 'cuda' or 'cpu'") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"PyTorch finds no GPU, got device {str(found)!r}; choose 'cpu'")
    return found


def has_driver() -> bool:
    """Say whether this machine has a driver that PyTorch may use: NVIDIA's, or AMD's."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            CDLL(name)
        except OSError:
            continue
        return True
    return exists("/dev/kfd")


def device_of(*arrays: object) -> str | None:
    """Return the CUDA device of the first array that is on one, as "cuda:K", or None.

    Examples
    --------
    >>> import numpy as np
    >>> device_of(np.zeros(3)) is None
    True
    """
    for x in arrays:
        where = getattr(x, "device", None)  # of PyTorch: type and index; of JAX: platform and id; of CuPy: id
        kind = getattr(where, "type", getattr(where, "platform", "cuda" if hasattr(where, "id") else None))
        if kind in ("cuda", "gpu"):
            return f"cuda:{getattr(where, 'index', getattr(where, 'id', None)) or 0}"
    return None


def on_chip(device: "torch.device") -> float:
    """Return how many bytes of memory on the chip one program may have."""
    import torch  # pyright: ignore[reportMissingImports]

    if device.type != "cuda":
        return inf
    return getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", inf)


def current(device: "torch.device") -> AbstractContextManager:
    """Return a context in which a device is the current one, on which kernels are launched; a thread has its own."""
    import torch  # pyright: ignore[reportMissingImports]

    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def short_of_memory(error: Exception) -> bool:
    """Say whether an error of PyTorch means that memory of a GPU has run out: its libraries say so in words of theirs.

    Examples
    --------
    >>> short_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    True
    >>> short_of_memory(RuntimeError("CUDA error: device lost"))
    False
    """
    return any(words in str(error) for words in ("out of memory", "ALLOC_FAILED"))


def wait(device: "torch.device") -> None:
    """Wait until a device has done what it was given, without keeping a core busy as its own waiting does."""
    import torch  # pyright: ignore[reportMissingImports]

    if device.type != "cuda":
        return
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    while not event.query():
        sleep(NAP)
