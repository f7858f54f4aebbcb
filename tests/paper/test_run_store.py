"""The file of finished runs: whatever a kill leaves of it, whole lines count, and nothing else is ever thrown away."""

import json
import os

import pytest

from trisplit.errors import InputError
from trisplit.paper.run_store import RunStore

SETTINGS = {"experiment": "figure2", "version": "0.1.0", "tol": 1e-5, "max_iter": 1000}
RUNS = [[name, seed, 2**seed, True, 578, None, "a CPU, 2 cores"] for name in ("nug12", "esc16f") for seed in range(4)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "figure2.jsonl"


def fill(path, runs, settings=SETTINGS):
    """Add runs to the file, and return what it holds in bytes."""
    store = RunStore(path, settings, 2)
    for run in runs:
        store.add(run)
    store.close()
    return path.read_bytes()


def kept(path):
    store = RunStore(path, SETTINGS, 2)
    store.close()
    return list(store.lines.values())


def test_runs_are_kept_in_the_order_in_which_they_came(path):
    data = fill(path, RUNS)
    assert kept(path) == RUNS
    assert path.read_bytes() == data
    assert [json.loads(line) for line in data.splitlines()] == [SETTINGS, *RUNS]


def test_a_file_cut_off_anywhere_keeps_its_whole_lines_and_can_be_gone_on_with(path, monkeypatch):
    data = fill(path, RUNS)
    monkeypatch.setattr(os, "fsync", lambda _: None)  # hundreds of them would take long
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        whole = max(data[:cut].count(b"\n") - 1, 0)
        assert kept(path) == RUNS[:whole]
        assert fill(path, RUNS[whole:]) == data


def test_every_run_is_on_the_disk_when_it_has_been_added(path, monkeypatch):
    store, seen = RunStore(path, SETTINGS, 2), []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append(path.read_bytes()))
    for run in RUNS:
        store.add(run)
        assert json.loads(seen[-1].splitlines()[-1]) == run
    store.close()
    assert len(seen) == len(RUNS)


def test_two_processes_that_write_the_same_file_lose_nothing(path):
    one, other = RunStore(path, SETTINGS, 2), RunStore(path, SETTINGS, 2)
    for k, run in enumerate(RUNS):
        (one, other)[k % 2].add(run)
    one.add(RUNS[1])  # twice the same
    one.close()
    other.close()
    assert kept(path) == RUNS


@pytest.mark.parametrize(
    "damage",
    [
        b"\0\0\0\0\0\0\0\0\n",
        b"{\n",
        b"\n",
        b"578\n",
        b'"nug12"\n',
        b'["nug12"]\n',
        b'[["nug12"], 0, 1]\n',
        b'{"nug12": 0}\n',
        b"\xff\xfe\n",
        b"<<<<<<< HEAD\n",
        json.dumps(SETTINGS).encode() + b"\n",  # two files, one behind the other
    ],
)
@pytest.mark.parametrize("place", ["middle", "end"])
def test_a_damaged_file_is_named_with_the_remedy_and_left_alone(damage, place, path):
    lines = fill(path, RUNS).splitlines(keepends=True)
    lines.insert(4 if place == "middle" else len(lines), damage)
    damaged = b"".join(lines) + b'["nug'
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"figure2\.jsonl is damaged; choose another --out, or delete it"):
        RunStore(path, SETTINGS, 2)
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("content", [b"notes", b'{"experiment": "figure1"', b"\0", b"{}\n"])
def test_a_file_that_is_something_else_is_left_alone(content, path):
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"figure2\.jsonl is .*; choose another --out, or delete it"):
        RunStore(path, SETTINGS, 2)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"tol": 1e-6}, "(tol)"), ({"tol": 1e-6, "version": "9"}, "(version, tol)"), ({"more": 1}, "(more)")],
)
def test_runs_with_other_settings_are_not_mixed_with_these(changes, named, path):
    data = fill(path, RUNS[:3], SETTINGS | changes) + b'["nug12", 3'
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"figure2\.jsonl is of runs with other settings") as caught:
        RunStore(path, SETTINGS, 2)
    assert named in str(caught.value)
    assert "choose another --out, or delete it" in str(caught.value)
    assert path.read_bytes() == data


def test_a_first_line_that_is_no_table_of_settings_is_refused(path):
    path.write_text("[1, 2]\n")
    with pytest.raises(InputError, match="other settings"):
        RunStore(path, SETTINGS, 2)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_names_the_file_and_the_remedy(path):
    store = RunStore(path, SETTINGS, 2)
    store.add(RUNS[0])
    store.close()
    store.file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
    with (
        store.file,
        pytest.raises(InputError, match=r"figure2\.jsonl cannot be written \(No space left.*free some space"),
    ):
        store.add(RUNS[1])
    assert list(store.lines.values()) == RUNS[:1]
    assert kept(path) == RUNS[:1]
