"""trisplit info: versions, array libraries, devices."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
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
    table.add_row("devices", f"cpu ({os.cpu_count()} cores)")
    for pool in threadpool_info():
        table.add_row("threads", f"{pool['internal_api']} {pool.get('version') or ''}: {pool['num_threads']}")
    Console(highlight=False, soft_wrap=True).print(table)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
