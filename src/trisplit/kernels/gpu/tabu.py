"""Tabu search from many permutations at once in Triton, one program for each: what `kernels/tabu.py` is on the CPU.

The notation is that of `kernels/swaps.py`. A program makes its moves from one permutation, which `changes.py`
prepares, and keeps the best one of its way. It is made for few bytes a move:

- Of the symmetric d, and of X, the move until which a swap is tabu, only pairs u < v are kept, folded into a
  rectangle of H = ceil(n/2) rows: place (i,j) is the pair (i,j) if j > i, and (n-1-i, n-1-j) if j < i. One pass over it
  updates d and finds the best pair that is allowed.
- W changes by a_t c_t' a move. Up to K such pairs wait in A and C; rows and columns of W that are needed are taken from
  what is in memory and what waits, and only every K moves W is brought up to date.
- Rows r and s of d and X are written, before the pass, in O(n) and with what it is going to subtract.

Threads of a program share all that by way of memory, so barriers part what is written from what is read after it.

The pair that is chosen among equals, and the tenure, come from a hash of the seed, the program and the move: `plain.py`
has the same, and so makes the same moves.
"""

# ruff: noqa: ANN001, ANN201  a kernel is typed by its arguments
# pyright: reportGeneralTypeIssues=false, reportAttributeAccessIssue=false

import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]

from trisplit.kernels.swaps import ALWAYS, NEVER

never, always = tl.constexpr(NEVER), tl.constexpr(ALWAYS)


@triton.jit
def scrambled(x):
    """Return a uint32 that has nothing to do with x."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x2C1B3C6D
    return x ^ (x >> 16)


@triton.jit
def noise(seed, me, step, which):
    """Return 31 random bits."""
    x = scrambled(seed.to(tl.uint32) ^ scrambled(me.to(tl.uint32)))
    return (scrambled(x + (step * 4 + which).to(tl.uint32)) >> 1).to(tl.int32)


@triton.jit
def apart(x, i, j, n, width):
    """Return x[u] - x[v] for the pairs u, v at the places i, j."""
    x_i, x_j = tl.load(x + i, mask=i < width, other=0), tl.load(x + j, mask=j < width, other=0)
    y_i, y_j = tl.load(x + (n - 1 - i), mask=i < n, other=0), tl.load(x + (n - 1 - j), mask=j < n, other=0)
    there, mirrored = x_i[:, None] - x_j[None, :], y_i[:, None] - y_j[None, :]
    return tl.where(j[None, :] > i[:, None], there, mirrored)


@triton.jit
def write_row(S, T, E, barred, a, b, d, X, v, r, s, p_r, p, W_r, across, own_r, own, n, width, PAIRS: tl.constexpr):
    """Write d[r,v] plus what the pass is going to subtract, and X[r,v], v other than r, s; across[v] is W[v,p_r]."""
    real = v < n
    line = W_r + across - own_r - own
    line += tl.load(S + r * width + v, mask=real, other=0) * tl.load(T + p_r * width + p, mask=real, other=0)
    for t in tl.static_range(PAIRS):
        a_v, b_v = tl.load(a + t * width + v, mask=real, other=0), tl.load(b + t * width + v, mask=real, other=0)
        line += (tl.load(a + t * width + r) - a_v) * (tl.load(b + t * width + r) - b_v)
    until = tl.minimum(tl.load(E + r * width + p, mask=real, other=0), tl.load(E + v * width + p_r, mask=real, other=0))
    until = tl.where(tl.load(barred + r * width + v, mask=real, other=1) != 0, never, until)
    first, second = tl.minimum(r, v), tl.maximum(r, v)
    direct = first < (n + 1) // 2
    place = tl.where(direct, first, n - 1 - first) * width + tl.where(direct, second, n - 1 - second)
    wanted = real & (v != r) & (v != s)
    tl.store(d + place, line, mask=wanted)
    tl.store(X + place, until, mask=wanted)


@triton.jit
def bring_up_to_date(W, A, C, waiting, u, v, n, width, ROWS: tl.constexpr):
    """Add a c' to W for all pairs that wait."""
    for first in range(0, n, ROWS):
        i = first + u
        inside = (i < n)[:, None] & (v < width)[None, :]
        place = W + i[:, None] * width + v[None, :]
        tile = tl.load(place, mask=inside, other=0)
        for k in range(0, waiting):
            a = tl.load(A + k * width + i, mask=i < n, other=0)
            c = tl.load(C + k * width + v, mask=v < width, other=0)
            tile += a[:, None] * c[None, :]
        tl.store(place, tile, mask=inside)


