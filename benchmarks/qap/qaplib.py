"""Every instance of the paper, as a user would solve it: cost, lower bound, time, and whether what is said is true.

    minimise over permutations p   sum_ij A[i,j] B[p[i],p[j]]

Searches are `solve(instance, time_limit=T, workers=2, rng=seed)` for some T and seeds. A search ends early at the
best-known cost, where nothing more can be won. Lower bounds are those of `lower_bound(instance, time_limit=60)`, in a
time of their own. Time is that of the whole call; before the first one a small instance is solved, so that no
compilation is timed. `trisplit.verify` then checks every result, in the form that `trisplit solve --json` writes, and
the certificate of every bound.
"""

from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import trisplit as ts
from trisplit.cli.solve import write_json
from trisplit.verify import UnreadableError, WrongError, proven_bound, verify

from ..resume import code, earlier_rows
from ..timing import Report
from .calls import BOUNDS, FIRST, LONG, SHORT, Call, Part, gaps, of_part, proven, too_late
from .gaps import improvements, warm_up
from .goals import goal
from .instances import PAPER, QUICK
from .qaplib_report import figure, tables

__all__ = ["PARTS", "figure", "run", "tables"]

WORKERS = 2
ENTRIES = {entry.name: entry for entry in ts.qap.table()}
PARTS = {
    FIRST: Part(0.2, (0,), rows=100),
    SHORT: Part(10.0, (0, 1, 2)),
    LONG: Part(60.0, (0,)),
    BOUNDS: Part(60.0, (None,)),
}
QUICK_PARTS = {
    FIRST: Part(0.05, (0,), rows=100),
    SHORT: Part(0.1, (0, 1)),
    LONG: Part(0.2, (0,)),
    BOUNDS: Part(0.2, (None,)),
}
# The 26 on which FAQ with 100 starts has a mean gap of 2.7 %, and Hexaly in a minute each one of 1.1 %
TAILLARD = tuple(name for name in PAPER if name.startswith("tai"))


def run(
    record: dict[str, Any],
    quick: bool,
    report: Report,
    *,
    instances: list[str] | None = None,
    parts: list[str] | None = None,
    before: dict[str, Any] | None = None,
) -> None:
    """Fill `record` with a row for each call, those of the record `before` included, which are not made again."""
    schedule = QUICK_PARTS if quick else PARTS
    record["missing"] = []  # there are no peers
    record["code"] = code()
    record["settings"] = {
        "parts": {name: part._asdict() for name, part in schedule.items()},
        "search": f"solve(instance, time_limit=limit, target=best_known, workers={WORKERS}, rng=seed)",
        "bound": "lower_bound(instance, time_limit=limit)",
    }
    record["columns"], record["goals"] = list(Call._fields), []
    record["rows"] = earlier_rows(record, before)
    done = {(call.part, call.seed, call.instance) for call in map(Call._make, record["rows"])}
    wanted = [
        (name, seed, instance)
        for name in parts or schedule
        for seed in schedule[name].seeds
        for instance in names_of(name, schedule[name], quick, instances)
    ]
    missing = [one for one in wanted if one not in done]
    if missing:
        warm_up()
    for k, (name, seed, instance) in enumerate(missing):
        report(f"{name}, {instance}", k / len(missing))
        record["rows"].append(make(schedule[name].limit, name, ts.qap.load(instance), seed))
        if not quick:  # so little time says nothing
            record["goals"] = goals(record)


def names_of(name: str, part: Part, quick: bool, instances: list[str] | None) -> list[str]:
    """Return the instances of a part: those asked for, else a few, or all of the paper, or all that there are."""
    some = QUICK if quick else tuple(ENTRIES) if name == BOUNDS else PAPER
    return [one for one in instances or some if part.rows is None or ENTRIES[one].n <= part.rows]


def make(limit: float, part: str, instance: ts.qap.Instance, seed: int | None) -> Call:
    """Make one call, and check what comes of it."""
    return bound(limit, part, instance) if seed is None else search(limit, part, instance, seed)


