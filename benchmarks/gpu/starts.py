"""Starts a second and the mean error of a start, against SciPy's FAQ on one core and on all; and three precisions.

A start of ours is drawn, iterates, and is rounded by auction, as in a search; nothing is polished. Times are
those of the wall clock, for a whole batch. The error of a start is (cost - best known) / max(best known, 1).
"""

from statistics import fmean, median
from time import perf_counter
from typing import Any

import trisplit as ts
from trisplit.paper.instances import assignment_error

from . import scripts
from .part import Bench, Part, batch_of, cores, costs, forget, synchronize, tangent

SMALL = "nug30"
AGAINST_FAQ = ("sko100a", "tai100a", "wil100", "tai100b")
BATCHES = {SMALL: 16_384, **dict.fromkeys(AGAINST_FAQ, 4_096)}
QUICK_BATCHES = {"nug12": 6, "chr12a": 5}
LENGTHS, QUICK_LENGTHS = (100, 200, 400, 1000), (20, 40)  # iterations
REPEATS = 5
FAQ_SECONDS, QUICK_FAQ_SECONDS = 6.0, 0.05

PRECISIONS = ("tf32", "float32", "float64")
# fmt: off
PRECISION_INSTANCES = (
    "bur26a", "chr25a", "els19", "esc32a", "had20", "kra30a", "lipa50a", "lipa70b", "nug30", "rou20",
    "scr20", "sko49", "sko81", "sko100a", "ste36a", "tai35b", "tai60a", "tai80b", "tho40", "wil100",
)
# fmt: on
QUICK_PRECISION_INSTANCES = ("nug12", "esc16f")
PRECISION_STARTS, PRECISION_LENGTH, PRECISION_SEEDS = (2_048, 6), (400, 40), (10, 2)  # in full, and quick


def batches(quick: bool) -> dict[str, int]:
    return QUICK_BATCHES if quick else BATCHES


def measure(bench: Bench, case: str) -> dict[str, Any]:
    """Measure our starts on an instance, for each number of iterations, and FAQ's."""
    forget(bench)
    instance, number = ts.qap.load(case), batches(bench.quick)[case]
    form = tangent(instance)
    found: dict[str, Any] = {"n": instance.n, "starts": number, "ours": {}}
    for length in QUICK_LENGTHS if bench.quick else LENGTHS:
        batch, times, errors = batch_of(form, number, bench), [], []
        for seed in range(2 if bench.quick else REPEATS + 1):
            synchronize(bench)
            begin = perf_counter()
            batch.begin(seed)
            batch.advance(length)
            permutations = batch.permutations()
            synchronize(bench)
            times.append(perf_counter() - begin)
            errors.append(mean_error(instance, costs(instance, permutations).tolist()))
        # The first one compiles
        found["ours"][str(length)] = {"per_second": number / median(times[1:]), "error": fmean(errors)}
        del batch
    if case != SMALL:
        found["faq"] = against(instance, bench.quick)
    return found


def against(instance: ts.qap.Instance, quick: bool) -> dict[str, Any]:
    """Measure FAQ on one core and on all."""
    seconds = QUICK_FAQ_SECONDS if quick else FAQ_SECONDS
    runs = {number: scripts.faq(instance, number, seconds) for number in (1, cores(quick))}
    every = [cost for run in runs.values() for cost in run["costs"]]
    return {
        "cores": cores(quick),
        "one": runs[1]["per_second"],
        "all": runs[cores(quick)]["per_second"],
        "starts": len(every),
        "error": mean_error(instance, every),
    }


def mean_error(instance: ts.qap.Instance, found: list[float]) -> float:
    """Return the mean error of some costs."""
    return fmean(assignment_error(cost, instance.best_known) for cost in found)  # pyright: ignore[reportArgumentType]


def precision(bench: Bench, case: str) -> dict[str, Any]:
    """Return for each precision the least cost of each seed's batch, as `Instance.cost` has it."""
    forget(bench)
    instance = ts.qap.load(case)
    starts, length, seeds = (one[bench.quick] for one in (PRECISION_STARTS, PRECISION_LENGTH, PRECISION_SEEDS))
    form = tangent(instance)
    found: dict[str, Any] = {}
    for name in PRECISIONS:
        batch, best = batch_of(form, starts, bench, name), []
        for seed in range(seeds):
            batch.begin(seed)
            batch.advance(length)
            permutations = batch.permutations()
            least = costs(instance, permutations).argmin()
            best.append(instance.cost(permutations[least].cpu().numpy()))
        found[name] = best
        del batch
    return found


STARTS = Part(
    cases=lambda quick: list(batches(quick)),
    measure=measure,
    settings=lambda quick: {
        "starts": batches(quick),
        "iterations": list(QUICK_LENGTHS if quick else LENGTHS),
        "faq": "quadratic_assignment(A, B, method='faq', options={'P0': 'randomized', 'rng': rng})",
        "faq_seconds": QUICK_FAQ_SECONDS if quick else FAQ_SECONDS,
    },
    by_instance=True,
)
PRECISION = Part(
    cases=lambda quick: list(QUICK_PRECISION_INSTANCES if quick else PRECISION_INSTANCES),
    measure=precision,
    settings=lambda quick: {
        "starts": PRECISION_STARTS[quick],
        "iterations": PRECISION_LENGTH[quick],
        "seeds": PRECISION_SEEDS[quick],
    },
    by_instance=True,
)
