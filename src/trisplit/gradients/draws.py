"""Samples drawn at random, iteration by iteration, from nothing but a key: a run that resumes draws the same."""

from dataclasses import dataclass

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

    @property
    def generator(self) -> np.random.Generator:
        """A generator of its own for each key and iteration."""
        return np.random.Generator(np.random.Philox(key=self.key, counter=[0, self.t, 0, 0]))

    def rows(self, n: int, size: int, *, replace: bool = False) -> np.ndarray:
        """Return `size` of n samples, different ones unless `replace`."""
        if replace:
            return self.generator.integers(n, size=size)
        if size >= n:
            return np.arange(n)
        return self.generator.choice(n, size, replace=False, shuffle=False)

    def coin(self) -> float:
        """Return a number between 0 and 1 that does not depend on `rows`."""
        return float(np.random.Generator(np.random.Philox(key=self.key, counter=[0, self.t, 1, 0])).random())
