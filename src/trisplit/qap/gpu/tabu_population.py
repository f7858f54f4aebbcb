"""Many iterated tabu searches on a device at once, and crossovers between them.

Each member of the population is a permutation. In a round it is kicked, which turns some random rows in a circle, and
improved by a tabu search; if the result is not worse, it takes the member's place, else the member stays. Kicks grow
with each failure, as those of `kernels/tabu.py`. Every few rounds the worst members make way for children of the
others: those that cost as much as another one first, so that copies of one permutation do not fill the population.
If the best cost has not changed for long, half of the rows of all members but the best are shuffled.

All is done by the device, which is not waited for until `best` or `elites` asks for permutations.
"""

from collections.abc import Sequence
from math import ceil

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

from trisplit.errors import InputError
from trisplit.kernels.gpu import usable
from trisplit.kernels.gpu.walks import Walks
from trisplit.qap.instance import Instance, as_permutation
from trisplit.qap.matrices import as_dense
from trisplit.qap.memetic import SHUFFLED, Member
from trisplit.qap.swap_form import SwapForm, swap_form

TENURES = ((0.9, 1.1), (0.2, 0.6))  # of one half of the population, and of the other
KICK = (0.08, 0.4)  # of the rows: after a gain, and at most
LENGTH = 5  # times n moves in a round, unless said
GENERATION = 10  # rounds from one replacement to the next
REPLACED = 0.3  # of the members
STAGNANT = 20  # generations without a lower best cost, after which members are shuffled
PER_PROCESSOR = {32: 32, 64: 4, 128: 2}  # members for each multiprocessor, for n up to this; beyond, one
MEMORY = 0.5  # of what is free, at most
SMALL = 8  # members without a GPU
CHUNK = 2**26  # numbers at once


