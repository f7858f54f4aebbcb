"""A quadratic assignment problem as the compiled swaps want it: see `kernels/swaps.py` for the form.

Diagonals move to the linear term; if A or B is symmetric, only the symmetric part of the other one counts. Common
divisors are taken out of integers. What is left is computed in int32 if no swap can change the cost by more than
fits, else in int64, else in float64. The bound is that of Cauchy and Schwarz,

    |sum_k (A_rk - A_sk) (B_k,p_s - B_k,p_r)| <= max_rs ||A_r - A_s|| max_lm ||B_l - B_m||,    k other than r, s.

Rows of A that may change places in every permutation without changing its cost (the dummy facilities of esc*, the two
kinds of tai*c) are found once and never swapped; if B has more of them, A and B change their roles.
"""

from dataclasses import dataclass
from functools import cached_property
from math import gcd
from weakref import WeakKeyDictionary

import numpy as np

from trisplit.kernels.swaps import COLUMNS, LANES, NEVER, SLOPES, whole
from trisplit.qap.instance import Instance, max_abs
from trisplit.qap.matrices import as_dense, is_symmetric

SAFE = 2**61  # sums of two entries, and of a product and an entry, stay within int64
MARGIN = 1.001  # for rounding in the bound
ROUNDING = 1e-12  # of the largest change: smaller ones are none in float64
ALIGNMENT = 64  # bytes
TOPS = {"i4": 2**31 - 1, "i8": 2**63 - 1, "f8": np.inf}
Pairs = tuple[tuple[np.ndarray, np.ndarray], ...]


