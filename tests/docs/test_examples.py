"""The scripts in `examples/` run, and the pages show what they draw."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import trisplit as ts

ROOT = Path(__file__).resolve().parents[2]
PRINTING = ("gpu_starts",)  # draw nothing
SCRIPTS = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem not in PRINTING]
WITH_TORCH = ("digits_network",)  # drawn by tests/backends


def load(path):
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_figure_is_kept_and_shown(path):
    figure = load(path).TARGET
    assert figure.stat().st_size < 200_000, "too large for a page"
    shown = f"({figure.relative_to(ROOT / 'docs').as_posix()})"
    assert any(shown in page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md"))


def test_last_picture_is_stationary_and_nearly_doubly_stochastic():
    nug12 = ts.qap.load("nug12")
    found = load(ROOT / "examples/iterate_to_permutation.py").pictures(nug12)
    last = found[-1]
    assert last.last
    assert not any(one.last for one in found[:-1])
    assert abs(last.gap) <= 1e-5 * last.f_z
    np.testing.assert_allclose(last.z.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(last.z.sum(axis=0), 1, atol=1e-3)


def test_curve_falls_and_ends_at_the_time_limit():
    script = load(ROOT / "examples/with_and_without_faces.py")
    curve = script.curve(ts.qap.load("nug20"), 0.1, 0, faces=True)
    seconds, gaps = zip(*curve, strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(gaps) == sorted(gaps, reverse=True)
    assert seconds[-1] >= 0.1


@pytest.mark.parametrize("path", [path for path in SCRIPTS if path.stem not in WITH_TORCH], ids=lambda path: path.stem)
def test_script_draws(path, tmp_path, monkeypatch):
    script, target = load(path), tmp_path / "figure.png"
    if path.stem == "match_without_seeds":
        for name, small in {"VERTICES": 40, "PAIRS": 1, "CORRELATIONS": (0.8, 1.0)}.items():
            monkeypatch.setattr(script, name, small)
    if path.stem == "iterate_to_permutation":
        script.main("nug12", target)
    elif not hasattr(script, "SECONDS"):
        script.main(target)
    else:
        monkeypatch.setattr(script, "SECONDS", 0.05)
        monkeypatch.setattr(script, "SEEDS", 1)
        script.main(target, "nug12")
    assert target.read_bytes().startswith(b"\x89PNG")


def test_certificates_lie_above_the_error_that_they_bound():
    bound, gap, error = load(ROOT / "examples/certificate_and_truth.py").curves().values()
    assert (bound >= gap - 1e-14).all()
    assert (gap >= error - 1e-14).all()
    assert 0 <= error[-1] < 1e-9


def test_pairs_of_the_match_without_seeds_are_right_by_default_alone(monkeypatch):
    script = load(ROOT / "examples/match_without_seeds.py")
    monkeypatch.setattr(script, "PAIRS", 2)
    default, _, frank_wolfe = script.shares(0.85).values()
    assert min(default) == 1.0
    assert max(frank_wolfe) < 0.2


def test_starts_on_a_gpu_say_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(SystemExit, match=r"pip install 'trisplit\[torch\]'"):
        load(ROOT / "examples/gpu_starts.py").main()
