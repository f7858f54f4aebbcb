"""Variance reduction by recursion: the last estimate, moved by what a batch says has changed.

These estimates are biased, given the past; their error is that of the last one plus a term that vanishes as the
iterates come to rest.
"""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

from trisplit.arrays import Array
from trisplit.errors import InputError
from trisplit.gradients.access import Access
from trisplit.gradients.constants import batch_size, batch_smoothness, constants, inverse, store_sizes
from trisplit.gradients.draws import Draw

if TYPE_CHECKING:
    from trisplit.losses.base import FiniteSum


def moved(memory: tuple, f: Access, z: Array, size: int, draw: Draw) -> Array:
    """Return the last estimate plus the change of the gradient of a batch since then."""
    before, u = memory[:2]
    return u + f.change(z, before, draw.rows(f.n, size))


def recursive_step(loss: "FiniteSum", size: int, chance: float) -> float:
    """Return 1 / (L + L_max sqrt((1 - p) / (p b))), with full gradients with probability p.

    Z. Li, H. Bao, X. Zhang, P. Richtarik (2021), PAGE: a simple and optimal probabilistic gradient estimator for
    nonconvex optimization, theorem 2.
    """
    L, largest = constants(loss)
    return inverse(L + largest * sqrt((1.0 - chance) / (chance * size)))


@dataclass(frozen=True)
class SARAH:
    """u = u_before + grad f_B(z) - grad f_B(z_before), with a full gradient every `every` iterations.

    With a large batch it is also known as SPIDER.

    Parameters
    ----------
    size : int, optional
        Samples in a batch; by default sqrt(n).
    every : int, optional
        Iterations between two full gradients; by default as many as make a pass over the data.

    References
    ----------
    Nguyen, Liu, Scheinberg, Takac (2017), SARAH: a novel method for machine learning problems using stochastic
    recursive gradient; Fang, Li, Lin, Zhang (2018), SPIDER: near-optimal non-convex optimization via stochastic
    path-integrated differential estimator.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = ts.losses.Logistic(np.array([[1.0, 0.5], [-1.0, 2.0], [0.3, -1.0]]), np.array([1, -1, 1]), ridge=0.1)
    >>> res = ts.minimize(f, np.zeros(2), ts.terms.L1(0.01), gradient=ts.gradients.SARAH(2), rng=0)
    >>> res.success
    True
    """

    size: int | None = None
    every: int | None = None

    def __post_init__(self) -> None:
        store_sizes(self, "size", "every")

    def sizes(self, n: int) -> tuple[int, int]:
        """Return the size of batches and the iterations between two full gradients."""
        size = batch_size(n, self.size)
        return size, ceil(n / size) if self.every is None else self.every

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        size, every = self.sizes(f.n)
        if memory is None or memory[2] >= every:
            u = f.full(z)
            return u, (z, u, 0)
        u = moved(memory, f, z, size, draw)
        return u, (z, u, memory[2] + 1)

    def step(self, loss: "FiniteSum") -> float:
        size, every = self.sizes(loss.n)
        return recursive_step(loss, size, 1.0 / every)


@dataclass(frozen=True)
class PAGE:
    """SARAH with a full gradient at random, with probability `chance`.

    Parameters
    ----------
    size : int, optional
        Samples in a batch; by default sqrt(n).
    chance : float, optional
        By default size / (n + size): half of the samples are drawn for full gradients.

    References
    ----------
    Li, Bao, Zhang, Richtarik (2021), PAGE: a simple and optimal probabilistic gradient estimator for nonconvex
    optimization.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = ts.losses.Logistic(np.array([[1.0, 0.5], [-1.0, 2.0], [0.3, -1.0]]), np.array([1, -1, 1]), ridge=0.1)
    >>> res = ts.minimize(f, np.zeros(2), ts.terms.L1(0.01), gradient=ts.gradients.PAGE(2), rng=0)
    >>> res.success
    True
    """

    size: int | None = None
    chance: float | None = None

    def __post_init__(self) -> None:
        store_sizes(self, "size")
        if self.chance is not None and not 0 < self.chance <= 1:
            raise InputError(f"`chance` must lie in (0, 1], got {self.chance}; None takes size / (n + size)")

    def chances(self, n: int) -> tuple[int, float]:
        """Return the size of batches and the probability of a full gradient."""
        size = batch_size(n, self.size)
        return size, size / (n + size) if self.chance is None else self.chance

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        size, chance = self.chances(f.n)
        full = memory is None or draw.coin() < chance
        u = f.full(z) if full else moved(memory, f, z, size, draw)  # pyright: ignore[reportArgumentType]
        return u, (z, u)

    def step(self, loss: "FiniteSum") -> float:
        return recursive_step(loss, *self.chances(loss.n))


@dataclass(frozen=True)
class STORM:
    """u = grad f_B(z) + (1 - momentum) (u_before - grad f_B(z_before)), without any full gradient but the first batch.

    Parameters
    ----------
    size : int, optional
        Samples in a batch; by default sqrt(n).
    momentum : float
        In (0, 1]; 1 is the plain minibatch, and the smaller it is, the lower is the floor.

    References
    ----------
    Cutkosky, Orabona (2019), Momentum-based variance reduction in non-convex SGD.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = ts.losses.Logistic(np.array([[1.0, 0.5], [-1.0, 2.0], [0.3, -1.0]]), np.array([1, -1, 1]), ridge=0.1)
    >>> given = {"gradient": ts.gradients.STORM(2), "max_iter": 50, "rng": 0}
    >>> ts.minimize(f, np.zeros(2), ts.terms.L1(0.01), **given).nit
    50
    """

    size: int | None = None
    momentum: float = 0.1

    def __post_init__(self) -> None:
        store_sizes(self, "size")
        if not 0 < self.momentum <= 1:
            raise InputError(f"`momentum` must lie in (0, 1], got {self.momentum}; try 0.1")

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        rows = draw.rows(f.n, batch_size(f.n, self.size))
        u = f.batch(z, rows)
        if memory is not None:
            before, last = memory
            u = u + (1.0 - self.momentum) * (last - f.batch(before, rows))
        return u, (z, u)

    def step(self, loss: "FiniteSum") -> float:
        return inverse(3.0 * batch_smoothness(loss, batch_size(loss.n, self.size)))
