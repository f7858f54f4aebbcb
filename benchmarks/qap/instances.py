"""Which instances take part."""

import trisplit as ts
from trisplit.paper.instances import paper_instances

PAPER = paper_instances()
BEST = {entry.name: entry.best_known for entry in ts.qap.table()}
QUICK = ("esc16f", "nug12", "rou12")


def choose(quick: bool, names: list[str] | None) -> list[str]:
    """Return the names asked for, else a few small instances or all of the paper."""
    if names is not None:
        return names
    return list(QUICK if quick else PAPER)
