"""What was aimed at on an H200, next to what was measured so far."""

from statistics import fmean
from typing import Any

from trisplit.paper.instances import assignment_error, best_known, paper_instances

from ..qap.goals import goal
from .checks import ALLOWED
from .checks import cases as check_cases
from .iterations import DENSE, OURS, SIZES, SPARSE
from .searches import GOALS, SEEDS
from .starts import AGAINST_FAQ, PRECISION_INSTANCES, SMALL

Found = dict[str, dict[str, Any]]
WITHIN = 1.5  # times the floor
LENGTH = 400  # iterations of a start at n = 30


def of_part(record: dict[str, Any], part: str) -> Found:
    """Return what the cases of a part found, without those that failed."""
    return {case: found for name, case, _, _, found in record["rows"] if name == part and "failed" not in found}


def floors(found: Found) -> dict[str, float]:
    """Return the floor of each size, in milliseconds."""
    sizes = found.get("floor", {}).get("sizes", {})
    return {size: one["milliseconds"] for size, one in sizes.items() if "milliseconds" in one}


def ours(found: Found) -> dict[str, float]:
    """Return our milliseconds at each size."""
    return {case.split()[1]: one["milliseconds"] for case, one in found.items() if case.startswith(OURS)}


def differences(found: Found, precision: str) -> tuple[float, float]:
    """Return by how much a precision is worse than float64, in percent: the best of all seeds, and the mean seed."""
    best, mean = [], []
    for name, one in found.items():
        size = max(best_known()[name], 1)
        best.append((min(one[precision]) - min(one["float64"])) / size)
        mean.append((fmean(one[precision]) - fmean(one["float64"])) / size)
    return 100 * fmean(best), 100 * fmean(mean)


def enough(found: Found) -> str | None:
    """Return the least number of iterations with which a start of ours is, in the mean, as good as one of FAQ.

    That is the mean over the instances of the errors' ratio; the largest number, if none is.
    """
    compared = [one for one in found.values() if "faq" in one]
    if not compared:
        return None
    lengths = sorted(compared[0]["ours"], key=int)
    return next((k for k in lengths if mean_ratio(compared, k) <= 1.0), lengths[-1])


def goals(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the goals of the parts that there are; in a quick run, which has others sizes, none is aimed at."""
    if record["quick"]:
        return []
    return [
        *of_checks(of_part(record, "checks")),
        *of_iterations(of_part(record, "iterations")),
        *of_starts(of_part(record, "starts")),
        *of_precision(of_part(record, "precision")),
        *of_quality(of_part(record, "quality"), of_part(record, "paper")),
        *of_large(of_part(record, "large"), record["device"]["memory_gib"]),
    ]


def wrong(found: Found) -> list[str]:
    """Return the checks that do not hold."""
    same = {
        case: one.get("same", all(one.get(kind, 0.0) <= most for kind, most in ALLOWED.items()))
        for case, one in found.items()
    }
    return [case for case, holds in same.items() if not holds]


def of_checks(found: Found) -> list[dict[str, Any]]:
    if not found:
        return []
    whole = len(found) == len(check_cases(False))
    return [goal("kernels that differ from their plain twins", len(wrong(found)), whole=whole, at_most=0)]


def of_iterations(found: Found) -> list[dict[str, Any]]:
    mine, least, aims = ours(found), floors(found), []
    ratios = {size: mine[size] / least[size] for size in SIZES if size in mine and size in least}
    if "100x4096" in mine:
        aims.append(goal("100x4096: milliseconds an iteration", mine["100x4096"], whole=True, at_most=0.48))
    if "100x4096" in ratios:
        aims.append(goal("100x4096: times the floor", ratios["100x4096"], whole=True, at_most=1.3))
    if ratios:
        worst, whole = max(ratios, key=lambda size: ratios[size]), len(ratios) == len(SIZES)
        aims.append(goal(f"times the floor, at most ({worst})", ratios[worst], whole=whole, at_most=WITHIN))
    return aims


def of_starts(found: Found) -> list[dict[str, Any]]:
    aims = []
    if SMALL in found:
        speed = found[SMALL]["ours"][str(LENGTH)]["per_second"]
        aims.append(goal(f"n = 30: starts a second, {LENGTH} iterations", speed, whole=True, at_least=250_000))
    length, compared = enough(found), [one for one in found.values() if "faq" in one]
    if length is None:
        return aims
    whole, cores = len(compared) == len(AGAINST_FAQ), compared[0]["faq"]["cores"]
    one, every = (
        min(each["ours"][length]["per_second"] / each["faq"][kind] for each in compared) for kind in ("one", "all")
    )
    say = f"n = 100, {length} iterations"
    return [
        *aims,
        goal(f"{say}: starts a second / FAQ's on 1 core, at least", one, whole=whole, at_least=500),
        goal(f"{say}: starts a second / FAQ's on {cores} cores, at least", every, whole=whole, at_least=40),
        goal(f"{say}: error of a start / FAQ's, mean", mean_ratio(compared, length), whole=whole, at_most=1.0),
    ]


def mean_ratio(compared: list[dict[str, Any]], length: str) -> float:
    """Return the error of a start of ours over that of one of FAQ, in the mean of the instances."""
    return fmean(one["ours"][length]["error"] / one["faq"]["error"] for one in compared)


def of_precision(found: Found) -> list[dict[str, Any]]:
    if not found:
        return []
    best, mean = differences(found, "tf32")
    whole = len(found) == len(PRECISION_INSTANCES)
    return [
        goal("TF32: best cost of all seeds above float64's, percent", best, whole=whole, at_most=0.02),
        goal("TF32: best cost of a seed above float64's, percent", mean, whole=whole, at_most=0.02),
    ]


def of_quality(found: Found, paper: Found) -> list[dict[str, Any]]:
    aims = []
    for name, percent in GOALS.items():
        gaps = [100 * one["gap"] for case, one in found.items() if case.split()[0] == name]
        if gaps:
            whole = len(gaps) == len(SEEDS)
            aims.append(goal(f"{name}, 10 s: gap in percent, worst seed", max(gaps), whole=whole, at_most=percent))
    if paper:
        at_best = sum(assignment_error(one["cost"], best_known()[name]) <= 0 for name, one in paper.items())
        whole = len(paper) == len(paper_instances())
        aims.append(goal("5 s: at the best-known cost", at_best, whole=whole, at_least=110))
    return aims


def of_large(found: Found, memory: float | None) -> list[dict[str, Any]]:
    aims = []
    dense, sparse = found.get(DENSE), found.get(SPARSE)
    if dense is not None and dense["products"] is not None:
        ratio = dense["milliseconds"] / dense["products"]
        aims.append(goal(f"n = {dense['n']:,} dense: times its two products", ratio, whole=True, at_most=WITHIN))
    if sparse is not None and memory is not None:
        share = sparse["peak_gib"] / memory
        aims.append(goal(f"n = {sparse['n']:,} sparse: share of the card's memory", share, whole=True, at_most=1.0))
    return aims
