"""Robust tabu search as it is usually written: a matrix of deltas, updated in O(1) each, [Tai91]; compiled.

For symmetric matrices with zero diagonals; deltas are halves of changes of the cost. The tenures are those of the
search that it is compared with, 0.9 n to 1.1 n moves.

[Tai91] E. D. Taillard, Robust taboo search for the quadratic assignment problem, Parallel Computing 17 (1991) 443-455.
"""

import numpy as np

from trisplit.kernels import compiled

FAR = 2**62


@compiled()
def delta(A: np.ndarray, B: np.ndarray, p: np.ndarray, r: int, s: int) -> int:
    """Return half of what the swap of r and s changes, in O(n)."""
    total = 0
    for k in range(p.size):
        if k != r and k != s:
            total += (A[r, k] - A[s, k]) * (B[p[s], p[k]] - B[p[r], p[k]])
    return total


@compiled("void(i8[:,::1],i8[:,::1],i8[::1],i8[:,::1])")
def fill(A: np.ndarray, B: np.ndarray, p: np.ndarray, deltas: np.ndarray) -> None:
    """Write the deltas of all pairs i < j."""
    for i in range(p.size - 1):
        for j in range(i + 1, p.size):
            deltas[i, j] = delta(A, B, p, i, j)


@compiled("void(i8[:,::1],i8[:,::1],i8[::1],i8[:,::1],i8[:,::1],i8[::1],npy_rng,i8)")
def search(
    A: np.ndarray,
    B: np.ndarray,
    p: np.ndarray,
    deltas: np.ndarray,
    until: np.ndarray,
    numbers: np.ndarray,
    rng: np.random.Generator,
    moves: int,
) -> None:
    """Make moves from p; `numbers` are those made before, the sum over i < j now, and the least one."""
    n, (first, value, best) = p.size, numbers
    for move in range(first + 1, first + moves + 1):
        least, r, s = FAR, -1, -1
        for i in range(n - 1):
            for j in range(i + 1, n):
                if deltas[i, j] < least:
                    allowed = until[i, p[j]] < move or until[j, p[i]] < move
                    if allowed or value + deltas[i, j] < best:
                        least, r, s = deltas[i, j], i, j
        if r < 0:
            continue
        until[r, p[r]] = move + int((0.9 + 0.2 * rng.random()) * n)
        until[s, p[s]] = move + int((0.9 + 0.2 * rng.random()) * n)
        p[r], p[s] = p[s], p[r]
        value += least
        best = min(best, value)
        for i in range(n - 1):
            for j in range(i + 1, n):
                if i in (r, s) or j in (r, s):
                    deltas[i, j] = delta(A, B, p, i, j)
                else:
                    a = A[r, i] - A[r, j] + A[s, j] - A[s, i]
                    b = B[p[s], p[i]] - B[p[s], p[j]] + B[p[r], p[j]] - B[p[r], p[i]]
                    deltas[i, j] += a * b
    numbers[0], numbers[1], numbers[2] = first + moves, value, best


class PlainTabu:
    """A plain tabu search from a permutation."""

    def __init__(self, A: np.ndarray, B: np.ndarray, permutation: np.ndarray) -> None:
        self.A, self.B, self.p = A.copy(), B.copy(), permutation.copy()
        self.deltas, self.until, self.numbers = np.zeros_like(self.A), np.zeros_like(self.A), np.zeros(3, np.int64)
        fill(self.A, self.B, self.p, self.deltas)

    def advance(self, moves: int, rng: np.random.Generator) -> None:
        """Make that many moves."""
        search(self.A, self.B, self.p, self.deltas, self.until, self.numbers, rng, moves)
