"""The doubly nonnegative bound: a semidefinite relaxation, solved by splitting, with a safe dual bound.

Over permutations, with x = vec(X) and q(x) = x'Q x the cost (Q the symmetric part of the Kronecker product of A and B,
plus C on its diagonal), the matrix Y = [1; x] [1; x]' is positive semidefinite, lies in V R V' because rows and columns
sum to one, has entries in [0, 1], and zeros where two rows would share a column or two columns a row. The relaxation
keeps these properties and no others:

    minimise <Q, Y_xx>   with   Y = V R V', R psd,   Y in the box, with its zeros.

The alternating direction method of multipliers solves it: the two constraints on Y meet only through the multiplier Z.

**The bound** needs no convergence. For *any* symmetric S, with M = Q - S, a permutation has

    x'Q x = x'S x + x'M x >= x'S x + <m, x>,

where m_a is M_aa plus the sum, over the rows of X, of the smallest M_ab of those b in the row that fit to a; or the
same sum over columns. And x'S x + eps ||x||^2 is convex on matrices with unit sums if eps is at least minus the
smallest eigenvalue of S there. A tangent plane at any x0 with unit sums then bounds the cost by an assignment problem,
as in `spectral`. S = -Z_xx and the first column of Y as x0 make that bound equal to the relaxation where the method has
converged. The certificate holds S as 32-bit integers, eps, x0 and the dual variables of the assignment problem.

References: Q. Zhao, S. E. Karisch, F. Rendl, H. Wolkowicz, Semidefinite programming relaxations for the quadratic
assignment problem, Journal of Combinatorial Optimization 2 (1998) 71-109; D. E. Oliveira, H. Wolkowicz, Y. Xu, ADMM for
the SDP relaxation of the QAP, Mathematical Programming Computation 10 (2018) 631-658.
"""

import base64
import zlib
from fractions import Fraction
from time import perf_counter
from typing import NamedTuple

import numpy as np

from trisplit.qap.bounds.assignment import assignment_duals
from trisplit.qap.bounds.gilmore_lawler import Bounded
from trisplit.qap.bounds.integers import Integers
from trisplit.qap.bounds.relaxed import Relaxed, Snapshot, pairs_that_fit

BITS = 40  # of eps, x0 and the dual variables
ONE = 2**BITS
ENTRY_BITS = 30  # of S
MAX_ITER, LOOK = 3_000, 25
STAGNANT = 12  # looks without progress
EARLY, LATER, SETTLED = 10, 50, 250  # beta is balanced so often, first and after so many iterations
PLANE = 1.8  # the tangent plane in integers takes longer than the integers of the beginning
UNIT_ROUNDOFF = 2.0**-53


class Dual(NamedTuple):
    """S rounded to integers, times 2^exponent; eps in the same unit, times 2^-BITS."""

    S: np.ndarray
    exponent: int
    eps: int


def dnn(problem: Integers, time_limit: float | None = None) -> Bounded:
    """Return the doubly nonnegative bound, as far as it gets within the time limit.

    Examples
    --------
    >>> from trisplit import qap
    >>> chr12a = qap.load("chr12a")
    >>> problem = Integers.of(chr12a)
    >>> bound, certificate = dnn(problem)
    >>> problem.value(bound) == chr12a.best_known
    True
    """
    begin = perf_counter()
    relaxed = Relaxed(problem)
    integers = PLANE * (perf_counter() - begin)  # the time to keep for the end
    best, idle, slowest = relaxed.look(), 0, 0.0
    for t in range(1, MAX_ITER + 1):
        started = perf_counter()
        relaxed.advance()
        now = perf_counter()
        slowest = max(slowest, now - started)
        # Another iteration and a look, then the integers.
        late = time_limit is not None and now - begin + 2.0 * slowest + integers > time_limit
        if t % LOOK == 0 or late:
            seen = relaxed.look()
            idle = 0 if seen.bound > best.bound + 1e-7 * abs(best.bound) else idle + 1
            best = max(best, seen, key=lambda snapshot: snapshot.bound)
            if late or idle >= STAGNANT or _nothing_left(problem, relaxed, best):
                break
        if t % (EARLY if t <= SETTLED else LATER) == 0:
            relaxed.balance()
    return plane(problem, best, relaxed.exponent)


