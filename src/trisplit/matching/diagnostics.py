"""How good a match is: agreement of the edges of each vertex, alignment strength, stability, and what chance would do.

Weights a and b of the same pair have min(a, b) in common out of max(a, b) if neither is negative. Parts of either sign
are compared with each other, which for all signs gives

    in common  (|a| + |b| - |a - b|) / 2   out of   (|a| + |b| + |a - b|) / 2,

and so needs only sums over the edges of A, of B and of their difference: sparse graphs stay sparse.

References: D.E. Fishkind, L. Meng, A. Sun, C.E. Priebe, V. Lyzinski, "Alignment strength and correlation for graphs",
Pattern Recognition Letters 125 (2019) 295-302.
"""

from collections.abc import Sequence
from math import nan, sqrt

import numpy as np
from scipy import sparse

from trisplit.errors import InputError
from trisplit.matching.moments import Matrix, mean_overlap, overlap_variance

__all__ = ["alignment_strength", "chance", "edge_agreement", "matched_layers", "stability"]


def matched_layers(layers: Sequence[Matrix], indices: np.ndarray) -> list[Matrix]:
    """Return each layer with only these vertices, in this order.

    Examples
    --------
    >>> import numpy as np
    >>> matched_layers([np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])], np.array([2, 0]))[0].tolist()
    [[8, 6], [2, 0]]
    """
    p = np.asarray(indices, dtype=np.intp)
    return [layer[p][:, p] if sparse.issparse(layer) else np.asarray(layer)[np.ix_(p, p)] for layer in layers]


def edge_agreement(
    A_layers: Sequence[Matrix], B_layers: Sequence[Matrix], indices_A: np.ndarray, indices_B: np.ndarray
) -> np.ndarray:
    """Return for each match the share of its edges that have their counterpart.

    Counted are edges among the matched vertices, from and to the vertex, over all layers, by weight:
    sum min(a, b) / sum max(a, b), and for negative weights as the module says.

    Parameters
    ----------
    A_layers, B_layers : sequence of ndarray or csr_array
        The layers of the two graphs.
    indices_A, indices_B : ndarray of int
        Vertex indices_A[k] is matched with indices_B[k].

    Returns
    -------
    ndarray
        Numbers from 0 to 1; NaN for a match without edges.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    >>> edge_agreement([path], [path], np.arange(4), np.array([0, 2, 1, 3])).round(3).tolist()
    [0.0, 0.5, 0.5, nan]
    """
    size, difference = np.zeros(len(indices_A)), np.zeros(len(indices_A))
    for a, b in _pairs(A_layers, B_layers, indices_A, indices_B):
        size += _at_vertices(abs(a)) + _at_vertices(abs(b))
        difference += _at_vertices(abs(_difference(a, b)))
    out = np.full(len(size), nan)
    return np.divide(np.maximum(size - difference, 0.0), size + difference, out=out, where=size > 0)


def alignment_strength(
    A_layers: Sequence[Matrix], B_layers: Sequence[Matrix], indices_A: np.ndarray, indices_B: np.ndarray
) -> float:
    """Return 1 - disagreements / expected disagreements of a random match of the same vertices.

    Disagreements are sum_ij (a_ij - b_ij)^2 over all layers; for simple graphs of densities d_A and d_B on n vertices
    a random match is expected to have n (n - 1) (d_A (1 - d_B) + (1 - d_A) d_B).

    Returns
    -------
    float
        1 for the same graph twice and 0 for what chance does; NaN where every match agrees in all.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> alignment_strength([path], [path], np.arange(3), np.array([2, 1, 0]))
    1.0
    >>> round(alignment_strength([path], [path], np.arange(3), np.array([0, 2, 1])), 3)
    -0.5
    """
    pairs = _pairs(A_layers, B_layers, indices_A, indices_B)
    expected, scale = _expected_disagreements(pairs)
    if not expected > _rounding(scale, len(indices_A)):
        return nan
    return 1.0 - sum(_square(_difference(a, b)) for a, b in pairs) / expected


