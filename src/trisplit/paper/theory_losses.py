"""The parts of the problems on which the theorems of [YMS21] are measured: f with its samples, and a g for Theorem 1.

Two families of f, for x flattened to a vector of n entries, with a proven bound on the gradient and its variance:

    quadratic   <x, Q x> / 2 + <c, x>, Q indefinite or negative definite
    log loss    (1/m) sum_i log(1 + r_i^2),  r = A x - b, nonconvex since its slopes vanish far away

In every array the first axis counts runs.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt

import numpy as np

from trisplit.arrays import Array, Shape
from trisplit.arrays.batched import total
from trisplit.terms.base import BaseTerm, zero_where


@dataclass(frozen=True, eq=False)
class Quadratic:
    """<x, Q x> / 2 + <c, x>; a sample of its gradient is Q x + c + xi, xi ~ N(0, sigma^2 I / n).

    The mean of |Q| samples is drawn as what it is, Q x + c + N(0, sigma^2 I / (n |Q|)): exact in distribution, at the
    price of one sample.
    """

    Q: Array
    c: Array
    sigma: float = 1.0

    def value(self, x: Array) -> Array:
        flat = x.reshape(len(x), -1)
        return np.vecdot(flat, 0.5 * flat @ self.Q + self.c)

    def grad(self, x: Array) -> Array:
        return (x.reshape(len(x), -1) @ self.Q + self.c).reshape(x.shape)

    def minibatch(self, x: Array, size: int, rng: np.random.Generator) -> Array:
        """Return the mean of `size` independent samples of the gradient."""
        return self.grad(x) + self.sigma / sqrt(self.c.size * size) * rng.standard_normal(x.shape)

    def gradient_bound(self, center: Array, radius: float) -> float:
        """Return ||Q m + c|| + ||Q|| r, which ||Q x + c|| nowhere exceeds in the ball around m with radius r."""
        return float(np.linalg.norm(self.Q @ center.ravel() + self.c) + np.linalg.norm(self.Q, 2) * radius)

    def scaled(self, factor: float) -> "Quadratic":
        return Quadratic(factor * self.Q, factor * self.c, self.sigma)


@dataclass(frozen=True, eq=False)
class LogLoss:
    """weight times the mean over the rows a_i of A of log(1 + r_i^2), r = A x - b; a sample is a row drawn uniformly.

    The derivative of a summand is psi_i = 2 r_i / (1 + r_i^2), between -1 and 1. The mean over |Q| rows drawn with
    replacement needs only how often each of them came, and these counts are multinomial: exact in distribution, at a
    price that does not depend on |Q|.
    """

    A: Array
    b: Array
    weight: float = 1.0

    def value(self, x: Array) -> Array:
        return self.weight * np.log1p(self._residual(x) ** 2).mean(axis=-1)

    def grad(self, x: Array) -> Array:
        return self._weighted(x, 1.0 / len(self.b))

    def minibatch(self, x: Array, size: int, rng: np.random.Generator) -> Array:
        """Return the mean of the gradients of `size` rows drawn with replacement."""
        rows = len(self.b)
        return self._weighted(x, rng.multinomial(size, np.full(rows, 1.0 / rows), size=len(x)) / size)

    @cached_property
    def sigma(self) -> float:
        """The root of the mean of ||a_i||^2, as E ||psi_i a_i - grad f||^2 <= E ||psi_i a_i||^2 <= E ||a_i||^2."""
        return self.weight * sqrt(np.mean(np.sum(self.A**2, axis=1)))

    def gradient_bound(self, center: Array, radius: float) -> float:
        """Return ||A|| / sqrt(m), which ||A' psi / m|| nowhere exceeds as |psi_i| <= 1; any ball is as good."""
        return self.weight * float(np.linalg.norm(self.A, 2)) / sqrt(len(self.b))

    def scaled(self, factor: float) -> "LogLoss":
        return LogLoss(self.A, self.b, factor * self.weight)

    def _residual(self, x: Array) -> Array:
        return x.reshape(len(x), -1) @ self.A.T - self.b

    def _weighted(self, x: Array, shares: Array | float) -> Array:
        r = self._residual(x)
        return self.weight * ((shares * (2 * r / (1 + r * r))) @ self.A).reshape(x.shape)


Loss = Quadratic | LogLoss


@dataclass(frozen=True, eq=False)
class Minibatch:
    """f with the gradient of a minibatch of `size` samples in place of its own, a new one at every call."""

    f: Loss
    size: int
    rng: np.random.Generator

    def value(self, x: Array) -> Array:
        return self.f.value(x)

    def grad(self, x: Array) -> Array:
        return self.f.minibatch(x, self.size, self.rng)


@dataclass(frozen=True)
class BoxedL1(BaseTerm):
    """weight ||x||_1 on the box [-1, 1]^n, infinite elsewhere: Lipschitz on a bounded domain, as Theorem 1 wants g.

    prox(x, gamma) is the soft threshold moved into the box: both act entry by entry, and 0 lies in the box.

    Examples
    --------
    >>> BoxedL1(1.0).prox(np.array([-3.0, 0.5, 0.7]), gamma=0.5)
    array([-1. ,  0. ,  0.2])
    """

    weight: float
    broadcast = ()
    convex = True
    indicator = False

    def value(self, x: Array) -> float:
        size, own_axes = np.abs(x), tuple(range(self.batch_ndim, x.ndim))
        return self.weight * total(size, self.batch_ndim) + zero_where(np.max(size, axis=own_axes) <= 1.0, x)

    def prox(self, x: Array, gamma: float) -> Array:
        threshold = gamma * self.weight
        return np.clip(x - np.clip(x, -threshold, threshold), -1.0, 1.0)

    def diameter(self, shape: Shape) -> float:
        """Return 2 sqrt(n)."""
        return 2 * sqrt(prod(shape[self.batch_ndim :]))

    def lipschitz(self, shape: Shape) -> float:
        """Return weight sqrt(n)."""
        return self.weight * sqrt(prod(shape[self.batch_ndim :]))
