"""Every public name says what it is, and shows it by an example, which the tests of the modules run."""

import inspect

import pytest

import trisplit as ts
from trisplit import verify

ROOMS = (
    ts,
    ts.terms,
    ts.losses,
    ts.gradients,
    ts.steps,
    ts.certificates,
    ts.theory,
    ts.qap,
    ts.matching,
    ts.sklearn,
    verify,
)


def public():
    """Return the classes and functions that the rooms offer, each once."""
    found = {}
    for room in ROOMS:
        for name in room.__all__:
            thing = getattr(room, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found.setdefault(f"{thing.__module__}.{thing.__qualname__}", thing)
    return found


PUBLIC = public()


def test_the_rooms_are_full():
    assert len(PUBLIC) > 300


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name):
    text = inspect.getdoc(PUBLIC[name]) or ""
    first = text.partition("\n")[0]
    assert first.endswith((".", ":")), f"{name}: the first line is a sentence"
    assert ">>> " in text, f"{name}: no example"
    assert PUBLIC[name].__module__.startswith("trisplit."), f"{name}: its example is not run"
