"""Smooth functions and terms of the golden runs. Do not change them: the stored answers are those of these lines."""

from dataclasses import dataclass
from math import inf

import numpy as np

from tests.problems import Quadratic


def form(seed, size, kind="indefinite", scale=1.0):
    """Return a random quadratic: convex, concave or indefinite."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((size, size)) / size**0.5
    Q = {"convex": M @ M.T, "concave": -M @ M.T, "indefinite": (M + M.T) / 2}[kind]
    return Quadratic(scale * Q, scale * rng.standard_normal(size))


@dataclass(frozen=True, eq=False)
class Ripples:
    """sum_i cos(<a_i, x>) + <c, x>."""

    a: np.ndarray
    c: np.ndarray

    def value(self, x):
        return np.cos(self.a @ x).sum() + self.c @ x

    def grad(self, x):
        return self.c - self.a.T @ np.sin(self.a @ x)


def ripples(seed, size):
    rng = np.random.default_rng(seed)
    return Ripples(rng.standard_normal((3, size)), rng.standard_normal(size))


def rosenbrock(x):
    """Return sum_i 10 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2 and its gradient."""
    head, tail = x[:-1], x[1:]
    off = tail - head * head
    grad = np.zeros_like(x)
    grad[:-1] = -40 * off * head - 2 * (1 - head)
    grad[1:] += 20 * off
    return float((10 * off * off + (1 - head) ** 2).sum()), grad


def well(x):
    """Return sum_i x_i^4 / 4 - x_i^2 / 2 and its gradient: a saddle point at 0, minima at -1 and 1."""
    return float((x**4).sum() / 4 - (x**2).sum() / 2), x**3 - x


def shifted(x):
    """Return ||x - 3||^2 / 2 and its gradient."""
    return float(((x - 3) ** 2).sum()) / 2, x - 3


def concave(x):
    """Return -||x||^2 / 2 and its gradient."""
    return -float((x * x).sum()) / 2, -x


def fourth(x):
    """Return -sum_i x_i^4, unbounded below, and its gradient."""
    return -float((x**4).sum()), -4 * x**3


@dataclass(frozen=True, eq=False)
class Exponentials:
    """sum_i exp(a_i x_i) - c_i x_i; it has no global smoothness constant."""

    a: np.ndarray
    c: np.ndarray

    def value(self, x):
        return float((np.exp(self.a * x) - self.c * x).sum())

    def grad(self, x):
        return self.a * np.exp(self.a * x) - self.c


@dataclass(frozen=True, eq=False)
class Barrier:
    """-sum_i log(b_i - <a_i, x>) + <c, x>; inf outside of the polyhedron."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray

    def value(self, x):
        slack = self.b - self.a @ x
        return float(self.c @ x - np.log(slack).sum()) if slack.min() > 0 else inf

    def grad(self, x):
        return self.c + self.a.T @ (1 / (self.b - self.a @ x))


@dataclass(frozen=True, eq=False)
class Masked:
    """||M * (X - Y)||^2 / 2, one callable for value and gradient."""

    M: np.ndarray
    Y: np.ndarray
    lipschitz = 1.0

    def value(self, X):
        return self.value_and_grad(X)[0]

    def grad(self, X):
        return self.value_and_grad(X)[1]

    def value_and_grad(self, X):
        off = self.M * (X - self.Y)
        return float((off * off).sum()) / 2, off


@dataclass(frozen=True, eq=False)
class Forms:
    """<x, Q x> / 2 + <c, x>, one for each problem of a batch; without axes of a batch in Q, one problem."""

    Q: np.ndarray
    c: np.ndarray

    def value(self, x):
        return self.value_and_grad(x)[0]

    def grad(self, x):
        return self.value_and_grad(x)[1]

    def value_and_grad(self, x):
        flat = np.reshape(x, self.c.shape)
        image = (self.Q @ flat[..., None])[..., 0]
        return np.sum(flat * (image / 2 + self.c), axis=-1), np.reshape(image + self.c, x.shape)

    @property
    def lipschitz(self):
        return np.abs(np.linalg.eigvalsh(self.Q)).max(axis=-1)


