"""Time the working tree against an earlier revision, by turns in one run.

    python tools/compare_revisions.py REVISION [--pairs 15] [--cases PATTERN ...]

Two processes stay alive, one on `src` and `benchmarks` of the revision, one on those of the working
tree. They take turns, case by case, so that a change in the machine's load meets both. Printed are seconds of the
earlier code and, for the ratios new / old of all pairs, the median with an interval that holds it in 95 of 100 runs.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
THIRD = slice(0, None, 3)  # of the instances of a benchmark
TURN = 0.05  # seconds at least: a call of a millisecond after the other process had the core measures its caches
Case = Callable[[], Callable[[], object]]  # prepares data, and returns what is timed


def iteration(n: int, step: object, iterations: int) -> Callable[[], object]:
    """Return iterations of the bare loop on the problem of `overhead`."""
    import trisplit as ts
    from benchmarks.overhead import make_data

    data = make_data(n)

    def run() -> None:
        iterates = ts.tos(ts.Problem(data.f, [data.g, data.h]), data.x0, step)  # pyright: ignore[reportArgumentType]
        for _ in range(iterations):
            next(iterates)

    return run


def calls(n: int, repeats: int) -> Callable[[], object]:
    """Return whole calls of `minimize` on random problems that converge, a box and a half-space."""
    import numpy as np

    import trisplit as ts
    from benchmarks.batches import OWN, make_data

    f, cuts, _ = make_data(repeats, OWN)
    assert n == f.c.shape[1]

    def run() -> None:
        for i in range(repeats):
            ts.minimize(f.select(i), np.zeros(n), [ts.terms.Box(-1, 1), cuts.select(i)])

    return run


def core(number: int) -> Callable[[], object]:
    """Return a run of as many iterations as reach an error of 1e-5 on a problem of `core`."""
    import trisplit as ts
    from benchmarks.core import MAIN, PROBLEMS

    problem, values = PROBLEMS[number](), []
    parts = problem.f, problem.x0, (problem.g, problem.h)
    ts.minimize(*parts, tol=0, max_iter=2000, callback=lambda made: values.append(problem.phi(made.z)))
    least = min(values)
    arrived = next(k for k, value in enumerate(values, 1) if value - least <= MAIN * max(1.0, abs(least)))
    return partial(ts.minimize, *parts, tol=0, max_iter=arrived)


def relaxed(name: str) -> Callable[[], object]:
    """Return a relaxation to the tolerance of `relax`, of at most 600 iterations."""
    import numpy as np

    import trisplit as ts

    instance = ts.qap.load(name)
    x0 = ts.qap.initial_point(instance.n, np.random.default_rng(0))
    return lambda: ts.qap.relax(instance, x0=x0, split=1, max_iter=600)


def searched(name: str) -> Callable[[], object]:
    """Return the multi-start search of `multistart` with a fixed number of starts."""
    import trisplit as ts
    from benchmarks.qap.multistart import OPTIONS, PURE

    instance = ts.qap.load(name)
    starts = 3 if instance.n > 60 else 10
    return lambda: ts.qap.solve(instance, starts=starts, rng=0, **OPTIONS[PURE])


def cases() -> dict[str, Case]:
    """Return what is timed, by name."""
    from benchmarks.qap.instances import PAPER

    found: dict[str, Case] = {}
    for n, iterations in ((10, 2000), (100_000, 200)):
        for step in (1.0, "auto"):
            found[f"iteration/{n}/{step}"] = partial(iteration, n, step, iterations)
    found["call/10"] = partial(calls, 10, 100)
    found |= {f"core/{number}": partial(core, number) for number in range(4)}
    for name in list(PAPER)[THIRD]:
        found[f"relax/{name}"] = partial(relaxed, name)
        found[f"multistart/{name}"] = partial(searched, name)
    return found


def repeat(run: Callable[[], object], calls: int) -> None:
    for _ in range(calls):
        run()


def work() -> None:
    """Run the case that is named on each line of standard input, and answer with its seconds."""
    from benchmarks.timing import seconds, settled

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a case prints is no answer
    known, ready, calls = cases(), {}, 1
    with settled():
        for line in sys.stdin:
            name = line.strip()
            if name not in ready:
                ready.clear()
                ready[name] = known[name]()
                ready[name]()  # compiles and imports
                calls = max(1, round(TURN / seconds(ready[name])))
            print(seconds(partial(repeat, ready[name], calls)) / calls, file=answers, flush=True)


def ratios(workers: list[subprocess.Popen[str]], name: str, pairs: int) -> Iterator[tuple[float, float]]:
    """Yield the seconds of the earlier code and of the new, which begin by turns."""
    for k in range(pairs):
        pair = [0.0, 0.0]
        for side in (0, 1) if k % 2 else (1, 0):
            worker = workers[side]
            assert worker.stdin is not None
            assert worker.stdout is not None
            print(name, file=worker.stdin, flush=True)
            pair[side] = float(worker.stdout.readline())
        yield pair[0], pair[1]


def interval(values: list[float]) -> tuple[float, float]:
    """Return the order statistics between which the median lies in 95 of 100 samples, by the binomial distribution."""
    from scipy.stats import binom

    below = max(int(binom.ppf(0.025, len(values), 0.5)) - 1, 0)
    ordered = sorted(values)
    return ordered[below], ordered[-1 - below]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("revision", help="what git calls the earlier code")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--cases", nargs="+", default=["*"], help="patterns, as of file names")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", options.revision, "src", "benchmarks"], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        command = [sys.executable, __file__, "--work"]
        workers = [
            subprocess.Popen(
                command,
                cwd=tree,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(tree / "src")},
            )
            for tree in (Path(folder), ROOT)
        ]
        for name in cases():
            if any(fnmatch(name, pattern) for pattern in options.cases):
                pairs = list(ratios(workers, name, options.pairs))
                old, found = median(a for a, _ in pairs), [b / a for a, b in pairs]
                low, high = interval(found)
                print(f"{name:30s} {old * 1e3:10.3f} ms  {median(found):6.3f}  [{low:.3f}, {high:.3f}]", flush=True)
        for worker in workers:
            worker.terminate()


if __name__ == "__main__":
    sys.path[0] = os.getcwd() if "--work" in sys.argv else str(ROOT)  # where `benchmarks` lies
    work() if sys.argv[1:] == ["--work"] else main()
