"""Three operator splitting on faces of the Birkhoff polytope around a permutation, in compiled code.

All rows but k keep their places. What remains is a quadratic assignment problem of size k with a linear term, and
[YMS21] Algorithm 1 with split 2 solves its relaxation from a random point near the barycentre, while a concave
quadratic is added step by step (mu below) until the iterate is a permutation:

    f(X) - mu / 2 (||X||^2 - k),    gamma mu = (t / T)^3 at iteration t of T.

A, B and C are those of the whole problem, float64. Matrices have zero row and column sums after centring, so the
projection onto unit sums needs only the sums of z and of y.
"""

from functools import cache
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from trisplit.kernels import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (6, 12)  # rows of a face, in turn
ITERATIONS = 60
SPREAD = 0.3  # of the random start
POWER_STEPS = 8
ROUNDED = 0.97  # ||z||^2 / k of an iterate that is a permutation but for rounding
NEAR = 0.6  # the chance that the next neighbour is taken


@compiled()
def best_assignment(X: np.ndarray, column_of: np.ndarray) -> None:
    """Write the permutation that maximises <X, P>: shortest augmenting paths, O(k^3)."""
    k = X.shape[0]
    u, v, least = np.zeros(k + 1), np.zeros(k + 1), np.empty(k + 1)
    row_at, way, used = np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64), np.empty(k + 1, np.bool_)
    for row in range(1, k + 1):
        row_at[0] = row
        j = 0
        least[:] = np.inf
        used[:] = False
        while True:
            used[j] = True
            i, delta, following = row_at[j], np.inf, -1
            for c in range(1, k + 1):
                if not used[c]:
                    cost = -X[i - 1, c - 1] - u[i] - v[c]
                    if cost < least[c]:
                        least[c], way[c] = cost, j
                    if following < 0 or least[c] < delta:
                        delta, following = least[c], c
            for c in range(k + 1):
                if used[c]:
                    u[row_at[c]] += delta
                    v[c] -= delta
                else:
                    least[c] -= delta
            j = following
            if row_at[j] == 0:
                break
        while j != 0:
            row_at[j] = row_at[way[j]]
            j = way[j]
    for c in range(1, k + 1):
        column_of[row_at[c] - 1] = c - 1


@compiled()
def centre(M: np.ndarray) -> None:
    """Subtract means, so that rows and columns add up to zero."""
    k = M.shape[0]
    rows, columns, mean = np.zeros(k), np.zeros(k), 0.0
    for i in range(k):
        for j in range(k):
            rows[i] += M[i, j] / k
            columns[j] += M[i, j] / k
        mean += rows[i] / k
    for i in range(k):
        for j in range(k):
            M[i, j] += mean - rows[i] - columns[j]


@compiled(fast=True)
def norm_estimate(M: np.ndarray) -> float:
    """Return about ||M||, by some steps of the power method for M'M."""
    k = M.shape[0]
    v, w, square = np.empty(k), np.empty(k), 0.0
    for i in range(k):
        v[i] = 1.0 + 0.1 * (7 * i % 5) - 0.2 * (i % 2)
    for _ in range(POWER_STEPS):
        w[:] = 0.0
        before = 0.0
        for i in range(k):
            total = 0.0
            for j in range(k):
                total += M[i, j] * v[j]
            before += v[i] * v[i]
            for j in range(k):
                w[j] += M[i, j] * total
        square = 0.0
        for i in range(k):
            square += w[i] * w[i]
        square = sqrt(square)
        if square == 0.0:
            return 0.0
        growth = square / sqrt(before)
        for i in range(k):
            v[i] = w[i] / square
        square = growth
    return sqrt(square)


@compiled(fast=True)
def clip_and_sum(y: np.ndarray, z: np.ndarray, sums: np.ndarray) -> float:
    """Write z = y clipped to [0, 1], and the row and column sums of z and y; return ||z||^2."""
    square = 0.0
    sums[1:] = 0.0
    sums[0] = 0.0
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            w = y[i, j]
            c = min(max(w, 0.0), 1.0)
            z[i, j] = c
            square += c * c
            sums[0, i] += c
            sums[1, j] += c
            sums[2, i] += w
            sums[3, j] += w
    return square


