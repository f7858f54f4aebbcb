"""What a match of large graphs takes: bytes and seconds, estimated before anything is allocated."""

from typing import NamedTuple

from trisplit.errors import InputError
from trisplit.matching.memory import available_bytes, in_words

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


def require_memory(estimated: Estimate) -> None:
    """Raise an `InputError` if the estimate exceeds the memory that is free."""
    free = available_bytes()
    if estimated.bytes > free:
        need = f"`A` and `B` need about {in_words(estimated.bytes)}, {in_words(free)} are free"
        raise InputError(f"{need}; close other programs, or take a larger machine")
