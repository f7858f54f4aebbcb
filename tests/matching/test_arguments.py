"""An argument of `graph_match` that is of no use is named in one line, whatever it is."""

import numpy as np
import pytest

import trisplit as ts
from trisplit.matching.arguments import as_choice, as_flag, as_integer, as_jobs, as_number, as_verbosity
from trisplit.qap.task_pool import available_cores

ODD = [np.ones((9, 9)), np.array([1, 2]), np.array([]), [1, 2], 1j, "much", {}, object()]
CALLS = {
    "n_jobs": as_jobs,
    "n_init": lambda value: as_integer(value, "n_init"),
    "tol": lambda value: as_number(value, "tol", least=0.0),
    "maximize": lambda value: as_flag(value, "maximize"),
    "method": lambda value: as_choice(value, ("tos", "faq"), "method"),
    "verbose": as_verbosity,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_arrays_and_other_objects_are_named_in_one_line(name, value):
    with pytest.raises(ts.InputError) as caught:
        CALLS[name](value)
    text = str(caught.value)
    assert text.startswith(f"`{name}` ")
    assert "\n" not in text
    assert ";" in text, "no remedy"
    assert len(text) < 200


def test_graph_match_names_them():
    A = np.eye(3)
    for name in ("n_jobs", "method", "padding"):
        with pytest.raises(ts.InputError, match=f"`{name}`"):
            ts.matching.graph_match(A, A, **{name: np.array([1, 2])})


def test_numbers_that_no_float_can_hold():
    for value in (10**400, 10**5000, np.inf, np.nan):
        with pytest.raises(ts.InputError, match="`tol` must be a number >= 0, got"):
            as_number(value, "tol", least=0.0)
    assert as_number(10**300, "tol", least=0.0) == 1e300


def test_what_they_stand_for():
    assert as_jobs(None) == 1
    assert as_jobs(-1) == as_jobs(np.int64(-1)) == available_cores()
    assert as_jobs(np.int32(3)) == 3
    assert [as_verbosity(value) for value in (0, False, None, np.int64(0))] == [False] * 4
    assert [as_verbosity(value) for value in (1, True, 2, np.bool_(True))] == [True] * 4
