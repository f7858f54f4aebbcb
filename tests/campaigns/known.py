"""A problem, and what is known of its answer."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

EPS = 2.2e-16
FAILED = {"MAX_ITER", "STALLED", "NOT_FINITE"}  # no answer, and no false one
MAY = {
    "optimal": {"CONVERGED", "MAX_ITER"},  # convex, the first competitor is optimal
    "stationary": {"CONVERGED", "MAX_ITER"},  # f is not convex
    "nonconvex": {"CONVERGED", "MAX_ITER", "STALLED"},  # a term is not convex
    "infeasible": {"INFEASIBLE", *FAILED},
    "weak": {"CONVERGED", "INFEASIBLE", *FAILED},  # no common point, but a distance below the tolerance
    "unbounded": {"UNBOUNDED", *FAILED},
    "slowly unbounded": {"UNBOUNDED", *FAILED},
    "unattained": {"CONVERGED", "MAX_ITER", "STALLED"},  # the infimum is finite
    "wrong gradient": {"CONVERGED", "BAD_GRADIENT", *FAILED},  # CONVERGED if the answer is right all the same
    "wrong prox": {"CONVERGED", "BAD_PROX", *FAILED},
}
PROVABLE = {
    "infeasible": "INFEASIBLE",
    "unbounded": "UNBOUNDED",
    "wrong gradient": "BAD_GRADIENT",
    "wrong prox": "BAD_PROX",
}


@dataclass(eq=False)
class Problem:
    """What is handed to `minimize`, and what is true of it.

    Attributes
    ----------
    competitors : array
        Points of dom phi, in rows; the solution is the first where there is one.
    infimum : float
        Of phi, where no point attains it.
    slope, length : float
        Natural sizes of gradients, subgradients and multipliers, and of x; slope * length is that of phi.
    price : float
        By how much phi may be off for an infeasibility of 1; infinite where multipliers do not exist.
    eps : float
        Relative error of values and gradients, by rounding or noise.
    curvature : float
        A bound on the second derivatives of f, for nonconvex terms.
    expected : str
        The ending that 95 % of such problems must have; empty where several are right.
    may : set of str
        The endings that are not wrong, beside those of `MAY`.
    true_f, true_terms
        What was meant, where `f` or `terms` are wrong.
    rows : tuple of Problem
        The problems of a batch.
    """

    truth: str
    f: Callable
    x0: np.ndarray
    terms: list
    competitors: np.ndarray | None = None
    infimum: float | None = None
    slope: float = 1.0
    length: float = 1.0
    price: float | None = None
    eps: float = EPS
    curvature: float = 0.0
    options: dict = field(default_factory=dict)
    expected: str | None = None
    may: set = field(default_factory=set)
    true_f: Callable | None = None
    true_terms: list | None = None
    rows: tuple["Problem", ...] = ()
    family: str = ""

    def __post_init__(self):
        self.expected = PROVABLE.get(self.truth, "") if self.expected is None else self.expected
        self.may = self.may | MAY[self.truth]
        self.true_f = self.true_f or self.f
        self.true_terms = self.true_terms or self.terms
        self.price = 10 * self.slope if self.price is None else self.price
        self.options = {"max_iter": 2000, **self.options}

    def mistaken(self, **wrong):
        """Return the problem with another f or other terms than were meant."""
        truth = "wrong gradient" if "f" in wrong else "wrong prox"
        return replace(self, truth=truth, true_f=self.f, true_terms=self.terms, expected=None, **wrong)


def around(rng, f, x0, terms, x, parts=(), unit=1.0, **known):
    """Return the convex problem with the solution x and multipliers `parts`."""
    near = [f(x + unit * direction(rng, len(x)))[1] for _ in range(3)]
    slope = max(np.linalg.norm(v) for v in [*near, f(x)[1], *parts])
    length = max(np.linalg.norm(v) for v in (x, x0 - x, unit * np.ones(len(x))))
    return Problem("optimal", f, x0, terms, x[None], slope=slope, length=length, **known)


def direction(rng, n):
    """Return a random vector of norm 1."""
    v = rng.standard_normal(n)
    return v / np.linalg.norm(v)


def choose(rng, options):
    return options[rng.integers(len(options))]


def pair(value, grad):
    """Return the callable x -> (value, gradient)."""
    return lambda x: (value(x), grad(x))
