"""[YMS21] Figure 1: how fast the two splittings and Frank-Wolfe converge on the relaxations of chr12a and esc128.

Each method starts from the same point, with the settings of the paper, and is looked at at t = 1, 2, 4, 8, ... for the
picture, as in the paper, and at evenly spaced iterations in between for the rates.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from threadpoolctl import threadpool_limits

from trisplit import qap
from trisplit.paper.methods import METHODS, STARTS, errors, objective, start_point
from trisplit.paper.rates import FLOOR, NO_RATE, linear_rate, power_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INSTANCES = ("chr12a", "esc128")
PAPERS, TODAY = ("tos1", "tos", "fw"), "today"
MAX_ITER, TIME_LIMIT, SEED = 100_000, 600.0, 0
# A splitting whose error is still above the floor goes on, for its rate alone: on esc128 the last phase begins late.
MAX_ITER_RATE = 1_000_000
QUICK, QUICK_MAX_ITER = ("chr12a",), 10_000
PER_OCTAVE = 64  # looks between t and 2 t
POWER_FROM = 128  # Frank-Wolfe's power of t is fitted from here on


class Row(NamedTuple):
    """The errors of one method after some iterations."""

    instance: str
    start: str
    method: str
    iteration: int
    seconds: float
    infeasibility: float
    nonstationarity: float


class Fit(NamedTuple):
    """How the nonstationarity error of one method falls, as in `rates.Rate`; NaN and 0 where nothing could be fitted.

    `kind` is "linear", over t, or "power", over log10(t); `reached` is the first
    error that is rounding, or the smallest.
    """

    instance: str
    start: str
    method: str
    kind: str
    slope: float
    half_width: float
    r_squared: float
    decades: float
    first: int
    last: int
    reached: float
    reached_at: int


def run(quick: bool, report: Callable[[str, float], None]) -> list[Row]:
    """Return the rows of all methods on all instances, from both initial points."""
    tasks = [
        (name, start, method)
        for name in (QUICK if quick else INSTANCES)
        for start in STARTS
        for method in (*PAPERS, TODAY)
    ]
    rows = []
    with threadpool_limits(1):
        for k, (name, start, method) in enumerate(tasks):
            report(f"{name}, {method}", k / len(tasks))
            rows += trace(name, start, method, quick)
    report("done", 1.0)
    return rows


def trace(name: str, start: str, method: str, quick: bool) -> Iterator[Row]:
    """Iterate until both errors are rounding, and at least as far as the picture goes."""
    instance = qap.load(name)
    f, x0 = objective(instance), start_point(instance.n, start, SEED)
    last = QUICK_MAX_ITER if quick else MAX_ITER if method == "fw" else MAX_ITER_RATE
    for look in METHODS[method](instance, x0, octaves(last), TIME_LIMIT):
        infeasibility, nonstationarity = errors(f, look.X, method)
        yield Row(name, start, method, look.iteration, round(look.seconds, 6), infeasibility, nonstationarity)
        if look.iteration >= MAX_ITER and max(infeasibility, nonstationarity) < FLOOR:
            return


def octaves(last: int) -> Iterator[int]:
    """Count all powers of two, and evenly spaced numbers between them, up to `last`.

    >>> list(octaves(11))
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    """
    t = 1
    while t < last:
        width = max(t // PER_OCTAVE, 1)
        yield from range(t, min(2 * t, last), width)
        t *= 2
    yield last


def shown(rows: list[Row]) -> list[Row]:
    """Return the rows of the picture: those at powers of two."""
    return [row for row in rows if row.iteration <= MAX_ITER and _is_power(row.iteration)]


def _is_power(t: int) -> bool:
    return t & (t - 1) == 0


def fits(rows: list[Row]) -> list[Fit]:
    """Return the rates: a straight line over t for the splittings, a power of t for Frank-Wolfe."""
    runs: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        runs.setdefault((row.instance, row.start, row.method), []).append(row)
    found = []
    for run_of, own in runs.items():
        t, e = [row.iteration for row in own], [row.nonstationarity for row in own]
        kind = "power" if run_of[2] == "fw" else "linear"
        rate = power_rate(t, e, POWER_FROM) if kind == "power" else linear_rate(t, e)
        low = next((row for row in own if row.nonstationarity < FLOOR), min(own, key=lambda row: row.nonstationarity))
        found.append(Fit(*run_of, kind, *(rate or NO_RATE), low.nonstationarity, low.iteration))
    return found


def figure(rows: list[Row], start: str, *, today: bool) -> "Figure":
    """Draw the figure of the paper, 2 rows of 4 panels, from one initial point; with today's solver if wanted."""
    from trisplit.paper.figure1_figure import draw

    methods = (*PAPERS, TODAY) if today else PAPERS
    return draw([row for row in shown(rows) if row.start == start and row.method in methods], start)
