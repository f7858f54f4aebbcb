"""The command line: what it prints, what it writes, and how it ends."""

import json
import os
import re
import time

import numpy as np
import pytest

import trisplit
from tests.cli.printed import PAIR, printed
from trisplit import qap
from trisplit.cli import commands, run
from trisplit.qap.qaplib import MAX_BYTES

KEYS = {
    "instance": str,
    "n": int,
    "permutation": list,
    "index_base": int,
    "cost": int,
    "best_known": int | None,
    "gap": float | None,
    "lower_bound": int | None,
    "bound_gap": float | None,
    "bound_certificate": dict | None,
    "data_sha256": str,
    "status": str,
    "seconds": float,
    "seed": int,
    "starts": int,
    "version": str,
}

# solve


def test_solve_prints_the_answer_and_how_good_it_is(capsys):
    assert run(["solve", "nug12", "--starts", "2", "--no-polish"]) == 0
    out, err = capsys.readouterr()
    rows = printed(out)
    assert err == ""
    assert "nug12, n = 12" in out
    cost = qap.load("nug12").cost(rows["permutation"])
    assert rows["cost"] == f"{cost:,}"
    assert rows["best known"].startswith("578 (proven optimal")
    assert rows["gap"].startswith(f"{100 * (cost - 578) / 578:.3f}")
    stationarity, infeasibility = re.findall(r"(\d\.\de[+-]\d\d)", rows["certificate"])
    assert max(float(stationarity), float(infeasibility)) <= 1e-5
    assert re.match(r"\d+\.\d\d s, 2 starts", rows["time"])
    assert rows["lower bound"].startswith("494 (gilmore-lawler)")
    assert rows["status"] == qap.QAPStatus.FINISHED.value


def test_time_limit_and_target_are_normal_ends(capsys):
    assert run(["solve", "tai100a", "--starts", "6"]) == 0  # compiles all that a search may call
    capsys.readouterr()
    begin = time.perf_counter()
    assert run(["solve", "tai100a", "--time-limit", "1"]) == 0
    assert time.perf_counter() - begin < 1.5
    assert "time_limit" in printed(capsys.readouterr().out)["status"]
    assert run(["solve", "nug12", "--target", "1e6"]) == 0
    assert "target" in printed(capsys.readouterr().out)["status"]
    assert run(["solve", "esc16f"]) == 0
    rows = printed(capsys.readouterr().out)
    assert (rows["cost"], rows["gap"]) == ("0", "0.000")
    assert "proven optimum" in rows["status"]
    # No time at all: there is an answer nevertheless.
    assert run(["solve", "nug12", "--time-limit", "1e-9"]) == 0
    assert len(printed(capsys.readouterr().out)["permutation"]) == 12


def test_the_seed_decides_the_answer_and_is_0_by_default(capsys):
    answers = []
    for options in ([], ["--seed", "0"], ["--seed", "1"], ["--seed", "1"]):
        assert run(["solve", "tai60a", "--starts", "1", "--no-polish", *options]) == 0
        answers.append(printed(capsys.readouterr().out)["permutation"])
    assert answers[0] == answers[1] != answers[2] == answers[3]


@pytest.mark.parametrize("polish", [True, False])
def test_options_are_passed_on(polish, capsys):
    run(["solve", "tai12b", "--starts", "2", "--seed", "4", "--polish" if polish else "--no-polish"])
    expected = qap.solve(qap.load("tai12b"), starts=2, rng=4, polish=polish)
    assert printed(capsys.readouterr().out)["permutation"] == expected.permutation.tolist()


@pytest.mark.parametrize("name", ["pair", "a[red]{task}:smile:", "with space", "ü"])
@pytest.mark.parametrize("terminal", [False, True])
def test_a_file_of_any_name_is_solved(name, terminal, tmp_path, capsys, monkeypatch):
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")  # makes rich believe in a terminal, and show its progress
    path = tmp_path / f"{name}.dat"
    path.write_text(PAIR)
    assert run(["solve", str(path), "--starts", "1", "--json", str(tmp_path / "out.json")]) == 0
    out, _ = capsys.readouterr()
    assert f"{name}, n = 2" in out
    assert "unknown" in out  # best known value and gap
    record = json.loads((tmp_path / "out.json").read_text())
    assert (record["instance"], record["cost"]) == (name, 6)
    assert (record["best_known"], record["gap"]) == (None, None)


