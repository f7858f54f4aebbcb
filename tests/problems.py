"""Random nonconvex problems with known structure, for tests."""

from dataclasses import dataclass

import numpy as np

import trisplit as ts


@dataclass(frozen=True, eq=False)
class Quadratic:
    """<x, Q x> / 2 + <c, x> over flattened x, Q symmetric and possibly indefinite."""

    Q: np.ndarray
    c: np.ndarray

    def value(self, x):
        flat = x.reshape(-1)
        return 0.5 * flat @ self.Q @ flat + self.c @ flat

    def grad(self, x):
        return (self.Q @ x.reshape(-1) + self.c).reshape(x.shape)

    @property
    def lipschitz(self):
        return float(np.abs(np.linalg.eigvalsh(self.Q)).max())


def quadratic(rng, size, kind="indefinite"):
    """Return a random quadratic: linear, convex, concave or indefinite."""
    M = rng.standard_normal((size, size)) / size**0.5
    Q = {"linear": 0 * M, "convex": M @ M.T, "concave": -M @ M.T, "indefinite": (M + M.T) / 2}[kind]
    return Quadratic(Q, rng.standard_normal(size))


@dataclass(frozen=True, eq=False)
class Ripples:
    """A smooth nonconvex function that is no quadratic: sum_i cos(<a_i, x>) + <c, x>."""

    a: np.ndarray
    c: np.ndarray

    def value(self, x):
        return np.cos(self.a @ x.reshape(-1)).sum() + self.c @ x.reshape(-1)

    def grad(self, x):
        return (self.c - self.a.T @ np.sin(self.a @ x.reshape(-1))).reshape(x.shape)


def ripples(rng, size):
    return Ripples(rng.standard_normal((3, size)), rng.standard_normal(size))


@dataclass(frozen=True)
class BoxedL1:
    """weight ||x||_1 on the box [-1, 1]^n: a term with a bounded domain that is Lipschitz and no indicator."""

    weight: float
    convex = True
    indicator = False

    def value(self, x):
        return self.weight * np.abs(x).sum() if np.abs(x).max() <= 1 + 1e-12 else np.inf

    def prox(self, x, gamma):
        return np.clip(np.sign(x) * np.maximum(np.abs(x) - gamma * self.weight, 0), -1, 1)

    def diameter(self, shape):
        return 2 * float(np.prod(shape)) ** 0.5

    def lipschitz(self, shape):
        return self.weight * float(np.prod(shape)) ** 0.5

    def support(self, u):
        return float(np.abs(u).sum())


BIRKHOFF_SPLITS = {
    "split 1": (ts.terms.Simplex(axis=1), ts.terms.Simplex(axis=0)),
    "split 2": (ts.terms.Box(0, 1), ts.terms.UnitSums()),
    "split 2, exchanged": (ts.terms.UnitSums(), ts.terms.Box(0, 1)),
}
