"""The proximal map of total variation on a graph, exactly, by maximal flows.

For numbers y at the nodes:  minimise  sum over edges of w_e |p_i - p_j| + ||p - y||^2 / 2  over p.

A dual point is a flow with |f_e| <= w_e, and p is y after the flow. Take a connected set of nodes whose p should be one
number: then it is their mean c. Let what is above c flow to what is below, within the set. If all of it arrives, c is
right. Else the nodes that can still be reached from the rest lie above c in the solution and the others below; edges
between the two are full, stay so, and each part goes on with its own mean. Splitting sets in all places at once, there
are about as many rounds as p has bits in its levels, and each continues from the flow of the one before.

The flow of a round is Dinic's: an augmentation sets the least of a few numbers to exactly 0, so that rounding errors
cannot keep it from ending.

A. Chambolle and J. Darbon (2009), On total variation minimization and surface evolution using parametric maximum flows,
International Journal of Computer Vision 84. E. A. Dinic (1970), Algorithm for solution of a problem of maximum flow in
networks with power estimation, Soviet Mathematics Doklady 11.
"""

import numpy as np

from trisplit.kernels import compiled

EPS = 2.220446049250313e-16


@compiled()
def label(
    starts: np.ndarray, arcs: np.ndarray, to: np.ndarray, side: np.ndarray, part: np.ndarray, queue: np.ndarray
) -> int:
    """Split parts into what is connected and on one side; return how many there are."""
    n = part.size
    new = np.full(n, -1)
    count = 0
    for root in range(n):
        if new[root] >= 0:
            continue
        new[root] = count
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            i = queue[head]
            head += 1
            for place in range(starts[i], starts[i + 1]):
                j = to[arcs[place]]
                if new[j] < 0 and part[j] == part[i] and side[j] == side[i]:
                    new[j] = count
                    queue[tail] = j
                    tail += 1
        count += 1
    part[:] = new
    return count


@compiled()
def reach(
    starts: np.ndarray,
    arcs: np.ndarray,
    to: np.ndarray,
    room: np.ndarray,
    part: np.ndarray,
    excess: np.ndarray,
    tol: float,
    level: np.ndarray,
    queue: np.ndarray,
) -> bool:
    """Write how far nodes are from those with excess, -1 if out of reach; say whether one that lacks was reached."""
    tail = 0
    for i in range(level.size):
        level[i] = -1
        if excess[i] > tol:
            level[i] = 0
            queue[tail] = i
            tail += 1
    head, found = 0, False
    while head < tail:
        i = queue[head]
        head += 1
        for place in range(starts[i], starts[i + 1]):
            a = arcs[place]
            j = to[a]
            if level[j] < 0 and room[a] > 0.0 and part[j] == part[i]:
                level[j] = level[i] + 1
                if excess[j] < -tol:
                    found = True
                queue[tail] = j
                tail += 1
    return found


@compiled()
def push(
    starts: np.ndarray,
    arcs: np.ndarray,
    to: np.ndarray,
    room: np.ndarray,
    part: np.ndarray,
    excess: np.ndarray,
    tol: float,
    level: np.ndarray,
    current: np.ndarray,
    path: np.ndarray,
) -> None:
    """Send along arcs that lead away from the excess, until every such path is blocked."""
    for i in range(level.size):
        current[i] = starts[i]
    for source in range(level.size):
        if excess[source] <= tol:
            continue
        depth, i = 0, source
        while excess[source] > tol:
            if excess[i] < -tol:
                amount = min(excess[source], -excess[i])
                for d in range(depth):
                    amount = min(amount, room[path[d]])
                excess[source] -= amount
                excess[i] += amount
                full = depth
                for d in range(depth - 1, -1, -1):
                    a = path[d]
                    room[a] -= amount
                    room[a ^ 1] += amount
                    if room[a] <= 0.0:
                        full = d
                if full < depth:  # go on before the first arc that is full
                    depth, i = full, to[path[full] ^ 1]
                continue
            ahead = False
            while current[i] < starts[i + 1]:
                a = arcs[current[i]]
                j = to[a]
                if level[j] == level[i] + 1 and room[a] > 0.0 and part[j] == part[i]:
                    ahead = True
                    break
                current[i] += 1
            if ahead:
                path[depth] = a
                depth, i = depth + 1, j
            elif depth == 0:
                break
            else:
                depth -= 1
                i = to[path[depth] ^ 1]
                current[i] += 1


@compiled(
    "void(Array(f8, 2, 'C', readonly=True), f8[::1], Array(i8, 1, 'C', readonly=True), "
    "Array(i8, 1, 'C', readonly=True), Array(i8, 1, 'C', readonly=True), Array(f8, 1, 'C', readonly=True), f8[:, ::1])"
)
def prox_graphs(
    ys: np.ndarray,
    lams: np.ndarray,
    starts: np.ndarray,
    arcs: np.ndarray,
    to: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write the proximal points of the rows of `ys`, with lams times the weights of edges, into `out`.

    Edge e is made of the arcs 2 e and 2 e + 1, of which `to` has the ends; arcs[starts[i]:starts[i + 1]] leave node i.
    """
    rows, n = ys.shape
    room, mean, size = np.empty(to.size), np.empty(n), np.empty(n)
    part, side, queue = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    level, current, path = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    excess, done = np.empty(n), np.empty(n, np.bool_)
    for row in range(rows):
        y = ys[row]
        lowest, highest = np.min(y), np.max(y)
        most = 0.0
        for i in range(n):
            most += max(y[i] - lowest, highest - y[i])
        if not most < np.inf or lams[row] != lams[row]:
            out[row] = np.nan
            continue
        for e in range(weights.size):
            # No flow needs more than all there is; next to more, its digits would be lost.
            room[2 * e] = min(lams[row] * weights[e], most) if weights[e] > 0.0 else 0.0
            room[2 * e + 1] = room[2 * e]
        tol = 8 * EPS * max(abs(lowest), abs(highest))
        part[:] = 0
        side[:] = 0
        done[:] = False
        count = label(starts, arcs, to, side, part, queue)
        while True:
            mean[:count] = 0.0
            size[:count] = 0.0
            for i in range(n):
                size[part[i]] += 1.0
            for i in range(n):
                own = y[i]
                all_of_it = y[i]
                for place in range(starts[i], starts[i + 1]):
                    a = arcs[place]
                    flow = 0.5 * (room[a ^ 1] - room[a])
                    all_of_it -= flow
                    if part[to[a]] != part[i]:  # within a part it cancels
                        own -= flow
                mean[part[i]] += own / size[part[i]]
                excess[i] = all_of_it
            for i in range(n):
                out[row, i] = mean[part[i]]
                excess[i] = 0.0 if done[i] else excess[i] - mean[part[i]]
            while reach(starts, arcs, to, room, part, excess, tol, level, queue):
                push(starts, arcs, to, room, part, excess, tol, level, current, path)
            # Of a part that is to be split, some nodes were reached.
            size[:count] = 0.0
            for i in range(n):
                side[i] = 1 if level[i] >= 0 else 0
                size[part[i]] += 1.0
            mean[:count] = 0.0
            for i in range(n):
                mean[part[i]] += side[i]
            split = False
            for i in range(n):
                done[i] = mean[part[i]] == 0.0 or mean[part[i]] == size[part[i]]
                split = split or not done[i]
            if not split:
                break
            count = label(starts, arcs, to, side, part, queue)
