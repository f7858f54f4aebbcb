"""What swaps change, computed by compiled code, is the difference of exact costs."""

from fractions import Fraction
from gc import collect
from itertools import combinations
from weakref import ref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trisplit.kernels import swaps
from trisplit.qap import Instance, load
from trisplit.qap.swap_delta import swap_deltas
from trisplit.qap.swap_form import TOPS, equivalent, swap_form

ENTRIES = {"small": 9, "medium": 10**6, "large": 10**12}
KINDS = ("i4", "i8", "f8")


@st.composite
def problems(draw, *entries, largest=7):
    """Instances of all sorts: symmetric or not, with a linear term or not, with equal rows or not."""
    n = draw(st.integers(1, largest))
    matrices = []
    for _ in range(3):
        size = ENTRIES.get(draw(st.sampled_from(entries)))
        numbers = st.floats(-10, 10, allow_subnormal=False) if size is None else st.integers(-size, size)
        M = draw(arrays(float if size is None else np.int64, (n, n), elements=numbers))
        shape = draw(st.sampled_from(["any", "symmetric", "equal rows", "constant", "multiples"]))
        if shape in ("symmetric", "equal rows"):
            M = np.triu(M) + np.triu(M, 1).T
        if shape == "equal rows" and n > 1:
            which = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
            M = M[np.ix_(which, which)]
        if shape == "constant":
            M = np.full_like(M, M[0, 0])
        if shape == "multiples" and np.abs(M).max() < 1e6:
            M = 12 * M
        matrices.append(M)
    A, B, C = matrices
    return Instance("any", A, B, C=draw(st.sampled_from([None, C])))


def exact_cost(instance, p):
    n, total = instance.n, Fraction(0)
    for i in range(n):
        for j in range(n):
            total += Fraction(instance.A[i, j].item()) * Fraction(instance.B[p[i], p[j]].item())
        total += 0 if instance.C is None else Fraction(instance.C[i, p[i]].item())
    return total


def filled(form, p):
    state = form.scratch()
    swaps.engine(form.kind)[0](form.L, form.R, form.S, form.T, form.D, p, *state)
    return state


def exchanged(p, r, s):
    q = p.copy()
    q[[r, s]] = q[[s, r]]
    return q


@settings(deadline=None, max_examples=300)
@given(problems("small", "medium", "large"), st.integers(0, 2**32 - 1))
def test_deltas_of_integers_are_exact_differences_of_costs(instance, seed):
    form = swap_form(instance)
    p = np.random.default_rng(seed).permutation(instance.n)
    d = filled(form, p)[1]
    before = exact_cost(instance, form.turned(p))
    assert before == instance.cost(form.turned(p))
    for r, s in combinations(range(instance.n), 2):
        change = exact_cost(instance, form.turned(exchanged(p, r, s))) - before
        if form.kind != "f8":
            assert form.unit * int(d[r, s]) == change
        if form.X[r, s] != 0:  # in floating numbers, a change that drowns in the cost counts as none
            assert change == 0 or (form.kind == "f8" and abs(change) <= 1e-9 * abs(before))


@settings(deadline=None, max_examples=200)
@given(problems("small", "real", "large"), st.integers(0, 2**32 - 1))
def test_deltas_in_floating_point_are_exact_up_to_rounding(instance, seed):
    form = swap_form(instance)
    p = np.random.default_rng(seed).permutation(instance.n)
    d = filled(form, p)[1]
    before = exact_cost(instance, form.turned(p))
    slack = 1e-13 * instance.n * float(np.abs(instance.A).max()) * float(np.abs(instance.B).max())
    slack += 0.0 if instance.C is None else 1e-13 * float(np.abs(instance.C).max())
    for r, s in combinations(range(instance.n), 2):
        change = exact_cost(instance, form.turned(exchanged(p, r, s))) - before
        assert abs(form.unit * float(d[r, s]) - float(change)) <= slack


@settings(deadline=None)
@given(problems("small", "medium"), st.integers(0, 2**32 - 1))
def test_deltas_are_those_of_the_plain_twin(instance, seed):
    form = swap_form(instance)
    p = np.random.default_rng(seed).permutation(instance.n)
    q = np.argsort(p) if form.swapped else p
    B, C = instance.B[np.ix_(q, q)], None if instance.C is None else instance.C[:, q]
    plain = swap_deltas(instance.A.astype(object), B.astype(object), None if C is None else C.astype(object))
    d = filled(form, p)[1]
    for r, s in combinations(range(instance.n), 2):
        i, j = (p[r], p[s]) if form.swapped else (r, s)
        assert form.unit * int(d[r, s]) == plain[i, j]


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_the_best_pair_is_the_least_one_that_is_allowed(kind, data):
    n = data.draw(st.integers(2, 70))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    now, aspired = data.draw(st.integers(0, 3)), data.draw(st.integers(-10, 0))
    width = swaps.whole(n)
    d = rng.integers(-9, 9, (n, width)).astype(kind)
    X = rng.choice(np.array([0, 1, 2, 5, swaps.NEVER], np.int32), (n, width))
    X[:, n:] = X[np.tril_indices(n)] = swaps.NEVER
    slopes = rng.integers(-5, 5, (2, 3, width)).astype(kind)
    slopes[:, :, n:] = 0
    expected = d.copy()
    for a, b, _ in slopes:
        expected -= (a[:n, None] - a) * (b[:n, None] - b)
    row, column = sweep(kind)(d, X, slopes, n, now, aspired, TOPS[kind], data.draw(st.floats(0, 1, exclude_max=True)))
    upper = np.triu_indices(n, 1)
    assert np.array_equal(d[upper], expected[upper])
    allowed = (X <= now) | ((expected < aspired) & (X < swaps.NEVER))
    if not allowed.any():
        assert (row, column) == (-1, -1)
    else:
        assert allowed[row, column]
        assert expected[row, column] == expected[allowed].min()


