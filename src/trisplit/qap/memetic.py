"""Memetic search: a small population of permutations, crossed and improved by tabu search.

A child keeps what its two parents have in common, takes the rest from either of them where that is possible, and is
improved by `TabuSearch`. It replaces the worst of the population if it is better and its cost is new. After some
generations without gain all but the best are shuffled in part and improved again, and random permutations take the
places that are left. A population that comes back to its best cost again and again dies out, and a new one begins with
random permutations. Three recipes that are good at different instances come along: `KICKS`, `LONG_WALKS` and
`DEEP_WALKS`.

A search depends on its seed and on the immigrants alone: how its moves are divided into steps makes no difference. In
between two generations it is no more than a `Population`, which may be saved, or sent elsewhere to go on there.

Reference: U. Benlic, J.-K. Hao, Memetic search for the quadratic assignment problem, Expert Systems with Applications
42 (2015) 584-595.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np

from trisplit.qap.instance import Instance, as_permutation
from trisplit.qap.swap_form import SwapForm, swap_form
from trisplit.qap.tabu import Rules, TabuSearch

CHUNK_SECONDS = 0.01  # between two questions whether to stop
STAGNANT = 20  # generations without a new member of the population that is better than all
SHUFFLED = 0.5  # of the rows, in a mutation
EXTINCT = 10  # returns to the best cost


@dataclass(frozen=True)
class Recipe:
    """What it is called, the size of the population, and how children are improved."""

    name: str
    population: int
    rules: Rules


KICKS = Recipe("kicks", 10, Rules(rounds=61, patience=2.0))
LONG_WALKS = Recipe("long walks", 15, Rules(length=5000, tenure=(0.2, 0.6)))
DEEP_WALKS = Recipe("deep walks", 5, Rules(rounds=10, patience=20.0, tenure=(0.2, 0.6)))


class Member(NamedTuple):
    """A permutation of the instance and its exact cost."""

    cost: int | float
    permutation: np.ndarray


class Population(NamedTuple):
    """All that a memetic search is between two generations: what it knows, what waits, its counts, its random numbers.

    Examples
    --------
    >>> import numpy as np
    >>> Population.first(np.random.default_rng(0)).generations
    0
    """

    members: tuple[Member, ...]  # best first
    waiting: tuple[np.ndarray, ...]
    stagnant: int
    generations: int
    age: int  # generations since random permutations
    returns: int  # generations that ended at the best cost, since that was first found
    mutations: int  # since random permutations
    deaths: int
    random: dict  # the state of the bit generator

    @property
    def young(self) -> bool:
        """Whether it has begun anew and is to find a way of its own."""
        return self.deaths > 0 and self.mutations == 0

    @classmethod
    def first(cls, rng: np.random.Generator) -> "Population":
        """Return the empty population of a search with the random numbers of a generator."""
        return cls((), (), 0, 0, 0, 0, 0, 0, dict(rng.bit_generator.state))


class MemeticSearch:
    """A memetic search, for one thread at a time.

    Parameters
    ----------
    instance : Instance
    recipe : Recipe
    rng : Generator
        Used by this search alone.
    form : SwapForm, optional
        That of the instance, if several searches share it.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit import qap
    >>> nug12 = qap.load("nug12")
    >>> search = MemeticSearch(nug12, KICKS, np.random.default_rng(0))
    >>> search.step(20_000)
    20000
    >>> search.best.cost
    578
    """

    def __init__(
        self, instance: Instance, recipe: Recipe, rng: np.random.Generator, form: SwapForm | None = None
    ) -> None:
        self.instance, self.recipe, self.rng = instance, recipe, rng
        self.search = TabuSearch(form or swap_form(instance), recipe.rules)
        self.members: list[Member] = []  # best first
        self.waiting: list[np.ndarray] = []  # starts to be improved before children are
        self.started: Member | None = None  # what the walk under way began with
        self.stagnant = self.generations = self.age = self.returns = self.mutations = self.deaths = 0
        self.record: Member | None = None  # of populations that died out
        self.chunk = 1

    @property
    def best(self) -> Member:
        """The best permutation so far, that of an unfinished walk included."""
        candidates = [*self.members[:1], *([] if self.record is None else [self.record])]
        if self.started is not None:
            candidates.extend((self.started, self._rated(self.search.permutation)))
        if not candidates:
            self._begin()
            return self.best
        return min(candidates, key=lambda member: member.cost)

    def reached(self, cost: float) -> bool:
        """Whether a permutation with this cost or a lower one is known; in float64 up to rounding."""
        if any(member.cost <= cost for member in (*self.members[:1], *([self.record] if self.record else []))):
            return True
        return self.started is not None and self.started.cost - self.search.gain <= cost

    @property
    def population(self) -> Population:
        """What there is between two generations."""
        random = dict(self.rng.bit_generator.state)
        counts = self.stagnant, self.generations, self.age, self.returns, self.mutations, self.deaths
        return Population(tuple(self.members), tuple(self.waiting), *counts, random)

    @population.setter
    def population(self, population: Population) -> None:
        self.members, self.waiting = list(population.members), list(population.waiting)
        self.stagnant, self.generations, self.age, self.returns, self.mutations, self.deaths = population[2:8]
        self.rng.bit_generator.state = population.random

    def elites(self, count: int | None = None) -> list[Member]:
        """Return the best members of the population, the best one first."""
        return [Member(cost, permutation.copy()) for cost, permutation in self.members[:count]]

    def immigrate(self, permutation: np.ndarray, *, improve: bool = False) -> None:
        """Let a permutation from elsewhere in, as it is or, once what is under way is done, improved."""
        p = as_permutation(permutation, self.instance.n)
        if improve:
            self.waiting.insert(0, p)
        else:
            self._admit(self._rated(p))

    def step(self, moves: int, stopped: Callable[[], bool] | None = None) -> int:
        """Make that many moves of tabu search, fewer if `stopped` says so in between; return how many."""
        done = 0
        while done < moves and not (stopped is not None and stopped()):
            done += self._advance(min(self.chunk, moves - done))
        return done

    def generation(self, stopped: Callable[[], bool] | None = None) -> int:
        """Finish the walk under way, or the next one, unless `stopped` says so in between; return how many moves."""
        done, generations = 0, self.generations
        while self.generations == generations and not (stopped is not None and stopped()):
            done += self._advance(self.chunk)
        return done

    def _advance(self, wanted: int) -> int:
        """Make so many moves, fewer if the walk is over before; return how many."""
        if self.started is None:
            self._begin()
        begin = perf_counter()
        done = self.search.advance(wanted, self.rng)
        seconds = perf_counter() - begin
        if seconds > CHUNK_SECONDS:
            self.chunk = max(self.chunk // 2, 1)
        elif wanted == self.chunk and seconds < CHUNK_SECONDS / 4:
            self.chunk *= 2
        if self.search.over:
            self._finish()
        return done

    def _begin(self) -> None:
        """Start the next walk: from what waits, from a random permutation, or from a child."""
        if self.waiting:
            p = self.waiting.pop(0)
        elif self.age < self.recipe.population:
            p = self.rng.permutation(self.instance.n)
        elif len(self.members) == 1:
            p = shuffled(self.members[0].permutation, self.rng)
        else:
            one, other = self.rng.choice(len(self.members), 2, replace=False)
            p = crossed(self.members[one].permutation, self.members[other].permutation, self.rng)
        self.started = self._rated(p)
        self.search.start(p)

    def _finish(self) -> None:
        """Take what the walk has found into the population, which is mutated if it has stagnated."""
        found, best = self._rated(self.search.permutation), self.members[0].cost if self.members else None
        self._admit(found)
        self.started = None
        self.generations += 1
        self.age += 1
        gained = best is None or found.cost < best
        self.stagnant = 0 if gained else self.stagnant + 1
        self.returns = 0 if gained else self.returns + (found.cost == best)
        if self.returns >= EXTINCT:
            self._die_out()
        elif self.stagnant >= max(STAGNANT, 2 * self.recipe.population) and not self.waiting:
            self._mutate()

    def _die_out(self) -> None:
        """Begin anew with random permutations."""
        self.record = self.best
        self.members, self.waiting = [], []
        self.stagnant = self.age = self.returns = self.mutations = 0
        self.deaths += 1

    def _mutate(self) -> None:
        """Shuffle all but the best."""
        self.stagnant = 0
        self.mutations += 1
        missing = self.recipe.population - len(self.members)
        self.waiting = [shuffled(member.permutation, self.rng) for member in self.members[1:]]
        self.waiting.extend(self.rng.permutation(self.instance.n) for _ in range(missing))
        del self.members[1:]

    def _admit(self, member: Member) -> None:
        """Add a member unless its cost is known or too high."""
        if any(member.cost == known.cost for known in self.members):
            return
        self.members.append(member)
        self.members.sort(key=lambda known: known.cost)
        del self.members[self.recipe.population :]

    def _rated(self, permutation: np.ndarray) -> Member:
        return Member(self.instance.cost(permutation), permutation)


def crossed(p: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a child of two permutations: in each place what either has there if possible, so what both have.

    Examples
    --------
    >>> import numpy as np
    >>> child = crossed(np.array([0, 1, 2, 3]), np.array([0, 2, 1, 3]), np.random.default_rng(0))
    >>> child[[0, 3]]
    array([0, 3])
    """
    n = len(p)
    child = np.where(rng.random(n) < 0.5, p, q)
    order = rng.permutation(n)
    # Of rows that want the same column, the first in a random order gets it.
    _, first = np.unique(child[order], return_index=True)
    without = np.ones(n, dtype=bool)
    without[order[first]] = False
    child[without] = rng.permutation(np.setdiff1d(np.arange(n), child[~without]))
    return child


def shuffled(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return p with half of its rows in another order."""
    rows = rng.permutation(len(p))[: int(np.ceil(SHUFFLED * len(p)))]
    changed = p.copy()
    changed[rows] = p[rng.permutation(rows)]
    return changed
