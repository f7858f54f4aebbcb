"""Compiled code that the first members of a search call: whether it is there, and loading it at once."""

from pathlib import Path
from time import perf_counter

import numpy as np

from trisplit.qap.episodes import Episodes
from trisplit.qap.exchange_form import exchange_form
from trisplit.qap.instance import Instance

LOADING = 2.0  # seconds: what takes longer was compiled


def is_compiled() -> bool:
    """Say whether code for the processor was compiled before, in this process or as far as numba's files tell."""
    from numba import config

    from trisplit.kernels import birkhoff

    folder = Path(config.CACHE_DIR or Path(birkhoff.__file__).parent / "__pycache__")  # pyright: ignore
    return birkhoff.engine.cache_info().currsize > 0 or any(folder.rglob("birkhoff.run_iterations*.nbi"))


def load_code(instance: Instance) -> float:
    """Load, or compile, what the members on the processor call first; return the seconds that compiling took.

    Examples
    --------
    >>> from trisplit import qap
    >>> _ = load_code(qap.load("nug12"))
    >>> load_code(qap.load("nug12"))
    0.0
    """
    begin = perf_counter()
    from trisplit.kernels import exchanges, simplex, tabu  # noqa: F401  the second is compiled by this

    Episodes(Instance("small", np.eye(2), np.eye(2)))
    kind = exchange_form(instance).kind
    exchanges.engine(kind)
    tabu.engine(kind)
    seconds = perf_counter() - begin
    return seconds if seconds > LOADING else 0.0
