"""What ends a run that cannot succeed, and the evidence: no common point, no lower bound, a wrong gradient or prox.

Each question is about one problem. It is asked where the numbers of the checks make the answer likely, and before a
run ends otherwise.
"""

from collections.abc import Iterator
from itertools import chain
from math import inf, prod
from typing import NamedTuple

import numpy as np

from trisplit.arrays import Array, eps, is_array, none_if_failed, to_numpy
from trisplit.arrays.batched import all_finite, norm
from trisplit.problems.alone import alone
from trisplit.problems.gradient_faults import gradient_fault
from trisplit.problems.measures import Measured
from trisplit.problems.oracles import is_ours
from trisplit.problems.product import with_two_terms
from trisplit.problems.prox_faults import noise, prox_fault
from trisplit.problems.recession import Recession, recede
from trisplit.problems.scales import COLLAPSE, FIRST
from trisplit.problems.separation import Separation, separate
from trisplit.problems.sizes import Marks, Scales
from trisplit.problems.space import Space, has_rows
from trisplit.result import Status
from trisplit.splitting.engine import Engine
from trisplit.splitting.tos import Iterate
from trisplit.steps.records import Record, Table

PLATEAU, FEW = 8.0, 50.0  # so many times as many iterations without progress as with, at least so many with
NEARLY = 1e-3  # an error above which a plateau may be one of the way
FARTHER = 1e3  # times the size of all that was seen, where f still falls
ROUGH = 10.0  # times the curvature on a longer way: noise
COARSE = 100.0  # units of rounding of gradients less precise than x0
STEPS = 30  # averaged projections in search of a separation, and one for each so many iterations
SHARE, LARGE = 4, 10_000  # of small problems; large ones must not spend a tenth of the run on it


class Verdict(NamedTuple):
    """How a problem ends, why, and what proves it."""

    status: Status
    why: str
    proof: Separation | Recession | None = None


