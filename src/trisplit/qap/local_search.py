"""One local search: a start on the relaxed problem, or a kick of a known permutation, then restarts on faces.

A local search depends on the instance, its number and its seed alone (and on the clock, if it is given seconds), so
it may run anywhere.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Lock, local
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from trisplit.qap.engine import CHUNK_SECONDS, BirkhoffLoop
from trisplit.qap.instance import Instance
from trisplit.qap.matrices import as_dense
from trisplit.qap.objective import Objective
from trisplit.qap.rounding import round_to_permutation
from trisplit.steps import Adaptive

# The distance of starts from the barycentre, in turn: this times N(0, 1) / n in each entry, and in the end the start of
# [YMS21], N(0, 1), and the mean of some permutations.
SPREADS = (1.0, 0.3, 3.0, 0.1, 1.0, 0.3)
FAMILY = len(SPREADS) + 2
MIXED = 3  # permutations in a mean
LOOK_RATIO = 1.2
MARGIN = 4.0  # the errors of f itself and to the set of columns may be somewhat larger than those that are looked at
PATIENCE = 2  # times n restarts in vain end a local search
RESTARTS = 50  # between two looks at the clock
MAX_KICK = 40  # rows


class Task(NamedTuple):
    """What one local search is to do: a start if `permutation` is None, else a kick of that permutation."""

    number: int
    seed: np.random.SeedSequence
    permutation: np.ndarray | None
    x0: np.ndarray | None  # where a start begins, if not at a random point
    max_iter: int
    tol: float  # of the relaxation, on its two errors
    faces: bool
    worth: float  # the cost of a rounded start up to which restarts on faces follow
    seconds: float | None


class Outcome(NamedTuple):
    """What a local search found: a permutation, and of a start the point that was rounded."""

    permutation: np.ndarray
    point: np.ndarray | None
    iterations: int
    restarts: int
    rounded: float | None = None  # the cost of a start when it was rounded, up to rounding errors of its own


Found = Callable[[Outcome], None]


@dataclass
class LocalSearch:
    """What local searches on one instance share, for one thread."""

    instance: Instance

    def __post_init__(self) -> None:
        A, B = (as_dense(M).astype(float) for M in (self.instance.A, self.instance.B))
        C = np.zeros((0, 0)) if self.instance.C is None else self.instance.C.astype(float)
        f = Objective(A, B, C if C.size else None)
        # The search takes sums and differences of costs: symmetric parts say the same with fewer products.
        self.A, self.B, _ = f.symmetric_parts
        self.C, self.n = C, len(A)
        self.engine = BirkhoffLoop(f.tangent(), 1, Adaptive())
        self.engine.start(np.full((self.n, self.n), 1.0 / self.n))
        self.gamma = self.engine.gamma

    @cached_property
    def near(self) -> np.ndarray:
        """For faces: rows that matter to each other most, and places that are closest."""
        flows, distances = -(self.A + self.A.T), self.B + self.B.T
        return np.stack([np.argsort(M, axis=1, kind="stable") for M in (flows, distances)])

    def run(self, task: Task, found: Found | None = None, stopped: Callable[[], bool] | None = None) -> Outcome:
        """Do what the task says; `found` is told of each better permutation, `stopped` asked whether to end now."""
        deadline = None if task.seconds is None else perf_counter() + task.seconds

        def over() -> bool:
            return (deadline is not None and perf_counter() >= deadline) or (stopped is not None and stopped())

        rng = np.random.default_rng(task.seed)
        if task.permutation is None:
            try:
                self.start(task, rng, over)
            except KeyboardInterrupt:
                if found is not None and self.engine.t:
                    found(self.rounded())
                raise
            p, point, iterations, _, cost = self.rounded()
        else:
            point, iterations, p, cost = None, 0, task.permutation.astype(np.int64), None
        if found is not None:
            found(Outcome(p.copy(), point, iterations, 0))
        restarts = 0
        if task.faces and self.n > 1 and (cost is None or cost <= task.worth):
            tell = None if found is None else lambda: found(Outcome(p.copy(), point, iterations, 0))
            restarts = self.search_faces(p, rng, 0 if task.permutation is None else self.kick, tell, over)
        return Outcome(p, point, iterations, restarts, cost)

    @property
    def kick(self) -> int:
        """How many rows a kick sets free."""
        return max(2, min(self.n // 2, MAX_KICK))

    def rounded(self) -> Outcome:
        """Return the permutation next to the point where the engine is."""
        z = self.engine.z.copy()
        p = round_to_permutation(z).astype(np.int64)
        cost = float(np.vdot(self.A, self.B[p[:, None], p]))
        if self.C.size:
            cost += float(self.C[np.arange(self.n), p].sum())
        return Outcome(p, z, self.engine.t, 0, cost)

    def start(self, task: Task, rng: np.random.Generator, over: Callable[[], bool]) -> None:
        """Iterate from the start that the task says until the tolerance holds."""
        engine, chunk, look = self.engine, 1, 1
        engine.start(starting_point(self.n, task.number, rng) if task.x0 is None else task.x0, self.gamma)
        while True:
            begin = perf_counter()
            iterations = min(chunk, look - engine.t)
            engine.advance(iterations)
            if iterations == chunk and perf_counter() - begin < CHUNK_SECONDS / 2:
                chunk *= 2
            if engine.t >= task.max_iter or over():
                break
            if engine.t >= look:
                look = min(max(engine.t + 1, int(LOOK_RATIO * engine.t)), task.max_iter)
                bound, distance = engine.certify()
                if max(bound / max(engine.value, 1.0), distance / self.n**0.5) <= task.tol / MARGIN:
                    break

    def search_faces(
        self,
        p: np.ndarray,
        rng: np.random.Generator,
        kick: int,
        tell: Callable[[], None] | None,
        over: Callable[[], bool],
    ) -> int:
        """Restart on faces around p, which changes, until nothing helps; return the number of restarts."""
        from trisplit.kernels import faces, undisturbed

        search, inverse, counts = faces.engine(), np.argsort(p), np.zeros(2, np.int64)
        while counts[0] < PATIENCE * self.n:
            with undisturbed():  # as in `TabuSearch`
                fallen = search(
                    self.A, self.B, self.C, self.near, p, inverse, rng, counts, kick, PATIENCE * self.n, RESTARTS
                )
            if tell is not None and fallen > 0.0:
                tell()
            kick = 0
            if over():
                break
        return int(counts[1])


def load_kernels(faces: bool) -> None:
    """Load, or compile, what local searches call."""
    from trisplit.kernels import birkhoff_tos
    from trisplit.kernels import faces as on_faces

    birkhoff_tos.engine("f8")
    if faces:
        on_faces.engine()


def starting_point(n: int, number: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random matrix with unit row and column sums, from the family that the number of the start says.

    Most lie near the barycentre, at four distances in turn; the last but one of each eight is the starting point that
    [YMS21] describes, Gaussian entries, and the last is a mean of three random permutations.

    Examples
    --------
    >>> import numpy as np
    >>> X = starting_point(4, 0, np.random.default_rng(0))
    >>> bool(np.allclose(X.sum(axis=0), 1) and np.allclose(X.sum(axis=1), 1))
    True
    """
    kind = number % FAMILY
    if kind == FAMILY - 1:
        X = np.zeros((n, n))
        for _ in range(MIXED):
            X[np.arange(n), rng.permutation(n)] += 1.0 / MIXED
        return X
    scale = SPREADS[kind] / n if kind < len(SPREADS) else 1.0
    X = scale * rng.standard_normal((n, n))
    X -= X.mean(axis=0)
    X -= X.mean(axis=1, keepdims=True)
    return X + 1.0 / n


