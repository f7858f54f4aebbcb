"""The engine for GPUs on one card: what an iteration costs, what starts are worth, and what searches find.

Eight parts of some cases each. A case that is done is kept in the file, and a later run goes on with those that are
not, also after changes of the code: `runs` says with which code and on which machine each row was made. A case that
fails is kept with what it said, and made again by the next run. Without installation, on a machine with a GPU:

    PYTHONPATH=src:. python -m benchmarks.gpu --out DIR [--parts PART,PART] [--seconds 550] [--again]

`loops.py` has the loops of other libraries and the floor, `faq.py` SciPy's FAQ; both are scripts in processes of their
own.
"""

from math import inf
from time import perf_counter
from typing import Any

from trisplit.errors import InputError

from ..resume import code, earlier_rows
from ..timing import Report
from .checks import CHECKS
from .goals import goals
from .iterations import ITERATIONS, LARGE_PART
from .part import Bench, Part, describe, find_device
from .report import figure, tables
from .searches import PAPER, QUALITY, REACH
from .starts import PRECISION, STARTS

__all__ = ["PARTS", "figure", "run", "tables"]

PARTS: dict[str, Part] = {
    "checks": CHECKS,
    "iterations": ITERATIONS,
    "large": LARGE_PART,
    "starts": STARTS,
    "precision": PRECISION,
    "quality": QUALITY,
    "reach": REACH,
    "paper": PAPER,
}
COLUMNS = ["part", "case", "run", "seconds", "found"]
SAME = ("version", "quick", "device", "settings", "columns")


def run(
    record: dict[str, Any],
    quick: bool,
    report: Report,
    *,
    instances: list[str] | None = None,
    parts: list[str] | None = None,
    before: dict[str, Any] | None = None,
    again: bool = False,
    seconds: float = inf,
) -> None:
    """Fill `record` with a row for each case, those of the record `before` included, which are not measured again.

    `again` measures the parts anew. After so many `seconds` no case is begun.
    """
    begin, bench = perf_counter(), Bench(find_device(quick), quick)
    record["missing"] = []  # the tables say which libraries are
    record["device"] = describe(bench.device)
    record["settings"] = {name: part.settings(quick) for name, part in PARTS.items()}
    record["columns"], record["rows"], record["goals"] = COLUMNS, [], []
    earlier = earlier_rows(record, before, same=SAME, same_machine=())
    record["runs"] = [] if before is None else before["runs"]
    now = {"date": record["date"], "code": code(), "machine": record["machine"], "versions": record["versions"]}
    if not record["runs"] or record["runs"][-1] != now:
        record["runs"].append(now)
    chosen = [(name, case) for name in parts or PARTS for case in narrowed(PARTS[name], quick, instances)]
    if not chosen:
        raise InputError(f"no part has a case for {', '.join(instances or [])}; leave --instances out")
    record["rows"] = [row for row in earlier if "failed" not in row[-1] and not (again and tuple(row[:2]) in chosen)]
    record["goals"] = goals(record)
    done = {tuple(row[:2]) for row in record["rows"]}
    missing = [one for one in chosen if one not in done]
    for k, (name, case) in enumerate(missing):
        if perf_counter() - begin > seconds:
            break
        report(f"{name}, {case}", k / len(missing))
        record["rows"].append([name, case, len(record["runs"]) - 1, *measured(bench, PARTS[name], case)])
        record["goals"] = goals(record)


def narrowed(part: Part, quick: bool, instances: list[str] | None) -> list[str]:
    """Return the cases of a part that are asked for: those of some instances, or all."""
    cases = part.cases(quick)
    if instances is None:
        return cases
    return [case for case in cases if case.split()[0] in instances] if part.by_instance else []


def measured(bench: Bench, part: Part, case: str) -> tuple[float, dict[str, Any]]:
    """Return the seconds that a case took and what it found; one that fails says why."""
    begin = perf_counter()
    try:
        found = part.measure(bench, case)
    except Exception as error:
        found = {"failed": f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"}
    return round(perf_counter() - begin, 3), found
