"""Matching of sparse graphs: common neighbours of pairs, greedy choice among pairs, and products on a pattern of pairs.

Graphs are rows of a sparse matrix: `starts`, `columns` and `values` are those of `scipy.sparse.csr_array`. Candidate
pairs (i, v) of a vertex i of A and a vertex v of B are the entries of such a matrix as well.

No n x n array is held: a row of a product is gathered in a vector of length n, of which only what was touched is read
and cleared. Sums are in double precision and in a fixed order.
"""

import numpy as np

from trisplit.kernels import compiled
from trisplit.kernels.simplex import project_line


@compiled()
def sift_down(keys: np.ndarray, items: np.ndarray, size: int, at: int) -> None:
    """Restore the heap, least key first and of equal keys the largest item, below an entry that has grown."""
    key, item = keys[at], items[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (keys[other] < keys[child] or (keys[other] == keys[child] and items[other] > items[child])):
            child = other
        if keys[child] > key or (keys[child] == key and items[child] <= item):
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item


@compiled(
    "i8(i8[::1],i4[::1],f8[::1],i8[::1],i8[::1],i4[::1],f8[::1],i8[::1],i4[::1],f8[::1],f8[::1],f8[::1],b1[::1],"
    "b1[::1],f8,i8[::1],i4[::1],f8[::1],f8[::1])"
)
def common_neighbours(
    A_starts: np.ndarray,
    A_columns: np.ndarray,
    A_values: np.ndarray,
    place: np.ndarray,
    B_starts: np.ndarray,
    B_columns: np.ndarray,
    B_values: np.ndarray,
    S_starts: np.ndarray,
    S_columns: np.ndarray,
    S_values: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    free_A: np.ndarray,
    free_B: np.ndarray,
    least: float,
    starts: np.ndarray,
    columns: np.ndarray,
    counts: np.ndarray,
    keys: np.ndarray,
) -> int:
    """Write the best pairs (i, v) of each free row with W[i,v] >= least, W = A[:, M] B[place[M], :] + S.

    Best are those with the largest W[i,v] - a[i] - b[v]; there are as many as `columns` has places for each row. Row i
    begins at starts[i] in what is written, with v in ascending order. The number of pairs is returned.
    """
    n, m, k = free_A.size, free_B.size, columns.size // max(free_A.size, 1)
    W, touched = np.zeros(m), np.zeros(m, np.bool_)
    found, heap, items = np.empty(m, np.int64), np.empty(k), np.empty(k, np.int64)
    total = 0
    for i in range(n):
        starts[i] = total
        if not free_A[i]:
            continue
        count = 0
        for e in range(A_starts[i], A_starts[i + 1]):
            row = place[A_columns[e]]
            if row < 0:
                continue
            for s in range(B_starts[row], B_starts[row + 1]):
                v = B_columns[s]
                if free_B[v]:
                    if not touched[v]:
                        touched[v] = True
                        found[count] = v
                        count += 1
                    W[v] += A_values[e] * B_values[s]
        for s in range(S_starts[i], S_starts[i + 1]):
            v = S_columns[s]
            if free_B[v]:
                if not touched[v]:
                    touched[v] = True
                    found[count] = v
                    count += 1
                W[v] += S_values[s]
        size = 0
        for f in range(count):
            v = found[f]
            if W[v] >= least:
                key = W[v] - b[v]
                if size < k:  # fill, then make it a heap
                    heap[size], items[size] = key, v
                    size += 1
                    if size == k:
                        for at in range(k // 2 - 1, -1, -1):
                            sift_down(heap, items, k, at)
                elif key > heap[0] or (key == heap[0] and v < items[0]):
                    heap[0], items[0] = key, v
                    sift_down(heap, items, k, 0)
        chosen = np.sort(items[:size])
        for f in range(size):
            v = chosen[f]
            columns[total], counts[total], keys[total] = v, W[v], W[v] - a[i] - b[v]
            total += 1
        for f in range(count):
            W[found[f]], touched[found[f]] = 0.0, False
    starts[n] = total
    return total


@compiled("i8(i8[::1],i8[::1],i4[::1],f8[::1],f8,i8[::1],i8[::1])")
def take_greedily(
    order: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    counts: np.ndarray,
    least: float,
    partner: np.ndarray,
    owner: np.ndarray,
) -> int:
    """Match the pairs in this order whose count is at least `least` and whose vertices are free; return how many."""
    taken = 0
    for e in order:
        i, v = rows[e], columns[e]
        if counts[e] >= least and partner[i] == -1 and owner[v] == -1:
            partner[i], owner[v] = v, i
            taken += 1
    return taken


@compiled("void(i8[::1],i4[::1],f8[::1],i8[::1],i4[::1],f4[::1],i8[::1],i4[::1],f8[::1],f8[::1])")
def add_product(
    A_starts: np.ndarray,
    A_columns: np.ndarray,
    A_values: np.ndarray,
    starts: np.ndarray,
    columns: np.ndarray,
    X: np.ndarray,
    B_starts: np.ndarray,
    B_columns: np.ndarray,
    B_values: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add (A X B')[i,v] to `out` for the pairs (i, v) of the pattern, on which X lives."""
    m = B_starts.size - 1
    row, touched, found = np.zeros(m), np.zeros(m, np.bool_), np.empty(m, np.int64)  # a row of A X
    for i in range(starts.size - 1):
        count = 0
        if starts[i] == starts[i + 1]:
            continue
        for e in range(A_starts[i], A_starts[i + 1]):
            j, weight = A_columns[e], A_values[e]
            for s in range(starts[j], starts[j + 1]):
                x = X[s]
                if x != 0:
                    v = columns[s]
                    if not touched[v]:
                        touched[v] = True
                        found[count] = v
                        count += 1
                    row[v] += weight * x
        for s in range(starts[i], starts[i + 1]):
            v, total = columns[s], 0.0
            for e in range(B_starts[v], B_starts[v + 1]):
                total += B_values[e] * row[B_columns[e]]
            out[s] += total
        for f in range(count):
            row[found[f]], touched[found[f]] = 0.0, False


@compiled("void(i8[::1],i8[::1],f4[::1],i8,f4[::1])")
def project_groups(starts: np.ndarray, entries: np.ndarray, y: np.ndarray, kind: int, out: np.ndarray) -> None:
    """Project the entries of each group, y[entries[starts[i]:starts[i+1]]], onto the simplex or the solid simplex."""
    longest = 0
    for i in range(starts.size - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    line, work = np.empty(longest, y.dtype), np.empty(longest + 1)
    for i in range(starts.size - 1):
        first, size = starts[i], starts[i + 1] - starts[i]
        for s in range(size):
            line[s] = y[entries[first + s]]
        if size > 0:
            project_line(line[:size], 1.0, kind, work, line[:size])
        for s in range(size):
            out[entries[first + s]] = line[s]
