"""Lower bounds: never above any permutation, and confirmed by a checker that shares no code with them."""

from fractions import Fraction
from itertools import permutations
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trisplit import qap
from trisplit.errors import InputError
from trisplit.qap.bounds import methods
from trisplit.qap.bounds.assignment import assignment_duals
from trisplit.qap.bounds.enumeration import enumerate_all
from trisplit.qap.bounds.integers import Integers, rounded_down
from trisplit.verify import proven_bound

SMALL = [entry.name for entry in qap.table() if entry.n <= 30]


def exact_costs(A, B, C):
    """Return the costs of all permutations in lexicographic order, as exact fractions."""
    n = len(A)
    a, b, c = ([[Fraction(x) for x in row] for row in np.asarray(M).tolist()] for M in (A, B, C))
    for p in permutations(range(n)):
        yield sum(a[i][j] * b[p[i]][p[j]] for i in range(n) for j in range(n)) + sum(c[i][p[i]] for i in range(n))


def numbers():
    """Matrices of small integers, huge integers, decimals, repeated numbers or zeros, symmetric or not."""
    kinds = [
        st.integers(-5, 9),
        st.integers(0, 1),
        st.integers(-(10**12), 10**12),
        st.floats(-3, 3, allow_nan=False),
        st.sampled_from([0.1, 0.25, -1.5]),
        st.just(0),
        st.sampled_from([1e12, 1e-12, -3.0]),
    ]
    return st.sampled_from(range(len(kinds))).map(lambda k: kinds[k])


@st.composite
def problems(draw, largest=5):
    n = draw(st.integers(1, largest))

    def matrix():
        entries = draw(numbers())
        M = np.array([[draw(entries) for _ in range(n)] for _ in range(n)])
        if draw(st.booleans()):
            M = np.tril(M) + np.tril(M, -1).T
        if draw(st.booleans()):
            M = M * (1 - np.eye(n, dtype=M.dtype))
        if n > 1 and draw(st.booleans()):
            M[1] = M[0]
        return M

    C = matrix() if draw(st.booleans()) else None
    return matrix(), matrix(), C


def is_symmetric(A, B):
    return np.array_equal(A, A.T) or np.array_equal(B, B.T)


def check(A, B, C, method):
    if method in ("projection", "convex") and not is_symmetric(A, B):
        with pytest.raises(InputError, match="needs a symmetric A or B"):
            qap.lower_bound(A, B, C, method=method)
        return
    bound = qap.lower_bound(A, B, C, method=method)
    assert proven_bound(A, B, C, bound.certificate) == bound.value
    integer = all(M is None or M.dtype.kind == "i" for M in (A, B, C))
    assert isinstance(bound.value, int if integer else float)
    assert Fraction(bound.value) <= min(exact_costs(A, B, np.zeros(A.shape, dtype=int) if C is None else C))


@settings(deadline=None, max_examples=60)
@given(problems())
def test_gilmore_lawler_is_below_every_permutation(problem):
    check(*problem, "gilmore-lawler")


@settings(deadline=None, max_examples=40)
@given(problems(), st.sampled_from(["projection", "convex", "dnn"]))
def test_tangent_planes_are_below_every_permutation(problem, method):
    check(*problem, method)


@pytest.mark.parametrize("method", methods)
def test_numbers_of_very_different_size(method):
    zero = np.zeros((3, 3))
    C = np.array([[1.0, 5e-324, 0.0], [0.0, 1e300, 0.0], [0.0, 0.0, 1.0]])
    tiny = np.full((3, 3), 5e-324)
    for problem in ((zero, zero, C), (tiny, tiny, None), (tiny, tiny, C), (tiny + np.eye(3) * 1e150, np.eye(3), C)):
        check(*problem, method)


@pytest.mark.slow
@settings(deadline=None, max_examples=600)
@given(problems(largest=6), st.sampled_from(["auto", *methods]))
def test_bounds_are_below_every_permutation(problem, method):
    check(*problem, method)


@pytest.mark.parametrize("name", qap.names())
def test_gilmore_lawler_on_qaplib(name):
    instance = qap.load(name)
    bound = qap.lower_bound(instance, method="gilmore-lawler")
    assert bound.value <= instance.best_known
    assert proven_bound(instance.A, instance.B, None, bound.certificate) == bound.value


@pytest.mark.parametrize("name", [name for name in SMALL if not name.startswith("bur")])
def test_a_rising_scale_on_qaplib(name):
    """The plane at the minimiser is no lower than the one at the barycentre, and none is above the best-known value."""
    instance = qap.load(name)
    values = []
    for method in ("projection", "convex"):
        bound = qap.lower_bound(instance, method=method, time_limit=1)
        assert proven_bound(instance.A, instance.B, None, bound.certificate) == bound.value
        values.append(bound.value)
    assert values[0] <= values[1] <= instance.best_known


@pytest.mark.parametrize(
    "name", ["tai10a", "tai10b", "chr12a", "had12", "rou12", pytest.param("scr12", marks=pytest.mark.slow), "tai12a"]
)
def test_the_doubly_nonnegative_bound_proves_optima(name):
    instance = qap.load(name)
    bound = qap.lower_bound(instance)
    assert bound.method == "dnn"
    assert bound.value == instance.best_known
    assert proven_bound(instance.A, instance.B, None, bound.certificate) == bound.value


