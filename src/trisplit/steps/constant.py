"""A constant step."""

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from trisplit.arrays import Array
from trisplit.errors import InputError

if TYPE_CHECKING:
    from trisplit.algorithms.product import ProductProblem
    from trisplit.algorithms.state import State
    from trisplit.problem import Function, Problem


@dataclass(frozen=True)
class Constant:
    """The same gamma in every iteration.

    Parameters
    ----------
    gamma : float
        Positive. 1 / L, with L the smoothness constant of f, is customary; `from_lipschitz` gives it.

    Examples
    --------
    >>> Constant.from_lipschitz(4.0)
    Constant(gamma=0.25)
    """

    gamma: float
    needs_value = False

    def __post_init__(self) -> None:
        if not (isfinite(self.gamma) and self.gamma > 0):
            raise InputError(f"`step` must be positive and finite, got {self.gamma}; try 1/L or step='auto'")

    @classmethod
    def from_lipschitz(cls, L: float) -> "Constant":
        """Return the step 1 / L, and 1 for L = 0, where f is linear and every step is stable."""
        if not (isfinite(L) and L >= 0):
            raise InputError(f"`L` must be a finite number >= 0, got {L}; use step='auto' if it is not known")
        return cls(1.0 / L if L > 0 else 1.0)

    def start(self, problem: "Problem | ProductProblem", y: Array) -> tuple[float, tuple]:
        return self.gamma, ()

    def propose(self, memory: tuple, z: Array, y: Array, gamma: float) -> tuple[float, tuple]:
        return gamma, memory

    def judge(self, memory: tuple, state: "State", f: "Function") -> tuple[float, tuple]:
        return state.gamma, memory
