"""The adaptive step: backtracking on the sufficient-decrease test, with growth that stays safe for sets.

Three mechanisms, none of which needs a constant from the user.

1. *Curvature* (Pedregosa and Gidel 2018, Adaptive Three Operator Splitting). With d = x - z, a trial gamma is kept if

       |f(x) - f(z) - <grad f(z), d>| <= ||d||^2 / (2 gamma),

   else gamma shrinks and x is computed anew. The absolute value is ours: a concave f always passes the one-sided test,
   and its step would grow without end. Where the curvature is negative only the part of d that f sees counts: in the
   product space of Algorithm 2 the free copy would run away otherwise.
2. *Balance.* y = z + gamma v with v a subgradient of g, so a step of y is the primal move z+ - z plus the dual move
   gamma (v+ - v). gamma grows while the primal move is the larger one and shrinks if the dual move dominates: then x
   and z disagree, and a longer step would only make them more so. This also bounds the step for a linear f, which
   has no curvature.
3. *Stagnation.* For a nonconvex f the iterates may circle. If ||y+ - y|| has not fallen for a long while and the dual
   moves are not small, the step is halved and capped there; if they are small the iterates creep and the cap is lifted.

Each reversal between growth and shrinkage makes further changes smaller, so gamma settles.

The decisions are Python's, so numbers come to the host; a GPU is waited for four times in an iteration without
backtracking. `tos` asks for f(z); `propose` for the lengths of the moves, of z and of w, all at once; `judge`, once for
each trial, for ||d||^2 and <grad f(z), d> at once, and for f(x). In Algorithm 2, where the curvature is negative, the
part of d that f sees is one more.
"""

from dataclasses import dataclass
from math import exp, inf, isfinite, sqrt
from typing import TYPE_CHECKING, NamedTuple

from trisplit.arrays import Array, dots, eps, norm, norms

if TYPE_CHECKING:
    from trisplit.algorithms.product import ProductProblem
    from trisplit.algorithms.state import State
    from trisplit.problem import Function, Problem


MAX_BLIND = 10


class Memory(NamedTuple):
    """What the rule remembers from one iteration to the next."""

    z: Array | None  # of the iteration before
    y: Array | None  # of the iteration before
    size: float  # at least ||z|| + ||y - z|| of the iteration before
    passed: bool  # the last curvature test was passed, not drowned in rounding
    growing: bool  # the direction of the last change
    reversals: int
    primal: float  # running means of the two moves
    dual: float
    best: float  # the smallest ||y+ - y|| since the last restart of the count
    idle: int  # iterations since then
    patience: int
    cap: float
    eps: float  # of the arrays' dtype
    blind: int  # trials in a row at which f(x) was not finite
    shrinks: int  # by the balance so far: each makes the next smaller, or gamma would fall to 0 where sets hardly meet