@triton.jit
def allowed_changes(d, X, a, b, u, v, aspired, step, top, n, width, PAIRS: tl.constexpr):
    """Bring rows u of d up to date, and return them with `top` in place of pairs that are not allowed."""
    inside = (u < (n + 1) // 2)[:, None] & (v < width)[None, :]
    place = u[:, None] * width + v[None, :]
    x = tl.load(d + place, mask=inside, other=0)
    until = tl.load(X + place, mask=inside, other=never)
    for t in tl.static_range(PAIRS):
        x -= apart(a + t * width, u, v, n, width) * apart(b + t * width, u, v, n, width)
    tl.store(d + place, x, mask=inside)
    return tl.where(until <= tl.where(x < aspired, always, step), x, top)


@triton.jit(do_not_specialize=["n", "seed", "moves"])
def search(
    L,
    R,
    S,
    T,
    barred,
    p,
    best_p,
    W,
    d,
    X,
    E,
    A,
    B,
    C,
    gains,
    made,
    tenures,
    limits,
    n,
    width,
    seed,
    moves,
    NP: tl.constexpr,  # a power of two, at least n
    ROWS: tl.constexpr,  # of a tile of d
    PAIRS: tl.constexpr,
    K: tl.constexpr,
    DESCENT: tl.constexpr,  # stop where no swap helps
):
    """Make so many moves; write the best permutation, how much lower its g is, and how many moves were made."""
    me = tl.program_id(0)
    member, H = me.to(tl.int64), (n + 1) // 2
    number = W.dtype.element_ty
    worth = gains.dtype.element_ty
    p += member * width
    best_p += member * width
    W += member * n * width
    E += member * n * width
    d += member * H * width
    X += member * H * width
    A += member * (K * PAIRS) * width
    C += member * (K * PAIRS) * width
    B += member * PAIRS * width
    top, lowest, tiny = tl.load(limits), tl.load(limits + 1), tl.load(limits + 2)
    shortest, span = tl.load(tenures + 2 * me), tl.load(tenures + 2 * me + 1)
    zero = me * 0
    r, s, step, pending, count, found = zero, zero, zero, zero, zero, zero > 0
    value, best, delta = zero.to(worth), zero.to(worth), zero.to(worth)
    while step <= moves:
        # A 0 that the compiler does not know: it would keep all addresses in registers, which are too few for that.
        unknown = tl.load(limits + 3).to(tl.int32) * 16
        i, u = tl.arange(0, NP) + unknown, tl.arange(0, ROWS) + unknown
        real, wide = i < n, i < width
        # The swap of r and s, which are both 0 if there is none: slopes first, of the permutation before it.
        p_r, p_s = tl.load(p + r), tl.load(p + s)
        q = tl.load(p + i, mask=real, other=0)
        a_now = A + pending * PAIRS * width
        c_now = C + pending * PAIRS * width
        for t in tl.static_range(PAIRS):
            L_t, R_t = L + (PAIRS - 1 - t) * n * width, R + t * n * width
            a = tl.load(L_t + r * width + i, mask=wide, other=0) - tl.load(L_t + s * width + i, mask=wide, other=0)
            c = tl.load(R_t + p_s * width + i, mask=wide, other=0) - tl.load(R_t + p_r * width + i, mask=wide, other=0)
            b = tl.load(R_t + p_s * width + q, mask=real, other=0) - tl.load(R_t + p_r * width + q, mask=real, other=0)
            tl.store(a_now + t * width + i, a, mask=wide)
            tl.store(c_now + t * width + i, c, mask=wide)
            tl.store(B + t * width + i, b, mask=wide)
        if not DESCENT:
            back = step + shortest
            tl.store(E + r * width + p_r, back + noise(seed, me, step, 1) % span, mask=found)
            tl.store(E + s * width + p_s, back + noise(seed, me, step, 2) % span, mask=found)
        tl.debug_barrier()

        # Then the permutation after it, of which p_s is the column of r.
        q = tl.where(i == r, p_s, tl.where(i == s, p_r, q))
        tl.store(p + i, q, mask=real)
        value += delta
        gained = value < best - tiny
        best = tl.where(gained, value, best)
        tl.store(best_p + i, q, mask=i < tl.where(gained, n, 0))
        own = tl.load(W + i * width + q, mask=real, other=0)
        own_r, own_s = tl.load(W + r * width + p_s), tl.load(W + s * width + p_r)
        W_r = tl.load(W + r * width + q, mask=real, other=0)
        W_s = tl.load(W + s * width + q, mask=real, other=0)
        at_r = tl.load(W + i * width + p_s, mask=real, other=0)
        at_s = tl.load(W + i * width + p_r, mask=real, other=0)
        for k in range(0, (pending + 1) * PAIRS):
            a_k, c_k = tl.load(A + k * width + i, mask=real, other=0), tl.load(C + k * width + q, mask=real, other=0)
            a_r, a_s = tl.load(A + k * width + r), tl.load(A + k * width + s)
            c_r, c_s = tl.load(C + k * width + p_s), tl.load(C + k * width + p_r)
            own += a_k * c_k
            own_r += a_r * c_r
            own_s += a_s * c_s
            W_r += a_r * c_k
            W_s += a_s * c_k
            at_r += a_k * c_r
            at_s += a_k * c_s
        write_row(S, T, E, barred, a_now, B, d, X, i, r, r, p_s, q, W_r, at_r, own_r, own, n, width, PAIRS)
        write_row(S, T, E, barred, a_now, B, d, X, i, s, r, p_r, q, W_s, at_s, own_s, own, n, width, PAIRS)
        tl.debug_barrier()

        # The pass over d.
        pending += 1
        if pending == K:
            bring_up_to_date(W, A, C, pending * PAIRS, u, i, n, width, ROWS)
        pending = tl.where(pending == K, 0, pending)
        aspired = tl.maximum(best - value, lowest).to(number)
        bits = noise(seed, me, step, 0) & (NP * NP // 2 - 1)
        none = top.to(number)
        least = allowed_changes(d, X, a_now, B, u, i, aspired, step, none, n, width, PAIRS)
        keys = (u[:, None] * NP + i[None, :]) ^ bits
        if 2 * ROWS < NP:
            for first in range(ROWS, H, ROWS):
                x = allowed_changes(d, X, a_now, B, first + u, i, aspired, step, none, n, width, PAIRS)
                key = ((first + u)[:, None] * NP + i[None, :]) ^ bits
                better = (x < least) | ((x == least) & (key < keys))
                least = tl.where(better, x, least)
                keys = tl.where(better, key, keys)
        lowest_change = tl.min(least)
        chosen = tl.min(tl.where(least == lowest_change, keys, never)) ^ bits
        row, column = chosen // NP, chosen % NP
        change = lowest_change.to(worth)
        found = change < -tiny if DESCENT else change < top
        delta = tl.where(found, change, zero.to(worth))
        r = tl.where(found, tl.where(column > row, row, n - 1 - row), 0)
        s = tl.where(found, tl.where(column > row, column, n - 1 - column), 0)
        step += 1
        if DESCENT:
            step = tl.where(found, step, moves + 1)
        count += (found & (step <= moves)).to(tl.int32)
        tl.debug_barrier()
    tl.store(gains + member, -best)
    tl.store(made + member, count)
