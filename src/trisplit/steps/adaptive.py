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
"""

from dataclasses import dataclass
from math import exp, inf, isfinite, isnan
from typing import TYPE_CHECKING, NamedTuple

from trisplit.arrays import Array, dot, eps, norm

if TYPE_CHECKING:
    from trisplit.algorithms.product import ProductProblem
    from trisplit.algorithms.state import State
    from trisplit.problem import Function, Problem


class Memory(NamedTuple):
    """What the rule remembers from one iteration to the next."""

    z: Array | None  # of the iteration before
    w: Array | None  # y - z of the iteration before
    growing: bool  # the direction of the last change
    reversals: int
    passed: bool  # the last curvature test was passed, not drowned in rounding
    primal: float  # running means of the two moves
    dual: float
    best: float  # the smallest ||y+ - y|| since the last restart of the count
    idle: int  # iterations since then
    patience: int
    cap: float


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
        z = problem.g.prox(y, 1.0)
        memory = Memory(None, None, True, 0, False, 0.0, 0.0, inf, 0, self.patience, inf)
        u = problem.f.grad(z)
        size, slope = max(norm(z), 1.0), norm(u)
        if not isfinite(slope) or slope == 0.0:
            return 1.0, memory
        probe = problem.g.prox(z - (1e-4 * size / slope) * u, 1e-4 * size / slope)
        moved = norm(probe - z)
        L = norm(problem.f.grad(probe) - u) / moved if moved > 0 else 0.0
        return (1.0 / L if isfinite(L) and L * size > 1e-12 * slope else size / slope), memory

    def propose(self, memory: tuple, z: Array, y: Array, gamma: float) -> tuple[float, Memory]:
        m, w = Memory(*memory), y - z
        if m.z is None or m.w is None:
            return gamma, m._replace(z=z, w=w)
        z_move, w_move = z - m.z, w - m.w
        primal, dual, move = norm(z_move), norm(w_move), norm(z_move + w_move)
        m = m._replace(z=z, w=w, primal=0.9 * m.primal + 0.1 * primal, dual=0.9 * m.dual + 0.1 * dual)
        if move <= 10.0 * eps(z) * (norm(z) + norm(w)):
            return gamma, m  # the moves are rounding errors; their ratio says nothing
        trial, m = self._watch(m, move, gamma)
        if trial == gamma and m.passed and dual <= primal:
            m = self._turn(m, growing=True)
            trial = min(gamma * exp(self.change / (1 + m.reversals)), m.cap)
        elif trial == gamma and dual > self.dominance * primal:
            m = self._turn(m, growing=False)
            trial = gamma * exp(-self.change / (1 + m.reversals))
        # `tos` rescales y - z together with gamma.
        return trial, m._replace(w=w * (trial / gamma))

    def judge(self, memory: tuple, state: "State", f: "Function") -> tuple[float, Memory]:
        m, gamma = Memory(*memory), state.gamma
        d = state.x - state.z
        allowed = float(dot(d, d)) / (2.0 * gamma)
        f_z = state.f_z if state.f_z is not None else f.value(state.z)
        noise = 20.0 * eps(d) * abs(f_z)
        if not isfinite(f_z) or allowed <= noise:
            return gamma, m._replace(passed=False)
        f_x = f.value(state.x)
        excess = f_x - f_z - float(dot(state.u, d))
        if excess < 0.0:
            seen = f.seen(d)
            allowed = float(dot(seen, seen)) / (2.0 * gamma)
        error = abs(excess)
        if error <= allowed + 20.0 * eps(d) * max(abs(f_x), abs(f_z)):
            return gamma, m._replace(passed=True)
        ratio = 0.5 if isnan(error) else min(max(0.95 * allowed / error, 0.5), 0.9)
        m = self._turn(m, growing=False)
        w = None if m.w is None else m.w * ratio
        return gamma * ratio, m._replace(w=w)

    def _watch(self, m: Memory, move: float, gamma: float) -> tuple[float, Memory]:
        """Halve and cap the step if the iterates circle, lift the cap if they creep."""
        if move < 0.9 * m.best:
            return gamma, m._replace(best=move, idle=0)
        if m.idle < m.patience:
            return gamma, m._replace(idle=m.idle + 1)
        m = m._replace(best=move, idle=0)
        if m.dual > 0.3 * m.primal:
            return gamma / 2, m._replace(cap=gamma / 2, patience=2 * m.patience)
        return gamma, m._replace(cap=2 * m.cap) if m.dual < 0.1 * m.primal else m

    @staticmethod
    def _turn(m: Memory, *, growing: bool) -> Memory:
        return m._replace(growing=growing, reversals=m.reversals + (m.growing is not growing))
