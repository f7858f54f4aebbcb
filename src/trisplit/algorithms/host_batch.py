"""An iteration of a batch on the host whose problems adapt steps of their own: the twin of `tos.iterate`.

Between the calls of f and the terms there are three loops over the problems, compiled, in place of a dozen passes over
memory. Where only some steps are refused, only their problems are tried again.
"""

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trisplit.algorithms.forward import compiled_loops
from trisplit.algorithms.refused import MAX_SHARE, MIN_ROWS
from trisplit.algorithms.state import State
from trisplit.arrays import Array, per_problem_dot, put_rows, take_rows
from trisplit.kernels.host_rows import as_numbers, as_rows, shaped
from trisplit.steps.adaptive_batch import BatchAdaptive, BatchMemory
from trisplit.steps.decisions import WIDTH
from trisplit.steps.row_loops import compiled_rows

if TYPE_CHECKING:
    from trisplit.parts import CountedTerm, Function


class Half(NamedTuple):
    """What the first half of an iteration found."""

    z: Array
    f_z: Array | None  # where curvatures are tested
    u: Array
    y: Array  # that of the steps gamma
    gamma: Array
    trial: Array  # the steps to try
    table: np.ndarray  # of the adaptive step, one row for each problem; it changes


class Settled(NamedTuple):
    """What a second half makes: the steps that were accepted, and what follows from them."""

    x: Array
    y: Array
    gamma: Array
    d: Array
    next_y: Array
    square: np.ndarray  # ||d||^2


def iterate_on_host(
    t: int,
    f: "Function",
    g: "CountedTerm",
    h: "CountedTerm",
    y: Array,
    gamma: Array,
    rule: BatchAdaptive,
    memory: BatchMemory,
    relax: float = 1.0,
    *,
    valued: bool = False,
) -> tuple[State, Array, BatchMemory]:
    """Return what `tos.iterate` returns."""
    z = g.prox(y, gamma)  # [YMS21] Alg. 1, line 2  # pyright: ignore[reportArgumentType]
    trial, memory = rule.propose(memory, z, y, gamma)
    if memory.tests:
        f_z, u = f.value_and_grad(z)
    else:
        f_z, u = f.unread_value_and_grad(z) if valued else (None, f.grad(z))
    batch, n = memory.square.shape, memory.square.size
    half = Half(z, f_z if memory.tests else None, u, y, gamma, trial, shaped(memory.table, (n, WIDTH)))  # pyright: ignore
    x, y, gamma, d, next_y, square = settle(f, h, half, batch, relax)
    memory = BatchMemory(z, d, shaped(square, batch), memory.table, memory.tests)
    return State(t, z, x, y, u, gamma, f_z, memory, d), next_y, memory  # pyright: ignore[reportArgumentType]


def settle(f: "Function", h: "CountedTerm", half: Half, batch: tuple[int, ...], relax: float) -> Settled:
    """Try steps until that of each problem is accepted."""
    z, f_z, u, y, gamma, trial, table = half
    n, shape, loops = len(table), z.shape, compiled_loops()
    z_rows, u_rows, y_rows, again = as_rows(z, n), as_rows(u, n), as_rows(y, n), False
    rows = z_rows.shape
    d, next_y, square, refused = np.empty(rows), np.empty(rows), np.empty(n), np.empty(n, dtype=np.int64)
    while True:
        forward, steps = np.empty(rows), as_numbers(trial)
        if trial is gamma:
            loops.reflect_rows(y_rows, z_rows, u_rows, steps, forward)
        else:
            scaled = np.empty(rows)
            loops.scale_and_reflect_rows(y_rows, z_rows, u_rows, as_numbers(gamma), steps, scaled, forward)
            y_rows, gamma = scaled, trial
            y = shaped(scaled, shape)
        x = h.prox(shaped(forward, shape), gamma)  # [YMS21] Alg. 1, line 3  # pyright: ignore[reportArgumentType]
        seen = f_z_rows = f_x_rows = square  # where it is not asked, or is the same
        if f_z is not None:
            f_z_rows, f_x_rows = as_numbers(f_z), as_numbers(f.value(x))  # pyright: ignore[reportArgumentType]
            seen = square if f.sees_all else _squares(f.seen_part(x - z), len(batch))
        values = seen, d, next_y, as_rows(x, n), z_rows, y_rows, u_rows, f_z_rows, f_x_rows
        count = compiled_rows().judge_rows(table, square, *values, refused, relax, f_z is not None, again)
        if not count:
            return Settled(x, y, gamma, shaped(d, shape), shaped(next_y, shape), square)
        few = few_refused(f, h, refused[:count], shape, batch)
        if few is not None:  # the others need no further trial
            found = Settled(x, y, gamma, shaped(d, shape), shaped(next_y, shape), square)
            return few.settled(half._replace(f_z=f_z), found, relax)
        trial, again = table[:, 0].copy().reshape(gamma.shape), True
        f_z = f.value(z) if f_z is None else f_z


class Few(NamedTuple):
    """Some problems of a batch on their own."""

    rows: np.ndarray
    f: "Function"
    h: "CountedTerm"
    batch_ndim: int  # of the whole

    def settled(self, half: Half, found: Settled, relax: float) -> Settled:
        """Try steps of these problems until they are accepted, and return what becomes of what was found for all."""
        rows, k = self.rows, self.batch_ndim
        z, u, y, gamma = (take_rows(a, rows, k) for a in (half.z, half.u, found.y, found.gamma))
        f_z = self.f.value(z) if half.f_z is None else take_rows(half.f_z, rows, k)
        table = half.table[rows]
        trial = table[:, 0].copy().reshape(gamma.shape)
        own = Half(z, f_z, u, y, gamma, trial, table)  # pyright: ignore[reportArgumentType]
        settled = settle(self.f, self.h, own, (len(rows),), relax)
        half.table[rows] = table
        found.square[rows] = settled.square
        # Nobody else has d and the next y, nor y if it was made in this iteration; x may be the term's own.
        ours = False, found.y is not half.y, False, True, True
        new = (put_rows(a, rows, b, k, own=c) for a, b, c in zip(found[:5], settled[:5], ours, strict=True))
        return Settled(*new, found.square)  # pyright: ignore[reportCallIssue]


def few_refused(
    f: "Function", h: "CountedTerm", refused: np.ndarray, shape: tuple[int, ...], batch: tuple[int, ...]
) -> Few | None:
    """Return the problems whose step was refused, None if they are many or f or h cannot select them."""
    n = prod(batch)
    if n < MIN_ROWS or len(refused) > MAX_SHARE * n:
        return None
    members = (refused,) if len(batch) == 1 else np.unravel_index(refused, batch)
    own_f, own_h = f.select(members), h.select(members, shape)
    return None if own_f is None or own_h is None else Few(refused, own_f, own_h, len(batch))


def _squares(d: Array, batch_ndim: int) -> np.ndarray:
    return as_numbers(per_problem_dot(d, d, batch_ndim))
