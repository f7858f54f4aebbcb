"""What a step rule must offer."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, runtime_checkable

from trisplit.arrays import Array, StepSize

if TYPE_CHECKING:
    from trisplit.problems.space import Space
    from trisplit.splitting.tos import Iterate

Memory = TypeVar("Memory", bound=tuple)
Proposal: TypeAlias = tuple[StepSize, bool, Memory]


@runtime_checkable
class StepRule(Protocol[Memory]):
    """A rule for gamma, a frozen object; `memory` is all that it remembers, a plain tuple of numbers and arrays.

    It says "unchanged" and "accepted" by returning the gamma that it was given: a column, that very object.

    Examples
    --------
    >>> import trisplit as ts
    >>> isinstance(ts.steps.Constant(0.5), ts.steps.StepRule)
    True
    """

    def start(self, problem: "Space", y: Array) -> tuple[StepSize, Memory]:
        """Return the first gamma and the first memory."""
        ...

    def propose(self, problem: "Space", memory: Memory, z: Array, y: Array, gamma: StepSize) -> Proposal[Memory]:
        """Return the gamma to try now that z is known, whether f(z) is wanted with the gradient, and the memory."""
        ...

    @property
    def judge(self) -> "Callable[[Space, Memory, Iterate, Array], tuple[StepSize, Memory]] | None":
        """A method that returns `made.gamma` to accept an iterate, or a shorter step to try, and the memory.

        It is given the problem, the memory, the iterate and its x - z; None accepts every step.
        """
