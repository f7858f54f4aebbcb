"""Where and with what a benchmark ran: machine, versions, peers. No names of hosts or folders."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from threadpoolctl import threadpool_info

import trisplit

PACKAGES = ("numpy", "scipy", "numba", "threadpoolctl")
PEERS = ("copt", "pyproximal", "pyunlocbox", "odl")
REMEDY = "pip install 'trisplit[peers]'"


def describe() -> dict[str, Any]:
    """Return the machine, the versions and the date, as JSON takes them."""
    return {
        "version": trisplit.__version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": {
            "cpu": cpu_model(),
            "cores": os.cpu_count(),
            "memory_gib": memory_gib(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {
            "python": platform.python_version(),
            **{name: installed(name) for name in (*PACKAGES, *PEERS)},
            "blas": ", ".join(
                sorted({f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if is_blas(pool)})
            ),
        },
        "missing": missing(),
    }


def missing() -> list[str]:
    """Return the peers that are not installed."""
    return [name for name in PEERS if find_spec(name) is None]


def installed(package: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def is_blas(pool: dict[str, Any]) -> bool:
    return pool["user_api"] == "blas"


def cpu_model() -> str:
    """Return the name of the processor, where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return " ".join(line.partition(":")[2].split())
    except OSError:
        pass
    return platform.processor() or platform.machine()


def memory_gib() -> float | None:
    """Return the memory of the machine, where the system tells it."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None
