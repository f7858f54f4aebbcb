"""The contestants of the stochastic benchmark: `minimize` with every estimator, and copt's VRTOS.

All are told the smoothness constants of f and of its samples before time is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

import trisplit as ts
from trisplit.gradients.access import MOST_FEATURES

from .samples import Array, Problem
from .timing import seconds

VRTOS, EXACT = "copt VRTOS", "exact"
MANY = 10**9  # iterations: watches end the run


@dataclass(frozen=True)
class Limits:
    """How long a contestant may take on a problem while it is watched."""

    passes: float
    seconds: float


class Enough(Exception):  # noqa: N818
    """Raised out of a contestant's loop when there is nothing more to see."""


class Watch:
    """Sees the iterates of one contestant with the samples that they took, ever more rarely."""

    def __init__(self, problem: Problem, target: float, limits: Limits) -> None:
        self.problem, self.target, self.limits = problem, target, limits
        self.seen: list[tuple[int, float, float]] = []  # iterations, passes, phi
        self.begin, self.looking = perf_counter(), 0.0

    def __call__(self, iterations: int, samples: int, x: Array) -> None:
        passes = samples / self.problem.f.n
        if not self.seen:  # what was compiled before does not count
            self.begin = perf_counter()
        if self.seen and passes < 1.02 * self.seen[-1][1] + 0.03 and iterations > 1:
            return
        start = perf_counter()
        self.seen.append((iterations, passes, self.problem.phi(x)))
        self.looking += perf_counter() - start
        late = perf_counter() - self.begin - self.looking > self.limits.seconds
        if self.seen[-1][2] <= self.target or passes > self.limits.passes or late:
            raise Enough


class Watched:
    """An estimator whose points are shown, with the samples that it took until there."""

    def __init__(self, estimator: Any, see: Callable[[int, int, Array], None]) -> None:
        self.estimator, self.see = estimator, see
        for name in ("needs", "size"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))

    def estimate(self, memory: tuple | None, f: Any, z: Array, draw: Any) -> tuple[Array, tuple]:
        self.see(draw.t + 1, f.counts.samples, z)
        return self.estimator.estimate(memory, f, z, draw)

    def step(self, loss: Any) -> float:
        return self.estimator.step(loss)


class Counted:
    """f whose samples are counted, for the exact gradient."""

    def __init__(self, f: Any) -> None:
        self.f, self.samples = f, 0
        self.lipschitz, self.shape = f.lipschitz, f.shape

    def value(self, x: Array) -> float:
        self.samples += self.f.n
        return self.f.value(x)

    def grad(self, x: Array) -> Array:
        self.samples += self.f.n
        return self.f.grad(x)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        self.samples += self.f.n
        return self.f.value_and_grad(x)


@dataclass(frozen=True)
class Contestant:
    """One way to minimise: `watch` shows its iterates, `time` returns seconds and passes of some iterations."""

    name: str
    settings: str
    watch: Callable[[Problem, Watch], object]
    time: Callable[[Problem, int], tuple[float, float]]
    applies: Callable[[Problem], bool] = lambda problem: True
    reduces_variance: bool = True


def ours(name: str, estimator: Any, settings: str, **options: Any) -> Contestant:
    """Return `minimize` with an estimator, at its default step."""

    def watch(problem: Problem, see: Watch) -> object:
        given = {"gradient": Watched(estimator, see), "tol": 0, "max_iter": MANY, "rng": 0}
        return ts.minimize(problem.f, problem.x0, problem.terms, **given)

    def time(problem: Problem, iterations: int) -> tuple[float, float]:
        found: list[ts.Result] = []
        given = {"gradient": estimator, "tol": 0, "max_iter": iterations, "rng": 0}
        taken = seconds(lambda: found.append(ts.minimize(problem.f, problem.x0, problem.terms, **given)))
        return taken, found[0].trace.rows[-1].samples / problem.f.n

    return Contestant(name, settings, watch, time, **options)


def exact_watch(problem: Problem, see: Watch) -> object:
    f = Counted(problem.f)
    show = lambda made: see(made.t, f.samples, made.z)  # noqa: E731
    return ts.minimize(f, problem.x0, problem.terms, tol=0, max_iter=MANY, callback=show)


def exact_time(problem: Problem, iterations: int) -> tuple[float, float]:
    f = Counted(problem.f)
    given = {"tol": 0, "max_iter": iterations}
    return seconds(lambda: ts.minimize(f, problem.x0, problem.terms, **given)), f.samples / problem.f.n


def vrtos(problem: Problem, passes: int, see: Callable[[Array], None]) -> object:
    """Run copt's VRTOS; its compilation is over when `see` is called first."""
    from copt.penalty import GroupL1
    from copt.randomized import minimize_vrtos
    from copt.utils import njit

    @njit
    def slope(p: Array, b: Array) -> Array:
        return -b / (1 + np.exp(b * p))

    f = problem.f
    maps = [GroupL1(problem.weight, part).prox_factory(f.shape[0]) for part in problem.groups]
    np.random.seed(0)  # it draws from there
    return minimize_vrtos(
        slope, f.samples.array, f.b, problem.x0, 1 / (3 * f.sample_lipschitz), prox_1=maps[0], prox_2=maps[1],
        alpha=f.ridge, max_iter=passes, callback=lambda local: see(local["z"]),
    )  # fmt: skip


def vrtos_watch(problem: Problem, see: Watch) -> object:
    passes = 0

    def show(z: Array) -> None:
        nonlocal passes
        see(passes, passes * problem.f.n, z)
        passes += 1

    return vrtos(problem, int(see.limits.passes) + 1, show)


def vrtos_time(problem: Problem, passes: int) -> tuple[float, float]:
    stamps: list[float] = []
    vrtos(problem, passes, lambda z: stamps.append(perf_counter()))
    return stamps[-1] - stamps[0], float(passes)


def narrow(problem: Problem) -> bool:
    return problem.f.shape[0] <= MOST_FEATURES


contestants = (
    ours("SVRG", ts.gradients.SVRG(), "batches of sqrt(n)"),
    ours("SVRG, 64", ts.gradients.SVRG(64), "batches of 64"),
    ours("SVRG2", ts.gradients.SVRG2(), "default; tables with at most 2,000 columns", applies=narrow),
    ours("SAGA", ts.gradients.SAGA(), "batches of sqrt(n)"),
    ours("SARAH", ts.gradients.SARAH(), "batches of sqrt(n)"),
    ours("PAGE", ts.gradients.PAGE(), "batches of sqrt(n)"),
    ours("minibatch", ts.gradients.Minibatch(), "batches of sqrt(n)", reduces_variance=False),
    Contestant(EXACT, "adaptive step", exact_watch, exact_time, reduces_variance=False),
    Contestant(VRTOS, "step 1/(3 L), own prox", vrtos_watch, vrtos_time, reduces_variance=False),
)
