"""Loops over the problems of a batch for the adaptive step, compiled: the decisions of `decisions.py` row by row.

Each problem has a row in a table, gamma and the numbers of its memory. `move_rows`, `change_rows` and `verdict_rows`
take lengths that were computed where the arrays live. `propose_rows` and `judge_rows` are for arrays on
the host, one row for each problem: a single pass over them takes the place of ten, which is what a batch of small
problems costs. No row is taken out as an array of its own, and what the loops call is inlined: together with sums in
any order that halves the time of a pass.
"""

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import NamedTuple

import numpy as np

from trisplit.steps.decisions import BLIND, REST, SPAN, STEEP, SURGE, WAIT, change, change_row, verdict

REFUSED = -1.0  # in place of the rest of a problem whose step is tried again


def move_dots(z: np.ndarray, z_old: np.ndarray, d: np.ndarray, i: int) -> tuple[float, float]:
    """Return ||z - z_old||^2 and <z - z_old, d> of row i."""
    square = both = 0.0
    for j in range(z.shape[1]):
        move = z[i, j] - z_old[i, j]
        square += move * move
        both += move * d[i, j]
    return square, both


def write_moves(
    x: np.ndarray, z: np.ndarray, y: np.ndarray, relax: float, d: np.ndarray, next_y: np.ndarray, i: int
) -> None:
    """Write d = x - z and y + relax d in row i."""
    for j in range(d.shape[1]):
        own = x[i, j] - z[i, j]
        d[i, j] = own
        next_y[i, j] = y[i, j] + relax * own


def row_dots(d: np.ndarray, u: np.ndarray, i: int) -> tuple[float, float, float]:
    """Return ||d||^2, ||u||^2 and <u, d> of row i.

    A loop that writes, too, would be summed in an order that depends on where the arrays lie.
    """
    square = steep = slope = 0.0
    for j in range(d.shape[1]):
        square += d[i, j] * d[i, j]
        steep += u[i, j] * u[i, j]
        slope += u[i, j] * d[i, j]
    return square, steep, slope


def row_size(z: np.ndarray, y: np.ndarray, i: int) -> float:
    """Return ||z|| + ||y - z|| of row i."""
    z_square = w_square = 0.0
    for j in range(z.shape[1]):
        z_square += z[i, j] ** 2
        w_square += (y[i, j] - z[i, j]) ** 2
    return sqrt(z_square) + sqrt(w_square)


def move_row(waits: bool, z_square: float, both: float, square: float, relax: float) -> tuple[float, float, float]:
    """Return the lengths of the primal, dual and whole move, given ||z+ - z||^2, <z+ - z, d> and ||d||^2.

    While the row waits, its primal and dual move are not looked at.
    """
    move = relax * sqrt(square)
    if waits:
        return move, move, move
    rest = z_square - 2.0 * relax * both + move * move
    return sqrt(z_square), 0.0 if rest < 0.0 else sqrt(rest), move  # NaN stays NaN


def judge_row(table: np.ndarray, i: int, square: float, seen: float, slope: float, f_z: float, f_x: float) -> bool:
    """Shorten gamma in row i of the table if `verdict` says so, and return whether it does."""
    gamma, tiny, wait, span, blind = table[i, 0], table[i, 2], table[i, WAIT], table[i, SPAN], table[i, BLIND]
    ratio, table[i, 3], span, table[i, BLIND] = verdict(gamma, square, seen, slope, f_z, f_x, tiny, wait, span, blind)
    table[i, SPAN] = table[i, REST] = span
    if ratio == 1.0:
        return False
    table[i, 0] = gamma * ratio
    table[i, 5] += table[i, 4]
    table[i, 4] = 0.0
    table[i, REST] = REFUSED
    return True


def rests(table: np.ndarray, i: int, steep: float) -> bool:
    """Say whether row i of the table goes without a test, and count that, given ||grad f(z)||^2; else remember that."""
    if table[i, REST] > 0.0 and not steep > SURGE * table[i, STEEP]:
        table[i, REST] -= 1.0
        return True
    table[i, STEEP] = steep
    return False


def any_refused(table: np.ndarray) -> bool:
    """Say whether the step of some problem is tried again."""
    refused = 0
    for i in range(table.shape[0]):
        refused += table[i, REST] == REFUSED
    return refused > 0


def move_rows(table: np.ndarray, moves: np.ndarray, relax: float) -> int:
    """Turn ||z+ - z||^2, <z+ - z, d> and ||d||^2 of each row into the lengths that `move_row` returns.

    The bound on the size of the iterates in the row grows by them. Returned is how many moves are rounding errors by
    this bound.
    """
    loose = 0
    for i in range(table.shape[0]):
        primal, dual, move = move_row(table[i, WAIT] > 0.0, moves[0, i], moves[1, i], moves[2, i], relax)
        moves[0, i], moves[1, i], moves[2, i] = primal, dual, move
        table[i, 1] += primal + dual
        if not move > 10.0 * table[i, 2] * table[i, 1]:
            loose += 1
    return loose


