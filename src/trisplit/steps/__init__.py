"""Step-size rules. A rule is a frozen object; what it remembers is handed through the iteration.

`rules` maps the names that `step=` takes to rules. A new rule is a class in a file here and a line in `rules`.
"""

from dataclasses import replace
from numbers import Real

import numpy as np

from trisplit.arrays import as_host
from trisplit.errors import InputError
from trisplit.steps.adaptive import Adaptive
from trisplit.steps.base import StepRule
from trisplit.steps.constant import Constant, FixedStep, Theory

rules: dict[str, type[StepRule]] = {"auto": Adaptive, "theory": Theory}


def as_step(step: "StepRule | float | str", relax: float = 1.0, iterations: int | None = None) -> StepRule:
    """Return the rule that `step` stands for, a name, a number or a rule, for that relaxation and so many iterations.

    Examples
    --------
    >>> as_step(0.5)
    Constant(gamma=0.5)
    """
    if isinstance(step, str) and step in rules:
        step = rules[step]()
    name = (step if isinstance(step, type) else type(step)).__name__
    if hasattr(step, "needs_value"):
        form = "start(problem, y), propose(problem, memory, z, y, gamma) and judge(problem, memory, made, d)"
        raise InputError(f"{name} is a step rule of an older release; give it {form}, see `StepRule`")
    if hasattr(step, "propose") and not hasattr(step, "judge"):
        raise InputError(f"`judge` of {name} is missing; write `judge = None` if every step is accepted")
    ours = isinstance(step, Adaptive | FixedStep)  # asked first, as the protocol takes many times as long
    if ours or (isinstance(step, StepRule) and not isinstance(step, type)):
        if isinstance(step, Theory):
            return replace(step, iterations=step.iterations or iterations)
        return replace(step, relax=float(relax)) if isinstance(step, Adaptive) else step
    if isinstance(step, Real) and not isinstance(step, bool):
        return Constant(float(step))
    if isinstance(array := as_host(step), np.ndarray):
        return Constant(array)
    known = f"a number, an array with one for each problem of a batch, a rule object or one of {', '.join(rules)}"
    raise InputError(f"`step` must be {known}; got {step!r}")


__all__ = ["Adaptive", "Constant", "StepRule", "Theory", "as_step", "rules"]
