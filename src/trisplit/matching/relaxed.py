"""From a starting point to a match by three operator splitting, [YMS21] Algorithm 1: g the box [0, 1], h unit sums.

On matrices with unit sums only the tangent part of the gradient counts, and so f(proj_H X) has the same values there,
and a gradient that changes more slowly: the step is 1 / L of that form. With concavity, mu/2 ||X||^2 is added to what
is maximised, with mu growing from 0 to L, which drives X to a permutation.

At iterations 5, 10, 20, 40, ... y is rounded and refined; a match in which nearly every vertex has its nearest
counterpart ends the iteration.
"""

from typing import NamedTuple

import numpy as np

from trisplit.matching.objective import MatchObjective, centred, inner, unit_sums
from trisplit.matching.rounding import Refined, best_assignment, refine
from trisplit.problems.certificates import certify
from trisplit.problems.problem import Problem
from trisplit.result import Certificate
from trisplit.splitting.tos import tos
from trisplit.terms import Box, UnitSums

ITERATIONS = 200
FIRST = 5
POWER = 3  # of the growing concavity
SLOW = 0.01  # times `tol`: what z must move by in an iteration, per vertex


class Attempt(NamedTuple):
    """A match and how it came about."""

    best: Refined
    iterations: int
    converged: bool
    X: np.ndarray
    certificate: Certificate | None


class Tangent:
    """-f(proj_H X) - mu/2 ||X||^2, to be minimised; the gradient without its part that h takes away."""

    def __init__(self, f: MatchObjective) -> None:
        self.f, self.mu = f, 0.0

    def value(self, X: np.ndarray) -> float:
        return -self.f.value(unit_sums(X)) - self.mu / 2 * inner(X, X)

    def grad(self, X: np.ndarray) -> np.ndarray:
        G = centred(self.f.gradient(unit_sums(X)))
        return -G if self.mu == 0.0 else -G - X.dtype.type(self.mu) * X


def splitting(
    f: MatchObjective,
    X: np.ndarray,
    *,
    max_iter: int,
    tol: float,
    concave: bool = False,
) -> Attempt:
    """Iterate from X, and return the best match that was seen on the way."""
    tangent, L = Tangent(f), f.lipschitz or 1.0
    problem = Problem(tangent, (Box(0.0, 1.0), UnitSums()))
    best: Refined | None = None
    z = X
    look, end, made = FIRST, False, None
    for made in tos(problem, X, 1 / (2 * L if concave else L)):
        moved = float(np.abs(made.z - z).max()) if made.t > 1 else np.inf
        z = made.z
        converged = moved <= SLOW * tol
        end = converged or made.t >= max_iter
        if made.t == look or end:
            look *= 2
            found = refine(f, best_assignment(made.y))
            if best is None or (found.settled, found.score) > (best.settled, best.score):
                best = found
            if found.settled or end:
                break
        if concave:
            tangent.mu = L * (made.t / max_iter) ** POWER
    assert best is not None
    assert made is not None
    return Attempt(best, made.t, converged, z, None if concave else certify(problem, made))
