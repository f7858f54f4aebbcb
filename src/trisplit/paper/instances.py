"""The instances of [YMS21] section 5, their families and the error of a permutation."""

import re
from functools import cache

from trisplit import qap

SPLIT_BY_LETTER = ("lipa", "tai")  # families whose last letter says how the data were made


@cache
def paper_instances() -> tuple[str, ...]:
    """Return the names of the 134 instances of the paper."""
    return tuple(entry.name for entry in qap.table() if entry.in_paper)


@cache
def best_known() -> dict[str, int]:
    """Return the best-known cost of each bundled instance."""
    return {entry.name: entry.best_known for entry in qap.table()}


def family(name: str) -> str:
    """Return the family of an instance.

    >>> family("bur26a"), family("lipa90b"), family("tai256c")
    ('bur', 'lipa-b', 'tai-c')
    """
    letters, letter = re.fullmatch(r"([a-z]+)\d+([a-z]?)", name).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return f"{letters}-{letter}" if letters in SPLIT_BY_LETTER else letters


def assignment_error(cost: float, best: float) -> float:
    """Return (cost - best) / max(best, 1), the error of the paper; esc16f has the optimum 0.

    >>> assignment_error(11, 10), assignment_error(0, 0)
    (0.1, 0.0)
    """
    return (cost - best) / max(best, 1)
