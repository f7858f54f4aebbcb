"""One round of one island: some generations of a memetic search, which may be run anywhere.

A round depends on the instance and its task alone (and on the clock, if it is given seconds).
"""

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import NamedTuple

import numpy as np

from trisplit.qap.instance import Instance
from trisplit.qap.local_search import Found, Outcome
from trisplit.qap.matrices import Matrix, as_dense
from trisplit.qap.memetic import DEEP_WALKS, KICKS, LONG_WALKS, MemeticSearch, Population, Recipe

RECIPES = (KICKS, DEEP_WALKS, LONG_WALKS)
PLAIN = (0.5, 0.7)  # coefficients of variation of entries like uniform random numbers, which have 0.58
WORK, MIN_MOVES, ROW_MOVES = 3e8, 1000, 2000  # of a round: about a tenth of a second, less for few rows


class Walk(NamedTuple):
    """What one round is to do."""

    number: int
    island: int
    recipe: Recipe
    population: Population
    immigrants: tuple[np.ndarray, ...]
    moves: int  # the generation that makes the last of them is the last
    goal: float  # the cost at which to stop
    seconds: float | None


class Walked(NamedTuple):
    """What a round has found, and how it goes on."""

    permutation: np.ndarray
    population: Population
    moves: int


def round_moves(n: int) -> int:
    """Return the moves of a round."""
    return int(min(max(WORK / n**2, MIN_MOVES), ROW_MOVES * n))


def roles(instance: Instance) -> tuple[tuple[Recipe, float], ...]:
    """Return the recipes that islands take one after the other, and their shares of the turns while none gains more.

    Where the entries of A and of B vary like uniform random numbers, deep walks have two islands, so that two cores may
    follow them. Elsewhere the time is better spent on different recipes, unless there is a minute of it.

    Examples
    --------
    >>> from trisplit import qap
    >>> [(recipe.name, share) for recipe, share in roles(qap.load("tai30a"))]
    [('deep walks', 6.0), ('deep walks', 6.0), ('kicks', 1.0), ('long walks', 1.0)]
    >>> [(recipe.name, share) for recipe, share in roles(qap.load("nug30"))]
    [('kicks', 2.0), ('deep walks', 1.0), ('long walks', 1.0)]
    """
    if all(PLAIN[0] < variation(M) < PLAIN[1] for M in (instance.A, instance.B)):
        return ((DEEP_WALKS, 6.0), (DEEP_WALKS, 6.0), (KICKS, 1.0), (LONG_WALKS, 1.0))
    return ((KICKS, 2.0), (DEEP_WALKS, 1.0), (LONG_WALKS, 1.0))


def variation(M: Matrix) -> float:
    """Return the coefficient of variation of the entries off the diagonal."""
    entries = as_dense(M)[~np.eye(M.shape[0], dtype=bool)].astype(float)
    mean = abs(float(entries.mean())) if entries.size else 0.0
    return float(entries.std()) / mean if mean > 0.0 else inf


def run_walk(
    instance: Instance, walk: Walk, found: Found | None = None, stopped: Callable[[], bool] | None = None
) -> Walked:
    """Do what the task says; `found` is told of each better permutation, `stopped` asked whether to end now."""
    deadline = None if walk.seconds is None else perf_counter() + walk.seconds
    search = MemeticSearch(instance, walk.recipe, np.random.default_rng())
    search.population = walk.population
    for permutation in walk.immigrants:
        search.immigrate(permutation)

    def over() -> bool:
        if stopped is not None and stopped():
            return True
        if deadline is None:  # then the answer must not depend on how fast this machine is
            return False
        return perf_counter() >= deadline or search.reached(walk.goal)

    moves, best = 0, None
    while moves < walk.moves:
        moves += search.generation(over)
        if best is None or search.best.cost < best.cost:
            best = search.best
            if found is not None:
                found(Outcome(best.permutation, None, 0, 0))
        if best.cost <= walk.goal or over():
            break
    assert best is not None
    return Walked(best.permutation, search.population, moves)
