"""The examples of the documentation that need PyTorch or JAX."""

import doctest
import re
from importlib import import_module

import pytest

from tests.docs.test_code_blocks import PAGES, ROOT, check_examples, needs_backends, split
from tests.docs.test_examples import load
from tests.kinds import kinds

ALL = [page for page, path in PAGES.items() if any(map(needs_backends, split(path)[0]))]


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
@pytest.mark.parametrize("page", ALL)
def test_examples_run_and_print_what_the_page_shows(page, tmp_path, monkeypatch):
    for kind in kinds("torch", "jax"):
        kind.xp  # noqa: B018  import it, or skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trisplit.qap.gpu.batch.usable", lambda device: False)  # the interpreter of Triton is slow
    check_examples(page)


@pytest.mark.parametrize(
    "name", ["qap.gpu." + name for name in ("batch", "matrices", "iterations", "rounding", "starts", "tabu_population")]
)
def test_examples_of_docstrings_run(name, monkeypatch):
    kinds("torch")[0].xp  # noqa: B018  import it, or skip
    for module in ("qap.gpu.batch", "qap.gpu.rounding", "kernels.gpu.walks"):
        monkeypatch.setattr(f"trisplit.{module}.usable", lambda device: False)  # the interpreter of Triton is slow
    failed, tried = doctest.testmod(import_module(f"trisplit.{name}"))
    assert tried > 0
    assert failed == 0


def test_there_are_such_pages():
    assert {"docs/bring-your-own-f.md", "docs/gpu.md"} <= {*ALL}


def test_starts_on_a_gpu_or_without_one(monkeypatch, capsys):
    """The script prints costs of permutations, and a certificate."""
    kinds("torch")[0].xp  # noqa: B018  import it, or skip
    monkeypatch.setattr("trisplit.qap.gpu.batch.usable", lambda device: False)
    load(ROOT / "examples/gpu_starts.py").main("nug12", 20)
    out = capsys.readouterr().out
    best, mean = (int(re.search(rf"{word} (?:cost )?([\d,]+)", out)[1].replace(",", "")) for word in ("best", "mean"))
    assert 578 <= best <= mean
    errors = [float(found) for found in re.findall(r"(?:stationarity|infeasibility) (\S+\d)", out)]
    assert len(errors) == 2
    assert max(errors) < 1e-2
