"""Every parameter of every term refuses NaN, and arrays that do not fit are refused when they are met."""

from dataclasses import fields, is_dataclass, replace
from math import nan

import numpy as np
import pytest

from trisplit.errors import InputError
from trisplit.terms import registry


def numeric(value):
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def refused(field, term, bad):
    with pytest.raises(InputError) as caught:
        replace(term, **{field: bad})
    message = str(caught.value)
    assert f"`{field}`" in message
    assert "\n" not in message
    assert "; " in message


@pytest.mark.parametrize("name", registry)
def test_nan_is_refused_when_a_term_is_made(name):
    for term, _ in registry[name].examples():
        assert is_dataclass(term)
        for item in fields(term):
            value = getattr(term, item.name)
            if not item.init or not numeric(value):
                continue
            refused(item.name, term, nan)
            if isinstance(value, np.ndarray) and value.size:
                refused(item.name, term, np.where(np.arange(value.size).reshape(value.shape) == 0, nan, value))
            refused(item.name, term, "much")


@pytest.mark.parametrize("name", registry)
def test_what_is_neither_true_nor_false_is_refused(name):
    for term, _ in registry[name].examples():
        for item in fields(term):
            if item.init and isinstance(getattr(term, item.name), bool):
                refused(item.name, term, "no")


@pytest.mark.parametrize("bad", [-1, 1.0, "one", None])
def test_axes_of_a_batch_are_counted(bad):
    with pytest.raises(InputError, match="`batch_ndim`"):
        registry["l1"]().batched(bad)


@pytest.mark.parametrize("name", registry)
def test_weights_are_not_negative(name):
    for term, _ in registry[name].examples():
        for item in fields(term):
            sized = item.name in ("weight", "radius", "ridge", "epsilon", "delta")
            if item.init and sized and term.convex and name != "trace":  # which is linear
                refused(item.name, term, -1.0)


@pytest.mark.parametrize("name", registry)
def test_sizes_that_do_not_match(name):
    """A term with a parameter as long as x refuses an x that is longer by one, in a line that says so."""
    for term, shape in registry[name].examples():
        arrays = [getattr(term, item.name) for item in fields(term) if item.init]
        if not any(isinstance(value, np.ndarray) and value.shape == shape and value.size > 1 for value in arrays):
            continue
        wrong = np.ones((*shape[:-1], shape[-1] + 1))
        with pytest.raises(InputError, match=r"shape|entries|length"):
            term.prox(wrong, 1.0)
        with pytest.raises(InputError, match=r"shape|entries|length"):
            term.value(wrong)


def moved(term, x, entry, gamma=0.5):
    with np.errstate(all="ignore"):
        return term.prox(np.where(np.arange(x.size).reshape(x.shape) == 1 % x.size, entry, x), gamma)


@pytest.mark.parametrize("name", registry)
def test_a_nan_in_x_stays_visible(name):
    """The proximal map of an array with NaN holds NaN, or refuses, unless the entry does not matter."""
    for term, shape in registry[name].examples():
        x = np.random.default_rng(0).standard_normal(shape)
        try:
            p = moved(term, x, nan)
        except (InputError, np.linalg.LinAlgError):
            continue
        matters = any(not np.array_equal(moved(term, x, entry), moved(term, x, -1.0)) for entry in (-9.0, 0.2, 9.0))
        assert np.isnan(p).any() or not matters
