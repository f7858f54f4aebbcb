"""What a group of parameters may say: its terms, its step and its momentum, looked at when the group is added."""

from collections.abc import Sequence
from math import isfinite
from numbers import Real
from typing import NamedTuple, NoReturn

import torch  # pyright: ignore[reportMissingImports]

from trisplit.arrays import Array, misfits
from trisplit.errors import InputError
from trisplit.problems.problem import Problem, Term
from trisplit.terms import Zero

UNSUPPORTED = ("foreach", "fused", "capturable", "differentiable")


def unasked(x: Array) -> NoReturn:
    """Stand for f, which is known by the gradients in the parameters alone."""
    raise NotImplementedError("the value of f is not known to the optimiser")


class Pair(NamedTuple):
    """The terms of a group."""

    g: Term
    h: Term


def as_pair(terms: Term | Sequence[Term] | None) -> Pair:
    """Return g and h: of no term both are zero, of one h is."""
    if isinstance(terms, Pair):
        return terms  # looked at before
    listed: tuple = () if terms is None else tuple(terms) if isinstance(terms, Sequence) else (terms,)
    if len(listed) > 2:
        remedy = "make two of them one by `ts.terms.Intersection`, or use `ts.minimize`"
        raise InputError(f"`terms` of a group are at most two, (g, h), got {len(listed)}; {remedy}")
    return Pair(*Problem(unasked, listed or (Zero(),)).terms)


def as_step(lr: object) -> float:
    """Return a learning rate as a float, if it is a finite number that is not negative."""
    if isinstance(lr, bool) or not isinstance(lr, Real):
        raise InputError(
            f"`lr` must be a number, got {type(lr).__name__}; a tensor would make a GPU wait: pass a float"
        )
    if not (isfinite(lr) and float(lr) >= 0):
        raise InputError(f"`lr` must be a finite number >= 0, got {lr}; try 0.01")
    return float(lr)


def as_momentum(momentum: object) -> float:
    """Return the weight of earlier gradients as a float in [0, 1)."""
    if isinstance(momentum, bool) or not isinstance(momentum, Real) or not 0 <= float(momentum) < 1:
        raise InputError(f"`momentum` must lie in [0, 1), got {momentum!r}; 0 takes each gradient as it is, try 0.9")
    return float(momentum)


def check_group(group: dict) -> None:
    """Look at a group that was just added, and put its terms in order; raise an `InputError` where it cannot work."""
    group["terms"] = as_pair(group["terms"])
    gamma = as_step(group["lr"]) or 1.0
    as_momentum(group["momentum"])
    for name in UNSUPPORTED:
        if group.get(name):
            raise InputError(f"`{name}` must be False, got {group[name]!r}; leave it out")
    names = group.get("param_names") or [f"parameter {i}" for i in range(len(group["params"]))]
    for name, p in zip(names, group["params"], strict=True):
        check_parameter(name, p, group["terms"], gamma)


def check_parameter(name: str, p: torch.Tensor, terms: Pair, gamma: float) -> None:
    """Raise an `InputError` unless the proximal maps take this parameter."""
    if not p.is_floating_point():
        raise InputError(f"{name} has dtype {p.dtype}; parameters must be real, split complex ones by `view_as_real`")
    if torch.nn.parameter.is_lazy(p):
        raise InputError(f"{name} has no shape yet; run the network once before the optimiser is made")
    for term in terms:
        what = f"{type(term).__name__} of {name}"
        try:
            moved = term.prox(p.detach(), gamma)  # pyright: ignore[reportArgumentType]
        except InputError as error:
            raise InputError(f"{what}: {error}") from error
        except misfits(p) as error:  # pyright: ignore[reportArgumentType]
            text = " ".join(str(error).split())
            raise InputError(f"{what} does not fit shape {tuple(p.shape)}: {text}; give both equal sizes") from error
        if moved.shape != p.shape or moved.dtype != p.dtype:
            came = f"turns {p.dtype} of shape {tuple(p.shape)} into {moved.dtype} of shape {tuple(moved.shape)}"
            raise InputError(f"{what} {came}; fix its prox")
