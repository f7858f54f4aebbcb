"""The command line as a process of its own: exit status, signals, closed pipes and full devices."""

import json
import os
import signal
import subprocess
import sys
import time
from typing import IO

import pytest

from tests.cli.printed import PAIR, printed
from trisplit import qap

COMMAND = [sys.executable, "-m", "trisplit"]
PIPE = subprocess.PIPE
posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")


def trisplit(*arguments, stdout: int | IO[str] = PIPE, **options):
    return subprocess.run([*COMMAND, *arguments], stdout=stdout, stderr=PIPE, text=True, timeout=120, **options)


def test_a_process_exits_with_the_status(tmp_path):
    ended = trisplit("solve", "nug12", "--starts", "1", "--json", "out.json", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["permutation"] == printed(ended.stdout)["permutation"]
    ended = trisplit("solve", "nug31", cwd=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)


def test_a_terminal_that_knows_ascii_only(tmp_path):
    (tmp_path / "ü.dat").write_text(PAIR)
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ended = trisplit("solve", "ü.dat", "--starts", "1", cwd=tmp_path, env=environment)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert printed(ended.stdout)["cost"] == "6"


@posix
@pytest.mark.parametrize("arguments", ["list", "info", "--help", "solve nug12 --starts 1 --json out.json"])
def test_a_reader_that_goes_away_gets_no_traceback(arguments, tmp_path):
    command = [*COMMAND, *arguments.split()]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True, cwd=tmp_path) as child:
        assert child.stdout is not None
        child.stdout.close()  # like `| head -0`, before anything is written
        assert child.stderr is not None
        assert child.stderr.read() == ""
        assert child.wait(timeout=60) == 0
    if arguments.startswith("solve"):
        assert json.loads((tmp_path / "out.json").read_text())["n"] == 12


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["list", "info", "solve nug12 --starts 1"])
def test_output_that_cannot_be_written_is_one_line(arguments, unbuffered):
    with open("/dev/full", "w") as full:
        ended = trisplit(*arguments.split(), stdout=full, env=os.environ | {"PYTHONUNBUFFERED": unbuffered})
    assert ended.returncode == 2
    assert "No space left" in ended.stderr
    assert ended.stderr.count("\n") == 1


SOLVING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits SIGINT ignored
from trisplit import cli
from trisplit.qap.engine import BirkhoffLoop
advance, told = BirkhoffLoop.advance, []
def announced(engine, iterations):
    advance(engine, iterations)
    if engine.t >= 3 and not told:
        told.append(1)
        print("solving", file=sys.stderr, flush=True)
BirkhoffLoop.advance = announced
cli.main(sys.argv[1:])
"""


@posix
@pytest.mark.parametrize("with_json", [False, True])
def test_ctrl_c_prints_the_best_answer_so_far(with_json, tmp_path):
    arguments = ["solve", "tai256c", *(["--json", "out.json"] if with_json else [])]
    command = [sys.executable, "-c", SOLVING, *arguments]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True, cwd=tmp_path) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == "solving\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert err == ""
    rows = printed(out)
    cost = qap.load("tai256c").cost(rows["permutation"])
    assert rows["cost"] == f"{cost:,}"
    assert "stationarity" in rows["certificate"]
    assert "interrupted" in rows["status"]
    assert (tmp_path / "out.json").exists() == with_json
    if with_json:
        record = json.loads((tmp_path / "out.json").read_text())
        assert (record["status"], record["cost"]) == ("INTERRUPTED", cost)


@posix
@pytest.mark.parametrize("pause", [0.0, 0.02, 0.05, 0.2])
def test_a_second_signal_does_not_cost_the_answer(pause):
    """As `timeout`, service managers and impatient people send them."""
    command = [sys.executable, "-c", SOLVING, "solve", "tai150b", "--time-limit", "600"]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == "solving\n"
        child.send_signal(signal.SIGTERM)
        time.sleep(pause)
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (128 + signal.SIGTERM, "")
    assert len(printed(out)["permutation"]) == 150


@posix
def test_a_signal_before_there_is_an_answer_is_one_line():
    code = SOLVING.replace("engine.t >= 3", "True").replace("advance(engine, iterations)", "signal.pause()", 1)
    code = code.replace("signal.pause()", 'print("solving", file=sys.stderr, flush=True); signal.pause()')
    with subprocess.Popen(
        [sys.executable, "-c", code, "solve", "nug12", "--workers", "1"], stdout=PIPE, stderr=PIPE, text=True
    ) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == "solving\n"
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (128 + signal.SIGTERM, "")
    assert err == "trisplit: interrupted before there was an answer\n"