@dataclass(frozen=True)
class Adaptive:
    """Backtracking with growth; needs neither a smoothness constant nor bounds.

    Parameters
    ----------
    change : float
        The first change of log(gamma); after k reversals it is change / (1 + k).
    dominance : float
        gamma shrinks if the dual move is this many times the primal move.
    patience : int
        Iterations without progress before the step is halved; doubles each time.

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
    needs_value = True

    def start(self, problem: "Problem | ProductProblem", y: Array) -> tuple[float, Memory]:
        """Return 1 / L with L measured between z_1 and a short gradient step from it."""
        z = problem.counted[0].prox(y, 1.0)
        gamma = self._first(problem, z, problem.f.grad(z))
        return gamma, Memory(None, None, inf, False, True, 0, 0.0, 0.0, inf, 0, self.patience, inf, eps(y), 0, 0)

    @staticmethod
    def _first(problem: "Problem | ProductProblem", z: Array, u: Array) -> float:
        size, slope = norms(z, u)
        size = max(size, 1.0)
        if not isfinite(slope) or slope == 0.0:
            return 1.0
        probe = problem.counted[0].prox(z - (1e-4 * size / slope) * u, 1e-4 * size / slope)
        moved = norm(probe - z)
        L = norm(problem.f.grad(probe) - u) / moved if moved > 0 else 0.0
        # Rounding in u alone makes L size as large as 1e4 eps slope.
        return 1.0 / L if isfinite(L) and L * size > 1e4 * eps(z) * slope else size / slope

    def propose(self, memory: Memory, z: Array, y: Array, gamma: float) -> tuple[float, Memory]:
        (
            z_old,
            y_old,
            size,
            passed,
            growing,
            reversals,
            primal_mean,
            dual_mean,
            best,
            idle,
            patience,
            cap,
            tiny,
            blind,
            shrinks,
        ) = memory
        if z_old is None or y_old is None:
            return gamma, Memory(*memory)._replace(size=sum(norms(z, y - z)))
        # y = z + w, so w moves by the difference of the two moves. Its length from inner products saves passes over
        # memory; what cancels is far smaller than `primal`, to which it is compared.
        z_move, y_move = z - z_old, y - y_old
        z_square, y_square, both = dots((z_move, z_move), (y_move, y_move), (z_move, y_move))
        primal, dual, move = sqrt(z_square), sqrt(max(z_square - 2.0 * both + y_square, 0.0)), sqrt(y_square)
        primal_mean, dual_mean = 0.9 * primal_mean + 0.1 * primal, 0.9 * dual_mean + 0.1 * dual
        trial, size = gamma, size + primal + dual
        if not move > 10.0 * tiny * size:  # perhaps only because the bound is loose
            size = sum(norms(z, y - z))
        if move > 10.0 * tiny * size:  # else the moves are rounding errors, whose ratio says nothing
            if move < 0.9 * best:
                best, idle = move, 0
            elif idle < patience:
                idle += 1
            else:
                best, idle = move, 0
                if dual_mean > 0.3 * primal_mean:  # the iterates circle
                    trial = cap = gamma / 2
                    patience *= 2
                elif dual_mean < 0.1 * primal_mean:  # they creep
                    cap *= 2
            grow, shrink = passed and dual <= primal, dual > self.dominance * primal
            if trial == gamma and (grow or shrink):
                reversals += growing is not grow
                growing = grow
                shrinks += shrink
                change = self.change / (1 + reversals) if grow else -self.change / (reversals + shrinks)
                trial = min(gamma * exp(change), cap)
        if trial > gamma:
            size *= trial / gamma  # `tos` rescales y - z together with gamma
        means = primal_mean, dual_mean
        return trial, Memory(
            z, y, size, passed, growing, reversals, *means, best, idle, patience, cap, tiny, blind, shrinks
        )

    def judge(self, memory: Memory, state: "State", f: "Function") -> tuple[float, Memory]:
        gamma, d = state.gamma, state.x - state.z
        square, slope = dots((d, d), (state.u, d))
        allowed = square / (2.0 * gamma)
        f_z = state.f_z if state.f_z is not None else f.value(state.z)
        noise = 20.0 * memory.eps * abs(f_z)
        # Also true where d is NaN: no shorter step mends that.
        if not isfinite(f_z) or not allowed > noise:
            return gamma, accepted(memory, state, passed=False)
        f_x = f.value(state.x)
        # x lies in dom h, where f need not be defined; with sets it stays there however short the step is.
        if not isfinite(f_x) and memory.blind >= MAX_BLIND:
            return gamma, accepted(memory, state, passed=False)
        if memory.blind or not isfinite(f_x):
            memory = memory._replace(blind=0 if isfinite(f_x) else memory.blind + 1)
        excess = f_x - f_z - slope
        if excess < 0.0:
            seen = f.seen_part(d)
            if seen is not d:
                allowed = norm(seen) ** 2 / (2.0 * gamma)
        error = abs(excess)
        if error <= allowed + max(noise, 20.0 * memory.eps * abs(f_x)):
            return gamma, accepted(memory, state, passed=True)
        ratio = 0.5 if not isfinite(error) else min(max(0.95 * allowed / error, 0.5), 0.9)
        return gamma * ratio, memory._replace(growing=False, reversals=memory.reversals + memory.growing)


def accepted(memory: Memory, state: "State", passed: bool) -> Memory:
    """Return the memory after an accepted trial; y is known only now, as `tos` rescales it together with gamma."""
    return Memory(state.z, state.y, memory[2], passed, *memory[4:])