def chance(
    A_layers: Sequence[Matrix], B_layers: Sequence[Matrix], indices_A: np.ndarray, indices_B: np.ndarray
) -> float:
    """Return by how many standard deviations of random matches the overlap of the edges exceeds their mean.

    The overlap is sum_ij a_ij b_ij over all layers; its mean and variance over all matches of the same vertices are
    exact. Random matches of large graphs lie within 3 or so; a match that a search has found should lie far outside.

    Returns
    -------
    float
        Negative if a random match overlaps more; NaN where all matches overlap alike.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> round(chance([path], [path], np.arange(3), np.arange(3)), 3)  # overlaps are 4, 2 and 2
    1.414
    """
    pairs = _pairs(A_layers, B_layers, indices_A, indices_B)
    a, b = [a for a, _ in pairs], [b for _, b in pairs]
    variance = overlap_variance(a, b) if pairs else 0.0
    scale = sum(_square(one) for one in a) * sum(_square(other) for other in b)
    if not variance > _rounding(scale, 1) / max(len(indices_A), 1):
        return nan
    overlap = sum((_square(one) + _square(other) - _square(_difference(one, other))) / 2 for one, other in pairs)
    return (overlap - mean_overlap(a, b)) / sqrt(variance)


def stability(permutations: np.ndarray | Sequence[np.ndarray], chosen: np.ndarray) -> np.ndarray:
    """Return for each vertex of A the share of the starts that match it as the chosen match does.

    Parameters
    ----------
    permutations : array of int, shape (starts, n_A)
        The match of each start: a vertex of B for each of A, -1 for none.
    chosen : array of int, shape (n_A,)
        The match that is judged.

    Examples
    --------
    >>> stability([[0, 1, 2], [0, 2, 1], [0, 1, -1]], [0, 1, 2]).round(3).tolist()
    [1.0, 0.667, 0.333]
    """
    found, p = np.atleast_2d(np.asarray(permutations)), np.asarray(chosen)
    if found.ndim != 2 or found.shape[1:] != p.shape or not len(found):
        raise InputError(
            f"`permutations` must have a row of {p.size} vertices for each start, got the shape {found.shape}"
        )
    return (found == p).mean(axis=0)


def _pairs(
    A_layers: Sequence[Matrix], B_layers: Sequence[Matrix], indices_A: np.ndarray, indices_B: np.ndarray
) -> list[tuple[Matrix, Matrix]]:
    """Return the layers of the matched vertices, those of B in the order of A."""
    for layers, name in ((A_layers, "A_layers"), (B_layers, "B_layers")):
        if sparse.issparse(layers) or getattr(layers, "ndim", 3) == 2:
            raise InputError(f"`{name}` must be a list of layers, got one matrix; pass `[{name[0]}]`")
    if len(A_layers) != len(B_layers):
        raise InputError(f"`B_layers` must be {len(A_layers)} layers as `A_layers`, got {len(B_layers)}")
    if len(indices_A) != len(indices_B):
        raise InputError(f"`indices_B` must be {len(indices_A)} vertices as `indices_A`, got {len(indices_B)}")
    a, b = matched_layers(A_layers, indices_A), matched_layers(B_layers, indices_B)
    a, b = ([M.astype(float) for M in layers] for layers in (a, b))  # pyright: ignore  # integers would overflow
    return list(zip(a, b, strict=True))


def _at_vertices(weights: Matrix) -> np.ndarray:
    """Return the sum of the weights from and to each vertex, a loop counted once."""
    both = np.asarray(weights.sum(axis=1)).ravel() + np.asarray(weights.sum(axis=0)).ravel()
    return both - weights.diagonal()


def _difference(a: Matrix, b: Matrix) -> Matrix:
    """Return a - b; where one is dense, the result is."""
    return np.asarray(a - b) if sparse.issparse(a) != sparse.issparse(b) else a - b  # pyright: ignore


def _square(a: Matrix) -> float:
    entries = np.ravel(a.data if sparse.issparse(a) else a)  # pyright: ignore
    return float(entries @ entries)


def _expected_disagreements(pairs: list[tuple[Matrix, Matrix]]) -> tuple[float, float]:
    """Return the mean of sum (a - b)^2 over all matches, and the size of the numbers it is the difference of."""
    squares = sum(_square(a) + _square(b) for a, b in pairs)
    return squares - 2 * mean_overlap([a for a, _ in pairs], [b for _, b in pairs]) if pairs else 0.0, squares


def _rounding(scale: float, n: int) -> float:
    return 64 * np.finfo(float).eps * max(n, 1) * scale
