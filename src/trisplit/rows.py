"""The problems of a batch that are in the arrays of an iteration, one row each, and how good their points are."""

from typing import NamedTuple

import numpy as np

from trisplit.algorithms.product import ProductProblem
from trisplit.algorithms.state import State
from trisplit.arrays import (
    Array,
    all_finite,
    any_true,
    column,
    each_finite,
    eps,
    from_numpy,
    index_like,
    is_array,
    misfits,
    namespace,
    none_if_failed,
    norm,
    per_problem,
    take_rows,
    to_numpy,
    unchanged,
    where_rows,
)
from trisplit.certificates import certify, objective, point, recompute
from trisplit.errors import InputError
from trisplit.kernels.host_rows import as_numbers, as_rows
from trisplit.kernels.measures import compiled_measures
from trisplit.problem import Problem, is_indicator
from trisplit.terms.checks import Shape


class Numbers(NamedTuple):
    """How good each problem's point is, on the host, one row for each problem.

    `finite` is false where the point or fun is NaN or inf; the first three are NaN there. `error`, the larger of the
    two relative errors, is infinite there and where the certificate is not finite.
    """

    fun: np.ndarray
    stationarity: np.ndarray
    infeasibility: np.ndarray
    error: np.ndarray
    finite: np.ndarray

    def take(self, rows: np.ndarray) -> "Numbers":
        """Return the numbers of some rows."""
        return Numbers(*(column[rows] for column in self))

    def where(self, mask: np.ndarray, other: "Numbers") -> "Numbers":
        """Return these numbers where the mask holds, else the others."""
        return Numbers(*(np.where(mask, mine, theirs) for mine, theirs in zip(self, other, strict=True)))

    def named(self, what: str) -> dict[str, np.ndarray]:
        """Return the columns by name, for a checkpoint."""
        return {f"{what} {name}": column for name, column in self._asdict().items()}


