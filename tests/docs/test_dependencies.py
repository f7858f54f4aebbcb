"""Every dependency in pyproject.toml is explained in docs/dependencies.md."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENTS = [*PROJECT["dependencies"], *chain.from_iterable(PROJECT["optional-dependencies"].values())]
EXPLAINED = re.findall(r"^\| ([\w, -]+) \|", (ROOT / "docs/dependencies.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_dependency_is_explained(requirement):
    name = re.split(r"[<>=!~;\[ ]", requirement)[0]
    assert name in ", ".join(EXPLAINED).split(", "), f"say in docs/dependencies.md why {name} is there"
