"""What the swap of two assignments changes, for all pairs at once, in compiled code.

The problem comes in the form of `qap/swap_form.py`: minimise over permutations p

    g(p) = 1/2 sum_t sum_ij L[t,i,j] R[t,p_j,p_i] + sum_i D[i,p_i],    all diagonals of L and R zero,

with one pair L, R of symmetric matrices, or with two, L[1] = L[0]' and R[1] = R[0]'. What row i would pay at column l,

    W[i,l] = D[i,l] + sum_t sum_j L[t,i,j] R[t,p_j,l],

gives the change of g if rows r and s swap their columns,

    d[r,s] = W[r,p_s] + W[s,p_r] - W[r,p_r] - W[s,p_s] + S[r,s] T[p_r,p_s],

where S and T are L and 2 R for one pair, L[0] + L[1] and R[0] + R[1] for two. After a swap, with
a_t[i] = L[t,i,r] - L[t,i,s], c_t[l] = R[t,p_s,l] - R[t,p_r,l] and b_t[i] = c_t[p_i] (p as before it),

    W[i,l] += sum_t a_t[i] c_t[l],    d[u,v] -= sum_t (a_t[u] - a_t[v]) (b_t[u] - b_t[v])    for u, v other than r, s:

a contiguous rank-one update, after which the two rows of d that remain cost O(n) each. Integers are computed modulo
2^32 or 2^64: only the entries of d must fit, which `swap_form` proves, not what they are sums of.

Rows are as long as a multiple of 16 numbers. Only d[u,v] with u < v counts; X, the number of the move until which a
pair is forbidden, is `NEVER` elsewhere, and for pairs whose swap changes nothing.

Reference: E. D. Taillard, Robust taboo search for the quadratic assignment problem, Parallel Computing 17 (1991)
443-455, for the update of d.
"""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from trisplit.kernels import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

LANES = 32  # numbers: two vectors of the processor
NEVER = 2**31 - 1  # in X: a pair that is never swapped
ALWAYS = NEVER - 1  # the move until which every other pair has been allowed again
SLOPES, COLUMNS = 3, 4  # rows of the scratch arrays: a, b, c for each t; W[i,p_i], W[i,p_r], W[i,p_s], a row of d


def whole(n: int) -> int:
    """Return n, rounded up to a multiple of `LANES`."""
    return (n + LANES - 1) // LANES * LANES


def write_row(
    S: np.ndarray,
    T: np.ndarray,
    W: np.ndarray,
    p: np.ndarray,
    r: int,
    across: np.ndarray,
    slopes: np.ndarray,
    columns: np.ndarray,
    d: np.ndarray,
) -> None:
    """Write d[r,v] for all v, plus what `sweep` is going to subtract; across[v] is W[v,p_r]."""
    number, n = d.dtype.type, p.size
    W_r, S_r, T_r, own, line = W[r], S[r], T[p[r]], columns[0], columns[3]
    own_r = own[r]
    for v in range(n):
        at = np.uint64(p[v])  # an unsigned index needs no test of its sign
        line[v] = number(W_r[at] + across[v] - own_r - own[v] + S_r[v] * T_r[at])
    for t in range(slopes.shape[0]):
        a, b = slopes[t, 0], slopes[t, 1]
        a_r, b_r = a[r], b[r]
        for v in range(n):
            line[v] = number(line[v] + number(a_r - a[v]) * number(b_r - b[v]))
    for v in range(r):
        d[v, r] = line[v]
    d_r = d[r]
    for v in range(n - r):
        at = np.uint64(r) + np.uint64(v)
        d_r[at] = line[at]


def fill(
    L: np.ndarray,
    R: np.ndarray,
    S: np.ndarray,
    T: np.ndarray,
    D: np.ndarray,
    p: np.ndarray,
    W: np.ndarray,
    d: np.ndarray,
    slopes: np.ndarray,
    columns: np.ndarray,
) -> None:
    """Write W and d for the permutation p from scratch, in O(n^3)."""
    number, n, w = W.dtype.type, p.size, whole(p.size)
    slopes[:] = 0
    own, across = columns[0], columns[1]
    for i in range(n):
        W_i = W[i]
        for k in range(W.shape[1]):  # an assignment of arrays would take seconds to compile
            W_i[k] = D[i, k]
        for t in range(L.shape[0]):
            for j in range(n):
                a, R_j = L[t, i, j], R[t, p[j]]
                for k in range(w):
                    W_i[k] = number(W_i[k] + number(a * R_j[k]))
        own[i] = W_i[p[i]]
    for r in range(n):
        for v in range(n):
            across[v] = W[v, p[r]]
        write_row(S, T, W, p, r, across, slopes, columns, d)


