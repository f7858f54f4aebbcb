"""What a stranger gets: the wheel, its contents, how long the import takes, and what it drags in."""

import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_no_source_file_is_longer_than_400_lines():
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    assert [path for path in files if len(path.read_text(encoding="utf-8").splitlines()) > 400] == []


def test_every_file_of_the_benchmarks_travels_in_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    carried = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "benchmarks").rglob("*.py"))
    own = [name for name in files if not name.startswith("benchmarks/benchopt/")]  # which benchopt runs from a clone
    assert carried == {name: f"trisplit/{name}" for name in own}


def test_the_heart_shows_the_papers_lines():
    """Algorithm 1 must stay recognisable in splitting/tos.py."""
    body = (ROOT / "src/trisplit/splitting/tos.py").read_text(encoding="utf-8")
    lines = ["z = problem.prox_g(y, gamma)", "x = problem.prox_h(2 * z - y - gamma * u, gamma)", "y - z + x"]
    places = [body.rindex(line) for line in lines]
    assert places == sorted(places)


def test_importing_is_light():
    """No torch, JAX, matplotlib or command-line packages, and nothing compiled by numba, at import."""
    heavy = {"torch", "jax", "matplotlib", "rich", "typer", "numba", "scipy.optimize"}
    code = "import sys, trisplit; print('\\n'.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert heavy.isdisjoint(loaded)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT], check=True, capture_output=True
    )
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_its_data_alone(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        data = archive.getinfo("trisplit/qap/data/qaplib.npz")
    assert data.file_size < 1_500_000
    assert all(name.startswith(("trisplit/", "trisplit-")) for name in names)


@pytest.mark.slow
def test_the_wheel_installed_elsewhere_runs_every_command(wheel, tmp_path):
    from trisplit.cli import commands

    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    (tmp_path / "people.csv").write_text("Ada,Bob\nBob,Cy\n")
    (tmp_path / "letters.csv").write_text("u,v\nv,w\n")
    arguments = {
        "match": ["people.csv", "letters.csv", "--report", "match.html"],
        "solve": ["nug12", "--starts", "1", "--json", "out.json"],
        "verify": ["out.json"],
        "list": [],
        "reproduce": ["theory", "--quick", "--out", "reproduced"],
        "bench": ["overhead", "--quick", "--out", "."],
        "info": [],
    }
    assert set(arguments) == set(commands)
    for command, rest in arguments.items():
        done = subprocess.run([scripts / "trisplit", command, *rest], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout
    assert (tmp_path / "out.json").exists()
    assert (tmp_path / "overhead.json").exists()
    assert (tmp_path / "reproduced" / "index.html").exists()
