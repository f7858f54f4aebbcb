"""Every mistake that `tools/mutants.py` puts into the loop is noticed by the tests of `test_iterate.py`."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "mutants.py"


@pytest.mark.slow
def test_every_mutant_is_killed():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
