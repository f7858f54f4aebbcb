"""Which instances take part, and the families that they belong to."""

import re

import trisplit as ts

PAPER = tuple(entry.name for entry in ts.qap.table() if entry.in_paper)
BEST = {entry.name: entry.best_known for entry in ts.qap.table()}
QUICK = ("esc16f", "nug12", "rou12")
SPLIT_BY_LETTER = ("lipa", "tai")  # families whose last letter says how the data were made


def choose(quick: bool, names: list[str] | None) -> list[str]:
    """Return the names asked for, else a few small instances or all of the paper."""
    if names is not None:
        return names
    return list(QUICK if quick else PAPER)


def family(name: str) -> str:
    """Return the family of an instance.

    >>> family("bur26a"), family("lipa90b"), family("tai256c")
    ('bur', 'lipa-b', 'tai-c')
    """
    letters, letter = re.fullmatch(r"([a-z]+)\d+([a-z]?)", name).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return f"{letters}-{letter}" if letters in SPLIT_BY_LETTER else letters


def relative(cost: float, best_known: float) -> float:
    """Return (cost - best) / max(best, 1), the error of the paper; esc16f has the optimum 0."""
    return (cost - best_known) / max(best_known, 1)
