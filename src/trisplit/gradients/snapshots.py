"""Variance reduction by a table or a snapshot: unbiased estimates, whose variance vanishes at a solution."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from trisplit.arrays import Array
from trisplit.gradients.access import Access, taken, written
from trisplit.gradients.base import batch_smoothness, check_size, inverse, sizes
from trisplit.gradients.draws import Draw

if TYPE_CHECKING:
    from trisplit.losses.base import FiniteSum


class Snapshot(NamedTuple):
    """A point, or what is known of each sample there; the gradient; and for how many iterations it has served.

    What is known of the samples of a linear model is a number each: with these, a correction needs no gradient at w.
    """

    known: Array
    gradient: Array
    age: int


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
        Iterations between two snapshots; by default as many as make a pass over the data.

    References
    ----------
    Johnson, Zhang (2013), Accelerating stochastic gradient descent using predictive variance reduction.
    """

    size: int | None = None
    every: int | None = None

    def __post_init__(self) -> None:
        check_size(self.size)
        check_size(self.every, "every")

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        size, every = sizes(f.n, self.size, self.every)
        if memory is None or memory[2] >= every:
            if not f.linear:
                u = f.full(z)
                return u, Snapshot(z, u, 0)
            table = f.table(z)
            return table.mean + f.ridge * z, Snapshot(table.entries, table.mean, 0)
        known, gradient, age = memory
        rows = draw.rows(f.n, size)
        if f.linear:
            change = f.total(f.entries(z, rows) - taken(known, rows), rows) / len(rows) + f.ridge * z
        else:
            change = f.change(z, known, rows)
        return change + gradient, Snapshot(known, gradient, age + 1)

    def step(self, loss: "FiniteSum") -> float:
        return inverse(3.0 * batch_smoothness(loss, sizes(loss.n, self.size).size))


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
        return inverse(3.0 * batch_smoothness(loss, sizes(loss.n, self.size).size))
