"""Where and with what a benchmark ran: machine, versions, peers. No names of hosts or folders."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from threadpoolctl import threadpool_info

import trisplit
from trisplit.machine import cpu_model, memory_gib

PACKAGES = ("numpy", "scipy", "numba", "threadpoolctl")
# By the name with which they are imported
PEERS = {
    "copt": "copt",
    "pyproximal": "pyproximal",
    "pyunlocbox": "pyunlocbox",
    "odl": "odl",
    "proxop": "proxop",
    "skglm": "skglm",
    "sklearn": "scikit-learn",
    "jax": "jax",
    "jaxopt": "jaxopt",
    "optax": "optax",
    "diffcp": "diffcp",
}
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
            **{name: installed(name) for name in (*PACKAGES, *PEERS.values())},
            "blas": ", ".join(
                sorted({f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if is_blas(pool)})
            ),
        },
        "missing": missing(),
    }


def missing() -> list[str]:
    """Return the peers that are not installed."""
    return [distribution for module, distribution in PEERS.items() if find_spec(module) is None]


def installed(package: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def is_blas(pool: dict[str, Any]) -> bool:
    return pool["user_api"] == "blas"
