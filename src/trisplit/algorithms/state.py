"""What an iteration hands out."""

from collections.abc import Callable
from typing import NamedTuple, Self

from trisplit.arrays import Array, is_array


class State(NamedTuple):
    """One iteration of Algorithm 1: z = prox_g(y), u = gradient at z, x = prox_h(2 z - y - gamma u).

    `f_z` is f(z) if the step rule asked for it, else None; `memory` is what the step rule remembers;
    `d` is x - z if the rule needs it.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.Box(0.5, 1), ts.terms.L1(0.1)])
    >>> state = next(ts.tos(problem, np.ones(2), 0.5))
    >>> state.t, state.z, state.x
    (1, array([1., 1.]), array([0.45, 0.45]))
    """

    t: int
    z: Array
    x: Array
    y: Array
    u: Array
    gamma: float
    f_z: float | None = None
    memory: tuple = ()
    d: Array | None = None

    @property
    def move(self) -> Array:
        """By how much an unrelaxed y moves, x - z."""
        return self.x - self.z if self.d is None else self.d

    def mapped(self, function: Callable[..., Array], *others: "State") -> Self:
        """Return the state with `function` applied to each of its arrays, together with those of other states.

        `t` stays; what is a number, or None, in this state stays too.
        """

        def apply(values: tuple) -> object:
            return function(*values) if is_array(values[0]) else values[0]

        states = (self, *others)
        *fields, d = (apply(values) for values in zip(*((*state[1:7], state.d) for state in states), strict=True))
        memory = [apply(values) for values in zip(*(state.memory for state in states), strict=True)]
        make = getattr(self.memory, "_make", tuple)  # a rule may have named its parts
        return type(self)(self.t, *fields, make(memory), d)  # pyright: ignore
