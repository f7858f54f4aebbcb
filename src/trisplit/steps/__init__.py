"""Step-size rules. A rule is a frozen object; what it remembers is handed through the iteration.

`rules` maps the names that `step=` takes to rules. A new rule is a class in a file here and a line in `rules`.
"""

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
    if isinstance(step, str):
        if step not in rules:
            raise InputError(f"`step` must be a number, a rule or one of {', '.join(rules)}; got {step!r}")
        return rules[step]()
    if isinstance(step, StepRule):
        return step
    if isinstance(step, bool) or not hasattr(step, "__float__"):
        raise InputError(f"`step` must be a number, a rule or one of {', '.join(rules)}; got {step!r}")
    return Constant(float(step))


__all__ = ["Adaptive", "Constant", "StepRule", "Theory", "as_step", "rules"]
