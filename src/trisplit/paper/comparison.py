"""Who rounds to the better permutation in figure 2: counts and margins, over the seeds of the initial point.

The margin of a method on an instance is Frank-Wolfe's assignment error less the method's: positive where the method is
better. A seed gives one draw of the paper's experiment; the seeds together give its distribution.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from trisplit.paper.figure2 import Run
from trisplit.paper.instances import assignment_error, best_known

OTHERS = ("tos", "tos-hg", "today")
PAPER = {"better": 83, "same": 16, "worse": 35, "margin": 0.046, "largest": 0.744, "smallest": -0.253}
PAPERS_LARGEST, PAPERS_SMALLEST = "chr15b", "chr15c"


class Draw(NamedTuple):
    """The paper's table for one initial point, one method and one seed."""

    start: str
    method: str
    seed: int
    better: int
    same: int
    worse: int
    margin: float
    largest: float
    largest_at: str
    smallest: float
    smallest_at: str


class Interval(NamedTuple):
    """A mean over seeds with its confidence interval of 95 % (Student's t); without one where there is one seed."""

    mean: float
    low: float | None
    high: float | None

    def words(self, digits: int) -> str:
        """Return the mean and the half-width of the interval.

        >>> Interval(2.0, 1.5, 2.5).words(1), Interval(2.0, None, None).words(0)
        ('2.0 ± 0.5', '2')
        """
        half = "" if self.high is None else f" ± {self.high - self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f}{half}"

    @property
    def sign(self) -> int:
        """1 or -1 if the whole interval lies on that side of zero, 0 if it does not."""
        if self.low is None or self.high is None:
            return 0
        return 1 if self.low > 0 else -1 if self.high < 0 else 0


def errors_of(runs: Iterable[Run]) -> dict[tuple[str, str, int], dict[str, float]]:
    """Return the assignment errors by (start, method, seed), then by instance."""
    found: dict[tuple[str, str, int], dict[str, float]] = defaultdict(dict)
    best = best_known()
    for run in runs:
        found[run.start, run.method, run.seed][run.instance] = assignment_error(run.cost, best[run.instance])
    return found


def draws(runs: Iterable[Run]) -> list[Draw]:
    """Return the table of the paper for each draw, over the instances that both methods have run."""
    errors = errors_of(runs)
    found = []
    for (start, method, seed), own in errors.items():
        baseline = errors.get((start, "fw", seed), {})
        margins = {name: baseline[name] - error for name, error in own.items() if name in baseline}
        if method == "fw" or not margins:
            continue
        high, low = max(margins, key=margins.__getitem__), min(margins, key=margins.__getitem__)
        signs = [(margin > 0) - (margin < 0) for margin in margins.values()]
        counts = signs.count(1), signs.count(0), signs.count(-1)
        extremes = margins[high], high, margins[low], low
        found.append(Draw(start, method, seed, *counts, fmean(margins.values()), *extremes))
    return sorted(found, key=lambda draw: (draw.start, OTHERS.index(draw.method), draw.seed))


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of independent values and its confidence interval.

    >>> interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.48..., high=4.48...)
    """
    mean, count = fmean(values), len(values)
    if count < 2:
        return Interval(mean, None, None)
    from scipy.stats import t

    half = float(t.ppf(0.975, count - 1)) * stdev(values) / sqrt(count)
    return Interval(mean, mean - half, mean + half)


def mean_errors(runs: Iterable[Run], start: str, method: str) -> dict[str, float]:
    """Return the assignment error of each instance, the mean over seeds."""
    of_instances: dict[str, list[float]] = defaultdict(list)
    for (other, name, _), errors in errors_of(runs).items():
        if (other, name) == (start, method):
            for instance, error in errors.items():
                of_instances[instance].append(error)
    return {instance: fmean(errors) for instance, errors in of_instances.items()}


def unconverged(runs: Iterable[Run]) -> dict[tuple[str, str], dict[str, int]]:
    """Return by (start, method) which instances did not converge within the limits, and with how many seeds."""
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for run in runs:
        if not run.converged:
            found[run.start, run.method][run.instance] += 1
    return {key: dict(names) for key, names in sorted(found.items())}