def _nothing_left(problem: Integers, relaxed: Relaxed, best: Snapshot) -> bool:
    """Return whether the bound, rounded up to a possible cost, has reached the value of the relaxation."""
    step = float(Fraction(2 * problem.grain, 2**relaxed.exponent)) if problem.exact else 0.0
    # A twentieth of a step is left for what rounding S takes.
    reached = np.ceil(best.bound / step - 0.05) * step if step else best.bound
    value = relaxed.value + relaxed.uncertainty - 1e-7 * abs(relaxed.value)
    return relaxed.residual < 1e-3 and bool(reached >= value)


def plane(problem: Integers, snapshot: Snapshot, exponent: int) -> Bounded:
    """Return the exact bound of the tangent plane at the point of a snapshot, with its certificate."""
    n = problem.n
    S, e, eps = rounded(snapshot, exponent)
    X0 = np.rint(snapshot.x0.reshape(n, n) * ONE).astype(np.int64).astype(object)
    rows, columns = X0.sum(axis=1, keepdims=True), X0.sum(axis=0, keepdims=True)
    # The nearest matrix with unit sums, times n^2 2^BITS.
    x0 = (n * n * X0 - n * rows - n * columns + X0.sum() + n * ONE).ravel()
    S_x0 = S.astype(object) @ x0
    m, up = linear_costs(problem, S, e)
    costs = (2 * S_x0 * ONE + 2 * eps * x0 << up) + m * (n * n * ONE**2)  # times n^2 2^(2 BITS + up)
    u, v = assignment_duals(costs.reshape(n, n) // (n * n * ONE << up))
    square = Fraction(int((x0 * x0).sum()), n**4 * ONE**2)
    bound = Fraction(int(u.sum() + v.sum()), ONE) - Fraction(int((x0 * S_x0).sum()), n**4 * ONE**2)
    bound -= Fraction(eps, ONE) * (n + square)
    packed = base64.b64encode(zlib.compress(S[np.tril_indices(n * n)].astype("<i4").tobytes())).decode("ascii")
    certificate = {"method": "dnn", "bits": BITS, "exponent": e, "S": packed, "eps": eps, "X0": X0.tolist()}
    return bound * Fraction(2) ** (e - 1), certificate | {"u": u.tolist(), "v": v.tolist()}


def rounded(snapshot: Snapshot, exponent: int) -> Dual:
    """Return S in integers below 2^30, with an eps that a Cholesky factorisation in floating point can confirm."""
    S = snapshot.S
    largest = float(np.abs(S).max())
    shift = int(np.frexp(largest)[1]) - ENTRY_BITS if largest else 0
    whole = np.rint(np.ldexp(S, -shift)).astype(np.int64)
    P = projected(whole)
    N = len(P)
    smallest = float(np.linalg.eigvalsh(P)[0])
    room = 16 * (N + 8) * UNIT_ROUNDOFF * (float(np.abs(np.diag(P)).sum()) + N * abs(smallest) + 1.0)
    return Dual(whole, exponent + shift, int(np.ceil((max(-smallest, 0.0) + room) * ONE)))


def projected(S: np.ndarray) -> np.ndarray:
    """Return S centred along rows and columns of both indices: the form on matrices with zero sums."""
    n = round(len(S) ** 0.5)
    T = S.reshape(n, n, n, n)
    for axis in range(4):
        T = n * T - T.sum(axis=axis, keepdims=True)
    return T.reshape(S.shape).astype(np.float64) / float(n**4)


def linear_costs(problem: Integers, S: np.ndarray, exponent: int) -> tuple[np.ndarray, int]:
    """Return m of M = 2 Q - 2^exponent S in units of 2^(exponent - up), and up >= 0."""
    n = problem.n
    up, down = max(exponent, 0), max(-exponent, 0)
    Q = np.kron(problem.A, problem.B)
    M = ((Q + Q.T + np.diag(2 * problem.C.ravel())) << down) - (S.astype(object) << up)
    if np.abs(M).max() < 2**62 // n:
        M = M.astype(np.int64)
    diagonal = M.diagonal().astype(object)
    absent = M.max() + 1
    fits = pairs_that_fit(n)
    others = np.where(fits, M, absent).reshape(n * n, n, n)
    own = np.arange(n * n)
    by_rows, by_columns = others.min(axis=2), others.min(axis=1)
    by_rows[own, own // n] = 0
    by_columns[own, own % n] = 0
    least = np.maximum(by_rows.sum(axis=1), by_columns.sum(axis=1))
    return diagonal + least.astype(object), up
