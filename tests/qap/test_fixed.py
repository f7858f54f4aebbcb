"""Fixing pairs leaves a smaller problem with the same costs, and `solve` keeps to them."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trisplit import InputError
from trisplit.qap import Instance, QAPStatus, load, reduced, solve
from trisplit.qap.fixed import as_pairs

NUG12 = load("nug12")


def random_problem(seed, n, *, linear=True, kind=int, scale=9):
    matrices = np.random.default_rng(seed).integers(-scale, scale + 1, (3, n, n)).astype(kind)
    return Instance("random", matrices[0], matrices[1], C=matrices[2] if linear else None)


@st.composite
def problems_with_pairs(draw):
    n, seed = draw(st.integers(1, 7)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    m = draw(st.integers(0, n))
    pairs = np.column_stack([rng.permutation(n)[:m], rng.permutation(n)[:m]])
    return seed, n, pairs


@given(
    problems_with_pairs(),
    st.booleans(),
    st.sampled_from([(int, 9), (int, 2**31), (int, 2**62), (float, 9), (np.int32, 2**30)]),
)
@settings(deadline=None)
def test_the_smaller_problem_has_the_costs_of_the_whole(drawn, linear, numbers):
    seed, n, pairs = drawn
    whole = random_problem(seed, n, linear=linear, kind=numbers[0], scale=numbers[1])
    smaller, expand = reduced(whole, None, None, pairs)
    assert smaller.n == max(n - len(pairs), 1)
    for q in list(permutations(range(smaller.n)))[:10]:
        p = expand(q)
        assert sorted(p) == list(range(n))
        assert np.array_equal(p[pairs[:, 0]], pairs[:, 1])
        assert np.array_equal(expand.restrict(p), q)
        if smaller.C is None or smaller.C.dtype == whole.A.dtype == int:
            assert smaller.cost(q) == whole.cost(p)
        else:
            assert smaller.cost(q) == pytest.approx(whole.cost(p), rel=1e-9, abs=1e-9 * n**2 * numbers[1] ** 2)


def test_integers_beyond_int64_are_not_wrapped():
    large = 2**31
    whole = Instance("large", large * NUG12.A, large * NUG12.B)
    smaller, expand = reduced(whole, None, None, {k: k for k in range(11)})
    assert smaller.C is not None
    assert smaller.C.dtype == float  # the constant alone is beyond int64
    assert smaller.cost([0]) == pytest.approx(whole.cost(range(12)))
    # Partial sums may be, as long as the entries are not.
    signs = Instance("signs", [[0, 2**62, -(2**62)], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [3, 0, 0], [3, 0, 0]])
    flipped = Instance("signs", signs.A.T, signs.B.T)
    for instance in (signs, flipped):
        smaller, expand = reduced(instance, None, None, [[1, 1], [2, 2]])
        assert smaller.C is not None
        assert smaller.C.dtype == int
        assert smaller.cost([0]) == instance.cost(expand([0]))


def test_mixed_numbers_do_not_overflow_as_integers():
    A, B = np.array([[0, 2**40], [2**40, 0]]), np.array([[0, 2**40], [2**40, 0]])
    smaller, expand = reduced(A, B, np.full((2, 2), 0.5), {0: 1})
    assert smaller.cost([0]) == 2.0**81 + 1
    assert expand([0]).tolist() == [1, 0]
    with pytest.raises(InputError, match="too large"):
        reduced(1e200 * np.ones((3, 3)), 1e200 * np.ones((3, 3)), None, {0: 0})


def test_what_is_known_stays_known():
    smaller, expand = reduced(NUG12, None, None, [[5, 2]])
    assert (smaller.name, smaller.best_known, smaller.proven) == ("nug12", 578, True)
    assert reduced(NUG12, None, None, {})[0] is NUG12


@pytest.mark.parametrize(
    ("fixed", "came"),
    [
        ([[0, 1], [0, 2]], "row 0 more than once"),
        ([[0, 1], [2, 1]], "column 1 more than once"),
        ([[0, 1], [0, 1]], "row 0"),
        ([[0, 12]], "12"),
        ([[-1, 0]], "-1"),
        (np.array([[2**63, 0]], dtype=np.uint64), "9223372036854775808"),
        ([0, 1], "(2,)"),
        ([[0, 1, 2]], "(1, 3)"),
        (np.zeros((0, 3)), "(0, 3)"),
        (3, "()"),
        ([[0.0, 1.0]], "float64"),
        ({0: 1.5}, "float64"),
        ({0: "a"}, "<U"),
        ([[True, False]], "bool"),
        ([[0, 1], [2]], "list"),
        (np.arange(26).reshape(13, 2), "12"),
    ],
)
def test_bad_pairs_are_refused_in_one_line(fixed, came):
    with pytest.raises(InputError) as caught:
        solve(NUG12, fixed=fixed)
    text = str(caught.value)
    assert text.startswith("`fixed`")
    assert came in text
    assert ";" in text
    assert "\n" not in text


def test_no_pairs_and_their_order():
    for nothing in ([], {}, np.zeros((0, 2)), np.array([[], []]).T):
        assert as_pairs(nothing, 4, name="fixed").shape == (0, 2)
    assert as_pairs([[3, 0], [1, 2]], 4, name="fixed").tolist() == [[1, 2], [3, 0]]


@pytest.mark.parametrize("polish", [True, False])
def test_solve_keeps_the_fixed_pairs(polish):
    fixed = {9: 1, 2: 11, 4: 0}
    seen = []
    res = solve(NUG12, fixed=fixed, starts=3, polish=polish, rng=0, callback=seen.append)
    assert [res.permutation[row] for row in fixed] == list(fixed.values())
    assert res.cost == NUG12.cost(res.permutation) == min(row.cost for row in seen)
    assert res.best_known == NUG12.best_known
    again = solve(NUG12, fixed=np.array([[4, 0], [9, 1], [2, 11]]), starts=3, polish=polish, rng=0)
    assert np.array_equal(again.permutation, res.permutation)


def test_solve_finds_the_optimum_next_to_fixed_pairs_of_it():
    fixed = {row: NUG12.solution[row] for row in (1, 3, 5, 7, 8, 9, 10, 11)}
    assert solve(NUG12, fixed=fixed, rng=0).status is QAPStatus.OPTIMAL
    everything = dict(enumerate(range(12)))
    assert np.array_equal(solve(NUG12, fixed=everything, starts=1).permutation, np.arange(12))


def test_solve_starts_from_a_permutation_that_keeps_the_pairs():
    x0 = np.arange(12)[::-1]
    res = solve(NUG12, fixed={0: 11}, x0=x0, starts=1, max_iter=1, rng=0)
    assert res.cost <= NUG12.cost(x0)
    assert res.permutation[0] == 11
    with pytest.raises(InputError, match=r"`x0` must keep the fixed pairs.*set x0\[0\] = 3"):
        solve(NUG12, fixed={0: 3}, x0=x0)
