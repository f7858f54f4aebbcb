"""What an estimator of the gradient must offer, and f as the algorithms see it with one."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from trisplit.arrays import Array, namespace
from trisplit.gradients.access import Access, as_finite_sum
from trisplit.gradients.draws import Draw, Source
from trisplit.problems.oracles import Function

if TYPE_CHECKING:
    from trisplit.losses.base import FiniteSum
    from trisplit.problems.space import Space


@runtime_checkable
class Estimator(Protocol):
    """A rule for u_t. It is a frozen object; what it remembers is a tuple of arrays and numbers, None at first.

    Examples
    --------
    >>> import trisplit as ts
    >>> isinstance(ts.gradients.SVRG(), ts.gradients.Estimator)
    True
    """

    def estimate(self, memory: tuple | None, f: Access, z: Array, draw: Draw) -> tuple[Array, tuple]:
        """Return the estimate of the gradient at z and what to remember."""
        ...

    def step(self, loss: "FiniteSum") -> float:
        """Return a step that is safe for a convex f, from its constants of smoothness."""
        ...


class Estimated:
    """The gradient of f by an estimator, as `trisplit.splitting.tos.iterate` asks for it.

    Parameters
    ----------
    f : Function
        Whose gradient is estimated, with its counts.
    estimator : Estimator
    key : int
        From which the samples of each iteration are drawn.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(ts.losses.LeastSquares(np.eye(2), np.ones(2)), ts.terms.L1())
    >>> estimated = Estimated(problem.f, ts.gradients.Minibatch(2), key=0)
    >>> u, memory = estimated(problem, None, np.zeros(2), t=0)
    >>> u.sum(), problem.counts.samples
    (np.float64(-1.0), 2)
    """

    def __init__(self, f: Function, estimator: Estimator, key: int) -> None:
        self.access = Access(as_finite_sum(f.source, estimator), f.counts)
        self.estimator, self.dtype, self.counts = estimator, f.dtype, f.counts
        self.key, self.source = key, Source(key)

    def __call__(self, problem: "Space", remembered: tuple | None, z: Array, t: int) -> tuple[Array, tuple]:
        """Return the estimate at z after t iterations, and what to remember: the key, too."""
        self.counts.grad += 1
        key, memory = remembered or (self.key, None)
        if key != self.key:  # that of a run that is resumed
            self.key, self.source = key, Source(key)
        x, draw = problem.smooth_part(z), Draw(key, t, self.source)
        u, memory = self.estimator.estimate(memory, self.access, x, draw)
        return problem.embed(u if self.dtype is None else namespace(u).astype(u, self.dtype)), (key, memory)
