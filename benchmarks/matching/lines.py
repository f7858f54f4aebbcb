"""The lines of the benchmark: a kind of graphs, with a correlation and a share of seeds, and how often it is drawn.

| part | graphs |
| --- | --- |
| er | correlated Erdos-Renyi: n = 100 and 500 with density 0.5, n = 2,000 with density 0.1 |
| sbm | stochastic block model: 3 blocks of 100, density 0.3 inside and 0.1 between |
| power | Barabasi-Albert: n = 500, each new vertex brings 10 edges |
| sparse | Erdos-Renyi with average degree 20 |
| real | graphs that networkx ships, a tenth of the edges of the copy rewired |

The name of a line is its kind, the correlation (of real graphs, there is none) and the seeds in percent, as in
`er-500-0.9-5`.
"""

from fnmatch import fnmatch
from typing import NamedTuple

from trisplit.errors import InputError

from . import real

PARTS = ("er", "sbm", "power", "sparse", "real")
DENSITY = {100: 0.5, 500: 0.5, 2000: 0.1}
INSIDE, BETWEEN, BLOCKS = 0.3, 0.1, 3
BROUGHT = 10  # edges of a new vertex
DEGREE = 20
REWIRED = 0.1
RUNS = 10


class Line(NamedTuple):
    """`density` is that of all pairs, or the names of real graphs say which; `limit` and `own_limit` are in seconds."""

    name: str
    part: str
    n: int
    correlation: float | None
    seeds: int  # percent
    runs: int = RUNS
    limit: float = 60.0
    own_limit: float = 60.0

    @property
    def hints(self) -> int:
        """Return how many vertices are seeds."""
        return max(round(self.n * self.seeds / 100), 1) if self.seeds else 0

    @property
    def graph(self) -> str:
        """Return the kind of graphs, the name without correlation and seeds."""
        return self.name.rsplit("-", 1 if self.correlation is None else 2)[0]


def line(part: str, kind: str, n: int, correlation: float | None, seeds: int, **options: float) -> Line:
    """Return a line of the usual name."""
    middle = "" if correlation is None else f"-{correlation:g}"
    return Line(f"{kind}{middle}-{seeds}", part, n, correlation, seeds, **options)  # pyright: ignore


def lines(quick: bool) -> list[Line]:
    """Return all lines, or a few that take seconds.

    >>> [line.name for line in lines(True)][:2]
    ['er-30-1-0', 'er-30-0.9-5']
    """
    if quick:
        found = [line("er", "er-30", 30, 1.0, 0), line("er", "er-30", 30, 0.9, 5), line("sbm", "sbm-30", 30, 0.9, 5)]
        found += [line("power", "power-40", 40, 0.9, 5), line("sparse", "sparse-200", 200, 0.9, 5)]
        found += [line("real", name, n, None, 5) for name, n in real.sizes().items() if n < 20]
        return [one._replace(runs=2, limit=20.0, own_limit=20.0) for one in found]
    found = []
    for n in DENSITY:
        limit = {} if n < 2000 else {"own_limit": 120.0}
        found += [line("er", f"er-{n}", n, r / 10, seeds, **limit) for r in range(5, 11) for seeds in (0, 1, 5)]
    found += [line("sbm", "sbm-300", 300, r, seeds) for r in (0.7, 0.9) for seeds in (0, 5)]
    found += [line("power", "power-500", 500, r, seeds) for r in (0.7, 0.9) for seeds in (0, 5)]
    found += [line("real", name, n, None, seeds) for name, n in real.sizes().items() for seeds in (0, 5)]
    return [
        *found,
        line("sparse", "sparse-5000", 5000, 0.9, 1, limit=120.0, own_limit=600.0),
        line("sparse", "sparse-20000", 20000, 0.9, 1, limit=120.0, own_limit=3600.0, runs=3),
    ]


def choose_lines(patterns: list[str], quick: bool = False) -> list[str]:
    """Return the names of lines that fit one of the patterns, as in `er-500-*`; an `InputError` if one fits none."""
    names, chosen = [line.name for line in lines(quick)], []
    for pattern in patterns:
        fitting = [name for name in names if fnmatch(name, pattern)]
        if not fitting:
            raise InputError(f"no line is called {pattern!r}; there are {', '.join(names[:4])}, ... {names[-1]}")
        chosen += [name for name in fitting if name not in chosen]
    return chosen
