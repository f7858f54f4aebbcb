"""Loops over the problems of a batch for the adaptive step, compiled: the decisions of `decisions.py` row by row.

Each problem has a row in a table, gamma and the numbers of its memory. `move_rows`, `change_rows` and `verdict_rows`
take lengths that were computed where the arrays live. `propose_rows` and `judge_rows` are for arrays on
the host, one row for each problem: a single pass over them takes the place of ten, which is what a batch of small
problems costs.
"""

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import NamedTuple

import numpy as np

from trisplit.steps.decisions import REST, SPAN, WAIT, WIDTH, change, change_row, verdict

REFUSED = -1.0  # in place of the rest of a problem whose step is tried again


def row_dot(a: np.ndarray, b: np.ndarray) -> float:
    """Return <a, b>; four sums, as one would wait for each of its additions."""
    n = a.shape[0]
    whole = n - n % 4
    s0 = s1 = s2 = s3 = 0.0
    for j in range(0, whole, 4):
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
    for j in range(whole, n):
        s0 += a[j] * b[j]
    return (s0 + s1) + (s2 + s3)


def move_row(r: np.ndarray, z_square: float, both: float, square: float, relax: float) -> tuple[float, float, float]:
    """Return the lengths of the primal, dual and whole move, given ||z+ - z||^2, <z+ - z, d> and ||d||^2.

    The bound on the size of the iterates in the row grows by them. While the row waits, its primal and dual move are
    not looked at.
    """
    move = relax * sqrt(square)
    primal = dual = move
    if r[WAIT] == 0.0:
        rest = z_square - 2.0 * relax * both + move * move
        primal, dual = sqrt(z_square), 0.0 if rest < 0.0 else sqrt(rest)  # NaN stays NaN
    r[1] += primal + dual
    return primal, dual, move


def judge_row(r: np.ndarray, square: float, seen: float, slope: float, f_z: float, f_x: float) -> bool:
    """Shorten gamma in a row of the table if `verdict` says so, and return whether it does."""
    ratio, r[3], r[SPAN], r[17] = verdict(r[0], square, seen, slope, f_z, f_x, r[2], r[SPAN], r[17])
    r[REST] = r[SPAN]
    if ratio == 1.0:
        return False
    r[0] *= ratio
    r[5] += r[4]
    r[4] = 0.0
    r[REST] = REFUSED
    return True


def any_refused(table: np.ndarray) -> bool:
    """Say whether the step of some problem is tried again."""
    refused = 0
    for i in range(table.shape[0]):
        refused += table[i, REST] == REFUSED
    return refused > 0


def move_rows(table: np.ndarray, moves: np.ndarray, relax: float) -> int:
    """Turn ||z+ - z||^2, <z+ - z, d> and ||d||^2 of each row into the lengths that `move_row` returns.

    Returned is how many moves are rounding errors by the bound on the size of the iterates.
    """
    loose = 0
    for i in range(table.shape[0]):
        r = table[i]
        moves[0, i], moves[1, i], moves[2, i] = move_row(r, moves[0, i], moves[1, i], moves[2, i], relax)
        if not moves[2, i] > 10.0 * r[2] * r[1]:
            loose += 1
    return loose


def change_rows(table: np.ndarray, moves: np.ndarray, first: float, dominance: float) -> int:
    """Change each row of the table by the lengths of its moves; return how many are to test their curvature."""
    tests = 0
    for i in range(table.shape[0]):
        change_row(table[i], moves[0, i], moves[1, i], moves[2, i], first, dominance)
        if table[i, REST] == 0.0:
            tests += 1
    return tests


