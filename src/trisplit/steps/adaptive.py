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

The decisions are Python's, so numbers come to the host; a GPU is waited for four times in an iteration without
backtracking. `tos` asks for f(z); `propose` for the lengths of the moves at once; `judge`, once for each trial, for
||d||^2, ||grad f(z)||^2 and <grad f(z), d> at once, and for f(x); where it rests, for the first two alone. In
Algorithm 2 the part of d that f sees is one more.
"""

from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, NamedTuple

from trisplit.arrays import Array, dots, eps, norm, norms, on_host
from trisplit.steps.decisions import EARLY, SURGE, change, testable, verdict

if TYPE_CHECKING:
    from trisplit.algorithms.product import ProductProblem
    from trisplit.algorithms.state import State
    from trisplit.problem import Function, Problem
    from trisplit.steps.adaptive_batch import BatchAdaptive


class Memory(NamedTuple):
    """What the rule remembers from one iteration to the next: two arrays, and floats."""

    z: Array | None  # of the iteration before
    d: Array | None  # x - z of the iteration before: y has moved by `relax` times it
    square: float  # ||d||^2
    size: float  # at least ||z|| + ||y - z|| of the iteration before
    eps: float  # of the arrays' dtype
    passed: (
        float  # 0 if the last curvature test was not passed or drowned in rounding, else the ratio of its sides, >= 1
    )
    growing: float  # 1 if the last change was growth
    reversals: float
    primal: float  # running means of the two moves
    dual: float
    best: float  # the smallest ||y+ - y|| since the last restart of the count
    idle: float  # iterations since then
    patience: float
    cap: float
    shrinks: (
        float  # by the balance so far: each makes the next smaller, or gamma would fall to 0 where sets hardly meet
    )
    drift: float  # change of log(gamma) that is due but too small to be worth it
    wait: float  # iterations until the moves are compared again; below 0 so many times in a row
    span: float  # length of the last rest from testing the curvature
    rest: float  # what is left of it
    blind: float  # trials in a row at which f(x) was not finite
    steep: float  # ||grad f(z)||^2 at the last test


def probe_distance(tiny: float) -> float:
    """Return how far from z the curvature is measured first, as a share of ||z||.

    Far enough that the difference of two gradients is not made of rounding errors.

    Examples
    --------
    >>> import numpy as np
    >>> [round(probe_distance(float(np.finfo(kind).eps)), 4) for kind in ("float64", "float32")]
    [0.0001, 0.0035]
    """
    return max(1e-4, 10.0 * sqrt(tiny))


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
        The relaxation of the iteration; `tos` fills it in.

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
    needs_d = True

    def needs_value(self, memory: Memory) -> bool:
        """Ask for f(z) where the curvature is to be tested."""
        return memory[-3] == 0.0

    def relaxed(self, relax: float) -> "Adaptive":
        """Return the rule for a relaxed iteration."""
        return replace(self, relax=relax)

    def batched(self, batch_ndim: int) -> "BatchAdaptive":
        """Return the rule that adapts a step for each problem of a batch."""
        from trisplit.algorithms.forward import compiled_loops
        from trisplit.kernels.measures import compiled_measures
        from trisplit.steps.adaptive_batch import BatchAdaptive
        from trisplit.steps.row_loops import compiled_rows

        for loops in (compiled_rows, compiled_loops, compiled_measures):
            loops()  # now, not in the midst of an iteration
        return BatchAdaptive(self, batch_ndim)

    def start(self, problem: "Problem | ProductProblem", y: Array) -> tuple[float, Memory]:
        """Return 1 / L with L measured between z_1 and a short gradient step from it."""
        z = problem.counted[0].prox(y, 1.0)
        gamma = self._first(problem, z, problem.f.grad(z))
        return gamma, Memory(None, None, 0.0, *self.first_numbers(eps(y)))

    def first_numbers(self, tiny: float) -> tuple[float, ...]:
        """Return the numbers of the first memory, from `size` on."""
        return inf, tiny, 0.0, 1.0, 0.0, 0.0, 0.0, inf, 0.0, float(self.patience), inf, 0.0, 0.0, -EARLY, *(0.0,) * 4

    @staticmethod
    def _first(problem: "Problem | ProductProblem", z: Array, u: Array) -> float:
        size, slope = norms(z, u)
        size = max(size, 1.0)
        if not isfinite(slope) or slope == 0.0:
            return 1.0
        tiny, far = eps(z), probe_distance(eps(z))
        probe = problem.counted[0].prox(z - (far * size / slope) * u, far * size / slope)
        moved = norm(probe - z)
        L = norm(problem.f.grad(probe) - u) / moved if moved > 0 else 0.0
        # Rounding in u alone makes L size as large as eps slope / far.
        return 1.0 / L if isfinite(L) and L * size > tiny / far * slope else size / slope

    def propose(self, memory: Memory, z: Array, y: Array, gamma: float) -> tuple[float, Memory]:
        z_old, d, square, size, tiny, *numbers = memory
        if z_old is None or d is None:
            return gamma, Memory(None, None, square, sum(norms(z, y - z)), tiny, *numbers)
        move = self.relax * sqrt(square)
        primal = dual = move  # at most
        if numbers[-5] <= 0.0:  # no waiting
            # y = z + w, so w moves by the difference of the moves of y, relax * d, and z. Its length from inner
            # products saves passes over memory; what cancels is far smaller than `primal`, to which it is compared.
            z_move = z - z_old
            z_square, both = dots((z_move, z_move), (z_move, d))
            primal, dual = sqrt(z_square), sqrt(max(z_square - 2.0 * self.relax * both + move * move, 0.0))
        size += primal + dual
        if not move > 10.0 * tiny * size:  # perhaps only because the bound is loose
            size = sum(norms(z, y - z))
        trial, numbers = change(primal, dual, move, self.change, self.dominance, gamma, size, tiny, *numbers)
        return trial, Memory._make((z, d, square, *numbers))

    def judge(self, memory: Memory, state: "State", f: "Function") -> tuple[float, Memory]:
        gamma, u, d = state.gamma, state.u, state.d
        (
            _,
            _,
            _,
            size,
            tiny,
            passed,
            growing,
            reversals,
            primal,
            dual,
            best,
            idle,
            patience,
            cap,
            shrinks,
            drift,
            wait,
            span,
            rest,
            blind,
            steep,
        ) = memory
        # A GPU hands over all at once; on the host, and where it may rest, the last one waits until it is needed.
        pairs = ((d, d), (u, u)) if rest > 0.0 or on_host(u) else ((d, d), (u, u), (u, d))
        square, now, *slope = dots(*pairs)  # pyright: ignore[reportArgumentType]
        if rest > 0.0 and not now > SURGE * steep:  # also where it is NaN, which no shorter step mends
            return gamma, Memory._make((state.z, d, square, *memory[3:-3], rest - 1.0, blind, steep))
        f_z = state.f_z if state.f_z is not None else f.value(state.z)
        f_x, seen_square = f_z, square
        if testable(gamma, square, f_z, tiny):
            seen = f.seen_part(d)  # pyright: ignore[reportArgumentType]
            seen_square = square if seen is d else norm(seen) ** 2
            f_x = f.value(state.x)
            (slope,) = slope or dots((u, d))  # pyright: ignore[reportArgumentType]
        else:
            slope = 0.0
        ratio, passed, rest, blind = verdict(gamma, square, seen_square, slope, f_z, f_x, tiny, wait, span, blind)
        if ratio != 1.0:
            gamma, growing, reversals = gamma * ratio, 0.0, reversals + growing
        moves = (primal, dual, best, idle, patience, cap, shrinks, drift, wait, rest, rest, blind, now)
        return gamma, Memory._make((state.z, d, square, size, tiny, passed, growing, reversals, *moves))
