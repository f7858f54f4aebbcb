"""Tabu search over swaps of pairs, and its iteration with kicks, in compiled code: resumable after every move.

A move makes the best swap that is allowed, be it for the worse. What a row leaves is forbidden for a random number
of moves, its tenure: a swap of r and s is tabu while r may not go to p_s **and** s may not go to p_r, unless it
would lead to the least g of the round. So

    X[u,v] = min(E[u,p_v], E[v,p_u]),    E[i,l] the move until which row i may not return to column l,

and a swap changes no more than two rows of X. A round ends after some moves without gain, or some moves in all.
If it has reached a g that is not larger than the best one before, the next round goes on there, else from the best one
again; in between, a kick turns some random rows in a circle: few after a gain, more after each failure.

Reference: E. D. Taillard, Robust taboo search for the quadratic assignment problem, Parallel Computing 17 (1991)
443-455.
"""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from trisplit.kernels import compiled
from trisplit.kernels.swaps import NEVER, fill, problem, scratch, sweep, turn

if TYPE_CHECKING:
    from collections.abc import Callable

# Of `counts`: the number of the move, moves in the round, those since its last gain, rounds left, rows of the next
# kick, moves since W and d were computed from scratch, and the pair to be swapped next: -1 if none is allowed,
# `UNSEEN` if it is still to be chosen.
CLOCK, MADE, IDLE, ROUNDS, KICK, AGE, ROW, COLUMN, COUNTS = 0, 1, 2, 3, 4, 5, 6, 7, 8
UNSEEN = -2
VALUE, BEST, ROUND_BEST, VALUES = 0, 1, 2, 3  # of `values`: g now, the least one, the least one of the round
# Of `rules`: moves without gain and moves in all that end a round, the least and the largest tenure, the least and the
# largest kick, what a failure adds to it, and moves after which W and d are computed from scratch.
PATIENCE, LENGTH, SHORTEST, LONGEST, WEAKEST, STRONGEST, GROWTH, REFRESH, RULES = 0, 1, 2, 3, 4, 5, 6, 7, 8


def forbid(E: np.ndarray, X: np.ndarray, p: np.ndarray, r: int) -> None:
    """Write row r of X, of which p has changed."""
    never, p_r, E_r, X_r = np.int32(NEVER), np.uint64(p[r]), E[r], X[r]
    for v in range(r):
        if X[v, r] != never:
            X[v, r] = min(E_r[np.uint64(p[v])], E[v, p_r])
    for k in range(p.size - r):
        v = np.uint64(r) + np.uint64(k)
        if X_r[v] != never:
            X_r[v] = min(E_r[np.uint64(p[v])], E[v, p_r])


def keep(p: np.ndarray, W: np.ndarray, d: np.ndarray, to_p: np.ndarray, to_W: np.ndarray, to_d: np.ndarray) -> None:
    """Copy a permutation, and what belongs to it."""
    for i in range(p.size):  # assignments of arrays would take seconds to compile
        to_p[i] = p[i]
        for j in range(W.shape[1]):
            to_W[i, j] = W[i, j]
        for j in range(d.shape[1]):
            to_d[i, j] = d[i, j]


def choose(rng: np.random.Generator, order: np.ndarray, k: int) -> None:
    """Bring k random entries to the front."""
    for i in range(k):
        j = i + int(rng.random() * (order.size - i))
        order[i], order[j] = order[j], order[i]


def kick(
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
    order: np.ndarray,
    values: np.ndarray,
    counts: np.ndarray,
    top: float,
    rng: np.random.Generator,
) -> None:
    """Turn counts[KICK] random rows in a circle, by swaps; all pairs are allowed after that."""
    lowest = d.dtype.type(-top)
    choose(rng, order, counts[KICK])
    for k in range(counts[KICK] - 1):
        i, j = order[k], order[k + 1]
        values[VALUE] += d[min(i, j), max(i, j)]
        turn(L, R, S, T, p, i, j, W, d, slopes, columns)
        counts[ROW], counts[COLUMN] = sweep(d, X, slopes, p.size, counts[CLOCK], lowest, top, rng.random())


