"""Check that a bound is the optimum of a small problem, by a look at every permutation."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import permutations

import numpy as np

from trisplit.verify.whole import Whole, WrongError

LARGEST_SIZE = 8


def check_enumeration(problem: Whole, certificate: Mapping) -> Fraction:
    """Return the smallest sum_ij A_ij B_(p_i, p_j) + sum_i C_(i, p_i); the certificate holds nothing to check."""
    n, A, B, C = problem.n, problem.A, problem.B, problem.C
    if n > LARGEST_SIZE:
        raise WrongError(f"the certificate is for up to {LARGEST_SIZE} rows, there are {n}")
    largest_A, largest_B, largest_C = (max(map(abs, M.ravel().tolist())) for M in (A, B, C))
    if n * n * largest_A * largest_B + n * largest_C < 2**62 and max(largest_A, largest_B) < 2**62:
        A, B, C = (M.astype(np.int64) for M in (A, B, C))
    p = np.array(list(permutations(range(n)))).T  # the places of row i in all permutations are p[i]
    costs = np.zeros(p.shape[1], dtype=A.dtype)
    for i in range(n):
        costs += C[i][p[i]]
        for j in range(n):
            costs += (A[i, j] * B)[p[i], p[j]]
    return Fraction(int(costs.min()))
