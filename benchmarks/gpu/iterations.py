"""Milliseconds an iteration, next to the measured floor and to plain loops; and single problems that fill the card.

Ours are CUDA events around 50 iterations, after a warm-up, on random symmetric matrices; the median counts. The wall
clock is noted as well: the two differ if launching takes longer than computing.
"""

from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

import trisplit as ts

from . import loops, scripts
from .part import Bench, Part, batch_of, forget, synchronize

SIZES = ("30x16384", "100x4096", "150x2048", "256x512", "1000x32")
QUICK_SIZES = ("6x5", "9x4")
PEERS = ("floor", "torch", "compile", "jax", "cupy")
QUICK_PEERS = ("floor", "torch", "cupy")
OURS = "ours"
DENSE, SPARSE = "dense", "sparse"
CURVATURE = 2.2  # a bound for large random matrices, 2 in the limit; Lanczos iterations would take minutes for it
LARGE: dict[bool, dict[str, int]] = {
    False: {DENSE: 10_000, SPARSE: 20_000, "edges": 1_000_000},
    True: {DENSE: 24, SPARSE: 40, "edges": 100},
}


def sizes(quick: bool) -> tuple[str, ...]:
    return QUICK_SIZES if quick else SIZES


def counts(quick: bool) -> tuple[int, int]:
    """Return how many iterations are timed at once, and how often."""
    return (3, 2) if quick else (50, 7)


def cases(quick: bool) -> list[str]:
    return [*(QUICK_PEERS if quick else PEERS), *(f"{OURS} {size}" for size in sizes(quick))]


def measure(bench: Bench, case: str) -> dict[str, Any]:
    """Measure ours at one size, or another loop at all of them."""
    forget(bench)
    iterations, repeats = counts(bench.quick)
    if not case.startswith(OURS):
        return {"sizes": scripts.loops(case, bench.device, list(sizes(bench.quick)), iterations, repeats)}
    n, starts = map(int, case.removeprefix(OURS).split("x"))
    rng = np.random.default_rng(0)
    A, B = (loops.symmetric(rng, n).astype(np.float64) for _ in range(2))
    return time_batch(bench, batch_of(ts.qap.Objective(A, B).tangent(), starts, bench), iterations, repeats)


def time_batch(bench: Bench, batch: Any, iterations: int, repeats: int) -> dict[str, Any]:
    """Return the median milliseconds of an iteration by events and by the wall clock, and the least and the most.

    Each time counts from the beginning: later there are more zeros, with which products are faster.
    """
    batch.begin(0)
    for _ in range(2):
        batch.advance(iterations)  # compiles, and records graphs
    synchronize(bench)
    times = loops.torch_milliseconds(
        bench.device, lambda: batch.advance(iterations), repeats, before=lambda: batch.begin(0)
    )
    batch.begin(0)
    synchronize(bench)
    begin = perf_counter()
    for _ in range(repeats):
        batch.advance(iterations)
    synchronize(bench)
    wall = 1e3 * (perf_counter() - begin) / (repeats * iterations)
    each = [time / iterations for time in times]
    return {"milliseconds": median(each), "least": min(each), "most": max(each), "wall": wall}


def large(bench: Bench, case: str) -> dict[str, Any]:
    """Measure one large problem with dense or sparse matrices, and the memory that it takes."""
    forget(bench)
    n, iterations = LARGE[bench.quick][case], 2 if bench.quick else 10
    found: dict[str, Any] = {"n": n}
    if case == DENSE:
        floor = scripts.loops("floor", bench.device, [f"{n}x1"], iterations, 5)[f"{n}x1"]
        found |= {"floor": floor, "products": floor.get("products")}
    begin = perf_counter()
    rng = np.random.default_rng(0)
    pair: list[Any] = [
        loops.symmetric(rng, n) if case == DENSE else graph(rng, n, LARGE[bench.quick]["edges"]) for _ in range(2)
    ]
    form = ts.qap.Objective(pair[0], pair[1]).tangent(np.float32)
    if case == DENSE:
        form._curvature = CURVATURE, CURVATURE  # pyright: ignore[reportAttributeAccessIssue]
    if bench.device != "cpu":
        import torch

        torch.cuda.reset_peak_memory_stats()
    batch = batch_of(form, 1, bench)
    found |= {"setup_seconds": perf_counter() - begin, **time_batch(bench, batch, iterations, 5), "peak_gib": None}
    if bench.device != "cpu":
        found["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return found


def graph(rng: np.random.Generator, n: int, edges: int) -> sparse.csr_array:
    """Return the adjacency matrix of a random graph with exactly so many edges."""
    keys: np.ndarray = np.empty(0, dtype=np.int64)
    while len(keys) < edges:
        i, j = rng.integers(n, size=(2, edges + edges // 50))
        keys = np.union1d(keys, (np.minimum(i, j) * n + np.maximum(i, j))[i != j])
    i, j = np.divmod(rng.permutation(keys)[:edges], n)
    ones = np.ones(2 * edges, dtype=np.float32)
    return sparse.csr_array((ones, (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n))


def settings(quick: bool) -> dict[str, Any]:
    iterations, repeats = counts(quick)
    return {"sizes": list(sizes(quick)), "iterations": iterations, "repeats": repeats, "peers": "loops.py"}


ITERATIONS = Part(cases, measure, settings)
LARGE_PART = Part(lambda quick: [DENSE, SPARSE], large, lambda quick: LARGE[quick])
