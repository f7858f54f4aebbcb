"""Graphs and calls as in the documentation of graspologic's graph_match, 3.4.4; needs NumPy alone.

The tutorials of graspologic match an Erdos-Renyi graph (50 vertices, density 0.3) with itself in another order; a pair
of correlated block models (3 times 100 vertices, correlation 0.9) without seeds and with 10; and 300 vertices of a
block model with 400 of another (correlation 0.5), with 8 seeds, by naive and by adopted padding. The other arguments
that its reference documents have a small call each. Graphs are drawn here, with the same sizes and parameters.

    python tests/matching/documented_inputs.py     # where graspologic is installed: its scores
"""

from typing import NamedTuple

import numpy as np

SEEDS = (0, 1, 2)
THREE = np.array([[0.7, 0.3, 0.4], [0.3, 0.7, 0.3], [0.4, 0.3, 0.7]])
FOUR = np.array([[0.9, 0.4, 0.3, 0.2], [0.4, 0.9, 0.4, 0.3], [0.3, 0.4, 0.9, 0.4], [0.2, 0.3, 0.4, 0.7]])


class Call(NamedTuple):
    """What is passed to graph_match, and the vertex of B that belongs to each of A, -1 for none."""

    graphs: tuple
    options: dict
    truth: np.ndarray


def correlated(probability, r, rng):
    """Return two simple graphs whose edges have these probabilities and the correlation r."""
    n = len(probability)
    A = np.triu(rng.random((n, n)) < probability, 1)
    B = np.triu(rng.random((n, n)) < np.where(A, probability + r * (1 - probability), probability * (1 - r)), 1)
    return (A | A.T).astype(float), (B | B.T).astype(float)


def blocks(probabilities, size):
    return np.kron(probabilities, np.ones((size, size)))


def shuffled(B, rng):
    """Return B in another order, and where each of its vertices went."""
    order = rng.permutation(len(B))
    return B[np.ix_(order, order)], np.argsort(order)


def tutorial_faq(seed):
    rng = np.random.default_rng(seed)
    A, _ = correlated(np.full((50, 50), 0.3), 1.0, rng)
    B, truth = shuffled(A, rng)
    return Call((A, B), {}, truth)


def tutorial_sgm(seed, known=0):
    rng = np.random.default_rng(seed)
    A, B = correlated(blocks(THREE, 100), 0.9, rng)
    B, truth = shuffled(B, rng)
    some = np.sort(rng.choice(300, known, replace=False))
    return Call((A, B), {"partial_match": np.column_stack((some, truth[some]))} if known else {}, truth)


def tutorial_padded(seed, padding):
    rng = np.random.default_rng(seed)
    smaller, larger = correlated(blocks(FOUR, 100), 0.5, rng)
    kept = np.flatnonzero(np.arange(400) % 100 < 75)
    truth = np.full(400, -1)
    truth[kept] = np.arange(300)
    some = rng.choice(300, 8, replace=False)
    options = {"partial_match": (kept[some], some), "padding": padding}
    return Call((larger, smaller[np.ix_(kept, kept)]), options, truth)


def bisected(seed):
    """Two halves of a directed network: edges inside each, and from each to the other."""
    rng = np.random.default_rng(seed)
    n = 60
    A, AB = (np.asarray(rng.random((n, n)) < 0.2, dtype=float) for _ in range(2))
    B, BA = (np.where(rng.random((n, n)) < 0.15, rng.random((n, n)) < 0.2, M).astype(float) for M in (A, AB))
    order = rng.permutation(n)
    truth = np.argsort(order)
    return Call((A, B[np.ix_(order, order)]), {"AB": AB[:, order], "BA": BA[order]}, truth)


def layers(seed):
    rng = np.random.default_rng(seed)
    pairs = [correlated(np.full((60, 60), 0.2), 0.8, rng) for _ in range(2)]
    order = rng.permutation(60)
    return Call(([A for A, _ in pairs], [B[np.ix_(order, order)] for _, B in pairs]), {}, np.argsort(order))


def similarity(seed):
    rng = np.random.default_rng(seed)
    A, B = correlated(np.full((60, 60), 0.2), 0.6, rng)
    B, truth = shuffled(B, rng)
    S = rng.random((60, 60))
    S[np.arange(60), truth] += 0.5
    return Call((A, B), {"S": 3 * S}, truth)


def restarted(seed):
    call = tutorial_faq(seed)
    return call._replace(options={"n_init": 5, "init_perturbation": 0.5, "max_iter": 50, "tol": 1e-3})


def transport(seed):
    call = tutorial_sgm(seed, known=5)
    return call._replace(options=call.options | {"transport": True})


def least(seed):
    rng = np.random.default_rng(seed)
    A, B = (rng.integers(0, 10, (20, 20)).astype(float) for _ in range(2))
    return Call((A, B), {"maximize": False}, np.full(20, -1))


CALLS = {
    "faq tutorial": tutorial_faq,
    "sgm tutorial, no seeds": tutorial_sgm,
    "sgm tutorial, 10 seeds": lambda seed: tutorial_sgm(seed, known=10),
    "padding tutorial, naive": lambda seed: tutorial_padded(seed, "naive"),
    "padding tutorial, adopted": lambda seed: tutorial_padded(seed, "adopted"),
    "AB, BA": bisected,
    "layers": layers,
    "S": similarity,
    "n_init, init_perturbation": restarted,
    "transport": transport,
    "maximize=False": least,
}


def score(call, a, b):
    """Return the score of a match, computed from the definition; with adopted padding, that of weights 2 w - 1."""
    A, B = ([M] if isinstance(M, np.ndarray) else M for M in call.graphs)
    options = call.options
    if options.get("padding") == "adopted":
        A, B = [2 * M - 1 for M in A], [2 * M - 1 for M in B]
    total = sum((M[np.ix_(a, a)] * N[np.ix_(b, b)]).sum() for M, N in zip(A, B, strict=True))
    if "AB" in options:
        total += (options["AB"][np.ix_(a, b)] * options["BA"][np.ix_(b, a)]).sum()
    if "S" in options:
        total += options["S"][a, b].sum()
    return float(total)


if __name__ == "__main__":
    from time import perf_counter

    from graspologic.match import graph_match

    for name, make in CALLS.items():
        found = []
        for seed in SEEDS:
            call = make(seed)
            begin = perf_counter()
            a, b, reported, _ = graph_match(*call.graphs, **call.options, rng=seed)
            seconds = perf_counter() - begin
            found.append((round(score(call, a, b), 4), round(float((call.truth[a] == b).mean()), 3)))
            print(f"# {reported:.6g}, {seconds:.2f} s")
        print(f"    {name!r}: {tuple(one for one, _ in found)},  # right: {[two for _, two in found]}")
