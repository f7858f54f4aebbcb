"""Benchmarks: trisplit side by side with other libraries, in one run on one machine.

`trisplit bench NAME` runs one of them; the wheel carries them as `trisplit.benchmarks`. A benchmark is a file here with
`run(record, quick, report)`, `tables(record)` and `figure(record)`, and a line in `registry`.
"""

from typing import NamedTuple


class Benchmark(NamedTuple):
    """Where a benchmark is and what it measures.

    `by_instance` says that it goes through instances of QAPLIB, or those that its `choose` knows: its `run` also takes
    the names of some of them, and the record is saved after every one, as all of them take hours. `resumable` says that
    it goes on from the file of an earlier run: its `run` also takes that record, and names of its `PARTS`.
    """

    module: str
    about: str
    by_instance: bool = False
    resumable: bool = False


registry: dict[str, Benchmark] = {
    "core": Benchmark(
        "core", "iterations, gradients and seconds to a given suboptimality on three problems, against four libraries"
    ),
    "overhead": Benchmark(
        "overhead", "seconds per iteration, against a bare NumPy loop and copt; a batch of problems against a loop"
    ),
    "terms": Benchmark("terms", "seconds of proximal maps, against everybody who has them, and how they grow"),
    "stochastic": Benchmark(
        "stochastic", "passes over the data and seconds with estimated gradients on large tables, against copt's VRTOS"
    ),
    "mapped": Benchmark("mapped", "the gradient of a loss of samples in a mapped file, against reading the file"),
    "relax": Benchmark(
        "qap.relax", "seconds to a stationary point of the relaxed QAP, and its rounded cost, against Frank-Wolfe", True
    ),
    "multistart": Benchmark(
        "qap.multistart", "cost of the best permutation in equal time, without local search, against SciPy's FAQ", True
    ),
    "qaplib": Benchmark(
        "qap.qaplib", "cost, lower bound and time on every instance of QAPLIB, against best-known values", True, True
    ),
    "ablation": Benchmark(
        "qap.ablation", "the search on QAPLIB, against itself without one of its members", True, True
    ),
    "tabu": Benchmark("qap.tabu", "moves a second of the compiled tabu search, against one that is written as usual"),
    "gpu": Benchmark(
        "gpu",
        "iterations, starts and searches on one GPU, against its floor, other libraries and SciPy's FAQ",
        True,
        True,
    ),
    "matching": Benchmark(
        "matching",
        "graph matching: accuracy, score, seconds and memory, against graspologic, SciPy's FAQ, POT and pygmtools",
        True,
        True,
    ),
}
