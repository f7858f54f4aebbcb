"""The page of `trisplit solve --report`: the search over time, and one start that becomes a permutation."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

import trisplit
from trisplit import qap
from trisplit.errors import InputError
from trisplit.problems.certificates import feasible_stationary
from trisplit.problems.problem import Problem
from trisplit.qap.engine import SPLITS, BirkhoffLoop
from trisplit.qap.matrices import as_dense
from trisplit.report import Block, Chart, Frames, Section, Series, Table, Text, write_page
from trisplit.steps import Adaptive

TOL, MAX_ITER, RATIO = 1e-5, 20_000, 1.15
WATCHED_SECONDS = 2.0  # for the start that is shown; a large one is shown as far as it comes
MAX_BYTES = 8 * 2**20  # of frames in a page


class Frame(NamedTuple):
    """An iterate z of the relaxed problem, its errors as in [YMS21] section 5, and the rounded cost."""

    iteration: int
    z: np.ndarray
    nonstationarity: float
    infeasibility: float
    cost: int | float


def write_report(path: Path, instance: qap.Instance, result: qap.QAPResult) -> None:
    """Write the page; the start that it shows is made for it, from the same seed, and is no part of the result."""
    about = f"n = {instance.n}, cost {result.cost:,}: {result.message}"
    sections = [
        Section("The answer", [_answer(instance, result)]),
        Section("The search", list(_search(result))),
        Section("A start like those of the search", list(_start(instance, result))),
    ]
    try:
        write_page(path, instance.name, about, sections, f"Made by trisplit {trisplit.__version__}.")
    except OSError as error:
        raise InputError(f"--report {path} cannot be written ({error.strerror}); choose another path") from error


def _answer(instance: qap.Instance, result: qap.QAPResult) -> Block:
    rows: list[list] = [
        ["cost", result.cost],
        ["best known", result.best_known],
        ["gap to the best known, %", None if result.gap is None else 100 * result.gap],
        ["lower bound", result.lower_bound],
        ["gap to the lower bound, %", None if result.bound_gap is None else 100 * result.bound_gap],
        ["seconds", result.elapsed],
        ["starts", result.starts],
        ["tabu moves", result.moves],
        ["face restarts", result.restarts],
        ["seed", result.seed],
        *([["device", f"{result.device}, beside the processor"]] if result.device != "cpu" else []),
    ]
    permutation = " ".join(map(str, result.permutation.tolist()))
    return Table(instance.name, ["", "value"], rows, note=f"Permutation, counted from 0: {permutation}")


def _search(result: qap.QAPResult) -> Iterator[Block]:
    trace = result.trace
    if not trace:
        yield Text("The search left no trace.")
        return
    series = [_steps("best cost", trace, [row.best for row in trace], 0)]
    if any(row.bound is not None for row in trace):
        series.append(_steps("lower bound", trace, [row.bound for row in trace], 1))
    yield Chart("search", "Cost over time", "lines", series, "seconds", "cost")


def _steps(name: str, trace: Sequence[qap.QAPTraceRow], values: Sequence[float | None], colour: int) -> Series:
    """Return values that stay as they are until the next."""
    x, y, labels = [trace[0].seconds], [values[0]], [trace[0].member]
    for row, before, value in zip(trace[1:], values, values[1:], strict=False):
        x, y, labels = [*x, row.seconds, row.seconds], [*y, before, value], [*labels, row.member, row.member]
    return Series(name, x, y, labels=labels, colour=colour)


def _start(instance: qap.Instance, result: qap.QAPResult) -> Iterator[Block]:
    found = list(watch(instance, result.seed))
    kept = thinned(found, instance.n)
    last = kept[-1]
    yield Text(
        "Made for this page, with the same seed. The relaxed problem is minimised over matrices with unit row and "
        "column sums by three operator splitting, from a random point near the barycentre; z is row-stochastic "
        "throughout, its columns come to add up to one, and a search goes on with the permutation nearest to it."
    )
    t = [frame.iteration for frame in found]
    errors = [
        Series("nonstationarity", t, [frame.nonstationarity for frame in found], colour=0, marker=True),
        Series("infeasibility", t, [frame.infeasibility for frame in found], colour=2, dash=True, marker=True),
    ]
    note = "Both relative, as in [YMS21] section 5."
    yield Chart("errors", "Errors over iterations", "lines", errors, "iteration", "error", True, True, note)
    costs = [Series("rounded", t, [frame.cost for frame in found], colour=1, marker=True)]
    yield Chart("cost", "Cost of the nearest permutation", "lines", costs, "iteration", "cost", x_log=True)
    if instance.n**2 > MAX_BYTES:
        yield Text("The matrices are too large to be shown here.")
        return
    order = qap.round_to_permutation(last.z)
    values = np.stack([_bytes(frame.z[:, order]) for frame in kept] + [_bytes(np.eye(instance.n))])
    captions = [_caption(frame) for frame in kept] + [f"rounded: cost {last.cost:,}"]
    note = (
        "Columns are in the order of the last permutation, which so becomes the diagonal; colours follow the square "
        "root of an entry, so that small ones show."
    )
    yield Frames("The iterate becomes a permutation", (instance.n, instance.n), values, captions, note)


def watch(instance: qap.Instance, seed: int | None) -> Iterator[Frame]:
    """Yield iterates of one start of the search, until both errors are at most 1e-5."""
    A, B = (as_dense(M).astype(float) for M in (instance.A, instance.B))
    f = qap.Objective(A, B, None if instance.C is None else instance.C.astype(float))
    relaxed, n, begin = Problem(f, SPLITS[1]), instance.n, perf_counter()
    engine = BirkhoffLoop(f.tangent(), 1, Adaptive())
    engine.start(qap.initial_point(n, np.random.default_rng(seed)))
    while True:
        engine.advance(max(int(RATIO * engine.t) - engine.t, 1))
        z = engine.z.copy()
        infeasibility, gap = feasible_stationary(relaxed, z)
        errors = float(abs(gap)) / max(f.value(z), 1.0), float(infeasibility) / n**0.5
        yield Frame(engine.t, z, *errors, instance.cost(qap.round_to_permutation(z)))
        if max(errors) <= TOL or engine.t >= MAX_ITER or perf_counter() - begin > WATCHED_SECONDS:
            return


def thinned(found: list[Frame], n: int) -> list[Frame]:
    """Return so many frames, evenly chosen, that the page does not become too large; the last is one of them."""
    most = max(MAX_BYTES // n**2, 1)
    places = np.linspace(len(found) - 1, 0, min(most, len(found))).astype(int)
    return [found[place] for place in sorted(set(places.tolist()))]


def _bytes(z: np.ndarray) -> np.ndarray:
    return np.rint(255 * np.clip(z, 0.0, 1.0)).astype(np.uint8)


def _caption(frame: Frame) -> str:
    errors = f"nonstationarity {frame.nonstationarity:.1e}, infeasibility {frame.infeasibility:.1e}"
    return f"iteration {frame.iteration:,}: {errors}; rounded, it costs {frame.cost:,}"
