"""The methods that [YMS21] section 5 compares, looked at after chosen numbers of iterations.

    minimise f(X) = trace(A X B' X')   over X >= 0 with unit row and column sums

Three operator splitting takes gamma = 1 / L_f, L_f = 2 ||A|| ||B||, and f itself, not its tangent form; Frank-Wolfe
takes an exact line search. Today's splitting, with its adaptive step on the tangent form, stands next to them.
"""

from collections.abc import Callable, Iterator
from math import sqrt
from time import perf_counter
from typing import NamedTuple

import numpy as np

from trisplit.problems.problem import Problem
from trisplit.qap import Instance, Objective, initial_point
from trisplit.qap.engine import CHUNK_SECONDS, SPLITS, BirkhoffLoop
from trisplit.splitting.frank_wolfe import frank_wolfe
from trisplit.steps import Adaptive, Constant
from trisplit.terms.joint import assignment

STARTS = {
    "near": "Gaussian entries divided by n, projected: near the barycentre",
    "text": "standard Gaussian entries, projected: the initial point of the paper's text",
}


class Look(NamedTuple):
    """Where a method is after some iterations, and the seconds that these took; looking is not counted.

    The next look may overwrite `X`.
    """

    iteration: int
    seconds: float
    X: np.ndarray


Method = Callable[[Instance, np.ndarray, Iterator[int], float], Iterator[Look]]


def doubling(last: int) -> Iterator[int]:
    """Count 1, 2, 4, 8, ..., where the paper evaluates its errors, and `last`.

    >>> list(doubling(10))
    [1, 2, 4, 8, 10]
    """
    t = 1
    while t < last:
        yield t
        t *= 2
    yield last


def start_point(n: int, start: str, seed: int) -> np.ndarray:
    """Return the initial point that all methods share; see `STARTS`."""
    return initial_point(n, np.random.default_rng(seed), None if start == "near" else 1.0)


def objective(instance: Instance) -> Objective:
    return Objective(instance.A.astype(float), instance.B.astype(float))


def splitting(split: int, order: str = "gh", *, adaptive: bool = False) -> Method:
    """Return three operator splitting: the paper's, or today's, which adapts its step."""

    def method(instance: Instance, x0: np.ndarray, looks: Iterator[int], time_limit: float) -> Iterator[Look]:
        f = objective(instance)
        engine = (
            BirkhoffLoop(f.tangent(), split, Adaptive()) if adaptive else BirkhoffLoop(f, split, constant(f), order)
        )
        engine.start(x0)
        seconds, chunk = 0.0, 1
        for t in looks:
            while engine.t < t and seconds < time_limit:
                begin, iterations = perf_counter(), min(chunk, t - engine.t)
                engine.advance(iterations)
                took = perf_counter() - begin
                seconds += took
                if iterations == chunk and took < CHUNK_SECONDS / 2:
                    chunk *= 2
            yield Look(engine.t, seconds, engine.z)
            if engine.t < t:
                return

    return method


def constant(f: Objective) -> Constant:
    """Return the step 1 / L_f; any will do where f is constant (esc16f)."""
    return Constant(1.0 / f.lipschitz if f.lipschitz > 0.0 else 1.0)


def fw(instance: Instance, x0: np.ndarray, looks: Iterator[int], time_limit: float) -> Iterator[Look]:
    """Iterate Frank-Wolfe."""
    iterates = frank_wolfe(Problem(objective(instance), SPLITS[2]), x0)
    seconds, t, z = 0.0, 0, x0
    for wanted in looks:
        begin = perf_counter()
        while t < wanted and seconds + perf_counter() - begin < time_limit:
            z = next(iterates).z
            t += 1
        seconds += perf_counter() - begin
        yield Look(t, seconds, z)
        if t < wanted:
            return


METHODS: dict[str, Method] = {
    "tos1": splitting(1),
    "tos": splitting(2),
    "tos-hg": splitting(2, "hg"),
    "fw": fw,
    "today": splitting(1, adaptive=True),
}
NAMES = {
    "tos1": "TOS split 1",
    "tos": "TOS split 2",
    "tos-hg": "TOS split 2, sets exchanged",
    "fw": "FW",
    "today": "TOS today",
}
# The second set of a method, to which the distance of its iterates is measured; those of Frank-Wolfe are feasible.
SECOND_SET = {"tos1": SPLITS[1][1], "tos": SPLITS[2][1], "tos-hg": SPLITS[2][0], "fw": None, "today": SPLITS[1][1]}


def errors(f: Objective, X: np.ndarray, method: str) -> tuple[float, float]:
    """Return the infeasibility and the nonstationarity error of [YMS21] section 5, each relative."""
    f_X, u = f.value_and_grad(X)
    gap = float(np.vdot(u, X - assignment(u)))
    h = SECOND_SET[method]
    outside = 0.0 if h is None else float(h.distance(X))
    return outside / sqrt(X.shape[0]), abs(gap) / max(f_X, 1.0)
