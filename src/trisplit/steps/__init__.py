"""Step-size rules. A rule is a frozen object; what it remembers is handed through the iteration.

`rules` maps the names that `step=` takes to rules. A new rule is a class in a file here and a line in `rules`.
"""

from numbers import Real

import numpy as np

from trisplit.arrays import as_host
from trisplit.errors import InputError
from trisplit.steps.adaptive import Adaptive
from trisplit.steps.base import StepRule
from trisplit.steps.constant import Constant
from trisplit.steps.theory import Theory

rules: dict[str, type[StepRule]] = {"auto": Adaptive, "theory": Theory}


def as_step(step: "StepRule | float | str") -> StepRule:
    """Return the rule that `step` stands for: a name, a number (constant) or a rule itself.

    Examples
    --------
    >>> as_step(0.5)
    Constant(gamma=0.5)
    """
    if isinstance(step, str) and step in rules:
        return rules[step]()
    if isinstance(step, StepRule) and not isinstance(step, type):
        return step
    if isinstance(step, Real) and not isinstance(step, bool):
        return Constant(float(step))
    if isinstance(as_host(step), np.ndarray):
        return Constant(step)  # pyright: ignore[reportArgumentType]
    known = f"a number, an array with one for each problem of a batch, a rule object or one of {', '.join(rules)}"
    raise InputError(f"`step` must be {known}; got {step!r}")


__all__ = ["Adaptive", "Constant", "StepRule", "Theory", "as_step", "rules"]
