"""The compiled twin of the splitting on the relaxed problem: the buffers for the loop of `kernels/birkhoff_tos.py`.

`BirkhoffLoop` iterates; `Birkhoff` is the engine of a run on it. A check takes the bound that needs no oracle, of
whatever form of f the iteration uses; the gap of f itself, an assignment problem, only confirms.
"""

from functools import partial
from time import perf_counter

import numpy as np

from trisplit.arrays import eps
from trisplit.arrays.batched import norm
from trisplit.errors import InputError
from trisplit.problems.certificates import certify
from trisplit.problems.measures import Checked, Measured, unknown
from trisplit.problems.problem import Problem
from trisplit.problems.sizes import Marks, Scales
from trisplit.problems.space import Space
from trisplit.qap.concavity import STAGE, Concavity
from trisplit.qap.objective import Objective, Tangent
from trisplit.qap.swap_form import aligned
from trisplit.result import Status
from trisplit.splitting.engine import Engine, Splitting, Watch
from trisplit.splitting.frank_wolfe import frank_wolfe
from trisplit.splitting.tos import Iterate
from trisplit.steps import Adaptive, Constant, StepRule
from trisplit.steps.records import Table
from trisplit.terms import Box, Simplex, UnitSums

SPLITS = {
    1: (Simplex(axis=1), Simplex(axis=0)),  # row-stochastic, column-stochastic
    2: (Box(0.0, 1.0), UnitSums()),
}
SLACK = 4.0  # near a stationary point the bound is rarely more than so many times the gap
FIRST_CHECK = 10  # of an iteration that costs less than a check; of QAPLIB only an instance of zeros is solved earlier
CHUNK_SECONDS = 0.02  # of compiled iterations between two looks at the clock, and at Ctrl-C