class TabuPopulation:
    """A population on a device; any n from 1 on.

    Parameters
    ----------
    instance : Instance
    device : torch.device or str
    seed : int
        The same seed, permutations and rounds give the same members.
    size : int, optional
        The number of members; by default what keeps the device busy.

    Examples
    --------
    >>> from trisplit import qap
    >>> nug12 = qap.load("nug12")
    >>> population = TabuPopulation(nug12, "cpu", seed=0, size=2)
    >>> population.settle([])
    >>> population.round(20)
    >>> nug12.cost(population.best.permutation) == population.best.cost < 650
    True
    """

    def __init__(self, instance: Instance, device: torch.device | str, seed: int, size: int | None = None) -> None:
        self.instance, self.form, self.device = instance, swap_form(instance), torch.device(device)
        if size is not None and size < 1:
            raise InputError(f"`size` must be at least 1, got {size}; leave it out for one that suits the device")
        self.size, n = size or fitting(self.form, self.device), self.form.n
        self.walks = Walks(self.form, self.device, self.size, tenures=TENURES)
        self.costs_of = Costs(instance, self.form, self.device)
        self.seeds = np.random.default_rng(seed)
        self.rng = torch.Generator(self.device).manual_seed(int(self.seeds.integers(2**63)))
        self.weakest, self.strongest = (min(max(ceil(part * n), 3), n) for part in KICK)
        self.replaced = min(ceil(REPLACED * self.size), self.size - 1)
        self.rounds = 0

    def settle(self, permutations: Sequence[np.ndarray]) -> None:
        """Begin anew with permutations of the instance, the first ones if there are too many, else random ones too."""
        p = random_keys(self.size, self.form.n, self.rng).argsort(1)
        given = self._sent(permutations[: self.size])
        p[: len(given)] = given
        self.p, self.costs = p, self.costs_of(p)
        self.kicks = torch.zeros(self.size, dtype=torch.int64, device=self.device)  # none before the first round
        self.rounds = 0
        self.lowest = self.costs.min()
        self.stagnant = torch.zeros((), dtype=torch.int64, device=self.device)

    def round(self, moves: int | None = None) -> None:
        """Kick and improve all members with that many moves of tabu search; every few rounds, replace some first."""
        if self.rounds and self.rounds % GENERATION == 0:
            self._shuffle()
            self._replace()
        start = kicked(self.p, self.kicks, self.rng)
        seed = int(self.seeds.integers(2**31))
        found = self.walks.improve(start, moves or LENGTH * self.form.n, seed).best
        costs = self.costs_of(found)
        taken, gained = costs <= self.costs, costs < self.costs
        self.p = torch.where(taken[:, None], found, self.p)
        self.costs = torch.where(taken, costs, self.costs)
        grown = (self.kicks + 1).clamp(self.weakest, self.strongest)
        self.kicks = torch.where(gained, self.weakest, grown)
        self.rounds += 1

    @property
    def best(self) -> Member:
        """The best permutation of the instance so far, and its exact cost; waits for the device."""
        return self._fetched(self.costs.argmin()[None])[0]

    def elites(self, count: int) -> list[Member]:
        """Return so many members with different costs, or fewer, the best one first; waits for the device."""
        order = ranked(self.costs)
        alone = int((~repeated(self.costs)).sum())
        return self._fetched(order[: min(count, alone)])

    def immigrate(self, permutations: Sequence[np.ndarray]) -> None:
        """Let permutations of the instance take the places of the worst members, to be improved without a kick."""
        given = self._sent(permutations[: max(self.size - 1, 0)])
        self._put(ranked(self.costs)[self.size - len(given) :], given)

    def _replace(self) -> None:
        """Let children of two of the others take the places of the worst."""
        if self.replaced == 0:
            return
        order = ranked(self.costs)
        parents = order[: self.size - self.replaced]
        # Two different ones each, if there are two: the second is a random step ahead of the first, in a circle.
        first = torch.randint(len(parents), (self.replaced,), generator=self.rng, device=self.device)
        step = torch.randint(1, max(len(parents), 2), (self.replaced,), generator=self.rng, device=self.device)
        second = (first + step) % len(parents)
        self._put(order[len(parents) :], crossed(self.p[parents[first]], self.p[parents[second]], self.rng))

    def _shuffle(self) -> None:
        """Shuffle half of the rows of all members but the best one, if the best cost has stagnated."""
        lowest = self.costs.min()
        self.stagnant = torch.where(lowest < self.lowest, 0, self.stagnant + 1)
        self.lowest = lowest
        changed = (self.stagnant >= STAGNANT) & (torch.arange(self.size, device=self.device) != self.costs.argmin())
        rows = torch.full_like(self.kicks, ceil(SHUFFLED * self.form.n))
        self.p = torch.where(changed[:, None], kicked(self.p, rows, self.rng), self.p)
        self.costs = torch.where(changed, self.costs_of(self.p), self.costs)
        self.kicks = torch.where(changed, 0, self.kicks)
        self.stagnant = torch.where(self.stagnant >= STAGNANT, 0, self.stagnant)

    def _put(self, places: torch.Tensor, p: torch.Tensor) -> None:
        self.p[places] = p
        self.costs[places] = self.costs_of(p)
        self.kicks[places] = 0

    def _sent(self, permutations: Sequence[np.ndarray]) -> torch.Tensor:
        """Return permutations of the instance as permutations of the form on the device."""
        n = self.form.n
        rows = [self.form.turned(as_permutation(p, n)) for p in permutations]
        return torch.from_numpy(np.array(rows, dtype=np.int64).reshape(-1, n)).to(self.device)

    def _fetched(self, places: torch.Tensor) -> list[Member]:
        rows = map(self.form.turned, self.p[places].cpu().numpy())
        return [Member(self.instance.cost(p), p) for p in rows]