def turn(
    L: np.ndarray,
    R: np.ndarray,
    S: np.ndarray,
    T: np.ndarray,
    p: np.ndarray,
    r: int,
    s: int,
    W: np.ndarray,
    d: np.ndarray,
    slopes: np.ndarray,
    columns: np.ndarray,
) -> None:
    """Swap the columns of rows r and s in p, and bring W up to date; `sweep` does the rest of d."""
    number, n, w, pairs = W.dtype.type, p.size, whole(p.size), L.shape[0]
    for t in range(pairs):
        a, b, c = slopes[t, 0], slopes[t, 1], slopes[t, 2]
        L_r, L_s, R_s, R_r = L[pairs - 1 - t, r], L[pairs - 1 - t, s], R[t, p[s]], R[t, p[r]]
        for k in range(w):
            a[k] = L_r[k] - L_s[k]
            c[k] = R_s[k] - R_r[k]
        for k in range(n):
            b[k] = c[np.uint64(p[k])]
        for i in range(n):
            W_i, a_i = W[i], a[i]
            for k in range(w):
                W_i[k] = number(W_i[k] + number(a_i * c[k]))
    p[r], p[s] = p[s], p[r]
    own, at_r, at_s, p_r, p_s = columns[0], columns[1], columns[2], np.uint64(p[r]), np.uint64(p[s])
    for i in range(n):
        W_i = W[i]
        own[i], at_r[i], at_s[i] = W_i[np.uint64(p[i])], W_i[p_r], W_i[p_s]
    write_row(S, T, W, p, r, columns[1], slopes, columns, d)
    write_row(S, T, W, p, s, columns[2], slopes, columns, d)


def lower(d: np.ndarray, a: np.ndarray, b: np.ndarray, n: int) -> None:
    """Subtract (a[u] - a[v]) (b[u] - b[v]) from d[u,v] for u < v."""
    number, w = d.dtype.type, whole(n)
    for u in range(n):
        first = u // LANES * LANES
        d_u, a_u, b_u = d[u], a[u], b[u]
        for k in range(w - first):
            v = np.uint64(first) + np.uint64(k)
            d_u[v] = number(d_u[v] - number(a_u - a[v]) * number(b_u - b[v]))


def sweep(
    d: np.ndarray, X: np.ndarray, slopes: np.ndarray, n: int, now: int, aspired: float, top: float, chance: float
) -> tuple[int, int]:
    """Bring d up to date, and return the pair u < v with the least d[u,v] of those that are allowed, or -1, -1.

    A pair is allowed if X[u,v] <= now or d[u,v] < aspired. Entries of d are below `top`. Where several pairs are best,
    `chance`, from 0 to 1, decides. The minimum is taken by `min`: the compiler knows how to do that with vectors.
    """
    number, w, pairs, always = d.dtype.type, whole(n), slopes.shape[0], np.int32(ALWAYS)
    for t in range(pairs - 1):
        lower(d, slopes[t, 0], slopes[t, 1], n)
    a, b, move = slopes[pairs - 1, 0], slopes[pairs - 1, 1], np.int32(now)
    least, row, start = top, -1, int(chance * n)
    for i in range(n):
        u = np.uint64(i + start if i + start < n else i + start - n)
        first = u // np.uint64(LANES) * np.uint64(LANES)
        d_u, X_u, a_u, b_u, least_u = d[u], X[u], a[u], b[u], top
        for k in range(w - np.int64(first)):
            v = first + np.uint64(k)
            x = number(d_u[v] - number(a_u - a[v]) * number(b_u - b[v]))
            d_u[v] = x
            until = always if x < aspired else move
            least_u = min(least_u, x if X_u[v] <= until else top)
        if least_u < least:
            least, row = least_u, np.int64(u)
    if row < 0:
        return -1, -1
    limit = always if least < aspired else move
    column = row + 1 + int((chance * n - start) * (n - 1 - row))
    while not (d[row, column] == least and X[row, column] <= limit):
        column = column + 1 if column + 1 < n else row + 1
    return row, column  # pyright: ignore[reportReturnType]


def descend(
    L: np.ndarray,
    R: np.ndarray,
    S: np.ndarray,
    T: np.ndarray,
    X: np.ndarray,
    p: np.ndarray,
    W: np.ndarray,
    d: np.ndarray,
    slopes: np.ndarray,
    columns: np.ndarray,
    top: float,
    tiny: float,
    moves: int,
) -> int:
    """Make the swap that lowers g most, up to `moves` times; return how many did so by more than `tiny`."""
    lowest = d.dtype.type(-top)
    slopes[:] = 0
    r, s = sweep(d, X, slopes, p.size, 0, lowest, top, 0.0)
    for move in range(moves):
        if r < 0 or d[r, s] >= -tiny:
            return move
        turn(L, R, S, T, p, r, s, W, d, slopes, columns)
        r, s = sweep(d, X, slopes, p.size, 0, lowest, top, 0.0)
    return moves


def scratch(kind: str) -> str:
    """Return the types of W, d, `slopes` and `columns` in a signature."""
    return f"{kind}[:,::1],{kind}[:,::1],{kind}[:,:,::1],{kind}[:,::1]"


def problem(kind: str) -> str:
    """Return the types of L, R, S and T in a signature."""
    return f"{kind}[:,:,::1],{kind}[:,:,::1],{kind}[:,::1],{kind}[:,::1]"


@cache
def engine(kind: str) -> "tuple[Callable[..., None], Callable[..., int]]":
    """Return `fill` and `descend`, compiled for "i4", "i8" or "f8"."""
    filling = compiled(f"void({problem(kind)},{kind}[:,::1],i8[::1],{scratch(kind)})")(fill)
    signature = f"i8({problem(kind)},i4[:,::1],i8[::1],{scratch(kind)},{kind},{kind},i8)"
    return filling, compiled(signature)(descend)
