"""What each member of the search contributes: the search against itself without one of them, all else equal.

The instances are those of the paper that were not solved at once when the list was made: 0.2 seconds did not suffice,
or hardly, or they have more than 100 rows (but for esc128, which is easy). Every search has the same time, workers and
seeds, and ends early at the best-known cost, where nothing more can be won.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import trisplit as ts
from trisplit.paper.style import COLOURS, STYLE
from trisplit.qap import islands, portfolio
from trisplit.qap.memetic import Recipe

from ..report import Table
from ..resume import code, earlier_rows
from ..timing import Report
from .gaps import EARLIEST, by_family, compare, improvements, over_time, percent, scale, warm_up
from .instances import BEST, QUICK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUBSET = (
    *("chr20b", "lipa80a", "lipa90a", "sko56", "sko64", "sko72", "sko81", "sko90"),
    *("sko100a", "sko100b", "sko100c", "sko100d", "sko100e", "sko100f", "ste36a"),
    *("tai35a", "tai40a", "tai50a", "tai60a", "tai80a", "tai100a"),
    *("tai50b", "tai60b", "tai80b", "tai100b", "tai150b", "tai256c"),
    *("tho40", "tho150", "wil100"),
)
WORKERS = 2
PARTS, QUICK_PARTS = {"short": 2.0, "long": 10.0}, {"short": 0.05, "long": 0.1}  # seconds
SEEDS, QUICK_SEEDS = (0, 1, 2), (0,)
FULL, NO_STARTS, NO_FACES, NO_CROSSING = "full", "no TOS starts", "no faces", "no crossing"
VARIANTS = {
    FULL: "solve as it is",
    NO_STARTS: "x0 is a random permutation, and no start relaxes and rounds; splittings on faces stay",
    NO_FACES: "solve(faces=False)",
    NO_CROSSING: "islands have a population of one, which is iterated tabu search",
}
LOOKS = dict(zip(VARIANTS, (COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[6]), strict=True))


class Search(NamedTuple):
    """What one variant found; a line of the JSON file."""

    part: str
    instance: str
    seed: int
    variant: str
    limit: float
    seconds: float
    cost: int | float
    gap: float
    steps: list[list[float]]  # when the best cost became smaller, and what it was then


@contextmanager
def patched(owner: object, **values: object) -> Iterator[None]:
    """Give attributes other values for a while."""
    before = {name: getattr(owner, name) for name in values}
    try:
        for name, value in values.items():
            setattr(owner, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


def without_starts() -> AbstractContextManager[object]:
    """Take the starts out of the search, which then begins at `x0`."""
    return patched(portfolio.Portfolio, starts=lambda self: iter(()))


def without_crossing() -> AbstractContextManager[object]:
    """Leave one member in each population, so that there are no parents."""

    def alone(instance: ts.qap.Instance) -> tuple[tuple[Recipe, float], ...]:
        return tuple((replace(recipe, population=1), share) for recipe, share in islands.roles(instance))

    return patched(portfolio, roles=alone)


PATCHES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    NO_STARTS: without_starts,
    NO_CROSSING: without_crossing,
}


def run(
    record: dict[str, Any],
    quick: bool,
    report: Report,
    *,
    instances: list[str] | None = None,
    parts: list[str] | None = None,
    before: dict[str, Any] | None = None,
) -> None:
    """Fill `record` with a row for each search, those of the record `before` included, which are not made again."""
    limits, seeds = (QUICK_PARTS, QUICK_SEEDS) if quick else (PARTS, SEEDS)
    record["missing"] = []  # there are no peers
    record["code"] = code()
    record["settings"] = {"variants": VARIANTS, "limits": limits, "seeds": list(seeds), "workers": WORKERS}
    record["columns"] = list(Search._fields)
    record["rows"] = earlier_rows(record, before)
    done = {(one.part, one.seed, one.instance, one.variant) for one in map(Search._make, record["rows"])}
    wanted = [
        (part, seed, name, variant)
        for part in parts or limits
        for seed in seeds
        for name in instances or (QUICK if quick else SUBSET)
        for variant in VARIANTS
    ]
    missing = [one for one in wanted if one not in done]
    if missing:
        warm_up()
    for k, (part, seed, name, variant) in enumerate(missing):
        report(f"{limits[part]:g} s, {name}", k / len(missing))
        record["rows"].append(measure(part, ts.qap.load(name), seed, variant, limits[part]))


def measure(part: str, instance: ts.qap.Instance, seed: int, variant: str, limit: float) -> Search:
    """Call `solve`, which turns Ctrl-C into a result; here it is to end the benchmark."""
    x0 = np.random.default_rng(seed).permutation(instance.n) if variant == NO_STARTS else None
    with PATCHES.get(variant, nullcontext)():
        begin = perf_counter()
        result = ts.qap.solve(
            instance,
            time_limit=limit,
            target=instance.best_known,
            x0=x0,
            faces=variant != NO_FACES,
            workers=WORKERS,
            rng=seed,
        )
        seconds = perf_counter() - begin
    if result.status is ts.qap.QAPStatus.INTERRUPTED:
        raise KeyboardInterrupt
    assert result.gap is not None
    numbers = limit, round(seconds, 4), result.cost, result.gap
    return Search(part, instance.name, seed, variant, *numbers, improvements(result))


Runs = dict[tuple[str, int], Search]  # by instance and seed


def paired(record: dict[str, Any], part: str) -> dict[str, Runs]:
    """Return the searches of each variant, where all variants have made theirs."""
    found: dict[str, Runs] = {variant: {} for variant in VARIANTS}
    for one in map(Search._make, record["rows"]):
        if one.part == part:
            found[one.variant][one.instance, one.seed] = one
    common = set.intersection(*(set(runs) for runs in found.values()))
    return {variant: {key: runs[key] for key in runs if key in common} for variant, runs in found.items()}


def tables(record: dict[str, Any]) -> list[Table]:
    """Return what each variant reached, and the mean gap of each family, for each limit."""
    shown = []
    for part, limit in record["settings"]["limits"].items():
        found = paired(record, part)
        if found[FULL]:
            shown += [summary(found, limit), families(found, limit)]
    return shown


def summary(found: dict[str, Runs], limit: float) -> Table:
    """Return mean and number at the best-known cost, and how often a variant beats the full search."""
    instances, seeds = (len(set(part)) for part in zip(*found[FULL], strict=True))
    table = Table(
        f"gap to the best-known cost in percent, {limit:g} s, {instances} instances, {seeds} seeds, {WORKERS} workers; "
        f"searches won / tied / lost against {FULL}",
        ["variant", "mean", "searches at best known", "against full"],
    )
    gaps = {variant: {key: one.gap for key, one in runs.items()} for variant, runs in found.items()}
    for variant, own in gaps.items():
        best = f"{sum(gap <= 0 for gap in own.values())} of {len(own)}"
        against = "" if variant == FULL else "/".join(map(str, compare(own, gaps[FULL])))
        table.rows.append([variant, percent(fmean(own.values())), best, against])
    return table


def families(found: dict[str, Runs], limit: float) -> Table:
    """Return the mean gap of each family."""
    means = []
    for runs in found.values():
        of_instances: dict[str, list[float]] = {}
        for (name, _), one in runs.items():
            of_instances.setdefault(name, []).append(one.gap)
        means.append(by_family({name: fmean(own) for name, own in of_instances.items()}))
    table = Table(f"mean gap of each family in percent, {limit:g} s", ["family", *VARIANTS])
    table.rows += [[name, *(percent(one[name]) for one in means)] for name in means[0]]
    return table


def figure(record: dict[str, Any]) -> "Figure":
    """Draw the mean gap over time, from when all searches have an answer, a panel for each limit."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    limits = {part: limit for part, limit in record["settings"]["limits"].items() if paired(record, part)[FULL]}
    with mpl.rc_context(STYLE):
        drawing = Figure(figsize=(9.0, 3.6), layout="constrained")
        panels = drawing.subplots(1, max(len(limits), 1), sharey=True, squeeze=False)[0]
        for panel, (part, limit) in zip(panels, limits.items(), strict=False):
            times = np.geomspace(EARLIEST, limit, 400)
            for variant, runs in paired(record, part).items():
                mean = np.mean([over_time(one.steps, BEST[one.instance], times) for one in runs.values()], axis=0)
                panel.plot(times, 100 * mean, color=LOOKS[variant], linewidth=2.4 if variant == FULL else 1.4)
            scale(panel, times)
            panel.set(xlabel="seconds", ylim=(-0.001, 10))
            panel.set_title(f"{limit:g} s a search")
        panels[0].set_ylabel("mean gap, percent")
        drawing.legend(panels[0].get_lines(), list(VARIANTS), loc="outside lower center", ncols=len(VARIANTS))
    return drawing
