"""What `read_graph` says of a file that it refuses."""

import pytest

import trisplit as ts
from trisplit.matching import read_graph


def message(path):
    """Return the message, after a look at its form: one line that names the file and has a remedy."""
    with pytest.raises(ts.InputError) as caught:
        read_graph(path)
    text = str(caught.value)
    assert "\n" not in text
    assert ";" in text, "no remedy"
    assert repr(str(path)) in text
    return text
