"""Set up an environment in this folder (.venv) and run a command in it; needs only Python 3.11+ and pip.

python3 run.py solve nug30     any command of trisplit
python3 run.py test [...]      the tests; what follows goes to pytest
python3 run.py backends [...]  the tests on PyTorch, JAX and array-api-strict
python3 run.py docs            the documentation, into docs/_build
python3 run.py bench core      a benchmark, with the libraries that it compares with
python3 run.py reproduce all   the figures of the paper, with matplotlib
"""

import hashlib
import os
import subprocess
import sys
import venv

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, os.environ.get("TRISPLIT_VENV", ".venv"))
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
PYTHON = os.path.join(BIN, "python.exe" if os.name == "nt" else "python")

EXTRAS = {
    "test": "test",
    "backends": "test,backends",
    "docs": "docs",
    "bench": "peers,plot",
    "reproduce": "plot",
}


def set_up(extra):
    """Install the package with `extra` into .venv, unless that was done for this pyproject.toml already."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        stamp = hashlib.sha256(file.read() + sys.version.encode()).hexdigest()
    mark = os.path.join(VENV, "installed-" + (extra.replace(",", "-") or "core"))
    if os.path.exists(mark):
        with open(mark) as file:
            if file.read() == stamp:
                return
    # A system Python often lacks ensurepip, so the environment is made without pip and filled from outside.
    has_pip = subprocess.call([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL) == 0
    if not os.path.exists(PYTHON):
        venv.create(VENV, with_pip=not has_pip)
    pip = [sys.executable, "-m", "pip", "--python", PYTHON] if has_pip else [PYTHON, "-m", "pip"]
    target = ROOT + ("[" + extra + "]" if extra else "")
    print(
        "Installing trisplit" + (" [" + extra + "]" if extra else "") + " into .venv ...", file=sys.stderr, flush=True
    )
    subprocess.check_call(pip + ["install", "--quiet", "--disable-pip-version-check", "--editable", target])
    with open(mark, "w") as file:
        file.write(stamp)


def main(arguments):
    """Run the command that `arguments` name."""
    if sys.version_info < (3, 11):
        return "trisplit needs Python 3.11 or newer, this is {}.{}; call run.py with a newer one".format(
            *sys.version_info
        )
    if not arguments:
        return __doc__
    kind, rest = arguments[0], arguments[1:]
    try:
        set_up(EXTRAS.get(kind, ""))
    except subprocess.CalledProcessError as error:
        return "installation failed (see above): pip exited with {}".format(error.returncode)
    commands = {
        "test": [PYTHON, "-m", "pytest"] + rest,
        "backends": [PYTHON, "-m", "pytest", "tests/backends"] + rest,
        "docs": [PYTHON, "-m", "sphinx", "--fail-on-warning", "-b", "html", "docs", "docs/_build/html"] + rest,
    }
    if kind == "backends":
        os.environ["TRISPLIT_BACKENDS"] = "1"  # a library that is missing is a failure, not a skip
    command = commands.get(kind, [os.path.join(BIN, "trisplit")] + arguments)
    try:
        return subprocess.call(command, cwd=ROOT if kind in commands else None)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
