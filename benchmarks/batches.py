"""Many small problems by one call, against a Python loop over them: the second part of `overhead`.

Each problem is a convex quadratic over a box and a half-space of its own. Either all share one matrix, as signals share
a dictionary, and differ in the linear term, or each has a matrix of its own, and reading these is what takes the time.
Both sides solve to the same tolerance and return the same answers; the loop is timed on some of the problems.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import trisplit as ts

from .report import Table, duration
from .timing import Report, take_turns

PROBLEMS, VARIABLES, LOOPED = 10_000, 10, 500
QUICK_PROBLEMS, QUICK_LOOPED = 50, 5
AT_LEAST = 40.0
ONE, OWN = "one for all", "one each"  # matrices
CASES = [(matrices, step) for matrices in (ONE, OWN) for step in ("constant", "auto")]


class Quadratics:
    """<x, Q x> / 2 + <c, x>: c has an axis for the problems in front, and Q, which is symmetric, may have one."""

    def __init__(self, Q: np.ndarray, c: np.ndarray) -> None:
        self.Q, self.c = Q, c

    def times(self, x: np.ndarray) -> np.ndarray:
        return np.vecmat(x, self.Q) if self.Q.ndim == x.ndim + 1 else x @ self.Q

    def value(self, x: np.ndarray) -> Any:
        return np.vecdot(x, 0.5 * self.times(x) + self.c)

    def grad(self, x: np.ndarray) -> np.ndarray:
        return self.times(x) + self.c

    def value_and_grad(self, x: np.ndarray) -> tuple[Any, np.ndarray]:
        Qx = self.times(x)
        return np.vecdot(x, 0.5 * Qx + self.c), Qx + self.c

    def select(self, members: Any) -> "Quadratics":
        return Quadratics(self.Q if self.Q.ndim == 2 else self.Q[members], self.c[members])


class HalfSpaces:
    """{x : <a, x> <= b}, of one problem or of many."""

    indicator = convex = True

    def __init__(self, a: np.ndarray, b: Any) -> None:
        self.a, self.b, self.square = a, b, np.vecdot(a, a)

    def value(self, x: np.ndarray) -> Any:
        return np.where(np.vecdot(self.a, x) <= self.b + 1e-9, 0.0, np.inf)[()]

    def prox(self, x: np.ndarray, gamma: Any) -> np.ndarray:
        return x - (np.maximum(np.vecdot(self.a, x) - self.b, 0.0) / self.square)[..., None] * self.a

    def select(self, members: Any) -> "HalfSpaces":
        return HalfSpaces(self.a[members], self.b[members])


def make_data(problems: int, matrices: str, seed: int = 0) -> tuple[Quadratics, HalfSpaces, np.ndarray]:
    """Return f, the half-spaces and the smoothness constants of random problems."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal(((problems,) if matrices == OWN else ()) + (VARIABLES, VARIABLES))
    Q = M @ M.swapaxes(-1, -2) / VARIABLES
    f, cuts = (
        Quadratics(Q, rng.standard_normal((problems, VARIABLES))),
        HalfSpaces(rng.random((problems, VARIABLES)), rng.random(problems)),
    )
    return f, cuts, np.broadcast_to(np.linalg.eigvalsh(Q)[..., -1], problems)


def run(record: dict[str, Any], quick: bool, repeats: int, report: Report) -> None:
    """Add `batches` to the record: seconds for each problem, by the batch and by the loop."""
    problems, looped = (QUICK_PROBLEMS, QUICK_LOOPED) if quick else (PROBLEMS, LOOPED)
    x0, box = np.zeros((problems, VARIABLES)), ts.terms.Box(-1, 1)
    record["batches"] = []
    for k, (matrices, step) in enumerate(CASES):
        report(f"{problems:,} problems, matrices: {matrices}, {step} step", 0.8 + 0.2 * k / len(CASES))
        f, cuts, L = make_data(problems, matrices)
        steps = ["auto"] * problems if step == "auto" else 1 / L
        of_batch = "auto" if step == "auto" else steps

        def batch(f: Quadratics = f, cuts: HalfSpaces = cuts, step: Any = of_batch) -> ts.BatchResult:
            return ts.minimize(f, x0, [box, cuts], batch_ndim=1, step=step)  # pyright: ignore

        def loop(f: Quadratics = f, cuts: HalfSpaces = cuts, steps: Any = steps) -> list[ts.Result]:
            return [
                ts.minimize(f.select(i), x0[i], [box, cuts.select(i)], step=steps[i])  # pyright: ignore
                for i in range(looped)
            ]

        together, alone = batch(), loop()
        runs: dict[str, Callable[[], object]] = {"batch": batch, "loop": loop}
        times = {name: min(seconds) for name, seconds in take_turns(runs, repeats, warm_up=False).items()}
        each = times["batch"] / problems, times["loop"] / looped
        record["batches"].append(
            {
                "matrices": matrices,
                "step": step,
                "problems": problems,
                "variables": VARIABLES,
                "looped": looped,
                "batch_seconds_per_problem": each[0],
                "loop_seconds_per_problem": each[1],
                "ratio": each[1] / each[0],
                "at_least": None if quick else AT_LEAST,
                "mean_iterations": float(together.nit.mean()),
                "largest_iterations": int(together.nit.max()),
                "converged": int(together.success.sum()),
                "same_iterations": sum(int(own.nit == nit) for own, nit in zip(alone, together.nit, strict=False)),
                "largest_difference": max(
                    float(np.abs(own.x - x).max()) for own, x in zip(alone, together.x, strict=False)
                ),
            }
        )


def table(record: dict[str, Any]) -> Table:
    """Return the times for one problem, and how many times faster the batch is."""
    first = record["batches"][0]
    title = f"{first['problems']:,} problems of {first['variables']} variables: time for each"
    shown = Table(title, ["matrices", "step", "loop", "batch", "loop / batch"])
    for row in record["batches"]:
        goal = "" if row["at_least"] is None else f" (>= {row['at_least']:g})"
        times = duration(row["loop_seconds_per_problem"]), duration(row["batch_seconds_per_problem"])
        shown.rows.append([row["matrices"], row["step"], *times, f"{row['ratio']:.0f}{goal}"])
    return shown