def search(limit: float, part: str, instance: ts.qap.Instance, seed: int) -> Call:
    """Call `solve`, which turns Ctrl-C into a result; here it is to end the benchmark."""
    begin = perf_counter()
    result = ts.qap.solve(instance, time_limit=limit, target=instance.best_known, workers=WORKERS, rng=seed)
    seconds = perf_counter() - begin
    if result.status is ts.qap.QAPStatus.INTERRUPTED:
        raise KeyboardInterrupt
    return Call(
        part=part,
        instance=instance.name,
        n=instance.n,
        seed=seed,
        limit=limit,
        seconds=round(seconds, 4),
        cost=result.cost,
        gap=result.gap,
        bound=result.lower_bound,
        method=None if result.bound is None else result.bound.method,
        refused=refusal(instance, result),
        steps=improvements(result),
    )


def bound(limit: float, part: str, instance: ts.qap.Instance) -> Call:
    """Call `lower_bound`."""
    begin = perf_counter()
    found = ts.qap.lower_bound(instance, time_limit=limit)
    seconds = perf_counter() - begin
    try:
        value = proven_bound(instance.A, instance.B, instance.C, found.certificate)
        refused = None if value == found.value else f"the certificate proves {value}, not {found.value}"
    except WrongError as error:
        refused = str(error)
    measured = instance.name, instance.n, None, limit, round(seconds, 4)
    return Call(part, *measured, None, None, found.value, found.method, refused, [])


def refusal(instance: ts.qap.Instance, result: ts.qap.QAPResult) -> str | None:
    """Return what is wrong with a result according to `trisplit verify`, None if it is right."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        write_json(path, instance, result)
        try:
            verify(path)
        except (WrongError, UnreadableError) as error:
            return str(error)
    return None


def goals(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was aimed at, and what was measured so far."""
    small = [name for name in PAPER if ENTRIES[name].n <= (PARTS[FIRST].rows or 0)]
    aims = [
        *reached(record, SHORT, PAPER, mean=0.02, at_best=123),
        *reached(record, LONG, PAPER, mean=0.012, at_best=126),
        *reached(record, LONG, TAILLARD, mean=0.06, whose="Taillard's 26, "),
        *reached(record, FIRST, small, mean=4.0, whose="n <= 100, "),
    ]
    calls, bounds = list(map(Call._make, record["rows"])), of_part(record, BOUNDS)
    above = sum(call.bound is not None and call.bound > ENTRIES[call.instance].best_known for call in calls)
    ours, all_bounds = proven(record), set(bounds) >= set(ENTRIES)
    searched = all(set(of_part(record, part, 0)) >= set(PAPER) for part in (SHORT, LONG))
    if bounds:
        aims.append(goal("proven by a bound of 60 s", len(ours), whole=all_bounds and searched, at_least=20))
    refused = sum(call.refused is not None for call in calls)
    late = sum(map(too_late, calls))
    whole = all_bounds and searched
    return [
        *aims,
        goal("bounds above the best-known cost", above, whole=whole, at_most=0),
        goal("results and bounds that `verify` refuses", refused, whole=whole, at_most=0),
        goal("calls that end too late: by more than 5 % and 0.2 s", late, whole=whole, at_most=0),
    ]


def reached(
    record: dict[str, Any],
    part: str,
    names: tuple[str, ...] | list[str],
    *,
    mean: float,
    at_best: int = 0,
    whose: str = "",
) -> list[dict[str, Any]]:
    """Return the goals for the mean gap in percent of a part, and for how many instances are at the best-known cost."""
    found = {name: gap for name, gap in gaps(record, part, 0).items() if name in names}
    if not found:
        return []
    whole, label = len(found) == len(names), f"{whose}{PARTS[part].limit:g} s"
    aims = [goal(f"{label}: mean gap in percent", 100 * fmean(found.values()), whole=whole, at_most=mean)]
    if at_best:
        number = sum(gap <= 0 for gap in found.values())
        aims.append(goal(f"{label}: at the best-known cost", number, whole=whole, at_least=at_best))
    return aims
