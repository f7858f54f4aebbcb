"""Variance reduction by a table or a snapshot: unbiased estimates, whose variance vanishes at a solution."""

from dataclasses import dataclass
from math import ceil, inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trisplit.arrays import Array, as_host
from trisplit.arrays.batched import norm
from trisplit.gradients.access import Access, taken, written
from trisplit.gradients.constants import batch_noise, batch_size, constants, inverse, store_sizes
from trisplit.gradients.draws import Draw

if TYPE_CHECKING:
    from trisplit.losses.base import FiniteSum


HARDLY, USED_UP = 0.75, 0.55  # by which distances between snapshots fall, if these serve too short or too long
LEAST, MOST = 0.5, 4.0  # passes over the data between two snapshots, at first and later


class Snapshot(NamedTuple):
    """A point w; what is known of each sample there, or nothing; the gradient.

    What is known of the samples of a linear model is a number each: with these, a correction needs no gradient at w.
    Then for how many iterations the snapshot has served, and will serve, and how far it was from the one before.
    """

    w: Array
    known: Array | None
    gradient: Array
    age: int
    end: int
    moved: float = inf


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
        Iterations for which a snapshot serves; by default as many as make half a pass over the data at first, doubled
        where the distance to the snapshot before has hardly fallen, up to four passes, and halved where it has fallen
        to less than about a half: what a snapshot is worth is then used up before.

    References
    ----------
    Johnson, Zhang (2013), Accelerating stochastic gradient descent using predictive variance reduction; Allen-Zhu, Yuan
    (2016), Improved SVRG for non-strongly-convex or sum-of-non-convex objectives, for doubling.

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
        store_sizes(self, "size", "every")

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        size = batch_size(f.n, self.size)
        last = None if memory is None else Snapshot(*memory)
        if last is None or last.age >= last.end:
            return self.snapshot(f, z, size, last)
        rows = draw.rows(f.n, size)
        if last.known is None:
            change = f.change(z, last.w, rows)
        else:
            change = f.total(f.entries(z, rows) - taken(last.known, rows), rows) / len(rows) + f.ridge * z
        return change + last.gradient, last._replace(age=last.age + 1)

    def snapshot(self, f: Access, z: Array, size: int, last: Snapshot | None) -> tuple[Array, Snapshot]:
        """Return the gradient, and what to remember of it."""
        if f.linear:
            known, gradient = f.table(z)
            u = gradient + f.ridge * z
        else:
            known, u = None, f.full(z)
            gradient = u
        if self.every is not None or last is None:
            return u, Snapshot(z, known, gradient, 0, self.every or ceil(LEAST * f.n / size))
        moved = float(np.asarray(as_host(norm(z - last.w))))
        return u, Snapshot(z, known, gradient, 0, next_end(f.n, size, moved, last), moved)

    def step(self, loss: "FiniteSum") -> float:
        return snapshot_step(loss, batch_size(loss.n, self.size), 1.5)


def next_end(n: int, size: int, moved: float, last: Snapshot) -> int:
    """Return for how many iterations the next snapshot serves, at a distance `moved` from the last one."""
    least, most = (ceil(passes * n / size) for passes in (LEAST, MOST))
    if moved > HARDLY * last.moved:
        return min(2 * last.end, most)
    return max(last.end // 2, least) if moved < USED_UP * last.moved else last.end


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
        store_sizes(self, "size")

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        size = batch_size(f.n, self.size)
        if memory is None:
            table = f.table(z)
            return table.mean + f.ridge * z, (*table, None, None)
        entries, mean, last_rows, last = memory
        if last is not None:  # written now, so that a run that stopped in the midst of this iteration can go on
            entries = written(entries, np.asarray(as_host(last_rows)), last)
        rows = draw.rows(f.n, size)
        own = f.entries(z, rows)
        change = f.total(own - taken(entries, rows), rows)
        u = change / len(rows) + mean + f.ridge * z
        return u, (entries, mean + change / f.n, rows, own)

    def step(self, loss: "FiniteSum") -> float:
        return snapshot_step(loss, batch_size(loss.n, self.size), 1.0)
