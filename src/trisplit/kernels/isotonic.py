"""Isotonic regression of the rows of a matrix by pooling adjacent violators, in O(n) for a row.

For one row y_1, ..., y_n with weights w > 0:  minimise  sum_k w_k (p_k - y_k)^2  over p_1 <= ... <= p_n.

    isotonic_rows(y, weights, decreasing, out)

- y (rows, n), float32 or float64, C order: read only;
- weights (1, n) or (rows, n), float64, C order, positive; of shape (1, 0) all weights are 1, which is faster;
- decreasing: whether the constraint is p_1 >= ... >= p_n instead;
- out (rows, n), dtype of y: the fits. It may be `y` itself if that can be written. A row with NaN becomes NaN.

Everything is computed in double precision, and numbers near the largest do not overflow.

M. J. Best and N. Chakravarti (1990), Active set algorithms for isotonic regression; a unifying framework, Mathematical
Programming 47.
"""

import numpy as np

from trisplit.kernels import by_precision, compiled

LARGEST = 1e150  # sums of numbers up to this, times a count, do not overflow
CROWD = 64  # numbers in a bucket that are sorted one by one


@compiled()
def pool(y: np.ndarray, sign: float, sums: np.ndarray, sizes: np.ndarray, ends: np.ndarray) -> int:
    """Write the means of the blocks of a row into `sums` and where they end; return how many there are.

    Means are compared without dividing. A block first takes what follows, as long as it is not above its mean, and then
    the blocks before it: so most entries are met by a loop that holds everything in registers, where the block before
    is kept, too. The arrays have room for one entry more: their first block lies below all others.
    """
    n, count, k = y.size, 0, 0
    before, before_size, before_end = -np.inf, 1.0, 0
    while k < n:
        total, size = sign * y[k], 1.0
        k += 1
        while k < n and sign * y[k] * size <= total:
            total += sign * y[k]
            size += 1.0
            k += 1
        while before * size >= total * before_size:
            total += before
            size += before_size
            count -= 1
            before, before_size, before_end = sums[count], sizes[count], ends[count]
        sums[count], sizes[count], ends[count] = before, before_size, before_end
        count += 1
        before, before_size, before_end = total, size, k
    sums[count], sizes[count], ends[count] = before, before_size, before_end
    for block in range(count):
        sums[block], ends[block] = sums[block + 1] / sizes[block + 1], ends[block + 1]
    return count


@compiled()
def pool_weighted(
    y: np.ndarray, w: np.ndarray, sign: float, means: np.ndarray, sizes: np.ndarray, ends: np.ndarray
) -> int:
    """Write the blocks of a row, by their means, which never overflow; without weights, all are 1."""
    last = -1
    for k in range(y.size):
        mean, size = sign * y[k], 1.0 if w.size == 0 else w[k]
        while last >= 0 and means[last] >= mean:
            both = sizes[last] + size
            # Halves, since the difference of two numbers near the largest overflows.
            mean += 2.0 * ((0.5 * means[last] - 0.5 * mean) * (sizes[last] / both))
            size = both
            last -= 1
        last += 1
        means[last], sizes[last], ends[last] = mean, size, k + 1
    return last + 1


@by_precision("void(Array({f}, 2, 'C', readonly=True), Array(f8, 2, 'C', readonly=True), b1, {f}[:, ::1])")
def isotonic_rows(y: np.ndarray, weights: np.ndarray, decreasing: bool, out: np.ndarray) -> None:
    """Write the isotonic fits of the rows of `y` into `out`."""
    rows, n = y.shape
    means, sizes, ends = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1, dtype=np.int64)
    sign = -1.0 if decreasing else 1.0
    for i in range(rows):
        small = valid = ordered = True
        for k in range(n):
            small &= abs(y[i, k]) <= LARGEST
            valid &= y[i, k] == y[i, k]
            ordered &= k == 0 or sign * y[i, k - 1] <= sign * y[i, k]
        if ordered and valid:
            out[i] = y[i]
            continue
        if small and weights.shape[1] == 0:
            count = pool(y[i], sign, means, sizes, ends)
        else:
            count = pool_weighted(y[i], weights[0 if weights.shape[0] == 1 else i], sign, means, sizes, ends)
        first = 0
        for block in range(count):
            mean = sign * means[block] if valid else np.nan
            for k in range(first, ends[block]):
                out[i, k] = mean
            first = ends[block]


