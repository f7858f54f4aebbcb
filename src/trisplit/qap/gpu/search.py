"""A GPU as a member of the search: thousands of starts, then tabu searches that begin where they ended.

See `worker.py` for its part in the search.
"""

from collections.abc import Callable, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trisplit.kernels.gpu import usable
from trisplit.qap.gpu.device import NoGPU, current, gpu, short_of_memory, wait
from trisplit.qap.instance import Instance

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]

    from trisplit.qap.gpu.starts import Rounded, Starts

KEPT = 1024  # permutations of starts that a population may begin with
TOLD = 30  # of those that are told
ELITES = 3  # that are told after each round
LARGEST = 1000  # rows: a population's tables would be too large beyond
WORK, LENGTH = 100_000_000, 5  # of a round: moves times n^2 at most, and moves for each row
TELLING = 5000  # moves of each member from one telling to the next
GRACE = 0.1  # seconds
STARTS, TABU = "gpu starts", "gpu tabu"  # what its members are called


class News(NamedTuple):
    """What a member on the GPU has found, and how much it did for it since the last news."""

    member: str
    permutations: tuple[np.ndarray, ...]
    z: np.ndarray | None = None
    iterations: int = 0
    starts: int = 0
    moves: int = 0
    failure: str | None = None


class GpuSearch:
    """One GPU.

    Parameters
    ----------
    instance : Instance
    device : str
        "cuda", "cuda:K" or "auto".
    seed : int
    iterations : int
        Of each start.
    polish : bool
        Whether tabu searches improve what the starts have found.
    over : callable
        Asked in between whether to stop.
    """

    def __init__(
        self, instance: Instance, device: str, seed: int, iterations: int, *, polish: bool, over: Callable[[], bool]
    ) -> None:
        self.instance, self.device, self.iterations, self.polish = instance, device, iterations, polish
        self.seeds = np.random.default_rng(seed)
        self.stopped = Event()
        self.over = lambda: self.stopped.is_set() or over()
        self.told: SimpleQueue[News] = SimpleQueue()
        self.heard: SimpleQueue[np.ndarray] = SimpleQueue()
        self.thread: Thread | None = None
        self.name = "cpu"  # that of the GPU, once it is known to be there

    def begin(self) -> None:
        """Start to search, in a thread."""
        self.thread = Thread(target=self._run, name="trisplit-gpu")
        self.thread.start()

    def news(self) -> list[News]:
        """Return what was found since the last call."""
        return list(_drained(self.told))

    def tell(self, permutation: np.ndarray) -> None:
        """Let the tabu searches know of a permutation."""
        if self.thread is None or self.busy:
            self.heard.put(permutation)

    @property
    def busy(self) -> bool:
        """Whether the thread is searching."""
        return self.thread is not None and self.thread.is_alive()

    def end(self) -> None:
        """Stop; what is under way, which may be the compiling of a kernel, is not waited for to its end."""
        self.stopped.set()
        if self.thread is not None:
            self.thread.join(GRACE)

    def failed(self, error: Exception) -> News:
        """Return the news that the GPU is missing, out of memory or lost, and what to do."""
        first = str(error).strip().split("\n")[0]
        said = f"no GPU takes part in the search: {first}"
        if short_of_memory(error):
            remedy = "see with `nvidia-smi` which programs hold it"
            said = f"memory of the GPU has run out, and the search goes on without it; {remedy} ({first})"
        elif not isinstance(error, NoGPU):
            said = f"the GPU has failed, and the search goes on without it: {type(error).__name__}: {first}"
        return News(TABU, (), failure=said)

    def _run(self) -> None:
        try:
            for news in self.run():
                self.told.put(news)
        except Exception as error:  # whatever it is, the processor goes on
            self.told.put(self.failed(error))

    def run(self, starts: int | None = None) -> Iterator[News]:
        """Yield news until it is over: of the starts, then of every round of tabu search, or of more starts without it.

        With a number of starts, these are done first, all of them, and no more.
        """
        device = gpu(self.device)
        self.name = _name(device)
        news = self._steps(device, starts)
        while True:
            with current(device):
                one = next(news, None)
            if one is None:
                return
            yield one

    def _steps(self, device: "torch.device", starts: int | None) -> Iterator[News]:
        from trisplit.qap.gpu.starts import Starts

        relaxed = Starts(self.instance, device)
        tabu = self.polish and tabu_pays(self.instance, device)
        while True:
            found = self._relax(relaxed, starts)
            yield News(STARTS, tuple(found.permutations[:TOLD]), found.z, found.iterations, found.starts)
            if self.over() or tabu or starts is not None:
                break
        del relaxed
        if tabu and not self.over():
            yield from self._improve(device, found.permutations)

    def _relax(self, relaxed: "Starts", starts: int | None) -> "Rounded":
        """Do starts; if memory is short, with half as many at once."""
        seed = int(self.seeds.integers(2**63))
        run = partial(relaxed.run, starts, self.iterations, seed=seed, keep=KEPT, over=self.over)
        return relaxed.with_room(run)

    def _improve(self, device: "torch.device", permutations: np.ndarray) -> Iterator[News]:
        """Let tabu searches go on from permutations."""
        from trisplit.qap.gpu.tabu_population import TabuPopulation

        n, best = self.instance.n, None
        population = TabuPopulation(self.instance, device, int(self.seeds.integers(2**63)))
        population.settle(list(permutations))
        moves = max(min(LENGTH * n, WORK // n**2), 1)
        while not self.over():
            done = 0
            while done < TELLING and not self.over():
                population.round(moves)
                wait(device)
                done += moves
            arrived = list(_drained(self.heard))
            if arrived:
                population.immigrate(arrived[::-1])  # the last one is the best
            elites = population.elites(ELITES)
            better = best is None or elites[0].cost < best
            best = elites[0].cost if better else best
            told = tuple(member.permutation for member in elites) if better else ()
            yield News(TABU, told, moves=done * population.size)


def tabu_pays(instance: Instance, device: "torch.device") -> bool:
    """Say whether a population of tabu searches pays: its plain twin would be too slow on a GPU without Triton."""
    return instance.n <= LARGEST and (device.type != "cuda" or usable(device))


def present(device: str) -> bool:
    """Say whether there is such a GPU; why not is told when it is to have its turn."""
    try:
        gpu(device)
    except Exception:
        return False
    return True


def _drained(queue: SimpleQueue) -> Iterator[Any]:
    """Yield what is in a queue."""
    while True:
        try:
            yield queue.get_nowait()
        except Empty:
            return


def _name(device: "torch.device") -> str:
    import torch  # pyright: ignore[reportMissingImports]

    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
