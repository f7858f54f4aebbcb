"""The members of a search and when each has its turn.

1. Starts: relax, round, swap pairs. The first answers, each with a certificate.
2. Islands: memetic searches by different recipes, in rounds of a fixed number of moves. After some rounds each island
   sends its best permutation to the next one. Now and then a permutation of theirs is kicked and improved on faces of
   the polytope, and what comes out joins its island; more often while that gives better permutations.
3. A GPU, if there is one: see `gpu/worker.py`. Its best permutations join the islands in turn, and theirs its own.
4. Lower bounds: a cheap one after the first start; a strong one when the islands have not found anything better for
   long, or when most of the time is over.

Without a time limit all of it depends on the seed and on numbers of iterations alone: who runs a task, and when, makes
no difference. With one, islands do not wait for each other, and those that give better permutations have more turns.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import inf
from threading import Thread
from time import perf_counter

import numpy as np

from trisplit.kernels import tabu
from trisplit.qap import time_model
from trisplit.qap.bounds import lower_bound
from trisplit.qap.bounds.enumeration import ROWS, enumerate_all
from trisplit.qap.bounds.integers import Integers
from trisplit.qap.checkpoints import Keeper
from trisplit.qap.gpu.worker import GpuWorker
from trisplit.qap.incumbent import Incumbent, QAPStatus
from trisplit.qap.instance import Instance
from trisplit.qap.islands import Walk, Walked, roles, round_moves
from trisplit.qap.local_search import Outcome, Task, load_kernels
from trisplit.qap.memetic import Population, Recipe
from trisplit.qap.multistart import StartPlan, derived
from trisplit.qap.swap_form import swap_form
from trisplit.qap.task_pool import AnyOutcome, AnyTask, TaskPool

FIRST_STARTS, START_SHARE = 10, 0.05  # of a search without end: at most so many starts, in this share of the time
FIRST_SHARE = 0.3  # of the time, for one of them, which is cut short then
EXCHANGE = 5  # rounds
FACES = 4  # rounds
ISLAND_KEY, FACES_KEY = 2**31, 2**31 + 1  # of seeds; starts have the numbers below
CHEAP_SHARE = 0.05  # of the time, for a cheap bound
BOUND_SHARE = 0.1  # of the time, for a strong bound at the end
ROUND_SECONDS = 0.1  # about: what a long round takes that has a core to itself during a bound is told from this
FORGET = 0.9  # gains of islands count by so much less after each round
# After so many rounds without gain, and this times the rounds before, a bound gets half of the time that is left.
STAGNANT, PATIENCE = 30, 3.0
MIN_SECONDS = 0.05  # for a bound
SOON = 0.05  # seconds: a start that takes less is cut short rather than left out
LOADING = 0.2  # seconds for code that was compiled before
TABU_ROUNDS = 10  # of the GPU, for each round of all islands


def by_sums(instance: Instance) -> np.ndarray:
    """Return the permutation that puts rows of A with a large sum to rows of B with a small one.

    Examples
    --------
    >>> from trisplit import qap
    >>> by_sums(qap.Instance("small", [[0, 1, 2], [1, 0, 3], [2, 3, 0]], [[0, 5, 1], [5, 0, 1], [1, 1, 0]]))
    array([1, 0, 2])
    """
    sums = [np.ravel(M.sum(axis=0, dtype=float) + M.sum(axis=1, dtype=float)) for M in (instance.A, instance.B)]
    permutation = np.empty(instance.n, np.int64)
    permutation[np.argsort(-sums[0], kind="stable")] = np.argsort(sums[1], kind="stable")
    return permutation


@dataclass
class Portfolio:
    """One search: its members, and what they have found."""

    plan: StartPlan
    incumbent: Incumbent
    polish: bool
    time_limit: float | None
    keeper: Keeper | None = None
    gpu: GpuWorker | None = None

    def __post_init__(self) -> None:
        self.n = self.incumbent.instance.n
        self.islands: list[Population] = []
        self.immigrants: list[list[np.ndarray]] = []
        self.rounds: list[int] = []  # of each island
        self.busy: set[int] = set()  # islands whose round is under way
        self.turns: list[float] = []  # that each island has had, in fractions of what it deserves
        self.gains: list[float] = []  # of each island, recent ones
        self.roles = roles(self.incumbent.instance)
        self.gained = 0  # rounds until the best permutation was found
        self.next_faces = FACES
        self.kicked: dict[int, int] = {}  # the islands of kicks that are under way, by the numbers of their tasks
        self.loading: Thread | None = None  # the code for faces
        self.bounded = False  # whether the strong bound had its turn
        self.next_welcome = 0  # the island that the next permutation of the GPU joins

    @property
    def round(self) -> int:
        """How many rounds all islands have done."""
        return min(self.rounds, default=0)

    def run(self, pool: TaskPool) -> None:
        """Let all members have their turns, from where the search is."""
        with nullcontext() if self.gpu is None else self.gpu.taking_part(self):
            self.take_turns(pool)
        unfinished = self.plan.starts is None or self.incumbent.starts < self.plan.starts
        if self.incumbent.status is None and unfinished:  # even if the last part that there was time for ended early
            self.incumbent.status = QAPStatus.TIME_LIMIT

    def take_turns(self, pool: TaskPool) -> None:
        """Let the members have their turns until the search is over."""
        if not self.islands:
            if self.gpu is not None and self.gpu.turns(1):
                return
            if pool.run(self.starts(), self.take, ordered=self.plan.starts is not None):
                return
        if self.incumbent.best is None:
            self.answer_soon(pool)
        if not self.polish or self.incumbent.late():
            return
        if self.n <= ROWS:
            self.enumerate()
            return
        if not self.fits(time_model.FORM + time_model.FILL):
            return
        if not self.islands:
            self.settle(pool)
        if self.plan.starts is None:
            pool.run(self.endless(pool.slots), self.take, ordered=False)
            return
        self.keep()
        while self.round < self.plan.starts and not self.incumbent.late():
            if pool.run(self.one_round(), self.take, ordered=True):
                return
            if self.gpu is not None and self.gpu.turns(TABU_ROUNDS):
                return
            self.keep()
        if not self.bounded:
            elapsed = perf_counter() - self.incumbent.begin
            left = inf if self.time_limit is None else self.time_limit - elapsed
            self.bound(min(max(elapsed, MIN_SECONDS), left))
        self.keep(now=True)

    def fits(self, part: float) -> bool:
        """Say whether there is time for a part of `time_model`."""
        return time_model.fits(part, self.n, self.plan.deadline)

    def answer_soon(self, pool: TaskPool) -> None:
        """Find a first permutation where no start has ended in time, or none could."""
        if time_model.START * self.n**3 < SOON or self.fits(time_model.START):
            task = next(self.plan.tasks(lambda: None))
            task = task._replace(faces=task.faces and not self.polish)
            self.take(task, pool.run_here(task))
            return
        found = self.incumbent.offer(by_sums(self.incumbent.instance), polish=self.polish)
        self.incumbent.keep(found)
        self.incumbent.add_row("sums", found.cost)

    def end(self) -> None:
        """Write the last checkpoint, if one is wanted."""
        if self.plan.starts is None:
            self.keep(now=True)
        elif self.keeper is not None:  # as it was after the last round, not in the middle of one
            self.keeper.write(self, now=True)

    def keep(self, *, now: bool = False) -> None:
        """Write a checkpoint, if one is wanted."""
        if self.keeper is not None:
            self.keeper.keep(self, now=now)

    def found(self, outcome: Outcome) -> None:
        """Hear of a permutation before its task has ended, from any thread but by one at a time."""
        if self.incumbent.glimpse(outcome) and self.keeper is not None:
            self.keeper.write(self)

    def enumerate(self) -> None:
        """Look at all permutations."""
        instance = self.incumbent.instance
        _, permutation = enumerate_all(Integers.of(instance))
        if self.incumbent.exact:
            self.incumbent.take_bound(lower_bound(instance, method="enumeration"))
        self.incumbent.add_row("enumeration", self.incumbent.offer(permutation).cost)

    # Starts

    def starts(self) -> Iterator[Task]:
        """Yield the starts."""
        best = lambda: None if self.incumbent.best is None else self.incumbent.best.permutation  # noqa: E731
        for task in self.plan.tasks(best, first=self.incumbent.starts + self.incumbent.kicks):
            if not self.fits(time_model.START):
                break
            if self.polish and self.plan.starts is None and self.enough(task.number):
                break
            if self.polish and self.plan.starts is None and task.seconds is not None and self.time_limit is not None:
                task = task._replace(seconds=min(task.seconds, FIRST_SHARE * self.time_limit))
            yield task._replace(faces=task.faces and not self.polish)

    def enough(self, starts: int) -> bool:
        """Say whether a search without end goes on to its islands."""
        elapsed = perf_counter() - self.incumbent.begin
        late = self.time_limit is not None and elapsed >= START_SHARE * self.time_limit
        return starts >= FIRST_STARTS or (starts > 0 and late)

    def take(self, task: AnyTask, outcome: AnyOutcome) -> bool:
        """Add what a task has found, and what the GPU has, and say whether the search is over."""
        over = self.take_walk(task, outcome) if isinstance(task, Walk) else self.take_start(task, outcome)
        return (self.gpu is not None and self.gpu.heard()) or over

    def take_start(self, task: Task, outcome: Outcome) -> bool:
        """Add what a start or a kick has found, and say whether the search is over."""
        incumbent, before = self.incumbent, self.incumbent.best
        if outcome.rounded is not None:
            self.plan.rounded.append(outcome.rounded)
        found = incumbent.take_start(outcome, kicked=task.permutation is not None, polish=self.polish)
        over = incumbent.status is not None
        if incumbent.starts == 1 and incumbent.bound is None:
            over = self.cheap_bound() or over
        if not self.islands and not (self.plan.starts is not None and incumbent.late()):  # else it may be cut short
            self.keep()
        if self.islands:  # it was a kick
            if incumbent.best is not before:
                self.next_faces = self.gained = self.round
            self.immigrants[self.kicked.pop(task.number)].append(found.permutation)
        return over

    # Islands

    def role(self, island: int) -> Recipe:
        """Return the recipe of an island."""
        return self.roles[island % len(self.roles)][0]

    def settle(self, pool: TaskPool) -> None:
        """Begin with islands, whose first permutations are those of the starts."""
        tabu.engine(swap_form(self.incumbent.instance).kind)  # here, before several threads would all load it
        count = len(self.roles) if self.plan.starts is not None else max(len(self.roles), pool.slots)
        known = [member.permutation for member in self.incumbent.pool]
        for i in range(count):
            rng = np.random.default_rng(derived(self.plan.seed, ISLAND_KEY, i))
            waiting = tuple(known[i::count][: self.role(i).population])
            self.islands.append(Population.first(rng)._replace(waiting=waiting))
        self.immigrants = [[] for _ in self.islands]
        self.rounds, self.turns, self.gains = [0] * count, [0.0] * count, [0.0] * count

    def one_round(self) -> Iterator[AnyTask]:
        """Yield a task for each island: all as they are now, but for the time that is left when they begin."""
        tasks: list[AnyTask] = [self.walk(i) for i in range(len(self.islands))]
        for task in [*tasks, *self.faces(len(tasks))]:
            yield task._replace(seconds=self.plan.seconds())

    def endless(self, slots: int) -> Iterator[AnyTask | None]:
        """Yield tasks for islands that have nothing to do, None if all are busy, until the time is over."""
        number, long = 0, 1
        while not self.incumbent.late():
            for task in self.faces(number):
                number += 1
                yield task
            seconds = self.bound_seconds()
            if seconds is not None:
                # All cores but one have something to do meanwhile.
                if long < slots:
                    long += 1
                elif self.bound(seconds):
                    return
                else:
                    long = 1
            free = [i for i in range(len(self.islands)) if i not in self.busy]
            if not free:  # a checkpoint came from fewer cores
                yield None
                continue
            island = min(free, key=lambda i: (self.turns[i], i))
            self.turns[island] += 1.0 / (self.roles[island % len(self.roles)][1] + self.gains[island])
            self.busy.add(island)
            scale = 1.0 if seconds is None or self.bounded else max(seconds / ROUND_SECONDS, 1.0)
            yield self.walk(island, number, scale)
            number += 1

    def walk(self, island: int, number: int | None = None, scale: float = 1.0) -> Walk:
        """Return the next round of an island."""
        immigrants, self.immigrants[island] = tuple(self.immigrants[island]), []
        moves = int(scale * round_moves(self.n))
        number = island if number is None else number
        goal, seconds = self.incumbent.goal, self.plan.seconds()
        return Walk(number, island, self.role(island), self.islands[island], immigrants, moves, goal, seconds)

    def faces(self, number: int) -> list[Task]:
        """Return a kick of a permutation of one island, and restarts on faces, if it is time to."""
        if not self.plan.faces or self.round <= self.next_faces or not self.faces_loaded():
            return []
        seed = derived(self.plan.seed, FACES_KEY, self.round)
        rng = np.random.default_rng(seed)
        island = int(rng.choice(len(self.islands), p=np.array(self.rounds) / sum(self.rounds)))
        members = self.islands[island].members
        if not members:
            return []
        self.next_faces = self.round + FACES - 1
        self.kicked[number] = island
        chosen = members[rng.integers(len(members))].permutation
        return [Task(number, seed, chosen, None, 0, 0.0, True, 0.0, self.plan.seconds())]

    def faces_loaded(self) -> bool:
        """Say whether the code for faces is there; a search with a time limit goes on while it is compiled."""
        if self.plan.starts is not None:
            load_kernels(faces=True)
            return True
        if self.loading is None:
            self.loading = Thread(target=load_kernels, args=(True,), name="trisplit-compiler")
            self.loading.start()
            self.loading.join(LOADING)
        return not self.loading.is_alive()

    def take_walk(self, walk: Walk, walked: Walked) -> bool:
        """Add what a round of an island has found, and say whether the search is over."""
        incumbent, before, i = self.incumbent, self.incumbent.best, walk.island
        self.islands[i] = walked.population
        self.busy.discard(i)
        self.rounds[i] += 1
        incumbent.moves += walked.moves
        gain = before is None or incumbent.instance.cost(walked.permutation) < before.cost
        found = incumbent.offer(walked.permutation, polish=gain)  # exactly, where walks are not
        self.gains = [FORGET * past for past in self.gains]
        if gain:
            self.gained = self.round
            self.gains[i] += 1.0
            if self.gpu is not None:
                self.gpu.tell(found.permutation)
        self.send(i)
        if self.plan.starts is None:
            self.keep()
        return incumbent.add_row(self.role(i).name, found.cost)

    def welcome(self, permutations: Sequence[np.ndarray]) -> None:
        """Let permutations of the GPU join the islands, in turn."""
        self.gained = self.round
        for permutation in permutations if self.islands else ():
            self.immigrants[self.next_welcome % len(self.islands)].append(permutation)
            self.next_welcome += 1

    def send(self, island: int) -> None:
        """After some rounds, send the best permutation of an island to the next one, unless that begins anew."""
        other, members = (island + 1) % len(self.islands), self.islands[island].members
        if self.rounds[island] % EXCHANGE == 0 and members and not self.islands[other].young:
            self.immigrants[other].append(members[0].permutation)

    # Lower bounds

    def cheap_bound(self) -> bool:
        """Add a cheap lower bound if there is time, and say whether the search is over."""
        if self.time_limit is not None and self.cheap() > CHEAP_SHARE * self.time_limit:
            return False
        if not self.incumbent.exact:
            return False
        return self.incumbent.take_bound(lower_bound(self.incumbent.instance, method="gilmore-lawler"))

    def cheap(self) -> float:
        """Return about how many seconds a cheap bound takes."""
        instance = self.incumbent.instance
        whole = all(M.dtype.kind == "i" for M in (instance.A, instance.B, instance.C) if M is not None)
        return (time_model.CHEAP_BOUND if whole else time_model.CHEAP_BOUND_DECIMALS) * self.n**3

    def bound_seconds(self) -> float | None:
        """Return the time for a strong lower bound if it is to be computed now."""
        if self.bounded or self.time_limit is None:
            return None
        left = self.time_limit - (perf_counter() - self.incumbent.begin)
        waited = self.round - self.gained
        if self.incumbent.target is None and waited >= max(STAGNANT, PATIENCE * self.gained):
            return left / 2
        return BOUND_SHARE * self.time_limit if left <= 2 * BOUND_SHARE * self.time_limit else None

    def bound(self, seconds: float) -> bool:
        self.bounded = True
        if seconds < max(MIN_SECONDS, self.cheap()) or not self.incumbent.exact:
            return False
        return self.incumbent.take_bound(lower_bound(self.incumbent.instance, time_limit=seconds))