def sweep(kind):
    """Compile `sweep` alone; kept by numba."""
    from trisplit.kernels import compiled

    matrix = f"{kind}[:,::1]"
    signature = f"UniTuple(i8,2)({matrix},i4[:,::1],{kind}[:,:,::1],i8,i8,{kind},{kind},f8)"
    return _known.setdefault(kind, compiled(signature)(swaps.sweep))


_known = {}


@pytest.mark.parametrize(
    ("large", "kind"), [(1, "i4"), (1000, "i4"), (20_000, "i8"), (10**6, "i8"), (2**31, "f8"), (10**12, "f8")]
)
def test_the_narrowest_numbers_that_fit(large, kind):
    """Entries of +-large, where a swap can change the cost by about large^2 times 8."""
    A = large * np.array([[0, 1, 1, -1, 1], [1, 0, -1, 1, -1], [1, -1, 0, 0, 1], [-1, 1, 0, 0, -1], [1, -1, 1, -1, 0]])
    A[2, 3] = A[3, 2] = 1  # no common divisor
    form = swap_form(Instance("any", A, A + np.eye(5, dtype=int)))
    assert form.kind == kind


@settings(deadline=None)
@given(problems("medium"), st.integers(0, 2**32 - 1))
def test_no_change_exceeds_what_the_kind_can_hold(instance, seed):
    form = swap_form(instance)
    p = np.random.default_rng(seed).permutation(instance.n)
    before = instance.cost(form.turned(p))
    for r, s in combinations(range(instance.n), 2):
        assert abs(instance.cost(form.turned(exchanged(p, r, s))) - before) < form.unit * form.top


def test_common_divisors_make_numbers_narrow():
    A = 10**12 * np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    form = swap_form(Instance("any", A, A))
    assert (form.kind, form.unit) == ("i4", 2 * 10**24)


@pytest.mark.parametrize(("name", "pairs"), [("tai64c", 13 * 12 // 2 + 51 * 50 // 2), ("nug12", 0)])
def test_equal_rows_are_never_exchanged(name, pairs):
    instance = load(name)
    form = swap_form(instance)
    n, p = form.n, np.random.default_rng(0).permutation(form.n)
    upper = np.triu_indices(n, 1)
    never = form.X[:, :n][upper] != 0
    assert never.sum() == pairs
    assert not filled(form, p)[1][:, :n][upper][never].any()


def test_the_matrix_with_more_equal_rows_gives_the_rows():
    esc = load("esc32a")
    one, other = swap_form(esc), swap_form(Instance("turned", esc.B, esc.A))
    assert one.swapped != other.swapped
    assert np.array_equal(one.X, other.X)
    p = np.random.default_rng(1).permutation(esc.n)
    assert np.array_equal(other.turned(other.turned(p)), p)


def test_large_floats_do_not_overflow():
    A = 1e200 * np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [1.0, 5.0, 0.0]])
    for B, C in ((1e-250 * A.T, None), (A.T, None), (1e-300 * A, 1e107 * A), (0 * A, 1e-300 * A)):
        form = swap_form(Instance("any", A, B, C=C))
        assert np.isfinite(filled(form, np.arange(3))[1]).all()


def test_the_form_is_computed_once_and_goes_with_its_instance():
    instance = Instance("any", np.eye(3), np.ones((3, 3)))
    form = swap_form(instance)
    assert swap_form(instance) is form
    gone = ref(form)
    del form, instance
    collect()
    assert gone() is None


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_rows_have_one_label_if_exchanging_them_changes_nothing(data):
    n = data.draw(st.integers(1, 7))
    M, D = (data.draw(arrays(np.int64, (n, n), elements=st.integers(0, 1))) for _ in range(2))
    M = np.triu(M, 1) + np.triu(M, 1).T if data.draw(st.booleans()) else M - np.diag(np.diag(M))
    D = D * data.draw(st.integers(0, 1))
    labels, of_floats = (equivalent(((L, L),), D) for L in (M, -0.5 * M))  # some of -0.5 M are -0.0
    for i, j in combinations(range(n), 2):
        order = np.arange(n)
        order[[i, j]] = j, i
        same = np.array_equal(M, M[np.ix_(order, order)]) and np.ptp(D[i] - D[j]) == 0
        assert (labels[i] == labels[j]) == (of_floats[i] == of_floats[j]) == same
