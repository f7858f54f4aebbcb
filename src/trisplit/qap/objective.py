"""The objective of the relaxed quadratic assignment problem, [YMS21] section 5."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trisplit.arrays import Array


@dataclass(frozen=True, eq=False)
class Objective:
    """f(X) = trace(A X B' X') + <C, X>, smooth and in general nonconvex; gradient A X B' + A' X B + C.

    Examples
    --------
    >>> import numpy as np
    >>> f = Objective(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 5.0], [2.0, 0.0]]))
    >>> float(f.value(np.eye(2))), f.lipschitz
    (5.0, 10.0)
    """

    A: Array
    B: Array
    C: Array | None = None

    @cached_property
    def _symmetric(self) -> bool:
        return bool(np.array_equal(self.A, self.A.T) and np.array_equal(self.B, self.B.T))

    def value(self, X: Array) -> float:
        """Return f(X)."""
        return self._value(X, self.A @ X @ self.B.T)

    def grad(self, X: Array) -> Array:
        """Return the gradient at X."""
        return self._grad(X, self.A @ X @ self.B.T)

    def value_and_grad(self, X: Array) -> tuple[float, Array]:
        """Return f(X) and the gradient, which share two of their products."""
        AXB = self.A @ X @ self.B.T
        return self._value(X, AXB), self._grad(X, AXB)

    @cached_property
    def lipschitz(self) -> float:
        """2 ||A|| ||B|| in the spectral norm, a smoothness constant of f."""
        return 2.0 * float(np.linalg.norm(self.A, 2)) * float(np.linalg.norm(self.B, 2))

    def _value(self, X: Array, AXB: Array) -> float:
        product = AXB if self.C is None else AXB + self.C
        return float(np.vdot(product, X))

    def _grad(self, X: Array, AXB: Array) -> Array:
        grad = 2.0 * AXB if self._symmetric else AXB + self.A.T @ X @ self.B
        return grad if self.C is None else grad + self.C
