"""Fewer rows than columns, fixed and forbidden pairs: the square problem without constraints has the same optimum."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from trisplit import InputError
from trisplit.qap import Instance, constrained, load, relax, round_to_permutation, swap_descent
from trisplit.qap.bounds.gilmore_lawler import gilmore_lawler
from trisplit.qap.bounds.integers import Integers
from trisplit.qap.forbidden import as_mask, hall_violator, least_cost, matched, nearest_allowed, penalised
from trisplit.qap.swap_form import swap_form

NUG12, NUG30 = load("nug12"), load("nug30")
KINDS = {
    "integer": lambda M: M,
    "positive": abs,
    "decimal": lambda M: M / 7,
    "large": lambda M: M * 2**27,
    "constant": lambda M: M * 0 + 3,
}


def plain_cost(A, B, C, p):
    """The user's cost, entry by entry."""
    m = len(A)
    quadratic = sum(A[i, j].item() * B[p[i], p[j]].item() for i in range(m) for j in range(m))
    return quadratic + (0 if C is None else sum(C[i, p[i]].item() for i in range(m)))


def allowed_maps(m, n, fixed, mask):
    for p in permutations(range(n), m):
        if all(p[row] == column for row, column in fixed.items()) and not mask[range(m), p].any():
            yield p


@st.composite
def problems(draw, max_n=5):
    n = draw(st.integers(1, max_n))
    m = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    A, B, C = (kind(rng.integers(-9, 10, shape)) for shape in ((m, m), (n, n), (m, n)))
    if draw(st.booleans()):
        A = A + A.T
    k = draw(st.integers(0, m))
    fixed = dict(zip(rng.permutation(m)[:k].tolist(), rng.permutation(n)[:k].tolist(), strict=True))
    mask = rng.random((m, n)) < draw(st.sampled_from([0.0, 0.2, 0.5, 0.8]))
    return A, B, C if draw(st.booleans()) else None, fixed, mask


@given(problems(), st.booleans())
@settings(deadline=None, max_examples=200)
def test_the_optimum_is_that_of_all_allowed_maps(problem, as_pairs):
    A, B, C, fixed, mask = problem
    m, n = mask.shape
    costs = {p: plain_cost(A, B, C, p) for p in allowed_maps(m, n, fixed, mask)}
    forbidden = np.argwhere(mask) if as_pairs else mask
    if not costs:
        with pytest.raises(InputError, match=r"leaves no permutation|both hold"):
            constrained(A, B, C, fixed=fixed, forbidden=forbidden)
        return
    inner, way = constrained(A, B, C, fixed=fixed, forbidden=forbidden)
    same = (lambda x: x) if B.dtype == int else (lambda x: pytest.approx(x, rel=1e-9, abs=1e-9))
    inner_costs = {q: inner.cost(q) for q in permutations(range(inner.n))}
    bar = np.inf if way.known is None else inner.cost(way.known)
    for q, cost in inner_costs.items():
        p = tuple(way(q).tolist())
        assert way.allows(q) == (p in costs)
        if p in costs:
            assert way.cost(p) == same(costs[p])
            assert cost == same(costs[p])
            assert tuple(way(way.restrict(p)).tolist()) == p
        else:
            assert cost > bar
    assert min(inner_costs.values()) == same(min(costs.values()))
    assert way.allows(min(inner_costs, key=inner_costs.get))


@given(problems())
@settings(deadline=None)
def test_without_a_known_permutation_the_penalty_is_above_all_costs(problem):
    A, B, C, _, mask = problem
    m, n = mask.shape
    mask = np.vstack([mask, np.zeros((n - m, n), dtype=bool)])
    if not mask.any() or (matched(~mask) < 0).any():
        return
    inner = penalised(constrained(A, B, C)[0], mask)
    costs = {True: [-np.inf], False: [np.inf]}
    for p in permutations(range(n)):
        costs[not mask[range(n), p].any()].append(inner.cost(p))
    assert max(costs[True]) < min(costs[False])


@given(problems(max_n=6))
@settings(deadline=None)
def test_the_repaired_permutation_is_the_nearest_allowed_one(problem):
    mask = problem[-1]
    n = mask.shape[1]
    mask = np.vstack([mask, np.zeros((n - len(mask), n), dtype=bool)])
    allowed = [p for p in permutations(range(n)) if not mask[range(n), p].any()]
    column_of = matched(~mask)
    assert ((column_of >= 0).all()) == bool(allowed)
    if not allowed:
        rows, columns = hall_violator(~mask, column_of)
        assert len(rows) > len(columns)
        assert np.array_equal(np.flatnonzero((~mask)[rows].any(axis=0)), columns)
        return
    assert tuple(column_of.tolist()) in allowed
    p = np.random.default_rng(n).permutation(n)
    near = nearest_allowed(p, mask)
    assert tuple(near.tolist()) in allowed
    assert (near == p).sum() == max((np.array(q) == p).sum() for q in allowed)


