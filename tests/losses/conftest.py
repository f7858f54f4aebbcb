"""The contracts hold for NumPy; `tests/backends/test_losses.py` asks other libraries for the same."""

import pytest

from tests.kinds import kinds


@pytest.fixture(scope="session", params=kinds("numpy"), ids=str)
def kind(request):
    return request.param