class BirkhoffLoop:
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
    >>> loop = BirkhoffLoop(f.tangent(), 1, ts.steps.Adaptive())
    >>> loop.start(np.full((12, 12), 1 / 12))
    >>> tests = loop.advance(100)
    >>> bool(np.abs(loop.z.sum(axis=1) - 1).max() < 1e-12)
    True
    """

    def __init__(self, form: Tangent | Objective, split: int, rule: Adaptive | Constant, order: str = "gh") -> None:
        from trisplit.kernels import birkhoff_tos as names

        self.form, self.split, self.rule, self.order = form, split, rule, order
        self.adaptive = isinstance(rule, Adaptive)
        if order == "hg" and (split != 2 or self.adaptive):
            raise InputError("`order='hg'` is for split 2 and a constant step; use `trisplit.tos` for others")
        if isinstance(form, Tangent):
            A, B, symmetric = form.A, form.B, form.symmetric
            self.linear, constant = form.g0, form.constant
        else:
            A, B, symmetric = form.symmetric_parts
            self.linear, constant = (np.zeros_like(A) if form.C is None else form.C), 0.0
        n, dtype = A.shape[0], A.dtype
        self._names = names
        self._run, self._certify = names.engine("f4" if dtype == np.float32 else "f8", exchanged=order == "hg")
        self.matrices = np.stack([A, B.T] if symmetric else [A, B.T, A.T, B])
        self.state = aligned((names.STATES, n, n), dtype)
        self.vectors = np.zeros((names.VECTORS, n), dtype)
        told = {"adaptive": float(self.adaptive), "split": float(split), "constant": constant}
        rule_numbers = rule.first_numbers(eps(self.state)) if isinstance(rule, Adaptive) else {}
        self.table = Table.of(1, {**names.FIRST_NUMBERS, **rule_numbers, **told})
        self.record = {name: self.table.rows[name] for name in ("gamma", "mu", "place", "value")}  # views are faster
        self.numbers = self.table.rows.view(np.float64)  # numba takes a plain array faster than a record
        self.first = self.numbers.copy()
        self.t, self.mu = 0, 0.0

    def start(self, y0: np.ndarray, gamma: float | None = None) -> None:
        """Begin at y_1 = y0; a gamma from an earlier start saves measuring the first one."""
        self.state[self._names.Y] = y0
        self.vectors[:] = 0.0
        self.numbers[:], self.t = self.first, 0
        if gamma is None:
            plain = Space()  # all that a first step asks for, without the checks of a `Problem`
            plain.inside, plain.grad = partial(SPLITS[self.split][0].prox, gamma=1.0), self.form.grad
            gamma = float(self.rule.start(plain, y0)[0])
        self.record["gamma"][0] = gamma

    def advance(self, iterations: int) -> int:
        """Do some iterations; return how many curvature tests, of two products each, they took."""
        self.t += iterations
        self.record["mu"][0] = self.mu
        return self._run(self.matrices, self.linear, self.state, self.vectors, self.numbers, iterations)

    @property
    def z(self) -> np.ndarray:
        """Z of the last iteration; the next call of `advance` overwrites it."""
        return self.state[int(self.record["place"].item())]

    @property
    def gamma(self) -> float:
        return self.record["gamma"].item()

    @property
    def value(self) -> float:
        """The form at z."""
        return self.record["value"].item()

    def certify(self) -> tuple[float, float]:
        """Return an upper bound on the gap of the form at z, and the distance of z to unit sums."""
        names, state = self._names, self.state
        arrays = state[names.Y], self.z, state[names.U], state[names.D]
        return self._certify(*arrays, self.gamma, self.vectors[names.COUNTS])

    def last(self) -> Iterate:
        """Return a copy of the last iteration."""
        names = self._names
        state = self.state[: names.V].copy()  # without memory
        z, y, d = state[int(self.record["place"].item())], state[names.Y], state[names.D]
        y -= d
        d += z  # now x
        return Iterate(self.t, z, d, y, state[names.U], self.gamma, self.value)


class Relaxation(Engine):
    """What the engines share: a point counts by the gap of f itself, in float64, whatever form they iterate on.

    `original` is the problem with that f; its terms are those of `problem`.
    """

    n: int  # rows of the matrices
    original: Problem

    scale_free = False  # the two errors are those of the paper

    def measure(self, made: Iterate, scales: Scales, marks: Marks) -> Checked:
        return self.compared(made, self.rated(self.problem, made, self.kind), scales)

    def compared(self, made: Iterate, numbers: Measured, scales: Scales) -> Checked:
        """Return what a check has told, and whether the error is the smallest so far."""
        scales = scales.copy()
        scales.put({"better": float(numbers.error < scales.error), "error": min(numbers.error, scales.error)})  # pyright: ignore[reportArgumentType]
        return Checked(made, numbers, scales)

    def confirm(self, made: Iterate, scales: Scales, *, natural: bool = True) -> Checked:
        """Judge z alone, by the gap of f itself."""
        z, x = made.z.astype(np.float64), made.x.astype(np.float64)
        value, u = self.original.value_and_grad(z)
        wide = made._replace(z=z, x=x, u=u, f_z=value)
        return Checked(made, self.rated(self.original, wide, self.final_kind), scales)

    def rated(self, problem: Space, made: Iterate, kind: str) -> Measured:
        """Return how good z is by that kind of certificate."""
        if problem.finite(made.z, made.x, made.u) is not True:
            return unknown(())
        found = certify(problem, made, kind)
        return self.graded(float(problem.objective(made)), float(found.stationarity), float(found.infeasibility), kind)

    def graded(self, fun: float, stationarity: float, infeasibility: float, kind: str) -> Measured:
        """Return the numbers of a check, with the error of the paper."""
        error = paper_errors(self.n, fun, stationarity / (SLACK if kind == "bound" else 1.0), infeasibility)
        return Measured(fun, float(stationarity), infeasibility, error)


class Birkhoff(Relaxation):
    """A `BirkhoffLoop` as a run sees it; with a concavity, no check is worth it before that has grown."""

    def __init__(self, loop: BirkhoffLoop, original: Problem, concavity: Concavity | None = None) -> None:
        super().__init__(original, "bound")
        self.original, self.final_kind, self.n = original, "gap", len(loop.linear)
        self.loop, self.concavity, self.chunk = loop, concavity, 1
        self.first_check = FIRST_CHECK if concavity is None else concavity.iterations

    def advance(self, until: int, watch: Watch | None = None) -> Status | None:
        """Iterate in chunks that double up to some milliseconds; `watch` is asked between them."""
        loop, counts, reason = self.loop, self.original.counts, None
        while loop.t < until and reason is None:
            begin, iterations = perf_counter(), min(self.chunk, until - loop.t)
            if self.concavity is not None:
                loop.mu = self.concavity.at(loop.t)
                iterations = min(iterations, STAGE - loop.t % STAGE)
            counts.value += iterations + loop.advance(iterations)
            counts.grad += iterations
            counts.prox += 2 * iterations
            if iterations == self.chunk and perf_counter() - begin < CHUNK_SECONDS / 2:
                self.chunk *= 2
            self.now = loop.last()  # also for Ctrl-C
            reason = None if watch is None else watch(self.now)
        return reason

    def measure(self, made: Iterate, scales: Scales, marks: Marks) -> Checked:
        bound, distance = self.loop.certify()
        if self.loop.order == "hg":  # z has unit sums, and is to come to lie in the box
            distance = norm(made.z - SPLITS[2][0].prox(made.z, 1.0))
        return self.compared(made, self.graded(self.loop.value, bound, distance, self.kind), scales)


class FrankWolfe(Relaxation):
    """The baseline of the paper on f as it is, from a feasible point, with exact line search."""

    def __init__(self, problem: Problem, z0: np.ndarray, original: Problem) -> None:
        super().__init__(problem, "gap")
        self.iterates, self.original, self.n = frank_wolfe(problem, z0), original, len(z0)

    def step(self, valued: bool) -> Iterate:
        return next(self.iterates)


class PlainRelaxation(Relaxation, Splitting):
    """Algorithm 1 on a form of f where there is no compiled loop: sparse matrices, theoretical steps."""

    def __init__(self, form: Problem, x0: np.ndarray, rule: StepRule, original: Problem) -> None:
        Splitting.__init__(self, form, x0, rule)
        self.kind, self.final_kind, self.original, self.n = "bound", "gap", original, len(x0)


def paper_errors(n: int, fun: float, stationarity: float, infeasibility: float) -> float:
    """Return the larger of the two errors of [YMS21] section 5: |gap| / max(f, 1) and dist(X, H) / sqrt(n)."""
    return max(abs(stationarity) / max(fun, 1.0), infeasibility / n**0.5)
