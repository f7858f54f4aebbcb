"""Looks at the parameters of a network: gradients, certificates and the nearest feasible weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum, hypot
from typing import NamedTuple

import torch  # pyright: ignore[reportMissingImports]

from trisplit.errors import InputError
from trisplit.problems.certificates import certify
from trisplit.problems.problem import Problem, Term
from trisplit.problems.space import Space
from trisplit.result import Certificate
from trisplit.solve import minimize
from trisplit.splitting.tos import FIXED, Iterate, State, iterate
from trisplit.terms import ConvexSet, Free, Zero
from trisplit.torch.groups import as_pair, as_step, unasked


class Look(NamedTuple):
    """What is known of one parameter: an iteration, or only what has remained of it."""

    problem: Problem | None
    made: Iterate | None
    last: Certificate | None = None

    @property
    def kind(self) -> str:
        """Which kind of certificate is the best."""
        return "residual" if self.problem is None else self.problem.kind_for(self.made.z.shape)  # pyright: ignore

    def certificate(self, kind: str | None = None) -> Certificate:
        """Return the best certificate, or one of that kind."""
        return self.last if self.problem is None else certify(self.problem, self.made, kind)  # pyright: ignore


def gradients(params: Sequence[torch.Tensor], closure: Callable[[], object]) -> "list[torch.Tensor | None]":
    """Return the gradients that `closure` computes; those that were there before stay."""
    before = [p.grad for p in params]
    try:
        for p in params:
            p.grad = None
        with torch.enable_grad():
            closure()
        return [p.grad for p in params]
    finally:
        for p, grad in zip(params, before, strict=True):
            p.grad = grad


def look(p: torch.Tensor, u: torch.Tensor, group: dict, state: dict) -> Look:
    """Return the iteration of Algorithm 1 that starts at the parameter, with u as its gradient."""
    g, h = as_pair(group["terms"])
    gamma = state.get("gamma") or as_step(group["lr"])  # a scheduler may have ended at 0
    if not gamma:
        raise InputError("`lr` is 0 and no step was done yet; ask for a certificate after the first step")
    if not isinstance(g, Zero) and "subgradient" not in state:
        raise InputError("a certificate needs one step; call `step`, or `start`, before")
    s = 0.0 if isinstance(g, Zero) else state["subgradient"]
    return Look(Problem(unasked, (g, h)), iteration_at(p.detach(), s, u, h, gamma))


@dataclass
class AtHand(Space):
    """An iteration of which z and u are known already, as `trisplit.splitting.tos.iterate` asks for a problem."""

    z: torch.Tensor
    u: torch.Tensor
    h: Term

    def prox_g(self, y: torch.Tensor, gamma: float) -> torch.Tensor:
        return self.z

    def grad(self, z: torch.Tensor) -> torch.Tensor:
        return self.u

    def prox_h(self, v: torch.Tensor, gamma: float) -> torch.Tensor:
        return self.h.prox(v, gamma)  # pyright: ignore[reportArgumentType, reportReturnType]


def iteration_at(z: torch.Tensor, s: "torch.Tensor | float", u: torch.Tensor, h: Term, gamma: float) -> Iterate:
    """Return the iteration of Algorithm 1 at z = prox_{gamma g}(z + gamma s), with u as its gradient."""
    state = State(0, z + gamma * s, gamma)  # pyright: ignore[reportArgumentType]
    return iterate(AtHand(z, u, h), state, FIXED)  # pyright: ignore[reportArgumentType]


def last_look(p: torch.Tensor, h: Term, state: dict | None) -> Look | None:
    """Return what has remained of the last step of a parameter, None if it took part in none."""
    if not state or "move" not in state:
        return None
    move = float(state["move"])
    distance = getattr(h, "distance", None)
    infeasibility = move if distance is None else float(distance(p.detach()))
    return Look(None, None, Certificate(move / state["gamma"], infeasibility, "residual"))


def together(looks: Sequence[Look | None]) -> Certificate:
    """Return the certificate of all parameters: gaps and bounds add up, residuals and distances as lengths do."""
    seen = [each for each in looks if each is not None]
    if not seen:
        raise InputError("no parameter has taken part in a step, or has a gradient; call `step` before")
    kinds = {each.kind for each in seen}
    kind = next(kind for kind in ("residual", "bound", "gap") if kind in kinds)  # the weakest
    each = [one.certificate(kind if kind == "residual" else None) for one in seen]
    add = hypot if kind == "residual" else lambda *numbers: fsum(numbers)
    stationarity = add(*(one.stationarity for one in each))
    return Certificate(stationarity, hypot(*(one.infeasibility for one in each)), kind)


def domain(term: Term) -> ConvexSet | None:
    """Return the domain of a term, None if that is the whole space or not known."""
    known = term.domain() if hasattr(term, "domain") else None  # pyright: ignore[reportAttributeAccessIssue]
    return None if isinstance(known, Free) else known


def nearest(z: torch.Tensor, pair: tuple[Term, Term]) -> torch.Tensor:
    """Return the point of both domains that is nearest to z."""
    sets = [each for each in map(domain, pair) if each is not None]
    if not sets:
        return z
    if len(sets) == 1:
        return sets[0].project(z)  # pyright: ignore
    goal = z.double()  # single precision would end at 1e-4
    found = minimize(lambda x: (((x - goal) ** 2).sum() / 2, x - goal), goal, sets, step=1.0, tol=1e-9)  # pyright: ignore
    if not found.success:
        names = " and ".join(type(each).__name__ for each in sets)
        error = f"{found.certificate.infeasibility:.1e}"
        raise InputError(f"no common point of {names} was found, the nearest is {error} away; do they intersect?")
    return found.x.to(z.dtype)  # pyright: ignore[reportAttributeAccessIssue]
