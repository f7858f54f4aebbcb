"""The step of the theorem that covers the problem, [YMS21] Theorems 1 and 2 and Corollary 1."""

from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

from trisplit.arrays import Array
from trisplit.errors import InputError
from trisplit.steps.constant import first_steps, real_numbers

if TYPE_CHECKING:
    from trisplit.algorithms.product import ProductProblem
    from trisplit.algorithms.state import State
    from trisplit.problem import Function, Problem


@dataclass(frozen=True)
class Theory:
    """gamma = D_g / (2 (G_f + L_g + L_h) T^(2/3)), or gamma0 / T^(2/3) where a constant is not known.

    The diameter D_g and the Lipschitz constants come from the terms. G_f, the bound on ||grad f|| over dom g, is
    `gradient_bound`, or ||grad f(z_1)|| + L D_g if f declares its smoothness constant L.

    Parameters
    ----------
    iterations : int, optional
        The T that the step is made for; `minimize` fills in `max_iter`.
    gradient_bound : float, optional
        G_f.
    gamma0 : float
        Used where a constant is missing ([YMS21] Remark 2.1).

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> class Linear:
    ...     lipschitz = 0.0
    ...     def value(self, x): return x.sum()
    ...     def grad(self, x): return np.ones_like(x)
    >>> problem = ts.Problem(Linear(), [ts.terms.Box(0, 1), ts.terms.UnitSums()])
    >>> Theory(iterations=1000).start(problem, np.zeros((2, 2)))[0]  # 2 / (2 * 2 * 100)
    0.005...
    """

    iterations: int | None = None
    gradient_bound: float | None = None
    gamma0: float = 1.0
    needs_d = False

    def __post_init__(self) -> None:
        if self.iterations is not None and self.iterations < 1:
            raise InputError(f"`iterations` must be at least 1, got {self.iterations}")
        for name in ("gamma0", "gradient_bound"):
            value = getattr(self, name)
            if value is not None and (real_numbers(value, name).ndim or not (isfinite(value) and value >= 0)):
                raise InputError(f"`{name}` must be one number, finite and >= 0, got {value!r}; it is for all problems")
        if self.gamma0 == 0:
            raise InputError("`gamma0` must be positive, got 0; it is the step for one iteration")

    def with_iterations(self, T: int) -> "Theory":
        """Return the rule made for T iterations, unless it was made for another number already."""
        return self if self.iterations is not None else replace(self, iterations=T)

    def start(self, problem: "Problem | ProductProblem", y: Array) -> tuple[float, tuple]:
        from trisplit.theory import coverages

        if self.iterations is None:
            raise InputError("`Theory` needs the number of iterations: Theory(iterations=T)")
        T = self.iterations
        theorems = [coverage.theorem for coverage in coverages(problem, y, self.gradient_bound)]
        gammas = [self.gamma0 / T ** (2 / 3) if theorem is None else theorem.step(T) for theorem in theorems]
        return first_steps(gammas, problem, y), ()

    def needs_value(self, memory: tuple) -> bool:
        return False

    def propose(self, memory: tuple, z: Array, y: Array, gamma: float) -> tuple[float, tuple]:
        return gamma, memory

    def judge(self, memory: tuple, state: "State", f: "Function") -> tuple[float, tuple]:
        return state.gamma, memory
