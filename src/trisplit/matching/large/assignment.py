"""The best match of rows with columns among given pairs: an auction with epsilon scaling, in compiled code."""

# pyright: reportOptionalSubscript=false, reportOptionalMemberAccess=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportOptionalIterable=false
# The types of scipy.sparse are not declared, only guessed.

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trisplit.matching.large.layers import arrays

SHRINK = 5.0  # of eps from one round of scaling to the next
PRECISE = 1e-7  # eps for weights that are no integers, times the largest weight


class Assigned(NamedTuple):
    """Columns of the rows, -1 where there is none; prices of columns and profits of rows; the eps that was reached."""

    partner: np.ndarray
    prices: np.ndarray
    profits: np.ndarray
    eps: float


def assign(W: csr_array, *, price: float | None = None, eps: float | None = None) -> Assigned:
    """Maximise the sum of W[i, p_i] over matched pairs, less `price` for every row that stays unmatched.

    Parameters
    ----------
    W : csr_array of shape (n, m)
        Weights; only stored pairs may be matched, zeros among them.
    price : float, optional
        Of a row without partner. If left out, it is so high that as many rows as possible are matched.
    eps : float, optional
        The sum is within n * eps of the best one. If left out, it is 1 / (n + 1) for integer weights, which makes the
        match a best one, and 1e-7 times the largest weight for others.

    Returns
    -------
    Assigned

    Examples
    --------
    >>> import numpy as np
    >>> assign(csr_array(np.array([[2.0, 1.0], [3.0, 0.0]]))).partner
    array([1, 0])
    >>> assign(csr_array(np.array([[2.0, 0.0], [3.0, 0.0]])), price=0.0).partner
    array([-1,  0])
    """
    from trisplit.kernels.auction import columns_bid, rows_bid

    n, m = W.shape[0], W.shape[1]
    partner, owner, q, u = np.full(n, -1), np.full(m, -1), np.zeros(m), np.zeros(n)
    if n == 0 or W.nnz == 0:
        return Assigned(partner, q, u, 0.0)
    largest = float(np.abs(W.data).max())
    price = 2 * largest * (min(n, m) + 1) + 1 if price is None else float(price)
    if eps is None:
        whole = largest < 2**40 and bool((W.data == np.rint(W.data)).all()) and price == round(price)
        eps = 1.0 / (n + 1) if whole else PRECISE * largest
    # A rise by less than the rounding of a price would be none, and the auction would not end.
    eps = max(eps, 8 * float(np.finfo(float).eps) * (largest + abs(price)), float(np.finfo(float).tiny))
    by_rows, by_columns = arrays(W), arrays(csr_array(W.T))
    scaled = max(largest, abs(price)) / SHRINK
    while True:
        scaled = max(scaled, eps)
        rows_bid(*by_rows, -price, scaled, partner, owner, q, u)
        columns_bid(*by_columns, scaled, partner, owner, q, u)
        if scaled <= eps:
            return Assigned(partner, q, u, eps)
        scaled /= SHRINK
