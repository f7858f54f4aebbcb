"""Load the code that a search is going to call: what compiling takes is not the search's time.

Nor is the import of PyTorch, for a GPU: a search of ten seconds has them all, on the processor and on the GPU.
"""

from threading import Thread
from time import perf_counter

import numpy as np

from trisplit.kernels import noticed
from trisplit.qap import durations
from trisplit.qap.bounds.enumeration import ROWS
from trisplit.qap.episodes import Episodes, load_kernels
from trisplit.qap.exchange_form import exchange_form
from trisplit.qap.gpu.card import rehearse
from trisplit.qap.instance import Instance

LOADING = 2.0  # seconds: what takes longer was compiled, not loaded, or is PyTorch
PREPARING = 180.0  # seconds: the search begins without a GPU that takes longer


def load_code(instance: Instance, end: float, *, polish: bool, faces: bool, device: str = "cpu") -> float:
    """Load, or compile, what a search with a time limit calls; return the seconds that do not count.

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
    0.0
    """
    begin = perf_counter()
    # Beside the rest. Up to so many rows, all permutations are looked at instead.
    guest = Thread(target=rehearse, args=(instance, device), kwargs={"polish": polish}, name="trisplit-rehearsal")
    takes_part = device != "cpu" and instance.n > ROWS
    if takes_part:
        guest.start()
    improves = polish and durations.fits(durations.FORM + durations.FILL, instance.n, end)  # asked before time goes by
    from trisplit.kernels import exchanges, simplex, tabu  # noqa: F401  the import compiles what is in `simplex`

    Episodes(Instance("small", np.eye(2), np.eye(2)))
    load_kernels(faces=faces and not polish)
    if improves:
        kind = exchange_form(instance).kind
        exchanges.engine(kind)
        tabu.engine(kind)
    if faces and polish and perf_counter() - begin > LOADING:
        load_kernels(faces=True)  # else they come later: loaded, they would keep a short search waiting
    if takes_part:
        with noticed("loading PyTorch, and compiling for the GPU what is not compiled yet"):
            guest.join(PREPARING)
    seconds = perf_counter() - begin
    return seconds if seconds > LOADING else 0.0
