"""One start: from the reduced problem to a match, by the method that was asked for.

The default, "tos", tries what is cheap first and ends with the first match that is settled (`rounding.Refined`):

1. what seeds and similarities say of each pair, refined;
2. the splitting from a spectral start;
3. Frank-Wolfe from the barycentre, and a short tabu search by swaps of pairs from the best match so far.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trisplit.matching.faq import Transport, frank_wolfe
from trisplit.matching.objective import MatchObjective
from trisplit.matching.relaxed import ITERATIONS, Attempt, splitting
from trisplit.matching.rounding import Refined, best_assignment, refine
from trisplit.matching.starts import perturbed, starting_point
from trisplit.matching.swaps import kicked, swap_pairs
from trisplit.qap.instance import Instance
from trisplit.qap.matrices import as_dense
from trisplit.qap.rounding import swap_descent
from trisplit.qap.swap_form import swap_form
from trisplit.qap.tabu import TabuSearch
from trisplit.result import Certificate

METHODS = ("tos", "concave", "faq", "transport")
FAQ_ITERATIONS = 30
SWAPPED, SWAPPED_IN_LAYERS = 1000, 300  # vertices up to which pairs are swapped at the end
MOVES, WORK = 10_000, 5 * 10**7  # of the tabu search: at most, and times n^2


class Settings(NamedTuple):
    """What every start is told."""

    method: str = "tos"
    init: "np.ndarray | str | None" = None
    max_iter: int | None = None
    tol: float = 0.01
    polish: bool = True
    transport: Transport = Transport()


class Found(NamedTuple):
    """The match of one start in the reduced problem."""

    p: np.ndarray
    score: float
    iterations: int
    converged: bool
    X: np.ndarray | None
    certificate: Certificate | None
    how: str


def run_start(
    f: MatchObjective, settings: Settings, perturbation: float, rng: np.random.Generator, report: Callable[[str], None]
) -> Found:
    """Look for a match from one start."""
    if f.n == 0:
        return Found(np.empty(0, dtype=np.int64), 0.0, 0, True, None, None, "nothing to match")
    if settings.method == "tos" and settings.init is None and perturbation == 0.0:
        return _in_turn(f, settings, rng, report)
    default = "barycenter" if settings.method in ("faq", "transport") else "spectral"
    X = perturbed(starting_point(f, default if settings.init is None else settings.init), perturbation, rng)
    attempt = _method(f, X, settings)
    report(f"{settings.method}: score {attempt.best.score:g} after {attempt.iterations} iterations")
    return _found(f, attempt.best, attempt, settings, rng, settings.method)


def _in_turn(f: MatchObjective, settings: Settings, rng: np.random.Generator, report: Callable[[str], None]) -> Found:
    best: Refined | None = None
    if f.C is not None:
        best = refine(f, best_assignment(f.gradient_at_barycentre()))
        report(f"by seeds and similarity: score {best.score:g} after {best.rounds} rounds")
        if best.settled:
            p, score = _polished(f, best, settings, rng)
            return Found(p, score, best.rounds, True, None, None, "seeds and similarity")
    attempt = _method(f, starting_point(f, "spectral"), settings)
    report(f"splitting: score {attempt.best.score:g} after {attempt.iterations} iterations")
    best = _better(best, attempt.best)
    if attempt.best.settled:
        return _found(f, best, attempt, settings, rng, "splitting")
    flat = starting_point(f, "barycenter")
    other = frank_wolfe(f, flat, max_iter=settings.max_iter or FAQ_ITERATIONS, tol=settings.tol)
    report(f"Frank-Wolfe: score {other.best.score:g} after {other.iterations} iterations")
    how = "Frank-Wolfe" if other.best.score > best.score else "splitting"
    return _found(f, _better(best, other.best), attempt, settings, rng, how)


def _method(f: MatchObjective, X: np.ndarray, settings: Settings) -> Attempt:
    if settings.method in ("faq", "transport"):
        steps = settings.transport if settings.method == "transport" else None
        return frank_wolfe(f, X, max_iter=settings.max_iter or FAQ_ITERATIONS, tol=settings.tol, transport=steps)
    concave = settings.method == "concave"
    return splitting(f, X, max_iter=settings.max_iter or ITERATIONS, tol=settings.tol, concave=concave)


def _better(one: Refined | None, other: Refined) -> Refined:
    return other if one is None or other.score > one.score else one


def _found(
    f: MatchObjective, best: Refined, attempt: Attempt, settings: Settings, rng: np.random.Generator, how: str
) -> Found:
    p, score = _polished(f, best, settings, rng)
    return Found(p, score, attempt.iterations, attempt.converged, attempt.X, attempt.certificate, how)


def _polished(
    f: MatchObjective, best: Refined, settings: Settings, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Swap pairs where vertices are unsure: until none helps, and on by tabu search if the match is not settled."""
    one_layer = len(f.layers) == 1 and not f.crossed
    most = SWAPPED if one_layer else SWAPPED_IN_LAYERS
    if not settings.polish or best.sure == 1.0 or not 1 < f.n <= most:
        return best.p, best.score
    if not one_layer:
        found = swap_pairs(f, best.p)
        return found if best.settled else kicked(f, *found, rng)
    instance = _instance(f)
    if best.settled:
        p = swap_descent(instance, best.p)
    else:
        search = TabuSearch(swap_form(instance))
        search.start(best.p)
        search.advance(min(MOVES, WORK // f.n**2), rng)
        p = search.permutation
    return p, f.value_at(p)


def _instance(f: MatchObjective) -> Instance:
    """Return the problem as one of least cost, in integers where it is one of integers."""
    ((A, B),) = f.layers
    matrices = [-as_dense(A).astype(float), as_dense(B).astype(float)]
    matrices += [] if f.C is None else [-f.C.astype(float)]
    if all((np.rint(M) == M).all() and np.abs(M).max(initial=0.0) < 2**24 for M in matrices):
        matrices = [M.astype(np.int64) for M in matrices]
    return Instance("match", matrices[0], matrices[1], C=matrices[2] if len(matrices) == 3 else None)