def verdict_rows(table: np.ndarray, tests: np.ndarray) -> int:
    """Shorten gamma in each row of the table by what `verdict` says of ||d||^2, that of its part, <u, d>, f(z), f(x).

    The number of refused steps is returned; as long as there are any, only they are judged again.
    """
    refused, again = 0, any_refused(table)
    for i in range(table.shape[0]):
        r = table[i]
        if again and r[REST] != REFUSED:
            continue
        if r[REST] > 0.0:
            r[REST] -= 1.0
        elif judge_row(r, tests[0, i], tests[1, i], tests[2, i], tests[3, i], tests[4, i]):
            refused += 1
    return refused


def propose_rows(
    before: np.ndarray,
    table: np.ndarray,
    steps: np.ndarray,
    z: np.ndarray,
    z_old: np.ndarray,
    d: np.ndarray,
    y: np.ndarray,
    square: np.ndarray,
    relax: float,
    first: float,
    dominance: float,
) -> tuple[int, int]:
    """Write the table after `change` and the steps to try; return how many are to be tested and how many are new."""
    tests = changed = 0
    move_z, w = np.empty(z.shape[1]), np.empty(z.shape[1])
    for i in range(table.shape[0]):
        r = table[i]
        for k in range(WIDTH):
            r[k] = before[i, k]
        z_square = both = 0.0
        if r[WAIT] == 0.0:
            for j in range(len(move_z)):
                move_z[j] = z[i, j] - z_old[i, j]
            z_square, both = row_dot(move_z, move_z), row_dot(move_z, d[i])
        primal, dual, move = move_row(r, z_square, both, square[i], relax)
        if not move > 10.0 * r[2] * r[1]:  # perhaps only because the bound is loose
            for j in range(len(w)):
                w[j] = y[i, j] - z[i, j]
            r[1] = sqrt(row_dot(z[i], z[i])) + sqrt(row_dot(w, w))
        change_row(r, primal, dual, move, first, dominance)
        steps[i] = r[0]
        tests += r[REST] == 0.0
        changed += r[0] != before[i, 0]
    return tests, changed


def judge_rows(
    table: np.ndarray,
    steps: np.ndarray,
    square: np.ndarray,
    d: np.ndarray,
    u: np.ndarray,
    f_z: np.ndarray,
    f_x: np.ndarray,
) -> int:
    """Write ||d||^2 of all rows and the steps to try, as `verdict_rows` does; return the number of refused steps."""
    refused, again = 0, any_refused(table)
    for i in range(table.shape[0]):
        r = table[i]
        square[i] = row_dot(d[i], d[i])
        if not again or r[REST] == REFUSED:
            if r[REST] > 0.0:
                r[REST] -= 1.0
            elif judge_row(r, square[i], square[i], row_dot(u[i], d[i]), f_z[i], f_x[i]):
                refused += 1
        steps[i] = r[0]
    return refused


class Compiled(NamedTuple):
    """The loops, compiled."""

    move_rows: Callable[[np.ndarray, np.ndarray, float], int]
    change_rows: Callable[[np.ndarray, np.ndarray, float, float], int]
    verdict_rows: Callable[[np.ndarray, np.ndarray], int]
    propose_rows: Callable[..., tuple[int, int]]
    judge_rows: Callable[..., int]


@cache
def compiled_rows() -> Compiled:
    """Return the loops, compiled."""
    from trisplit.kernels import compiled

    table, vector = "f8[:,::1]", "f8[::1]"
    judging = (verdict, judge_row, any_refused)
    arrays = ",".join([table] * 4)
    return Compiled(
        compiled(f"i8({table},{table},f8)", calls=(move_row,))(move_rows),
        compiled(f"i8({table},{table},f8,f8)", calls=(change, change_row))(change_rows),
        compiled(f"i8({table},{table})", calls=judging)(verdict_rows),
        compiled(
            f"UniTuple(i8,2)({table},{table},{vector},{arrays},{vector},f8,f8,f8)",
            calls=(row_dot, move_row, change, change_row),
        )(propose_rows),
        compiled(f"i8({table},{vector},{vector},{table},{table},{vector},{vector})", calls=(row_dot, *judging))(
            judge_rows
        ),
    )