def improve(
    L: np.ndarray,
    R: np.ndarray,
    S: np.ndarray,
    T: np.ndarray,
    D: np.ndarray,
    X: np.ndarray,
    E: np.ndarray,
    p: np.ndarray,
    W: np.ndarray,
    d: np.ndarray,
    slopes: np.ndarray,
    columns: np.ndarray,
    best_p: np.ndarray,
    best_W: np.ndarray,
    best_d: np.ndarray,
    order: np.ndarray,
    values: np.ndarray,
    counts: np.ndarray,
    rules: np.ndarray,
    top: float,
    tiny: float,
    rng: np.random.Generator,
    moves: int,
) -> int:
    """Make up to `moves` moves, kicks not counted; return how many it were until the rounds were over."""
    number, n, span = d.dtype.type, p.size, rules[LONGEST] - rules[SHORTEST] + 1
    if counts[ROW] == UNSEEN:
        slopes[:] = 0
        counts[ROW], counts[COLUMN] = sweep(d, X, slopes, n, counts[CLOCK], number(-top), top, rng.random())
    for move in range(moves):
        if counts[IDLE] >= rules[PATIENCE] or counts[MADE] >= rules[LENGTH]:
            counts[ROUNDS] -= 1
            if counts[ROUNDS] <= 0:
                return move
            keep(best_p, best_W, best_d, p, W, d)
            values[VALUE] = values[BEST]
            counts[CLOCK] += rules[LONGEST] + 1  # by then nothing is forbidden any more
            kick(L, R, S, T, X, p, W, d, slopes, columns, order, values, counts, top, rng)
            counts[KICK] = min(counts[KICK] + rules[GROWTH], rules[STRONGEST])
            values[ROUND_BEST] = values[VALUE]
            counts[MADE] = counts[IDLE] = 0
        counts[CLOCK] += 1
        counts[MADE] += 1
        counts[IDLE] += 1
        counts[AGE] += 1
        r, s = counts[ROW], counts[COLUMN]
        if r >= 0:
            values[VALUE] += d[r, s]
            E[r, p[r]] = counts[CLOCK] + rules[SHORTEST] + int(rng.random() * span)
            E[s, p[s]] = counts[CLOCK] + rules[SHORTEST] + int(rng.random() * span)
            turn(L, R, S, T, p, r, s, W, d, slopes, columns)
            forbid(E, X, p, r)
            forbid(E, X, p, s)
        else:
            slopes[:] = 0
        gained = values[VALUE] < values[ROUND_BEST] - tiny
        if gained:
            values[ROUND_BEST] = values[VALUE]
            counts[IDLE] = 0
        if counts[AGE] == rules[REFRESH]:
            fill(L, R, S, T, D, p, W, d, slopes, columns)
            counts[AGE] = 0
        aspired = number(max(values[ROUND_BEST] - values[VALUE], -top))
        counts[ROW], counts[COLUMN] = sweep(d, X, slopes, n, counts[CLOCK], aspired, top, rng.random())
        if gained and values[VALUE] <= values[BEST]:
            if values[VALUE] < values[BEST] - tiny:
                counts[KICK] = rules[WEAKEST]
            values[BEST] = values[VALUE]
            keep(p, W, d, best_p, best_W, best_d)
    return moves


@cache
def engine(kind: str) -> "Callable[..., int]":
    """Return `improve`, compiled for "i4", "i8" or "f8"."""
    matrix, value = f"{kind}[:,::1]", "f8" if kind == "f8" else "i8"
    state = f"{matrix},i4[:,::1],i4[:,::1],i8[::1],{scratch(kind)},i8[::1],{matrix},{matrix},i8[::1]"
    signature = f"i8({problem(kind)},{state},{value}[::1],i8[::1],i8[::1],{kind},{kind},npy_rng,i8)"
    return compiled(signature)(improve)