class Costs:
    """Costs of permutations of the form, for many at once, up to a constant and a factor.

    Integers are exact: costs modulo 2^64, less that of one permutation, since any two of those differ by less.
    """

    def __init__(self, instance: Instance, form: SwapForm, device: torch.device) -> None:
        n = form.n
        if form.kind == "f8":
            A, B, C = form.L[0, :, :n] / (3 - len(form.L)), form.R[0, :, :n].T, form.D[:, :n]
        else:
            A, B = as_dense(instance.A), as_dense(instance.B)
            C = np.zeros((n, n), np.int64) if instance.C is None else instance.C
            if form.swapped:
                A, B, C = B, A, C.T
        self.A, self.B, self.C = (torch.from_numpy(np.array(M, order="C")).to(device) for M in (A, B, C))
        self.chunk = max(CHUNK // n**2, 1)
        self.first = torch.zeros((), dtype=self.C.dtype, device=device)
        self.first = self(torch.arange(n, device=device)[None])[0]

    def __call__(self, p: torch.Tensor) -> torch.Tensor:
        """Return the costs of a batch (size, n)."""
        return torch.cat([self._of(part) for part in p.split(self.chunk)])

    def _of(self, p: torch.Tensor) -> torch.Tensor:
        linear = self.C[torch.arange(p.shape[1], device=p.device), p].sum(1)
        return (self.A * self.B[p[:, :, None], p[:, None, :]]).sum((1, 2)) + linear - self.first


def fitting(form: SwapForm, device: torch.device) -> int:
    """Return how many members keep a device busy, and fit into its memory."""
    if device.type != "cuda" or not usable(device):
        return SMALL
    busy = next((each for n, each in PER_PROCESSOR.items() if form.n <= n), 1)
    busy *= torch.cuda.get_device_properties(device).multi_processor_count
    free, _ = torch.cuda.mem_get_info(device)
    return max(min(busy, int(MEMORY * free) // Walks.bytes_per_member(form)), 1)


def random_keys(size: int, n: int, rng: torch.Generator) -> torch.Tensor:
    """Return random numbers from 0 to 1 that are hardly ever equal."""
    return torch.rand((size, n), generator=rng, device=rng.device, dtype=torch.float64)


def repeated(costs: torch.Tensor) -> torch.Tensor:
    """Return which members cost as much as one before them."""
    order = costs.argsort(stable=True)
    ascending = costs[order]
    again = torch.zeros_like(costs, dtype=torch.bool)
    again[order[1:]] = ascending[1:] == ascending[:-1]
    return again


def ranked(costs: torch.Tensor) -> torch.Tensor:
    """Return the members in the order of their costs, but those that repeat a cost last.

    Examples
    --------
    >>> ranked(torch.tensor([5, 3, 5, 3, 4]))
    tensor([1, 4, 0, 3, 2])
    """
    order = costs.argsort(stable=True)
    return order[repeated(costs)[order].to(torch.int8).argsort(stable=True)]


def kicked(p: torch.Tensor, rows: torch.Tensor, rng: torch.Generator) -> torch.Tensor:
    """Return permutations (size, n) in which so many random rows each, (size,), are turned in a circle.

    Examples
    --------
    >>> p = kicked(torch.arange(9)[None], torch.tensor([4]), torch.Generator().manual_seed(0))
    >>> int((p[0] != torch.arange(9)).sum())
    4
    """
    size, n = p.shape
    order, t, last = random_keys(size, n, rng).argsort(1), torch.arange(n, device=p.device), rows[:, None] - 1
    following = torch.where(t < last, t + 1, torch.where(t == last, 0, t))
    return p.scatter(1, order, p.gather(1, order).gather(1, following))


def crossed(p: torch.Tensor, q: torch.Tensor, rng: torch.Generator) -> torch.Tensor:
    """Return a child of each two permutations: in each place what either has there if possible, so what both have.

    Examples
    --------
    >>> p, q = torch.tensor([[0, 1, 2, 3]]), torch.tensor([[0, 2, 1, 3]])
    >>> crossed(p, q, torch.Generator().manual_seed(0))[0, [0, 3]]
    tensor([0, 3])
    """
    size, n = p.shape
    child = torch.where(random_keys(size, n, rng) < 0.5, p, q)
    # Of rows that want the same column, the first in a random order gets it.
    order = random_keys(size, n, rng).argsort(1)
    first = torch.full_like(p, n).scatter_reduce(1, child, order, "amin")
    kept = order == first.gather(1, child)
    # The others, which come first when sorted, take the columns that are left, which do so too, at random.
    taken = first < n
    rows = (kept + random_keys(size, n, rng) / 2).argsort(1)
    columns = (taken + random_keys(size, n, rng) / 2).argsort(1)
    needy = ~kept.gather(1, rows)
    return child.scatter(1, rows, torch.where(needy, columns, child.gather(1, rows)))
