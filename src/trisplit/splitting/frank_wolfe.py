"""Frank-Wolfe, the baseline of [YMS21] section 5: min f(z) over dom g and dom h by their joint linear oracle.

v_t = argmin over x of <grad f(z_t), x>,  z_{t+1} = z_t + gamma_t (v_t - z_t).

References
----------
Frank and Wolfe (1956); Jaggi (2013), Revisiting Frank-Wolfe; Pedregosa, Negiar, Askari, Jaggi (2020), Linearly
convergent Frank-Wolfe with backtracking line-search.
"""

from collections.abc import Callable, Iterator
from itertools import count

from trisplit.arrays import Array, eps
from trisplit.arrays.batched import dots, norm
from trisplit.errors import InputError
from trisplit.problems.problem import Problem, is_indicator
from trisplit.splitting.tos import Iterate

LINE_SEARCHES = ("exact", "short", "backtracking")
GROWTH, SHRINK = 2.0, 0.9  # of the smoothness estimate, Pedregosa et al. (2020) section 2


def frank_wolfe(problem: Problem, z0: Array, line_search: str = "exact") -> Iterator[Iterate]:
    """Iterate Frank-Wolfe from the feasible point `z0`, for ever.

    Parameters
    ----------
    problem : Problem
        Both terms are sets, with a joint oracle (see `trisplit.terms.joint_oracles`).
    z0 : array
        A point of both sets.
    line_search : {"exact", "short", "backtracking"}
        "exact" minimises along the segment, for a quadratic f; "short" is gap / (L ||v - z||^2) with
        L = `f.lipschitz`; "backtracking" estimates L as it goes.

    Yields
    ------
    Iterate
        z is the iterate, x the vertex v, y = z, u the gradient, gamma the step along the segment.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (((x - 0.2) ** 2).sum(), 2 * (x - 0.2)), ts.terms.Simplex())
    >>> for made in frank_wolfe(problem, np.array([1.0, 0.0])):
    ...     if made.t == 3:
    ...         break
    >>> made.z
    array([0.5, 0.5])
    """
    if line_search not in LINE_SEARCHES:
        raise InputError(f"`line_search` must be one of {', '.join(LINE_SEARCHES)}, got {line_search!r}")
    if problem.batch_ndim:
        raise InputError("Frank-Wolfe takes one problem at a time, got a batch; call it for each")
    oracle = problem.oracle(z0.shape)
    if oracle is None or not all(is_indicator(t) or float(t.value(z0)) == 0.0 for t in problem.terms):
        raise InputError("Frank-Wolfe needs two sets with a joint oracle; see `ts.terms.joint_oracles`")
    outside = max(norm(z0 - term.prox(z0, 1.0)) for term in problem.terms)
    if outside > 1e-3 * max(1.0, norm(z0)):
        raise InputError(f"`z0` must lie in both sets, it is {outside:.2g} outside; project it first")
    f = problem.f
    if line_search == "short" and f.lipschitz is None:
        raise InputError("`line_search='short'` needs `f.lipschitz`; declare it or use 'backtracking'")
    z, tiny = z0, eps(z0)
    L = float(f.lipschitz or 0.0) if line_search == "short" else None
    for t in count(1):
        f_z, u = f.value_and_grad(z)
        f_z = float(f_z)
        v = oracle.minimizer(u)
        d = v - z
        slope, length = dots((u, d), (d, d))
        along = lambda gamma, z=z, d=d: float(f.value(z + gamma * d))  # noqa: E731
        if line_search == "exact":
            gamma = _exact(along, f_z, slope)
        else:
            gamma, L = _quadratic_model(along, f_z, slope, length, L, tiny, fixed=line_search == "short")
        yield Iterate(t, z, v, z, u, gamma, f_z)
        z = z + gamma * d


def _exact(along: Callable[[float], float], f_z: float, slope: float) -> float:
    """Return the minimiser over [0, 1] of the parabola through f(z), its slope and f(v)."""
    curvature = along(1.0) - f_z - slope
    if curvature <= 0.0:
        return 1.0 if slope + curvature < 0.0 else 0.0
    return min(max(-slope / (2.0 * curvature), 0.0), 1.0)


def _quadratic_model(
    along: Callable[[float], float],
    f_z: float,
    slope: float,
    length: float,
    L: float | None,
    tiny: float,
    *,
    fixed: bool,
) -> tuple[float, float | None]:
    """Return the minimiser over [0, 1] of slope gamma + L gamma^2 length / 2, and L; search L unless it is fixed."""
    if length == 0.0 or slope >= 0.0:
        return 0.0, L
    if L is None:
        probe = max(1e-3, tiny**0.25)  # a shorter one would measure rounding
        L = max(2.0 * (along(probe) - f_z - probe * slope) / (probe**2 * length), 1e-3 * -slope / length)
    elif not fixed:
        L *= SHRINK
    while True:
        gamma = 1.0 if L * length <= -slope else -slope / (L * length)
        model = f_z + gamma * slope + 0.5 * L * gamma**2 * length
        if fixed or along(gamma) <= model + 50.0 * tiny * abs(f_z):
            return gamma, L
        L *= GROWTH
