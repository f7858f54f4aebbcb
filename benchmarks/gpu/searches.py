"""Whole searches on the GPU, the CPU's side held to two threads.

`reach`: seconds until the best-known cost, on the GPU and on the CPU; `quality`: the gap of four large instances after
ten seconds; `paper`: how many of the 134 instances are at the best-known cost after five. A search ends early at the
best-known cost, where nothing more can be won. Time is that of the whole call. Before the first search on the GPU of a
size (in powers of two), of symmetric or other matrices, a short one compiles what is needed, which does not count.
"""

from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import trisplit as ts
from trisplit.paper.instances import paper_instances

from ..qap.gaps import warm_up
from .part import Bench, Part, forget

WORKERS = 2
# fmt: off
REACH_INSTANCES = (
    "bur26a", "chr25a", "esc64a", "kra30a", "lipa50a", "lipa80a", "nug30", "rou20", "sko42", "sko49",
    "sko56", "sko64", "ste36a", "tai25a", "tai30a", "tai40b", "tai60b", "tai80b", "tho40", "wil50",
)
# fmt: on
GOALS = {"sko100a": 0.10, "tai100a": 0.6, "tho150": 0.15, "tai256c": 0.25}  # percent
QUICK_INSTANCES = ("nug12", "esc16f")
SEEDS, QUICK_SEEDS = (0, 1, 2), (0,)
LIMITS = {"reach": (10.0, 0.2), "quality": (10.0, 0.2), "paper": (5.0, 0.1)}  # seconds, in full and quick
WARM_UP = 2.0  # seconds
ANOTHER_SEED = 10**6

warm: set[tuple[str, int, bool]] = set()


def search(bench: Bench, instance: ts.qap.Instance, limit: float, seed: int, device: str) -> dict[str, Any]:
    """Search once; `solve` turns Ctrl-C into a result, which is to end the benchmark here."""
    options: dict[str, Any] = {"workers": WORKERS, "device": device}
    symmetric = np.array_equal(instance.A, instance.A.T) and np.array_equal(instance.B, instance.B.T)
    key = device, (instance.n - 1).bit_length(), symmetric
    with threadpool_limits(limits=WORKERS), TorchThreads(WORKERS):
        if not warm and not bench.quick:
            warm_up()
            warm.add(("cpu", 0, True))
        if device != "cpu" and key not in warm:
            warm.add(key)
            ts.qap.solve(instance.A, instance.B, time_limit=WARM_UP, rng=ANOTHER_SEED, **options)
        begin = perf_counter()
        result = ts.qap.solve(instance, time_limit=limit, target=instance.best_known, rng=seed, **options)
        seconds = perf_counter() - begin
    if result.status is ts.qap.QAPStatus.INTERRUPTED:
        raise KeyboardInterrupt
    assert instance.cost(result.permutation) == result.cost
    return {"seconds": round(seconds, 4), "cost": result.cost, "gap": result.gap}


class TorchThreads:
    """Hold PyTorch to some threads for a while."""

    def __init__(self, number: int) -> None:
        import torch

        self.torch, self.number, self.before = torch, number, torch.get_num_threads()

    def __enter__(self) -> None:
        self.torch.set_num_threads(self.number)

    def __exit__(self, *_: object) -> None:
        self.torch.set_num_threads(self.before)


def reach(bench: Bench, case: str) -> dict[str, Any]:
    """Search on both devices until the best-known cost; one that does not arrive counts with the limit."""
    forget(bench)
    limit, found = LIMITS["reach"][bench.quick], {}
    for label, device in (("gpu", bench.device), ("cpu", "cpu")):
        one = search(bench, ts.qap.load(case), limit, 0, device)
        found[label] = one | {"reached": one["gap"] <= 0, "counted": min(one["seconds"], limit)}
        if one["gap"] > 0:
            found[label]["counted"] = limit
    return found


def quality(bench: Bench, case: str) -> dict[str, Any]:
    """Search once; the case is an instance and a seed."""
    forget(bench)
    name, seed = case.split()
    return search(bench, ts.qap.load(name), LIMITS["quality"][bench.quick], int(seed), bench.device)


def paper(bench: Bench, case: str) -> dict[str, Any]:
    """Search once on an instance of the paper."""
    return search(bench, ts.qap.load(case), LIMITS["paper"][bench.quick], 0, bench.device)


def settings(part: str, quick: bool) -> dict[str, Any]:
    call = f"solve(instance, device=device, time_limit=limit, target=best_known, workers={WORKERS}, rng=seed)"
    return {"limit": LIMITS[part][quick], "call": call}


def quality_cases(quick: bool) -> list[str]:
    names, seeds = (QUICK_INSTANCES, QUICK_SEEDS) if quick else (tuple(GOALS), SEEDS)
    return [f"{name} {seed}" for seed in seeds for name in names]


REACH = Part(
    cases=lambda quick: list(QUICK_INSTANCES if quick else REACH_INSTANCES),
    measure=reach,
    settings=lambda quick: settings("reach", quick),
    by_instance=True,
)
QUALITY = Part(quality_cases, quality, lambda quick: settings("quality", quick), by_instance=True)
PAPER = Part(
    cases=lambda quick: list(QUICK_INSTANCES if quick else paper_instances()),
    measure=paper,
    settings=lambda quick: settings("paper", quick),
    by_instance=True,
)
