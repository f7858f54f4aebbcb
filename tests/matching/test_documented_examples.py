"""What others document of these functions runs with our import in place of theirs, and gives scores at least as good.

SciPy's function is called beside ours. graspologic 3.4.4 needs another NumPy: its scores on the same graphs are
numbers, printed by `documented_inputs.py` in an environment of its own (Python 3.11, NumPy 1.26).
"""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import quadratic_assignment

import trisplit as ts
from tests.matching.documented_inputs import CALLS, SEEDS, score
from trisplit.matching import graph_match

GRASPOLOGIC = {  # 3.4.4, for the seeds 0, 1 and 2
    "faq tutorial": (732.0, 696.0, 764.0),
    "sgm tutorial, no seeds": (24918.0, 38808.0, 24816.0),  # 1 %, 100 % and 1 % of the vertices right
    "sgm tutorial, 10 seeds": (38826.0, 38808.0, 38958.0),
    "padding tutorial, naive": (29202.0, 29348.0, 29390.0),
    "padding tutorial, adopted": (55556.0, 55292.0, 55348.0),
    "AB, BA": (1339.0, 1247.0, 1273.0),
    "layers": (1240.0, 1166.0, 1212.0),
    "S": (699.6856, 663.8358, 672.294),
    "n_init, init_perturbation": (732.0, 696.0, 764.0),
    "transport": (38826.0, 38808.0, 38958.0),
    "maximize=False": (7591.0, 6778.0, 7034.0),
}
LONG = "padding"  # calls that take seconds: one seed of each

# The two examples in the docstring of scipy.optimize.quadratic_assignment, 1.17, costs that it prints, and the least.
SCIPY = [
    (
        [[0, 80, 150, 170], [80, 0, 130, 100], [150, 130, 0, 120], [170, 100, 120, 0]],
        [[0, 5, 2, 7], [0, 0, 3, 8], [0, 0, 0, 3], [0, 0, 0, 0]],
        3260,
        3260,
    ),
    (
        [[0, 5, 8, 6], [5, 0, 5, 1], [8, 5, 0, 2], [6, 1, 2, 0]],
        [[0, 1, 8, 4], [1, 0, 5, 2], [8, 5, 0, 5], [4, 2, 5, 0]],
        178,
        176,
    ),
]


def calls():
    return [(name, seed) for name in CALLS for seed in (SEEDS[:1] if name.startswith(LONG) else SEEDS)]


@pytest.mark.parametrize(("name", "seed"), calls())
def test_graspologic(name, seed):
    call = CALLS[name](seed)
    indices_A, indices_B, reported, misc = graph_match(*call.graphs, **call.options, rng=seed)
    ours, theirs = score(call, indices_A, indices_B), GRASPOLOGIC[name][SEEDS.index(seed)]
    sign = 1.0 if call.options.get("maximize", True) else -1.0
    assert sign * ours >= sign * theirs - 1e-3
    if call.options.get("padding") != "adopted":  # there the score counts weights as they were given
        assert reported == pytest.approx(ours)
    assert len(misc) == call.options.get("n_init", 1)
    assert {"score", "n_iter", "convex_solution", "converged"} <= set(misc[0])


def test_edges_agree_after_the_match_as_in_the_tutorial():
    (A, B), _, truth = CALLS["faq tutorial"](0)
    _, p, _, _ = graph_match(A, B)
    np.testing.assert_array_equal(A, B[p][:, p])
    np.testing.assert_array_equal(p, truth)


@pytest.mark.parametrize("known", ["no seeds", "10 seeds"])
def test_blocks_are_matched_rightly_also_without_seeds(known):
    call = CALLS[f"sgm tutorial, {known}"](0)
    np.testing.assert_array_equal(graph_match(*call.graphs, **call.options).indices_B, call.truth)


@pytest.mark.parametrize(("A", "B", "printed", "least"), SCIPY)
def test_scipy(A, B, printed, least):
    A, B = np.array(A), np.array(B)
    theirs = quadratic_assignment(A, B, options={"rng": np.random.default_rng(0)})
    ours = ts.qap.quadratic_assignment(A, B, options={"rng": np.random.default_rng(0)})
    assert ours.fun <= min(theirs.fun, printed)
    assert ours.fun == np.trace(A.T @ B[ours.col_ind][:, ours.col_ind])
    assert ours.fun == least == min(np.trace(A.T @ B[list(p)][:, list(p)]) for p in permutations(range(4)))
    assert graph_match(A, B, maximize=False, rng=0).score == least


def test_scipy_guess_refined_by_exchanges():
    A, B, _, least = (np.array(part) for part in SCIPY[1])
    for function in (quadratic_assignment, ts.qap.quadratic_assignment):
        guess = np.column_stack((np.arange(4), function(A, B, "faq", {"rng": np.random.default_rng(0)}).col_ind))
        refined = function(A, B, "2opt", {"rng": np.random.default_rng(0), "partial_guess": guess})
        assert refined.fun == least


def test_scipy_known_pairs():
    """`partial_match`, documented with the options of 'faq', means the same here."""
    A, B, _, _ = (np.array(part) for part in SCIPY[1])
    known = np.array([[0, 3], [2, 1]])
    options = {"partial_match": known, "maximize": True}
    theirs = quadratic_assignment(A, B, options=options | {"rng": np.random.default_rng(0)})
    ours = graph_match(A, B, partial_match=known, rng=0)
    assert ours.indices_B[[0, 2]].tolist() == theirs.col_ind[[0, 2]].tolist() == [3, 1]
    assert ours.score >= theirs.fun
