"""Measuring time: contestants take turns, so that a change in the machine's load meets all of them."""

import gc
from collections.abc import Callable
from math import inf
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

# Told what is being done, and which part of the whole benchmark is done, from 0 to 1.
Report = Callable[[str, float], None]


def settled() -> threadpool_limits:
    """Limit the linear algebra library to one thread, as small products are not steady with more, and settle memory.

    Once a large array was freed, glibc's allocator keeps freed memory for the next arrays instead of handing it back
    to the system; whether that happens otherwise depends on who ran before.
    """
    import scipy.linalg.cython_blas  # noqa: F401  compiled products use its library: loaded later, it had all threads

    np.ones(4_000_000)
    return threadpool_limits(limits=1)


def seconds(run: Callable[[], object]) -> float:
    """Return the seconds that one call takes, without pauses of the garbage collector."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        begin = perf_counter()
        run()
        return perf_counter() - begin
    finally:
        if enabled:
            gc.enable()


def take_turns(
    runs: dict[str, Callable[[], object]], repeats: int, *, warm_up: bool = True, budget: float = inf
) -> dict[str, list[float]]:
    """Return the seconds of `repeats` calls of every run, one round after the other; a first round may warm up.

    A run that has taken more than `budget` seconds, and was measured at least twice, leaves the later rounds out.
    """
    if warm_up:
        for run in runs.values():
            run()
    gc.collect()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for k in range(repeats):
        for name, run in runs.items():
            if k < 2 or sum(times[name]) <= budget:
                times[name].append(seconds(run))
    return times
