"""What other people's codes and slow references say about our terms, a file for each kind of terms.

Each file here holds three lists, all optional:

- `CASES`: `Case(peer, operator, term, prox, shape)`, an operator of a peer and the term of ours that is the same;
- `ABSENT`: `Absent(peer, operator, why)`, an operator of a peer that is no proximal map of ours, and why;
- `REFERENCES`: for names in the registry, a function (term, x, gamma) -> p that solves the definition slowly.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

# The objective is 1-strongly convex: a gap of GAP leaves the minimiser uncertain by sqrt(2 GAP).
GAP = 1e-11


@dataclass(frozen=True)
class Case:
    """An operator of a peer (`prox(x, gamma)`), and the term of ours that is the same.

    `convention` says what has to be translated between the two; `point` changes a random point into one at which the
    peer is to be trusted; `exact` is false where the peer iterates.
    """

    peer: str
    operator: str
    term: object
    prox: Callable
    shape: tuple[int, ...] = (6,)
    exact: bool = True
    convention: str = ""
    point: Callable = lambda x: x


@dataclass(frozen=True)
class Absent:
    """An operator of a peer that has no counterpart here, or with which ours cannot agree, and why."""

    peer: str
    operator: str
    why: str


def by_cvxpy(x, gamma, function=lambda y: 0.0, constraints=lambda y: [], **options):
    """Return argmin gamma * function(y) + ||y - x||^2 / 2 subject to constraints(y), by an interior-point method."""
    y = cp.Variable(x.shape, **options)
    problem = cp.Problem(cp.Minimize(gamma * function(y) + cp.sum_squares(y - x) / 2), constraints(y))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=GAP, tol_gap_rel=GAP, tol_feas=GAP)
    assert y.value is not None
    return np.asarray(y.value)


def collected(name, empty):
    """Return the lists or dictionaries of that name of all files here, joined."""
    found = empty
    for module in pkgutil.iter_modules(__path__):
        own = getattr(importlib.import_module(f"{__name__}.{module.name}"), name, empty)
        found = {**found, **own} if isinstance(empty, dict) else [*found, *own]
    return found
