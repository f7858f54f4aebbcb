"""Two source trees of trisplit side by side: what the new one gains and loses in time.

    python benchmarks/versions.py OLD_SRC NEW_SRC [--pairs 15] [--only NAME ...] [--json FILE]

Both are `src` folders, each next to the `benchmarks` of its tree. A measure runs in two processes, one for each tree,
that are warm and stay alive. They take turns in the order old, new, new, old, ..., so that a change in the machine's
load meets both. What counts is the ratio new / old within a pair. The interval of its median lies between two order
statistics: whatever the distribution, it covers the true median with at least 95 %, from 6 pairs on. Less is better,
except where the measure is how many times faster a batch is than a loop. Only the public interface is called.
"""

import argparse
import gc
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from math import comb
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen
from timeit import timeit
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

WORKING = sys.argv[1:2] == ["--work"]  # how this script calls itself
if WORKING:  # the process that compares imports neither tree
    import trisplit as ts

STEPS: dict[str, float | str] = {"constant": 1.0, "auto": "auto"}
ITERATIONS, CONDITION = {10: 20_000, 100_000: 500}, {10: 1e10, 100_000: 1e5}  # for each number of variables
MATRICES = {"shared": "one for all", "own": "one each"}  # of the problems of a batch
PROBLEMS, LOOPED = 10_000, 300  # in a batch, and those of them that are also solved one by one
# Prints a line when it has begun, and ends by itself if nobody ends it
SPIN = "from time import time; end = time() + 60; print(flush=True)\nwhile time() < end: pass"

Run = Callable[[], object]


