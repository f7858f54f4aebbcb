"""What the parts of the benchmark share: the device, a part with its cases, and batches on an instance."""

import os
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

import trisplit as ts
from trisplit.errors import InputError
from trisplit.qap.concavity import Concavity

PACKAGES = {"torch": "torch", "triton": "triton", "jax": "jax", "cupy-cuda13x": "cupy", "cupy-cuda12x": "cupy"}
ENTRIES = 2**26  # of the matrices whose costs are evaluated at once


class Bench(NamedTuple):
    """Where the parts run, and whether only to show that they work."""

    device: str
    quick: bool


class Part(NamedTuple):
    """A part: the names of its cases, what one of them measures, and what was settled beforehand.

    `by_instance` says that the cases begin with names of instances.
    """

    cases: Callable[[bool], list[str]]
    measure: Callable[[Bench, str], dict[str, Any]]
    settings: Callable[[bool], dict[str, Any]]
    by_instance: bool = False


def find_device(quick: bool) -> str:
    """Return "cuda", or "cpu" for a quick run without a GPU."""
    try:
        import torch
    except ModuleNotFoundError:
        raise InputError("the benchmark of GPUs needs PyTorch; pip install 'trisplit[torch]'") from None
    if torch.cuda.is_available():
        return "cuda"
    if not quick:
        raise InputError("PyTorch sees no GPU here; `--quick` shows on the CPU that everything works")
    return "cpu"


def describe(device: str) -> dict[str, Any]:
    """Return the device and the versions of what computes on it."""
    import torch

    versions = {name: found for package, name in PACKAGES.items() if (found := installed(package))}
    if device == "cpu":
        return {"name": "no GPU", "memory_gib": None, **versions}
    card = torch.cuda.get_device_properties(0)
    return {
        "name": card.name,
        "memory_gib": round(card.total_memory / 2**30, 1),
        "cuda": torch.version.cuda,
        **versions,
    }


def installed(package: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cores(quick: bool) -> int:
    """Return how many processes FAQ gets: one for each core, up to 16."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 2 if quick else 16)


def synchronize(bench: Bench) -> None:
    """Wait for what the device was told to do."""
    if bench.device != "cpu":
        import torch

        torch.cuda.synchronize()


def forget(bench: Bench) -> None:
    """Hand the device's memory back, for other processes and larger batches."""
    if bench.device != "cpu":
        import gc

        import torch

        gc.collect()
        torch.cuda.empty_cache()


def batch_of(form: Any, starts: int, bench: Bench, precision: str = "tf32", concavity: Concavity | None = None) -> Any:
    """Return our batch of starts on a tangent form."""
    from trisplit.qap.gpu.batch import Batch

    return Batch(form, starts, device=bench.device, precision=precision, concavity=concavity)


def tangent(instance: ts.qap.Instance) -> ts.qap.Tangent:
    """Return the form on which starts iterate."""
    return ts.qap.Objective(instance.A.astype(np.float64), instance.B.astype(np.float64)).tangent()


def growing(form: ts.qap.Tangent, iterations: int) -> Concavity:
    """Return the concavity that makes f concave at the end, so that most starts end at a permutation."""
    return Concavity(form.curvature()[1], iterations)


def costs(instance: ts.qap.Instance, permutations: Any) -> Any:
    """Return the costs of permutations on their device, in float64; integer costs are exact below 2^53."""
    import torch

    ordered = torch.sort(permutations, dim=1).values
    if not bool((ordered == torch.arange(instance.n, device=permutations.device)).all()):
        raise AssertionError(f"not all starts on {instance.name} gave a permutation")
    A, B = (torch.as_tensor(M.astype(np.float64), device=permutations.device) for M in (instance.A, instance.B))
    some = max(ENTRIES // instance.n**2, 1)
    return torch.cat([(A * B[p[:, :, None], p[:, None, :]]).sum(dim=(1, 2)) for p in torch.split(permutations, some)])
