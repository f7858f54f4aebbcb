"""Mean and variance of the overlap of two graphs over all matches, in the time of a pass over the edges.

For a uniformly random permutation p of n vertices the overlap is T = sum_ij A[i, j] B[p_i, p_j]. Two ordered pairs of
distinct vertices can share them in seven ways; the pairs of one way are mapped uniformly onto the pairs of B of the
same way, so that each contributes (sum over A) (sum over B) / (their number). Loops are mapped among themselves.

Reference: N. Mantel, "The detection of disease clustering and a generalized regression approach", Cancer Research 27
(1967) 209-220. Here the graphs may be directed and have loops, and several layers follow one permutation.
"""

from collections.abc import Sequence
from math import perm
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

Matrix: TypeAlias = np.ndarray | sparse.csr_array


class Sums(NamedTuple):
    """A layer less its mean: a number that all matches share is lost, and with it the rounding errors it would cause.

    `off` alone, the entries off the diagonal, keeps its mean (and its zeros).
    """

    off: Matrix
    mean: float
    rows: np.ndarray
    columns: np.ndarray
    loops: np.ndarray

    @classmethod
    def of(cls, layer: Matrix) -> "Sums":
        """Return the sums of a layer."""
        n, loops = layer.shape[0], layer.diagonal()  # pyright: ignore[reportOptionalSubscript]
        off = layer
        if loops.any():
            off = layer - (
                sparse.diags_array(loops, format="csr", dtype=loops.dtype) if sparse.issparse(layer) else np.diag(loops)
            )
        mean = _share(float(off.sum()), perm(n, 2))
        rows, columns = (np.asarray(off.sum(axis=axis)).ravel() - mean * (n - 1) for axis in (1, 0))
        return cls(off, mean, rows, columns, loops - (loops.mean() if n else 0.0))


def mean_overlap(A: Sequence[Matrix], B: Sequence[Matrix]) -> float:
    """Return the mean of sum over layers of sum_ij A[i, j] B[p_i, p_j] over all permutations p.

    >>> A = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> round(mean_overlap([A], [A]), 12)  # an edge falls on the edge in one of three cases, and counts twice
    0.666666666667
    """
    n, total = A[0].shape[0], 0.0  # pyright: ignore[reportOptionalSubscript]
    for a, b in zip(A, B, strict=True):
        loops = float(a.diagonal().sum()), float(b.diagonal().sum())
        total += _share(loops[0] * loops[1], n)
        total += _share((float(a.sum()) - loops[0]) * (float(b.sum()) - loops[1]), perm(n, 2))
    return total


def overlap_variance(A: Sequence[Matrix], B: Sequence[Matrix]) -> float:
    """Return the variance of sum over layers of sum_ij A[i, j] B[p_i, p_j] over all permutations p.

    >>> A = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> round(overlap_variance([A], [A]), 12)  # 2 in one of three cases, else 0
    0.888888888889
    """
    n, layers = A[0].shape[0], range(len(A))  # pyright: ignore[reportOptionalSubscript]
    of_A, of_B = [Sums.of(a) for a in A], [Sums.of(b) for b in B]
    covariances = (_covariance(n, (of_A[k], of_A[m]), (of_B[k], of_B[m])) for k in layers for m in layers)
    return max(sum(covariances), 0.0)


def _covariance(n: int, a: tuple[Sums, Sums], b: tuple[Sums, Sums]) -> float:
    """Return the mean of T T', where T overlays a[0] with b[0] and T' overlays a[1] with b[1]; both have mean 0."""
    ways = zip(_ways(n, *a), _ways(n, *b), strict=True)
    return sum(
        _share(x * y, perm(n, k)) for k, (of_a, of_b) in enumerate(ways, 1) for x, y in zip(of_a, of_b, strict=True)
    )


def _ways(n: int, a: Sums, b: Sums) -> tuple[tuple[float, ...], ...]:
    """Return the sums of a[i, j] b[k, l] over the ways to share vertices, by the number of vertices involved."""
    shift = perm(n, 2) * a.mean * b.mean
    same, turned = _product(a.off, b.off) - shift, _product(a.off, b.off.T) - shift  # (k, l) is (i, j), (j, i)
    tails, heads = float(a.rows @ b.rows) - same, float(a.columns @ b.columns) - same  # k is i, l is j
    through, back = float(a.columns @ b.rows) - turned, float(a.rows @ b.columns) - turned  # k is j, l is i
    apart = -(same + turned + tails + heads + through + back)  # as all add up to 0
    loop = float(a.loops @ b.loops)  # i, i and i, i
    ends = tuple(
        float(x @ y) for x, y in ((a.loops, b.rows), (a.loops, b.columns), (a.rows, b.loops), (a.columns, b.loops))
    )
    beside = -(ends[0] + ends[1]), -(ends[2] + ends[3])
    return (loop,), (same, turned, -loop, *ends), (tails, heads, through, back, *beside), (apart,)


def _product(a: Matrix, b: Matrix) -> float:
    """Return the sum of the entrywise product."""
    if sparse.issparse(b) and not sparse.issparse(a):
        a, b = b, a
    return float(a.multiply(b).sum() if sparse.issparse(a) else np.sum(a * b))  # pyright: ignore


def _share(value: float, count: int) -> float:
    return value / count if count else 0.0
