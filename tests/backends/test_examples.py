"""The examples of the documentation that need PyTorch or JAX."""

import pytest

from tests.docs.test_code_blocks import PAGES, check_examples, needs_backends, split
from tests.kinds import kinds

ALL = [page for page, path in PAGES.items() if any(map(needs_backends, split(path)[0]))]


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
@pytest.mark.parametrize("page", ALL)
def test_examples_run_and_print_what_the_page_shows(page, tmp_path, monkeypatch):
    for kind in kinds("torch", "jax"):
        kind.xp  # noqa: B018  import it, or skip
    monkeypatch.chdir(tmp_path)
    check_examples(page)


def test_there_are_such_pages():
    assert "docs/bring-your-own-f.md" in ALL
