"""Loops that no array library has, compiled by numba when their module is imported: import it where it is called."""

import sys
from collections.abc import Callable
from threading import Timer
from typing import Any

PATIENCE = 0.5  # seconds of compiling after which somebody at a terminal is told why nothing happens


def compiled(*signatures: str) -> Callable[[Callable], Callable]:
    """Return a decorator: compile for these signatures at once, or without any, when a compiled caller needs it.

    What was compiled is kept in the folder that numba finds for it. Where none can be written, where the disk is full
    or a kept file is damaged, the function is compiled for this process alone.

    Examples
    --------
    >>> @compiled("f8(f8[::1])")
    ... def first(x):
    ...     return x[0]
    >>> import numpy as np
    >>> first(np.array([3.0, 4.0]))
    3.0
    """

    def decorate(function: Callable) -> Callable:
        from numba import njit

        # Other threads go on meanwhile, and a division by zero gives infinity, as in NumPy.
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        if not signatures:
            return njit(**options)(function)
        notice = Timer(PATIENCE, _tell, [f"trisplit: compiling `{function.__name__}` ..."])
        notice.daemon = True
        notice.start()
        try:
            return njit(list(signatures), cache=True, **options)(function)
        except Exception:  # if the cause is the function and not the folder, this raises once more
            return njit(list(signatures), **options)(function)
        finally:
            notice.cancel()

    return decorate


def _tell(message: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(message, file=sys.stderr, flush=True)
