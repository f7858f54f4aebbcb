"""Variance reduction with second derivatives, for tables with many more samples than features."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trisplit.arrays import Array, as_host, constant_like, to_numpy
from trisplit.gradients.access import Access, taken
from trisplit.gradients.constants import batch_noise, batch_size, constants, inverse, store_sizes
from trisplit.gradients.draws import Draw
from trisplit.gradients.snapshots import snapshot_step

if TYPE_CHECKING:
    from trisplit.losses.base import FiniteSum

SHARES = (64, 8)  # the first snapshots take one of so many samples
ROUGHER = 1.2  # times the smoothness constant of f is the most that a part of the samples may have
ENOUGH = 8  # times as many samples as a batch, and as there are features, are the least for a snapshot


class Snapshot(NamedTuple):
    """A point w; the samples that count, none for all; their predictions, slopes and second derivatives at w.

    Then the mean gradient and Hessian of these samples, which of the stages it is, and for how many iterations it has
    served, and will serve.
    """

    w: Array
    rows: np.ndarray
    predictions: Array
    slopes: Array
    bends: Array
    gradient: Array
    hessian: Array
    stage: int
    age: int
    end: int


@dataclass(frozen=True)
class SVRG2:
    """SVRG around a quadratic model: u = grad m(z) + grad f_B(z) - grad m_B(z), m that of second order at a snapshot w.

    What a batch corrects is only what the model leaves out, which is small of second order in z - w: batches may be
    small and steps long. It is for linear models with few features: the Hessian is a matrix, and takes as many products
    as a gradient for every feature; a time limit cannot end it. Of many samples, the first snapshots take one in 64 and
    one in 8, as no more are needed far from a solution; batches are then drawn from these.

    Parameters
    ----------
    size : int, optional
        Samples in a batch; by default 3 L_max / L, if the smoothness constants of the samples and of f are known, but
        between sqrt(n) / 16 and sqrt(n). With 3 L_max / L, a long step is safe even where the model leaves out much.
    every : int, optional
        Iterations for which a snapshot serves; by default sqrt(n), doubled with each snapshot up to 4 sqrt(n), unless
        they take more than two passes over the data.

    References
    ----------
    Gower, Le Roux, Bach (2018), Tracking the gradients using the Hessian: a new look at variance reducing stochastic
    methods; Babanezhad, Ahmed, Virani, Schmidt, Konecny, Sallinen (2015), Stop wasting my gradients: practical SVRG,
    for snapshots that grow.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((20_000, 4))
    >>> f = ts.losses.Logistic(A, np.sign(A[:, 0] + rng.standard_normal(20_000)))
    >>> res = ts.minimize(f, np.zeros(4), [ts.terms.L1(0.02), ts.terms.Box(0, 1)], gradient="svrg2", rng=0)
    >>> res.success, res.trace.rows[-1].samples < 3 * f.n
    (True, True)
    """

    size: int | None = None
    every: int | None = None

    needs = "bends_at"

    def __post_init__(self) -> None:
        store_sizes(self, "size", "every")

    def batch(self, loss: "FiniteSum") -> int:
        """Return the samples in a batch."""
        n, L, largest = loss.n, loss.lipschitz, loss.sample_lipschitz
        if self.size is not None:
            return batch_size(n, self.size)
        return ceil(min(sqrt(n), max(sqrt(n) / 16, 3 * largest / L if L and largest else 0.0)))

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        size = self.batch(f.loss)
        last = None if memory is None else Snapshot(*memory)
        if last is None or last.age >= last.end:
            last = self.snapshot(f, z, draw, size, 0 if last is None else last.stage + 1)
            return last.gradient + f.ridge * z, last
        chosen = draw.rows(last.bends.shape[0], size)
        subset = np.asarray(as_host(last.rows))
        rows = subset[chosen] if len(subset) else chosen
        p = f.predictions(z, rows)
        change = f.loss.slopes_at(p, rows) - taken(last.slopes, chosen)  # pyright: ignore[reportAttributeAccessIssue]
        left = change - taken(last.bends, chosen) * (p - taken(last.predictions, chosen))
        u = f.total(left, rows) / len(rows) + last.gradient + last.hessian @ (z - last.w) + f.ridge * z
        return u, last._replace(age=last.age + 1)

    def snapshot(self, f: Access, z: Array, draw: Draw, size: int, stage: int) -> Snapshot:
        """Return the models at z of as many samples as are due at this stage, or at a later one."""
        n, loss, rows = f.n, f.loss, np.empty(0, dtype=int)
        counts = stages(n, ENOUGH * max(size, z.shape[0]))
        while stage < len(counts) and not len(rows):
            rows = np.sort(draw.rows(n, counts[stage]))
            if is_rougher(loss, z, rows):
                rows, stage = rows[:0], stage + 1
        which, count = (rows, len(rows)) if len(rows) else (slice(0, n), n)
        p = f.predictions(z, which)
        slopes, bends = loss.slopes_at(p, which), loss.bends_at(p, which)  # pyright: ignore[reportAttributeAccessIssue]
        hessian = loss.gram(bends, which) / count  # pyright: ignore[reportAttributeAccessIssue]
        end = self.every or ceil(min(2 ** min(stage, 2) * sqrt(n), 2 * n / size))
        return Snapshot(z, rows, p, slopes, bends, f.total(slopes, which) / count, hessian, stage, 0, end)

    def step(self, loss: "FiniteSum") -> float:
        L, size = constants(loss)[0], self.batch(loss)
        if 3 * batch_noise(loss, size) <= L:  # no more than 2 / (L + N)
            return 1.5 * inverse(L)
        return snapshot_step(loss, size, 1.5)


def stages(n: int, least: int) -> list[int]:
    """Return how many samples the first snapshots take; later ones take all.

    >>> stages(64_000, 100), stages(6_400, 500), stages(100, 80)
    ([1000, 8000], [800], [])
    """
    return [n // share for share in SHARES if n // share >= least]


def is_rougher(loss: "FiniteSum", z: Array, rows: np.ndarray) -> bool:
    """Say whether the mean over some samples may be less smooth than f, by more than the step can bear."""
    curvature, L = getattr(loss, "curvature", None), loss.lipschitz
    if curvature is None or L is None:
        return True
    gram = loss.gram(constant_like(np.ones(len(rows)), z), rows)  # pyright: ignore[reportAttributeAccessIssue]
    return curvature * float(np.linalg.eigvalsh(to_numpy(gram))[-1]) / len(rows) > ROUGHER * (L - loss.ridge)  # pyright: ignore
