"""Weights and names of edges that are no usual numbers are taken or refused in one line."""

from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import trisplit as ts
from trisplit.matching.graphs import as_graph

HUGE = 10**400


def message(A):
    with pytest.raises(ts.InputError) as caught:
        as_graph(A, "A")
    text = str(caught.value)
    assert "\n" not in text
    assert ";" in text, "no remedy"
    assert "`A`" in text
    return text


def table(*weights):
    """Return a path with these weights in a column `kg`."""
    return pd.DataFrame({"from": range(len(weights)), "to": range(1, len(weights) + 1), "kg": list(weights)})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "A",
    [
        np.array([[0, HUGE], [HUGE, 0]]),
        np.array([[0, -HUGE], [1.5, 0]], dtype=object),
        [[Fraction(HUGE)]],
        nx.Graph([("a", "b", {"weight": HUGE})]),
        table(HUGE),
        table(1.5, HUGE),
        pd.DataFrame([[HUGE]], index=["a"], columns=["a"]),
    ],
    ids=["integers", "objects", "fraction", "networkx", "table", "mixed", "matrix"],
)
def test_weights_that_no_float_can_hold(A):
    text = message(A)
    assert "must lie within 1.8e308, got an integer beyond; divide all by the largest" in text
    if isinstance(A, pd.DataFrame) and "kg" in A:
        assert text.startswith("column 'kg' of `A`")


def test_large_integers_are_weights_and_names():
    M = as_graph(pd.DataFrame({"source": [HUGE], "target": [0], "weight": [10**300]}), "A")
    assert M.labels == (0, HUGE)
    np.testing.assert_array_equal(M.layers[0].toarray(), [[0, 1e300], [1e300, 0]])


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        (("x", "y"), "got 'x' in row 0"),
        ((1, "much"), "got 'much' in row 1"),
        ((1.0, 2j), "got (1+0j) in row 0"),
        (([1, 2], [3]), "got [1, 2] in row 0"),
        ((1, np.ones((9, 9))), "in row 1"),
    ],
)
def test_a_column_that_is_no_weight_is_named(weights, found):
    text = message(table(*weights))
    assert text.startswith("column 'kg' of `A` must hold real numbers, the weights, got ")
    assert found in text
    assert text.endswith("; convert them, or drop the column")


def test_columns_of_any_kind_of_number_are_weights():
    kinds = [True, np.True_, 1, np.int8(1), np.float32(1), Fraction(1), Decimal(1), 1.0]
    columns = [pd.Series([kind, kind]) for kind in kinds] + [pd.Series(kinds[:2], dtype=object)]
    columns += [pd.Series([1, 1], dtype=name) for name in ("Int64", "Float64", "boolean", "category", "uint8")]
    for column in columns:
        M = as_graph(table(0, 0).assign(kg=column), "A").layers[0].toarray()
        np.testing.assert_array_equal(M, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
