"""About how long the parts of a search take that cannot be cut short: none is begun that would end too late.

All of them take a time that grows with the cube of the number of rows, at most so many seconds times that on a core of
2020, measured at 500 to 2,000 rows. Below 100 rows none is worth a thought.
"""

from math import inf
from time import perf_counter

START = 1.5e-9  # the set-up of a thread, the first iteration, and rounding
CERTIFICATE = 8e-10  # of the point that a start has reached
FORM = 3e-10  # of compiled swaps
FILL = 2.5e-10  # the table of all swaps
PENALTY = 8e-10  # as small as it can be, on forbidden pairs
CHEAP_BOUND, CHEAP_BOUND_DECIMALS = 1e-8, 1.5e-7


def left(deadline: float | None) -> float:
    """Return the seconds until a deadline, a value of `time.perf_counter()`; infinity if there is none.

    Examples
    --------
    >>> left(None)
    inf
    """
    return inf if deadline is None else deadline - perf_counter()


def fits(part: float, n: int, deadline: float | None) -> bool:
    """Say whether a part of this module ends before the deadline if it begins now with n rows.

    Examples
    --------
    >>> fits(START, 100, None), fits(START, 100, perf_counter() + 1.0), fits(START, 10_000, perf_counter() + 1.0)
    (True, True, False)
    """
    return part * n**3 < left(deadline)
