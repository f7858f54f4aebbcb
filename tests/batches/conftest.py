"""The tests here are for NumPy; `tests/backends` runs the same files on the other libraries."""

import pytest

from tests.kinds import kinds


@pytest.fixture(params=kinds("numpy"), ids=str)
def kind(request):
    return request.param
