"""The starts of a search: which there are, from where, and which of them go on to faces.

With a number of starts, every start is a task of its own, which depends on its number and the seed alone. With a time
limit alone, some tasks kick the best permutation known when they begin, and only the better starts go on to faces, so
there the clock has a say.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from time import perf_counter

import numpy as np

from trisplit.qap.local_search import Task

FRESH = 0.8  # the share of new starts among the tasks of a search without end
GOOD = 0.15  # the share of starts from which a search without end goes on to faces
RECENT = 1000  # starts that the others are compared with


@dataclass
class StartPlan:
    """What the starts are to be; `starts` is None for a search without end."""

    seed: np.random.SeedSequence
    starts: int | None
    max_iter: int
    tol: float
    faces: bool
    x0: np.ndarray | None
    deadline: float | None
    rounded: list[float] = field(default_factory=list)  # costs of the starts so far

    def tasks(self, best: Callable[[], np.ndarray | None], first: int = 0) -> Iterator[Task]:
        """Yield the tasks from a number on, each made when it is asked for."""
        number, endless = first, self.starts is None
        while self.starts is None or number < self.starts:
            seed, permutation = derived(self.seed, number), None
            if endless and self.faces and np.random.default_rng(seed).random() >= FRESH:
                permutation = best()
            x0 = self.x0 if number == 0 else None
            worth = self.worth() if endless else inf
            yield Task(number, seed, permutation, x0, self.max_iter, self.tol, self.faces, worth, self.seconds())
            number += 1

    def worth(self) -> float:
        """Return the cost up to which a rounded start is among the best so far."""
        return float(np.quantile(self.rounded[-RECENT:], GOOD)) if self.rounded else inf

    def seconds(self) -> float | None:
        """Return the time left."""
        return None if self.deadline is None else max(self.deadline - perf_counter(), 0.0)


def derived(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """Return the seed of a part of the search, without a change of the seed as a whole.

    Examples
    --------
    >>> import numpy as np
    >>> seed = np.random.SeedSequence(0)
    >>> derived(seed, 1).spawn_key, seed.n_children_spawned
    ((1,), 0)
    """
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key), pool_size=seed.pool_size)