@given(problems())
@settings(deadline=None)
def test_the_bound_is_that_of_exact_integers(problem):
    instance = constrained(*problem[:3])[0]
    A, B = instance.A.astype(float), instance.B.astype(float)
    C = np.zeros_like(A) if instance.C is None else instance.C.astype(float)
    integers = Integers.of(instance)
    exact = float(gilmore_lawler(integers)[0] / 2**integers.shift)
    assert least_cost(A, B, C) == pytest.approx(exact, rel=1e-12, abs=1e-9)


def test_no_constraints_change_nothing():
    inner, way = constrained(NUG12)
    assert inner is way.whole is NUG12
    assert way(range(12)).tolist() == way.repaired(range(12)).tolist() == list(range(12))
    for nothing in ([], np.zeros((0, 2), dtype=int), np.zeros((12, 12), dtype=bool)):
        assert constrained(NUG12, fixed={}, forbidden=nothing)[0] is NUG12
    sparse = sp.csr_array(NUG12.A)
    assert sp.issparse(constrained(sparse, NUG12.B)[0].A)


def test_sparse_matrices_are_filled_up_and_barred_alike():
    A, B = NUG12.A[:7, :7], NUG12.B
    dense, _ = constrained(A, B, forbidden=[(0, 0)], fixed={1: 2})
    sparse, way = constrained(sp.csr_array(A), sp.csr_array(B), forbidden=[(0, 0)], fixed={1: 2})
    assert sparse.sha256() == dense.sha256()
    filled, _ = constrained(sp.csr_array(A), sp.csr_array(B))
    assert sp.issparse(filled.A)
    assert filled.A.shape == (12, 12)


def test_what_is_known_of_the_data_is_a_lower_bound():
    inner, _ = constrained(NUG12, forbidden=[(0, 0)])
    assert (inner.name, inner.best_known, inner.proven, inner.lower_bound) == ("nug12", None, False, 578)
    claimed = Instance("claimed", NUG12.A, NUG12.B, best_known=600, lower_bound=500)
    assert constrained(claimed, forbidden=[(0, 0)])[0].lower_bound == 500
    assert constrained(NUG12, fixed={0: 0})[0].best_known == 578
    # A forbidden pair that a fixed one rules out anyway changes nothing.
    assert constrained(NUG12, fixed={0: 0}, forbidden=[(0, 1), (1, 0)])[0].best_known == 578


def test_exchanges_stay_in_small_integers():
    rng = np.random.default_rng(0)
    for instance in (NUG30, load("tai35b"), load("sko64"), load("tai256c")):
        forbidden = rng.integers(0, instance.n, (50, 2))
        inner, _ = constrained(instance, forbidden=forbidden)
        assert swap_form(inner).kind == swap_form(instance).kind == "i4"
        assert swap_form(inner).unit == swap_form(instance).unit


def test_costs_of_forbidden_pairs_do_not_matter():
    mask = np.eye(12, dtype=bool)
    mild, _ = constrained(NUG12.A, NUG12.B, np.zeros((12, 12), dtype=int), forbidden=mask)
    wild, _ = constrained(NUG12.A, NUG12.B, np.where(mask, 10**15, 0), forbidden=mask)
    assert np.array_equal(mild.C, wild.C)


def test_a_penalty_beyond_int64_is_rounded_but_costs_are_not():
    A, B = NUG12.A * 2**30, NUG12.B * 2**30
    inner, way = constrained(A, B, forbidden=[(0, 0)])
    assert inner.C.dtype == float
    assert way.cost(NUG12.solution) == 578 * 2**60
    assert inner.cost(way.known) == way.cost(way(way.known))
    with pytest.raises(InputError, match="too large"):
        constrained(1e160 * np.ones((3, 3)), 1e150 * np.ones((3, 3)), forbidden=[(0, 0)])
    smallest = np.iinfo(np.int64).min
    inner, way = constrained(np.full((2, 2), smallest), np.eye(2, dtype=int), forbidden=[(0, 0)])
    assert way(way.known).tolist() == [1, 0]


@pytest.mark.parametrize("seed", range(3))
def test_relaxation_converges_and_exchanges_end_at_allowed_permutations(seed):
    for instance in (NUG12, NUG30, load("esc32a")):
        n = instance.n
        mask = np.random.default_rng(seed).random((n, n)) < 0.05
        inner, way = constrained(instance, forbidden=mask)
        res = relax(inner, split=1, rng=seed)
        assert res.success
        q = swap_descent(inner, way.repaired(round_to_permutation(res.x)))
        q = min(q, way.known, key=inner.cost)  # exchanges keep to allowed permutations below the known one alone
        assert way.allows(q)
        assert way.cost(way(q)) == instance.cost(way(q)) == inner.cost(q)


