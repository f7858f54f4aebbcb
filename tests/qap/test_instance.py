"""An instance computes the cost of the definition, exactly, and refuses data that are not a problem."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trisplit.errors import InputError
from trisplit.qap.instance import Instance, as_permutation

INT64 = st.integers(-(2**63), 2**63 - 1)


def make(name, A, B, **known):
    """Untyped: lists and ranges are as good as arrays."""
    return Instance(name, A, B, **known)


def cost_by_definition(A, B, C, p):
    """The double sum, in Python integers."""
    n = len(p)
    total = sum(int(A[i][j]) * int(B[p[i]][p[j]]) for i in range(n) for j in range(n))
    return total + (0 if C is None else sum(int(C[i][p[i]]) for i in range(n)))


def trace_formula(A, B, p):
    X = np.zeros_like(A)
    X[np.arange(len(p)), p] = 1
    return np.trace(A @ X @ B.T @ X.T)


@st.composite
def problems(draw, entries, linear=True):
    n = draw(st.integers(1, 5))
    matrix = st.lists(st.lists(entries, min_size=n, max_size=n), min_size=n, max_size=n)
    C = draw(st.none() | matrix) if linear else None
    return draw(matrix), draw(matrix), C, draw(st.permutations(range(n)))


@given(problems(st.integers(-1000, 1000), linear=False))
def test_cost_is_the_trace_formula(problem):
    A, B, _, p = problem
    assert make("any", A, B).cost(p) == trace_formula(np.array(A), np.array(B), p)


@given(problems(st.floats(-1000, 1000), linear=False))
def test_cost_of_floats_is_the_trace_formula(problem):
    A, B, _, p = problem
    cost = make("any", A, B).cost(p)
    scale = np.abs(A).max() * np.abs(B).max() * len(p) ** 2
    assert isinstance(cost, float)
    assert abs(cost - trace_formula(np.array(A), np.array(B), p)) <= 8 * len(p) ** 2 * np.finfo(float).eps * scale


@given(problems(INT64))
def test_integer_cost_is_exact_up_to_the_ends_of_int64(problem):
    A, B, C, p = problem
    cost = make("any", np.array(A, np.int64), np.array(B, np.int64), C=C and np.array(C, np.int64)).cost(p)
    assert isinstance(cost, int)
    assert cost == cost_by_definition(A, B, C, p)


@pytest.mark.parametrize("largest", [2**31, 3037000499, 3037000500, 2**62])
def test_cost_is_exact_on_both_sides_of_the_int64_bound(largest):
    # 3037000499^2 < 2^63 < 3037000500^2
    for value in (largest, -largest):
        assert make("one", [[value]], [[largest]]).cost([0]) == value * largest


def test_linear_term_alone_can_leave_int64():
    zero = [[0, 0], [0, 0]]
    assert make("linear", zero, zero, C=[[2**62, 0], [0, 2**62]]).cost([0, 1]) == 2**63


def test_integers_next_to_floats_do_not_wrap():
    large, zero, half = [[2**62]], [[0.0]], [[0.5]]
    assert make("float C", large, large, C=half).cost([0]) == 2.0**124
    assert make("float B", large, half).cost([0]) == 2.0**61
    square = [[2**62, 0], [0, 2**62]]
    assert make("float A", np.zeros((2, 2)), np.zeros((2, 2)), C=square).cost([0, 1]) == 2.0**63
    assert isinstance(make("zeros", [[0]], zero).cost([0]), float)


def test_relabelling_both_sides_keeps_the_cost():
    rng = np.random.default_rng(0)
    A, B = rng.integers(-9, 10, (2, 7, 7))
    p, q = rng.permutation(7), rng.permutation(7)
    # A'[i,j] = A[q[i],q[j]] with p'[i] = p[q[i]] is the same sum in another order.
    assert make("relabelled", A[np.ix_(q, q)], B).cost(p[q]) == make("given", A, B).cost(p)
    # Exchanging A and B is inverting the permutation.
    assert make("exchanged", B, A).cost(np.argsort(p)) == make("given", A, B).cost(p)


def test_a_float_matrix_makes_the_cost_a_float():
    half = make("half", [[1]], [[0.5]])
    assert (half.A.dtype, half.B.dtype) == (np.int64, np.float64)
    assert half.cost([0]) == 0.5
    assert isinstance(make("linear", [[1]], [[1]], C=[[0.5]]).cost([0]), float)


def test_arrays_are_read_only_copies():
    A, C, p = np.eye(2), np.ones((2, 2)), np.array([1, 0])
    instance = make("copy", A, A, C=C, solution=p)
    A[0, 0] = C[0, 0] = p[0] = 7
    for label in ("A", "B", "C", "solution"):
        array = getattr(instance, label)
        assert array.flat[0] == 1
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(instance, "name", "other")  # noqa: B010


def test_known_values_become_plain_numbers():
    instance = make("values", [[1]], [[3]], best_known=np.int32(3), lower_bound=np.float32(2.5), solution=[0])
    assert (type(instance.best_known), type(instance.lower_bound)) == (int, float)
    assert "3" in repr(instance)
    assert make("zero", [[0]], [[0]], best_known=0, proven=True).best_known == 0


def test_digest_depends_on_the_data_alone():
    rng = np.random.default_rng(1)
    A, B = rng.integers(0, 100, (2, 4, 4))
    digest = make("one", A, B).sha256()
    assert len(digest) == 64
    assert int(digest, 16) >= 0
    same = [
        make("two", A, B, best_known=3, solution=range(4)),
        make("narrow", A.astype(np.int8), B.astype(np.uint16)),
        make("swapped bytes", A.astype(">i4"), B.astype("<u8")),
        make("columns first", np.asfortranarray(A), B),
    ]
    other = [
        make("exchanged", B, A),
        make("transposed", A.T, B),
        make("float", A.astype(float), B),
        make("linear", A, B, C=np.zeros((4, 4), int)),
        make("one entry", A + np.eye(4, dtype=int), B),
    ]
    assert {instance.sha256() for instance in same} == {digest}
    assert len({digest, *(instance.sha256() for instance in other)}) == 1 + len(other)


def test_digest_of_floats_ignores_width_order_and_the_sign_of_zero():
    zero, negative = np.array([[0.0]]), np.array([[-0.0]])
    assert make("plus", zero, zero).sha256() == make("minus", negative, negative).sha256()
    assert make("wide", zero, zero).sha256() == make("f2", zero.astype(">f2"), zero).sha256()


SQUARE = [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("arguments", "named", "came"),
    [
        ({"A": [[1, 2]]}, "`A`", "(1, 2)"),
        ({"A": [1, 2]}, "`A`", "(2,)"),
        ({"B": np.ones((3, 3))}, "`B`", "(3, 3)"),
        ({"C": np.ones((3, 3))}, "`C`", "(3, 3)"),
        ({"A": [[1, 2], [3]]}, "`A`", "list"),
        ({"A": np.ones((0, 0))}, "`A`", "(0, 0)"),
        ({"A": [[1, np.nan], [3, 4]]}, "`A`", "nan at [0, 1]"),
        ({"B": [[1, 2], [-np.inf, 4]]}, "`B`", "-inf at [1, 0]"),
        ({"C": [[np.inf, 2], [3, 4]]}, "`C`", "inf at [0, 0]"),
        ({"A": [["a", "b"], ["c", "d"]]}, "`A`", "<U1"),
        ({"A": [[1j, 0], [0, 0]]}, "`A`", "complex128"),
        ({"A": [[2**64, 0], [0, 0]]}, "`A`", "object"),
        ({"A": None}, "`A`", "object"),
        ({"A": np.full((2, 2), 2**63, np.uint64)}, "`A`", "9223372036854775808"),
        ({"name": 5}, "`name`", "int"),
        ({"proven": True}, "`proven`", "None"),
        ({"best_known": "5"}, "`best_known`", "str"),
        ({"best_known": np.nan}, "`best_known`", "nan"),
        ({"lower_bound": True}, "`lower_bound`", "bool"),
        ({"best_known": 5, "lower_bound": 6}, "`lower_bound`", "6 > 5"),
        ({"solution": [0, 0]}, "`solution`", "0 more than once"),
    ],
)
def test_bad_data_raise_one_line_with_argument_and_remedy(arguments, named, came):
    with pytest.raises(InputError) as caught:
        make(**({"name": "bad", "A": SQUARE, "B": SQUARE} | arguments))
    message = str(caught.value)
    assert named in message
    assert came in message
    assert ";" in message, "no remedy"
    assert "\n" not in message


@pytest.mark.parametrize(
    ("permutation", "came"),
    [
        ([0, 1], "(2,)"),
        ([[0, 1, 2]], "(1, 3)"),
        ([1, 2, 3], "subtract 1"),
        ([0, 1, 3], "got 3"),
        ([0, 1, -1], "got -1"),
        ([0, 1, 1], "1 more than once"),
        ([0.0, 1.0, 2.0], "float64"),
        ([True, False, True], "bool"),
        (["a", "b", "c"], "<U1"),
        ([0, 1, [2]], "list"),
        (None, "()"),
        ([0, 1, 2**70], "object"),
    ],
)
def test_only_permutations_have_a_cost(permutation, came):
    instance = make("three", np.ones((3, 3)), np.ones((3, 3)))
    with pytest.raises(InputError) as caught:
        instance.cost(permutation)
    message = str(caught.value)
    assert "`permutation`" in message
    assert came in message
    assert ";" in message, "no remedy"
    assert "\n" not in message


@given(st.lists(st.integers(-1, 4), max_size=5))
def test_as_permutation_accepts_exactly_the_permutations(images):
    if sorted(images) == list(range(len(images))) and images:
        assert as_permutation(images, len(images)).tolist() == images
    elif images:
        with pytest.raises(InputError):
            as_permutation(images, len(images))