@compiled(fast=True)
def half_step(
    y: np.ndarray, z: np.ndarray, u: np.ndarray, g0: np.ndarray, gamma: float, bend: float, sums: np.ndarray
) -> None:
    """Move y by x - z, where x is the projection of 2 z - y - gamma (2 u + g0 - mu z), and bend is gamma mu.

    The sums are used up.
    """
    k = y.shape[0]
    scale, whole = 2.0 + bend, 0.0
    for i in range(k):
        whole += scale * sums[0, i] - sums[2, i]
    shift = 1.0 / k + whole / k / k
    for j in range(k):
        sums[1, j] = (scale * sums[1, j] - sums[3, j]) / k
    for i in range(k):
        row = shift - (scale * sums[0, i] - sums[2, i]) / k
        for j in range(k):
            x = scale * z[i, j] - y[i, j] - gamma * (2.0 * u[i, j] + g0[i, j])
            y[i, j] += x + (row - sums[1, j]) - z[i, j]


@compiled(fast=True)
def small_product(A: np.ndarray, X: np.ndarray, Bt: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """Write A X Bt; for a dozen rows faster than a library."""
    k = A.shape[0]
    w[:] = 0.0
    out[:] = 0.0
    for i in range(k):
        for m in range(k):
            for j in range(k):
                w[i, j] += A[i, m] * X[m, j]
    for i in range(k):
        for m in range(k):
            for j in range(k):
                out[i, j] += w[i, m] * Bt[m, j]


@compiled()
def relaxed_point(
    a: np.ndarray, b: np.ndarray, linear: np.ndarray, rng: np.random.Generator, iterations: int
) -> np.ndarray:
    """Return the last z of the splitting for the small problem with matrices a, b and a linear term."""
    k = a.shape[0]
    ac, bc = a.copy(), b.copy()
    centre(ac)
    centre(bc)
    act, bct = ac.T.copy(), bc.T.copy()
    symmetric = True
    for i in range(k):
        for j in range(k):
            symmetric = symmetric and a[i, j] == a[j, i] and b[i, j] == b[j, i]
    g0 = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            g0[i, j] = (a[i].sum() * b[j].sum() + a[:, i].sum() * b[:, j].sum()) / k + linear[i, j]
    centre(g0)
    L, slope = 2.0 * norm_estimate(ac) * norm_estimate(bc), sqrt((g0 * g0).sum())
    L = max(L, 1e-12 * slope)
    gamma = 1.0 / L if L > 0.0 else 1.0
    y, z, u, other, w, sums = (
        np.empty((k, k)),
        np.empty((k, k)),
        np.empty((k, k)),
        np.empty((k, k)),
        np.empty((k, k)),
        np.empty((4, k)),
    )
    for i in range(k):
        for j in range(k):
            y[i, j] = (1.0 + SPREAD * rng.standard_normal()) / k
    for t in range(iterations):
        square = clip_and_sum(y, z, sums)
        if square > ROUNDED * k and np.abs(sums[:2] - 1.0).max() < 0.05:
            break
        small_product(ac, z, bct, w, u)
        if not symmetric:
            small_product(act, z, bc, w, other)
            for i in range(k):
                for j in range(k):
                    u[i, j] = (u[i, j] + other[i, j]) / 2.0
        half_step(y, z, u, g0, gamma, ((t + 1) / iterations) ** 3, sums)
    clip_and_sum(y, z, sums)
    return z


@compiled()
def restart(
    A: np.ndarray,
    B: np.ndarray,
    C: np.ndarray,
    p: np.ndarray,
    rows: np.ndarray,
    rng: np.random.Generator,
    q: np.ndarray,
) -> float:
    """Write the permutation q that the splitting finds on the face where `rows` are free; return its cost less p's."""
    n, k = p.size, rows.size
    columns, free = p[rows], np.zeros(n, np.bool_)
    for row in rows:
        free[row] = True
    a, b, linear = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    others = np.empty(n - k, np.int64)
    m = 0
    for i in range(n):
        if not free[i]:
            others[m] = i
            m += 1
    # What the free rows pay to the others, place by place; contiguous copies make the sums fast.
    ar, at, br, bt = np.empty((k, m)), np.empty((k, m)), np.empty((k, m)), np.empty((k, m))
    for i in range(k):
        for j in range(k):
            a[i, j], b[i, j] = A[rows[i], rows[j]], B[columns[i], columns[j]]
        for j in range(m):
            ar[i, j], at[i, j] = A[rows[i], others[j]], A[others[j], rows[i]]
            br[i, j], bt[i, j] = B[columns[i], p[others[j]]], B[p[others[j]], columns[i]]
    has_linear = C.size > 0
    for i in range(k):
        for j in range(k):
            total = C[rows[i], columns[j]] if has_linear else 0.0
            for c in range(m):
                total += ar[i, c] * br[j, c] + at[i, c] * bt[j, c]
            linear[i, j] = total
    to = np.empty(k, np.int64)
    best_assignment(relaxed_point(a, b, linear, rng, ITERATIONS), to)
    change = 0.0
    for i in range(k):
        change += linear[i, to[i]] - linear[i, i]
        for j in range(k):
            change += a[i, j] * (b[to[i], to[j]] - b[i, j])
    for i in range(n):  # an assignment of arrays would take seconds to compile
        q[i] = p[i]
    for i in range(k):
        q[rows[i]] = columns[to[i]]
    return change


@compiled()
def choose_rows(rng: np.random.Generator, near: np.ndarray, inverse: np.ndarray, rows: np.ndarray) -> None:
    """Fill `rows`: half of the time at random, else with neighbours of a random row, or of a random place."""
    n, k = inverse.size, rows.size
    if rng.random() < 0.5:
        order = np.arange(n)
        for i in range(k):
            j = i + rng.integers(0, n - i)
            order[i], order[j] = order[j], order[i]
            rows[i] = order[i]
        return
    by_place = rng.random() < 0.5
    middle, taken, m, i = rng.integers(0, n), np.zeros(n, np.bool_), 1, 0
    rows[0] = inverse[middle] if by_place else middle
    taken[rows[0]] = True
    while m < k:
        other = near[1 if by_place else 0, middle, i % n]
        row = inverse[other] if by_place else other
        i += 1
        if not taken[row] and rng.random() < NEAR:
            rows[m], taken[row] = row, True
            m += 1


@compiled()
def move(p: np.ndarray, inverse: np.ndarray, q: np.ndarray) -> None:
    """Overwrite p and its inverse by q and its inverse."""
    for i in range(p.size):
        p[i] = q[i]
        inverse[q[i]] = i


def search_faces(
    A: np.ndarray,
    B: np.ndarray,
    C: np.ndarray,
    near: np.ndarray,
    p: np.ndarray,
    inverse: np.ndarray,
    rng: np.random.Generator,
    counts: np.ndarray,
    kick: int,
    patience: int,
    restarts: int,
) -> float:
    """Restart on faces until `patience` restarts in a row were in vain, or `restarts` are done; change p.

    A permutation that is not worse is taken, and that of the first face, of `kick` rows, whatever it is. Returned is
    how much the cost fell; `counts` are the restarts in vain since the last success, and all of them.
    """
    n, fallen = p.size, 0.0
    q, six, twelve = np.empty(n, np.int64), np.empty(min(SIZES[0], n), np.int64), np.empty(min(SIZES[1], n), np.int64)
    tiny = 1e-12 * max(np.abs(A).max() * np.abs(B).max(), np.abs(C).max() if C.size else 0.0)
    if kick:
        rows = np.empty(kick, np.int64)
        choose_rows(rng, near, inverse, rows)
        fallen -= restart(A, B, C, p, rows, rng, q)
        move(p, inverse, q)
    for _ in range(restarts):
        if counts[0] >= patience:
            break
        rows = six if counts[1] % 2 == 0 else twelve
        choose_rows(rng, near, inverse, rows)
        change = restart(A, B, C, p, rows, rng, q)
        counts[1] += 1
        if change <= 0.0:
            move(p, inverse, q)
        if change < -tiny:
            fallen -= change
            counts[0] = 0
        else:
            counts[0] += 1
    return fallen


@cache
def engine() -> "Callable[..., float]":
    """Return `search_faces`, compiled."""
    data = "f8[:,::1],f8[:,::1],f8[:,::1],i8[:,:,::1],i8[::1],i8[::1],npy_rng"
    return compiled(f"f8({data},i8[::1],i8,i8,i8)")(search_faces)
