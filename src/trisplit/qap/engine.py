"""The compiled twin of the splitting on the relaxed problem: the buffers, for the loops of `kernels/birkhoff.py`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from time import perf_counter
from typing import NamedTuple

import numpy as np

from trisplit.algorithms.state import State
from trisplit.arrays import Array, eps, none_if_failed, norm
from trisplit.certificates import certify, objective, recompute
from trisplit.driver import Driver, Measured
from trisplit.errors import InputError
from trisplit.problem import Problem
from trisplit.qap.exchange_form import aligned
from trisplit.qap.objective import Objective, Tangent
from trisplit.result import Certificate, Guarantee, Result, Status
from trisplit.steps import Adaptive, Constant
from trisplit.steps.decisions import WIDTH
from trisplit.terms import Box, Simplex, UnitSums

SPLITS = {
    1: (Simplex(axis=1), Simplex(axis=0)),  # row-stochastic, column-stochastic
    2: (Box(0.0, 1.0), UnitSums()),
}
SLACK = 4.0  # near a stationary point the bound is rarely more than a few times the gap
STAGE, POWER = 10, 6  # of the growing concavity
CHUNK_SECONDS = 0.02  # of compiled iterations between two looks at the clock, and at Ctrl-C


class Engine:
    """The iterations of Algorithm 1 on a tangent form, from one starting point after the other.

    Parameters
    ----------
    form : Tangent or Objective
        Of dense matrices, whose precision is that of the iteration.
    split : {1, 2}
        As in `trisplit.qap.relax`.
    rule : Adaptive or Constant
    order : {"gh", "hg"}
        "hg" exchanges the two sets; for split 2 and a constant step.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> nug12 = ts.qap.load("nug12")
    >>> f = ts.qap.Objective(nug12.A.astype(float), nug12.B.astype(float))
    >>> engine = Engine(f.tangent(), 1, ts.steps.Adaptive())
    >>> engine.start(np.full((12, 12), 1 / 12))
    >>> engine.advance(100)
    >>> bool(np.abs(engine.z.sum(axis=1) - 1).max() < 1e-12)
    True
    """

    def __init__(self, form: Tangent | Objective, split: int, rule: Adaptive | Constant, order: str = "gh") -> None:
        from trisplit.kernels import birkhoff

        self.form, self.split, self.rule, self.order = form, split, rule, order
        self.adaptive = isinstance(rule, Adaptive)
        if isinstance(form, Tangent):
            A, B, symmetric = form.A, form.B, form.symmetric
            self.linear, self.constant = form.g0, form.constant
        else:
            A, B, symmetric = form.symmetric_parts
            self.linear, self.constant = (np.zeros_like(A) if form.C is None else form.C), 0.0
        n, dtype = A.shape[0], A.dtype
        precision = "f4" if dtype == np.float32 else "f8"
        self._run, self._certify = birkhoff.engine(precision)
        self._run_swapped = None
        if order == "hg":
            if split != 2 or self.adaptive:
                raise InputError("`order='hg'` is for split 2 and a constant step; use `trisplit.tos` for others")
            from trisplit.kernels import swapped

            self._run_swapped = swapped.engine(precision)
        self.matrices = np.stack([A, B.T] if symmetric else [A, B.T, A.T, B])
        self.state = aligned((birkhoff.STATES, n, n), dtype)
        self.vectors = np.zeros((birkhoff.VECTORS, n), dtype)
        self.numbers = np.zeros(WIDTH)
        self.scalars = np.zeros(birkhoff.SCALARS)
        self._names = birkhoff
        self.t, self.mu = 0, 0.0

    def start(self, y0: np.ndarray, gamma: float | None = None) -> None:
        """Begin at y_1 = y0; a gamma from an earlier start saves measuring the first one."""
        names = self._names
        self.state[names.Y] = y0
        self.vectors[:] = 0.0
        self.scalars[:] = 0.0
        self.scalars[names.PLACE] = names.Z
        self.t = 0
        if isinstance(self.rule, Adaptive):
            if gamma is None:
                gamma, _ = self.rule.start(Problem(self.form, SPLITS[self.split]), y0)
            self.numbers[1:] = self.rule.first_numbers(eps(self.state))
        else:
            gamma, _ = self.rule.start(None, y0)  # pyright: ignore
        self.numbers[0] = gamma

    def advance(self, iterations: int) -> None:
        """Do some iterations."""
        self.t += iterations
        arrays = self.matrices, self.linear, self.state, self.vectors
        if self._run_swapped is not None:
            self._run_swapped(*arrays, self.gamma, self.scalars, self.constant, iterations)
            return
        change, dominance = (self.rule.change, self.rule.dominance) if isinstance(self.rule, Adaptive) else (0.0, 0.0)
        self._run(
            *arrays,
            self.numbers,
            self.scalars,
            self.constant,
            self.mu,
            self.split,
            self.adaptive,
            change,
            dominance,
            iterations,
        )

    @property
    def z(self) -> np.ndarray:
        """Z of the last iteration; the next call of `advance` overwrites it."""
        return self.state[int(self.scalars[self._names.PLACE])]

    @property
    def gamma(self) -> float:
        return float(self.numbers[0])

    @property
    def value(self) -> float:
        """The form at z."""
        return float(self.scalars[self._names.VALUE])

    @property
    def tests(self) -> int:
        """How many curvature tests, of two products each, there were."""
        return int(self.scalars[self._names.TESTS])

    def certify(self) -> tuple[float, float]:
        """Return an upper bound on the gap of the form at z, and the distance of z to unit sums."""
        names, state = self._names, self.state
        arrays = state[names.Y], self.z, state[names.U], state[names.D]
        return self._certify(*arrays, self.numbers[0], self.vectors[names.COUNTS])

    def last(self) -> State:
        """Return a copy of the last iteration."""
        names = self._names
        y, u, d = (self.state[place].copy() for place in (names.Y, names.U, names.D))
        return State(self.t, self.z.copy(), self.z + d, y - d, u, self.gamma, self.value, (), d)


class Concavity(NamedTuple):
    """How mu of f(X) - mu / 2 (||X||^2 - n) grows: to `final` within some iterations, in stages, most of it late."""

    final: float
    iterations: int

    def at(self, t: int) -> float:
        """Return mu after t iterations."""
        grown = min(t // STAGE * STAGE / self.iterations, 1.0)
        return self.final * grown**POWER


@dataclass(frozen=True, eq=False)
class Concave:
    """f(X) - mu / 2 (||X||^2 - n), which equals f at permutations.

    Examples
    --------
    >>> import numpy as np
    >>> f = Concave(Objective(np.eye(2), np.eye(2)), 3.0)
    >>> float(f.value(np.eye(2))), float(f.value(np.full((2, 2), 0.5)))
    (2.0, 2.5)
    """

    f: Objective
    mu: float

    def value(self, X: Array) -> float:
        return self.f.value(X) - self._bend(X)

    def grad(self, X: Array) -> Array:
        return self.f.grad(X) - self.mu * X

    def value_and_grad(self, X: Array) -> tuple[float, Array]:
        value, grad = self.f.value_and_grad(X)
        return value - self._bend(X), grad - self.mu * X

    def _bend(self, X: Array) -> float:
        return self.mu / 2.0 * (float(np.vdot(X, X)) - X.shape[0])


class RelaxDriver(Driver):
    """The driver of `relax`: stops on the gap of the original f, whatever form of it the iteration uses.

    While a splitting iterates, a look takes the bound that needs no oracle, and the gap, an assignment problem, only
    confirms.
    """

    engine: Engine | None = None
    form: Problem | None = None  # what a splitting without engine iterates on
    exact: Problem | None = None  # the problem in float64, if the iteration has less

    def states(self, engine: Engine, concavity: Concavity | None = None) -> Iterator[State]:
        """Let the engine iterate from one look to the next; with a concavity, there is none before it has grown."""
        self.engine, chunk = engine, 1
        if concavity is not None:
            self.next_look = max(self.next_look, concavity.iterations)
        while True:
            while engine.t < min(self.next_look, self.max_iter):
                begin, tests = perf_counter(), engine.tests
                iterations = min(chunk, self.next_look - engine.t, self.max_iter - engine.t)
                if concavity is not None:
                    engine.mu = concavity.at(engine.t)
                    iterations = min(iterations, STAGE - engine.t % STAGE)
                engine.advance(iterations)
                end = perf_counter()
                self.counts.value += iterations + engine.tests - tests
                self.counts.grad += iterations
                self.counts.prox += 2 * iterations
                if iterations == chunk and end - begin < CHUNK_SECONDS / 2:
                    chunk *= 2
                if self.time_limit is not None and end - self.begin >= self.time_limit:
                    break
            yield engine.last()

    def _measure(self, state: State) -> Measured | None:
        if self.engine is not None:
            fun, (bound, distance) = self.engine.value, self.engine.certify()
            if self.engine.order == "hg":  # z has unit sums, and is to come to lie in the box
                distance = norm(state.z - SPLITS[2][0].prox(state.z, 1.0))
        elif self.form is not None:
            fun, bound = objective(self.form, state), certify(self.form, state, "bound").stationarity
            distance = norm(state.z - self.form.h.prox(state.z, 1.0))
        else:
            return super()._measure(state)
        if not (isfinite(bound) and isfinite(distance) and isfinite(fun)):
            return None
        errors = self.errors(Certificate(bound / SLACK, distance, "bound"), fun, state.z)
        return Measured(state, fun, Certificate(bound, distance, "bound"), max(errors))

    def measure_anew(self, state: State) -> Measured | None:
        """Return the state with the gap of the original f, in float64 whatever the precision of the iteration is."""
        return none_if_failed(self._measure_anew, state)

    def _measure_anew(self, state: State) -> Measured | None:
        if self.exact is None:
            return super()._measure(recompute(self.problem, state, "gap"))
        wide = state._replace(z=state.z.astype(np.float64), x=state.x.astype(np.float64), f_z=None)
        wide = recompute(self.exact, wide, "gap")
        fun, certificate = objective(self.exact, wide), certify(self.exact, wide, "gap")
        finite = isfinite(fun) and isfinite(certificate.stationarity) and isfinite(certificate.infeasibility)
        return Measured(state, fun, certificate, max(self.errors(certificate, fun, wide.z))) if finite else None

    def finish(self, state: State, status: Status, guarantee: Callable[[int], Guarantee]) -> Result:
        """Return the result; all that it may hand out has its gap."""
        if status in (Status.INTERRUPTED, Status.NOT_FINITE) and self.best is not None:
            self.best = self.measure_anew(self.best.state)
        return super().finish(state, status, guarantee)