def change_rows(table: np.ndarray, moves: np.ndarray, first: float, dominance: float) -> int:
    """Change each row of the table by the lengths of its moves; return how many are to test their curvature."""
    tests = 0
    for i in range(table.shape[0]):
        change_row(table, table, i, table[i, 1], moves[0, i], moves[1, i], moves[2, i], first, dominance)
        if table[i, REST] == 0.0:
            tests += 1
    return tests


def verdict_rows(table: np.ndarray, tests: np.ndarray) -> int:
    """Shorten gamma in each row of the table by what `verdict` says.

    `tests` holds ||d||^2, that of the part which f sees, ||u||^2, <u, d>, f(z) and f(x). The number of refused steps is
    returned; as long as there are any, only they are judged again.
    """
    refused, again = 0, any_refused(table)
    for i in range(table.shape[0]):
        if (again and table[i, REST] != REFUSED) or rests(table, i, tests[2, i]):
            continue
        if judge_row(table, i, tests[0, i], tests[1, i], tests[3, i], tests[4, i], tests[5, i]):
            refused += 1
    return refused


def propose_rows(
    before: np.ndarray,
    table: np.ndarray,
    z: np.ndarray,
    z_old: np.ndarray,
    d: np.ndarray,
    y: np.ndarray,
    square: np.ndarray,
    steps: np.ndarray,
    relax: float,
    first: float,
    dominance: float,
) -> tuple[int, int]:
    """Write the table after `change` and its steps; return how many of them are to be tested and how many are new."""
    tests = changed = 0
    for i in range(table.shape[0]):
        waits, z_square, both = before[i, WAIT] > 0.0, 0.0, 0.0
        if not waits:
            z_square, both = move_dots(z, z_old, d, i)
        primal, dual, move = move_row(waits, z_square, both, square[i], relax)
        size = before[i, 1] + (primal + dual)
        if not move > 10.0 * before[i, 2] * size:  # perhaps only because the bound is loose
            size = row_size(z, y, i)
        change_row(before, table, i, size, primal, dual, move, first, dominance)
        steps[i] = table[i, 0]
        tests += table[i, REST] == 0.0
        changed += steps[i] != before[i, 0]
    return tests, changed


def judge_rows(
    table: np.ndarray,
    square: np.ndarray,
    seen: np.ndarray,
    d: np.ndarray,
    next_y: np.ndarray,
    x: np.ndarray,
    z: np.ndarray,
    y: np.ndarray,
    u: np.ndarray,
    f_z: np.ndarray,
    f_x: np.ndarray,
    refused: np.ndarray,
    relax: float,
    valued: bool,
    again: bool,
) -> int:
    """Write d, ||d||^2 and the next y of all rows, change the table as `verdict_rows` does; count the refused steps.

    Their rows are written to `refused`; `again` says that only those refused before are judged. `seen` holds the
    squared length of what f sees of d, and may be `square` itself. Where f(z) and f(x) are not known, not `valued`,
    steps to be tested after all count as refused.
    """
    count = 0
    for i in range(table.shape[0]):
        write_moves(x, z, y, relax, d, next_y, i)
        square[i], steep, slope = row_dots(d, u, i)
        if (again and table[i, REST] != REFUSED) or rests(table, i, steep):
            continue
        if not valued:
            table[i, REST] = REFUSED
        elif not judge_row(table, i, square[i], seen[i], slope, f_z[i], f_x[i]):
            continue
        refused[count] = i
        count += 1
    return count


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
    judging, changing = (verdict, judge_row, rests), (change, change_row)
    arrays = ",".join([table] * 4)
    return Compiled(
        compiled(f"i8({table},{table},f8)", calls=(move_row,), inline=True)(move_rows),
        compiled(f"i8({table},{table},f8,f8)", calls=changing, inline=True)(change_rows),
        compiled(f"i8({table},{table})", calls=(*judging, any_refused), inline=True)(verdict_rows),
        compiled(
            f"UniTuple(i8,2)({table},{table},{arrays},{vector},{vector},f8,f8,f8)",
            calls=(move_row, *changing),
            sums=(move_dots, row_size),
            inline=True,
        )(propose_rows),
        compiled(
            f"i8({table},{vector},{vector},{arrays},{table},{table},{vector},{vector},i8[::1],f8,b1,b1)",
            calls=(write_moves, *judging),
            sums=(row_dots,),
            inline=True,
        )(judge_rows),
    )
