"""What an iteration of the compiled engine costs next to its two matrix products alone, in the same library."""

from time import perf_counter
from typing import Any

import numpy as np

import trisplit as ts
from trisplit.kernels import compiled
from trisplit.qap.engine import BirkhoffLoop

from ..report import Table, duration
from .goals import goal

INSTANCES, QUICK_INSTANCES = ("nug12", "nug20", "nug30", "sko49", "sko64", "sko100a", "tho150"), ("nug12",)
AT_MOST = {30: 2.5, 100: 1.25}  # times the two products, by the number of rows
ROUNDS, SECONDS = 7, 0.05
PRODUCTS = "two products"
ADAPTIVE = "split 1, adaptive"
ENGINES = {"split 2, constant step": (2, False), "split 1, constant step": (1, False), ADAPTIVE: (1, True)}
FIRST = 100  # iterations: the adaptive step is timed from the start, the others later


def two_products(A: np.ndarray, X: np.ndarray, B: np.ndarray, W: np.ndarray, U: np.ndarray, times: int) -> None:
    for _ in range(times):
        np.dot(A, X, W)
        np.dot(W, B, U)


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each instance: the least seconds of an iteration, and the tests in one."""
    matrix = "f8[:,::1]"
    multiply = compiled(f"void({matrix},{matrix},{matrix},{matrix},{matrix},i8)")(two_products)
    rows = []
    for name in QUICK_INSTANCES if quick else INSTANCES:
        instance = ts.qap.load(name)
        f = ts.qap.Objective(instance.A.astype(float), instance.B.astype(float)).tangent()
        x0 = ts.qap.initial_point(instance.n, np.random.default_rng(0))
        W, U = np.empty_like(x0), np.empty_like(x0)
        engines = {}
        for label, (split, adaptive) in ENGINES.items():
            rule = ts.steps.Adaptive() if adaptive else ts.steps.Constant(1.0 / f.lipschitz)
            engines[label] = BirkhoffLoop(f, split, rule)
            engines[label].start(x0)
            engines[label].advance(FIRST)
        begin = perf_counter()
        multiply(f.A, x0, f.B, W, U, FIRST)
        times = max(1, int(SECONDS / ((perf_counter() - begin) / FIRST)))
        least, tests = dict.fromkeys((PRODUCTS, *engines), np.inf), {}
        for _ in range(ROUNDS):
            begin = perf_counter()
            multiply(f.A, x0, f.B, W, U, times)
            least[PRODUCTS] = min(least[PRODUCTS], (perf_counter() - begin) / times)
            for label, engine in engines.items():
                if engine.adaptive:
                    engine.start(x0)
                iterations = FIRST if engine.adaptive else times
                begin = perf_counter()
                tests[label] = engine.advance(iterations) / iterations
                least[label] = min(least[label], (perf_counter() - begin) / iterations)
        rows.append({"instance": name, "n": instance.n, "seconds": least, "tests": tests[ADAPTIVE]})
    return rows


def goals(rows: list[dict[str, Any]], *, whole: bool) -> list[dict[str, Any]]:
    """Return the goals: an iteration with a constant step is two products and passes over the matrix."""
    return [
        goal(
            f"iteration / two products, {label}, n = {row['n']}",
            row["seconds"][label] / row["seconds"][PRODUCTS],
            whole=whole,
            at_most=AT_MOST[row["n"]],
        )
        for row in rows
        if row["n"] in AT_MOST
        for label, (_, adaptive) in ENGINES.items()
        if not adaptive
    ]


def table(rows: list[dict[str, Any]]) -> Table:
    """Return the time of the products, and iterations as multiples of it."""
    shown = Table(
        "an iteration of the compiled engine as a multiple of two matrix products; in brackets, of all its products: a "
        "test of the adaptive step takes two more",
        ["instance", PRODUCTS, *ENGINES, "tests"],
    )
    for row in rows:
        seconds = row["seconds"]
        ratios = {label: seconds[label] / seconds[PRODUCTS] for label in ENGINES}
        texts = {label: f"{ratio:.2f}" for label, ratio in ratios.items()}
        texts[ADAPTIVE] += f" ({ratios[ADAPTIVE] / (1.0 + row['tests']):.2f})"
        shown.rows.append([row["instance"], duration(seconds[PRODUCTS]), *texts.values(), f"{row['tests']:.2f}"])
    return shown