class Quadratic:
    """<x, Q x> / 2 + <c, x>; Q is a matrix or, as a vector, its diagonal."""

    def __init__(self, Q: np.ndarray, centre: np.ndarray) -> None:
        self.times = Q.dot if Q.ndim == 2 else Q.__mul__
        self.c = -self.times(centre)

    def value(self, x: np.ndarray) -> float:
        return 0.5 * np.dot(x, self.times(x)) + np.dot(self.c, x)

    def grad(self, x: np.ndarray) -> np.ndarray:
        return self.times(x) + self.c

    def value_and_grad(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        Qx = self.times(x)
        return 0.5 * np.dot(x, Qx) + np.dot(self.c, x), Qx + self.c


def make_data(n: int, condition: float, seed: int = 0) -> tuple[Quadratic, np.ndarray, list[Any]]:
    """Return f, x0 and terms as `overhead` has them: Q is dense up to 1,000 variables, diagonal beyond, and L = 1."""
    rng = np.random.default_rng(seed)
    Q = np.logspace(-np.log10(condition), 0, n)
    if n <= 1000:
        basis, _ = np.linalg.qr(rng.standard_normal((n, n)))
        Q = (basis * Q) @ basis.T
    centre, a = rng.uniform(-1.5, 1.5, n), rng.standard_normal(n)
    b, square = float(a @ centre - 0.5 * np.linalg.norm(a)), float(a @ a)
    box = SimpleNamespace(
        indicator=True,
        value=lambda x: 0.0 if np.abs(x).max() <= 1.0 + 1e-12 else np.inf,
        prox=lambda x, gamma: np.clip(x, -1.0, 1.0),
    )
    half_space = SimpleNamespace(
        indicator=True,
        value=lambda x: 0.0 if np.dot(a, x) <= b + 1e-12 * square else np.inf,
        prox=lambda x, gamma: x - (excess / square) * a if (excess := np.dot(a, x) - b) > 0 else x,
    )
    return Quadratic(Q, centre), np.zeros(n), [box, half_space]


def iterate(n: int, step: str, within_minimize: bool = False) -> Run:
    """Return, as all such functions do, what is timed: the endless iteration, or `minimize` for as long."""
    f, x0, terms = make_data(n, CONDITION[n])
    if within_minimize:
        return lambda: ts.minimize(f, x0, terms, step=STEPS[step], tol=0, max_iter=ITERATIONS[n])
    return lambda: deque(islice(ts.tos(ts.Problem(f, terms), x0, STEPS[step]), ITERATIONS[n]), maxlen=0)


def minimize_short(calls: int) -> Run:
    """Return calls of 26 iterations each, in which starting and finishing weigh."""
    f, x0, terms = make_data(10, 20.0, seed=2)
    return lambda: [ts.minimize(f, x0, terms, tol=1e-6) for _ in range(calls)]


def busy(n: int, step: str) -> Callable[[], float]:
    """Return what gives the time of `iterate` while another process spins, divided by that when none does."""
    run = iterate(n, step)

    def ratio() -> float:
        alone = seconds(run)
        with Popen([sys.executable, "-c", SPIN], stdout=PIPE) as spinning:
            try:
                next(iter(spinning.stdout or ()))
                return seconds(run) / alone
            finally:
                spinning.kill()

    return ratio


def batch_and_loop(matrices: str, step: str, **options: Any) -> tuple[Run, Run]:
    """Return the batch of `overhead`, and the loop over its first problems."""
    from benchmarks.batches import VARIABLES, make_data

    f, cuts, L = make_data(PROBLEMS, matrices)
    x0, box = np.zeros((PROBLEMS, VARIABLES)), ts.terms.Box(-1, 1)

    def solve(members: Any, **more: Any) -> object:
        own_step = "auto" if step == "auto" else 1 / L[members]
        return ts.minimize(f.select(members), x0[members], [box, cuts.select(members)], step=own_step, **more)

    return partial(solve, slice(None), batch_ndim=1, **options), lambda: [solve(i, **options) for i in range(LOOPED)]


def batch(step: str) -> Run:
    """Return 100 iterations of both batches: all problems share a matrix, or each has its own."""
    runs = [batch_and_loop(matrices, step, tol=0, max_iter=100)[0] for matrices in MATRICES.values()]
    return lambda: [run() for run in runs]


def loop_over_batch(matrices: str, step: str) -> Callable[[], float]:
    """Return what gives seconds for a problem in the loop, divided by those in the batch; the default tolerance."""
    together, alone = batch_and_loop(matrices, step)
    return lambda: (seconds(alone) / LOOPED) / (seconds(together) / PROBLEMS)


def core(name: str, calls: int, **sizes: float) -> Run:
    """Return calls on a problem of `core`."""
    from benchmarks import problems

    problem = getattr(problems, name)(**sizes)
    return lambda: [ts.minimize(problem.f, problem.x0, (problem.g, problem.h), tol=1e-5) for _ in range(calls)]


def instances(rows: int = 256) -> list[Any]:
    """Return every third instance of the paper, of those up to so many rows."""
    return [ts.qap.load(entry.name) for entry in ts.qap.table() if entry.in_paper and entry.n <= rows][::3]


def relax(calls: int) -> Run:
    """Return relaxations of instances up to 40 rows."""
    chosen = instances(rows=40)
    return lambda: [ts.qap.relax(instance, split=1, rng=0) for instance in chosen for _ in range(calls)]


def multistart(faces: bool) -> Run:
    """Return the searches of `bench multistart`, but with a fixed number of starts, which is larger on small ones."""
    options: dict[str, Any] = {"faces": faces, "polish": False, "workers": 1, "max_iter": 50, "rng": 0}
    chosen = [(instance, max(1, 100 // instance.n)) for instance in instances()]
    return lambda: [ts.qap.solve(instance, starts=starts, **options) for instance, starts in chosen]


class Measure(NamedTuple):
    """`make()` returns a run, which is timed; or which returns a factor, in words. `threads`: BLAS has its default."""

    make: Callable[[], Callable[[], Any]]
    words: str = ""
    threads: bool = False


def measures() -> Iterator[tuple[str, Measure]]:
    """Yield names and measures; what stands before a hyphen is the name of a group."""
    slower, faster = "a busy core makes it take {} times as long", "a batch is {} times faster than the loop"
    for step in STEPS:
        yield f"minimize10-{step}", Measure(partial(iterate, 10, step, within_minimize=True))
        yield f"batch-{step}", Measure(partial(batch, step))
        for n in ITERATIONS:
            yield f"iteration{n}-{step}", Measure(partial(iterate, n, step))
            yield f"busy-{n}-{step}", Measure(partial(busy, n, step), slower, threads=True)
        for word, matrices in MATRICES.items():
            yield f"loop_over_batch-{word}-{step}", Measure(partial(loop_over_batch, matrices, step), faster)
    yield "minimize_short", Measure(partial(minimize_short, 100))
    yield "core-lasso", Measure(partial(core, "group_lasso", 5, beta=1e-3))
    yield "core-low_rank", Measure(partial(core, "sparse_low_rank", 3))
    yield "core-deblurring", Measure(partial(core, "deblurring", 1, size=48))
    yield "relax", Measure(partial(relax, 2))
    yield "multistart-pure", Measure(partial(multistart, faces=False))
    yield "multistart-faces", Measure(partial(multistart, faces=True))


MEASURES = dict(sorted(measures()))


def seconds(run: Run) -> float:
    """Return the seconds of one call, without pauses of the garbage collector."""
    gc.collect()
    return timeit(run, number=1)


def work(name: str, source: str) -> None:
    """Serve one measure of one tree: answer every line of the input with a value."""
    output, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed is no answer
    if not Path(ts.__file__).is_relative_to(source):
        raise SystemExit(f"trisplit comes from {ts.__file__}, not from {source}")
    run = MEASURES[name].make()
    for _ in sys.stdin:
        print(run() if MEASURES[name].words else seconds(run), file=output, flush=True)


@contextmanager
def worker(name: str, source: Path) -> Iterator[Callable[[], float]]:
    """Start a worker and yield what asks it for a value; it ends when its input does."""
    unset = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS") if MEASURES[name].threads else ()
    environment = {key: value for key, value in os.environ.items() if key not in unset}
    environment |= {"PYTHONPATH": os.pathsep.join([str(source), str(source.parent)]), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-P", __file__, "--work", name, str(source)]  # -P: the files here hide no packages
    with Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as process:

        def ask() -> float:
            print(file=process.stdin, flush=True)
            return float(process.stdout.readline())  # empty, and no number, if the worker has ended

        yield ask


def compare(name: str, sources: list[Path], pairs: int) -> dict[str, Any]:
    """Return the values of both trees, and the median of their ratios with its interval."""
    old, new = [], []
    with worker(name, sources[0]) as of_old, worker(name, sources[1]) as of_new:
        for ask in (of_old, of_new) * 2:
            ask()  # compiles; its value does not count
        for k in range(pairs):
            for values, ask in [(old, of_old), (new, of_new)][:: -1 if k % 2 else 1]:
                values.append(ask())
    ratios = sorted(after / before for before, after in zip(old, new, strict=True))
    k, coverage = rank(pairs)
    row = {"measure": name, "old_median": median(old), "new_median": median(new), "ratio": median(ratios)}
    return row | {"interval": [ratios[k], ratios[-1 - k]], "coverage": coverage, "old": old, "new": new}


def rank(n: int) -> tuple[int, float]:
    """Return the largest k such that values k and n - 1 - k of n sorted ones enclose the median in 95 %, and the share.

    The median lies outside where at most k of n fair coins show heads, or tails. Below 6 values, k = 0 encloses less.
    """
    shares = [1 - 2 * sum(comb(n, i) for i in range(k + 1)) / 2**n for k in range((n + 1) // 2)]
    return max(((k, share) for k, share in enumerate(shares) if share >= 0.95), default=(0, shares[0]))


def line(row: dict[str, Any]) -> str:
    """Return a row in words."""
    old, new, (low, high) = row["old_median"], row["new_median"], row["interval"]
    words = MEASURES[row["measure"]].words
    values = "".join(f"{value:8.2f} x " if words else f"{1e3 * value:8.1f} ms" for value in (old, new))
    words = words.format(f"{old:.3g} (old), {new:.3g} (new)")
    return f"{row['measure']:32}{values}{row['ratio']:11.3f}   [{low:.3f}, {high:.3f}]   {words}".rstrip()


def arguments() -> argparse.Namespace:
    """Return what the command line says, checked."""
    groups = sorted({name.split("-")[0] for name in MEASURES} - set(MEASURES))
    parser = argparse.ArgumentParser(description="Compare two source trees.")
    parser.add_argument("sources", metavar="SRC", nargs=2, type=Path, help="the old `src` folder, then the new one")
    parser.add_argument("--pairs", type=int, default=15, choices=range(1, 1000), metavar="N", help="runs of each (15)")
    parser.add_argument("--only", nargs="+", choices=[*groups, *MEASURES], help="these measures, or groups of them")
    parser.add_argument("--json", metavar="FILE", type=Path, help="where to write all values")
    found = parser.parse_args()
    found.sources = [source.resolve() for source in found.sources]
    for source in found.sources:
        if not (source / "trisplit" / "__init__.py").is_file():
            parser.error(f"there is no trisplit in {source}; pass a `src` folder")
    found.only = [name for name in MEASURES if not found.only or {name, name.split("-")[0]} & set(found.only)]
    return found


def main() -> None:
    """Compare, print a line for each measure, and keep the values."""
    asked = arguments()
    record: dict[str, Any] = {"sources": [str(one) for one in asked.sources], "pairs": asked.pairs, "rows": []}
    print(f"{'measure':32}{'old':>11}{'new':>11}{'new / old':>11}   interval of {rank(asked.pairs)[1]:.1%}")
    for name in asked.only:
        try:
            row = compare(name, asked.sources, asked.pairs)
        except (ValueError, BrokenPipeError):
            print(f"{name:32}failed, see the error of the worker", flush=True)
            continue
        print(line(row), flush=True)
        record["rows"].append(row)
        if asked.json:
            asked.json.write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    work(*sys.argv[2:]) if WORKING else main()
