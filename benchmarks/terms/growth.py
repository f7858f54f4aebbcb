"""How the time of a proximal map grows with the length of a vector."""

from collections.abc import Callable
from typing import Any

import numpy as np

from trisplit import terms

from ..report import Table, duration
from ..timing import Report, take_turns

SIZES, QUICK_SIZES = (10**3, 10**4, 10**5, 10**6, 10**7), (10**3, 10**4)
# name: what the documentation says, and the term for vectors of length n
MAPS: dict[str, tuple[str, Callable[[int], terms.BaseTerm]]] = {
    "simplex": ("n log n or better", lambda n: terms.Simplex()),
    "L1 ball": ("n log n or better", lambda n: terms.L1Ball(n / 1000)),
    "1-D total variation": ("n", lambda n: terms.TotalVariation()),
    "isotonic": ("n", lambda n: terms.Isotonic()),
}


def call(term: terms.BaseTerm, x: np.ndarray) -> Callable[[], object]:
    return lambda: term.prox(x, 1.0)


def run(record: dict[str, Any], quick: bool, report: Report) -> None:
    """Fill `record["growth"]` with a row for each map and length."""
    sizes = QUICK_SIZES if quick else SIZES
    record["growth"] = []
    for k, n in enumerate(sizes):
        report(f"growth, n = {n:,}", 0.8 + 0.2 * k / len(sizes))
        x = np.random.default_rng(1).standard_normal(n)
        times = take_turns({name: call(make(n), x) for name, (_, make) in MAPS.items()}, 3 if n > 10**6 else 7)
        record["growth"] += [{"map": name, "n": n, "seconds": seconds} for name, seconds in times.items()]


def exponent(record: dict[str, Any], name: str) -> float | None:
    """Return the exponent of n that fits the times from 10^4 entries on; below, the call itself counts."""
    rows = [row for row in record["growth"] if row["map"] == name and row["n"] >= 10**4]
    if len(rows) < 2:
        return None
    return float(np.polyfit(np.log([row["n"] for row in rows]), np.log([min(row["seconds"]) for row in rows]), 1)[0])


def table(record: dict[str, Any]) -> Table:
    """Return the times, and the exponent of n."""
    sizes = list(dict.fromkeys(row["n"] for row in record["growth"]))
    grown = Table("how time grows with n", ["map", *(f"n = {n:,}" for n in sizes), "documented", "time ~ n^"])
    for name, (documented, _) in MAPS.items():
        times = [duration(min(row["seconds"])) for row in record["growth"] if row["map"] == name]
        found = exponent(record, name)
        grown.rows.append([name, *times, documented, "" if found is None else f"{found:.2f}"])
    return grown
