"""The adaptive step for a batch: the rule of `adaptive.py`, with a step and a memory for each problem.

The lengths of the moves are computed where the arrays live; the decisions are taken on the host, by compiled loops over
the problems. So a GPU is waited for once to propose steps and once for each trial.
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
from trisplit.steps.decisions import REST, WAIT, WIDTH, compiled_rows

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


@dataclass(frozen=True)
class BatchAdaptive:
    """`Adaptive` for arrays whose first `batch_ndim` axes count independent problems."""

    rule: "Adaptive"
    batch_ndim: int
    needs_d = True

    def needs_value(self, memory: BatchMemory) -> bool:
        """Ask for f(z) where the curvature of any problem is to be tested."""
        return bool((memory.table[..., REST] == 0.0).any())

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
        return gamma, BatchMemory(None, None, np.zeros(batch), table.reshape(*batch, WIDTH))

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def _first(self, problem: "Problem | ProductProblem", z: Array, u: Array) -> Array:
        xp, k = namespace(z), self.batch_ndim
        size, slope = xp.clip(length(z, k), 1.0, None), length(u, k)
        steep = xp.isfinite(slope) & (slope > 0.0)
        trial = 1e-4 * size / xp.where(steep, slope, 1.0)
        probe = problem.counted[0].prox(z - trial * u, trial)
        moved = length(probe - z, k)
        L = xp.where(moved > 0, length(problem.f.grad(probe) - u, k) / xp.where(moved > 0, moved, 1.0), 0.0)
        measured = xp.isfinite(L) & (L * size > 1e4 * eps(z) * slope)
        gamma = xp.where(measured, 1.0 / xp.where(measured, L, 1.0), size / xp.where(steep, slope, 1.0))
        return xp.where(steep, gamma, 1.0)

    @np.errstate(invalid="ignore", over="ignore")
    def propose(self, memory: BatchMemory, z: Array, y: Array, gamma: Array) -> tuple[Array, BatchMemory]:
        z_old, d, square, table = memory
        table = table.copy()
        rows = table.reshape(-1, WIDTH)
        if z_old is None or d is None:
            rows[:, 1] = self._sizes(z, y, self.batch_ndim)
            return gamma, BatchMemory(None, None, square, table)
        k, relax, z_move = self.batch_ndim, self.rule.relax, z - z_old
        z_square, both = to_host(per_problem_dot(z_move, z_move, k), per_problem_dot(z_move, d, k))
        move = relax * np.sqrt(square.reshape(-1))
        waiting = rows[:, WAIT] > 0.0
        primal = np.where(waiting, move, np.sqrt(z_square))
        dual = np.where(waiting, move, np.sqrt(np.maximum(z_square - 2.0 * relax * both + move * move, 0.0)))
        size, tiny = rows[:, 1], rows[0, 2]
        size += primal + dual
        loose = ~(move > 10.0 * tiny * size)
        if loose.any():
            # JAX would compile anew for each number of rows.
            some = np.flatnonzero(loose) if shapes_are_cheap(z) else np.arange(len(rows))
            size[some] = self._sizes(take_rows(z, index_like(some, z), k), take_rows(y, index_like(some, y), k), 1)
        compiled_rows()[0](rows, primal, dual, move, self.rule.change, self.rule.dominance)
        return self._steps(table, gamma), BatchMemory(z, d, square, table)

    def judge(self, memory: BatchMemory, state: "State", f: "Function") -> tuple[Array, BatchMemory]:
        """Judge all steps; the table of `memory`, which `propose` made for this iteration, is changed."""
        k, d = self.batch_ndim, state.x - state.z if state.d is None else state.d
        square = per_problem_dot(d, d, k)
        if (memory.table[..., REST] > 0.0).all():
            memory.table[..., REST] -= 1.0
            (squares,) = to_host(square)
            return state.gamma, BatchMemory(state.z, d, squares.reshape(memory.square.shape), memory.table)  # pyright: ignore
        part = f.seen_part(d)
        seen = square if part is d else per_problem_dot(part, part, k)
        tests = to_host(square, seen, per_problem_dot(state.u, d, k), state.f_z, f.value(state.x))  # pyright: ignore
        refused = compiled_rows()[1](memory.table.reshape(-1, WIDTH), tests)
        memory = BatchMemory(state.z, d, tests[0].reshape(memory.square.shape), memory.table)
        return self._steps(memory.table, state.gamma) if refused else state.gamma, memory  # pyright: ignore

    def memory_of(self, memory: BatchMemory, rows: np.ndarray) -> BatchMemory:
        """Return the memory of some problems, for `judge`, which needs only the table."""
        return BatchMemory(None, None, memory.square.reshape(-1)[rows], memory.table.reshape(-1, WIDTH)[rows])

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
