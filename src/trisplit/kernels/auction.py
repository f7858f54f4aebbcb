"""The assignment problem on a sparse pattern of pairs, by an auction with epsilon scaling.

    maximise  sum of a[i, p_i] over matched rows + `alone` * (rows that stay unmatched)

Rows bid for columns; prices q >= 0 and profits u keep, up to eps, the conditions of the dual problem

    u_i + q_l >= a[i,v] - eps,   u_i >= alone - eps,   u_i + q_l = a[i,v] for matched pairs,   q_l = 0 for unmatched v,

so that the match is within (number of rows) * eps of the best one. Prices of the round before with a larger eps make
the next one short, but may leave unmatched columns with a price: these then bid for rows, with falling prices.

D. P. Bertsekas (1988), The auction algorithm: a distributed relaxation method for the assignment problem, Annals of
Operations Research 14. D. P. Bertsekas and D. A. Castanon (1992), A forward/reverse auction algorithm for asymmetric
assignment problems, Computational Optimization and Applications 1.
"""

import numpy as np

from trisplit.kernels import compiled


@compiled("void(i8[::1],i4[::1],f8[::1],f8,f8,i8[::1],i8[::1],f8[::1],f8[::1])")
def rows_bid(
    starts: np.ndarray,
    columns: np.ndarray,
    a: np.ndarray,
    alone: float,
    eps: float,
    partner: np.ndarray,
    owner: np.ndarray,
    q: np.ndarray,
    u: np.ndarray,
) -> None:
    """Match every row with a column, or leave it alone; prices rise."""
    n = partner.size
    waiting = np.arange(n - 1, -1, -1)
    count = n
    partner[:] = -1
    owner[:] = -1
    while count > 0:
        count -= 1
        i = waiting[count]
        best, first, second = -np.inf, -1, alone
        for e in range(starts[i], starts[i + 1]):
            value = a[e] - q[columns[e]]
            if value > best:
                second = max(second, best)
                best, first = value, e
            elif value > second:
                second = value
        if first < 0 or best < alone:
            u[i] = alone
            continue
        v = columns[first]
        loser = owner[v]
        if loser >= 0:
            partner[loser] = -1
            waiting[count] = loser
            count += 1
        partner[i], owner[v] = v, i
        q[v] += best - second + eps
        u[i] = a[first] - q[v]


@compiled("void(i8[::1],i4[::1],f8[::1],f8,i8[::1],i8[::1],f8[::1],f8[::1])")
def columns_bid(
    starts: np.ndarray,
    rows: np.ndarray,
    a: np.ndarray,
    eps: float,
    partner: np.ndarray,
    owner: np.ndarray,
    q: np.ndarray,
    u: np.ndarray,
) -> None:
    """Bring prices of unmatched columns down to 0, or match them; `starts`, `rows` and `a` are those of the columns."""
    m = owner.size
    waiting = np.empty(m, np.int64)
    count = 0
    for v in range(m - 1, -1, -1):
        if owner[v] < 0 and q[v] > 0:
            waiting[count] = v
            count += 1
    while count > 0:
        count -= 1
        v = waiting[count]
        best, first, second = -np.inf, -1, 0.0
        for e in range(starts[v], starts[v + 1]):
            value = a[e] - u[rows[e]]
            if value > best:
                second = max(second, best)
                best, first = value, e
            elif value > second:
                second = value
        if first < 0 or best <= eps:
            q[v] = 0.0
            continue
        i = rows[first]
        left = partner[i]
        if left >= 0:
            owner[left] = -1
            if q[left] > 0:
                waiting[count] = left
                count += 1
        partner[i], owner[v] = v, i
        q[v] = max(second - eps, 0.0)
        u[i] = a[first] - q[v]
