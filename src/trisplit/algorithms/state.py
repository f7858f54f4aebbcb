"""What an iteration hands out."""

from typing import NamedTuple

from trisplit.arrays import Array


class State(NamedTuple):
    """One iteration of Algorithm 1: z = prox_g(y), u = gradient at z, x = prox_h(2 z - y - gamma u).

    `f_z` is f(z) if the step rule asked for it, else None; `memory` is what the step rule remembers.
    """

    t: int
    z: Array
    x: Array
    y: Array
    u: Array
    gamma: float
    f_z: float | None = None
    memory: tuple = ()
