"""The calls that `trisplit bench qaplib` makes, and what is asked about those that were made."""

from math import inf
from typing import Any, NamedTuple

FIRST, SHORT, LONG, BOUNDS = "first", "short", "long", "bounds"
SEARCHES = (FIRST, SHORT, LONG)
OVERTIME, OVERTIME_SHARE = 0.2, 0.05  # a call may take so many seconds more than its limit, or this share of it


class Part(NamedTuple):
    """Which calls there are: for each of the seeds, on each instance of up to so many rows."""

    limit: float  # seconds
    seeds: tuple[int | None, ...]
    rows: int | None = None


class Call(NamedTuple):
    """One call and what came of it; a line of the JSON file. A bound has no seed, no cost and no steps."""

    part: str
    instance: str
    n: int
    seed: int | None
    limit: float
    seconds: float
    cost: int | float | None
    gap: float | None
    bound: int | float | None
    method: str | None  # of the bound
    refused: str | None  # what `verify` has to say against it
    steps: list[list[float]]  # when the best cost became smaller, and what it was then


def of_part(record: dict[str, Any], part: str, seed: int | None = None) -> dict[str, Call]:
    """Return the calls of a part with a seed (a bound has none), by instance."""
    found = (Call._make(row) for row in record["rows"])
    return {call.instance: call for call in found if (call.part, call.seed) == (part, seed)}


def gaps(record: dict[str, Any], part: str, seed: int) -> dict[str, float]:
    """Return the gap of each instance."""
    return {name: call.gap for name, call in of_part(record, part, seed).items() if call.gap is not None}


def proven(record: dict[str, Any]) -> set[str]:
    """Return the instances for which a bound of ours equals a cost of ours: no permutation is cheaper."""
    least: dict[str, float] = {}
    for call in map(Call._make, record["rows"]):
        least[call.instance] = min(least.get(call.instance, inf), inf if call.cost is None else call.cost)
    bounds = of_part(record, BOUNDS).values()
    return {call.instance for call in bounds if call.bound is not None and call.bound >= least[call.instance]}


def overtime(call: Call) -> float:
    """Return by how many seconds the call has exceeded its limit."""
    return max(call.seconds - call.limit, 0.0)


def too_late(call: Call) -> bool:
    """Say whether that is more than allowed."""
    return overtime(call) > max(OVERTIME, OVERTIME_SHARE * call.limit)
