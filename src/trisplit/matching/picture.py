"""Two matched graphs as pictures: the weights of A and of B and what they have in common, in cells.

A cell holds one pair of vertices, or a block of pairs where there are more vertices than cells: a picture of a large
sparse graph costs a pass over its edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from trisplit.matching.diagnostics import matched_layers
from trisplit.matching.moments import Matrix
from trisplit.matching.ordering import structured_order


@dataclass(frozen=True, eq=False)
class Picture:
    """Mean absolute weights in each cell, over all layers.

    Attributes
    ----------
    A, B : ndarray, shape (cells, cells)
        Of the two graphs, vertices in the order of the picture.
    common : ndarray, shape (cells, cells)
        Of what both have: the smaller of two weights of one sign.
    starts : ndarray of int
        The first vertex of each cell, among the matched ones in their order.
    order : ndarray of int
        The matches in the order of the picture.
    """

    A: np.ndarray
    B: np.ndarray
    common: np.ndarray
    starts: np.ndarray
    order: np.ndarray

    @property
    def only_A(self) -> np.ndarray:
        """What A has and B has not."""
        return np.maximum(self.A - self.common, 0.0)

    @property
    def only_B(self) -> np.ndarray:
        """What B has and A has not."""
        return np.maximum(self.B - self.common, 0.0)

    def shade(self) -> float:
        """Return the weight that is drawn in full: few cells have more."""
        values = np.concatenate([one[one > 0] for one in (self.A, self.B)])
        return float(np.quantile(values, 0.98)) if values.size else 1.0


def picture(
    A_layers: Sequence[Matrix],
    B_layers: Sequence[Matrix],
    indices_A: np.ndarray,
    indices_B: np.ndarray,
    *,
    order: np.ndarray | None = None,
    cells: int = 240,
) -> Picture:
    """Return the picture of a match.

    Parameters
    ----------
    A_layers, B_layers : sequence of ndarray or csr_array
    indices_A, indices_B : ndarray of int
        Vertex indices_A[k] is matched with indices_B[k].
    order : ndarray of int, optional
        The matches in the order in which they are shown; by default one that shows the structure.
    cells : int
        At most so many rows and columns.

    Examples
    --------
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> shown = picture([path], [path], np.arange(3), np.array([1, 0, 2]), order=np.arange(3))
    >>> shown.only_A.tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    a, b = matched_layers(A_layers, indices_A), matched_layers(B_layers, indices_B)
    if order is None:
        order = structured_order(_total([abs(one) for one in (*a, *b)]))
    a, b = matched_layers(a, order), matched_layers(b, order)
    n = len(order)
    starts = np.unique(np.linspace(0, n, min(cells, n), endpoint=False).astype(np.intp))
    sizes = [_binned(_total([abs(one) for one in layers]), starts) for layers in (a, b)]
    difference = _binned(_total([abs(one - other) for one, other in zip(a, b, strict=True)]), starts)
    area = np.diff(np.append(starts, n)).astype(float)
    in_A, in_B, apart = (cell / np.outer(area, area) for cell in (*sizes, difference))
    return Picture(in_A, in_B, np.maximum(in_A + in_B - apart, 0.0) / 2, starts, order)


def _total(layers: list) -> Matrix:
    total = layers[0]
    for layer in layers[1:]:
        total = total + layer
    return np.asarray(total) if not sparse.issparse(total) else sparse.csr_array(total)


def _binned(W: Matrix, starts: np.ndarray) -> np.ndarray:
    """Return the sums over blocks of rows and columns that begin at `starts`."""
    if not len(starts):
        return np.zeros((0, 0))
    if isinstance(W, np.ndarray):
        return np.add.reduceat(np.add.reduceat(W.astype(float), starts, axis=0), starts, axis=1)
    entries, cells = W.tocoo(), len(starts)
    rows, columns = (np.searchsorted(starts, places, side="right") - 1 for places in entries.coords)
    return np.bincount(rows * cells + columns, entries.data, cells**2).reshape(cells, cells)