def test_a_bundled_name_wins_over_a_file_of_that_name(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("nug12", "nug12.dat"):
        (tmp_path / name).write_text(PAIR)
        assert run(["solve", name, "--starts", "1"]) == 0
        assert f"nug12, n = {2 if '.' in name else 12}" in capsys.readouterr().out


# --json


def test_json_is_the_answer(tmp_path, capsys):
    path = tmp_path / "out.json"
    path.write_text("old")
    assert run(["solve", "nug12", "--starts", "2", "--seed", "3", "--json", str(path)]) == 0
    record = json.loads(path.read_text())
    assert list(record) == list(KEYS)
    for key, kind in KEYS.items():
        assert isinstance(record[key], kind), key
    nug12 = qap.load("nug12")
    rows = printed(capsys.readouterr().out)
    assert record["permutation"] == rows["permutation"]
    assert record["cost"] == nug12.cost(record["permutation"])
    assert record["gap"] == (record["cost"] - 578) / 578
    assert record["data_sha256"] == nug12.sha256()
    assert (record["instance"], record["n"], record["best_known"]) == ("nug12", 12, 578)
    assert (record["index_base"], record["seed"], record["starts"]) == (0, 3, 2)
    assert record["status"] in qap.QAPStatus.__members__
    assert record["version"] == trisplit.__version__
    assert [file.name for file in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_json_has_ordinary_permissions_and_follows_a_link(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    assert run(["solve", "nug12", "--starts", "1", "--json", str(link)]) == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["n"] == 12
    plain = tmp_path / "plain"
    plain.write_text("")
    assert target.stat().st_mode == plain.stat().st_mode


def failed(arguments, capsys):
    """The one line that a command ends with, at status 2 and before it prints an answer."""
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("trisplit: ")
    assert err.count("\n") == 1
    return err


def test_json_into_nowhere_is_refused_before_solving(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(qap, "solve", None)
    (tmp_path / "file").write_text("")
    for path, problem in (("missing/out.json", "does not exist"), (".", "is a folder"), ("file/out.json", "not exist")):
        err = failed(["solve", "nug12", "--json", str(tmp_path / path)], capsys)
        assert "--json" in err
        assert problem in err
        assert "choose another path" in err
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("broken", ["write_text", "replace"])
def test_a_full_disk_costs_neither_the_answer_nor_the_old_file(broken, tmp_path, capsys, monkeypatch):
    path = tmp_path / "out.json"
    path.write_text("old")

    def write_half(self, text, **options):
        with open(self, "w") as file:
            file.write(text[:20])
        raise OSError(28, "No space left on device")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if broken == "write_text":
            patch.setattr("pathlib.Path.write_text", write_half)
        else:
            patch.setattr("os.replace", fail)
        assert run(["solve", "nug12", "--starts", "1", "--json", str(path)]) == 2
    out, err = capsys.readouterr()
    assert len(printed(out)["permutation"]) == 12
    assert err.count("\n") == 1
    assert "out.json" in err
    assert "No space left" in err
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_device_is_written_to_not_replaced(tmp_path, capsys):
    link = tmp_path / "full"
    link.symlink_to("/dev/full")
    assert run(["solve", "nug12", "--starts", "1", "--json", str(link)]) == 2
    out, err = capsys.readouterr()
    assert len(printed(out)["permutation"]) == 12
    assert "No space left" in err
    assert link.is_symlink()
    assert os.path.exists("/dev/full")


# Bad input


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"2 0 1 1 0 0 3 3", "truncated"),
        (b"2 0 1 1 0 0 3 3 0 9", "too long"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not plain text"),
        (b"2 0 1 1 0 0 3 three 0", "'three'"),
        (b"2 0 1 1 0 0 3 nan 0", "'nan'"),
        (b"-2 0 1", "size n"),
        (b"99999999 1 2", "exceed the limit"),
    ],
)
def test_bad_files(content, found, tmp_path, capsys):
    path = tmp_path / "bad.dat"
    path.write_bytes(content)
    err = failed(["solve", str(path)], capsys)
    assert found in err
    assert "bad.dat" in err


def test_files_that_cannot_be_read(tmp_path, capsys):
    assert "does not exist" in failed(["solve", str(tmp_path / "none.dat")], capsys)
    assert "is a directory" in failed(["solve", str(tmp_path)], capsys)
    with open(tmp_path / "large.dat", "wb") as file:
        file.truncate(MAX_BYTES + 1)  # sparse: takes no space
    assert "more than the limit" in failed(["solve", str(tmp_path / "large.dat")], capsys)
    locked = tmp_path / "locked.dat"
    locked.write_text(PAIR)
    locked.chmod(0)
    if not os.access(locked, os.R_OK):  # root reads everything
        assert "cannot be read" in failed(["solve", str(locked)], capsys)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["solve", "nug31"], "nug30"),
        (["solve", "tai35"], "tai35a"),
        (["solve", "zzz"], "trisplit list"),
        (["solve", ""], "`name`"),
        (["solve"], "NAME|FILE.dat"),
        (["solve", "nug12", "nug14"], "nug14"),
        (["solve", "nug12", "--speed"], "--speed"),
        (["solve", "nug12", "--starts", "many"], "--starts"),
        (["solve", "nug12", "--starts", "0"], "--starts"),
        (["solve", "nug12", "--starts", "1.5"], "--starts"),
        (["solve", "nug12", "--seed", "-1"], "--seed"),
        (["solve", "nug12", "--seed", "x"], "--seed"),
        (["solve", "nug12", "--time-limit", "soon"], "--time-limit"),
        (["solve", "nug12", "--time-limit", "0"], "time_limit"),
        (["solve", "nug12", "--time-limit", "nan"], "time_limit"),
        (["solve", "nug12", "--target", "low"], "--target"),
        (["solve", "nug12", "--target", "nan"], "target"),
        (["solve", "nug12", "--json"], "--json"),
        (["resolve"], "resolve"),
        (["--bogus"], "--bogus"),
        (["list", "all"], "all"),
    ],
)
def test_bad_arguments(arguments, named, capsys):
    assert named in failed(arguments, capsys)


# The other commands


def test_list_has_every_instance(capsys):
    assert run(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 136
    words = {line.split()[0]: line.split() for line in lines[1:]}
    assert list(words) == qap.names()
    assert words["nug30"][1:] == ["30", "6,124", "yes", "6,124"]


def test_info_version_help_and_no_arguments(capsys):
    assert run(["info"]) == 0
    out = capsys.readouterr().out
    assert trisplit.__version__ in out
    assert np.__version__ in out
    assert "cpu" in out
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"trisplit {trisplit.__version__}\n"
    for arguments in ([], ["--help"]):
        assert run(arguments) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert all(command in out for command in commands)
    assert run(["solve", "--help"]) == 0
    out = capsys.readouterr().out
    for option in ("--time-limit", "--starts", "--no-polish", "--seed", "--target", "--json"):
        assert option in out
