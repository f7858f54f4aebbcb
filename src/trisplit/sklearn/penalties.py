"""The penalty alpha sum_k weights_k ||w[groups[k]]||_2 + l1 ||w||_1 as terms with proximal maps."""

from collections.abc import Sequence

import numpy as np

from trisplit.errors import InputError
from trisplit.problems.problem import Term
from trisplit.terms import L1, GroupL2, TreeGroupL2
from trisplit.terms.checks import nonnegative_weight
from trisplit.terms.structured.group_layout import as_groups, weight_of_groups

Groups = Sequence[Sequence[int]]


def group_penalty(
    groups: Groups | None, alpha: float, weights: Sequence[float] | np.ndarray | None, l1: float, d: int
) -> list[Term]:
    """Return terms whose sum is the penalty.

    No groups are the L1 norm. Groups of which any two are nested or disjoint have one proximal map, the L1 norm
    included; others are split into terms of groups without overlap.

    Examples
    --------
    >>> [type(term).__name__ for term in group_penalty([[0, 1], [1, 2]], 1.0, None, 0.5, 3)]
    ['GroupL2', 'GroupL2', 'L1']
    """
    alpha, l1 = nonnegative_weight(alpha, "alpha"), nonnegative_weight(l1, "l1")
    if groups is None:
        given = weight_of_groups(1.0 if weights is None else weights, d, "weights")
        return [L1(alpha * given + l1)]
    arrays = as_groups(groups)
    for k, group in enumerate(arrays):
        if group.max() >= d:
            raise InputError(f"`groups[{k}]` names feature {group.max()} but X has {d}; count from 0")
    given = weight_of_groups(1.0 if weights is None else weights, len(arrays), "weights")
    scaled = np.broadcast_to(alpha * np.asarray(given), len(arrays)).copy()
    lists = [group.tolist() for group in arrays]
    singles = [[i] for i in range(d)] if l1 else []
    try:
        return [TreeGroupL2(lists + singles, np.append(scaled, np.full(len(singles), l1)))]
    except InputError:  # two groups cross
        return [*GroupL2.split(lists, scaled), *([L1(l1)] if l1 else [])]
