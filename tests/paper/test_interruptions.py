"""trisplit reproduce that is interrupted, killed or loses a worker: no run is lost, and nobody stays behind."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from trisplit.cli import run

INSTANCES = ("nug12", "tai12a", "rou12", "had12", "nug14")  # a run takes half a second at most
RUNS = 8 * len(INSTANCES)
ARGUMENTS = ["reproduce", "figure2", "--quick", "--instances", ",".join(INSTANCES), "--workers", "2", "--out"]
# A background job inherits SIGINT ignored, and one of nohup SIGHUP; a terminal's does not.
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from trisplit.cli import main
main(sys.argv[1:])
"""
FINISHED = "keeps the finished runs, the same command goes on"
linux = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks for processes in /proc")


@contextmanager
def started(out):
    """Run the command in a session of its own, as a terminal would; whatever a test finds, nobody stays behind."""
    command = [sys.executable, "-c", COMMAND, *ARGUMENTS, str(out)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as child:
        try:
            yield child
        finally:
            for process in members(child.pid):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


def members(session):
    """Return the command lines of all living processes of a session, also of those that have lost their parent."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, of, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(of) == session and state not in "ZX":
                found[int(folder.name)] = (folder / "cmdline").read_text().split("\0")
        except OSError:  # it has just ended
            continue
    return found


def workers(session):
    return [process for process, words in members(session).items() if "--multiprocessing-fork" in words]


def wait(condition, what):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.01)


def finished(out):
    """Return the whole lines of the runs that are there."""
    path = out / "figure2.jsonl"
    return path.read_bytes().splitlines(keepends=True)[1:] if path.exists() else []


def interrupt(child, how):
    """Stop the command in some way, and return its status and what it said."""
    if how == "kill":
        child.kill()
    elif how == "kill a worker":
        os.kill(workers(child.pid)[-1], signal.SIGKILL)
    elif how == "Ctrl-C":  # which a terminal sends to all processes
        os.killpg(child.pid, signal.SIGINT)
    elif how == "interrupt":
        child.send_signal(signal.SIGINT)
    elif how == "hang up":
        child.send_signal(signal.SIGHUP)
    out, err = child.communicate(timeout=100)
    assert out == ""
    return child.returncode, err


def check_end(how, status, err, out):
    """Say whether the command ended as it should: with one line, unless it had no chance to say anything."""
    if how == "kill":  # a worker that begins at that moment finds nobody, and Python says so in its own words
        assert status == -signal.SIGKILL
        return
    if how == "hang up":
        assert status == -signal.SIGHUP
        assert "Traceback" not in err
        return
    assert err.startswith("trisplit: ")
    assert err.count("\n") == 1
    assert str(out) in err
    if how == "kill a worker":
        assert (status, "a worker died" in err, "call again" in err) == (2, True, True)
    else:
        assert (status, err) == (130, f"trisplit: figure2 was interrupted; {out} {FINISHED}\n")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nobody interrupted."""
    out = tmp_path_factory.mktemp("whole")
    with started(out) as child:
        _, err = child.communicate(timeout=200)
    assert (child.returncode, err) == (0, "")
    return out


@linux
def test_five_interruptions_at_random_change_nothing(whole, tmp_path):
    """Each comes when so many runs are there, and a moment later; from the last on the command goes to its end."""
    rng = np.random.default_rng(0)
    moments = sorted(rng.choice(np.arange(1, RUNS - 15), 5, replace=False))
    ways = rng.permutation(["kill", "kill a worker", "Ctrl-C", "interrupt", "hang up"])
    for moment, how in zip(moments, ways, strict=True):
        before = finished(tmp_path)
        with started(tmp_path) as child:
            wait(lambda: len(finished(tmp_path)) >= moment and workers(child.pid), "runs")
            time.sleep(rng.uniform(0.0, 0.1))
            check_end(how, *interrupt(child, how), tmp_path)
            wait(lambda: not members(child.pid), "orphans to end")
        after = finished(tmp_path)
        assert len(before) <= len(after) < RUNS
        assert after[: len(before)] == before  # not one is lost or done again
        assert not (tmp_path / "figure2.csv").exists()
    with started(tmp_path) as child:
        _, err = child.communicate(timeout=200)
    assert (child.returncode, err) == (0, "")
    assert len(finished(tmp_path)) == RUNS
    assert (tmp_path / "figure2.csv").read_bytes() == (whole / "figure2.csv").read_bytes()


@linux
@pytest.mark.parametrize("delay", [0.0, 0.1, 0.3])
def test_ctrl_c_while_workers_start_is_one_line_too(delay, tmp_path):
    """They import for a while before they can be told to leave Ctrl-C to the process that has the store."""
    with started(tmp_path) as child:
        wait(lambda: workers(child.pid), "workers")
        time.sleep(delay)
        check_end("Ctrl-C", *interrupt(child, "Ctrl-C"), tmp_path)
        wait(lambda: not members(child.pid), "orphans to end")


def test_a_finished_folder_is_reported_anew_without_computing(whole, capsys, monkeypatch):
    from trisplit.paper import figure2

    csv, lines = (whole / "figure2.csv").read_bytes(), finished(whole)
    assert len(lines) == RUNS
    assert csv.count(b"\n") == RUNS + 5  # what made it, and the header
    monkeypatch.setattr(figure2.Pool, "submit", None)
    monkeypatch.setattr("trisplit.paper.pictures.pictures", lambda results: [])
    assert run([*ARGUMENTS, str(whole)]) == 0
    assert "not decided" in capsys.readouterr().out
    assert ((whole / "figure2.csv").read_bytes(), finished(whole)) == (csv, lines)


def refused(arguments, capsys):
    """Return the one line of a command that computes nothing and ends with status 2."""
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("trisplit: ")
    return err


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data.replace(b"nug12", b'nu"12', 1), "is damaged"),
        (lambda data: data + data, "is damaged"),
        (lambda data: data[:100] + bytes(50) + data[150:], "is damaged"),
        (lambda data: b"something else", "is damaged"),
        (lambda data: data.replace(b'"tol": 1e-05', b'"tol": 1e-06', 1), "other settings (tol)"),
        (lambda data: data.replace(b'"version": "', b'"version": "9.', 1), "other settings (version)"),
    ],
)
def test_a_file_that_cannot_be_gone_on_with_is_named_and_left_alone(damage, said, whole, tmp_path, capsys):
    content = damage((whole / "figure2.jsonl").read_bytes())
    path = tmp_path / "figure2.jsonl"
    path.write_bytes(content)
    err = refused([*ARGUMENTS, str(tmp_path)], capsys)
    assert f"{path} is" in err
    assert said in err
    assert "choose another --out, or delete it to begin anew" in err
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {"figure2.jsonl": content}


