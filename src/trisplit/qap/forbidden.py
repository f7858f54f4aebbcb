"""Forbidden pairs of a quadratic assignment problem: a penalty in the linear term that makes them never worth while.

If no cost is below `low`, and a forbidden pair costs more than high - low on top of the least entry of C, then every
permutation with such a pair costs more than `high`, and all others cost what they did. If `high` is the cost of an
allowed permutation that is known, then the optimum is allowed, and so is all that is as good as the known one; `low` is
the bound of Gilmore and Lawler. With no such permutation, n^2 max|A| max|B| + n max|C| is above all costs.

Whether any permutation is left is a question of matchings: none is if and only if some rows have fewer columns in all
than they are (P. Hall, On representatives of subsets, Journal of the London Mathematical Society 10 (1935) 26-30).
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trisplit.errors import InputError
from trisplit.qap.fixed import in_range
from trisplit.qap.instance import Instance, as_array
from trisplit.qap.matrices import as_dense
from trisplit.qap.objective import Objective
from trisplit.qap.relaxation import TOO_LARGE
from trisplit.terms.joint import assignment

_INT64_MAX = np.iinfo(np.int64).max
_FLOAT_MAX = float(np.finfo(np.float64).max)
# Bounds, and costs of decimal numbers, are rounded: the penalty stands out by this part of the largest cost there is.
ROUNDING = Fraction(1, 2**30)


def as_mask(forbidden: ArrayLike, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return forbidden pairs as a matrix that is true at each, or raise an `InputError`.

    Parameters
    ----------
    forbidden : array_like of int, shape (k, 2), or of bool, of the given shape
        Booleans are a mask, whatever their shape; integers are pairs (row, column), in any order, repeated or not.
    shape : tuple of two ints

    Examples
    --------
    >>> as_mask([(0, 2), (1, 0)], (2, 3))
    array([[False, False,  True],
           [ True, False, False]])
    """
    array = as_array(forbidden, "forbidden")
    if array.dtype == bool:
        if array.shape != shape:
            raise InputError(
                f"`forbidden` must have shape {shape} if it is boolean, got {array.shape}; "
                "give a mask with an entry for every row of A and row of B, or integer pairs"
            )
        return array.copy()
    rows, columns = in_range(array, shape, name="forbidden").T
    mask = np.zeros(shape, dtype=bool)
    mask[rows, columns] = True
    return mask


def matched(allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return an allowed column for as many rows as possible, no column twice, and -1 for the others.

    Examples
    --------
    >>> import numpy as np
    >>> matched(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]], dtype=bool))
    array([1, 2, 0])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return maximum_bipartite_matching(csr_array(allowed), perm_type="column").astype(np.int64)


def hall_violator(
    allowed: NDArray[np.bool_], column_of: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and all of their allowed columns, which are fewer, where `matched` leaves a row without a column.

    From a row that a maximum matching leaves out, alternating paths lead to the columns that it could take and on to
    the rows that have them. None of these columns is free, or the matching would not be maximum.

    Examples
    --------
    >>> import numpy as np
    >>> allowed = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=bool)
    >>> hall_violator(allowed, matched(allowed))
    (array([0, 2]), array([1]))
    """
    unmatched = np.flatnonzero(column_of < 0)
    row_of = np.empty_like(column_of)
    others = np.flatnonzero(column_of >= 0)
    row_of[column_of[others]] = others
    rows, columns = np.zeros((2, len(allowed)), dtype=bool)
    new = unmatched[:1]
    while len(new):
        rows[new] = True
        reached = allowed[new].any(axis=0) & ~columns
        columns |= reached
        new = row_of[reached]
    return np.flatnonzero(rows), np.flatnonzero(columns)


def nearest_allowed(permutation: NDArray[np.int64], forbidden: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the allowed permutation that differs from the given one in the fewest rows, by an assignment problem.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_allowed(np.arange(3), np.array([[1, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool))
    array([1, 0, 2])
    """
    n, rows = len(permutation), np.arange(len(permutation))
    costs = np.ones((n, n))
    costs[rows, permutation] = 0.0
    costs[forbidden] = n + 1.0  # one forbidden pair is worse than n changes
    return np.argmax(assignment(costs), axis=1)


