"""Runs end as the table says; `endings.py` writes it."""

import json

import pytest

from tests.golden.endings import ENDINGS, FILE

TABLE = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ENDINGS)
def test_a_run_ends_as_the_table_says(name):
    assert ENDINGS[name]() == TABLE[name]


def test_each_line_of_the_table_has_its_run():
    assert list(TABLE) == list(ENDINGS)
