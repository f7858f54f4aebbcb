"""The adaptive step for a batch: the rule of `adaptive.py`, with a step and a memory for each problem.

The lengths of the moves are computed where the arrays live; the decisions are taken on the host, by compiled loops over
the problems. So a GPU is waited for once to propose steps and once for each trial. Arrays that live on the host go
through these loops themselves.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trisplit.arrays import (
    Array,
    eps,
    from_numpy,
    index_like,
    length,
    namespace,
    per_problem_dot,
    shapes_are_cheap,
    take_rows,
    to_host,
)
from trisplit.kernels.host_rows import as_rows, is_double, shaped
from trisplit.steps.adaptive import probe_distance
from trisplit.steps.decisions import REST, STEEP, SURGE, WIDTH
from trisplit.steps.row_loops import REFUSED, compiled_rows

if TYPE_CHECKING:
    from trisplit.algorithms.product import ProductProblem
    from trisplit.algorithms.state import State
    from trisplit.problem import Function, Problem
    from trisplit.steps.adaptive import Adaptive


class BatchMemory(NamedTuple):
    """What the rule remembers: two arrays, and on the host gamma and the numbers of `Memory` for each problem."""

    z: Array | None
    d: Array | None
    square: np.ndarray  # ||d||^2, on the host
    table: np.ndarray
    tests: int  # how many problems have their curvature tested in this iteration


@dataclass(frozen=True)
class BatchAdaptive:
    """`Adaptive` for arrays whose first `batch_ndim` axes count independent problems."""

    rule: "Adaptive"
    batch_ndim: int
    needs_d = True

    def needs_value(self, memory: BatchMemory) -> bool:
        """Ask for f(z) where the curvature of any problem is to be tested."""
        return memory.tests > 0

    def relaxed(self, relax: float) -> "BatchAdaptive":
        """Return the rule for a relaxed iteration."""
        return replace(self, rule=self.rule.relaxed(relax))

    def start(self, problem: "Problem | ProductProblem", y: Array) -> tuple[Array, BatchMemory]:
        z = problem.counted[0].prox(y, 1.0)
        gamma = self._first(problem, z, problem.f.grad(z))
        (steps,) = to_host(gamma)
        numbers = np.broadcast_to(self.rule.first_numbers(eps(y)), (steps.size, WIDTH - 1))
        table = np.hstack([steps[:, None], numbers])
        batch = y.shape[: self.batch_ndim]
        return gamma, BatchMemory(None, None, np.zeros(batch), table.reshape(*batch, WIDTH), len(table))

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def _first(self, problem: "Problem | ProductProblem", z: Array, u: Array) -> Array:
        xp, k = namespace(z), self.batch_ndim
        size, slope = xp.clip(length(z, k), 1.0, None), length(u, k)
        steep = xp.isfinite(slope) & (slope > 0.0)
        tiny, far = eps(z), probe_distance(eps(z))
        trial = far * size / xp.where(steep, slope, 1.0)
        probe = problem.counted[0].prox(z - trial * u, trial)
        moved = length(probe - z, k)
        L = xp.where(moved > 0, length(problem.f.grad(probe) - u, k) / xp.where(moved > 0, moved, 1.0), 0.0)
        measured = xp.isfinite(L) & (L * size > tiny / far * slope)
        gamma = xp.where(measured, 1.0 / xp.where(measured, L, 1.0), size / xp.where(steep, slope, 1.0))
        return xp.where(steep, gamma, 1.0)

    def propose(self, memory: BatchMemory, z: Array, y: Array, gamma: Array) -> tuple[Array, BatchMemory]:
        propose = self._propose_on_host if memory[0] is not None and is_double(z) else self._propose
        return propose(memory, z, y, gamma)

    @np.errstate(invalid="ignore", over="ignore")
    def _propose(self, memory: BatchMemory, z: Array, y: Array, gamma: Array) -> tuple[Array, BatchMemory]:
        z_old, d, square, table, tests = memory
        table = table.copy()
        rows = table.reshape(-1, WIDTH)
        if z_old is None or d is None:
            rows[:, 1] = self._sizes(z, y, self.batch_ndim)
            return gamma, BatchMemory(None, None, square, table, tests)
        k, compiled, z_move = self.batch_ndim, compiled_rows(), z - z_old
        moves = np.empty((3, len(rows)))
        moves[:2] = to_host(per_problem_dot(z_move, z_move, k), per_problem_dot(z_move, d, k))
        moves[2] = square.reshape(-1)
        if compiled.move_rows(rows, moves, self.rule.relax):
            # JAX would compile anew for each number of rows.
            loose = ~(moves[2] > 10.0 * rows[0, 2] * rows[:, 1])
            some = np.flatnonzero(loose) if shapes_are_cheap(z) else np.arange(len(rows))
            sizes = self._sizes(take_rows(z, index_like(some, z), k), take_rows(y, index_like(some, y), k), 1)
            rows[some, 1] = sizes
        tests = compiled.change_rows(rows, moves, self.rule.change, self.rule.dominance)
        return self._steps(table, gamma), BatchMemory(z, d, square, table, tests)

    def _propose_on_host(self, memory: BatchMemory, z: Array, y: Array, gamma: Array) -> tuple[Array, BatchMemory]:
        z_old, d, square, before, _ = memory
        n, rule, table, steps = square.size, self.rule, np.empty(before.shape), np.empty(gamma.shape)
        arrays = as_rows(z, n), as_rows(z_old, n), as_rows(d, n), as_rows(y, n)  # pyright: ignore[reportArgumentType]
        tests, changed = compiled_rows().propose_rows(
            shaped(before, (n, WIDTH)),
            shaped(table, (n, WIDTH)),
            *arrays,
            shaped(square, (n,)),
            shaped(steps, (n,)),
            rule.relax,
            rule.change,
            rule.dominance,
        )
        return steps if changed else gamma, BatchMemory(z_old, d, square, table, tests)

    def judge(self, memory: BatchMemory, state: "State", f: "Function") -> tuple[Array, BatchMemory]:
        """Judge all steps; the table of `memory`, which `propose` made for this iteration, is changed."""
        k, d, u, rows = self.batch_ndim, state.move, state.u, memory.table.reshape(-1, WIDTH)
        square, steep = per_problem_dot(d, d, k), per_problem_dot(u, u, k)
        if not memory.tests:
            squares, steeps = to_host(square, steep)
            surging = steeps > SURGE * rows[:, STEEP]
            memory = memory._replace(z=state.z, d=d, square=squares.reshape(memory.square.shape))
            rows[:, REST] = np.where(surging, REFUSED, rows[:, REST] - 1.0)
            if not surging.any():
                return state.gamma, memory  # pyright: ignore[reportReturnType]
            memory = memory._replace(tests=int(surging.sum()))
        part, f_z = f.seen_part(d), f.value(state.z) if state.f_z is None else state.f_z
        seen = square if part is d else per_problem_dot(part, part, k)
        tests = to_host(square, seen, steep, per_problem_dot(u, d, k), f_z, f.value(state.x))  # pyright: ignore
        refused = compiled_rows().verdict_rows(rows, tests)
        memory = memory._replace(z=state.z, d=d, square=tests[0].reshape(memory.square.shape))
        return self._steps(memory.table, state.gamma) if refused else state.gamma, memory  # pyright: ignore

    def memory_of(self, memory: BatchMemory, rows: np.ndarray) -> BatchMemory:
        """Return the memory of some problems, for `judge`, which needs only the table."""
        square, table = memory.square.reshape(-1)[rows], memory.table.reshape(-1, WIDTH)[rows]
        return BatchMemory(None, None, square, table, len(rows))

    def joined(self, memory: BatchMemory, rows: np.ndarray, own: BatchMemory, d: Array) -> BatchMemory:
        """Return the memory of the whole batch after some problems were judged on their own."""
        memory.table.reshape(-1, WIDTH)[rows] = own.table
        memory.square.reshape(-1)[rows] = own.square
        return memory._replace(d=d)

    @staticmethod
    def _sizes(z: Array, y: Array, k: int) -> np.ndarray:
        """Return ||z|| + ||y - z||."""
        w = y - z
        return np.sqrt(to_host(per_problem_dot(z, z, k), per_problem_dot(w, w, k))).sum(axis=0)

    @staticmethod
    def _steps(table: np.ndarray, like: Array) -> Array:
        return namespace(like).reshape(from_numpy(table[..., 0].copy(), like), like.shape)  # the table changes