def test_the_way_there_and_back_of_starting_points():
    A, B = NUG12.A[:9, :9], NUG12.B
    inner, way = constrained(A, B, fixed={0: 4}, forbidden=[(1, 0)])
    x0 = [4, 1, 2, 3, 5, 6, 7, 8, 11]
    q = way.restrict(x0)
    assert way(q).tolist() == x0
    assert way.expand(q).tolist() == [*x0, 0, 9, 10]
    X = np.full((9, 12), 1 / 12)
    inside = way.restrict(X)
    assert inside.shape == (11, 11)
    assert np.allclose(inside, 1 / 12)
    square, plain = constrained(NUG12)
    assert np.array_equal(plain.restrict(np.eye(12)), np.eye(12))
    assert way.allows(way.repaired(way.expand.restrict([4, 0, 2, 3, 5, 6, 7, 8, 11, 1, 9, 10])))


@pytest.mark.parametrize(
    ("x0", "came"),
    [
        ([4, 0, 2, 3, 5, 6, 7, 8, 11], "must not hold forbidden pairs, it sends row 1 to 0"),
        ([5, 1, 2, 3, 4, 6, 7, 8, 11], r"must keep the fixed pairs.*set x0\[0\] = 4"),
        (range(12), r"must have shape \(9,\), got \(12,\)"),
        ([4, 1, 1, 3, 5, 6, 7, 8, 11], "1 more than once; use every number 0 .. 11 at most once"),
        ([4, 1, 2, 3, 5, 6, 7, 8, 12], "below 12, got 12"),
        (np.ones((12, 12)), r"must have shape \(9, 12\), got \(12, 12\)"),
        (np.full((9, 12), np.nan), "NaN or inf"),
    ],
)
def test_bad_starting_points_are_refused(x0, came):
    _, way = constrained(NUG12.A[:9, :9], NUG12.B, fixed={0: 4}, forbidden=[(1, 0)])
    with pytest.raises(InputError, match=f"`x0` .*{came}|`x0` {came}"):
        way.restrict(x0)


@pytest.mark.parametrize(
    ("forbidden", "came"),
    [
        ([(0, 12)], "must have columns counted from 0, below 12, got 12"),
        ([(9, 0)], "must have rows counted from 0, below 9, got 9"),
        ([(-1, 0)], "got -1"),
        ([(0.0, 1.0)], "must hold integers, got dtype float64"),
        ([0, 1], r"must have shape \(m, 2\), got \(2,\)"),
        (np.zeros((12, 12), dtype=bool), r"must have shape \(9, 12\) if it is boolean, got \(12, 12\)"),
        ([(True, False)], r"boolean, got \(1, 2\)"),
        ({0: 1}, r"got \(\)"),
        ([(0, 1), (2,)], "list"),
        ([(2, k) for k in range(12)], r"leaves no permutation: 1 row \(2\) can go to no column"),
        (
            [(row, k) for row in (1, 3, 8) for k in range(2, 12)],
            r"leaves no permutation: 3 rows \(1, 3, 8\) can go to 2 columns \(0, 1\) only; allow more pairs there",
        ),
    ],
)
def test_bad_forbidden_pairs_are_refused_in_one_line(forbidden, came):
    with pytest.raises(InputError, match=f"`forbidden` .*{came}|`forbidden` {came}") as caught:
        constrained(NUG12.A[:9, :9], NUG12.B, forbidden=forbidden)
    assert ";" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_fixed_and_forbidden_pairs_that_contradict():
    with pytest.raises(InputError, match=r"`fixed` and `forbidden` both hold \(3, 5\)"):
        constrained(NUG12, fixed={3: 5}, forbidden=[(0, 1), (3, 5)])
    # Row 1 has columns 0 and 1 alone, and row 0 and 2 take them.
    barred = [(1, k) for k in range(2, 12)]
    assert constrained(NUG12, forbidden=barred)[0].n == 12
    with pytest.raises(InputError, match=r"`forbidden` next to `fixed` leaves .* 1 row \(1\) can go to no column"):
        constrained(NUG12, fixed={0: 0, 2: 1}, forbidden=barred)
    many = [(row, k) for row in range(11) for k in (10, 11)]
    with pytest.raises(InputError, match=r"11 rows \(0, 1, 2, 3, 4, 5, 6, 7, \.\.\.\) can go to 10 columns"):
        constrained(NUG12, forbidden=many)


def test_shapes_that_do_not_fit():
    A, B = NUG12.A[:9, :9], NUG12.B
    with pytest.raises(InputError, match=r"`A` must not have more rows than `B`, got 12 > 9; swap A and B"):
        constrained(B, A)
    with pytest.raises(InputError, match=r"`C` must have shape \(9, 12\), got \(12, 9\)"):
        constrained(A, B, np.zeros((12, 9)))
    with pytest.raises(InputError, match=r"`A` must be a square matrix, got shape \(9, 12\)"):
        constrained(NUG12.A[:9], B)
    with pytest.raises(InputError, match="`B` is missing"):
        constrained(A)
    with pytest.raises(InputError, match="`C` must be numeric"):
        constrained(A, B, np.full((9, 12), "a"))
    with pytest.raises(InputError, match=r"`fixed` must have rows counted from 0, below 9, got 9"):
        constrained(A, B, fixed={9: 0})
    assert as_mask([(0, 1), (0, 1)], (2, 2)).sum() == 1
