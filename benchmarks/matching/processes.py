"""The contestants and their processes: which Python, how many threads, what fits, and what came of a run."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import trisplit
from trisplit.machine import memory_gib

from .lines import Line

WORKER = Path(__file__).resolve().parent / "worker.py"
VARIABLE = "TRISPLIT_GRASPOLOGIC"  # the Python in whose environment graspologic is
THREADS = 2
POOLS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM", "NUMEXPR")
FRESH = 5000  # vertices from which on each run has a new process
FEW = 3  # seeds
TIME_OUT, TOO_LARGE = "time-out", "does not fit"
OURS, GRASPOLOGIC, FAQ, POT, PYGMTOOLS = "trisplit", "graspologic", "SciPy FAQ", "POT GW", "pygmtools RRWM"


class Contestant(NamedTuple):
    """`most` is the largest n at which it is tried, `matrices` how many dense ones of float64 it holds at least.

    Of the seeds of a line it is given the first `runs`: enough to see where those stand that are no part of the goals.
    """

    call: str
    most: int
    matrices: float
    elsewhere: bool = False  # in the environment of the peers, if there is one
    runs: int = 10**9


CONTESTANTS = {
    OURS: Contestant("ts.matching.graph_match(A, B, partial_match=seeds, rng=seed)", 10**9, 0.0),
    GRASPOLOGIC: Contestant("graspologic.match.graph_match(A, B, partial_match=seeds, rng=seed)", 10**9, 12.0, True),
    FAQ: Contestant(
        "scipy.optimize.quadratic_assignment(A, B, method='faq', "
        "options={'maximize': True, 'partial_match': seeds, 'rng': seed})", 1000, 12.0, runs=FEW
    ),  # beyond, it is the algorithm of graspologic once more
    POT: Contestant(
        "ot.gromov.gromov_wasserstein(A, B), with seeds fused_gromov_wasserstein(M, A, B), rounded", 500, 8.0, True, FEW
    ),
    PYGMTOOLS: Contestant("pygmtools.rrwm(kron(B, A)), seeds on the diagonal, rounded", 100, 0.0, True, FEW),
}  # fmt: skip


def fits(contestant: Contestant, n: int) -> bool:
    """Return whether its dense matrices fit into half of the memory."""
    return contestant.matrices * 8 * n**2 <= (memory_gib() or 8.0) * 2**29


def environment(python: str) -> dict[str, str]:
    """Return the variables of a worker: so many threads, and our package only in our own Python."""
    variables = os.environ | {f"{pool}_NUM_THREADS": str(THREADS) for pool in POOLS}
    if python == sys.executable:
        ours = [str(Path(trisplit.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, ours))
    else:
        variables.pop("PYTHONPATH", None)
    return variables


class Worker:
    """A process that serves one contestant; `versions` is None if its library is missing."""

    def __init__(self, name: str, kind: str, python: str) -> None:
        command = [python, str(WORKER), name, kind]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, env=environment(python), text=True, **pipes)
        hello = self.read()
        self.versions: dict[str, str] | None = None if hello is None else hello.get("versions")
        self.why = "its process ended" if hello is None else hello.get("missing", "")

    def read(self) -> dict[str, Any] | None:
        """Return what the process says next, None if it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def run(self, task: dict[str, Any]) -> dict[str, Any]:
        """Return what a run gave, or how it ended."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        begin = perf_counter()
        found = self.read()
        if found is not None:
            return found
        status, late = self.process.wait(), perf_counter() - begin >= task["limit"]
        return {"failed": TIME_OUT if late and status == 1 else f"ended with {status}"}

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


class Workers:
    """The processes of all contestants, begun when they are needed."""

    def __init__(self, peers: str | None) -> None:
        self.peers = peers or os.environ.get(VARIABLE)
        self.running: dict[tuple[str, str], Worker] = {}
        self.versions: dict[str, dict[str, str]] = {}  # or {"missing": why}

    def pythons(self, name: str) -> Iterator[str]:
        """Return the Pythons in which a library may be."""
        if CONTESTANTS[name].elsewhere and self.peers:
            yield self.peers
        yield sys.executable

    def find(self, name: str, kind: str = "dense") -> Worker | None:
        """Return the process of a contestant, None if its library is nowhere."""
        worker = self.running.get((name, kind))
        if worker is not None:
            if worker.alive:
                return worker
            worker.close()
        if "missing" in self.versions.get(name, {}):
            return None
        for python in self.pythons(name):
            worker = Worker(name, kind, python)
            if worker.versions is not None:
                self.versions[name] = worker.versions
                self.running[name, kind] = worker
                return worker
            worker.close()
            self.versions[name] = {"missing": worker.why}
        return None

    def close(self) -> None:
        """End all processes."""
        for worker in self.running.values():
            worker.close()
        self.running.clear()


@contextmanager
def workers(peers: str | None) -> Iterator[Workers]:
    """Lend processes that end with the block."""
    lent = Workers(peers)
    try:
        yield lent
    finally:
        lent.close()


def measure(lent: Workers, name: str, line: Line, seed: int, folder: Path) -> tuple[dict[str, Any], np.ndarray | None]:
    """Return what a contestant took for the pair in `folder / "pair.npz"`, and its permutation."""
    if not fits(CONTESTANTS[name], line.n):
        return {"failed": TOO_LARGE}, None
    kind = "sparse" if line.part == "sparse" else "dense"
    if line.n >= FRESH:
        lent.close()  # also that no other process holds memory
    worker = lent.find(name, kind)
    if worker is None:
        return {"failed": f"missing: {lent.versions[name]['missing']}"}, None
    limit, out = line.own_limit if name == OURS else line.limit, folder / "p.npy"
    found = worker.run({"file": str(folder / "pair.npz"), "seed": seed, "limit": limit, "out": str(out)})
    return found, np.load(out) if "seconds" in found else None
