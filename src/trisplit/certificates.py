"""How good a point is: [YMS21] Definitions 2, 3 and 4, and the bound that needs no oracle.

For every x in dom phi, with d = z_t - x_t and y+ = y_t - d, the key lemma of [YMS21] says

    <u_t, x_t - x> + g(z_t) - g(x) + h(x_t) - h(x) <= <y+ - x, d> / gamma,

and the right-hand side is at most (<y+, d> + support_S(-d)) / gamma for every bounded set S that contains dom phi. So
each iterate carries an epsilon of its own.
"""

from collections.abc import Sequence

from trisplit.algorithms.product import ProductProblem
from trisplit.algorithms.state import State
from trisplit.algorithms.tos import FIXED, iterate
from trisplit.arrays import Array, dot, namespace, norm
from trisplit.errors import InputError
from trisplit.problem import Problem, Term, is_indicator
from trisplit.result import Certificate
from trisplit.terms import JointOracle


def stationarity_at(problem: Problem, z: Array, x: Array) -> float:
    """Return the left-hand side of Definition 2 at the competitor x, indicators counted as 0.

    <grad f(z), z - x> + g(z) - g(x) + h(z) - h(x).
    """
    return float(dot(problem.f.grad(z), z - x)) + _difference(problem.terms, (z, z), (x, x))


def epsilon_stationary(problem: Problem, z: Array) -> float:
    """Return the smallest epsilon of Definition 2 at z, by the joint oracle: the Frank-Wolfe gap.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x.sum(), np.ones_like(x)), ts.terms.Box(0, 1))
    >>> epsilon_stationary(problem, np.array([1.0, 0.0]))
    1.0
    """
    return _gap(problem, z, problem.f.grad(z))


def feasible_stationary(problem: Problem, z: Array) -> tuple[float, float]:
    """Return (omega, epsilon) of Definition 3 at z in G: dist(z, H) and the gap over both sets."""
    distance = getattr(problem.h, "distance", None)
    if distance is None:
        raise InputError(f"Definition 3 needs a set with `distance` as h, got {type(problem.h).__name__}")
    return float(distance(z)), epsilon_stationary(problem, z)


def close_stationary(problem: Problem, x: Array, z: Array) -> tuple[float, float]:
    """Return (alpha, beta) of Definition 4 for the pair x in dom h, z in dom g.

    alpha = ||z - x||; beta = max over v of <grad f(z), x - v> + g(z) - g(v) + h(x) - h(v), by the joint oracle.
    """
    u = problem.f.grad(z)
    v = _oracle(problem, u).minimizer(u)
    return norm(z - x), float(dot(u, x - v)) + _difference(problem.terms, (z, x), (v, v))


def epsilon_from_pair(alpha: float, beta: float, G_f: float, L_h: float = 0.0) -> float:
    """Return the epsilon that an alpha-close beta-stationary pair implies, [YMS21] Observation 1."""
    return alpha * (G_f + L_h) + beta


def bound(problem: Problem | ProductProblem, state: State) -> float | None:
    """Return an upper bound on epsilon at the point that `state` stands for, or None if no bounded set is known.

    It bounds the signed gap from above, up to rounding.
    """
    z, x, gamma = state.z, state.x, state.gamma
    if isinstance(problem, Problem) and len(problem.terms) > 2:
        raise InputError("a state of Algorithm 2 belongs to `ProductProblem(problem)`; pass that")
    d = z - x
    if isinstance(problem, ProductProblem):
        # The returned point is the common x, so the gradient moves from z^(0) to x and g_i from z^(i) to x.
        base, point = problem.base, x[0, ...]
        if not base.is_bounded(point.shape):
            return None
        shift = base.f.grad(point) - state.u[0, ...]
        support = base.support(-namespace(d).sum(d, axis=0) / gamma - shift)
        if support is None:
            return None
        moved = _difference(base.terms, [point] * len(base.terms), problem.reached(z))
        return float(dot(state.y - d, d)) / gamma + support + float(dot(shift, point)) + moved
    support = problem.support(-d)
    if support is None:
        return None
    beta = (float(dot(state.y - d, d)) + support) / gamma
    return beta + float(dot(state.u, d)) + _difference((problem.h,), (z,), (x,))


def residual(state: State) -> float:
    """Return ||z - x|| / gamma, the norm of an element of grad f(z) + dg(z) + dh(x)."""
    return norm(state.z - state.x) / state.gamma


def certify(problem: Problem | ProductProblem, state: State) -> Certificate:
    """Return the best certificate that is known for the point that `state` stands for."""
    infeasibility = _infeasibility(problem, state)
    if isinstance(problem, Problem) and problem.oracle(state.z.shape) is not None:
        return Certificate(_gap(problem, state.z, state.u), infeasibility, "gap")
    epsilon = bound(problem, state)
    if epsilon is not None:
        return Certificate(epsilon, infeasibility, "bound")
    return Certificate(residual(state), infeasibility, "residual")


def recompute(problem: Problem | ProductProblem, state: State) -> State:
    """Return the state computed anew from y and gamma alone; with a joint oracle z alone matters."""
    if isinstance(problem, Problem) and problem.oracle(state.z.shape) is not None:
        return state._replace(u=problem.f.grad(state.z), f_z=None)
    g, h = problem.counted
    return iterate(state.t, problem.f, g, h, state.y, state.gamma, FIXED, ())[0]


def point(problem: Problem | ProductProblem, state: State) -> Array:
    """Return the point that `state` stands for: z, and the common x in Algorithm 2."""
    return state.z if isinstance(problem, Problem) else state.x[0, ...]


def objective(problem: Problem | ProductProblem, state: State) -> float:
    """Return phi at the point that `state` stands for, indicators counted as 0."""
    if isinstance(problem, Problem):
        f_z = problem.f.value(state.z) if state.f_z is None else state.f_z
        return f_z + problem.nonsmooth(state.z, (state.z, state.x))
    x = state.x[0, ...]
    return problem.base.f.value(x) + problem.base.nonsmooth(x, problem.reached(state.z))


def _infeasibility(problem: Problem | ProductProblem, state: State) -> float:
    if isinstance(problem, Problem):
        return _distance(problem.h, state.z, state.x)
    x = state.x[0, ...]
    return (
        sum(_distance(t, x, z) ** 2 for t, z in zip(problem.base.terms, problem.reached(state.z), strict=True)) ** 0.5
    )


def _distance(term: Term, at: Array, reached: Array) -> float:
    distance = getattr(term, "distance", None)
    return norm(at - reached) if distance is None else float(distance(at))


def _gap(problem: Problem, z: Array, u: Array) -> float:
    v = _oracle(problem, u).minimizer(u)
    return float(dot(u, z - v)) + _difference(problem.terms, (z, z), (v, v))


def _oracle(problem: Problem, u: Array) -> JointOracle:
    oracle = problem.oracle(u.shape)
    if oracle is None:
        raise InputError("no joint oracle is registered for these terms and this shape; see `ts.terms.joint_oracles`")
    return oracle


def _difference(terms: Sequence[Term], a: Sequence[Array], b: Sequence[Array]) -> float:
    """Return the sum over terms that are not indicators of term(a_i) - term(b_i), 0 where term(a_i) is infinite."""
    total = 0.0
    for term, a_i, b_i in zip(terms, a, b, strict=True):
        if not is_indicator(term):
            value = float(term.value(a_i))
            total += value - float(term.value(b_i)) if value < float("inf") else 0.0
    return total