PROVEN = """
chr12a chr12b chr12c chr15a chr15b chr15c chr18a chr18b chr20a chr20b chr20c chr22a chr22b chr25a els19 esc16e esc16f
esc16g esc16j esc32e had12 had14 had16 had18 had20 lipa20a lipa20b lipa30b lipa40b lipa50b lipa60b lipa70b lipa80b
lipa90b rou12 scr12 scr15 tai10a tai10b tai12a tai12b tai15b tai20b
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", PROVEN.split())
def test_optima_are_proven_within_a_minute(name):
    instance = qap.load(name)
    bound = qap.lower_bound(instance, time_limit=60)
    assert bound.seconds < 62
    assert bound.value == instance.best_known
    assert proven_bound(instance.A, instance.B, None, bound.certificate) == bound.value


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_the_doubly_nonnegative_bound_on_qaplib(name):
    instance = qap.load(name)
    bound = qap.lower_bound(instance, method="dnn", time_limit=10)
    assert bound.seconds < 12
    assert bound.value <= instance.best_known
    assert proven_bound(instance.A, instance.B, None, bound.certificate) == bound.value


@settings(deadline=None, max_examples=60)
@given(problems(), st.sampled_from(["enumeration", "auto"]))
def test_enumeration_is_the_optimum(problem, method):
    A, B, C = problem
    costs = list(exact_costs(A, B, np.zeros(A.shape, dtype=int) if C is None else C))
    bound = qap.lower_bound(A, B, C, method=method)
    assert bound.method == "enumeration"
    assert bound.value == (min(costs) if isinstance(bound.value, int) else rounded_down(min(costs)))
    assert proven_bound(A, B, C, bound.certificate) == bound.value


@settings(deadline=None, max_examples=25)
@given(problems(largest=6))
def test_the_first_of_the_best_permutations_is_found(problem):
    instance = qap.Instance("any", *problem[:2], C=problem[2])
    integers = Integers.of(instance)
    costs = list(exact_costs(integers.A, integers.B, integers.C))
    cost, permutation = enumerate_all(integers)
    assert cost == min(costs)
    assert tuple(permutation) == list(permutations(range(instance.n)))[costs.index(cost)]


def eight_rows(size):
    return np.random.default_rng(8).integers(-size, size, (3, 8, 8))


def test_all_permutations_of_eight_rows_are_seen():
    A, B, C = eight_rows(10**12)
    instance = qap.Instance("eight", A, B, C=C)
    assert qap.lower_bound(instance).value == min(instance.cost(p) for p in permutations(range(8)))


@pytest.mark.parametrize("unit", [1, 0.1])
@pytest.mark.parametrize("size", [9, 10**12, 2**62])
def test_eight_rows_take_no_time(size, unit):
    """So a time limit means nothing for them."""
    A, B, C = eight_rows(size) * unit
    bound = qap.lower_bound(A, B, C, time_limit=1e-3)
    assert bound.seconds < 1
    begin = perf_counter()
    assert proven_bound(A, B, C, bound.certificate) == bound.value
    assert perf_counter() - begin < 1.5


def test_a_time_limit_is_kept():
    begin = perf_counter()
    bound = qap.lower_bound(qap.load("tai25a"), time_limit=2)
    assert perf_counter() - begin < 3
    assert bound.seconds < 3
    assert bound.value <= 1167256


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_linear_problem_is_solved(n):
    """Without a quadratic term the bound is the optimum of the assignment problem."""
    C = np.random.default_rng(n).integers(-9, 9, (n, n))
    zero = np.zeros((n, n), dtype=int)
    assert qap.lower_bound(zero, zero, C, method="gilmore-lawler").value == min(exact_costs(zero, zero, C))


def test_bounds_are_rounded_up_to_what_a_cost_can_be():
    """With two symmetric matrices with zero diagonals all costs are even: 578 follows from more than 576."""
    assert all(
        qap.lower_bound(qap.load(name), method="projection").value % 2 == 0 for name in ("nug12", "had12", "esc16a")
    )


@given(st.integers(1, 6), st.integers(0, 2**32), st.sampled_from([10, 2**40, 2**90]))
def test_dual_variables_are_feasible_and_optimal(n, seed, size):
    rng = np.random.default_rng(seed)
    costs = rng.integers(-9, 9, (n, n)).astype(object) * size + rng.integers(0, 9, (n, n))
    u, v = assignment_duals(costs)
    best = min(sum(costs[i, p[i]] for i in range(n)) for p in permutations(range(n)))
    assert (u[:, None] + v[None, :] <= costs).all()
    assert best - n * (size >> 38) <= u.sum() + v.sum() <= best


def test_an_instance_with_a_linear_term_brings_it_along():
    rng = np.random.default_rng(0)
    A, B, C = rng.integers(0, 9, (3, 4, 4))
    assert qap.lower_bound(qap.Instance("own", A, B, C=C)).value == qap.lower_bound(A, B, C).value


def test_sparse_matrices_are_taken():
    from scipy.sparse import csr_array

    chr12a = qap.load("chr12a")
    assert qap.lower_bound(csr_array(chr12a.A), chr12a.B, method="gilmore-lawler").value == 7246


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "gilmore"}, "`method` is unknown, got 'gilmore'"),
        ({"time_limit": 0}, "`time_limit` must be positive"),
        ({"A": qap.load("sko42"), "method": "dnn"}, "`method` 'dnn' is for n <= 40, got 42"),
        ({"method": "enumeration"}, "`method` 'enumeration' is for n <= 8, got 12; use 'dnn' or 'auto'"),
        ({"A": qap.load("bur26a"), "method": "convex"}, "`method` 'convex' needs a symmetric A or B"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        qap.lower_bound(**({"A": qap.load("nug12")} | arguments))
