"""The plain twin of `tabu.py` in torch, for a batch of permutations: the same moves, all computed from scratch."""

import torch  # pyright: ignore[reportMissingImports]

from trisplit.kernels.gpu.changes import Tables
from trisplit.kernels.swaps import NEVER


def scrambled(x: torch.Tensor) -> torch.Tensor:
    """Return an unsigned integer of 32 bits, in int64, that has nothing to do with x."""
    x = (x ^ (x >> 16)) * 0x7FEB352D & 0xFFFFFFFF
    x = (x ^ (x >> 15)) * 0x2C1B3C6D & 0xFFFFFFFF
    return x ^ (x >> 16)


def noise(seed: int, members: torch.Tensor, step: int, which: int) -> torch.Tensor:
    """Return 31 random bits for each member."""
    return scrambled(scrambled(seed ^ scrambled(members)) + (step * 4 + which) & 0xFFFFFFFF) >> 1


def places(n: int, length: int) -> torch.Tensor:
    """Return the number of the place at which the kernel keeps each pair u < v."""
    u, v = torch.arange(n)[:, None], torch.arange(n)[None, :]
    direct = u < (n + 1) // 2
    return torch.where(direct, u, n - 1 - u) * length + torch.where(direct, v, n - 1 - v)


def search(
    tables: Tables,
    p: torch.Tensor,
    moves: int,
    seed: int,
    tenures: torch.Tensor,
    length: int,
    *,
    descent: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Make so many moves from each permutation of a batch.

    Parameters
    ----------
    tables : Tables
    p : tensor of int64, shape (size, n)
    moves : int
        At most.
    seed : int
        From 0 to 2**31 - 1.
    tenures : tensor of int32, shape (size, 2)
        The least number of moves for which a row may not return, and how many such numbers there are.
    length : int
        Of a row of the rectangle of pairs, as the kernel counts.
    descent : bool
        Whether only swaps that lower g are made, and none is tabu.

    Returns
    -------
    best_p, gains, made, p : tensors
        The best permutation, by how much its g is below that of the first one, how many moves were made, and where
        they ended.
    """
    size, n = p.shape
    p, members, rows = p.clone(), torch.arange(size, device=p.device), torch.arange(n, device=p.device)
    best_p, made = p.clone(), torch.zeros(size, dtype=torch.int32, device=p.device)
    value = torch.zeros(size, dtype=tables.worth, device=p.device)
    best, E = value.clone(), torch.zeros((size, n, n), dtype=torch.int64, device=p.device)
    wanted = torch.triu(tables.barred[:, :n] == 0, 1)
    shortest, span = tenures.long().unbind(1)
    place = places(n, length).to(p.device)
    for step in range(moves):
        d = tables.changes(p).to(tables.worth)
        to = E.gather(2, p[:, None, :].expand(-1, n, -1))  # E[u,p_v]
        free = torch.minimum(to, to.mT) <= step
        allowed = wanted & (free | (d < (best - value)[:, None, None]))
        d = torch.where(allowed, d, tables.top)
        least = d.amin((1, 2))
        bits = noise(seed, members, step, 0) & (length * length // 2 - 1)
        key = torch.where(allowed & (d == least[:, None, None]), place ^ bits[:, None, None], NEVER).flatten(1)
        chosen = key.argmin(1)
        found = (least < -tables.tiny) if descent else (least < tables.top)
        if not found.any():
            break
        r, s = torch.where(found, chosen // n, 0), torch.where(found, chosen % n, 0)
        p_r, p_s = p[members, r], p[members, s]
        if not descent:
            for which, row, column in ((1, r, p_r), (2, s, p_s)):
                until = step + 1 + shortest + noise(seed, members, step + 1, which) % span
                E[members, row, column] = torch.where(found, until, E[members, row, column])
        p = torch.where(rows == r[:, None], p_s[:, None], torch.where(rows == s[:, None], p_r[:, None], p))
        value = value + torch.where(found, least, torch.zeros_like(least))
        made += found
        gained = value < best - tables.tiny
        best = torch.where(gained, value, best)
        best_p = torch.where(gained[:, None], p, best_p)
    return best_p, -best, made, p
