"""The thin parameter of the backend suite: a library and a dtype.

A library that is not installed is skipped, unless the environment variable TRISPLIT_BACKENDS is set: then it is an
error.
"""

import pytest

from tests.kinds import kinds


@pytest.fixture(scope="session", params=kinds("torch", "jax", "array_api_strict"), ids=str)
def kind(request):
    request.param.xp  # noqa: B018  import it, or skip
    return request.param
