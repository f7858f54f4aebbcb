"""Load the code that a search is going to call: what compiling takes is not the search's time.

Nor is the import of PyTorch, for a GPU: a search of ten seconds has them all, on the processor and on the GPU.
"""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from trisplit.kernels import noticed
from trisplit.qap import time_model
from trisplit.qap.bounds.enumeration import ROWS
from trisplit.qap.gpu.warmup import WarmUp
from trisplit.qap.instance import Instance
from trisplit.qap.local_search import LocalSearch, load_kernels
from trisplit.qap.swap_form import swap_form

LOADING = 2.0  # seconds: what takes longer was compiled, not loaded


class Loaded(NamedTuple):
    """What came of loading code: the seconds that do not count, and False where a GPU is to take part but is silent."""

    seconds: float
    answered: bool


def load_code(instance: Instance, end: float, *, polish: bool, faces: bool, device: str = "cpu") -> Loaded:
    """Load, or compile, what a search with a time limit calls.

    Parameters
    ----------
    instance : Instance
    end : float
        Of the search, by `time.perf_counter()`: nothing is loaded for parts that do not fit.
    polish, faces : bool
        As in `solve`.
    device : str
        As in `solve`.

    Examples
    --------
    >>> from trisplit import qap
    >>> nug12 = qap.load("nug12")
    >>> _ = load_code(nug12, perf_counter() + 10.0, polish=True, faces=True)
    >>> load_code(nug12, perf_counter() + 10.0, polish=True, faces=True)
    Loaded(seconds=0.0, answered=True)
    """
    begin = perf_counter()
    # Beside the rest; not where all permutations are looked at instead.
    gpu = WarmUp(instance, device, polish=polish) if device != "cpu" and instance.n > ROWS else None
    improves = polish and time_model.fits(
        time_model.FORM + time_model.FILL, instance.n, end
    )  # asked before time goes by
    from trisplit.kernels import simplex, swaps, tabu

    simplex.project_lines.load("f8")
    LocalSearch(Instance("small", np.eye(2), np.eye(2)))
    load_kernels(faces=faces and not polish)
    if improves:
        kind = swap_form(instance).kind
        swaps.engine(kind)
        tabu.engine(kind)
    if faces and polish and perf_counter() - begin > LOADING:
        load_kernels(faces=True)  # else they come later: loaded, they would keep a short search waiting
    now = perf_counter()
    seconds = now - begin if now - begin > LOADING else 0.0
    if gpu is None:
        return Loaded(seconds, True)
    with noticed("loading PyTorch, and compiling for the GPU what is not compiled yet"):
        answered = gpu.answered()
    return Loaded(seconds + perf_counter() - now, answered)
