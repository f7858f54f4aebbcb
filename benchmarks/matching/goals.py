"""What was aimed at, next to what was measured so far.

A run of a peer that is too late, or does not fit, counts as nothing right, in the time that it was given.
"""

from statistics import fmean, median, stdev
from typing import Any, NamedTuple

from ..qap.goals import goal
from .lines import Line
from .processes import GRASPOLOGIC, OURS

LEFT_OUT = 0.1  # accuracy below which both have failed
SOLVED = 0.99
TRIED = 3  # seeds; a line on which both have failed on each of these is left out, and not run any further
GIVEN_UP = f"left out after {TRIED} seeds"
LARGE = {  # accuracy, seconds, GiB
    "sparse-5000-0.9-1": (0.99, 300.0, 8.0),
    "sparse-20000-0.9-1": (0.95, 2400.0, 24.0),
}


class Runs(NamedTuple):
    """The runs of a contestant on a line, by seed: accuracies and seconds; how many were too late; memory."""

    accuracy: dict[int, float]
    seconds: dict[int, float]
    late: int = 0
    peak_mib: float = 0.0
    why: str = ""  # the last was late

    @property
    def mean(self) -> float:
        return fmean(self.accuracy.values())

    @property
    def time(self) -> float:
        return median(self.seconds.values())


class Duel(NamedTuple):
    """Ours against graspologic on a line: mean accuracies, the standard error of their difference, ratio of times."""

    ours: float
    theirs: float
    error: float
    ratio: float

    @property
    def counts(self) -> bool:
        return max(self.ours, self.theirs) >= LEFT_OUT

    @property
    def behind(self) -> bool:
        return self.ours < self.theirs - self.error


def of_lines(record: dict[str, Any]) -> dict[str, Line]:
    """Return the lines by name."""
    return {name: Line(**line) for name, line in record["settings"]["lines"].items()}


def runs(record: dict[str, Any]) -> dict[tuple[str, str], Runs]:
    """Return the runs of each line and contestant; those that have failed for other reasons than time are left out."""
    found: dict[tuple[str, str], Runs] = {}
    lines = of_lines(record)
    for line, seed, contestant, _, failed, accuracy, _, _, seconds, peak in record["rows"]:
        late = failed is not None and (failed.startswith("time-out") or failed == "does not fit")
        if failed is not None and not late:
            continue
        own = found.get((line, contestant), Runs({}, {}))
        limit = lines[line].own_limit if contestant == OURS else lines[line].limit
        own.accuracy[seed], own.seconds[seed] = (0.0, limit) if late else (accuracy, seconds)
        found[line, contestant] = own._replace(
            late=own.late + late,
            peak_mib=max(own.peak_mib, peak or 0.0),
            why=failed.partition(",")[0] if failed else own.why,
        )
    return found


def duels(record: dict[str, Any]) -> dict[str, Duel]:
    """Return the lines on which both have made all runs."""
    made, found = runs(record), {}
    for name, line in of_lines(record).items():
        ours, theirs = (made.get((name, who), Runs({}, {})) for who in (OURS, GRASPOLOGIC))
        count = TRIED if hopeless(record, name) else line.runs
        if not min(len(ours.accuracy), len(theirs.accuracy)) >= count:
            continue
        differences = [ours.accuracy[seed] - theirs.accuracy[seed] for seed in range(count)]
        error = stdev(differences) / count**0.5 if count > 1 else 0.0
        found[name] = Duel(ours.mean, theirs.mean, error, ours.time / theirs.time)
    return found


def hopeless(record: dict[str, Any], name: str) -> bool:
    """Say whether ours and graspologic have both failed on each of the first seeds of a line."""
    shares = {
        (row[1], row[2]): row[5] or 0.0
        for row in record["rows"]
        if row[0] == name and row[1] < TRIED and row[2] in (OURS, GRASPOLOGIC)
    }
    return len(shares) == 2 * TRIED and max(shares.values()) < LEFT_OUT


def goals(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the goals; in a quick run, which has other lines, none is aimed at."""
    return [] if record["quick"] else [*against_graspologic(record), *of_large(record)]


def against_graspologic(record: dict[str, Any]) -> list[dict[str, Any]]:
    met = duels(record)
    counted = [duel for duel in met.values() if duel.counts]
    if not counted:
        return []
    whole, open_lines = len(met) == len(of_lines(record)), [duel for duel in counted if duel.theirs < SOLVED]
    behind = sum(duel.behind for duel in counted)
    say = f"{len(counted)} lines"
    aims = [
        goal(f"{say}: accuracy below graspologic's by over one standard error", behind, whole=whole, at_most=0),
        goal(f"{say}: seconds / graspologic's, median", median(duel.ratio for duel in counted), whole=whole,
             at_most=0.5),
    ]  # fmt: skip
    if open_lines:
        share = fmean(duel.ours > duel.theirs for duel in open_lines)
        what = f"{len(open_lines)} lines where graspologic is below 99 %: share where ours is above it"
        aims.insert(1, goal(what, share, whole=whole, at_least=0.5))
    return aims


def of_large(record: dict[str, Any]) -> list[dict[str, Any]]:
    made, aims, lines = runs(record), [], of_lines(record)
    for name, (accuracy, seconds, gib) in LARGE.items():
        own = made.get((name, OURS))
        if own is None:
            continue
        whole, say = len(own.accuracy) == lines[name].runs, f"n = {lines[name].n:,}"
        aims += [
            goal(f"{say}: accuracy, mean", own.mean, whole=whole, at_least=accuracy),
            goal(f"{say}: seconds, slowest run", max(own.seconds.values()), whole=whole, at_most=seconds),
            goal(f"{say}: GiB, largest run", own.peak_mib / 2**10, whole=whole, at_most=gib),
        ]
    return aims
