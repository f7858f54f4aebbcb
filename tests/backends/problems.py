"""The same problems for all kinds of arrays."""

from dataclasses import dataclass

import numpy as np

from tests import problems
from trisplit.arrays import namespace
from trisplit.problems.problem import Problem
from trisplit.problems.product import Product
from trisplit.terms import (
    L1,
    Affine,
    Box,
    GroupL2,
    L2Ball,
    NonNegative,
    NuclearNorm,
    Simplex,
    SquaredL2,
    TotalVariation,
    UnitSums,
)

ONES = np.ones(6)
CASES = {  # terms, and the shape of x
    "two simplices": ([Simplex(axis=1), Simplex(axis=0)], (4, 4)),
    "box and unit sums": ([Box(0, 1), UnitSums()], (4, 4)),
    "box and L1, by entry": ([Box(-0.5 * ONES, 0.5), L1(np.linspace(0, 0.5, 6))], (6,)),
    "groups and ball": ([GroupL2([[0, 1], [2, 4]], 0.2), L2Ball(0.7, 0.1 * ONES)], (6,)),
    "nuclear norm and affine": ([NuclearNorm(0.3), Affine(np.ones((1, 6)), [1.0])], (2, 3)),
    "one ball": ([L2Ball(0.6)], (6,)),
    "three terms": ([Box(-1, 1), L1(0.2), L2Ball(0.8)], (6,)),
    "total variation of an image": ([TotalVariation(0.3, 0), TotalVariation(0.2, 1)], (2, 3)),
    "four terms": ([Simplex(), GroupL2([[0, 1, 2]], 0.1), SquaredL2(0.3), NonNegative()], (6,)),
}
# Total variation has its proximal map on the host, and says so; all others stay where x is.
ON_DEVICE = [name for name, (terms, _) in CASES.items() if not any(isinstance(t, TotalVariation) for t in terms)]


@dataclass(frozen=True, eq=False)
class Quadratic:
    """<x, Q x> / 2 + <c, x> over flattened x, for arrays of any kind."""

    Q: np.ndarray
    c: np.ndarray
    lipschitz: float

    def value(self, x):
        return self.value_and_grad(x)[0]

    def grad(self, x):
        return self.value_and_grad(x)[1]

    def value_and_grad(self, x):
        xp = namespace(x)
        flat = xp.reshape(x, (-1,))
        image = self.Q @ flat
        return xp.sum(flat * (image / 2 + self.c)), xp.reshape(image + self.c, x.shape)


def setting(name, kind, curvature="convex", seed=0):
    """Return f, the terms and a start in arrays of that kind: the same numbers for every library."""
    terms, shape = CASES[name]
    rng = np.random.default_rng(seed)
    f = problems.quadratic(rng, int(np.prod(shape)), curvature)
    portable = Quadratic(kind.array(f.Q), kind.array(f.c), f.lipschitz)
    return portable, terms, kind.array(rng.standard_normal(shape))


def lifted(f, terms, x0):
    """Return a problem for the loop of Algorithm 1, in the product space where it has more terms, and the first y."""
    problem = Problem(f, terms)
    if len(problem.terms) == 2:
        return problem, x0
    return Product(problem), Product(problem).start(x0)
