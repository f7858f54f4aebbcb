"""Starts on a GPU: relax from many points at once, round them all, and keep the best."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from trisplit.qap.gpu.batch import Batch
from trisplit.qap.gpu.device import short_of_memory, wait
from trisplit.qap.gpu.rounding import permutations
from trisplit.qap.instance import Instance
from trisplit.qap.matrices import as_dense, is_sparse
from trisplit.qap.objective import Objective

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]
    from torch import Tensor  # pyright: ignore[reportMissingImports]

NUMBERS, MOST = 40_000_000, 16_384  # in all starts that are done at once, and how many these are at most
MEMORY, ARRAYS = 0.5, 6  # of what is free on the device, and in how many arrays of all starts
CHUNK, WORK = 25, 10**11  # iterations between two questions whether to stop: at most, and times n^3 for each start
PAIRS = 2**26  # numbers, when costs are computed
Done = TypeVar("Done")
LARGE = 2**24  # numbers in a sparse matrix, zeros included: beyond, costs of the few starts are computed on the host


class Rounded(NamedTuple):
    """The best of many starts, the best first, and where that one was on the relaxed problem."""

    permutations: np.ndarray
    z: np.ndarray | None  # None if numbers overflow
    iterations: int
    starts: int


class Starts:
    """Starts on one instance, so many at once as keep the device busy and fit into its memory.

    Parameters
    ----------
    instance : Instance
    device : torch.device or str
    precision : str
        As in `Batch`.

    Examples
    --------
    >>> from trisplit import qap
    >>> nug12 = qap.load("nug12")
    >>> found = Starts(nug12, "cpu").run(50, 100, seed=0, keep=3)
    >>> found.permutations.shape, nug12.cost(found.permutations[0]) < 640
    ((3, 12), True)
    """

    def __init__(self, instance: Instance, device: "torch.device | str", precision: str = "tf32") -> None:
        import torch  # pyright: ignore[reportMissingImports]

        self.instance, self.n = instance, instance.n
        self.device, self.precision = torch.device(device), precision
        A, B = (M.astype(float) for M in (instance.A, instance.B))
        self.tangent = Objective(A, B, None if instance.C is None else instance.C.astype(float)).tangent()
        self.A = self.B = self.C = None
        if not ((is_sparse(A) or is_sparse(B)) and self.n**2 > LARGE):
            dense = (as_dense(A), as_dense(B), None if instance.C is None else instance.C.astype(float))
            self.A, self.B, self.C = (None if M is None else torch.as_tensor(M, device=self.device) for M in dense)
        self.batch: Batch | None = None
        self.most = max(min(NUMBERS // self.n**2, MOST), 1)

    def shrink(self) -> None:
        """Do half as many at once from now on."""
        self.batch, self.most = None, max(self.at_once // 2, 1)

    @property
    def at_once(self) -> int:
        """How many starts are done at once."""
        import torch  # pyright: ignore[reportMissingImports]

        most = self.most
        if self.device.type == "cuda" and self.batch is None:
            free, _ = torch.cuda.mem_get_info(self.device)
            wide = 8 if self.precision == "float64" else 4
            self.most = most = max(min(most, int(MEMORY * free) // (ARRAYS * wide * self.n**2)), 1)
        return most

    def run(
        self,
        starts: int | None,
        iterations: int,
        *,
        seed: int,
        keep: int,
        over: Callable[[], bool] = lambda: False,
    ) -> Rounded:
        """Do so many starts, or as many as are done at once, until `over` says so; return the best ones."""
        import torch  # pyright: ignore[reportMissingImports]

        seeds = np.random.default_rng(seed)
        wanted = self.at_once if starts is None else starts
        best: list[tuple[float, np.ndarray]] = []
        z, done, reached = None, 0, 0
        while done < wanted and not (done and over()):
            batch = self._batch(min(self.at_once, wanted - done))
            batch.begin(int(seeds.integers(2**63)))
            chunk = self._chunk(batch)
            while batch.t < iterations and not (batch.t and over()):
                batch.advance(min(chunk, iterations - batch.t))
                wait(self.device)
            p = batch.permutations()
            costs = self.costs(p)
            order = torch.argsort(costs, stable=True)[:keep]
            lowest, found = costs[order].tolist(), p[order].cpu().numpy()
            if not best or lowest[0] < best[0][0]:
                point = batch.loop.y[order[0]].clamp(0.0, 1.0).to("cpu", torch.float64).numpy()
                z, reached = point if np.isfinite(point).all() else None, batch.t
            best = sorted([*best, *zip(lowest, found, strict=True)], key=lambda pair: pair[0])[:keep]
            done += batch.starts
        return Rounded(np.array([p for _, p in best]), z, reached, done)

    def warm_up(self) -> None:
        """Call the kernels that `run` calls, with as many starts, for a few iterations; round only one of them."""
        self.with_room(self._warm_up)

    def _warm_up(self) -> None:
        batch = self._batch(self.at_once)
        batch.begin(0)
        batch.advance(self._chunk(batch))
        self.costs(permutations(batch.loop.y[:1]))

    def with_room(self, do: Callable[[], Done]) -> Done:
        """Return what `do` returns; if memory is short, try again with half as many starts at once."""
        while True:
            try:
                return do()
            except RuntimeError as error:
                if self.at_once == 1 or not short_of_memory(error):
                    raise
                self.shrink()

    def costs(self, p: "Tensor") -> "Tensor":
        """Return the costs of permutations, shape (starts, n), in float64."""
        import torch  # pyright: ignore[reportMissingImports]

        if self.A is None or self.B is None:
            return torch.tensor([float(self.instance.cost(q)) for q in p.cpu().numpy()], dtype=torch.float64)
        costs = []
        for part in p.split(max(PAIRS // self.n**2, 1)):
            cost = (self.A * self.B[part[:, :, None], part[:, None, :]]).sum((1, 2))
            if self.C is not None:
                cost += self.C.expand(len(part), -1, -1).gather(2, part[:, :, None]).sum((1, 2))
            costs.append(cost)
        return torch.cat(costs)

    def _chunk(self, batch: Batch) -> int:
        """Return how many iterations come between two questions whether to stop."""
        return max(min(CHUNK, WORK // (batch.starts * self.n**3)), 1)

    def _batch(self, starts: int) -> Batch:
        if self.batch is None or self.batch.starts != starts:
            self.batch = None  # its memory first
            self.batch = Batch(self.tangent, starts, self.device, self.precision)
        return self.batch
