"""How good a point is: [YMS21] Definitions 2, 3 and 4, and the bound that needs no oracle.

For every x in dom phi, with d = z_t - x_t and y+ = y_t - d, the key lemma of [YMS21] says

    <u_t, x_t - x> + g(z_t) - g(x) + h(x_t) - h(x) <= <y+ - x, d> / gamma,

and the right-hand side is at most (<y+, d> + support_S(-d)) / gamma for every bounded set S that contains dom phi. So
each iterate carries an epsilon of its own.
"""

from collections.abc import Sequence
from math import inf

from trisplit.algorithms.product import ProductProblem
from trisplit.algorithms.state import State
from trisplit.algorithms.tos import FIXED, iterate
from trisplit.arrays import Array, inner, namespace, norm, per_problem, where
from trisplit.errors import InputError
from trisplit.problem import Problem, Term, is_indicator
from trisplit.result import Certificate
from trisplit.terms import JointOracle
from trisplit.terms.checks import Shape

__all__ = [
    "bound",
    "certify",
    "close_stationary",
    "epsilon_from_pair",
    "epsilon_stationary",
    "feasible_stationary",
    "kind_for",
    "objective",
    "point",
    "recompute",
    "residual",
    "stationarity_at",
]


def stationarity_at(problem: Problem, z: Array, x: Array) -> float:
    """Return the left-hand side of Definition 2 at the competitor x, indicators counted as 0.

    <grad f(z), z - x> + g(z) - g(x) + h(z) - h(x).

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x.sum(), np.ones_like(x)), ts.terms.Box(0, 1))
    >>> float(stationarity_at(problem, np.array([1.0, 0.0]), np.zeros(2)))
    1.0
    """
    return inner(problem.f.grad(z), z - x, problem.batch_ndim) + _difference(problem, problem.terms, (z, z), (x, x))


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
    """Return (omega, epsilon) of Definition 3 at z in G: dist(z, H) and the gap over both sets.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = lambda X: (X[0, 0], np.array([[1.0, 0.0], [0.0, 0.0]]))
    >>> problem = ts.Problem(f, [ts.terms.Box(0, 1), ts.terms.UnitSums()])
    >>> omega, epsilon = feasible_stationary(problem, np.full((2, 2), 0.5))
    >>> round(omega, 9), float(epsilon)
    (0.0, 0.5)
    """
    distance = getattr(problem.h, "distance", None)
    if distance is None:
        raise InputError(f"Definition 3 needs a set with `distance` as h, got {type(problem.h).__name__}")
    return problem.f.number(distance(z)), epsilon_stationary(problem, z)


def close_stationary(problem: Problem, x: Array, z: Array) -> tuple[float, float]:
    """Return (alpha, beta) of Definition 4 for the pair x in dom h, z in dom g.

    alpha = ||z - x||; beta = max over v of <grad f(z), x - v> + g(z) - g(v) + h(x) - h(v), by the joint oracle.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x.sum(), np.ones_like(x)), [ts.terms.Box(0, 1), ts.terms.L1(0.5)])
    >>> alpha, beta = close_stationary(problem, x=np.zeros(2), z=np.array([0.1, 0.0]))
    >>> round(float(alpha), 9), round(float(beta), 9)
    (0.1, 0.0)
    """
    u = problem.f.grad(z)
    v = _oracle(problem, u).minimizer(u)
    k = problem.batch_ndim
    return norm(z - x, k), inner(u, x - v, k) + _difference(problem, problem.terms, (z, x), (v, v))


def epsilon_from_pair(alpha: float, beta: float, G_f: float, L_h: float = 0.0) -> float:
    """Return the epsilon that an alpha-close beta-stationary pair implies, [YMS21] Observation 1.

    Examples
    --------
    >>> epsilon_from_pair(alpha=0.1, beta=0.2, G_f=3.0)
    0.5
    """
    return alpha * (G_f + L_h) + beta


def bound(problem: Problem | ProductProblem, state: State) -> float | None:
    """Return an upper bound on epsilon at the point that `state` stands for, or None if no bounded set is known.

    It bounds the signed gap from above, up to rounding.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.L2Ball(1.0), ts.terms.Zero()])
    >>> states = ts.tos(problem, np.ones(2), 0.5)
    >>> epsilons = [float(bound(problem, next(states))) for _ in range(20)]
    >>> bool(epsilons[-1] < 1e-4 < epsilons[0])
    True
    """
    k = problem.batch_ndim
    z, x, gamma = state.z, state.x, per_problem(state.gamma, k)
    if isinstance(problem, Problem) and len(problem.terms) > 2:
        raise InputError("a state of Algorithm 2 belongs to `ProductProblem(problem)`; pass that")
    if isinstance(problem, ProductProblem):
        d = z - x
        # The returned point is the common x, so the gradient moves from z^(0) to x and g_i from z^(i) to x.
        base, point = problem.base, problem.common(x)
        if not base.is_bounded(point.shape):
            return None
        shift = base.f.grad(point) - problem.common(state.u)
        # Division by gamma comes before the sum: there a column fits.
        support = base.support(-namespace(d).sum(d / state.gamma, axis=k) - shift)
        if support is None:
            return None
        moved = _difference(base, base.terms, [point] * len(base.terms), problem.reached(z))
        return inner(state.y - d, d, k) / gamma + support + inner(shift, point, k) + moved
    minus_d = state.move
    support = problem.support(minus_d)
    if support is None:
        return None
    beta = (support - inner(state.y, minus_d, k) - inner(minus_d, minus_d, k)) / gamma  # y+ = y - d
    return beta - inner(state.u, minus_d, k) + _difference(problem, (problem.h,), (z,), (x,))