def test_a_full_run_does_not_go_on_with_a_quick_one(whole, capsys):
    before = (whole / "figure2.jsonl").read_bytes()
    err = refused([word for word in [*ARGUMENTS, str(whole)] if word != "--quick"], capsys)
    assert "other settings (max_iter" in err
    assert (whole / "figure2.jsonl").read_bytes() == before


def test_a_line_that_a_kill_cut_off_is_computed_again(whole, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("trisplit.paper.pictures.pictures", lambda results: [])
    data = (whole / "figure2.jsonl").read_bytes()
    (tmp_path / "figure2.jsonl").write_bytes(data[: data.rindex(b"[") + 20])
    assert run([*ARGUMENTS, str(tmp_path)]) == 0
    capsys.readouterr()
    assert len(finished(tmp_path)) == RUNS
    assert (tmp_path / "figure2.csv").read_bytes() == (whole / "figure2.csv").read_bytes()


@pytest.mark.parametrize("name", ["theory", "figure1", "figure2"])
def test_ctrl_c_ends_every_experiment_with_130_and_one_line(name, tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"trisplit.paper.{name}.run", interrupted)
    assert run(["reproduce", name, "--quick", "--out", str(tmp_path)]) == 130
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"trisplit: {name} was interrupted")
    assert (FINISHED in err) == (name == "figure2")