def penalised(instance: Instance, forbidden: NDArray[np.bool_], known: NDArray[np.int64] | None = None) -> Instance:
    """Return the problem in which each permutation with a forbidden pair costs more than all without, or than `known`.

    The costs of those without stay the same, exactly; only if a penalty for integers is beyond int64 is the new linear
    term rounded to float64. The optimum of the data is only a lower bound now.

    Parameters
    ----------
    instance : Instance
    forbidden : array of bool, shape (n, n)
        It leaves a permutation.
    known : array of int, optional
        An allowed permutation. The penalty is then much smaller, and the search better.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.qap import Instance
    >>> free = Instance("free", A=[[0, 1], [0, 0]], B=[[0, 5], [2, 0]])
    >>> inner = penalised(free, np.eye(2, dtype=bool), np.array([1, 0]))
    >>> inner.cost([1, 0]), inner.cost([0, 1]), inner.C.tolist()
    (2, 9, [[2, 0], [0, 2]])
    """
    C = np.zeros((instance.n, instance.n), dtype=np.int64) if instance.C is None else instance.C.copy()
    least = Fraction(C[~forbidden].min().item())
    C[forbidden] = C[~forbidden].min()  # what a forbidden pair costs otherwise, however much, is of no interest
    large_A, large_B, large_C = (Fraction(max(-M.min().item(), M.max().item())) for M in (instance.A, instance.B, C))
    size = instance.n**2 * large_A * large_B + instance.n * large_C
    if 8 * instance.n * size > _FLOAT_MAX:
        raise InputError(TOO_LARGE.format("float64, with a penalty for forbidden pairs"))
    low, high = -size, size
    if known is not None:
        matrices = (as_dense(M).astype(np.float64) for M in (instance.A, instance.B, C))
        low, high = Fraction(least_cost(*matrices)), Fraction(instance.cost(known))
    value = least + high - low + ROUNDING * (size or 1)
    if all(M.dtype.kind == "i" for M in (instance.A, instance.B, C)) and value < _INT64_MAX:
        value = _multiple(instance, value)
    else:
        C, value = C.astype(np.float64), float(value)
    C[forbidden] = value
    return replace(
        instance,
        C=C,
        best_known=None,
        proven=False,
        lower_bound=instance.best_known if instance.proven else instance.lower_bound,
        in_paper=False,
        solution=None,
    )


def least_cost(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> float:
    """Return the bound of `gilmore_lawler` in float64: up to rounding, no permutation costs less.

    Examples
    --------
    >>> from trisplit import qap
    >>> nug12 = qap.load("nug12")
    >>> least_cost(nug12.A.astype(float), nug12.B.astype(float), np.zeros((12, 12)))
    493.0
    """
    A, B, symmetric = Objective(A, B).symmetric_parts
    off = ~np.eye(len(A), dtype=bool)
    bounds = []
    for first, second in ((A, B),) if symmetric else ((A, B), (A.T, B.T)):
        ascending, others = (np.sort(M[off].reshape(len(A), -1), axis=1) for M in (first, second))
        costs = ascending @ others[:, ::-1].T + np.outer(np.diag(A), np.diag(B)) + C
        bounds.append(float(np.vdot(costs, assignment(costs))))
    return max(bounds)


def _multiple(instance: Instance, floor: Fraction) -> int:
    """Return an integer of at least `floor`.

    A multiple of what divides all costs leaves the compiled swaps as small numbers as they had.
    """
    divisors = [abs(int(np.gcd.reduce(as_dense(M), axis=None))) for M in (instance.A, instance.B)]
    step = 2 * divisors[0] * divisors[1] or 1
    value = -(-floor // step) * step
    return value if value <= _INT64_MAX else -(-floor // 1)