@dataclass(frozen=True, eq=False)
class SwapForm:
    """The arrays of a problem for compiled swaps.

    Attributes
    ----------
    kind : str
        "i4", "i8" or "f8": what is computed in.
    n : int
    L, R : array, shape (1 or 2, n, width)
    S, T, D : array, shape (n, width)
    X : array of int32, shape (n, width)
        `NEVER` for pairs that are not swapped, else 0.
    unit : int or float
        The cost changes by this times the change of g.
    tiny : int or float
        Changes of g that are no larger are rounding; 0 for integers.
    swapped : bool
        Whether A and B have changed roles, so that permutations are inverted.
    """

    kind: str
    n: int
    L: np.ndarray
    R: np.ndarray
    S: np.ndarray
    T: np.ndarray
    D: np.ndarray
    X: np.ndarray
    unit: int | float
    tiny: int | float
    swapped: bool

    @property
    def top(self) -> int | float:
        """A number that no change of g reaches."""
        return TOPS[self.kind]

    @cached_property
    def value_kind(self) -> str:
        """The type of g itself: wider than its changes may be."""
        return "f8" if self.kind == "f8" else "i8"

    def scratch(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return new arrays W, d, `slopes` and `columns`."""
        width = self.D.shape[1]
        shapes = (self.n, width), (self.n, width), (len(self.L), SLOPES, width), (COLUMNS, width)
        W, d, slopes, columns = (aligned(shape, self.D.dtype) for shape in shapes)
        return W, d, slopes, columns

    def turned(self, permutation: np.ndarray) -> np.ndarray:
        """Return a permutation of the instance as one of this form, or the other way round: a new int64 array."""
        return np.argsort(permutation) if self.swapped else np.array(permutation, dtype=np.int64)


_known: "WeakKeyDictionary[Instance, SwapForm]" = WeakKeyDictionary()


def swap_form(instance: Instance) -> SwapForm:
    """Return the form of an instance, which is computed once and shared: its arrays must not be changed.

    Examples
    --------
    >>> from trisplit import qap
    >>> form = swap_form(qap.load("nug12"))
    >>> form.kind, len(form.L), form.unit, form.swapped
    ('i4', 1, 2, False)
    """
    form = _known.get(instance)
    if form is None:
        form = _known[instance] = _computed(instance)
    return form


def _computed(instance: Instance) -> SwapForm:
    A, B, D, unit = _without_diagonals(instance)
    pairs, D, halves = _as_pairs(A, B, D)
    unit *= halves
    labels, other_labels = (equivalent(pairs, D), equivalent(_turned(pairs), D.T))
    swapped = _alike(other_labels) > _alike(labels)
    if swapped:
        pairs, D, labels = _turned(pairs), D.T, other_labels
    if D.dtype.kind == "i":
        pairs, D, divisor = _reduced(pairs, D)
        unit *= divisor
    D = D - D.min(axis=1, keepdims=True)  # what a row pays anywhere changes no difference
    bound = _largest_change(pairs, D)
    kind = "f8"
    if D.dtype.kind == "i" and len(D) * bound < SAFE:  # n swaps lead to any other permutation
        kind = "i4" if bound < TOPS["i4"] else "i8"
    if kind == "f8":
        pairs, D = tuple((L.astype(float), R.astype(float)) for L, R in pairs), D.astype(float)
    return _padded(kind, pairs, D, labels, unit, ROUNDING * bound if kind == "f8" else 0, swapped)


def _without_diagonals(instance: Instance) -> tuple[np.ndarray, np.ndarray, np.ndarray, int | float]:
    """Return A and B with zero diagonals, the linear term with what those cost, and the unit of all.

    They are integers if sums and products surely fit. Otherwise the larger one of both terms has unit size.
    """
    A, B = (as_dense(M) for M in (instance.A, instance.B))
    C = np.zeros(A.shape, np.int64) if instance.C is None else instance.C
    whole_numbers = all(M.dtype.kind == "i" for M in (A, B, C)) and max(max_abs(A), max_abs(B)) < SAFE
    if whole_numbers and max_abs(np.diag(A)) * max_abs(np.diag(B)) + max_abs(C) < SAFE:
        A, B, C, unit = A.copy(), B.copy(), C.copy(), 1
    else:
        A, B, C = (M.astype(float) for M in (A, B, C))
        large_A, large_B, large_C = (float(np.abs(M).max()) for M in (A, B, C))
        large_A, large_B = large_A or 1.0, large_B or 1.0
        unit = large_A * large_B + large_C
        A, B, C = A / large_A, B / large_B, C / (large_C or 1.0)
        with np.errstate(over="ignore"):
            linear = np.float64(large_C) / large_A / large_B
        B *= 1.0 / (1.0 + linear)
        C *= 1.0 if np.isinf(linear) else linear / (1.0 + linear)
    D = np.outer(np.diag(A), np.diag(B)) + C
    np.fill_diagonal(A, 0)
    np.fill_diagonal(B, 0)
    return A, B, D, unit


def _as_pairs(A: np.ndarray, B: np.ndarray, D: np.ndarray) -> tuple[Pairs, np.ndarray, int]:
    """Return the pairs L, R, the linear term, and 2 if costs are halved, else 1."""
    symmetric_A, symmetric_B = is_symmetric(A), is_symmetric(B)
    if not symmetric_A and not symmetric_B:
        return ((A, B.T), (A.T, B)), D, 1
    if not symmetric_A:
        return ((A + A.T, B),), D, 1
    if not symmetric_B:
        return ((A, B + B.T),), D, 1
    if D.dtype.kind == "i" and (D % 2).any():
        return ((2 * A, B),), D, 1
    return ((A, B),), D // 2 if D.dtype.kind == "i" else D / 2, 2


def _turned(pairs: Pairs) -> Pairs:
    """Return the pairs of the problem in which A and B have changed roles."""
    return tuple((R.T, L.T) for L, R in pairs)


def _reduced(pairs: Pairs, D: np.ndarray) -> tuple[Pairs, np.ndarray, int]:
    """Take out a common divisor of all changes."""
    of_L, of_R, of_D = (int(np.gcd.reduce(M, axis=None)) for M in (*pairs[0], D))
    common = gcd(of_L * of_R, of_D)
    first = gcd(of_L, common) or 1
    second = gcd(of_R, common // first) or 1
    pairs = tuple((L // first, R // second) for L, R in pairs)
    return pairs, D // (first * second) if of_D else D, first * second


def _largest_change(pairs: Pairs, D: np.ndarray) -> float:
    """Return an upper bound on the change of g by a swap."""
    if len(D) == 1:
        return 0.0
    spread = np.prod([_spread(tuple(pair[k] for pair in pairs)) for k in (0, 1)])
    skew = np.prod([float(np.abs(M.astype(float) - M.T).max()) for M in pairs[0]]) if len(pairs) == 2 else 0.0
    return MARGIN * float(spread + skew + 2.0 * (float(D.max()) - float(D.min())))


def _spread(matrices: tuple[np.ndarray, ...]) -> float:
    """Return max_rs ||M_r - M_s|| over rows without their entries r and s, of all matrices together."""
    rows = np.hstack([M.astype(float) for M in matrices])
    square = (rows * rows).sum(axis=1)
    distance = square[:, None] + square[None, :] - 2.0 * (rows @ rows.T)
    for M in matrices:
        distance -= M.astype(float) ** 2 + M.T.astype(float) ** 2
    return float(np.sqrt(max(distance.max(), 0.0) + 1e-9 * square.max()))


def equivalent(pairs: Pairs, D: np.ndarray) -> np.ndarray:
    """Return a label for each row of L: rows of one label can change places in any permutation at no cost.

    Examples
    --------
    >>> import numpy as np
    >>> L = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    >>> equivalent(((L, L),), np.zeros((4, 4)))
    array([0, 0, 0, 3])
    """
    n, M, labels = len(D), pairs[0][0], np.arange(len(D))
    # i and j may change places if their rows differ there alone, M_ij for M_ii = 0, and so do their columns. Then sums
    # with random weights w differ by M_ij (w_j - w_i): of the pairs for which that holds, few are compared.
    rows, columns, linear = bits(M), bits(M.T), bits(D - D[:, :1])
    w = np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64)
    row_sum, column_sum, linear_sum = rows @ w, columns @ w, linear @ w
    for i in range(1, n):
        apart = w[:i] - w[i]
        alike = row_sum[i] - row_sum[:i] == rows[i, :i] * apart
        alike &= (column_sum[i] - column_sum[:i] == columns[i, :i] * apart) & (linear_sum[i] == linear_sum[:i])
        for j in np.flatnonzero(alike & (labels[:i] == np.arange(i))):
            order = np.arange(n)
            order[[i, j]] = j, i
            same = np.array_equal(M[i], M[j, order]) and np.array_equal(M[:, i], M[order, j])
            if same and np.ptp(D[i] - D[j]) == 0:
                labels[i] = j
                break
    return labels


def bits(M: np.ndarray) -> np.ndarray:
    """Return numbers as unsigned integers that are equal where the numbers are."""
    return np.ascontiguousarray(M + M.dtype.type(0)).view(np.uint64)  # -0.0 becomes 0.0


def _alike(labels: np.ndarray) -> int:
    """Return the number of pairs with the same label."""
    counts = np.bincount(labels)
    return int((counts * (counts - 1)).sum())


def _padded(
    kind: str,
    pairs: Pairs,
    D: np.ndarray,
    labels: np.ndarray,
    unit: int | float,
    tiny: int | float,
    swapped: bool,
) -> SwapForm:
    n = len(D)
    width = whole(n) + LANES // 2  # other than a power of two, lest columns of a matrix compete for the cache

    def wide(M: np.ndarray) -> np.ndarray:
        out = aligned((*M.shape[:-1], width), np.dtype(kind))
        out[..., :n] = M.astype(kind)  # modulo 2^32: what overflows here cancels in every change
        return out

    L, R = (np.stack([pair[k] for pair in pairs]) for k in (0, 1))
    S, T = (L[0], 2 * R[0]) if len(pairs) == 1 else (L[0] + L[1], R[0] + R[1])
    X = aligned((n, width), np.dtype("i4"))
    X[:] = NEVER
    X[:, :n][np.triu(labels[:, None] != labels[None, :], 1)] = 0
    return SwapForm(kind, n, wide(L), wide(R), wide(S), wide(T), wide(D), X, unit, tiny, swapped)


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return zeros whose first entry, and so every row of a padded matrix, begins at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    first = -raw.ctypes.data % ALIGNMENT
    return raw[first : first + size].view(dtype).reshape(shape)
