"""A contestant in a process of its own: a script that runs in any environment, also one with older Python and NumPy.

    python worker.py CONTESTANT

It says what it is (`{"versions": ...}`, or `{"missing": ...}`) after a warm-up call on tiny graphs. Then each line of
its input, `{"file": ..., "seed": ..., "limit": ..., "out": ...}`, is answered with `{"seconds": ..., "peak_mib": ...}`
or `{"failed": ...}`, and the permutation is written to `out`: p[i] is the vertex of B for vertex i of A, -1 for none.
After `limit` seconds the process ends itself. It imports nothing of trisplit but for that contestant.
"""

import faulthandler
import gc
import json
import os
import platform
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

FOLDER = Path(__file__).resolve().parent
sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != FOLDER]  # its names hide no packages

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from scipy.optimize import linear_sum_assignment, quadratic_assignment  # noqa: E402

PACKAGES = ("numpy", "scipy", "numba", "trisplit", "graspologic", "POT", "pygmtools")
WARM_UP = 30  # vertices


def trisplit():  # noqa: ANN201
    from trisplit.matching import graph_match  # pyright: ignore

    return lambda A, B, seeds, seed: matched(graph_match(A, B, partial_match=seeds, rng=seed), A)


def graspologic():  # noqa: ANN201
    from graspologic.match import graph_match  # pyright: ignore

    return lambda A, B, seeds, seed: matched(graph_match(A, B, partial_match=seeds, rng=seed), A)


def matched(result, A):  # noqa: ANN001, ANN201
    """Return the permutation of a result with indices of both graphs."""
    p = np.full(A.shape[0], -1)
    p[np.asarray(result.indices_A)] = np.asarray(result.indices_B)
    return p


def scipy_faq():  # noqa: ANN201
    def run(A, B, seeds, seed):  # noqa: ANN001, ANN202
        options = {"maximize": True, "partial_match": seeds, "rng": np.random.default_rng(seed)}
        return quadratic_assignment(dense(A), dense(B), method="faq", options=options).col_ind

    return run


def pot():  # noqa: ANN201
    """Gromov-Wasserstein distance of adjacency matrices; with seeds fused: a pair that contradicts one costs 1."""
    import ot  # pyright: ignore

    def run(A, B, seeds, seed):  # noqa: ANN001, ANN202
        A, B = dense(A), dense(B)
        if seeds is None:
            return rounded(ot.gromov.gromov_wasserstein(A, B, symmetric=symmetric(A, B)), seeds)
        M = np.zeros((len(A), len(B)))
        M[seeds[:, 0]] = 1
        M[:, seeds[:, 1]] = 1
        M[seeds[:, 0], seeds[:, 1]] = 0
        return rounded(ot.gromov.fused_gromov_wasserstein(M, A, B, symmetric=symmetric(A, B)), seeds)

    return run


def pygmtools():  # noqa: ANN201
    """Reweighted random walks (RRWM) on the affinity B kron A; a seed has the affinity of the largest degree."""
    import pygmtools  # pyright: ignore

    pygmtools.set_backend("numpy")

    def run(A, B, seeds, seed):  # noqa: ANN001, ANN202
        A, B = dense(A), dense(B)
        n = len(A)
        K = np.kron(B, A)  # its index of (i, j) is j n + i
        if seeds is not None:
            places = seeds[:, 1] * n + seeds[:, 0]
            K[places, places] = max(A.sum(axis=1).max(), B.sum(axis=1).max())
        return rounded(np.asarray(pygmtools.rrwm(K, n, n)), seeds)

    return run


def symmetric(A, B):  # noqa: ANN001, ANN201
    return bool((A == A.T).all() and (B == B.T).all())


def dense(M):  # noqa: ANN001, ANN201
    return M.toarray() if sparse.issparse(M) else M


def rounded(X, seeds):  # noqa: ANN001, ANN201
    """Return the permutation nearest to X that keeps the seeds."""
    X = np.array(X)
    if seeds is not None:
        X[seeds[:, 0], seeds[:, 1]] += len(X) * max(abs(X).max(), 1e-300)
    return linear_sum_assignment(X, maximize=True)[1]


CONTESTANTS = {
    "trisplit": trisplit,
    "graspologic": graspologic,
    "SciPy FAQ": scipy_faq,
    "POT GW": pot,
    "pygmtools RRWM": pygmtools,
}


def load(path):  # noqa: ANN001, ANN201
    """Return A, B in float64, dense or sparse, and the seeds, None if there are none."""
    with np.load(path) as file:
        arrays = dict(file)
    graphs = []
    for name in "AB":
        if name in arrays:
            graphs.append(arrays[name].astype(float))
        else:
            n = len(arrays[f"{name}_indptr"]) - 1
            parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
            graphs.append(sparse.csr_array(parts, shape=(n, n)))
    seeds = arrays["seeds"]
    return (*graphs, seeds if len(seeds) else None)


def warm_up(run, sparsely):  # noqa: ANN001, ANN201
    """Match tiny graphs that have little in common, so that every phase runs and compiles or imports what it needs."""
    rng, graphs = np.random.default_rng(0), []
    for _ in "AB":
        upper = np.triu(rng.random((WARM_UP, WARM_UP)) < 0.3, 1).astype(float)
        graphs.append(sparse.csr_array(upper + upper.T) if sparsely else upper + upper.T)
    for seeds in (None, np.column_stack([np.arange(3)] * 2)):
        run(*graphs, seeds, 0)


def forget_peak():  # noqa: ANN201
    """Let the peak of memory begin anew, where Linux lets us."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mib():  # noqa: ANN201
    """Return the most memory that this process had, and the largest of its children."""
    import resource

    scale = 2**20 if sys.platform == "darwin" else 2**10
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / scale
    try:  # that of getrusage cannot begin anew, and contains what the parent had when it started this process
        words = Path("/proc/self/status").read_text().split()
        return int(words[words.index("VmHWM:") + 1]) / 2**10 + children
    except (OSError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale + children


def answer(run, task):  # noqa: ANN001, ANN201
    """Make one run."""
    A, B, seeds = load(task["file"])
    gc.collect()
    forget_peak()
    faulthandler.dump_traceback_later(task["limit"], exit=True)
    try:
        begin = perf_counter()
        p = run(A, B, seeds, task["seed"])
        seconds = perf_counter() - begin
        np.save(task["out"], np.asarray(p, dtype=np.int64))
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"}
    finally:
        faulthandler.cancel_dump_traceback_later()
    return {"seconds": seconds, "peak_mib": peak_mib()}


def installed():  # noqa: ANN201
    """Return the versions that matter."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def main(name: str, kind: str) -> None:
    """Answer until the input ends."""
    words = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print goes elsewhere

    def say(what):  # noqa: ANN001, ANN202
        words.write(json.dumps(what) + "\n")
        words.flush()

    try:
        run = CONTESTANTS[name]()
        warm_up(run, kind == "sparse")
    except Exception as error:
        say({"missing": f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"})
        return
    say({"versions": installed()})
    for line in sys.stdin:
        say(answer(run, json.loads(line)))


if __name__ == "__main__":
    main(*sys.argv[1:])
