"""What a match of large graphs takes: bytes and seconds, estimated before anything is allocated."""

import os
from pathlib import Path
from typing import NamedTuple

from trisplit.errors import InputError

KEPT = 24
ROUNDS, SPLITTINGS = 20, 100  # of percolation and refinement, and of splitting, in a typical run
# Measured on one core: seconds for a product of a round of percolation, and of splitting, for a pair that is kept,
# and for an edge.
PRODUCT, SPLIT_PRODUCT, PAIR, EDGE = 2e-8, 5e-9, 3e-7, 1e-6
COMPARISON = 5e-8  # of the features of two vertices
FEATURE_BYTES = 12_000  # of the features of a vertex, and of eigenvectors
PAIR_BYTES, EDGE_BYTES, VERTEX_BYTES, BASE_BYTES = 120, 64, 200, 150 * 2**20


class Estimate(NamedTuple):
    """Seconds and bytes that a match will take, roughly, and the same in words."""

    seconds: float
    bytes: int
    text: str


def estimate(
    n_A: int,
    n_B: int,
    nnz_A: int,
    nnz_B: int,
    *,
    directed: bool = False,
    similarity: int = 0,
    kept: int = KEPT,
    seeded: bool = True,
    products: float | None = None,
) -> Estimate:
    """Estimate the time and the memory of `match_large`.

    Parameters
    ----------
    n_A, n_B : int
        Vertices.
    nnz_A, nnz_B : int
        Stored entries, those of all layers together.
    directed : bool
        Whether a layer is not symmetric.
    similarity : int
        Stored entries of the similarity.
    kept : int
        Candidate pairs of a vertex.
    seeded : bool
        Whether there are seeds; without, the relaxed problem is solved as well, which takes longer.
    products : float, optional
        Sum over matched pairs of the products of their degrees, for graphs with hubs; if left out, that of graphs in
        which all degrees are equal.

    Examples
    --------
    >>> estimate(5000, 5000, 100_000, 100_000).text
    '5000 and 5000 vertices, 100000 and 100000 entries: about 0.2 GiB and 3 s'
    """
    ways = 2 if directed else 1
    pairs = kept * (n_A + n_B) / 2
    if products is None:
        products = ways * nnz_A * nnz_B / max(n_A, n_B, 1)
    edges = ways * (nnz_A + nnz_B) + 2 * similarity
    seconds = 1 + ROUNDS * (products * PRODUCT + pairs * PAIR) + edges * EDGE
    if not seeded:
        seconds += SPLITTINGS * SPLIT_PRODUCT * 2 * kept * edges + COMPARISON * n_A * n_B
    vertex = VERTEX_BYTES if seeded else VERTEX_BYTES + FEATURE_BYTES
    size = int(BASE_BYTES + edges * EDGE_BYTES + 3 * pairs * PAIR_BYTES + (n_A + n_B) * vertex)
    took = f"about {size / 2**30:.1f} GiB and {seconds:.0f} s"
    return Estimate(seconds, size, f"{n_A} and {n_B} vertices, {nnz_A} and {nnz_B} entries: {took}")


def available_bytes() -> int | None:
    """Return the memory that is free for this process, where the system tells it.

    Examples
    --------
    >>> free = available_bytes()
    >>> free is None or free > 0
    True
    """
    known = [size for size in (_free_of_machine(), _free_of_group()) if size is not None]
    return min(known) if known else None


def require_memory(estimated: Estimate, free: int | None = None) -> None:
    """Raise an `InputError` if the estimate exceeds the memory that is free."""
    free = available_bytes() if free is None else free
    if free is not None and estimated.bytes > free:
        need = f"`A` and `B` need about {estimated.bytes / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free"
        raise InputError(f"{need}; close other programs, keep fewer candidates or take a larger machine")


def _free_of_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _free_of_group() -> int | None:
    """Return what a limit of control groups leaves, of either version."""
    root = Path("/sys/fs/cgroup")
    names = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))
    for limit, used in names:
        try:
            return max(int((root / limit).read_text()) - int((root / used).read_text()), 0)
        except (OSError, ValueError):  # not there, or "max": no limit
            continue
    return None
