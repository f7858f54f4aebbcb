"""How good a point is: [YMS21] Definitions 2, 3 and 4, and the bound that needs no oracle.

For every x in dom phi, with d = z_t - x_t and y+ = y_t - d, the key lemma of [YMS21] says

    <u_t, x_t - x> + g(z_t) - g(x) + h(x_t) - h(x) <= <y+ - x, d> / gamma,

and the right-hand side is at most (<y+, d> + support_S(-d)) / gamma for every bounded set S that contains dom phi. So
each iterate carries an epsilon of its own. How `Problem` and `Product` compute it stands in their files.
"""

from math import prod

import numpy as np

from trisplit.arrays import Array, StepSize, Values, as_host, eps, namespace
from trisplit.arrays.batched import inner, norm, per_problem
from trisplit.errors import InputError
from trisplit.problems.problem import Problem
from trisplit.problems.recession import Recession, verify_recession
from trisplit.problems.separation import Separation, verify_separation
from trisplit.problems.sizes import Marks, sizes_of
from trisplit.problems.space import Space
from trisplit.result import Certificate
from trisplit.splitting.tos import FIXED, Iterate, State, iterate

__all__ = [
    "Recession",
    "Separation",
    "bound",
    "certify",
    "close_stationary",
    "epsilon_from_pair",
    "epsilon_stationary",
    "feasible_stationary",
    "recompute",
    "residual",
    "stationarity_at",
    "verify_recession",
    "verify_separation",
]


def stationarity_at(problem: Problem, z: Array, x: Array) -> Values:
    """Return the left-hand side of Definition 2 at the competitor x, indicators counted as 0.

    <grad f(z), z - x> + g(z) - g(x) + h(z) - h(x).

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x.sum(), np.ones_like(x)), ts.terms.Box(0, 1))
    >>> float(stationarity_at(problem, np.array([1.0, 0.0]), np.zeros(2)))
    1.0
    """
    return inner(problem.grad(z), z - x, problem.batch_ndim) + problem.difference(problem.terms, (z, z), (x, x))


def epsilon_stationary(problem: Problem, z: Array) -> Values:
    """Return the smallest epsilon of Definition 2 at z, by the joint oracle: the Frank-Wolfe gap.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x.sum(), np.ones_like(x)), ts.terms.Box(0, 1))
    >>> epsilon_stationary(problem, np.array([1.0, 0.0]))
    1.0
    """
    return problem.gap(z, problem.grad(z))


def feasible_stationary(problem: Problem, z: Array) -> tuple[Values, Values]:
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
    return problem.number(distance(z)), epsilon_stationary(problem, z)


def close_stationary(problem: Problem, x: Array, z: Array) -> tuple[Values, Values]:
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
    return norm(z - x, problem.batch_ndim), problem.gap(z, problem.grad(z), x)


def epsilon_from_pair(alpha: float, beta: float, G_f: float, L_h: float = 0.0) -> float:
    """Return the epsilon that an alpha-close beta-stationary pair implies, [YMS21] Observation 1.

    Examples
    --------
    >>> epsilon_from_pair(alpha=0.1, beta=0.2, G_f=3.0)
    0.5
    """
    return alpha * (G_f + L_h) + beta


def bound(problem: Space, made: Iterate) -> Values | None:
    """Return an upper bound on epsilon at the point that an iterate stands for, or None if no bounded set is known.

    It bounds the signed gap from above, up to rounding.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.L2Ball(1.0), ts.terms.Zero()])
    >>> iterates = ts.tos(problem, np.ones(2), 0.5)
    >>> epsilons = [float(bound(problem, next(iterates))) for _ in range(20)]
    >>> bool(epsilons[-1] < 1e-4 < epsilons[0])
    True
    """
    if isinstance(problem, Problem) and len(problem.terms) > 2:
        raise InputError("an iterate of Algorithm 2 belongs to `ts.Product(problem)`; pass that")
    return problem.bound(made) if problem.base.is_bounded(problem.point(made).shape) else None


def residual(made: Iterate, batch_ndim: int = 0) -> Values:
    """Return ||z - x|| / gamma, the norm of an element of grad f(z) + dg(z) + dh(x).

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.L1(0.1), ts.terms.Zero()])
    >>> float(residual(next(ts.tos(problem, np.array([2.0]), 0.5))).__round__(6))
    2.05
    """
    return norm(made.d, batch_ndim) / per_problem(made.gamma, batch_ndim)


def certify(
    problem: Space, made: Iterate, kind: str | None = None, sizes: dict[str, Values] | None = None
) -> Certificate:
    """Return a certificate for the point that an iterate stands for, by default the best one that is known.

    What rounding may have done to the numbers that it is computed from is added. `sizes`, if they are known already,
    are those of `sizes_of`.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.Box(0, 1), ts.terms.L1(0.5)])
    >>> certify(problem, next(ts.tos(problem, np.zeros(2), 0.5))).kind
    'gap'
    """
    base, k, point = problem.base, problem.batch_ndim, problem.point(made)
    host = (lambda values: np.asarray(as_host(values), dtype=float)) if k else (lambda values: values)
    infeasibility, kind = host(problem.infeasibility(made)), kind or problem.kind_for(point.shape)
    if kind == "gap":
        xp = namespace(point)
        rounding = 8.0 * eps(point) * host(inner(xp.abs(made.u), xp.abs(point), k))
        return Certificate(host(base.gap(made.z, made.u)) + rounding, infeasibility, kind)
    sizes = sizes or sizes_of(problem, made, Marks(point, point, point))
    if kind != "bound":
        return Certificate(sizes["residual"] + sizes["rounding"], infeasibility, kind)
    copies = prod(made.y.shape) / prod(point.shape)
    reach = host(norm(made.y - made.z, k)) + sizes["apart"] + copies**0.5 * base.diameter(point.shape)
    return Certificate(host(problem.bound(made)) + reach * sizes["rounding"], infeasibility, kind)


def recompute(problem: Space, made: Iterate, gamma: StepSize | None = None) -> Iterate:
    """Return the iterate computed anew from y and gamma alone, or with another step from y as it belongs to that.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.L1(0.1), ts.terms.Zero()])
    >>> made = next(ts.tos(problem, np.ones(2), 0.5))
    >>> bool((recompute(problem, made).x == made.x).all())
    True
    """
    y, step = made.y, made.gamma
    if gamma is not None:
        z = problem.prox_g(y, step) if made.z is None else made.z
        y, step = z + (gamma / step) * (y - z), gamma
    return iterate(problem, State(made.t - 1, y, step), FIXED, valued=problem.hands_out_z)._replace(after=None)