def residual(state: State, batch_ndim: int = 0) -> float:
    """Return ||z - x|| / gamma, the norm of an element of grad f(z) + dg(z) + dh(x).

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.L1(0.1), ts.terms.Zero()])
    >>> float(residual(next(ts.tos(problem, np.array([2.0]), 0.5))).__round__(6))
    2.05
    """
    return norm(state.move, batch_ndim) / per_problem(state.gamma, batch_ndim)


def kind_for(problem: Problem | ProductProblem, shape: Shape) -> str:
    """Return the kind of the best certificate that is known for points of that shape.

    Examples
    --------
    >>> import trisplit as ts
    >>> kind_for(ts.Problem(lambda x: (0.0, 0 * x), [ts.terms.L1(), ts.terms.Zero()]), (3,))
    'residual'
    """
    base = problem if isinstance(problem, Problem) else problem.base
    if base is problem and base.oracle(shape) is not None:
        return "gap"
    return "bound" if base.is_bounded(shape) else "residual"


def certify(problem: Problem | ProductProblem, state: State, kind: str | None = None) -> Certificate:
    """Return a certificate for the point that `state` stands for, by default the best one that is known.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.Box(0, 1), ts.terms.L1(0.5)])
    >>> certify(problem, next(ts.tos(problem, np.zeros(2), 0.5))).kind
    'gap'
    """
    infeasibility = _infeasibility(problem, state)
    kind = kind or kind_for(problem, point(problem, state).shape)
    if kind == "gap":
        return Certificate(_gap(problem, state.z, state.u), infeasibility, kind)  # pyright: ignore
    epsilon = bound(problem, state) if kind == "bound" else residual(state, problem.batch_ndim)
    return Certificate(epsilon, infeasibility, kind)  # pyright: ignore[reportArgumentType]


def recompute(problem: Problem | ProductProblem, state: State, kind: str | None = None) -> State:
    """Return the state computed anew from y and gamma alone; for a gap z, if it is there, alone matters.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.L1(0.1), ts.terms.Zero()])
    >>> state = next(ts.tos(problem, np.ones(2), 0.5))
    >>> bool((recompute(problem, state).x == state.x).all())
    True
    """
    if state.z is not None and (kind or kind_for(problem, point(problem, state).shape)) == "gap":
        f_z, u = problem.f.value_and_grad(state.z)
        return state._replace(u=u, f_z=f_z)
    g, h = problem.counted
    return iterate(state.t, problem.f, g, h, state.y, state.gamma, FIXED, (), valued=isinstance(problem, Problem))[0]


def point(problem: Problem | ProductProblem, state: State) -> Array:
    """Return the point that `state` stands for: z, and the common x in Algorithm 2.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.L1(0.1), ts.terms.Zero()])
    >>> point(problem, next(ts.tos(problem, np.ones(2), 0.5)))
    array([0.95, 0.95])
    """
    return state.z if isinstance(problem, Problem) else problem.common(state.x)


def objective(problem: Problem | ProductProblem, state: State) -> float:
    """Return phi at the point that `state` stands for, indicators counted as 0.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.Box(0, 1), ts.terms.L1(1.0)])
    >>> float(objective(problem, next(ts.tos(problem, np.ones(2), 0.5))))
    3.0
    """
    if isinstance(problem, Problem):
        f_z = problem.f.value(state.z) if state.f_z is None else problem.f.number(state.f_z)
        return f_z + problem.nonsmooth(state.z, (state.z, state.x))
    x = problem.common(state.x)
    return problem.base.f.value(x) + problem.base.nonsmooth(x, problem.reached(state.z))


def _infeasibility(problem: Problem | ProductProblem, state: State) -> float:
    if isinstance(problem, Problem):
        distance = getattr(problem.h, "distance", None)
        return norm(state.move, problem.batch_ndim) if distance is None else problem.f.number(distance(state.z))
    base, x = problem.base, problem.common(state.x)
    reached = zip(base.terms, problem.reached(state.z), strict=True)
    return sum(_distance(base, term, x, z) ** 2 for term, z in reached) ** 0.5


def _distance(problem: Problem, term: Term, at: Array, reached: Array) -> float:
    distance = getattr(term, "distance", None)
    return norm(at - reached, problem.batch_ndim) if distance is None else problem.f.number(distance(at))


def _gap(problem: Problem, z: Array, u: Array) -> float:
    v = _oracle(problem, u).minimizer(u)
    return inner(u, z - v, problem.batch_ndim) + _difference(problem, problem.terms, (z, z), (v, v))


def _oracle(problem: Problem, u: Array) -> JointOracle:
    oracle = problem.oracle(u.shape)
    if oracle is None:
        raise InputError("no joint oracle is registered for these terms and this shape; see `ts.terms.joint_oracles`")
    return oracle


def _difference(problem: Problem, terms: Sequence[Term], a: Sequence[Array], b: Sequence[Array]) -> float:
    """Return the sum over terms that are not indicators of term(a_i) - term(b_i), 0 where term(a_i) is infinite."""
    number, total = problem.f.number, 0.0
    for term, a_i, b_i in zip(terms, a, b, strict=True):
        if not is_indicator(term):
            value = number(term.value(a_i))
            total = total + where(value < inf, value - number(term.value(b_i)), 0.0)  # pyright: ignore
    return total
