"""Check that the tests of the one loop fail if a line of it is wrong.

    python tools/mutants.py [--only NAME]

Each mutant replaces some text of `trisplit/splitting/tos.py` in a temporary copy of `src`, never in the working tree.
The table says for each group of `tests/splitting/test_iterate.py` whether one of its tests fails. The exit status is 1
if a mutant survives, or if the tests fail without one; it is 2 if a mutant no longer fits the file.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
LOOP = Path("trisplit", "splitting", "tos.py")  # below src
TESTS = Path("tests", "splitting", "test_iterate.py")
GROUPS = ("single_problem", "batch", "product", "stochastic")
WORKERS = 2
PATIENCE = 120.0  # seconds for the tests of one mutant

ESTIMATED = "the gradient is estimated"
FREE = "z^(0) = y^(0): no term acts on that copy"


class MutantError(Exception):
    """No verdict is possible: a mutant does not fit the file, or no test ran."""


@dataclass(frozen=True)
class Mutant:
    """A mistake: `text` becomes `mistake`. `spared` names the groups that cannot see it, and why."""

    name: str
    text: str
    mistake: str
    spared: dict[str, str] = field(default_factory=dict)

    def apply(self, source: str) -> str:
        """Return the source with the mistake, or raise a `MutantError` unless the text occurs exactly once."""
        found = source.count(self.text)
        if found != 1:
            raise MutantError(
                f"the mutant {self.name!r} no longer fits {LOOP.name}: {self.text!r} occurs {found} times, not once; "
                "adapt it to the new text"
            )
        return source.replace(self.text, self.mistake)


LINE_3 = "problem.prox_h(2 * z - y - gamma * u, gamma)"
LINE_4 = "y + d if relax == 1.0 else y + relax * d"
UNJUDGED, LINE_4_UNJUDGED = "if d is None and relax == 1.0:", "moved = y - z + x"  # of rules that accept every step
RESCALED = "z + (step / gamma) * (y - z)"
JUDGED = "rule.judge(problem, memory, Iterate(state.t + 1, z, x, y, u, gamma, f_z), d)"

MUTANTS = (
    Mutant("minus the gradient", LINE_3, "problem.prox_h(2 * z - y + gamma * u, gamma)"),
    Mutant("z for 2 z - y", LINE_3, "problem.prox_h(z - gamma * u, gamma)"),
    Mutant("gamma doubled in prox_g", "problem.prox_g(y, gamma)", "problem.prox_g(y, 2 * gamma)"),
    Mutant("gamma doubled in prox_h", LINE_3, "problem.prox_h(2 * z - y - gamma * u, 2 * gamma)"),
    Mutant("gamma doubled at the gradient", LINE_3, "problem.prox_h(2 * z - y - 2 * gamma * u, gamma)"),
    Mutant("y not rescaled", RESCALED, "y"),
    Mutant("relaxation ignored", LINE_4, "y + d"),
    Mutant("y rescaled the wrong way", RESCALED, "z + (gamma / step) * (y - z)"),
    Mutant("y - d for y + d", LINE_4, "y - relax * d"),
    Mutant("relaxation ignored without a judge", UNJUDGED, "if d is None:"),
    Mutant("x for y - z + x", LINE_4_UNJUDGED, "moved = x"),
    Mutant("y + z - x for y - z + x", LINE_4_UNJUDGED, "moved = y + z - x"),
    Mutant("next y from the y before rescaling", LINE_4, "state.y + relax * d"),
    Mutant("refused step accepted", JUDGED, f"gamma, {JUDGED}[1]"),
    Mutant(
        "u of the z before",
        f"x = {LINE_3}",
        f"v, iterate.u = (iterate.u if state.t else u), u; u = v; x = {LINE_3}",
    ),
    Mutant("gradient at y", "problem.grad(z)", "problem.grad(y)", {"product": FREE, "stochastic": ESTIMATED}),
    Mutant(
        "value and gradient at y",
        "problem.value_and_grad(z)",
        "problem.value_and_grad(y)",
        {"product": FREE, "stochastic": ESTIMATED},
    ),
    Mutant(
        "estimate of the iteration before",
        "estimate(problem, remembered, z, state.t)",
        "estimate(problem, remembered, z, max(state.t - 1, 0))",
        dict.fromkeys(GROUPS[:3], "no estimate is asked for"),
    ),
)


@contextmanager
def copy_of_src(source: str) -> Iterator[Path]:
    """Yield a copy of src whose loop has that source; compiled files come along where they are still right."""
    with TemporaryDirectory(prefix="mutant-") as folder:
        src = Path(folder, "src")
        shutil.copytree(ROOT / "src", src)
        (src / LOOP).write_text(source, encoding="utf-8")
        # Python takes a compiled file for right if the second and the size of its source are.
        for compiled in (src / LOOP).parent.glob("__pycache__/tos.*"):
            compiled.unlink()
        yield src


def run_tests(src: Path) -> ElementTree.Element:
    """Return pytest's report, as JUnit has it, on the tests with the package in that folder."""
    report = src.parent / "report.xml"
    paths = [str(src), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # with plain assertions it saves 40 % of the time
    }
    # The first line fails if another copy of the package comes first.
    check = f"import trisplit.splitting.tos as loop; assert loop.__file__ == {str(src / LOOP)!r}, loop.__file__"
    start = f"import sys, pytest; {check}; sys.exit(pytest.main(sys.argv[1:]))"
    options = [
        "-q",
        "--tb=no",
        "--assert=plain",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
        "-k",
        " or ".join(GROUPS),
    ]
    done = subprocess.run(
        [sys.executable, "-c", start, str(TESTS), *options],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode not in (0, 1) or not report.is_file():  # 1: tests failed
        raise MutantError(f"the tests did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return ElementTree.parse(report).getroot()


def count_failures(report: ElementTree.Element) -> dict[str, int]:
    """Return how many tests of each group failed, or raise a `MutantError` if a group has no test."""
    ran, failed = Counter(), Counter()
    for case in report.iter("testcase"):
        name = case.get("name", "")
        group = next((group for group in GROUPS if name.startswith(f"test_{group}_")), None)
        if group is None:
            raise MutantError(f"{name} belongs to no group; begin its name with test_, one of {GROUPS} and _")
        if (error := case.find("error")) is not None:
            raise MutantError(f"{name} did not begin: {error.get('message')}")
        ran[group] += 1
        failed[group] += case.find("failure") is not None
    if missing := set(GROUPS) - set(ran):
        raise MutantError(f"{TESTS} has no test of {', '.join(sorted(missing))}")
    return {group: failed[group] for group in GROUPS}


def failures(source: str) -> dict[str, int]:
    """Return how many tests of each group fail if the loop has that source."""
    with copy_of_src(source) as src:
        return count_failures(run_tests(src))


def verdict(mutant: Mutant, group: str, failed: int) -> str:
    """Return what the table says; a group that was spared and fails all the same is one that kills."""
    if failed:
        return "killed"
    return "-" if group in mutant.spared else "SURVIVED"


def table(mutants: Sequence[Mutant], found: Sequence[dict[str, int]]) -> str:
    """Return mutants by groups, with the reasons of each `-` at the end of its line."""
    width = max(len(mutant.name) for mutant in mutants)
    lines = [(" " * (width + 2) + "".join(f"{group:<16}" for group in GROUPS)).rstrip()]
    for mutant, failed in zip(mutants, found, strict=True):
        verdicts = [verdict(mutant, group, failed[group]) for group in GROUPS]
        left = [group for group, said in zip(GROUPS, verdicts, strict=True) if said == "-"]
        reasons = dict.fromkeys(mutant.spared[group] for group in left)  # each once
        cells = "".join(f"{said:<16}" for said in verdicts)
        lines.append(f"{mutant.name:{width}}  {cells}{'; '.join(reasons)}".rstrip())
    return "\n".join(lines)


def chosen(name: str | None) -> tuple[Mutant, ...]:
    """Return the mutant of that name, by default all."""
    mutants = tuple(mutant for mutant in MUTANTS if name in (None, mutant.name))
    if not mutants:
        raise MutantError(f"there is no mutant {name!r}; there are {', '.join(mutant.name for mutant in MUTANTS)}")
    return mutants


def judge(mutants: Sequence[Mutant]) -> bool:
    """Print the table; say whether the code without mistakes passes and every mutant is killed."""
    source = (ROOT / "src" / LOOP).read_text(encoding="utf-8")
    mistaken = [mutant.apply(source) for mutant in mutants]
    with ThreadPoolExecutor(WORKERS) as pool:
        right, *found = pool.map(failures, [source, *mistaken])
    if any(right.values()):
        print(f"tests fail without a mistake: {right}")
        return False
    print(table(mutants, found))
    pairs = zip(mutants, found, strict=True)
    return not any(verdict(mutant, group, n) == "SURVIVED" for mutant, failed in pairs for group, n in failed.items())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", metavar="NAME", help="one mutant, by its name in the table")
    options = parser.parse_args(argv)
    try:
        return 0 if judge(chosen(options.only)) else 1
    except (MutantError, subprocess.TimeoutExpired) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