@dataclass(frozen=True, eq=False)
class Selectable(Forms):
    """The same, able to hand out some of its problems."""

    def select(self, members):
        return type(self)(self.Q[members], self.c[members])


@dataclass(frozen=True, eq=False)
class Broken(Selectable):
    """The same; a problem with c[0] > 50 is NaN, one with c[0] < -50 is NaN where x[0] > 0.5."""

    def value_and_grad(self, x):
        value, grad = super().value_and_grad(x)
        flat = np.reshape(x, self.c.shape)
        bad = (self.c[..., 0] > 50) | ((self.c[..., 0] < -50) & (flat[..., 0] > 0.5))
        return np.where(bad, np.nan, value), np.where(
            bad.reshape(value.shape + (1,) * (x.ndim - value.ndim)), np.nan, grad
        )


def forms(batch, shape, kind="indefinite", seed=0, cls=Selectable, dtype=np.float64):
    """Return f and starting points of a batch of problems of different scales."""
    rng = np.random.default_rng(seed)
    count, size = int(np.prod(batch)), int(np.prod(shape))
    M = rng.standard_normal((count, size, size)) / size**0.5
    T = np.swapaxes(M, 1, 2)
    Q = {"convex": np.einsum("kij,klj->kil", M, M) + 0.5 * np.eye(size), "indefinite": (M + T) / 2}[kind]
    Q = np.geomspace(0.1, 10.0, count)[:, None, None] * Q
    c = rng.standard_normal((count, size))
    x0 = rng.standard_normal((count, *shape))
    f = cls(np.reshape(Q, (*batch, size, size)).astype(dtype), np.reshape(c, (*batch, size)).astype(dtype))
    return f, np.reshape(x0, (*batch, *shape)).astype(dtype)


@dataclass(frozen=True, eq=False)
class Waves:
    """sum_i cos(a_i x_i) + c_i x_i + x_i^4 / 20 of each problem of a batch with one axis."""

    a: np.ndarray
    c: np.ndarray

    def value(self, x):
        return (np.cos(self.a * x) + self.c * x + x**4 / 20).sum(axis=-1)

    def grad(self, x):
        return self.c - self.a * np.sin(self.a * x) + x**3 / 5

    def select(self, members):
        return Waves(self.a[members], self.c[members])


class Breaks:
    """f(x) = ||x - 3||^2 / 2 whose value, or gradient, `fails` from its k-th call on, or in a region."""

    def __init__(self, *, value=None, grad=None, at=None, region=None, fail=None):
        self.calls = {"value": value, "grad": grad}
        self.at, self.region = at, region
        self.fail = (lambda: np.nan) if fail is None else fail
        self.left = at

    def _broken(self, what, x):
        if not self.calls[what]:
            return False
        if self.region is not None:
            return bool(np.any(x > self.region))
        self.left -= 1
        return self.left < 0

    def value(self, x):
        return float(self.fail()) if self._broken("value", x) else float(((x - 3) ** 2).sum()) / 2

    def grad(self, x):
        return (x - 3) * (self.fail() if self._broken("grad", x) else 1.0)


class FragileBox:
    """The box [0, 1], whose prox `fails` from its k-th call on."""

    indicator = convex = True

    def __init__(self, at, fail=None):
        self.left, self.fail = at, (lambda: np.nan) if fail is None else fail

    def value(self, x):
        return 0.0

    def prox(self, x, gamma):
        self.left -= 1
        return np.clip(x, 0, 1) * (self.fail() if self.left < 0 else 1.0)

    def diameter(self, shape):
        return float(np.prod(shape)) ** 0.5

    def support(self, u):
        return float(np.maximum(u, 0).sum())


def raises(error):
    """Return a function that raises `error`."""

    def fail():
        raise error

    return fail


def singular():
    """Raise the error of LAPACK for a singular matrix."""
    return np.linalg.inv(np.zeros((2, 2)))[0, 0]
