"""A constant step."""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from trisplit.arrays import Array, as_host, column, from_numpy
from trisplit.errors import InputError

if TYPE_CHECKING:
    from trisplit.algorithms.product import ProductProblem
    from trisplit.algorithms.state import State
    from trisplit.problem import Function, Problem


@dataclass(frozen=True, eq=False)
class Constant:
    """The same gamma in every iteration.

    Parameters
    ----------
    gamma : float or array
        Positive. 1 / L, with L the smoothness constant of f, is customary; `from_lipschitz` gives it. In a batch an
        array has one step for each problem.

    Examples
    --------
    >>> Constant.from_lipschitz(4.0)
    Constant(gamma=0.25)
    """

    gamma: float | Array
    needs_d = False

    def __post_init__(self) -> None:
        gamma = real_numbers(self.gamma, "step")
        if not (np.isfinite(gamma).all() and (gamma > 0).all()):
            raise InputError(f"`step` must be positive and finite, got {self.gamma}; try 1/L or step='auto'")
        object.__setattr__(self, "gamma", gamma if gamma.ndim else float(gamma))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and np.array_equal(self.gamma, other.gamma)

    def __hash__(self) -> int:
        return hash(np.asarray(self.gamma).tobytes())

    @classmethod
    def from_lipschitz(cls, L: float | Array) -> "Constant":
        """Return the step 1 / L, and 1 for L = 0, where f is linear and every step is stable."""
        constant = real_numbers(L, "L")
        if not (np.isfinite(constant).all() and (constant >= 0).all()):
            raise InputError(f"`L` must be a finite number >= 0, got {L}; use step='auto' if it is not known")
        return cls(1.0 / np.where(constant > 0, constant, 1.0))

    def start(self, problem: "Problem | ProductProblem", y: Array) -> tuple[float, tuple]:
        return first_steps(self.gamma, problem, y), ()

    def needs_value(self, memory: tuple) -> bool:
        return False

    def propose(self, memory: tuple, z: Array, y: Array, gamma: float) -> tuple[float, tuple]:
        return gamma, memory

    def judge(self, memory: tuple, state: "State", f: "Function") -> tuple[float, tuple]:
        return state.gamma, memory


def real_numbers(value: object, name: str) -> np.ndarray:
    """Return a number or numbers as a new array that nobody can change."""
    given = np.asarray(as_host(value))
    if given.dtype.kind not in "iuf":
        raise InputError(f"`{name}` must hold real numbers, got {value!r}; pass a float, or an array for a batch")
    array = np.array(given, dtype=float)
    array.flags.writeable = False
    return array


def first_steps(gamma: "float | Array | list[float]", problem: "Problem | ProductProblem", y: Array) -> float:
    """Return a step for all problems as a float, and steps for the problems of a batch as a column for `y`."""
    if isinstance(gamma, float):
        return gamma
    batch, gammas = y.shape[: problem.batch_ndim], np.asarray(gamma)
    if not batch and gammas.size == 1:
        return float(gammas.reshape(()))
    if gammas.size != prod(batch) or (not isinstance(gamma, list) and gammas.shape != batch):
        came = f"an array of shape {gammas.shape} for a batch of shape {tuple(batch)}"
        raise InputError(f"`step` must be one number, or one for each problem, got {came}")
    return column(from_numpy(gammas.reshape(batch), y), y)  # pyright: ignore[reportReturnType]