class Case(NamedTuple):
    """One problem at a check: the iterate, what was seen so far, where the run began and where the last check was."""

    problem: Space
    made: Iterate
    scales: Record
    x0: Array
    before: Array
    fun: float
    error: float  # of the point that is handed out

    @property
    def size(self) -> float:
        """The size of all that was seen."""
        return self.scales.travel + self.scales.size + self.scales.apart

    @property
    def no_progress(self) -> bool:
        """Whether the error has hardly fallen for most of the run, or is as small as coarse gradients allow."""
        r = self.scales
        coarse = self.problem.base.f.coarse
        plateau = r.t > PLATEAU * max(r.gained, FEW) and r.t > 2.0 * r.best_t and r.error <= NEARLY
        if plateau and (coarse > 0.0 or r.apart * r.steep > r.residual * r.length or self.noisy):
            return True
        return 0.0 < r.residual <= COARSE * coarse * r.steepest

    @property
    def noisy(self) -> bool:
        """Whether the gradient changes on a short way by far more than its change on a long one explains."""
        base, z = self.problem.base, self.problem.point(self.made)
        u, move = base.grad(z), noise(z, np.random.default_rng(0))
        near, far = (none_if_failed(base.curvature, z, u, width * move) for width in (eps(z) ** 0.5, eps(z) ** 0.2))
        return near is None or far is None or not near <= ROUGH * far

    def unsolvable(self) -> Iterator[Verdict]:
        """Yield what proves that there is no common point of the domains, or that phi falls without end."""
        problem, made, r = self.problem, self.made, self.scales
        point, base = problem.point(made), problem.base
        centre, reached = point, problem.reached(made)
        if r.drifting > 0.0:  # far away, rounding hides what keeps the domains apart
            centre, reached = self.x0, [self.x0] * len(base.terms)
        if r.apart > r.tol * r.length:
            share = SHARE if prod(point.shape) < LARGE else 5 * SHARE
            found = separate(base, centre, reached, self.size, STEPS + int(r.t) // share)
            if found is not None:
                exact = found.distance == inf
                why = "this is exact" if exact else f"a common point would lie at least {found.distance:.3g} away"
                yield Verdict(Status.INFEASIBLE, why, found)
        slope = r.steep if r.steep > 0.0 else r.residual
        directions = [d for d in (point - self.before, point - self.x0, problem.together(made.d)) if norm(d) > 0.0]
        way = abs(self.fun) / slope if slope > 0.0 else 0.0  # on which phi falls by its own size
        falling = recede(base, centre, directions, max(self.size, min(way, FARTHER * self.size)), slope)
        if falling is not None:
            how = "is proven to fall" if falling.proven else "falls as far as it was followed"
            yield Verdict(Status.UNBOUNDED, f"phi {how} by {-falling.slope:.3g} per unit along a direction", falling)

    def stalled(self) -> Verdict:
        """Return what keeps the point from getting better, as far as numbers tell, and how good it is."""
        r, f = self.scales, self.problem.base.f
        reached = f"the error of {self.error:.1e} has not fallen by a tenth since iteration {int(r.gained)}"
        if f.coarse:
            cause = "f has a lower precision than x0"
        elif r.still > 0.0:
            cause = "moves are rounding errors"
        elif r.apart * r.steep > r.residual * r.length or r.apart > r.tol * r.length:
            cause = f"the points of the terms stay {r.apart:.1e} apart"
        else:
            cause = "values or gradients of f are noisy"
        return Verdict(Status.STALLED, f"{reached}; {cause}")

    def faulty(self) -> Iterator[Verdict]:
        """Yield evidence that f has another gradient, or a term another proximal map."""
        problem, made, r = self.problem, self.made, self.scales
        point = problem.point(made)
        near = 10.0 * (norm(point) + norm(self.x0))  # a run that diverged has been farther
        travel, steepest = (r.travel, r.steepest) if r.travel <= near else (near, 0.0)
        if not is_ours(problem.base.f.source):
            why = gradient_fault(problem.base, point, self.x0, r.gamma, travel=travel, steepest=steepest)
            if why is not None:
                yield Verdict(Status.BAD_GRADIENT, why)
        if (found := prox_fault(problem, made, (self.x0,))) is not None:
            place, why = found
            yield Verdict(Status.BAD_PROX, f"`terms[{place}]` ({type(problem.base.terms[place]).__name__}): {why}")


def verdict_on(
    engine: Engine, scales: Scales, marks: Marks, made: Iterate, numbers: Measured, row: int, status: Status | None
) -> Verdict | None:
    """Return what is found out about one problem that ends with that status, or goes on if nothing is found."""
    if isinstance(scales, Table):
        own = Record({name: float(scales.rows[name][row]) for name in FIRST})
        x0, last = (engine.taken(x, np.array([row]))[0, ...] for x in (engine.x0, marks.before))
        case = Case(
            *one_of(engine, made, row),
            own,
            x0,
            last,
            *(float(np.ravel(each)[row]) for each in (numbers.fun, numbers.error)),
        )
    else:
        case = Case(engine.problem, made, scales, engine.x0, marks.before, float(numbers.fun), float(numbers.error))
    if case.made.z is None or not all_finite(case.problem.point(case.made)):
        return None
    if status is Status.NOT_FINITE and (why := case.problem.base.f.failure):
        remaining = [Verdict(status, why)]
    elif status is Status.STALLED or (status is Status.MAX_ITER and case.no_progress):
        remaining = [case.stalled()]
    else:
        remaining = []
    unsolvable = () if status is Status.CONVERGED else case.unsolvable()
    faulty = () if status is None and case.scales.gamma >= COLLAPSE * case.scales.longest else case.faulty()
    return next(chain(unsolvable, faulty, remaining), None)


def one_of(engine: Engine, made: Iterate, row: int) -> tuple[Space, Iterate]:
    """Return one problem of a batch as one of its own, with its part of an iterate."""
    problem = with_two_terms(alone(engine.problem.base, engine.problem.point(made), row))
    parts = {name: part for name, part in made._asdict().items() if has_rows(part, engine.batch)}
    one = {name: engine.taken(part, np.array([row]))[0, ...] for name, part in parts.items()}
    gamma = one.get("gamma", made.gamma)
    gamma = float(to_numpy(gamma).ravel()[0]) if is_array(gamma) else gamma
    return problem, made._replace(**{**one, "gamma": gamma})
