"""Joint oracles: minimise <u, x> + g(x) + h(x) over dom g and dom h together, for pairs where that is cheap.

With such an oracle the stationarity of [YMS21] Definitions 2 and 3 is a number (the Frank-Wolfe gap), not only
a bound. A pair has one line in `joint_oracles`; the function behind it looks at the parameters of the two terms
and returns None where it does not apply. Both orders of a pair are looked up.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import inf, sqrt
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from trisplit.arrays import Array, Shape, from_numpy, namespace, smaller, to_numpy
from trisplit.errors import InputError
from trisplit.terms.checks import like
from trisplit.terms.norms.l1 import L1, Zero
from trisplit.terms.sets.box import Box, NonNegative
from trisplit.terms.sets.simplex import Simplex
from trisplit.terms.sets.sums import UnitSums

if TYPE_CHECKING:
    from trisplit.problems.problem import Term


@dataclass(frozen=True)
class JointOracle:
    """The minimiser of <u, x> + g(x) + h(x), and a cheap upper bound on the support function of dom(g + h).

    Attributes
    ----------
    minimizer : callable
        u -> x.
    support : callable
        u -> a number that is at least max <u, x> over dom g and dom h.
    fits : callable
        Whether the oracle is for arrays of that shape.
    diameter : callable
        A bound on the diameter of the intersection of dom g and dom h, for arrays of that shape.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> oracle = ts.terms.find_joint_oracle(ts.terms.Box(-1, 1), ts.terms.L1(0.5))
    >>> oracle.minimizer(np.array([2.0, -0.1]))
    array([-1.,  0.])
    """

    minimizer: Callable[[Array], Array]
    support: Callable[[Array], float]
    fits: Callable[[Shape], bool] = lambda shape: True
    diameter: Callable[[Shape], float] = lambda shape: inf


def assignment(u: Array) -> Array:
    """Return the permutation matrix X that minimises <u, X>: a linear assignment problem, on the host.

    A stack of matrices, with any number of axes in front, gives a stack of permutations.

    Examples
    --------
    >>> import numpy as np
    >>> assignment(np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    if u.ndim < 2 or u.shape[-1] != u.shape[-2]:
        raise InputError(f"`u` must be a square matrix, got shape {tuple(u.shape)}; a permutation needs one")
    costs = to_numpy(u)
    X = np.zeros(u.shape)
    for place in np.ndindex(u.shape[:-2]):
        X[place][cheapest(costs[place])] = 1.0
    return from_numpy(X, u)


def cheapest(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the cheapest assignment, by SciPy where the faster solver is missing."""
    solver = getattr(_lap(), "lapjvr", None)
    if solver is not None and np.isfinite(costs).all():  # what it makes of NaN is undefined; SciPy refuses it
        return solver(costs, return_cost=False)
    from scipy.optimize import linear_sum_assignment  # a quarter of a second to import, needed by few

    return linear_sum_assignment(costs)


@cache
def _lap() -> ModuleType | None:
    """Return the module of `lapx`; other distributions install one of the same name, without `lapjvr`."""
    try:
        return import_module("lap")
    except ImportError:
        return None


@cache
def _birkhoff(batch_ndim: int) -> JointOracle:
    rows, columns = Simplex(axis=1).batched(batch_ndim), Simplex(axis=0).batched(batch_ndim)

    def support(u: Array) -> float:
        # The row-stochastic and the column-stochastic matrices both contain the polytope: the smaller one counts.
        return smaller(rows.support(u), columns.support(u))

    square = lambda shape: len(shape) == batch_ndim + 2 and shape[-1] == shape[-2]  # noqa: E731
    return JointOracle(assignment, support, square, lambda shape: sqrt(2 * shape[-1]))  # that of two permutations


def _two_simplices(g: Simplex, h: Simplex) -> JointOracle | None:
    """Rows and columns that are points of the unit simplex: an assignment problem."""
    axes = {g.axis % 2, h.axis % 2}
    return _birkhoff(g.batch_ndim) if axes == {0, 1} and g.total == h.total == 1.0 else None


def _unit_sums(g: Box | NonNegative, h: UnitSums) -> JointOracle | None:
    """Nonnegative entries with unit row and column sums: an assignment problem."""
    birkhoff = isinstance(g, NonNegative) or (np.all(np.asarray(g.lo) == 0.0) and np.all(np.asarray(g.hi) >= 1.0))
    return _birkhoff(h.batch_ndim) if birkhoff else None


def _one_term(g: "Term", h: Zero) -> JointOracle | None:
    """A bounded set alone: its own linear oracle."""
    lmo, support = getattr(g, "lmo", None), getattr(g, "support", None)
    if lmo is None or support is None or not getattr(g, "indicator", False) or not getattr(g, "bounded", True):
        return None
    diameter = getattr(g, "diameter", None)
    bounded = lambda shape: callable(diameter) and bool(np.all(np.isfinite(diameter(shape))))  # noqa: E731 # pyright: ignore
    return JointOracle(lmo, support, fits=bounded)


def _box_l1(g: Box, h: L1) -> JointOracle | None:
    """A box and an L1 norm: entry by entry, at a bound or at zero."""
    if not g.bounded:
        return None

    def minimizer(u: Array) -> Array:
        # u x + w |x| is convex and piecewise linear: its minimum over [lo, hi] is at lo, at hi or at the kink.
        xp = namespace(u)
        w, zero = like(h.weight, u, "weight"), xp.zeros_like(u)
        lo, hi = like(g.lo, u, "lo") + zero, like(g.hi, u, "hi") + zero
        kink = xp.clip(zero, lo, hi)
        return xp.where(u > w, lo, xp.where(u < -w, hi, kink))

    return JointOracle(minimizer, g.support)


joint_oracles: dict[tuple[type, type], Callable[..., JointOracle | None]] = {
    (Simplex, Simplex): _two_simplices,
    (Box, UnitSums): _unit_sums,
    (NonNegative, UnitSums): _unit_sums,
    (Box, L1): _box_l1,
    (object, Zero): _one_term,
}


def find_joint_oracle(g: "Term", h: "Term") -> JointOracle | None:
    """Return the joint oracle of the pair (g, h), in either order, or None.

    Examples
    --------
    >>> find_joint_oracle(Box(0, 1), UnitSums()) is not None
    True
    """
    for first, second in ((g, h), (h, g)):
        build = joint_oracles.get((type(first), type(second))) or joint_oracles.get((object, type(second)))
        oracle = build(first, second) if build else None
        if oracle is not None:
            return oracle
    return None
