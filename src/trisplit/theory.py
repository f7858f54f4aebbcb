"""The theorems of [YMS21] as functions: the step, the batch size and the bound after T iterations.

Each bound is on the average over t = 1, ..., T (the expectation over the random output), for every x in dom phi, of
<grad f(z_t), z_t - x> + g(z_t) - g(x) + h(z_t) - h(x), and for sets also on the average of dist(z_t, H). The main text
states simple forms, the appendix tighter ones (`tight=True`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trisplit.arrays import Array, Shape, as_host
from trisplit.arrays.batched import norm
from trisplit.errors import InputError
from trisplit.gradients.plain import Exact, Minibatch
from trisplit.problems.problem import Problem, constant_of, is_indicator, require_each
from trisplit.result import Guarantee
from trisplit.steps.constant import Constant, Theory

if TYPE_CHECKING:
    from trisplit.problems.space import Space
    from trisplit.steps import StepRule

__all__ = [
    "Coverage",
    "Theorem",
    "corollary1",
    "coverages",
    "guarantees",
    "theorem1",
    "theorem2",
    "theorem3",
    "theorem4",
    "theorem_for",
    "theorems",
]
EXACT = Exact()
# The theorem about minibatch gradients that stands next to one about exact ones.
STOCHASTIC = {"Theorem 1": "Theorem 3", "Corollary 1": "Theorem 3", "Theorem 2": "Theorem 4"}


@dataclass(frozen=True)
class Theorem:
    """A theorem of [YMS21] with its constants.

    Parameters
    ----------
    name : str
    D : float
        Diameter of dom g.
    G_f : float
        Bound on ||grad f|| over dom g.
    L_g, L_h : float
        Lipschitz constants of g on its domain and of h; 0 for sets.
    sets : bool
        Whether h is the indicator of a set, so that infeasibility is bounded too.
    sigma : float, optional
        Standard deviation of one stochastic gradient; None in the deterministic theorems.

    Examples
    --------
    >>> theorem2(D=2.0, G_f=1.0).stationarity(T=1000)
    0.8...
    """

    name: str
    D: float
    G_f: float
    L_g: float = 0.0
    L_h: float = 0.0
    sets: bool = False
    sigma: float | None = None

    def __post_init__(self) -> None:
        for name in ("D", "G_f", "L_g", "L_h", "sigma"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value >= 0):
                raise InputError(f"`{name}` must be a finite number >= 0, got {value}")

    @property
    def slope(self) -> float:
        """G_f + L_g + L_h."""
        return self.G_f + self.L_g + self.L_h

    def step(self, T: int) -> float:
        """Return gamma = D / (2 (G_f + L_g + L_h) T^(2/3)); 1 where phi is constant or dom g a point."""
        _check_iterations(T)
        return self.D / (2 * self.slope * T ** (2 / 3)) if self.slope * self.D > 0 else 1.0

    def batch_size(self, T: int) -> int:
        """Return |Q| = ceil(T^(2/3) / (2 (G_f + L_g + L_h)^2)), and 1 in the deterministic theorems."""
        _check_iterations(T)
        if self.sigma is None:
            return 1
        if self.slope == 0:
            raise InputError("the batch size needs G_f + L_g + L_h > 0, got 0")
        return ceil(T ** (2 / 3) / (2 * self.slope**2))

    def stationarity(self, T: int, *, tight: bool = False) -> float:
        """Return the bound on the average nonstationarity after T iterations."""
        _check_iterations(T)
        third = T ** (-1 / 3)
        if self.sigma is None:
            if not tight:
                return 4 * self.D * self.slope * third
            return self.D * (self.slope * third + (self.G_f + self.L_h) * self._closeness(T))
        if not tight:
            noise = sqrt(4 + 2 * self.sigma**2)
            return self.D * self.slope * (noise * T**-0.5 + (4 + sqrt(2) + self.sigma**2) * third)
        return self.D * (self.slope * (2 + self.sigma**2) * third + (self.G_f + self.L_h) * self._closeness(T))

    def infeasibility(self, T: int, *, tight: bool = False) -> float:
        """Return the bound on the average of dist(z_t, H); 0 if h is not the indicator of a set."""
        _check_iterations(T)
        if not self.sets:
            return 0.0
        if tight:
            return self.D * self._closeness(T)
        if self.sigma is None:
            return 3 * self.D * T ** (-1 / 3)
        return self.D * (sqrt(4 + 2 * self.sigma**2) * T**-0.5 + (2 + sqrt(2)) * T ** (-1 / 3))

    def iterations(self, epsilon: float) -> int:
        """Return the smallest T whose main-text bounds are both at most epsilon: O(1 / epsilon^3)."""
        if not epsilon > 0:
            raise InputError(f"`epsilon` must be positive, got {epsilon}")

        def good(T: int) -> bool:  # up to rounding, or 0.1 = 0.8 / 8 would ask for one iteration more
            return max(self.stationarity(T), self.infeasibility(T)) <= epsilon * (1 + 1e-12)

        enough = 1
        while not good(enough):
            enough *= 2
        low = enough // 2
        while enough - low > 1:
            middle = (low + enough) // 2
            low, enough = (low, middle) if good(middle) else (middle, enough)
        return enough

    def samples(self, epsilon: float) -> int:
        """Return the gradients drawn until epsilon, T |Q|: O(1 / epsilon^5) ([YMS21] Corollary 2)."""
        T = self.iterations(epsilon)
        return T * self.batch_size(T)

    def _closeness(self, T: int) -> float:
        """Return the bound on the average of ||z_t - x_t|| / D."""
        if self.sigma is None:
            return T ** (-2 / 3) + T**-0.5 + T ** (-1 / 3)
        return 2 * T ** (-2 / 3) + sqrt(4 + 2 * self.sigma**2) * T**-0.5 + sqrt(2) * T ** (-1 / 3)


def theorem1(D: float, G_f: float, L_g: float, L_h: float) -> Theorem:
    """Return Theorem 1: g Lipschitz on a bounded domain, h Lipschitz.

    Examples
    --------
    >>> theorem1(D=2.0, G_f=1.0, L_g=0.5, L_h=0.5).stationarity(T=1000).__round__(3)
    1.6
    """
    return Theorem("Theorem 1", D, G_f, L_g, L_h)


def corollary1(D: float, G_f: float, L_h: float) -> Theorem:
    """Return Corollary 1: g the indicator of a bounded set, h Lipschitz.

    Examples
    --------
    >>> corollary1(D=2.0, G_f=1.0, L_h=0.5).stationarity(T=1000).__round__(3)
    1.2
    """
    return Theorem("Corollary 1", D, G_f, 0.0, L_h)


def theorem2(D: float, G_f: float) -> Theorem:
    """Return Theorem 2: g and h indicators of sets, the first one bounded.

    Examples
    --------
    >>> theorem2(D=2.0, G_f=1.0).infeasibility(T=1000).__round__(3)
    0.6
    """
    return Theorem("Theorem 2", D, G_f, sets=True)


def theorem3(D: float, G_f: float, L_g: float, L_h: float, sigma: float) -> Theorem:
    """Return Theorem 3: Theorem 1 with minibatch gradients (T >= 2).

    Examples
    --------
    >>> theorem3(D=2.0, G_f=1.0, L_g=0.5, L_h=0.5, sigma=1.0).batch_size(T=1000)
    13
    """
    return Theorem("Theorem 3", D, G_f, L_g, L_h, sigma=sigma)


def theorem4(D: float, G_f: float, sigma: float) -> Theorem:
    """Return Theorem 4: Theorem 2 with minibatch gradients (T >= 2).

    Examples
    --------
    >>> theorem4(D=2.0, G_f=1.0, sigma=1.0).batch_size(T=1000)
    50
    """
    return Theorem("Theorem 4", D, G_f, sets=True, sigma=sigma)


theorems = {
    "Theorem 1": theorem1,
    "Corollary 1": corollary1,
    "Theorem 2": theorem2,
    "Theorem 3": theorem3,
    "Theorem 4": theorem4,
}


@dataclass(frozen=True)
class Coverage:
    """Which theorem covers a problem: its name, its constants if all are known, and otherwise what is missing.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x.sum(), np.ones_like(x)), [ts.terms.L1(), ts.terms.Zero()])
    >>> theorem_for(problem, np.zeros(2)).missing
    'dom g (L1) is not known to be bounded'
    """

    name: str | None
    theorem: Theorem | None
    missing: str


def theorem_for(problem: "Space", y: Array, gradient_bound: float | None = None) -> Coverage:
    """Return the deterministic theorem whose assumptions on the terms hold, with constants where they are known.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x.sum(), np.ones_like(x)), [ts.terms.Box(0, 1), ts.terms.UnitSums()])
    >>> theorem_for(problem, np.zeros((2, 2)))
    Coverage(name='Theorem 2', theorem=None, missing='a bound G_f on the gradient')
    """
    return coverages(problem, y, gradient_bound)[0]


def coverages(problem: "Space", y: Array, gradient_bound: float | None = None) -> list[Coverage]:
    """Return `theorem_for` for each problem of a batch, and for the one problem where there is no batch.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = lambda x: (x.sum(axis=-1), np.ones_like(x))
    >>> problem = ts.Problem(f, [ts.terms.Box(0, 1), ts.terms.Zero()], batch_ndim=1)
    >>> [coverage.name for coverage in coverages(problem, np.zeros((2, 3)), gradient_bound=2.0)]
    ['Corollary 1', 'Corollary 1']
    """
    batch = y.shape[: problem.batch_ndim]
    name, missing = _name_for(problem, y.shape)
    if name is None or not isinstance(problem, Problem):
        return [Coverage(None, None, missing)] * prod(batch)
    slope = norm(problem.grad(problem.prox_g(y, 1.0)), problem.batch_ndim)  # at a point of dom g
    L = problem.f.lipschitz
    if L is not None:
        require_each("`f.lipschitz`", L, batch)
    declared = (problem.g, "diameter"), (problem.g, "lipschitz"), (problem.h, "lipschitz")
    of_terms = (constant_of(term, each, y.shape) for term, each in declared)
    constants = [np.asarray(as_host(slope)), *of_terms, inf if L is None else L]
    each = np.stack([np.broadcast_to(constant, batch) for constant in constants], axis=-1).reshape(-1, len(constants))
    sets = is_indicator(problem.h)
    return [_coverage(name, sets, gradient_bound, *numbers) for numbers in each.tolist()]


def _coverage(
    name: str, sets: bool, gradient_bound: float | None, slope: float, D: float, L_g: float, L_h: float, L: float
) -> Coverage:
    if gradient_bound is not None and slope > gradient_bound:
        return Coverage(None, None, f"||grad f|| is {slope:.3g} at the start, above gradient_bound")
    G_f = gradient_bound if gradient_bound is not None else slope + L * D
    if not isfinite(G_f):
        return Coverage(name, None, "a bound G_f on the gradient")
    return Coverage(name, Theorem(name, D, G_f, L_g, L_h, sets=sets), "")


def _name_for(problem: "Space", shape: Shape) -> tuple[str | None, str]:
    """Return the theorem whose assumptions on the terms hold, or None and the one that fails; calls no function."""
    if not isinstance(problem, Problem):
        return None, "Algorithm 2 has a block with an unbounded domain"
    g, h = problem.g, problem.h
    for name, term in (("g", g), ("h", h)):
        if not getattr(term, "convex", False):
            return None, f"{name} ({type(term).__name__}) does not declare itself convex"
    if not np.isfinite(constant_of(g, "diameter", shape)).all():
        return None, f"dom g ({type(g).__name__}) is not known to be bounded"
    if is_indicator(h) and not is_indicator(g):
        return None, "h is an indicator but g is not"
    if not is_indicator(h) and np.isfinite(constant_of(h, "diameter", shape)).all():
        return None, "h must be Lipschitz on the whole space, and its domain is bounded"
    for name, term in (("g", g), ("h", h)):
        if not np.isfinite(constant_of(term, "lipschitz", shape)).all():
            return None, f"{name} is not known to be Lipschitz"
    return ("Theorem 2" if is_indicator(h) else "Corollary 1" if is_indicator(g) else "Theorem 1"), ""


def _check_iterations(T: int) -> None:
    if T < 1:
        raise InputError(f"`T` must be at least 1, got {T}")


def guarantees(
    problem: "Space",
    x0: Array,
    step: "StepRule",
    iterations: Sequence[int],
    *,
    relax: float,
    output: str,
    gradient: object = EXACT,
) -> list[Guarantee]:
    """Return, for each problem, the theorem that covers a finished run, or the first assumption that does not hold.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x.sum(), np.ones_like(x)), [ts.terms.Box(0, 1), ts.terms.Zero()])
    >>> given = {"relax": 1.0, "output": "random"}
    >>> guarantees(problem, np.zeros(2), ts.steps.Constant(0.1), [100], **given)[0].theorem is None
    True
    """
    name, missing = _name_for(problem, x0.shape)
    if name is None:
        return [Guarantee(None, missing)] * len(iterations)
    if not isinstance(gradient, Exact):
        if not isinstance(gradient, Minibatch):
            return [Guarantee(None, f"no theorem covers gradients by {type(gradient).__name__}")] * len(iterations)
        name = STOCHASTIC[name]
    excuse = ""
    if relax != 1.0:
        excuse = f"{name} asks for relax=1, got {relax}"
    elif output != "random":
        excuse = f"{name} is about output='random', got {output!r}"
    elif not isinstance(step, Theory | Constant):
        excuse = f"{name} asks for step='theory', got {type(step).__name__}"
    if excuse:
        return [Guarantee(None, excuse)] * len(iterations)
    outside = np.ravel(np.asarray(as_host(problem.base.g.value(x0)))) == inf
    away = Guarantee(None, f"{name} starts in dom g, and x0 is outside; project it first")
    known = coverages(problem, x0, step.gradient_bound if isinstance(step, Theory) else None)
    if isinstance(gradient, Minibatch):
        known = [_with_noise(coverage, gradient, T) for coverage, T in zip(known, iterations, strict=True)]
    steps = np.broadcast_to(getattr(step, "gamma", 0.0), x0.shape[: problem.batch_ndim]).ravel()
    return [
        away if out else _guarantee(coverage, step, float(gamma), T)
        for out, coverage, gamma, T in zip(outside, known, steps, iterations, strict=True)
    ]


def _with_noise(coverage: Coverage, gradient: Minibatch, iterations: int) -> Coverage:
    """Return the stochastic theorem in place of a deterministic one."""
    if coverage.name is None:
        return coverage
    name, theorem = STOCHASTIC[coverage.name], coverage.theorem
    if theorem is not None:
        wanted = replace(theorem, sigma=0.0).batch_size(iterations)
        if not isinstance(gradient.size, int) or gradient.size < wanted:
            return Coverage(None, None, f"{name} asks for batches of {wanted} samples, got {gradient.size}")
    if theorem is None or gradient.sigma is None:
        return Coverage(name, None, coverage.missing or "a bound sigma on the noise of one sample")
    return Coverage(name, replace(theorem, name=name, sigma=gradient.sigma), "")


def _guarantee(coverage: Coverage, step: "StepRule", gamma: float, iterations: int) -> Guarantee:
    name, theorem = coverage.name, coverage.theorem
    if name is None:
        return Guarantee(None, coverage.missing)
    if isinstance(step, Constant):
        if theorem is None:
            return Guarantee(None, f"{name} asks for step='theory', got {type(step).__name__}")
        wanted = theorem.step(iterations)
        if abs(gamma / wanted - 1) > 1e-12:
            return Guarantee(None, f"{name} asks for the step {wanted:.3g} at T = {iterations}, got {gamma:.3g}")
    elif isinstance(step, Theory) and iterations != step.iterations:
        made_for = f"the T = {step.iterations} iterations that the step is made for"
        return Guarantee(None, f"{name} asks for {made_for}, got {iterations}")
    if theorem is None:
        return Guarantee(name, f"the rate T^(-1/3) with unknown constants (no {coverage.missing.removeprefix('a ')})")
    stationarity, infeasibility = theorem.stationarity(iterations), theorem.infeasibility(iterations)
    text = f"in expectation, against each fixed x, stationarity <= {stationarity:.3g}"
    if theorem.sets:
        text += f", infeasibility <= {infeasibility:.3g} if the sets meet"
    return Guarantee(name, text, stationarity, infeasibility)
