"""Graduated concavity: f(X) turns into f(X) - mu / 2 (||X||^2 - n), which equals f at permutations.

With mu the largest positive curvature of f that is concave, and its stationary points are nearly always permutations.
"""

from dataclasses import dataclass
from typing import NamedTuple

from trisplit.arrays import Array
from trisplit.arrays.batched import vdot
from trisplit.qap.objective import Objective

STAGE, POWER = 10, 6  # of the growth


class Concavity(NamedTuple):
    """How mu of f(X) - mu / 2 (||X||^2 - n) grows: to `final` within some iterations, in stages, most of it late."""

    final: float
    iterations: int

    def at(self, t: int) -> float:
        """Return mu after t iterations."""
        grown = min(t // STAGE * STAGE / self.iterations, 1.0)
        return self.final * grown**POWER


@dataclass(frozen=True, eq=False)
class Concave:
    """f(X) - mu / 2 (||X||^2 - n), which equals f at permutations.

    Examples
    --------
    >>> import numpy as np
    >>> f = Concave(Objective(np.eye(2), np.eye(2)), 3.0)
    >>> float(f.value(np.eye(2))), float(f.value(np.full((2, 2), 0.5)))
    (2.0, 2.5)
    """

    f: Objective
    mu: float

    def value(self, X: Array) -> float:
        return self.f.value(X) - self._bend(X)

    def grad(self, X: Array) -> Array:
        return self.f.grad(X) - self.mu * X

    def value_and_grad(self, X: Array) -> tuple[float, Array]:
        value, grad = self.f.value_and_grad(X)
        return value - self._bend(X), grad - self.mu * X

    def _bend(self, X: Array) -> float:
        return self.mu / 2.0 * (float(vdot(X, X)) - X.shape[0])
