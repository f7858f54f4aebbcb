"""Steps that stay as they are: a constant, and that of the theorem that covers the problem.

The theorems are [YMS21] Theorems 1 and 2 and Corollary 1.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trisplit.arrays import Array, StepSize, as_host
from trisplit.errors import InputError
from trisplit.steps.base import Proposal

if TYPE_CHECKING:
    from trisplit.problems.space import Space


class FixedStep:
    """What both share: the step of the start is proposed in every iteration, and accepted."""

    judge = None

    def propose(self, problem: "Space", memory: tuple, z: Array, y: Array, gamma: StepSize) -> Proposal[tuple]:
        return gamma, False, memory


@dataclass(frozen=True, eq=False)
class Constant(FixedStep):
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

    def __post_init__(self) -> None:
        gamma = finite_numbers(self.gamma, "step", "try 1/L or step='auto'", positive=True)
        object.__setattr__(self, "gamma", gamma if gamma.ndim else float(gamma))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and np.array_equal(self.gamma, other.gamma)

    def __hash__(self) -> int:
        return hash(np.asarray(self.gamma).tobytes())

    @classmethod
    def from_lipschitz(cls, L: float | Array) -> "Constant":
        """Return the step 1 / L, and 1 for L = 0, where f is linear and every step is stable."""
        constant = finite_numbers(L, "L", "use step='auto' if it is not known")
        return cls(1.0 / np.where(constant > 0, constant, 1.0))

    def start(self, problem: "Space", y: Array) -> tuple[StepSize, tuple]:
        batch = tuple(y.shape[: problem.batch_ndim])
        if isinstance(self.gamma, float):
            return self.gamma, ()
        gamma = np.asarray(self.gamma)
        if gamma.shape != batch and (batch or gamma.size != 1):
            came = f"an array of shape {gamma.shape} for a batch of shape {batch}"
            raise InputError(f"`step` must be one number, or one for each problem, got {came}")
        return problem.as_steps(gamma.reshape(batch).tolist(), y), ()


@dataclass(frozen=True)
class Theory(FixedStep):
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

    def __post_init__(self) -> None:
        if self.iterations is not None and self.iterations < 1:
            raise InputError(f"`iterations` must be at least 1, got {self.iterations}")
        for name in ("gamma0", "gradient_bound"):
            value, remedy, positive = getattr(self, name), "leave it out if it is not known", name == "gamma0"
            if value is not None and finite_numbers(value, name, remedy, positive=positive).ndim:
                raise InputError(f"`{name}` must be one number, got {value!r}; it is for all problems")

    def start(self, problem: "Space", y: Array) -> tuple[StepSize, tuple]:
        from trisplit.theory import coverages

        if (T := self.iterations) is None:
            raise InputError("`Theory` needs the number of iterations: Theory(iterations=T)")
        theorems = [coverage.theorem for coverage in coverages(problem, y, self.gradient_bound)]
        gammas = [self.gamma0 / T ** (2 / 3) if theorem is None else theorem.step(T) for theorem in theorems]
        return Constant(np.reshape(gammas, y.shape[: problem.batch_ndim])).start(problem, y)


def finite_numbers(value: object, name: str, remedy: str, *, positive: bool = False) -> np.ndarray:
    """Return numbers that are finite and >= 0, or positive, as a new array that nobody can change."""
    given = np.asarray(as_host(value))
    if given.dtype.kind not in "iuf":
        raise InputError(f"`{name}` must hold real numbers, got {value!r}; pass a float, or an array for a batch")
    if not (np.isfinite(given) & (given > 0 if positive else given >= 0)).all():
        raise InputError(f"`{name}` must be {'positive' if positive else '>= 0'} and finite, got {value}; {remedy}")
    array = np.array(given, dtype=float)
    array.flags.writeable = False
    return array
