"""Load the compiled code that a search is going to call at once: what compiling takes is not the search's time."""

from time import perf_counter

import numpy as np

from trisplit.qap import durations
from trisplit.qap.episodes import Episodes, load_kernels
from trisplit.qap.exchange_form import exchange_form
from trisplit.qap.instance import Instance

LOADING = 2.0  # seconds: what takes longer was compiled, not loaded


def load_code(instance: Instance, end: float, *, polish: bool, faces: bool) -> float:
    """Load, or compile, what a search with a time limit calls; return the seconds that compiling took.

    Parameters
    ----------
    instance : Instance
    end : float
        Of the search, by `time.perf_counter()`: nothing is loaded for parts that do not fit.
    polish, faces : bool
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
    improves = polish and durations.fits(durations.FORM + durations.FILL, instance.n, end)  # asked before time goes by
    from trisplit.kernels import exchanges, simplex, tabu  # noqa: F401  the import compiles what is in `simplex`

    Episodes(Instance("small", np.eye(2), np.eye(2)))
    load_kernels(faces=faces and not polish)  # with polish, they come later and beside the rest
    if improves:
        kind = exchange_form(instance).kind
        exchanges.engine(kind)
        tabu.engine(kind)
    seconds = perf_counter() - begin
    return seconds if seconds > LOADING else 0.0
