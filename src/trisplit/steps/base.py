"""What a step rule must offer."""

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from trisplit.arrays import Array

if TYPE_CHECKING:
    from trisplit.algorithms.product import ProductProblem
    from trisplit.algorithms.state import State
    from trisplit.problem import Function, Problem


Memory = TypeVar("Memory", bound=tuple)


@runtime_checkable
class StepRule(Protocol[Memory]):
    """A rule for gamma; `memory` is all that it remembers, a tuple of numbers and arrays.

    Examples
    --------
    >>> import trisplit as ts
    >>> isinstance(ts.steps.Constant(0.5), ts.steps.StepRule)
    True
    """

    @property
    def needs_d(self) -> bool:
        """Whether `state.d` must be known."""
        ...

    def needs_value(self, memory: Memory) -> bool:
        """Say, after `propose`, whether `state.f_z` must be known in this iteration."""
        ...

    def start(self, problem: "Problem | ProductProblem", y: Array) -> tuple[float, Memory]:
        """Return the first gamma and the first memory."""
        ...

    def propose(self, memory: Memory, z: Array, y: Array, gamma: float) -> tuple[float, Memory]:
        """Return the gamma to try in this iteration, whose z is known, and the memory."""
        ...

    def judge(self, memory: Memory, state: "State", f: "Function") -> tuple[float, Memory]:
        """Return `state.gamma` to accept the trial state, or a shorter step to try, and the memory."""
        ...