@compiled()
def sort_largest_first(
    sizes: np.ndarray, places: np.ndarray, w: np.ndarray, kept: np.ndarray, order: np.ndarray, counts: np.ndarray
) -> int:
    """Write the sizes that may be above the weight of their rank, the largest first, and their places.

    Return how many these are: those after them are not above, and a fit of sizes less weights is not positive there.
    Return -1 if many are equal.

    The bits of positive numbers are in their order. Buckets by leading bits hold about one number each, so that few are
    out of order afterwards, and only within a bucket.
    """
    bits, m = sizes.view(np.int64), sizes.size
    lowest = highest = bits[0]
    for k in range(m):
        lowest, highest = min(lowest, bits[k]), max(highest, bits[k])
    shift = 0
    while (highest - lowest) >> shift >= counts.size:
        shift += 1
    counts[:] = 0
    for k in range(m):
        counts[(highest - bits[k]) >> shift] += 1
    edge = np.empty(1, dtype=np.int64)
    largest = edge.view(np.float64)  # that a bucket may hold
    start, most, last, found = np.int32(0), np.int32(0), -1, 0
    for b in range(counts.size):
        count = counts[b]
        counts[b] = start
        start += count
        if count > 0:
            most = max(most, count)
            edge[0] = highest - (b << shift)
            if largest[0] > w[start - 1]:
                last, found = b, start
    if most > CROWD:
        return -1
    for k in range(m):
        b = (highest - bits[k]) >> shift
        if b <= last:
            kept[counts[b]], order[counts[b]] = sizes[k], places[k]
            counts[b] += 1
    for k in range(1, found):
        size = kept[k]
        if kept[k - 1] < size:
            place, j = order[k], k
            while j > 0 and kept[j - 1] < size:
                kept[j], order[j] = kept[j - 1], order[j - 1]
                j -= 1
            kept[j], order[j] = size, place
    return found


@compiled("b1(Array(f8, 2, 'C', readonly=True), Array(f8, 2, 'C', readonly=True), f8[:, ::1])")
def sorted_l1_rows(x: np.ndarray, weights: np.ndarray, out: np.ndarray) -> bool:
    """Write the proximal points of sum_i weights_i |x|_[i], weights nonincreasing, into `out`; say whether it was done.

    `weights` are those of all rows or of each. Entries that must become zero are not sorted. A row
    with NaN, with numbers so large that sums overflow, or with too many that are nearly equal, is for somebody else.
    """
    rows, n = x.shape
    sizes, kept, of_blocks = np.empty(n + 1), np.empty(n), np.empty(n + 1)
    places, order, ends = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
    buckets = 16
    while buckets < n and buckets < 65536:
        buckets *= 2
    counts = np.empty(buckets, dtype=np.int32)
    for i in range(rows):
        w = weights[0 if weights.shape[0] == 1 else i]
        small, m, least = True, 0, w[n - 1]
        for k in range(n):
            size = abs(x[i, k])
            small &= size <= LARGEST
            # Overwritten unless it counts; a place tells the sign, too, since to look that up later takes longer.
            sizes[m], places[m] = size, k if x[i, k] >= 0.0 else ~k
            m += size > least
        if not (small and w[0] <= LARGEST):
            return False
        out[i] = 0.0
        if m == 0:
            continue
        m = sort_largest_first(sizes[:m], places[:m], w, kept, order, counts)
        if m < 0:
            return False
        for k in range(m):
            kept[k] -= w[k]
        pool(kept[:m], -1.0, sizes, of_blocks, ends)
        block = 0
        for k in range(m):  # without a loop over blocks, whose lengths no processor can guess
            p = -sizes[block]
            if p <= 0.0:  # and those after it
                break
            place = order[k]
            out[i, place if place >= 0 else ~place] = p if place >= 0 else -p
            block += ends[block] == k + 1
    return True
