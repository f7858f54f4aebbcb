"""What an iteration, its step rule and the run ask of a problem, be it one or a batch of them.

A space says where points live and how they are compared. `Problem` is the plain one, `Product` holds copies of x.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Literal, TypeGuard

import numpy as np

from trisplit.arrays import Array, Shape, StepSize, Values, from_numpy, is_array, namespace, to_numpy
from trisplit.arrays.batched import (
    TINY,
    all_finite,
    column,
    dots,
    each_finite,
    norms,
    per_problem_dot,
    to_host,
    where_rows,
)
from trisplit.problems.oracles import has_domain, is_convex
from trisplit.steps.records import Record, Table
from trisplit.terms.numbers import safe_norm

if TYPE_CHECKING:
    from trisplit.problems.oracles import Counts
    from trisplit.problems.problem import Problem
    from trisplit.splitting.tos import Iterate


class Space:
    """A problem as the iteration sees it; in a batch the first `batch_ndim` axes count problems.

    Every space has `prox_g`, `prox_h` and `grad`; one that a run looks at has all that is declared here.
    """

    batch_ndim: int = 0
    base: "Problem"  # f and the terms as they were given
    hands_out_z: bool = True  # z is the point that is handed out, so that f(z) is its value

    prox_g: Callable[[Array, StepSize], Array]
    prox_h: Callable[[Array, StepSize], Array]
    grad: Callable[[Array], Array]
    value: Callable[[Array], Values]
    value_and_grad: Callable[[Array], tuple[Values, Array]]
    number: Callable[[Values], float]  # reads a value of f, for which a device is waited for; in a batch it stays there
    counts: "Counts"
    reached: Callable[["Iterate"], Sequence[Array]]  # where the proximal map of each term arrived
    infeasibility: Callable[["Iterate"], Values]
    bound: Callable[["Iterate"], Values]
    dual: Callable[["Iterate", int], Array]  # an element of the subdifferential of that term, where it arrived
    select: Callable[[tuple[Array, ...], Shape], "Space | None"]

    @property
    def meets(self) -> bool:
        """Whether the point that is handed out lies in all domains that are known."""
        return not any(map(has_domain, self.base.terms[int(self.hands_out_z) :]))

    def uncounted(self) -> "Space":
        """Return `prox_g`, `prox_h` and `grad` without counting, for a compiler, which takes counters for constants."""
        return self

    def start(self, x0: Array) -> Array:
        """Return y_1."""
        return x0

    def inside(self, y: Array) -> Array:
        """Return a point near y at which f may be asked."""
        return y

    def curvature(self, z: Array, u: Array, move: Array) -> np.ndarray:
        """Return by how much the gradient of f, u at z, changes along a move inside dom g, per length."""
        probe = self.inside(z + move)
        moved, change = np.asarray(self.norms(probe - z, self.grad(probe) - u))
        with np.errstate(all="ignore"):
            return change / moved

    def point(self, made: "Iterate") -> Array:
        """Return the point that an iterate stands for."""
        return made.z

    def objective(self, made: "Iterate") -> Values:
        """Return phi at the point that an iterate stands for, indicators counted as 0."""
        at = self.point(made)
        f_at = self.number(made.f_z) if self.hands_out_z and made.f_z is not None else self.base.value(at)
        return f_at + self.base.nonsmooth(at, self.reached(made))

    def kind_for(self, shape: Shape) -> str:
        """Return the kind of the best certificate that is known for points of that shape."""
        if not all(is_convex(term) for term in self.base.terms):
            return "fixed point"
        if self.hands_out_z and self.base.oracle(shape) is not None:
            return "gap"
        return "bound" if self.base.is_bounded(shape) else "residual"

    def smooth_part(self, d: Array) -> Array:
        """Return the part of a point on which f depends."""
        return d

    def together(self, d: Array) -> Array:
        """Return the sum over copies of x."""
        return d

    def embed(self, u: Array) -> Array:
        """Return a gradient of f as one in this space, the adjoint of `smooth_part`."""
        return u

    def read(self, values: Values) -> float | np.ndarray:
        """Return values of f on the host."""
        return to_host(values)[0] if self.batch_ndim else float(values)  # pyright: ignore[reportArgumentType]

    def dots(self, *pairs: tuple[Array, Array]) -> "list[float] | np.ndarray":
        """Return inner products on the host, for which a device is waited for once."""
        k = self.batch_ndim
        return to_host(*(per_problem_dot(x, y, k) for x, y in pairs)) if k else dots(*pairs)

    def norms(self, *points: Array) -> "list[float] | np.ndarray":
        """Return Euclidean norms on the host, for which a device is waited for once."""
        if not (k := self.batch_ndim):
            return norms(*points)
        squares = np.asarray(self.dots(*((x, x) for x in points)))
        if type(points[0]) is np.ndarray and (squares < TINY[points[0].itemsize >= 8]).any():
            return np.array([np.ravel(safe_norm(x, k)) for x in points])
        return np.sqrt(squares)

    def record(self, numbers: dict[str, float], like: Array) -> Record | Table:
        """Return a record of these numbers, in a batch one for each problem."""
        k = self.batch_ndim
        return Table.of(prod(like.shape[:k]), numbers) if k else Record(numbers)

    def as_steps(self, gamma: float | np.ndarray, like: Array) -> StepSize:
        """Return steps as the iteration takes them: a float, in a batch a column that multiplies `like`."""
        k = self.batch_ndim
        return column(from_numpy(np.reshape(gamma, like.shape[:k]).copy(), like), like) if k else float(gamma)

    def finite(self, *points: Array) -> np.ndarray | Literal[True]:
        """Say for each problem whether all entries are finite, True if they are for all."""
        if all(map(all_finite, points)):
            return True
        return np.all([to_numpy(each_finite(x, self.batch_ndim)).ravel() for x in points], axis=0)

    def filled(self, made: "Iterate", good: np.ndarray) -> "Iterate":
        """Return an iterate with ones in the rows that are not good: some oracles refuse NaN, also for other rows."""
        mask = np.reshape(good, made.y.shape[: self.batch_ndim])
        parts = {name: part for name, part in made._asdict().items() if has_rows(part, mask.shape)}
        return made._replace(**{name: where_rows(mask, x, namespace(x).ones_like(x)) for name, x in parts.items()})


def has_rows(x: object, batch: Shape) -> TypeGuard[Array]:
    """Say whether `x` is an array whose first axes are those of the batch."""
    return is_array(x) and tuple(x.shape[: len(batch)]) == tuple(batch)
