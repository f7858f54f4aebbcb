"""Options that several functions take: random numbers, tolerance, limits, callbacks, relaxation, states."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trisplit.arrays import Array, is_array
from trisplit.errors import InputError

if TYPE_CHECKING:
    from trisplit.problems.space import Space
    from trisplit.splitting.tos import Iterate, State
    from trisplit.steps import StepRule

Rng: TypeAlias = np.random.Generator | int | None
Callback: TypeAlias = Callable[["Iterate"], object]


@dataclass(frozen=True)
class Options:
    """When to stop and what to hand out, as in `trisplit.minimize`; `begin` is when the time limit began to count."""

    tol: float
    atol: float
    max_iter: int
    time_limit: float | None
    begin: float
    output: str = "last"
    callback: Callback | None = None
    rng: np.random.Generator | None = None
    seed: int | None = None  # behind `rng`, for the result
    progress: bool = False


def as_generator(rng: Rng) -> tuple[int | None, np.random.Generator]:
    """Return the seed behind `rng`, fresh for None and unknown for a generator, and the generator."""
    if isinstance(rng, np.random.Generator):
        return None, rng
    if rng is not None and (isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0):
        came = repr(rng) if isinstance(rng, int | float) else type(rng).__name__
        raise InputError(f"`rng` must be an int >= 0, a numpy Generator or None, got {came}; try 0")
    source = np.random.SeedSequence(rng)
    return int(source.entropy), np.random.default_rng(source)  # pyright: ignore[reportArgumentType]


def check_options(
    *, tol: float, atol: float = 0.0, max_iter: int, time_limit: float | None, callback: object = None
) -> None:
    """Raise an `InputError` unless the options that stop a run make sense."""
    if callback is not None and not callable(callback):
        raise InputError(f"`callback` must be a function, got {type(callback).__name__}; None calls nothing")
    for name, limit, remedy in (("tol", tol, "0 never stops on the certificate"), ("atol", atol, "try 0")):
        if isinstance(limit, bool) or not (isinstance(limit, Real) and limit >= 0):
            raise InputError(f"`{name}` must be a number >= 0, got {limit!r}; {remedy}")
    if isinstance(max_iter, bool) or not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise InputError(f"`max_iter` must be an integer >= 1, got {max_iter!r}; try 10_000")
    if isinstance(time_limit, bool) or not (time_limit is None or (isinstance(time_limit, Real) and time_limit > 0)):
        raise InputError(f"`time_limit` must be positive seconds, got {time_limit!r}; None sets no limit")


def as_relax(relax: object) -> float:
    """Return a relaxation as a float, or raise an `InputError` unless it lies in (0, 2)."""
    if isinstance(relax, bool) or not isinstance(relax, Real) or not 0 < float(relax) < 2:
        raise InputError(f"`relax` must lie in (0, 2), got {relax!r}; 1 is the paper's algorithm")
    return float(relax)


def as_state(resume: object, problem: "Space", y0: Array, rule: "StepRule") -> "State":
    """Return a state to go on from, or raise an `InputError` if it is of another problem or rule, as far as is known.

    Of rules that others have written nothing is known, and of the problem nothing if no starting point is given.
    """
    from trisplit.splitting.tos import State
    from trisplit.steps import Adaptive, Constant, Theory
    from trisplit.steps.adaptive import Memory

    if not isinstance(resume, State):
        raise InputError(f"`resume` must be a State, got {type(resume).__name__}; pass `made.after`")
    theirs = tuple(resume.y.shape)
    if is_array(y0) and (ours := tuple(problem.start(y0).shape)) != theirs:
        came = f"its y has shape {theirs}, that of this problem {ours}"
        raise InputError(f"`resume` is a state of another problem: {came}; pass `made.after` of this one")
    adaptive = isinstance(rule, Adaptive)
    if adaptive != isinstance(resume.memory, Memory) and (adaptive or isinstance(rule, Constant | Theory)):
        raise InputError(f"`resume` is no state of the step {type(rule).__name__}; pass the `step` that made it")
    return resume
