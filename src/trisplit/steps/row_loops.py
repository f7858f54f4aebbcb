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


def move_dots(z: np.ndarray, z_old: np.ndarray, d: np.ndarray, i: int) -> tuple[float, float]:
    """Return ||z - z_old||^2 and <z - z_old, d> of row i; two sums each, as one would wait for each addition."""
    n = z.shape[1]
    even_square = even_both = odd_square = odd_both = 0.0
    for j in range(0, n - 1, 2):
        even, odd = z[i, j] - z_old[i, j], z[i, j + 1] - z_old[i, j + 1]
        even_square += even * even
        odd_square += odd * odd
        even_both += even * d[i, j]
        odd_both += odd * d[i, j + 1]
    if n % 2:
        even = z[i, n - 1] - z_old[i, n - 1]
        even_square += even * even
        even_both += even * d[i, n - 1]
    return even_square + odd_square, even_both + odd_both


def row_dots(d: np.ndarray, u: np.ndarray, i: int) -> tuple[float, float]:
    """Return ||d||^2 and <u, d> of row i, summed as in `move_dots`."""
    n = d.shape[1]
    even_square = even_slope = odd_square = odd_slope = 0.0
    for j in range(0, n - 1, 2):
        even_square += d[i, j] * d[i, j]
        odd_square += d[i, j + 1] * d[i, j + 1]
        even_slope += u[i, j] * d[i, j]
        odd_slope += u[i, j + 1] * d[i, j + 1]
    if n % 2:
        even_square += d[i, n - 1] * d[i, n - 1]
        even_slope += u[i, n - 1] * d[i, n - 1]
    return even_square + odd_square, even_slope + odd_slope


def row_size(z: np.ndarray, y: np.ndarray, i: int) -> float:
    """Return ||z|| + ||y - z|| of row i."""
    z_square = w_square = 0.0
    for j in range(z.shape[1]):
        z_square += z[i, j] ** 2
        w_square += (y[i, j] - z[i, j]) ** 2
    return sqrt(z_square) + sqrt(w_square)


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
    for i in range(table.shape[0]):
        r = table[i]
        for k in range(WIDTH):
            r[k] = before[i, k]
        z_square = both = 0.0
        if r[WAIT] == 0.0:
            z_square, both = move_dots(z, z_old, d, i)
        primal, dual, move = move_row(r, z_square, both, square[i], relax)
        if not move > 10.0 * r[2] * r[1]:  # perhaps only because the bound is loose
            r[1] = row_size(z, y, i)
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
        square[i], slope = row_dots(d, u, i)
        if not again or r[REST] == REFUSED:
            if r[REST] > 0.0:
                r[REST] -= 1.0
            elif judge_row(r, square[i], square[i], slope, f_z[i], f_x[i]):
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
            calls=(move_dots, move_row, row_size, change, change_row),
        )(propose_rows),
        compiled(f"i8({table},{vector},{vector},{table},{table},{vector},{vector})", calls=(row_dots, *judging))(
            judge_rows
        ),
    )
