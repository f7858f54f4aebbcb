"""SciPy's names in front of our methods: what SciPy promises holds, and what it gives "faq" and "2opt" give."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult
from scipy.optimize import quadratic_assignment as scipys

import trisplit as ts
from trisplit.qap import Instance, initial_point, load, quadratic_assignment, scipy_compat

METHODS = ("tos", "faq", "2opt")
RNG = np.random.default_rng(0)  # SciPy warns if it has to find one by itself
SMALL = [entry.name for entry in ts.qap.table() if entry.n <= 30]

# The examples of SciPy's documentation, with the values that it shows.
FIRST = (
    [[0, 80, 150, 170], [80, 0, 130, 100], [150, 130, 0, 120], [170, 100, 120, 0]],
    [[0, 5, 2, 7], [0, 0, 3, 8], [0, 0, 0, 3], [0, 0, 0, 0]],
    3260,
)
SECOND = (
    [[0, 5, 8, 6], [5, 0, 5, 1], [8, 5, 0, 2], [6, 1, 2, 0]],
    [[0, 1, 8, 4], [1, 0, 5, 2], [8, 5, 0, 5], [4, 2, 5, 0]],
    176,
)


def random_matrices(seed, n, kind=int):
    return np.random.default_rng(seed).integers(-9, 10, (3, n, n)).astype(kind)


def random_pairs(seed, n, m):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.permutation(n)[:m], rng.permutation(n)[:m]])


@pytest.mark.parametrize(("A", "B", "value"), [FIRST, SECOND])
def test_scipys_examples_are_solved_at_least_as_well(A, B, value):
    for seed in range(10):
        assert quadratic_assignment(A, B, options={"rng": seed}).fun <= value
    for pair in ([[0, 3]], [[3, 1]], [[2, 0], [1, 3]]):
        theirs = scipys(np.array(A), np.array(B), options={"partial_match": np.array(pair), "rng": RNG})
        ours = quadratic_assignment(A, B, options={"partial_match": pair, "rng": 0})
        assert ours.fun <= theirs.fun
        assert all(ours.col_ind[row] == column for row, column in pair)


def test_scipys_random_example():
    rng = np.random.default_rng(0)
    A, B = rng.random((2, 15, 15))
    assert quadratic_assignment(A, B, options={"rng": 0}).fun <= scipys(A, B, options={"rng": RNG}).fun


@pytest.mark.parametrize("name", SMALL[:: len(SMALL) // 20][:20])
def test_faq_is_scipys(name):
    instance = load(name)
    n = instance.n
    for P0 in ("barycenter", np.full((n, n), 1 / n), initial_point(n, np.random.default_rng(n))):
        ours = quadratic_assignment(instance.A, instance.B, "faq", {"P0": P0})
        theirs = scipys(instance.A, instance.B, "faq", {"P0": P0, "rng": RNG})
        assert (ours.fun, ours.nit) == (theirs.fun, theirs.nit)
        assert np.array_equal(ours.col_ind, theirs.col_ind)


@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"partial_match": [[1, 5], [7, 2]]}])
def test_random_choices_are_scipys(options):
    instance = load("had12")
    guess = np.column_stack([np.arange(4, 7), np.arange(7, 10)])
    cases = [("faq", {"P0": "randomized"}), ("faq", {"shuffle_input": True, "maxiter": 5, "tol": 0.1})]
    for method, own in (*cases, ("2opt", {}), ("2opt", {"partial_guess": guess})):
        ours, theirs = (
            function(instance.A, instance.B, method, {"rng": np.random.default_rng(3), **options, **own})
            for function in (quadratic_assignment, scipys)
        )
        assert (ours.fun, ours.nit) == (theirs.fun, theirs.nit)
        assert np.array_equal(ours.col_ind, theirs.col_ind)


@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(METHODS), st.booleans(), st.booleans(), st.data())
@settings(deadline=None, max_examples=60)
def test_seeds_in_any_order_are_kept_and_the_value_is_that_of_the_permutation(seed, n, method, maximize, linear, data):
    A, B, C = random_matrices(seed, n)
    pairs = random_pairs(seed, n, data.draw(st.integers(0, n)))
    options = {"partial_match": pairs, "maximize": maximize, "rng": seed} | ({"C": C} if linear else {})
    res = quadratic_assignment(A, B, method, options)
    p = res.col_ind
    assert isinstance(res, OptimizeResult)
    assert sorted(p) == list(range(n))
    assert np.array_equal(p[pairs[:, 0]], pairs[:, 1])
    assert res.fun == np.trace(A.T @ B[np.ix_(p, p)]) + (C[np.arange(n), p].sum() if linear else 0)
    shuffled = quadratic_assignment(A, B, method, options | {"partial_match": pairs[::-1]})
    assert np.array_equal(shuffled.col_ind, p)
    assert (shuffled.fun, shuffled.nit) == (res.fun, res.nit)


@given(st.integers(0, 10**6), st.sampled_from(METHODS), st.booleans(), st.integers(0, 3))
@settings(deadline=None, max_examples=30)
def test_maximising_is_minimising_the_negative(seed, method, linear, m):
    A, B, C = random_matrices(seed, 6)
    options = {"partial_match": random_pairs(seed, 6, m), "rng": seed}
    large = quadratic_assignment(A, B, method, {"maximize": True, **options, **({"C": C} if linear else {})})
    small = quadratic_assignment(-A, B, method, {**options, **({"C": -C} if linear else {})})
    assert large.fun == -small.fun


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("maximize", [True, False])
def test_a_linear_term_alone_is_an_assignment_problem(method, maximize):
    zero, C = np.zeros((4, 4), dtype=int), random_matrices(0, 4)[0]
    best = (max if maximize else min)(C[np.arange(4), p].sum() for p in map(list, permutations(range(4))))
    found = [
        quadratic_assignment(zero, zero, method, {"C": C, "maximize": maximize, "rng": seed}).fun for seed in range(10)
    ]
    assert (max if maximize else min)(found) == best
    assert method == "2opt" or set(found) == {best}


@pytest.mark.parametrize("method", ["faq", "2opt"])
def test_the_linear_term_is_what_fixed_rows_cost(method):
    """SciPy with fixed pairs, and the smaller problem that they leave with its linear term, go the same way."""
    A, B, _ = random_matrices(4, 9, float)
    pairs = np.array([[0, 3], [5, 1], [7, 8]])
    smaller, expand = ts.qap.reduced(A, B, None, pairs)
    whole = scipys(A, B, method, {"partial_match": pairs, "rng": np.random.default_rng(1)})
    own = {"C": smaller.C, "rng": np.random.default_rng(1)}
    ours = quadratic_assignment(smaller.A, smaller.B, method, own)
    assert np.array_equal(expand(ours.col_ind), whole.col_ind)
    assert ours.fun == pytest.approx(whole.fun)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize(("method", "maximize"), [("2opt", False), ("2opt", True), ("tos", False), ("tos", True)])
def test_no_exchange_of_free_rows_helps(method, maximize, linear):
    A, B, C = random_matrices(2, 9)
    instance = Instance("random", A, B, C=C if linear else None)
    options = {"C": instance.C, "maximize": maximize, "partial_match": [[8, 0], [3, 4]], "rng": 1}
    res = quadratic_assignment(A, B, method, options)
    for r, s in combinations([row for row in range(9) if row not in (3, 8)], 2):
        p = res.col_ind.copy()
        p[[r, s]] = p[[s, r]]
        assert instance.cost(p) <= res.fun if maximize else instance.cost(p) >= res.fun


def test_a_guess_is_a_start_and_gives_way_to_seeds():
    nug12 = load("nug12")
    best = np.column_stack([np.arange(12), nug12.solution])
    for order in (1, -1):
        for C in (None, np.zeros((12, 12))):
            res = quadratic_assignment(nug12.A, nug12.B, "2opt", {"partial_guess": best[::order], "C": C})
            assert res.fun == 578
    seeds = [[3, nug12.solution[0]], [2, nug12.solution[5]]]  # on rows and on columns of the guess
    res = quadratic_assignment(nug12.A, nug12.B, "2opt", {"partial_guess": best, "partial_match": seeds, "rng": 0})
    assert sorted(res.col_ind) == list(range(12))
    assert [res.col_ind[3], res.col_ind[2]] == [column for _, column in seeds]


@pytest.mark.parametrize("shuffle_input", [True, False])
@pytest.mark.parametrize("m", [0, 3])
def test_a_start_at_a_stationary_permutation_is_kept(shuffle_input, m):
    """With f(X) = -||X||^2 every permutation is a minimum."""
    p = np.random.default_rng(0).permutation(7)
    pairs, P0 = np.column_stack([np.arange(m), p[:m]]), np.delete(np.eye(7)[p[m:]], p[:m], axis=1)
    own = {"P0": P0, "shuffle_input": shuffle_input, "partial_match": pairs}
    res = quadratic_assignment(-np.eye(7), np.eye(7), options={"starts": 1, "polish": False, "rng": 1, **own})
    assert np.array_equal(res.col_ind, p)


def test_more_starts_are_no_worse_and_the_same_seed_gives_the_same_answer():
    A, B = load("tai12a").A, load("tai12a").B
    values = [
        quadratic_assignment(A, B, options={"starts": k, "polish": False, "rng": 5, "P0": "barycenter"})
        for k in (1, 2, 6, 6)
    ]
    assert values[0].fun >= values[1].fun >= values[2].fun == values[3].fun
    assert values[0].nit < values[1].nit < values[2].nit == values[3].nit
    assert quadratic_assignment(A, B, options={"starts": 2, "maxiter": 3, "rng": 0}).nit == 6


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_scale_of_the_data_does_not_matter(scale):
    A, B = load("nug12").A, load("nug12").B
    plain, scaled = (quadratic_assignment(s * A, B, options={"polish": False, "rng": 0}) for s in (1.0, scale))
    assert scaled.fun == pytest.approx(scale * plain.fun)


@pytest.mark.parametrize("method", METHODS)
def test_values_of_integers_are_exact(method):
    nug12 = load("nug12")
    res = quadratic_assignment(nug12.A * 2**40, nug12.B * 2**40, method, {"rng": 0})
    assert res.fun == 2**80 * nug12.cost(res.col_ind)
    A, B = np.array([[0, -(2**63)], [1, 0]]), [[0, 2], [-1, 0]]
    for maximize, value in ((True, 2**63 + 2), (False, -(2**64) - 1)):
        assert quadratic_assignment(A, B, method, {"maximize": maximize, "rng": 0}).fun == value


def test_arguments_are_not_changed():
    A, B, C = random_matrices(0, 5)
    pairs = np.array([[3, 1], [0, 2]])
    kept = [M.copy() for M in (A, B, C, pairs)]
    for method in METHODS:
        quadratic_assignment(A, B, method, {"C": C, "partial_match": pairs})
    assert all(np.array_equal(*both) for both in zip(kept, (A, B, C, pairs), strict=True))


def test_ctrl_c_ends_the_call(monkeypatch):
    class Interrupted:
        status = ts.Status.INTERRUPTED

    monkeypatch.setattr(scipy_compat, "relax", lambda *matrices, **options: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        quadratic_assignment(np.eye(3), np.eye(3))


@pytest.mark.parametrize(
    ("method", "name", "values"),
    [
        (METHODS, "C", (np.ones(3), np.ones((4, 4)), np.full((3, 3), np.nan))),
        (METHODS, "maximize", ("yes", 1, None)),
        (METHODS, "partial_match", ([[0, 1], [0, 2]], [[0, 3]], [0, 1], [[0.0, 1.0]], [[0, 1], [1, 1]], "ab")),
        (METHODS, "rng", (-1, 0.5, "seed")),
        (("tos", "faq"), "P0", ("middle", np.ones((2, 2)), 2 * np.eye(3), np.eye(3) - 1, np.eye(3) * np.nan, [1, 2])),
        (("tos", "faq"), "shuffle_input", ("no", 0)),
        (("tos", "faq"), "maxiter", (0, 1.5, "3", True, None)),
        (("tos", "faq"), "tol", (0, -1, np.nan, "1", True)),
        (("tos",), "starts", (0, 2.5, None)),
        (("tos",), "polish", ("no", 1)),
        (("2opt",), "partial_guess", ([[0, 1], [0, 2]], [[0, 3]], [0, 1], [[0.5, 1.0]])),
    ],
)
def test_bad_options_are_one_line_with_a_remedy(method, name, values):
    for which in method:
        for value in values:
            with pytest.raises(ts.InputError) as caught:
                quadratic_assignment(np.eye(3), np.eye(3), which, {name: value})
            assert f"`{name}`" in str(caught.value)
            assert ";" in str(caught.value)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((np.ones((2, 3)), np.eye(3)), "`A` must be a square"),
        ((np.eye(3), np.eye(4)), "`B` must have the shape"),
        ((1e200 * np.eye(3), 1e200 * np.eye(3)), "too large"),
        ((np.eye(3), np.eye(3), "newton"), "`method` .* tos, faq, 2opt"),
        ((np.eye(3), np.eye(3), None), "`method`"),
        ((np.eye(3), np.eye(3), "tos", [1]), "`options` must be a dict"),
        ((np.eye(3), np.eye(3), "tos", {"partial_guess": None}), "'partial_guess', unknown to method 'tos'"),
        ((np.eye(3), np.eye(3), "faq", {"starts": 3}), "'starts', unknown .* maxiter"),
        ((np.eye(3), np.eye(3), "2opt", {"maxiter": 3}), "'maxiter', unknown .* partial_guess"),
    ],
)
def test_other_bad_input(arguments, match):
    with pytest.raises(ts.InputError, match=match):
        quadratic_assignment(*arguments)


def test_methods_are_named_in_any_case_as_in_scipy():
    assert quadratic_assignment([[0, 1], [0, 0]], [[0, 5], [2, 0]], "FAQ").fun == 2
