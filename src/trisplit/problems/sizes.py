"""What a check measures of an iterate: the sizes that `trisplit.problems.scales` compares."""

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from trisplit.arrays import Array, Values, eps, is_array, to_numpy
from trisplit.steps.records import Record, Table

if TYPE_CHECKING:
    from trisplit.problems.space import Space
    from trisplit.splitting.tos import Iterate

Scales: TypeAlias = Record | Table  # the numbers of `trisplit.problems.scales`


class Marks(NamedTuple):
    """Points that a run has been at."""

    before: Array  # the check before
    origin: Array  # where z and x first came near each other
    start: Array


def sizes_of(problem: "Space", made: "Iterate", marks: Marks) -> dict[str, Values]:
    """Return what a check has to know."""
    d, z, k = made.d, problem.point(made), problem.batch_ndim
    slopes = [problem.dual(made, i) for i in problem.base.functions]
    moves = [z - mark for mark in marks]
    lengths = problem.norms(d, made.y, made.z, *moves, made.u, *slopes)
    copied = [] if problem.hands_out_z else problem.norms(problem.together(d), z)
    gamma, larger = made.gamma, max
    if k:
        batch, larger = made.y.shape[:k], np.maximum
        lengths, copied = (np.reshape(rows, (len(rows), *batch)) for rows in (lengths, copied))
        gamma = np.reshape(to_numpy(gamma), batch) if is_array(gamma) else gamma
    apart, of_y, of_z, moved, from_origin, from_start, *slopes = lengths
    extent = of_y + 2.0 * of_z + apart  # at least ||y|| + ||z|| + ||x||
    total, size = copied if len(copied) else (apart, of_z)
    return {
        "gamma": gamma,
        "residual": total / gamma,
        "rounding": 4.0 * eps(z) * (extent / gamma + slopes[0]),
        "extent": extent,
        "apart": apart,
        "slope": reduce(larger, slopes),
        "size": size,
        "moved": moved,
        "from_origin": from_origin,
        "from_start": from_start,
    }
