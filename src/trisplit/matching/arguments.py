"""The arguments of `graph_match`: each is returned as it is needed, or an `InputError` names it."""

import sys

import numpy as np

from trisplit.errors import InputError
from trisplit.qap.task_pool import available_cores


def as_init(init: object, k: int) -> np.ndarray:
    try:
        X = np.asarray(init, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"`init` must be a matrix or a name, got {type(init).__name__}; try 'barycenter'") from None
    if X.shape != (k, k):
        raise InputError(
            f"`init` must have shape {(k, k)}, the vertices that are no seeds, got {X.shape}; leave out seeds"
        )
    if (
        not np.isfinite(X).all()
        or X.min(initial=0.0) < 0
        or not all(np.allclose(X.sum(axis), 1.0, atol=1e-3) for axis in (0, 1))
    ):
        raise InputError(
            "`init` must be doubly stochastic, got other sums or negative entries; scale rows and columns to 1"
        )
    return X


def as_jobs(n_jobs: object) -> int:
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, int | np.integer) and n_jobs == -1:
        return available_cores()
    return as_integer(n_jobs, "n_jobs")


def as_integer(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"`{name}` must be an integer >= 1, got {_shown(value)}; try 1")
    return int(value)


def as_number(value: object, name: str, *, least: float, most: float = np.inf, strict: bool = False) -> float:
    fits = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    finite = fits and value <= sys.float_info.max  # pyright: ignore[reportOperatorIssue]
    if not finite or not (least < value if strict else least <= value) or not value <= most:  # pyright: ignore
        wanted = f"{'>' if strict else '>='} {least:g}" + (f" and <= {most:g}" if most < np.inf else "")
        raise InputError(f"`{name}` must be a number {wanted}, got {_shown(value)}; leave it out for the default")
    return float(value)  # pyright: ignore[reportArgumentType]


def as_flag(value: object, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"`{name}` must be True or False, got {_shown(value)}; pass one of them")
    return bool(value)


def as_choice(value: object, choices: tuple[str, ...], name: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"`{name}` is unknown, got {_shown(value)}; choose one of {', '.join(choices)}")
    return value


def as_verbosity(value: object) -> bool:
    """Return whether lines are wanted; a callable, which gets them, is none of these."""
    if not isinstance(value, bool | int | np.bool_ | np.integer | None):
        raise InputError(f"`verbose` must be an integer or a callable, got {_shown(value)}; try 1")
    return bool(value)


def _shown(value: object) -> str:
    """Return a short text in one line: an array may have many."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an integer of more digits than Python writes
        return type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
