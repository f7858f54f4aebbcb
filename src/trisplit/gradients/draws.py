"""Samples drawn at random, iteration by iteration, from nothing but a key: a run that resumes draws the same."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Draw:
    """The random numbers of one iteration.

    Examples
    --------
    >>> first, again = Draw(7, 3), Draw(7, 3)
    >>> bool((first.rows(100, 5) == again.rows(100, 5)).all())
    True
    """

    key: int
    t: int
    source: "Source | None" = field(default=None, compare=False, repr=False)

    def generator(self, stream: int = 0) -> np.random.Generator:
        """Return a generator of its own for each key, iteration and stream; drawing on, until the next call."""
        return (self.source or Source(self.key)).at(self.t, stream)

    def rows(self, n: int, size: int, *, replace: bool = False) -> np.ndarray:
        """Return `size` of n samples, different ones unless `replace`."""
        if replace:
            return self.generator().integers(n, size=size)
        if size >= n:
            return np.arange(n)
        return self.generator().choice(n, size, replace=False, shuffle=False)

    def coin(self) -> float:
        """Return a number between 0 and 1 that does not depend on `rows`."""
        return float(self.generator(stream=1).random())


class Source:
    """One generator that is put to the beginning of any iteration, as making one takes five times as long."""

    def __init__(self, key: int) -> None:
        self.bits = np.random.Philox(key=key)
        self.own = np.random.Generator(self.bits)
        self.state = self.bits.state

    def at(self, t: int, stream: int) -> np.random.Generator:
        """Return the generator at the beginning of a stream of iteration t."""
        self.state["state"]["counter"] = np.array([0, t, stream, 0], dtype=np.uint64)
        self.bits.state = self.state
        return self.own
