"""What a run needs to know before it begins: the size of batches, and the step."""

from dataclasses import replace
from typing import TYPE_CHECKING

from trisplit.arrays import Array
from trisplit.errors import InputError
from trisplit.gradients.access import as_finite_sum
from trisplit.gradients.base import Estimator
from trisplit.gradients.plain import Minibatch
from trisplit.steps import Adaptive, Constant, StepRule, Theory

if TYPE_CHECKING:
    from trisplit.problem import Problem


def for_run(estimator: Estimator, problem: "Problem", x0: Array, rule: StepRule, iterations: int) -> Estimator:
    """Return the estimator with the batch size of the theorem, if it asks for that."""
    loss = as_finite_sum(problem.f.source, estimator)
    size = getattr(estimator, "size", None)
    if isinstance(size, int) and not isinstance(estimator, Minibatch) and size > loss.n:
        raise InputError(f"`size` of a batch must be at most the number {loss.n} of samples, got {size}; lower it")
    if not (isinstance(estimator, Minibatch) and size == "theory"):
        return estimator
    from trisplit.theory import theorem_for

    coverage = theorem_for(problem, x0, rule.gradient_bound if isinstance(rule, Theory) else None)
    if coverage.theorem is None:
        raise InputError(f"`size='theory'` needs {coverage.missing}; declare it, or pass a number")
    return estimator.of_size(replace(coverage.theorem, sigma=0.0).batch_size(iterations))


def steps_for(
    estimator: Estimator, problem: "Problem", x0: Array, rule: StepRule, given: object, relax: float
) -> tuple[StepRule, StepRule]:
    """Return the rule of a run, and the constant step that it amounts to.

    Beyond relax = 1 the iteration bears steps up to (2 - relax) times as long only.
    """
    if isinstance(rule, Adaptive):
        if given != "auto":
            text = f"an adaptive step needs gradient='exact', got {type(estimator).__name__}"
            raise InputError(f"{text}; pass a number, 'theory' or 'auto'")
        rule = Constant(min(1.0, 2.0 - relax) * estimator.step(as_finite_sum(problem.f.source, estimator)))
    if isinstance(rule, Theory):
        return rule, Constant(rule.start(problem, x0)[0])
    return rule, rule
