"""The adaptive step: backtracking on the sufficient-decrease test, with growth that stays safe for sets.

Three mechanisms, none of which needs a constant from the user.

1. *Curvature* (Pedregosa and Gidel 2018, Adaptive Three Operator Splitting). With d = x - z, a trial gamma is kept if

       |f(x) - f(z) - <grad f(z), d>| <= ||d||^2 / (2 gamma),

   else gamma shrinks and x is computed anew. The absolute value is ours: a concave f always passes the one-sided test,
   and its step would grow without end. Where the curvature is negative only the part of d that f sees counts: in the
   product space of Algorithm 2 the free copy would run away otherwise. A step that has grown is always tested; where it
   passes without negative curvature the test rests until the moves are compared the next time, and if the step does not
   grow then, until the time after it. That saves two values of f in each of three iterations out of four. A step rests
   no longer once ||grad f(z)||^2 has doubled since the last test: f is then another one than where it was tested.
2. *Balance.* y = z + gamma v with v a subgradient of g, so a step of y is the primal move z+ - z plus the dual move
   gamma (v+ - v). gamma grows while the primal move is the larger one and shrinks if the dual move dominates: then x
   and z disagree, and a longer step would only make them more so. This also bounds the step for a linear f, which
   has no curvature. After the first nine iterations the moves are compared in every fourth one, in a batch in the same
   one for all problems. How far gamma grows depends on how much longer a step would have passed the last test.
3. *Stagnation.* For a nonconvex f the iterates may circle. If ||y+ - y|| has not fallen for a long while and the dual
   moves are not small, the step is halved and capped there; if they are small the iterates creep and the cap is lifted.

Each reversal between growth and shrinkage makes further changes smaller, so gamma settles.

Here inner products are taken where the arrays live; what follows from them is decided on the host, in `decisions.py`,
for one problem or for each of a batch. A GPU is waited for four times in an iteration without backtracking: for f(z),
for the moves, for ||d||^2, ||grad f(z)||^2 and <grad f(z), d> at once, and for f(x).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trisplit.arrays import Array, Kept, StepSize, eps
from trisplit.steps import decisions
from trisplit.steps.base import Proposal
from trisplit.steps.records import Record, Table

if TYPE_CHECKING:
    from trisplit.problems.space import Space
    from trisplit.splitting.tos import Iterate


class Memory(NamedTuple):
    """What the rule remembers of the last iteration: z, d = x - z, and the numbers of `decisions.FIRST`."""

    z: Array | None
    d: Array | None
    record: Record | Table


@dataclass(frozen=True)
class Adaptive:
    """Backtracking with growth; needs neither a smoothness constant nor bounds.

    Parameters
    ----------
    change : float
        The first change of log(gamma); each reversal makes the next ones smaller.
    dominance : float
        gamma shrinks if the dual move is this many times the primal move.
    patience : int
        Iterations without progress before the step is halved; doubles each time.
    relax : float
        The relaxation of the iteration; `as_step` fills it in.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = lambda x: (50 * ((x - 3) ** 2).sum(), 100 * (x - 3))
    >>> res = ts.minimize(f, np.zeros(2), [ts.terms.NonNegative(), ts.terms.L1(1.0)], step=Adaptive())
    >>> res.x.round(4)
    array([2.99, 2.99])
    """

    change: float = 0.5
    dominance: float = 4.0
    patience: int = 100
    relax: float = 1.0

    def first_numbers(self, tiny: float) -> dict[str, float]:
        """Return the numbers of the first record, for arrays of that machine epsilon."""
        return {**decisions.FIRST, **vars(self), "eps": tiny}

    def start(self, problem: "Space", y: Array) -> tuple[StepSize, Memory]:
        """Return 1 / L with L measured between a point of dom g and one on its negative gradient.

        Where that is not known, the first step moves the point by its own size.
        """
        tiny, z = eps(y), problem.inside(y)
        where: Callable[..., np.ndarray] = np.where if problem.batch_ndim else chosen
        u = problem.grad(z)
        size, slope = np.asarray(problem.norms(z, u))
        sloped, ones = (slope > 0.0) & np.isfinite(slope), sqrt(prod(z.shape[problem.batch_ndim :]))

        def against(u: Array, move: np.ndarray) -> Array:
            """Return a move of that length against the gradient, where that is 0 along ones."""
            along = problem.as_steps(move / where(sloped, slope, 1.0), z)
            return problem.as_steps(where(sloped, 0.0, move / ones), z) - along * u

        far = max(1e-4, 10.0 * sqrt(tiny))  # shorter moves, next to ||z||, change the gradient by rounding alone
        move = where(size > 0.0, far * size, 1.0)
        with np.errstate(all="ignore"):
            gamma = where((size > 0.0) & sloped, size / slope, 1.0)
            L = problem.curvature(z, u, against(u, move))
            if (lost := (size == 0.0) & sloped & (L > 0.0)).any():  # the move of length 1 says what a short one is
                move = where(lost, 0.01 * slope / L, move)
                L = problem.curvature(z, u, against(u, move))
            # Rounding in the gradient alone makes L move as large as eps slope.
            gamma = where(np.isfinite(L) & (L * move > tiny * slope), 1.0 / L, gamma)
        known = where(np.isfinite(gamma) & (gamma > 0.0), gamma, 1.0)
        return self.begin(problem, y, known if problem.batch_ndim else float(known))

    def begin(self, problem: "Space", y: Array, gamma: float | np.ndarray) -> tuple[StepSize, Memory]:
        """Return a first step that is known, and a memory of nothing."""
        r = problem.record(self.first_numbers(eps(y)), y)
        r.gamma = gamma
        return problem.as_steps(r.gamma, y), Memory(None, None, r)

    def propose(self, problem: "Space", memory: Memory, z: Array, y: Array, gamma: StepSize) -> Proposal[Memory]:
        r = memory.record.copy()  # an interrupt finds the old one
        if memory.z is None or memory.d is None:
            r.size = sum(problem.norms(z, y - z))
            return gamma, True, Memory(None, None, r)
        if r.count(decisions.compares_moves):
            z_move = z - memory.z
            r.z_square, r.z_along_d = problem.dots((z_move, z_move), (z_move, memory.d))
        if r.count(decisions.add_moves):
            r.size = sum(problem.norms(z, y - z))  # in a batch of all problems, which is as good a bound for the others
        trial = problem.as_steps(r.gamma, y) if r.count(decisions.balance) else gamma
        return trial, r.count(decisions.wants_test) > 0, Memory(memory.z, memory.d, r)

    def judge(self, problem: "Space", memory: Memory, made: "Iterate", d: Array) -> tuple[StepSize, Memory]:
        """Judge the step of each problem; the record, which `propose` made for this iteration, is changed."""
        r, u = memory.record, made.u
        memory = Memory(made.z, d, r)
        if made.f_z is None:
            r.square, r.slope_sq = problem.dots((d, d), (u, u))
        else:
            r.square, r.slope_sq, r.slope = problem.dots((d, d), (u, u), (u, d))
        if not r.count(decisions.needs_test):
            return made.gamma, memory
        r.f_z = problem.read(problem.value(made.z) if made.f_z is None else made.f_z)
        if r.count(decisions.testable):
            part = problem.smooth_part(d)
            r.smooth_square = r.square if part is d else problem.norms(part)[0] ** 2
            if made.f_z is None:
                (r.slope,) = problem.dots((u, d))
            r.f_x = problem.read(problem.value(made.x))
        refused = r.count(decisions.refuse)
        return problem.as_steps(r.gamma, d) if refused else made.gamma, memory


def chosen(condition: np.ndarray, x: Kept, y: Kept) -> Kept:
    """Return `np.where` of numbers, many times faster."""
    return x if condition else y