_here = local()


def run_local_search(
    instance: Instance, task: Task, found: Found | None = None, stopped: Callable[[], bool] | None = None
) -> Outcome:
    """Run one local search; what an instance needs is computed once in each thread."""
    known: LocalSearch | None = getattr(_here, "search", None)
    if known is None or (known.instance is not instance and known.instance.sha256() != instance.sha256()):
        known = _here.search = LocalSearch(instance)
    return known.run(task, found, stopped)


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold linear algebra to one thread, in the library of the compiled products as well, while anybody wants that.

    The limit is one for the whole process: the first to come sets it, and the last to go takes it back.
    """
    import scipy.linalg.cython_blas  # noqa: F401  numba loads it with the first product: too late to be limited

    with _limit.lock:
        if not _limit.users:
            _limit.limiter = _limit.libraries().limit(limits=1)
        _limit.users += 1
    try:
        yield
    finally:
        with _limit.lock:
            _limit.users -= 1
            if not _limit.users:
                _limit.limiter.restore_original_limits()


class _Limit:
    """Who holds linear algebra to one thread."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.limiter: Any = None
        self.controller, self.modules = None, 0

    def libraries(self) -> ThreadpoolController:
        """Return the libraries that are loaded: to look for them takes a millisecond, and is needed after imports."""
        if self.controller is None or self.modules != len(sys.modules):
            self.controller, self.modules = ThreadpoolController(), len(sys.modules)
        return self.controller


_limit = _Limit()
