"""Variance reduction by a table or a snapshot: unbiased estimates, whose variance vanishes at a solution."""

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from trisplit.arrays import Array
from trisplit.gradients.access import Access, taken, written
from trisplit.gradients.base import batch_noise, check_size, constants, inverse, sizes
from trisplit.gradients.draws import Draw

if TYPE_CHECKING:
    from trisplit.losses.base import FiniteSum


LEAST, MOST = 0.5, 4.0  # passes over the data between two snapshots, at first and later


class Snapshot(NamedTuple):
    """A point, or what is known of each sample there; the gradient; for how many iterations it has served, and will.

    What is known of the samples of a linear model is a number each: with these, a correction needs no gradient at w.
    """

    known: Array
    gradient: Array
    age: int
    end: int


@dataclass(frozen=True)
class SVRG:
    """A full gradient at a snapshot w, corrected by a batch: u = grad f_B(z) - grad f_B(w) + grad f(w).

    The snapshot is taken anew every `every` iterations. Of linear models, one number for each sample is kept, and the
    batch is not asked for its gradient at w again.

    Parameters
    ----------
    size : int, optional
        Samples in a batch; by default sqrt(n).
    every : int, optional
        Iterations between two snapshots; by default as many as make half a pass over the data, doubled with each
        snapshot up to four passes.

    References
    ----------
    Johnson, Zhang (2013), Accelerating stochastic gradient descent using predictive variance reduction; Allen-Zhu, Yuan
    (2016), Improved SVRG for non-strongly-convex or sum-of-non-convex objectives, for the doubling.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = ts.losses.Logistic(np.array([[1.0, 0.5], [-1.0, 2.0], [0.3, -1.0]]), np.array([1, -1, 1]), ridge=0.1)
    >>> res = ts.minimize(f, np.zeros(2), ts.terms.L1(0.01), gradient=ts.gradients.SVRG(2), rng=0)
    >>> res.success
    True
    """

    size: int | None = None
    every: int | None = None

    def __post_init__(self) -> None:
        check_size(self.size)
        check_size(self.every, "every")

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        size = sizes(f.n, self.size).size
        if memory is None or memory[2] >= memory[3]:
            end = self.every or next_end(f.n, size, None if memory is None else memory[3])
            if not f.linear:
                u = f.full(z)
                return u, Snapshot(z, u, 0, end)
            table = f.table(z)
            return table.mean + f.ridge * z, Snapshot(table.entries, table.mean, 0, end)
        known, gradient, age, end = memory
        rows = draw.rows(f.n, size)
        if f.linear:
            change = f.total(f.entries(z, rows) - taken(known, rows), rows) / len(rows) + f.ridge * z
        else:
            change = f.change(z, known, rows)
        return change + gradient, Snapshot(known, gradient, age + 1, end)

    def step(self, loss: "FiniteSum") -> float:
        return snapshot_step(loss, sizes(loss.n, self.size).size, 1.5)


def next_end(n: int, size: int, last: int | None) -> int:
    """Return for how many iterations the next snapshot serves, if the last one has served for `last`."""
    if last is None:
        return ceil(LEAST * n / size)
    return min(2 * last, ceil(MOST * n / size))


def snapshot_step(loss: "FiniteSum", size: int, share: float) -> float:
    """Return share / (L + 2 N), where L and N are the smoothness of f and the noise that a batch adds to it.

    Let f be quadratic and w its snapshot. By expected smoothness, f(z) - f* of a long run with this snapshot ends, on
    average, at no more than gamma N / (2 - gamma (L + N)) of f(w) - f*: 0.6 of it for share 1.5, a third for 1.
    """
    return share * inverse(constants(loss)[0] + 2.0 * batch_noise(loss, size))


@dataclass(frozen=True)
class SAGA:
    """The mean of a table of gradients, corrected by a batch: u = grad f_B(z) - table_B + mean of the table.

    The entries of the batch are then replaced. The table is filled at the first point; it has one number for each
    sample of a linear model, and a gradient for each of other losses.

    Parameters
    ----------
    size : int, optional
        Samples in a batch; by default sqrt(n).

    References
    ----------
    Defazio, Bach, Lacoste-Julien (2014), SAGA: a fast incremental gradient method with support for non-strongly convex
    composite objectives; Pedregosa, Fatras, Casotto (2019), Proximal splitting meets variance reduction.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = ts.losses.Logistic(np.array([[1.0, 0.5], [-1.0, 2.0], [0.3, -1.0]]), np.array([1, -1, 1]), ridge=0.1)
    >>> res = ts.minimize(f, np.zeros(2), ts.terms.L1(0.01), gradient=ts.gradients.SAGA(2), rng=0)
    >>> res.success
    True
    """

    size: int | None = None

    def __post_init__(self) -> None:
        check_size(self.size)

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        if memory is None:
            table = f.table(z)
            return table.mean + f.ridge * z, tuple(table)
        entries, mean = memory
        rows = draw.rows(f.n, sizes(f.n, self.size).size)
        own = f.entries(z, rows)
        change = f.total(own - taken(entries, rows), rows)
        u = change / len(rows) + mean + f.ridge * z
        return u, (written(entries, rows, own), mean + change / f.n)

    def step(self, loss: "FiniteSum") -> float:
        return snapshot_step(loss, sizes(loss.n, self.size).size, 1.0)
