"""Graph matching against graspologic, SciPy's FAQ, POT's Gromov-Wasserstein and pygmtools.

    maximise over permutations p   sum_ij A[i,j] B[p_i,p_j]

B is a noisy copy of A in another order, so that the right match is known: what counts is which part of the vertices
without seed is right, the score, the seconds of the call and the most memory of its process. `lines.py` says what is
matched. All contestants get the same files, take turns seed by seed, each in a process of its own with the same number
of threads, and nothing else runs. graspologic needs an older NumPy, so it has an environment of its own, whose Python
the variable TRISPLIT_GRASPOLOGIC names; POT and pygmtools may be in either.

Every run is kept at once, and a later call goes on with those that are missing or have failed, also after changes of
the code: `runs` in the file says with which code each was made. Without installation, and with more options:

    PYTHONPATH=src:. python -m benchmarks.matching --out DIR [--lines 'er-500-*'] [--contestants trisplit] [--again]
"""

from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

from trisplit.errors import InputError

from ..resume import SEARCHED, code, earlier_rows
from ..timing import Report
from .goals import GIVEN_UP, TRIED, goals, hopeless
from .graphs import draw, save
from .lines import PARTS, Line, choose_lines, lines
from .processes import CONTESTANTS, OURS, THREADS, TIME_OUT, TOO_LARGE, Workers, measure, workers
from .report import figure, tables

__all__ = ["CONTESTANTS", "PARTS", "choose_lines", "figure", "run", "tables"]

SAME = ("version", "quick", "settings", "columns")
FOLDERS = (*SEARCHED, "matching")
PATIENCE = 2  # time-outs of a peer on a line, after which it is not tried there any more
NOT_RUN = f"{TIME_OUT}, not run after {PATIENCE} of them"
FINAL = (TIME_OUT, NOT_RUN, TOO_LARGE, GIVEN_UP)  # other failures are tried again


class Row(NamedTuple):
    """One run: `run` is the place in `runs`; `failed` is None, and then the numbers are not, or how it ended."""

    line: str
    seed: int
    contestant: str
    run: int
    failed: str | None
    accuracy: float | None
    score: float | None
    true_score: float
    seconds: float | None
    peak_mib: float | None


def run(
    record: dict[str, Any],
    quick: bool,
    report: Report,
    *,
    instances: list[str] | None = None,
    parts: list[str] | None = None,
    before: dict[str, Any] | None = None,
    contestants: list[str] | None = None,
    peers: str | None = None,
    again: bool = False,
    seconds: float = inf,
) -> None:
    """Fill `record` with a row for each run, those of the record `before` included, which are not made again.

    `instances` are names of lines, or patterns. `again` makes the chosen runs anew. After so many `seconds` no run is
    begun. `peers` is the Python of the environment with the other libraries.
    """
    begin, all_lines = perf_counter(), {line.name: line for line in lines(quick)}
    record["missing"] = []  # the tables say which libraries are
    record["settings"] = {
        "threads": THREADS,
        "patience": PATIENCE,
        "calls": {name: one.call for name, one in CONTESTANTS.items()},
        "largest_n": {name: one.most for name, one in CONTESTANTS.items() if one.most < 10**9},
        "lines": {name: line._asdict() for name, line in all_lines.items()},
    }
    record["columns"], record["rows"], record["goals"] = list(Row._fields), [], []
    earlier = earlier_rows(record, before, same=SAME)
    record["runs"] = [] if before is None else before["runs"]
    record["contestants"] = {} if before is None else before["contestants"]
    now = {
        "date": record["date"],
        "code": code(FOLDERS),
        "machine": record["machine"],
        "versions": record["versions"],
    }
    if not record["runs"] or record["runs"][-1] != now:
        record["runs"].append(now)
    chosen = wanted(all_lines, quick, instances, parts, contestants)
    anew = set(chosen) if again else set()
    record["rows"] = [row for row in earlier if row[4] in (None, *FINAL) and tuple(row[:3]) not in anew]
    record["goals"] = goals(record)
    done = {tuple(row[:3]) for row in record["rows"]}
    missing = [one for one in chosen if one not in done]
    with workers(peers) as lent, TemporaryDirectory() as folder:
        drawn = None
        for k, (name, seed, contestant) in enumerate(missing):
            if perf_counter() - begin > seconds:
                break
            report(f"{name}, seed {seed}, {contestant}", k / len(missing))
            if drawn is None or drawn[0] != (name, seed):
                drawn = (name, seed), draw(all_lines[name], seed)
                save(f"{folder}/pair.npz", drawn[1])
            made = one_run(record, lent, all_lines[name], seed, contestant, drawn[1], Path(folder))
            if contestant in lent.versions:
                record["contestants"][contestant] = lent.versions[contestant]
            if "missing" in lent.versions.get(contestant, {}):
                continue
            record["rows"].append(list(made))
            record["goals"] = goals(record)


def wanted(
    all_lines: dict[str, Line],
    quick: bool,
    instances: list[str] | None,
    parts: list[str] | None,
    contestants: list[str] | None,
) -> list[tuple[str, int, str]]:
    """Return the runs that are asked for, seed by seed."""
    for name in contestants or ():
        if name not in CONTESTANTS:
            raise InputError(f"there is no contestant {name!r}; choose some of {', '.join(CONTESTANTS)}")
    names = list(all_lines) if instances is None else choose_lines(instances, quick)
    found = [
        (name, seed, contestant)
        for name in names
        if parts is None or all_lines[name].part in parts
        for seed in range(all_lines[name].runs)
        for contestant in contestants or CONTESTANTS
        if all_lines[name].n <= CONTESTANTS[contestant].most and seed < CONTESTANTS[contestant].runs
    ]
    if not found:
        raise InputError("these lines, parts and contestants have no run in common; leave one of the options out")
    return found


def one_run(
    record: dict[str, Any], lent: Workers, line: Line, seed: int, contestant: str, pair: Any, folder: Path
) -> Row:
    """Make one run, unless the contestant has been too late on this line before, or the line is left out anyway."""
    fate = [row[4] for row in record["rows"] if row[0] == line.name and row[2] == contestant]
    if contestant != OURS and fate.count(TIME_OUT) >= PATIENCE:
        found: dict[str, Any] = {"failed": NOT_RUN}
        p = None
    elif seed >= TRIED and hopeless(record, line.name):
        found, p = {"failed": GIVEN_UP}, None
    else:
        found, p = measure(lent, contestant, line, seed, folder)
    row = Row(
        line.name, seed, contestant, len(record["runs"]) - 1, found.get("failed"), None, None,
        pair.score(pair.truth), None, None,
    )  # fmt: skip
    if p is None:
        return row
    return row._replace(
        accuracy=round(pair.accuracy(p), 6),
        score=pair.score(p),
        seconds=round(found["seconds"], 6),
        peak_mib=round(found["peak_mib"], 1),
    )
