"""Where an iteration spends its time, on which [YMS21] section 5 has a claim: gradients in TOS, assignments in FW.

The parts are timed apart from the iterations, on iterates that these visit; the least of some rounds counts.
"""

from collections.abc import Callable
from itertools import islice
from time import perf_counter
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from trisplit import qap
from trisplit.paper.methods import constant, objective, start_point
from trisplit.problems.problem import Problem
from trisplit.qap.engine import SPLITS, BirkhoffLoop
from trisplit.splitting.frank_wolfe import frank_wolfe
from trisplit.terms.joint import assignment

INSTANCES = ("esc128", "sko100a", "tai100a")  # large enough that calls of functions cost nothing beside them
QUICK = ("esc128",)
ITERATIONS, ROUNDS, SEED = 50, 5, 0


class Share(NamedTuple):
    """Microseconds of an iteration, and of its products of matrices and its assignment problems (none in TOS)."""

    instance: str
    method: str
    iteration: float
    products: float
    assignment: float


def run(quick: bool) -> list[Share]:
    """Return the shares of both splittings and of Frank-Wolfe."""
    instances = QUICK if quick else INSTANCES
    with threadpool_limits(1):
        return [share for name in instances for share in (_splitting(name, 1), _splitting(name, 2), _frank_wolfe(name))]


def _splitting(name: str, split: int) -> Share:
    instance = qap.load(name)
    f = objective(instance)
    engine = BirkhoffLoop(f, split, constant(f))
    engine.start(start_point(instance.n, "text", SEED))
    engine.advance(ITERATIONS)
    A, B, symmetric = f.symmetric_parts
    X, first, second = engine.z.copy(), np.empty(A.shape), np.empty(A.shape)

    def products() -> None:
        for _ in range(ITERATIONS * (1 if symmetric else 2)):
            np.dot(A, X, first)
            np.dot(first, B, second)

    whole = least(lambda: engine.advance(ITERATIONS))
    return Share(name, "tos1" if split == 1 else "tos", whole, least(products), 0.0)


def _frank_wolfe(name: str) -> Share:
    instance = qap.load(name)
    f = objective(instance)
    x0 = start_point(instance.n, "text", SEED)
    problem = Problem(f, SPLITS[2])
    iterates = list(islice(frank_wolfe(problem, x0), ITERATIONS))

    def products() -> None:  # a gradient, and the value at the vertex for the line search
        for made in iterates:
            f.value_and_grad(made.z)
            f.value(made.x)

    def assignments() -> None:
        for made in iterates:
            assignment(made.u)

    whole = least(lambda: list(islice(frank_wolfe(problem, x0), ITERATIONS)))
    return Share(name, "fw", whole, least(products), least(assignments))


def least(call: Callable[[], object]) -> float:
    """Return the microseconds of one of the iterations that a call does, in the fastest of some rounds."""
    times = []
    for _ in range(ROUNDS):
        begin = perf_counter()
        call()
        times.append(perf_counter() - begin)
    return round(1e6 * min(times) / ITERATIONS, 3)
