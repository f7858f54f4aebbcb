"""A GPU's part in a search, once and briefly before it: PyTorch is imported, and kernels are compiled or loaded."""

from functools import partial
from threading import Thread
from time import perf_counter
from typing import TYPE_CHECKING

from trisplit.qap.gpu.device import current, gpu
from trisplit.qap.gpu.search import LARGEST, tabu_pays
from trisplit.qap.instance import Instance
from trisplit.qap.matrices import is_sparse, is_symmetric
from trisplit.qap.swap_form import swap_form

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]

PATIENCE = 180.0  # seconds: a GPU that takes longer does not answer
NAP = 0.1  # seconds: how long Ctrl-C may have to wait, on Windows
_warmed_up: set[tuple] = set()  # kinds of problems
_stuck: list[Thread] = []


class WarmUp:
    """`warm_up` in a thread of its own, which begins at once, unless an earlier one still waits for the GPU."""

    def __init__(self, instance: Instance, device: str, *, polish: bool) -> None:
        do = partial(warm_up, instance, device, polish=polish)
        self.thread = Thread(target=do, name="trisplit-warmup", daemon=True)  # no process waits for it to end
        if not _waiting():
            self.thread.start()

    def answered(self) -> bool:
        """Wait for the end, and say whether it came."""
        end = perf_counter() + PATIENCE
        if self.thread.ident is None:
            return False
        while self.thread.is_alive():
            if perf_counter() >= end:
                _stuck.append(self.thread)
                return False
            self.thread.join(NAP)
        return True


def _waiting() -> bool:
    """Say whether an earlier warm-up still waits for the GPU."""
    return any(thread.is_alive() for thread in _stuck)


def warm_up(instance: Instance, device: str, *, polish: bool) -> None:
    """Call the kernels that a GPU calls in a search, once for each kind of problem in a process.

    What fails here is not told: the search meets it once more, tells of it, or does with less memory.
    """
    try:
        where, kind = gpu(device), _kind(instance, device, polish=polish)
    except Exception:
        return
    if kind in _warmed_up:
        return
    _warmed_up.add(kind)
    try:
        with current(where):
            _warm_up(instance, where, polish=polish)
    except Exception:
        return


def _kind(instance: Instance, device: str, *, polish: bool) -> tuple:
    """Return what decides which kernels are compiled."""
    if instance.n > LARGEST:
        return (device,)
    form, matrices = swap_form(instance), (instance.A, instance.B)
    kinds = tuple((is_sparse(M), is_symmetric(M)) for M in matrices)
    return device, polish, instance.n, kinds, instance.C is None, form.kind, len(form.L)


def _warm_up(instance: Instance, device: "torch.device", *, polish: bool) -> None:
    import torch  # pyright: ignore[reportMissingImports]

    from trisplit.qap.gpu.starts import Starts
    from trisplit.qap.gpu.tabu_population import TabuPopulation

    torch.zeros(1, device=device)
    if instance.n > LARGEST:  # the rest would take as long as the search itself does for it
        return
    try:
        Starts(instance, device).warm_up()
        if polish and tabu_pays(instance, device):
            population = TabuPopulation(instance, device, seed=0)
            population.settle([])
            population.round(1)
            population.elites(1)
            del population
    finally:
        if device.type == "cuda":
            torch.cuda.empty_cache()  # how many starts are done at once goes by what is free
