"""Reading what `trisplit solve` prints."""

import re
from typing import Any

PAIR = "2\n0 1\n1 0\n0 3\n3 0\n"  # a QAPLIB file; both permutations cost 6


def printed(out: str) -> dict[str, Any]:
    """Return the rows of the table and the permutation."""
    rows = dict(
        re.findall(r"^\W*(cost|best known|gap|lower bound|certificate|time|status)\b\W+(.*?)\W*$", out, re.MULTILINE)
    )
    permutation = re.search(r"permutation \(counted from 0\): ([\d ]+)", out)
    assert permutation is not None
    return rows | {"permutation": [int(word) for word in permutation[1].split()]}
