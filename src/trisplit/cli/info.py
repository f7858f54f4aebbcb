"""trisplit info: versions, array libraries, devices."""

import os
import platform
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec

import trisplit

PACKAGES = ("numpy", "scipy", "numba", "lapx", "array-api-compat", "threadpoolctl", "typer", "rich")
ARRAY_LIBRARIES = ("numpy", "torch", "jax", "cupy")


def info() -> None:
    """Show versions, array libraries found, and devices."""
    from rich.console import Console
    from rich.table import Table
    from threadpoolctl import threadpool_info

    table = Table(show_header=False, box=None)
    table.add_row("trisplit", trisplit.__version__)
    table.add_row("Python", f"{platform.python_version()} on {platform.platform()}")
    for package in PACKAGES:
        table.add_row(package, _version(package))
    found = [name for name in ARRAY_LIBRARIES if find_spec(name) is not None]
    table.add_row("array libraries", ", ".join(f"{name} {_version(name)}" for name in found))
    table.add_row("triton", _version("triton"))
    for k, device in enumerate(devices()):
        table.add_row("" if k else "devices", device)
    for pool in threadpool_info():
        table.add_row("threads", f"{pool['internal_api']} {pool.get('version') or ''}: {pool['num_threads']}")
    Console(highlight=False, soft_wrap=True).print(table)


def devices() -> list[str]:
    """Return what there is to compute on: the processor, the GPUs of PyTorch, or why there is none, and those of JAX.

    Examples
    --------
    >>> devices()[0].startswith("cpu (")
    True
    """
    cpu = f"cpu ({os.cpu_count()} cores)"
    cards, reason = _asked("PyTorch", "torch", _torch_gpus)
    of_jax, _ = _asked("JAX", "jax", _jax_gpus)
    return [cpu if cards else f"{cpu}; no GPU: {reason}", *cards, *of_jax]


def _asked(name: str, module: str, gpus: Callable[[], list[str]]) -> tuple[list[str], str]:
    """Return the GPUs that a library finds, and what to say if it finds none; whatever happens, this is no failure."""
    if find_spec(module) is None:
        return [], f"{name} is not installed"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as those of a driver that is too old
            return gpus(), f"{name} finds none"
    except Exception as error:  # of a broken installation or driver
        return [], f"{name} cannot say, {type(error).__name__}: {' '.join(str(error).split())}"


def _torch_gpus() -> list[str]:
    if version("torch").endswith("+cpu"):  # which takes seconds to import
        return []
    import torch  # pyright: ignore[reportMissingImports]

    cards = [torch.cuda.get_device_properties(k) for k in range(torch.cuda.device_count())]
    return [f"cuda:{k} {card.name}, {card.total_memory / 2**30:.0f} GiB" for k, card in enumerate(cards)]


def _jax_gpus() -> list[str]:
    if not entry_points(group="jax_plugins"):  # JAX computes on nothing but the processor without
        return []
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # to look is no reason to take the memory
    import jax  # pyright: ignore[reportMissingImports]

    return [f"jax: {card.id} {card.device_kind}" for card in jax.devices() if card.platform != "cpu"]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