class Rows(NamedTuple):
    """The problems in the arrays of an iteration.

    A state that is kept from an earlier iteration, `best` or `drawn`, is only y, gamma and t, with an entry for each
    row: all else follows from them.
    """

    problem: Problem | ProductProblem
    kind: str  # of the certificates; fewer rows may allow a better one, but it is the same for all problems
    shape: Shape  # of x, the axes of the batch in front
    members: np.ndarray  # the place of each row in the batch, counted through
    done: np.ndarray  # finished, but still in the arrays
    first: np.ndarray | None = None  # stationarity at the first look
    best: State | None = None
    best_numbers: Numbers | None = None
    drawn: State | None = None
    in_one_pass: bool = False  # measured by compiled loops, which round in another way

    @property
    def batch(self) -> Shape:
        return self.shape[: self.problem.batch_ndim]

    def keep(self, mask: np.ndarray, new: State, old: State | None) -> State:
        """Return y and gamma of the new state in the rows of the mask and of the old one in the others."""
        t, y, gamma = np.broadcast_to(new.t, mask.shape), new.y, new.gamma
        if old is not None and not mask.all():
            if not mask.any():
                return old
            rows = mask.reshape(self.batch)
            if not unchanged(gamma, old.gamma):
                gamma = where_rows(rows, self.steps(new), self.steps(old))  # pyright: ignore[reportArgumentType]
            t, y = np.where(mask, t, old.t), where_rows(rows, y, old.y)
        return State(t, None, None, y, None, gamma)  # pyright: ignore[reportArgumentType]

    def looked_at(self, state: State, seen: Numbers) -> "Rows":
        """Return the rows after a look at a state: its points are as good as `seen`, and may be the best so far."""
        if self.best is None or self.best_numbers is None:
            best = self.keep(~self.done, state, None)
            return self._replace(first=seen.stationarity, best=best, best_numbers=seen)
        if self.in_one_pass:
            return self._looked_at_on_host(state, seen, *self.known())
        better = ~self.done & (seen.error < self.best_numbers.error)
        numbers = seen.where(better, self.best_numbers)
        return self._replace(best=self.keep(better, state, self.best), best_numbers=numbers)

    def _looked_at_on_host(self, state: State, seen: Numbers, best: State, known: Numbers) -> "Rows":
        """Return what `looked_at` does, in one pass over memory."""
        n, steps = len(self.members), self.steps(state)
        numbers, finite = np.empty((4, n)), known.finite.copy()
        y, gamma, t = np.empty(state.y.shape), np.empty(steps.shape), np.empty(n, dtype=np.int64)  # pyright: ignore
        compiled_measures().keep_better(
            self.done,
            tuple(as_numbers(column) for column in seen[:4]),
            tuple(as_numbers(column) for column in known[:4]),
            numbers,
            finite,
            *(as_rows(array, n) for array in (state.y, best.y, y)),
            *(as_numbers(array) for array in (steps, self.steps(best), gamma)),  # pyright: ignore[reportArgumentType]
            state.t,
            np.array(best.t, dtype=np.int64),
            t,
        )
        kept = State(t, None, None, y, None, gamma)  # pyright: ignore[reportArgumentType]
        return self._replace(best=kept, best_numbers=Numbers._make((*numbers, finite)))

    def points(self, state: State, rows: np.ndarray) -> Array:
        """Return the points that a state stands for, of some rows, in a batch of one axis."""
        at = point(self.problem, state)
        return take_rows(at, index_like(rows, at), len(self.batch))

    def selected(self, rows: np.ndarray, like: Array) -> "Rows | None":
        """Return some of the rows, with a problem of their own; None where f or a term cannot select them."""
        places = tuple(index_like(axis, like) for axis in np.unravel_index(rows, self.batch))
        problem = self.problem.select(places, self.shape)
        if problem is None:
            return None

        def taken(kept: State | None) -> State | None:
            return None if kept is None else self.taken(kept, rows)._replace(t=kept.t[rows])  # pyright: ignore

        return Rows(
            problem,
            self.kind,
            (len(rows), *self.shape[len(self.batch) :]),
            self.members[rows],
            self.done[rows],
            first=None if self.first is None else self.first[rows],
            best=taken(self.best),
            best_numbers=None if self.best_numbers is None else self.best_numbers.take(rows),
            drawn=taken(self.drawn),
            in_one_pass=self.in_one_pass,
        )

    def taken(self, state: State, rows: np.ndarray) -> State:
        """Return a state of this batch with some of its rows, in a batch of one axis."""
        index, axes = index_like(rows, state.y), len(self.batch)
        known: dict[int, Array] = {}  # a rule may remember arrays of the state

        def taken(array: Array) -> Array:
            if id(array) not in known:
                known[id(array)] = take_rows(array, index, axes) if self.has_rows(array) else array
            return known[id(array)]

        return state.mapped(taken)

    def steps(self, state: State) -> float:
        """Return the steps of a state as a column, also where one number is the step of all rows."""
        if is_array(state.gamma) and self.has_rows(state.gamma):  # pyright: ignore[reportArgumentType]
            return state.gamma
        return column(from_numpy(np.full(self.batch, float(state.gamma)), state.y), state.y)  # pyright: ignore

    def has_rows(self, array: Array) -> bool:
        """Say whether the first axes of an array are those of the batch; a rule may remember others."""
        return tuple(array.shape[: len(self.batch)]) == self.batch

    def known(self) -> tuple[State, Numbers]:
        """Return the best points of a batch that was looked at, and how good they are."""
        assert self.best is not None
        assert self.best_numbers is not None
        return self.best, self.best_numbers

    def recompute(self, state: State) -> State:
        """Return the state computed anew."""
        return recompute(self.problem, state, self.kind)

    def require_own_f(self, state: State) -> None:
        """Raise an `InputError` unless f, which `select` made for these rows, has the gradients of a state of them."""
        k = self.problem.batch_ndim
        try:
            u = self.problem.f.grad(state.z)
            difference = norm(u - state.u, k)
        except misfits(state.z) as error:
            raise InputError(f"what `f.select` returns fails for x of shape {self.shape}: {error}") from error
        size = norm(state.u, k) + (norm(state.z, k) + norm(state.y, k)) / per_problem(state.gamma, k)
        if any_true(difference > eps(state.z) ** 0.5 * size):  # no rounding; NaN is not larger
            raise InputError("`f.select(members)` returns another problem than that at x[members]: gradients differ")

    def measure(self, state: State) -> Numbers:
        """Return how good the point of each row is; none is finite if f or a term raises what stands for a NaN."""
        numbers = none_if_failed(self._measure, state)
        if numbers is not None:
            return numbers
        nothing = np.full(len(self.members), np.nan)
        return Numbers(nothing, nothing, nothing, np.full(len(nothing), np.inf), np.zeros(len(nothing), dtype=bool))

    def _measure(self, state: State) -> Numbers:
        problem, k = self.problem, self.problem.batch_ndim
        if self.in_one_pass and self.kind == "bound" and isinstance(problem, Problem) and is_indicator(problem.h):
            numbers = self._measure_on_host(problem, state)
            if numbers is not None:
                return numbers
        finite = np.ones(self.batch, dtype=bool)
        for array in (state.z, state.x, state.u):
            if not all_finite(array):
                finite &= to_numpy(each_finite(array, k))
        if not finite.all():  # some oracles and decompositions refuse NaN, also for the other problems
            f_z, state = state.f_z, state._replace(f_z=None, memory=(), d=None)
            ones = lambda a: where_rows(finite, a, namespace(a).ones_like(a)) if self.has_rows(a) else a  # noqa: E731
            state = state.mapped(ones)._replace(f_z=f_z)
        fun, z = objective(problem, state), point(problem, state)
        certificate = certify(problem, state, self.kind)
        columns = fun, certificate.stationarity, certificate.infeasibility, norm(z, k)
        fun, stationarity, infeasibility, size = (_numbers(column) for column in columns)  # pyright: ignore
        finite = finite.ravel() & np.isfinite(fun)
        stationarity, infeasibility = (np.where(finite, column, np.nan) for column in (stationarity, infeasibility))
        error = np.maximum(stationarity / np.maximum(1.0, np.abs(fun)), infeasibility / np.maximum(1.0, size))
        error = np.where(finite & np.isfinite(stationarity) & np.isfinite(infeasibility), error, np.inf)
        return Numbers(np.where(finite, fun, np.nan), stationarity, infeasibility, error, finite)

    def _measure_on_host(self, problem: Problem, state: State) -> Numbers | None:
        """Return what `_measure` does where h is a set, None where a number is not finite."""
        n, d, distance = len(self.members), state.move, getattr(problem.h, "distance", None)
        if not all_finite(d):  # some oracles refuse NaN; in u, the loop finds it
            return None
        fun = _numbers(objective(problem, state))  # pyright: ignore[reportArgumentType]
        away = np.empty(0) if distance is None else distance(state.z)
        columns = (as_numbers(column) for column in (self.steps(state), problem.support(d), fun, away))  # pyright: ignore
        arrays, measured = (as_rows(array, n) for array in (d, state.y, state.u, state.z)), np.empty((3, n))
        if not compiled_measures().measure_rows(*arrays, *columns, measured):
            return None
        stationarity, infeasibility, error = measured
        return Numbers(fun, stationarity, infeasibility, error, np.ones(n, dtype=bool))


def _numbers(column: Array) -> np.ndarray:
    """Return one number for each row, on the host."""
    return np.ravel(to_numpy(column)).astype(float, copy=False)
