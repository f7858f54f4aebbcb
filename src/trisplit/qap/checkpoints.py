"""Checkpoints of a search: one file from which it goes on as if nothing had happened.

The file is that of `trisplit.run.checkpoint`. It holds the search as it was after the last start or round of islands,
and the best permutation of all, which may be newer. Costs are computed again when it is read.
"""

import os
import warnings
from collections.abc import Iterable
from copy import copy
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from trisplit.qap.bounds import LowerBound
from trisplit.qap.incumbent import Point, QAPTraceRow
from trisplit.qap.memetic import Population
from trisplit.run import checkpoint

if TYPE_CHECKING:
    from trisplit.qap.portfolio import Portfolio

INTERVAL, SHARE = 0.5, 0.05  # seconds between two files at least, and the share of the time that writing them may take
COUNTS = ("starts", "gpu_starts", "kicks", "restarts", "moves", "duplicates")
TURNS = ("rounds", "turns", "gains", "gained", "next_faces", "bounded")
Content = tuple[dict, dict[str, np.ndarray]]


class Keeper:
    """Writes a search to its file, and reads it back.

    Parameters
    ----------
    path : path of the file
    portfolio : Portfolio
        The search, before it has begun.
    problem : dict
        What else must agree between the file and the search that resumes from it.
    seed : int or None
        What the result is to tell.
    """

    def __init__(
        self, path: str | os.PathLike, portfolio: "Portfolio", problem: dict[str, object], seed: int | None
    ) -> None:
        plan, self.path, self.seed = portfolio.plan, checkpoint.checked_path(path), seed
        self.identity = {
            "kind": "qap.solve",
            "starts": plan.starts,
            "max_iter": plan.max_iter,
            "polish": portfolio.polish,
            "faces": plan.faces,
            "recipes": [recipe.name for recipe, _ in portfolio.roles],
            **{name: checkpoint.describe(value) for name, value in problem.items()},
        }
        self.random = [np.asarray(plan.seed.entropy, object).tolist(), list(plan.seed.spawn_key)]
        self.content: Content | None = None
        self.next = 0.0  # when the next file may be written
        self.lock = Lock()

    def resume(self, portfolio: "Portfolio", *, same_seed: bool) -> None:
        """Put the search to where the file says, if there is one; refuse the file of another search."""
        if not self.path.exists():
            return
        info, arrays = checkpoint.read(self.path)
        now = {**self.identity, "rng": self.random} if same_seed else self.identity
        checkpoint.require_same(self.path, {**info["identity"], "rng": info.get("random")}, now)
        self.random, self.seed = info["random"], info["seed"]
        portfolio.plan.seed = np.random.SeedSequence(self.random[0], spawn_key=tuple(self.random[1]))
        restore(portfolio, info, arrays)

    def keep(self, portfolio: "Portfolio", *, now: bool = False) -> None:
        """Write the search as it is between two tasks, if the last time was some time ago."""
        if now or self.content is None or perf_counter() >= self.next:
            with self.lock:
                self.content = described(portfolio)
            self.write(portfolio, now=now)

    def write(self, portfolio: "Portfolio", *, now: bool = False) -> None:
        """Write the search as it was last, with the best permutation known by now; from any thread."""
        with self.lock:
            begin = perf_counter()
            if self.content is None or (not now and begin < self.next):
                return
            info, arrays = self.content
            best = portfolio.incumbent.best_by_now()
            if best is not None:
                arrays = {**arrays, "newest": best.permutation}
            always = {"identity": self.identity, "random": self.random, "seed": self.seed}
            try:
                checkpoint.write(self.path, {**info, **always, "elapsed": portfolio.incumbent.seconds()}, arrays)
            except OSError as error:  # the file before is still whole
                text = f"checkpoint {self.path} was not written ({error}); the run goes on, free some space"
                warnings.warn(text, RuntimeWarning, stacklevel=2)
            end = perf_counter()
            self.next = end + max(INTERVAL, (end - begin) / SHARE)


def described(portfolio: "Portfolio") -> Content:
    """Return a search between two tasks as numbers that JSON knows, and arrays."""
    incumbent, bound = portfolio.incumbent, portfolio.incumbent.bound
    arrays: dict[str, np.ndarray] = {"seen": np.array(sorted(incumbent.seen), np.uint64)}
    info: dict = {
        "counts": {name: getattr(incumbent, name) for name in COUNTS},
        "turns": {name: copy(getattr(portfolio, name)) for name in TURNS},
        "trace": [list(row) for row in incumbent.rows],
        "rounded": list(portfolio.plan.rounded),
        "bound": None if bound is None else [bound.value, bound.method, bound.certificate, bound.seconds],
        "point": None,
        "islands": [],
    }
    if incumbent.best is not None:
        arrays["best"] = incumbent.best.permutation
    if incumbent.point is not None:
        info["point"] = [incumbent.point.cost, incumbent.point.iterations]
        arrays["point"] = incumbent.point.z
    arrays["pool"] = stacked(member.permutation for member in incumbent.pool)
    for i, population in enumerate(portfolio.islands):
        info["islands"].append(population[2:])
        arrays[f"members.{i}"] = stacked(member.permutation for member in population.members)
        arrays[f"waiting.{i}"] = stacked(population.waiting)
        arrays[f"immigrants.{i}"] = stacked(portfolio.immigrants[i])
    return info, arrays


def restore(portfolio: "Portfolio", info: dict, arrays: dict[str, np.ndarray]) -> None:
    """Put a search back to where it was."""
    incumbent = portfolio.incumbent
    for name in COUNTS:
        setattr(incumbent, name, info["counts"][name])
    for name in TURNS:
        setattr(portfolio, name, info["turns"][name])
    incumbent.rows = [QAPTraceRow(*row) for row in info["trace"]]
    incumbent.seen = set(arrays["seen"].tolist())
    incumbent.earlier = info["elapsed"]
    portfolio.plan.rounded = info["rounded"]
    if info["bound"] is not None:
        incumbent.bound = LowerBound(*info["bound"])
    if info["point"] is not None:
        cost, iterations = info["point"]
        incumbent.point = Point(cost, arrays["point"], iterations)
    incumbent.pool = [incumbent.rated(p) for p in arrays["pool"]]
    for i, rest in enumerate(info["islands"]):
        members = tuple(incumbent.rated(p) for p in arrays[f"members.{i}"])
        waiting = tuple(arrays[f"waiting.{i}"])
        portfolio.islands.append(Population(members, waiting, *rest))
        portfolio.immigrants.append(list(arrays[f"immigrants.{i}"]))
    if "best" in arrays:
        incumbent.offer(arrays["best"])
    if "newest" in arrays:  # from a task that will be done again: until then, it counts if the search ends
        incumbent.glimpsed = incumbent.restored = incumbent.rated(arrays["newest"])
        if portfolio.plan.starts is None:
            incumbent.best = incumbent.best_by_now()


def stacked(permutations: Iterable[np.ndarray]) -> np.ndarray:
    """Return permutations as rows of an array, which may have none."""
    rows = list(permutations)
    return np.array(rows, np.int64) if rows else np.zeros((0, 0), np.int64)
